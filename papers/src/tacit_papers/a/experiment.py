"""Paper A again, at its own settings: the cells of Tables II to IV and of Figs. 2 to 9, and of how
the paper is read.
"""

from dataclasses import dataclass

from tacit_papers.a.bounds import BoundCell, ScaleCell
from tacit_papers.a.coefficients import CoefficientCell
from tacit_papers.a.measurements import TABLE_OF, BoostingCell, PublicCell, ReadingCell, TableCell
from tacit_papers.a.patches import PatchCell, SmallPatchCell
from tacit_papers.a.problems import ProblemCell
from tacit_papers.a.published import EPSILONS
from tacit_papers.a.splitting import SplitCell
from tacit_papers.runner import Cell

DATASETS = ("synthetic", "mnist", "fashion", "brazil")
ROUNDS = 10
# Owners per round and rows of each, by base learner and data set.
SIZES: dict[str, dict[str, tuple[int, int]]] = {
    "centroid": {"synthetic": (2_000, 4), "mnist": (1_000, 4), "fashion": (1_000, 4)},
    "stump": {"synthetic": (1_000, 80), "mnist": (200, 20), "fashion": (200, 20)},
    "logistic": {"mnist": (100, 40), "fashion": (100, 40), "brazil": (10_000, 100)},
}
_FIRST_FIGURES = {"centroid": "Fig. 2", "stump": "Fig. 6", "logistic": "Fig. 9"}
_CURVE_FIGURES = {"centroid": "Figs. 4 and 5", "stump": "Figs. 7 and 8", "logistic": "section V-C"}
_CURVE_EPSILONS = {"synthetic": (5.0, 7.0), "mnist": (5.0, 7.0), "fashion": (7.0, 9.0)}
_OWNERS = (100, 200, 400, 600, 800, 1_000)  # Fig. 3; the paper says from 100 to 1,000
_IMAGES = {"mnist": ((4, 9), 50), "fashion": ((0, 6), 100)}  # classes, and how many words
# A look in seconds: a few made-up rows, for logistic regression too, which the paper has not.
_QUICK = {"centroid": (2_000, 4), "stump": (1_000, 80), "logistic": (100, 40)}
_QUICK_CURVES = {"centroid": (2_000, 4), "stump": (200, 80), "logistic": (100, 40)}


def cells_a(quick: bool, seed: int = 1) -> list[Cell]:
    """Full: 10 runs at the paper's settings, 5 of the census, where they hardly differ.

    Quick: 2 runs on a few made-up rows.
    """
    return _quick_cells(seed) if quick else _full_cells(seed)


def _full_cells(seed: int) -> list[Cell]:
    make = _CellsOfA(seed)
    cells: list[Cell] = [make.bounds(runs=20), make.splitting(runs=20), make.problems()]
    for dataset in DATASETS:
        cells.append(make.public(dataset))
        for learner, sizes in SIZES.items():
            if dataset in sizes:
                runs = 5 if dataset == "brazil" else 10
                cells.append(make.first(learner, dataset, sizes[dataset], EPSILONS, runs))
                cells.append(make.scale(learner, dataset, sizes[dataset]))
                if dataset in _CURVE_EPSILONS:
                    epsilons = _CURVE_EPSILONS[dataset]
                    cells.append(make.curve(learner, dataset, sizes[dataset], epsilons, runs))
                    if learner == "logistic":
                        cells.append(make.coefficients(dataset, sizes[dataset], epsilons, 5))
                    more = (1.0,) if learner == "logistic" else ()
                    read = (*more, *epsilons)
                    cells.append(make.readings(learner, dataset, sizes[dataset], read, 5))
        if dataset in _IMAGES:
            cells.append(make.patches(dataset))
        if dataset == "mnist":
            cells += [make.over_owners(dataset, owners, 10) for owners in _OWNERS]
            cells += [make.small_patches(learner, dataset) for learner in ("centroid", "stump")]
    return cells


def _quick_cells(seed: int) -> list[Cell]:
    make, name = _CellsOfA(seed, quick=True), "synthetic"
    cells: list[Cell] = [make.public(name), make.bounds(runs=4), make.splitting(runs=4)]
    for learner, size in _QUICK.items():
        cells.append(make.first(learner, name, size, (1.0, 7.0), runs=2))
        cells.append(make.curve(learner, name, _QUICK_CURVES[learner], (7.0,), runs=2))
        cells.append(make.readings(learner, name, _QUICK_CURVES[learner], (7.0,), runs=2))
    cells.append(make.coefficients(name, _QUICK["logistic"], (7.0,), runs=2))
    return [*cells, *(make.over_owners(name, owners, runs=2) for owners in (100, 1_000))]


@dataclass(frozen=True)
class _CellsOfA:
    """Makes cells that have a seed in common."""

    seed: int
    quick: bool = False

    def public(self, dataset: str) -> PublicCell:
        return PublicCell(
            where="Figs. 4 to 8", dataset=dataset, runs=1, seed=self.seed, quick=self.quick
        )

    def first(
        self,
        learner: str,
        dataset: str,
        size: tuple[int, int],
        epsilons: tuple[float, ...],
        runs: int,
    ) -> TableCell:
        """A data set of a table, and of the figure that belongs to it."""
        return TableCell(
            where=f"Table {TABLE_OF[learner]}, {_FIRST_FIGURES[learner]}",
            dataset=dataset,
            runs=runs,
            seed=self.seed,
            quick=self.quick,
            cost=80.0 if dataset == "brazil" else 10.0,
            learner=learner,
            owners=size[0],
            rows_per_owner=size[1],
            epsilons=epsilons,
        )

    def bounds(self, runs: int) -> BoundCell:
        return BoundCell(
            where="section III-B",
            dataset="synthetic",
            runs=runs,
            seed=self.seed,
            quick=self.quick,
            cost=5.0,
        )

    def splitting(self, runs: int) -> SplitCell:
        return SplitCell(
            where="section II-D",
            dataset="synthetic",
            runs=runs,
            seed=self.seed,
            quick=self.quick,
            cost=3.0,
        )

    def coefficients(
        self, dataset: str, size: tuple[int, int], epsilons: tuple[float, ...], runs: int
    ) -> CoefficientCell:
        return CoefficientCell(
            where="section V-C",
            dataset=dataset,
            runs=runs,
            seed=self.seed,
            quick=self.quick,
            cost=5.0,
            learner="logistic",
            owners=size[0],
            rows_per_owner=size[1],
            epsilons=epsilons,
            rounds=ROUNDS,
        )

    def scale(self, learner: str, dataset: str, size: tuple[int, int]) -> ScaleCell:
        return ScaleCell(
            where=f"Table {TABLE_OF[learner]}",
            dataset=dataset,
            runs=1,
            seed=self.seed,
            cost=3.0,
            learner=learner,
            owners=size[0],
            rows_per_owner=size[1],
        )

    def patches(self, dataset: str) -> PatchCell:
        classes, words = _IMAGES[dataset]
        return PatchCell(
            where="readings",
            dataset=dataset,
            runs=1,
            seed=self.seed,
            cost=45.0,
            classes=classes,
            words=words,
        )

    def problems(self) -> ProblemCell:
        return ProblemCell(where="readings", dataset="synthetic", runs=1, seed=self.seed, cost=20.0)

    def small_patches(self, learner: str, dataset: str) -> SmallPatchCell:
        owners, rows_per_owner = SIZES[learner][dataset]
        return SmallPatchCell(
            where="readings",
            dataset=dataset,
            runs=5,
            seed=self.seed,
            cost=10.0,
            learner=learner,
            owners=owners,
            rows_per_owner=rows_per_owner,
            epsilons=_CURVE_EPSILONS[dataset],
            rounds=ROUNDS,
        )

    def over_owners(self, dataset: str, owners: int, runs: int) -> TableCell:
        """A point of Fig. 3."""
        return TableCell(
            where="Fig. 3",
            dataset=dataset,
            runs=runs,
            seed=self.seed,
            quick=self.quick,
            learner="centroid",
            owners=owners,
            rows_per_owner=4,
            epsilons=(5.0,),
            mechanisms=("duchi", "piecewise"),
        )

    def curve(
        self,
        learner: str,
        dataset: str,
        size: tuple[int, int],
        epsilons: tuple[float, ...],
        runs: int,
    ) -> BoostingCell:
        return BoostingCell(
            where=_CURVE_FIGURES[learner],
            dataset=dataset,
            runs=runs,
            seed=self.seed,
            quick=self.quick,
            cost=60.0 if dataset == "synthetic" and not self.quick else 15.0,
            learner=learner,
            owners=size[0],
            rows_per_owner=size[1],
            epsilons=epsilons,
            rounds=ROUNDS,
        )

    def readings(
        self,
        learner: str,
        dataset: str,
        size: tuple[int, int],
        epsilons: tuple[float, ...],
        runs: int,
    ) -> ReadingCell:
        return ReadingCell(
            where="readings",
            dataset=dataset,
            runs=runs,
            seed=self.seed,
            quick=self.quick,
            cost=60.0 if dataset == "synthetic" and not self.quick else 10.0,
            learner=learner,
            owners=size[0],
            rows_per_owner=size[1],
            epsilons=epsilons,
            rounds=ROUNDS,
        )
