"""How good predictions are on rows with known classes or numbers: what people measure, each with
its error.

Every measure is a smooth function of means over rows, or a mean over pairs of rows (AUC); so it has
an influence function, what one row more of its kind would move it by, and its standard error is
the spread of influences over the root of the rows. Intervals are 1.96 standard errors to each side:
95 %, for rows that were drawn independently of each other and of the model. AUC's is DeLong's.

For two classes precision, recall and F1 are those of the second one; AUC is its rank. For more,
F1 and AUC are means over classes, each against the rest. Of numbers the first measure is the
variance explained (R^2). How well the rows of a file fit a model is said beside them.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from pathlib import Path

import numpy as np

from tacit._util.checks import bad
from tacit._util.types import BoolArray, FloatArray, IntArray

_BINS = 10  # of the chance of the predicted class, for calibration
_SMALLEST = 1e-15  # a chance of 0 for what happened costs that of this
_AMOUNTS = "RMSE", "MAE"  # in the unit of the target
_SHOWN = 5  # columns in a line of misfits


@dataclass(frozen=True)
class Figure:
    """A measure on rows; `error` is half of its 95 % interval.

    >>> str(Figure("accuracy", 0.91234, 0.0123))
    '0.912 ± 0.012'
    """

    name: str
    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"


class Amount(Figure):
    """A measure in the unit of the target, with as many decimals as its error has any use for.

    >>> str(Amount("RMSE", 1234.5678, 12.3)), str(Amount("RMSE", 0.012345, 0.00021))
    ('1,235 ± 12', '0.01235 ± 0.00021')
    """

    def __str__(self) -> str:
        size = self.error or abs(self.value) or 1.0
        decimals = max(0, 1 - floor(log10(size)))
        return f"{self.value:,.{decimals}f} ± {self.error:,.{decimals}f}"


@dataclass(frozen=True)
class Measures:
    """All measures on the same rows; a measure that needs a class which no row has is left out."""

    rows: int
    figures: tuple[Figure, ...]

    def __getitem__(self, name: str) -> Figure:
        return next(figure for figure in self.figures if figure.name == name)

    @property
    def others(self) -> str:
        """All but the first in one line, each with its interval.

        >>> Measures(9, (Figure("accuracy", 0.9, 0.1), Figure("AUC", 0.8, 0.05))).others
        'AUC 0.800 ± 0.050'
        """
        return ", ".join(f"{figure.name} {figure}" for figure in self.figures[1:])

    @classmethod
    def read(cls, rows: int, found: Mapping[str, Mapping[str, float]]) -> "Measures":
        """What `as_dict` wrote."""
        return cls(
            rows,
            tuple(
                (Amount if name in _AMOUNTS else Figure)(name, **figure)
                for name, figure in found.items()
            ),
        )

    @property
    def as_dict(self) -> dict[str, dict[str, float]]:
        """For documents."""
        return {each.name: {"value": each.value, "error": each.error} for each in self.figures}


def measure(chances: FloatArray, classes: IntArray) -> Measures:
    """Chances (rows, classes) against class numbers; rows with a class of -1 do not count.

    >>> found = measure(np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), np.array([0, 1, 1]))
    >>> round(found["accuracy"].value, 3), round(found["AUC"].value, 3)
    (0.667, 1.0)
    """
    known = classes >= 0
    if not known.any():
        raise bad("rows", "such that some have a known class", 0)
    likely, y = chances[known], classes[known]
    said = likely.argmax(axis=1)
    given = [k for k in range(likely.shape[1]) if (y == k).any() and (y != k).any()]
    scored = [1] if likely.shape[1] == 2 else given
    named = [k for k in scored if ((y == k) | (said == k)).any()]
    found: list[tuple[str, float, FloatArray]] = [
        _mean("accuracy", (said == y).astype(np.float64)),
        _balanced_accuracy(said, y),
        *_over("F1", named, lambda k: _f1(said == k, y == k)),
        *_over("AUC", [k for k in scored if k in given], lambda k: _auc(likely[:, k], y == k)),
        _mean("log loss", -np.log(np.maximum(likely[np.arange(len(y)), y], _SMALLEST))),
        _calibration(likely.max(axis=1), said == y),
    ]
    root = np.sqrt(len(y))
    return Measures(
        len(y),
        tuple(
            Figure(name, float(value), float(1.96 * np.sqrt(np.mean(moves**2)) / root))
            for name, value, moves in found
        ),
    )


def side_by_side(
    ours: Sequence[Figure], alone: Sequence[Figure]
) -> list[tuple[Figure, Figure | None]]:
    """Each measure with that of the other model on the same rows; None where there is none, as F1
    of a class that neither any row has nor this model says.
    """
    known = {each.name: each for each in alone}
    return [(each, known.get(each.name)) for each in ours]


VARIANCE = "variance explained"


def measure_numbers(said: FloatArray, targets: FloatArray) -> Measures:
    """Predicted numbers against targets; rows whose target is no number do not count. Where all
    targets are alike there is no variance to explain, and that measure is left out.

    >>> found = measure_numbers(np.array([1.0, 2.0, 3.0, 9.0]), np.array([1.0, 2.0, 4.0, np.nan]))
    >>> found.rows, round(found["variance explained"].value, 3), round(found["MAE"].value, 3)
    (3, 0.786, 0.333)
    """
    known = np.isfinite(targets)
    if not known.any():
        raise bad("rows", "such that some have a number as target", 0)
    y, missed = targets[known], targets[known] - said[known]
    squares, away = missed**2, (y - y.mean()) ** 2
    error, spread, size = float(squares.mean()), float(away.mean()), float(np.abs(missed).mean())
    root = np.sqrt(len(y))

    def interval(moves: FloatArray) -> float:
        return float(1.96 * np.sqrt(np.mean(moves**2)) / root)

    first = []
    if spread > 0:
        moves = (error * (away - spread) / spread - (squares - error)) / spread
        first = [Figure(VARIANCE, 1 - error / spread, interval(moves))]
    steep = 2 * np.sqrt(error) or 1.0  # of the square: where nothing is missed nothing moves
    others = (
        Amount("RMSE", float(np.sqrt(error)), interval((squares - error) / steep)),
        Amount("MAE", size, interval(np.abs(missed) - size)),
    )
    return Measures(len(y), (*first, *others))


def _mean(name: str, values: FloatArray) -> tuple[str, float, FloatArray]:
    mean = float(values.mean())
    return name, mean, values - mean


def _balanced_accuracy(said: IntArray, y: IntArray) -> tuple[str, float, FloatArray]:
    """The mean over classes of how often each is found."""
    there, codes = np.unique(y, return_inverse=True)
    sizes = np.bincount(codes)
    right = said == y
    found = np.bincount(codes, weights=right) / sizes
    moves = (right - found[codes]) * len(y) / (len(there) * sizes[codes])
    return "balanced accuracy", float(found.mean()), np.asarray(moves)


def _over(
    name: str, classes: list[int], one: Callable[[int], tuple[float, FloatArray]]
) -> list[tuple[str, float, FloatArray]]:
    """A mean over classes, if there are any."""
    if not classes:
        return []
    parts = [one(k) for k in classes]
    moves = np.mean([part[1] for part in parts], axis=0)
    return [(name, float(np.mean([part[0] for part in parts])), np.asarray(moves))]


def _f1(said: BoolArray, true: BoolArray) -> tuple[float, FloatArray]:
    """2 TP / (2 TP + FP + FN)."""
    both = (said & true).astype(np.float64)
    either = 2 * both + (said ^ true)
    value = 2 * both.mean() / either.mean()
    return float(value), np.asarray((2 * both - value * either) / either.mean())


def _auc(score: FloatArray, true: BoolArray) -> tuple[float, FloatArray]:
    """How often a row of the class has the higher score of a pair, half of the ties counted."""
    above, below = score[true], score[~true]
    moves = np.empty(len(score))
    ranks = _part_below(np.sort(below), above)
    value = float(ranks.mean())
    moves[true] = (ranks - value) * len(score) / len(above)
    moves[~true] = ((1 - _part_below(np.sort(above), below)) - value) * len(score) / len(below)
    return value, moves


def _part_below(ordered: FloatArray, values: FloatArray) -> FloatArray:
    less = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return np.asarray(less / (2 * len(ordered)))


def _calibration(sure: FloatArray, right: BoolArray) -> tuple[str, float, FloatArray]:
    """The expected calibration error: by how much the chance of what is said and how often it is
    right differ, on average over ten bins of that chance.
    """
    bins = np.minimum((sure * _BINS).astype(np.int64), _BINS - 1)
    gap = np.bincount(bins, weights=right - sure, minlength=_BINS) / len(sure)
    value = float(np.abs(gap).sum())
    return "calibration error", value, np.asarray(np.sign(gap)[bins] * (right - sure) - value)


def misfits_line(found: Mapping[str, int], path: Path) -> str:
    """Values of a user's own file that a model cannot take as they are, the worst columns in one
    line; empty where everything fits. Never for owners' rows.

    >>> misfits_line({"age": 1, "town": 1200}, Path("new.csv")).partition("missing, ")[2]
    'unknown to the model or beyond its bounds: town 1,200, age 1'
    """
    if not found:
        return ""
    worst = ", ".join(f"{name} {count:,}" for name, count in Counter(found).most_common(_SHOWN))
    others = len(found) - _SHOWN
    more = f" and {others} more column{'' if others == 1 else 's'}" if others > 0 else ""
    return (
        f"values of {path} that are missing, unknown to the model or beyond its bounds: "
        f"{worst}{more}"
    )
