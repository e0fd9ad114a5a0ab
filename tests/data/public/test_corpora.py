import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.public import ENGLISH, GERMAN, KOREAN, segments, tgz, zipped
from tests.support.server import Server, running

from regard.config.checked import check
from regard.config.data import CorpusConfig
from regard.data.corpus import languages, pairs
from regard.data.public import corpora
from regard.data.public.corpora import Catalogue, catalogue, get, text_files
from regard.errors import UserError


def read(name: str, split: Any, *codes: str) -> list[list[tuple[str, str]]]:
    return [list(pairs(CorpusConfig(files=found))) for found in text_files(name, split, *codes)]


def stripped(*columns: list[str]) -> list[tuple[str, ...]]:
    return [tuple(text.strip() for text in row) for row in zip(*columns, strict=True)]


def test_a_corpus_of_many_files(served: tuple[Server, Any], tmp_path: Path) -> None:
    told: list[str] = []
    folder = get("small-en-de", progress=lambda name, *_: told.append(name))
    assert folder == tmp_path / "cache" / "corpora" / "small-en-de"
    assert list(dict.fromkeys(told))[:3] == ["all.tgz", "valid.en.gz", "valid.de.gz"]
    assert read("small-en-de", "train") == [stripped(ENGLISH, GERMAN), stripped(ENGLISH[:7], GERMAN[:7])]
    assert read("small-en-de", "valid") == [stripped(ENGLISH[:5], GERMAN[:5])]
    assert read("small-en-de", "test") == [[("Black & white", "Schwarz & weiß"), *stripped(ENGLISH[:4], GERMAN[:4])]]
    assert read("small-en-de", "valid", "de") == [stripped(GERMAN[:5], ENGLISH[:5])]
    assert all(languages(found) == ("en", "de") for found in text_files("small-en-de", "train"))
    assert sorted(path.name for path in folder.iterdir()) == [
        "corpus.json", "manifest.json", "test.de", "test.en", "train-europarl.de", "train-europarl.en",
        "train-talks.de", "train-talks.en", "valid.de", "valid.en",
    ]  # fmt: skip


def test_a_tsv_is_divided_by_its_first_sentence(served: tuple[Server, Any]) -> None:
    get("small-en-ko")
    splits = {split: read("small-en-ko", split)[0] for split in ("train", "valid", "test")}
    every = [pair for rows in splits.values() for pair in rows]
    assert sorted(every) == sorted((f"Go {number % 300}.", line.strip()) for number, line in enumerate(KOREAN))
    english = [{source for source, _ in rows} for rows in splits.values()]
    assert all(english) and sum(map(len, english)) == 300  # none in two splits
    assert read("small-en-ko", "valid", "ko", "en") == [[pair[::-1] for pair in splits["valid"]]]


def test_what_is_here_is_not_downloaded_again(served: tuple[Server, Any], tmp_path: Path) -> None:
    server, content = served
    folder = get("small-en-de")
    server.files.clear()
    server.asked.clear()
    before = (folder / "valid.en").stat().st_ino
    assert get("small-en-de") == folder and (folder / "valid.en").stat().st_ino == before
    (folder / "valid.en").write_text("damaged")
    with pytest.raises(UserError, match="valid.en: 7 bytes where the manifest says"):
        text_files("small-en-de", "valid")
    get("small-en-de")  # made again, out of the downloads
    assert read("small-en-de", "valid") == [stripped(ENGLISH[:5], GERMAN[:5])]
    content["corpora"]["small-en-de"]["parts"][0]["name"] = "parliament"  # a later release of regard
    get("small-en-de")
    assert text_files("small-en-de", "train")[0][0].endswith("/train-parliament.en")
    assert get("small-en-de", tmp_path / "elsewhere") == tmp_path / "elsewhere"
    assert text_files("small-en-de", "valid", folder=tmp_path / "elsewhere")[0][0] == str(
        tmp_path / "elsewhere/valid.en"
    )
    assert server.asked == []


def test_a_folder_of_other_things_is_left_alone(served: tuple[Server, Any], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    get("small-en-ko", tmp_path / "mine")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.txt").write_text("years")
    asked = len(served[0].asked)
    with pytest.raises(UserError, match="thesis: holds thesis.txt, which is no part of small-en-ko"):
        get("small-en-ko", tmp_path / "thesis")
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["thesis.txt"]
    (tmp_path / "mine" / "notes.txt").write_text("months")
    (tmp_path / "mine" / "train.en").write_text("damaged")
    with pytest.raises(UserError, match="mine: holds notes.txt, which is no part of small-en-ko"):
        get("small-en-ko", tmp_path / "mine")
    assert (tmp_path / "mine" / "notes.txt").read_text() == "months" and len(served[0].asked) == asked
    (tmp_path / "mine" / "notes.txt").unlink()
    get("small-en-ko", tmp_path / "mine")
    assert (tmp_path / "mine" / "train.en").read_text() != "damaged"


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("kor.zip", zipped(**{"../../kor.txt": "x\ty\n", "kor.txt": "x\ty\n"}), "would lie outside its folder"),
        ("kor.zip", zipped(**{"other.txt": "x\ty\n"}), "has no kor.txt; it is another release"),
        ("kor.zip", zipped(**{"kor.txt": "no tab\n"}), "kor.txt, line 1: no tab"),
        ("kor.zip", b"<html>", "not a whole archive"),
    ],
)
def test_a_bad_archive_leaves_no_corpus(
    served: tuple[Server, Any], tmp_path: Path, file: str, content: bytes, sentence: str
) -> None:
    served[0].serve(file, content)
    with pytest.raises(UserError, match=sentence):
        get("small-en-ko")
    assert not corpora.is_here("small-en-ko")
    assert sorted(path.name for path in (tmp_path / "cache" / "corpora").iterdir()) == ["downloads"]
    assert not (tmp_path / "kor.txt").exists() and not (tmp_path / "cache" / "kor.txt").exists()


def test_sides_of_different_lengths(served: tuple[Server, Any]) -> None:
    members = {
        "training/europarl.de": "", "training/europarl.en": "", "test/src.en.sgm": segments(ENGLISH[:4]),
        "test/src.de.sgm": segments(GERMAN[:3]), "en-de/train.tags.en": "", "en-de/train.tags.de": "",
    }  # fmt: skip
    served[0].serve("all.tgz", tgz(**members))
    with pytest.raises(UserError, match="src.en.sgm and src.de.sgm do not have the same number of sentences"):
        get("small-en-de")
    assert not corpora.is_here("small-en-de")


def test_mistakes(served: tuple[Server, Any]) -> None:
    with pytest.raises(UserError, match="no public corpus is called 'small-en-fe'; did you mean 'small-en-de'?"):
        get("small-en-fe")
    with pytest.raises(UserError, match="is not here; get it with: regard corpora get small-en-de$"):
        text_files("small-en-de", "train")
    get("small-en-ko")
    for codes in (("en", "de"), ("de",), ("en", "en")):
        with pytest.raises(UserError, match="small-en-ko is en and ko, not "):
            text_files("small-en-ko", "train", *codes)
    assert served[0].asked and all("range" not in request for request in served[0].asked)


def test_where_corpora_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("REGARD_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert corpora.home() == tmp_path / ".cache" / "regard" / "corpora"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert corpora.home() == tmp_path / ".cache" / "regard" / "corpora"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "캐시"))
    assert corpora.home() == tmp_path / "캐시" / "regard" / "corpora"
    monkeypatch.setenv("REGARD_CACHE", "~/own")
    assert corpora.home() == tmp_path / "own" / "corpora"


class TestTheCatalogue:
    def test_every_file_is_used_and_every_use_has_a_file(self) -> None:
        known = catalogue()
        used = {file for corpus in known.corpora.values() for file in corpus.downloads}
        assert used == set(known.files)
        addresses = [remote.address for remote in known.files.values()]
        assert len(set(addresses)) == len(addresses)

    @pytest.mark.parametrize("name", list(catalogue().corpora))
    def test_every_corpus_has_its_splits_and_its_languages(self, name: str) -> None:
        corpus = catalogue().find(name)
        assert name.endswith("-".join(corpus.languages))
        for split in ("train", "valid", "test"):
            found = [part.texts(split, corpus.languages) for part in corpus.parts]
            texts = [text for part in found for text in part]
            assert texts and len(set(texts)) == len(texts)
            assert all(languages(part) == corpus.languages for part in found if part)
        for part in corpus.parts:
            assert len(part.sides) == (1 if part.kind == "tsv" else 2)
            assert part.kind == "tsv" or all(
                language in side.rpartition("/")[2].split(".")
                for side, language in zip(part.sides, corpus.languages, strict=True)
            )

    def test_what_sacrebleu_publishes_too(self) -> None:
        """The same addresses have the same MD5 in sacreBLEU's table of data sets."""
        from sacrebleu.dataset import DATASETS

        published: dict[str, str] = {}
        for dataset in DATASETS.values():
            published |= dict(zip(dataset.data, dataset.md5 or [], strict=False))
        same = {name: remote for name, remote in catalogue().files.items() if remote.address in published}
        assert {"wmt13-test.tgz", "wmt14-test-full.tgz", "iwslt17-en-de.tgz", "iwslt17-en-fr.tgz"} <= set(same)
        for remote in same.values():
            assert remote.md5 == published[remote.address]

    def test_the_real_multi30k(self, corpora: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Served from the files that are here, it passes its published checksums and has its published pairs."""
        monkeypatch.setenv("no_proxy", "*")
        monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
        with running() as server:
            content = catalogue().model_dump(mode="json", exclude_none=True)
            for name in catalogue().find("multi30k-en-de").downloads:
                file = name.removeprefix("multi30k-").replace("test2016", "test_2016_flickr")
                data = (corpora / "multi30k" / file).read_bytes()
                drops = [len(data) // 3] if name == "multi30k-train.en.gz" else []
                content["files"][name]["address"] = server.serve(name, data, drops=drops)
            monkeypatch.setattr("regard.data.public.corpora.catalogue", lambda: check(Catalogue, content, "the test's"))
            get("multi30k-en-de")
        counts = {split: len(read("multi30k-en-de", split)[0]) for split in ("train", "valid", "test")}
        assert counts == {"train": 29_000, "valid": 1_014, "test": 1_000}
        assert json.loads((tmp_path / "corpora/multi30k-en-de/corpus.json").read_text())["licence"].startswith(
            "research"
        )

    def test_treebanks_are_got_by_hand(self) -> None:
        for name, treebank in catalogue().treebanks.items():
            assert treebank.home.startswith("https://") and treebank.licence and treebank.trees > 0
            with pytest.raises(UserError) as mistake:
                get(name)
            assert treebank.how in str(mistake.value) and treebank.home in str(mistake.value)
        assert {"craft", "wsj"} <= set(catalogue().treebanks)
        assert not set(catalogue().treebanks) & set(catalogue().corpora)
