"""Export of a saved model as a folder that transformers loads as MarianMT, with the same logits and the same ids.

Marian is the paper's Transformer, so it can represent `base`; a model with other positions, norms or scores cannot be
exported. Its search divides a log probability by |Y|^alpha, not by the paper's penalty, so it may rank hypotheses of
unequal lengths differently; the settings that a lossless import needs are under `regard` in config.json.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard import __version__
from regard.config.model import ModelConfig, TransformerConfig
from regard.config.special_tokens import BOS, EOS, PAD, UNK
from regard.errors import UserError
from regard.exchange.kinds import check_subwords, other_kind
from regard.exchange.marian import ACTIVATIONS, halves, language_code, layer_parameters, reordered
from regard.exchange.to_onnx import graphless
from regard.files import new_directory, read_text, write_bytes, write_json
from regard.model.sinusoids import TABLE
from regard.saved.folder import LoadedModel, as_arrays, load_model
from regard.saved.saved_model import CARD
from regard.saved.weights import write_weights
from regard.text.subword_file import for_other_programs
from regard.text.subwords import Subwords

CONTRACT = """
## Use with transformers

```python
from transformers import MarianMTModel, MarianTokenizer

tokenizer, model = MarianTokenizer.from_pretrained("."), MarianMTModel.from_pretrained(".")
batch = tokenizer(["A text."], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
```

The tokenizer knows spaces but no Unicode forms: give it text in the form {form}, on one line. What looks like `</s>`,
`<pad>` or `<unk>` in a text is that token to it, and U+2581 a space; to regard they are text. `generate` divides by
|Y|^alpha, where the paper's penalty, regard's default, is ((5 + |Y|) / 6)^alpha.
"""


def export_huggingface(model_folder: Path, out: Path) -> None:
    """Write the folder completely or not at all; raise a UserError for a model that Marian can't represent."""
    saved = load_model(model_folder)
    source, target = saved.vocabularies
    if not isinstance(target, Subwords):
        raise UserError(f"{model_folder}: is a parser, for whose symbols Marian has no tokenizer; it can't be exported")
    check_subwords(saved, model_folder)
    reason = inexpressible(saved.config)
    if reason is not None:
        remedy = "export it with --to onnx" if graphless(saved.config) is None else "regard itself computes it"
        raise UserError(f"{model_folder}: {reason}, which Marian can't express; {remedy}")
    card = read_text(model_folder / CARD)
    with new_directory(out) as temporary:
        write_json(temporary / "config.json", _config(saved))
        write_json(temporary / "generation_config.json", _generation(saved))
        write_weights(temporary / "model.safetensors", as_arrays(_weights(saved)))
        _write_tokenizer(temporary, saved, (source, target))
        write_bytes(temporary / CARD, (card + CONTRACT.format(form=saved.form)).encode())


def inexpressible(config: ModelConfig) -> str | None:
    """Return why Marian can't represent a model, or None if it can."""
    if not isinstance(config, TransformerConfig):
        return other_kind(config)
    checks = {
        f"it has {config.positions} positions": config.positions != "sinusoidal",
        "it normalises before its sub-layers": config.norm != "post",
        f"its attention has {config.score} scores": config.score != "scaled",
        "its decoder is shown the next word": config.next_word,
        "it has a mixture of experts": config.experts > 0,
        "its attention is restricted to neighbours": config.neighbours > 0,
        "its d_k and d_v are not d_model / heads": not config.d_k == config.d_v == config.d_model / config.heads,
    }
    return next((reason for reason, holds in checks.items() if holds), None)


def _config(saved: LoadedModel) -> dict[str, Any]:
    config = saved.config
    assert isinstance(config, TransformerConfig)
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": config.source_vocabulary or config.vocabulary,
        "decoder_vocab_size": config.vocabulary,
        "share_encoder_decoder_embeddings": config.share_embeddings,
        "tie_word_embeddings": config.tie_projection,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "normalize_before": False,
        "max_position_embeddings": TABLE,
        "d_model": config.d_model,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "activation_function": ACTIVATIONS[config.activation],
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": 0.0,
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
        "dtype": "float32",
        "regard": {
            "version": __version__,
            "languages": list(saved.languages),
            "form": saved.form,
            "decode": saved.decode.model_dump(),
        },
    }


def _generation(saved: LoadedModel) -> dict[str, Any]:
    """Translate our search settings into theirs, as far as possible."""
    return {
        "num_beams": saved.decode.beam,
        "length_penalty": saved.decode.alpha,
        "early_stopping": saved.decode.beam > 1,
        "max_length": TABLE // 2,
        "suppress_tokens": [PAD, UNK, BOS],
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
    }


def _weights(saved: LoadedModel) -> dict[str, Tensor]:
    config, ours = saved.config, saved.model.state_dict()
    order_D = halves(config.d_model)
    weights = {
        one.theirs: reordered(ours[one.ours], one.axis, order_D)
        for one in layer_parameters(config.encoder_layers, config.decoder_layers)
    }
    weights |= _embeddings(config, {name: ours[name][:, order_D] for name in ours if name.endswith("_VD")})
    weights["final_logits_bias"] = torch.zeros(1, config.vocabulary)
    return weights


def _embeddings(config: ModelConfig, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the embeddings; transformers ties all that it can or nothing, so one that is only shared is duplicated."""
    encoder, decoder = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
    target_VD = ours["embedding_VD"]
    if config.share_embeddings and config.tie_projection:
        return {"model.shared.weight": target_VD}
    found = {encoder: ours.get("source_VD", target_VD), decoder: target_VD}
    if config.share_embeddings:
        found["model.shared.weight"] = target_VD
    if not config.tie_projection:
        found["lm_head.weight"] = ours["untied_VD"]
    return found


def _write_tokenizer(folder: Path, saved: LoadedModel, vocabularies: tuple[Subwords, Subwords]) -> None:
    source, target = vocabularies
    separate = not saved.config.share_embeddings
    write_bytes(folder / "source.spm", for_other_programs(source.content))
    write_bytes(folder / "target.spm", for_other_programs(target.content))
    write_json(folder / "vocab.json", _numbers(source))
    if separate:
        write_json(folder / "target_vocab.json", _numbers(target))
    description = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": saved.languages[0],
        "target_lang": saved.languages[1],
        "separate_vocabs": separate,
        "model_max_length": TABLE // 2,
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "eos_token": "</s>",
    }
    write_json(folder / "tokenizer_config.json", description)


def _numbers(subwords: Subwords) -> dict[str, int]:
    return {language_code(name): number for number, name in enumerate(subwords.pieces(range(subwords.size)))}
