"""The stage of audits: a made-up campaign, owners whose rows are as far apart as rows can be, and
gates whose coins can be repeated.

A `SeededGate` is the real gate, signature, policy, ledger and packing included. Reproducible, not
private; and it cannot be taken for an owner's gate: it answers only the campaign that is named so,
its ledger says so in every line, and it says so itself. A `DeafGate` also ignores its rows: the
real release runs, for everything it may do beside releasing (log, warn, fail, be slow), its report
is thrown away, and what leaves is released from an owner without rows with the same coins.
Whatever still depends on rows then is a leak, since only the mechanism's noise may carry them out:
see non_interference.py.
"""

import types
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit._util.checks import bad
from tacit._util.types import FloatArray
from tacit.data.cohort import Cohort, Public
from tacit.data.schema import Number, Schema
from tacit.learners.learner import Learner, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.centroid import CentroidModel
from tacit.learners.owners.logistic import LogisticModel
from tacit.learners.owners.stump import StumpModel
from tacit.learners.peers.alike import CountClasses
from tacit.learners.peers.cells import Cells, Cut
from tacit.learners.peers.leaf_counts import CountLeaves
from tacit.learners.peers.noisy_tree import GrowTree
from tacit.learners.peers.peer_model import Additive, NoisyTrees
from tacit.learners.query import PURPOSE, Invitation, Query, digest_of
from tacit.learners.sites.losses import HuberHinge
from tacit.learners.sites.projection import Projection
from tacit.learners.sites.train import TrainSite
from tacit.mechanisms.base import Reports
from tacit.mechanisms.streams import SeededStream, Stream
from tacit.owner.gate import Gate
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.wire.envelopes import sign

REHEARSAL = "rehearsal: reproducible, not private"  # the only campaign that these gates answer
DIM = 3  # columns: enough for every mechanism and learner to have something to choose
SCHEMA = Schema(tuple(Number(f"x{i}", -1, 1) for i in range(DIM)), (0, 1))
FIRST_ROUND = Ensemble(2)
LATER_ROUND = Ensemble(
    2,
    (
        (0.5, StumpModel(1, 0.25, 0, 1)),
        (0.25, CentroidModel(np.array([[-0.5, 0.25, 0.0], [0.5, 0.0, 0.125]]))),
        (0.125, LogisticModel(np.array([[0.5, -1.0, 0.25, 0.125]]))),
    ),
)
NEVER = 1 << 40  # expires: in 35,000 years
MANY = 20  # rows of an owner that has many
HELPER = bytes(range(1, 33))  # of sums; whoever holds its key, nothing is sent there
COORDINATOR = bytes(31) + b"\x09"


@dataclass(frozen=True)
class Check:
    """Something that a part of the audit looked at: whether it holds, and what was seen."""

    name: str
    sound: bool
    seen: str


@cache
def key() -> Ed25519PrivateKey:
    """The auditor's key; it protects nothing."""
    return Ed25519PrivateKey.from_private_bytes(
        blake2b(REHEARSAL.encode(), digest_size=32).digest()
    )


def share_query(
    learner: Learner, mechanism: str, epsilons: Sequence[float], ensemble: Ensemble
) -> ShareQuery:
    """What boosting would ask; thresholds and the like come from a made-up public sample."""
    rng = np.random.default_rng(9)
    X = rng.uniform(-0.9, 0.9, (100, DIM))
    facts = learner.facts(Public(X, (X[:, 0] > 0).astype(np.int64), 2))
    return ShareQuery(
        round=1,
        attempt=1,
        owners=None,
        learner=learner,
        facts=facts,
        ensemble=ensemble,
        terms=ReportTerms(mechanism, tuple(epsilons)),
    )


def record_queries(epsilons: tuple[float, ...]) -> list[Query]:
    """What sites and peers are asked, where the unit is a record: trainings, counts in leaves of
    one attribute and of several, a tree.
    """
    everybody: dict[str, Any] = {"round": 1, "attempt": 1, "owners": None}
    projection = Projection(np.zeros(DIM), np.eye(DIM), float(np.sqrt(DIM)))
    site: dict[str, Any] = {
        "projection": projection,
        "loss": HuberHinge(),
        "labels": 2,
        "menu": epsilons,
    }
    cuts = tuple(Cut(column, (0, 0, 1, 1)) for column in range(DIM))
    peer: dict[str, Any] = {"cells": Cells(SCHEMA, bins=4), "menu": epsilons}
    return [
        TrainSite(**everybody, **site, privacy="objective"),
        TrainSite(**everybody, **site, privacy="output"),
        CountLeaves(**everybody, **peer, cuts=cuts, model=Additive()),
        CountClasses(**everybody, **peer, cuts=cuts, model=Additive()),
        GrowTree(**everybody, **peer, depth=2, candidates=cuts, model=NoisyTrees()),
    ]


def invite(
    query: Query, number: int = 1, expires: int = NEVER, campaign: str = REHEARSAL
) -> Invitation:
    return Invitation(campaign, number, expires, digest_of(SCHEMA), query)


def sign_invitation(invitation: Invitation) -> bytes:
    """A question, ready to be sent."""
    return sign(invitation, PURPOSE, key())


def same_rows(value: float, label: int, rows: int) -> Cohort:
    """One owner with `rows` equal rows."""
    return Cohort(
        np.full((rows, DIM), value), np.full(rows, label, dtype=np.int64), np.array([0, rows])
    )


def extremes() -> list[Cohort]:
    """Owners in the corners and in the middle: every label, opposite rows, one row and many;
    none at all.
    """
    corners = [(value, label) for value in (-1.0, 0.0, 1.0) for label in (0, 1)]
    return [same_rows(value, label, MANY if label else 1) for value, label in corners] + [
        same_rows(0.0, 0, 0)
    ]


def farthest(query: ShareQuery) -> tuple[Cohort, Cohort]:
    """The two extreme owners whose shares are farthest apart; of equally far ones those on the
    fewest axes.
    """
    owners = extremes()
    shares = [share_of(query, owner) for owner in owners]

    def distance(pair: tuple[int, int]) -> tuple[float, float]:
        apart = shares[pair[0]] - shares[pair[1]]
        return round(float(np.sum(apart**2)), 9), float(np.max(np.abs(apart)))

    i, j = max(((i, j) for i in range(len(owners)) for j in range(i)), key=distance)
    return owners[i], owners[j]


def share_of(query: ShareQuery, owner: Cohort) -> FloatArray:
    """The exact share of one owner, inside its space."""
    return np.ravel(query.learner.space(query.facts).clip(query.learner.share(query, owner)))


def gather(owners: Sequence[Cohort]) -> Cohort:
    """Owners of one each, side by side."""
    sizes = [len(owner.y) for owner in owners]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Cohort(
        np.concatenate([o.X for o in owners]), np.concatenate([o.y for o in owners]), offsets
    )


def names(n: int) -> list[str]:
    return [f"owner {i}" for i in range(n)]


def ledger_in(folder: Path) -> Ledger:
    return Ledger(folder / "ledger.db", folder / "ledger.mark")


def gateway(
    kind: type[Gate], cohort: Cohort, policy: Policy, ledger: Ledger, **coins: SeededStream
) -> Gate:
    """A gate of some kind as owners run it, with its own coins; a seeded one is given its
    `stream`.
    """
    made: Any = kind
    gate: Gate = made(
        cohort, names(len(cohort)), SCHEMA, policy, ledger, key=key().public_key(), **coins
    )
    return gate


class SeededGate(Gate):
    """A gate whose coins are those of a seeded stream; each question it is asked reads other
    ones.
    """

    def __init__(self, *given: Any, stream: SeededStream, **more: Any) -> None:
        super().__init__(*given, **more)
        if not self._policy.campaign == REHEARSAL:
            raise bad("campaign of the policy", repr(REHEARSAL), self._policy.campaign)
        self._stream = stream
        self._asked = 0

    def _admit(self, question: bytes) -> Invitation:
        self._asked += 1
        return super()._admit(question)

    @property
    def _computes_apart(self) -> bool:
        return False  # where everything it does can be watched, and coins repeated

    def _coins(self, query: Query) -> Stream:
        return self._stream.child("question", self._asked)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._place)} owners; {self._stream.label})"


class DeafGate(SeededGate):
    """A seeded gate whose reports do not depend on rows."""

    def _release(
        self, query: Query, cohort: Cohort, epsilons: FloatArray, coins: Stream
    ) -> Reports:
        super()._release(query, cohort, epsilons, coins)
        nobody = Cohort(cohort.X[:0], cohort.y[:0], np.zeros(len(cohort) + 1, dtype=np.int64))
        return super()._release(query, nobody, epsilons, coins)


def seeded_kind(kind: type[Gate], manner: type[SeededGate] = SeededGate) -> type[SeededGate]:
    """A kind of gate in this manner: what an audit runs in place of `kind`."""
    if kind is Gate:
        return manner
    mixed: type[SeededGate] = types.new_class(f"{manner.__name__}{kind.__name__}", (manner, kind))
    return mixed
