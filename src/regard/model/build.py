"""Build a model from its configuration; the only module that dispatches on the architecture."""

from collections.abc import Callable
from typing import Any

from regard.config.later import DecoderOnlyConfig, EncoderOnlyConfig, MaskPredictConfig
from regard.config.model import (
    AnyTransformerConfig,
    ConvolutionalConfig,
    DeepAttentionConfig,
    DilatedConfig,
    EarlierConfig,
    FeedForwardConfig,
    GnmtConfig,
    ModelConfig,
    RecurrentConfig,
)
from regard.config.run import Config
from regard.model.earlier.convolutional import Convolutional
from regard.model.earlier.deep_attention import DeepAttention
from regard.model.earlier.dilated import Dilated
from regard.model.earlier.feedforward import FeedForwardOnly
from regard.model.earlier.gnmt import Gnmt
from regard.model.earlier.recurrent import Recurrent
from regard.model.later.blockwise import BlockwiseTransformer
from regard.model.later.decoder_only import DecoderOnly
from regard.model.later.encoder_only import EncoderOnly
from regard.model.later.mask_predict import MaskPredict
from regard.model.later.next_word import NextWordTransformer
from regard.model.seq2seq import Seq2Seq
from regard.model.transformer import Transformer

EARLIER: dict[type[EarlierConfig], Callable[[Any], Seq2Seq]] = {
    RecurrentConfig: Recurrent,
    GnmtConfig: Gnmt,
    DeepAttentionConfig: DeepAttention,
    ConvolutionalConfig: Convolutional,
    DilatedConfig: Dilated,
    FeedForwardConfig: FeedForwardOnly,
}

LATER: dict[type, Callable[[Any], Seq2Seq]] = {
    MaskPredictConfig: MaskPredict,
    DecoderOnlyConfig: DecoderOnly,
    EncoderOnlyConfig: EncoderOnly,
}


def build(config: Config | ModelConfig) -> Seq2Seq:
    """Return a new model with random weights, drawn from torch's global generator."""
    description = config.model if isinstance(config, Config) else config
    if type(description) in LATER:
        return LATER[type(description)](description)
    if isinstance(description, AnyTransformerConfig):
        if description.blocks > 1:
            return BlockwiseTransformer(description)
        return NextWordTransformer(description) if description.next_word else Transformer(description)
    return EARLIER[type(description)](description)
