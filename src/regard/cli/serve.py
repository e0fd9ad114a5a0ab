"""`regard serve`: serve models over HTTP, with the APIs of LibreTranslate and DeepL and a page."""

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(
            envvar="REGARD_MODEL",
            help="A model's folder or name; FROM-TO=FOLDER if its languages are not recorded. [default: all bundled]",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free one.")] = 5000,
    keys: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of API keys; without one of them a request is rejected.")
    ] = None,
    new_key: Annotated[
        str | None, typer.Option(metavar="NAME", help="Make a key with this name, add its hash to --keys, and exit.")
    ] = None,
    may_write: Annotated[
        bool, typer.Option("--may-write", help="With --new-key: allow the key to store corrections.")
    ] = False,
    memory: Annotated[
        Path | None, typer.Option(metavar="DB", help="Translation memory to answer from and to store corrections in.")
    ] = None,
    glossary: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Terms to use in the first direction; FROM-TO=FILE for another."),
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A limit, such as characters=10000.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Log no line for each request.")] = False,
) -> None:
    """Serve models over HTTP, with a page.

    The APIs are those of LibreTranslate and DeepL. The page is at /.

    regard serve --model runs/x/model --port 5000

    Models are loaded on demand, and two are chained where none translates directly. Requests that can't be answered
    within 2 seconds (answer_seconds), and documents beyond 4 at once (documents) or 2 of one address, are rejected at
    once with Retry-After. Ctrl-C stops the server at once; SIGTERM lets it finish running requests. SIGHUP reloads
    models and glossaries without a pause.
    """
    from regard.errors import UserError
    from regard.saved.bundled import translation_models

    if new_key is not None:
        _print_new_key(keys, new_key, may_write=may_write)
        return
    if may_write:
        raise UserError("--may-write is for a key that is made; name its holder with --new-key")
    models = model or list(translation_models())
    if not models:
        raise UserError(
            "--model is missing; name the folder of a model, such as runs/x/model, or set REGARD_MODEL to it"
        )
    _check_extra()
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(message)s", level="WARNING" if quiet else "INFO")
    _listen(host, port, models, keys, memory, glossary or [], assignments or [])


def _print_new_key(keys: Path | None, name: str, *, may_write: bool) -> None:
    from regard.errors import UserError
    from regard.serve.limits.keys import new_key

    if keys is None:
        raise UserError("--new-key needs the file that the key's hash is added to; name it with --keys")
    typer.echo(new_key(keys, name, write=may_write))


def _listen(
    host: str,
    port: int,
    models: list[str],
    keys: Path | None,
    memory: Path | None,
    glossaries: list[str],
    assignments: list[str],
) -> None:
    """Serve until a stop signal."""
    from regard.config.checked import check
    from regard.config.presets import settings
    from regard.serve.limits.keys import read_keys
    from regard.serve.run import bound, reload_on_hangup, serve
    from regard.serve.settings import Settings
    from regard.serve.state import AppState

    given = settings(f"serve.{assignment}" for assignment in assignments).get("serve", {})
    limits = check(Settings, given, "--set")
    shown = f"[{host}]" if ":" in host else host
    with bound(host, port) as listener:
        held = None if keys is None else read_keys(keys)
        state = AppState(models, limits, held, memory=memory, glossaries=glossaries)
        directions = ", ".join(map("-".join, state.models.steps))
        reload_on_hangup(state)  # before anybody can know that there is a server
        sys.stderr.write(f"regard: serving {directions} on http://{shown}:{listener.getsockname()[1]}/\n")
        serve(state, listener, host)


def _check_extra() -> None:
    from importlib.util import find_spec

    from regard.errors import UserError

    needed = ("starlette", "uvicorn", "python_multipart", "prometheus_client")
    absent = [name for name in needed if not find_spec(name)]
    if absent:
        raise UserError(f"serving needs {', '.join(absent)}; install them with: pip install 'regard[serve]'")
