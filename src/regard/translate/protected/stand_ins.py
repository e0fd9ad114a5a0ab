"""Words and numbers that a model copies, to stand for spans that it must not translate."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.config.decode import DecodeConfig
from regard.engines.engine import Request
from regard.text.protected.reserved import PRIVATE

if TYPE_CHECKING:
    from regard.translate.translator import Translator

StandIns = tuple[tuple[str, ...], tuple[str, ...]]
"""Words and numbers, best first."""
# Names that few languages translate; the first are frequent in Tatoeba, from which small models are often trained.
NAMES = (
    *("Tom", "Boston", "London", "Chicago", "Japan", "Paris", "Sami", "Korea", "Berlin", "Maria", "Anna", "Robert"),
    *("David", "Alex", "Laura"),
)
NUMBERS = ("30", "27", "15", "50", "2013", "7", "300", "12", "40", "25")


def chosen_stand_ins(translator: "Translator", tag: Sequence[int]) -> StandIns:
    """Return the candidates in order, but first those that the model copies when it reads nothing else."""
    subwords = translator.source_subwords, translator.target_subwords
    if all(side.reserved for side in subwords):  # the model learned to copy these
        return (*PRIVATE, *NAMES), (*PRIVATE, *NUMBERS)
    names, numbers = (_copied_first(translator, tag, some) for some in (NAMES, NUMBERS))
    return names, numbers


def _copied_first(translator: "Translator", tag: Sequence[int], words: Sequence[str]) -> tuple[str, ...]:
    sources = [[*tag, *ids] for ids in translator.source_subwords.encode(words)]
    own_way = translator.saved.config.decodings[0]
    found = translator.engine.search(sources, Request(DecodeConfig(beam=1), decoding=own_way))
    texts = translator.target_subwords.decode_all([hypotheses[0].tokens for hypotheses in found])
    copied = [word for word, text in zip(words, texts, strict=True) if word in text.replace(".", " ").split()]
    return (*copied, *(word for word in words if word not in copied))
