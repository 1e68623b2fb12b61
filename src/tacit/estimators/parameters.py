"""What the estimator's parameters mean: names become objects, numbers are checked.

What the parameters of ensembles of sites mean.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tacit._util.checks import bad, one_of, positive, whole
from tacit._util.types import AnyArray, BoolArray, FloatArray
from tacit.learners.learner import ReportTerms
from tacit.learners.sites.losses import LOSSES, Loss
from tacit.mechanisms.registry import MECHANISMS
from tacit.mechanisms.spaces import Space
from tacit.mechanisms.streams import Stream, secure, seeded


def stream_of(random_state: Any) -> Stream:
    """Secure coins for None; otherwise seeded ones, by a seed that is given or drawn from a numpy
    generator.

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
    """One number, or one for each owner that takes part; a vector counts all owners, also those
    left out.
    """
    if np.ndim(epsilon) == 0:
        return positive("epsilon", epsilon)
    each = np.asarray(epsilon, dtype=np.float64)
    if each.shape != left_out.shape:
        raise bad(
            "epsilon", f"a number or one for each of {len(left_out)} owners", f"shape {each.shape}"
        )
    return each[~left_out]


def terms_of(mechanism: Any, space: Space, epsilon: float | FloatArray) -> ReportTerms:
    """The terms of all rounds: "auto" is decided once, at the median epsilon."""
    return ReportTerms.of(one_of("mechanism", mechanism, {"auto", *MECHANISMS}), space, epsilon)


def owners_each(wanted: Any, rounds: Any, attempts: Any, owners: int) -> tuple[int, int]:
    """How many owners a round asks, and how many rounds, dropped ones included, there can be at
    most.

    By default the owners of every fifth round (one at least) are kept in reserve for rounds that
    get dropped.

    >>> owners_each(None, rounds=10, attempts=5, owners=125)
    (10, 12)
    """
    rounds, attempts = whole("rounds", rounds, 1), whole("attempts", attempts, 1)
    reserve = max(1, rounds // 5) if rounds > 1 else 0
    each = (
        max(1, owners // (rounds + reserve))
        if wanted is None
        else whole("owners_per_round", wanted, 1)
    )
    return each, max(1, min(rounds * attempts, owners // each))


def loss_of(name: Any, *, numbers: bool) -> Loss:
    """A loss by name; "auto" is the Huber hinge for classes and the Huber loss for numbers."""
    fitting = [known for known, loss in LOSSES.items() if loss.of_numbers == numbers]
    chosen = one_of("loss", name, ["auto", *fitting])
    return LOSSES[("huber" if numbers else "huber_hinge") if chosen == "auto" else chosen]


def ridge_of(ridge: Any) -> float | None:
    """A ridge that is given, or None for "auto"."""
    return None if isinstance(ridge, str) and ridge == "auto" else positive("ridge", ridge)


def site_names(sites: Any, rows: int) -> AnyArray:
    """The site of each row; None: all rows are of one site."""
    if sites is None:
        return np.zeros(rows, dtype=np.int64)
    names: AnyArray = np.asarray(sites)
    if names.shape != (rows,):
        raise ValueError(
            f"sites must name one site per row, got shape {names.shape} for {rows} rows"
        )
    return names


def site_epsilons(epsilon: Any, sites: int) -> FloatArray:
    """One epsilon per site."""
    if np.ndim(epsilon) == 0:
        return np.full(sites, positive("epsilon", epsilon))
    each = np.asarray(epsilon, dtype=np.float64)
    if each.shape != (sites,):
        raise bad("epsilon", f"a number or one for each of {sites} sites", f"shape {each.shape}")
    return each
