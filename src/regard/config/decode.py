"""Configuration of decoding. The defaults are the paper's (section 6.1)."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from regard.config.checked import Frozen

Decoding = Literal["search", "blockwise", "mask-predict"]
"""Decoding method. search: token by token, by beam search or greedily. blockwise: as greedy search, several
tokens a step (Stern et al., 2018). mask-predict: all tokens at once, in iterations (Ghazvininejad et al., 2019)."""


class DecodeConfig(Frozen):
    """Settings of the search for a model's output (section 6.1). They are saved with the model as its defaults."""

    beam: Annotated[int, Field(ge=1, le=4096)] = 4
    """Width of the beam; 1: greedy search."""
    alpha: Annotated[float, Field(ge=0.0, le=10.0)] = 0.6
    """Exponent of the length penalty. Well below 10 the longest output always wins; well above 10 numbers overflow."""
    penalty: Literal["paper", "average"] = "paper"
    """The divisor of a log probability. paper: ((5 + |Y|) / 6)^alpha (Wu et al., 2016). average: |Y|^alpha."""
    beta: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0
    """Weight of the coverage penalty, which is added to the score: beta Σ log min(attention to a source token, 1) over
    the source tokens (Wu et al., 2016; the paper has none). 0: none. It needs a beam."""
    extra_length: Annotated[int, Field(ge=0, le=10_000)] = 50
    """Number of tokens by which the output may be longer than the input, at most."""

    @model_validator(mode="after")
    def _check_beta(self) -> Self:
        if self.beta and self.beam == 1:
            raise ValueError("a beam of 1 has no hypotheses to compare by coverage; leave out beta, or widen the beam")
        return self
