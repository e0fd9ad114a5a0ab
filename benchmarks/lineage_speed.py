"""Training speed of the models before the Transformer: our LSTM beside a plain one, and ConvS2S beside the Transformer.

    python benchmarks/lineage_speed.py [--json] [--rounds 5] [--steps 6] [--threads 2]

As in train_speed.py, each contender trains in a process of its own on the same batches, and they take turns. See
README.md beside this file.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
import train_speed
from torch import Tensor, nn
from train_batches import batches_of
from train_speed import GEMM_SIZE, Step, Worker, amount, plain_step, processor

from regard.config.presets import preset
from regard.config.run import Config
from regard.config.special_tokens import PAD

CONTENDERS = {  # by name: who makes the step, and of which preset
    "lstm-attention": ("regard", "lstm-attention"),
    "torch.nn.LSTM": ("torch-lstm", "lstm-attention"),
    "convs2s": ("regard", "convs2s"),
    "transformer": ("regard", "tiny"),
}
RATIOS = {"lstm": ("lstm-attention", "torch.nn.LSTM"), "convs2s": ("convs2s", "transformer")}
STEPS = 6  # in a turn


class TorchLSTM(nn.Module):
    """An encoder and a decoder with attention as they are usually written: padded batches, teacher forcing, nn.LSTM.

    It has our model's matrices, and reads padding on the way back, as such models do.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        c = config.model
        self.embedding = nn.Embedding(c.vocabulary, c.d_model, padding_idx=PAD)
        self.dropout = nn.Dropout(c.dropout)
        self.encoder = nn.LSTM(c.d_model, c.d_model // 2, c.encoder_layers, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(c.d_model, c.d_model, c.decoder_layers, batch_first=True)
        self.bridge = nn.Linear(c.d_model, 2 * c.d_model)
        self.combine = nn.Linear(2 * c.d_model, c.d_model)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        encoded, (last, _) = self.encoder(self.dropout(self.embedding(source)))
        begin = torch.tanh(self.bridge(torch.cat((last[-2], last[-1]), dim=1)))
        state = tuple(part.contiguous()[None] for part in begin.chunk(2, dim=1))
        decoded, _ = self.decoder(self.dropout(self.embedding(target)), state)
        scores = decoded @ encoded.transpose(1, 2)
        weights = scores.masked_fill((source == PAD)[:, None], -torch.inf).softmax(-1)
        features = torch.tanh(self.combine(torch.cat((weights @ encoded, decoded), dim=2)))
        return F.linear(self.dropout(features), self.embedding.weight)


def torch_lstm_step(config: Config) -> tuple[int, Step]:
    model = TorchLSTM(config).train()
    return plain_step(model, model, config)


train_speed.STEPS["torch-lstm"] = torch_lstm_step


class Contender(Worker):
    """The same, in a process that knows these contenders."""

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, __file__, "--worker", *arguments]


def race(rounds: int, steps: int) -> tuple[dict[str, Any], list[float]]:
    """All contenders over the same batches, in turns. Also the seconds that a GEMM took in between."""
    corpus, data = batches_of(preset("tiny").model.vocabulary)
    names = tuple(CONTENDERS)
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "batches.npz"
        np.savez(path, **{f"{i}.{side}": array for i, batch in enumerate(data) for side, array in batch.items()})
        workers = {name: Contender(*CONTENDERS[name], str(path)) for name in names}
        gemm, gemm_seconds = Worker("gemm"), []
        times: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for number in range(-1, rounds):
            numbers = [(number * steps + i) % len(data) for i in range(steps)]
            for name in names[number % len(names) :] + names[: number % len(names)]:
                work = amount(preset(CONTENDERS[name][1]), data, numbers)
                times[name].append({**workers[name].run(numbers), **work})
            gemm_seconds.append(gemm.run([0])["seconds"])
        gemm.end()
        ends = {name: worker.end() for name, worker in workers.items()}
    kept = {name: rows[1:] for name, rows in times.items()}  # the first round warms up
    speeds = {name: statistics.median(row["tokens"] / row["seconds"] for row in rows) for name, rows in kept.items()}
    return {
        "tokens_per_second": {name: round(speed) for name, speed in speeds.items()},
        **{f"{ratio}_ratio": round(speeds[ours] / speeds[theirs], 3) for ratio, (ours, theirs) in RATIOS.items()},
        "gflops": {
            name: round(statistics.median(row["flops"] / row["seconds"] for row in rows) / 1e9, 1)
            for name, rows in kept.items()
        },
        "per_cpu_second": {
            name: round(statistics.median(row["tokens"] / row["cpu"] for row in rows)) for name, rows in kept.items()
        },
        "memory": {name: round(end["peak"]) for name, end in ends.items()},
        "parameters": {name: worker.about["parameters"] for name, worker in workers.items()},
        "loss": {name: round(rows[-1]["loss"], 3) for name, rows in kept.items()},
        "corpus": corpus,
    }, gemm_seconds[1:]


def table(report: dict[str, Any]) -> Iterator[str]:
    yield f"{report['machine']}; torch {report['torch']}, {report['threads']} threads"
    yield f"fp32 GEMM ({GEMM_SIZE} cubed): {report['gemm_gflops']:.0f} GFLOP/s"
    yield f"{'contender':16}{'parameters':>12}{'tokens/s':>10}{'of GEMM':>9}{'peak MB':>9}"
    for name, speed in report["tokens_per_second"].items():
        share, memory = report["share_of_gemm"][name], report["memory"][name]
        yield f"{name:16}{report['parameters'][name]:>12,}{speed:>10,}{share:>9.0%}{memory:>9,}"
    for ratio, (ours, theirs) in RATIOS.items():
        yield f"{ours} / {theirs}: {report[f'{ratio}_ratio']:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender; the median is reported")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps in a turn")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of each process")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)  # the workers inherit it
    if arguments.worker:
        kind, name, data = arguments.worker
        return train_speed.work(kind, name, Path(data))
    report, gemm_seconds = race(arguments.rounds, arguments.steps)
    gemm = 2 * GEMM_SIZE**3 / statistics.median(gemm_seconds) / 1e9
    report["share_of_gemm"] = {name: round(rate / gemm, 3) for name, rate in report["gflops"].items()}
    about = {"machine": f"{processor()}, {os.cpu_count()} cores", "torch": torch.__version__}
    report |= {"gemm_gflops": round(gemm, 1), **about, "threads": torch.get_num_threads()}
    print(json.dumps(report, indent=2) if arguments.json else "\n".join(table(report)))
    return None


if __name__ == "__main__":
    main()
