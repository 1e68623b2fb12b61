"""Locally private gradient boosting, paper A's future work: trees grown level by level from
histograms of gradients.

    start with the data user's own model
    for each tree:
        for each level: ask the next owners where the model is wrong, by leaf, column and bin;
                        split every leaf where that promises most; leaves get Newton steps G / H
        add the tree, as far as the public rows agree

G is the answer with its noise taken off, H the curvature on the public rows. It pays where neither
lines nor products of columns tell the classes apart, the data user has few rows, and owners are
very many; `tacit reproduce trees` prints the table that says where.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from tacit._util.checks import bad
from tacit._util.types import FloatArray
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import Refined, StepRecord, record_of
from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import Facts, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.scores import Forest, ScoreModel, Trees, softmax
from tacit.learners.owners.gradient import GradientHistogram
from tacit.learners.query import Answer

_BINS = 4  # of a column: more would thin out what each cell holds
_QUANTILE = 0.9  # of the lengths of residuals on public rows: longer shares are clipped
_RATE, _DOUBT = 0.5, 0.25  # how far to go with a tree, before the public rows have a say
LARGEST_LEAF = 4.0  # value of a leaf: odds of e^4


@dataclass(frozen=True)
class Growth:
    """How much to grow: so many trees of so many levels, each level asking owners of its own."""

    trees: int = 4
    depth: int = 3

    @property
    def questions(self) -> int:
        return self.trees * self.depth


def grow(
    public: Public,
    crowd: Population,
    mechanism: str,
    epsilon: float | FloatArray,
    growth: Growth,
    own: PublicModel | None = None,
) -> Generator[ShareQuery, Answer | None, Refined]:
    """Trees added to the data user's own model; when owners run out, what was grown so far."""
    if not public.classes == 2:
        raise bad("classes", "two, for trees from histograms of gradients", public.classes)
    own = fit_public(public) if own is None else own
    facts, each = Facts(public.dim, 2), max(1, crowd.owners // growth.questions)
    edges = np.quantile(public.X, np.linspace(0, 1, _BINS + 1)[1:-1], axis=0).T.copy()
    stages, held_out, records = [own.model], [own.held_out], list[StepRecord]()

    def end(why: str) -> Refined:
        return Refined(
            tuple(stages),
            tuple(held_out),
            own,
            records=tuple(records),
            predicted_gain=0.0,
            ended=why,
        )

    for _ in range(growth.trees):
        chance = softmax(held_out[-1])[:, 1]
        tree, wrong = full_tree(0), np.abs(public.y - chance)
        radius = max(float(np.quantile(wrong, _QUANTILE)), 1e-3)
        for _ in range(growth.depth):
            learner, number = GradientHistogram(stages[-1], tree, edges, radius), len(records) + 1
            terms = crowd.terms(learner.space(facts), mechanism, epsilon, growth.questions)
            answer = yield ShareQuery(
                round=number,
                attempt=1,
                owners=None if crowd.summed else each,
                learner=learner,
                facts=facts,
                ensemble=Ensemble(2),
                terms=terms,
            )
            if answer is None:
                return end(f"owners ran out after {number - 1} questions")
            tree = _split(learner, answer, public, chance)
            records.append(record_of(number, answer, "trees"))
        grown = tree.scores(public.X, 2)
        added = Forest(tree, np.zeros(2), _trust(held_out[-1], grown, public))
        stages.append(stages[-1].plus(added))
        held_out.append(held_out[-1] + added.scores(public.X, 2))
    return end(f"all {growth.trees} trees of depth {growth.depth}")


def full_tree(levels: int) -> Trees:
    """A tree with so many questions above every leaf, all of them alike; 0: one leaf.

    >>> [full_tree(levels).leaves for levels in range(3)]
    [1, 2, 4]
    """
    nodes = np.arange(2 ** (levels + 1) - 1)
    inner = nodes < 2**levels - 1
    return Trees(
        column=np.where(inner, 0, -1),
        cut=np.zeros(len(nodes)),
        left=np.where(inner, 2 * nodes + 1, -1),
        right=np.where(inner, 2 * nodes + 2, -1),
        value=np.zeros(len(nodes)),
        roots=np.zeros(1, np.int64),
        classes=np.ones(1, np.int64),
    )


def _split(learner: GradientHistogram, answer: Answer, public: Public, chance: FloatArray) -> Trees:
    """Every leaf split where G^2 / H promises most, noise taken off; children get their values."""
    shape = (learner.leaves, learner.columns, learner.bins)
    gradient = np.sqrt(learner.columns) * answer.mean.reshape(shape)
    noise = learner.columns * (answer.stderr**2).reshape(shape)
    everybody = Cohort(public.X, public.y, np.array([0, len(public.y)]))
    curvature = learner.histograms(chance * (1 - chance), everybody).reshape(shape)
    # a cell without public rows is not empty
    curvature = curvature + 0.25 / (len(public.y) * learner.bins)
    tree, places = learner.tree, np.flatnonzero(learner.tree.column < 0)
    column, left, right = tree.column.copy(), tree.left.copy(), tree.right.copy()
    cut, value = tree.cut.copy(), tree.value
    for leaf, node in enumerate(places):
        sides = [
            [_below_or_above(part[leaf], above) for part in (gradient, noise, curvature)]
            for above in (False, True)
        ]
        promise = sum((g**2 - v) / h for g, v, h in sides)
        which, where = np.unravel_index(
            int(np.argmax(promise)), (learner.columns, learner.bins - 1)
        )
        column[node], cut[node] = which, learner.edges[which, where]
        left[node], right[node] = len(column), len(column) + 1
        column, left, right = (np.append(part, [-1, -1]) for part in (column, left, right))
        steps = [_newton(*(part[which, where] for part in side)) for side in sides]
        cut, value = np.append(cut, [0.0, 0.0]), np.append(value, steps)
    return replace(tree, column=column, cut=cut, left=left, right=right, value=value)


def _below_or_above(cells: FloatArray, above: bool) -> FloatArray:
    """Sums below or above every edge of every column, (columns, bins - 1)."""
    below = np.cumsum(cells, axis=1)
    return np.asarray(below[:, -1:] - below[:, :-1] if above else below[:, :-1])


def _newton(gradient: float, noise: float, curvature: float) -> float:
    """A Newton step, as far as it is not noise."""
    kept = max(0.0, 1 - noise / max(gradient**2, 1e-300))
    return float(np.clip(kept * gradient / curvature, -LARGEST_LEAF, LARGEST_LEAF))


def _trust(scores: FloatArray, added: FloatArray, public: Public) -> float:
    """How far to go with a tree: one half, give or take one quarter, unless the public rows say
    otherwise.
    """
    rows = np.arange(len(public.y))

    def loss(part: float) -> float:
        right = softmax(scores + part * added)[rows, public.y]
        return (
            float(-np.log(np.maximum(right, 1e-300)).sum()) + 0.5 * ((part - _RATE) / _DOUBT) ** 2
        )

    return float(minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded").x)


def blank(public: Public) -> PublicModel:
    """Nothing known: to see what owners' answers give alone."""
    return PublicModel("nothing", ScoreModel(2), np.zeros((len(public.y), 2)), None, {})
