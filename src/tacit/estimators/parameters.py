"""What the estimator's parameters mean: names become objects, numbers are checked."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tacit.checks import bad, positive, whole
from tacit.learners.base import Terms
from tacit.learners.names import one_of
from tacit.mechanisms.names import MECHANISMS
from tacit.spaces import Space
from tacit.streams import Stream, secure, seeded
from tacit.types import BoolArray, FloatArray


def stream_of(random_state: Any) -> Stream:
    """Secure coins for None; otherwise seeded ones, by a seed that is given or drawn from a numpy generator.

    >>> stream_of(None).label, stream_of(3).label
    ('secure', 'reproducible, not private')
    """
    if random_state is None:
        return secure()
    if isinstance(random_state, Integral):
        return seeded(int(random_state))
    if isinstance(random_state, np.random.Generator):
        return seeded(int(random_state.integers(2**63)))
    return seeded(int(check_random_state(random_state).randint(2**31)))


def epsilon_of(epsilon: Any, left_out: BoolArray) -> float | FloatArray:
    """One number, or one for each owner that takes part; a vector counts all owners, also those left out."""
    if np.ndim(epsilon) == 0:
        return positive("epsilon", epsilon)
    each = np.asarray(epsilon, dtype=np.float64)
    if each.shape != left_out.shape:
        raise bad("epsilon", f"a number or one for each of {len(left_out)} owners", f"shape {each.shape}")
    return each[~left_out]


def terms_of(mechanism: Any, space: Space, epsilon: float | FloatArray) -> Terms:
    """The terms of all rounds: "auto" is decided once, at the median epsilon."""
    return Terms.of(one_of("mechanism", mechanism, {"auto", *MECHANISMS}), space, epsilon)


def owners_each(wanted: Any, rounds: Any, attempts: Any, owners: int) -> tuple[int, int]:
    """How many owners a round asks, and how many rounds, dropped ones included, there can be at most.

    By default the owners of every fifth round (one at least) are kept in reserve for rounds that get dropped.

    >>> owners_each(None, rounds=10, attempts=5, owners=125)
    (10, 12)
    """
    rounds, attempts = whole("rounds", rounds, 1), whole("attempts", attempts, 1)
    reserve = max(1, rounds // 5) if rounds > 1 else 0
    each = max(1, owners // (rounds + reserve)) if wanted is None else whole("owners_per_round", wanted, 1)
    return each, max(1, min(rounds * attempts, owners // each))
