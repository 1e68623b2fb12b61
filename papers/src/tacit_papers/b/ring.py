"""The ring of masks, as published: a simulation for comparison, unsound. What it leaks:
two_servers.md, last section.

First round: owner 1 sends term plus mask to owner 2, which adds its own term and mask and sends on,
until owner L sends to owner 1. Second round: owner 1 takes its mask off and sends on, ..., until
owner L holds the sum and tells everybody. Claim: none. Variance: 0, up to rounding. Edges: terms
are clipped and encoded as in every sum.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.types import FloatArray, WordArray
from tacit.mechanisms.streams import Stream
from tacit.sums.secure_sum import (
    SecureSum,
    SumAnswer,
    SumRefusedError,
    blocks,
    decode,
    encode,
    simulate_sum,
)


@dataclass(frozen=True, eq=False)
class Messages:
    """What travels: row i of `first` and `second` (owners, k) is what owner i sends on in that
    round.
    """

    first: WordArray
    second: WordArray


@simulate_sum("ring")
@dataclass(frozen=True, kw_only=True)
class RingSum(SecureSum):
    """Exact sums along a ring of owners.

    >>> from tacit import seeded
    >>> RingSum().total(np.full((20, 2), 0.25), seeded(7)).sums
    array([5., 5.])
    """

    unsound: ClassVar[str] = (
        "two neighbours in the ring recover the term of the owner between them; one owner "
        "that drops out stalls "
        "the sum; exact sums, repeated over the same owners, have no differential privacy"
    )

    epsilon: float | None = None

    def total(self, terms: object, stream: Stream) -> SumAnswer:
        rows = self.accept(terms)
        if not len(rows) >= self.minimum:
            raise SumRefusedError(
                f"a sum needs at least minimum={self.minimum} owners, got {len(rows)}"
            )
        messages = self.messages(rows, stream)
        return SumAnswer(
            decode(messages.second[-1], self.steps), np.zeros(rows.shape[1]), len(rows)
        )

    def messages(self, terms: FloatArray, stream: Stream) -> Messages:
        """Both rounds. Owner i's mask is the first k words of tape i; sums are modulo 2^64."""
        n, k = terms.shape
        first, masks = np.empty((n, k), dtype=np.uint64), np.empty((n, k), dtype=np.uint64)
        for rows in blocks(n):
            masks[rows] = stream.words(np.arange(rows.start, rows.stop), 0, k)
            first[rows] = encode(terms[rows], self.steps) + masks[rows]
        first = np.cumsum(first, axis=0, dtype=np.uint64)
        return Messages(first, first[-1:] - np.cumsum(masks, axis=0, dtype=np.uint64))

    def attack(self, messages: Messages, owner: int) -> FloatArray:
        """The term (k,) of `owner`, from what its two neighbours in the ring received and sent, and
        nothing else.

        In the first round the owner adds term and mask, in the second it takes the mask off:
        together it adds its term.
        """
        if not whole("owner", owner, 0) < len(messages.first):
            raise bad("owner", f"below {len(messages.first)}", owner)
        start = (
            np.zeros_like(messages.first[0]),
            messages.first[-1],
        )  # what the first owner begins each round with
        before = start if owner == 0 else (messages.first[owner - 1], messages.second[owner - 1])
        after = messages.first[owner], messages.second[owner]
        return decode((after[0] - before[0]) + (after[1] - before[1]), self.steps)
