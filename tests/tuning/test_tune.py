import json
from pathlib import Path

import pytest
from tests.support.command import Run
from tests.support.models import sentences
from tests.support.saving import save_built

from regard.config.data import CorpusConfig, PrepareConfig
from regard.config.run import Config
from regard.data.prepare import prepare
from regard.errors import Failed, UserError
from regard.evaluate.bleu import Score
from regard.memory.pair import Pair
from regard.memory.store import Memory
from regard.saved.folder import LoadedModel
from regard.translate.load import load
from regard.tuning import tune as module
from regard.tuning.tune import _best, _Try, tune

TEXTS = [f"The old woman sees {n} apples." for n in range(20)]
TEST = [("A house.", "Ein Haus."), ("사과", "Apfel")]


@pytest.fixture
def folder(saved: LoadedModel, tmp_path: Path) -> Path:
    place = tmp_path / "model"
    save_built(
        place, saved.model, Config(model=saved.config, decode=saved.decode), saved.subwords, languages=("en", "de")
    )
    return place


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    found = Memory(tmp_path / "work.db", create=True)
    found.add(Pair("en", "de", "A red house.", "Ein rotes Haus.", "correction"))
    found.add(Pair("en", "de", "사과", "Apfel", "suggestion"))
    return found


@pytest.fixture
def data(folder: Path, tmp_path: Path) -> Path:
    """Prepared data of 30 pairs, with 110 to validate on."""
    apples = [f"The old woman sees {n} red apples." for n in range(110)]
    for name, some in (("train", sentences()[:30]), ("valid", apples)):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{one}\t{one} 👍\n" for one in some), encoding="utf-8")
    train, valid = ([CorpusConfig(files=(str(tmp_path / f"{name}.tsv"),))] for name in ("train", "valid"))
    config = PrepareConfig(subwords_from=str(folder), source_language="en", target_language="de")
    prepare(train, valid, tmp_path / "data", config, cores=1)
    return tmp_path / "data"


def test_corrections_are_learned_once(folder: Path, memory: Memory, tmp_path: Path) -> None:
    said: list[str] = []
    done = tune(folder, memory, tmp_path / "tuned", texts=TEXTS, test=TEST, steps=2, worse=100, say=said.append)
    assert (done.corrections, done.others > 0) == (2, True)
    assert done.steps in (1, 2)
    assert said == [f"2 corrections, mixed with {done.others} other pairs"]
    made = load(done.model)
    assert made.translate("A house.")
    assert made.calibration is None, "two pairs are too few"
    assert 0 <= done.reproduced_after <= 1
    assert "nrefs:1" in done.signature
    with pytest.raises(UserError, match="no en-de corrections since the last tuning"):
        tune(folder, memory, tmp_path / "tuned", texts=TEXTS, test=TEST, steps=2)


def test_corrections_are_mixed_with_training_data_and_measured_on_its_validation_set(
    folder: Path, memory: Memory, data: Path, tmp_path: Path
) -> None:
    done = tune(folder, memory, tmp_path / "tuned", data=data, steps=1, worse=100)
    assert done.others == 30
    mixed = (tmp_path / "tuned" / "others-0.tsv").read_text(encoding="utf-8").splitlines()
    assert sorted(mixed) == sorted(f"{one}\t{one} 👍" for one in sentences()[:30])
    own = (tmp_path / "tuned" / "corrections.tsv").read_text(encoding="utf-8").splitlines()
    assert own == ["A red house.\tEin rotes Haus.", "사과\tApfel"]
    calibration = load(done.model).calibration
    assert calibration is not None, "the validation set is enough to calibrate on"
    assert calibration.pairs == 110
    assert not (tmp_path / "tuned" / "tries").exists()


def test_a_worse_model_is_not_kept_unless_told(
    monkeypatch: pytest.MonkeyPatch, folder: Path, memory: Memory, tmp_path: Path
) -> None:
    scores = iter([40.0, 39.69, 40.0, 39.69])  # before and after, twice
    monkeypatch.setattr(module, "_bleu", lambda *_: Score(next(scores), "nrefs:1"))
    with pytest.raises(Failed, match=r"has 39\.69 BLEU, 0\.31 less than before, and is not kept; .* --worse 1"):
        tune(folder, memory, tmp_path / "tuned", texts=TEXTS, test=TEST, steps=1)
    assert not (tmp_path / "tuned" / "model").exists()
    assert len(memory.corrections(("en", "de"))) == 2
    done = tune(folder, memory, tmp_path / "tuned", texts=TEXTS, test=TEST, steps=1, worse=0.4)
    assert (done.bleu_before, done.bleu_after) == (40.0, 39.69)


@pytest.mark.parametrize(
    ("bleus", "wanted"),
    [
        ({20: 40.0, 40: 39.9, 60: 39.8}, 40),  # as many corrections as the last, in fewer steps
        ({20: 40.0, 40: 30.0, 60: 39.8}, 60),
        ({20: 40.0, 40: 39.0, 60: 39.0}, 20),  # the others have forgotten too much
        ({20: 30.0, 40: 39.0, 60: 38.0}, 40),  # all have: the best, to be told of
    ],
)
def test_the_model_that_is_kept_has_learned_the_most_and_forgotten_little(
    monkeypatch: pytest.MonkeyPatch, bleus: dict[int, float], wanted: int
) -> None:
    monkeypatch.setattr(module, "load", lambda model: int(model.name))
    monkeypatch.setattr(module, "_bleu", lambda step, _: Score(bleus[step], ""))
    shares = {20: 0.2, 40: 0.8, 60: 0.8}
    best, score = _best([_Try(step, Path(str(step)), share) for step, share in shares.items()], [], 39.7)
    assert (best.step, score.value) == (wanted, bleus[wanted])


def test_what_is_missing_is_told(folder: Path, memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no test text"):
        tune(folder, memory, tmp_path / "tuned", texts=TEXTS)
    with pytest.raises(UserError, match="would make the model forget"):
        tune(folder, memory, tmp_path / "tuned", test=TEST)


def test_the_command(monkeypatch: pytest.MonkeyPatch, folder: Path, memory: Memory, data: Path, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    memory.close()
    run = Run(monkeypatch, "tune")
    line = f"--model {folder} --memory work.db --out runs/tuned --steps 1".split()
    for more, said in (
        (["--data", "data", "--text", "train.tsv"], "--text is for tuning without --data"),
        (["--data", "data", "--source", "train.tsv"], "--source and --reference go together"),
        (["--data", "nowhere"], "nowhere"),
        ([], "no test text"),
        (["--out", "train.tsv", "--data", "data"], "train.tsv: is a file; name a folder"),
        (["--out", "/proc/tuned", "--data", "data"], "/proc/tuned: "),
    ):
        code, _, err = run(*line, *more)
        assert (code, said in err) == (2, True), err
    code, out, _ = run(*line, "--data", "data", "--worse", "100", "--json")
    told = json.loads(out)
    assert (code, told["corrections"], told["others"], told["steps"]) == (0, 2, 30, 1)
    assert Path(told["model"], "confidence.json").is_file()
    code, _, err = run(*line, "--data", "data")
    assert (code, "no en-de corrections since the last tuning" in err) == (2, True), err
    with Memory("work.db") as again:  # the next night, with the model of the last, into the same folder
        again.add(Pair("en", "de", "고양이", "Katze", "correction"))
    code, out, err = run(*line, "--model", "runs/tuned/model", "--data", "data", "--worse", "100", "--json")
    assert (code, json.loads(out)["corrections"]) == (0, 1), err
