"""The viewer and its data as one HTML file, which loads nothing and satisfies a strict Content-Security-Policy.

The viewer is plain ES modules (viewer/*.js) that a browser can load as they are. Here they are bundled into one script.
"""

import hashlib
from base64 import b64encode
from functools import cache
from pathlib import Path

from regard.look.modules import joined

VIEWER = Path(__file__).parent / "viewer"
_START = """
mount(document.getElementById("regard-look"), JSON.parse(document.getElementById("regard-look-data").textContent));
"""
_BODY = """
html { color-scheme: light dark; background: light-dark(#fbfbf9, #15181c); }
html[data-theme="light"] { color-scheme: light; }
html[data-theme="dark"] { color-scheme: dark; }
body { margin: 0 auto; max-width: 80rem; padding: clamp(1rem, 3vw, 2.5rem); }
h1 { margin: 0 0 .75rem; font: 600 .8125rem/1.5 system-ui, sans-serif; color: light-dark(#5a636d, #9fa9b4); }
"""


def page(look: str = "null") -> str:
    """Return the page that shows the JSON of a Look; without one, an empty page that a viewer can fill and save."""
    style, script = _parts()
    policy = f"default-src 'none'; style-src {sourced(style)}; script-src {sourced(script)}; img-src data:"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>regard look</title>
<style>{style}</style>
</head>
<body>
<header><h1>regard look</h1></header>
<main id="regard-look"></main>
<script type="application/json" id="regard-look-data">{look.replace("<", chr(92) + "u003c")}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def opening(title: str, style: str) -> str:
    """Return an HTML page without scripts up to its body's first element, with a strict Content-Security-Policy."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src {sourced(style)}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""


def sourced(content: str) -> str:
    """Return the hash source of an inline style or script for a Content-Security-Policy."""
    return f"'sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


@cache
def _parts() -> tuple[str, str]:
    """Return the style and the script."""
    style = (VIEWER / "viewer.css").read_text(encoding="utf-8")
    return _BODY + style, joined("/look/viewer.js", {"/look": VIEWER}) + _START
