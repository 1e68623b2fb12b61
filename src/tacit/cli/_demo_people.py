"""Made-up people for the demonstration: a problem in numbers, and a table like those that users
have.

GENERATED: no row is a person. Both are drawn with public seeds; they need no file and no network.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

from tacit._util.types import AnyArray, FloatArray, IntArray
from tacit.data.cohort import Cohort, Public

FEATURES, INFORMATIVE = 20, 10
_PROBLEM = 83  # of `make_classification`, whose problems differ widely: neither easy nor hopeless
_TEST_ROWS = 10_000
LABEL = "income"
FILES = {"people.csv": (2, 40_000), "mine.csv": (3, 60), "test.csv": (4, 5_000)}  # seed, rows
_TOWNS = ("Arden", "Brook", "Crest", "Dale", "Elm", "Ford")
_SCHOOLS = ("none", "primary", "secondary", "college")
_WORK = ("farm", "factory", "office", "shop", "care")


@dataclass(frozen=True, eq=False)
class MadeUpRows:
    """Rows of owners, of the data user, and to test on: features in [-1, 1] by the public rows."""

    X: FloatArray
    y: IntArray
    X_public: FloatArray
    y_public: IntArray
    X_test: FloatArray
    y_test: IntArray

    def cohort(self, owners: int, rows: int, run: int) -> Cohort:
        """Owners of equal size with rows dealt out at random."""
        order = np.random.default_rng([run, 2]).permutation(len(self.y))[: owners * rows]
        return Cohort(self.X[order], self.y[order], np.arange(owners + 1) * rows)

    def public(self, rows: int, run: int) -> Public:
        """So many of the data user's rows, drawn anew for each run."""
        order = np.random.default_rng([run, 1]).permutation(len(self.y_public))[:rows]
        return Public(self.X_public[order], self.y_public[order], 2)


def population(owned_rows: int, public_rows: int) -> MadeUpRows:
    """Two classes around corners of a cube, with rows for everybody."""
    public = max(public_rows, 2_000)
    X, y = make_classification(
        owned_rows + public + _TEST_ROWS,
        n_features=FEATURES,
        n_informative=INFORMATIVE,
        n_redundant=FEATURES - INFORMATIVE,
        random_state=_PROBLEM,
    )
    low, high = X[:public].min(axis=0), X[:public].max(axis=0)
    X = np.clip(2 * (X - low) / (high - low) - 1, -1, 1)
    y = y.astype(np.int64)
    test = public + _TEST_ROWS
    return MadeUpRows(X[test:], y[test:], X[:public], y[:public], X[public:test], y[public:test])


def people(rows: int, seed: int) -> dict[str, AnyArray]:
    """Columns of a small survey: numbers, texts, truth values, gaps; income depends on most of
    them.
    """
    rng = np.random.default_rng([seed, _PROBLEM])
    age = rng.integers(18, 80, rows)
    town = rng.integers(0, len(_TOWNS), rows)
    school = np.clip(rng.normal(1.9 - (age - 45) / 60, 0.9, rows).round(), 0, 3).astype(int)
    work = rng.integers(0, len(_WORK), rows)
    hours = np.clip(rng.normal(38, 9, rows), 0, 80).round()
    married = rng.random(rows) < 0.35 + 0.005 * (age - 18)
    level = 0.05 * (hours - 38) + 0.9 * (school - 1.6) - (age - 50.0) ** 2 / 700 + 0.3 * married
    level += np.array([0.4, -0.3, 0.0, 0.2, -0.5, 0.1])[town]
    level += np.array([-0.9, 0.0, 0.6, -0.2, -0.1])[work] + 0.7
    high = rng.logistic(0, 0.8, rows) < level
    told = np.where(rng.random(rows) < 0.03, "", hours.astype(int).astype(str))  # some do not say
    return {
        "age": age,
        "town": np.array(_TOWNS)[town],
        "school": np.array(_SCHOOLS)[school],
        "work": np.array(_WORK)[work],
        "hours": told,
        "married": married,
        LABEL: np.where(high, "above", "below"),
    }


def write_files(folder: Path) -> None:
    """people.csv (each row an owner), mine.csv (public), test.csv, and new.csv without incomes."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (seed, rows) in FILES.items():
        columns = people(rows, seed)
        _write_csv(folder / name, columns)
        if name == "test.csv":
            known = {key: values for key, values in columns.items() if key != LABEL}
            _write_csv(folder / "new.csv", known)


def _write_csv(path: Path, columns: Mapping[str, AnyArray]) -> None:
    values = (column.tolist() for column in columns.values())
    rows: Iterable[tuple[object, ...]] = zip(*values, strict=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(columns)
        lines.writerows(rows)
