"""A data set in three parts: the owners' rows, the data user's own sample, and rows to test on; and
a made-up one, as in paper A.
"""

from dataclasses import dataclass, fields
from typing import Self, TypeAlias

import numpy as np
from sklearn.datasets import make_classification

from tacit._util.checks import bad, whole
from tacit._util.types import AnyArray, FloatArray, IntArray

Part: TypeAlias = tuple[FloatArray, IntArray]
PARTS = ("train", "public", "test")


@dataclass(frozen=True, eq=False)
class Split:
    """Features in [-1, 1], classes 0..K-1.

    `train` rows belong to owners. `public` is the data user's own sample: it must be public, or its
    owners agree that what is computed from it is published. `test` rows are seen by nobody before
    the end.

    >>> x, y = np.array([[0.5], [-1.0]]), np.array([0, 1])
    >>> split = Split("tiny", x, y, x, y, x, y)
    >>> split.dim, split.classes, split
    (1, 2, Split('tiny', dim=1, classes=2, train=2, public=2, test=2))
    """

    name: str
    X_train: FloatArray
    y_train: IntArray
    X_public: FloatArray
    y_public: IntArray
    X_test: FloatArray
    y_test: IntArray

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise bad("name", "a string", self.name)
        for part in PARTS:
            object.__setattr__(
                self, f"X_{part}", _features(f"X_{part}", getattr(self, f"X_{part}"))
            )
            object.__setattr__(self, f"y_{part}", _labels(f"y_{part}", getattr(self, f"y_{part}")))
        for part in PARTS:
            X, y = getattr(self, f"X_{part}"), getattr(self, f"y_{part}")
            if not X.shape[1] == self.dim:
                raise ValueError(
                    f"X_{part} must have {self.dim} columns like X_train, got {X.shape[1]}"
                )
            if not len(X) == len(y):
                raise ValueError(
                    f"y_{part} must have one class for each of {len(X)} rows, got {len(y)}"
                )
        present = np.unique(
            np.concatenate([np.unique(getattr(self, f"y_{part}")) for part in PARTS])
        )
        if not len(present) == self.classes:
            raise ValueError(f"classes must be 0..K-1 without gaps, got {present.tolist()}")

    @property
    def dim(self) -> int:
        """How many features a row has."""
        return int(self.X_train.shape[1])

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return 1 + max(int(getattr(self, f"y_{part}").max()) for part in PARTS)

    def arrays(self) -> dict[str, AnyArray]:
        """The six arrays by name."""
        return {
            field.name: getattr(self, field.name) for field in fields(self) if field.name != "name"
        }

    @classmethod
    def of(cls, name: str, train: Part, public: Part, test: Part) -> Self:
        """A split from three pairs (X, y)."""
        return cls(name, *train, *public, *test)

    def __repr__(self) -> str:
        rows = ", ".join(f"{part}={len(getattr(self, f'y_{part}'))}" for part in PARTS)
        return f"Split({self.name!r}, dim={self.dim}, classes={self.classes}, {rows})"


def _features(name: str, value: object) -> FloatArray:
    """`value` as float64 rows inside [-1, 1]; the message never tells a value."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or not (
        array.ndim == 2 and array.shape[0] >= 1 and array.shape[1] >= 1
    ):
        raise ValueError(
            f"{name} must be a matrix of real numbers with rows, got {array.dtype} of shape "
            f"{array.shape}"
        )
    if not (array.min() >= -1 and array.max() <= 1):
        raise ValueError(f"{name} must be inside [-1, 1], got entries outside or NaN")
    return np.ascontiguousarray(array, dtype=np.float64)


def _labels(name: str, value: object) -> IntArray:
    """`value` as int64 class numbers."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu" or not (array.ndim == 1 and len(array) >= 1):
        raise ValueError(
            f"{name} must be a vector of whole numbers, got {array.dtype} of shape {array.shape}"
        )
    if not array.min() >= 0:
        raise ValueError(f"{name} must hold class numbers >= 0, got a negative one")
    return np.ascontiguousarray(array, dtype=np.int64)


DIM, INFORMATIVE = 20, 10
PROBLEM = 83
_POPULATION = 1_000_000


def synthetic(n: int = 1_000_000, seed: int = 0, problem: int = PROBLEM) -> Split:
    """Two balanced classes, 20 features (10 informative, 10 combinations of them): 75 % train, 20 %
    test, 5 % public.

    Features are scaled by least and largest value of the public part to [-1, 1], and clipped.
    `seed` deals rows to the parts. `problem` is the seed of `make_classification`, whose problems
    differ widely. The default was chosen among the first 205 as like the paper's, at a million rows
    and class separation 1 (in brackets the paper's figures): centroids 0.58 apart (0.5), error of
    the nearest centroid 13 % (13 %), of ten boosted ones 12 % (9 %), of the best stump 28 % (30 %),
    of ten boosted stumps 15 % (19 %, with noise).

    The problem is always drawn with a million rows (n, if that is more) and n of them are taken, so
    that a small n is the same problem with fewer rows; `make_classification` of another size would
    be another problem. The scale is narrower then, so centroids are farther apart.
    """
    n, seed, problem = whole("n", n, 20), whole("seed", seed, 0), whole("problem", problem, 0)
    X, y = make_classification(
        max(n, _POPULATION),
        n_features=DIM,
        n_informative=INFORMATIVE,
        n_redundant=DIM - INFORMATIVE,
        random_state=problem,
    )
    order = np.random.default_rng(seed).permutation(len(y))[:n]
    X, y = X[order], y[order].astype(np.int64)
    public, test = n // 20, n // 5
    low, high = X[:public].min(axis=0), X[:public].max(axis=0)
    if not (high > low).all():
        raise ValueError(f"n must give public rows that differ, got {n}")
    X -= low
    X *= 2 / (high - low)
    X -= 1
    np.clip(X, -1, 1, out=X)
    known, shown = slice(0, public), slice(public, public + test)
    rest = slice(public + test, n)
    return Split.of("synthetic", (X[rest], y[rest]), (X[known], y[known]), (X[shown], y[shown]))
