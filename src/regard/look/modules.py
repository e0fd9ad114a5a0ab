"""Bundle ES modules into one script, so that a browser sends one request instead of twenty.

Each module becomes an immediately called function after those of the modules that it imports; its exports are stored
under its address. Modules must import by name, without cycles, and export functions, classes and constants only.
"""

import re
from collections.abc import Mapping
from pathlib import Path

_IMPORT = re.compile(r'^import (\{(?:[^}](?! as ))*\}) from "(\.|/\w+)/([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def joined(address: str, folders: Mapping[str, Path]) -> str:
    """Return the module at an address, such as "/look/viewer.js", bundled with its imports; its exports stay the same.

    `folders` maps the first part of an address to the folder of its files.
    """
    done: dict[str, str] = {}
    names = _join(address, folders, done)
    return f'const modules = {{}};\n{"".join(done.values())}export const {names} = modules["{address}"];\n'


def _join(address: str, folders: Mapping[str, Path], done: dict[str, str]) -> str:
    """Append a module after its imports, each once; return its exports."""
    folder, name = address.rsplit("/", 1)
    text = (folders[folder] / name).read_text(encoding="utf-8")

    def imported(found: re.Match[str]) -> str:
        other = f"{folder if found[2] == '.' else found[2]}/{found[3]}"
        if other not in done:
            _join(other, folders, done)
        return f'const {found[1]} = modules["{other}"];\n'

    body = _EXPORT.sub(r"\1", _IMPORT.sub(imported, text))
    assert not re.search(r"^(import|export)\b", body, re.MULTILINE), f"{address}: has a form that can't be joined"
    names = f"{{ {', '.join(export for _, export in _EXPORT.findall(text))} }}"
    done[address] = f'modules["{address}"] = (() => {{\n{body}return {names};\n}})();\n'
    return names
