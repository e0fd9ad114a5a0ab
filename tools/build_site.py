"""Build the documentation: `python tools/build_site.py` stages its pages in build/docs, and renders them into site/.

The pages in docs/ are plain Markdown that any forge shows. Staging adds what a site wants besides: the reference, made
from the code; the pages that stand elsewhere in the repository; a page for each source file that is linked to; and
formulas as MathML, so that a browser needs neither a script nor a network for them.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from latex2mathml.converter import convert

sys.path.insert(0, str(Path(__file__).parent))
import reference

ROOT = Path(__file__).resolve().parents[1]
DOCS, STAGED, SITE = ROOT / "docs", ROOT / "build" / "docs", ROOT / "site"
ELSEWHERE = {  # pages that stand outside of docs/, and where the site has them
    "README.md": "index.md",
    "README.ko.md": "index.ko.md",
    "benchmarks/README.md": "benchmarks.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "licence.md",
    "src/regard/models/en-de/README.md": "models/en-de.md",
    "src/regard/models/en-ko/README.md": "models/en-ko.md",
    "src/regard/models/en-trees/README.md": "models/en-trees.md",
}
LINK = re.compile(r"(\]\()([^)\s]+)(\))|(<img [^>]*?src=\")([^\"]+)(\")")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
TAG = re.compile(r"\\tag\{(.+?)\}")
FORMULA = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)


def stage() -> None:
    """Write every page of the site into build/docs, anew."""
    shutil.rmtree(STAGED, ignore_errors=True)
    pages, sources = paths(), set[Path]()
    for path, out in pages.items():
        out.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix in (".md", ""):
            out.write_text(page(path, pages, sources), encoding="utf-8")
        else:
            shutil.copyfile(path, out)
    for path in sources:
        out = source_page(path)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(f"# {path.name}\n\n`{path.relative_to(ROOT)}`\n\n{fenced(path)}\n", encoding="utf-8")
    for name, text in reference.pages().items():
        (STAGED / "reference" / name).write_text(text, encoding="utf-8")


def paths() -> dict[Path, Path]:
    """Every file that the site takes from the repository, and where it has it."""
    pages = {path: STAGED / path.relative_to(DOCS) for path in sorted(DOCS.rglob("*")) if path.is_file()}
    return pages | {ROOT / path: STAGED / name for path, name in ELSEWHERE.items()}


def page(path: Path, pages: dict[Path, Path], sources: set[Path]) -> str:
    """A page with its links as the site has them; the source files that it links to are added to `sources`."""
    text = path.read_text(encoding="utf-8")
    if not path.suffix:
        return f"# {path.name.capitalize()}\n\n```text\n{text}\n```\n"

    def relinked(match: re.Match[str]) -> str:
        before, target, after = (part for part in match.groups() if part is not None)
        return before + link(target, path, pages, sources) + after

    parts = CODE.split(text)
    for number, part in enumerate(parts):
        if not part.startswith("`"):
            parts[number] = FORMULA.sub(formula, part)
    return LINK.sub(relinked, "".join(parts))


def link(target: str, path: Path, pages: dict[Path, Path], sources: set[Path]) -> str:
    """A link of this page, from where the site has the page to where it has the target."""
    if re.match(r"[a-z]+:|#", target):
        return target
    name, hash_, anchor = target.partition("#")
    there = Path(os.path.normpath(path.parent / name))
    if not there.is_file():
        raise SystemExit(f"{path.relative_to(ROOT)}: links to {target}, which is not there")
    if there not in pages:
        sources.add(there)
    return os.path.relpath(pages.get(there, source_page(there)), pages[path].parent) + hash_ + anchor


def source_page(path: Path) -> Path:
    """Where the site shows a source file: src/regard/model/attention.py at source/regard/model/attention.py.md."""
    parts = [part for part in path.relative_to(ROOT).parts if part != "src"]
    return STAGED / "source" / Path(*parts[:-1]) / f"{parts[-1]}.md"


def fenced(path: Path) -> str:
    """A source file as a block of code."""
    language = {".py": "python", ".toml": "toml"}.get(path.suffix, "text")
    return f'````{language} linenums="1"\n{path.read_text(encoding="utf-8")}````'


def formula(match: re.Match[str]) -> str:
    """TeX between $$ as MathML; a \\tag becomes the number at the right."""
    tex = " ".join(match[1].split())
    tag = TAG.search(tex)
    number = f'<span class="number">({tag[1]})</span>' if tag else ""
    return f'<div class="formula">{convert(TAG.sub("", tex), display="block")}{number}</div>'


def main() -> None:
    """Stage the pages and render them; a warning is an error."""
    stage()
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", "mkdocs.yml"]
    sys.exit(subprocess.run(command, cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
