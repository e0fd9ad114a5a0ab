"""Exceptions that separate users' mistakes and failures of the machine from bugs in regard."""


class UserError(ValueError):
    """A user's mistake: one sentence that names the file, the line and the remedy.

    The command line prints the sentence and exits with 2. Any other exception is a bug in regard and keeps its
    traceback.
    """


class Failed(RuntimeError):
    """A failure that is neither a user's mistake nor a bug: a full disk, a lost worker, a loss of NaN. Exits with 1."""


class Interrupted(Exception):
    """The run was asked to stop, and stopped with everything saved."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.code = code
        """The exit code: 130 after Ctrl-C, 75 when the system asked for the stop and may start the run again."""
