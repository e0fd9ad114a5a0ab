"""`regard score`: print the log probability of given translations, by sentence and by token."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.terminal.options import BatchTokens, Device, Models, Source, Target

if TYPE_CHECKING:
    from regard.evaluate.perplexity import Scored


def score(
    model: Models = None,
    source: Source = None,
    target: Annotated[str | None, typer.Option(metavar="FILE", help="Its translation, line by line.")] = None,
    language: Target = None,
    device: Device = "cpu",
    batch_tokens: BatchTokens = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Print the log probability of every token, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with every token.")] = False,
) -> None:
    """Print the log probability of each given translation.

    regard score --model runs/x/model --source test.en --target test.de

    Lines are taken whole, as in training. The last token of each is the end of the sentence.
    """
    from regard.cli.terminal.progress import sentences_done
    from regard.engines.engine import BATCH_TOKENS
    from regard.errors import UserError
    from regard.evaluate.aligned import read_aligned
    from regard.evaluate.perplexity import score_texts
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
        typer.echo(json.dumps(_report(scored)))
        return
    for one in scored:
        each = "\t" + " ".join(f"{log:.4f}" for log in one.token_scores) if tokens else ""
        typer.echo(f"{one.log_probability:.6f}{each}")


def _report(scored: "list[Scored]") -> dict[str, Any]:
    from regard.evaluate.perplexity import perplexity

    return {
        "perplexity": perplexity(scored),
        "log_probability": sum(one.log_probability for one in scored),
        "tokens": sum(len(one.token_scores) for one in scored),
        "segments": [
            {"log_probability": one.log_probability, "tokens": one.tokens, "token_scores": one.token_scores}
            for one in scored
        ],
    }
