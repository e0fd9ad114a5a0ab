"""`regard classify`: texts in, labels out; one output line for each input line, in order."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.terminal.options import BatchTokens, Device, Text

if TYPE_CHECKING:
    from regard.translate.classifier import Classified, Classifier


def classify(
    text: Text = None,
    model: Annotated[Path | None, typer.Option(help="The folder of a model that was trained on labels.")] = None,
    test: Annotated[
        Path | None, typer.Option(metavar="TSV", help="Measure instead: texts and their right labels (text TAB label).")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="TSV", help="With --test: labelled texts for naive Bayes, to compare with.")
    ] = None,
    device: Device = "cpu",
    batch_tokens: BatchTokens = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print an object a line, with all probabilities.")] = False,
) -> None:
    """Label texts, one a line: print the most probable label.

    regard classify --model runs/c/model < in.txt

    regard classify --model runs/c/model --test test.tsv --baseline texts.tsv

    Each input line gives one output line; a blank one stays blank. `regard prepare --task labels` and `regard train
    --preset encoder-only` make such a model.
    """
    from regard.engines.engine import BATCH_TOKENS
    from regard.errors import UserError
    from regard.translate.load import load_classifier

    if model is None:
        raise UserError("--model is missing; name the folder of a model that was trained on labels")
    if baseline is not None and test is None:
        raise UserError("--baseline is compared with on labelled texts; name them with --test")
    if test is not None and text is not None:
        raise UserError("--test names the texts to measure; leave out the other text")
    classifier = load_classifier(model, device=device)
    size = batch_tokens or BATCH_TOKENS
    if test is not None:
        _measure(classifier, test, baseline, size, as_json)
        return
    _classify_lines(classifier, text, size, as_json)


def _classify_lines(classifier: "Classifier", text: str | None, batch_tokens: int, as_json: bool) -> None:
    """Print the labels of all lines, window by window."""
    from regard.cli.terminal.inputs import input_windows
    from regard.cli.terminal.progress import sentences_done

    number = 0
    with sentences_done() as progress:
        for window in input_windows(text):
            for at, one in enumerate(classifier.classify(window, progress, batch_tokens=batch_tokens), number):
                _write(_as_json(at, one) if as_json else one.label or "")
                if one.cut:
                    typer.echo(
                        f"regard: line {at + 1} is longer than {classifier.most_tokens} tokens; the rest was not read",
                        err=True,
                    )
            number += len(window)
            sys.stdout.flush()


def _measure(classifier: "Classifier", test: Path, baseline: Path | None, batch_tokens: int, as_json: bool) -> None:
    from regard.cli.terminal.progress import sentences_done
    from regard.evaluate.labels import NaiveBayes, score_labels

    texts, right = _labelled(test)
    figures = {}
    if baseline is not None:
        bayes = NaiveBayes(*_labelled(baseline))
        figures["naive Bayes"] = score_labels([bayes.classify(text) for text in texts], right)
    with sentences_done(len(texts)) as progress:
        found = [one.label for one in classifier.classify(texts, progress, batch_tokens=batch_tokens)]
    figures = {"model": score_labels(found, right), **figures}
    if as_json:
        typer.echo(json.dumps({name: asdict(scores) for name, scores in figures.items()}, ensure_ascii=False))
        return
    typer.echo(f"{'':12} {'texts':>8} {'accuracy':>9} {'macro F1':>9}")
    for name, scores in figures.items():
        typer.echo(f"{name:12} {scores.texts:8,} {scores.accuracy:9.4f} {scores.macro_f1:9.4f}")


def _labelled(path: Path) -> tuple[list[str], list[str]]:
    """Return the texts and labels of a file, blank lines left out."""
    from regard.config.data import CorpusConfig
    from regard.data.corpus import check_corpora, pairs

    corpus = CorpusConfig(files=(str(path),))
    check_corpora([corpus])
    both = [(text, label.strip()) for text, label in pairs(corpus) if text.strip() or label.strip()]
    return [text for text, _ in both], [label for _, label in both]


def _as_json(number: int, one: "Classified") -> str:
    return json.dumps(
        {
            "id": number,
            "text": one.text,
            "label": one.label,
            "probability": one.probability,
            "probabilities": one.probabilities,
        },
        ensure_ascii=False,
    )


def _write(line: str) -> None:
    sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")
