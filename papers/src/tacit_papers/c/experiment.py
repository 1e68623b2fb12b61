"""Paper C again, at its own settings: error against epsilon, records per site and sites (Figs. 1 to
3), and four hospitals.

Curves are the paper's (feature and average, with privacy as published and without), the same two
with exact noise, ours, and what nobody published: the public rows alone.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from sklearn.datasets import make_classification

from tacit._util.checks import bad
from tacit._util.types import FloatArray, IntArray
from tacit.mechanisms.streams import seeded
from tacit_papers.c.methods import METHODS, Setting, errors_of
from tacit_papers.c.span import VARIED, SpanCell
from tacit_papers.datasets import covertype, load_mnist
from tacit_papers.ours.hospitals import HospitalRow, hospital_rows
from tacit_papers.runner import Cell
from tacit_papers.shared.first_learner import mean_and_spread

Part = tuple[FloatArray, IntArray]

DATASETS = ("mnist", "covertype", "heart", "synthetic")
_TEST_SHARE = 0.3  # as in the paper: 3,718 of 12,396 and 148,543 of 495,141
_USUAL_EPSILON = 0.1  # where records per site or sites vary; the paper does not say which it took


@dataclass(frozen=True)
class Plan:
    """What is varied on a data set, one thing at a time. `rows` counts training rows, the
    aggregator's included.
    """

    strength: float  # Lambda of the paper
    components: int | None
    rows: int
    sites: int
    epsilons: tuple[float, ...]
    records: tuple[int, ...]
    numbers: tuple[int, ...]

    @property
    def settings(self) -> list[tuple[str, Setting]]:
        """(what is varied, setting); at each, public rows are as many as the records of one
        site.
        """
        whole = self.rows // (self.sites + 1)
        made = [("epsilon", self._setting(epsilon, whole, self.sites)) for epsilon in self.epsilons]
        made += [
            ("records", self._setting(_USUAL_EPSILON, records, self.sites))
            for records in self.records
        ]
        made += [
            ("sites", self._setting(_USUAL_EPSILON, self.rows // (n + 1), n)) for n in self.numbers
        ]
        return made

    def _setting(self, epsilon: float, records: int, sites: int) -> Setting:
        return Setting(
            epsilon, min(records, self.rows // (sites + 1)), sites, self.strength, self.components
        )


PLANS = {
    "mnist": Plan(
        strength=1e-2,
        components=50,
        rows=8_678,
        sites=10,
        epsilons=(0.025, 0.05, 0.1, 0.15, 0.2, 0.25),
        records=(39, 158, 394, 789),
        numbers=(2, 5, 10, 20),
    ),
    "covertype": Plan(
        strength=1e-7,
        components=None,
        rows=346_598,
        sites=10,
        epsilons=(0.025, 0.05, 0.1, 0.25),
        records=(3_151, 10_503, 31_509),
        numbers=(5, 10, 20),
    ),
}
_QUICK = {
    "synthetic": Plan(
        strength=1e-2,
        components=None,
        rows=4_000,
        sites=5,
        epsilons=(0.05, 0.25),
        records=(100,),
        numbers=(10,),
    )
}


@dataclass(frozen=True)
class SiteRow:
    """Test error of one method at one point of one curve, mean and spread over runs."""

    dataset: str
    varied: str
    epsilon: float
    records: int
    sites: int
    method: str
    mean: float
    std: float
    runs: int
    unsound: str

    @property
    def at(self) -> float:
        """The value of what is varied."""
        return {"epsilon": self.epsilon, "records": self.records, "sites": self.sites}[self.varied]


@dataclass(frozen=True, kw_only=True)
class SiteCell(Cell):
    """So many sites of so many records: points (what is varied, epsilon) of one or more curves,
    measured once each.
    """

    paper: ClassVar[str] = "c"

    records: int
    sites: int
    strength: float
    components: int | None
    train: int
    points: tuple[tuple[str, float], ...]

    def rows(self) -> list[SiteRow]:
        X, y = load_rows(self.dataset)
        epsilons = sorted({epsilon for _, epsilon in self.points})
        settings = [
            Setting(e, self.records, self.sites, self.strength, self.components) for e in epsilons
        ]
        found: dict[tuple[float, str], list[float]] = {}
        for run in range(self.runs):
            order = np.random.default_rng([self.seed, run]).permutation(len(y))
            own = order[: (self.sites + 1) * self.records]
            test = order[self.train : self.train + int(_TEST_SHARE * len(y)) + 1]
            coins = seeded(self.seed).child("paper C", self.dataset, self.records, self.sites, run)
            for setting, errors in zip(
                settings,
                errors_of(settings, (X[own], y[own]), (X[test], y[test]), coins),
                strict=True,
            ):
                for method, error in errors.items():
                    found.setdefault((setting.epsilon, method), []).append(error)
        return [
            self._row(varied, epsilon, method, errors)
            for varied, epsilon in self.points
            for (at, method), errors in found.items()
            if at == epsilon
        ]

    def _row(self, varied: str, epsilon: float, method: str, errors: list[float]) -> SiteRow:
        mean, std = mean_and_spread(errors)
        return SiteRow(
            dataset=self.dataset,
            varied=varied,
            epsilon=epsilon,
            records=self.records,
            sites=self.sites,
            method=method,
            mean=mean,
            std=std,
            runs=self.runs,
            unsound=METHODS[method],
        )


@dataclass(frozen=True, kw_only=True)
class HospitalCell(Cell):
    """Four hospitals, which the paper has not: what its method and ours are for."""

    paper: ClassVar[str] = "c"

    def rows(self) -> list[HospitalRow]:
        return hospital_rows(self.runs, self.seed)


def cells_c(quick: bool, seed: int = 1) -> list[Cell]:
    """Full: 10 runs at the paper's settings. Quick: 2 runs on made-up rows."""
    runs, plans = (2, _QUICK) if quick else (10, PLANS)
    cells: list[Cell] = []
    for dataset, plan in plans.items():
        points: dict[tuple[int, int], list[tuple[str, float]]] = {}
        for varied, setting in plan.settings:
            points.setdefault((setting.records, setting.sites), []).append(
                (varied, setting.epsilon)
            )
        for (records, sites), own in points.items():
            cells.append(
                SiteCell(
                    where=_figure(dataset, {varied for varied, _ in own}),
                    dataset=dataset,
                    runs=runs,
                    seed=seed,
                    quick=quick,
                    cost=0.5 * len(own) if quick else 10.0 * len(own),
                    records=records,
                    sites=sites,
                    strength=plan.strength,
                    components=plan.components,
                    train=plan.rows,
                    points=tuple(own),
                )
            )
    cells += [
        SpanCell(
            where="Theorem 1",
            dataset="synthetic",
            runs=runs,
            seed=seed,
            quick=quick,
            cost=5.0,
            varied=varied,
        )
        for varied in VARIED
    ]
    if not quick:
        cells.append(
            HospitalCell(where="four hospitals", dataset="heart", runs=runs, seed=seed, cost=20.0)
        )
    return cells


def _figure(dataset: str, varied: set[str]) -> str:
    """Where the paper has such points; its letters are a to c for MNIST and d to f for
    Covertype.
    """
    first = "d" if dataset == "covertype" else "a"
    letters = [
        chr(ord(first) + ("epsilon", "records", "sites").index(name)) for name in sorted(varied)
    ]
    own = f"Fig. {2 if dataset == 'covertype' else 1}, " if "records" in varied else ""
    return f"{own}Fig. 3{''.join(sorted(letters))}"


@lru_cache(maxsize=1)
def load_rows(name: str) -> Part:
    """All rows of a data set, classes 0 and 1."""
    if name == "mnist":
        images = load_mnist()
        chosen = np.isin(images.train_labels, (3, 7))
        flat = images.train[chosen].reshape(-1, 28 * 28) / 127.5 - 1
        return flat, (images.train_labels[chosen] == 7).astype(np.int64)
    if name == "covertype":
        split = covertype(public=1)
        parts = (
            [split.X_train, split.X_public, split.X_test],
            [split.y_train, split.y_public, split.y_test],
        )
        return np.concatenate(parts[0]), np.concatenate(parts[1])
    if name == "synthetic":
        X, y = make_classification(
            6_000, n_features=20, n_informative=10, n_redundant=10, random_state=1
        )
        return X, y.astype(np.int64)
    raise bad("data set", f"one of {DATASETS}", name)
