"""Trees that hypothesis makes up, with labels and words of every kind that a file can hold."""

import re

from hypothesis import strategies as st

from regard.text.trees import Tree

LABELS = ("S", "NP", "VP", "NP-SBJ", "NP-SBJ-1", "PP=2", "ADVP", "PRT", "TOP", "-NONE-", "X|Y", "명사구", "صفة", "-")
TAGS = ("DT", "NN", "-LRB-", "-NONE-", ",", ".", "''", ":", "$", "NN", "PRP$", "명사", "😀")
WORDS = (
    "The",
    "cat",
    "-LRB-",
    "*T*-1",
    "3\\/4",
    "철수",
    "e\u0301",
    "שלום",
    "👩\u200d👧",
    "\u3000",
    "\u00a0",
    "Xpd TTD",
    "\ud800",
)

written = st.text(st.characters(exclude_characters="()"), min_size=1, max_size=5).filter(
    lambda text: not re.search(r"\s", text, re.ASCII)
)
labels = st.sampled_from(LABELS) | written
leaves = st.builds(
    lambda tag, word: Tree(tag, (), word), st.sampled_from(TAGS) | written, st.sampled_from(WORDS) | written
)
trees = st.recursive(
    leaves,
    lambda inside: st.builds(
        lambda label, children: Tree(label, tuple(children)), labels, st.lists(inside, min_size=1, max_size=4)
    ),
    max_leaves=12,
)
