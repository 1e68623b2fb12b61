"""Four hospitals, heart disease: what each gets alone, what all get together, with and without
privacy.

The public rows are some patients of the Cleveland Clinic, as if they had agreed to it; the other
Cleveland patients are a site like the other three. Everybody is tested on the same patients of all
hospitals.
"""

from dataclasses import dataclass

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.public_baseline import fit_public
from tacit.data.cohort import Public
from tacit.estimators.sites import SiteEnsemble
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
    known = split.X_public, split.y_public
    errors: dict[tuple[str, float | None, str], list[float]] = {}

    def test(name: str, epsilon: float | None, unsound: str, guesses: IntArray) -> None:
        wrong = guesses != split.y_test
        errors[name, epsilon, unsound] = [
            float(wrong.mean()),
            *(float(wrong[test_sites == s].mean()) for s in range(4)),
        ]

    test("public rows alone", None, "", _fit_alone(*known, split.X_test))
    for number, name in enumerate(SITES):
        own = train_sites == number
        guesses = _fit_alone(split.X_train[own], split.y_train[own], split.X_test)
        test(f"{name} alone", None, "", guesses)
    pooled = (
        np.concatenate([split.X_public, split.X_train]),
        np.concatenate([split.y_public, split.y_train]),
    )
    test("all records in one place", None, "no privacy", _fit_alone(*pooled, split.X_test))
    for epsilon in EPSILONS:
        for combine, name in (("guarded", "ours"), ("feature", "feature, exact")):
            model = SiteEnsemble(combine=combine, epsilon=epsilon, random_state=seed)
            model.fit(split.X_train, split.y_train, owners=train_sites, public=known)
            test(name, epsilon, "", model.predict(split.X_test))
    start = model.lens_.see(split.X_test) @ model.model_.public_vectors[0]
    test("public rows alone, as an ensemble starts", None, "", (start > 0).astype(np.int64))
    return errors


def _fit_alone(X: FloatArray, y: IntArray, X_test: FloatArray) -> IntArray:
    """What somebody gets from rows that it may see, with the product's own model of such rows."""
    return np.asarray(fit_public(Public(X, y, 2)).model.predict(X_test))


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
