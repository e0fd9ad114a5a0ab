"""Tiny random models, and search written as plainly as it can be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
import torch

from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD, UNK
from regard.model.build import build
from regard.model.seq2seq import Memory, Seq2Seq
from regard.saved.folder import LoadedModel
from regard.search.banned import Banned
from regard.search.length_penalty import normalised
from regard.text.subwords import Subwords
from regard.translate.translator import Translator

Scored = tuple[float, tuple[int, ...]]


@pytest.fixture
def make() -> Callable[..., Seq2Seq]:
    """Random models whose distributions are far from uniform, so that a search has something to find."""

    def of(seed: int, vocabulary: int = 7, sharpness: float = 3.0) -> Seq2Seq:
        torch.manual_seed(seed)
        config = model_config(
            vocabulary=vocabulary, encoder_layers=1, decoder_layers=2, d_model=8, d_ff=16, heads=2, tie_projection=False
        )
        model = build(config).eval().requires_grad_(False)
        model.projection_VD.mul_(sharpness)
        return model

    return of


def banning(*sequences: tuple[int, ...]) -> Banned:
    """Sequences of tokens as words, where each token spells its number."""
    spelling = [b"" if token <= EOS else f" {token:04}".encode() for token in range(1000)]
    words = [b"".join(spelling[token] for token in sequence).decode().strip() for sequence in sequences]
    return Banned.of(spelling, words)


def padded(rows: list[list[int]]) -> torch.Tensor:
    """Sources, ended by EOS and padded."""
    width = max(map(len, rows)) + 1
    return torch.tensor([[*row, EOS] + [PAD] * (width - 1 - len(row)) for row in rows])


def log_probabilities(model: Seq2Seq, source: list[int], outputs: list[tuple[int, ...]]) -> list[list[float]]:
    """Of every token of equally long outputs, given what is before it, from whole passes over the prefix."""
    target = torch.tensor([[BOS, *output[:-1]] for output in outputs])
    logits = model.logits(model.features(padded([source]).expand(len(outputs), -1), target))
    logs = logits.double().log_softmax(-1)
    return logs.gather(2, torch.tensor(outputs)[:, :, None])[:, :, 0].tolist()


def exhaustive(model: Seq2Seq, source: list[int], config: DecodeConfig, vocabulary: int = 7) -> list[Scored]:
    """Every output there is, the best first."""
    scored: list[Scored] = []
    for length in range(len(source) + config.extra_length + 1):
        outputs = [(*tokens, EOS) for tokens in product(range(4, vocabulary), repeat=length)]
        for output, logs in zip(outputs, log_probabilities(model, source, outputs), strict=True):
            scored.append((normalised(sum(logs), len(output), config.alpha, config.penalty), output[:-1]))
    return sorted(scored, reverse=True)


def next_logs(
    model: Seq2Seq, source: list[int], tokens: tuple[int, ...], memo: dict[Any, list[float]] | None = None
) -> list[float]:
    """The log probability of every next token; `memo` remembers those of one model, for tests that ask again."""
    memo = {} if memo is None else memo
    key = (*source, EOS, *tokens)
    if key not in memo:
        target = torch.tensor([[BOS, *tokens]])
        memo[key] = model.logits(model.features(padded([source]), target))[0, -1].double().log_softmax(-1).tolist()
    return memo[key]


def plain_beam_search(
    model: Seq2Seq,
    source: list[int],
    config: DecodeConfig,
    n_best: int = 1,
    *,
    early: bool = False,
    forbidden: Callable[[tuple[int, ...]], set[int]] = lambda _: set(),
    memo: dict[Any, list[float]] | None = None,
) -> list[Scored]:
    """Beam search with lists, recomputing the whole prefix at every step."""
    limit = len(source) + config.extra_length
    opened: list[Scored] = [(0.0, ())]
    finished: list[Scored] = []
    while opened and len(finished) < config.beam:
        candidates = []
        for total, tokens in opened:
            for token, log in enumerate(next_logs(model, source, tokens, memo)):
                allowed = token == EOS or (len(tokens) < limit and token >= 4)
                if allowed and token not in forbidden(tokens):
                    candidates.append((total + log, (*tokens, token)))
        candidates.sort(reverse=True)
        for total, tokens in candidates[: config.beam]:
            if tokens[-1] == EOS:
                finished.append((normalised(total, len(tokens), config.alpha, config.penalty), tokens[:-1]))
        finished.sort(reverse=True)
        opened = [(total, tokens) for total, tokens in candidates if tokens[-1] != EOS][: config.beam]
        if early and len(finished) >= n_best and opened:
            hope = max(
                normalised(opened[0][0], length, config.alpha, config.penalty)
                for length in range(len(opened[0][1]) + 1, limit + 2)
            )
            if finished[n_best - 1][0] >= hope:
                break
    return finished[:n_best]


def sentences() -> list[str]:
    """A few hundred lines in three languages, always the same."""
    who = ("The old woman", "Der junge Mann", "할머니가", "A teacher", "Das Mädchen", "선생님이")
    what = (
        "sees 12 apples",
        "sucht große Bücher",
        "사과를 봅니다",
        "finds bicycles",
        "zählt Wörter",
        "질문을 세고 있다",
    )
    where = ("in the garden.", "am Bahnhof!", "시장에서.", "on the street?", "im Schnee.", "길에서…")
    return [f"{a} {b} {c}" for a, b, c in product(who, what, where)]


@pytest.fixture(scope="session")
def subwords() -> Subwords:
    return Subwords.train(sentences(), 400)


def like_trained(model: Seq2Seq) -> None:
    """Make PAD, UNK and BOS as improbable as training does.

    What the last norm makes of a position has the mean 0, so with a bias of 1 the sum of a projection's row is the
    logit's own bias.
    """
    weights = dict(model.named_parameters())
    last = max(name for name in weights if name.startswith("decoder.")).split(".")[1]
    norm = "decoder_norm" if "decoder_norm.bias" in weights else f"decoder.{last}.around_feed_forward.norm"
    with torch.no_grad():
        weights[f"{norm}.bias"].fill_(1.0)
        rows_VD = model.projection_VD
        rows_VD -= rows_VD.mean(1, keepdim=True)
        rows_VD[[PAD, UNK, BOS]] = -50.0 / rows_VD.shape[1]


@pytest.fixture(scope="session")
def saved(subwords: Subwords) -> LoadedModel:
    """An untrained model that can read and write, and writes no more than a few tokens."""
    torch.manual_seed(1)
    config = model_config(
        vocabulary=subwords.size, encoder_layers=1, decoder_layers=2, d_model=16, d_ff=16, heads=2, tie_projection=False
    )
    model = build(config).eval().requires_grad_(False)
    model.projection_VD.mul_(3.0)
    like_trained(model)
    decode = DecodeConfig(beam=2, extra_length=3)
    return LoadedModel(config, decode, ("en", "de"), "NFC", {"subwords.model": subwords.content}, model=model)


@pytest.fixture(scope="session")
def translator(saved: LoadedModel) -> Translator:
    return Translator(saved)


@dataclass(frozen=True)
class Prefixes:
    """The state of a scripted model: the tokens of each row so far."""

    rows: tuple[tuple[int, ...], ...]

    @property
    def length(self) -> int:
        return len(self.rows[0]) if self.rows else 0

    def select(self, rows: torch.Tensor) -> "Prefixes":
        return Prefixes(tuple(self.rows[row] for row in rows.tolist()))


class Scripted(Seq2Seq):
    """A model whose next logits are a function of the tokens so far, BOS aside: scores that no weights need give."""

    def __init__(self, logits: Callable[[tuple[int, ...]], Sequence[float]]) -> None:
        super().__init__()
        self.script = logits
        self.place = torch.nn.Parameter(torch.zeros(len(logits(())), 1), requires_grad=False)

    def encode(self, source_BS: torch.Tensor) -> Memory:
        return Memory(source_BS[:, :, None].float(), source_BS != PAD)

    def start(self, memory: Memory, max_length: int) -> Prefixes:
        return Prefixes(((),) * len(memory.mask_BS))

    def advance(self, tokens_BT: torch.Tensor, state: Any) -> tuple[torch.Tensor, Prefixes]:
        rows = tuple((*row, token) for row, (token,) in zip(state.rows, tokens_BT.tolist(), strict=True))
        return torch.tensor([[self.script(row[1:])] for row in rows]), Prefixes(rows)

    @property
    def projection_VD(self) -> torch.Tensor:
        return self.place
