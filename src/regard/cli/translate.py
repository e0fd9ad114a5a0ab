"""`regard translate`: translate lines, one output line for each input line in order; or a document."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.terminal.options import DecodingOptions, SamplingOptions, Text
from regard.cli.translate_options import BulkOptions, OutputOptions, WordingOptions

if TYPE_CHECKING:
    from regard.translate.translator import Options, Translator


def translate(
    *,
    text: Text = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(
            envvar="REGARD_MODEL",
            help="A model's folder, or a bundled one's name; if given again, an ensemble, which averages "
            "probabilities. [default: the bundled one for --from and --to; en-de]",
        ),
    ] = None,
    output: OutputOptions,
    search: DecodingOptions,
    wording: WordingOptions,
    sampling: SamplingOptions,
    bulk: BulkOptions,
    compile_: Annotated[
        bool, typer.Option("--compile", help="Compile the model's kernels with torch first; for long texts on a GPU.")
    ] = False,
) -> None:
    """Translate lines, or a document with its structure.

    regard translate --model runs/x/model < in.txt > out.txt

    regard translate --model runs/x/model page.html --out page.de.html

    regard translate --cluster local 'corpus/*.txt.zst' --out out/

    Options that are not given are the model's own. Each input line gives one output line; a blank one stays blank. A
    file keeps its tags, times, code and placeholders, and is written beside itself, as page.de.html, or to --out. The
    formats are .docx .pptx .xlsx .odt .odp .ods .epub .html .md .txt .xliff .tmx .po .json .yaml .properties .strings
    .xml (Android) .resx .srt .vtt. On a cluster a file becomes a file of the same name, of plain or compressed text,
    TSV, JSON lines or Parquet; run again, it translates what is missing.
    """
    from regard.saved.bundled import default_model

    document = _checked_document(text, output, search, wording, bulk)
    options = _options(output, search, wording, sampling)
    if model is None and document is None and bulk.cluster is None:
        wording = _with_language(wording, text, search.target)
    models = model or [default_model(wording.source, search.target)]
    translator = _load(models, search, bulk, compile_=compile_)
    options = _directed(translator, options, search, wording)
    if bulk.cluster is not None:
        from regard.cli.translate_cluster import translate_cluster

        translate_cluster(
            text, output.out, models, options, as_json=bulk.as_json, cluster=bulk.cluster, engine=search.engine,
            device=search.device, compile=compile_, column=bulk.column, workers=bulk.workers, cores=bulk.cores or 1,
            force=output.force,
        )  # fmt: skip
    elif document is not None:
        from regard.cli.translate_document import translate_document

        translate_document(
            translator, document, options, output.out,
            force=output.force, bilingual=output.bilingual, report=output.report,
        )  # fmt: skip
    else:
        _translate_lines(translator, text, options, output)


def _checked_document(
    text: str | None, output: OutputOptions, search: DecodingOptions, wording: WordingOptions, bulk: BulkOptions
) -> Path | None:
    """Reject options that do not go together; return the document to translate, None for lines and for a cluster."""
    from regard.errors import UserError

    if wording.tag is not None and (search.target or wording.source or wording.formality):
        raise UserError("--tag says all that --to, --from and --formality do; leave them out")
    bulk.check(output, wording)
    if output.lines and (text is None or bulk.cluster is not None or not Path(text).is_file()):
        raise UserError("--lines is for a file that is read as lines; name one, or leave it out")
    document = None if output.lines or bulk.cluster is not None else _document(text)
    if bulk.cluster is None:
        output.check(document)
    if document is None and (output.bilingual or output.report is not None):
        raise UserError("--bilingual and --report are for a file with structure, such as report.docx; name one")
    return document


def _options(
    output: OutputOptions, search: DecodingOptions, wording: WordingOptions, sampling: SamplingOptions
) -> "Options":
    """Return options of translation, without those that depend on the model's languages."""
    return replace(
        search.options(),
        extra_length=wording.extra_length,
        n_best=output.n_best or 1,
        sampling=sampling.sampling(),
        banned=tuple(wording.ban or ()),
        required=tuple(wording.require or ()),
        replace_unknown=wording.replace_unknown,
        min_confidence=wording.min_confidence,
        no_repeat=wording.no_repeat,
        prefix=wording.prefix,
        protect=wording.protect,
        localise_numbers=wording.localise_numbers,
        force=output.force,
        formality=wording.formality,
        alignment=output.alignment,
        token_scores=output.format_ == "jsonl" or output.n_best is not None,
        fuzzy=wording.memory is not None and output.format_ == "jsonl",
    )


def _load(models: list[Path], search: DecodingOptions, bulk: BulkOptions, *, compile_: bool) -> "Translator":
    from regard.translate.load import load

    return load(*models, engine=search.engine, device="cpu" if bulk.cluster else search.device, compile=compile_)


def _directed(
    translator: "Translator", options: "Options", search: DecodingOptions, wording: WordingOptions
) -> "Options":
    """Return options with languages, glossary and memory; report a user's mistake before any input is read."""
    from regard.cli.terminal.knowledge import with_knowledge

    options = replace(options, target=wording.tag or _target(translator, wording.source, search.target))
    if wording.source is not None and options.target is not None:
        options = replace(options, languages=(wording.source, options.target))
    options = with_knowledge(translator, options, search.glossary, wording.memory)
    translator.tag(options.target, options.formality)
    translator.request(options)
    return options


def _with_language(wording: WordingOptions, text: str | None, target: str | None) -> WordingOptions:
    """Return the options with the language of a text on the command line, where its script tells which one it is."""
    from regard.cli.terminal.inputs import is_file
    from regard.saved.bundled import language_by_script

    if text is None or wording.source is not None or wording.tag is not None or is_file(text):
        return wording
    language = language_by_script(text)
    return wording if language in (None, target) else replace(wording, source=language)


def _document(text: str | None) -> Path | None:
    """Return the document that an argument names, or None."""
    from regard.cli.terminal.inputs import is_file, is_lines

    if text is None or not is_file(text):
        return None
    from regard.documents.translate import is_document, open_document  # not imported for a plain text

    if not is_document(text) and Path(text).is_file() and not is_lines(text):
        open_document(b"", text)  # raises an error with the remedy
    return Path(text) if is_document(text) else None


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


def _translate_lines(translator: "Translator", text: str | None, options: "Options", output: OutputOptions) -> None:
    """Print the translations of all lines, window by window."""
    from regard.cli.terminal.inputs import input_windows
    from regard.cli.terminal.knowledge import Remarks
    from regard.cli.terminal.progress import sentences_done
    from regard.cli.terminal.translation_lines import as_text_line, line_format

    show = line_format(output.format_, output.n_best)
    number, remarks = 0, Remarks(translator)
    with sentences_done() as progress:
        for window in input_windows(text):
            if show is as_text_line and not any(window):
                sys.stdout.buffer.write(b"\n" * len(window))  # a file may have millions of blank lines
            else:
                for at, translation in enumerate(translator.window(window, options, progress), number):
                    sys.stdout.buffer.write(show(at, translation).encode() + b"\n")
                    remarks.see(at, translation)
            number += len(window)
            sys.stdout.flush()
        remarks.close()
