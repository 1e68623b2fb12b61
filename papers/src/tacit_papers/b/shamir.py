"""Sums by Shamir's secret sharing, which paper B names beside its ring: a simulation, unsound.

Owner i hides its term in a random polynomial p_i of degree t - 1 with p_i(0) = term, modulo the
prime 2^61 - 1, and gives server s the value p_i(s). Servers add up what they got: the sums are
values of the polynomial sum p_i, whose value at 0, the sum of the terms, any t servers
interpolate. Fewer than t servers see uniform numbers.

What it is worth: against the ring, no two neighbours read an owner and up to servers - t servers
may fail. But the sum itself is exact, and exact sums over the same owners, round after round, have
no differential privacy. Claim: none. Variance: 0, up to rounding. Edges: terms are clipped and
encoded as in every sum.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.types import AnyArray
from tacit.mechanisms.streams import Stream
from tacit.sums.secure_sum import (
    SecureSum,
    SumAnswer,
    SumRefusedError,
    decode,
    encode,
    simulate_sum,
)

PRIME = (1 << 61) - 1


@simulate_sum("shamir")
@dataclass(frozen=True, kw_only=True)
class ShamirSum(SecureSum):
    """Exact sums by `servers` servers of which any `threshold` suffice.

    >>> from tacit import seeded
    >>> ShamirSum().total(np.full((20, 2), 0.25), seeded(7)).sums
    array([5., 5.])
    """

    unsound: ClassVar[str] = (
        "exact sums, repeated over the same owners, have no differential privacy; `threshold` "
        "servers together read every owner's term"
    )

    epsilon: float | None = None
    servers: int = 5
    threshold: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not whole("threshold", self.threshold, 2) <= whole("servers", self.servers, 2):
            raise bad("threshold", f"at most the {self.servers} servers", self.threshold)

    def total(self, terms: object, stream: Stream) -> SumAnswer:
        rows = self.accept(terms)
        if not len(rows) >= self.minimum:
            raise SumRefusedError(
                f"a sum needs at least minimum={self.minimum} owners, got {len(rows)}"
            )
        sums = self.shares(encode(rows, self.steps), stream).sum(axis=1) % PRIME
        told = self.open({place + 1: sums[place] for place in range(self.threshold)})
        return SumAnswer(
            decode(told.astype(np.uint64), self.steps), np.zeros(rows.shape[1]), len(rows)
        )

    def shares(self, terms: AnyArray, stream: Stream) -> AnyArray:
        """What each server gets of each owner, (servers, owners, k); owner i reads its own tape."""
        n, k = terms.shape
        words = stream.words(np.arange(n), 0, k * (self.threshold - 1))
        slopes = words.astype(object).reshape(n, k, self.threshold - 1) % PRIME
        found = np.empty((self.servers, n, k), dtype=object)
        for place in range(self.servers):
            value = np.zeros((n, k), dtype=object)
            for power in reversed(range(self.threshold - 1)):  # Horner's scheme
                value = (value + slopes[:, :, power]) * (place + 1) % PRIME
            found[place] = (value + terms.astype(object)) % PRIME
        return found

    def open(self, sums: dict[int, AnyArray]) -> AnyArray:
        """The value at 0 of the polynomial through what servers 1, 2, ... say; any `threshold`."""
        if not len(sums) >= self.threshold:
            raise SumRefusedError(
                f"opening needs threshold={self.threshold} servers, got {len(sums)}"
            )
        total: AnyArray = np.zeros_like(next(iter(sums.values())))
        chosen = list(sums)[: self.threshold]
        for one in chosen:
            factor = 1
            for other in chosen:
                if other != one:
                    factor = factor * other * pow(other - one, -1, PRIME) % PRIME
            total = (total + factor * sums[one]) % PRIME
        return total
