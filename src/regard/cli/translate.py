"""`regard translate`: text in, text out; a line for a line, in order, whatever comes. Or a file with structure."""

import json
import select
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from regard.data.lines import Lines
    from regard.decode.sampling import Sampling
    from regard.decode.translation import Sentence, Translation
    from regard.decode.translator import Options, Translator

FILE_ENDINGS = (".gz", ".xz", ".zst", ".tsv", ".jsonl")  # of lines; others are documents
PATIENCE = 0.02  # seconds to wait for more lines before those that have come are translated


def translate(
    text: Annotated[str | None, typer.Argument(metavar="[TEXT or FILE]", help="Default: standard input.")] = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(envvar="REGARD_MODEL", help="The folder of a model; of several, probabilities are averaged."),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where a file's translation goes, - for stdout; else beside it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    engine: Annotated[
        str, typer.Option(help="What computes: torch, ctranslate2 (on a CPU), or auto for the faster that can.")
    ] = "auto",
    device: Annotated[str, typer.Option(help="Where: cpu, cuda, cuda:1.")] = "cpu",
    compile_: Annotated[
        bool, typer.Option("--compile", help="Let torch make kernels for the model first; for long texts on a GPU.")
    ] = False,
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step; 1 is greedy.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Exponent of the length penalty.")] = None,
    penalty: Annotated[Literal["paper", "average"] | None, typer.Option(help="Kind of length penalty.")] = None,
    extra_length: Annotated[int | None, typer.Option(help="Tokens an output may have more than its source.")] = None,
    n_best: Annotated[
        int | None, typer.Option(min=1, help="Print so many translations of each line: id ||| text ||| score.")
    ] = None,
    format_: Annotated[
        Literal["text", "jsonl"], typer.Option("--format", help="jsonl: an object a line, with scores and tokens.")
    ] = "text",
    alignment: Annotated[bool, typer.Option("--alignment", help="In jsonl: which word came from which.")] = False,
    target: Annotated[str | None, typer.Option("--to", metavar="CODE", help="Language, of a model of several.")] = None,
    source: Annotated[str | None, typer.Option("--from", metavar="CODE", help="Language of the input.")] = None,
    no_split: Annotated[bool, typer.Option("--no-split", help="Translate lines whole, not by sentence.")] = False,
    ban: Annotated[list[str] | None, typer.Option(metavar="WORD", help="A word that may not occur.")] = None,
    require: Annotated[list[str] | None, typer.Option(metavar="WORD", help="A word that must occur.")] = None,
    no_repeat: Annotated[int, typer.Option(min=0, metavar="N", help="No N tokens in a row may come twice.")] = 0,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="What every sentence's translation begins with.")] = "",
    sample: Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")] = False,
    temperature: Annotated[float, typer.Option(help="When drawing: below 1 is safer, above 1 wilder.")] = 1.0,
    top_k: Annotated[int, typer.Option(min=0, help="When drawing: only from the k likeliest tokens.")] = 0,
    top_p: Annotated[float, typer.Option(help="When drawing: only from the likeliest that hold so much.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="When drawing.")] = 0,
    batch_tokens: Annotated[int | None, typer.Option(min=1, help="Source tokens computed at once.")] = None,
) -> None:
    """Translate lines, or a file with structure: .txt, .html, .md, .po, .srt, .vtt.

    regard translate --model runs/x/model < in.txt > out.txt

    regard translate --model runs/x/model page.html --out page.de.html

    What is not said is as the model's own settings are. A line in is a line out; a blank one stays blank. A file keeps
    its tags, times, code and placeholders, and is written beside itself, as page.de.html, or where --out says.
    """
    from regard.cli.document import translate_document
    from regard.cli.progress import sentences_done
    from regard.decode.load import load
    from regard.decode.translator import Options
    from regard.errors import UserError

    if not model:
        raise UserError(
            "--model is missing; name the folder of a model, such as runs/x/model, or set REGARD_MODEL to it"
        )
    document = _document(text)
    _check_output(document, out, format_, n_best)
    options = Options(
        beam=beam,
        alpha=alpha,
        penalty=penalty,
        extra_length=extra_length,
        n_best=n_best or 1,
        sampling=_sampling(sample, temperature, top_k, top_p, seed),
        banned=tuple(ban or ()),
        required=tuple(require or ()),
        no_repeat=no_repeat,
        prefix=prefix,
        target=target,
        split=not no_split,
        alignment=alignment,
        token_scores=format_ == "jsonl" or n_best is not None,
        batch_tokens=batch_tokens,
    )
    translator = load(*model, engine=engine, device=device, compile=compile_)
    _check_source(translator, source)
    translator.request(options)  # a mistake is told before a line is read
    if document is not None:
        translate_document(translator, document, options, out, force)
        return
    show = _shown(format_, n_best)
    with sentences_done() as progress:
        for number, translation in enumerate(_translations(translator, text, options, progress)):
            _write(show(number, translation))


def _document(text: str | None) -> Path | None:
    """The file with structure that an argument names, if it does."""
    from regard.documents.formats import is_document

    return Path(text) if text is not None and _is_file(text) and is_document(text) else None


def _check_output(document: Path | None, out: str | None, format_: str, n_best: int | None) -> None:
    from regard.documents.formats import FORMATS
    from regard.errors import UserError

    if document is None and out is not None:
        raise UserError(f"--out is for a file that ends with {', '.join(FORMATS)}; send lines to a file with > {out}")
    if document is not None and (format_ != "text" or n_best is not None):
        raise UserError(f"--format and --n-best are for lines; send them through a pipe, with < {document}")


def _sampling(sample: bool, temperature: float, top_k: int, top_p: float, seed: int) -> "Sampling | None":
    from regard.decode.sampling import Sampling
    from regard.errors import UserError

    if not sample:
        if (temperature, top_k, top_p) != (1.0, 0, 1.0):
            raise UserError("--temperature, --top-k and --top-p are for drawing at random; add --sample")
        return None
    if temperature <= 0 or not 0 < top_p <= 1:
        raise UserError("--temperature must be above 0 and --top-p above 0 and at most 1; change them")
    return Sampling(temperature, top_k, top_p, seed)


def _check_source(translator: "Translator", source: str | None) -> None:
    from regard.errors import UserError

    known = translator.saved.languages[0]
    if source is not None and known is not None and source != known:
        raise UserError(f"the model reads {known}, not {source}; leave out --from or choose another model")


def _translations(
    translator: "Translator", text: str | None, options: "Options", progress: Callable[[int], None]
) -> Iterator["Translation"]:
    """The translations of all lines, as soon as their window is done."""
    for window in _windows(text):
        yield from translator.window(window, options, progress)
        sys.stdout.flush()


def _windows(text: str | None) -> Iterator[list[str]]:
    """Lines by as many as are translated together: all that have come, up to a limit. A slow pipe need not wait."""
    from regard.data.lines import LONGEST_LINE, STANDARD_INPUT, Lines
    from regard.decode.translator import WINDOW_CHARACTERS, WINDOW_LINES

    if text is not None and not _is_file(text):
        yield text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split("\n")
        return
    window: list[str] = []
    characters = count = 0
    with Lines(text or STANDARD_INPUT) as lines:
        for block in lines:
            for line in block:
                count += 1
                if len(line) > LONGEST_LINE:
                    sys.stderr.write(
                        f"regard: line {count} is over {LONGEST_LINE:,} bytes; the rest of it is left out\n"
                    )
                window.append(line.decode("utf-8", "replace"))
                characters += len(window[-1])
                if len(window) >= WINDOW_LINES or characters >= WINDOW_CHARACTERS:
                    yield window
                    window, characters = [], 0
            if window and not _more(lines):
                yield window
                window, characters = [], 0
    if window:
        yield window


def _is_file(text: str) -> bool:
    """Whether an argument names a file rather than being the text."""
    from regard.documents.formats import is_document
    from regard.errors import UserError

    try:
        exists = text == "-" or Path(text).exists()
    except (OSError, ValueError):  # too long for a name, or with a NUL
        return False
    named = text.endswith(FILE_ENDINGS) or is_document(text)
    if not exists and named and not any(map(str.isspace, text)):
        raise UserError(f"{text}: no such file; check its name and folder, or send the text through a pipe")
    return exists


def _more(lines: "Lines") -> bool:
    """Whether more of the file is there, or comes at once; of one on a disk it always is."""
    from regard.data.lines import STANDARD_INPUT

    if lines.name != STANDARD_INPUT:
        return True
    try:
        return bool(select.select([sys.stdin.buffer], [], [], PATIENCE)[0])
    except (OSError, ValueError):  # not something that can be waited for
        return True


def _shown(format_: str, n_best: int | None) -> Callable[[int, "Translation"], str]:
    """How a translation is printed."""
    from regard.decode.sentences import one_line

    if format_ == "jsonl":
        return _as_json
    if n_best is not None:
        return _as_list
    return lambda _, translation: one_line(translation.text)


def _as_list(number: int, translation: "Translation") -> str:
    from regard.decode.sentences import one_line

    return "\n".join(
        f"{number} ||| {one_line(translation.option(option))} ||| {translation.option_score(option):.6f}"
        for option in range(translation.options)
    )


def _as_json(number: int, translation: "Translation") -> str:
    from regard.decode.sentences import one_line

    texts = [
        {"text": one_line(translation.option(option)), "score": translation.option_score(option)}
        for option in range(translation.options)
    ]
    sentences = [_sentence(sentence) for sentence in translation.sentences]
    report = {"id": number, "source": translation.source, **texts[0], "n_best": texts, "sentences": sentences}
    return json.dumps(report, ensure_ascii=False)


def _sentence(sentence: "Sentence") -> dict[str, Any]:
    outputs = [
        {
            "text": output.text,
            "score": output.hypothesis.score,
            "log_probability": output.hypothesis.log_probability,
            "tokens": output.tokens,
            "token_scores": output.hypothesis.token_scores,
            **({} if output.alignment is None else {"alignment": output.alignment}),
        }
        for output in sentence.outputs
    ]
    return {"source": sentence.source, "source_tokens": sentence.tokens, "outputs": outputs}


def _write(line: str) -> None:
    sys.stdout.buffer.write(line.encode() + b"\n")
