"""The cost in BLEU of quantised weights: a model in float32 and in fewer bytes, on the same text."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from regard.config.presets import read
from regard.config.run import Config
from regard.data.prepared import VALID_TEXTS, valid_texts
from regard.evaluate.aligned import read_aligned
from regard.evaluate.bleu import Score, bleu
from regard.evaluate.evaluation import translate_lines
from regard.exchange.smaller import write_smaller
from regard.translate.load import convert, load
from regard.translate.translator import Options, Translator

RUN = "run.toml"  # beside the model of a run


class ScoringText(NamedTuple):
    """A text and its translation, for scoring."""

    name: str
    source: list[str]
    reference: list[str]
    target: str | None
    """The target language of a multilingual model."""


def given_sample(source: str, reference: str, target: str | None) -> ScoringText:
    """Read a text and its translation, line by line."""
    sources, references = read_aligned([source, reference])
    return ScoringText(Path(source).name, sources, references, target)


def validation_sample(model: Path, target: str | None) -> ScoringText | None:
    """Return the validation set of the run that contains a model; None if it or its data are gone."""
    run = model.absolute().parent / RUN
    config = read(run) if run.is_file() else Config()
    if config.data is None or config.task != "translation" or not (Path(config.data) / VALID_TEXTS).is_file():
        return None
    pairs = valid_texts(Path(config.data))
    tags = [pair.tag for pair in pairs if target is None or pair.tag in (target, f"<2{target}>")]
    chosen = [pair for pair in pairs if tags and pair.tag == tags[0]]
    if not chosen:
        return None
    sources, references = [pair.source for pair in chosen], [pair.target for pair in chosen]
    return ScoringText("the validation set", sources, references, chosen[0].tag)


def rounding_cost(model: Path, to: str, quantization: Any, sample: ScoringText, lines: int) -> tuple[Score, Score]:
    """Return BLEU with float32 and with quantised weights on the first lines of a sample, as the export translates.

    The model alone is measured: an export has no alignment to put protected text back by.
    """
    alone = Options(target=sample.target, protect=False, force=True)

    def score(translator: Translator) -> Score:
        translations = translate_lines(translator, sample.source[:lines], alone)
        return bleu(translations, [sample.reference[:lines]])

    kinds: tuple[Any, Any] = ("float32", quantization)
    if to == "ctranslate2":
        exact, rounded = (score(convert(model, kind, alone=True)) for kind in kinds)
        return exact, rounded
    with TemporaryDirectory(prefix="regard-") as temporary:
        for kind in dict.fromkeys(kinds):
            write_smaller(model, Path(temporary) / kind, kind)
        exact, rounded = (score(load(Path(temporary) / kind)) for kind in kinds)
    return exact, rounded
