"""Growing a vocabulary: old pieces stay, new ones are reachable and made of old ones, and a model starts from them."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from regard.api import train
from regard.config.data import CorpusConfig, PrepareConfig
from regard.config.presets import preset
from regard.data.passes.first_pass import SpooledText
from regard.data.passes.grow import grown
from regard.data.passes.second_pass import tempered
from regard.data.prepare import prepare
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.saved.bundled import bundled
from regard.saved.folder import load_model
from regard.text.protected.reserved import SIGNS, TOKENS
from regard.text.subwords import Subwords
from regard.text.word_vocabulary import Words
from regard.train.fine_tuning import parts_of
from regard.translate.load import load

ENGLISH = ["the old dog sees the house", "a dog and a house", "the man sees the old dog", "dogs see houses"] * 20
KOREAN = ["개가 집을 봅니다 🙂", "할머니가 집을 봅니다", "개가 할머니를 봅니다", "houses 2026 café"] * 20


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def old(request: pytest.FixtureRequest) -> Subwords:
    return Subwords.train(ENGLISH, 283, kind=request.param, tags=("<2de>", "<2en>"))


def test_old_pieces_stay_and_new_text_gets_shorter(old: Subwords) -> None:
    new = grown(old, KOREAN, 40, ("<2de>", "<2ko>"))
    names, before = new.pieces(range(new.size)), old.pieces(range(old.size))
    assert [name for name in names if name in set(before)] == before
    assert new.tags == ("<2de>", "<2en>", "<2ko>") and new.kind == old.kind
    assert old.size + 1 < new.size <= old.size + 41
    lengths = [sum(map(len, some.encode(KOREAN))) for some in (old, new)]
    assert lengths[1] < 0.5 * lengths[0]
    assert [new.decode(ids) for ids in new.encode(KOREAN + ENGLISH)] == KOREAN + ENGLISH
    assert not any(any(letter.isdigit() for letter in name) for name in names[-10:] if len(name) > 1)
    assert grown(old, KOREAN, 40, ("<2de>", "<2ko>")).content == new.content


def test_the_first_merge_is_the_most_frequent_pair(old: Subwords) -> None:
    """Counted anew over all words, with the letters that were added first."""
    letters = {letter for line in KOREAN for letter in line if letter not in old.scores} - {" "}
    base = grown(old, KOREAN, len(letters))
    pairs: Counter[str] = Counter()
    for line in KOREAN:
        for word in line.split():
            pieces = base.pieces(base.encode([word])[0])
            pairs.update(a + b for a, b in pairwise(pieces) if not (a + b)[-1].isdigit() and a + b not in base.scores)
    more = grown(old, KOREAN, len(letters) + 1)
    [new] = set(more.scores) - set(base.scores)
    assert pairs[new] == max(pairs.values())


def test_new_pieces_are_made_of_old_ones(old: Subwords) -> None:
    new = grown(old, KOREAN + ["doghouse doghouses"] * 9, 60, ("<2ko>",))
    parts = parts_of(old, new)
    for number, (name, rows) in enumerate(zip(new.pieces(range(new.size)), parts, strict=True)):
        spelt = b"".join(old.spelling[row] for row in rows)
        if name == "<2ko>":
            assert rows == [old.tag("<2de>"), old.tag("<2en>")]
        elif name not in new.tags and number > 3:
            assert spelt == new.spelling[number]


def test_what_can_not_grow_is_rejected(old: Subwords, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="regard has learned"):
        grown(Words.learn(ENGLISH, 50), KOREAN, 10)
    (tmp_path / "a.tsv").write_text("a\tb\n", encoding="utf-8")
    with pytest.raises(UserError, match="--subwords-from"):
        prepare([CorpusConfig(files=(str(tmp_path / "a.tsv"),))], [], tmp_path / "x", PrepareConfig(grow=10))


def test_a_bundled_model_learns_another_language(tmp_path: Path) -> None:
    """As the issue writes it, but with few pairs; and the old directions stay as they are but for rounding."""
    (tmp_path / "new.en").write_text("\n".join(ENGLISH[:4] * 5), encoding="utf-8")
    (tmp_path / "new.ko").write_text(
        "\n".join(f"{line} {n}" for n, line in enumerate(KOREAN[:4] * 5)), encoding="utf-8"
    )
    pair = CorpusConfig(files=(str(tmp_path / "new.en"), str(tmp_path / "new.ko")))
    start = load_model("en-de")
    folder = bundled()["en-de"]
    config = PrepareConfig(
        subwords_from=str(folder), grow=20, source_language="en", target_language="ko", valid_pairs=0
    )
    prepare([pair], [], tmp_path / "data", config, cores=1)
    data = Prepared.open(tmp_path / "data")
    assert "<2ko>" in data.source_subwords.tags and data.source_subwords.size > start.config.vocabulary
    settings = preset("tiny", train={"steps": 1, "peak_rate": 1e-12, "warmup": 0, "final": "last", "batch_tokens": 500})
    model = train(settings, data, tmp_path / "run", start=folder)
    new = load_model(model)
    parts = parts_of(start.vocabularies.source, data.source_subwords)
    before, after = start.model.state_dict()["embedding_VD"], new.model.state_dict()["embedding_VD"]
    for row, rows in zip(after, parts, strict=True):
        assert torch.allclose(row, before[rows].mean(0), atol=1e-6)
    text = "Where is the station?"
    assert load(model).translate(text, target="de") == load("en-de", engine="torch").translate(text)
    assert isinstance(load(model).translate(text), str), "its own language is the new one"


def test_growing_adds_the_tokens_for_protected_text(tmp_path: Path) -> None:
    """On both sides, in the pairs, too; each starts from a vector of its own, which the model had before."""
    pairs = [f"See https://a.example/{n} now.\t{KOREAN[n % 4]} https://a.example/{n}" for n in range(200)]
    (tmp_path / "a.tsv").write_text("\n".join(pairs), encoding="utf-8")
    corpus = CorpusConfig(files=(str(tmp_path / "a.tsv"),))
    languages = PrepareConfig(source_language="en", target_language="ko", valid_pairs=0, vocabulary=320, shared=False)
    prepare([corpus], [], tmp_path / "old", languages, cores=1)
    more = languages.model_copy(update={"subwords_from": str(tmp_path / "old"), "protect": True})
    with pytest.raises(UserError, match="add them with --grow"):
        prepare([corpus], [], tmp_path / "new", more, cores=1)
    prepare([corpus], [], tmp_path / "new", more.model_copy(update={"grow": 1}), cores=1)
    old, new = (Prepared.open(tmp_path / name) for name in ("old", "new"))
    for before, after, ids in zip(
        (old.source_subwords, old.target_subwords),
        (new.source_subwords, new.target_subwords),
        new.train[0].pair(0),
        strict=True,
    ):
        assert isinstance(before, Subwords) and isinstance(after, Subwords)
        assert (before.reserved, after.reserved) == ((), TOKENS)
        numbers = [after.encode([sign])[0][-1] for sign in SIGNS]
        assert set(numbers) & set(ids.tolist())
        rows = [parts_of(before, after)[number] for number in numbers]
        assert len(set(map(tuple, rows))) == len(TOKENS) and min(map(min, rows)) >= 4, "pieces and bytes, no tags"
    again = more.model_copy(update={"subwords_from": str(tmp_path / "new"), "grow": 1})
    prepare([corpus], [], tmp_path / "again", again, cores=1)
    assert Prepared.open(tmp_path / "again").source_subwords.reserved == TOKENS, "they are there once"


def test_temperature_raises_the_share_of_little_text() -> None:
    def text(tag: str, count: int, weight: float = 1.0) -> SpooledText:
        return SpooledText(CorpusConfig(files=("x",), tag=tag, weight=weight), read=count)

    texts = [text("<2de>", 8000), text("<2ko>", 500, 2.0), text("<2de>", 1000)]
    factors = tempered(texts, 2.0)
    visits = {"<2de>": 9000 * factors["<2de>"], "<2ko>": 1000 * factors["<2ko>"]}
    assert sum(visits.values()) == pytest.approx(10_000)
    assert visits["<2ko>"] / visits["<2de>"] == pytest.approx((1000 / 9000) ** 0.5)
    assert tempered(texts, 1.0) == pytest.approx({"<2de>": 1.0, "<2ko>": 1.0})
