"""The CTranslate2 engine for CPUs: CTranslate2 searches, and regard ranks the hypotheses.

Its beam search is that of the reference engine: the same candidates, and a sentence is done when K hypotheses are
finished. Four things differ, and are handled as follows:

- It divides log probabilities by |Y|^L. That is the penalty "average"; for "paper" we pass an L so small that it
  changes nothing (0 would make it stop early), request all K hypotheses, and rank them ourselves. Of more than K it
  returns those that it ranks best; where an omitted one might be among the n best, the search is repeated with L = α,
  which decides for the best two always and for more nearly always (see _joined); the reference searches the rest.
- It has one length limit for a whole batch, and does not force EOS there. A greedy output is cut at its own limit,
  which gives the same result; with a beam, a sentence that reaches its limit is searched by the reference.
- It excludes the tokens that are never in an output from the softmax, the reference only from the search. So its log
  probabilities are greater by about the probability of those tokens; exact ones are computed on request.
- Sampling, prefixes, trees, banned and required words are delegated to the reference.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import EOS
from regard.cores import available_cores
from regard.engines.engine import LEAST_TOKENS, Engine, Progress, Request, batches, quiet
from regard.errors import Failed, UserError
from regard.exchange.library import ctranslate2
from regard.search.hypothesis import NEVER, NO_NUMBERS, Hypothesis, finished
from regard.search.length_penalty import best_attainable, normalised

BATCH_TOKENS = 1280  # source tokens, padding included
BEAM_TOKENS = 3072  # the same, times the width of the beam, so that a batch fits in the cache
SCORED_TOKENS = 512  # the same for scoring, which holds a distribution for each target token
QUEUED = 4  # batches per worker that are queued or finished and not yet read
LEAST_EXPONENT = 1e-6  # least exponent passed as CTranslate2's length penalty


class _Output(NamedTuple):
    """An output of CTranslate2."""

    score: float
    """Score as in `Hypothesis`; NaN from a greedy search."""
    total: float
    """Log probability."""
    tokens: list[str]


class CTranslate2Engine:
    """A model loaded by CTranslate2, with one single-threaded worker per core."""

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
            self.translator = ctranslate2().Translator(
                str(folder), inter_threads=self.workers, intra_threads=1, max_queued_batches=-1
            )
        except (RuntimeError, ValueError, LookupError) as error:  # LookupError: a missing variable
            raise UserError(f"{folder}: CTranslate2 can't load it ({error}); export the model again") from None
        self.source_pieces, self.target_pieces = list(source_pieces), list(target_pieces)
        self.target_ids = {piece: number for number, piece in enumerate(target_pieces)}
        self.positions = positions
        """Number of tokens that it can read and write, including EOS or BOS."""
        self.reference = reference
        """Engine for cases where CTranslate2's result might differ; without it CTranslate2's result is used."""

    def search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress = quiet
    ) -> list[list[Hypothesis]]:
        own = (request.terms, request.prefixes)
        rules = (request.banned, request.required, request.no_repeat, request.prefix, request.trees, *own)
        by_reference = request.sampling is not None or request.decoding != "search" or request.decode.beta
        if by_reference or any(rules):
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
        """Search with CTranslate2; also return the sources whose result might differ from the reference's."""
        config = request.decode
        found: list[list[Hypothesis]] = [[] for _ in sources]
        readable = [number for number, source in enumerate(sources) if 0 < len(source) < self.positions]
        unsure = sorted(set(range(len(sources))) - set(readable))
        doubted: dict[int, list[_Output]] = {}  # sources for which an omitted hypothesis might be among the best

        def keep(number: int, outputs: Sequence[_Output]) -> None:
            found[number] = self._hypotheses(outputs[: request.n_best], len(sources[number]), config)

        for numbers, results in self._answers(readable, sources, request, _exponent(config)):
            before = len(unsure) + len(doubted)
            for number, result in zip(numbers, results, strict=True):
                outputs = _ranked(result, config, _exponent(config))
                if self._limited(outputs, len(sources[number]), config):
                    unsure.append(number)
                elif not _complete(outputs, request):
                    doubted[number] = outputs
                else:
                    keep(number, outputs)
            progress(len(numbers) - (len(unsure) + len(doubted) - before))
        exponent = max(config.alpha, LEAST_EXPONENT)
        for numbers, results in self._answers(list(doubted), sources, request, exponent):
            before = len(unsure)
            for number, result in zip(numbers, results, strict=True):
                again = _ranked(result, config, exponent)
                outputs, certain = _joined(doubted[number], again)
                if self._limited(again, len(sources[number]), config):  # the rest of a batch can change a search
                    unsure.append(number)
                elif certain >= request.n_best or self.reference is None:
                    keep(number, outputs)
                else:
                    unsure.append(number)
            progress(len(numbers) - (len(unsure) - before))
        return found, unsure

    def _answers(
        self, numbers: Sequence[int], sources: Sequence[Sequence[int]], request: Request, exponent: float
    ) -> Iterator[tuple[list[int], list[Any]]]:
        """Yield CTranslate2's results for these sources, batch by batch, while later batches are queued."""
        waiting: deque[tuple[list[int], list[Any]]] = deque()

        def first() -> tuple[list[int], list[Any]]:
            batch, promises = waiting.popleft()
            return batch, [promise.result() for promise in promises]

        for some in batches([len(sources[number]) for number in numbers], _batch_tokens(request), self.workers):
            if len(waiting) == QUEUED * self.workers:
                yield first()
            batch = [numbers[at] for at in some]
            waiting.append((batch, self._submit([sources[number] for number in batch], request.decode, exponent)))
        while waiting:
            yield first()

    def _search_again(
        self, numbers: Sequence[int], sources: Sequence[Sequence[int]], found: list[list[Hypothesis]], request: Request
    ) -> None:
        """Search in batches of one length, so that each source has its own limit and is not affected by its batch."""
        by_length: dict[int, list[int]] = {}
        for number in numbers:
            by_length.setdefault(len(sources[number]), []).append(number)
        for length, same in by_length.items():
            for batch in batches([length] * len(same), _batch_tokens(request)):
                exponent = _exponent(request.decode)
                promises = self._submit([sources[same[at]] for at in batch], request.decode, exponent)
                for at, promise in zip(batch, promises, strict=True):
                    outputs = _ranked(promise.result(), request.decode, exponent)
                    found[same[at]] = self._hypotheses(outputs, length, request.decode)

    def _submit(self, sources: Sequence[Sequence[int]], config: DecodeConfig, exponent: float) -> list[Any]:
        """Submit sentences as one batch to the next free worker; return a future for each."""
        longest = max(map(len, sources)) + config.extra_length
        promises: list[Any] = self.translator.translate_batch(
            [self._spelt(source) for source in sources],
            asynchronous=True,
            beam_size=config.beam,
            num_hypotheses=config.beam,
            length_penalty=exponent,
            return_scores=config.beam > 1,
            suppress_sequences=[[self.target_pieces[number]] for number in NEVER],
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=min(longest + 1, self.positions),
        )
        return promises

    def _limit(self, length: int, config: DecodeConfig) -> int:
        """Return the most tokens, without EOS, that the output for a source of this length may have."""
        return min(length + config.extra_length, self.positions - 1)

    def _limited(self, outputs: Sequence[_Output], length: int, config: DecodeConfig) -> bool:
        """Return whether the reference, which forces EOS at each source's limit, might find another output."""
        limit = self._limit(length, config)
        longest = max(len(output.tokens) for output in outputs)
        # A greedy output is the same up to the limit, unless the export has too few positions to reach it.
        return longest >= limit and (config.beam > 1 or limit < length + config.extra_length)

    def _hypotheses(self, outputs: Sequence[_Output], length: int, config: DecodeConfig) -> list[Hypothesis]:
        """Return hypotheses from the outputs for a source of this length, cut at its limit."""
        limit = self._limit(length, config)
        return [Hypothesis(self._ids(output.tokens[:limit]), output.score, output.total, ()) for output in outputs]

    def _score(
        self, numbers: Iterable[int], sources: Sequence[Sequence[int]], found: list[list[Hypothesis]], request: Request
    ) -> None:
        """Compute the exact scores of the hypotheses of some sources, and rank them again."""
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
        ids = tuple(map(self.target_ids.__getitem__, tokens))
        if not set(NEVER).isdisjoint(ids):  # they are suppressed, so one is chosen only if no score is a number
            raise Failed(NO_NUMBERS)
        return ids

    def _spelt(self, source: Sequence[int]) -> list[str]:
        return list(map(self.source_pieces.__getitem__, source))

    def _refer(self, sources: Sequence[Sequence[int]], request: Request, progress: Progress) -> list[list[Hypothesis]]:
        if not sources:
            return []
        if self.reference is None:
            raise UserError(
                "sampling, the coverage penalty, prefixes, banned and required words need the model that was exported, "
                "not its export; "
                "give that to --model"
            )
        return self.reference().search(sources, request, progress)


def _batch_tokens(request: Request) -> int:
    return request.batch_tokens or max(LEAST_TOKENS, min(BATCH_TOKENS, BEAM_TOKENS // request.decode.beam))


def _ranked(result: Any, config: DecodeConfig, exponent: float) -> list[_Output]:
    """Return the outputs for a source, best first."""
    if config.beam == 1:  # nothing to rank, and without scores it need not compute a softmax
        return [_Output(math.nan, math.nan, result.hypotheses[0])]
    outputs = []
    for tokens, score in zip(result.hypotheses, result.scores, strict=True):
        if math.isnan(score):
            raise Failed(NO_NUMBERS)
        length = len(tokens) + 1  # its own penalty counts EOS as a token, too
        total = min(0.0, score * length**exponent)
        outputs.append(_Output(normalised(total, length, config.alpha, config.penalty), total, tokens))
    return sorted(outputs, key=lambda output: -output.score)


def _complete(outputs: Sequence[_Output], request: Request) -> bool:
    """Return whether the n best of CTranslate2's outputs are certainly the n best of all that it finished.

    With penalty "paper", no omitted hypothesis has a greater log probability than any that it returns; nor more tokens
    than the longest of them, since it can't have omitted all that were finished last.
    """
    config = request.decode
    if len(outputs) < request.n_best:
        return False
    if config.beam == 1 or config.penalty == "average":
        return True
    steps = max(len(output.tokens) for output in outputs) + 1
    hope = best_attainable(min(output.total for output in outputs), steps, config.alpha, config.penalty)
    return outputs[request.n_best - 1].score >= hope


def _joined(by_total: Sequence[_Output], by_average: Sequence[_Output]) -> tuple[list[_Output], int]:
    """Return CTranslate2's outputs by two rankings, merged, best first, and how many of the first are certain.

    by_total are the K with the greatest log probabilities s, by_average those with the greatest s / |Y|^α. No h that is
    in neither ranks before any r that is in both: s_h <= s_r, so if h is no longer than r, s_h / lp(h) <= s_r / lp(h)
    <= s_r / lp(r); and s_h / |h|^α <= s_r / |r|^α, so if it is longer, the same holds, since |Y|^α / lp(Y) grows with
    |Y|. At most K - 1 are finished before the last step, and K in it: if all 2·K - 1 are here, there is no such h; else
    there are two such r or more.
    """
    first = {tuple(output.tokens) for output in by_total}
    more = [output for output in by_average if tuple(output.tokens) not in first]
    joined = sorted([*by_total, *more], key=lambda output: -output.score)
    everything = len(joined) == 2 * len(by_total) - 1
    return joined, len(joined) if everything else len(by_average) - len(more)


def _exponent(config: DecodeConfig) -> float:
    return max(config.alpha if config.penalty == "average" else 0.0, LEAST_EXPONENT)
