"""Find a corpus whose sides are the wrong way round, by the languages of its first pairs."""

from collections.abc import Sequence
from itertools import islice

from regard.config.data import CorpusConfig
from regard.data.corpus import pairs
from regard.data.lines import STANDARD_INPUT
from regard.errors import UserError
from regard.text.protected.detect import Detector
from regard.text.protected.languages import is_language

SAMPLE = 200  # pairs


def check_sides(corpora: Sequence[CorpusConfig], source: str | None, target: str | None) -> None:
    """Reject a corpus most of whose pairs have the target language as source, and the source language as target.

    Standard input can be read only once, so it is not looked at.
    """
    if source is None or target is None or not (is_language(source) and is_language(target)):
        return
    detector = Detector((source, target))
    for corpus in corpora:
        found = [] if STANDARD_INPUT in corpus.files else _first(corpus)
        exchanged = sum(
            detector.best(one, (source, target)).language == target
            and detector.best(other, (source, target)).language == source
            for one, other in found
        )
        if 2 * exchanged > len(found):
            raise UserError(
                f"{' '.join(corpus.files)}: the source side looks like {target} and the target side like {source}; "
                "exchange the files, or --from-language and --to-language"
            )


def _first(corpus: CorpusConfig) -> list[tuple[str, str]]:
    """Return the first pairs of a corpus; none if a line of them is invalid, which is reported when all are read."""
    try:
        return list(islice(pairs(corpus), SAMPLE))
    except UserError:
        return []
