"""The internals of one translation: every attention weight, the search tree, and the most probable tokens.

The torch engine computes all of it, for the translation that the translator returns.

Shapes: B = 1 sentence, L layers, H heads, T target positions, S source positions, P positions, D = d_model, V
vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from regard.config.special_tokens import BOS, EOS
from regard.engines.engine import Request
from regard.engines.torch_engine import padded
from regard.look.search_tree import Branch, SearchTree
from regard.model.layers import FeedForward
from regard.model.positions import sinusoids
from regard.model.seq2seq import Seq2Seq
from regard.model.transformer import Transformer
from regard.search.beam import beam_search
from regard.search.constraints import Constraints
from regard.search.greedy import greedy_search
from regard.search.hypothesis import Hypothesis
from regard.search.mask_predict import mask_predict
from regard.text.normalise import normalise
from regard.text.subwords import Subwords
from regard.translate.confidence import BLOCKED, repeats
from regard.translate.translation import Output, Sentence
from regard.translate.translator import Translator, reach
from regard.translate.words import Pairs, word_numbers

AttentionKind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[AttentionKind, ...] = ("encoder", "decoder", "cross")
MOST_PROBABLE = 10


@dataclass(frozen=True)
class Side:
    """The tokens of source or target, EOS last, and the words that they form."""

    text: str
    tokens: tuple[str, ...]
    words: tuple[str, ...]
    word_of: tuple[int, ...]
    """Index of the word that each token belongs to."""


@dataclass(frozen=True)
class Sight:
    """A sentence, its translation, and how the model arrived at it."""

    source: Side
    target: Side
    attention: dict[AttentionKind, Tensor]
    """The weights, (L, H, T, S), by kind of attention; kinds that the model lacks are absent.

    Row i of `cross` and `decoder` is the position that predicts target token i. It attends to the source tokens in
    `cross`, and in `decoder` to the tokens before it, beginning with BOS.
    """
    alignment: Pairs
    """Pairs (source word, target word) for every target word but EOS."""
    n_best: tuple[Output, ...]
    """The hypotheses of the beam search, best first."""
    greedy: Output
    """The output of greedy search."""
    branches: tuple[Branch, ...]
    """The beam search as a tree."""
    branch_tokens: tuple[str, ...]
    """The token of each branch as text."""
    probable: tuple[tuple[tuple[str, float], ...], ...]
    """The most probable tokens at each target position, with their probabilities."""
    positions_PD: Tensor | None
    """The sinusoids added to the first positions (section 3.5); None if the model has other positions."""
    steps: tuple[int, ...]
    """The step that wrote each target token, EOS last; empty if each step writes one token."""
    active_LS: Tensor | None
    """The share of a feed-forward network's inner units that are above 0 (section 3.3), for every encoder layer and
    source token; None if the model has no such units."""

    @property
    def read(self) -> tuple[str, ...]:
        """The decoder's input: BOS, then the target without its last token."""
        return ("<s>", *self.target.tokens[:-1])

    def columns(self, kind: AttentionKind) -> tuple[str, ...]:
        """Return the tokens attended to (keys)."""
        return self.read if kind == "decoder" else self.source.tokens

    def rows(self, kind: AttentionKind) -> tuple[str, ...]:
        """Return the tokens that attend (queries)."""
        return self.source.tokens if kind == "encoder" else self.target.tokens


@torch.inference_mode()
def see(translator: Translator, sentence: Sentence, tag: Sequence[int], request: Request) -> Sight:
    """Compute the internals of a translated sentence, whose outputs have alignments; `tag` precedes its source."""
    model, chosen = translator.model, sentence.outputs[0]
    device = next(model.parameters()).device
    source = [*tag, *translator.source_subwords.encode([sentence.source])[0]]
    target = chosen.hypothesis.tokens
    source_BS, target_BT = padded([source], device), torch.tensor([[BOS, *target]], device=device)
    tree, n_best, greedy = _searched(translator, source, request)
    return Sight(
        source=_side(translator.source_subwords, sentence.source, source),
        target=_side(translator.target_subwords, chosen.text, target),
        attention=_attention(model, source_BS, target_BT),
        alignment=tuple((word + len(tag), other) for word, other in chosen.alignment or ()),
        n_best=tuple(_output(translator, hypothesis) for hypothesis in n_best),
        greedy=_output(translator, greedy),
        branches=tuple(tree.branches),
        branch_tokens=tuple(translator.target_subwords.pieces([branch.token for branch in tree.branches])),
        probable=_probable(model, source_BS, target_BT, translator.target_subwords),
        positions_PD=_positions(translator, max(source_BS.shape[1], target_BT.shape[1])),
        steps=chosen.hypothesis.steps,
        active_LS=_active(model, source_BS),
    )


def _searched(
    translator: Translator, source: Sequence[int], request: Request
) -> tuple[SearchTree, list[Hypothesis], Hypothesis]:
    """Run torch's beam search with a recorded tree, and its greedy search.

    A translation that repeats itself is searched again with repetition blocked, as the translator does.
    """
    tree, n_best, greedy = _search(translator, source, request)
    if (
        request.decoding != "mask-predict"
        and not request.no_repeat
        and repeats(n_best[0].tokens)
        and not repeats(source)
    ):
        return _search(translator, source, replace(request, no_repeat=BLOCKED))
    return tree, n_best, greedy


def _search(
    translator: Translator, source: Sequence[int], request: Request
) -> tuple[SearchTree, list[Hypothesis], Hypothesis]:
    source_BS = padded([source], next(translator.model.parameters()).device)
    if request.decoding == "mask-predict":  # there is no tree of prefixes
        (found,) = mask_predict(
            translator.model, source_BS, request.decode, request.iterations, n_best=request.decode.beam,
            longest=reach(translator.saved),
        )  # fmt: skip
        (once,) = mask_predict(translator.model, source_BS, request.decode, 1, longest=reach(translator.saved))
        return SearchTree(request.decode), found, once[0]
    rules = Constraints(request.banned, request.no_repeat, (request.prefix,) if request.prefix else ())
    tree, longest = SearchTree(request.decode), reach(translator.saved)
    (n_best,) = beam_search(
        translator.model, source_BS, request.decode, n_best=request.decode.beam, constraints=rules, longest=longest,
        watch=tree,
    )  # fmt: skip
    (greedy,) = greedy_search(translator.model, source_BS, request.decode, constraints=rules, longest=longest)
    return tree, n_best, greedy


def _attention(model: Seq2Seq, source_BS: Tensor, target_BT: Tensor) -> dict[AttentionKind, Tensor]:
    weights = model.attentions(source_BS, target_BT)
    layers = {kind: getattr(weights, kind) for kind in KINDS}
    return {kind: torch.stack(tensors)[:, 0].cpu() for kind, tensors in layers.items() if tensors}


def _side(subwords: Subwords, text: str, ids: Sequence[int]) -> Side:
    """Group tokens into words; reserved tokens, such as EOS, are words of their own."""
    pieces = subwords.pieces(ids)
    tags = sum(piece in subwords.tags for piece in pieces[:1])
    word_of = [*range(tags), *(tags + number for number in word_numbers(pieces[tags:]))]
    count = word_of[-1] + 1 if word_of else 0
    spelt = (subwords.decode([id_ for id_, word in zip(ids, word_of, strict=True) if word == n]) for n in range(count))
    names = [text.strip() or pieces[word_of.index(number)] for number, text in enumerate(spelt)]
    (end,) = subwords.pieces([EOS])
    return Side(text, (*pieces, end), (*names, end), (*word_of, count))


def _output(translator: Translator, hypothesis: Hypothesis) -> Output:
    subwords = translator.target_subwords
    text = normalise(subwords.decode(hypothesis.tokens), translator.form)
    return Output(text, tuple(subwords.pieces(hypothesis.tokens)), hypothesis)


def _probable(
    model: Seq2Seq, source_BS: Tensor, target_BT: Tensor, subwords: Subwords
) -> tuple[tuple[tuple[str, float], ...], ...]:
    probability_TV = model.logits(model.features(source_BS, target_BT))[0].float().softmax(-1)
    best = probability_TV.topk(min(MOST_PROBABLE, subwords.size))
    rows = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return tuple(tuple(zip(subwords.pieces(tokens), values, strict=True)) for tokens, values in rows)


def _positions(translator: Translator, count: int) -> Tensor | None:
    config = translator.saved.config
    sinusoidal = getattr(config, "positions", None) == "sinusoidal"
    return sinusoids(0, count, config.d_model) if sinusoidal else None


def _active(model: Seq2Seq, source_BS: Tensor) -> Tensor | None:
    layers = model.encoder if isinstance(model, Transformer) else ()
    networks = [one for layer in layers if isinstance(one := layer.feed_forward, FeedForward)]
    rectifiers = [one.activation for one in networks if isinstance(one.activation, nn.ReLU)]
    if not rectifiers or len(rectifiers) != len(layers):
        return None
    shares: list[Tensor] = []
    hooks = [
        rectifier.register_forward_hook(lambda _, __, inner_BSF: shares.append((inner_BSF[0] > 0).float()))
        for rectifier in rectifiers
    ]
    try:
        model.encode(source_BS)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack([inner_SF.mean(-1) for inner_SF in shares]).cpu()
