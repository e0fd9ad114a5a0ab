"""What is told of parses."""

from regard.evaluate.parser_report import ParserReport, figures, measure_parser
from regard.saved.folder import LoadedModel
from regard.text.trees import Tree, cleaned, read_trees, words
from regard.translate.parser import Parse, ParseOptions, Parser

GOLD = [
    "(S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .))",
    "(S (NP (NNS Dogs)) (VP (VBP bark)) (. .))",
]
WRONG_TAG = "(S (NP (DT The) (NN cat)) (VP (VBD sat)) (NN .))"
FLAT = "(S (NNS Dogs) (XX bark) (XX .))"


def trees(*texts: str) -> list[Tree]:
    return [tree for tree in map(cleaned, read_trees(texts, "test")) if tree is not None]


def parses(*texts: str, repaired: int = 0) -> list[Parse]:
    """The last ones repaired."""
    found = trees(*texts)
    return [Parse(tuple(words(tree)), tree, -1.0, number >= len(found) - repaired) for number, tree in enumerate(found)]


def test_a_wrong_tag_of_punctuation_costs_evalbs_figures_a_sentence_but_not_ours() -> None:
    found = figures(trees(*GOLD), parses(WRONG_TAG, GOLD[1]))
    assert (found["f1"], found["errors"], found["valid"]) == (100.0, 1, 1)
    assert (found["f1_right_tags"], found["repaired"]) == (100.0, 0.0)


def test_what_is_repaired_is_counted_and_measured() -> None:
    found = figures(trees(*GOLD), parses(GOLD[0], FLAT, repaired=1))
    matched, gold, test = 3 + 1, 3 + 3, 3 + 1
    assert found["repaired"] == 50.0 and found["f1_right_tags"] == 100 * 2 * matched / (gold + test)
    assert (
        "50.00 % repaired, 0.00 % too long, F1 with the right tags 80.00"
        in ParserReport({}, {"unconstrained": found}).as_text()
    )


def test_both_kinds_of_search_are_measured(saved_parser: LoadedModel) -> None:
    """An untrained parser writes trees only where it is held to them."""
    parser = Parser(saved_parser)
    found = measure_parser(parser, trees(*GOLD), ParseOptions(beam=1))
    sentences = [words(tree) for tree in trees(*GOLD)]
    for name, constraint in (("constrained", True), ("unconstrained", False)):
        assert found.parses[name] == parser.parse_words(sentences, ParseOptions(beam=1, constraint=constraint))
    assert found.figures["constrained"]["repaired"] == 0 < found.figures["unconstrained"]["repaired"]


def test_a_sentence_that_was_not_searched_is_counted_apart() -> None:
    """Its flat tree is measured, but no search had to be repaired."""
    flat = Parse(tuple(words(trees(FLAT)[0])), trees(FLAT)[0], None, True)
    assert flat.too_long
    found = figures(trees(*GOLD), [*parses(GOLD[0]), flat])
    assert (found["repaired"], found["too_long"]) == (0.0, 50.0)
    assert "0.00 % repaired, 50.00 % too long, F1 with" in ParserReport({}, {"constrained": found}).as_text()
