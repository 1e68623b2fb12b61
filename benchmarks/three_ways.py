"""Public only, private only and combined, side by side: does what owners say count?

    python -m benchmarks.three_ways
    python -m benchmarks.three_ways --task "forest cover" --public 50 --epsilon 1 4 --runs 5
    python -m benchmarks.three_ways --task synthetic --epsilon 0.25 0.5 1 2 4 8 --runs 3

A line per task, public rows and epsilon: means over runs in percent, by how much combined is ahead
of the better of the two others with the standard error of that, and whether it is behind by more
than one. At the end: settings that are behind, that are below public only beyond two standard
errors, and pairs of epsilons between which combined falls beyond two. Tasks are those of `tacit
reproduce ahead`, trust in nobody, and three of owners with few rows: a straight line (100,000
owners, best possible near 0.70), a pair of forest covers and of digits (30 principal components of
1,000 public images), two rows each. Runs are counted from `--first`; settings were chosen on runs
from 100 on.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.problems.families import linear
from tacit import seeded
from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import discriminate, refine
from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit_papers.datasets import covertype
from tacit_papers.datasets.images import load_mnist
from tacit_papers.datasets.split import Split
from tacit_papers.ours.tasks import SIZES, Task, task_of

_LEAST = 1e-3  # the least that counts as a standard error of an accuracy
_COMPONENTS, _KNOWN, _TEST = 30, 1_000, 5_000


@dataclass(frozen=True)
class Sides:
    """Accuracies of one run at one setting."""

    public: float
    private: float
    combined: float


def linear_task(run: int) -> Split:
    """Another line for every run."""
    coins = np.random.default_rng([run, 77])
    family, owners = linear(coins), 100_000
    X = np.asarray(family.rows(coins, owners + _KNOWN + 4 * _TEST))
    y = (family.chances(X)[:, 1] > coins.random(len(X))).astype(np.int64)
    return _deal("linear", X, y, test=4 * _TEST)


def digits_task(digits: Sequence[int]) -> Split:
    """Images of these digits by principal components of 1,000 of them, whose labels are public,
    too.
    """
    images = load_mnist()
    ours = np.isin(images.train_labels, digits)
    pixels = images.train[ours].reshape(int(ours.sum()), -1).astype(np.float64) / 255
    order = np.random.default_rng(0).permutation(len(pixels))
    pixels, y = pixels[order], np.searchsorted(digits, images.train_labels[ours][order])
    known = pixels[:_KNOWN] - pixels[:_KNOWN].mean(axis=0)
    axes = np.linalg.svd(known, full_matrices=False)[2][:_COMPONENTS]
    rows = (pixels - pixels[:_KNOWN].mean(axis=0)) @ axes.T
    return _deal("digits", rows, y.astype(np.int64), test=2_000)


def _deal(name: str, X: FloatArray, y: IntArray, test: int) -> Split:
    """Public rows first, test rows next, the rest owners'; columns in [-1, 1] by public rows."""
    low, high = X[:_KNOWN].min(axis=0), X[:_KNOWN].max(axis=0)
    X = np.clip(2 * (X - low) / (high - low) - 1, -1, 1)
    parts = [slice(_KNOWN + test, None), slice(0, _KNOWN), slice(_KNOWN, _KNOWN + test)]
    train, known, shown = ((X[part], y[part]) for part in parts)
    return Split.of(name, train, known, shown)


def named_task(name: str, run: int) -> Task:
    """A task of this page or of `tacit reproduce ahead`."""
    if name == "linear":
        return Task(name, linear_task(run), 100_000, 1)
    if name == "forest cover":
        return Task(name, covertype(public=_KNOWN, test=0.15), 20_000, 2)
    if name == "digits 4 or 9":
        return Task(name, digits_task((4, 9)), 4_000, 2)
    if name == "ten digits":
        return Task(name, digits_task(tuple(range(10))), 28_000, 2)
    return task_of(name)


OWN = ("linear", "forest cover", "digits 4 or 9", "ten digits")


def sides_of(
    task: Task, cohort: Cohort, rows: int, epsilons: Sequence[float], run: int
) -> Iterator[Sides]:
    """One run with so many public rows, epsilon by epsilon."""
    public, test = task.public(rows, run), task.split.X_test
    own = fit_public(public)
    alone = task.accuracy(own.model.predict(test))
    for epsilon in epsilons:
        crowd = Population(len(cohort), epsilon, task.rows)
        look = look_ahead(public, own, crowd)
        asks = {
            "private": discriminate(public, crowd, "auto", epsilon, own),
            "combined": refine(public, crowd, "auto", epsilon, outlook=look),
        }
        coins = seeded(run).child("three ways", task.name, rows, str(epsilon))
        found = {
            name: task.accuracy(
                Inline(cohort, epsilon, coins.child(name)).run(ask).model.predict(test)
            )
            for name, ask in asks.items()
        }
        yield Sides(alone, found["private"], found["combined"])


@dataclass(frozen=True)
class Line:
    """Means of one setting; `lead` is combined less the better of both others, run by run."""

    task: str
    rows: int
    epsilon: float
    runs: tuple[Sides, ...]

    def values(self, name: str) -> FloatArray:
        return np.array([getattr(each, name) for each in self.runs])

    @property
    def lead(self) -> FloatArray:
        better = max((self.values("public"), self.values("private")), key=np.mean)
        return np.asarray(self.values("combined") - better)

    @property
    def is_behind(self) -> bool:
        return bool(self.lead.mean() < -error_of(self.lead))

    @property
    def harms(self) -> bool:
        rise = self.values("combined") - self.values("public")
        return bool(rise.mean() < -2 * error_of(rise))

    def falls_to(self, other: "Line") -> bool:
        """Whether combined is lower at the larger epsilon of the other, beyond two errors."""
        if (self.task, self.rows) != (other.task, other.rows) or self.epsilon >= other.epsilon:
            return False
        rise = other.values("combined") - self.values("combined")
        return bool(rise.mean() < -2 * error_of(rise))

    def __str__(self) -> str:
        public, private, combined = (
            f"{100 * self.values(name).mean():.1f}" for name in ("public", "private", "combined")
        )
        return (
            f"{self.task:16} {self.rows:>5} rows, epsilon {self.epsilon:<5g} public {public} "
            f"private {private} combined {combined} lead {100 * self.lead.mean():+.2f} +- "
            f"{100 * error_of(self.lead):.2f}{' BEHIND' if self.is_behind else ''}"
            f"{' HARM' if self.harms else ''}"
        )


def error_of(differences: FloatArray) -> float:
    """The standard error of a mean, a tenth of a point at least."""
    if len(differences) < 2:
        return _LEAST
    return max(float(differences.std(ddof=1)) / float(np.sqrt(len(differences))), _LEAST)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.three_ways", description=__doc__)
    parser.add_argument("--task", nargs="*", default=list(OWN), choices=[*OWN, *SIZES])
    parser.add_argument("--public", nargs="*", type=int, default=[50, 200])
    parser.add_argument("--epsilon", nargs="*", type=float, default=[1.0, 4.0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    lines = list[Line]()
    for name in asked.task:
        found: dict[tuple[int, float], list[Sides]] = {}
        task = named_task(name, asked.first)
        for run in range(asked.first, asked.first + asked.runs):
            task = named_task(name, run) if name == "linear" else task
            cohort = task.cohort(run)
            for rows in asked.public:
                sides = sides_of(task, cohort, rows, asked.epsilon, run)
                for epsilon, each in zip(asked.epsilon, sides, strict=True):
                    found.setdefault((rows, epsilon), []).append(each)
        for (rows, epsilon), runs in found.items():
            lines.append(Line(name, rows, epsilon, tuple(runs)))
            print(lines[-1], flush=True)
    falls = sum(a.falls_to(b) for a in lines for b in lines)
    print(
        f"settings: {len(lines)}, runs of each: {asked.runs}; behind beyond one standard error: "
        f"{sum(line.is_behind for line in lines)}; below public only beyond two: "
        f"{sum(line.harms for line in lines)}; pairs of epsilons where it falls beyond two: {falls}"
    )


if __name__ == "__main__":
    main()
