"""Matching of a client's language code to a served language."""

import re
from collections.abc import Iterable

from regard.text.protected.languages import base

_REGION = r"(?:[-_][A-Za-z0-9]{1,8}){0,3}"


def served(code: str, codes: Iterable[str]) -> str | None:
    """Return the served code that a code matches, in any case; `EN-us` matches `en` if en-US is not served."""
    by_spelling = {one.lower(): one for one in codes}
    wanted = code.lower()
    return by_spelling.get(wanted) or (
        by_spelling.get(base(wanted)) if re.fullmatch(rf"[a-z]+{_REGION}", wanted) else None
    )


def pattern(codes: Iterable[str]) -> str:
    """Return a regular expression of what `served` accepts, for the OpenAPI description."""
    spelt = ("".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else re.escape(c) for c in code) for code in codes)
    return f"^(?:{'|'.join(spelt)}){_REGION}$"
