"""The audit of the shipped mechanisms, as rows: what is claimed, what the exact table says, what
samples prove.

The exact part enumerates a mechanism's table of whole-number weights and compares its worst ratio
with e^epsilon. No float takes part in the verdict: the ratio is a fraction, and so is the lower
bound of e^epsilon it must not exceed. Samples are judged in statistical.py.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any, Protocol

import numpy as np

from tacit._util.checks import bad
from tacit._util.types import FloatArray
from tacit.audit.statistical import Examination, examine
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.caps import Cap
from tacit.mechanisms.duchi import Duchi, DuchiLaw
from tacit.mechanisms.hybrid import Hybrid
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.piecewise import Piecewise, PiecewiseLaw
from tacit.mechanisms.privunit import PrivUnit
from tacit.mechanisms.randomized_response import RandomizedResponse, ResponseLaw
from tacit.mechanisms.registry import PRIVATE
from tacit.mechanisms.spaces import Ball, Box, Space
from tacit.mechanisms.streams import Stream, exp_below, odds, rational

_SMALL = 64  # grid of the tables that are enumerated whole


@dataclass(frozen=True)
class AuditRow:
    """One mechanism at one epsilon and dimension."""

    mechanism: str
    epsilon: float
    dim: int
    spent: float
    exact: bool
    found: Examination

    @property
    def sound(self) -> bool:
        return self.exact and self.found.sound


def audit_mechanisms(
    epsilons: list[float], dims: list[int], n: int, stream: Stream
) -> Iterator[AuditRow]:
    """Audit every private mechanism over the space it is meant for, n reports per input."""
    for kind in PRIVATE:
        for dim in dims:
            space: Space = Ball(dim=dim) if kind is PrivUnit else Box(dim=dim)
            for epsilon in epsilons:
                coins = stream.child(kind.__name__, dim, str(epsilon))
                # it ranks codewords: slower, and as telling
                draws = n // 10 if kind is PrivUnit else n
                mechanism = kind(epsilon=epsilon, space=space)
                found = examine(mechanism, opposites(dim), draws, coins)
                used, within = epsilon_in_use(mechanism)
                table = small_table(kind, epsilon)
                yield AuditRow(
                    mechanism=kind.__name__,
                    epsilon=epsilon,
                    dim=dim,
                    spent=used,
                    exact=within and (table is None or table.holds),
                    found=found,
                )


def opposites(dim: int) -> FloatArray:
    """Shares between one corner of the space and the opposite one."""
    return np.array([np.full(dim, value) for value in (-1.0, -0.9, -0.3, 0.0, 0.9, 1.0)])


def epsilon_in_use(mechanism: Mechanism) -> tuple[float, bool]:
    """The epsilon that the shipped constants use up, and whether it is within the claim,
    compared as rationals.
    """
    claim = float(np.max(mechanism.epsilon))
    match mechanism:
        case Laplace():
            used = Fraction(mechanism.width, mechanism.noise_scales[-1])
            return float(used), used <= rational(claim)
        case Piecewise() | Hybrid():
            ratio = mechanism.laws[-1].odds.ratio ** int(mechanism.counts[-1])
        case Duchi() | RandomizedResponse():
            ratio = mechanism.laws[-1].odds.ratio
        case PrivUnit():
            ratio = Fraction(mechanism.laws[-1].high, mechanism.laws[-1].low)
        case _:
            raise bad("mechanism", "one that ships with tacit", mechanism)
    return log(ratio), ratio <= exp_below(claim)


@dataclass(frozen=True)
class ExactVerdict:
    """The worst ratio of two probabilities of one output, and whether it is at most e^epsilon."""

    claimed: float
    ratio: Fraction

    @property
    def holds(self) -> bool:
        return self.ratio <= exp_below(self.claimed)

    @property
    def epsilon(self) -> float:
        """The logarithm of the ratio: what is really used."""
        return log(self.ratio)


def small_table(kind: type[Mechanism], epsilon: float) -> ExactVerdict | None:
    """A mechanism's table on a small grid, enumerated whole; None for Laplace, whose weights are
    powers of e^(-1/t).
    """
    tables: dict[type[Mechanism], Law] = {
        Piecewise: PiecewiseLaw.of(epsilon, _SMALL),
        Hybrid: PiecewiseLaw.of(epsilon, _SMALL),
        Duchi: DuchiLaw(4, odds(epsilon, _SMALL)),
        RandomizedResponse: ResponseLaw(8, odds(epsilon, _SMALL)),
        PrivUnit: Cap(4, candidates=16, favoured=5, high=odds(epsilon, _SMALL).high, low=_SMALL),
    }
    return enumerate_law(tables[kind], epsilon) if kind in tables else None


class Law(Protocol):
    """A randomiser as a table: for every input the whole-number weights of all outputs."""

    @property
    def inputs(self) -> Iterable[Any]: ...

    @property
    def total(self) -> int: ...

    def weights(self, given: Any, /) -> Sequence[int] | Mapping[Any, int]: ...


def enumerate_law(law: Law, epsilon: float) -> ExactVerdict:
    """Go through the whole table: every input, every output. For small grids."""
    largest: dict[Any, int] = {}
    smallest: dict[Any, int] = {}
    for given in law.inputs:
        weights = law.weights(given)
        items = list(weights.items() if isinstance(weights, Mapping) else enumerate(weights))
        if sum(weight for _, weight in items) != law.total:
            raise ValueError(
                f"the weights of input {given!r} do not add up to {law.total}: no common "
                "denominator"
            )
        for output, weight in items:
            largest[output] = max(weight, largest.get(output, weight))
            smallest[output] = min(weight, smallest.get(output, weight))
    if min(smallest.values()) <= 0:
        raise ValueError("an output is impossible for some input: no epsilon covers that")
    return ExactVerdict(
        epsilon, max(Fraction(largest[output], smallest[output]) for output in largest)
    )
