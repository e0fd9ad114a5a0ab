import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from regard.cli.main import main
from regard.data.prepared import Prepared


def regard(folder: Path, arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "regard", "prepare", *arguments.split()]
    return subprocess.run(command, cwd=folder, input=text, capture_output=True, encoding="utf-8", check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    words = ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]
    for name, start, count in (("train", 0, 400), ("val", 1000, 20)):
        numbers = [str(number * 7919) for number in range(start, start + count)]
        (tmp_path / f"{name}.en").write_text("".join(f"{n} in words\n" for n in numbers), encoding="utf-8")
        spelt = "".join(" ".join(words[int(figure)] for figure in n) + "\n" for n in numbers)
        (tmp_path / f"{name}.de").write_text(spelt, encoding="utf-8")
    return tmp_path


BASE = "--train train.en train.de --vocabulary 320 --out data"


def test_as_the_issue_writes_it(folder: Path) -> None:
    done = regard(folder, "--train train.en train.de --valid val.en val.de --vocabulary 350 --out data/new")
    assert (done.returncode, done.stderr) == (0, "reading ...\nlearning ...\nencoding ...\nwriting ...\n")
    assert "400 read, 400 kept" in done.stdout
    assert "20 read, 20 kept" in done.stdout
    prepared = Prepared.open(folder / "data" / "new", contents=True)
    assert len(prepared.train[0]) == 400
    assert len(prepared.valid or ()) == 20
    assert prepared.languages == ("en", "de")
    assert prepared.source_subwords.size == 350


def test_every_option(folder: Path) -> None:
    arguments = (
        "--train train.en train.de --weight 2 --tag <2de> --train - --weight 0.5 --tag <2xx> --valid val.en val.de "
        "--valid-tag <2de> --from en --to xx --vocabulary 310 --subwords unigram --form NFKC --max-characters 100 "
        "--max-ratio 0 --keep-identical --keep-duplicates --skip-invalid --sample 300 --seed 5 --cores 2 --json "
        "--out data"
    )
    text = "a b c\td e f\n" * 3 + "no tab\nsame\tsame\nＡ\tx\n" + "x" * 101 + "\ty\n"
    done = regard(folder, arguments, text)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [split["kept"] for split in report["train"]] == [400, 5]
    assert report["train"][1]["dropped"] == {"no tab": 1, "too long": 1}
    assert report["timings"]["pairs_per_second"] > 0
    prepared = Prepared.open(folder / "data")
    assert [split.weight for split in prepared.train] == [2.0, 0.5]
    assert prepared.source_subwords.tags == ("<2de>", "<2xx>")
    assert prepared.source_subwords.decode(prepared.train[1].pair(4)[0].tolist()) == "A"
    config = prepared.config
    assert (config.subwords, config.form, config.sample, config.seed) == ("unigram", "NFKC", 300, 5)
    assert (config.source_language, config.target_language) == ("en", "xx")


def test_a_vocabulary_each(folder: Path) -> None:
    (folder / "up.en").write_text((folder / "train.de").read_text(encoding="utf-8").upper(), encoding="utf-8")
    done = regard(folder, "--train up.en train.de --vocabulary 300 --separate --out data")
    assert done.returncode == 0, done.stderr
    prepared = Prepared.open(folder / "data")
    assert prepared.source_subwords is not prepared.target_subwords


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--train train.en train.de", "--out is missing; "),
        ("--out data", "--train is missing; "),
        ("--train --out data", "--train: 0 files, but a corpus has one or two; "),
        ("--train train.en train.de val.en --out data", "--train train.en train.de val.en: 3 files, but "),
        ("--train train.en missing.de --out data", "missing.de: no such file; "),
        ("--train train.en val.de --out data", "train.en has 400 lines and val.de has 20, but "),
        ("--train train.en --out data", "train.en, line 1: no tab between source and target; "),
        ("--train train.en . --out data", ".: is a folder; "),
        ("--train train.en train.de --weight 1 --weight 2 --out data", "--weight is given 2 times, but --train 1; "),
        ("--train train.en train.de --weight -1 --out data", "--train train.en train.de: weight: "),
        (
            "--train train.en train.de --tag 2de --out data",
            "--train train.en train.de: tag: a tag is written like <2de>",
        ),
        ("--train train.en train.de --vocabulary 5 --out data", "regard prepare: vocabulary: "),
        ("--train train.en train.de --max-ratio 0.5 --out data", "regard prepare: filters.max_ratio: "),
        ("--train train.en train.de --out train.en", "train.en: is a file; "),
        ("--train - --train - --out data", "standard input (-) is named twice"),
        ("--train train.en train.de --valid val.en val.de --valid-pairs 9 --out data", "--valid-pairs are split off "),
        ("--check data", "data: not prepared data"),
        (
            "--train train.en train.de --subwords-from en-de --vocabulary 900 --out data",
            "--vocabulary and --subwords are those of --subwords-from; ",
        ),
        (
            "--train train.en train.de --tag <a> --train val.en val.de --tag <b> --valid val.en val.de --out data",
            "--train has several tags, so --valid needs its own; ",
        ),
    ],
)
def test_mistakes(
    folder: Path, arguments: str, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["regard", "prepare", *arguments.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    output = capsys.readouterr()
    assert (ended.value.code, output.out) == (2, "")
    complaint = output.err.splitlines()[-1].replace(f"{folder}/", "")
    assert complaint.startswith(f"regard: {sentence}"), output.err
    assert not (folder / "data").exists()


def test_force_and_check(folder: Path) -> None:
    done = regard(folder, BASE)
    assert done.returncode == 0 and "split off 40 for validation" in done.stdout
    assert "--force" in regard(folder, BASE).stderr
    assert regard(folder, f"{BASE} --force").returncode == 0
    done = regard(folder, "--check data")
    assert (done.returncode, done.stdout) == (0, "data: whole, 360 pairs\n")
    path = folder / "data" / "train-0-00000.target.bin"
    content = bytearray(path.read_bytes())
    content[100] ^= 4
    path.write_bytes(content)
    done = regard(folder, "--check data --json")
    assert done.returncode == 2
    assert done.stderr.startswith("regard: data/train-0-00000.target.bin: its bytes differ")


def test_a_bar_on_a_terminal(folder: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "regard", "prepare", *BASE.split()]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
        assert process.wait() == 0
    os.close(ours)
    assert "encoding" in shown.decode()
    assert "100%" in shown.decode()


def test_help_is_quick_to_read_and_needs_no_torch(folder: Path) -> None:
    done = regard(folder, "--help")
    assert done.returncode == 0
    assert "--train" in done.stdout
    assert "regard prepare --train train.en train.de" in " ".join(done.stdout.split())
    imported = "import sys, regard.data.prepare; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", imported], check=False).returncode == 0
    light = (
        "import sys, regard.cli.prepare; assert not {'torch', 'numpy', 'pydantic', 'sentencepiece'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", light], check=False).returncode == 0
