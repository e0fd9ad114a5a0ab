"""One run: its model, training and decoding. A preset (presets.toml) or a run file changes a few of the fields."""

from regard.config.checked import Frozen
from regard.config.data import Task
from regard.config.decode import DecodeConfig
from regard.config.model import ModelConfig, TransformerConfig
from regard.config.train import TrainConfig


class Config(Frozen):
    """One run: a model, its training and its decoding."""

    data: str | None = None
    """The folder that `regard prepare` made."""
    task: Task = "translation"
    """What the model learns to do; `regard train` sets it from the data."""
    start: str | None = None
    """The model that is fine-tuned, by its folder's name and its checksum; `regard train --from` sets it."""
    model: ModelConfig = TransformerConfig()
    train: TrainConfig = TrainConfig()
    decode: DecodeConfig = DecodeConfig()
