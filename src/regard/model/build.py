"""From a description to a model: the only place that asks which architecture it is."""

from regard.config import Config, ModelConfig
from regard.model.convolutional import Convolutional
from regard.model.dilated import Dilated
from regard.model.feedforward import FeedForwardOnly
from regard.model.recurrent import Recurrent
from regard.model.seq2seq import Seq2Seq
from regard.model.transformer import Transformer

ARCHITECTURES: dict[str, type[Transformer | Recurrent | Convolutional | Dilated | FeedForwardOnly]] = {
    "transformer": Transformer,
    "recurrent": Recurrent,
    "convolutional": Convolutional,
    "dilated": Dilated,
    "feedforward": FeedForwardOnly,
}


def build(config: Config | ModelConfig) -> Seq2Seq:
    """A new model with random weights; they follow torch's random state."""
    description = config.model if isinstance(config, Config) else config
    return ARCHITECTURES[description.architecture](description)
