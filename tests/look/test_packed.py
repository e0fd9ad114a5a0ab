"""Tensors in JSON."""

from base64 import b64decode

import numpy
import torch

from regard.look.packed import packed


def test_numbers_come_back_nearly_exact() -> None:
    torch.manual_seed(0)
    for low, high in ((0.0, 1.0), (-1.0, 1.0)):
        values = torch.rand(2, 3, 4) * (high - low) + low
        values[0, 0, 0], values[1, 2, 3] = low, high
        written = packed(values, low, high)
        whole = numpy.frombuffer(b64decode(written["data"]), "<u2").reshape(written["shape"])
        again = torch.tensor(written["low"] + (written["high"] - written["low"]) * whole / 65_535)
        torch.testing.assert_close(again.float(), values, atol=2e-5, rtol=0)
