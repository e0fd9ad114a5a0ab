"""Labels of texts by an encoder alone that was trained on labels.

regard.load_classifier("runs/c/model").classify(["What a day!"])
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from regard.config.special_tokens import BOS, EOS
from regard.engines.engine import BATCH_TOKENS, Progress, batches, quiet
from regard.engines.torch_engine import padded
from regard.errors import Failed
from regard.model.seq2seq import Seq2Seq
from regard.saved.saved_model import SavedModel
from regard.search.hypothesis import NO_NUMBERS
from regard.text.normalise import normalise

MOST_TOKENS = 512  # of a text, whose cost grows with the square of its length; what is beyond is not read


@dataclass(frozen=True)
class Classified:
    """A text's most probable label."""

    text: str
    label: str | None
    """None for a blank text."""
    probabilities: dict[str, float]
    """Probability of each label, the most probable first."""
    cut: bool = False
    """True if the text was too long to be read to its end."""

    @property
    def probability(self) -> float | None:
        return None if self.label is None else self.probabilities[self.label]


class Classifier:
    """A model with its subwords and labels."""

    def __init__(self, saved: SavedModel, model: Seq2Seq) -> None:
        self.saved, self.model = saved, model
        source, target = saved.vocabularies
        self.subwords = source
        self.labels = tuple(target.pieces(range(EOS + 1, target.size)))
        limit = saved.config.position_limit
        self.most_tokens = MOST_TOKENS if limit is None else min(MOST_TOKENS, limit - 1)

    @torch.inference_mode()
    def classify(
        self, texts: Sequence[str], progress: Progress = quiet, *, batch_tokens: int = BATCH_TOKENS
    ) -> list[Classified]:
        """Return the labels of texts, in order; a blank text has none."""
        spelt = self.subwords.encode([normalise(text, self.saved.form) for text in texts])
        found = [Classified(text, None, {}) for text in texts]
        there = [number for number, ids in enumerate(spelt) if ids]
        for batch in batches([min(len(spelt[number]), self.most_tokens) for number in there], batch_tokens):
            chosen = [there[place] for place in batch]
            for number, row in zip(
                chosen, self._probabilities([spelt[n][: self.most_tokens] for n in chosen]), strict=True
            ):
                cut = len(spelt[number]) > self.most_tokens
                best = dict(sorted(zip(self.labels, row, strict=True), key=lambda pair: -pair[1]))
                found[number] = Classified(texts[number], next(iter(best)), best, cut)
            progress(len(batch))
        return found

    def _probabilities(self, sources: list[list[int]]) -> Iterator[list[float]]:
        """Yield the probability of every label for each source: of the first target token, reserved ones left out."""
        device = next(self.model.parameters()).device
        begin_B1 = torch.full((len(sources), 1), BOS, device=device)
        logits_BV = self.model.logits(self.model.features(padded(sources, device), begin_B1))[:, 0]
        probability_BL = logits_BV[:, EOS + 1 :].float().softmax(-1)
        if not bool(probability_BL.isfinite().all()):
            raise Failed(NO_NUMBERS)
        yield from probability_BL.tolist()
