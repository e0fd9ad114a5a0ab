"""Options of `regard translate` alone: output, wording and a cluster."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from regard.cli.terminal.options import ClusterOptions


@dataclass(frozen=True)
class OutputOptions:
    """The input's kind, and the form of the output."""

    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where a file's translation goes, - for stdout; else beside it.")
    ] = None
    force: Annotated[
        bool, typer.Option("--force", help="Translate text in another language, too; overwrite an existing file.")
    ] = False
    lines: Annotated[
        bool, typer.Option("--lines", help="Read a file as lines of text, whatever its ending; print the translations.")
    ] = False
    bilingual: Annotated[
        bool, typer.Option("--bilingual", help="For .docx and .xlsx: put the translation beside its source.")
    ] = False
    report: Annotated[
        Path | None, typer.Option(metavar="JSON", help="Write a report: what of a file was translated, kept, unsure.")
    ] = None
    n_best: Annotated[
        int | None, typer.Option(min=1, help="Print the N best translations of each line: id ||| text ||| score.")
    ] = None
    format_: Annotated[
        Literal["text", "jsonl"], typer.Option("--format", help="jsonl: an object a line, with scores and tokens.")
    ] = "text"
    alignment: Annotated[bool, typer.Option("--alignment", help="In jsonl: the alignment of the words.")] = False

    def check(self, document: Path | None) -> None:
        """Reject options that have no effect for a document, or for lines."""
        from regard.errors import UserError

        if document is None and self.out is not None:
            from regard.documents.translate import READERS

            endings = ", ".join(READERS)
            raise UserError(f"--out is for a file that ends with {endings}; send lines to a file with > {self.out}")
        if document is not None and (self.format_ != "text" or self.n_best is not None):
            raise UserError(f"--format and --n-best are for lines; send them through a pipe, with < {document}")
        if self.alignment and self.format_ != "jsonl":
            raise UserError("--alignment is shown in jsonl alone; add --format jsonl")


@dataclass(frozen=True)
class WordingOptions:
    """Options for the wording of a translation: required, banned and protected text, languages, terms."""

    source: Annotated[str | None, typer.Option("--from", metavar="CODE", help="Language of the input.")] = None
    formality: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="Speech level, for a model with several: more, less, or one by its name."),
    ] = None
    tag: Annotated[
        str | None, typer.Option(metavar="TAG", help="A tag of the model, such as '<2ko:polite>', instead of --to.")
    ] = None
    protect: Annotated[
        bool | None,
        typer.Option(
            "--protect/--no-protect",
            help="Keep addresses, paths, code, placeholders, numbers, emoji, unknown names. [default: on for a model "
            "between natural languages]",
        ),
    ] = None
    localise_numbers: Annotated[
        bool, typer.Option("--localise-numbers", help="Write 12,450.75 as the target language does: 12.450,75.")
    ] = False
    ban: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A word that may not occur, nor begin another.")
    ] = None
    require: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A word that must occur, alone or beginning another.")
    ] = None
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="The beginning of every sentence's translation.")] = ""
    no_repeat: Annotated[int, typer.Option(min=0, metavar="N", help="Repeat no N tokens in a row.")] = 0
    extra_length: Annotated[
        int | None, typer.Option(help="Tokens that an output may have beyond those of its source.")
    ] = None
    replace_unknown: Annotated[
        bool,
        typer.Option("--replace-unknown", help="For a model of words: replace unknown ones by the source's (PosUnk)."),
    ] = False
    memory: Annotated[
        Path | None, typer.Option(metavar="DB", help="Translation memory: exact matches are the translations.")
    ] = None
    min_confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="Leave sentences of less confidence untranslated.")
    ] = None


@dataclass(frozen=True)
class BulkOptions(ClusterOptions):
    """Options of a cluster for `regard translate`."""

    column: Annotated[
        str | None, typer.Option(help="With --cluster: the column of TSV (a number), JSON lines or Parquet (a name).")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="With --cluster: print figures as JSON.")] = False

    def check(self, output: OutputOptions, wording: WordingOptions) -> None:
        """Reject options that have no effect with, or without, a cluster."""
        from regard.errors import UserError

        self.check_alone(column=self.column, json=self.as_json)
        if self.cluster is None:
            return
        others: dict[str, object] = {
            "n-best": output.n_best,
            "alignment": output.alignment,
            "format": output.format_ != "text",
            "memory": wording.memory,
            "bilingual": output.bilingual,
            "report": output.report,
        }
        for name, given in others.items():
            if given not in (None, False):
                raise UserError(
                    f"--{name} has no place beside --cluster, which writes one translation of each row; leave it out"
                )
