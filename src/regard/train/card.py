"""Write the model card: a description of a model's data, settings and figures in its folder."""

from pathlib import Path

from regard import __version__
from regard.config.run import Config
from regard.config.special_tokens import EOS
from regard.data.prepared import Prepared
from regard.train.final import Final
from regard.train.log import Record, records


def card(config: Config, data: Prepared, final: Final, log: Path) -> str:
    """Return the model card of a trained model as Markdown: data, settings and validation figures."""
    source, target = (code or "?" for code in data.languages)
    pairs = sum(len(split) for split in data.train)
    vocabulary = f"{config.model.vocabulary:,} subwords"
    if config.task == "parsing":
        target = "trees"
        vocabulary = f"{config.model.source_vocabulary:,} subwords, and {config.model.vocabulary:,} symbols for trees"
    if config.task == "labels":
        target = "labels"
        vocabulary = f"{config.model.source_vocabulary:,} subwords, and {config.model.vocabulary - EOS - 1:,} labels"
    lines = [
        f"# {source} → {target}",
        "",
        f"A model trained by regard {__version__} on {pairs:,} pairs.",
        "",
        f"regard {__version__}으로 문장 쌍 {pairs:,}개를 학습한 모델입니다.",
        "",
        f"- Data: {pairs:,} pairs, vocabulary of {vocabulary}.",
        f"- Weights: {_origin(final, config)}.",
        *(f"- On the validation set, {name}: {_scores(values)}." for name, values in _compared(final)),
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
        lines += [
            "",
            "Figures in this table are of single checkpoints on the validation set; loss is smoothed, nll is not.",
        ]
        for name, key in (("BLEU", "bleu_signature"), ("chrF", "chrf_signature")):
            if key in validations[-1]:
                lines += ["", f"{name} is sacreBLEU's, {validations[-1][key]}."]
    return "\n".join(lines) + "\n"


def _origin(final: Final, config: Config) -> str:
    """Say which checkpoints a model is made of."""
    steps = ", ".join(map(str, final.steps))
    if config.train.moving_average is not None:
        said = f"the moving average at step {steps}"
    elif len(final.steps) == 1:
        said = f"the checkpoint of step {steps}"
    else:
        said = f"the mean of the checkpoints of steps {steps}"
    return f"{said}, the best by {config.train.best} on the validation set" if final.name == "best" else said


def _compared(final: Final) -> list[tuple[str, Record]]:
    """Return the validation figures of the model that is written, then of the others."""
    own = [("this model", final.figures)] if final.figures else []
    return own + [(f"the {name} instead", values) for name, values in final.others.items()]


def _scores(figures: Record) -> str:
    shown = {"bleu": "BLEU", "chrf": "chrF", "perplexity": "perplexity"}
    return ", ".join(f"{name} {figures[key]:.4g}" for key, name in shown.items() if figures.get(key) is not None)
