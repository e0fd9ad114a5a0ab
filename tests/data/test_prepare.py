import gzip
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.data.preparing import content, run, sentences, texts, write
from tests.support.waiting import until

from regard.config.data import CorpusConfig, FilterConfig, PrepareConfig
from regard.config.special_tokens import UNK
from regard.data.prepare import prepare
from regard.data.prepared import Prepared, RawPair, valid_texts
from regard.errors import UserError

HARD = [
    ("한국어 문장", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165"),
    ("e\u0301 a\u0323\u0308", "combining marks"),
    ("שלום עולם", "right to left"),
    ("👩‍👩‍👧‍👦 🇰🇷", "emoji"),
    ("one\u2028line", "a separator\x85inside"),
    ("▁ a ▁▁ b", "sentencepiece's own"),
    ("NUL\0here", "  spaces \t"),
]


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    pairs = sentences(300)
    report = run(write(tmp_path, pairs + HARD), tmp_path / "out", write(tmp_path, pairs[:7], "valid"))
    prepared = Prepared.open(tmp_path / "out", contents=True)
    (split,) = prepared.train
    found = texts(prepared, split)
    assert found[:300] == pairs
    assert found[300:] == [
        ("한국어 문장", "한국어"),
        ("é ạ̈", "combining marks"),
        ("שלום עולם", "right to left"),
        ("👩‍👩‍👧‍👦 🇰🇷", "emoji"),
        ("one line", "a separator inside"),
        ("▁ a ▁▁ b", "sentencepiece's own"),
        ("NULhere", "spaces"),
    ]
    assert prepared.valid is not None
    assert texts(prepared, prepared.valid) == pairs[:7]
    assert report.valid_in_train == 7
    assert prepared.source_subwords is prepared.target_subwords
    assert prepared.report == report.model_copy(update={"timings": None})


def test_the_report_counts_what_is_there(tmp_path: Path) -> None:
    report = run(write(tmp_path, sentences(300)), tmp_path / "out")
    prepared = Prepared.open(tmp_path / "out")
    (split,) = report.train
    for side, counted in enumerate((split.source, split.target)):
        ids = [prepared.train[0].pair(index)[side] for index in range(300)]
        assert counted.tokens == sum(map(len, ids))
        assert counted.longest == max(map(len, ids))
        assert counted.words == sum(len(pair[side].split()) for pair in sentences(300))
        assert counted.tokens_per_word == round(counted.tokens / counted.words, 4)
        assert counted.unknown == sum(int((some == UNK).sum()) for some in ids) == 0
        edges = [0, *report.length_bins, 1 << 30]
        assert list(counted.lengths) == np.histogram([len(some) for some in ids], np.array(edges) + 1)[0].tolist()
    assert (split.read, split.kept, split.dropped) == (300, 300, {})
    assert report.source_vocabulary == report.target_vocabulary == prepared.source_subwords.size == 320
    assert report.timings is not None
    assert report.timings.pairs_per_second > 0
    assert json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))["train"][0]["kept"] == 300


def test_filters_are_counted_by_name(tmp_path: Path) -> None:
    bad = [("", "x"), ("x", " \t "), ("same", "same"), ("a" * 90, "b"), ("c" * 200, "d" * 200), ("0: 1", "0: 1 ")]
    pairs = sentences(200)
    report = run(
        write(tmp_path, pairs + bad + pairs[:5]),
        tmp_path / "out",
        filters=FilterConfig(max_characters=150, max_ratio=4.0),
    )
    (split,) = report.train
    assert split.dropped == {"duplicate": 5, "empty": 2, "identical": 2, "length ratio": 1, "too long": 1}
    assert (split.read, split.kept) == (211, 200)
    prepared = Prepared.open(tmp_path / "out")
    assert texts(prepared, prepared.train[0]) == pairs


def test_filters_can_be_turned_off(tmp_path: Path) -> None:
    pairs = [*sentences(100), ("same", "same"), *sentences(100)]
    filters = FilterConfig(identical=True, duplicates=True, max_ratio=None)
    report = run(write(tmp_path, pairs), tmp_path / "out", filters=filters)
    assert report.train[0].kept == 201


def test_a_validation_set_is_not_filtered(tmp_path: Path) -> None:
    valid = [
        ("same", "same"),
        ("twice", "zwei"),
        ("twice", "zwei"),
        ("a" * 90, "b"),
        ("", "x"),
        ("x" * 9000, "y" * 9000),
    ]
    report = run(write(tmp_path, sentences(100)), tmp_path / "out", write(tmp_path, valid, "valid"))
    assert report.valid is not None
    assert (report.valid.kept, report.valid.dropped, report.valid_in_train) == (5, {"empty": 1}, 0)


def test_a_validation_set_is_also_kept_as_it_was(tmp_path: Path) -> None:
    """Neither normalised nor without its blank lines, so that BLEU is that of the files."""
    pairs = [*HARD, ("", ""), ("a blank translation", " "), *HARD[:2]]
    train = write(tmp_path, sentences(200))
    run(train, tmp_path / "out", write(tmp_path, pairs, "valid"))
    assert valid_texts(tmp_path / "out") == [RawPair(source, target, None) for source, target in pairs]
    (tmp_path / "more.jsonl").write_text('{"source": "\\ud800 x", "target": "two\\nlines"}\n', encoding="utf-8")
    tagged = CorpusConfig(files=(str(tmp_path / "more.jsonl"),), tag="<2de>")
    run(train, tmp_path / "two", write(tmp_path, HARD, "valid"), tagged)
    assert valid_texts(tmp_path / "two")[len(HARD) :] == [RawPair("\ud800 x", "two\nlines", "<2de>")]
    run(train, tmp_path / "none")
    with pytest.raises(UserError, match="valid.jsonl: missing.*--valid"):
        valid_texts(tmp_path / "none")


def test_several_corpora_with_weights_and_tags(tmp_path: Path) -> None:
    pairs = sentences(200)
    german, french = write(tmp_path, pairs[:150], "a"), write(tmp_path, pairs[100:], "b")
    corpora = [
        german.model_copy(update={"tag": "<2de>", "weight": 2.0}),
        french.model_copy(update={"tag": "<2fr>"}),
        write(tmp_path, pairs[100:160], "c"),
        write(tmp_path, pairs[140:], "d"),
    ]
    report = run(corpora, tmp_path / "out", corpora[0], corpora[2], tags=("<extra>",))
    prepared = Prepared.open(tmp_path / "out")
    assert [split.weight for split in prepared.train] == [2.0, 1.0, 1.0, 1.0]
    assert prepared.source_subwords.tags == ("<extra>", "<2de>", "<2fr>")
    # With another tag a pair is another pair; without, the first corpus that has it keeps it.
    assert [split.kept for split in report.train] == [150, 100, 60, 40]
    source, _ = prepared.train[0].pair(3)
    assert source[0] == prepared.source_subwords.tag("<2de>")
    assert prepared.source_subwords.decode(source[1:].tolist()) == pairs[3][0]
    assert len(source) == prepared.train[0].lengths(np.array([3]))[0][0]
    assert prepared.train[2].pair(0)[0].tolist() == prepared.source_subwords.encode([pairs[100][0]])[0]
    assert prepared.valid is not None
    assert prepared.valid.pair(0)[0][0] == prepared.source_subwords.tag("<2de>")
    assert prepared.valid.pair(150)[0].tolist() == prepared.train[2].pair(0)[0].tolist()
    assert report.valid_in_train == 210


def test_a_vocabulary_for_each_language(tmp_path: Path) -> None:
    pairs = [(target, target.upper()) for _, target in sentences(200)]
    run(write(tmp_path, pairs), tmp_path / "out", shared=False, subwords="unigram", vocabulary=300)
    prepared = Prepared.open(tmp_path / "out")
    assert prepared.source_subwords.content != prepared.target_subwords.content
    assert texts(prepared, prepared.train[0]) == pairs


def test_a_sample_is_enough_for_subwords(tmp_path: Path) -> None:
    pairs = [*sentences(300), *([("zzzz zzzz", "qqqq qqqq")])]
    corpus = write(tmp_path, pairs)
    run(corpus, tmp_path / "all")
    run(corpus, tmp_path / "some", sample=50)
    run(corpus, tmp_path / "other", sample=50, seed=2)
    models = [Prepared.open(tmp_path / name).source_subwords.content for name in ("all", "some", "other")]
    assert len(set(models)) == 3
    prepared = Prepared.open(tmp_path / "some")
    assert texts(prepared, prepared.train[0]) == pairs


def test_the_same_bytes_on_one_core_and_on_two(tmp_path: Path) -> None:
    pairs = sentences(12_000)
    corpora = [write(tmp_path, pairs + pairs[:100]), write(tmp_path, sentences(3000, 5), "more")]
    for cores in (1, 2):
        run(corpora, tmp_path / str(cores), write(tmp_path, pairs[:9], "valid"), cores=cores, sample=2000)
    assert content(tmp_path / "1") == content(tmp_path / "2")


def test_a_mistake_leaves_nothing_behind(tmp_path: Path) -> None:
    corpus = write(tmp_path / "in", sentences(12_000))
    target = Path(corpus.files[1])
    lines = target.read_bytes().split(b"\n")
    lines[10_000] = b"\xff\xfe"
    lines[11_000] = b"\xff\xfe"
    target.write_bytes(b"\n".join(lines))
    for cores in (1, 2):
        with pytest.raises(UserError, match=f"^{target}, line 10001: not valid UTF-8"):
            run(corpus, tmp_path / "out", cores=cores)
        assert [path.name for path in tmp_path.iterdir()] == ["in"]
    report = run(corpus, tmp_path / "out", skip_invalid=True)
    assert report.train[0].dropped == {"not valid UTF-8": 2}


def test_an_early_mistake_is_told_before_a_late_one(tmp_path: Path) -> None:
    """That a file ends too soon is found by who reads, a bad line by a worker, later; yet the bad line is told of."""
    corpus = write(tmp_path / "in", sentences(300))
    source, target = map(Path, corpus.files)
    target.write_bytes(b"\xff\n" + target.read_bytes())
    with pytest.raises(UserError, match=f"^{target}, line 1: not valid UTF-8"):
        run(corpus, tmp_path / "out", cores=2)
    target.write_bytes(target.read_bytes()[2:] + b"one more\n")
    with pytest.raises(UserError, match=f"^{source} has 300 lines and {target} has 301"):
        run(corpus, tmp_path / "out", cores=2)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_broken_archive_is_a_warning_when_skipped(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv.gz"
    path.write_bytes(gzip.compress("".join(f"{a}\t{b}\n" for a, b in sentences(200)).encode()) + b"rubbish")
    corpus = CorpusConfig(files=(str(path),))
    with pytest.raises(UserError, match=f"^{path}: broken gzip data after line 200"):
        run(corpus, tmp_path / "out")
    report = run(corpus, tmp_path / "out", skip_invalid=True)
    assert report.train[0].kept == 200
    assert report.train[0].warnings[0].startswith(f"{path}: broken gzip data after line 200")


def test_json_may_escape_what_is_no_character(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    lines = [json.dumps({"source": source, "target": target}) for source, target in sentences(200)]
    path.write_text("\n".join([*lines, r'{"source": "a\ud800\u0000b\n", "target": "\ud83d\ude00"}']), encoding="utf-8")
    run(CorpusConfig(files=(str(path),)), tmp_path / "out", cores=2)
    prepared = Prepared.open(tmp_path / "out")
    assert texts(prepared, prepared.train[0])[-1] == ("a\ufffdb", "😀")


def test_when_nothing_is_left(tmp_path: Path) -> None:
    empty = write(tmp_path, [("same", "same"), ("", "x"), ("", "")], "empty")
    with pytest.raises(UserError, match=r"no pair is left of 3 read; dropped: 2 empty, 1 identical; "):
        run([write(tmp_path, sentences(100)), empty], tmp_path / "out")
    with pytest.raises(UserError, match=r"valid.en and .*valid.de: no pair is left of 0 read; dropped: none; "):
        run(write(tmp_path, sentences(100)), tmp_path / "out", write(tmp_path, [], "valid"))
    with pytest.raises(UserError, match="no training corpus"):
        run([], tmp_path / "out")


def test_a_vocabulary_that_the_text_is_too_small_for(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"too small for a vocabulary of 9,000"):
        run(write(tmp_path, sentences(50)), tmp_path / "out", vocabulary=9000)
    assert not (tmp_path / "out").exists()


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    corpus, out = write(tmp_path, sentences(100)), tmp_path / "out"
    out.mkdir()
    run(corpus, out)  # an empty folder is as good as none
    before = content(out)
    with pytest.raises(UserError, match=f"^{out}: exists already; .*--force"):
        run(corpus, out)
    with pytest.raises(UserError, match="no such file"):
        run(CorpusConfig(files=("missing.en", "missing.de")), out, force=True)
    assert content(out) == before
    run(write(tmp_path, sentences(120)), out, force=True)
    assert len(Prepared.open(out, contents=True).train[0]) == 120


def test_force_replaces_only_prepared_data(tmp_path: Path) -> None:
    corpus, out = write(tmp_path, sentences(100)), tmp_path / "thesis"
    out.mkdir()
    (out / "chapter.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(UserError, match="holds chapter.tex, which is no prepared data"):
        run(corpus, out, force=True)
    with pytest.raises(UserError, match="is a file"):
        run(corpus, out / "chapter.tex", force=True)
    with pytest.raises(UserError, match="name a new folder"):
        run(corpus, Path("/"), force=True)
    assert (out / "chapter.tex").read_text(encoding="utf-8") == "years of work"
    run(corpus, tmp_path / "out")
    (out / "chapter.tex").rename(tmp_path / "out" / "chapter.tex")
    with pytest.raises(UserError, match="holds chapter.tex"):
        run(corpus, tmp_path / "out", force=True)


def test_a_full_disk_is_told_in_one_sentence(tmp_path: Path) -> None:
    corpus = write(tmp_path / "in", sentences(3000))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(UserError, match=f"^{tmp_path / 'out'}: File too large; "):
            run(corpus, tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in tasks for child in path.read_text(encoding="ascii").split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def reading(tmp_path: Path) -> Any:
    """`regard prepare` that waits for more of its standard input, with both its workers."""
    some = sentences(100)
    pairs = "".join(f"{number} {source}\t{target}\n" for number in range(600) for source, target in some).encode()
    command = [sys.executable, "-m", "regard", "prepare", "--train", "-", "--vocabulary", "320", "--cores", "2"]
    with subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(pairs)
        process.stdin.flush()
        until(lambda: len(children(process.pid)) == 2)
        spool = tmp_path / ".out.partial" / "scratch" / "pairs"
        until(lambda: spool.exists() and spool.stat().st_size > 0)
        yield process
        process.kill()


def test_killed_in_the_middle_and_run_again(tmp_path: Path, reading: subprocess.Popen[bytes]) -> None:
    workers = children(reading.pid)
    reading.kill()
    reading.wait()
    until(lambda: not any(map(alive, workers)))
    assert not (tmp_path / "out").exists()
    assert (tmp_path / ".out.partial").exists()
    corpus = write(tmp_path / "in", sentences(200))
    run(corpus, tmp_path / "out")
    run(corpus, tmp_path / "other")
    assert content(tmp_path / "out") == content(tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "other", "out"]


def test_interrupted(tmp_path: Path, reading: subprocess.Popen[bytes]) -> None:
    workers = children(reading.pid)
    os.killpg(reading.pid, signal.SIGINT)  # as the terminal does: to all of the group
    assert reading.stderr is not None
    complaint = reading.stderr.read()  # while its input stays open, for which it no longer waits
    reading.wait(60)
    assert reading.returncode == 130
    assert b"Traceback" not in complaint
    until(lambda: not any(map(alive, workers)))
    assert list(tmp_path.iterdir()) == []


def test_a_worker_is_killed(tmp_path: Path, reading: subprocess.Popen[bytes]) -> None:
    for worker in children(reading.pid):
        os.kill(worker, signal.SIGKILL)
    _, complaint = reading.communicate(timeout=60)
    assert reading.returncode == 2
    assert complaint.splitlines()[-1].startswith(b"regard: a worker process ended unexpectedly (killed by signal 9)")
    assert list(tmp_path.iterdir()) == []


def test_a_second_writer_is_refused(tmp_path: Path, reading: subprocess.Popen[bytes]) -> None:
    with pytest.raises(UserError, match="another regard process is writing here"):
        run(write(tmp_path / "in", sentences(100)), tmp_path / "out")
    assert reading.stdin is not None
    reading.stdin.close()
    assert reading.wait() == 0
    made = Prepared.open(tmp_path / "out")
    assert made.valid is not None and len(made.train[0]) + len(made.valid) == 60_000


@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """The parent's peak, of 1 MB and of 19 MB of text; if it held the text, it would grow by more than that."""
    program = (
        "import sys; from pathlib import Path\n"
        "from regard.config.data import CorpusConfig, PrepareConfig; from regard.data.prepare import prepare\n"
        "corpus = CorpusConfig(files=tuple(sys.argv[1:3])); config = PrepareConfig(vocabulary=320, sample=100)\n"
        "prepare([corpus], [], Path(sys.argv[3]), config, cores=1)\n"
        "print(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])"
    )
    words = " ".join(target for _, target in sentences(30))
    peaks = []
    for count in (500, 8_000):
        corpus = write(tmp_path, [(f"{number} {words}", f"{words} {number}") for number in range(count)], f"n{count}")
        command = [sys.executable, "-c", program, *corpus.files, str(tmp_path / f"out{count}")]
        peaks.append(int(subprocess.run(command, check=True, capture_output=True).stdout) >> 10)
    assert peaks[1] - peaks[0] < 10, peaks


def test_multi30k(tmp_path: Path, corpora: Path) -> None:
    folder = corpora / "multi30k"
    train, valid = (
        CorpusConfig(files=(str(folder / f"{name}.en.gz"), str(folder / f"{name}.de.gz"))) for name in ("train", "val")
    )
    report = prepare([train], [valid], tmp_path / "out", PrepareConfig(vocabulary=8000), cores=2)
    assert report.train[0].read == 29_000
    assert report.train[0].kept + sum(report.train[0].dropped.values()) == 29_000
    assert report.train[0].kept > 28_900
    assert report.train[0].source.unknown == report.train[0].target.unknown == 0
    assert report.valid is not None
    assert report.valid.kept == 1014
    prepared = Prepared.open(tmp_path / "out", contents=True)
    with gzip.open(folder / "val.de.gz", "rt", encoding="utf-8", newline="\n") as file:
        first = file.readline().strip()
    assert prepared.valid is not None
    assert prepared.target_subwords.decode(prepared.valid.pair(0)[1].tolist()) == first


@pytest.mark.parametrize("shared", [True, False])
def test_subwords_of_earlier_data(tmp_path: Path, shared: bool) -> None:
    """New text is encoded with the subwords that an existing model knows."""
    lines = [f"the {n * 7919:x} cats\t고양이 {n * 104729:x} 마리\n" for n in range(300)]
    (tmp_path / "a.tsv").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "b.tsv").write_text("two 🐈 dogs\tשני כלבים\n", encoding="utf-8")
    first = [CorpusConfig(files=(str(tmp_path / "a.tsv"),))]
    prepare(first, [], tmp_path / "one", PrepareConfig(vocabulary=300, shared=shared), cores=1)
    config = PrepareConfig(subwords_from=str(tmp_path / "one"))
    prepare([CorpusConfig(files=(str(tmp_path / "b.tsv"),))], [], tmp_path / "two", config, cores=1)
    one, two = Prepared.open(tmp_path / "one"), Prepared.open(tmp_path / "two")
    assert two.source_subwords.content == one.source_subwords.content
    assert two.target_subwords.content == one.target_subwords.content
    assert (two.source_subwords is two.target_subwords) == shared
    source, target = two.train[0].pair(0)
    assert two.source_subwords.decode(source.tolist()) == "two 🐈 dogs"
    assert two.target_subwords.decode(target.tolist()) == "שני כלבים"
    with pytest.raises(UserError, match="holds no subwords"):
        prepare(first, [], tmp_path / "three", PrepareConfig(subwords_from=str(tmp_path)), cores=1)
    tagged, seen = [first[0].model_copy(update={"tag": "<2de>"})], []
    with pytest.raises(UserError, match="no tag '<2de>'; it has none"):
        prepare(tagged, [], tmp_path / "three", config, cores=1, progress=lambda *told: seen.append(told))
    assert not seen, "told before the work begins"
