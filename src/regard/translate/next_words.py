"""Other words at one place of a translation: the most probable ones there, each continued by the search.

Shapes: B = 1 sentence, S source positions, T target positions, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.config.special_tokens import BOS, EOS
from regard.engines.engine import quiet
from regard.errors import UserError
from regard.search.hypothesis import NEVER
from regard.translate.sentences import split
from regard.translate.translation import Translation
from regard.translate.translator import DEFAULTS, Options, Translator
from regard.translate.window import Window
from regard.translate.words import MARK


@dataclass(frozen=True)
class WordChoice:
    """A word that may follow, and the translation with it."""

    word: str
    probability: float
    """Probability of the word's first token, given the source and the tokens before it."""
    text: str
    """The whole translation; the part after the word comes from a new search."""


def next_words(
    translator: Translator, text: str, beginning: str, options: Options = DEFAULTS, *, most: int = 6
) -> list[WordChoice]:
    """Return the words that may follow the beginning of a translation of a text, the most probable first.

    The beginning ends between two words: it is empty or what a translation says before the word to be replaced.
    """
    window = Window(translator, [text], options)
    found = window.translated(quiet)[0]
    number, before = _place(found, beginning)
    head = f"{beginning.rstrip().removesuffix(before).rstrip()} " if number else found.before
    sentence = found.sentences[number]
    source, prefix = window.source(sentence.source), window.prefix(sentence.source, before)
    words: dict[str, WordChoice] = {}
    for token, probability in _probable(translator, source, prefix, most):
        (hypotheses,) = translator.engine.search([source], replace(window.request, prefix=(*prefix, token)))
        written = translator.target_subwords.decode(hypotheses[0].tokens)
        output = window.output(sentence.source, hypotheses[0], written)
        following = output.text.split()[len(before.split()) :]
        if following:
            rest = (replace(sentence, outputs=(output,)), *found.sentences[number + 1 :])
            whole = head + replace(found, before="", sentences=rest).text
            words.setdefault(following[0], WordChoice(following[0], probability, whole))
    return list(words.values())


def _place(found: Translation, beginning: str) -> tuple[int, str]:
    """Return the number of the sentence in which the beginning of a translation ends, and its part of the beginning."""
    rest = beginning.strip()
    for number, sentence in enumerate(found.sentences):
        own = sentence.outputs[0].text if sentence.outputs else sentence.source
        if sentence.outputs and not (rest.startswith(own) and number + 1 < len(found.sentences)):
            break
        rest = rest[len(own) :].lstrip() if rest.startswith(own) else rest
    else:
        raise UserError("nothing in this text was translated, so no word of it can be replaced")
    parts = split(rest).parts
    # An earlier sentence may have been changed by such a choice: then its number tells the sentence.
    if len(parts) > 1 and number + len(parts) <= len(found.sentences):
        return number + len(parts) - 1, parts[-1].text
    return number, rest


def _probable(
    translator: Translator, source: Sequence[int], prefix: Sequence[int], most: int
) -> list[tuple[int, float]]:
    """Return the tokens that most probably begin the next word, with their probabilities."""
    import torch  # a fast engine does without

    from regard.engines.torch_engine import padded

    model = translator.model
    device = next(model.parameters()).device
    with torch.inference_mode():
        source_BS, target_BT = padded([source], device), torch.tensor([[BOS, *prefix]], device=device)
        probability_V = model.logits(model.features(source_BS, target_BT)[:, -1:])[0, -1].float().softmax(-1)
        probability_V[[*NEVER, EOS]] = 0.0
        ranked = probability_V.sort(descending=True)
    found = []
    for token, value in zip(ranked.indices[: 8 * most].tolist(), ranked.values.tolist(), strict=False):
        (piece,) = translator.target_subwords.pieces([token])
        if piece.startswith(MARK) and len(piece) > len(MARK):
            found.append((token, value))
    return found[:most]
