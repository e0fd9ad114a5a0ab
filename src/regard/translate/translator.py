"""Translation of any text, for `regard translate`, `regard evaluate`, Python and the server.

regard.load("runs/x/model").translate(["Good morning.", "How are you?"])
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast, overload

from regard.config.checked import check
from regard.config.decode import DecodeConfig, Decoding
from regard.config.special_tokens import UNK
from regard.engines.engine import Aligner, Engine, Progress, Request, quiet
from regard.errors import UserError
from regard.memory.store import Memory
from regard.saved.calibration import Calibration
from regard.saved.saved_model import SavedModel
from regard.saved.weights import Array
from regard.search.hypothesis import Hypothesis
from regard.terms.glossary import Glossary
from regard.text.normalise import Form, normalise
from regard.text.protected.detect import Detector
from regard.text.protected.reserved import TO_PRIVATE
from regard.text.subwords import Subwords
from regard.text.word_vocabulary import Words
from regard.translate.decoding import ITERATIONS, chosen_decoding
from regard.translate.protected.stand_ins import StandIns, chosen_stand_ins
from regard.translate.recall import memory_languages
from regard.translate.terms import check_not_banned
from regard.translate.translation import Output, Translation
from regard.translate.window import Window
from regard.translate.words import word_alignment

if TYPE_CHECKING:  # these need torch, which CTranslate2 does without
    from regard.look.inspection import Look
    from regard.model.seq2seq import Seq2Seq
    from regard.saved.folder import LoadedModel
    from regard.search.banned import Banned
    from regard.search.sampling import Sampling

MOST_TOKENS = 200  # of a sentence; a longer one is cut, since models are not trained on such
WINDOW_LINES = 10_000
WINDOW_CHARACTERS = 2_000_000
FORMALITY = {"more": "formal", "less": "plain"}  # DeepL's words, and the names of the levels (text/formality.py)
Attention = Callable[[Sequence[int], Sequence[int], int | None], Array]
"""A function (source, target, layer) that returns the attention of each target token over the source tokens."""


@dataclass(frozen=True)
class Options:
    """Options of translation. None means the model's default."""

    beam: int | None = None
    alpha: float | None = None
    penalty: str | None = None
    beta: float | None = None
    """Weight of the coverage penalty."""
    extra_length: int | None = None
    n_best: int = 1
    decoding: Decoding | None = None
    """Decoding method; blockwise and mask-predict are for models that were trained for it."""
    iterations: int | None = None
    """Number of passes of mask-predict; 10 by default."""
    sampling: "Sampling | None" = None
    banned: tuple[str, ...] = ()
    """Words that must not occur, nor any word that begins with one of them."""
    required: tuple[str, ...] = ()
    """Words that must occur in every sentence, each alone or as the beginning of another."""
    glossary: Glossary | None = None
    """Terms that each sentence's translation must use."""
    memory: Memory | None = None
    """Pairs that replace the translation of their sources."""
    fuzzy: bool = False
    """Look up the memory's best fuzzy match of each sentence."""
    no_repeat: int = 0
    prefix: str = ""
    """The text that the translation of every sentence begins with."""
    target: str | None = None
    """The target language of a multilingual model: `de` for one that was trained with the tag <2de>."""
    formality: str | None = None
    """The speech level of the target language: more, less, or one by its name, such as `polite` for <2ko:polite>."""
    languages: tuple[str, str] | None = None
    """Source and target, by which a memory's pairs are found; by default the model's."""
    split: bool = True
    """Translate sentence by sentence; otherwise line by line."""
    min_confidence: float | None = None
    """Leave sentences untranslated whose confidence is lower, or that have a warning."""
    alignment: bool = False
    layer: int | None = None
    """The layer whose attention gives the alignment."""
    protect: bool | None = None
    """Keep addresses, paths, code, placeholders, tags, numbers, emoji and unknown names as they are, translate CAPITALS
    and Title Case as ordinary text, and add no mark at the end. None: if the model is of two natural languages."""
    localise_numbers: bool = False
    """Write numbers with the separators of the target language, where it has a rule: 12,450.75 as 12.450,75."""
    force: bool = False
    """Also translate texts that are not in the model's source language."""
    replace_unknown: bool = False
    """Let a model with a vocabulary of words write unknown words (PosUnk: Luong et al., 2015).

    Each is replaced by the translation of the source word that it attends to most, or by that word itself.
    """
    token_scores: bool = False
    """Return exact scores, token by token, which cost the fast engine another pass."""
    batch_tokens: int | None = None
    """Source tokens in a batch; None for a value that suits the engine."""


DEFAULTS = Options()


class Translator:
    """A model with its subwords and an engine."""

    def __init__(
        self,
        saved: SavedModel,
        engine: Engine | None = None,
        *,
        later: "Callable[[], Seq2Seq] | None" = None,
        has_weights: bool = True,
    ) -> None:
        """Without an engine, use the model of a LoadedModel. `later` loads the weights for anything but translation."""
        self.saved = saved
        self.has_weights = has_weights
        """True if the model's weights are available; an export alone has none."""
        self._later = later or (lambda: cast("LoadedModel", saved).model)
        self.form: Form = saved.form
        self.source_subwords, self._target = saved.vocabularies
        longest = reach(saved)
        self.most_tokens = MOST_TOKENS if longest is None else max(1, min(MOST_TOKENS, longest - 1))  # 1 for a tag
        self.engine: Engine = engine or _reference(self.model, longest)
        self.attention: Attention = self._attention
        self.detector = Detector(code for pair in self.directions for code in pair if code is not None)
        """Detects the language of a text; a server has one for all its models."""
        self._stand_ins: dict[tuple[int, ...], StandIns] = {}
        self.calibration: Calibration | None = None
        """The weights of the confidence, if the model was calibrated."""
        self._aligned_by_engine = isinstance(engine, Aligner)
        if isinstance(engine, Aligner):  # the weights in torch are not needed then
            self.attention = engine.cross_attention

    @property
    def target_subwords(self) -> Subwords:
        """The vocabulary of the translations."""
        if not isinstance(self._target, Subwords):
            raise UserError("this model is a parser, and can't translate; use it with `regard parse`")
        return self._target

    @property
    def model(self) -> "Seq2Seq":
        """The model that computes alignments and the scores of given translations; may be an ensemble."""
        if not self.has_weights:
            raise UserError("an export for CTranslate2 gives translations only; give the model that was exported")
        return self._later()

    @overload
    def translate(  # type: ignore[overload-overlap]
        self, texts: str, options: Options = ..., *, target: str | None = ...
    ) -> str: ...

    @overload
    def translate(self, texts: Iterable[str], options: Options = ..., *, target: str | None = ...) -> list[str]: ...

    def translate(
        self, texts: str | Iterable[str], options: Options = DEFAULTS, *, target: str | None = None
    ) -> str | list[str]:
        """Translate a text, or each of several, into the `target` language of a model of several.

        Spacing and blank texts are preserved.
        """
        if target is not None:
            options = replace(options, target=target)
        if isinstance(texts, str):
            return self.window([texts], options)[0].text
        return [translation.text for translation in self.stream(texts, options)]

    def stream(self, texts: Iterable[str], options: Options = DEFAULTS) -> Iterator[Translation]:
        """Translate each of any number of texts, in order, with scores and tokens; only a window is in memory."""
        for window in windows(texts):
            yield from self.window(window, options)

    def window(
        self,
        texts: Sequence[str],
        options: Options = DEFAULTS,
        progress: Progress = quiet,
    ) -> list[Translation]:
        """Translate texts together: the sentences of all are sorted by length, and equal ones translated once."""
        return Window(self, texts, options).translated(progress)

    def look(self, text: str, options: Options = DEFAULTS) -> "Look":
        """Translate a text and record the internals: every attention weight, the search as a tree, and more."""
        from regard.look.inspection import look  # imported only when used

        return look(self, text, options)

    def request(self, options: Options) -> Request:
        """Return the request for the engine."""
        if options.alignment and not self._aligned_by_engine:
            assert self.model, "an export has none, which is told before a line is read"
        if options.replace_unknown:
            if not isinstance(self.target_subwords, Words):
                raise UserError("this model can spell every word, so none is unknown; leave out --replace-unknown")
            assert self.model, "attention needs the weights"
        if options.glossary is not None and not self.has_weights:
            raise UserError("a glossary needs the model that was exported, not its export; give that to --model")
        check_not_banned(() if options.glossary is None else options.glossary.terms, options.banned)
        if options.memory is not None:
            memory_languages(self, options)
        if options.min_confidence is not None and self.calibration is None:
            raise UserError("the model is not calibrated, so it has no confidence; run `regard calibrate` on it first")
        if options.localise_numbers and options.protect is False:
            raise UserError("numbers are localised where they are protected; leave out --no-protect")
        if options.sampling is not None and (options.required or options.glossary is not None):
            raise UserError("what is drawn at random can't be held to required words; leave out one of the two")
        decoding = chosen_decoding(options, self.saved.config)
        if decoding == "blockwise":
            options = replace(options, beam=1)
        given = {key: value for key in DecodeConfig.model_fields if (value := getattr(options, key)) is not None}
        decode = self.saved.decode
        if given:
            decode = check(DecodeConfig, {**decode.model_dump(), **given}, "the options")
        if decode.beta and (options.sampling is not None or options.required or options.glossary is not None):
            raise UserError(
                "the coverage penalty (beta) ranks the outputs of a beam search; leave it out with sampling, required "
                "words and glossaries"
            )
        if options.n_best > decode.beam and options.sampling is None:
            # The K best need a beam of K.
            decode = check(DecodeConfig, {**decode.model_dump(), "beam": options.n_best}, "the options")
        return Request(
            decode,
            options.n_best,
            decoding,
            options.iterations or ITERATIONS,
            options.sampling,
            banned=self._banned(options.banned),
            required=tuple(map(self._word, options.required)),
            no_repeat=options.no_repeat,
            prefix=self._word(options.prefix) if options.prefix else (),
            unknown=options.replace_unknown,
            token_scores=options.token_scores or (options.min_confidence is not None and decode.beam == 1),
            batch_tokens=options.batch_tokens,
        )

    def _banned(self, words: Sequence[str]) -> "Banned | None":
        if not words:
            return None
        from regard.search.banned import Banned

        return Banned.of(self.target_subwords.spelling, [_no_blank(normalise(word, self.form), word) for word in words])

    def _word(self, word: str) -> tuple[int, ...]:
        return tuple(self.target_subwords.encode([_no_blank(normalise(word, self.form), word)])[0])

    def tag(self, target: str | None, formality: str | None = None) -> list[int]:
        """Return the ids before every source that select the target language and speech level; by default its own."""
        usual = self.saved.languages[1]
        tags = self.source_subwords.language_tags
        if formality is not None:
            return self.source_subwords.tag_ids(self._level(target or usual, formality))
        if not tags and target in (None, usual):
            return []
        if target is None and f"<2{usual}>" not in tags:
            known = ", ".join(tags)
            raise UserError(f"this model translates into several languages ({known}); say which one, such as --to de")
        asked = target or f"<2{usual}>"
        if not asked.startswith("<") and f"<2{asked}>" not in tags:
            known = ", ".join(dict.fromkeys(into for _, into in self.directions)) or "one language"
            raise UserError(
                f"the model translates into {known}, not into {asked}; choose one of these, or another model"
            )
        return self.source_subwords.tag_ids(asked if asked.startswith("<") else f"<2{asked}>")

    def levels(self, target: str | None = None) -> list[str]:
        """Return the speech levels of a target language that the model was trained with, by the names in its tags."""
        start = f"<2{target or self.saved.languages[1]}:"
        return [tag[len(start) : -1] for tag in self.source_subwords.tags if tag.startswith(start)]

    def _level(self, target: str | None, formality: str) -> str:
        """Return the tag of a speech level."""
        known = self.levels(target)
        level = FORMALITY.get(formality, formality)
        if level not in known:
            into = target or "its target language"
            there = f"it has {', '.join(known)}" if known else "leave the formality out, or take another model"
            raise UserError(f"the model was not trained with the formality {formality!r} into {into}; {there}")
        return f"<2{target}:{level}>"

    @property
    def directions(self) -> list[tuple[str | None, str]]:
        """Return (source, target) languages, the default first; a multilingual model reads all that it writes."""
        source, target = self.saved.languages
        written = [tag[2:-1] for tag in self.source_subwords.language_tags if ":" not in tag]
        if not written:
            return [(source, target)] if target is not None else []
        read = dict.fromkeys([source, *written])
        pairs = [(other, into) for into in written for other in read if other != into]
        return sorted(pairs, key=lambda pair: pair != (source, target))

    def stand_ins(self, tag: Sequence[int]) -> StandIns:
        """Return the words and numbers that stand for protected spans, best first: those that the model copies."""
        if tuple(tag) not in self._stand_ins:
            self._stand_ins[tuple(tag)] = chosen_stand_ins(self, tag)
        return self._stand_ins[tuple(tag)]

    def output(
        self, text: str, source: list[int], tags: int, hypothesis: Hypothesis, written: str, options: Options
    ) -> Output:
        """Return a hypothesis as text, with an alignment if requested; `tags` counts those before the source."""
        tokens = tuple(self.target_subwords.pieces(hypothesis.tokens))
        written = written.translate(TO_PRIVATE) if self.target_subwords.reserved else written
        if options.replace_unknown and UNK in hypothesis.tokens:
            from regard.translate.unknown import replace_unknown

            attention_TS = self.attention(source, hypothesis.tokens, options.layer)[:, tags:-1]
            tokens, written = replace_unknown(text, self.source_subwords, tokens, hypothesis.tokens, attention_TS)
        pairs = None
        if options.alignment:
            attention_TS = self.attention(source, hypothesis.tokens, options.layer)[:, tags:-1]
            pairs = word_alignment(attention_TS, self.source_subwords.pieces(source[tags:]), tokens)
        return Output(normalise(written, self.form), tokens, hypothesis, pairs)

    def _attention(self, source: Sequence[int], target: Sequence[int], layer: int | None) -> Array:
        from regard.translate.alignment import cross_attention

        return cross_attention(self.model, source, target, layer).numpy()


def _no_blank(word: str, given: str) -> str:
    if not word:
        raise UserError(f"{given!r} is blank, but a word was expected; leave it out")
    return word


def _reference(model: "Seq2Seq", longest: int | None) -> Engine:
    from regard.engines.torch_engine import TorchEngine

    return TorchEngine(model, longest=longest)


def reach(saved: SavedModel) -> int | None:
    """Return the most tokens of a text that a model can read or write, besides EOS or BOS; None for any number."""
    limit = saved.config.position_limit
    return None if limit is None else limit - 1


def windows(texts: Iterable[str]) -> Iterator[list[str]]:
    """Group texts into windows, which are translated together."""
    window: list[str] = []
    characters = 0
    for text in texts:
        window.append(text)
        characters += len(text)
        if len(window) >= WINDOW_LINES or characters >= WINDOW_CHARACTERS:
            yield window
            window, characters = [], 0
    if window:
        yield window
