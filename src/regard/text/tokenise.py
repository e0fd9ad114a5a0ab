"""Tokenisation of plain English into the words of the Penn Treebank, and the text of such words that a parser reads.

The rules of `tokenise`:

- "straight quotes" become `` and ''; other quotes stay as they are, and are words.
- Brackets, ... and dashes (--, —) are words. So are ; ? ! % $ and #, & between spaces, a comma that is not inside of a
  number, and a colon at the end of a word.
- The period that ends the text is a word, after an abbreviation, too; any other stays with its word.
- do n't, it 's, they 're, we 've, I 'll, I 'm, she 'd, dogs '; can not, gon na, got ta, wan na, gim me, lem me.
- double - strand and and / or, for treebanks that split them.

Words that are separated already stay separate.
"""

import re
from collections.abc import Sequence

from regard.text.normalise import REPLACEMENT, Form, normalise

_QUOTE, _ENDING = "['’]", "s|m|d|re|ve|ll"  # the two spellings of an apostrophe, and the endings after it
_JOINTS = re.compile(r"(?<=\w)[-/–](?=\w)")
# Ordered so that no rule creates a match for an earlier one.
_RULES = [
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r'(?<![^\s(\[{<“‘])"', " `` "),
        (r'"', " '' "),
        (r"[()\[\]{}<>“”„«»;?!%$#…]|\.\.\.+|--+|—", r" \g<0> "),
        (r",(?!\d)|(?<!\d),", " , "),
        (r"(?<!\w)&|&(?!\w)", " & "),
        (r"(?<=[^.\s])\.(?=[\s'’”)\]}]*$)", " . "),
        (r"(?<!:):+(?!\S)", r" \g<0>"),
        (rf"(?<=\w)(n{_QUOTE}t|{_QUOTE}(?:{_ENDING}))(?!\w)", r" \1"),
        (rf"(?<=\w)({_QUOTE})(?!\S)", r" \1"),
        (r"(?<!\S)(?:(can)(not)|(gon|wan)(na)|(got)(ta)|(gim|lem)(me))(?!\S)", r"\1\3\5\7 \2\4\6\8"),
    )
]

_SPELLINGS = {
    **{"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"},
    **{"“": "``", "”": "''", '"': "''"},
}


def tokenise(text: str, *, joints: bool = False) -> list[str]:
    """Split a sentence into words; with `joints`, hyphens and slashes between letters are words, too."""
    if joints:
        text = _JOINTS.sub(r" \g<0> ", text)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text.split()


def spelt(words: Sequence[str], form: Form = "NFC") -> str:
    """Return the text that subwords encode, one word for each of `words`, the same for a tree as for a plain sentence.

    It has brackets where trees have -LRB-, one kind of double quotes and of apostrophes, and single spaces.
    """
    return " ".join(_spelling(word, form) for word in words)


def _spelling(word: str, form: Form) -> str:
    """Return a word without spaces, which some treebanks have inside words; never an empty string."""
    if word in _SPELLINGS:
        return _SPELLINGS[word]
    clean = normalise(word.replace("’", "'"), form)
    return normalise(clean.replace(" ", ""), form) if " " in clean else clean or REPLACEMENT
