"""The formats in which translations are printed: text, n-best lists and JSON lines."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.translate.translation import Sentence, Translation

# Characters that are valid in JSON strings but that some readers treat as line ends.
ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "\u0085\u2028\u2029"}


def line_format(format_: str, n_best: int | None) -> Callable[[int, "Translation"], str]:
    """Return the function that formats a numbered translation as a line, or as several."""
    if format_ == "jsonl":
        return _as_json_line
    return as_text_line if n_best is None else _as_n_best


def as_text_line(_: int, translation: "Translation") -> str:
    from regard.translate.sentences import one_line

    return one_line(translation.text)


def _as_n_best(number: int, translation: "Translation") -> str:
    from regard.translate.sentences import one_line

    return "\n".join(
        f"{number} ||| {one_line(translation.option(option))} ||| {translation.option_score(option):.6f}"
        for option in range(translation.options)
    )


def _as_json_line(number: int, translation: "Translation") -> str:
    from regard.translate.sentences import one_line

    texts = [
        {"text": one_line(translation.option(option)), "score": translation.option_score(option)}
        for option in range(translation.options)
    ]
    sentences = [_sentence(sentence) for sentence in translation.sentences]
    sure = {} if translation.confidence is None else {"confidence": translation.confidence}
    other = {} if translation.language is None else {"language": translation.language.language, "kept": True}
    report = {"id": number, "source": translation.source, **texts[0], **sure, **other, "n_best": texts}
    report["sentences"] = sentences
    return json.dumps(report, ensure_ascii=False).translate(ESCAPED)


def _sentence(sentence: "Sentence") -> dict[str, Any]:
    outputs = [
        {
            "text": output.text,
            "score": output.hypothesis.score,
            "log_probability": output.hypothesis.log_probability,
            "tokens": output.tokens,
            "token_scores": output.hypothesis.token_scores,
            **({"steps": output.hypothesis.steps} if output.hypothesis.steps else {}),
            **({} if output.alignment is None else {"alignment": output.alignment}),
            **({"spans": [asdict(span) for span in output.spans]} if output.spans else {}),
        }
        for output in sentence.outputs
    ]
    return {
        "source": sentence.source,
        "source_tokens": sentence.tokens,
        "outputs": outputs,
        **_judged(sentence),
        **({"terms": [asdict(use) for use in sentence.terms]} if sentence.terms else {}),
        **({} if sentence.memory is None else {"memory": asdict(sentence.memory)}),
        **({} if sentence.fuzzy is None else {"fuzzy": asdict(sentence.fuzzy)}),
    }


def _judged(sentence: "Sentence") -> dict[str, Any]:
    """Return a sentence's confidence and warnings, where it has them."""
    found, warnings = sentence.judgement.confidence, sentence.judgement.warnings
    return {
        **({} if found is None else {"confidence": found}),
        **({"warnings": warnings} if warnings else {}),
        **({"kept": True} if sentence.kept else {}),
        **({} if sentence.language is None else {"language": sentence.language.language}),
    }
