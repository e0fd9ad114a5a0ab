"""Sentences in, trees out."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.models import Scripted
from tests.support.parsing import LINE

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import EOS
from regard.engines.torch_engine import TorchEngine
from regard.errors import UserError
from regard.model.build import build
from regard.saved.folder import LoadedModel
from regard.text.linear_trees import linearise, restore
from regard.text.symbols import Symbols
from regard.text.trees import words
from regard.translate.parser import MOST_TOKENS, ParseOptions, Parser

TEXTS = [
    "The cat sat on the mat.",
    "",
    "한국어 문장도 있다.",
    "e\u0301te\u0301 \u0301",
    "שלום עולם",
    "👩‍👩‍👧 ok",
    " \t",
]


@pytest.fixture(scope="session")
def parser(saved_parser: LoadedModel) -> Parser:
    return Parser(saved_parser)


def test_a_tree_for_each_text_over_its_words(parser: Parser) -> None:
    found = parser.parse(TEXTS)
    assert len(found) == len(TEXTS)
    assert [one.tree is None for one in found] == [not text.strip() for text in TEXTS]
    assert found[0].words == ("The", "cat", "sat", "on", "the", "mat", ".")
    for one in found:
        if one.tree is not None:
            assert tuple(words(one.tree)) == one.words and not one.repaired and one.score is not None
            assert restore(linearise(one.tree, True), one.words) == (one.tree, False)
    assert parser.parse(TEXTS[0]).tree == found[0].tree == next(parser.stream(TEXTS)).tree


@settings(max_examples=20, deadline=None)
@given(text=st.text(max_size=30), constraint=st.booleans(), tokenised=st.booleans(), beam=st.sampled_from([1, 2]))
def test_any_text_gets_a_tree_over_its_words(
    parser: Parser, text: str, constraint: bool, tokenised: bool, beam: int
) -> None:
    one = parser.parse(text, ParseOptions(beam, None, constraint, tokenised))
    if tokenised:
        assert one.words == tuple(text.split())
    if one.words:
        assert one.tree is not None and tuple(words(one.tree)) == one.words
        assert not (constraint and one.repaired)


def test_without_the_constraint_what_is_no_tree_is_repaired(parser: Parser, saved_parser: LoadedModel) -> None:
    options = ParseOptions(constraint=False)
    found = [one for one in parser.parse(TEXTS, options) if one.tree is not None]
    assert any(one.repaired for one in found)
    (ids,) = parser.source_subwords.encode(["The cat sat on the mat ."])
    plain = TorchEngine(saved_parser.model).search([ids], replace(parser.request(options), trees=None))[0][0]
    assert restore(parser.symbols.pieces(plain.tokens), found[0].words) == (found[0].tree, found[0].repaired)


def test_a_sentence_beyond_the_limit_has_a_flat_tree_and_says_so(parser: Parser) -> None:
    short, long = parser.parse(["a b c", "word " * 2000])
    assert not short.too_long
    assert long.too_long and long.repaired and long.score is None and len(long.words) == 2000 > MOST_TOKENS
    assert long.tree is not None and words(long.tree) == ["word"] * 2000


ODD = [
    "x",
    ".",
    "one two three four five " * 40,
    ". , ; : ! ? ( ) [ ] -- `` '' " * 3,
    "👩‍👩‍👧‍👦 ꦏꦧꦺꦴ 𐍈𐌰𐍂 ⅫⅫⅫ 뷁뷁뷁뷁 شمس e\u0301\u0302\u0303\u0304",
    "뷁" * 60,
]


def adversary(prefers: str, names: Sequence[str]) -> Scripted:
    """Scores that want what makes no tree: only to open, to close, to end, to write words, or anything at random."""

    def logits(tokens: tuple[int, ...]) -> list[float]:
        if prefers == "random":
            dice = random.Random(repr(tokens[-9:]))
            return [dice.uniform(-50, 50) for _ in names]
        return [50.0 * (number >= EOS and kind(names[number]) == prefers) for number in range(len(names))]

    def kind(name: str) -> str:
        return {"(": "open", ")": "close", "<": "end"}.get(name[0], "word")

    return Scripted(logits)


@pytest.mark.parametrize("prefers", ["open", "close", "end", "word", "random"])
@pytest.mark.parametrize(("beam", "extra"), [(1, 0), (3, 12)])
def test_no_scores_lead_to_anything_but_a_tree(saved_parser: LoadedModel, prefers: str, beam: int, extra: int) -> None:
    """Long and odd sentences, with hardly room for their trees: one tree over exactly the words, as it was written."""
    model = adversary(prefers, Parser(saved_parser).symbols.names)
    parser = Parser(replace(saved_parser, decode=DecodeConfig(beam=beam, extra_length=extra)), TorchEngine(model))
    for text, one in zip(ODD, parser.parse(ODD, ParseOptions(tokenised=True)), strict=True):
        assert one.words == tuple(text.split())
        assert one.tree is not None and one.score is not None and not one.repaired and not one.too_long
        assert tuple(words(one.tree)) == one.words and one.tree.children


@pytest.mark.parametrize("prefers", ["open", "end", "random"])
@pytest.mark.parametrize("beam", [1, 3])
def test_a_tree_is_whole_where_the_models_positions_end(saved_parser: LoadedModel, prefers: str, beam: int) -> None:
    """What a model can write is its words and two brackets, no more."""
    config = saved_parser.config.model_copy(update={"positions": "learned", "max_length": 12})
    model = adversary(prefers, Parser(saved_parser).symbols.names)
    saved = replace(saved_parser, config=config, decode=DecodeConfig(beam=beam, extra_length=50))
    parser = Parser(saved, TorchEngine(model, longest=11))
    for count in range(1, 10):
        one = parser.parse("a " * count)
        assert one.tree is not None and not one.repaired and words(one.tree) == ["a"] * count
        assert len(linearise(one.tree, True)) <= 11
    assert not one.tree.children[0].children, "nine words, and room for one pair of brackets"


def test_a_sentence_as_long_as_treebanks_have_is_searched(saved_parser: LoadedModel) -> None:
    """CRAFT has sentences of up to 586 subwords. They were not searched, and their flat trees counted as repaired."""
    model = adversary("word", Parser(saved_parser).symbols.names)
    parser = Parser(replace(saved_parser, decode=DecodeConfig(beam=1, extra_length=0)), TorchEngine(model))
    (long,) = parser.parse(["a " * 600])
    assert len(parser.source_subwords.encode(["a " * 600])[0]) >= 600
    assert long.tree is not None and long.score is not None and not long.repaired and len(words(long.tree)) == 600


def test_learned_positions_limit_what_is_parsed(saved_parser: LoadedModel) -> None:
    config = saved_parser.config.model_copy(update={"positions": "learned", "max_length": 12})
    parser = Parser(replace(saved_parser, config=config, model=build(config).eval()))
    assert [one.too_long for one in parser.parse(["a b", "a " * 9, "a " * 10])] == [False, False, True]
    assert parser.parse("뷁" * 5).too_long, "one word, of more bytes than there are positions"


def test_joints_are_parted_if_the_model_knows_their_tag(parser: Parser, saved_parser: LoadedModel) -> None:
    assert parser.parse("a-b").words == ("a", "-", "b")
    other = Symbols.learn([LINE.replace("HYPH", "JJ")])
    files = {**saved_parser.subwords, "target.symbols.txt": other.content}
    config = saved_parser.config.model_copy(update={"vocabulary": other.size})
    assert Parser(replace(saved_parser, subwords=files, config=config, model=build(config))).joints is False


def test_a_translator_is_refused(saved: LoadedModel) -> None:
    with pytest.raises(UserError, match="translates, and can't parse"):
        Parser(saved)
