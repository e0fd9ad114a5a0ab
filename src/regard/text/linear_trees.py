"""Conversion between trees and sequences of symbols, so that a model can translate words into them (section 6.3).

    (S (NP (DT The) (NN cat)) (VP (VBD sat)))    ->    (S (NP DT NN )NP (VP VBD )VP )S

The words are left out: the restored tree is over the words of the source.
"""

from collections.abc import Sequence

from regard.text.trees import ROOT, WORD, Tree, walk


def linearise(tree: Tree, tags: bool) -> list[str]:
    """Return the symbols of a tree: "(NP" opens, ")NP" closes, and each word is its tag, or XX."""
    symbols: list[str] = []
    for kind, part in walk(tree):
        if kind == "word":
            symbols.append(part.label if tags else WORD)
        else:
            symbols.append(("(" if kind == "open" else ")") + part.label)
    return symbols


def restore(symbols: Sequence[str], words: Sequence[str]) -> tuple[Tree, bool]:
    """Return a tree over exactly these words from any sequence of symbols, and whether it had to be repaired.

    A closing bracket also closes the constituents left open inside it, and is ignored if its label is not open. A
    tag beyond the last word is ignored. Words beyond the last tag get XX, inside the innermost open constituent.
    Constituents open at the end are closed, those without words are removed, and several roots are put under one
    TOP.
    """
    open_: list[tuple[str, list[Tree]]] = [("", [])]
    depth: dict[str, int] = {}  # number of open constituents with this label
    repaired = False
    used = 0

    def close() -> None:
        nonlocal repaired
        label, children = open_.pop()
        depth[label] -= 1
        if children:
            open_[-1][1].append(Tree(label, tuple(children)))
        else:
            repaired = True

    for symbol in symbols:
        if symbol.startswith("("):
            open_.append((symbol[1:], []))
            depth[symbol[1:]] = depth.get(symbol[1:], 0) + 1
        elif symbol.startswith(")"):
            if not depth.get(symbol[1:]):
                repaired = True
                continue
            while open_[-1][0] != symbol[1:]:
                repaired = True
                close()
            close()
        elif used < len(words):
            open_[-1][1].append(Tree(symbol, (), words[used]))
            used += 1
        else:
            repaired = True
    open_[-1][1].extend(Tree(WORD, (), word) for word in words[used:])
    repaired = repaired or used < len(words) or len(open_) > 1
    while len(open_) > 1:
        close()
    roots = open_[0][1]
    if len(roots) == 1:
        return roots[0], repaired
    return Tree(ROOT, tuple(roots)), True
