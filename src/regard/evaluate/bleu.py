"""BLEU, chrF and TER by sacreBLEU, each with the signature of its settings.

BLEU depends on the tokenisation, so there are three variants:

bleu            sacreBLEU's default: its own tokenisation of the raw text, 13a unless another is given. Use this one for
                comparisons with other systems.
bleu_lowercase  the same in lower case and without smoothing. Published Multi30k figures are multi-bleu.perl on text
                that Moses has tokenised and lower-cased. 13a differs from Moses in hyphens, apostrophes and
                abbreviations, so this is close to such figures, but not the same.
bleu_compound   the variant of the paper's figures (Table 2), except for the tokens: there Moses makes them, here 13a.
                Case-sensitive, with compounds split at hyphens, `Nord-Süd` to `Nord ##AT##-##AT## Süd`, which makes
                more n-grams and so a higher figure for German (tensor2tensor's get_ende_bleu.sh).
"""

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from regard.errors import UserError

# Its warnings, such as that lines seem to be tokenised, would stand in the middle of a progress bar.
logging.getLogger("sacrebleu").setLevel(logging.ERROR)

References = Sequence[Sequence[str]]
"""One list of lines for each reference translation of the whole text."""

Tokens = Literal["13a", "intl", "zh", "char", "ja-mecab", "ko-mecab"]
"""sacreBLEU's tokenisers. 13a suits languages with spaces; ko-mecab splits Korean into morphemes."""
EXTRAS = {"ja-mecab": "japanese", "ko-mecab": "korean"}  # the extras that install these
BUCKETS = (10, 20, 30, 40, 50)  # the upper bound of each group of sentences, in words
SAMPLES = 1000


@dataclass(frozen=True)
class Score:
    """A score with its signature."""

    value: float
    signature: str


@dataclass(frozen=True)
class Bucket:
    """The BLEU of sentences of similar lengths."""

    words: str
    sentences: int
    bleu: float


@dataclass(frozen=True)
class Comparison:
    """A comparison of two systems by paired bootstrap resampling (Koehn, 2004)."""

    metric: str
    baseline: float
    score: float
    p: float
    """The probability of such a difference if the two systems are equally good."""
    signature: str


def bleu(hypotheses: Sequence[str], references: References, tokens: Tokens = "13a") -> Score:
    return _score(metric(tokens), hypotheses, references)


def metric(tokens: Tokens = "13a") -> BLEU:
    """Return BLEU with this tokeniser; reject one whose extra is not installed."""
    try:
        return BLEU(tokenize=tokens)
    except RuntimeError:
        raise UserError(f"{tokens} is not installed here; `pip install 'regard[{EXTRAS[tokens]}]'` does it") from None


def chrf(hypotheses: Sequence[str], references: References) -> Score:
    """Compute chrF (Popović, 2015): less dependent on tokens, so fairer to Korean, Finnish or Turkish."""
    return _score(CHRF(), hypotheses, references)


def ter(hypotheses: Sequence[str], references: References) -> Score:
    """Compute TER, the edits per word of the reference (Snover et al., 2006): lower is better."""
    return _score(TER(), hypotheses, references)


def bleu_lowercase(hypotheses: Sequence[str], references: References) -> Score:
    return _score(BLEU(lowercase=True, smooth_method="none"), hypotheses, references)


def bleu_compound(hypotheses: Sequence[str], references: References) -> Score:
    split = [[compounds(line) for line in lines] for lines in (hypotheses, *references)]
    found = _score(BLEU(tokenize="none", smooth_method="none", force=True), split[0], split[1:])
    return Score(found.value, found.signature.replace("tok:none", "tok:13a+compounds"))


OTHERS: dict[str, Callable[[Sequence[str], References], Score]] = {
    "chrf": chrf,
    "ter": ter,
    "bleu_lowercase": bleu_lowercase,
    "bleu_compound": bleu_compound,
}


def compounds(line: str) -> str:
    """Return a line as tokens, with compounds split at hyphens."""
    tokens = Tokenizer13a()(line.rstrip())  # type: ignore[no-untyped-call]
    return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", tokens)


def _score(measure: Metric, hypotheses: Sequence[str], references: References) -> Score:
    if not hypotheses:
        raise UserError("there are no lines to measure; are the files empty?")
    assert all(len(reference) == len(hypotheses) for reference in references)
    value = measure.corpus_score(hypotheses, references).score
    return Score(float(value), str(measure.get_signature()))


def by_length(
    texts: Sequence[str], hypotheses: Sequence[str], references: References, tokens: Tokens = "13a"
) -> list[Bucket]:
    """Compute BLEU by the number of words, separated by spaces, of each of `texts`: its source or its reference."""
    words = [len(text.split()) for text in texts]
    buckets = []
    for low, high in zip((0, *BUCKETS), (*BUCKETS, None), strict=True):
        chosen = [at for at, count in enumerate(words) if (low < count or low == 0) and (high is None or count <= high)]
        if chosen:
            name = f"{low + 1 if low else 0}-{high}" if high is not None else f"over {low}"
            parts = [[lines[at] for at in chosen] for lines in (hypotheses, *references)]
            buckets.append(Bucket(name, len(chosen), bleu(parts[0], parts[1:], tokens).value))
    return buckets


def compare(
    baseline: Sequence[str], hypotheses: Sequence[str], references: References, tokens: Tokens = "13a"
) -> list[Comparison]:
    """Test whether a system differs from a baseline by more than chance, with sacreBLEU's own paired bootstrap."""
    systems: list[tuple[str, Sequence[str]]] = [("baseline", list(baseline)), ("system", list(hypotheses))]
    metrics: dict[str, Metric] = {"BLEU": metric(tokens), "chrF": CHRF()}
    signatures, scores = PairedTest(systems, metrics, references, test_type="bs", n_samples=SAMPLES)()
    found = []
    for name, signature in signatures.items():
        first, second = scores[name]
        assert isinstance(first, Result) and isinstance(second, Result) and second.p_value is not None
        # sacreBLEU reports identical systems as significantly different.
        p = second.p_value if systems[0][1] != systems[1][1] else 1.0
        found.append(Comparison(name, first.score, second.score, p, str(signature)))
    return found
