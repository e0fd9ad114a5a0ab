"""BLEU and chrF during training: the validation set, translated and scored as `regard evaluate` does."""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby

from regard.config.run import Config
from regard.data.prepared import Prepared, RawPair, valid_texts
from regard.errors import UserError
from regard.evaluate.bleu import bleu, chrf
from regard.model.seq2seq import Seq2Seq
from regard.saved.saved_model import SavedModel
from regard.translate.load import live
from regard.translate.sentences import one_line
from regard.translate.translator import Options, Translator


def bleu_validator(
    data: Prepared, config: Config, subwords: Mapping[str, bytes]
) -> Callable[[Seq2Seq], dict[str, float | str]]:
    """Return a function from a model to `bleu` and `chrf` of its translations of the validation set."""
    if data.config.task != "translation":
        raise UserError(f"{data.directory}: is for {data.config.task}, but train.bleu is for translation; unset it")
    pairs = validation_pairs(data)
    saved = SavedModel.of_run(config, subwords, data.languages, data.config.form)
    references = [pair.target for pair in pairs]

    def measure(model: Seq2Seq) -> dict[str, float | str]:
        lines = translate_sources(live(saved.with_model(model)), pairs)
        scores = {"bleu": bleu(lines, [references]), "chrf": chrf(lines, [references])}
        values = {name: score.value for name, score in scores.items()}
        return {**values, **{f"{name}_signature": score.signature for name, score in scores.items()}}

    return measure


def validation_pairs(data: Prepared) -> list[RawPair]:
    """Return the raw validation set; reject one that does not name its target language."""
    pairs = valid_texts(data.directory)
    if data.source_subwords.language_tags and any(pair.tag is None for pair in pairs):
        raise UserError(
            f"{data.directory}: translates into several languages, but its validation set does not say into which; "
            "prepare the data again with --valid-tag"
        )
    return pairs


def translate_sources(translator: Translator, pairs: Iterable[RawPair]) -> list[str]:
    """Translate the sources of pairs, each into the language of its tag, as lines."""
    lines: list[str] = []
    for tag, group in groupby(pairs, key=lambda pair: pair.tag):
        found = translator.stream((pair.source for pair in group), Options(target=tag))
        lines += [one_line(translation.text) for translation in found]
    return lines
