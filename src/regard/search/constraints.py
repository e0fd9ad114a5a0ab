"""Constraints on outputs: banned words, repeated n-grams, forced prefixes, trees, and length limits.

A forbidden token's logit becomes minus infinity after the normaliser of the softmax has been computed, so that the
scores of the other tokens are still the model's own log probabilities.

Shapes: R rows (a hypothesis each), V vocabulary, T target positions so far, W windows of N tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.config.special_tokens import EOS, PAD, UNK
from regard.search.banned import Banned
from regard.search.hypothesis import NEVER
from regard.search.tree_rule import TreeRule


@dataclass(frozen=True)
class Constraints:
    """The constraints on every output of a search."""

    banned: Banned | None = None
    """Words that may not occur."""
    no_repeat: int = 0
    """Length of the n-grams that may not occur twice; 0: no such constraint."""
    prefixes: tuple[tuple[int, ...], ...] = ()
    """Forced beginning of each sentence's output; empty for none."""
    trees: TreeRule | None = None
    """Restrict each sentence's output to a tree over its words."""
    unknown: bool = False
    """Allow UNK, which a vocabulary of words has for all others."""

    @property
    def of_history(self) -> bool:
        """Return whether the allowed tokens depend on those before."""
        return bool(self.banned or self.no_repeat or self.prefixes or self.trees)

    def __post_init__(self) -> None:
        assert not any(EOS in prefix for prefix in self.prefixes), "EOS only ends an output"


NONE = Constraints()


def limits(
    source_BS: Tensor, extra_length: int, constraints: Constraints = NONE, longest: int | None = None
) -> list[int]:
    """Return the most tokens, without EOS, of each output: those of its source plus `extra_length` (section 6.1).

    `longest` is the most that the model can write; a forced prefix and the smallest tree may exceed the limit.
    """
    lengths = ((source_BS != PAD).sum(1) - 1).clamp(min=0).tolist()
    allowed = [length + extra_length for length in lengths]
    if longest is not None:
        allowed = [min(limit, longest) for limit in allowed]
    if constraints.prefixes:
        assert len(constraints.prefixes) == len(allowed), "a prefix for each sentence"
        allowed = [max(limit, len(prefix)) for limit, prefix in zip(allowed, constraints.prefixes, strict=True)]
    if constraints.trees is not None:
        allowed = [max(limit, least) for limit, least in zip(allowed, constraints.trees.least, strict=True)]
    return allowed


def forbid(
    logits_RV: Tensor, history_RT: Tensor, sentences: Sequence[int], ends: Sequence[int], rules: Constraints = NONE
) -> None:
    """Set the logits of forbidden next tokens to minus infinity, in place.

    history: the tokens so far, BOS first. sentences: the sentence of each row; ends: the limit of each sentence.
    """
    length = history_RT.shape[1] - 1
    forced = _forced(length, sentences, ends, rules)
    kept = {row: logits_RV[row, token].clone() for row, token in forced.items()}
    unknown_R = logits_RV[:, UNK].clone() if rules.unknown else None
    logits_RV.narrow(1, NEVER[0], len(NEVER)).fill_(-torch.inf)  # faster than indexing with three ids
    if unknown_R is not None:
        logits_RV[:, UNK] = unknown_R
    if rules.banned is not None:
        rules.banned.forbid(logits_RV, history_RT)
    if rules.no_repeat:
        _ban_repeats(logits_RV, history_RT, rules.no_repeat)
    if rules.trees is not None:
        rules.trees.forbid(logits_RV, history_RT, sentences, ends)
    if forced:
        logits_RV[list(forced)] = -torch.inf
    for row, token in forced.items():
        logits_RV[row, token] = kept[row]


def _forced(length: int, sentences: Sequence[int], ends: Sequence[int], rules: Constraints) -> dict[int, int]:
    """Return the rows whose next token is forced, with that token: the next of a prefix, or EOS at the limit."""
    forced = {row: EOS for row, sentence in enumerate(sentences) if length >= ends[sentence]}
    for row, sentence in enumerate(sentences) if rules.prefixes else ():
        if length < len(rules.prefixes[sentence]):
            forced[row] = rules.prefixes[sentence][length]
    return forced


def _ban_repeats(logits_RV: Tensor, history_RT: Tensor, n: int) -> None:
    """Forbid each token that has followed the last n - 1 tokens before."""
    tokens_RT = history_RT[:, 1:]  # BOS is not part of the output
    if tokens_RT.shape[1] < n:
        return
    windows_RWN = tokens_RT.unfold(1, n, 1)
    tail_RN = tokens_RT[:, tokens_RT.shape[1] - n + 1 :]
    again_RW = (windows_RWN[:, :, :-1] == tail_RN[:, None]).all(-1)
    row, window = again_RW.nonzero(as_tuple=True)
    logits_RV[row, windows_RWN[row, window, -1]] = -torch.inf
