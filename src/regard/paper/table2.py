"""Table 2: translation quality and training cost, published and ours."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.config.presets import read
from regard.config.run import Config
from regard.data.prepared import DESCRIPTION, Prepared
from regard.errors import UserError
from regard.evaluate.aligned import read_aligned
from regard.evaluate.bleu import bleu, bleu_compound
from regard.model.cost import Cost, cost
from regard.paper.markdown import number, table
from regard.paper.published import published
from regard.saved.saved_model import read_saved
from regard.train.log import records
from regard.train.run import LOG, MODEL, RUN
from regard.translate.load import load
from regard.translate.sentences import one_line

PAIRS = ("en-de", "en-fr")


@dataclass(frozen=True)
class Ours:
    """A trained run as a row of Table 2."""

    run: str
    languages: str
    parameters: int
    steps: int
    tokens: int
    """Source and target tokens seen in training."""
    flops: float
    """Training cost: three forward passes over all tokens, computed for sentences of mean length."""
    bleu: float | None
    signature: str | None
    bleu_compound: float | None
    """BLEU with split compounds, as in the paper; only on a test set."""
    measured_on: str | None


def ours(run: Path, test: tuple[str, str] | None) -> Ours:
    """Return a run's training cost and its BLEU: on two files aligned by line, or the last in its log."""
    if not (run / LOG).is_file() or not (run / MODEL).is_dir():
        raise UserError(
            f"{run}: not the folder of a finished training run; name one in which `regard train` has made a model"
        )
    config = read(run / RUN)
    if config.task != "translation":
        raise UserError(f"{run}: learned {config.task}, and Table 2 is of translation; see `regard paper table4`")
    steps, tokens, scores = 0, 0, dict[str, Any]()
    for record in records(run / LOG):
        if record.get("event") == "train":
            steps, tokens = record["step"], record["tokens"]
        elif record.get("event") == "validation" and "bleu" in record:
            scores = {"bleu": record["bleu"], "signature": record["bleu_signature"]}
            scores |= {"measured_on": f"validation, step {record['step']:,}"}
    if test is not None:
        scores = _scores(run / MODEL, test)
    per_pair = _cost(config)
    flops = per_pair.training_flops * tokens / (per_pair.source_tokens + per_pair.target_tokens)
    languages = "-".join(code or "?" for code in read_saved(run / MODEL).languages)
    empty = dict.fromkeys(("bleu", "signature", "bleu_compound", "measured_on"))
    return Ours(str(run), languages, per_pair.parameters, steps, tokens, flops, **{**empty, **scores})


def _cost(config: Config) -> Cost:
    """Return the cost of a sentence pair of the data's mean lengths; without the data, of 25 and 25 tokens."""
    folder = Path(config.data or "")
    if config.data is None or not (folder / DESCRIPTION).is_file():
        return cost(config.model)
    return cost(config.model, *mean_lengths(Prepared.open(folder)))


def mean_lengths(data: Prepared) -> tuple[int, int]:
    """Return the mean number of source and target tokens, EOS included."""
    pairs = sum(split.kept for split in data.report.train)
    source, target = (sum(getattr(split, side).tokens for split in data.report.train) for side in ("source", "target"))
    return round(source / pairs) + 1, round(target / pairs) + 1


def _scores(model: Path, test: tuple[str, str]) -> dict[str, Any]:
    sources, references = read_aligned(test)
    lines = [one_line(found.text) for found in load(model).stream(sources)]
    score = bleu(lines, [references])
    compound = bleu_compound(lines, [references]).value
    return {
        "bleu": score.value,
        "signature": score.signature,
        "bleu_compound": compound,
        "measured_on": Path(test[0]).name,
    }


def report(runs: list[Ours]) -> dict[str, Any]:
    return {"published": [row.model_dump() for row in published().table2], "ours": [asdict(run) for run in runs]}


def as_markdown(runs: list[Ours]) -> str:
    """Return a table of the published rows and ours below them."""
    rows = [
        [row.model, *(number(row.bleu.get(pair), "g") for pair in PAIRS)]
        + [number(row.flops.get(pair), ".1e") for pair in PAIRS]
        for row in published().table2
    ]
    text = table(["newstest2014", "BLEU En-De", "BLEU En-Fr", "FLOPs En-De", "FLOPs En-Fr"], rows)
    if not runs:
        return text
    heads = [
        "ours",
        "languages",
        "parameters (M)",
        "steps",
        "tokens",
        "FLOPs",
        "BLEU",
        "compounds split",
        "measured on",
    ]
    found = [
        [
            run.run,
            run.languages,
            f"{run.parameters / 1e6:.2f}",
            f"{run.steps:,}",
            f"{run.tokens:.1e}",
            f"{run.flops:.1e}",
            number(run.bleu, ".2f"),
            number(run.bleu_compound, ".2f"),
            run.measured_on,
        ]
        for run in runs
    ]
    signatures = sorted({f"BLEU is sacreBLEU's: {run.signature}." for run in runs if run.signature is not None})
    return "\n".join([text, "", table(heads, found), *([""] if signatures else []), *signatures])
