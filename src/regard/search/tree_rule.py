"""Restrict every output to one well-formed tree over exactly the words of its source.

The tokens are brackets with a label and tags of words, as text/linear_trees.py writes them. The allowed next tokens
depend on the stack of open labels and the words that are left, which are computed from the tokens so far, for all rows
at once:

- A constituent may be opened while words are left and the tree is not closed, if the limit leaves room for more than
  the remaining words and closing brackets; at most DEEPEST may be nested, and MOST_IN_A_ROW opened without a word
  between them.
- A word may follow while words are left, inside a constituent.
- Only the innermost constituent may be closed, if it has a child; the outermost only if no word is left.
- EOS follows when all constituents are closed, and only then.

So at every step some token is allowed, and the tree is complete before the limit.

Shapes: R rows (a hypothesis each), T target positions so far, V vocabulary, K kinds of tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from regard.config.special_tokens import EOS, PAD
from regard.errors import UserError

NEVER, OPEN, WORD, CLOSE, END = range(5)
MOST_IN_A_ROW = 16  # twice the most in treebanks
DEEPEST = 100


@dataclass(frozen=True, eq=False)
class TreeRule:
    """The kinds of the tokens, and the number of words of each sentence."""

    kind_V: Tensor
    closing_V: Tensor
    """For a token that opens a constituent, the one that closes it; PAD for any other."""
    words: tuple[int, ...] = ()

    @classmethod
    def over(cls, symbols: Sequence[str]) -> Self:
        """Return the rule for a vocabulary, given its symbols by id. A bracket without a counterpart is never used."""
        numbers = {name: number for number, name in enumerate(symbols)}
        kind, closing = [NEVER] * len(symbols), [PAD] * len(symbols)
        for name, number in numbers.items():
            if number <= EOS:
                continue
            partner = numbers.get(f"){name[1:]}" if name.startswith("(") else f"({name[1:]}")
            if not name.startswith(("(", ")")):
                kind[number] = WORD
            elif partner is not None:
                kind[number] = OPEN if name.startswith("(") else CLOSE
                closing[number] = partner if name.startswith("(") else PAD
        if OPEN not in kind or WORD not in kind:
            raise UserError("the model's symbols have no constituent or no tag, so no tree can be written with them")
        kind[EOS] = END
        return cls(torch.tensor(kind), torch.tensor(closing))

    def of(self, sentences: Sequence[int]) -> Self:
        """Return the rule for some of the sentences."""
        return replace(self, words=tuple(self.words[sentence] for sentence in sentences))

    @property
    def least(self) -> list[int]:
        """Return the number of tokens, without EOS, of the smallest tree of each sentence."""
        return [words + 2 for words in self.words]

    def forbid(self, logits_RV: Tensor, history_RT: Tensor, sentences: Sequence[int], ends: Sequence[int]) -> None:
        """Set the logits of tokens that can't follow to minus infinity, in place; see constraints.forbid."""
        device = logits_RV.device
        kind_V, closing_V = self.kind_V.to(device), self.closing_V.to(device)
        place_T = torch.arange(history_RT.shape[1], device=device)
        room_R = torch.tensor([ends[sentence] for sentence in sentences], device=device) - place_T[-1]
        words_R = torch.tensor([self.words[sentence] for sentence in sentences], device=device)

        kind_RT = kind_V[history_RT]
        opens_RT = kind_RT == OPEN
        depth_RT = (opens_RT.int() - (kind_RT == CLOSE).int()).cumsum(1)
        depth_R, last_R = depth_RT[:, -1], kind_RT[:, -1]
        left_R = words_R - (kind_RT == WORD).sum(1)
        row_of_opens_R = place_T[-1] - (place_T * ~opens_RT).amax(1)
        innermost_R = (place_T * (opens_RT & (depth_RT == depth_R[:, None]))).amax(1)
        close_R = closing_V[history_RT.gather(1, innermost_R[:, None])[:, 0]]

        inside_R = depth_R > 0
        opens_R = inside_R & (left_R + depth_R + 2 <= room_R) & (depth_R < DEEPEST) & (row_of_opens_R < MOST_IN_A_ROW)
        if len(place_T) == 1:
            opens_R = torch.ones_like(inside_R)
        ends_R = ~inside_R & (left_R == 0) & (len(place_T) > 1)
        closes_R = inside_R & (last_R != OPEN) & ((depth_R > 1) | (left_R == 0))
        nothing_R = torch.zeros_like(inside_R)
        may_RK = torch.stack((nothing_R, opens_R & (left_R > 0), inside_R & (left_R > 0), nothing_R, ends_R), dim=1)
        may_RV = may_RK[:, kind_V].scatter_(1, close_R[:, None], closes_R[:, None])
        logits_RV.masked_fill_(~may_RV, -torch.inf)
