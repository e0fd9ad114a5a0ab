"""Conversion between bracketed text, as in the Penn Treebank, and trees.

    (S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .))

No function here is recursive: the depth of a tree is limited by memory only.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat, zip_longest
from typing import Literal, NamedTuple

from regard.errors import UserError

TRACE = "-NONE-"
"""The tag of an empty element: a trace, or an omitted word."""
ROOT = "TOP"
ROOTS = (ROOT, "ROOT")  # as treebanks call the node above a sentence; the second is that of many parsers
"""The label of a root that is not a constituent of its sentence; scores do not count it."""
WORD = "XX"
"""The tag of a word whose tag is unknown or not kept."""

_ESCAPES = str.maketrans({"(": "-LRB-", ")": "-RRB-"})
_FUNCTION = re.compile(r"(?<=.)[-=].*", re.DOTALL)  # not in -LRB-, which begins with a hyphen
# A tag with its word, either of which may be missing, as EVALB reads them; the same with spaces anywhere; the beginning
# of a constituent; its end; or a word without brackets. Only ASCII spaces separate them.
_PARTS = re.compile(
    r"\(([^()\s]*+)\s++([^()\s]*+)\)"
    r"|\(\s*+([^()\s]++)\s++([^()\s]++(?:\s++[^()\s]++)*+)\s*+\)"
    r"|\(\s*+([^()\s]*+)|(\))|([^()\s]++)",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A constituent with its children, or a tag with its word and no children.

    A word is what its annotators made one, so it may contain a space. As EVALB reads them, ( cat) is a word without
    a tag; (NN ), with a space, a tag without a word, or with the word ""; and (NN) a constituent without children.
    """

    label: str
    children: tuple["Tree", ...] = ()
    word: str | None = None

    def __str__(self) -> str:
        """Return Penn brackets on one line; a bracket in a word is written -LRB- or -RRB-, as in the treebank."""
        parts: list[str] = []
        for kind, tree in walk(self):
            if tree.word is not None:
                parts.append(f" ({tree.label} {tree.word.translate(_ESCAPES)})")
            else:
                parts.append(f" ({tree.label}" if kind == "open" else ")")
        return "".join(parts).removeprefix(" ")

    def __repr__(self) -> str:
        return f"<Tree {self}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        for one, another in zip_longest(walk(self), walk(other)):
            if one is None or another is None or one[0] != another[0]:
                return False
            if one[1].label != another[1].label or one[1].word != another[1].word:
                return False
        return True

    def __hash__(self) -> int:
        return hash(str(self))


def walk(tree: Tree) -> Iterator[tuple[Literal["open", "word", "close"], Tree]]:
    """Walk a tree in bracket order: a constituent when it opens and when it closes, a tag with its word once."""
    pending: list[tuple[Literal["open", "close"], Tree]] = [("open", tree)]
    while pending:
        kind, tree = pending.pop()
        if tree.word is not None:
            yield "word", tree
            continue
        yield kind, tree
        if kind == "open":
            pending.append(("close", tree))
            pending.extend(("open", child) for child in reversed(tree.children))


def words(tree: Tree) -> list[str]:
    return [leaf.word for _, leaf in walk(tree) if leaf.word is not None]


def tags(tree: Tree) -> list[str]:
    return [leaf.label for _, leaf in walk(tree) if leaf.word is not None]


def cleaned(tree: Tree) -> Tree | None:
    """Return the tree that a parser learns, or None if nothing is left of it.

    Traces, tags without words, and constituents of nothing else are removed; NP-SBJ-1 and NP=2 become NP; a word
    without a tag gets XX; a constituent without a label, and a TOP or ROOT with one child, are replaced by their
    children.
    """
    levels: list[list[Tree]] = [[]]
    for kind, part in walk(tree):
        if kind == "word":
            if part.label != TRACE and part.word:
                levels[-1].append(part if part.label else Tree(WORD, (), part.word))
        elif part.label and kind == "open":
            levels.append([])
        elif part.label:
            children = tuple(levels.pop())
            if children:
                levels[-1].append(Tree(_FUNCTION.sub("", part.label), children))
    roots = levels[0]
    while len(roots) == 1 and roots[0].label in ROOTS and roots[0].children:
        roots = list(roots[0].children)
    return roots[0] if len(roots) == 1 else Tree(ROOT, tuple(roots)) if roots else None


def read_trees(lines: Iterable[str], origin: str) -> Iterator[Tree]:
    """Yield the trees in a text, each as soon as it is complete: one on a line, several, or one over several lines.

    Anything before a tab and a tree, such as a document's name, is ignored. `origin` is the file's name for
    messages; a bracket too many or too few is a UserError with its line and column.
    """
    open_: list[_Open] = []
    for number, line in enumerate(lines, 1):
        if line:
            yield from _read_line(line, number, open_, origin)
    _check_closed(open_, origin)


def read_parses(lines: Iterable[str], origin: str) -> Iterator[Tree | None]:
    """Yield a parser's trees, one a line, with None for a blank line: a sentence for which it found no tree.

    Several trees on a line belong to one sentence, and are put under one TOP. Trees over several lines are read as
    well; a blank line between them is ignored.
    """
    open_: list[_Open] = []
    one_a_line: bool | None = None  # unknown before the first tree
    blank = before = 0  # the number of the last blank line; how many there are before the first tree
    for number, line in enumerate(lines, 1):
        if not open_ and not line[_start(line) :].strip():
            blank = number
            if one_a_line:
                yield None
            elif one_a_line is None:
                before += 1
            continue
        trees = list(_read_line(line, number, open_, origin))
        if one_a_line is None:
            one_a_line = not open_
            yield from repeat(None, before if one_a_line else 0)
        elif one_a_line and open_:
            if blank:
                raise UserError(
                    f"{origin}, {open_[0].place}: this tree goes on over lines, those before it do not, and so the "
                    f"blank line {blank} may stand for a sentence or for nothing; write one tree a line"
                )
            one_a_line = False
        if one_a_line and len(trees) > 1:
            trees = [Tree(ROOT, tuple(trees))]
        yield from trees
    if one_a_line is None:
        yield from repeat(None, before)
    _check_closed(open_, origin)


class _Place(NamedTuple):
    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class _Open:
    """A bracket that is not closed yet."""

    __slots__ = ("children", "label", "place", "word")

    def __init__(self, label: str, place: _Place) -> None:
        self.label = label
        self.place = place
        self.children: list[Tree] = []
        self.word: str | None = None


def _start(line: str) -> int:
    """Return where a line's trees begin: after a name and a tab."""
    tab = line.find("\t")
    return tab + 1 if "(" not in line[: tab + 1] and ")" not in line[: tab + 1] else 0


def _read_line(line: str, number: int, open_: list[_Open], origin: str) -> Iterator[Tree]:
    """Yield the trees that end on a line; `open_` holds the open brackets, and is updated."""
    for part in _PARTS.finditer(line, 0 if open_ else _start(line)):
        tag, word, spaced_tag, spaced_word, label, close, bare = part.groups()
        if bare is not None:
            _put(bare, open_, _Place(number, part.start() + 1), origin)
            continue
        if close is None and open_ and open_[-1].word is not None:
            raise _misplaced(origin, _Place(number, part.start() + 1), open_)
        if label is not None:
            open_.append(_Open(label, _Place(number, part.start() + 1)))
            continue
        if tag is not None or spaced_tag is not None:
            tree = Tree(tag or spaced_tag or "", (), word or spaced_word or "")
        elif open_:
            last = open_.pop()
            tree = Tree(last.label, tuple(last.children), last.word)
        else:
            place = _Place(number, part.start() + 1)
            raise UserError(f"{origin}, {place}: this bracket closes what was not opened; remove it, or open it")
        if open_:
            open_[-1].children.append(tree)
        else:
            yield tree


def _put(bare: str, open_: list[_Open], place: _Place, origin: str) -> None:
    """Add a word that is on a line after its tag, or a label that is on a line after its bracket."""
    if not open_ or open_[-1].children:
        raise _misplaced(origin, place, open_)
    last = open_[-1]
    if not last.label:
        last.label = bare
    else:
        last.word = bare if last.word is None else f"{last.word} {bare}"


def _misplaced(origin: str, place: _Place, open_: list[_Open]) -> UserError:
    where = f"in the tree from {open_[0].place}" if open_ else "outside of a tree"
    return UserError(
        f"{origin}, {place}: a word beside a bracket, {where}; write each word with its tag, as in (NN cat), "
        "and close every bracket"
    )


def _check_closed(open_: list[_Open], origin: str) -> None:
    if open_:
        raise UserError(f"{origin}, {open_[0].place}: the tree from here does not end; close every bracket of it")
