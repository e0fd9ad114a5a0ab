"""`regard score`: print the log probability of given translations, by sentence and by token."""

import json
from pathlib import Path
from typing import Annotated

import typer


def score(
    model: Annotated[list[Path] | None, typer.Option(help="The folder of a model; of several, an ensemble.")] = None,
    source: Annotated[str | None, typer.Option(metavar="FILE", help="Text, a segment a line.")] = None,
    target: Annotated[str | None, typer.Option(metavar="FILE", help="Its translation, line by line.")] = None,
    language: Annotated[
        str | None, typer.Option("--to", metavar="CODE", help="Language, of a model of several.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where: cpu, cuda, cuda:1.")] = "cpu",
    batch_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens computed at once.")] = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Print the log probability of every token, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with every token.")] = False,
) -> None:
    """Print the log probability of each given translation, a line for a line.

    regard score --model runs/x/model --source test.en --target test.de

    Lines are taken whole, as in training. The last token of each is the end of the sentence.
    """
    from regard.cli.terminal.progress import sentences_done
    from regard.engines.engine import BATCH_TOKENS
    from regard.errors import UserError
    from regard.evaluate.aligned import read_aligned
    from regard.evaluate.perplexity import perplexity, score_texts
    from regard.translate.load import load

    if not model:
        raise UserError("--model is missing; name the folder of a model, such as runs/x/model")
    if source is None or target is None:
        raise UserError("--source and --target are both needed; name two files aligned by line")
    sources, targets = read_aligned([source, target])
    translator = load(*model, engine="torch", device=device)
    with sentences_done(len(sources)) as progress:
        scored = score_texts(
            translator,
            sources,
            targets,
            target_language=language,
            batch_tokens=batch_tokens or BATCH_TOKENS,
            progress=progress,
        )
    if as_json:
        segments = [
            {"log_probability": one.log_probability, "tokens": one.tokens, "token_scores": one.token_scores}
            for one in scored
        ]
        report = {
            "perplexity": perplexity(scored),
            "log_probability": sum(one.log_probability for one in scored),
            "tokens": sum(len(one.token_scores) for one in scored),
            "segments": segments,
        }
        typer.echo(json.dumps(report))
        return
    for one in scored:
        each = "\t" + " ".join(f"{log:.4f}" for log in one.token_scores) if tokens else ""
        typer.echo(f"{one.log_probability:.6f}{each}")
