"""One sentence seen from inside: every attention weight, the search for its translation, and what else was probable.

All of it is computed by the reference, in torch, on the translation that the translator itself gives.

Shapes: B = 1 sentence, L layers, H heads, T target positions, S source positions, P positions, D = d_model, V
vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from regard.config.special_tokens import BOS, EOS
from regard.engines.engine import Request
from regard.engines.torch_engine import padded
from regard.look.search_tree import Branch, Tree
from regard.model.positions import sinusoids
from regard.model.seq2seq import Seq2Seq
from regard.search.beam import beam_search
from regard.search.constraints import Constraints
from regard.search.greedy import greedy_search
from regard.search.hypothesis import Hypothesis
from regard.text.normalise import normalise
from regard.text.subwords import Subwords
from regard.translate.translation import Output, Sentence
from regard.translate.translator import Translator, reach
from regard.translate.words import Pairs, words

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
MOST_PROBABLE = 10


@dataclass(frozen=True)
class Side:
    """What one side reads or writes: its tokens, the last of which is EOS, and the words that they spell."""

    text: str
    tokens: tuple[str, ...]
    words: tuple[str, ...]
    word_of: tuple[int, ...]
    """The number of the word that each token belongs to."""


@dataclass(frozen=True)
class Sight:
    """A sentence, its translation, and how that came about."""

    source: Side
    target: Side
    attention: dict[Kind, Tensor]
    """The weights, L, H, T, S, by kind; a model without a kind has none of it.

    A row of `cross` and `decoder` is the position that writes the target's token of this number. It looks at the
    source's tokens in `cross`, and in `decoder` at what was written before, which begins with BOS.
    """
    alignment: Pairs
    """(source word, target word) for every word of the target but EOS."""
    n_best: tuple[Output, ...]
    """What the beam search found, the best first."""
    greedy: Output
    """What taking the most probable token at each step would have given."""
    branches: tuple[Branch, ...]
    """The beam search as a tree."""
    branch_tokens: tuple[str, ...]
    """Each branch's token."""
    probable: tuple[tuple[tuple[str, float], ...], ...]
    """For each token of the target the tokens that were most probable in its place, with their probabilities."""
    positions_PD: Tensor | None
    """The sinusoids that are added to the first tokens of either side (section 3.5); None in models with others."""

    @property
    def read(self) -> tuple[str, ...]:
        """What the decoder reads while it writes the target: BOS, then what it wrote."""
        return ("<s>", *self.target.tokens[:-1])

    def columns(self, kind: Kind) -> tuple[str, ...]:
        """The tokens that are looked at."""
        return self.read if kind == "decoder" else self.source.tokens

    def rows(self, kind: Kind) -> tuple[str, ...]:
        """The tokens that look."""
        return self.source.tokens if kind == "encoder" else self.target.tokens


@torch.inference_mode()
def see(translator: Translator, sentence: Sentence, tag: Sequence[int], request: Request) -> Sight:
    """Look into the translation of a sentence, whose outputs have alignments; `tag` stands before its source."""
    model, chosen = translator.model, sentence.outputs[0]
    device = next(model.parameters()).device
    source = [*tag, *translator.source_subwords.encode([sentence.source])[0]]
    target = chosen.hypothesis.tokens
    source_BS, target_BT = padded([source], device), torch.tensor([[BOS, *target]], device=device)
    tree, n_best, greedy = _searched(translator, source_BS, request)
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
    )


def _searched(translator: Translator, source_BS: Tensor, request: Request) -> tuple[Tree, list[Hypothesis], Hypothesis]:
    """The reference's beam search, watched, and its greedy search."""
    rules = Constraints(request.banned, request.no_repeat, (request.prefix,) if request.prefix else ())
    tree, longest = Tree(request.decode), reach(translator.saved)
    (n_best,) = beam_search(
        translator.model, source_BS, request.decode, n_best=request.decode.beam, constraints=rules, longest=longest,
        watch=tree,
    )  # fmt: skip
    (greedy,) = greedy_search(translator.model, source_BS, request.decode, constraints=rules, longest=longest)
    return tree, n_best, greedy


def _attention(model: Seq2Seq, source_BS: Tensor, target_BT: Tensor) -> dict[Kind, Tensor]:
    weights = model.attentions(source_BS, target_BT)
    layers = {kind: getattr(weights, kind) for kind in KINDS}
    return {kind: torch.stack(tensors)[:, 0].cpu() for kind, tensors in layers.items() if tensors}


def _side(subwords: Subwords, text: str, ids: Sequence[int]) -> Side:
    """Reserved tokens, such as EOS, are words of their own."""
    pieces = subwords.pieces(ids)
    tags = sum(piece in subwords.tags for piece in pieces[:1])
    word_of = [*range(tags), *(tags + number for number in words(pieces[tags:]))]
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
