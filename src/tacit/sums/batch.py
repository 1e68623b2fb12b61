"""What a sum over the network is about: public facts that owners seal their halves to.

The two servers of a campaign are named by their public keys. A half opens at one of them, for one question, at one
epsilon, and for no other, because all of this is the context it was sealed in.
"""

from dataclasses import dataclass

from tacit.checks import bad, positive, whole
from tacit.sums.two_servers import TwoServers
from tacit.wire import encode, message
from tacit.wire.sealed import KEY

ENTRIES = 2  # of a term: weighted error, weight
COORDINATOR, HELPER = "coordinator", "helper"
_DIGEST = 32


@message("sum.terms")
@dataclass(frozen=True)
class SumTerms:
    """The terms of a campaign's sums: epsilon of ONE sum, the least batch, and the two servers' public keys."""

    epsilon: float
    minimum: int
    coordinator: bytes
    helper: bytes

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        for name in (COORDINATOR, HELPER):
            if not len(getattr(self, name)) == KEY:
                raise bad(f"key of the {name}", f"{KEY} bytes", len(getattr(self, name)))
        if self.coordinator == self.helper:
            raise ValueError("coordinator and helper must have different keys: one server that plays both sees terms")
        self.sums(self.minimum).scale(ENTRIES)  # refuses an epsilon that is too small for the noise

    def sums(self, minimum: int) -> TwoServers:
        """The sum as each server runs it; a server may ask for more owners than the terms do."""
        return TwoServers(epsilon=self.epsilon, minimum=max(minimum, self.minimum))


@message("sum.batch")
@dataclass(frozen=True)
class Batch:
    """One sum: the digest of its question, its place among the campaign's sums (from 1), and the terms."""

    question: bytes
    number: int
    terms: SumTerms

    def __post_init__(self) -> None:
        if not len(self.question) == _DIGEST:
            raise bad("question", f"a digest of {_DIGEST} bytes", len(self.question))
        whole("number", self.number, 1)

    def context(self, server: str) -> bytes:
        """What a half for this server is sealed in."""
        return server.encode() + b"\n" + encode(self)
