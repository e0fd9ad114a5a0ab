"""`regard train --train`: from pairs of texts to a measured model in one command."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.prepare_options import corpora
from regard.cli.terminal.progress import PhaseProgress

if TYPE_CHECKING:
    from regard.data.prepared import Prepared
    from regard.recipe.choices import Plan
    from regard.recipe.outcome import Outcome


def train_pairs(
    train: list[str],
    valid: list[str] | None,
    out: Path,
    texts: Mapping[str, Any],
    *,
    time: str | None,
    preset: str | None,
    assignments: list[str],
    fresh: bool,
    tensorboard: bool,
    as_json: bool,
) -> None:
    """Prepare, choose, train and test; print a table."""
    from regard.cli.terminal.watch import watch
    from regard.config.presets import settings
    from regard.recipe.train_pairs import begin, carry_out

    pairs, validation = corpora("--train", train, None, None), corpora("--valid", valid, None, None)
    with PhaseProgress() as progress:
        begun = begin(
            pairs, validation, out, texts,
            time=time, preset=preset, changes=settings(assignments), fresh=fresh, progress=progress,
        )  # fmt: skip
    sys.stderr.write(chosen(begun.data, begun.plan))
    with watch(begun.config.train, out, tensorboard=tensorboard) as observer:
        outcome = carry_out(begun, observer)
    typer.echo(json.dumps(outcome.as_dict(), ensure_ascii=False) if as_json else table(outcome))


def chosen(data: "Prepared", plan: "Plan") -> str:
    """Format what was chosen, and why, a line for each."""
    from regard.data.prepared import held_out_texts
    from regard.recipe.durations import shown

    report = data.report
    kept = sum(split.kept for split in report.train)
    test, valid = len(held_out_texts(data.directory)), report.valid.kept if report.valid else 0
    source, target = data.languages
    lines = {
        "languages": f"{source} to {target}"
        if source and target
        else "not known by the files' names; give --from-language and --to-language, which a server needs",
        "pairs": f"{kept:,} to train on, {valid:,} for validation, {test:,} for the test; split by source sentence",
        "vocabulary": f"{report.source_vocabulary:,} subwords"
        + ("" if data.config.shared else f", and {report.target_vocabulary:,} of the target")
        + ": room for the letters and for as many subwords as the text fills",
        **plan.reasons,
        "time": f"{shown(plan.seconds)}, test included",
    }
    return "".join(f"{name:<15}{line}\n" for name, line in lines.items())


def table(outcome: "Outcome") -> str:
    """Format the result as text."""
    from regard.recipe.outcome import USABLE

    steps = ", ".join(f"{step:,}" for step in outcome.steps)
    kind = "mean of the checkpoints of steps" if len(outcome.steps) > 1 else f"{outcome.final} checkpoint, of step"
    lines = [f"model     {outcome.model}: the {kind} {steps}"]
    planned = "" if outcome.trained >= outcome.planned else f" of {outcome.planned:,} that were planned"
    lines.append(f"steps     {outcome.trained:,}{planned}")
    lines.append(f"pairs     {outcome.pairs:,} trained on, {outcome.tested:,} in the test, which training never saw")
    for name, score in (("BLEU", outcome.bleu), ("chrF", outcome.chrf)):
        if score is not None:
            lines.append(f"{name:<10}{score.value:.2f}   {score.signature}")
    if outcome.chrf is not None and outcome.chrf.value < USABLE:
        lines.append(
            f"          chrF is below {USABLE:.0f}: most translations are wrong, so do not rely on this model yet"
        )
    lines.append(f"time      {outcome.minutes:.1f} minutes of training and validation")
    if outcome.examples:
        lines += ["", f"{len(outcome.examples)} of the test pairs"]
    for one in outcome.examples:
        lines += ["", f"  source     {one.source}", f"  model      {one.translation}", f"  reference  {one.reference}"]
    return "\n".join([*lines, "", "what would help", *(f"  {line}" for line in outcome.advice)])
