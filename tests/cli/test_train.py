"""The commands of training as a person types them."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sacrebleu
from tests.support.command import regard, small

from regard.errors import Interrupted, UserError
from regard.files import sha256
from regard.saved.bundled import located
from regard.train.log import records
from regard.train.step import Update
from regard.translate.load import load
from regard.translate.translator import Options


def test_train_average_and_runs(data: Path, tmp_path: Path) -> None:
    common = ["--preset", "tiny", "--data", str(data), *small()]
    figures = json.loads(regard("train", *common, "--out", str(tmp_path / "x"), "--json"))
    assert figures["step"] == 10 and figures["validation_perplexity"] > 1
    again = json.loads(regard("train", *common, "--out", str(tmp_path / "x"), "--json"))
    assert again["step"] == 10
    regard("train", *common, "--out", str(tmp_path / "y"), "--tensorboard")
    assert sha256(tmp_path / "x/model/model.safetensors") == sha256(tmp_path / "y/model/model.safetensors")
    assert list((tmp_path / "y" / "tensorboard").iterdir())

    assert "steps 5, 10" in regard("average", str(tmp_path / "x"), "--last", "2", "--out", str(tmp_path / "averaged"))
    assert "steps 5, 10" in regard("average", str(tmp_path / "x"), "--last", "5", "--out", str(tmp_path / "more"))
    compared = json.loads(regard("runs", str(tmp_path / "x"), str(tmp_path / "y"), "--json"))
    assert compared[str(tmp_path / "x")]["step"] == 10
    assert "tokens" in regard("runs", str(tmp_path / "x"), "--plot", str(tmp_path / "curves.svg"))
    assert (tmp_path / "curves.svg").read_text().startswith("<?xml")


def test_a_run_file_and_its_copy(data: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('preset = "tiny"\n[train]\nseed = 3\n')
    regard("train", str(tmp_path / "run.toml"), "--data", str(data), "--out", str(tmp_path / "x"), *small())
    regard("train", str(tmp_path / "x" / "run.toml"), "--out", str(tmp_path / "y"))
    assert sha256(tmp_path / "x/model/model.safetensors") == sha256(tmp_path / "y/model/model.safetensors")


WORDS = ["영", "하나", "둘", "셋", "넷", "다섯", "여섯", "일곱", "여덟", "아홉"]
HARD = ["שלום 7", "e\u0301 3", "👩‍👩‍👧 1", "", "One 4. Two 5!", "\u1112\u1161\u11ab 2"]


@pytest.fixture(scope="session")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Figures to Korean words, as train.en, train.ko, val.en, val.ko and prepared data."""
    folder = tmp_path_factory.mktemp("counted")

    def words(line: str) -> str:
        return "수는 " + " ".join(WORDS[int(sign)] for sign in line if sign.isdigit()) if line else ""

    valid = [*HARD, *(f"{n * 137 % 10000:04d} ." for n in range(30))]
    for name, lines in (("train", [f"{n * 17 % 10000:04d} ." for n in range(600)]), ("val", valid)):
        (folder / f"{name}.en").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        (folder / f"{name}.ko").write_text("".join(f"{words(line)}\n" for line in lines), encoding="utf-8")
    regard(
        "prepare", "--train", str(folder / "train.en"), str(folder / "train.ko"), "--vocabulary", "310", "--cores", "1",
        "--valid", str(folder / "val.en"), str(folder / "val.ko"), "--out", str(folder / "data"),
    )  # fmt: skip
    return folder


def test_bleu_is_the_same_in_training_evaluation_and_translation(counted: Path, tmp_path: Path) -> None:
    """To the last digit, on the files as they are; and to look at it changes nothing."""
    common = ["train", "--preset", "tiny", "--data", str(counted / "data")]
    common += small(
        "model.dropout=0", "train.steps=120", "train.checkpoint_every=60", "train.warmup=20", "decode.beam=3"
    )
    common += ["--set", "train.average_last=1"]
    figures = json.loads(regard(*common, "--out", str(tmp_path / "x"), "--set", "train.bleu=true", "--json"))
    assert figures["validation_bleu"] > 1 and figures["validation_bleu_signature"].startswith("nrefs:1|case:mixed|")

    files = ["--source", str(counted / "val.en"), "--reference", str(counted / "val.ko"), "--json"]
    logged = [record for record in records(tmp_path / "x" / "log.jsonl") if record["event"] == "validation"]
    for record, model in zip(logged, ("checkpoints/step-00000060", "model"), strict=True):
        evaluated = json.loads(regard("evaluate", "--model", str(tmp_path / "x" / model), *files))
        assert (evaluated["bleu"], evaluated["signature"]) == (record["bleu"], record["bleu_signature"])
        assert (evaluated["chrf"], evaluated["chrf_signature"]) == (record["chrf"], record["chrf_signature"])
    sources, wanted = ((counted / f"val.{end}").read_text(encoding="utf-8").splitlines() for end in ("en", "ko"))
    translated = load(tmp_path / "x" / "model").translate(sources, Options(protect=False, force=True))
    alone = sacrebleu.corpus_bleu(translated, [wanted]).score
    exported = json.loads(
        regard(
            "export", "--model", str(tmp_path / "x/model"), "--to", "ctranslate2", "--quantization", "int8", "--json"
        )
    )
    assert exported["bleu_float32"] == alone, "measured on the run's own validation set, by the model alone"
    shutil.rmtree(tmp_path / "x/model/ctranslate2")
    printed = regard("translate", str(counted / "val.en"), "--model", str(tmp_path / "x" / "model")).split("\n")[:-1]
    reference = (counted / "val.ko").read_text(encoding="utf-8").split("\n")[:-1]
    assert sacrebleu.corpus_bleu(printed, [reference]).score == logged[-1]["bleu"]

    regard(*common, "--out", str(tmp_path / "y"))
    assert sha256(tmp_path / "x/model/model.safetensors") == sha256(tmp_path / "y/model/model.safetensors")
    assert "BLEU" in regard("runs", str(tmp_path / "x"), str(tmp_path / "y"))
    for name in ("bleu", "chrf"):
        assert figures[f"validation_{name}_signature"] in (tmp_path / "x" / "model" / "README.md").read_text()


def test_the_best_of_a_run(counted: Path, tmp_path: Path) -> None:
    common = ["--preset", "tiny", "--data", str(counted / "data"), "--out", str(tmp_path / "x")]
    regard("train", *common, *small("train.bleu=true", "train.best=bleu"))
    summary = json.loads(regard("runs", str(tmp_path / "x"), "--json"))[str(tmp_path / "x")]
    step, out = summary["best_step"], tmp_path / "best"
    assert f"the best checkpoint, that of step {step}" in regard(
        "average", str(tmp_path / "x"), "--best", "--out", str(out)
    )
    assert sha256(out / "model.safetensors") == sha256(tmp_path / f"x/checkpoints/step-{step:08d}/model.safetensors")
    with pytest.raises(UserError, match="give one of the two"):
        regard("average", str(tmp_path / "x"), "--best", "--last", "2", "--out", str(tmp_path / "other"))


def test_a_plot_of_losses_and_bleu_names_every_line(counted: Path, tmp_path: Path) -> None:
    common = ["--preset", "tiny", "--data", str(counted / "data")]
    regard("train", *common, "--out", str(tmp_path / "x"), *small("train.bleu=true"))
    regard("train", *common, "--out", str(tmp_path / "y"), *small())
    regard("runs", str(tmp_path / "x"), str(tmp_path / "y"), "--plot", str(tmp_path / "both.svg"))
    drawn = (tmp_path / "both.svg").read_text(encoding="utf-8")
    for name in ("x: training", "x: validation", "y: validation", "x: checkpoints", "x: the written model"):
        assert f"{name} -->" in drawn.replace(f"{tmp_path}/", "") or f"{name} (" in drawn.replace(f"{tmp_path}/", ""), (
            name
        )
    assert "BLEU on the validation set" in drawn and "y: checkpoints" not in drawn.replace(f"{tmp_path}/", "")


def test_several_languages_at_once(counted: Path, tmp_path: Path) -> None:
    """Each validation pair is translated into its own language."""
    train, valid = ([str(counted / f"{name}.{code}") for code in ("en", "ko")] for name in ("train", "val"))
    regard(
        "prepare", "--train", *train, "--tag", "<2ko>", "--train", *train[::-1], "--tag", "<2en>", "--valid", *valid,
        "--valid", *valid[::-1], "--valid-tag", "<2ko>", "--valid-tag", "<2en>", "--vocabulary", "310", "--cores", "1",
        "--out", str(tmp_path / "data"),
    )  # fmt: skip
    common = ["--preset", "tiny", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "x"), "--json"]
    settings = small(
        "train.bleu=true", "train.steps=250", "train.checkpoint_every=250", "train.warmup=20", "model.dropout=0"
    )
    figures = json.loads(regard("train", *common, *settings))
    hypotheses, references = [], []
    for code, (source, target) in (("ko", valid), ("en", valid[::-1])):
        hypotheses += regard("translate", source, "--to", code, "--model", str(tmp_path / "x/model")).split("\n")[:-1]
        references += Path(target).read_text(encoding="utf-8").split("\n")[:-1]
    assert figures["validation_bleu"] == sacrebleu.corpus_bleu(hypotheses, [references]).score > 0


def test_a_setting_is_unset(counted: Path, tmp_path: Path) -> None:
    arguments = ["--preset", "tiny", "--data", str(counted / "data"), "--out", str(tmp_path / "x")]
    regard("train", *arguments, *small("train.steps=2", "train.schedule=paper", "train.peak_rate="))
    assert "peak_rate" not in (tmp_path / "x" / "run.toml").read_text()


def test_fine_tuning(data: Path, tmp_path: Path) -> None:
    regard("train", "--preset", "tiny", "--data", str(data), "--out", str(tmp_path / "x"), *small())
    regard(
        "train", "--preset", "tiny", "--data", str(data), "--out", str(tmp_path / "y"),
        "--from", str(tmp_path / "x/model"),
        "--set", "train.steps=3", "--set", "train.batch_tokens=200", "--set", "model.dropout=0",
    )  # fmt: skip
    assert json.loads((tmp_path / "y/model/config.json").read_text())["model"]["d_model"] == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tiny", "--out", "o", "--data", "d"], "tiny: no such file; for the preset of this name, write --preset tiny"),
        (["--preset", "tiny"], "--out"),
        (["--preset", "tiny", "--out", "o"], "--data"),
        (["--out", "o", "--data", "d"], "either a run file or a --preset"),
        (["--preset", "tiny", "--out", "o", "--data", "nowhere"], "nowhere: not prepared data"),
        (["--preset", "tiny", "--out", "o", "--data", "d", "--set", "train.stpes=3"], "did you mean 'train.steps'"),
        (["--preset", "tiny", "--out", "o", "--data", "d", "--set", "steps=3"], "SECTION.KEY=VALUE"),
        (["none.toml", "--out", "o", "--data", "d"], "none.toml: no such file"),
    ],
)
def test_mistakes(arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        regard("train", *arguments)
    assert not (tmp_path / "o").exists()


def test_fine_tuning_with_other_subwords_is_refused(data: Path, tmp_path: Path) -> None:
    regard("train", "--preset", "tiny", "--data", str(data), "--out", str(tmp_path / "x"), *small())
    lines = [f"{n * 7919:x} dogs\t개 {n * 104729:x}" for n in range(300)]
    (tmp_path / "other.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    common = ["prepare", "--train", str(tmp_path / "other.tsv"), "--cores", "1"]
    regard(*common, "--vocabulary", "330", "--out", str(tmp_path / "other"))
    tune = ["train", "--preset", "tiny", "--out", str(tmp_path / "y"), "--from", str(tmp_path / "x/model")]
    tune += ["--set", "train.steps=2", "--set", "train.batch_tokens=200"]
    with pytest.raises(UserError, match="its subwords are not those of the data.*--subwords-from"):
        regard(*tune, "--data", str(tmp_path / "other"))
    regard(*common, "--subwords-from", str(tmp_path / "x/model"), "--out", str(tmp_path / "fitting"))
    regard(*tune, "--data", str(tmp_path / "fitting"))
    assert (tmp_path / "y" / "model" / "config.json").exists()
    regard(*common, "--subwords-from", str(tmp_path / "x/model"), "--form", "NFKC", "--out", str(tmp_path / "form"))
    with pytest.raises(UserError, match="form NFC, and the data are in NFKC; prepare the data with --form NFC"):
        regard(*tune, "--fresh", "--data", str(tmp_path / "form"))


def test_fine_tuning_keeps_to_the_model_but_for_what_the_run_file_says(data: Path, tmp_path: Path) -> None:
    regard("train", "--preset", "tiny", "--data", str(data), "--out", str(tmp_path / "x"), *small())
    (tmp_path / "tune.toml").write_text('preset = "base"\n[model]\ndropout = 0.25\n[train]\nbatch_tokens = 200\n')
    tune = ["train", str(tmp_path / "tune.toml"), "--from", str(tmp_path / "x/model"), "--data", str(data)]
    regard(*tune, "--out", str(tmp_path / "y"), "--set", "train.steps=1")
    before, after = (json.loads((tmp_path / run / "model/config.json").read_text())["model"] for run in "xy")
    assert before["dropout"] != 0.25 and after == {**before, "dropout": 0.25}
    tune[3] = str(tmp_path / "y/model")
    with pytest.raises(UserError, match="start was model, [0-9a-f]{16} when this run began and is now model, "):
        regard(*tune, "--out", str(tmp_path / "y"), "--set", "train.steps=2")


def test_a_bundled_models_subwords(tmp_path: Path) -> None:
    """A name stands wherever the folder of a model may."""
    (tmp_path / "pairs.tsv").write_text(
        "The dog runs.\tDer Hund läuft.\nGood morning!\tGuten Morgen!\n", encoding="utf-8"
    )
    common = ["prepare", "--train", str(tmp_path / "pairs.tsv"), "--cores", "1", "--out", str(tmp_path / "data")]
    regard(*common, "--subwords-from", "en-de")
    assert sha256(tmp_path / "data" / "subwords.model") == sha256(located("en-de") / "subwords.model")


def test_fresh_does_not_remove_what_it_starts_from(data: Path, tmp_path: Path) -> None:
    run = str(tmp_path / "x")
    regard("train", "--preset", "tiny", "--data", str(data), "--out", run, *small())
    with pytest.raises(UserError, match="--fresh would remove it"):
        regard("train", "--preset", "tiny", "--data", str(data), "--out", run, "--from", f"{run}/model", "--fresh")
    assert (tmp_path / "x" / "model").exists()


def test_going_on_after_fresh(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.train.loop.Trainer.update", lambda self, step, number, asked, **_: signalled(asked))
    common = ["train", "--preset", "tiny", "--data", str(data), "--out", str(tmp_path / "x"), *small()]
    with pytest.raises(Interrupted, match="again to go on$"):
        regard(*common)
    with pytest.raises(Interrupted, match=r"again to go on \(without --fresh, which would start over\)$"):
        regard(*common, "--fresh")


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_a_signal_before_training_begins(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    def while_it_opens(_: Path) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr("regard.data.prepared.Prepared.open", while_it_opens)
    before = signal.getsignal(number)
    with pytest.raises(Interrupted, match=f"x: stopped by {number.name} while no step was under way.*again") as caught:
        regard("train", "--preset", "tiny", "--data", str(data), "--out", str(tmp_path / "x"), *small())
    assert caught.value.code == 75 and signal.getsignal(number) == before and not (tmp_path / "x").exists()


def signalled(asked: Callable[[], bool]) -> Update:
    """A step in the middle of which the system asks us to stop."""
    signal.raise_signal(signal.SIGTERM)
    return Update(1.0, 1.0, 1.0, 0.1, taken=True, stop=asked())


def test_names_of_runs_are_not_markup(data: Path, tmp_path: Path) -> None:
    run = str(tmp_path / "[red]a[/b]")
    regard("train", "--preset", "tiny", "--data", str(data), "--out", run, *small())
    assert "[red]a[/b]" in "".join(regard("runs", run, run).split())


def test_runs_of_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not the folder of a training run"):
        regard("runs", str(tmp_path))
    with pytest.raises(UserError, match="no such file"):
        regard("average", str(tmp_path), "--out", str(tmp_path / "out"))


def torchrun(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "regard"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command += arguments
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def test_torchrun(counted: Path, tmp_path: Path) -> None:
    out = tmp_path / "z"
    common = ["train", "--preset", "tiny", "--data", str(counted / "data"), "--out", str(out)]
    settings = ["train.bleu=true", "train.best=chrf", "train.patience=9"]
    done = torchrun(*common, *small(*settings))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("validation_perplexity") == 1, "one process speaks"
    files = ["--source", str(counted / "val.en"), "--reference", str(counted / "val.ko"), "--json"]
    evaluated = json.loads(regard("evaluate", "--model", str(out / "checkpoints" / "step-00000010"), *files))
    assert [record["bleu"] for record in records(out / "log.jsonl") if "bleu" in record][-1] == evaluated["bleu"]


@pytest.mark.slow
def test_torchrun_says_a_mistake_once(counted: Path, tmp_path: Path) -> None:
    common = ["train", "--preset", "tiny", "--data", str(counted / "data"), "--out", str(tmp_path / "z")]
    regard(*common, *small())
    refused = torchrun(*common, *small("train.seed=99"))
    assert refused.returncode != 0
    spoken = [line for line in refused.stderr.splitlines() if "regard: " in line]
    assert len(spoken) == 1 and "train.seed was 1 when this run began and is now 99" in spoken[0]
    assert "exitcode  : 2" in refused.stderr and "exitcode  : 1 " not in refused.stderr
    assert refused.stderr.count("Traceback") == 1, "torchrun's own"
