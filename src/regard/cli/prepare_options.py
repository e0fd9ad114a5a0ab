"""Options of `regard prepare`: the texts, the vocabulary and the filters."""

from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from regard.cli.terminal.variadic import FILES, one_value, split_value

if TYPE_CHECKING:
    from regard.config.data import CorpusConfig
    from regard.data.public.texts import SplitName


@dataclass(frozen=True)
class CorpusOptions:
    """The texts to prepare."""

    task: Annotated[
        Literal["translation", "parsing", "denoise", "labels"],
        typer.Option(
            help="What to prepare for. parsing: --train and --valid name files of trees, one each. labels: text TAB "
            "label. denoise: --text names text in one language, in which a model learns to fill in spans before it "
            "learns to translate."
        ),
    ] = "translation"
    train: Annotated[
        list[str] | None,
        typer.Option(
            metavar=FILES,
            help="Training text: two files aligned by line (train.en train.de), or one TSV or JSON-lines file; "
            "plain, .gz, .xz or .zst; - is standard input. Give the option once for each corpus.",
        ),
    ] = None
    text: Annotated[
        list[str] | None,
        typer.Option(metavar=FILES, help="Text in one language, for --task denoise; each file is a corpus."),
    ] = None
    valid: Annotated[list[str] | None, typer.Option(metavar=FILES, help="Validation text, in the same ways.")] = None
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A public corpus that `regard corpora get NAME` downloaded: its training text after that of --train, "
            "and its validation text unless --valid is given.",
        ),
    ] = None
    valid_pairs: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Pairs to split off for validation if there is no --valid; 0 for none. [default: 1 in 20, of a small "
            "text 1 in 10, at most 500]",
        ),
    ] = None
    weight: Annotated[
        list[float] | None, typer.Option(help="Passes over a corpus in an epoch; once for each --train.")
    ] = None
    tag: Annotated[
        list[str] | None,
        typer.Option(
            help="Reserved tokens, such as <2de> or <2de><bt>, before sources; once for each --train. '' is none."
        ),
    ] = None
    valid_tag: Annotated[list[str] | None, typer.Option(help="The same, once for each --valid.")] = None
    source_language: Annotated[
        str | None,
        typer.Option("--from", "--from-language", metavar="CODE", help="Source language. [default: that of train.en]"),
    ] = None
    target_language: Annotated[
        str | None,
        typer.Option("--to", "--to-language", metavar="CODE", help="Target language. [default: that of train.de]"),
    ] = None

    def check(self) -> None:
        """Reject options that do not go together."""
        from regard.errors import UserError

        if self.valid_pairs and self.valid:
            raise UserError("--valid-pairs are split off where there is no --valid; leave one of the two out")
        if (self.task == "denoise") != bool(self.text) or (self.text and (self.train or self.corpus)):
            raise UserError(
                "--task denoise and --text go together, instead of --train and --corpus; give both or neither"
            )

    def configs(self) -> "tuple[list[CorpusConfig], list[CorpusConfig]]":
        """Return the corpora for training and for validation."""
        train, valid = self.train, self.valid
        if self.corpus:
            valid = valid or _public(self.corpus, "valid", self.source_language, self.target_language)
            train = [*(train or []), *_public(self.corpus, "train", self.source_language, self.target_language)]
        if self.text:
            train = [name for value in self.text for name in split_value(value)]
        valid_tags = self.valid_tag or _valid_tags(self.tag, valid)
        training = corpora("--text" if self.text else "--train", train, self.weight, self.tag)
        return training, corpora("--valid", valid, None, valid_tags, of="--valid-tag")


@dataclass(frozen=True)
class VocabularyOptions:
    """The tokens that texts are encoded as."""

    vocabulary: Annotated[
        int | None, typer.Option(help="How many subwords to learn. [default: chosen by the amount of text]")
    ] = None
    vocabulary_kind: Annotated[
        Literal["subwords", "words"],
        typer.Option(help="words: the most frequent ones; all others are unknown, as before subwords."),
    ] = "subwords"
    subwords: Annotated[
        Literal["bpe", "unigram"] | None, typer.Option(help="Kind of subwords.", show_default="bpe")
    ] = None
    subwords_from: Annotated[
        str | None, typer.Option(metavar="DIR", help="Use the subwords of this model or prepared data; to fine-tune.")
    ] = None
    grow: Annotated[
        int | None,
        typer.Option(min=1, help="With --subwords-from: add so many subwords for the new text, and its new tags."),
    ] = None
    tree_tags: Annotated[
        Literal["kept", "one"] | None,
        typer.Option(help="For parsing: a symbol for each tag of a word, or one for all.", show_default="kept"),
    ] = None
    separate: Annotated[bool, typer.Option("--separate", help="A vocabulary for each language, not one.")] = False
    temperature: Annotated[
        float | None,
        typer.Option(min=1, help="Sample corpora by tag as size^(1/TEMPERATURE): small ones come more often."),
    ] = None
    speech_levels: Annotated[
        bool,
        typer.Option("--speech-levels", help="Learn 합니다, 해요 and 해라 by tags from the endings of Korean targets."),
    ] = False
    protect: Annotated[
        bool,
        typer.Option(
            "--protect/--no-protect",
            help="Replace addresses, placeholders, paths and code by reserved tokens, and drop pairs whose addresses "
            "or placeholders differ.",
        ),
    ] = False
    form: Annotated[Literal["NFC", "NFKC"] | None, typer.Option(help="Unicode normal form.", show_default="NFC")] = None
    sample: Annotated[
        int | None, typer.Option(help="Learn subwords from at most this many pairs.", show_default="500000")
    ] = None
    seed: Annotated[int | None, typer.Option(help="Seed of that sample.", show_default="1")] = None

    def check(self, task: str) -> None:
        """Reject options that do not go together."""
        from regard.errors import UserError

        if self.vocabulary_kind == "words" and (self.subwords or self.subwords_from or task != "translation"):
            raise UserError(
                "--vocabulary-kind words has no subwords and is for translation; leave out the other option"
            )
        if self.subwords_from is not None and (self.vocabulary or self.subwords):
            raise UserError("--vocabulary and --subwords are those of --subwords-from; leave them out")

    def values(self) -> dict[str, Any]:
        """Return the values of PrepareConfig that the options set."""
        from regard.saved.bundled import located

        start = None if self.subwords_from is None else str(located(self.subwords_from))
        values = {**vars(self), "subwords_from": start, "shared": not self.separate}
        return {key: value for key, value in values.items() if key != "separate"}


@dataclass(frozen=True)
class FilterOptions:
    """The pairs that are dropped."""

    max_characters: Annotated[int | None, typer.Option(help="Drop pairs with a longer side.", show_default="5000")] = (
        None
    )
    max_ratio: Annotated[
        float | None, typer.Option(help="Drop pairs with a side this many times longer; 0: none.", show_default="9")
    ] = None
    keep_identical: Annotated[bool, typer.Option("--keep-identical", help="Keep pairs of equal sides.")] = False
    keep_duplicates: Annotated[bool, typer.Option("--keep-duplicates", help="Keep repeated pairs.")] = False

    def values(self) -> dict[str, Any]:
        """Return the values of FilterConfig that the options set."""
        given = {
            "max_characters": self.max_characters,
            "max_ratio": self.max_ratio,
            "identical": self.keep_identical,
            "duplicates": self.keep_duplicates,
        }
        return {**given_values(given), **({"max_ratio": None} if self.max_ratio == 0 else {})}


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


def given_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values that were given."""
    return {key: value for key, value in values.items() if value is not None}
