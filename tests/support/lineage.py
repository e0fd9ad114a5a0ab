"""A lineage of four small models."""

from pathlib import Path

from tests.support.experiments import Watched

from regard.data.prepared import Prepared
from regard.paper.experiment import sample_of
from regard.paper.lineage import Lineage, Outcomes, run_lineage

SHORT = {"steps": 6, "batch_tokens": 150, "warmup": 4, "checkpoint_every": 2, "log_every": 2}
SET = {"model": {"d_model": 32}, "train": {**SHORT, "average_last": 1, "keep_last": 1}}
SOME = Lineage(models=("tiny", "rnn", "lstm-attention", "feedforward"), set=SET)


def run(data: Prepared, out: Path, watched: Watched, *wanted: str, fresh: bool = False) -> Outcomes:
    return run_lineage(SOME, wanted, data, out, sample_of(data), watched, watched.warn, fresh=fresh)
