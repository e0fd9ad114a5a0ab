"""BLEU while a model is trained: the validation set, translated and measured as `regard evaluate` does."""

from collections.abc import Callable, Mapping
from itertools import groupby

from regard.config import Config
from regard.data.prepared import Prepared, valid_texts
from regard.decode.load import live
from regard.decode.sentences import one_line
from regard.decode.translator import Options
from regard.errors import UserError
from regard.evaluate.bleu import bleu
from regard.model.saved import Saved
from regard.model.seq2seq import Seq2Seq


def bleu_validator(
    data: Prepared, config: Config, subwords: Mapping[str, bytes]
) -> Callable[[Seq2Seq], dict[str, float | str]]:
    """A function of a model: the `bleu` of its translations of the data's validation set, and the signature."""
    pairs = valid_texts(data.directory)
    if data.source_subwords.tags and any(pair.tag is None for pair in pairs):
        raise UserError(
            f"{data.directory}: translates into several languages, but its validation set does not say into which; "
            "prepare the data again with --valid-tag"
        )
    references = [pair.target for pair in pairs]

    def measure(model: Seq2Seq) -> dict[str, float | str]:
        saved = Saved(model, config.model, config.decode, data.languages, data.config.form, dict(subwords))
        translator = live(saved)
        hypotheses: list[str] = []
        for tag, group in groupby(pairs, key=lambda pair: pair.tag):
            found = translator.stream((pair.source for pair in group), Options(target=tag))
            hypotheses += [one_line(translation.text) for translation in found]
        score = bleu(hypotheses, [references])
        return {"bleu": score.value, "bleu_signature": score.signature}

    return measure
