"""Tensors in JSON that a page can read at once: 16 bits a number, in base64.

{"shape": [2, 3], "low": 0.0, "high": 1.0, "data": "…"}: unsigned little-endian integers n, each of which stands for
low + (high - low) · n / 65535. So an attention weight is right to 0.00001, in less than half the room of its digits.
"""

from base64 import b64encode
from typing import Any

import torch
from torch import Tensor

STEPS = 65_535


def packed(values: Tensor, low: float = 0.0, high: float = 1.0) -> dict[str, Any]:
    """Values between low and high, for JSON."""
    whole = ((values.double() - low) / (high - low) * STEPS).round().clamp(0, STEPS).to(torch.int32)
    data = whole.contiguous().cpu().numpy().astype("<u2").tobytes()
    return {"shape": list(values.shape), "low": low, "high": high, "data": b64encode(data).decode()}
