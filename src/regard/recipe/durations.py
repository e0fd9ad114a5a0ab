"""Durations as people write them: 90s, 30m, 1.5h."""

import math
import re

from regard.errors import UserError

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])[a-z]*", re.ASCII | re.IGNORECASE)
LEAST = 10.0  # seconds


def seconds(text: str) -> float:
    """Parse a duration such as `90s`, `30m`, `1.5h` or `1h 30m`; a bare number has no unit, so it is rejected."""
    parts = list(_DURATION.finditer(text))
    if not parts or _DURATION.sub("", text).strip():
        raise UserError(f"{text!r} is not a time; write it like 90s, 30m, 1.5h or 2d")
    found = math.fsum(float(part[1]) * _SECONDS[part[2].lower()] for part in parts)
    if found < LEAST:
        raise UserError(f"{text!r} is too short to train anything; give at least {LEAST:.0f}s")
    return found


def shown(duration: float) -> str:
    """Format seconds: `45 s`, `12 min`, `3.5 h`."""
    if duration < 100:
        return f"{duration:.0f} s"
    return f"{duration / 60:.0f} min" if duration < 5400 else f"{duration / 3600:.1f} h"
