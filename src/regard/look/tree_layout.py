"""Lay out a parse tree: each constituent is centred above its children, words keep their order."""

from collections.abc import Callable
from dataclasses import dataclass, field

from regard.text.normalise import normalise
from regard.text.trees import Tree, walk


@dataclass
class TreeNode:
    """A constituent, or a tag with its word; `normalise` has removed characters that can't be drawn."""

    label: str
    word: str | None
    depth: int
    children: list["TreeNode"] = field(default_factory=list, repr=False)
    left: int = 0
    span: int = 0
    """Width reserved for the subtree; subtrees do not overlap."""
    centre: int = 0


def layout(tree: Tree, width: Callable[[str], int], gap: int) -> list[TreeNode]:
    """Return the nodes in preorder. `width` measures a text; `gap` separates neighbours."""
    nodes = _nodes(tree)
    for node in reversed(nodes):
        node.span = max(width(node.label), width(node.word or ""), 1, _room(node, gap))
    for node in nodes:
        left = node.left + node.span // 2 - _room(node, gap) // 2  # an only child is placed directly below
        for child in node.children:
            child.left = left
            left += child.span + gap
    for node in reversed(nodes):
        node.centre = node.left + node.span // 2
        if node.children:
            half, wide = width(node.label) // 2, width(node.label)
            middle = (node.children[0].centre + node.children[-1].centre) // 2
            node.centre = min(max(middle, node.left + half), node.left + node.span - wide + half)
    return nodes


def _nodes(tree: Tree) -> list[TreeNode]:
    nodes: list[TreeNode] = []
    above: list[TreeNode] = []
    for kind, part in walk(tree):
        if kind == "close":
            above.pop()
            continue
        node = TreeNode(normalise(part.label), None if part.word is None else normalise(part.word), len(above))
        if above:
            above[-1].children.append(node)
        nodes.append(node)
        if kind == "open":
            above.append(node)
    return nodes


def _room(node: TreeNode, gap: int) -> int:
    """Return the total width of the children, gaps included."""
    return sum(child.span for child in node.children) + gap * max(0, len(node.children) - 1)
