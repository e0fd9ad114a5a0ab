"""README and pages: short, the same in both languages, and every link and picture is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.ko.md")
PAGES = [*ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", READMES)
def test_a_readme_is_short(name: str) -> None:
    assert (ROOT / name).stat().st_size <= 8192


def test_both_readmes_have_the_same_parts() -> None:
    for pattern in (r"^```(\w*)\n.*?^```$", r"^(#+) ", r"!\[.*?\]\((.*?)\)", r"^\|[^`\n]*(`[^`]*`) \|$"):
        english, korean = (re.findall(pattern, text(ROOT / name), re.MULTILINE | re.DOTALL) for name in READMES)
        assert english == korean and english
    links = [set(re.findall(r"\]\((?!README)([^)]*)\)", text(ROOT / name))) for name in READMES]
    assert links[0] == links[1]


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as forges and the site make them."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text(path), flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(path: Path) -> None:
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`(?!\])", "", text(path), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not re.match(r"[a-z]+:", target):
            name, _, anchor = target.partition("#")
            there = path.parent / name if name else path
            assert there.is_file(), f"{path.name}: {target}"
            assert not anchor or anchor in anchors(there), f"{path.name}: {target}"


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "pictures").iterdir()), ids=lambda path: path.name)
def test_pictures_are_small(path: Path) -> None:
    assert 5_000 < path.stat().st_size < 150_000


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:")[1]
    for path in (ROOT / "docs").rglob("*.md"):
        assert path.relative_to(ROOT / "docs").as_posix() in navigation


def test_every_file_and_name_of_the_architecture_is_there() -> None:
    section = text(ROOT / "docs" / "architecture.md").split("## Where to look")[1].split("\n## ")[0]
    named = re.findall(r"`([a-z0-9_/]+(?:\.py|/))`(?:: `(\w+)`)?", section)
    assert len(named) > 15
    for path, name in named:
        there = ROOT / "src" / "regard" / path
        assert there.exists(), path
        assert not name or re.search(rf"^(def|class) {name}\b|^{name}\b.*=", text(there), re.MULTILINE), name
