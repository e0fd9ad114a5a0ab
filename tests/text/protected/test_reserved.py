from tests.support.models import sentences

from regard.text.normalise import normalise
from regard.text.protected.reserved import MOST, SIGNS, TOKENS, agree, with_reserved
from regard.text.subwords import Subwords


def test_spans_of_both_sides_become_one_token() -> None:
    source, target = with_reserved("See https://a.org/7 or %s now 🎉.", "Siehe jetzt %s oder https://a.org/7 🎉.")
    ours, theirs = (sorted(set(side) & set(SIGNS)) for side in (source, target))
    assert ours == theirs and len(ours) == 2
    assert "https" not in source + target and "%s" not in source + target and "🎉" in source


def test_a_pair_without_equal_spans_stays() -> None:
    pair = ("나는 https://a.org 봤다", "I saw https://b.org")
    assert with_reserved(*pair) == pair
    assert with_reserved("", "") == ("", "")


def test_names_and_numbers_are_replaced_in_some_pairs_only() -> None:
    pairs = [(f"Tom has {n} books.", f"Tom hat {n} Bücher.") for n in range(1000, 1400)]
    changed = [pair for pair in pairs if with_reserved(*pair) != pair]
    assert 20 < len(changed) < 90  # one in 8
    used = {sign for pair in changed for sign in set(with_reserved(*pair)[0]) & set(SIGNS)}
    assert len(used) == MOST, "all tokens are learned"


def test_pairs_that_disagree() -> None:
    assert agree("See https://a.org.", "Siehe https://a.org.")
    assert not agree("See https://a.org.", "Siehe dort.")
    assert not agree("%s of %d", "%d von")
    assert agree("I have 3 dogs.", "Ich habe drei Hunde.")


def test_subwords_spell_reserved_tokens() -> None:
    subwords = Subwords.train(sentences(), 420, tags=("<2de>", *TOKENS))
    assert subwords.tags == ("<2de>",) and subwords.reserved == TOKENS
    text = f"The {SIGNS[0]}, {SIGNS[7]}{SIGNS[0]} 끝."
    ids = subwords.encode([text])[0]
    assert [piece for piece in subwords.pieces(ids) if piece in TOKENS] == ["<keep1>", "<keep8>", "<keep1>"]
    assert subwords.decode(ids) == text
    assert SIGNS[0] not in normalise(text), "no text of a user can spell one"
    assert subwords.tag("<2de>") == 4


def test_subwords_without_them_spell_bytes() -> None:
    subwords = Subwords.train(sentences(), 400)
    assert subwords.reserved == ()
    assert subwords.decode(subwords.encode([SIGNS[0]])[0]) == SIGNS[0]
