"""`regard translate`: translate lines, one output line for each input line in order; or a document."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from regard.search.sampling import Sampling
    from regard.translate.translation import Sentence, Translation
    from regard.translate.translator import Options, Translator


# Characters that are valid in JSON strings but that some readers treat as line ends.
ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "\u0085\u2028\u2029"}


def translate(
    text: Annotated[str | None, typer.Argument(metavar="[TEXT or FILE]", help="Default: standard input.")] = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(
            envvar="REGARD_MODEL",
            help="A model's folder, or a bundled one's name; of several, probabilities are averaged. "
            "[default: en-de, if it is bundled]",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where a file's translation goes, - for stdout; else beside it.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Translate text in another language, too; write over a file that is there.")
    ] = False,
    lines: Annotated[
        bool, typer.Option("--lines", help="Read a file as lines of text, whatever its ending; print the translations.")
    ] = False,
    protect: Annotated[
        bool | None,
        typer.Option(
            "--protect/--no-protect",
            help="Keep addresses, paths, code, placeholders, numbers, emoji, unknown names. [default: on for a model "
            "between natural languages]",
        ),
    ] = None,
    localise_numbers: Annotated[
        bool, typer.Option("--localise-numbers", help="Write 12,450.75 as the target language does: 12.450,75.")
    ] = False,
    bilingual: Annotated[
        bool, typer.Option("--bilingual", help="Of .docx and .xlsx: put the translation beside its source.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="JSON", help="Write what of a file was translated, kept, and is unsure.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="What computes: torch, native or ctranslate2 (on a CPU), or auto for the fastest.")
    ] = "auto",
    device: Annotated[str, typer.Option(help="Where: cpu, cuda, cuda:1.")] = "cpu",
    compile_: Annotated[
        bool, typer.Option("--compile", help="Let torch make kernels for the model first; for long texts on a GPU.")
    ] = False,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step; 1 is greedy.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Exponent of the length penalty.")] = None,
    penalty: Annotated[Literal["paper", "average"] | None, typer.Option(help="Kind of length penalty.")] = None,
    beta: Annotated[float | None, typer.Option(help="Weight of the coverage penalty; 0 is none.")] = None,
    extra_length: Annotated[int | None, typer.Option(help="Tokens an output may have more than its source.")] = None,
    decoding: Annotated[
        Literal["search", "blockwise", "mask-predict"] | None,
        typer.Option(
            help="How a text is written: blockwise is greedy with several tokens a step. [default: the model's]"
        ),
    ] = None,
    iterations: Annotated[int | None, typer.Option(min=1, help="Of mask-predict: passes; 10 by default.")] = None,
    n_best: Annotated[
        int | None, typer.Option(min=1, help="Print so many translations of each line: id ||| text ||| score.")
    ] = None,
    format_: Annotated[
        Literal["text", "jsonl"], typer.Option("--format", help="jsonl: an object a line, with scores and tokens.")
    ] = "text",
    alignment: Annotated[bool, typer.Option("--alignment", help="In jsonl: which word came from which.")] = False,
    target: Annotated[str | None, typer.Option("--to", metavar="CODE", help="Language, of a model of several.")] = None,
    source: Annotated[str | None, typer.Option("--from", metavar="CODE", help="Language of the input.")] = None,
    formality: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="Speech level, of a model that has them: more, less, or one by its name."),
    ] = None,
    tag: Annotated[
        str | None, typer.Option(metavar="TAG", help="A tag of the model, such as '<2ko:polite>', instead of --to.")
    ] = None,
    no_split: Annotated[bool, typer.Option("--no-split", help="Translate lines whole, not by sentence.")] = False,
    ban: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A word that may not occur, nor begin another.")
    ] = None,
    require: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A word that must occur, alone or beginning another.")
    ] = None,
    replace_unknown: Annotated[
        bool,
        typer.Option("--replace-unknown", help="Of a model of words: replace unknown ones by the source's (PosUnk)."),
    ] = False,
    glossary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Terms to use: TSV (source TAB target), CSV or TBX.")
    ] = None,
    memory: Annotated[
        Path | None, typer.Option(metavar="DB", help="A memory, whose pairs are the answer for their sources.")
    ] = None,
    min_confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="Leave sentences untranslated that are less sure.")
    ] = None,
    no_repeat: Annotated[int, typer.Option(min=0, metavar="N", help="No N tokens in a row may come twice.")] = 0,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="What every sentence's translation begins with.")] = "",
    sample: Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")] = False,
    temperature: Annotated[float, typer.Option(help="When drawing: below 1 is safer, above 1 wilder.")] = 1.0,
    top_k: Annotated[int, typer.Option(min=0, help="When drawing: only from the k likeliest tokens.")] = 0,
    top_p: Annotated[float, typer.Option(help="When drawing: only from the likeliest that hold so much.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="When drawing.")] = 0,
    batch_tokens: Annotated[int | None, typer.Option(min=1, help="Source tokens computed at once.")] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Translate the files of a pattern on a Ray cluster; local starts one."),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="With --cluster: the column of TSV (a number), JSON lines or Parquet (a name).")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="With --cluster: processes. [default: one a core, or one a GPU]")
    ] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="With --cluster: threads of a worker. [default: 1]")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --cluster: print figures as JSON.")] = False,
) -> None:
    """Translate lines, or a file with structure: office documents, books, pages, catalogues of messages, subtitles.

    regard translate --model runs/x/model < in.txt > out.txt

    regard translate --model runs/x/model page.html --out page.de.html

    regard translate --cluster local 'corpus/*.txt.zst' --out out/

    What is not said is as the model's own settings are. A line in is a line out; a blank one stays blank. A file keeps
    its tags, times, code and placeholders, and is written beside itself, as page.de.html, or where --out says. The
    formats are .docx .pptx .xlsx .odt .odp .ods .epub .html .md .txt .xliff .tmx .po .json .yaml .properties .strings
    .xml (Android) .resx .srt .vtt. On a cluster a file becomes a file of the same name, of plain or compressed text,
    TSV, JSON lines or Parquet; run again, it translates what is missing.
    """
    from regard.cli.terminal.knowledge import informed
    from regard.cli.terminal.progress import sentences_done
    from regard.cli.translate_document import translate_document
    from regard.errors import UserError
    from regard.translate.load import load
    from regard.translate.translator import Options

    if tag is not None and (target or source or formality):
        raise UserError("--tag says all that --to, --from and --formality do; leave them out")
    bulk = {"column": column, "workers": workers, "cores": cores, "json": as_json}
    lines_only = {"n-best": n_best, "alignment": alignment, "format": format_ != "text", "memory": memory}
    _check_cluster(cluster, bulk, {**lines_only, "bilingual": bilingual, "report": report})
    if lines and (text is None or cluster is not None or not Path(text).is_file()):
        raise UserError("--lines is for a file that is read as lines; name one, or leave it out")
    document = None if lines or cluster is not None else _document(text)
    if cluster is None:
        _check_output(document, out, format_, n_best, alignment=alignment)
    if document is None and (bilingual or report is not None):
        raise UserError("--bilingual and --report are for a file with structure, such as report.docx; name one")
    options = Options(
        beam=beam,
        alpha=alpha,
        penalty=penalty,
        beta=beta,
        extra_length=extra_length,
        n_best=n_best or 1,
        decoding=decoding,
        iterations=iterations,
        sampling=_sampling(sample, temperature, top_k, top_p, seed),
        banned=tuple(ban or ()),
        required=tuple(require or ()),
        replace_unknown=replace_unknown,
        min_confidence=min_confidence,
        no_repeat=no_repeat,
        prefix=prefix,
        split=not no_split,
        protect=protect,
        localise_numbers=localise_numbers,
        force=force,
        formality=formality,
        alignment=alignment,
        token_scores=format_ == "jsonl" or n_best is not None,
        fuzzy=memory is not None and format_ == "jsonl",
        batch_tokens=batch_tokens,
    )
    models = model or _bundled()
    translator = load(*models, engine=engine, device="cpu" if cluster else device, compile=compile_)
    options = replace(options, target=tag or _target(translator, source, target))
    if source is not None and options.target is not None:
        options = replace(options, languages=(source, options.target))
    options = informed(translator, options, glossary, memory)
    translator.tag(options.target, options.formality)
    translator.request(options)  # report a user's mistake before reading input
    if cluster is not None:
        from regard.cli.translate_cluster import translate_cluster

        translate_cluster(
            text, out, models, options, as_json=as_json, cluster=cluster, engine=engine, device=device,
            compile=compile_, column=column, workers=workers, cores=cores or 1, force=force,
        )  # fmt: skip
        return
    if document is not None:
        translate_document(translator, document, options, out, force=force, bilingual=bilingual, report=report)
        return
    with sentences_done() as progress:
        _translate_lines(translator, text, options, _shown(format_, n_best), progress)


def _check_cluster(cluster: str | None, bulk: Mapping[str, object], others: Mapping[str, object]) -> None:
    """Reject options that have no effect with, or without, a cluster."""
    from regard.errors import UserError

    for name, value in (bulk if cluster is None else others).items():
        if value not in (None, False):
            raise UserError(
                f"--{name} is for many files on a cluster; add --cluster local, or leave it out"
                if cluster is None
                else f"--{name} has no place beside --cluster, which writes one translation of each row; leave it out"
            )


def _bundled() -> list[Path]:
    """Return the default model if none is named."""
    from regard.errors import UserError
    from regard.saved.bundled import DEFAULT, bundled

    if DEFAULT not in bundled():
        raise UserError(
            "--model is missing; name the folder of a model, such as runs/x/model, or set REGARD_MODEL to it"
        )
    return [bundled()[DEFAULT]]


def _document(text: str | None) -> Path | None:
    """Return the document that an argument names, or None."""
    from regard.cli.terminal.inputs import is_file, is_lines

    if text is None or not is_file(text):
        return None
    from regard.documents.translate import is_document, open_document  # not imported for a plain text

    if not is_document(text) and Path(text).is_file() and not is_lines(text):
        open_document(b"", text)  # raises an error with the remedy
    return Path(text) if is_document(text) else None


def _check_output(document: Path | None, out: str | None, format_: str, n_best: int | None, *, alignment: bool) -> None:
    from regard.errors import UserError

    if document is None and out is not None:
        from regard.documents.translate import READERS

        raise UserError(f"--out is for a file that ends with {', '.join(READERS)}; send lines to a file with > {out}")
    if document is not None and (format_ != "text" or n_best is not None):
        raise UserError(f"--format and --n-best are for lines; send them through a pipe, with < {document}")
    if alignment and format_ != "jsonl":
        raise UserError("--alignment is shown in jsonl alone; add --format jsonl")


def _sampling(sample: bool, temperature: float, top_k: int, top_p: float, seed: int) -> "Sampling | None":
    from regard.errors import UserError

    if not sample:
        if (temperature, top_k, top_p, seed) != (1.0, 0, 1.0, 0):
            raise UserError("--temperature, --top-k, --top-p and --seed are for drawing at random; add --sample")
        return None
    from regard.search.sampling import Sampling

    return Sampling(temperature, top_k, top_p, seed)


def _target(translator: "Translator", source: str | None, target: str | None) -> str | None:
    """Return the target language; for a model with several directions, the one for the source language."""
    from regard.errors import UserError

    known = [pair for pair in translator.directions if pair[0] is not None]
    if source is None:
        return target
    if not known:
        raise UserError("the model does not say which languages it reads; leave out --from")
    fitting = [into for read, into in known if read == source]
    if not fitting:
        read = " and ".join(dict.fromkeys(str(read) for read, _ in known))
        raise UserError(f"the model reads {read}, not {source}; leave out --from or choose another model")
    return target or fitting[0]


def _translate_lines(
    translator: "Translator",
    text: str | None,
    options: "Options",
    show: Callable[[int, "Translation"], str],
    progress: Callable[[int], None],
) -> None:
    """Print the translations of all lines, window by window."""
    from regard.cli.terminal.inputs import input_windows
    from regard.cli.terminal.knowledge import Remarks

    number, remarks = 0, Remarks()
    for window in input_windows(text):
        if show is _as_text and not any(window):
            sys.stdout.buffer.write(b"\n" * len(window))  # a file may have millions of blank lines
        else:
            for at, translation in enumerate(translator.window(window, options, progress), number):
                _write(show(at, translation))
                remarks.see(at, translation)
        number += len(window)
        sys.stdout.flush()
    remarks.close()


def _shown(format_: str, n_best: int | None) -> Callable[[int, "Translation"], str]:
    """Format a translation for output."""
    if format_ == "jsonl":
        return _as_json
    return _as_text if n_best is None else _as_list


def _as_text(_: int, translation: "Translation") -> str:
    from regard.translate.sentences import one_line

    return one_line(translation.text)


def _as_list(number: int, translation: "Translation") -> str:
    from regard.translate.sentences import one_line

    return "\n".join(
        f"{number} ||| {one_line(translation.option(option))} ||| {translation.option_score(option):.6f}"
        for option in range(translation.options)
    )


def _as_json(number: int, translation: "Translation") -> str:
    from regard.translate.sentences import one_line

    texts = [
        {"text": one_line(translation.option(option)), "score": translation.option_score(option)}
        for option in range(translation.options)
    ]
    sentences = [_sentence(sentence) for sentence in translation.sentences]
    sure = {} if translation.confidence is None else {"confidence": translation.confidence}
    other = {} if translation.language is None else {"language": translation.language.language, "kept": True}
    report = {"id": number, "source": translation.source, **texts[0], **sure, **other, "n_best": texts}
    report["sentences"] = sentences
    return json.dumps(report, ensure_ascii=False).translate(ESCAPED)


def _sentence(sentence: "Sentence") -> dict[str, Any]:
    outputs = [
        {
            "text": output.text,
            "score": output.hypothesis.score,
            "log_probability": output.hypothesis.log_probability,
            "tokens": output.tokens,
            "token_scores": output.hypothesis.token_scores,
            **({"steps": output.hypothesis.steps} if output.hypothesis.steps else {}),
            **({} if output.alignment is None else {"alignment": output.alignment}),
            **({"spans": [asdict(span) for span in output.spans]} if output.spans else {}),
        }
        for output in sentence.outputs
    ]
    return {
        "source": sentence.source,
        "source_tokens": sentence.tokens,
        "outputs": outputs,
        **_judged(sentence),
        **({"terms": [asdict(use) for use in sentence.terms]} if sentence.terms else {}),
        **({} if sentence.memory is None else {"memory": asdict(sentence.memory)}),
        **({} if sentence.fuzzy is None else {"fuzzy": asdict(sentence.fuzzy)}),
    }


def _judged(sentence: "Sentence") -> dict[str, Any]:
    """Return a sentence's confidence and warnings, where it has them."""
    found, warnings = sentence.judgement.confidence, sentence.judgement.warnings
    return {
        **({} if found is None else {"confidence": found}),
        **({"warnings": warnings} if warnings else {}),
        **({"kept": True} if sentence.kept else {}),
        **({} if sentence.language is None else {"language": sentence.language.language}),
    }


def _write(line: str) -> None:
    sys.stdout.buffer.write(line.encode() + b"\n")
