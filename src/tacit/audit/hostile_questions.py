"""Questions that a hostile campaign may think of, within the language of templates: all that an
owner, a site or a peer can be asked.

A `Draft` is a question by its genes: which family, how large, with which odd numbers in it.
Families cover every learner, sums, trainings and countings. Sizes are drawn so that bounds of work
reach up to what a policy admits, and rows that make the work long (`slow`) or short (`quick`) exist
for each: long walks for one value, products that a zero skips, steps for every row. Odd numbers are
NaN and infinities, subnormal and huge ones, negative zeros, repeated columns, whole numbers at the
end of their range. A draft may be no question at all (`ValueError`): then no owner ever reads it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.random import Generator

from tacit._util.types import FloatArray
from tacit.audit.staging import COORDINATOR, DIM, HELPER, SCHEMA
from tacit.data.cohort import Cohort
from tacit.learners.learner import Facts, Learner, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble, Model
from tacit.learners.models.features import Expansion, FeatureMap, Products, Rows, Waves
from tacit.learners.models.scores import Forest, Leaves, ScoreModel, Trees
from tacit.learners.owners.centroid import Centroid, CentroidModel
from tacit.learners.owners.gradient import Discriminant, Gradient, GradientHistogram
from tacit.learners.owners.logistic import Logistic, LogisticModel
from tacit.learners.owners.stump import Stump, StumpModel
from tacit.learners.owners.sum_query import SharesQuery, SumQuery
from tacit.learners.peers.alike import CountClasses
from tacit.learners.peers.cells import Cells, Cut
from tacit.learners.peers.leaf_counts import CountLeaves
from tacit.learners.peers.noisy_tree import GrowTree
from tacit.learners.peers.peer_model import Additive, NoisyTrees, ScorePart
from tacit.learners.query import Query
from tacit.learners.sites.losses import HuberHinge, LogisticLoss
from tacit.learners.sites.projection import Projection
from tacit.learners.sites.train import TrainSite
from tacit.mechanisms.registry import PRIVATE_NAMES
from tacit.sums.halves import SumTerms, TallyLaw
from tacit.sums.vector_terms import RecordTerms, VectorTerms

EPSILON = 0.01
DELTA = 1e-6  # of sums that have one
SEALING = 20_000_000  # steps: what a sum's proof and seals take beside the work on rows
_ODD = (np.nan, np.inf, -np.inf, 5e-324, 1e-310, 1e-160, 1e308, -1e308, -0.0, 2.0**63)


@dataclass(frozen=True)
class Draft:
    """A question by its genes; `size` is the part of `room` that its work may fill."""

    family: str
    seed: int
    size: float
    odd: float  # the part of its numbers that are odd
    late: float  # how many members the ensemble has, as a part of what fits

    def query(self, room: int, rows: int) -> Query:
        """The question, of about `size` times `room` steps for an owner with so many rows;
        `ValueError` where there is none.
        """
        rng = np.random.default_rng(self.seed)
        steps = max(100, int(self.size * room / max(rows, 1)))
        return FAMILIES[self.family](self, rng, steps)

    def mix(self, values: FloatArray, rng: Generator) -> FloatArray:
        """The numbers, some of them odd."""
        chosen = rng.random(values.shape) < self.odd
        return np.where(chosen, rng.choice(_ODD, values.shape), values)


def draw(rng: Generator, odd: bool = True) -> Draft:
    """Any draft; without odd numbers they are admissible more often."""
    return Draft(
        family=str(rng.choice(sorted(FAMILIES))),
        seed=int(rng.integers(1 << 40)),
        size=float(rng.choice([1.0, rng.random(), 10.0 ** rng.uniform(-4, 0)])),
        odd=float(rng.choice([0.0, 0.0, 0.05, 0.5])) if odd else 0.0,
        late=float(rng.choice([0.0, rng.random()])),
    )


def change(draft: Draft, rng: Generator) -> Draft:
    """The same with one or two genes of another."""
    other = draw(rng)
    names = rng.choice(["seed", "size", "odd", "late"], size=int(rng.integers(1, 3)))
    return replace(draft, **{name: getattr(other, name) for name in names})


def slow_owner(rows: int) -> Cohort:
    """An owner whose rows make work long: as many as count, beyond every cut, of both classes."""
    return Cohort(np.full((rows, DIM), 0.9), np.arange(rows) % 2, np.array([0, rows]))


def quick_owner() -> Cohort:
    """The opposite: one row, below every cut."""
    return Cohort(np.full((1, DIM), -0.9), np.zeros(1, dtype=np.int64), np.array([0, 1]))


def chain(rng: Generator, length: int, trees: int) -> Trees:
    """Trees over one chain of questions, which only rows with some x > 1/4 walk to its end."""
    nodes = length + 2
    column = rng.integers(0, DIM, nodes)
    cut, left, right = np.full(nodes, 9.0), np.arange(1, nodes + 1), np.full(nodes, nodes - 1)
    cut[0], left[0], right[0] = 0.25, nodes - 1, 1
    column[-1], left[-1], right[-1] = -1, 0, 0
    roots = np.zeros(trees, dtype=np.int64)
    return Trees(
        column, cut, left, right=right, value=rng.normal(size=nodes), roots=roots, classes=roots
    )


# Families
# ------------------------------------------------------------------------------------------------


def _share(draft: Draft, rng: Generator, learner: Learner, facts: Facts, steps: int) -> ShareQuery:
    count = int(draft.late * steps / 400)
    members = tuple((float(rng.normal()), _member(draft, rng)) for _ in range(min(count, 200)))
    how = str(rng.choice(PRIVATE_NAMES))
    return ShareQuery(
        round=int(rng.choice([1, 2, (1 << 62) - 1])),
        attempt=1,
        owners=None,
        learner=learner,
        facts=facts,
        ensemble=Ensemble(2, members),
        terms=ReportTerms(how, (EPSILON,)),
    )


def _member(draft: Draft, rng: Generator) -> Model:
    kind = rng.integers(3)
    if kind == 0:
        cut = float(draft.mix(rng.uniform(-1, 1, 1), rng)[0])
        return StumpModel(int(rng.integers(DIM)), cut, 0, 1)
    if kind == 1:
        return CentroidModel(draft.mix(rng.normal(size=(2, DIM)), rng))
    return LogisticModel(draft.mix(rng.normal(size=(1, DIM + 1)), rng))


def _features(draft: Draft, rng: Generator, steps: int) -> FeatureMap:
    kind = rng.integers(4)
    expansion: Expansion = Rows()
    if kind == 1:
        axes = draft.mix(rng.normal(size=(DIM, min(60, int(sqrt(steps / 8)) + 1))), rng)
        expansion = Products(draft.mix(np.zeros(DIM), rng), axes)
    elif kind == 2:
        expansion = Waves(np.zeros(DIM), draft.mix(rng.normal(size=(DIM, steps // 80 + 1)), rng))
    elif kind == 3:
        expansion = Leaves(chain(rng, int(sqrt(steps / 8)) + 1, 2))
    width = expansion.width(DIM)
    matrix = draft.mix(rng.normal(size=(width, max(1, min(40, steps // (8 * width))))), rng)
    return FeatureMap(expansion, draft.mix(np.zeros(width), rng), matrix)


def _discriminant(draft: Draft, rng: Generator, steps: int) -> ShareQuery:
    learner = Discriminant(_features(draft, rng, steps // 2), _walks(rng, steps // 2), 1.0)
    return _share(draft, rng, learner, Facts(DIM, 2), steps)


def _walks(rng: Generator, steps: int) -> ScoreModel:
    length = max(1, int(sqrt(steps / 4) * 2.0 ** rng.uniform(-2, 2)))
    return ScoreModel(2, (Forest(chain(rng, length, max(1, steps // (4 * length))), np.zeros(2)),))


def _long_walks(draft: Draft, rng: Generator, steps: int) -> Query:
    features = FeatureMap(Rows(), np.zeros(DIM), np.eye(DIM))
    learner = Discriminant(features, _walks(rng, steps), 1.0)
    return _share(replace(draft, late=0.0), rng, learner, Facts(DIM, 2), steps)


def _gradient(draft: Draft, rng: Generator, steps: int) -> ShareQuery:
    features = _features(draft, rng, steps)
    weights = draft.mix(rng.normal(size=(features.dim, 2)), rng)
    return _share(draft, rng, Gradient(features, weights, 1.0, 1.0), Facts(DIM, 2), steps)


def _histogram(draft: Draft, rng: Generator, steps: int) -> ShareQuery:
    tree = chain(rng, min(30, steps // 40 + 1), 1)
    edges = np.sort(draft.mix(rng.uniform(-1, 1, (DIM, steps // 40 + 1)), rng))
    learner = GradientHistogram(_walks(rng, steps // 2), tree, edges, 1.0)
    return _share(draft, rng, learner, Facts(DIM, 2), steps)


def _stump(draft: Draft, rng: Generator, steps: int) -> ShareQuery:
    count = max(1, steps // 8)
    columns = rng.integers(0, 1 if draft.odd else DIM, count)  # repeated ones among the odd
    values = draft.mix(rng.uniform(-1, 1, count), rng)
    return _share(draft, rng, Stump(), Facts(DIM, 2, values, columns), steps)


def _logistic(draft: Draft, rng: Generator, steps: int) -> ShareQuery:
    ridge, bound = 10.0 ** rng.uniform(-300 if draft.odd else -9, 3, 2)
    return _share(draft, rng, Logistic(float(ridge), float(bound)), Facts(DIM, 2), steps)


def _centroid(draft: Draft, rng: Generator, steps: int) -> ShareQuery:
    return _share(draft, rng, Centroid(), Facts(DIM, 2), steps)


def _sum(draft: Draft, rng: Generator, steps: int) -> Query:
    share = _share(draft, rng, Centroid(), Facts(DIM, 2), steps)
    terms = SumTerms(TallyLaw(EPSILON, 2), COORDINATOR, HELPER)
    number = int(rng.choice([1, (1 << 62) - 1]))
    model = _member(draft, rng)
    return SumQuery(
        1, 1, None, columns=DIM, model=model, ensemble=share.ensemble, number=number, terms=terms
    )


def _shares_sum(draft: Draft, rng: Generator, steps: int) -> Query:
    kinds = (_centroid, _discriminant, _gradient, _histogram, _logistic, _stump)
    asked = kinds[int(rng.integers(len(kinds)))](draft, rng, steps)
    law = VectorTerms.of(asked.learner.space(asked.facts), EPSILON, float(rng.choice([0.0, DELTA])))
    if draft.odd:
        radius, step = draft.mix(np.array([law.radius, law.step]), rng).tolist()
        bits = int(rng.integers(2, 7))
        largest = (1 << (bits - 1)) - 1
        # any bounds that there may be: a share that exceeds them is lowered until it does not
        bound, reach = (int((law.dim * most) ** rng.random()) for most in (largest**2, largest))
        law = replace(law, radius=radius, step=step, bound=bound, reach=reach, bits=bits)
    if rng.random() < 0.3:
        law = RecordTerms.at_sites(law, int(2.0 ** rng.uniform(0, 16)))
    number = int(rng.choice([1, (1 << 62) - 1]))
    return SharesQuery.of(replace(asked, terms=law), number, (COORDINATOR, HELPER))


def _site(draft: Draft, rng: Generator, steps: int) -> Query:
    width = int(rng.integers(1, 6))
    scale = 2.0 ** rng.uniform(-9, 9, width)
    directions = draft.mix(rng.normal(size=(DIM, width)) * scale, rng)
    girth, constant = float(rng.choice([1.0, sqrt(width)])), float(rng.choice([0.0, 0.5]))
    projection = Projection(draft.mix(np.zeros(DIM), rng), directions, girth, constant)
    loss = LogisticLoss() if rng.random() < 0.3 else HuberHinge(float(2.0 ** rng.uniform(-10, 10)))
    ridge = float(2.0 ** rng.uniform(-40, 20)) if rng.random() < 0.7 else None
    privacy = str(rng.choice(["objective", "output"]))
    return TrainSite(
        1,
        1,
        None,
        projection=projection,
        loss=loss,
        labels=2,
        privacy=privacy,
        menu=(EPSILON,),
        ridge=ridge,
    )


def _cuts(rng: Generator, cells: Cells, count: int) -> tuple[Cut, ...]:
    leaves = rng.integers(0, cells.bins, (count, cells.bins))
    return tuple(Cut(int(rng.integers(DIM)), tuple(row)) for row in leaves.tolist())


def _leaves(draft: Draft, rng: Generator, steps: int) -> CountLeaves:
    cells = Cells(SCHEMA, int(rng.integers(2, 64)))
    cuts = _cuts(rng, cells, max(1, min(60, steps // 40)))
    scores = draft.mix(rng.normal(size=(int(draft.late * 8), cells.bins)), rng).tolist()
    parts = tuple(
        ScorePart(number + 1, int(rng.integers(DIM)), tuple(row), 0)
        for number, row in enumerate(scores)
    )
    return CountLeaves(1, 1, (0,), cells=cells, cuts=cuts, model=Additive(parts), menu=(EPSILON,))


def _contrasts(draft: Draft, rng: Generator, steps: int) -> Query:
    like = _leaves(draft, rng, steps)
    return CountClasses(
        1, 1, (0,), cells=like.cells, cuts=like.cuts, model=like.model, menu=like.menu
    )


def _tree(draft: Draft, rng: Generator, steps: int) -> Query:
    cells = Cells(SCHEMA, int(rng.integers(2, 64)))
    cuts = _cuts(rng, cells, max(1, min(200, steps // 60)))
    return GrowTree(
        1,
        1,
        (0,),
        cells=cells,
        depth=int(rng.integers(1, 5)),
        candidates=cuts,
        model=NoisyTrees(),
        menu=(EPSILON,),
    )


FAMILIES: dict[str, Callable[[Draft, Generator, int], Query]] = {
    "centroid": _centroid,
    "contrasts": _contrasts,
    "discriminant": _discriminant,
    "gradient": _gradient,
    "histogram": _histogram,
    "leaves": _leaves,
    "logistic": _logistic,
    "long walks": _long_walks,
    "shares sum": _shares_sum,
    "site": _site,
    "stump": _stump,
    "sum": _sum,
    "tree": _tree,
}
