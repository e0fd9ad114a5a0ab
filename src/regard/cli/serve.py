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
            envvar="REGARD_MODEL", help="A model's folder or name; FROM-TO=FOLDER if it does not say its languages."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 for everybody.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 5000,
    keys: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Serve only those who have one of its keys.")
    ] = None,
    new_key: Annotated[
        str | None, typer.Option(metavar="NAME", help="Make a key for somebody, add its hash to --keys, and leave.")
    ] = None,
    may_write: Annotated[
        bool, typer.Option("--may-write", help="With --new-key: the key may store corrections, too.")
    ] = False,
    memory: Annotated[
        Path | None, typer.Option(metavar="DB", help="A memory to answer from and to store corrections in.")
    ] = None,
    glossary: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Terms to use in the first direction; FROM-TO=FILE for another."),
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A limit, such as characters=10000.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line for each request.")] = False,
) -> None:
    """Serve models over HTTP: the APIs of LibreTranslate and DeepL, and a page at /.

    regard serve --model runs/x/model --port 5000

    Several models are loaded as they are needed, and two are joined where none translates directly. No more is accepted
    than can be answered within 2 seconds (answer_seconds), and 4 documents at once (documents), 2 from one address; all
    else is rejected at once with Retry-After. Stops at Ctrl-C at once, at SIGTERM with the work in hand done. At SIGHUP
    it loads models and glossaries anew, without a pause.
    """
    from regard.errors import UserError

    if new_key is not None:
        if keys is None:
            raise UserError("--new-key needs the file that the key's hash is added to; name it with --keys")
        from regard.serve.limits.keys import new_key as make_key

        typer.echo(make_key(keys, new_key, write=may_write))
        return
    if may_write:
        raise UserError("--may-write is for a key that is made; name its holder with --new-key")
    if not model:
        raise UserError(
            "--model is missing; name the folder of a model, such as runs/x/model, or set REGARD_MODEL to it"
        )
    _check_extra()
    from regard.config.checked import check
    from regard.config.presets import settings
    from regard.serve.limits.keys import read_keys
    from regard.serve.run import bound, reload_on_hangup
    from regard.serve.run import serve as run
    from regard.serve.settings import Settings
    from regard.serve.state import AppState

    given = settings(f"serve.{assignment}" for assignment in assignments or ()).get("serve", {})
    limits = check(Settings, given, "--set")
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(message)s", level="WARNING" if quiet else "INFO")
    shown = f"[{host}]" if ":" in host else host
    with bound(host, port) as listener:
        held = None if keys is None else read_keys(keys)
        state = AppState(model, limits, held, memory=memory, glossaries=glossary or ())
        directions = ", ".join(map("-".join, state.models.steps))
        reload_on_hangup(state)  # before anybody can know that there is a server
        sys.stderr.write(f"regard: serving {directions} on http://{shown}:{listener.getsockname()[1]}/\n")
        run(state, listener, host)


def _check_extra() -> None:
    from importlib.util import find_spec

    from regard.errors import UserError

    needed = ("starlette", "uvicorn", "python_multipart", "prometheus_client")
    absent = [name for name in needed if not find_spec(name)]
    if absent:
        raise UserError(f"serving needs {', '.join(absent)}; install them with: pip install 'regard[serve]'")
