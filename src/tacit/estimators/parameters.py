"""What is refused of an estimator's parameters before a row is looked at.

Every estimator has `check_parameters`, with which its fit begins: whatever can be judged without
rows is judged there, so that nobody waits for a mistake, and the command line asks it before it
opens a file. What only rows decide (how many owners an epsilon is given for, how long a share is)
is judged as soon as they are read.
"""

from math import inf
from typing import Any, Protocol

import numpy as np

from tacit._util.checks import bad, check_delta, check_engine, one_of, positive
from tacit.data.schema import Schema
from tacit.sums import HOW, TRUSTS


class Adjustable(Protocol):
    """The parameters that all estimators have."""

    epsilon: Any
    schema: Any
    public_fraction: Any
    engine: Any

    def check_budget(self) -> None:
        """Refuse what is no budget."""


def check_common(estimator: Adjustable) -> None:
    """Refuse parameters that all have; but for epsilon, of which some know more kinds."""
    check_schema(estimator.schema)
    check_fraction(estimator.public_fraction)
    check_engine(estimator.engine)
    estimator.check_budget()


def check_schema(schema: Any) -> None:
    """Refuse what is neither a schema nor None."""
    if not (schema is None or isinstance(schema, Schema)):
        raise TypeError(
            f"schema must be a Schema or None, got {schema!r}: "
            "tacit.data.sample.read_schema reads one from a file"
        )


def check_fraction(fraction: Any) -> float:
    """How many of all owners are set aside where there is no sample, as a part of them."""
    if not positive("public_fraction", fraction) < 1:
        raise bad("public_fraction", "a number between 0 and 1", fraction)
    return float(fraction)


def check_epsilon(epsilon: Any) -> None:
    """Refuse an epsilon, or one of several, that is none; how many there must be rows say.

    >>> check_epsilon([1.0, 2.0])
    >>> check_epsilon([1.0, 0.0])
    Traceback (most recent call last):
        ...
    ValueError: epsilon must be a finite number > 0, got 0.0
    """
    if np.ndim(epsilon) == 0:
        positive("epsilon", epsilon)
        return
    given = np.asarray(epsilon)
    if given.dtype.kind in "iuf" and ((given > 0) & (given < inf)).all():
        return
    for each in given.ravel().tolist():
        positive("epsilon", each)


def check_trust(trust: Any, delta: Any, mechanism: str, epsilon: Any) -> bool:
    """Whether two servers add up shares. Refused is what their sums do not have: a mechanism at
    owners, an epsilon of each.
    """
    summed = one_of("trust", trust, TRUSTS) == HOW
    check_delta(delta)
    if summed and mechanism != "auto":
        raise bad("mechanism", f'auto with trust="{HOW}": the servers add the noise', mechanism)
    if summed and np.ndim(epsilon) != 0:
        shape = np.shape(epsilon)
        raise ValueError(f'epsilon must be one number with trust="{HOW}", got an array of {shape}')
    return summed
