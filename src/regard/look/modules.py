"""ES modules as one script, so that a browser asks once instead of twenty times.

Each module becomes a function, called at once, after those of the modules that it imports; what it exports is kept by
its address. So modules import by name only, not in circles, and export functions, classes and constants.
"""

import re
from collections.abc import Mapping
from pathlib import Path

_IMPORT = re.compile(r'^import (\{(?:[^}](?! as ))*\}) from "(\.|/\w+)/([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def joined(address: str, folders: Mapping[str, Path]) -> str:
    """The module at an address, such as "/look/viewer.js", with all that it needs; exports what that module does.

    `folders` says where the files of each first part of an address are.
    """
    done: dict[str, str] = {}
    names = _join(address, folders, done)
    return f'const modules = {{}};\n{"".join(done.values())}export const {names} = modules["{address}"];\n'


def _join(address: str, folders: Mapping[str, Path], done: dict[str, str]) -> str:
    """Put a module behind all that it imports, each once; returns what it exports."""
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
