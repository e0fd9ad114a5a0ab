"""Hostile text, and what makes any text."""

from hypothesis import strategies as st

TAGS = ("<2de>", "<2ko>")
SIZE = 450


# What breaks text handling, as whole strings: hypothesis seldom puts the right characters side by side.
HOSTILE = (
    "",
    " ",
    "\u1112\u1161\u11ab\u1100\u1173\u11af",  # 한글 in jamo that compose
    "\u1161\u11ab\u1112",  # jamo that don't
    "e\u0301\u0323 \u0344\u0f73\uff9e",  # marks out of order, marks that are two, a mark in disguise
    "a" + "\u0301\u0323" * 20,  # more marks than a line may have in a row
    "\u05e9\u05dc\u05d5\u05dd \u202e\u0645\u0631\u062d\u0628\u0627\u202c \u200f",  # right to left, with overrides
    "👩\u200d👩\u200d👧\u200d👦🏽 🏳\ufe0f\u200d🌈",  # emoji joined
    "a\0b\x07\x7f\x9f",
    "\ud800 \udfff \ud83d\ude00",  # lone surrogates, and two that would be a pair elsewhere
    "one\u2028two\u2029three\r\nfour\x85five\x0bsix\tseven",
    "▁",
    "▁▁ a▁b ▁",
    "▁\ufdd0▁▅",  # sentencepiece's own signs, and our stand-in for one
    "\ufffe\uffff\U0001fffe\U0010ffff\ufeff",
    "<s></s><unk><pad><2de><0x41> <2ko>",
    "\u00a0\u202f\u3000\u2003 \u00a8 \ufdfa ｶﾞ ﬁ ①",
    "  two  spaces  ",
    "\U000e0041\U0010fffd\ue000",
    "1234567890 12.345,67",
)


any_character = st.characters(codec=None, categories=None)  # surrogates and noncharacters too


any_text = st.lists(
    st.one_of(st.sampled_from(HOSTILE), st.text(any_character, max_size=20), st.text(max_size=20)), max_size=4
).map("".join)
