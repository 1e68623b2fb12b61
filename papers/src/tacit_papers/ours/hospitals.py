"""Four hospitals, heart disease: what each gets alone, what all get together, with and without
privacy.

The public rows are some patients of the Cleveland Clinic, as if they had agreed to it; the other
Cleveland patients are a site like the other three. Everybody is tested on the same patients of all
hospitals.
"""

from dataclasses import dataclass

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.site_weights import PublicTask, public_only
from tacit.algorithms.sites import ensemble_of_sites, projections_of, tune_site
from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.learners.sites.losses import LogisticLoss
from tacit.learners.sites.projection import Projection
from tacit.learners.sites.train import targets_of
from tacit.mechanisms.streams import seeded
from tacit_papers.c.methods import site_query
from tacit_papers.datasets import heart
from tacit_papers.datasets.heart import SITES

PUBLIC_SITE, PUBLIC = "cleveland", 60
EPSILONS = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class HospitalRow:
    """Test error of one way to learn, over all patients and over those of each hospital."""

    method: str
    epsilon: float | None
    mean: float
    std: float
    by_site: tuple[float, ...]
    runs: int
    unsound: str


def hospital_rows(runs: int, seed: int) -> list[HospitalRow]:
    """All ways, `runs` splits."""
    found: dict[tuple[str, float | None, str], list[list[float]]] = {}
    for run in range(runs):
        for key, errors in _run(seed * 1_000 + run).items():
            found.setdefault(key, []).append(errors)
    return [_row(*key, np.array(errors)) for key, errors in found.items()]


def _run(seed: int) -> dict[tuple[str, float | None, str], list[float]]:
    split, train_sites, _, test_sites = heart(public=PUBLIC, seed=seed, public_site=PUBLIC_SITE)
    projections = projections_of(split.X_public)
    projection = projections[0]
    errors: dict[tuple[str, float | None, str], list[float]] = {}

    def test(
        name: str, epsilon: float | None, unsound: str, eye: Projection, vector: FloatArray
    ) -> None:
        wrong = (eye.see(split.X_test) @ vector > 0) != split.y_test
        errors[name, epsilon, unsound] = [
            float(wrong.mean()),
            *(float(wrong[test_sites == s].mean()) for s in range(4)),
        ]

    test(
        "public rows alone",
        None,
        "",
        projection,
        _fit_alone(projection, split.X_public, split.y_public),
    )
    for number, name in enumerate(SITES):
        own = train_sites == number
        test(
            f"{name} alone",
            None,
            "",
            projection,
            _fit_alone(projection, split.X_train[own], split.y_train[own]),
        )
    pooled = (
        np.concatenate([split.X_public, split.X_train]),
        np.concatenate([split.y_public, split.y_train]),
    )
    test(
        "all records in one place", None, "no privacy", projection, _fit_alone(projection, *pooled)
    )
    cohort = Cohort.of(split.X_train, split.y_train, train_sites)
    for epsilon in EPSILONS:
        query = site_query(projection, "objective", epsilon)
        query = tune_site(query, split.X_public, split.y_public, epsilon, projections)
        for combine in ("guarded", "feature"):
            engine = Inline(cohort, epsilon, seeded(seed).child("hospitals"))
            model = engine.run(ensemble_of_sites(query, split.X_public, split.y_public, combine))
            name = "ours" if combine == "guarded" else "feature, exact"
            test(name, epsilon, "", query.projection, model.vectors[0])
    return errors


def _fit_alone(projection: Projection, X: FloatArray, y: IntArray) -> FloatArray:
    """What a hospital gets from rows that it may see."""
    return public_only(PublicTask(projection.see(X), targets_of(y, 2, 0), LogisticLoss())).f


def _row(method: str, epsilon: float | None, unsound: str, errors: FloatArray) -> HospitalRow:
    """Means over runs of errors (runs, all and each hospital)."""
    spread = float(errors[:, 0].std(ddof=1)) if len(errors) > 1 else 0.0
    by_site = tuple(np.nanmean(errors[:, 1:], axis=0).tolist())
    return HospitalRow(
        method=method,
        epsilon=epsilon,
        mean=float(errors[:, 0].mean()),
        std=spread,
        by_site=by_site,
        runs=len(errors),
        unsound=unsound,
    )
