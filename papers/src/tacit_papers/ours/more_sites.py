"""Paper C's future work: boosting the feature method, for many sites.

Algorithm 1 trains all weights of the sites' models at once, held down by a ridge. Boosted, they
come one by one:

    F = 0
    repeat: take the site whose scores say most about what F gets wrong on the public rows
            (|its scores . slope of the loss|, scores being of the same size)
            move its weight by a fifth of Newton's step, and F with it

How often is chosen by cross-validation on the public rows. Both get the same private models of the
same sites in every run, beside their average, the guarded ensemble and the public rows alone.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._util.types import FloatArray
from tacit.algorithms.site_weights import (
    COMBINE,
    Combined,
    PublicOnly,
    PublicTask,
    folds_of,
    of_weights,
)
from tacit.algorithms.sites import models_of_public, projections_of, public_tasks
from tacit.data.cohort import Cohort
from tacit.learners.sites.projection import Projection, fit_projection
from tacit.mechanisms.streams import seeded
from tacit_papers.c.experiment import load_rows
from tacit_papers.c.methods import site_query
from tacit_papers.runner import Cell
from tacit_papers.shared.first_learner import mean_and_spread

BOOSTED, PAPERS = "feature, boosted", "feature, exact"
RUNS, QUICK_RUNS = 10, 2
_TRAIN, _TEST = 8_678, 3_000  # rows of sites and aggregator as in the paper, and to test on
_COMPONENTS = 50
_STEPS, _RATE = 150, 0.2
_LARGEST = 2.0  # a step beside scores of size 1
# Sites, records of each, public rows, epsilon.
SETTINGS = (
    (10, 200, 200, 1.0),
    (40, 200, 200, 1.0),
    (160, 50, 200, 1.0),
    (160, 50, 200, 4.0),
    (160, 50, 50, 4.0),
    (400, 20, 200, 4.0),
)


def boost_features(
    models: FloatArray, trust: FloatArray, task: PublicTask, alone: PublicOnly
) -> Combined:
    """Weights of the sites' models (sites, dim), one step at a time; as many steps as five folds
    like best.
    """
    scores = task.rows @ models.T
    folds, losses = folds_of(task.targets), np.zeros(_STEPS)
    for fold in range(int(folds.max()) + 1):
        inside, out = folds != fold, folds == fold
        path = _path(task.of(scores)[inside], _STEPS)
        targets = task.targets[out, np.newaxis]
        losses += task.loss.value(scores[out] @ path.T, targets).sum(axis=0)
    weights = _path(task.of(scores), int(np.argmin(losses)) + 1)[-1]
    return of_weights(weights, models, task)


def _path(task: PublicTask, steps: int) -> FloatArray:
    """Weights after each step, (steps, sites)."""
    sizes = np.sqrt((task.rows**2).mean(axis=0))
    rows = task.rows / np.where(sizes > 0, sizes, 1.0)
    weights, found = np.zeros(rows.shape[1]), []
    for _ in range(steps):
        told = rows @ weights
        wrong = -rows.T @ task.loss.first(told, task.targets)
        best = int(np.argmax(np.abs(wrong)))
        curvature = float(rows[:, best] ** 2 @ task.loss.second(told, task.targets))
        weights[best] += _RATE * np.clip(wrong[best] / max(curvature, 1e-6), -_LARGEST, _LARGEST)
        found.append(weights / np.where(sizes > 0, sizes, 1.0))
    return np.array(found)


@dataclass(frozen=True)
class MoreSitesRow:
    """Test error of one method, mean and spread over runs; `saved` is how much less it errs than
    the paper's feature method in the same runs, with its standard error.
    """

    dataset: str
    sites: int
    records: int
    public: int
    epsilon: float
    method: str
    mean: float
    std: float
    saved: float
    saved_error: float
    runs: int


@dataclass(frozen=True, kw_only=True)
class MoreSitesCell(Cell):
    """All methods at one setting."""

    paper: ClassVar[str] = "future"

    sites: int
    records: int
    public: int
    epsilon: float

    def rows(self) -> list[MoreSitesRow]:
        runs = [self._errors(run) for run in range(self.runs)]
        found = []
        for method in runs[0]:
            errors = [each[method] for each in runs]
            saved, spread = mean_and_spread([each[PAPERS] - each[method] for each in runs])
            mean, std = mean_and_spread(errors)
            place = (self.dataset, self.sites, self.records, self.public, self.epsilon, method)
            spread /= float(np.sqrt(self.runs))
            found.append(MoreSitesRow(*place, mean, std, saved, spread, self.runs))
        return found

    def _errors(self, run: int) -> dict[str, float]:
        X, y = load_rows("synthetic" if self.quick else self.dataset)
        order = np.random.default_rng([self.seed, run]).permutation(len(y))
        train = min(_TRAIN, len(y) - _TEST)
        own, test = order[: self.public + self.sites * self.records], order[train : train + _TEST]
        if not len(own) <= train:
            raise ValueError(f"sites and records must need at most {train} rows, got {len(own)}")
        lens = fit_projection(X[own[: self.public]], _COMPONENTS, intercept=False)
        wide = Projection(lens.centre, lens.directions, float(np.sqrt(lens.dim)))
        known, rest = wide.see(X[own[: self.public]]), wide.see(X[own[self.public :]])
        projection, labels = projections_of(known)[0], y[own[: self.public]]
        query = site_query(projection, "objective", self.epsilon)
        sites = Cohort.of(rest, y[own[self.public :]], np.arange(len(rest)) // self.records)
        coins = seeded(self.seed).child("more sites", self.sites, run)
        reports = query.release(sites, self.epsilon, coins)
        models = query.collect(reports, self.epsilon).values.reshape(self.sites, -1)
        (task,), (alone,) = (
            public_tasks(query, known, labels),
            models_of_public(query, known, labels),
        )
        shown, trust = projection.see(wide.see(X[test])), np.ones(self.sites)
        vectors = {"public rows alone": alone.f} | {
            name: combine(models, trust, task, alone).f
            for name, combine in (
                ("average, exact", COMBINE["average"]),
                (PAPERS, COMBINE["feature"]),
                (BOOSTED, boost_features),
                ("guarded", COMBINE["guarded"]),
            )
        }
        return {
            name: float(np.mean((shown @ vector > 0) != y[test]))
            for name, vector in vectors.items()
        }


def cells_of_sites(quick: bool, seed: int, dataset: str) -> list[Cell]:
    """Ten runs of every setting; quick: two of one setting, of made-up rows."""
    return [
        MoreSitesCell(
            where="conclusion of C",
            dataset=dataset,
            runs=QUICK_RUNS if quick else RUNS,
            seed=seed,
            quick=quick,
            cost=1.0 if quick else 5.0,
            sites=sites,
            records=records,
            public=public,
            epsilon=epsilon,
        )
        for sites, records, public, epsilon in (((20, 50, 100, 4.0),) if quick else SETTINGS)
    ]
