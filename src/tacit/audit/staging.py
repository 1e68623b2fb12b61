"""A campaign made up for audits: who asks, what is public, and owners whose rows are as far apart
as rows can be.

Its name is the rehearsal's, so no gate of a real campaign answers these questions.
"""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit._util.types import FloatArray
from tacit.audit.seeded_gate import REHEARSAL
from tacit.data.cohort import Cohort
from tacit.data.sample import Public
from tacit.data.schema import Number, Schema
from tacit.learners.invitation import PURPOSE, Invitation, digest_of
from tacit.learners.learner import Learner, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.centroid import CentroidModel
from tacit.learners.owners.logistic import LogisticModel
from tacit.learners.owners.stump import StumpModel
from tacit.learners.peers.additive import Additive
from tacit.learners.peers.cells import Cells, Cut
from tacit.learners.peers.leaf_counts import CountLeaves
from tacit.learners.peers.noisy_tree import GrowTree, Trees
from tacit.learners.query import Query
from tacit.learners.sites.losses import HuberHinge
from tacit.learners.sites.projection import Projection
from tacit.learners.sites.train import TrainSite
from tacit.owner.gate import Gate
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.wire.signing import sign

DIM = 3
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
NEVER = 1 << 40  # expires
MANY = 20  # rows of an owner that has many


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
    return ShareQuery(1, 1, None, learner, facts, ensemble, ReportTerms(mechanism, tuple(epsilons)))


def record_queries(epsilons: tuple[float, ...]) -> list[Query]:
    """What sites and peers are asked, where the unit is a record: trainings, counts in leaves, a
    tree.
    """
    projection, cells = (
        Projection(np.zeros(DIM), np.eye(DIM), float(np.sqrt(DIM))),
        Cells(SCHEMA, bins=4),
    )
    cuts = tuple(Cut(column, (0, 0, 1, 1)) for column in range(DIM))
    return [
        *(
            TrainSite(1, 1, None, projection, HuberHinge(), 2, privacy, epsilons)
            for privacy in ("objective", "output")
        ),
        CountLeaves(1, 1, None, cells, cuts, Additive(), epsilons),
        GrowTree(1, 1, None, cells, 2, cuts, Trees(), epsilons),
    ]


def invite(
    query: Query, number: int = 1, expires: int = NEVER, campaign: str = REHEARSAL
) -> Invitation:
    return Invitation(campaign, number, expires, digest_of(SCHEMA), query)


def signed(invitation: Invitation) -> bytes:
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


def gathered(owners: Sequence[Cohort]) -> Cohort:
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


def gateway(kind: type[Gate], cohort: Cohort, policy: Policy, ledger: Ledger) -> Gate:
    """A gate with its own coins, as owners run it."""
    return kind(cohort, names(len(cohort)), SCHEMA, policy, ledger, key().public_key())
