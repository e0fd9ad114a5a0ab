"""Read and write the file of a model's weights as numpy arrays, stored as float32, float16 or int8.

int8: each row of a matrix is stored as integers q from -127 to 127 and a scale s, with w = q / s and s = 127 / max |w|.
CTranslate2 rounds in the same way, so it computes the same q. Vectors (biases, norms) stay in float32.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from regard.errors import UserError

Array = NDArray[Any]
Storage = Literal["float32", "float16", "int8"]
SCALE = ":scale"  # suffix of the name of a quantized matrix's scales


def write_weights(path: Path, weights: Mapping[str, Array], storage: Storage = "float32") -> None:
    try:
        save_file(_stored(weights, storage), path, metadata={"format": "pt"})
    except SafetensorError as error:  # it hides the system's error in its text
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error


def read_weights(path: Path, shapes: Mapping[str, list[int]] | None = None) -> dict[str, Array]:
    """Read weights as float32; names and shapes are compared with the file's header before anything is allocated."""
    try:
        with safe_open(path, framework="numpy") as file:
            names = file.keys()
            found = {name: list(file.get_slice(name).get_shape()) for name in names}
            plain = [name for name in found if not name.endswith(SCALE)]
            scales = {name + SCALE: found[name][:1] for name in plain if name + SCALE in found}
            _compare(found, {**(shapes or {name: found[name] for name in plain}), **scales}, path)
            weights = {
                name: _restored(
                    file.get_tensor(name), file.get_tensor(name + SCALE) if name + SCALE in scales else None
                )
                for name in plain
            }
    except (SafetensorError, OSError, TypeError) as error:
        raise UserError(f"{path}: not readable as safetensors ({error}); restore it from a copy") from None
    for name, weight in weights.items():
        if not np.isfinite(weight).all():
            raise UserError(f"{path}: {name} holds numbers that are not finite; restore it from a copy")
    return weights


def _compare(found: Mapping[str, list[int]], expected: Mapping[str, list[int]], path: Path) -> None:
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            raise UserError(
                f"{path}: {name} is {found.get(name, 'missing')} where config.json asks for "
                f"{expected.get(name, 'none')}; the two belong to different models"
            )


def _stored(weights: Mapping[str, Array], storage: Storage) -> dict[str, Array]:
    """Return weights in the type in which they are stored."""
    if storage != "int8":
        return {name: np.ascontiguousarray(weight, storage) for name, weight in weights.items()}
    arrays: dict[str, Array] = {}
    for name, weight in weights.items():
        if weight.ndim < 2:
            arrays[name] = np.ascontiguousarray(weight, np.float32)
        else:
            largest_N = np.abs(weight).reshape(len(weight), -1).max(1)
            scale_N = (127 / np.where(largest_N > 0, largest_N, 127)).astype(np.float32)
            arrays[name] = np.rint(weight * _beside(scale_N, weight)).astype(np.int8)
            arrays[name + SCALE] = scale_N
    return arrays


def _restored(weight: Array, scale_N: Array | None) -> Array:
    """Return a stored weight as float32."""
    weight = weight.astype(np.float32, copy=False)
    return weight if scale_N is None else weight / _beside(scale_N.astype(np.float32), weight)


def _beside(scale_N: Array, weight: Array) -> Array:
    return scale_N.reshape(-1, *[1] * (weight.ndim - 1))
