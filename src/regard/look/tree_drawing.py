"""Draw parse trees: as text for a terminal, as SVG, and as an HTML page.

SVG has the page's own text colour, and the words that of the class `words`.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from html import escape

from regard.look.alignment_grid import width
from regard.look.page import opening
from regard.look.tree_layout import TreeNode, layout
from regard.text.normalise import normalise
from regard.text.trees import Tree, words

LETTER = 9  # approximate width in pixels; a Korean character takes two
ROW = 46
MARGIN = 12

# The box-drawing character by the directions in which a line continues: left, right, up, down.
_LINES = {
    (False, False, True, True): "│",
    (True, True, False, False): "─",
    (False, True, False, True): "┌",
    (True, False, False, True): "┐",
    (True, True, False, True): "┬",
    (True, True, True, False): "┴",
    (True, True, True, True): "┼",
    (False, True, True, False): "└",
    (True, False, True, False): "┘",
    (False, True, True, True): "├",
    (True, False, True, True): "┤",
}

STYLE = """
:root { color-scheme: light dark; --paper: #fcfcfa; --ink: #1d2126; --soft: #5c6570; --line: #dfe2e6; --blue: #1f5fbf; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --ink: #e6e8eb; --soft: #9aa4af; --line: #2e353d; --blue: #7db2ff; }
}
body { margin: 0; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, "Noto Sans", "Noto Sans CJK KR", "Apple SD Gothic Neo", "Malgun Gothic", sans-serif; }
h1 { font-size: 1.35rem; margin: 0 0 1rem; }
figure { margin: 0 0 2rem; padding-bottom: 1rem; border-bottom: 1px solid var(--line); }
figure div { overflow-x: auto; }
figcaption { color: var(--soft); }
svg { display: block; }
svg .words { color: var(--blue); }
"""


def as_text(tree: Tree, columns: int | None = None) -> str:
    """Return the tree as terminal lines: top down if that fits the columns, else from left to right."""
    nodes = layout(tree, width, gap=2)
    if nodes[0].span > (columns or shutil.get_terminal_size().columns):
        return "\n".join(_sideways(tree))
    rows: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for node in nodes:
        rows[2 * node.depth].append((node.centre - width(node.label) // 2, node.label))
        if node.word is not None:
            rows[2 * node.depth + 1].append((node.centre - width(node.word) // 2, node.word))
        elif node.children:
            rows[2 * node.depth + 1].append(_branches(node))
    return "\n".join(_row(rows[number]) for number in range(len(rows)))


def _branches(node: TreeNode) -> tuple[int, str]:
    """Return the line from a node to its children, and its first column."""
    below = {child.centre for child in node.children}
    first, last = min(node.centre, *below), max(node.centre, *below)
    return first, "".join(
        _LINES[column > first, column < last, column == node.centre, column in below]
        for column in range(first, last + 1)
    )


def _row(parts: list[tuple[int, str]]) -> str:
    line, end = [], 0
    for column, text in parts:
        line += [" " * (column - end), text]
        end = column + width(text)
    return "".join(line).rstrip(" ")


def _sideways(tree: Tree) -> Iterator[str]:
    """Return one line for each constituent and word, indented by depth."""
    pending = [(tree, "", "")]
    while pending:
        part, before, below = pending.pop()
        word = "" if part.word is None else f"  {normalise(part.word)}"
        yield f"{before}{normalise(part.label)}{word}"
        for place, child in enumerate(reversed(part.children)):
            branch, beside = ("└─ ", "   ") if place == 0 else ("├─ ", "│  ")
            pending.append((child, below + branch, below + beside))


def as_svg(tree: Tree) -> str:
    nodes = layout(tree, lambda text: LETTER * width(text), gap=2 * LETTER)
    wide = nodes[0].span + 2 * MARGIN
    high = ROW * (max(node.depth for node in nodes) + 1) + 2 * MARGIN
    label = escape(f"Tree: {normalise(str(tree))}", quote=True)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tree" viewBox="0 0 {wide} {high}" width="{wide}" '
            f'height="{high}" font-family="system-ui, sans-serif" font-size="15" role="img" aria-label="{label}">',
            '<g stroke="currentColor" stroke-opacity="0.4">',
            *(_line(node, child) for node in nodes for child in node.children),
            "</g>",
            *(_text(node.centre, _top(node), node.label) for node in nodes),
            '<g class="words" font-weight="600">',
            *(_text(node.centre, _top(node) + 20, node.word) for node in nodes if node.word is not None),
            "</g>",
            "</svg>",
        ]
    )


def as_html(trees: Iterable[Tree]) -> str:
    """Return an HTML page of trees, without scripts and external resources."""
    return f"""{opening("regard: trees", STYLE)}<h1>Trees</h1>
{"".join(map(_figure, trees))}</body>
</html>
"""


def _figure(tree: Tree) -> str:
    sentence = escape(normalise(" ".join(words(tree))))
    return f"""<figure>
<div tabindex="0">
{as_svg(tree)}
</div>
<figcaption dir="auto">{sentence}</figcaption>
</figure>
"""


def _top(node: TreeNode) -> int:
    """Return the y coordinate of a node's label."""
    return MARGIN + ROW * node.depth + 15


def _line(node: TreeNode, child: TreeNode) -> str:
    start, end = (node.centre + MARGIN, _top(node) + 6), (child.centre + MARGIN, _top(child) - 16)
    return f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}"/>'


def _text(x: int, y: int, text: str) -> str:
    return f'<text x="{x + MARGIN}" y="{y}" text-anchor="middle" fill="currentColor">{escape(text)}</text>'
