"""Tensors in JSON as base64, 16 bits a number, which a page decodes quickly.

{"shape": [2, 3], "low": 0.0, "high": 1.0, "data": "…"}: unsigned little-endian integers n, each of which means
low + (high - low) · n / 65535. An attention weight is exact to 0.00001, in less than half the space of its digits.
"""

from base64 import b64encode
from typing import Any

import torch
from torch import Tensor

STEPS = 65_535


def packed(values: Tensor, low: float = 0.0, high: float = 1.0) -> dict[str, Any]:
    """Encode values between low and high for JSON."""
    whole = ((values.double() - low) / (high - low) * STEPS).round().clamp(0, STEPS).to(torch.int32)
    data = whole.contiguous().cpu().numpy().astype("<u2").tobytes()
    return {"shape": list(values.shape), "low": low, "high": high, "data": b64encode(data).decode()}
