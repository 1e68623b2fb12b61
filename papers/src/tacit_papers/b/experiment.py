"""Paper B again: the cells of Table 2 and of Figs. 2 to 11, votes from sums over all owners.

Where the paper is silent it is read so: logistic regression and centroids are learned on all ten
digits, stumps on 4 or 9; a sample of the centroids belongs to an owner of its own; each round of
boosting has its own owners, none to spare.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tacit.algorithms.boosting import AllOwners, Boosted, boost
from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.learners.learner import Learner, ReportTerms
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump
from tacit.mechanisms.streams import Stream
from tacit.sums.base import SecureSum
from tacit.sums.two_servers import TwoServers
from tacit_papers.a.published import EPSILONS
from tacit_papers.b.hits import HitCell
from tacit_papers.b.learners import MajorityStump, OneAgainstRest, WeightedCentroid
from tacit_papers.b.ring import RingSum
from tacit_papers.datasets.split import Split
from tacit_papers.runner import Cell
from tacit_papers.shared.curves import CurveCell
from tacit_papers.shared.first_learner import MECHANISMS, FirstCell, Learned, Line
from tacit_papers.shared.splits import public_of

DATASETS = (
    "mnist ten",
    "mnist ten, 100 words",
    "fashion, 50 words",
    "fashion",
    "brazil",
    "mnist",
    "synthetic",
)
LEARNERS: dict[str, tuple[Learner, Learner]] = {  # as published, and sound
    "logistic": (OneAgainstRest(), Logistic()),
    "centroid": (WeightedCentroid(), Centroid()),
    "stump": (MajorityStump(), Stump()),
}
_SOUND = {
    "logistic": "auto",
    "centroid": "piecewise",
    "stump": "auto",
}  # PrivUnit takes long in 1,000 dimensions
SUMS_SHARE = 0.2  # of an owner's epsilon, for all sums together
_CROWDS = {"mnist ten": (100, 200, 500, 1_000), "brazil": (100, 1_000, 10_000)}
_SAMPLES = (1_000, 3_000, 5_000, 7_000, 9_000)


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


@dataclass(frozen=True, kw_only=True)
class SummedCell(CurveCell):
    """Boosting whose votes come from all owners by secure sums.

    As published: all of epsilon for the share, exact sums. Sound: `SUMS_SHARE` of epsilon for the
    sums, one per round, the rest for the share; owners are as many as all rounds need, so that
    there can be no more sums than rounds.
    """

    paper: ClassVar[str] = "b"
    spare: ClassVar[int] = 1

    def lines(self) -> list[Line]:
        as_published, sound = LEARNERS[self.learner]
        lines = [
            Line("as published", as_published, "none", None),
            Line("sound", sound, "none", None),
        ]
        for epsilon in self.epsilons:
            lines += [
                Line("as published", as_published, "piecewise", epsilon),
                Line("as published", as_published, "duchi", epsilon),
                Line("sound", sound, _SOUND[self.learner], epsilon),
            ]
        return lines

    def boosted(self, split: Split, cohort: Cohort, line: Line, coins: Stream) -> Boosted:
        facts = line.learner.facts(public_of(split))
        epsilon, sums = self._budget(line)
        terms = ReportTerms.of(line.mechanism, line.learner.space(facts), epsilon)
        algorithm = boost(
            line.learner, facts, terms, AllOwners(), self.rounds, self.owners, self.rounds
        )
        return Inline(cohort, epsilon, coins, sums).run(algorithm)

    def _budget(self, line: Line) -> tuple[float, SecureSum]:
        """Epsilon of the share, and how sums are made."""
        if line.epsilon is None or line.learner.unsound:
            return line.epsilon or 1.0, RingSum()
        return (1 - SUMS_SHARE) * line.epsilon, TwoServers(
            epsilon=SUMS_SHARE * line.epsilon / self.rounds
        )


def cells_b(quick: bool, seed: int = 1) -> list[Cell]:
    """Full: 10 runs (100 for hitting rates), 2 or 3 where rows are a million or hardly differ.
    Quick: 2, few rows.

    The census has 10,000 owners where the paper has 100,000: the rows of these are 5 gigabytes.
    """
    if quick:
        return [
            _first("Table 2, Fig. 2", "logistic", "synthetic", (100, 40), (1.0, 7.0), 2, seed, True),
            _first("Fig. 3", "centroid", "synthetic", (4_000, 1), (1.0, 7.0), 2, seed, True),
            *(_crowd("Fig. 4", "logistic", "synthetic", (n, 40), 5.0, 2, seed, True) for n in (100, 400)),
            *(_crowd("Fig. 6", "centroid", "synthetic", (n, 1), 3.0, 2, seed, True) for n in (1_000, 4_000)),
            _curve("Fig. 7", "centroid", "synthetic", (4_000, 1), 3, (5.0,), 2, seed, True),
            HitCell(
                where="Fig. 9", dataset="synthetic", runs=20, seed=seed, quick=True, owners=1_000, rows_per_owner=40,
                epsilons=(1.0, 5.0),
            ),
            _curve("Fig. 11", "stump", "synthetic", (1_000, 4), 10, (5.0,), 2, seed, True),
        ]  # fmt: skip
    logistic = {"mnist ten": (500, 120), "fashion, 50 words": (500, 80), "brazil": (10_000, 100)}
    centroid = {
        "mnist ten": (10_000, 1),
        "fashion, 50 words": (10_000, 1),
        "brazil": (1_000_000, 1),
    }
    cells: list[Cell] = []
    for dataset, size in logistic.items():
        runs = 3 if dataset == "brazil" else 10
        cells.append(_first("Table 2, Fig. 2", "logistic", dataset, size, EPSILONS, runs, seed))
    for place, (dataset, crowds) in enumerate(_CROWDS.items()):
        rows = logistic[dataset][1] if dataset == "brazil" else 60
        runs = 5 if dataset == "mnist ten" else 3
        cells += [
            _crowd(f"Fig. {4 + place}", "logistic", dataset, (n, rows), 5.0, runs, seed)
            for n in crowds
        ]
    for dataset, size in centroid.items():
        runs = 2 if dataset == "brazil" else 10
        cells.append(_first("Fig. 3", "centroid", dataset, size, EPSILONS, runs, seed))
    cells += [
        _crowd("Fig. 6", "centroid", "mnist ten, 100 words", (n, 1), 3.0, 10, seed)
        for n in _SAMPLES
    ]
    for dataset, owners in (
        ("mnist ten, 100 words", 10_000),
        ("fashion", 10_000),
        ("brazil", 100_000),
    ):
        runs = 2 if dataset == "brazil" else 5
        cells.append(_curve("Fig. 7", "centroid", dataset, (owners, 1), 6, (3.0, 5.0), runs, seed))
    for place, (dataset, size) in enumerate((("mnist", (1_000, 40)), ("synthetic", (10_000, 75)))):
        cells.append(
            HitCell(
                where=f"Fig. {8 + place}",
                dataset=dataset,
                runs=100,
                seed=seed,
                cost=30.0,
                owners=size[0],
                rows_per_owner=size[1],
                epsilons=EPSILONS,
            )
        )
        owners, rows, runs = (1_000, 4, 10) if dataset == "mnist" else (10_000, 7, 3)
        cells.append(
            _curve(
                f"Fig. {10 + place}", "stump", dataset, (owners, rows), 10, (3.0, 5.0), runs, seed
            )
        )
    return cells


def _first(
    where: str,
    learner: str,
    dataset: str,
    size: tuple[int, int],
    epsilons: tuple[float, ...],
    runs: int,
    seed: int,
    quick: bool = False,
    mechanisms: tuple[str, ...] = MECHANISMS,
) -> ErrorCell:
    return ErrorCell(
        where=where,
        dataset=dataset,
        runs=runs,
        seed=seed,
        quick=quick,
        cost=1.0 if quick else runs * (0.5 + size[0] * size[1] / 4e4),
        learner=learner,
        owners=size[0],
        rows_per_owner=size[1],
        epsilons=epsilons,
        mechanisms=mechanisms,
        sound_mechanism=_SOUND[learner],
    )


def _crowd(
    where: str,
    learner: str,
    dataset: str,
    size: tuple[int, int],
    epsilon: float,
    runs: int,
    seed: int,
    quick: bool = False,
) -> ErrorCell:
    """A point of a figure whose axis is the number of owners; the paper leaves Laplace out
    there.
    """
    return _first(
        where, learner, dataset, size, (epsilon,), runs, seed, quick, ("duchi", "piecewise")
    )


def _curve(
    where: str,
    learner: str,
    dataset: str,
    size: tuple[int, int],
    rounds: int,
    epsilons: tuple[float, ...],
    runs: int,
    seed: int,
    quick: bool = False,
) -> SummedCell:
    return SummedCell(
        where=where,
        dataset=dataset,
        runs=runs,
        seed=seed,
        quick=quick,
        cost=1.0 if quick else runs * (1.0 + size[0] * rounds / 2e4),
        learner=learner,
        owners=size[0],
        rows_per_owner=size[1],
        epsilons=epsilons,
        rounds=rounds,
    )
