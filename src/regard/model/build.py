"""From a description to a model: the only place that asks which architecture it is."""

from regard.config import Config, ModelConfig
from regard.model.seq2seq import Seq2Seq
from regard.model.transformer import Transformer

ARCHITECTURES: dict[str, type[Transformer]] = {"transformer": Transformer}


def build(config: Config | ModelConfig) -> Seq2Seq:
    """A new model with random weights; they follow torch's random state."""
    description = config.model if isinstance(config, Config) else config
    return ARCHITECTURES[description.architecture](description)
