"""The positional encoding of section 3.5, computed with numpy.

Shapes: T positions, D its size, I pairs of dimensions.
"""

import numpy as np
from numpy.typing import NDArray

TABLE = 1024  # positions computed once; later ones are computed when they occur


def sinusoid_table(start: int, stop: int, size: int) -> NDArray[np.float32]:
    """Return PE(pos, 2i) = sin(pos / 10000^(2i/size)), PE(pos, 2i+1) = cos(same), start <= pos < stop (section 3.5)."""
    position_T1 = np.arange(start, stop, dtype=np.float64)[:, None]
    angle_TI = position_T1 / 10_000.0 ** (np.arange(0, size, 2, dtype=np.float64) / size)
    table_TD = np.stack((np.sin(angle_TI), np.cos(angle_TI)), axis=-1).reshape(len(position_T1), -1)[:, :size]
    return np.ascontiguousarray(table_TD, np.float32)
