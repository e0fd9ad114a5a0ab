"""Search for translations that use a glossary's terms.

Every sentence is searched as without a glossary; a model that was trained with terms in its sources
(`train.terminology`) reads them there. Only a sentence whose translation lacks a term is searched again. First the word
that attends most to the term is replaced: what is before it stays, the term follows, and the model continues. If terms
are still missing, they are required of a beam search with constraints, which places them where they cost least; an
inflected form meets the requirement if the vocabulary has a piece for it. The native engine does all of this; only a
sentence of an engine that can't, such as CTranslate2, goes to the reference.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from regard.engines.engine import Progress, Request, quiet
from regard.errors import UserError
from regard.search.hypothesis import Alternatives, Hypothesis, Sequences
from regard.terms.annotation import annotated
from regard.terms.glossary import LONGEST_ENDING, Glossary, Term, TermUse, occurs
from regard.terms.script import is_unspaced
from regard.text.normalise import normalise
from regard.text.subword_file import MARK
from regard.translate.confidence import search_loops_again
from regard.translate.words import word_numbers

if TYPE_CHECKING:
    from regard.text.subwords import Subwords
    from regard.translate.translator import Translator

MOST_FORMS = 32  # token sequences that are tried for one target term
MOST_TOKENS = 48  # tokens of all terms of one sentence: the number of banks of hypotheses grows with them
ROUNDS = 4  # rounds of replacing one word by a term in each sentence
Found = list[list[Hypothesis]]
Uses = dict[str, tuple[TermUse, ...]]


def check_not_banned(terms: Sequence[Term], banned: Sequence[str]) -> None:
    """Raise UserError if a target term has a banned word, or one that begins so; either as it is or capitalised."""
    pairs = ((term.source, target) for term in terms for target in term.targets)
    for (source, target), word in product(pairs, banned):
        if any(_begins_word(word, form) for form in (target, _capitalised(target))):
            raise UserError(
                f"{word!r} is banned, but the glossary has {target!r} for {source!r}; leave out one of the two"
            )


def _begins_word(word: str, text: str) -> bool:
    at = text.find(word)
    while at > 0 and text[at - 1].isalnum():
        at = text.find(word, at + 1)
    return at >= 0


def search_terms(
    translator: "Translator",
    texts: Sequence[str],
    sources: Sequence[Sequence[int]],
    request: Request,
    glossary: Glossary | None,
    progress: Progress = quiet,
    visible: Sequence[str] | None = None,
) -> tuple[Found, Uses]:
    """Return the hypotheses of each source, and the terms of each text that has some, looked for in `visible`."""
    given = texts if visible is None else visible
    terms = {} if glossary is None else {n: held for n, text in enumerate(given) if (held := glossary.found(text))}
    if glossary is not None and translator.saved.terminology:
        sources = [_shown(translator, ids, glossary) if n in terms else ids for n, ids in enumerate(sources)]
    found = translator.engine.search(sources, request, progress)
    search_loops_again(translator, sources, request, found)
    search = _TermSearch(translator, sources, request, terms, found)
    for _ in range(ROUNDS):
        if not search.replace_words():
            break
    search.require()
    uses = {texts[number]: search.uses(number) for number in terms}
    return found, uses


def _shown(translator: "Translator", ids: Sequence[int], glossary: Glossary) -> Sequence[int]:
    """Return a source with the target terms beside the terms, for a model that was trained so, if it stays short."""
    longer = annotated(ids, translator.source_subwords, glossary, translator.form, lambda term: term.targets[0])
    return longer if len(longer) <= translator.most_tokens else ids


class _TermSearch:
    """The sentences with terms of one call; `found` is changed in place."""

    def __init__(
        self,
        translator: "Translator",
        sources: Sequence[Sequence[int]],
        request: Request,
        terms: dict[int, tuple[Term, ...]],
        found: Found,
    ) -> None:
        self.translator, self.sources, self.request = translator, sources, request
        self.terms, self.found = terms, found
        self.subwords = translator.target_subwords
        self._missing: dict[tuple[int, tuple[int, ...]], list[Term]] = {}

    @cached_property
    def wide(self) -> Request:
        """The request for as many hypotheses as the beam has."""
        return replace(self.request, n_best=max(self.request.n_best, self.request.decode.beam))

    def missing(self, number: int, hypothesis: Hypothesis | None = None) -> list[Term]:
        """Return the terms of a sentence that a hypothesis lacks, by default its best."""
        tokens = (hypothesis or self.found[number][0]).tokens
        if (number, tokens) not in self._missing:  # asked several times of the same
            text = self.subwords.decode(tokens)
            lacking = [one for one in self.terms[number] if not any(occurs(target, text) for target in one.targets)]
            self._missing[number, tokens] = lacking
        return self._missing[number, tokens]

    def uses(self, number: int) -> tuple[TermUse, ...]:
        missing = self.missing(number)
        return tuple(TermUse(term.source, term.targets, term not in missing) for term in self.terms[number])

    def replace_words(self) -> bool:
        """Replace one word in each sentence that lacks a term; return whether that placed any."""
        lacking = [number for number in self.terms if self.missing(number)]
        prefixes = {number: prefix for number in lacking if (prefix := self._prefix(number))}
        if not prefixes:
            return False
        request = replace(self.wide, prefix=(), prefixes=tuple(prefixes.values()))
        again = self.translator.engine.search([self.sources[number] for number in prefixes], request)
        placed = [self._take(number, hypotheses) for number, hypotheses in zip(prefixes, again, strict=True)]
        return any(placed)

    def require(self) -> None:
        """Search for translations that contain the terms that are still missing."""
        lacking = [number for number in self.terms if self.missing(number)]
        if lacking:
            required = tuple(self._required(number) for number in lacking)  # of none, it is a beam search
            again = self.translator.engine.search(
                [self.sources[number] for number in lacking], replace(self.wide, terms=required)
            )
            for number, hypotheses in zip(lacking, again, strict=True):
                self._take(number, hypotheses)

    def _take(self, number: int, hypotheses: Sequence[Hypothesis]) -> bool:
        """Keep hypotheses with fewer missing terms: a sequence may have become part of another word."""
        ranked = sorted(hypotheses, key=lambda one: len(self.missing(number, one)))
        better = bool(ranked) and len(self.missing(number, ranked[0])) < len(self.missing(number))
        if better:
            self.found[number] = ranked[: self.request.n_best]
        return better

    def _prefix(self, number: int) -> tuple[int, ...] | None:
        """Return the tokens before the first word that stands for a missing term, and those of the term."""
        written = self.found[number][0].tokens
        pieces = self.subwords.pieces(written)
        if not written or not any(piece.startswith(MARK) for piece in pieces):
            return None
        attention_TS = self.translator.attention(self.sources[number], written, None)
        word_T = word_numbers(pieces)
        places: dict[int, Term] = {}
        for term in self.missing(number):
            read = self._read(number, term)
            if read:
                share = attention_TS[:, read].sum(1).tolist()
                best = max(range(len(share)), key=share.__getitem__)
                places.setdefault(word_T[best], term)
        for word in sorted(places):
            if word_T.index(word) >= len(self.request.prefix):  # a word of the forced prefix stays
                target = places[word].targets[0]
                target = _capitalised(target) if word == 0 else target
                form = self.subwords.encode([normalise(target, self.translator.form)])[0]
                prefix = (*written[: word_T.index(word)], *form)
                return prefix if len(prefix) <= self.translator.most_tokens else None
        return None

    def _read(self, number: int, term: Term) -> list[int]:
        """Return the places of a term's tokens in the source, by their spelling."""
        pieces = self.translator.source_subwords.pieces(self.sources[number])
        ends, text = [], ""
        for piece in pieces:
            text += piece.replace(MARK, " ")
            ends.append(len(text))
        place = next(Glossary([term]).places(text), None)
        if place is None:
            return []
        inside, starts = range(place[1], place[1] + len(term.source)), [0, *ends[:-1]]
        return [n for n in range(len(pieces)) if starts[n] < inside.stop and ends[n] > inside.start]

    def _required(self, number: int) -> Alternatives:
        found, room = [], min(MOST_TOKENS, self.translator.most_tokens)
        for term in self.terms[number]:
            forms = _forms(self.subwords, [normalise(target, self.translator.form) for target in term.targets])
            room -= max(map(len, forms), default=0)
            if room < 0:
                break
            found.append(forms)
        return tuple(found)


def _capitalised(target: str) -> str:
    """Return a target as it begins a sentence; iPhone and https://example.com stay as they are."""
    first = target.split(" ", maxsplit=1)[0]
    plain = first.replace("-", "").replace("'", "").isalpha() and first.islower()
    return target[0].upper() + target[1:] if plain else target


def _forms(subwords: "Subwords", targets: Sequence[str]) -> Sequences:
    """Return the token sequences of the targets: each as it is and capitalised, and with endings of its last piece."""
    spellings = dict.fromkeys(form for target in targets if target for form in (target, _capitalised(target)))
    plain = [tuple(ids) for ids in subwords.encode(list(spellings)) if ids]
    spaceless = [one for ids in plain if (one := _spaceless(subwords, ids))]
    forms = [*plain, *spaceless]
    forms += [(*ids[:-1], longer) for ids in forms for longer in _longer(subwords, ids[-1])]
    return tuple(dict.fromkeys(forms))[:MOST_FORMS]


def _longer(subwords: "Subwords", piece: int) -> list[int]:
    """Return the pieces that are this one with an ending of a few letters."""
    letters = subwords.spelling[piece]
    if len(letters.decode("utf-8", "replace").strip()) < 3:
        return []
    endings = {number: subwords.spelling[number][len(letters) :] for number in subwords.beginning(letters)}
    return [
        number
        for number, ending in endings.items()
        if ending and (text := ending.decode("utf-8", "replace")).isalpha() and len(text) <= LONGEST_ENDING
    ]


def _spaceless(subwords: "Subwords", ids: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return a term's ids without the space before it, in a script that is written without spaces."""
    first = subwords.pieces(ids[:1])[0]
    text = first.removeprefix(MARK)
    if first == MARK:
        following = subwords.spelling[ids[1]].decode("utf-8", "replace") if len(ids) > 1 else ""
        return ids[1:] if following and is_unspaced(following[0]) else None
    if text == first or not is_unspaced(text[0]):
        return None
    same = next((number for number in subwords.beginning(text.encode()) if subwords.pieces([number]) == [text]), None)
    return None if same is None else (same, *ids[1:])
