"""One line of the ledger: what was released, to whom, for how much."""

import re
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b

from tacit._util.checks import bad
from tacit.wire import encode, message

COUNTS = "counts"  # how peers release; see `budget_used`
EMPTY = bytes(32)  # the head of a ledger without entries
_RATIONAL = re.compile("[0-9]{1,400}(/[0-9]{1,400})?")


@message("entry")
@dataclass(frozen=True)
class Entry:
    """A release; `epsilon` is an exact rational as text, `at` in seconds since 1970."""

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

    def __post_init__(self) -> None:
        if not _RATIONAL.fullmatch(self.epsilon):
            raise bad("epsilon", "a rational number such as 1/2", self.epsilon[:20])
        if not self.cost > 0:
            raise bad("epsilon", "> 0", self.epsilon)

    @property
    def cost(self) -> Fraction:
        """The epsilon charged."""
        return Fraction(self.epsilon)

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
    return spent + counts if 0 < counts < spent else spent


def linked(head: bytes, entry: Entry) -> bytes:
    """The head of the chain after one more entry: no line can be changed, dropped or moved
    without changing it.
    """
    return blake2b(head + encode(entry), digest_size=32).digest()
