"""Auditing epsilon in one run: a canary bit per owner (in the spirit of Steinke, Nasr and Jagielski
2023).

Setting: n owners; owner i holds data set A if its bit S_i is 1 and B if it is 0, bits fair and
independent. Y is everything that leaves in one run. An auditor who sees Y guesses some of the bits,
which and how as it likes.

Theorem. If Y is epsilon-DP in the data of each owner, whatever the others hold, then the number of
right guesses among r is stochastically at most Binomial(r, p), p = e^epsilon / (1 + e^epsilon). The
guesses may depend on Y, and on the bits of owners set aside beforehand, which are not guessed.

Proof. Reveal bits one after another, those set aside first. Given Y = y and the bits revealed
before (S_i is none of them), Bayes' rule with the fair prior gives P[S_i = 1 | ...] / P[S_i = 0 |
...] = P[Y = y | S_i = 1, ...] / P[Y = y | S_i = 0, ...], and both sides of that fraction average,
over the bits still hidden with the same weights, probabilities that differ by at most e^epsilon. So
either value of S_i has conditional probability at most p. A guess is fixed by y and the bits set
aside, so it is right with conditional probability at most p, whatever became of the guesses before.
Replacing guess by guess with a coin of bias p can only raise the tail of the sum. QED

So v right guesses of r prove, with confidence 1 - beta, every epsilon for which P[Binomial(r, p) >=
v] <= beta: the Clopper-Pearson lower bound of p, as log-odds. In local privacy owners are
independent, so the one run is as telling as many; and the run contains the whole gate, refusals and
lengths included.
"""

from math import log

import numpy as np
from scipy.stats import beta

from tacit._util.types import BoolArray, FloatArray


def one_run_bound(right: int, guesses: int, confidence: float) -> float:
    """The epsilon that so many right guesses prove.

    >>> round(one_run_bound(7311, 10_000, 0.999), 2)  # epsilon 1: 0.7311 are right at most
    0.93
    """
    low = float(beta.ppf(1 - confidence, right, guesses - right + 1)) if right > 0 else 0.0
    return log(low / (1 - low)) if 0.5 < low < 1 else 0.0


def boldness(
    scores: FloatArray, bits: BoolArray, times: int, confidence: float
) -> tuple[float, float]:
    """What guessing is expected to prove on `times` as many owners as these, and the |score| that a
    guess should have.

    Half a wrong guess more than was made is expected, so that "never yet" is not "never".
    """
    levels = np.unique(np.quantile(np.abs(scores), np.linspace(0, 0.99, 100)))
    made = [_count_guesses(scores, bits, level) for level in levels]
    proven = [
        one_run_bound(times * right, times * guesses + times // 2, confidence)
        for right, guesses in made
    ]
    best = int(np.argmax(proven))
    return proven[best], float(levels[best])


def guess(scores: FloatArray, bits: BoolArray, least: float, confidence: float) -> float:
    """What guessing every bit with |score| >= least proves; positive scores mean A. `least` must
    not know the bits.
    """
    return one_run_bound(*_count_guesses(scores, bits, least), confidence)


def _count_guesses(scores: FloatArray, bits: BoolArray, least: float) -> tuple[int, int]:
    """Right guesses, and all of them."""
    made = (np.abs(scores) >= least) & (scores != 0)
    right = made & ((scores > 0) == bits)
    return int(np.count_nonzero(right)), int(np.count_nonzero(made))
