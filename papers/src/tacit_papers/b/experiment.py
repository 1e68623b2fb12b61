"""Paper B again: the cells of Table 2 and of Figs. 2 to 11, votes from sums over all owners.

Where the paper is silent it is read so: logistic regression and centroids are learned on all ten
digits, stumps on 4 or 9; a sample of the centroids belongs to an owner of its own; each round of
boosting has its own owners, none to spare.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from tacit.learners.learner import Learner
from tacit_papers.a.published import EPSILONS
from tacit_papers.b.hits import HitCell
from tacit_papers.b.readings import ROUNDS, SummedReadingCell
from tacit_papers.b.summed import LEARNERS, SOUND, SummedCell
from tacit_papers.datasets.split import Split
from tacit_papers.runner import Cell
from tacit_papers.shared.first_learner import FirstCell, Learned

DATASETS = (
    "mnist ten",
    "mnist ten, 100 words",
    "fashion, 50 words",
    "fashion",
    "brazil",
    "mnist",
    "synthetic",
)
_BOOSTED_REGRESSIONS = 5  # rounds: all 60,000 images are dealt
_OVER_OWNERS = {"logistic": 5.0, "centroid": 3.0}  # the epsilon of figures over owners


@dataclass(frozen=True, kw_only=True)
class ErrorCell(FirstCell):
    """Accuracy of a first base learner and the mean squared error of what it is built from."""

    paper: ClassVar[str] = "b"

    def learners(self) -> tuple[Learner, Learner]:
        return LEARNERS[self.learner]

    def measures(self, learned: Learned) -> Mapping[str, float]:
        return (
            {}
            if learned.exact is None
            else {"mse": float(((learned.told - learned.exact) ** 2).mean())}
        )

    def source(self, split: Split) -> str:
        return self.dataset


def cells_b(quick: bool, seed: int = 1) -> list[Cell]:
    """Full: 10 runs (100 for hitting rates), 2 or 3 where rows are a million or hardly differ.
    Quick: 2, few rows.

    The census has 10,000 owners where the paper has 100,000: the rows of these are 5 gigabytes.
    """
    make = _CellsOfB(seed, quick)
    if quick:
        return _quick_cells(make)
    return [*_regressions(make), *_centroids(make), *_stumps(make), *_readings(make)]


def _quick_cells(make: "_CellsOfB") -> list[Cell]:
    name, few = "synthetic", (1.0, 7.0)
    return [
        make.first("Table 2, Fig. 2", "logistic", name, (100, 40), runs=2, epsilons=few),
        make.first("Fig. 3", "centroid", name, (4_000, 1), runs=2, epsilons=few),
        *(make.over_owners("Fig. 4", "logistic", name, (n, 40), runs=2) for n in (100, 400)),
        *(make.over_owners("Fig. 6", "centroid", name, (n, 1), runs=2) for n in (1_000, 4_000)),
        make.curve("Fig. 7", "centroid", name, (4_000, 1), runs=2, epsilons=(5.0,)),
        make.hits("Fig. 9", name, (1_000, 40), runs=20, epsilons=(1.0, 5.0)),
        make.curve("Fig. 11", "stump", name, (1_000, 4), runs=2, epsilons=(5.0,)),
        make.readings("stump", name, (1_000, 4), runs=2),
    ]


def _regressions(make: "_CellsOfB") -> Iterator[Cell]:
    """Table 2, Figs. 2, 4 and 5, and what boosting brings regressions."""
    sizes = {"mnist ten": (500, 120), "fashion, 50 words": (500, 80), "brazil": (10_000, 100)}
    for dataset, size in sizes.items():
        runs = 3 if dataset == "brazil" else 10
        yield make.first("Table 2, Fig. 2", "logistic", dataset, size, runs)
    for owners in (100, 200, 500, 1_000):
        yield make.over_owners("Fig. 4", "logistic", "mnist ten", (owners, 60), runs=5)
    for owners in (100, 1_000, 10_000):
        yield make.over_owners("Fig. 5", "logistic", "brazil", (owners, 100), runs=3)
    boosted = make.curve("section 4.1", "logistic", "mnist ten", (100, 120), 2, epsilons=(5.0,))
    yield replace(boosted, rounds=_BOOSTED_REGRESSIONS, cost=60.0)


def _centroids(make: "_CellsOfB") -> Iterator[Cell]:
    """Figs. 3, 6 and 7."""
    samples = {"mnist ten": 10_000, "fashion, 50 words": 10_000, "brazil": 1_000_000}
    for dataset, owners in samples.items():
        runs = 2 if dataset == "brazil" else 10
        yield make.first("Fig. 3", "centroid", dataset, (owners, 1), runs)
    for owners in (1_000, 3_000, 5_000, 7_000, 9_000):
        yield make.over_owners("Fig. 6", "centroid", "mnist ten, 100 words", (owners, 1), runs=10)
    boosted = {"mnist ten, 100 words": 10_000, "fashion": 10_000, "brazil": 100_000}
    for dataset, owners in boosted.items():
        runs = 2 if dataset == "brazil" else 5
        yield make.curve("Fig. 7", "centroid", dataset, (owners, 1), runs)


def _stumps(make: "_CellsOfB") -> Iterator[Cell]:
    """Figs. 8 to 11."""
    yield make.hits("Fig. 8", "mnist", (1_000, 40))
    yield make.curve("Fig. 10", "stump", "mnist", (1_000, 4), runs=10)
    yield make.hits("Fig. 9", "synthetic", (10_000, 75))
    yield make.curve("Fig. 11", "stump", "synthetic", (10_000, 7), runs=3)


def _readings(make: "_CellsOfB") -> Iterator[Cell]:
    """Every reading, at the settings of the figures."""
    yield make.readings("logistic", "mnist ten", (500, 120), runs=2)
    yield make.readings("centroid", "mnist ten", (10_000, 1), runs=2)
    yield make.readings("stump", "mnist", (1_000, 4), runs=5)


@dataclass(frozen=True)
class _CellsOfB:
    """Makes cells that have a seed in common; a size is owners and rows of each."""

    seed: int
    quick: bool

    def first(
        self,
        where: str,
        learner: str,
        dataset: str,
        size: tuple[int, int],
        runs: int,
        epsilons: tuple[float, ...] = EPSILONS,
    ) -> ErrorCell:
        return ErrorCell(
            where=where,
            dataset=dataset,
            runs=runs,
            seed=self.seed,
            quick=self.quick,
            cost=1.0 if self.quick else runs * (0.5 + size[0] * size[1] / 4e4),
            learner=learner,
            owners=size[0],
            rows_per_owner=size[1],
            epsilons=epsilons,
            sound_mechanism=SOUND[learner],
        )

    def over_owners(
        self, where: str, learner: str, dataset: str, size: tuple[int, int], runs: int
    ) -> ErrorCell:
        """A point of a figure whose axis is the number of owners; the paper leaves Laplace out
        there.
        """
        cell = self.first(where, learner, dataset, size, runs, epsilons=(_OVER_OWNERS[learner],))
        return replace(cell, mechanisms=("duchi", "piecewise"))

    def curve(
        self,
        where: str,
        learner: str,
        dataset: str,
        size: tuple[int, int],
        runs: int,
        epsilons: tuple[float, ...] = (3.0, 5.0),
    ) -> SummedCell:
        rounds = ROUNDS[learner] if not self.quick or learner == "stump" else 3
        return SummedCell(
            where=where,
            dataset=dataset,
            runs=runs,
            seed=self.seed,
            quick=self.quick,
            cost=1.0 if self.quick else runs * (1.0 + size[0] * rounds / 2e4),
            learner=learner,
            owners=size[0],
            rows_per_owner=size[1],
            epsilons=epsilons,
            rounds=rounds,
        )

    def readings(
        self, learner: str, dataset: str, size: tuple[int, int], runs: int
    ) -> SummedReadingCell:
        return SummedReadingCell(
            where="readings",
            dataset=dataset,
            runs=runs,
            seed=self.seed,
            quick=self.quick,
            cost=2.0 if self.quick else 20.0,
            learner=learner,
            owners=size[0],
            rows_per_owner=size[1],
            epsilons=(5.0,),
            rounds=ROUNDS[learner],
        )

    def hits(
        self,
        where: str,
        dataset: str,
        size: tuple[int, int],
        runs: int = 100,
        epsilons: tuple[float, ...] = EPSILONS,
    ) -> HitCell:
        return HitCell(
            where=where,
            dataset=dataset,
            runs=runs,
            seed=self.seed,
            quick=self.quick,
            cost=1.0 if self.quick else 30.0,
            owners=size[0],
            rows_per_owner=size[1],
            epsilons=epsilons,
        )
