"""Marian's names for the parts of a Transformer, as in Hugging Face's transformers, and its order of d_model.

Its sinusoids are in halves, all sines and then all cosines, where the paper's alternate. So d_model is permuted:
matrices that write to it have their rows in that order, matrices that read from it their columns.

Shapes: D = d_model.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "swish"}  # ours: theirs
PROJECTIONS = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
ENCODER = {
    **{f"attention.{ours}": f"self_attn.{theirs}" for ours, theirs in PROJECTIONS.items()},
    "around_attention.norm": "self_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "around_feed_forward.norm": "final_layer_norm",
}
DECODER = {
    **ENCODER,
    **{f"cross.{ours}": f"encoder_attn.{theirs}" for ours, theirs in PROJECTIONS.items()},
    "around_cross.norm": "encoder_attn_layer_norm",
}
WRITERS = ("output", "outer", "norm")  # the others read from d_model


class Parameter(NamedTuple):
    """A tensor of a layer."""

    ours: str
    theirs: str
    axis: int | None
    """The dimension whose size is d_model; None for the bias of a matrix that only reads from it."""


def layer_parameters(encoder_layers: int, decoder_layers: int) -> Iterator[Parameter]:
    """Yield every tensor but the embeddings."""
    for stack, parts, layers in (("encoder", ENCODER, encoder_layers), ("decoder", DECODER, decoder_layers)):
        for number in range(layers):
            for ours, theirs in parts.items():
                writes = ours.rpartition(".")[2] in WRITERS
                before, after = f"{stack}.{number}.{ours}", f"model.{stack}.layers.{number}.{theirs}"
                yield Parameter(f"{before}.weight", f"{after}.weight", 0 if writes else 1)
                yield Parameter(f"{before}.bias", f"{after}.bias", 0 if writes else None)


def halves(d_model: int) -> Tensor:
    """Return which of our dimensions is at each of Marian's: the sines, then the cosines."""
    order_D = torch.arange(d_model)
    return torch.cat((order_D[0::2], order_D[1::2]))


def reordered(tensor: Tensor, axis: int | None, order_D: Tensor) -> Tensor:
    return tensor if axis is None else tensor.index_select(axis, order_D)


def language_code(tag: str) -> str:
    """Return our <2de> as Marian's >>de<<; another tag unchanged."""
    return f">>{tag[2:-1]}<<" if tag.startswith("<2") and len(tag) > 3 else tag


def language_tag(name: str) -> str | None:
    """Return Marian's >>de<< as our <2de>; None for anything but a language code."""
    return f"<2{name[2:-2]}>" if name.startswith(">>") and name.endswith("<<") and len(name) > 4 else None
