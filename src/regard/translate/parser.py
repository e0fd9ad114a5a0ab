"""Parsing of sentences into trees (section 6.3), for `regard parse`, `regard evaluate` and Python.

regard.load_parser("runs/x/model").parse(["The cat sat on the mat."])
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

from regard.config.checked import check
from regard.config.decode import DecodeConfig
from regard.engines.engine import BATCH_TOKENS, LEAST_TOKENS, Engine, Progress, Request, quiet
from regard.engines.torch_engine import TorchEngine
from regard.errors import UserError
from regard.saved.folder import LoadedModel
from regard.saved.saved_model import SavedModel
from regard.search.tree_rule import TreeRule
from regard.text.linear_trees import restore
from regard.text.symbols import Symbols
from regard.text.tokenise import spelt, tokenise
from regard.text.trees import Tree
from regard.translate.translator import reach, windows

MOST_TOKENS = 1000  # subwords of a sentence: CRAFT's longest has 586, and a tree over 1,000 takes a core 20 seconds
JOINT = "HYPH"  # the tag of a hyphen, in treebanks that split words at hyphens and slashes


@dataclass(frozen=True)
class ParseOptions:
    """Options of parsing. None means the model's default."""

    beam: int | None = None
    alpha: float | None = None
    constraint: bool = True
    """Restrict the search to well-formed trees over the words; otherwise an ill-formed output is repaired."""
    tokenised: bool = False
    """True if words are already separated by spaces; otherwise the text is tokenised first."""
    batch_tokens: int | None = None
    """Source tokens in a batch; None for a value that suits the beam."""


DEFAULTS = ParseOptions()


@dataclass(frozen=True)
class Parse:
    """The parse of a sentence."""

    words: tuple[str, ...]
    tree: Tree | None
    """A tree over exactly these words; None if there are none."""
    score: float | None
    """The log probability divided by the length penalty; None if nothing was searched."""
    repaired: bool
    """True if the tree differs from the model's output."""

    @property
    def too_long(self) -> bool:
        """Return whether the sentence was too long to be searched; its tree is flat then."""
        return self.tree is not None and self.score is None


class Parser:
    """A model with its subwords, its symbols and an engine."""

    def __init__(self, saved: SavedModel, engine: Engine | None = None) -> None:
        """Without an engine, use the model of a LoadedModel."""
        self.saved = saved
        self.source_subwords, symbols = saved.vocabularies
        if saved.task != "parsing" or not isinstance(symbols, Symbols):
            raise UserError("this model translates, and can't parse; give one that was trained on trees")
        self.symbols = symbols
        self.rule = TreeRule.over(symbols.names)
        self.joints = JOINT in symbols.names
        longest = reach(saved)
        self.most_tokens = MOST_TOKENS if longest is None else min(MOST_TOKENS, longest)
        if engine is None:
            assert isinstance(saved, LoadedModel), "no engine and no model"
            engine = TorchEngine(saved.model, longest=longest)
        self.engine = engine

    @overload
    def parse(self, texts: str, options: ParseOptions = ...) -> Parse: ...  # type: ignore[overload-overlap]

    @overload
    def parse(self, texts: Iterable[str], options: ParseOptions = ...) -> list[Parse]: ...

    def parse(self, texts: str | Iterable[str], options: ParseOptions = DEFAULTS) -> Parse | list[Parse]:
        """Parse a sentence, or each of several."""
        if isinstance(texts, str):
            return self.window([texts], options)[0]
        return list(self.stream(texts, options))

    def stream(self, texts: Iterable[str], options: ParseOptions = DEFAULTS) -> Iterator[Parse]:
        """Parse each of any number of sentences, in order; only a window of them is in memory."""
        for window in windows(texts):
            yield from self.window(window, options)

    def window(self, texts: Sequence[str], options: ParseOptions = DEFAULTS, progress: Progress = quiet) -> list[Parse]:
        """Parse sentences together, as one window."""
        cut = (text.split() if options.tokenised else tokenise(text, joints=self.joints) for text in texts)
        return self.parse_words(list(cut), options, progress)

    def parse_words(
        self, sentences: Sequence[Sequence[str]], options: ParseOptions = DEFAULTS, progress: Progress = quiet
    ) -> list[Parse]:
        """Parse sentences given as lists of words; equal ones are parsed once."""
        different = list(dict.fromkeys(map(tuple, sentences)))
        ids = self.source_subwords.encode([spelt(words, self.saved.form) for words in different])
        fitting = [number for number, tokens in enumerate(ids) if self._fits(tokens, different[number])]
        rule = replace(self.rule, words=tuple(len(different[number]) for number in fitting))
        request = self.request(options, rule if options.constraint else None)
        found = self.engine.search([ids[number] for number in fitting], request, progress)
        parses: dict[tuple[str, ...], Parse] = {}
        for number, (best, *_) in zip(fitting, found, strict=True):
            tree, repaired = restore(self.symbols.pieces(best.tokens), different[number])
            parses[different[number]] = Parse(different[number], tree, best.score, repaired)
        return [parses.get(tuple(words)) or _unparsed(tuple(words)) for words in sentences]

    def request(self, options: ParseOptions, rule: TreeRule | None = None) -> Request:
        """Return the request for the engine."""
        given = {"beam": options.beam, "alpha": options.alpha}
        values = {key: value for key, value in given.items() if value is not None}
        decode = check(DecodeConfig, {**self.saved.decode.model_dump(), **values}, "the options")
        # A tree has several times the tokens of its sentence, and each hypothesis of a beam has its own cache.
        suitable = max(LEAST_TOKENS, min(BATCH_TOKENS, 4 * BATCH_TOKENS // decode.beam))
        return Request(decode, trees=rule, token_scores=True, batch_tokens=options.batch_tokens or suitable)

    def _fits(self, tokens: list[int], words: tuple[str, ...]) -> bool:
        """Return whether the model can read a sentence, and write the smallest tree over it."""
        longest = reach(self.saved)
        return 0 < len(tokens) <= self.most_tokens and (longest is None or len(words) + 2 <= longest)


def _unparsed(words: tuple[str, ...]) -> Parse:
    """Return no tree for no words, and a flat one for too many."""
    return Parse(words, restore([], words)[0], None, True) if words else Parse(words, None, None, False)
