"""The marks that end a sentence, and fragments that have none."""

from regard.text.protected.reserved import PRIVATE

ENDING_MARKS = ".!?…。！？।؟۔"
ABBREVIATED = frozenset("usw bzw etc ca z.b d.h u.s.w jr sr dr st e.g i.e a.m p.m".split())  # noqa: SIM905


def without_added_end(source: str, text: str) -> str:
    """Return a translation without the mark at its end if the source, a heading or a label, ends without one.

    A full stop that belongs to a number or an abbreviation stays.
    """
    last, bare = source.rstrip()[-1:], text.rstrip()
    ends_open = last.isalnum() or last in (*",;-–", *PRIVATE)  # or with what stands for a protected span
    if not ends_open or bare[-1:] not in tuple(ENDING_MARKS):
        return text
    shorter = bare.rstrip(ENDING_MARKS)
    word = shorter.split()[-1] if shorter.split() else ""
    if not shorter or (bare[len(shorter) :] == "." and (word.lower() in ABBREVIATED or word[-1:].isdigit())):
        return text
    return shorter
