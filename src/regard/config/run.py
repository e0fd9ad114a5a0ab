"""Configuration of a run: model, training and decoding. A preset (presets.toml) or a run file changes some fields."""

from regard.config.checked import Frozen
from regard.config.decode import DecodeConfig
from regard.config.model import ModelConfig, TransformerConfig
from regard.config.task import Task
from regard.config.train import TrainConfig


class Config(Frozen):
    """The configuration of a run: a model, its training and its decoding."""

    data: str | None = None
    """Folder made by `regard prepare`."""
    task: Task = "translation"
    """The task that the model learns; `regard train` sets it from the data."""
    start: str | None = None
    """The model to fine-tune, by the name of its folder and its checksum; `regard train --from` sets it."""
    model: ModelConfig = TransformerConfig()
    train: TrainConfig = TrainConfig()
    decode: DecodeConfig = DecodeConfig()
