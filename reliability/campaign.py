"""A campaign to try things on: schema, owners with rows, questions of every learner through
every mechanism.
"""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import Category, Cohort, Number, Schema
from tacit.data.cohort import Public
from tacit.learners.learner import Learner, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble, Model
from tacit.learners.owners.centroid import Centroid, CentroidModel
from tacit.learners.owners.logistic import Logistic, LogisticModel
from tacit.learners.owners.stump import Stump, StumpModel
from tacit.learners.query import PURPOSE, Invitation, Query, digest_of
from tacit.owner.gate import Gate
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.wire.envelopes import sign

NAME = "trial"
PRIVATE = ("privunit", "piecewise", "hybrid", "duchi", "laplace", "randomized_response")
LEARNERS: tuple[Learner, ...] = (Stump(), Stump(cuts=3), Centroid(), Logistic())
_HOUR = 3600


@dataclass(frozen=True)
class Campaign:
    """One schema of `classes` classes, and a key that signs."""

    classes: int = 2
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate, repr=False)

    @property
    def schema(self) -> Schema:
        features = (Number("a", -1, 1), Number("b", 0, 10), Category("c", ("x", "y", "z")))
        return Schema(features, tuple(range(self.classes)))

    def cohort(self, owners: int, rows: int = 4, seed: int = 0) -> Cohort:
        """Owners with encoded rows."""
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (owners * rows, self.schema.dim))
        X[:, 2:] = np.sign(X[:, 2:])
        return Cohort(X, rng.integers(0, self.classes, len(X)), np.arange(owners + 1) * rows)

    def members(self) -> tuple[tuple[float, Model], ...]:
        """A published ensemble of every kind of base model."""
        rng = np.random.default_rng(self.classes)
        dim, targets = self.schema.dim, 1 if self.classes == 2 else self.classes
        return (
            (0.5, StumpModel(1, 0.25, 0, 1)),
            (0.75, CentroidModel(rng.uniform(-1, 1, (self.classes, dim)))),
            (0.25, LogisticModel(rng.normal(size=(targets, dim + 1)))),
        )

    def query(
        self,
        learner: Learner = LEARNERS[0],
        mechanism: str = "privunit",
        epsilons: tuple[float, ...] = (0.1, 0.3),
    ) -> ShareQuery:
        sample = self.cohort(100, 1, seed=9)
        facts = learner.facts(Public(sample.X, sample.y, self.classes))
        ensemble = Ensemble(self.classes, self.members())
        return ShareQuery(
            1,
            1,
            10,
            learner=learner,
            facts=facts,
            ensemble=ensemble,
            terms=ReportTerms(mechanism, epsilons),
        )

    def invitation(
        self, number: int, query: Query | None = None, ends: int | None = None
    ) -> Invitation:
        expires = int(time.time()) + 24 * _HOUR if ends is None else ends
        return Invitation(NAME, number, expires, digest_of(self.schema), query or self.query())

    def question(self, number: int, query: Query | None = None, ends: int | None = None) -> bytes:
        """A signed invitation."""
        return sign(self.invitation(number, query, ends), PURPOSE, self.key)

    def gate(
        self, owners: Sequence[str], policy: Policy, ledger: Any, made: type[Gate] = Gate
    ) -> Gate:
        """A gate for these owners, of this class."""
        return made(
            self.cohort(len(owners)), owners, self.schema, policy, ledger, self.key.public_key()
        )


def limits(**given: Any) -> Policy:
    """A policy whose answers leave at once."""
    return Policy(**{"time_step": 0, **given})


def ledger_in(folder: Path, kind: type[Ledger] = Ledger) -> Ledger:
    return kind(folder / "ledger.db", folder / "ledger.mark")


def in_memory() -> tempfile.TemporaryDirectory[str]:
    """A folder in memory where there is one: for experiments in which nothing is killed, so that
    the disk rests.
    """
    memory = Path("/dev") / "shm"
    return tempfile.TemporaryDirectory(prefix="tacit", dir=memory if memory.is_dir() else None)
