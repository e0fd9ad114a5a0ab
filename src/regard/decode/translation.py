"""What a translator gives back: texts of sentences of proposed translations."""

from dataclasses import dataclass

from regard.decode.alignment import Pairs
from regard.decode.hypothesis import Hypothesis
from regard.decode.sentences import FULL_WIDTH_ENDS


@dataclass(frozen=True)
class Output:
    """One proposed translation of a sentence."""

    text: str
    tokens: tuple[str, ...]
    hypothesis: Hypothesis
    """With score, log_probability and token_scores."""
    alignment: Pairs | None = None
    """(source word, target word) for every target word, if asked for; words are what begins with ▁ in `tokens`."""


@dataclass(frozen=True)
class Sentence:
    """A translated sentence."""

    source: str
    tokens: tuple[str, ...]
    outputs: tuple[Output, ...]
    """The best first; none where there was nothing to translate."""
    after: str
    """What stands between it and the next."""


@dataclass(frozen=True)
class Translation:
    """A translated text."""

    source: str
    before: str
    sentences: tuple[Sentence, ...]

    @property
    def text(self) -> str:
        return self.option(0)

    @property
    def score(self) -> float:
        return self.option_score(0)

    @property
    def options(self) -> int:
        """How many translations there are: as many as the sentence with most has."""
        return max((len(sentence.outputs) for sentence in self.sentences), default=1) or 1

    def option(self, number: int) -> str:
        """The text with each sentence's translation of this number, or its last."""
        texts = [self.before]
        for sentence in self.sentences:
            output = _numbered(sentence, number)
            text = sentence.source if output is None else output.text
            texts += [text, _joint(sentence, text)]
        texts[-1:] = [self.sentences[-1].after] if self.sentences else texts[-1:]
        return "".join(texts)

    def option_score(self, number: int) -> float:
        """The sum of the sentences' scores."""
        outputs = (_numbered(sentence, number) for sentence in self.sentences)
        return sum(output.hypothesis.score for output in outputs if output is not None)


def _numbered(sentence: Sentence, number: int) -> Output | None:
    return sentence.outputs[min(number, len(sentence.outputs) - 1)] if sentence.outputs else None


def _joint(sentence: Sentence, text: str) -> str:
    """What follows a sentence: after a full-width stop nothing stands, but after what it became a space may be due."""
    due = sentence.source[-1:] in FULL_WIDTH_ENDS and text[-1:] not in FULL_WIDTH_ENDS
    return sentence.after or (" " if due and text else "")
