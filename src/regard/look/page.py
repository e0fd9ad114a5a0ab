"""The viewer and what it shows as one HTML file, which loads nothing and which a strict policy lets pass.

The viewer is plain ES modules (viewer/*.js) that a browser can load as they are. Here they become one script: each
module is a function, called at once, after those of the modules that it imports; what it exports are constants. So no
two modules may export the same name; they export functions only, and import by name, from files beside them.
"""

import hashlib
import re
from base64 import b64encode
from functools import cache
from pathlib import Path

VIEWER = Path(__file__).parent / "viewer"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function (\w+))", re.MULTILINE)
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
    """The JSON of a Look, shown. Without one, the page that a viewer elsewhere puts its own into, to save it."""
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


def sourced(content: str) -> str:
    """What a Content-Security-Policy calls a style or a script that stands in the page itself."""
    return f"'sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


@cache
def _parts() -> tuple[str, str]:
    """Style and script."""
    style = (VIEWER / "viewer.css").read_text(encoding="utf-8")
    return _BODY + style, "\n".join(_modules("viewer.js", [])) + _START


def _modules(name: str, done: list[str]) -> list[str]:
    """A module and all that it needs, each once, in order."""
    if name in done:
        return []
    done.append(name)
    text = (VIEWER / name).read_text(encoding="utf-8")
    needed = [module for other in _IMPORT.findall(text) for module in _modules(other, done)]
    names = ", ".join(name for _, name in _EXPORT.findall(text))
    body = _EXPORT.sub(r"\1", _IMPORT.sub("", text))
    return [*needed, f"const {{ {names} }} = (() => {{\n{body}return {{ {names} }};\n}})();"]
