"""The constrained search: always one tree over exactly the words, and the best there is."""

import re
from collections.abc import Callable, Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.models import log_probabilities

from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.special_tokens import EOS
from regard.engines.engine import Request
from regard.engines.torch_engine import TorchEngine, padded
from regard.errors import UserError
from regard.model.build import build
from regard.model.seq2seq import Seq2Seq
from regard.search.beam import beam_search
from regard.search.constraints import Constraints
from regard.search.greedy import greedy_search
from regard.search.length_penalty import normalised
from regard.search.tree_rule import DEEPEST, MOST_IN_A_ROW, TreeRule
from regard.text.linear_trees import restore
from regard.text.trees import walk, words

RESERVED = ["<pad>", "<unk>", "<s>", "</s>"]
SYMBOLS = [*RESERVED, "(S", ")S", "(NP", ")NP", "NN", "DT", "(", ")"]  # "(" is a constituent without a label


def model_over(symbols: list[str], seed: int, sharpness: float = 3.0) -> Seq2Seq:
    torch.manual_seed(seed)
    config = model_config(
        vocabulary=len(symbols),
        source_vocabulary=40,
        encoder_layers=1,
        decoder_layers=1,
        d_model=8,
        d_ff=8,
        heads=2,
        tie_projection=False,
    )
    model = build(config).eval().requires_grad_(False)
    model.projection_VD.mul_(sharpness)
    return model


def check_tree(tokens: tuple[int, ...], symbols: list[str], count: int) -> None:
    """By a stack, as plainly as it can be; and `restore` finds nothing to repair."""
    said = [f"w{number}" for number in range(count)]
    stack: list[tuple[str, int]] = []
    used, roots = 0, 0
    for name in (symbols[token] for token in tokens):
        if name.startswith("("):
            roots += not stack
            stack.append((name[1:], used))
        elif name.startswith(")"):
            label, since = stack.pop()
            assert label == name[1:] and used > since
        else:
            assert stack
            used += 1
    assert not stack and roots == 1 and used == count
    tree, repaired = restore([symbols[token] for token in tokens], said)
    assert not repaired and words(tree) == said


@settings(max_examples=25, deadline=None)
@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=4),
    seed=st.integers(0, 1000),
    beam=st.sampled_from([1, 2, 5]),
    extra=st.sampled_from([0, 1, 7, 60]),
    sharpness=st.sampled_from([0.0, 3.0, 30.0]),
)
def test_whatever_the_weights_one_tree_over_the_words(
    counts: list[int], seed: int, beam: int, extra: int, sharpness: float
) -> None:
    model = model_over(SYMBOLS, seed, sharpness)
    rule = TreeRule.over(SYMBOLS)
    sources = [[4 + (seed + place) % 36 for place in range(count)] for count in counts]
    config = DecodeConfig(beam=beam, extra_length=extra, alpha=0.3)
    engine = TorchEngine(model)
    request = Request(config, trees=TreeRule(rule.kind_V, rule.closing_V, tuple(counts)))
    for count, (best, *_) in zip(counts, engine.search(sources, request), strict=True):
        check_tree(best.tokens, SYMBOLS, count)
        assert len(best.tokens) <= max(count + extra, count + 2)


def trees_of(count: int, room: int, labels: tuple[str, ...], tags: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every linearised tree over so many words, within so many symbols."""

    def go(done: tuple[str, ...], stack: tuple[str, ...], left: int) -> Iterator[tuple[str, ...]]:
        if done and not stack:
            if left == 0:
                yield done
            return
        if len(done) + left + len(stack) > room:
            return
        empty = bool(done) and done[-1].startswith("(")
        if left and (stack or not done):
            for label in labels:
                yield from go((*done, f"({label}"), (*stack, label), left)
        if left and stack:
            for tag in tags:
                yield from go((*done, tag), stack, left - 1)
        if stack and not empty:
            yield from go((*done, f"){stack[-1]}"), stack[:-1], left)

    yield from go((), (), count)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("count", "room"), [(1, 5), (2, 6), (3, 7)])
def test_a_wide_beam_finds_the_best_of_all_trees(seed: int, count: int, room: int) -> None:
    symbols = [*RESERVED, "(S", ")S", "(NP", ")NP", "NN", "DT"]
    model, rule = model_over(symbols, seed), TreeRule.over(symbols)
    config = DecodeConfig(beam=600, extra_length=room - count, alpha=0.3)
    numbers = {name: number for number, name in enumerate(symbols)}
    source = [5 + seed] * count
    scored = []
    for tree in trees_of(count, room, ("S", "NP"), ("NN", "DT")):
        output = (*(numbers[name] for name in tree), EOS)
        logs = log_probabilities(model, source, [output])[0]
        scored.append((normalised(sum(logs), len(output), config.alpha), output[:-1]))
    scored.sort(reverse=True)
    rules = Constraints(trees=TreeRule(rule.kind_V, rule.closing_V, (count,)))
    n = min(5, len(scored))
    found = beam_search(model, padded([source]), config, n_best=n, constraints=rules)[0]
    assert [one.tokens for one in found] == [tokens for _, tokens in scored[:n]]
    assert [one.score for one in found] == pytest.approx([score for score, _ in scored[:n]], rel=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_a_beam_of_one_is_greedy(seed: int) -> None:
    model, rule = model_over(SYMBOLS, seed), TreeRule.over(SYMBOLS)
    rules = Constraints(trees=TreeRule(rule.kind_V, rule.closing_V, (3, 9, 1)))
    source = padded([[5] * 3, [6] * 9, [7]])
    config = DecodeConfig(beam=1, extra_length=40)
    greedy = greedy_search(model, source, config, constraints=rules)
    beam = beam_search(model, source, config, constraints=rules)
    assert [one.tokens for one in greedy] == [one[0].tokens for one in beam]


def test_without_the_rule_the_search_is_as_it_was(make: Callable[..., Seq2Seq]) -> None:
    model, config = make(3, len(SYMBOLS)), DecodeConfig(beam=3, extra_length=5)
    plain = beam_search(model, padded([[5, 6]]), config)
    assert TorchEngine(model).search([[5, 6]], Request(config)) == plain


def test_depth_and_runs_of_brackets_are_bounded() -> None:
    """A model that always wants to open must close in time."""
    rule = TreeRule.over(SYMBOLS)
    logits = torch.full((1, len(SYMBOLS)), 0.0)
    logits[0, SYMBOLS.index("(NP")] = 9.0
    tokens = [2]
    while tokens[-1] != EOS:
        row = logits.clone()
        TreeRule(rule.kind_V, rule.closing_V, (40,)).forbid(row, torch.tensor([tokens]), [0], [340])
        tokens.append(int(row.argmax()))
    check_tree(tuple(tokens[1:-1]), SYMBOLS, 40)
    tree, _ = restore([SYMBOLS[token] for token in tokens[1:-1]], ["w"] * 40)
    depth = deepest = 0
    for kind, _ in walk(tree):
        depth += {"open": 1, "word": 0, "close": -1}[kind]
        deepest = max(deepest, depth)
    assert MOST_IN_A_ROW < deepest <= DEEPEST
    runs = re.findall("o+", "".join("o" if SYMBOLS[token].startswith("(") else "." for token in tokens))
    assert max(map(len, runs)) == MOST_IN_A_ROW


def test_symbols_without_their_counterpart_are_never_used() -> None:
    symbols = [*SYMBOLS, "(VP", ")PP"]
    rule = TreeRule.over(symbols)
    row = torch.zeros(1, len(symbols))
    TreeRule(rule.kind_V, rule.closing_V, (2,)).forbid(row, torch.tensor([[2]]), [0], [20])
    assert {symbols[i] for i in (row[0] == 0).nonzero()[:, 0].tolist()} == {"(S", "(NP", "("}
    for bad in ([*RESERVED, "NN", "(S"], [*RESERVED, "(S", ")S"]):
        with pytest.raises(UserError, match="no tree can be written"):
            TreeRule.over(bad)
