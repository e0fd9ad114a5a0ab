"""The tutorial and the guides do as they say: every block marked `<!-- run -->` is run, and its output compared."""

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def tool(name: str) -> ModuleType:
    """A script of tools/, as a module."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[2] / "tools" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


pages = tool("pages")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.delenv("REGARD_MODEL", raising=False)
    with pages.opened(tmp_path, short=True) as one:
        yield one


def follow(session: Any, page: str) -> int:
    try:
        return int(session.follow(page))
    except pages.Missing as missing:
        pytest.skip(f"no {missing} here")


@pytest.mark.parametrize("page", pages.ALONE)
def test_a_guide_shows_what_its_commands_print(page: str, session: Any) -> None:
    assert follow(session, page) > 0 or page in (
        "guides/index.md",
        "guides/gpus.md",
        "guides/bulk.md",
        "guides/costs.md",
    )


def test_the_tutorial_and_what_goes_on_from_it_run(session: Any) -> None:
    for page in pages.TRAINED:
        assert follow(session, page) > 0


@pytest.mark.slow
def test_the_tutorial_shows_what_its_commands_print(session: Any) -> None:
    session.short = False
    for page in pages.TRAINED:
        follow(session, page)


PAGE = "<!-- run{} -->\n```console\n$ printf '12 Hunde\\n' | head \\\n    -1\n{}\n```\n"


@pytest.mark.parametrize(
    ("kind", "shown", "right"),
    [
        ("", "12 Hunde", True),
        ("", "13 Hunde", False),
        (": figures vary", "7 Hunde", True),
        (": figures vary", "7 Katzen", False),
    ],
)
def test_a_wrong_output_is_noticed(
    kind: str, shown: str, right: bool, session: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    (tmp_path / "page.md").write_text(PAGE.format(kind, shown))
    with contextlib.nullcontext() if right else pytest.raises(AssertionError):
        assert follow(session, "page.md") == 1
    assert pages.written("page.md", session) == PAGE.format(kind, "12 Hunde")
