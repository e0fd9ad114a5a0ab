"""Report the lineage as tables: after equal steps, after equal time, and by sentence length."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.files import write_bytes, write_json
from regard.paper.experiment import Figures
from regard.paper.lineage import Moments, Outcomes, losses
from regard.paper.markdown import table
from regard.paper.plots import FEWEST, draw_lengths, draw_losses

ALONE = {"rnn": "rnn-attention", "lstm": "lstm-attention", "gru": "gru-attention"}


def write_lineage(out: Path, outcomes: Outcomes) -> dict[str, Any]:
    """Write lineage.json, lineage.md and the two figures; return the content of the first."""
    done = {name: found for name, found in outcomes.items() if isinstance(found, Moments)}
    first = next(iter(done.values())).steps
    report = {
        "seconds": first.seconds,
        "measured_on": first.measured_on,
        "signature": first.signature,
        "code": first.code,
        "models": {name: _entry(found) for name, found in outcomes.items()},
    }
    write_json(out / "lineage.json", report)
    write_bytes(out / "lineage.md", as_markdown(outcomes).encode())
    draw_lengths(out / "lineage-length.svg", {name: found.steps.by_length for name, found in done.items()})
    draw_losses(out / "lineage-time.svg", {name: losses(out / name) for name in done}, first.seconds)
    return report


def _entry(found: Moments | str) -> dict[str, Any]:
    if isinstance(found, str):
        return {"failed": found}
    hidden = {"config", "data", "sample", "signature", "measured_on", "code"}
    return {
        f"same_{moment}": {**figures.model_dump(exclude=hidden), "tokens_per_second": figures.tokens_per_second}
        for moment, figures in found._asdict().items()
    }


def as_markdown(outcomes: Outcomes) -> str:
    done = {name: found for name, found in outcomes.items() if isinstance(found, Moments)}
    first = next(iter(done.values())).steps
    lines = ["# The models before the Transformer, and the Transformer", ""]
    lines += [f"{name} failed: {found}" for name, found in outcomes.items() if isinstance(found, str)]
    lines += [
        f"The Transformer is `{next(iter(done))}`; the others have as many parameters and see the same data. Measured "
        f"on {first.measured_on}: PPL per token, and sacreBLEU's BLEU ({first.signature}). Code: {first.code}."
    ]
    lines += ["", f"## After the same steps, {first.step:,}", ""]
    lines += [_table({name: found.steps for name, found in done.items()})]
    lines += ["", f"## After the same time, {first.seconds / 60:.1f} minutes of training", ""]
    lines += [_table({name: found.time for name, found in done.items()})]
    lines += ["", "## BLEU by the words of the source, after the same steps", ""]
    lines += [_lengths({name: found.steps for name, found in done.items()}), ""]
    lines += fixed_context({name: found.steps for name, found in done.items()})
    return "\n".join(lines) + "\n"


def _table(models: Mapping[str, Figures]) -> str:
    heads = ["model", "parameters (M)", "steps", "minutes", "tokens/s", "PPL", "BLEU"]
    rows = [
        (
            name,
            f"{it.parameters / 1e6:.2f}",
            f"{it.step:,}",
            f"{it.seconds / 60:.1f}",
            f"{it.tokens_per_second:,.0f}",
            f"{it.perplexity:.2f}",
            f"{it.bleu:.1f}",
        )
        for name, it in models.items()
    ]
    return table(heads, rows)


def _lengths(models: Mapping[str, Figures]) -> str:
    groups = next(iter(models.values())).by_length
    rows: list[list[object]] = [["sentences", *(f"{bucket.sentences:,}" for bucket in groups)]]
    rows += [[name, *(f"{bucket.bleu:.1f}" for bucket in it.by_length)] for name, it in models.items()]
    return table(["words", *(bucket.words for bucket in groups)], rows)


def fixed_context(models: Mapping[str, Figures]) -> list[str]:
    """Compare, for each recurrent model, long sentences with a fixed context vector and with attention, in words."""
    return [
        f"- {_fall(alone, models[alone])}, and {_fall(attending, models[attending])}."
        for alone, attending in ALONE.items()
        if alone in models and attending in models
    ]


def _fall(name: str, figures: Figures) -> str:
    groups = [bucket for bucket in figures.by_length if bucket.sentences >= FEWEST] or figures.by_length
    first, last = groups[0], groups[-1]
    return f"{name} from {first.bleu:.1f} BLEU ({first.words} words) to {last.bleu:.1f} ({last.words})"
