"""Export of a saved model as two ONNX graphs: the encoder, and a step of the decoder with its key-value cache.

A program then needs onnxruntime and sentencepiece, but no torch. The loop around the graphs is the program's; the card
in the folder has one, and a test runs it from there. The graphs contain attention as its equation is written.

Shapes: B sentences, S source positions, P target positions passed, T further ones, L decoder layers, H heads, K = d_k,
V = d_v, N tokens of the vocabulary.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard import __version__
from regard.config.later import MambaConfig, StateSpaceConfig
from regard.config.model import AnyTransformerConfig, ModelConfig, TransformerConfig
from regard.config.special_tokens import BOS, EOS, PAD, UNK
from regard.errors import UserError
from regard.exchange.kinds import check_subwords, other_kind
from regard.files import new_directory, read_text, write_bytes, write_json
from regard.model.cache import Cache, Joined, KeyValue
from regard.model.sinusoids import TABLE
from regard.model.transformer import Transformer, TransformerState
from regard.saved.folder import LoadedModel, load_model
from regard.saved.saved_model import CARD
from regard.text.subword_file import for_other_programs

OPSET = 20
FREE = "BSPT"  # the dynamic dimensions of a graph
ENCODER = ("source_BS",), ("memory_key_LBHSK", "memory_value_LBHSV", "mask_BS")
DECODER = ("tokens_BT", "past_key_LBHPK", "past_value_LBHPV", *ENCODER[1]), ("logits_BTN", "key_LBHPK", "value_LBHPV")

CONTRACT = """
## Use with onnxruntime

Both graphs work on any number of sentences, padded with {pad}; a decoder's step takes one token of each, or several.

```python
import json
from pathlib import Path

import numpy as np
from onnxruntime import InferenceSession
from sentencepiece import SentencePieceProcessor

config = json.loads(Path("config.json").read_text(encoding="utf-8"))
encoder, decoder = InferenceSession("encoder.onnx"), InferenceSession("decoder.onnx")
source, target = (SentencePieceProcessor(model_file=config["subwords"][side]) for side in ("source", "target"))


def translate(text):
    \"\"\"The most probable token at every step; `text` is in the form {form}.\"\"\"
    ids = {ids}
    names = ("memory_key_LBHSK", "memory_value_LBHSV", "mask_BS")
    memory = dict(zip(names, encoder.run(names, {{"source_BS": np.array([[*ids, config["eos"]]])}})))
    key, value = memory["memory_key_LBHSK"][:, :, :, :0], memory["memory_value_LBHSV"][:, :, :, :0]
    tokens = [config["bos"]]
    while len(tokens) <= len(ids) + config["decode"]["extra_length"]:
        past = {{"past_key_LBHPK": key, "past_value_LBHPV": value}}
        logits, key, value = decoder.run(None, {{"tokens_BT": np.array([tokens[-1:]]), **past, **memory}})
        logits[..., [config["pad"], config["unk"], config["bos"]]] = -np.inf
        tokens.append(int(logits[0, -1].argmax()))
        if tokens[-1] == config["eos"]:
            break
    return target.Decode(tokens)


print(translate("A text."))
```
"""


def export_onnx(model_folder: Path, out: Path) -> None:
    """Write the folder completely or not at all."""
    if find_spec("onnx") is None or find_spec("onnxscript") is None:
        raise UserError("exporting to ONNX needs two more packages; install them with: pip install 'regard[onnx]'")
    saved = load_model(model_folder)
    if saved.task != "translation":
        raise UserError(f"{model_folder}: is for {saved.task}, and only translators are exported to ONNX")
    reason = graphless(saved.config)
    if reason is not None:
        raise UserError(f"{model_folder}: {reason}, which can't be exported to ONNX; regard itself computes it")
    assert isinstance(saved.model, Transformer)
    files = _subwords(saved, model_folder)
    check_subwords(saved, model_folder)
    card = read_text(model_folder / CARD)
    source_BS = torch.full((3, 7), EOS)
    encoder, decoder = _Encode(saved.model).eval(), _Step(saved.model).eval()
    with new_directory(out) as temporary, torch.no_grad():
        _write(temporary / "encoder.onnx", encoder, (source_BS,), *ENCODER)
        memory = encoder(source_BS)
        past = tuple(part[:, :, :, :5].clone() for part in memory[:2])  # a view would be traced as one
        _write(temporary / "decoder.onnx", decoder, (torch.full((3, 4), BOS), *past, *memory), *DECODER)
        tags = _tags(saved)
        write_json(temporary / "config.json", {**_description(saved, files), **({"tags": tags} if tags else {})})
        for name, content in saved.subwords.items():
            write_bytes(temporary / name, for_other_programs(content))
        usual = next((f'"{tag}"' for tag in (f"<2{saved.languages[1]}>", *tags) if tag in tags), None)
        ids = "source.Encode(text)"
        if usual is not None:
            ids = f'[config["tags"][{usual}], *{ids}]  # which of config["tags"] says into what language'
        write_bytes(temporary / CARD, (card + CONTRACT.format(pad=PAD, form=saved.form, ids=ids)).encode())


def graphless(config: ModelConfig) -> str | None:
    """Return why a model can't be exported as graphs, or None if it can."""
    if not isinstance(config, AnyTransformerConfig) or isinstance(config, StateSpaceConfig | MambaConfig):
        return other_kind(config)
    if config.architecture != "transformer":
        return other_kind(config)
    if config.next_word:
        return "its decoder is shown the next word"
    if isinstance(config, TransformerConfig) and config.experts:
        return "it has a mixture of experts"
    return None


class _Encode(nn.Module):
    """The encoder: from the source to the decoder's keys and values for every layer."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source_BS: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        memory, _ = self.model._encode(source_BS, weights=True)
        return *_stacked(list(self.model._memories(memory))), memory.mask_BS


class _Step(nn.Module):
    """A decoder step: from T tokens, and the keys and values of the P before them, to logits and the new cache."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        tokens_BT: Tensor,
        past_key_LBHPK: Tensor,
        past_value_LBHPV: Tensor,
        memory_key_LBHSK: Tensor,
        memory_value_LBHSV: Tensor,
        mask_BS: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        pasts = tuple(map(Joined.of, _layers(past_key_LBHPK, past_value_LBHPV)))
        state = TransformerState(pasts, tuple(_layers(memory_key_LBHSK, memory_value_LBHSV)), mask_BS)
        decoded = self.model._decode(tokens_BT, state, weights=True)
        caches = [cache.content for cache in decoded.state.caches if isinstance(cache, Cache)]
        return self.model.logits(decoded.features_RTD), *_stacked(caches)


def _layers(key_LBHSK: Tensor, value_LBHSV: Tensor) -> Iterator[KeyValue]:
    return map(KeyValue, key_LBHSK.unbind(0), value_LBHSV.unbind(0))


def _stacked(pairs: list[KeyValue]) -> tuple[Tensor, Tensor]:
    return torch.stack([pair.key_BHSK for pair in pairs]), torch.stack([pair.value_BHSV for pair in pairs])


def _write(
    path: Path, module: nn.Module, examples: tuple[Tensor, ...], inputs: tuple[str, ...], outputs: tuple[str, ...]
) -> None:
    """Trace a module and write its graph; the letters of an input's name say which of its dimensions are dynamic."""
    free = {name: _free(name) for name in inputs}
    with _quiet():
        program = torch.onnx.export(
            module,
            examples,
            input_names=inputs,
            output_names=outputs,
            dynamic_shapes=free,
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
        assert program is not None
        program.save(path)


def _free(name: str) -> dict[int, str]:
    letters = name.rpartition("_")[2]
    return {place: letter for place, letter in enumerate(letters) if letter in FREE}


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence torch's notices of missing packages and of its own deprecations, which do not concern the user."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def _subwords(saved: LoadedModel, folder: Path) -> dict[str, str]:
    """Return the subword file of each side."""
    both = "subwords.model" if "subwords.model" in saved.subwords else None
    files = {}
    for side in ("source", "target"):
        own = f"{side}.subwords.model"
        name = own if own in saved.subwords else both
        if name is None:
            raise UserError(f"{folder}: has no subwords, so nobody could read its output; give a trained model")
        files[side] = name
    return files


def _tags(saved: LoadedModel) -> dict[str, int]:
    """Return the tags before the sources of a multilingual model, which no text can spell, with their ids."""
    source, _ = saved.vocabularies
    return {tag: source.tag(tag) for tag in source.tags}


def _description(saved: LoadedModel, subwords: dict[str, str]) -> dict[str, Any]:
    config = saved.config
    assert isinstance(config, AnyTransformerConfig)
    bounds = [TABLE] * (config.positions in ("sinusoidal", "rotary"))
    bounds += [] if config.position_limit is None else [config.position_limit]
    return {
        "regard": __version__,
        "opset": OPSET,
        "languages": {"source": saved.languages[0], "target": saved.languages[1]},
        "form": saved.form,
        "subwords": subwords,
        "pad": PAD,
        "unk": UNK,
        "bos": BOS,
        "eos": EOS,
        "longest": min(bounds, default=None),
        "shapes": {
            "B": "sentences",
            "S": "source positions",
            "P": "target positions passed",
            "T": "further target positions",
            "L": config.decoder_layers,
            "H": config.heads,
            "K": config.d_k,
            "V": config.d_v,
            "N": config.vocabulary,
        },
        "encoder": {"inputs": ENCODER[0], "outputs": ENCODER[1]},
        "decoder": {"inputs": DECODER[0], "outputs": DECODER[1]},
        "decode": saved.decode.model_dump(),
    }
