"""Training speed beside what people would pick instead: torch.nn.Transformer and Hugging Face's Marian.

    python benchmarks/train_speed.py [--json] [--presets tiny,small,base] [--starts 3] [--rounds 2] [--steps 8]

Each contender trains in a process of its own, so that its peak memory is its own; they take turns, one at a time, so
that whatever else the machine does falls on all of them alike. A process keeps a pace of its own, so each is started
several times. See README.md beside this file.
"""

import argparse
import itertools
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from train_batches import batches_of

from regard.config.presets import preset
from regard.config.run import Config
from regard.config.special_tokens import BOS, EOS, PAD

CONTENDERS = ("regard", "torch", "huggingface")
GEMM_SIZE = 2048
TURN = 4.5e11  # operations of regard's in a turn, if --steps does not say: some seconds, so that the caches fill anew

Step = Callable[[Tensor, Tensor], float]  # one update of the weights; returns the loss


# The contenders: each gives its parameters' count and one step.


def regard_step(config: Config) -> tuple[int, Step]:
    """What `regard train` does with a batch, all of it."""
    from regard.data.batches import START, Batch, BatchPlan
    from regard.data.batches import StepBatches as Group
    from regard.train.distributed import World
    from regard.train.step import Trainer

    trainer = Trainer(config.model, config.train, World(0, 1, torch.device("cpu")))
    numbers = itertools.count(1)

    def step(source: Tensor, target: Tensor) -> float:
        lengths = ((source != PAD).sum(1).numpy() - 1, (target != PAD).sum(1).numpy() - 2)  # as a plan counts them
        plan = BatchPlan(START, START, np.zeros(len(source), int), np.arange(len(source)), *lengths)
        group = Group((Batch(plan, source, target),), START, START, plan.source_tokens, plan.target_tokens)
        return trainer.update(group, next(numbers)).loss / plan.target_tokens

    return sum(parameter.numel() for parameter in trainer.parameters.values()), step


class TorchModel(nn.Module):
    """torch.nn.Transformer with what it lacks: embeddings (tied), positions and their dropout."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        from regard.model.positions import sinusoids

        c = config.model
        self.embedding = nn.Embedding(c.vocabulary, c.d_model, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=c.d_model**-0.5)
        self.register_buffer("positions", sinusoids(0, 512, c.d_model))
        self.dropout = nn.Dropout(c.dropout)
        self.transformer = nn.Transformer(
            c.d_model, c.heads, c.encoder_layers, c.decoder_layers, c.d_ff, c.dropout, batch_first=True
        )

    def embed(self, tokens: Tensor) -> Tensor:
        scaled = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(scaled + self.positions[: tokens.shape[1]])

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        length = target.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool).triu(1)
        features = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=causal,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_is_causal=True,
        )
        return F.linear(features, self.embedding.weight)


def torch_step(config: Config) -> tuple[int, Step]:
    model = TorchModel(config).train()
    return plain_step(model, model, config)


def huggingface_step(config: Config) -> tuple[int, Step]:
    from transformers import MarianConfig, MarianMTModel

    c = config.model
    marian = MarianConfig(
        vocab_size=c.vocabulary,
        d_model=c.d_model,
        encoder_layers=c.encoder_layers,
        decoder_layers=c.decoder_layers,
        encoder_ffn_dim=c.d_ff,
        decoder_ffn_dim=c.d_ff,
        encoder_attention_heads=c.heads,
        decoder_attention_heads=c.heads,
        activation_function="relu",
        dropout=c.dropout,
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
        use_cache=False,
    )
    model = MarianMTModel._from_config(marian, attn_implementation="sdpa").train()

    def logits(source: Tensor, target: Tensor) -> Tensor:
        return model(input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=target).logits

    return plain_step(model, logits, config)


def plain_step(model: nn.Module, logits: Callable[[Tensor, Tensor], Tensor], config: Config) -> tuple[int, Step]:
    """The step as it is usually written."""
    train = config.train
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(train.beta1, train.beta2), eps=train.epsilon)

    def step(source: Tensor, target: Tensor) -> float:
        adam.zero_grad()
        scores = logits(source, target[:, :-1])
        loss = F.cross_entropy(
            scores.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD, label_smoothing=train.label_smoothing
        )
        loss.backward()
        adam.step()
        return loss.item()

    return sum(p.numel() for p in model.parameters() if p.requires_grad), step


STEPS = {"regard": regard_step, "torch": torch_step, "huggingface": huggingface_step}


# The worker: a process that takes the steps it is told to, and says how long they took.


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(contender: str, name: str, data: Path) -> None:
    torch.manual_seed(0)
    config = preset(name)
    arrays = np.load(data)
    pairs = [
        [torch.from_numpy(arrays[f"{i}.{side}"]) for side in ("source", "target")] for i in range(len(arrays) // 2)
    ]
    parameters, step = STEPS[contender](config)
    answer({"parameters": parameters, "before": peak_megabytes()})
    for line in sys.stdin:
        started, cpu = time.perf_counter(), time.process_time()
        for number in json.loads(line):
            loss = step(*pairs[number % len(pairs)])
        answer({"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu, "loss": loss})
    answer({"peak": peak_megabytes()})


def gemm_work() -> None:
    a, b, out = torch.rand(3, GEMM_SIZE, GEMM_SIZE)
    answer({})
    for _ in sys.stdin:
        started = time.perf_counter()
        for _ in range(8):
            torch.mm(a, b, out=out)
        answer({"seconds": (time.perf_counter() - started) / 8})
    answer({})


def answer(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


class Worker:
    """A contender's process, seen from outside."""

    def __init__(self, *arguments: str) -> None:
        command = self.command(*arguments)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.about = self.read()

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, __file__, "--worker", *arguments]

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a worker ended with {self.process.wait()}; its message is above")
        return json.loads(line)

    def run(self, numbers: list[int]) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(numbers) + "\n")
        self.process.stdin.flush()
        return self.read()

    def end(self) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.close()
        last = self.read()
        self.process.wait()
        return last


# The race.


def race(
    name: str, contenders: tuple[str, ...], starts: int, rounds: int, steps: int | None
) -> tuple[dict[str, Any], list[float]]:
    """All contenders over the same batches, in turns. Also the seconds that a GEMM took in between."""
    config = preset(name)
    corpus, data = batches_of(config.model.vocabulary)
    every = amount(config, data, list(range(len(data))))
    steps = steps or max(1, round(TURN / (every["flops"] / len(data))))
    rows: dict[str, list[dict[str, Any]]] = {contender: [] for contender in contenders}
    ends: dict[str, list[dict[str, Any]]] = {contender: [] for contender in contenders}
    gemm, gemm_seconds = Worker("gemm"), []
    gemm.run([0])  # its first is cold
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "batches.npz"
        np.savez(path, **{f"{i}.{side}": array for i, batch in enumerate(data) for side, array in batch.items()})
        for start in range(starts):
            workers = {contender: Worker(contender, name, str(path)) for contender in contenders}
            for number in range(start * rounds - 1, (start + 1) * rounds):
                numbers = [(number * steps + i) % len(data) for i in range(steps)]
                for contender in contenders[number % len(contenders) :] + contenders[: number % len(contenders)]:
                    turn = {**workers[contender].run(numbers), **amount(config, data, numbers)}
                    if number >= start * rounds:  # the first turn of a process warms it up
                        rows[contender].append(turn)
                gemm_seconds.append(gemm.run([0])["seconds"])
            for contender, worker in workers.items():
                ends[contender].append({**worker.about, **worker.end()})
    gemm.end()
    speeds = {c: [row["tokens"] / row["seconds"] for row in rows[c]] for c in contenders}
    ratios = {
        peer: [round(ours / theirs, 2) for ours, theirs in zip(speeds["regard"], speeds[peer], strict=True)]
        for peer in contenders
        if peer != "regard"
    }
    return {
        **{contender: round(statistics.median(speeds[contender])) for contender in contenders},
        "ratio": min(map(statistics.median, ratios.values()), default=None),
        "ratios": ratios,
        "gflops": {
            c: round(statistics.median(row["flops"] / row["seconds"] for row in rows[c]) / 1e9, 1) for c in contenders
        },
        "per_cpu_second": {
            c: round(statistics.median(row["tokens"] / row["cpu"] for row in rows[c])) for c in contenders
        },
        "memory": {c: round(max(end["peak"] for end in ends[c])) for c in contenders},
        "memory_before": {c: round(max(end["before"] for end in ends[c])) for c in contenders},
        "parameters": {c: ends[c][0]["parameters"] for c in contenders},
        "loss": {c: round(rows[c][-1]["loss"], 3) for c in contenders},
        "corpus": corpus,
    }, gemm_seconds


def amount(config: Config, data: list[dict[str, np.ndarray]], numbers: list[int]) -> dict[str, int]:
    """Source and target tokens of some batches without padding, and the operations that training on them needs."""
    from regard.model.cost import forward_flops

    tokens = flops = 0
    for number in numbers:
        lengths = [(data[number][side] != PAD).sum(1) for side in ("source", "target")]
        for source, target in zip(*lengths, strict=True):
            tokens += int(source) + int(target) - 1
            flops += 3 * forward_flops(config.model, int(source), int(target) - 1)
    return {"tokens": tokens, "flops": flops}


def table(report: dict[str, Any]) -> Iterator[str]:
    yield f"{report['machine']}; torch {report['torch']}, {report['threads']} threads"
    yield f"fp32 GEMM ({GEMM_SIZE} cubed): {report['gemm_gflops']:.0f} GFLOP/s"
    yield f"{'preset':8}{'contender':13}{'tokens/s':>10}{'of GEMM':>9}{'peak MB':>9}{'ratio':>8}"
    for name in report["presets"]:
        row = report[name]
        for contender in row["gflops"]:
            ratio = f"{row['ratio']:.2f}" if contender == "regard" and row["ratio"] else ""
            share = f"{row['share_of_gemm'][contender]:.0%}"
            yield f"{name:8}{contender:13}{row[contender]:>10,}{share:>9}{row['memory'][contender]:>9,}{ratio:>8}"


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--presets", default="tiny,small,base")
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--starts", type=int, default=3, help="times that each contender's process is started anew")
    parser.add_argument("--rounds", type=int, default=2, help="turns of each process; the median of all is reported")
    parser.add_argument("--steps", type=int, help="steps in a turn; default: as many as take some seconds")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of each process")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)  # the workers inherit it
    if arguments.worker:
        kind, *rest = arguments.worker
        return gemm_work() if kind == "gemm" else work(kind, rest[0], Path(rest[1]))
    names, contenders = arguments.presets.split(","), tuple(arguments.contenders.split(","))
    rows, gemm_seconds = {}, []
    for name in names:
        rows[name], seconds = race(name, contenders, arguments.starts, arguments.rounds, arguments.steps)
        gemm_seconds += seconds
    gemm = 2 * GEMM_SIZE**3 / statistics.median(gemm_seconds) / 1e9
    for row in rows.values():
        row["share_of_gemm"] = {contender: round(rate / gemm, 3) for contender, rate in row["gflops"].items()}
    about = {"machine": f"{processor()}, {os.cpu_count()} cores", "torch": torch.__version__}
    report = {**rows, "gemm_gflops": round(gemm, 1), **about, "threads": torch.get_num_threads(), "presets": names}
    print(json.dumps(report, indent=2) if arguments.json else "\n".join(table(report)))
    return None


if __name__ == "__main__":
    main()
