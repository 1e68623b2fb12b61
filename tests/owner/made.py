"""A small campaign: schema, owners, signed questions."""

import time

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import Cohort, Number, Schema
from tacit.data.cohort import Public
from tacit.learners.learner import ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.stump import Stump, StumpModel
from tacit.learners.query import PURPOSE, Invitation, digest_of
from tacit.owner.gate import Gate
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.wire.envelopes import sign

KEY = Ed25519PrivateKey.generate()
SCHEMA = Schema(tuple(Number(f"x{i}", -1, 1) for i in range(3)), (0, 1))
MEMBERS = ((0.5, StumpModel(1, 0.25, 0, 1)), (0.25, StumpModel(0, -0.25, 1, 0)))
FREE = {"time_step": 0}


def rows(owners=1, each=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (owners * each, 3))
    return Cohort(X, (X[:, 0] > 0).astype(np.int64), np.arange(owners + 1) * each)


def query(mechanism="privunit", epsilons=(0.5, 1.0), learner=None, members=MEMBERS):
    learner = learner or Stump()
    sample = rows(100, 1, seed=9)
    facts = learner.facts(Public(sample.X, sample.y, 2))
    return ShareQuery(
        1,
        1,
        10,
        learner,
        facts,
        Ensemble(2, tuple(members)),
        ReportTerms(mechanism, tuple(epsilons)),
    )


def invitation(number=1, expires=None, campaign="trial", schema=SCHEMA, asked=None):
    ends = int(time.time()) + 3600 if expires is None else expires
    return Invitation(campaign, number, ends, digest_of(schema), asked or query())


def question(number=1, key=KEY, **kwargs):
    return sign(invitation(number, **kwargs), PURPOSE, key)


def policy(**kwargs):
    return Policy(**{"epsilon_per_release": 1, "epsilon_total": 1, **FREE, **kwargs})


def gate(folder, cohort=None, owners=None, **limits):
    cohort = cohort or rows()
    owners = owners or [f"owner {i}" for i in range(len(cohort))]
    folder.mkdir(exist_ok=True)
    ledger = Ledger(folder / "ledger.db", folder / "ledger.mark")
    return Gate(cohort, owners, SCHEMA, policy(**limits), ledger, KEY.public_key())
