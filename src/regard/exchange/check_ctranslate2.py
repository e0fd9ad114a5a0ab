"""Validation of a CTranslate2 export before its C++ reads it: every name, shape, type and setting is checked.

model.bin, with every string as its length (2 bytes), its letters and a NUL:

    version (4 bytes)  name of the specification  revision (4 bytes)  count (4 bytes)
    variable = name  rank (1 byte)  sizes (4 bytes each)  type (1 byte)  bytes (4 bytes)  data
    count (4 bytes)
    alias    = name  name of a variable
"""

import json
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from regard.config.model import TransformerConfig
from regard.config.special_tokens import BOS, EOS, UNK
from regard.errors import UserError
from regard.exchange.to_ctranslate2 import positions, specification
from regard.files import read_bytes, read_json

MODEL, SETTINGS, SHARED = "model.bin", "config.json", "shared_vocabulary.json"
APART = ("source_vocabulary.json", "target_vocabulary.json")
VOCABULARY_LIMIT = 64 << 20  # bytes
SPECIFICATION = b"TransformerSpec"
VARIABLES = 100_000
SIZES = {0: 4, 1: 1, 2: 2}  # bytes of a float32, int8, int16
FLOAT32, INT8 = 0, 1
SCALE = "_scale"  # suffix of the name of a quantised matrix

Found = tuple[tuple[int, ...], int, bytes]
"""The shape and the type of a variable, and the bytes of one that is a single number."""


def check_export(folder: Path, config: TransformerConfig, source: list[str], target: list[str]) -> None:
    """Raise UserError unless CTranslate2's own files in an export match the model's configuration."""
    _check_settings(folder / SETTINGS, target)
    expected = {SHARED: source} if source == target else dict(zip(APART, (source, target), strict=True))
    for name in sorted({path.name for path in folder.glob("*vocabulary.*")} | set(expected)):
        if name not in expected or _json(folder / name) != expected[name]:
            raise UserError(f"{folder / name}: is not the vocabulary of {folder}; export the model again")
    path = folder / MODEL
    try:
        with path.open("rb") as file:
            found = _variables(file, path.stat().st_size)
    except (ValueError, struct.error) as error:
        raise UserError(f"{path}: not a model that CTranslate2 wrote ({error}); export the model again") from None
    _check_variables(path, found, config)


def _json(path: Path) -> Any:
    try:
        return json.loads(read_bytes(path, VOCABULARY_LIMIT))
    except (ValueError, RecursionError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path}: not valid JSON ({error}); export the model again") from None


def _check_settings(path: Path, pieces: list[str]) -> None:
    """Check CTranslate2's settings, which vary with its version."""
    expected = {
        "add_source_bos": False,
        "add_source_eos": True,
        "bos_token": pieces[BOS],
        "decoder_start_token": pieces[BOS],
        "eos_token": pieces[EOS],
        "layer_norm_epsilon": 1e-5,
        "multi_query_attention": False,
        "unk_token": pieces[UNK],
    }
    found = read_json(path)
    same = isinstance(found, dict) and all(
        key in expected and type(value) is type(expected[key]) and value == expected[key]
        for key, value in found.items()
    )
    if not same or "decoder_start_token" not in found:
        raise UserError(f"{path}: not the settings of an export; export the model again")


def _variables(file: BinaryIO, size: int) -> dict[str, Found]:
    """Return the variables of a model.bin by name, aliases too; raise ValueError for an invalid format."""
    numbers = _Reader(file, size)
    numbers.take("I")
    if numbers.name() != SPECIFICATION.decode():
        raise ValueError("it is no Transformer")
    numbers.take("I")
    found: dict[str, Found] = {}
    for _ in range(numbers.count()):
        name, rank = numbers.name(), numbers.take("B")
        if rank > 2:
            raise ValueError(f"{name} has {rank} dimensions")
        shape = tuple(numbers.take("I") for _ in range(rank))
        kind, length = numbers.take("B"), numbers.take("I")
        if kind not in SIZES or math.prod(shape) * SIZES[kind] != length:
            raise ValueError(f"{name} is not as long as its shape says")
        content = numbers.skip(length, keep=not shape)
        found[name] = shape, kind, content
    for _ in range(numbers.count()):
        alias, name = numbers.name(), numbers.name()
        if name not in found:
            raise ValueError(f"{alias} is the name of nothing")
        for end in ("", SCALE):  # CTranslate2 creates both
            if name + end in found:
                found[alias + end] = found[name + end]
    if numbers.left:
        raise ValueError("it goes on after its end")
    return found


class _Reader:
    """Reader of numbers and strings from a file, never beyond its end."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file, self.left = file, size

    def take(self, kind: str) -> int:
        (number,) = struct.unpack(f"<{kind}", self.skip(struct.calcsize(kind), keep=True))
        return int(number)

    def count(self) -> int:
        number = self.take("I")
        if number > VARIABLES:
            raise ValueError(f"it has {number:,} variables")
        return number

    def name(self) -> str:
        content = self.skip(self.take("H"), keep=True)
        if not content.endswith(b"\0") or b"\0" in content[:-1]:
            raise ValueError("a name does not end")
        return content[:-1].decode()

    def skip(self, length: int, *, keep: bool) -> bytes:
        """Advance by so many bytes; return them if `keep`."""
        if length > self.left:
            raise ValueError("it is cut")
        self.left -= length
        if keep:
            return self.file.read(length)
        self.file.seek(length, 1)
        return b""


def _check_variables(path: Path, found: dict[str, Found], config: TransformerConfig) -> None:
    expected = dict(_shapes(config))
    for name, shape in expected.items():
        if name not in found or found[name][0] != shape:
            there = "missing" if name not in found else list(found[name][0])
            raise UserError(f"{path}: {name} is {there} where the model has {list(shape)}; export the model again")
        rounded = found[name][1] == INT8 and len(shape) == 2
        scale = found.get(name + SCALE)
        scaled = scale is not None and scale[:2] == (shape[:1], FLOAT32)
        if not (scaled if rounded else found[name][1] == FLOAT32 and scale is None):
            raise UserError(f"{path}: {name} has the wrong type of numbers; export the model again")
    scales = {name + SCALE for name in expected}
    numbers = _numbers(config)
    needed = {name for name in numbers if name.endswith(("/num_heads", "/pre_norm", "/activation"))}
    for name in sorted((found.keys() | needed) - expected.keys() - scales):
        if name not in found or found[name][0] or found[name][2] != numbers.get(name):
            raise UserError(f"{path}: {name} is not as the model has it; export the model again")


def _numbers(config: TransformerConfig) -> dict[str, bytes]:
    """Return the encoded settings among the variables."""
    variables = specification(config).variables().items()
    values = {name: np.int8(value) if isinstance(value, bool) else value for name, value in variables}
    return {name: value.tobytes() for name, value in values.items() if isinstance(value, np.generic)}


def _shapes(config: TransformerConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the shape of every matrix and vector of a model, by CTranslate2's names."""
    D, F, V = config.d_model, config.d_ff, config.vocabulary
    yield "encoder/embeddings_0/weight", (config.source_vocabulary or V, D)
    yield "decoder/embeddings/weight", (V, D)
    yield "decoder/projection/weight", (V, D)
    attention = {"self_attention": (3 * D, D)}
    cross = {"attention": (D, 2 * D, D)}
    for stack, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        yield f"{stack}/position_encodings/encodings", (positions(config), D)
        if config.norm == "pre":
            yield from _vectors(f"{stack}/layer_norm", D)
        for number in range(layers):
            parts = attention | (cross if stack == "decoder" else {})
            for part, rows in parts.items():
                yield from _vectors(f"{stack}/layer_{number}/{part}/layer_norm", D)
                for place, out in enumerate(rows):
                    yield f"{stack}/layer_{number}/{part}/linear_{place}/weight", (out, D)
                    yield f"{stack}/layer_{number}/{part}/linear_{place}/bias", (out,)
            yield from _vectors(f"{stack}/layer_{number}/ffn/layer_norm", D)
            for place, (out, into) in enumerate(((F, D), (D, F))):
                yield f"{stack}/layer_{number}/ffn/linear_{place}/weight", (out, into)
                yield f"{stack}/layer_{number}/ffn/linear_{place}/bias", (out,)


def _vectors(name: str, size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}/gamma", (size,)
    yield f"{name}/beta", (size,)
