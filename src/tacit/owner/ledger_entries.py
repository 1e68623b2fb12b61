"""One line of an owner's ledger, what it costs, and how lines form a chain.

An `Entry` is what was released, to whom, for how much. Costs are exact rationals, written as text.
The chain makes any change of a line show in the head (`link_entry`).
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import NamedTuple

from tacit._util.checks import bad
from tacit.sums.discrete_gaussian import epsilon_of
from tacit.wire import encode, message

COUNTS = "counts"  # how peers release; see `budget_used`
EMPTY = bytes(32)  # the head of a ledger without entries
_RATIONAL = re.compile("[0-9]{1,400}(/[0-9]{1,400})?")


@lru_cache(maxsize=4096)
def read_rational(text: str) -> Fraction:
    """The number that a line of a ledger writes; `ValueError` where it is none."""
    if not _RATIONAL.fullmatch(text):
        raise ValueError("it must be a rational number such as 1/2")
    top, _, bottom = text.partition("/")
    if bottom and not int(bottom):
        raise ValueError("it must not divide by 0")
    return Fraction(int(top), int(bottom or 1))


class CampaignId(NamedTuple):
    """A campaign as a ledger knows it: by its key, in hex. Names are no more than names."""

    name: str
    key: str


@message("ledger entry")
@dataclass(frozen=True)
class Entry:
    """A release; `epsilon` is an exact rational as text, `at` in seconds since 1970. What cost
    neither epsilon nor rho was made from no rows. `key` is the campaign's, in hex; empty in lines
    of before they had one, which count for every campaign of that name.

    Where it has a delta, `rho` is what it costs beside Gaussian noise, and `epsilon` what it
    adds to the epsilon of its campaign at this `delta` (`added_epsilon`).
    """

    owner: str
    digest: bytes
    campaign: str
    number: int
    at: int
    epsilon: str
    unit: str
    what: str
    how: str
    report: bytes
    rho: str = "0"
    delta: str = "0"
    key: str = ""

    def __post_init__(self) -> None:
        for name in ("rho", "delta", "epsilon"):
            try:
                read_rational(getattr(self, name))
            except ValueError:
                text = getattr(self, name)[:20]
                raise bad(name, "a rational number such as 1/2", text) from None

    @cached_property
    def line(self) -> bytes:
        """As the chain has it."""
        return encode(self)

    @property
    def cost(self) -> Fraction:
        """The epsilon charged."""
        return read_rational(self.epsilon)

    @property
    def is_paid(self) -> bool:
        """Whether rows were used: a rho may cost no epsilon yet, where delta is large."""
        return self.cost > 0 or read_rational(self.rho) > 0

    def __repr__(self) -> str:
        return f"Entry({self.owner!r}, {self.digest.hex()[:12]}, epsilon={self.epsilon})"


def budget_used(spent: Fraction, counts: Fraction) -> Fraction:
    """What of a budget is used when `counts` of all that was `spent` went for peers' counts.

    Claim: it is an epsilon for one record added, removed or replaced, where releases of several
    kinds are mixed; where all are counts, for one added or removed, as they say. Proof: shares and
    sites prove their epsilon for all three; counts prove it for added or removed, and twice it for
    replaced, which is one of each. Epsilons of one adjacency add up.

    >>> budget_used(Fraction(3), Fraction(1)), budget_used(Fraction(1), Fraction(1))
    (Fraction(4, 1), Fraction(1, 1))
    """
    return spent + counts if counts and counts < spent else spent


def added_epsilon(before: Fraction, rho: Fraction, delta: float) -> Fraction:
    """What a release of this rho adds to the epsilon of releases of `before` in the same campaign,
    at its delta.

    Claim: what was added in a campaign adds up to no less than the epsilon of all of its releases
    together, at delta. Proof: rho adds up, and `epsilon_of` is evaluated at both ends, exactly as a
    rational; what floats make of a rho too small to notice is not given back.

    >>> parts = [added_epsilon(k * Fraction(1, 50), Fraction(1, 50), 1e-6) for k in range(3)]
    >>> [round(float(part), 2) for part in parts]
    [0.83, 0.38, 0.3]
    """
    composed = Fraction(epsilon_of(before + rho, delta))
    return max(Fraction(0), composed - Fraction(epsilon_of(before, delta)))


def link_entry(head: bytes, entry: Entry) -> bytes:
    """The head of the chain after one more entry: no line can be changed, dropped or moved
    without changing it.
    """
    return blake2b(head + entry.line, digest_size=32).digest()
