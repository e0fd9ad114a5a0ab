"""What a person did wrong, told apart from what we did wrong."""


class UserError(ValueError):
    """A mistake its maker can mend: one sentence that names the file, the line and the remedy.

    The command line prints the sentence and exits with 2. Any other exception is a bug of ours and keeps its traceback.
    """
