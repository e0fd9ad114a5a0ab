import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.server import Server

from regard.cli.main import main
from regard.data.prepared import Prepared
from regard.data.public.corpora import catalogue


@pytest.fixture
def regard(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The command in this process: exit code, stdout and stderr."""

    def run(arguments: str) -> tuple[Any, str, str]:
        monkeypatch.setattr(sys, "argv", ["regard", *arguments.split()])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capsys.readouterr())

    return run


def test_the_list(regard: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    code, listed, said = regard("corpora")
    assert (code, said) == (0, "")
    for name, corpus in catalogue().corpora.items():
        assert f"\n{name}\n" in f"\n{listed}" and f"licence: {corpus.licence}\n" in listed
    for remote in catalogue().files.values():
        assert f"  {remote.address}  (checksum: " in listed
    assert "deu-eng.zip  (checksum: none published)" in listed and "1.3 MB" in listed
    assert list(tmp_path.iterdir()) == []


def test_the_list_as_the_issue_writes_it(tmp_path: Path) -> None:
    """With no network to ask: any attempt would go to a proxy that does not exist, and fail."""
    environment = {**os.environ, "REGARD_CACHE": str(tmp_path), "https_proxy": "http://127.0.0.1:9", "no_proxy": ""}
    command = [sys.executable, "-m", "regard", "corpora", "--json"]
    done = subprocess.run(command, capture_output=True, env=environment, check=True, encoding="utf-8")
    listed = json.loads(done.stdout)
    assert set(listed) == set(catalogue().corpora)
    wmt = listed["wmt14-en-de"]
    assert wmt["languages"] == ["en", "de"] and wmt["here"] is None and wmt["size"] is None
    assert wmt["files"][0] == catalogue().files["europarl-v7.tgz"].model_dump()
    for corpus in listed.values():
        assert corpus["licence"] and corpus["home"] and corpus["pairs"] > 0 and corpus["files"]


def test_treebanks(regard: Any) -> None:
    code, listed, said = regard("corpora treebanks")
    assert (code, said) == (0, "")
    for name, treebank in catalogue().treebanks.items():
        assert f"\n{name}\n" in f"\n{listed}" and treebank.licence in listed and treebank.how in listed
    assert set(json.loads(regard("corpora treebanks --json")[1])) == set(catalogue().treebanks)
    assert regard("corpora")[1].endswith("regard corpora treebanks\n")
    code, printed, said = regard("corpora get wsj")
    assert (code, printed) == (2, "") and said.startswith("regard: wsj is a treebank, which you get by hand from ")
    assert "cat 0[2-9]/*.mrg 1?/*.mrg 2[01]/*.mrg > train.mrg" in said


def test_get_then_prepare(regard: Any, served: tuple[Server, Any], tmp_path: Path) -> None:
    out = tmp_path / "data"
    assert regard(f"prepare --corpus small-en-de --vocabulary 300 --out {out}") == (
        2, "", "regard: the corpus small-en-de is not here; get it with: regard corpora get small-en-de\n",
    )  # fmt: skip
    assert served[0].asked == []  # preparing downloads nothing
    code, printed, said = regard("corpora get small-en-de")
    folder = tmp_path / "cache" / "corpora" / "small-en-de"
    assert code == 0 and printed.splitlines()[0] == f"train  {folder}/train-europarl.en {folder}/train-europarl.de"
    assert printed.endswith("next:  regard prepare --corpus small-en-de --out data/small-en-de\n")
    assert said.startswith("small-en-de: http://127.0.0.1/; licence: ours\nall.tgz ...\nvalid.en.gz ...\n")
    code, printed, said = regard("corpora get small-en-de --json")
    assert json.loads(printed)["files"]["valid"] == [[f"{folder}/valid.en", f"{folder}/valid.de"]]
    assert "..." not in said
    assert "small-en-de  (here)\n" in regard("corpora")[1]
    assert json.loads(regard("corpora --json")[1])["small-en-de"]["here"] == str(folder)

    arguments = f"--vocabulary 300 --keep-duplicates --out {out}"
    assert regard(f"prepare --corpus small-en-de {arguments}")[0] == 0
    prepared = Prepared.open(out)
    assert [len(split) for split in prepared.train] == [50, 7] and len(prepared.valid or ()) == 5
    assert prepared.languages == ("en", "de")
    arguments += f" --force --from de --valid {folder}/test.de {folder}/test.en"
    assert regard(f"prepare --corpus small-en-de {arguments}")[0] == 0
    prepared = Prepared.open(out)
    assert prepared.languages == ("de", "en") and len(prepared.valid or ()) == 5
    assert prepared.source_subwords.decode(prepared.train[0].pair(0)[0].tolist()) == "Satz 0 ist schön ü🎉."


def test_several_corpora_and_files(regard: Any, served: tuple[Server, Any], tmp_path: Path) -> None:
    for name in ("small-en-de", "small-en-ko"):
        assert regard(f"corpora get {name}")[0] == 0
    folder = tmp_path / "cache" / "corpora" / "small-en-de"
    code, _, said = regard(
        f"prepare --train {folder}/test.en {folder}/test.de --tag <2de> --corpus small-en-ko --tag <2ko> "
        f"--valid {folder}/valid.en {folder}/valid.de --valid-tag <2de> --vocabulary 360 --out {tmp_path / 'data'}"
    )
    assert code == 0, said
    prepared = Prepared.open(tmp_path / "data")
    assert prepared.source_subwords.tags == ("<2de>", "<2ko>") and len(prepared.train[1]) > 300


def test_to_a_folder(regard: Any, served: tuple[Server, Any], tmp_path: Path) -> None:
    code, printed, _ = regard(f"corpora get small-en-ko --to {tmp_path / '말뭉치'}")
    assert code == 0 and printed.splitlines() == [
        f"{split:<6} {tmp_path}/말뭉치/{split}.en {tmp_path}/말뭉치/{split}.ko" for split in ("train", "valid", "test")
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("corpora get small", "no public corpus is called 'small'; did you mean 'small-en-ko'?"),
        ("corpora get 없음", "no public corpus is called '없음'; `regard corpora` lists them"),
        ("prepare --corpus nothing --out x", "no public corpus is called 'nothing'; `regard corpora` lists them"),
        ("corpora get small-en-ko", "the server answers 404 Not Found; the file may have moved, look for it by hand"),
    ],
)
def test_mistakes(regard: Any, served: tuple[Server, Any], arguments: str, sentence: str) -> None:
    served[0].files.clear()
    code, printed, said = regard(arguments)
    assert (code, printed) == (2, "") and said.splitlines()[-1].endswith(sentence)
    assert said.splitlines()[-1].startswith("regard: ")


def test_a_bar_on_a_terminal(served: tuple[Server, Any]) -> None:
    code = (
        "import json, sys\n"
        "from regard.cli.main import main\n"
        "from regard.config.checked import check\n"
        "from regard.data.public import corpora\n"
        "known = check(corpora.Catalogue, json.loads(sys.argv.pop(1)), 'the test')\n"
        "corpora.catalogue = lambda: known\n"
        "main()"
    )
    command = [sys.executable, "-c", code, json.dumps(served[1]), "corpora", "get", "small-en-ko"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
        assert process.wait() == 0
    os.close(ours)
    assert "licence: ours" in shown.decode() and "kor.zip" in shown.decode() and "━" in shown.decode()
