"""The models that other programs can compute."""

from regard.config.model import AnyTransformerConfig, ModelConfig


def other_kind(config: ModelConfig) -> str:
    """Return why a model that TransformerConfig does not describe is not a plain Transformer."""
    if isinstance(config, AnyTransformerConfig):
        return f"its encoder has {config.mixing} layers"
    return f"it is {config.architecture}, not a Transformer"
