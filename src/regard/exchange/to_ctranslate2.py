"""Export of a saved model to CTranslate2, which translates fast on a CPU.

An exported folder is self-contained. Besides the files of CTranslate2 (model.bin, config.json, a vocabulary) it has our
description of the model, its subwords, its card, and the checksums of the files that it was made from.

Shapes: T positions, V vocabulary, D = d_model.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from regard.config.model import ModelConfig, TransformerConfig
from regard.config.special_tokens import BOS, EOS, UNK
from regard.errors import UserError
from regard.exchange.kinds import PROPOSALS, check_subwords, other_kind
from regard.exchange.library import ctranslate2
from regard.files import new_directory, read_json, read_manifest, read_text, write_bytes, write_json
from regard.model.sinusoids import TABLE, sinusoid_table
from regard.saved.saved_model import CARD, CONFIG, SUBWORDS, WEIGHTS, SavedModel, model_folder, read_saved
from regard.saved.weights import Array, read_weights

Quantization = Literal["int8", "int8_float32", "float32"]
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH"}  # ours: theirs
FOLDER = "ctranslate2"  # name of the export in a model's folder
DESCRIPTION, ORIGIN = "regard.json", "origin.json"  # CTranslate2 has a config.json of its own


def inconvertible(config: ModelConfig) -> str | None:
    """Return why CTranslate2 can't compute a model, or None if it can."""
    if not isinstance(config, TransformerConfig):
        return other_kind(config)
    checks = {
        f"its positions are {config.positions}": config.positions not in ("sinusoidal", "learned"),
        f"the scores of its attention are {config.score}": config.score != "scaled",
        "its decoder is shown the next word": config.next_word,
        "it has a mixture of experts": config.experts > 0,
        "its attention is restricted to neighbours": config.neighbours > 0,
        "its d_k and d_v are not d_model / heads": not config.d_k == config.d_v == config.d_model / config.heads,
    }
    return next((reason for reason, holds in checks.items() if holds), None)


def check_convertible(config: ModelConfig, model: Path) -> None:
    reason = inconvertible(config)
    if reason is not None:
        raise UserError(f"{model}: CTranslate2 can't compute this model, since {reason}; torch can (--engine torch)")


def positions(config: ModelConfig) -> int:
    """Return the number of positions of an exported model, in the source and in the target."""
    return config.position_limit or TABLE


def export_ctranslate2(
    model: Path, out: Path, quantization: Quantization, *, note: str = "", replace: bool = False
) -> None:
    """Write the export of a saved model, completely or not at all; a note is added to its card."""
    described = read_saved(model_folder(model))
    check_convertible(described.config, model)
    check_subwords(described, model)
    with new_directory(out, replace=replace) as temporary:
        write_ctranslate2(temporary, described, read_weights(model / WEIGHTS), quantization)
        write_bytes(temporary / DESCRIPTION, (model / CONFIG).read_bytes())
        origin = {"ctranslate2": ctranslate2().__version__, "quantization": quantization, "files": _checksums(model)}
        write_json(temporary / ORIGIN, origin)
        for name, content in described.subwords.items():
            write_bytes(temporary / name, content)
        card = read_text(model / CARD).rstrip()
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


def export_quantization(folder: Path) -> str | None:
    """Return the type of an export's quantised weights; None where there is no export."""
    if not (folder / ORIGIN).is_file():
        return None
    origin = read_json(folder / ORIGIN)
    return str(origin.get("quantization")) if isinstance(origin, dict) else None


def _checksums(model: Path) -> dict[str, str]:
    """Return the SHA-256 of the files that determine a model's translations, from its manifest."""
    files = read_manifest(model)
    return {name: str(files[name]["sha256"]) for name in (CONFIG, WEIGHTS, *SUBWORDS) if name in files}


def check_vocabularies(described: SavedModel) -> None:
    """Raise UserError unless a model has as many tokens as its subwords."""
    config = described.config
    source, target = described.vocabularies
    for size, subwords in ((config.source_vocabulary or config.vocabulary, source), (config.vocabulary, target)):
        if size != subwords.size:
            raise UserError(
                f"the model has {size:,} tokens and its subwords {subwords.size:,}, so the two don't belong together; "
                "restore its folder from a copy"
            )


def write_ctranslate2(
    folder: Path, described: SavedModel, weights: Mapping[str, Array], quantization: Quantization
) -> None:
    """Write the files that CTranslate2 loads into a folder that the caller publishes or deletes."""
    config = described.config
    check_vocabularies(described)
    source, target = described.vocabularies
    taken = _Taken(weights)
    assert isinstance(config, TransformerConfig), "check_convertible rejects the others"
    spec = _transformer(config, taken)
    taken.check_all()
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


class _Taken:
    """Weights, each to be taken once by name and shape."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self.left = {name: weight for name, weight in weights.items() if not name.startswith(PROPOSALS)}

    def __contains__(self, name: str) -> bool:
        return name in self.left

    def __call__(self, name: str, *shape: int) -> Array:
        """Return a copy, because CTranslate2 quantises in place."""
        weight = self.left.pop(name, None)
        if weight is None or weight.shape != shape:
            found = "missing" if weight is None else list(weight.shape)
            raise UserError(f"{WEIGHTS}: {name} is {found} where config.json asks for {list(shape)}; restore both")
        return weight.copy()

    def check_all(self) -> None:
        if self.left:
            raise UserError(f"{WEIGHTS}: {min(self.left)} has no place in what config.json asks for; restore both")


def specification(config: TransformerConfig) -> Any:
    """Return CTranslate2's description of a model, without weights."""
    specs = ctranslate2().specs
    return specs.transformer_spec.TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.heads,
        pre_norm=config.norm == "pre",
        activation=specs.common_spec.Activation[ACTIVATIONS[config.activation]],
    )


def _transformer(config: TransformerConfig, take: _Taken) -> Any:
    """Return our weights under CTranslate2's names."""
    spec = specification(config)
    D, V = config.d_model, config.vocabulary
    embedding_VD = take("embedding_VD", V, D)
    apart = "source_VD" in take
    spec.encoder.embeddings[0].weight = take("source_VD", config.source_vocabulary or V, D) if apart else embedding_VD
    spec.decoder.embeddings.weight = embedding_VD
    spec.decoder.projection.weight = take("untied_VD", V, D) if "untied_VD" in take else embedding_VD
    for stack, name, side in ((spec.encoder, "encoder", "source"), (spec.decoder, "decoder", "target")):
        # A table, because CTranslate2's own sinusoids have another order: first all sines, then all cosines.
        learned = config.positions == "learned"
        positions_TD = take(f"embed_{side}.positions.weight", config.max_length, D) if learned else None
        stack.position_encodings.encodings = sinusoid_table(0, TABLE, D) if positions_TD is None else positions_TD
        if config.norm == "pre":
            _norm(stack.layer_norm, take, f"{name}_norm", D)
    for number, layer in enumerate(spec.encoder.layer):
        _attention(layer.self_attention, take, f"encoder.{number}", "attention", D)
        _feed_forward(layer.ffn, take, f"encoder.{number}", D, config.d_ff)
    for number, layer in enumerate(spec.decoder.layer):
        _attention(layer.self_attention, take, f"decoder.{number}", "attention", D)
        _attention(layer.attention, take, f"decoder.{number}", "cross", D)
        _feed_forward(layer.ffn, take, f"decoder.{number}", D, config.d_ff)
    return spec


def _norm(spec: Any, take: _Taken, name: str, size: int) -> None:
    spec.gamma, spec.beta = take(f"{name}.weight", size), take(f"{name}.bias", size)


def _linear(spec: Any, take: _Taken, names: tuple[str, ...], out: int, into: int) -> None:
    """Set one matrix, or several concatenated."""
    spec.weight = np.concatenate([take(f"{name}.weight", out, into) for name in names])
    spec.bias = np.concatenate([take(f"{name}.bias", out) for name in names])


def _attention(spec: Any, take: _Taken, layer: str, name: str, size: int) -> None:
    """Set the matrices of attention: self-attention has one for all inputs, cross-attention another for the memory."""
    query, key, value, output = (f"{layer}.{name}.{part}" for part in ("query", "key", "value", "output"))
    inputs = [(query, key, value)] if name == "attention" else [(query,), (key, value)]
    for linear, names in zip(spec.linear, [*inputs, (output,)], strict=True):
        _linear(linear, take, names, size, size)
    _norm(spec.layer_norm, take, f"{layer}.around_{name}.norm", size)


def _feed_forward(spec: Any, take: _Taken, name: str, size: int, inner: int) -> None:
    _linear(spec.linear_0, take, (f"{name}.feed_forward.inner",), inner, size)
    _linear(spec.linear_1, take, (f"{name}.feed_forward.outer",), size, inner)
    _norm(spec.layer_norm, take, f"{name}.around_feed_forward.norm", size)
