"""Questions outside a campaign's template, random and directed: how many does a gate admit?

    python -m benchmarks.templates --questions 100000

Questions are made from those that campaigns of every kind really ask: fields are exchanged with
those of other questions, numbers are moved, epsilons raised, mechanisms and learners swapped, the
schema, the name or the number of rounds changed. Each is signed with the campaign's own key. What
is put to the gate is a question that differs from every admissible one; what counts is whether it
is refused as forbidden, with nothing in the ledger.
"""

import argparse
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import Category, Number, Schema
from tacit.data.cohort import Cohort
from tacit.learners.invitation import PURPOSE, Invitation, digest_of
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.stump import Stump
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.leaf_counts import CountLeaves
from tacit.learners.query import Query
from tacit.owner.gate import Gate, RefusedError
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.service.kinds.boosting import BoostingTerms
from tacit.service.kinds.kind import CampaignTerms
from tacit.service.kinds.peers import PeerTerms
from tacit.wire.envelopes import sign

_FOREVER = 1 << 40
_SCHEMA = Schema((Number("age", 0, 100), Category("town", ("n", "s"))), ("no", "yes"))


def campaigns() -> list[CampaignTerms]:
    """Small campaigns whose questions differ in kind, learner and mechanism."""
    common: dict[str, Any] = {
        "name": "trial",
        "schema": _SCHEMA,
        "label": "ill",
        "start": 2,
        "minimum": 1,
        "deadline": 60.0,
        "sample": bytes(32),
    }
    dim = _SCHEMA.dim
    many: dict[str, Any] = {"owners": 2, "attempts": 2, "rounds": 3}
    cuts = Facts(dim, 2, np.array([0.0, 0.5]), np.array([0, 1]))
    offer = ReportTerms("privunit", (0.5, 1.0))
    other: dict[str, Any] = {
        "learner": Centroid(),
        "facts": Facts(dim, 2),
        "terms": ReportTerms("duchi", (1.0,)),
    }
    return [
        BoostingTerms(**common, **many, learner=Stump(), facts=cuts, terms=offer),
        BoostingTerms(**common, **many, **other),
        PeerTerms(**common, cells=Cells(_SCHEMA, 8), rounds=6, epsilon=2.0, newcomers=0.0, coins=1),
    ]


class Search:
    """Makes questions outside a template and puts them to a gate."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._terms = campaigns()
        self._pool = [each.example() for each in self._terms]
        self._key = Ed25519PrivateKey.generate()
        self.ledgers: list[Ledger] = []
        self._gates: list[Gate] = []
        policy = Policy(
            epsilon_per_release=Fraction(100),
            epsilon_total=Fraction(10**6),
            releases=1 << 30,
            units=("owner", "record"),
            time_step=Fraction(0),
        )
        for number, terms in enumerate(self._terms):
            ledger = Ledger(folder / f"{number}.db", folder / f"{number}.mark")
            self.ledgers.append(ledger)
            rows = Cohort(np.zeros((2, _SCHEMA.dim)), np.array([0, 1]), np.array([0, 2]))
            self._gates.append(
                Gate(
                    rows,
                    ["me"],
                    _SCHEMA,
                    policy,
                    ledger,
                    self._key.public_key(),
                    template=terms.template(),
                )
            )

    def refuses(self) -> bool:
        """Whether one more question outside the template is refused."""
        place = int(self._rng.integers(len(self._terms)))
        while True:
            invitation = self._outside(place)
            if invitation is not None:
                break
        try:
            self._gates[place].answer(sign(invitation, PURPOSE, self._key))
        except RefusedError:
            return True
        return False

    def _outside(self, place: int) -> Invitation | None:
        """A question that no template of this campaign holds; None: the draw made no question."""
        name, schema, query = "trial", digest_of(_SCHEMA), self._pool[place]
        move = int(self._rng.integers(6))
        try:
            if move == 0:
                name = f"trial{self._rng.integers(1 << 30)}"
            elif move == 1:
                schema = self._rng.bytes(32)
            elif move == 2:
                query = self._pool[(place + 1 + self._rng.integers(2)) % 3]
            elif move == 3:
                query = replace(query, round=1000 + int(self._rng.integers(1 << 40)))
            elif move == 4:
                query = self._louder(query)
            else:
                query = self._changed(query)
        except (ValueError, TypeError):
            return None
        number = int(self._rng.integers(1, 1 << 40))
        return Invitation(name, number, _FOREVER, schema, query)

    def _louder(self, query: Query) -> Query:
        factor = 1 + float(self._rng.exponential(1.0)) + 1e-6
        if isinstance(query, ShareQuery):
            louder = tuple(epsilon * factor for epsilon in query.epsilons)
            return replace(query, terms=ReportTerms(query.how, louder))
        if not isinstance(query, CountLeaves):
            raise TypeError("a question of another kind")
        return replace(query, menu=(2.0 * factor,))

    def _changed(self, query: Query) -> Query:
        """One fixed field of a share: facts, learner, mechanism; of peers: cells."""
        if isinstance(query, CountLeaves):
            bins = int(self._rng.integers(2, 64))
            if bins == 8:
                raise ValueError("the same")
            return replace(query, cells=Cells(_SCHEMA, bins))
        if not isinstance(query, ShareQuery):
            raise TypeError("a question of another kind")
        facts = query.facts
        if query.what == "stump":
            values = self._rng.uniform(-1, 1, 2 + int(self._rng.integers(3)))
            columns = self._rng.integers(0, facts.dim, len(values))
            return replace(query, facts=Facts(facts.dim, 2, values, columns))
        how = str(self._rng.choice(["privunit", "piecewise", "hybrid", "laplace"]))
        return replace(query, terms=ReportTerms(how, query.epsilons))


def search(questions: int, seed: int) -> int:
    """How many of so many questions outside the templates were accepted."""
    with tempfile.TemporaryDirectory() as folder:
        made = Search(Path(folder), seed)
        accepted = sum(not made.refuses() for _ in range(questions))
        charged = sum(len(ledger.entries()) for ledger in made.ledgers)
        return accepted + charged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = search(given.questions, given.seed)
    print(f"{given.questions:,} questions outside the template: {found} accepted or charged")


if __name__ == "__main__":
    main()
