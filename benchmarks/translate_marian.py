"""A model of regard in the format of Marian itself, for translate_speed.py: `pip install pymarian`, 600 MB.

Marian has sinusoids of its own (other frequencies) and begins an output with zeros in place of BOS. A model that copies
does so with either; a trained one does not, so only the presets' shapes are raced. The projection is not tied to the
embedding, since Marian would not quantise it then.

Shapes: V tokens, D = d_model.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

PROJECTIONS = {"query": "q", "key": "k", "value": "v", "output": "o"}
QUANTISED = "packed8avx512"
BEST = "--cpu-threads {threads} --maxi-batch 1000 --maxi-batch-sort src --mini-batch {size}"


def write_marian(model_folder: Path, out: Path) -> None:
    """Write the model as float32, and packed in 8 bits."""
    from regard.config.model import TransformerConfig
    from regard.exchange.to_huggingface import inexpressible
    from regard.saved.folder import as_arrays, load_model

    saved = load_model(model_folder)
    config = saved.config
    reason = inexpressible(config)
    assert reason is None and isinstance(config, TransformerConfig), reason
    out.mkdir()
    (out / "vocabulary.spm").write_bytes(saved.vocabularies[0].content)
    found = _weights(config, as_arrays(saved.model.state_dict()))
    weights = {name: np.ascontiguousarray(weight) for name, weight in found}
    described = yaml.safe_dump(_config(config), default_flow_style=False).encode() + b"\0"
    np.savez(out / "model.npz", **weights, **{"special:model.yml": np.frombuffer(described, np.int8)})
    convert = ["convert", "-f", str(out / "model.npz"), "-t", str(out / "model.bin"), "-g", QUANTISED]
    subprocess.run([sys.executable, "-m", "pymarian", *convert], check=True, capture_output=True)


def _weights(config: Any, ours: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield Marian's parameters: vectors are rows, and a matrix multiplies from the right."""
    from regard.exchange.marian import halves

    order_D = halves(config.d_model).numpy()

    def vector(name: str, *, writes: bool) -> Any:
        return ours[name][order_D][None] if writes else ours[name][None]

    def linear(name: str, weight: str, bias: str, *, writes: bool) -> Iterator[tuple[str, Any]]:
        matrix = ours[f"{name}.weight"]
        yield weight, (matrix[order_D] if writes else matrix[:, order_D]).T
        yield bias, vector(f"{name}.bias", writes=writes)

    def norm(name: str, prefix: str) -> Iterator[tuple[str, Any]]:
        yield f"{prefix}_ln_scale", vector(f"{name}.norm.weight", writes=True)
        yield f"{prefix}_ln_bias", vector(f"{name}.norm.bias", writes=True)

    embedding_VD = ours["embedding_VD"][:, order_D]
    yield "Wemb", embedding_VD
    yield "decoder_ff_logit_out_W", embedding_VD.T
    yield "decoder_ff_logit_out_b", np.zeros((1, config.vocabulary), np.float32)
    for stack, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for layer in range(layers):
            mine, theirs = f"{stack}.{layer}", f"{stack}_l{layer + 1}"
            attentions = {"attention": "self"} | ({"cross": "context"} if stack == "decoder" else {})
            for part, name in attentions.items():
                for projection, letter in PROJECTIONS.items():
                    places = f"{theirs}_{name}_W{letter}", f"{theirs}_{name}_b{letter}"
                    yield from linear(f"{mine}.{part}.{projection}", *places, writes=projection == "output")
                yield from norm(f"{mine}.around_{part}", f"{theirs}_{name}_Wo")
            yield from linear(f"{mine}.feed_forward.inner", f"{theirs}_ffn_W1", f"{theirs}_ffn_b1", writes=False)
            yield from linear(f"{mine}.feed_forward.outer", f"{theirs}_ffn_W2", f"{theirs}_ffn_b2", writes=True)
            yield from norm(f"{mine}.around_feed_forward", f"{theirs}_ffn_ffn")


def _config(config: Any) -> dict[str, Any]:
    return {
        "type": "transformer",
        "version": "v1.12.0",
        "input-types": ["sequence", "sequence"],
        "dim-vocabs": [config.vocabulary, config.vocabulary],
        "dim-emb": config.d_model,
        "enc-depth": config.encoder_layers,
        "dec-depth": config.decoder_layers,
        "transformer-heads": config.heads,
        "transformer-dim-ffn": config.d_ff,
        "transformer-decoder-dim-ffn": config.d_ff,
        "transformer-ffn-depth": 2,
        "transformer-decoder-ffn-depth": 2,
        "transformer-ffn-activation": "relu",
        "transformer-preprocess": "",
        "transformer-postprocess": "dan",
        "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": "",
        "transformer-decoder-autoreg": "self-attention",
        "transformer-no-projection": False,
        "transformer-no-affine": False,
        "transformer-rnn-projection": False,
        "transformer-depth-scaling": False,
        "transformer-no-bias": False,
        "transformer-train-position-embeddings": False,
        "transformer-tied-layers": [],
        "transformer-guided-alignment-layer": "last",
        "transformer-pool": False,
        "transformer-aan-depth": 2,
        "transformer-aan-activation": "swish",
        "transformer-dim-aan": 2048,
        "transformer-aan-nogate": False,
        "tied-embeddings": False,
        "tied-embeddings-src": True,
        "tied-embeddings-all": False,
        "ulr": False,
        "lemma-dim-emb": 0,
        "factors-combine": "sum",
        "factors-dim-emb": 0,
        "output-omit-bias": False,
        "right-left": False,
        "skip": False,
        "layer-normalization": False,
    }


def with_marian(folder: Path, threads: int) -> tuple[list[Any], Any]:
    """Marian's own program in this process; it reads and writes text."""
    from pymarian import Translator

    vocabulary = folder / "vocabulary.spm"
    options = (
        f"--models {folder / 'model.bin'} --vocabs {vocabulary} {vocabulary} --normalize 0.6 --quiet --workspace 256"
    )
    loaded: dict[tuple[int, int], Any] = {}

    def translate(texts: Sequence[str], beam: int, size: int) -> list[str]:
        if (beam, size) not in loaded:
            loaded.clear()
            own = BEST.format(threads=threads, size=size)
            loaded[beam, size] = Translator(f"{options} {own} --beam-size {beam}")
        return list(loaded[beam, size].translate(list(texts)))

    return [32, 64], translate
