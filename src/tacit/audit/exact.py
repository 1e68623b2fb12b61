"""Exact audit: enumerate a mechanism's table of whole-number weights and compare its worst ratio with e^epsilon.

No float takes part in the verdict: the ratio is a fraction, and so is the lower bound of e^epsilon it must not exceed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any, Protocol

from tacit.privacy.odds import exp_below


class Law(Protocol):
    """A randomiser as a table: for every input the whole-number weights of all outputs."""

    @property
    def inputs(self) -> Iterable[Any]: ...

    @property
    def total(self) -> int: ...

    def weights(self, given: Any, /) -> Sequence[int] | Mapping[Any, int]: ...


@dataclass(frozen=True)
class ExactVerdict:
    """The worst ratio of two probabilities of one output, and whether it is at most e^epsilon."""

    claimed: float
    ratio: Fraction

    @property
    def holds(self) -> bool:
        return self.ratio <= exp_below(self.claimed)

    @property
    def spent(self) -> float:
        """The logarithm of the ratio: the epsilon really used."""
        return log(self.ratio)


def enumerate_law(law: Law, epsilon: float) -> ExactVerdict:
    """Go through the whole table: every input, every output. For small grids."""
    largest: dict[Any, int] = {}
    smallest: dict[Any, int] = {}
    for given in law.inputs:
        weights = law.weights(given)
        items = list(weights.items() if isinstance(weights, Mapping) else enumerate(weights))
        if sum(weight for _, weight in items) != law.total:
            raise ValueError(f"the weights of input {given!r} do not add up to {law.total}: no common denominator")
        for output, weight in items:
            largest[output] = max(weight, largest.get(output, weight))
            smallest[output] = min(weight, smallest.get(output, weight))
    if min(smallest.values()) <= 0:
        raise ValueError("an output is impossible for some input: no epsilon covers that")
    return ExactVerdict(epsilon, max(Fraction(largest[output], smallest[output]) for output in largest))
