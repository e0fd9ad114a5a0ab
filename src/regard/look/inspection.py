"""Attention, search and probabilities for a text, as `translator.look(text)`, `regard look` and the page show them."""

import json
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

from regard.errors import UserError
from regard.look.packed import packed
from regard.look.page import page
from regard.look.sight import KINDS, Sight, see
from regard.translate.translation import Output
from regard.translate.translator import DEFAULTS, Options, Translator

MOST_SENTENCES = 20  # the weights of a long sentence take a megabyte


@dataclass(frozen=True)
class Look:
    """A text, its translation, and the internals of every sentence. Jupyter displays it."""

    source: str
    translation: str
    languages: tuple[str | None, str | None]
    sentences: tuple[Sight, ...]

    def to_json(self) -> str:
        """Return everything in the viewer's JSON format; look/packed.py documents the encoding of the weights."""
        told = {
            "source": self.source,
            "translation": self.translation,
            "languages": self.languages,
            "sentences": [_sentence(sight) for sight in self.sentences],
        }
        return json.dumps(told, ensure_ascii=False, separators=(",", ":"))

    def bertviz(self, sentence: int = 0) -> dict[str, Any]:
        """Return the arguments of BertViz's head_view: `head_view(**look.bertviz())`.

        decoder_tokens are the decoder's input, beginning with BOS. head_view shows as many layers of each kind as the
        kind with the fewest has.
        """
        sight = self.sentences[sentence]
        weights = {f"{kind}_attention": [layer[None] for layer in sight.attention.get(kind, ())] for kind in KINDS}
        given: dict[str, Any] = {name: layers for name, layers in weights.items() if layers}
        if not given:
            raise UserError("this model has no attention, so there is nothing for BertViz to show")
        fewest = min(map(len, given.values()))
        tokens = {"encoder_tokens": list(sight.source.tokens), "decoder_tokens": list(sight.read)}
        return {**given, **tokens, "include_layers": list(range(fewest))}

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(page(self.to_json()), quote=True)}" sandbox="allow-scripts allow-downloads" '
            'title="regard look" style="width: 100%; height: 760px; border: 0"></iframe>'
        )


def look(translator: Translator, text: str, options: Options = DEFAULTS) -> Look:
    """Translate a text and record the internals of each sentence."""
    if options.sampling is not None or options.required:
        raise UserError("what is shown is a beam search, without sampling and required words; leave them out")
    alone = replace(options, alignment=True, protect=False, force=True)  # what the model itself reads and writes
    translation = translator.window([text], alone)[0]
    sentences = [sentence for sentence in translation.sentences if sentence.outputs]
    if len(sentences) > MOST_SENTENCES:
        raise UserError(f"{len(sentences)} sentences are too many to look at; give {MOST_SENTENCES} at most")
    request, tag = translator.request(options), translator.tag(options.target, options.formality)
    sights = tuple(see(translator, sentence, tag, request) for sentence in sentences)
    source, target = translator.saved.languages
    return Look(text, translation.text, (source, options.target or target), sights)


def _sentence(sight: Sight) -> dict[str, Any]:
    steps = [
        {**asdict(branch), "token": token} for branch, token in zip(sight.branches, sight.branch_tokens, strict=True)
    ]
    return {
        "source": asdict(sight.source),
        "target": asdict(sight.target),
        "attention": {kind: packed(weights) for kind, weights in sight.attention.items()},
        "alignment": sight.alignment,
        "n_best": [_output(output) for output in sight.n_best],
        "greedy": _output(sight.greedy),
        "branches": [_rounded(step) for step in steps],
        "probable": [[[token, round(value, 5)] for token, value in row] for row in sight.probable],
        **({"steps": sight.steps} if sight.steps else {}),
        "positions": None if sight.positions_PD is None else packed(sight.positions_PD, -1.0, 1.0),
        "active": None if sight.active_LS is None else packed(sight.active_LS),
    }


def _output(output: Output) -> dict[str, Any]:
    found = output.hypothesis
    figures = {"score": found.score, "log_probability": found.log_probability}
    return {"text": output.text, "tokens": output.tokens, **_rounded(figures)}


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in values.items()}
