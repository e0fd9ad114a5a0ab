"""Write the model card: a description of a model's data, settings and figures in its folder."""

from pathlib import Path

from regard import __version__
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.train.log import records


def card(config: Config, data: Prepared, mean_of: list[int], log: Path) -> str:
    """Return the model card of a trained model as Markdown: data, settings and validation figures."""
    source, target = (code or "?" for code in data.languages)
    pairs = sum(len(split) for split in data.train)
    vocabulary = f"{config.model.vocabulary:,} subwords"
    if config.task == "parsing":
        target = "trees"
        vocabulary = f"{config.model.source_vocabulary:,} subwords, and {config.model.vocabulary:,} symbols for trees"
    steps = ", ".join(map(str, mean_of))
    if config.train.moving_average is not None:
        origin = f"the moving average at step {steps}"
    elif len(mean_of) == 1:
        origin = f"the checkpoint of step {steps}"
    else:
        origin = f"the mean of the checkpoints of steps {steps}"
    if config.train.final == "best":
        origin += f", the best by {config.train.best} on the validation set"
    lines = [
        f"# {source} → {target}",
        "",
        f"A sequence-to-sequence model trained by regard {__version__}.",
        "",
        f"- Data: {pairs:,} pairs, vocabulary of {vocabulary}.",
        f"- Weights: {origin}.",
        "",
        "| setting | value |",
        "|---|---|",
        *(f"| model.{key} | {value} |" for key, value in config.model.model_dump().items()),
        *(f"| train.{key} | {value} |" for key, value in config.train.model_dump().items()),
    ]
    validations = [record for record in records(log) if record.get("event") == "validation"]
    if validations:
        figures = [key for key, value in validations[-1].items() if isinstance(value, float)]
        lines += ["", f"| step | {' | '.join(figures)} |", f"|---|{'---|' * len(figures)}"]
        for record in validations[-10:]:
            cells = (f"{record[key]:.4g}" if record.get(key) is not None else "" for key in figures)
            lines.append(f"| {record['step']} | {' | '.join(cells)} |")
        lines += ["", "Figures are of single checkpoints on the validation set; loss is smoothed, nll is not."]
        if "bleu_signature" in validations[-1]:
            lines += ["", f"BLEU is sacreBLEU's, {validations[-1]['bleu_signature']}."]
    return "\n".join(lines) + "\n"
