"""The reference names everything that there is, and the site is staged with every link as it should be."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

import regard
from regard.cli.main import app
from regard.config.checked import Frozen
from regard.config.run import Config

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module")
def reference() -> Any:
    return loaded("reference")


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec and spec.loader
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands(command: Any, name: str) -> list[tuple[str, Any]]:
    below = getattr(command, "commands", {})
    return [(name, command), *(found for word, one in below.items() for found in commands(one, f"{name} {word}"))]


def test_every_command_and_option_is_there(reference: Any) -> None:
    parts = {part.split("\n")[0]: part for part in reference.commands().split("\n## ")[1:]}
    for name, command in commands(typer.main.get_command(app), "regard")[1:]:
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert option in parts[name], f"{name} {option}"


def keys(kind: type[Frozen]) -> list[str]:
    found: list[str] = []
    for name, field in kind.model_fields.items():
        inner = [one for one in classes(field.annotation) if issubclass(one, Frozen)]
        found += [key for one in inner for key in keys(one)] if inner else [name]
    return found


def classes(annotation: Any) -> list[type]:
    """The classes of an annotation: itself, or those of a union's members."""
    if isinstance(annotation, type):
        return [annotation]
    return [one for part in getattr(annotation, "__args__", ()) for one in classes(part)]


def test_every_key_is_there_with_its_default_and_meaning(reference: Any) -> None:
    page = reference.configuration()
    for key in keys(Config):
        assert f"| `{key}` |" in page
    assert "| `warmup` | integer, ≥ 0 | `4000` |" in page
    assert "| `schedule` | `paper` or `inverse-sqrt` or `cosine` or `constant` | `paper` | paper: equation 3." in page
    assert "| `clip` | number, > 0 or nothing | none | Clip gradients to this norm; the paper does not. |" in page


def test_every_public_name_is_there_with_its_signature(reference: Any) -> None:
    page = reference.python()
    for name in regard.__all__:
        assert f"## `regard.{name}`" in page or name == "__version__"
    assert "regard.preset(name: str, **changes: dict[str, Any]) -> Config" in page
    assert "### `Translator`" in page and "#### `translate`" in page  # what regard.load returns
    assert "<class" not in page and "object at 0x" not in page


def test_every_preset_is_there(reference: Any) -> None:
    page = reference.presets()
    assert "| `base` |  | 4.92 PPL, 25.8 BLEU |" in page
    assert "`model.heads=32`" in page


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    pytest.importorskip("latex2mathml", reason="the documentation's tools; pip install 'regard[docs]'")
    monkeypatch.setattr(sys, "path", sys.path[:])  # to which the script adds its folder
    module = loaded("build_site")
    monkeypatch.setattr(module, "STAGED", tmp_path)
    return module


def test_a_page_has_its_links_and_formulas_as_the_site_wants_them(site: Any) -> None:
    sources: set[Path] = set()
    page = site.page(site.DOCS / "paper.md", site.paths(), sources)
    assert "](source/regard/model/attention.py.md)" in page and "](paper.ko.md)" in page
    assert site.ROOT / "src" / "regard" / "model" / "attention.py" in sources
    assert "$$" not in page and '<div class="formula"><math' in page and '<span class="number">(1)</span>' in page


def test_a_broken_link_ends_the_build(site: Any) -> None:
    with pytest.raises(SystemExit, match=r"docs/paper\.md: links to nowhere\.md"):
        site.link("nowhere.md", site.DOCS / "paper.md", site.paths(), set())


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(site: Any, tmp_path: Path) -> None:
    pytest.importorskip("zensical", reason="the documentation's tools; pip install 'regard[docs]'")
    import subprocess

    done = subprocess.run([sys.executable, TOOLS / "build_site.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
