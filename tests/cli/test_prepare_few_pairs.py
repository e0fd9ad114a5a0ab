"""`regard prepare` for few pairs: text to denoise, vocabularies that grow, tags, temperature, speech levels."""

import json
from pathlib import Path

import pytest
from tests.support.command import Run

from regard.data.prepared import Prepared
from regard.saved.folder import load_model

KOREAN = ["파일을 엽니다.", "문을 열어요.", "상자를 연다.", "개요", "여십시오. 🙂"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    for name, text in (("a.en", "the old dog sees {}"), ("a.ko", "{} 오래된 개가 봅니다")):
        (tmp_path / name).write_text("".join(f"{text.format(n)}\n" for n in range(200)), encoding="utf-8")
    return Run(monkeypatch, "prepare")


def test_text_to_denoise(run: Run) -> None:
    line = "--task denoise --text a.ko a.en --tag <2ko> --tag <2en> --cores 1 --json --out data"
    code, printed, told = run(*line.split())
    assert code == 0, told
    assert [split["files"] for split in json.loads(printed)["train"]] == [[["a.ko"]], [["a.en"]]]
    data = Prepared.open("data", contents=True)
    assert data.config.task == "denoise" and data.valid is not None
    source, target = (ids.tolist() for ids in data.train[0].pair(0))
    assert source == [data.source_subwords.tag("<2ko>"), *target]
    assert {"<span:0>", "<span:31>", "<bt>"} <= set(data.source_subwords.tags)


def test_tags_together_and_none(run: Run) -> None:
    line = ["--train", "a.en", "a.ko", "--tag", "", "--train", "a.ko", "a.en", "--tag", "<2en><bt>"]
    code, _, told = run(*line, *["--valid", "a.en", "a.ko", "--temperature", "3", "--cores", "1", "--out", "data"])
    assert code == 0, told
    data = Prepared.open("data")
    tags = [data.source_subwords.tag(name) for name in ("<2en>", "<bt>")]
    assert data.train[1].pair(0)[0].tolist()[:2] == tags and not set(data.train[0].pair(0)[0].tolist()) & set(tags)
    assert data.valid is not None and not set(data.valid.pair(0)[0].tolist()) & set(tags)
    assert [split.weight for split in data.train] == pytest.approx([1.0, 1.0]), "equally large: nothing to temper"


def test_speech_levels(run: Run, tmp_path: Path) -> None:
    pairs = [(f"{n} {number}", text) for n in range(40) for number, text in enumerate(KOREAN)]
    (tmp_path / "p.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    line = "--train p.tsv --tag <2ko> --speech-levels --from en --to ko --valid-pairs 0 --cores 1 --out data"
    code, _, told = run(*line.split())
    assert code == 0, told
    data = Prepared.open("data")
    levels = ("formal", "polite", "plain", None, "formal")
    carried = 0
    for number in range(len(data.train[0])):
        source, target = (ids.tolist() for ids in data.train[0].pair(number))
        [name] = data.source_subwords.pieces(source[:1])
        level = levels[KOREAN.index(data.source_subwords.decode(target))]
        assert name in ("<2ko>", f"<2ko:{level}>")
        carried += name != "<2ko>"
    assert 50 < carried < 110, "about half of 160"


def test_grow_as_the_issue_writes_it(run: Run) -> None:
    line = "--subwords-from en-de --grow 30 --train a.en a.ko --valid a.en a.ko --cores 1 --out data"
    code, _, told = run(*line.split())
    assert code == 0, told
    data, before = Prepared.open("data"), load_model("en-de").config.vocabulary
    assert data.source_subwords.tags[-1] == "<2ko>" and 0 < data.source_subwords.size - before <= 31
    assert data.train[0].pair(0)[0].tolist()[0] == data.source_subwords.tag("<2ko>")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--task denoise --train a.en a.ko", "--task denoise and --text go together"),
        ("--text a.en", "--task denoise and --text go together"),
        ("--task denoise --text a.en --corpus multi30k", "--task denoise and --text go together"),
        ("--task denoise --text a.en --separate", "leave out --separate"),
        ("--task denoise --text a.en --vocabulary-kind words", "leave out the other option"),
        ("--train a.en a.ko --grow 10", "--subwords-from"),
        ("--train a.en a.ko --speech-levels", "--tag '<2ko>'"),
        ("--train a.en a.ko --tag <2ko><", "without spaces or commas"),
    ],
)
def test_mistakes(run: Run, line: str, words: str) -> None:
    code, _, told = run(*line.split(), "--out", "data")
    assert code == 2 and words in told and not Path("data").exists()
