"""Configuration of decoding. The defaults are the paper's (section 6.1)."""

from typing import Annotated, Literal

from pydantic import Field

from regard.config.checked import Frozen

Decoding = Literal["search", "blockwise", "mask-predict"]
"""How a text is written. search: token by token, by beam search or greedily. blockwise: as greedy search, several
tokens a step (Stern et al., 2018). mask-predict: all tokens at once, in a few iterations (Ghazvininejad et al., 2019)."""


class DecodeConfig(Frozen):
    """How a model's output is searched for (section 6.1). The settings are saved with the model as its defaults."""

    beam: Annotated[int, Field(ge=1, le=4096)] = 4
    """Width of the beam; 1: greedy search."""
    alpha: Annotated[float, Field(ge=0.0, le=10.0)] = 0.6
    """Exponent of the length penalty. Well below 10 the longest output always wins; well above 10 numbers overflow."""
    penalty: Literal["paper", "average"] = "paper"
    """What a log probability is divided by. paper: ((5 + |Y|) / 6)^alpha (Wu et al., 2016). average: |Y|^alpha."""
    extra_length: Annotated[int, Field(ge=0, le=10_000)] = 50
    """Number of tokens by which the output may be longer than the input, at most."""
