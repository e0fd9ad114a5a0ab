"""The computation of a model's confidence: weights over features of its search, stored beside the model."""

import math
from pathlib import Path
from typing import Annotated

from pydantic import Field

from regard.config.checked import Frozen, check
from regard.files import MANIFEST, read_json, read_manifest, sha256, write_json

FILE = "confidence.json"
FEATURES = ("mean_log_probability", "length_ratio", "length_difference", "repeated", "copied", "length")
Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e6, le=1e6)]
Numbers = Annotated[tuple[Number, ...], Field(min_length=len(FEATURES), max_length=len(FEATURES))]


class Calibration(Frozen):
    """A logistic regression of a sentence's chrF on features of its search."""

    features: tuple[str, ...] = FEATURES
    mean: Numbers
    scale: Numbers
    weights: Numbers
    bias: Number
    pairs: Annotated[int, Field(gt=0)]
    """Number of pairs that it was fitted on."""
    spearman: Number
    """Rank correlation of confidence and chrF on those pairs, each predicted without its own fifth of them."""

    def confidence(self, values: tuple[float, ...]) -> float:
        """Return the expected chrF of a sentence with these features, from 0 to 1."""
        rows = zip(values, self.mean, self.scale, self.weights, strict=True)
        logit = self.bias + sum((value - mean) / scale * weight for value, mean, scale, weight in rows)
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))


def read_calibration(folder: Path) -> Calibration | None:
    """Read a model's calibration; None if its manifest lists none."""
    if not (folder / FILE).is_file() or not (folder / MANIFEST).is_file() or FILE not in read_manifest(folder):
        return None
    found = check(Calibration, read_json(folder / FILE), str(folder / FILE))
    return found if found.features == FEATURES else None


def write_calibration(folder: Path, calibration: Calibration) -> None:
    """Write a model's calibration; if that is interrupted, the model has none, or the old one."""
    entries = read_manifest(folder)
    if entries.pop(FILE, None) is not None:
        write_json(folder / MANIFEST, {"files": entries})
    write_json(folder / FILE, calibration.model_dump(mode="json"))
    entry = {"size": (folder / FILE).stat().st_size, "sha256": sha256(folder / FILE)}
    write_json(folder / MANIFEST, {"files": dict(sorted({**entries, FILE: entry}.items()))})
