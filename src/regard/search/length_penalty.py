"""The length penalty, which divides log probabilities so that short hypotheses do not always win (section 6.1).

|Y| counts the tokens of the output and the EOS that ends it, since the log probability has a term for each.
"""

from typing import Literal

Penalty = Literal["paper", "average"]


def length_penalty(length: int, alpha: float, penalty: Penalty = "paper") -> float:
    """Return lp(Y). paper: ((5 + |Y|) / 6)^α (Wu et al., 2016, as in the paper). average: |Y|^α.

    Both grow with |Y| when α > 0 and are 1 when α = 0.
    """
    assert length >= 1, "the shortest output is EOS alone"
    return float(((5 + length) / 6 if penalty == "paper" else length) ** alpha)


def normalised(log_probability: float, length: int, alpha: float, penalty: Penalty = "paper") -> float:
    """Return the score by which hypotheses of different lengths are compared: log P(Y|X) / lp(Y)."""
    return log_probability / length_penalty(length, alpha, penalty)


def best_attainable(log_probability: float, longest: int, alpha: float, penalty: Penalty = "paper") -> float:
    """Return an upper bound on the score of any continuation of at most `longest` tokens, EOS included.

    Proof, for α >= 0. Let s be the log probability so far, s' that of a finished continuation of n <= longest tokens.
    Every further token adds a log probability of at most 0, so s' <= s <= 0. lp grows with length, so
    0 < lp(n) <= lp(longest), and s' / lp(n) <= s' / lp(longest) <= s / lp(longest). Both inequalities survive rounding,
    since addition and division round monotonically. The bound is exact: a model that is certain of every further token
    up to the longest output attains it.
    """
    assert alpha >= 0, "a negative α rewards shortness, and the bound would not hold"
    return normalised(log_probability, longest, alpha, penalty)
