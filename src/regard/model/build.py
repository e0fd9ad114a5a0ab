"""Build a model from its configuration; the only module that dispatches on the architecture."""

from regard.config.model import (
    ConvolutionalConfig,
    DilatedConfig,
    FeedForwardConfig,
    ModelConfig,
    RecurrentConfig,
)
from regard.config.run import Config
from regard.model.earlier.convolutional import Convolutional
from regard.model.earlier.dilated import Dilated
from regard.model.earlier.feedforward import FeedForwardOnly
from regard.model.earlier.recurrent import Recurrent
from regard.model.later.next_word import NextWordTransformer
from regard.model.seq2seq import Seq2Seq
from regard.model.transformer import Transformer


def build(config: Config | ModelConfig) -> Seq2Seq:
    """Return a new model with random weights, drawn from torch's global generator."""
    description = config.model if isinstance(config, Config) else config
    match description:
        case RecurrentConfig():
            return Recurrent(description)
        case ConvolutionalConfig():
            return Convolutional(description)
        case DilatedConfig():
            return Dilated(description)
        case FeedForwardConfig():
            return FeedForwardOnly(description)
        case _:
            return NextWordTransformer(description) if description.next_word else Transformer(description)
