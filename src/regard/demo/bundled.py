"""Example translations by the bundled models."""

from pathlib import Path

from regard.look.alignment_grid import alignment_grid
from regard.saved.saved_model import read_saved
from regard.translate.load import load
from regard.translate.translation import Translation
from regard.translate.translator import Options
from regard.translate.words import word_numbers

SENTENCES = {
    "en": ("Two dogs are playing in the snow.", "A woman in a red coat is reading a book."),
    "de": ("Zwei Hunde spielen im Schnee.", "Eine Frau in einem roten Mantel liest ein Buch."),
    "ko": ("개 두 마리가 눈밭에서 놀고 있다.", "빨간 외투를 입은 여자가 책을 읽고 있다."),
}


def formatted_translations(model: Path) -> list[str]:
    """Return sentences with their translations and alignments, formatted for a terminal."""
    if read_saved(model).task != "translation":
        return []
    translator = load(model)
    return [
        _drawn(found)
        for source, target in translator.directions
        for found in translator.stream(SENTENCES.get(source or "", ()), Options(target=target, alignment=True))
    ]


def _drawn(found: Translation) -> str:
    grids = []
    for sentence in found.sentences:
        best = sentence.outputs[0]
        assert best.alignment is not None, "it was asked for"
        grids.append(alignment_grid(_words(sentence.tokens), _words(best.tokens), best.alignment))
    return "\n\n".join([f"{found.source}\n{found.text}", *grids])


def _words(pieces: tuple[str, ...]) -> list[str]:
    """Join subword pieces into words."""
    numbers = word_numbers(pieces)
    return [
        "".join(piece for piece, number in zip(pieces, numbers, strict=True) if number == word).lstrip("▁")
        for word in dict.fromkeys(numbers)
    ]
