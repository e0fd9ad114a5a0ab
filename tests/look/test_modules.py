"""Modules as one script."""

import shutil
import subprocess
from pathlib import Path

import pytest

from regard.look.modules import joined

FILES = {
    "a/first.js": 'import { said, Shout } from "./words.js";\nimport { twice } from "/b/other.js";\n\n'
    "// says it\nexport function told() { return twice(said.word) + new Shout(); }\n",
    "a/words.js": 'import { twice } from "/b/other.js";\n\nconst own = "한국어 👋 ";\n'
    'export const said = { word: own };\nexport class Shout { toString() { return twice("!"); } }\n',
    "b/other.js": "const own = 2;\nexport async function later() {}\n"
    "export function twice(word) { return word.repeat(own); }\n",
}


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return {"/a": tmp_path / "a", "/b": tmp_path / "b"}


def test_each_module_once_behind_those_that_it_needs(folders: dict[str, Path]) -> None:
    script = joined("/a/first.js", folders)
    places = [script.index(f'modules["{address}"] = ') for address in ("/b/other.js", "/a/words.js", "/a/first.js")]
    assert places == sorted(places) and script.count("function twice(") == 1
    assert script.endswith('export const { told } = modules["/a/first.js"];\n') and "\nimport" not in script


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_it_does_what_the_modules_do(folders: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "one.mjs").write_text(joined("/a/first.js", folders), encoding="utf-8")
    (tmp_path / "run.mjs").write_text('import { told } from "./one.mjs"; console.log(told());')
    done = subprocess.run(["node", tmp_path / "run.mjs"], capture_output=True, check=True)
    assert done.stdout.decode() == "한국어 👋 한국어 👋 !!\n"
