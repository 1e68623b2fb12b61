"""A gate for audits: the real one, signature, policy, ledger and packing included, but with coins
that can be repeated.

Reproducible, not private. It cannot be taken for an owner's gate: it answers only the campaign that
is named so, its ledger says so in every line, and it says so itself.

`Deaf` also ignores its rows: the real release runs, for everything it may do beside releasing (log,
warn, fail, be slow), its report is thrown away, and what leaves is released from an owner without
rows with the same coins. Whatever still depends on rows then is a leak, since only the mechanism's
noise may carry them out: see non_interference.py.
"""

import types
from collections.abc import Sequence
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tacit._util.checks import bad
from tacit._util.types import FloatArray
from tacit.data.cohort import Cohort
from tacit.data.schema import Schema
from tacit.learners.invitation import Invitation
from tacit.learners.query import Query
from tacit.mechanisms.reports import Reports
from tacit.mechanisms.streams import SeededStream, Stream
from tacit.owner.gate import Gate
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy

REHEARSAL = (
    "rehearsal: reproducible, not private"  # the only campaign that a rehearsal takes part in
)


class Rehearsal(Gate):
    """A gate whose coins are those of a seeded stream; each question it is asked reads other
    ones.
    """

    def __init__(
        self,
        cohort: Cohort,
        owners: Sequence[str],
        schema: Schema,
        policy: Policy,
        ledger: Ledger,
        key: Ed25519PublicKey,
        stream: SeededStream,
    ) -> None:
        if not policy.campaign == REHEARSAL:
            raise bad("campaign of the policy", repr(REHEARSAL), policy.campaign)
        super().__init__(cohort, owners, schema, policy, ledger, key)
        self._stream = stream
        self._asked = 0

    def _admitted(self, question: bytes) -> Invitation:
        self._asked += 1
        return super()._admitted(question)

    def _coins(self, query: Query) -> Stream:
        return self._stream.child("question", self._asked)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._place)} owners; {self._stream.label})"


class Deaf(Rehearsal):
    """A rehearsal whose reports do not depend on rows."""

    def _release(
        self, query: Query, cohort: Cohort, epsilons: FloatArray, coins: Stream
    ) -> Reports:
        super()._release(query, cohort, epsilons, coins)
        nobody = Cohort(cohort.X[:0], cohort.y[:0], np.zeros(len(cohort) + 1, dtype=np.int64))
        return super()._release(query, nobody, epsilons, coins)


def rehearsed(kind: type[Gate], manner: type[Rehearsal] = Rehearsal) -> Any:
    """A kind of gate, rehearsed in a manner: what the audit runs in place of `kind`."""
    return (
        manner
        if kind is Gate
        else types.new_class(f"{manner.__name__}{kind.__name__}", (manner, kind))
    )
