"""A gate for rehearsals: the real one, but with coins that can be repeated. Reproducible, not
private.

It answers only campaigns that are named as rehearsals, and refuses a ledger that knows of any
other: a real owner's budget and a rehearsal never meet. In sums it trusts the helper of rehearsals,
whatever its policy says, and no other. See protocol/handshake.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tacit._util.checks import whole
from tacit.data.cohort import Cohort
from tacit.data.schema import Schema
from tacit.learners.invitation import Invitation
from tacit.learners.query import Query
from tacit.mechanisms.streams import Stream, seeded
from tacit.owner.gate import Gate, Reason, RefusedError
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.owner.template import Template
from tacit.service.protocol.handshake import REHEARSAL, is_rehearsal
from tacit.sums.halves import REHEARSAL_HELPER


@dataclass(frozen=True)
class RehearsalPart:
    """An owner's part in a rehearsal: the seed of all, and the number of its first owner among
    all owners.
    """

    seed: int
    first: int = 0

    def __post_init__(self) -> None:
        whole("seed", self.seed, 0)
        whole("first", self.first, 0)


class RehearsalGate(Gate):
    """A gate that draws the coins that the engine in one process draws for the same owners."""

    def __init__(
        self,
        cohort: Cohort,
        owners: list[str],
        schema: Schema,
        policy: Policy,
        ledger: Ledger,
        *,
        key: Ed25519PublicKey,
        part: RehearsalPart,
        clock: Callable[[], float] = time.time,
        template: Template | None = None,
    ) -> None:
        if not all(is_rehearsal(entry.campaign) for entry in ledger.entries()):
            raise ValueError(
                f"{ledger.path} is the ledger of a real owner: rehearse with another --home"
            )
        super().__init__(
            cohort, owners, schema, policy, ledger, key=key, clock=clock, template=template
        )
        self._policy = replace(policy, helper=REHEARSAL_HELPER.hex())
        tapes = max(len(owners), 2)  # a question is first tried on two owners without rows
        self._stream = seeded(part.seed).of(np.arange(part.first, part.first + tapes))

    def _admitted(self, question: bytes) -> Invitation:
        invitation = super()._admitted(question)
        if not is_rehearsal(invitation.campaign):
            raise RefusedError(Reason.FORBIDDEN, f"the campaign is no {REHEARSAL}")
        return invitation

    @property
    def _computes_apart(self) -> bool:
        return False  # rehearsals protect nobody

    def _coins(self, query: Query) -> Stream:
        return self._stream.child("round", query.round, query.attempt)
