from pathlib import Path

import pytest
from tests.support.saving import save_built

from regard.config.run import Config
from regard.errors import Failed, UserError
from regard.memory.pair import Pair
from regard.memory.store import Memory
from regard.saved.folder import LoadedModel
from regard.translate.load import load
from regard.tuning.tune import tune

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


def test_corrections_are_learned_once(folder: Path, memory: Memory, tmp_path: Path) -> None:
    said: list[str] = []
    done = tune(folder, memory, tmp_path / "tuned", texts=TEXTS, test=TEST, steps=2, worse=100, say=said.append)
    assert (done.corrections, done.others > 0) == (2, True)
    assert said == [f"2 corrections, mixed with {done.others} other pairs"]
    assert load(done.model).translate("A house.")
    assert 0 <= done.reproduced_after <= 1
    assert "nrefs:1" in done.signature
    with pytest.raises(UserError, match="no en-de corrections since the last tuning"):
        tune(folder, memory, tmp_path / "tuned", texts=TEXTS, test=TEST, steps=2)


def test_a_worse_model_is_not_kept(folder: Path, memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(Failed, match="less than before, and is not kept"):
        tune(folder, memory, tmp_path / "tuned", texts=TEXTS, test=TEST, steps=1, worse=-101)
    assert not (tmp_path / "tuned" / "model").exists()
    assert len(memory.corrections(("en", "de"))) == 2


def test_what_is_missing_is_told(folder: Path, memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no test text"):
        tune(folder, memory, tmp_path / "tuned", texts=TEXTS)
    with pytest.raises(UserError, match="would make the model forget"):
        tune(folder, memory, tmp_path / "tuned", test=TEST)
