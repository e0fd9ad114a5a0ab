"""Load the compiled library with ctypes and declare its functions."""

import ctypes
import os
from ctypes import POINTER, c_char_p, c_double, c_float, c_int32, c_int64, c_void_p
from functools import cache
from pathlib import Path

from regard.engines.native.build import LIBRARY
from regard.errors import UserError

ABI = 4
ISAS = ("auto", "amx-int8", "avx512-vnni", "avx2", "plain")
PATH_VARIABLE, ISA_VARIABLE = "REGARD_NATIVE_LIBRARY", "REGARD_NATIVE_ISA"
MESSAGE = 512  # bytes of an error message
Progress = ctypes.CFUNCTYPE(c_int32, c_int32)


class Config(ctypes.Structure):
    """RegardConfig of source/model/model.h."""

    _fields_ = [
        *((name, c_int32) for name in ("source_vocabulary", "vocabulary", "encoder_layers", "decoder_layers")),
        *((name, c_int32) for name in ("d_model", "d_ff", "heads", "d_k", "d_v", "positions", "bounded", "additive")),
        *((name, c_int32) for name in ("rotary", "pre_norm", "activation", "share_embeddings", "tie_projection")),
        ("int8", c_int32),
        ("attention_scale", c_float),
    ]


class Tensor(ctypes.Structure):
    """RegardTensor of source/model/model.h."""

    _fields_ = [("data", c_void_p), ("rows", c_int64), ("columns", c_int64)]


class SearchOptions(ctypes.Structure):
    """RegardOptions of source/c_api.h."""

    _fields_ = [
        *((name, c_int32) for name in ("beam", "n_best", "extra_length", "penalty", "scored", "batch_tokens")),
        ("alpha", c_double),
        ("no_repeat", c_int32),
    ]


class Rules(ctypes.Structure):
    """RegardRules of source/c_api.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("prefix", "required")),
        *((name, c_int32) for name in ("prefix_length", "required_length")),
    ]


class Found(ctypes.Structure):
    """RegardFound of source/c_api.h."""

    _fields_ = [
        *((name, c_int64) for name in ("sources", "hypotheses", "tokens")),
        *((name, POINTER(c_int32)) for name in ("counts", "lengths", "ids")),
        *((name, POINTER(c_double)) for name in ("scores", "log_probabilities", "token_scores")),
    ]


class Unavailable(Exception):
    """The native engine can't be used here; the message says why."""


@cache
def library() -> ctypes.CDLL:
    """Return the library with its functions declared; raise Unavailable if it is missing or of another version."""
    path = Path(os.environ.get(PATH_VARIABLE) or LIBRARY)
    if not path.is_file():
        raise Unavailable("it was not compiled when regard was installed, as there was no C++ compiler")
    try:
        loaded = ctypes.CDLL(str(path))
        version = loaded.regard_native_abi()
    except (OSError, AttributeError) as error:
        raise Unavailable(f"its library can't be loaded ({error})") from None
    if version != ABI:
        raise Unavailable("its library was compiled by another version of regard; install regard again")
    message = (c_char_p, c_int64)
    loaded.regard_native_isa.restype, loaded.regard_native_isa.argtypes = c_char_p, (c_char_p,)
    loaded.regard_native_create.restype = c_void_p
    loaded.regard_native_create.argtypes = (
        *(POINTER(Config), POINTER(Tensor), c_int64, c_char_p, c_int32),
        *message,
    )
    loaded.regard_native_free.restype, loaded.regard_native_free.argtypes = None, (c_void_p,)
    loaded.regard_native_search.restype = POINTER(Found)
    loaded.regard_native_search.argtypes = (
        *(c_void_p, c_void_p, c_void_p, c_int64, POINTER(Rules), POINTER(SearchOptions), Progress),
        *message,
    )
    loaded.regard_native_free_found.restype, loaded.regard_native_free_found.argtypes = None, (POINTER(Found),)
    loaded.regard_native_attention.argtypes = (
        *(c_void_p, c_void_p, c_int64, c_void_p, c_int64, c_int32, c_void_p),
        *message,
    )
    loaded.regard_native_product.argtypes = (
        *(c_char_p, c_void_p, c_int64, c_void_p, c_void_p, c_int64, c_int64, c_int32, c_int32),
        *(c_void_p, POINTER(c_double)),
    )
    return loaded


def isa() -> str:
    """Return the instruction set in use: the best available, or the one in $REGARD_NATIVE_ISA."""
    wanted = os.environ.get(ISA_VARIABLE) or "auto"
    if wanted not in ISAS:
        raise UserError(f"{ISA_VARIABLE} is {wanted!r}, but must be one of {', '.join(ISAS)}; change or unset it")
    found: bytes | None = library().regard_native_isa(wanted.encode())
    if found is None:
        raise UserError(f"{ISA_VARIABLE} is {wanted}, which this processor does not have; unset it")
    return found.decode()
