"""Training pairs with terms shown beside their source (`train.terminology`), after Dinu et al., 2019."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.data.batches import Ids, PairStore
from regard.data.layout import Integers
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.terms.annotation import annotated
from regard.terms.glossary import Glossary, Term, occurs
from regard.text.subwords import Subwords
from regard.text.word_vocabulary import Words


class TermPairs:
    """The pairs of the training data that use a glossary's terms, each with the terms written into its source.

    An epoch visits them beside the same pairs without terms, so that the model translates both. They are held in
    memory.
    """

    weight = 1.0

    def __init__(self, pairs: Sequence[tuple[Ids, Ids]]) -> None:
        self._pairs = pairs
        self._lengths_N2 = np.array([[len(source), len(target)] for source, target in pairs], np.int64).reshape(-1, 2)

    def __len__(self) -> int:
        return len(self._pairs)

    def lengths(self, indices: Integers, /) -> tuple[Ids, Ids]:
        return self._lengths_N2[indices, 0], self._lengths_N2[indices, 1]

    def pair(self, index: int, /) -> tuple[Ids, Ids]:
        return self._pairs[index]


def with_terms(data: Prepared, terminology: str | None) -> tuple[PairStore, ...]:
    """Return the training corpora, and as one more their pairs with the terms of a glossary's file."""
    if terminology is None:
        return data.train
    glossary = Glossary.read(Path(terminology), data.languages)
    found = TermPairs([pair for split in data.train for pair in _annotated_pairs(split, data, glossary)])
    if not len(found):
        raise UserError(f"{terminology}: no training pair has one of these terms in its source and its target")
    return (*data.train, found)


def _annotated_pairs(split: PairStore, data: Prepared, glossary: Glossary) -> list[tuple[Ids, Ids]]:
    """Return the pairs whose source has a term, and whose target has it too, with that term in the source."""
    source_subwords, target_subwords = data.source_subwords, data.target_subwords
    if not isinstance(target_subwords, Subwords) or isinstance(source_subwords, Words):
        raise UserError("train.terminology is for translation with subwords; leave it out")
    found = []
    for number in range(len(split)):
        source, target = split.pair(number)
        written = target_subwords.decode(target.tolist())

        def used(term: Term, written: str = written) -> str | None:
            return next((one for one in term.targets if occurs(one, written)), None)

        ids = annotated(source.tolist(), source_subwords, glossary, data.config.form, used)
        if len(ids) > len(source):
            found.append((np.array(ids, source.dtype), target))
    return found
