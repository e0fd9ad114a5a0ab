"""Import of a Marian model in Hugging Face's format, such as OPUS-MT's, as a saved model with the same output.

Besides the order of d_model (marian.py) and the ids of the pieces (marian_vocabulary.py) two things differ:

- Marian begins its output with PAD; our BOS has that embedding.
- Marian adds a bias to the logits, and we have none. But the decoder's output comes from a LayerNorm (section 3.1),
  and a normalised vector sums to 0. With a gain of 1 and a shift of 1 it sums to d_model, whatever the text: a constant
  is a linear function of it. So the old gain and shift and the bias are folded into the projection, exactly, and so
  are the very low logits of tokens that Marian lacks.

Shapes: V vocabulary, D = d_model.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard import __version__
from regard.config.checked import check
from regard.config.decode import DecodeConfig
from regard.config.model import TransformerConfig
from regard.errors import UserError
from regard.exchange.marian import ACTIVATIONS, halves, layer_parameters, reordered
from regard.exchange.marian_vocabulary import MarianVocabularies, Vocabulary, read_vocabularies
from regard.exchange.shards import WEIGHTS, Tensors
from regard.files import new_directory, read_json
from regard.model.build import build
from regard.model.positions import sinusoids
from regard.saved.folder import write_model
from regard.saved.saved_model import SavedModel
from regard.text.normalise import Form

SILENT = -1e4  # the logit of tokens that are never generated
ABSENT = {
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
}


def import_huggingface(folder: Path, out: Path) -> None:
    """Convert a Marian folder, completely or not at all; raise a UserError for one that cannot be converted exactly."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; give one with config.json, {WEIGHTS}, source.spm and vocab.json")
    theirs = _description(folder / "config.json")
    vocabularies = read_vocabularies(folder, theirs)
    with Tensors(folder) as tensors:
        bias_V = tensors.get("final_logits_bias")
        plain = not vocabularies.target.silent and (bias_V is None or not bias_V.any())
        names = _embedding_names(theirs, tensors)
        config = _config(folder, theirs, vocabularies, shared=names[0] == names[1], plain=plain)
        _check_shapes(config, theirs, tensors, names)
        weights = _weights(config, theirs, tensors, names, vocabularies)
        if not plain:
            _fold(config, weights, bias_V, vocabularies.target)
    for name, tensor in weights.items():
        if not tensor.isfinite().all():
            raise UserError(f"{folder}: {name} would hold numbers that are not finite; get the weights again")
    languages, form, decode = _settings(folder, theirs)
    with new_directory(out) as temporary:
        saved = SavedModel(config, decode, languages, form, vocabularies.files)
        write_model(temporary, saved, weights, card=_card(folder, languages))


def _description(path: Path) -> dict[str, Any]:
    """Return config.json, if it describes a Transformer that we support."""
    theirs = read_json(path)
    kind = theirs.get("model_type") if isinstance(theirs, dict) else None
    if not isinstance(theirs, dict) or kind != "marian":
        raise UserError(f"{path}: model_type is {kind!r}, and only 'marian' can be imported")
    for key, value in ABSENT.items():
        if theirs.get(key, value) != value:
            raise UserError(f"{path}: {key} is {theirs[key]}, which regard has not; such a model can't be imported")
    for size in ("ffn_dim", "attention_heads"):
        if theirs.get(f"encoder_{size}") != theirs.get(f"decoder_{size}"):
            raise UserError(f"{path}: encoder_{size} and decoder_{size} differ, and regard has one for both")
    for key in ("pad_token_id", "eos_token_id", "decoder_start_token_id"):
        if type(theirs.get(key)) is not int:
            raise UserError(f"{path}: {key} must be the number of one token; get the file again")
    return theirs


def _config(
    folder: Path, theirs: Mapping[str, Any], vocabularies: MarianVocabularies, *, shared: bool, plain: bool
) -> TransformerConfig:
    activation = theirs.get("activation_function")
    ours = next((name for name, other in ACTIVATIONS.items() if activation in (name, other)), activation)
    one = vocabularies.source == vocabularies.target
    if shared and not one:
        raise UserError(f"{folder / 'config.json'}: one embedding for two vocabularies; get the files again")
    values = {
        "vocabulary": len(vocabularies.target.names),
        "source_vocabulary": None if one else len(vocabularies.source.names),
        "share_embeddings": shared,
        "tie_projection": plain and _scaled(theirs) and theirs.get("tie_word_embeddings", True) is True,
        "encoder_layers": theirs.get("encoder_layers"),
        "decoder_layers": theirs.get("decoder_layers"),
        "d_model": theirs.get("d_model"),
        "d_ff": theirs.get("encoder_ffn_dim"),
        "heads": theirs.get("encoder_attention_heads"),
        "activation": ours,
        "dropout": theirs.get("dropout", 0.1),
        "attention_dropout": theirs.get("attention_dropout", 0.0),
    }
    return check(TransformerConfig, values, str(folder / "config.json"))


def _scaled(theirs: Mapping[str, Any]) -> bool:
    """Return whether embeddings are multiplied by sqrt(d_model), as in section 3.4."""
    return theirs.get("scale_embedding") is True


def _embedding_names(theirs: Mapping[str, Any], tensors: Tensors) -> tuple[str, str, str]:
    """Return the names of the encoder's embedding, the decoder's and the projection; equal names are one tensor.

    Transformers ties all that it can or nothing, so an embedding that is only shared may be stored twice.
    """
    encoder, decoder = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
    tied = theirs.get("tie_word_embeddings", True) is True
    if theirs.get("share_encoder_decoder_embeddings", True) is True:
        shared = "model.shared.weight"
        if tied:
            encoder = decoder = tensors.first(shared, decoder, encoder, "lm_head.weight")
        else:
            encoder, decoder = tensors.first(encoder, shared), tensors.first(decoder, shared)
            same = tensors.shape(encoder) == tensors.shape(decoder) and tensors[encoder].equal(tensors[decoder])
            encoder = decoder if same else encoder
    return tensors.first(encoder), tensors.first(decoder), decoder if tied else tensors.first("lm_head.weight")


def _check_shapes(
    config: TransformerConfig, theirs: Mapping[str, Any], tensors: Tensors, names: tuple[str, str, str]
) -> None:
    """Compare every shape with config.json before any tensor is read."""
    with torch.device("meta"):
        expected = build(config).state_dict()
    shapes = {
        one.theirs: list(expected[one.ours].shape)
        for one in layer_parameters(config.encoder_layers, config.decoder_layers)
    }
    source, target, projection = names
    separate = theirs.get("share_encoder_decoder_embeddings", True) is not True
    rows = (separate and theirs.get("decoder_vocab_size")) or theirs.get("vocab_size")
    shapes[source] = [theirs.get("vocab_size"), config.d_model]
    shapes |= {target: [rows, config.d_model], projection: [rows, config.d_model]}
    if tensors.shape("final_logits_bias") is not None:
        shapes["final_logits_bias"] = [1, rows]
    for name, shape in shapes.items():
        if tensors.shape(name) != shape:
            raise UserError(
                f"{tensors.folder}: {name} is {tensors.shape(name) or 'missing'} where config.json asks for {shape}; "
                "the two belong to different models"
            )


def _weights(
    config: TransformerConfig,
    theirs: Mapping[str, Any],
    tensors: Tensors,
    names: tuple[str, str, str],
    vocabularies: MarianVocabularies,
) -> dict[str, Tensor]:
    back_D = halves(config.d_model).argsort()
    weights = {
        one.ours: reordered(tensors[one.theirs], one.axis, back_D)
        for one in layer_parameters(config.encoder_layers, config.decoder_layers)
    }
    for stack in ("encoder", "decoder"):
        table_TD = tensors.get(f"model.{stack}.embed_positions.weight")
        if table_TD is not None and not _is_sinusoids(table_TD[:, back_D] if table_TD.dim() == 2 else table_TD):
            raise UserError(f"{tensors.folder}: the {stack}'s positions are not sinusoids, and Marian has no others")

    def rows(name: str, side: Vocabulary) -> Tensor:
        embedding_VD = tensors[name]
        if max(side.theirs) >= len(embedding_VD):
            raise UserError(f"{tensors.folder}: {name} has {len(embedding_VD)} rows, too few for the vocabulary")
        return embedding_VD[side.theirs][:, back_D]

    source, target, projection = names
    scale = 1.0 if _scaled(theirs) else 1.0 / math.sqrt(config.d_model)
    weights["embedding_VD"] = rows(target, vocabularies.target) * scale
    if not config.share_embeddings:
        weights["source_VD"] = rows(source, vocabularies.source) * scale
    if not config.tie_projection:
        weights["untied_VD"] = rows(projection, vocabularies.target)
    return weights


def _is_sinusoids(table_TD: Tensor) -> bool:
    return table_TD.dim() == 2 and torch.allclose(table_TD, sinusoids(0, *table_TD.shape), atol=1e-3)


def _fold(config: TransformerConfig, weights: dict[str, Tensor], bias_V: Tensor | None, target: Vocabulary) -> None:
    """Fold the last LayerNorm's gain and shift and the bias into the projection.

    W (gain · n + shift) + b, where n sums to 0, is W' (n + 1) if W' = W · gain + u and its rows sum to W shift + b.
    """
    norm = f"decoder.{config.decoder_layers - 1}.around_feed_forward.norm"
    gain_D, shift_D = weights[f"{norm}.weight"].double(), weights[f"{norm}.bias"].double()
    projection_VD = weights["untied_VD"].double()
    sum_V = projection_VD @ shift_D
    if bias_V is not None:
        sum_V += bias_V.flatten()[target.theirs]
    folded_VD = projection_VD * gain_D
    folded_VD += ((sum_V - folded_VD.sum(1)) / config.d_model)[:, None]
    folded_VD[target.silent] = SILENT / config.d_model
    weights["untied_VD"] = folded_VD.float()
    weights[f"{norm}.weight"], weights[f"{norm}.bias"] = torch.ones(config.d_model), torch.ones(config.d_model)


def _settings(folder: Path, theirs: Mapping[str, Any]) -> tuple[tuple[str | None, str | None], Form, DecodeConfig]:
    """Return the languages, normal form and search settings: as regard wrote them, or as transformers would."""
    kept = theirs.get("regard")
    if isinstance(kept, dict):
        languages = kept.get("languages")
        source, target = languages if isinstance(languages, list) and len(languages) == 2 else (None, None)
        form: Form = "NFKC" if kept.get("form") == "NFKC" else "NFC"
        return (
            (_code(source), _code(target)),
            form,
            check(DecodeConfig, kept.get("decode"), f"{folder / 'config.json'}"),
        )
    tokenizer = _optional(folder / "tokenizer_config.json")
    generation = dict(theirs) | _optional(folder / "generation_config.json")
    beam, alpha = generation.get("num_beams"), generation.get("length_penalty")
    decode = check(
        DecodeConfig,
        {"beam": 1 if beam is None else beam, "alpha": 1.0 if alpha is None else alpha, "penalty": "average"},
        str(folder / "generation_config.json"),
    )
    return (_code(tokenizer.get("source_lang")), _code(tokenizer.get("target_lang"))), "NFC", decode


def _code(language: Any) -> str | None:
    return language if isinstance(language, str) else None


def _optional(path: Path) -> dict[str, Any]:
    found = read_json(path) if path.exists() else {}
    return found if isinstance(found, dict) else {}


def _card(folder: Path, languages: tuple[str | None, str | None]) -> str:
    """Return their model card, if there is one, under a line that names the origin."""
    source, target = (code or "?" for code in languages)
    card = folder / "README.md"
    theirs = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    return f"# {source} → {target}\n\nImported by regard {__version__} from a Marian model ({folder.name}).\n\n{theirs}"
