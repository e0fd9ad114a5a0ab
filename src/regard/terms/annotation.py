"""Terms written into a source sentence, for models that were trained to use them (Dinu et al., 2019, "append").

The target term follows the source term between two marks: `the station ⟨BOS⟩ Bahnhof ⟨BOS⟩ is new`. Dinu et al. tell
the three kinds of words apart by a second embedding; here the marks do, so that no part of the model changes. BOS
occurs in no other source, so every vocabulary has a mark to spare.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate

from regard.config.special_tokens import BOS
from regard.terms.glossary import Glossary, Term
from regard.text.normalise import Form, normalise
from regard.text.subwords import Subwords

Choice = Callable[[Term], str | None]
"""A function that returns the target to be written beside a term; None for none."""


def annotated(ids: Sequence[int], subwords: Subwords, glossary: Glossary, form: Form, choose: Choice) -> list[int]:
    """Return a source with the chosen target after each term that occurs in it; the same ids if there is none."""
    spelling = [subwords.spelling[number] for number in ids]
    ends = list(accumulate(map(len, spelling)))
    text = b"".join(spelling).decode("utf-8", "replace")
    result: list[int] = []
    done = 0
    for term, _, end in glossary.places(text):
        target = choose(term)
        if target is not None:
            last = min(bisect_left(ends, len(text[:end].encode())), len(ids) - 1)
            result += [*ids[done : last + 1], BOS, *subwords.encode([normalise(target, form)])[0], BOS]
            done = last + 1
    return [*result, *ids[done:]]
