"""`regard prepare`: encode text pairs as token ids on disk."""

import json
import sys
from itertools import pairwise, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import typer

from regard.cli.terminal.variadic import MANY, one_value, split_value

if TYPE_CHECKING:
    from regard.config.data import CorpusConfig, PrepareConfig
    from regard.data.prepare_report import PrepareReport, SplitReport
    from regard.data.public.texts import SplitName

FILES = f"FILE [FILE]{MANY}"


def prepare(
    *,
    task: Annotated[
        Literal["translation", "parsing", "denoise", "labels"],
        typer.Option(
            help="What to prepare for. parsing: --train and --valid name files of trees, one each. labels: text TAB "
            "label. denoise: --text names text in one language, in which a model learns to fill in spans before it "
            "learns to translate."
        ),
    ] = "translation",
    train: Annotated[
        list[str] | None,
        typer.Option(
            metavar=FILES,
            help="Training text: two files aligned by line (train.en train.de), or one TSV or JSON-lines file; "
            "plain, .gz, .xz or .zst; - is standard input. Give the option once for each corpus.",
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar=FILES, help="Text in one language, for --task denoise; each file is a corpus."),
    ] = None,
    valid: Annotated[list[str] | None, typer.Option(metavar=FILES, help="Validation text, in the same ways.")] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A public corpus that `regard corpora get NAME` has put here: its training text after that of "
            "--train, and its validation text unless --valid is given.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder to make.")] = None,
    valid_pairs: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="How many pairs to split off for validation if there is no --valid; 0 is none. [default: 1 in 20, of "
            "a small text 1 in 10, at most 500]",
        ),
    ] = None,
    vocabulary: Annotated[
        int | None, typer.Option(help="How many subwords to learn. [default: chosen by the amount of text]")
    ] = None,
    vocabulary_kind: Annotated[
        Literal["subwords", "words"],
        typer.Option(help="words: the most frequent ones; all others are unknown, as before subwords."),
    ] = "subwords",
    subwords: Annotated[Literal["bpe", "unigram"] | None, typer.Option(help="Their kind.", show_default="bpe")] = None,
    subwords_from: Annotated[
        str | None, typer.Option(metavar="DIR", help="Take the subwords of this model or prepared data; to fine-tune.")
    ] = None,
    grow: Annotated[
        int | None,
        typer.Option(min=1, help="With --subwords-from: add so many subwords for the new text, and its new tags."),
    ] = None,
    tree_tags: Annotated[
        Literal["kept", "one"] | None,
        typer.Option(help="For parsing: words by their tags, or all by one symbol.", show_default="kept"),
    ] = None,
    separate: Annotated[bool, typer.Option("--separate", help="A vocabulary for each language, not one.")] = False,
    weight: Annotated[
        list[float] | None, typer.Option(help="How often an epoch passes over a corpus; once for each --train.")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(
            help="Reserved tokens, such as <2de> or <2de><bt>, before sources; once for each --train. '' is none."
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(min=1, help="Sample corpora by tag as size^(1/TEMPERATURE): little text comes more often."),
    ] = None,
    valid_tag: Annotated[list[str] | None, typer.Option(help="The same, once for each --valid.")] = None,
    speech_levels: Annotated[
        bool,
        typer.Option("--speech-levels", help="Learn 합니다, 해요 and 해라 by tags from the endings of Korean targets."),
    ] = False,
    source_language: Annotated[
        str | None,
        typer.Option("--from", "--from-language", metavar="CODE", help="Source language; train.en and such tell it."),
    ] = None,
    target_language: Annotated[
        str | None, typer.Option("--to", "--to-language", metavar="CODE", help="Target language.")
    ] = None,
    form: Annotated[Literal["NFC", "NFKC"] | None, typer.Option(help="Unicode form.", show_default="NFC")] = None,
    max_characters: Annotated[
        int | None, typer.Option(help="Drop pairs with a longer side.", show_default="5000")
    ] = None,
    max_ratio: Annotated[
        float | None, typer.Option(help="Drop pairs of more different lengths; 0 keeps all.", show_default="9")
    ] = None,
    keep_identical: Annotated[bool, typer.Option("--keep-identical", help="Keep pairs of equal sides.")] = False,
    keep_duplicates: Annotated[bool, typer.Option("--keep-duplicates", help="Keep pairs that came before.")] = False,
    protect: Annotated[
        bool,
        typer.Option(
            "--protect/--no-protect",
            help="Let reserved tokens stand for addresses, placeholders, paths and code, and leave out pairs whose "
            "addresses or placeholders differ.",
        ),
    ] = False,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Count what can't be read, and go on, instead of stopping at it.")
    ] = False,
    sample: Annotated[
        int | None, typer.Option(help="Learn subwords from at most this many pairs.", show_default="500000")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="For the choice of that sample.", show_default="1")] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="Processes to use.", show_default="all")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace prepared data that is at --out already.")] = False,
    check: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Prepare nothing; compare a folder with its checksums.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Make training data: normalise, filter, learn subwords, encode.

    regard prepare --train train.en train.de --out DIR

    regard prepare --task denoise --text mono.ko mono.en --vocabulary 8000 --out DIR

    regard prepare --task parsing --train trees.mrg --valid dev.mrg --vocabulary 8000 --out DIR

    regard prepare --task labels --train texts.tsv --valid dev.tsv --out DIR

    --train and --valid take the words that follow them, up to the next option. The folder is made whole or not at all.
    """
    from regard.errors import UserError
    from regard.saved.bundled import located

    if check is not None:
        _check(check, as_json)
        return
    if vocabulary_kind == "words" and (subwords or subwords_from or task != "translation"):
        raise UserError("--vocabulary-kind words has no subwords and is for translation; leave out the other option")
    if valid_pairs and valid:
        raise UserError("--valid-pairs are split off where there is no --valid; leave one of the two out")
    if subwords_from is not None and (vocabulary or subwords):
        raise UserError("--vocabulary and --subwords are those of --subwords-from; leave them out")
    if (task == "denoise") != bool(text) or (text and (train or corpus)):
        raise UserError("--task denoise and --text go together, instead of --train and --corpus; give both or neither")
    if corpus:
        valid = valid or _public(corpus, "valid", source_language, target_language)
        train = [*(train or []), *_public(corpus, "train", source_language, target_language)]
    if text:
        train = [name for value in text for name in split_value(value)]
    training = corpora("--text" if text else "--train", train, weight, tag)
    valid_corpora = corpora("--valid", valid, None, valid_tag or _valid_tags(tag, valid), of="--valid-tag")
    config = _config(
        training,
        task=task,
        tree_tags=tree_tags,
        vocabulary=vocabulary,
        vocabulary_kind=vocabulary_kind,
        subwords=subwords,
        subwords_from=None if subwords_from is None else str(located(subwords_from)),
        grow=grow,
        temperature=temperature,
        speech_levels=speech_levels,
        shared=not separate,
        form=form,
        source_language=source_language,
        target_language=target_language,
        skip_invalid=skip_invalid,
        protect=protect,
        valid_pairs=valid_pairs,
        sample=sample,
        seed=seed,
        filters={
            "max_characters": max_characters,
            "max_ratio": max_ratio,
            "identical": keep_identical,
            "duplicates": keep_duplicates,
        },
    )
    from regard.data.prepare import prepare as run

    if out is None:
        raise UserError("--out is missing; name the folder to make")
    with Progress() as progress:
        report = run(training, valid_corpora, out, config, cores=cores, force=force, progress=progress)
    how = "" if vocabulary or subwords_from else "; chosen by the amount of text, --vocabulary sets another"
    typer.echo(report.model_dump_json() if as_json else _text(report, how))


def _public(names: list[str], split: "SplitName", source: str | None, target: str | None) -> list[str]:
    """Return the values of --train or --valid for public corpora."""
    from regard.data.public.corpora import text_files

    return [one_value(pair) for name in names for pair in text_files(name, split, source, target)]


def corpora(
    option: str, values: list[str] | None, weights: list[float] | None, tags: list[str] | None, of: str = "--tag"
) -> "list[CorpusConfig]":
    """Return one CorpusConfig for each occurrence of the option."""
    from regard.config.checked import check
    from regard.config.data import CorpusConfig
    from regard.errors import UserError

    groups = [split_value(value) for value in values or []]
    if not groups and option == "--train":
        raise UserError("--train is missing; name two files aligned by line, one TSV or JSON-lines file, or a --corpus")
    for name, given in (("--weight", weights), (of, tags)):
        if given and len(given) != len(groups):
            raise UserError(f"{name} is given {len(given)} times, but {option} {len(groups)}; give one for each")
    for group in groups:
        if not 1 <= len(group) <= 2:
            raise UserError(
                f"{' '.join([option, *group])}: {len(group)} files, but a corpus has one or two; "
                f"give {option} again for another corpus"
            )
    return [
        check(CorpusConfig, {"files": group, "weight": weight, "tag": tag or None}, f"{option} {' '.join(group)}")
        for group, weight, tag in zip(groups, weights or repeat(1.0), tags or repeat(None), strict=False)
    ]


def _valid_tags(tags: list[str] | None, valid: list[str] | None) -> list[str] | None:
    """Return the tags of --valid: that of --train if there is only one, none if some have none; else they are due."""
    from regard.errors import UserError

    if not tags or not valid:
        return None
    if "" in tags:  # what has no tag is the task; the others are marked as something else, such as <bt>
        return None
    if len(set(tags)) > 1:
        raise UserError("--train has several tags, so --valid needs its own; give --valid-tag once for each --valid")
    return tags[:1] * len(valid)


def _config(corpora: "list[CorpusConfig]", filters: dict[str, Any], **values: Any) -> "PrepareConfig":
    """Build the config from options and defaults; languages are inferred from file names."""
    from regard.config.checked import check
    from regard.config.data import PrepareConfig
    from regard.data.corpus import languages

    told = {languages(corpus.files) for corpus in corpora}
    source, target = (told.pop() if len(told) == 1 else None) or (None, None)
    values["source_language"] = values["source_language"] or source
    values["target_language"] = values["target_language"] or target
    given = {key: value for key, value in values.items() if value is not None}
    if values["task"] != "parsing":
        given.setdefault("valid_pairs", None)  # chosen by the amount of text
    given["filters"] = {key: value for key, value in filters.items() if value is not None}
    if given["filters"].get("max_ratio") == 0:
        given["filters"]["max_ratio"] = None
    return check(PrepareConfig, given, "regard prepare")


def _check(directory: Path, as_json: bool) -> None:
    from regard.data.prepared import Prepared

    prepared = Prepared.open(directory, contents=True)
    pairs = sum(map(len, prepared.train))
    typer.echo(json.dumps({"whole": True, "pairs": pairs}) if as_json else f"{directory}: whole, {pairs:,} pairs")


class Progress:
    """Progress on standard error: a bar on a terminal, elsewhere one line for each phase."""

    def __init__(self) -> None:
        self._phase = ""
        self._bar: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

            columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        if phase != self._phase:
            self._begin(phase)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)

    def _begin(self, phase: str) -> None:
        self._phase = phase
        if self._bar is None:
            typer.echo(f"{phase} ...", err=True)
        else:
            self._task = self._bar.add_task(phase, total=None)


def _text(report: "PrepareReport", how: str = "") -> str:
    """Format the report as text; `how` says how the vocabulary's size came about."""
    splits = [*report.train, *([report.valid] if report.valid else [])]
    lines = [line for split in splits for line in _split_text(split)]
    lines += ["", "tokens of a training text, and how many have them", *_histogram(report), ""]
    lines.append(f"vocabulary  {report.source_vocabulary:,} source, {report.target_vocabulary:,} target{how}")
    if report.valid_in_train:
        lines.append(f"warning     {report.valid_in_train:,} validation pairs are also in the training data")
    if report.timings:
        times = report.timings
        lines.append(
            f"time        {times.reading:.1f} s reading, {times.learning:.1f} s learning subwords, "
            f"{times.encoding:.1f} s encoding, {times.writing:.1f} s writing; {times.pairs_per_second:,.0f} pairs/s"
        )
    return "\n".join(lines)


def _split_text(split: "SplitReport") -> list[str]:
    from regard.data.prepare_report import in_words
    from regard.text.filters import SPLIT_OFF

    names = "; ".join(" ".join(files) for files in split.files)
    lines = [f"{split.name:<12}{names}", f"  pairs     {split.read:,} read, {split.kept:,} kept"]
    dropped = {reason: count for reason, count in split.dropped.items() if reason != SPLIT_OFF}
    if dropped:
        lines.append(f"  dropped   {in_words(dropped)}")
    if off := split.dropped.get(SPLIT_OFF):
        lines.append(f"  split off {off:,} for validation, with all pairs of their source sentences; see --valid-pairs")
    lines += [f"  warning   {warning}" for warning in split.warnings]
    for name, side in (("source", split.source), ("target", split.target)):
        lines.append(
            f"  {name:<10}{side.tokens:,} tokens, {side.tokens_per_word:.2f} a word, "
            f"longest {side.longest:,}, {side.unknown:,} unknown"
        )
    return lines


def _histogram(report: "PrepareReport") -> list[str]:
    """Return a row with a proportional bar for each nonempty bin."""
    sides = [[split.source.lengths for split in report.train], [split.target.lengths for split in report.train]]
    source, target = ([sum(counts) for counts in zip(*side, strict=True)] for side in sides)
    largest = max(*source, *target)
    edges = [0, *report.length_bins]
    names = [f"{low + 1}-{high}" for low, high in pairwise(edges)] + [f"over {edges[-1]}"]
    bar = "█" if "utf" in (sys.stdout.encoding or "").lower() else "#"
    head = f"  {'':>9}{'source':>12} {'':<20}{'target':>12}"
    return [head] + [
        f"  {name:>9}" + "".join(f"{count:>12,} {bar * round(20 * count / largest):<20}" for count in counts).rstrip()
        for name, *counts in zip(names, source, target, strict=True)
        if any(counts)
    ]
