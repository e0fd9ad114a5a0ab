"""A translation as a whole: its options, its score and its alignment, put together from those of its sentences."""

import math
from dataclasses import replace

import pytest

from regard.search.hypothesis import Hypothesis
from regard.translate.translation import Output, Sentence, Translation
from regard.translate.words import Pairs


def output(text: str, score: float = -1.0, alignment: Pairs | None = None) -> Output:
    """Its tokens are its words."""
    tokens = tuple(f"▁{word}" for word in text.split())
    return Output(text, tokens, Hypothesis((), score, score, ()), alignment)


def sentence(source: str, *outputs: Output, after: str = " ") -> Sentence:
    return Sentence(source, tuple(f"▁{word}" for word in source.split()), outputs, after)


def test_there_are_as_many_options_as_the_sentence_with_most_has() -> None:
    """A sentence that has fewer gives its last; one that has none stays as it is, and has no score."""
    several = sentence("Eins.", output("One.", -1.0), output("A.", -2.0), output("I.", -4.0))
    single, none = sentence("Zwei.", output("Two.", -8.0)), sentence("※", after="\n")
    both = Translation(" Eins. Zwei. ※\n", " ", (several, single, none))
    assert both.options == 3
    assert [both.option(number) for number in range(3)] == [" One. Two. ※\n", " A. Two. ※\n", " I. Two. ※\n"]
    assert [both.option_score(number) for number in range(3)] == [-9.0, -10.0, -12.0]
    assert (both.text, both.score) == (both.option(0), both.option_score(0))
    nothing = Translation(" \n", " \n", ())
    assert (nothing.options, nothing.text, nothing.score, nothing.pairs) == (1, " \n", 0, None)


def test_a_space_is_due_after_a_full_width_mark_only() -> None:
    mark, plain = sentence("好。", output("Yes."), after=""), sentence("好", output("Yes"), after="")
    assert Translation("好。好。", "", (mark, mark)).text == "Yes. Yes."
    assert Translation("好好", "", (plain, plain)).text == "YesYes"
    full_width = sentence("好。", output("はい。"), after="")
    assert Translation("好。好。", "", (full_width, mark)).text == "はい。Yes."


def test_the_alignment_counts_words_through_all_sentences() -> None:
    first = sentence("Ein Haus.", output("A house.", alignment=((0, 0), (1, 1))))
    untouched, last = sentence("※ ※"), sentence("Ja.", output("Oh yes.", alignment=((0, 1),)), after="")
    whole = Translation("Ein Haus. ※ ※ Ja.", "", (first, untouched, last))
    assert whole.text == "A house. ※ ※ Oh yes."
    assert whole.pairs == ((0, 0), (1, 1), (4, 5))
    assert Translation("Ja.", "", (sentence("Ja.", output("Yes.")),)).pairs is None


def test_there_is_no_alignment_where_words_are_not_what_spaces_divide() -> None:
    joined = sentence("好。", output("Yes.", alignment=((0, 0),)), after="")
    assert Translation("好。好。", "", (joined, joined)).pairs is None, "one word by spaces, but two sentences"
    divided = Sentence("好 吗", ("▁好吗",), (output("Good?", alignment=((0, 0),)),), "")
    assert Translation("好 吗", "", (divided,)).pairs is None, "one word by tokens, two by spaces"


def scored(text: str, pieces: str, *probabilities: float) -> Output:
    """An output of these pieces, with the probability of each and of EOS."""
    tokens, scores = tuple(pieces.split()), tuple(map(math.log, probabilities))
    return Output(text, tokens, Hypothesis(tuple(range(len(tokens))), 0.0, sum(scores), scores), None)


def test_a_word_is_weak_by_its_least_probable_token() -> None:
    """Numbered through all sentences; what was not translated has no weak words, nor has what follows the last."""
    first = sentence("A house 🙂.", scored("Ein 집이 🙂.", "▁Ein ▁집 이 ▁🙂 .", 0.9, 0.2, 0.1, 0.31, 0.9, 0.01))
    untouched, last = sentence("※ ※"), sentence("Yes.", scored("Ja.", "▁J a.", 0.9, 0.29, 0.9), after="")
    whole = Translation("A house 🙂. ※ ※ Yes.", "", (first, untouched, last))
    assert whole.weak_words == pytest.approx({1: 0.1, 5: 0.29})
    kept = replace(first, kept=True)
    assert Translation("A house 🙂. Yes.", "", (kept, last)).weak_words == pytest.approx({3: 0.29})
    assert Translation("Yes.", "", (sentence("Yes.", output("Ja.")),)).weak_words == {}, "without scores"
    joined = sentence("好。", scored("是。", "是 。", 0.1, 0.9, 0.9), after="")
    assert Translation("好。好。", "", (joined, joined)).weak_words == {}, "one word by spaces, but two sentences"
    divided = sentence("好 吗", scored("Is it", "Isit", 0.1, 0.9), after="")
    assert Translation("好 吗", "", (divided,)).weak_words == {}, "one word by tokens, two by spaces"
