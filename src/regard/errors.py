"""What a person did wrong, told apart from what we did wrong."""


class UserError(ValueError):
    """A mistake its maker can mend: one sentence that names the file, the line and the remedy.

    The command line prints the sentence and exits with 2. Any other exception is a bug of ours and keeps its traceback.
    """


class Failed(RuntimeError):
    """Neither a mistake nor a bug: a full disk, a lost worker, a loss that is not a number. One sentence, and 1."""


class Interrupted(Exception):
    """Asked to stop, and stopped with everything saved."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.code = code
        """The exit code: 130 after Ctrl-C, 75 when the system asked and may start us again."""
