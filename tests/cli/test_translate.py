import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.support.command import Run
from tests.support.models import sentences
from tests.support.saving import save_built
from tests.support.texts import HOSTILE

from regard.config.run import Config
from regard.config.special_tokens import EOS
from regard.model.build import build
from regard.saved import bundled
from regard.saved.folder import LoadedModel
from regard.text.subwords import Subwords
from regard.translate.load import load
from regard.translate.sentences import one_line
from regard.translate.translator import Translator


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch, "translate")


def test_as_the_issue_writes_it(folder: Path, translator: Translator, tmp_path: Path) -> None:
    """Through a real pipe; the same text as from Python."""
    lines = [*sentences()[:3], "", sentences()[4]]
    command = [sys.executable, "-m", "regard", "translate", "--model", str(folder)]
    text = "\n".join(lines).encode() + b"\n"
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().split("\n") == [*translator.translate(lines), ""]


def test_the_other_line_of_the_issue(run: Run, folder: Path) -> None:
    line = f"--model {folder} --engine torch --beam 4 --alpha 0.6 --n-best 5"
    code, out, err = run(*line.split(), stdin=b"The old woman.\n\nDas\n")
    assert (code, err) == (0, "")
    rows = [row.split(" ||| ") for row in out.decode().splitlines()]
    assert [row[0] for row in rows] == ["0"] * 5 + ["1"] + ["2"] * 5
    assert rows[5] == ["1", "", "0.000000"]
    scores = [float(row[2]) for row in rows[:5]]
    assert scores == sorted(scores, reverse=True)


def test_hostile_lines(run: Run, folder: Path) -> None:
    """A line for a line, whatever the bytes and whoever counts the lines."""
    lines = [line.encode("utf-8", "surrogatepass").replace(b"\n", b" ").replace(b"\r", b" ") for line in HOSTILE]
    lines += [b"\xff\xfe\x00", b"\xed\xa0\x80 x", b"", b"y" * 20_000, b"a\rb", "끝".encode(), b"  ", b"x\x00y", b"last"]
    lines[0] = b"first"  # the text before has an empty line here, which a byte order mark could not begin
    code, out, err = run("--model", str(folder), "--beam", "1", "--force", stdin=b"\n".join(lines) + b"\n")
    assert (code, err) == (0, "")
    found = out.decode().split("\n")
    assert len(found) == len(lines) + 1
    assert len(out.decode().splitlines()) == len(lines)
    for line, translation in zip(lines, found, strict=False):
        assert line.strip() or not translation.strip()
    code, out, _ = run("--model", str(folder), "--beam", "1", "--format", "jsonl", stdin=b"\n".join(lines) + b"\n")
    assert [json.loads(line)["id"] for line in out.decode().splitlines()] == list(range(len(lines)))


def test_the_lines_before_a_break_are_translated(run: Run, folder: Path) -> None:
    whole = gzip.compress(b"".join(b"The man %d.\n" % number for number in range(20_000)))
    code, out, err = run("--model", str(folder), "--beam", "1", stdin=whole[:-9000])
    assert code == 2 and "broken gzip data after line" in err and "skip-invalid" not in err
    told = int(err.split("after line ")[1].split(" ")[0])
    assert 0 < told == len(out.decode().split("\n")) - 1


def test_many_lines(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.translate.translator.WINDOW_LINES", 100)
    lines = [b"The man %d." % (number % 7) if number % 3 else b"" for number in range(1000)]
    code, out, _ = run("--model", str(folder), "--beam", "1", stdin=b"\r\n".join(lines))
    assert code == 0
    found = out.split(b"\n")
    assert len(found) == 1000
    assert all(bool(line) == bool(translation) for line, translation in zip(lines, found[:-1], strict=False))
    assert len(set(found)) <= 8


def test_jsonl(run: Run, folder: Path) -> None:
    line = f"--model {folder} --format jsonl --alignment --n-best 2"
    code, out, _ = run(*line.split(), stdin="The old woman. 할머니가.\n\n".encode())
    first, blank = map(json.loads, out.decode().splitlines())
    assert code == 0
    assert (first["id"], first["source"]) == (0, "The old woman. 할머니가.")
    assert (blank["text"], blank["sentences"]) == ("", [])
    assert len(first["n_best"]) == 2
    assert first["n_best"][0]["text"] == first["text"]
    assert [sentence["source"] for sentence in first["sentences"]] == ["The old woman.", "할머니가."]
    for output in first["sentences"][0]["outputs"]:
        assert len(output["token_scores"]) == len(output["tokens"]) + 1
        assert sum(output["token_scores"]) == pytest.approx(output["log_probability"])
        assert all(0 <= source < 3 for source, _ in output["alignment"])


def test_text_or_file_as_argument(run: Run, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("The man.\nThe dog.\n", encoding="utf-8")
    _, from_text, _ = run("The man.\nThe dog.", "--model", str(folder))
    _, from_file, _ = run(str(path), "--model", str(folder), "--out", "-")
    _, from_stdin, _ = run("-", "--model", str(folder), stdin=path.read_bytes())
    assert from_text == from_file == from_stdin
    assert from_text.count(b"\n") == 2
    code, out, _ = run("\udcff", "--model", str(folder))
    assert (code, out.count(b"\n")) == (0, 1)


def test_other_options(run: Run, folder: Path) -> None:
    line = f"--model {folder} --model {folder} --sample --temperature 0.7 --top-k 9 --top-p 0.9 --seed 3 --no-split"
    more = "--extra-length 2 --penalty average --no-repeat 2 --from en --to de --batch-tokens 50"
    code, out, err = run(*line.split(), *more.split(), "--prefix", "The", "--ban", "dog", stdin=b"The man. The dog.\n")
    assert (code, err) == (0, "")
    assert out.startswith(b"The")
    code, out, _ = run("--model", str(folder), "--require", "garden", stdin=b"x\n")
    assert (code, b"garden" in out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--model nowhere", "nowhere: no such folder; "),
        ("--model MODEL --beam 0", "the options: beam: "),
        ("--model MODEL --engine fast", "no engine is called 'fast'; "),
        ("--model MODEL --device nonsense", "'nonsense' is not a device"),
        ("--model MODEL --top-k 3", "--temperature, --top-k, --top-p and --seed are for sampling"),
        ("--model MODEL --seed 3", "--temperature, --top-k, --top-p and --seed are for sampling"),
        ("--model MODEL --sample --temperature 0", "a temperature is between 1e-06 and 1e+06, not 0.0; "),
        ("--model MODEL --sample --temperature inf", "a temperature is between 1e-06 and 1e+06, not inf; "),
        ("--model MODEL --sample --temperature nan", "a temperature is between 1e-06 and 1e+06, not nan; "),
        ("--model MODEL --sample --top-p 0", "top-p is above 0 and at most 1"),
        ("--model MODEL --sample --require garden", "what is drawn at random can't be held to required words; "),
        ("--model MODEL --require garden --ban garden x", "no output can hold all that is required of it; "),
        ("--model MODEL --alignment x", "--alignment is shown in jsonl alone; "),
        ("--model MODEL --from fr", "the model reads en, not fr; "),
        ("--model MODEL missing.txt", "missing.txt: no such file; "),
        ("--model MODEL .", ".: is a folder; "),
    ],
)
def test_mistakes(run: Run, folder: Path, arguments: str, sentence: str) -> None:
    code, out, err = run(*arguments.replace("MODEL", str(folder)).split())
    assert (code, out) == (2, b"")
    assert err.startswith(f"regard: {sentence}")
    assert err.count("\n") == 1


def test_speech_levels(run: Run, saved: LoadedModel, tmp_path: Path) -> None:
    tagged = Subwords.train(sentences(), 400, tags=("<2en>", "<2ko>", "<2ko:formal>", "<2ko:polite>", "<2ko:plain>"))
    torch.manual_seed(1)
    model = build(saved.config).eval().requires_grad_(False)
    config = Config(model=saved.config, decode=saved.decode)
    save_built(tmp_path / "m", model, config, {"subwords.model": tagged.content}, languages=("en", "ko"))
    translator, text = load(tmp_path / "m"), "The old woman sees 12 apples. A teacher finds bicycles!"
    for options, level in (
        (("--formality", "more"), "formal"),
        (("--formality", "less", "--to", "ko"), "plain"),
        (("--formality", "polite", "--from", "en"), "polite"),
        (("--tag", "<2ko:polite>"), "polite"),
    ):
        code, out, told = run("--model", str(tmp_path / "m"), *options, text)
        assert (code, told, out.decode()) == (
            0,
            "",
            one_line(translator.translate(text, target=f"<2ko:{level}>")) + "\n",
        )
    for options, words in (
        (("--formality", "more", "--to", "en"), "was not trained with the formality 'more' into en"),
        (("--formality", "more", "--tag", "<2ko>"), "leave them out"),
        (("--tag", "<2fr>"), "no tag '<2fr>'"),
    ):
        code, _, told = run("--model", str(tmp_path / "m"), *options, text)
        assert code == 2 and words in told


def test_an_empty_argument_is_a_blank_text(run: Run, folder: Path) -> None:
    """Not standard input, which a loop around the command may be reading."""
    assert run("--model", str(folder), "", stdin=b"The man.\n") == (0, b"\n", "")


def test_a_model_that_does_not_say_what_it_reads(run: Run, saved: LoadedModel, tmp_path: Path) -> None:
    save_built(tmp_path / "m", saved.model, Config(model=saved.config, decode=saved.decode), saved.subwords)
    code, _, err = run("--model", str(tmp_path / "m"), "--from", "en", "x")
    assert (code, err) == (2, "regard: the model does not say which languages it reads; leave out --from\n")


def test_a_reader_that_leaves(folder: Path) -> None:
    """`regard translate | head -1` ends without a traceback."""
    command = [sys.executable, "-m", "regard", "translate", "--model", str(folder), "--beam", "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"The man.\n")
        process.stdin.flush()
        assert process.stdout.readline().endswith(b"\n"), "a line is answered before the pipe ends"
        process.stdout.close()
        process.stdin.write(b"The dog.\n" * 5)
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_ten_thousand_nasty_lines_through_a_pipe_in_bounded_memory(
    saved: LoadedModel, tmp_path: Path, engine: str
) -> None:
    """As many lines out as in; ten times the lines take hardly more memory."""
    model = build(saved.config)
    model.load_state_dict(saved.model.state_dict())
    with torch.no_grad():
        model.projection_VD[EOS] += 1.0  # most outputs end by themselves, and so stay with their engine
    folder = tmp_path / "model"
    save_built(folder, model, Config(model=saved.config, decode=saved.decode), saved.subwords)
    hostile = [line.encode("utf-8", "surrogatepass").replace(b"\n", b" ") for line in HOSTILE[1:]]
    hostile += [b"", b"z" * 20_000, b"\xff\x00", "같은 말. ".encode() * 50]
    peaks = []
    for count in (1000, 10_000):
        lines = [hostile[at % len(hostile)] if at % 5 == 0 else b"Line %d." % at for at in range(count)]
        command = [sys.executable, "-m", "regard", "translate", "--model", str(folder), "--beam", "1"]
        command += ["--engine", engine]
        with (tmp_path / "out").open("wb") as out:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out)
            assert process.stdin is not None
            process.stdin.write(b"\n".join(lines) + b"\n")
            process.stdin.close()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        found = (tmp_path / "out").read_bytes().decode().split("\n")
        assert len(found) == count + 1
        assert len((tmp_path / "out").read_text(encoding="utf-8").splitlines()) == count
        peaks.append(usage.ru_maxrss)
    assert peaks[1] < peaks[0] + (200 << 10), "kilobytes"


def test_without_a_model_the_bundled_one_is_taken(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REGARD_MODEL", raising=False)
    monkeypatch.setattr(bundled, "FOLDER", tmp_path)
    code, out, err = run("The man sees.")
    assert (code, out) == (2, b"") and err.startswith("regard: --model is missing; ")
    shutil.copytree(folder, tmp_path / bundled.DEFAULT)
    assert run("The man sees.")[:2] == run("--model", str(folder), "The man sees.")[:2]


def test_without_a_model_the_languages_choose_a_bundled_one(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REGARD_MODEL", raising=False)
    monkeypatch.setattr(bundled, "FOLDER", tmp_path)
    for name in ("en-de", "en-ko"):
        shutil.copytree(folder, tmp_path / name)
    description = tmp_path / "en-ko" / "config.json"
    description.write_text(description.read_text(encoding="utf-8").replace('"de"', '"ko"'), encoding="utf-8")
    assert run("--from", "en", "The man sees.")[0] == 0
    for asked in (["--to", "ko", "The man sees."], ["--to", "en", "역은 어디입니까?"], ["역은 어디입니까?"]):
        code, _, err = run(*asked)
        assert code == 2 and str(tmp_path / "en-ko") in err, "its manifest does not fit any more"


def test_a_text_in_another_language_is_told_with_what_translates_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGARD_MODEL", raising=False)
    monkeypatch.setattr(bundled, "translation_models", lambda: {"en-de": {"en", "de"}, "en-ko": {"en", "ko"}})
    for text, remedy in (
        ("Ich habe heute leider überhaupt keine Zeit.", "German; --from de translates it"),
        ("파일을 열 수 없습니다.", "Korean; --model en-ko --from ko translates it"),
        ("Сегодня у меня совсем нет времени.", "Russian; --force translates it"),
    ):
        code, out, err = run("--model", "en-de", text)
        assert (code, out.decode()) == (0, f"{text}\n")
        assert f"left as it is, since it is {remedy}: {text}" in err
