"""Questions outside a campaign's template, random and directed: how many does a gate admit?

    python -m benchmarks.templates --questions 100000

Questions are made from those that campaigns of every kind ask: boosting with two learners and
mechanisms, sums of shares and of errors, the classifier, sites, peers. In turn the campaign's name,
the schema or the whole question is another; a part that was fixed is changed, wherever it lies; a
part that is free is taken beyond its bound, given more numbers than it may have or an object of
another class; the epsilons are raised. Each is signed with the campaign's own key. What counts is
whether it is refused with nothing in the ledger.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import Category, Number, Schema
from tacit.algorithms.gradient_trees import Growth, grow
from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import Facts, ReportTerms
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump, StumpModel
from tacit.learners.peers.cells import Cells, Cut
from tacit.learners.peers.leaf_counts import PeerQuery
from tacit.learners.peers.peer_model import Additive, NoisyTrees, ScorePart, Tree
from tacit.learners.query import PURPOSE, Invitation, Query, digest_of
from tacit.learners.sites.losses import HuberHinge
from tacit.learners.sites.projection import fit_projection
from tacit.learners.sites.train import TrainSite
from tacit.mechanisms.registry import MECHANISMS
from tacit.owner.gate import Gate, Reason, RefusedError
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.owner.template import FreePart, QuestionForm
from tacit.service.kinds.boosting import BoostingTerms
from tacit.service.kinds.classifier import ClassifierTerms, GradientTreesTerms, PublicMaps
from tacit.service.kinds.kind import CampaignTerms
from tacit.service.kinds.peer_methods import (
    AlikePeerTerms,
    AlikeStumpTerms,
    AlikeTreeTerms,
    StumpTerms,
    TreeTerms,
)
from tacit.service.kinds.peers import PeerTerms
from tacit.service.kinds.sites import SiteTerms
from tacit.sums.halves import SumTerms, TallyLaw
from tacit.sums.vector_terms import VectorTerms
from tacit.wire.codec import fields_of
from tacit.wire.envelopes import sign

_FOREVER = 1 << 40
_SCHEMA = Schema((Number("age", 0, 100), Category("town", ("n", "s"))), ("no", "yes"))
_HELPER = bytes(range(32))


def public_rows() -> Public:
    """A data user's sample: the label follows the first column."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, _SCHEMA.dim))
    return Public(X, (X[:, 0] + 0.5 * rng.normal(size=200) > 0).astype(np.int64), 2)


@lru_cache(maxsize=1)
def campaigns() -> tuple[CampaignTerms, ...]:
    """Small campaigns of every kind, whose questions differ in learner and mechanism."""
    common: dict[str, Any] = {
        "name": "trial",
        "schema": _SCHEMA,
        "label": "ill",
        "start": 2,
        "minimum": 1,
        "deadline": 60.0,
        "sample": bytes(32),
    }
    dim, public = _SCHEMA.dim, public_rows()
    many: dict[str, Any] = {"owners": 2, "attempts": 2, "rounds": 3}
    cuts = Facts(dim, 2, np.array([0.0, 0.5]), np.array([0, 1]))
    sizes, duchi = Facts(dim, 2), ReportTerms("duchi", (1.0,))
    sums = SumTerms(TallyLaw(0.5, 2), bytes(32), _HELPER)
    peers: dict[str, Any] = {"rounds": 6, "epsilon": 2.0, "newcomers": 0.0, "coins": 1}
    site = TrainSite(
        1,
        1,
        None,
        projection=fit_projection(public.X),
        loss=HuberHinge(),
        labels=2,
        privacy="objective",
        menu=(0.5, 1.0),
    )
    return (
        BoostingTerms(
            **common, **many, learner=Stump(), facts=cuts, terms=ReportTerms("privunit", (0.5, 1.0))
        ),
        BoostingTerms(**common, **many, learner=Centroid(), facts=sizes, terms=duchi),
        PeerTerms(**common, **peers, cells=Cells(_SCHEMA, 8)),
        BoostingTerms(**common, **many, learner=Logistic(), facts=sizes, terms=duchi, sums=sums),
        SiteTerms(**common, query=site, combine="guarded"),
        _classifier(common, public),
        BoostingTerms(
            **common,
            **many,
            learner=Centroid(),
            facts=sizes,
            terms=VectorTerms.of(Centroid().space(sizes), 1.0, 1e-6, minimum=2),
            keys=(bytes(32), _HELPER),
        ),
        StumpTerms(**common, **peers, cells=Cells(_SCHEMA, 8)),
        TreeTerms(**common, **peers, cells=Cells(_SCHEMA, 8)),
        *(
            terms(**common, **peers, cells=Cells(_SCHEMA, 8), columns=(1, 0))
            for terms in (AlikePeerTerms, AlikeStumpTerms, AlikeTreeTerms)
        ),
        _gradient_trees(common, public),
    )


def _classifier(common: dict[str, Any], public: Public) -> ClassifierTerms:
    owners, maps, rounds = 100_000, ("linear", "products"), 4
    look = look_ahead(public, fit_public(public), Population(owners, 4.0), maps)
    crowd, epsilon = Population(owners, 4.0), np.array([4.0])
    asking = refine(public, crowd, "auto", epsilon, rounds=rounds, outlook=look)
    return ClassifierTerms(
        **common | {"start": owners},
        query=next(asking),
        owners=owners,
        rows=1,
        rounds=rounds,
        features=maps,
        maps=PublicMaps.of(look, public),
    )


def _gradient_trees(common: dict[str, Any], public: Public) -> GradientTreesTerms:
    owners, growth = 1_200, Growth(trees=2, depth=3)
    asking = grow(public, Population(owners, 4.0), "auto", np.array([4.0]), growth)
    return GradientTreesTerms(
        **common | {"start": owners}, query=next(asking), owners=owners, rows=1, trees=2, depth=3
    )


class Search:
    """Makes questions outside templates and puts them to gates."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._terms = campaigns()
        self._forms = [each.template().forms for each in self._terms]
        self._key = Ed25519PrivateKey.generate()
        self.ledgers: list[Ledger] = []
        self._gates: list[Gate] = []
        self.tried: Counter[str] = Counter()
        policy = Policy(
            epsilon_per_release=Fraction(100),
            epsilon_total=Fraction(10**6),
            releases=1 << 30,
            units=("owner", "record"),
            time_step=Fraction(0),
            helper=_HELPER.hex(),
            delta_total=Fraction(1, 1000),
        )
        for number, terms in enumerate(self._terms):
            ledger = Ledger(folder / f"{number}.db", folder / f"{number}.mark")
            self.ledgers.append(ledger)
            rows = Cohort(np.zeros((2, _SCHEMA.dim)), np.array([0, 1]), np.array([0, 2]))
            key, template = self._key.public_key(), terms.template()
            self._gates.append(
                Gate(
                    rows, ["me"], _SCHEMA, policy=policy, ledger=ledger, key=key, template=template
                )
            )

    def refuses(self) -> bool:
        """Whether one more question outside the template is refused, and for that."""
        place = int(self._rng.integers(len(self._terms)))
        while True:
            invitation = self._outside(place)
            if invitation is not None:
                break
        try:
            self._gates[place].answer(sign(invitation, PURPOSE, self._key))
        except RefusedError as refused:
            return refused.reason is Reason.FORBIDDEN
        return False

    def _outside(self, place: int) -> Invitation | None:
        """A question that no template of this campaign holds; None: the draw made no question."""
        name, schema = "trial", digest_of(_SCHEMA)
        forms = self._forms[place]
        form = forms[int(self._rng.integers(len(forms)))]
        query = form.example
        move = ("name", "schema", "other", "fixed", "free", "louder")[int(self._rng.integers(6))]
        try:
            if move == "name":
                name = f"trial{self._rng.integers(1 << 30)}"
            elif move == "schema":
                schema = self._rng.bytes(32)
            elif move == "other":
                others = [
                    each
                    for at, each in enumerate(self._forms)
                    if at != place
                    and not any(_both_count(each[0].example, own.example) for own in forms)
                ]
                query = others[int(self._rng.integers(len(others)))][0].example
            elif move == "fixed":
                query = self._changed(form)
            elif move == "free":
                query = self._beyond(form)
            else:
                query = self._louder(query)
            number = int(self._rng.integers(1, 1 << 40))
            same = (name, schema) == ("trial", digest_of(_SCHEMA))
            if same and digest_of(query) == digest_of(form.example):
                return None  # nothing was changed
            made = Invitation(name, number, _FOREVER, schema, query)
        except (ValueError, TypeError, IndexError):
            return None  # it contradicts itself: nobody can ask it
        self.tried[f"{self._terms[place].kind}, {query.what}: {move}"] += 1
        return made

    def _changed(self, form: QuestionForm) -> Any:
        """One part that was fixed, somewhere in the question, is another."""
        free = {part.path for part in form.free}
        leaves = [path for path, _ in _leaves(form.example, "") if not _within(path, free)]
        path = leaves[int(self._rng.integers(len(leaves)))]
        before = _at(form.example, path)
        return _put(form.example, path, self._moved(before))

    def _moved(self, value: Any) -> Any:
        match value:
            case bool():
                return not value
            case int():
                return value + int(self._rng.integers(1, 5))
            case float():
                return value + float(self._rng.choice([1e-12, 1e-3, 0.5, 3.0]))
            case str() if value in MECHANISMS:
                return str(self._rng.choice(sorted({*MECHANISMS} - {value, "none"})))
            case str():
                return value + "x"
            case bytes():
                return bytes([value[0] ^ 1]) + value[1:] if value else b"x"
            case np.ndarray():
                other = value.copy()
                at = int(self._rng.integers(max(1, value.size)))
                other.ravel()[at] = self._moved(value.ravel()[at].item())
                return other
            case tuple():
                return (*value, value[-1]) if self._rng.random() < 0.5 else value[:-1]
        raise TypeError("nothing to move")

    def _beyond(self, form: QuestionForm) -> Any:
        """One part that is free, beyond what it may be."""
        part = form.free[int(self._rng.integers(len(form.free)))]
        before = _at(form.example, part.path)
        return _put(form.example, part.path, self._too_much(part, before))

    def _too_much(self, part: FreePart, value: Any) -> Any:
        larger = part.largest * (1 + float(self._rng.exponential())) + 1e-6
        match value:
            case int():
                return int(larger) + 1
            case float():
                return larger
            case np.ndarray():
                other = value.copy()
                at = int(self._rng.integers(other.size))
                other.ravel()[at] = self._too_much(part, other.ravel()[at].item())
                return other
            case Ensemble():
                stump = StumpModel(0, larger, 0, 1)
                alpha = float(self._rng.uniform(-700, 700))
                often = part.numbers if self._rng.random() < 0.5 else 1
                return Ensemble(value.classes, ((alpha, stump),) * max(1, often))
            case tuple() if value and isinstance(value[0], float):
                return (larger,)
            case NoisyTrees():
                cut = Cut(0, tuple(range(8)))
                often = part.numbers if self._rng.random() < 0.1 else 1
                return NoisyTrees((Tree(1, (cut,), (larger, 0.0), 0),) * often)
            case Additive():
                often = part.numbers if self._rng.random() < 0.1 else 1
                return Additive((ScorePart(1, 0, (larger,), 0),) * often)
            case None:
                return (1, 2)
            case tuple() if value and isinstance(value[0], int):
                return (*value, 7)
            case tuple():
                at = int(self._rng.integers(len(value)))
                return (*value[:at], self._too_much(part, value[at]), *value[at + 1 :])
            case _ if is_dataclass(value):
                names = _names(value)
                name = names[int(self._rng.integers(len(names)))]
                return _put(value, name, self._too_much(part, getattr(value, name)))
        raise TypeError("nothing to enlarge")

    def _louder(self, query: Query) -> Any:
        factor = 1 + float(self._rng.exponential(1.0)) + 1e-6
        for path, value in _leaves(query, ""):
            if path.rsplit(".", 1)[-1] in ("epsilons", "menu", "epsilon"):
                many = isinstance(value, tuple)
                louder = tuple(4 * factor * each for each in value) if many else factor * value
                return _put(query, path, louder)
        raise TypeError("a question without epsilons")


def _both_count(one: Query, other: Query) -> bool:
    """Whether both ask peers for the same: a stump is a turn of somebody with one attribute, and so
    within the template of turns; and what peers are asked does not depend on whom they listen to.
    """
    return isinstance(one, PeerQuery) and type(one) is type(other)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Everything in a question that is no object itself, with the way to it."""
    for name in _names(value):
        below, part = f"{path}.{name}".lstrip("."), getattr(value, name)
        if is_dataclass(part):
            yield from _leaves(part, below)
        else:
            yield below, part


def _names(value: Any) -> list[str]:
    kind: Any = type(value)
    return [name for name, _ in fields_of(kind)]


def _within(path: str, free: set[str]) -> bool:
    return any(path == each or path.startswith(f"{each}.") for each in free)


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = getattr(value, name)
    return value


def _put(value: Any, path: str, part: Any) -> Any:
    name, _, rest = path.partition(".")
    return replace(value, **{name: _put(getattr(value, name), rest, part) if rest else part})


def search(questions: int, seed: int) -> tuple[int, Counter[str]]:
    """How many of so many questions outside the templates were accepted, and what was tried."""
    with tempfile.TemporaryDirectory() as folder:
        made = Search(Path(folder), seed)
        accepted = sum(not made.refuses() for _ in range(questions))
        charged = sum(len(ledger.entries()) for ledger in made.ledgers)
        return accepted + charged, made.tried


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found, tried = search(given.questions, given.seed)
    for name, times in sorted(tried.items()):
        print(f"{times:8,}  {name}")
    print(f"{given.questions:,} questions outside the template: {found} accepted or charged")


if __name__ == "__main__":
    main()
