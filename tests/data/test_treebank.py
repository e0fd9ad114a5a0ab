"""Trees -> prepared data."""

import gzip
import json
from pathlib import Path

import pytest

from regard.config.data import CorpusConfig, FilterConfig, PrepareConfig
from regard.data.prepare import prepare
from regard.data.prepare_report import PrepareReport
from regard.data.prepared import Prepared, valid_texts
from regard.errors import UserError
from regard.text.symbols import Symbols

TREES = """\
d1\t((S (NP-SBJ (DT The) (NN cat)) (VP (VBD sat) (NP (-NONE- *T*-1))) (. .)))
( (S
    (NP (NNS Dogs) (-LRB- -LRB-) (NN 개) (-RRB- -RRB-))
    (VP (VBP bark)) ))

(TOP (-NONE- *))
"""
EXPECTED = [
    ("The cat sat .", "(S (NP DT NN )NP (VP VBD )VP . )S"),
    ("Dogs ( 개 ) bark", "(S (NP NNS -LRB- NN -RRB- )NP (VP VBP )VP )S"),
]
PARSING = PrepareConfig(task="parsing", vocabulary=300, filters=FilterConfig(duplicates=True))


def write(path: Path, text: str = TREES, times: int = 20) -> CorpusConfig:
    path.write_bytes(gzip.compress(text.encode() * times) if path.suffix == ".gz" else text.encode() * times)
    return CorpusConfig(files=(str(path),))


def made(tmp_path: Path, config: PrepareConfig = PARSING, valid: str = TREES) -> tuple[Prepared, PrepareReport]:
    train = [write(tmp_path / "a.mrg.gz"), write(tmp_path / "b.mrg").model_copy(update={"weight": 0.3})]
    report = prepare(train, [write(tmp_path / "v.mrg", valid, 1)], tmp_path / "out", config, cores=1)
    return Prepared.open(tmp_path / "out"), report


def texts(data: Prepared, split: int, count: int) -> list[tuple[str, str]]:
    pairs = [data.train[split].pair(number) for number in range(count)]
    return [(data.source_subwords.decode(s.tolist()), data.target_subwords.decode(t.tolist())) for s, t in pairs]


def test_words_become_subwords_and_trees_become_symbols(tmp_path: Path) -> None:
    data, report = made(tmp_path)
    assert isinstance(data.target_subwords, Symbols) and data.config.task == "parsing" and not data.config.shared
    assert texts(data, 0, 2) == texts(data, 1, 2) == EXPECTED
    assert [split.weight for split in data.train] == [1.0, 0.3]
    assert [(pair.source, pair.target) for pair in valid_texts(data.directory)] == EXPECTED
    assert report.train[0].kept == 40 and report.train[0].dropped == {"no words": 20}
    assert set(data.vocabularies) == {"source.subwords.model", "target.symbols.txt"}


def test_tags_can_be_one_symbol(tmp_path: Path) -> None:
    data, _ = made(tmp_path, PARSING.model_copy(update={"tree_tags": "one"}))
    assert texts(data, 0, 1) == [("The cat sat .", "(S (NP XX XX )NP (VP XX )VP XX )S")]


def test_symbols_that_only_the_validation_has_are_reported(tmp_path: Path) -> None:
    _, report = made(tmp_path, valid="(FRAG (UH Oh) (. !))")
    assert report.valid is not None and report.valid.target.unknown == 3
    assert report.valid.warnings == ("symbols that the training data has not: (FRAG )FRAG UH",)


def test_vocabularies_are_taken_from_a_parser_only(tmp_path: Path) -> None:
    first, _ = made(tmp_path)
    again = PARSING.model_copy(update={"subwords_from": str(first.directory)})
    prepare([write(tmp_path / "c.mrg")], [], tmp_path / "again", again, cores=1)
    assert Prepared.open(tmp_path / "again").vocabularies == first.vocabularies
    with pytest.raises(UserError, match="not for translation"):
        prepare(
            [CorpusConfig(files=("-",))],
            [],
            tmp_path / "no",
            PrepareConfig(subwords_from=str(first.directory)),
        )


def test_mistakes_are_told_with_their_place(tmp_path: Path) -> None:
    two = CorpusConfig(files=(write(tmp_path / "a").files[0], write(tmp_path / "b").files[0]))
    with pytest.raises(UserError, match="a treebank is one file"):
        prepare([two], [], tmp_path / "out", PARSING, cores=1)
    with pytest.raises(UserError, match="leave out --tag"):
        tagged = write(tmp_path / "a").model_copy(update={"tag": "<2x>"})
        prepare([tagged], [], tmp_path / "out", PARSING, cores=1)
    with pytest.raises(UserError, match="broken, line 2, column 1: "):
        prepare([write(tmp_path / "broken", "(S (A b))\n(S (A b)", 1)], [], tmp_path / "out", PARSING, cores=1)
    with pytest.raises(UserError, match="no pair is left"):
        prepare([write(tmp_path / "empty", "\n", 1)], [], tmp_path / "out", PARSING, cores=1)


def test_the_report_can_be_read_back(tmp_path: Path) -> None:
    data, report = made(tmp_path)
    written = json.loads((data.directory / "report.json").read_text())
    assert written["target_vocabulary"] == report.target_vocabulary == data.target_subwords.size


def test_nothing_is_skipped_in_trees(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="mrg: where a tree is broken nothing tells the next one; .*--skip-invalid"):
        made(tmp_path, PARSING.model_copy(update={"skip_invalid": True}))
