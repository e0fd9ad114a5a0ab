"""A saved model as a CTranslate2 model, which translates fast on a CPU.

An exported folder is enough to translate with. Besides what CTranslate2 loads (model.bin, config.json, a vocabulary) it
has our description of the model, its subwords, its card, and the checksums of the files that it was made from.

Shapes: T positions, V vocabulary, D = d_model.
"""

from pathlib import Path
from typing import Literal

import ctranslate2
import torch
from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
from ctranslate2.specs.common_spec import Activation, LayerNormSpec, LinearSpec
from ctranslate2.specs.transformer_spec import FeedForwardSpec, TransformerSpec
from torch import Tensor

from regard.config import BOS, EOS, UNK, ModelConfig
from regard.errors import UserError
from regard.files import MANIFEST, read_json, whole_directory, write_bytes, write_json
from regard.model.positions import TABLE, sinusoids
from regard.model.saved import CARD, CONFIG, SUBWORDS, WEIGHTS, Saved, load_model
from regard.text.subwords import source_and_target

Quantization = Literal["int8", "int8_float32", "float32"]
ACTIVATIONS = {"relu": Activation.RELU, "gelu": Activation.GELU, "silu": Activation.SWISH}
FOLDER = "ctranslate2"  # in a model's folder, where an export is looked for
DESCRIPTION, ORIGIN = "regard.json", "origin.json"  # CTranslate2 has a config.json of its own


def inconvertible(config: ModelConfig) -> str | None:
    """Why CTranslate2 can't compute a model, or None if it can."""
    if config.architecture != "transformer":
        return f"it is {config.architecture}, not a Transformer"  # type: ignore[unreachable]  # until there are others
    if config.positions not in ("sinusoidal", "learned"):
        return f"its positions are {config.positions}"
    if config.score != "scaled":
        return f"the scores of its attention are {config.score}"
    if config.neighbours:
        return "its attention is restricted to neighbours"
    if not config.heads * config.d_k == config.heads * config.d_v == config.d_model:
        return "its d_k and d_v are not d_model / heads"
    return None


def check_convertible(config: ModelConfig, model: Path) -> None:
    reason = inconvertible(config)
    if reason is not None:
        raise UserError(f"{model}: CTranslate2 can't compute this model, since {reason}; torch can (--engine torch)")


def positions(config: ModelConfig) -> int:
    """How many positions an exported model has, in the source and in the target."""
    return config.max_length if config.positions == "learned" else TABLE


def export_ctranslate2(
    model: Path, out: Path, quantization: Quantization, *, note: str = "", replace: bool = False
) -> None:
    """Write the export of a saved model, whole or not at all; a note goes into its card."""
    saved = load_model(model)
    check_convertible(saved.config, model)
    with whole_directory(out, replace=replace) as temporary:
        write_ctranslate2(temporary, saved, quantization)
        write_bytes(temporary / DESCRIPTION, (model / CONFIG).read_bytes())
        origin = {"ctranslate2": ctranslate2.__version__, "quantization": quantization, "files": _checksums(model)}
        write_json(temporary / ORIGIN, origin)
        for name, content in saved.subwords.items():
            write_bytes(temporary / name, content)
        card = (model / CARD).read_text(encoding="utf-8").rstrip()
        write_bytes(temporary / CARD, f"{card}\n\n## For CTranslate2\n\nWeights: {quantization}. {note}\n".encode())


def is_export(folder: Path) -> bool:
    return (folder / DESCRIPTION).is_file()


def check_origin(folder: Path, model: Path) -> None:
    """Raise UserError unless an export was made from the model as it is now."""
    origin = read_json(folder / ORIGIN)
    if not isinstance(origin, dict) or origin.get("files") != _checksums(model):
        raise UserError(
            f"{folder}: was not exported from what {model} is now; export it again (regard export --model {model} "
            "--to ctranslate2) or remove the folder"
        )


def _checksums(model: Path) -> dict[str, str]:
    """The SHA-256 of what decides a model's translations, as its manifest has them."""
    manifest = read_json(model / MANIFEST)
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(files, dict):
        raise UserError(f"{model / MANIFEST}: does not list any files; restore the folder from a copy")
    return {name: str(files[name]["sha256"]) for name in (CONFIG, WEIGHTS, *SUBWORDS) if name in files}


def write_ctranslate2(folder: Path, saved: Saved, quantization: Quantization) -> None:
    """Write the files that CTranslate2 loads into a folder that somebody else makes whole."""
    config = saved.config
    source, target = source_and_target(saved.subwords)
    for size, subwords in ((config.source_vocabulary or config.vocabulary, source), (config.vocabulary, target)):
        if size != subwords.size:
            raise UserError(
                f"the model has {size:,} tokens and its subwords {subwords.size:,}, so the two don't belong together; "
                "restore its folder from a copy"
            )
    # Copies, for CTranslate2 quantises in place.
    weights = {name: tensor.to("cpu", torch.float32, copy=True) for name, tensor in saved.model.state_dict().items()}
    spec = _transformer(config, weights)
    assert not weights, f"no place for {sorted(weights)}"
    pieces = target.pieces(range(target.size))
    spec.register_source_vocabulary(source.pieces(range(source.size)))
    spec.register_target_vocabulary(pieces)
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = pieces[UNK], pieces[BOS], pieces[EOS]
    spec.config.decoder_start_token = pieces[BOS]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = 1e-5  # torch's
    spec.validate()
    spec.optimize(quantization)
    spec.save(str(folder))


def _transformer(config: ModelConfig, weights: dict[str, Tensor]) -> TransformerSpec:
    """Our weights by CTranslate2's names. Each is taken out of `weights` as it finds its place."""
    layers = config.encoder_layers, config.decoder_layers
    pre, activation = config.norm == "pre", ACTIVATIONS[config.activation]
    spec = TransformerSpec.from_config(layers, config.heads, pre_norm=pre, activation=activation)
    embedding_VD = weights.pop("embedding_VD")
    spec.encoder.embeddings[0].weight = weights.pop("source_VD", embedding_VD)
    spec.decoder.embeddings.weight = embedding_VD
    spec.decoder.projection.weight = weights.pop("untied_VD", embedding_VD)
    for stack, name, side in ((spec.encoder, "encoder", "source"), (spec.decoder, "decoder", "target")):
        # A table, for CTranslate2's own sinusoids stand in another order: first all sines, then all cosines.
        learned_TD = weights.pop(f"embed_{side}.positions.weight", None)
        stack.position_encodings.encodings = sinusoids(0, TABLE, config.d_model) if learned_TD is None else learned_TD
        if pre:
            _norm(stack.layer_norm, weights, f"{name}_norm")
    for number, layer in enumerate(spec.encoder.layer):
        _attention(layer.self_attention, weights, f"encoder.{number}", "attention")
        _feed_forward(layer.ffn, weights, f"encoder.{number}")
    for number, layer in enumerate(spec.decoder.layer):
        _attention(layer.self_attention, weights, f"decoder.{number}", "attention")
        _attention(layer.attention, weights, f"decoder.{number}", "cross")
        _feed_forward(layer.ffn, weights, f"decoder.{number}")
    return spec


def _norm(spec: LayerNormSpec, weights: dict[str, Tensor], name: str) -> None:
    spec.gamma, spec.beta = weights.pop(f"{name}.weight"), weights.pop(f"{name}.bias")


def _linear(spec: LinearSpec, weights: dict[str, Tensor], *names: str) -> None:
    """One matrix, or several side by side."""
    spec.weight = torch.cat([weights.pop(f"{name}.weight") for name in names])
    spec.bias = torch.cat([weights.pop(f"{name}.bias") for name in names])


def _attention(spec: MultiHeadAttentionSpec, weights: dict[str, Tensor], layer: str, name: str) -> None:
    """CTranslate2 multiplies all inputs of self-attention by one matrix, and the memory's by another."""
    query, key, value, output = (f"{layer}.{name}.{part}" for part in ("query", "key", "value", "output"))
    inputs = [(query, key, value)] if name == "attention" else [(query,), (key, value)]
    for linear, names in zip(spec.linear, [*inputs, (output,)], strict=True):
        _linear(linear, weights, *names)
    _norm(spec.layer_norm, weights, f"{layer}.around_{name}.norm")


def _feed_forward(spec: FeedForwardSpec, weights: dict[str, Tensor], name: str) -> None:
    _linear(spec.linear_0, weights, f"{name}.feed_forward.inner")
    _linear(spec.linear_1, weights, f"{name}.feed_forward.outer")
    _norm(spec.layer_norm, weights, f"{name}.around_feed_forward.norm")
