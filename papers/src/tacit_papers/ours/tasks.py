"""The tasks on which private data has to pay: who the owners are, and what the data user holds."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.datasets import make_classification

from tacit._util.checks import bad
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Cohort, Public
from tacit.mechanisms.streams import Stream
from tacit_papers.datasets import adult, covertype, fashion_words, mnist_words, pnad, synthetic
from tacit_papers.datasets.split import Split

PUBLIC_ROWS = (50, 200, 1000)
QUICK_PUBLIC_ROWS = (50, 1000)
_TEST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to deal to `owners` owners of `rows` each, the data user's own rows, and rows to test
    on.
    """

    name: str
    split: Split
    owners: int
    rows: int
    public_rows: tuple[int, ...] = PUBLIC_ROWS

    def public(self, rows: int, run: int) -> Public:
        """So many of the data user's rows, drawn at random for each run."""
        order = np.random.default_rng([run, 1]).permutation(len(self.split.y_public))[:rows]
        return Public(self.split.X_public[order], self.split.y_public[order], self.split.classes)

    def cohort(self, run: int) -> Cohort:
        """Training rows dealt out at random to owners of equal size; none is dealt twice."""
        order = np.random.default_rng([run, 2]).permutation(len(self.split.y_train))[
            : self.owners * self.rows
        ]
        X, y = self.split.X_train[order], self.split.y_train[order]
        return Cohort(X, y, np.arange(self.owners + 1) * self.rows)

    def accuracy(self, guesses: IntArray) -> float:
        return float(np.mean(guesses == self.split.y_test))


# Owners and rows of each.
SIZES = {
    "mnist 4 or 9": (10_000, 4),
    "synthetic": (20_000, 4),
    "covertype 1 or 2": (100_000, 4),
    "fashion 0 or 6": (10_000, 4),
    "adult": (7_600, 4),
    "pnad": (13_000, 4),
    "mnist ten": (15_000, 4),
    "clusters 1e5": (79_000, 1),
    "clusters 1e6": (979_000, 1),
    "clusters 1e7": (9_979_000, 1),
    "board 1e5": (100_000, 1),
    "board 1e6": (1_000_000, 1),
}


def task_of(name: str) -> Task:
    """A task by its name."""
    if name not in SIZES:
        raise bad("dataset", f"one of {tuple(SIZES)}", name)
    owners, rows = SIZES[name]
    if name.startswith("clusters"):
        split = clusters(int(float(name.split()[1])))
    else:
        split = board(owners) if name.startswith("board") else _split(name)
    return Task(name, split, owners, rows, public_sizes(name))


def public_sizes(name: str) -> tuple[int, ...]:
    """Sizes of the data user's sample that a task is measured with; very many owners only with
    the largest.
    """
    return PUBLIC_ROWS[-1:] if name in ("clusters 1e6", "clusters 1e7") else PUBLIC_ROWS


def seconds_of(name: str, quick: bool = False) -> float:
    """About how long one run of all methods with one size of the public sample takes on one core,
    for the time that is left: what owners add up for two servers takes most of it.
    """
    if quick:
        return 10.0
    owners, rows = SIZES[name]
    return 25.0 + owners * rows / (500 if name == "mnist ten" else 1_000)


@lru_cache(maxsize=1)
def task_for(name: str, quick: bool) -> Task:
    """A task, kept for the next cell of the same one; quick: a few made-up rows, whatever the
    name.
    """
    return quick_task() if quick else task_of(name)


def quick_task() -> Task:
    """A few made-up rows, for a look in seconds."""
    return Task("synthetic", synthetic(n=60_000), 5_000, 4, QUICK_PUBLIC_ROWS)


def clusters(n: int, public: int = 1000, test: int = _TEST_ROWS, seed: int = 0) -> Split:
    """make_classification(n, 20, n_informative=10, n_redundant=10, random_state=0), dealt to user,
    tests and owners.

    Another n is another problem. Features are scaled to [-1, 1] by the data user's rows.
    """
    X, y = make_classification(n, 20, n_informative=10, n_redundant=10, random_state=seed)
    low, high = X[:public].min(axis=0), X[:public].max(axis=0)
    X -= low
    X *= 2 / (high - low)
    X -= 1
    np.clip(X, -1, 1, out=X)
    y = y.astype(np.int64)
    parts = [slice(public + test, n), slice(0, public), slice(public, public + test)]
    train, known, shown = ((X[part], y[part]) for part in parts)
    return Split.of("clusters", train, known, shown)


def board(owners: int, public: int = 1000, test: int = _TEST_ROWS, seed: int = 0) -> Split:
    """A board of three by three fields in two of ten columns, one label in twenty wrong: no
    lines, no products.
    """
    coins = np.random.default_rng(seed)
    X = coins.uniform(-1, 1, (owners + public + test, 10))
    fields = np.floor(1.5 * (X[:, 0] + 1)) + np.floor(1.5 * (X[:, 1] + 1))
    y = (fields.astype(np.int64) + (coins.random(len(X)) < 0.05)) % 2
    parts = [slice(public + test, None), slice(0, public), slice(public, public + test)]
    train, known, shown = ((X[part], y[part]) for part in parts)
    return Split.of("board", train, known, shown)


def skew_labels(cohort: Cohort, classes: int, alpha: float, run: int) -> Cohort:
    """The same rows and sizes, dealt so that each owner's classes follow its own
    Dirichlet(alpha) draw.
    """
    coins = np.random.default_rng([run, 3])
    waiting = [coins.permutation(np.flatnonzero(cohort.y == k)).tolist() for k in range(classes)]
    left = np.array([len(each) for each in waiting])
    order = np.empty(len(cohort.y), dtype=np.int64)
    wishes = coins.dirichlet(np.full(classes, alpha), size=len(cohort))
    for owner in range(len(cohort)):
        for place in range(cohort.offsets[owner], cohort.offsets[owner + 1]):
            chance = wishes[owner] * (left > 0) + 1e-9 * left
            k = int(
                np.searchsorted(np.cumsum(chance), coins.random() * chance.sum()).clip(
                    max=classes - 1
                )
            )
            k = k if left[k] else int(np.argmax(left))
            order[place] = waiting[k].pop()
            left[k] -= 1
    return Cohort(cohort.X[order], cohort.y[order], cohort.offsets)


def shift_features(cohort: Cohort, size: float, run: int) -> Cohort:
    """Every owner's rows moved by a vector of its own, normal with standard deviation `size`,
    clipped to [-1, 1].
    """
    coins = np.random.default_rng([run, 4])
    moves: FloatArray = size * coins.normal(size=(len(cohort), cohort.X.shape[1]))
    return Cohort(
        np.clip(cohort.X + np.repeat(moves, cohort.sizes, axis=0), -1, 1), cohort.y, cohort.offsets
    )


def coins_of(stream: Stream, *path: object) -> Stream:
    """The coins of one run of one method."""
    return stream.child("ahead", *(str(part) for part in path))


def _split(name: str) -> Split:
    if name == "synthetic":
        return synthetic(n=200_000)
    if name == "mnist 4 or 9":
        return mnist_words()
    if name == "fashion 0 or 6":
        return fashion_words()
    if name == "covertype 1 or 2":
        return covertype(public=1_000, test=0.15)
    if name == "adult":
        return adult()
    if name == "pnad":
        return pnad()
    return mnist_words(digits=tuple(range(10)), per_class=6_000, test_per_class=890, place=1.0)
