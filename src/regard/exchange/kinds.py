"""The models that other programs can compute."""

from pathlib import Path

from regard.config.model import AnyTransformerConfig, ModelConfig
from regard.errors import UserError
from regard.saved.saved_model import SavedModel
from regard.text.word_vocabulary import Words

PROPOSALS = "proposals."  # prefix of the weights that only blockwise decoding uses


def other_kind(config: ModelConfig) -> str:
    """Return why a model that is not a TransformerConfig is no plain Transformer."""
    if isinstance(config, AnyTransformerConfig) and config.architecture == "transformer":
        return f"its encoder has {config.mixing} layers"
    if isinstance(config, AnyTransformerConfig):
        return f"it is a Transformer of another kind, {config.architecture}"
    return f"it is {config.architecture}, not a Transformer"


def has_words(described: SavedModel) -> bool:
    """Return whether a model has a vocabulary of words, which other engines and programs can't use."""
    return any(isinstance(vocabulary, Words) for vocabulary in described.vocabularies)


def check_subwords(described: SavedModel, model: Path) -> None:
    """Raise UserError for a model with a vocabulary of words."""
    if has_words(described):
        raise UserError(f"{model}: can't be exported, since its vocabulary is of words; train one with subwords")
