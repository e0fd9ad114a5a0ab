"""The `regard` command: its sub-commands and exit codes.

Exit codes: 0 success; 1 failure; 2 user error; 75 stopped by a signal with everything saved, to be started again;
130 interrupted.
"""

import errno
import os
import sys
from typing import Annotated

import typer

from regard.cli import (
    demo,
    evaluate,
    info,
    look,
    memory,
    paper,
    parse,
    prepare,
    serve,
    train,
    translate,
)
from regard.cli.models import average, calibrate, classify, export, import_, model, runs, score, tune
from regard.cli.pairs import clean, corpora, synthesise
from regard.cli.terminal.options import grouped
from regard.cli.terminal.streams import tolerant_stderr
from regard.cli.terminal.variadic import VariadicCommand

NO_MEMORY = "can't allocate memory", "out of memory"  # torch's RuntimeError messages on CPU and GPU

app = typer.Typer(
    name="regard",
    help="Train a translation model on your own pairs of texts; measure it, translate, serve it, look inside it.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: rich panels take more time than everything else together
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(corpora.app, name="corpora")
app.command("prepare", cls=VariadicCommand)(grouped(prepare.prepare))
app.command("clean")(clean.clean)
app.command("train", cls=VariadicCommand)(grouped(train.train))
app.command("tune")(tune.tune)
app.command("synthesise")(grouped(synthesise.synthesise))
app.command("translate")(grouped(translate.translate))
app.command("parse")(parse.parse)
app.command("classify")(classify.classify)
app.command("evaluate")(grouped(evaluate.evaluate))
app.command("score")(score.score)
app.command("average")(average.average)
app.command("calibrate")(calibrate.calibrate)
app.command("serve")(serve.serve)
app.command("export")(export.export)
app.command("import")(import_.import_)
app.command("runs")(runs.runs)
app.command("model")(model.model)
app.command("info")(info.info)
app.command("look")(look.look)
app.add_typer(memory.app, name="memory")
app.add_typer(paper.app, name="paper")
app.command("demo")(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        from regard import __version__

        typer.echo(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Handle the options before the sub-command."""


def main() -> None:
    """Run the command line; print one sentence for a user error, a traceback for a bug."""
    with tolerant_stderr():
        _run()


def _run() -> None:
    from regard.errors import Failed, Interrupted, UserError

    try:
        app()
    except UserError as error:
        _complain(str(error))
        sys.exit(2)
    except Failed as error:
        _complain(str(error))
        sys.exit(1)
    except Interrupted as error:
        _complain(str(error))
        sys.exit(error.code)
    except (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError) as error:
        if error.filename is None:
            raise
        _complain(f"{error.filename}: {(error.strerror or 'cannot be opened').lower()}")
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output has exited
        _forget_output()
        sys.exit(1)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        if error.errno is None or (error.filename is None and not full):
            raise
        place = error.filename or "what is written to"  # errors of write() have no file name
        _complain(f"{place}: {(error.strerror or 'failed').lower()}{'; make room there' if full else ''}")
        if error.filename is None:
            _forget_output()
        sys.exit(1)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not any(words in str(error) for words in NO_MEMORY):
            raise
        _complain(
            "the memory does not suffice; give it less at once (--batch-tokens, or train.batch_tokens with more of "
            "train.accumulate), a narrower beam or a smaller model"
        )
        sys.exit(1)
    except KeyboardInterrupt:
        _complain("interrupted")
        sys.exit(130)


def _forget_output() -> None:
    """Redirect standard output to /dev/null, so that Python does not try to flush it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(sentence: str) -> None:
    sys.stderr.write(f"regard: {' '.join(sentence.split())}\n")
