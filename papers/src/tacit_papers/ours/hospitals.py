"""Four hospitals, heart disease: what each gets alone, what all get together, with and without
privacy.

The public rows are some patients of the Cleveland Clinic, as if they had agreed to it; the other
Cleveland patients are a site like the other three. Everybody is tested on the same patients of all
hospitals.

Four hospitals as a section: what each learns alone, and what all learn together.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.site_tuning import projections_of, rehearse
from tacit.algorithms.site_weights import public_only
from tacit.algorithms.sites import ensemble_of_sites
from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.learners.sites.losses import HuberHinge, LogisticLoss
from tacit.learners.sites.projection import Projection
from tacit.learners.sites.train import TrainSite, targets_of
from tacit.mechanisms.streams import seeded
from tacit.render.document import Chart, Kind, Line, Section, Table
from tacit.render.sections import SPREAD, percent, percents
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
        _fitted(projection, split.X_public, split.y_public),
    )
    for number, name in enumerate(SITES):
        own = train_sites == number
        test(
            f"{name} alone",
            None,
            "",
            projection,
            _fitted(projection, split.X_train[own], split.y_train[own]),
        )
    pooled = (
        np.concatenate([split.X_public, split.X_train]),
        np.concatenate([split.y_public, split.y_train]),
    )
    test("all records in one place", None, "no privacy", projection, _fitted(projection, *pooled))
    cohort = Cohort.of(split.X_train, split.y_train, train_sites)
    for epsilon in EPSILONS:
        query = TrainSite(1, 1, None, projection, HuberHinge(), 2, "objective", (epsilon,))
        query = rehearse(query, split.X_public, split.y_public, epsilon, projections)
        for combine in ("guarded", "feature"):
            engine = Inline(cohort, epsilon, seeded(seed).child("hospitals"))
            model = engine.run(ensemble_of_sites(query, split.X_public, split.y_public, combine))
            name = "ours" if combine == "guarded" else "feature, exact"
            test(name, epsilon, "", query.projection, model.vectors[0])
    return errors


def _fitted(projection: Projection, X: FloatArray, y: IntArray) -> FloatArray:
    """What a hospital gets from rows that it may see."""
    return public_only(projection.see(X), targets_of(y, 2, 0), LogisticLoss()).f


def _row(method: str, epsilon: float | None, unsound: str, errors: FloatArray) -> HospitalRow:
    """Means over runs of errors (runs, all and each hospital)."""
    spread = float(errors[:, 0].std(ddof=1)) if len(errors) > 1 else 0.0
    by_site = tuple(np.nanmean(errors[:, 1:], axis=0).tolist())
    return HospitalRow(
        method, epsilon, float(errors[:, 0].mean()), spread, by_site, len(errors), unsound
    )


def hospitals_section(rows: Sequence[HospitalRow]) -> Section:
    """A chart of error against epsilon, with levels to compare; and every number."""
    private = list(dict.fromkeys(row.method for row in rows if row.epsilon is not None))
    lines: list[Line] = []
    for method in private:
        own = [
            (row.epsilon, row.mean, row.std)
            for row in rows
            if row.method == method and row.epsilon is not None
        ]
        lines.append(percents(method, own, "ours" if method == "ours" else "other"))
    for row in rows:
        if row.method in ("public rows alone", "all records in one place"):
            kind: Kind = "public" if row.method == "public rows alone" else "other"
            lines.append(Line(row.method, (), (100 * row.mean,), None, kind))
    charts = (
        [
            Chart(
                "Four hospitals, heart disease",
                "epsilon",
                "test error, %",
                tuple(lines),
                "log",
                SPREAD,
            )
        ]
        if private
        else []
    )
    cells = tuple(
        (
            row.method,
            "" if row.epsilon is None else f"{row.epsilon:g}",
            percent(row.mean, row.std),
            *(percent(error) for error in row.by_site),
        )
        for row in rows
    )
    strong = tuple(number for number, row in enumerate(rows) if row.method == "ours")
    columns = ("learned from", "epsilon", "all patients", *SITES)
    caption = (
        f"Test error in %, {rows[0].runs} runs; everybody is tested on the same patients of "
        "all hospitals"
    )
    text = "The public rows are some patients of one hospital, as if they had agreed to it."
    return Section("Four hospitals", text, (*charts, Table(caption, columns, cells, strong=strong)))
