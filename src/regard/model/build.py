"""From a description to a model: the only place that asks which architecture it is."""

from regard.config.model import ModelConfig
from regard.config.run import Config
from regard.model.earlier.convolutional import Convolutional
from regard.model.earlier.dilated import Dilated
from regard.model.earlier.feedforward import FeedForwardOnly
from regard.model.earlier.recurrent import Recurrent
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
