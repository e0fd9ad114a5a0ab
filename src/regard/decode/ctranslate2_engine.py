"""The engine for CPUs: CTranslate2 searches, and we rank what it finds.

Its beam search is ours: the same candidates, and a sentence is done when K hypotheses are finished. Four things differ,
and this becomes of them:

- It divides log probabilities by |Y|^L. That is our penalty "average"; for "paper" we take an L so small that it
  changes nothing (0 would make it stop early), ask for all K hypotheses, and rank them ourselves. Of more than K it
  gives those that it ranks best; where one that it left out might be among the n best, the reference searches again.
- It has one limit for a whole batch, and forces no EOS there. What comes to its own limit is searched by the reference.
- It takes the tokens that no output holds out of the softmax, the reference only out of the search. So its log
  probabilities are greater by about what the model gives those tokens; exact ones are computed when asked for.
- Sampling, prefixes, trees, banned and required words are left to the reference.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from regard.config import EOS, DecodeConfig
from regard.cores import available_cores
from regard.decode.engines import LEAST_TOKENS, Engine, Progress, Request, batches, quiet
from regard.decode.hypothesis import NEVER, Hypothesis, finished, unscored
from regard.decode.length_penalty import best_attainable, normalised
from regard.errors import UserError
from regard.exchange.library import ctranslate2

BATCH_TOKENS = 768  # source tokens, padding included
BEAM_TOKENS = 3072  # the same times the beam, for a cache holds no more
SCORED_TOKENS = 512  # the same when scoring, which holds a distribution for each target token
QUEUED = 4  # batches for each worker that wait for it, or for us
LEAST_EXPONENT = 1e-6  # of CTranslate2's own length penalty


class CTranslate2Engine:
    """A model that CTranslate2 has loaded, with as many workers of one thread as there are cores."""

    def __init__(
        self,
        folder: Path,
        source_pieces: Sequence[str],
        target_pieces: Sequence[str],
        *,
        positions: int,
        reference: Callable[[], Engine] | None = None,
    ) -> None:
        self.workers = available_cores()
        try:
            self.translator = ctranslate2.Translator(
                str(folder), inter_threads=self.workers, intra_threads=1, max_queued_batches=-1
            )
        except (RuntimeError, ValueError) as error:
            raise UserError(f"{folder}: CTranslate2 can't load it ({error}); export the model again") from None
        self.source_pieces, self.target_pieces = list(source_pieces), list(target_pieces)
        self.target_ids = {piece: number for number, piece in enumerate(target_pieces)}
        self.positions = positions
        """How many tokens it can read and write, with EOS or BOS."""
        self.reference = reference
        """What searches where CTranslate2 might find something else; without it, what CTranslate2 finds must do."""

    def search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress = quiet
    ) -> list[list[Hypothesis]]:
        rules = (request.banned, request.required, request.no_repeat, request.prefix, request.trees)
        if request.sampling is not None or any(rules):
            return self._refer(sources, request, progress)
        longest = max(map(len, sources), default=0)
        if self.reference is None and longest >= self.positions:
            raise UserError(
                f"a text of {longest} tokens is longer than the export's {self.positions} positions; split it"
            )
        found, unsure = self._search(sources, request, progress)
        exact = set(range(len(sources))) - set(unsure) if request.token_scores else set()
        if self.reference is None:
            self._search_again([number for number in unsure if sources[number]], sources, found, request)
            exact |= set(unsure)
            progress(len(unsure))
        else:
            answers = self._refer([sources[number] for number in unsure], request, progress)
            for number, hypotheses in zip(unsure, answers, strict=True):
                found[number] = hypotheses
        self._score(exact, sources, found, request)
        return found

    def _search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress
    ) -> tuple[list[list[Hypothesis]], list[int]]:
        """What CTranslate2 finds, and for which sources that is not certain to be what the reference finds."""
        found: list[list[Hypothesis]] = [[] for _ in sources]
        readable = [number for number, source in enumerate(sources) if 0 < len(source) < self.positions]
        unsure = sorted(set(range(len(sources))) - set(readable))
        waiting: deque[tuple[list[int], list[Any]]] = deque()

        def collect() -> None:
            numbers, promises = waiting.popleft()
            before = len(unsure)
            for number, promise in zip(numbers, promises, strict=True):
                found[number], sure = self._found(promise.result(), len(sources[number]), request)
                if not sure:
                    unsure.append(number)
            progress(len(numbers) - (len(unsure) - before))

        lengths = [len(sources[number]) for number in readable]
        for batch in batches(lengths, _batch_tokens(request), self.workers):
            if len(waiting) == QUEUED * self.workers:
                collect()
            numbers = [readable[number] for number in batch]
            waiting.append((numbers, self._submit([sources[number] for number in numbers], request.decode)))
        while waiting:
            collect()
        return found, unsure

    def _search_again(
        self, numbers: Sequence[int], sources: Sequence[Sequence[int]], found: list[list[Hypothesis]], request: Request
    ) -> None:
        """Search in batches of one length, so that each limit is a source's own and neighbours change nothing."""
        by_length: dict[int, list[int]] = {}
        for number in numbers:
            by_length.setdefault(len(sources[number]), []).append(number)
        for length, same in by_length.items():
            for batch in batches([length] * len(same), _batch_tokens(request)):
                promises = self._submit([sources[same[at]] for at in batch], request.decode)
                for at, promise in zip(batch, promises, strict=True):
                    found[same[at]], _ = self._found(promise.result(), length, request)

    def _submit(self, sources: Sequence[Sequence[int]], config: DecodeConfig) -> list[Any]:
        """Sentences as one batch for the next free worker; a promise for each."""
        longest = max(map(len, sources)) + config.extra_length
        promises: list[Any] = self.translator.translate_batch(
            [self._spelt(source) for source in sources],
            asynchronous=True,
            beam_size=config.beam,
            num_hypotheses=config.beam,
            length_penalty=_exponent(config),
            return_scores=config.beam > 1,
            suppress_sequences=[[self.target_pieces[number]] for number in NEVER],
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=min(longest + 1, self.positions),
        )
        return promises

    def _found(self, result: Any, length: int, request: Request) -> tuple[list[Hypothesis], bool]:
        """The n best outputs for a source of so many tokens, and whether the reference would find the same for certain.

        With penalty "paper", no hypothesis that CTranslate2 left out has a greater log probability than any that it
        gives; nor more tokens than the longest of them, for it can't have left out all that were finished last.
        """
        config = request.decode
        limit = min(length + config.extra_length, self.positions - 1)
        if config.beam == 1:  # nothing to rank, and without scores it need not compute a softmax
            tokens = result.hypotheses[0]
            return [unscored(self._ids(tokens[:limit]))], len(tokens) < limit
        ranked = sorted(
            (
                (normalised(total, len(tokens) + 1, config.alpha, config.penalty), total, tokens)
                for tokens, total in zip(result.hypotheses, _totals(result, config), strict=True)
            ),
            key=lambda one: -one[0],
        )
        steps = max(map(len, result.hypotheses)) + 1
        hope = best_attainable(min(total for _, total, _ in ranked), steps, config.alpha, config.penalty)
        best = ranked[: request.n_best]
        complete = config.penalty == "average" or best[-1][0] >= hope
        sure = steps <= limit and len(best) == request.n_best and complete
        return [
            self._hypothesis(tokens[:limit], total, config) for _, total, tokens in (best if sure else ranked)
        ], sure

    def _hypothesis(self, tokens: Sequence[str], log_probability: float, config: DecodeConfig) -> Hypothesis:
        score = normalised(log_probability, len(tokens) + 1, config.alpha, config.penalty)
        return Hypothesis(self._ids(tokens), score, log_probability, ())

    def _score(
        self, numbers: Iterable[int], sources: Sequence[Sequence[int]], found: list[list[Hypothesis]], request: Request
    ) -> None:
        """Give the hypotheses of some sources their exact scores, and rank them again."""
        outputs = {number: dict.fromkeys(one.tokens for one in found[number]) for number in numbers}
        pairs = [(number, tokens) for number, different in outputs.items() for tokens in different]
        scored = self.translator.score_batch(
            [self._spelt(sources[number]) for number, _ in pairs],
            [[self.target_pieces[token] for token in tokens] for _, tokens in pairs],
            max_batch_size=SCORED_TOKENS,
            batch_type="tokens",
            max_input_length=0,
        )
        again: dict[int, list[Hypothesis]] = {number: [] for number in outputs}
        for (number, tokens), result in zip(pairs, scored, strict=True):
            logs = [min(0.0, log) for log in result.log_probs]
            again[number].append(finished([*tokens, EOS], logs, math.fsum(logs), request.decode))
        for number, hypotheses in again.items():
            found[number] = sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[: request.n_best]

    def _ids(self, tokens: Sequence[str]) -> tuple[int, ...]:
        return tuple(map(self.target_ids.__getitem__, tokens))

    def _spelt(self, source: Sequence[int]) -> list[str]:
        return list(map(self.source_pieces.__getitem__, source))

    def _refer(self, sources: Sequence[Sequence[int]], request: Request, progress: Progress) -> list[list[Hypothesis]]:
        if not sources:
            return []
        if self.reference is None:
            raise UserError(
                "sampling, prefixes, banned and required words need the model that was exported, not its export; "
                "give that to --model"
            )
        return self.reference().search(sources, request, progress)


def _batch_tokens(request: Request) -> int:
    return request.batch_tokens or max(LEAST_TOKENS, min(BATCH_TOKENS, BEAM_TOKENS // request.decode.beam))


def _totals(result: Any, config: DecodeConfig) -> list[float]:
    """The log probabilities of what was found; its own penalty counts EOS as a token."""
    exponent = _exponent(config)
    return [
        min(0.0, score * (len(tokens) + 1) ** exponent)
        for tokens, score in zip(result.hypotheses, result.scores, strict=True)
    ]


def _exponent(config: DecodeConfig) -> float:
    return max(config.alpha if config.penalty == "average" else 0.0, LEAST_EXPONENT)
