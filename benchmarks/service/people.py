"""Made-up people for campaigns: a table with a label that half a dozen columns tell something
about.
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import tacit
from tacit.data.table_file import TableFile

_PLACES = ("north", "east", "south", "west")
_WEIGHTS = np.array([1.2, -0.8, 0.6, 0.4, 0.0, -0.3])


@dataclass(frozen=True)
class People:
    """Who takes part: `processes` files of `each` owners with `rows` rows; the data user has
    `sample` rows.
    """

    processes: int
    each: int
    rows: int
    sample: int = 200
    test: int = 4000
    seed: int = 1

    @property
    def owners(self) -> int:
        return self.processes * self.each

    def write(self, folder: Path) -> None:
        """sample.csv, test.csv, and owners-000.csv and so on, in the order of owners' names."""
        rng = np.random.default_rng(self.seed)
        _write(folder / "sample.csv", _rows(self.sample, rng))
        _write(folder / "test.csv", _rows(self.test, rng))
        for process in range(self.processes):
            rows = _rows(self.each * self.rows, rng)
            for number, row in enumerate(rows):
                row["who"] = f"owner {process * self.each + number // self.rows:05d}"
            _write(folder / f"owners-{process:03d}.csv", rows)


def scores(folder: Path) -> tuple[float, float]:
    """Accuracy on the test rows: of model.tacit, and of logistic regression on the data user's
    sample alone.
    """
    published = tacit.load(folder / "model.tacit")
    test, sample = (TableFile.open(folder / name).read() for name in ("test.csv", "sample.csv"))
    rows, right = published.schema_.conform(test, "test.csv"), test.column("ill")
    own = published.schema_.encode(sample, "sample.csv").X
    alone = LogisticRegression(max_iter=1000).fit(own, sample.column("ill"))
    guesses = alone.predict(published.schema_.encode(rows).X)
    return float(published.score(rows, right)), float(np.mean(guesses == right))


def _rows(count: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    x = rng.normal(size=(count, len(_WEIGHTS)))
    place = rng.integers(len(_PLACES), size=count)
    tendency = (
        x @ _WEIGHTS + np.array([0.5, 0.0, -0.5, 0.0])[place] + 0.7 * rng.logistic(size=count)
    )
    return [
        {
            **{f"x{j}": round(v, 4) for j, v in enumerate(row)},
            "place": _PLACES[p],
            "ill": "yes" if t > 0 else "no",
        }
        for row, p, t in zip(x.tolist(), place.tolist(), tendency.tolist(), strict=True)
    ]


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
