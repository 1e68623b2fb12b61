"""How good a model is: what to expect of so many owners at such an epsilon before anything is
collected, from public knowledge alone; and what was measured on rows with known classes, each with
its error.

Every measure is a smooth function of means over rows, or a mean over pairs of rows (AUC); so it has
an influence function, what one row more of its kind would move it by, and its standard error is
the spread of influences over the root of the rows. Intervals are 1.96 standard errors to each side:
95 %, for rows that were drawn independently of each other and of the model. AUC's is DeLong's.

For two classes precision, recall and F1 are those of the second one; AUC is its rank. For more,
F1 and AUC are means over classes, each against the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._util.checks import bad, positive, whole
from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.question import DELTA, Population
from tacit.algorithms.refinement import LEAST_GAIN, Outlook, look_ahead, too_little
from tacit.data.sample import Sample
from tacit.data.schema import Schema
from tacit.mechanisms.spaces import Ball
from tacit.sums import NOBODY
from tacit.sums.halves import Batch, SumTerms

_DRAWS, _SEED = 200, 0


@dataclass(frozen=True)
class Plan:
    """What collecting is expected to bring; its text says it in words.

    Parameters
    ----------
    owners : int
        How many are asked.
    epsilon : float
        What each of them may spend.
    rows_per_owner : int
        How many rows an owner is believed to hold.
    public_rows : int
        The data user's own rows.
    public_model : str
        Which model is best for them.
    public_accuracy : float or None
        Its accuracy, cross-validated; None where rows are too few to tell.
    rise : float
        What owners should add to it.
    gain : float
        The same in nats of log loss.
    features : str
        The public feature map of the correction.
    numbers : int
        The length of a share.
    rounds : int
        In how many rounds to ask, each with other owners.
    collect : bool
        Whether to ask at all.
    bytes : int, default=16
        What an owner sends in a round.
    trust : str, default="nobody"
        Whom owners trust: nobody, or that one of "two servers" is honest.
    delta : float, default=0.0
        With two servers, the chance that epsilon does not hold.
    """

    owners: int
    epsilon: float
    rows_per_owner: int
    public_rows: int
    public_model: str
    public_accuracy: float | None
    rise: float
    gain: float
    features: str
    numbers: int
    rounds: int
    collect: bool
    bytes: int = 16
    trust: str = NOBODY
    delta: float = 0.0

    @property
    def accuracy(self) -> float | None:
        """Expected accuracy with the owners' answers."""
        return None if self.public_accuracy is None else min(1.0, self.public_accuracy + self.rise)

    @classmethod
    def of(cls, outlook: Outlook) -> "Plan":
        """An outlook in the words of a plan."""
        belief = outlook.combination
        population, public = belief.population, belief.public
        return cls(
            owners=population.owners,
            epsilon=population.epsilon,
            rows_per_owner=population.rows,
            public_rows=len(public.y),
            public_model=belief.own.name,
            public_accuracy=belief.own.accuracy,
            rise=belief.expected_rise(_DRAWS, _SEED),
            gain=outlook.gain,
            features=belief.features,
            numbers=belief.numbers,
            rounds=outlook.rounds,
            collect=outlook.gain >= LEAST_GAIN,
            bytes=_report_bytes(outlook) if population.summed else 16,
            trust=population.trust,
            delta=population.delta if population.summed else 0.0,
        )

    def _repr_html_(self) -> str:
        """For notebooks."""
        from tacit.estimators.displays import plan_html

        return plan_html(self)

    def __str__(self) -> str:
        alone = (
            "too few rows to tell"
            if self.public_accuracy is None
            else f"{self.public_accuracy:.3f}"
        )
        whom = f"{self.owners:,} owners at epsilon {self.epsilon:g}"
        if self.trust != NOBODY:
            whom += f" and delta {self.delta:g}, trusting one of two servers,"
        if not self.collect:
            return (
                f"Do not collect: {whom} will not "
                "beat your own "
                f"{self.public_rows:,} rows (accuracy {alone}, {self.public_model}). "
                f"Expected: {100 * self.rise:+.2f} points of accuracy; {too_little(self.gain)}."
            )
        together = "unknown" if self.accuracy is None else f"{self.accuracy:.3f}"
        each = "" if self.trust == NOBODY else " in each round"
        return (
            f"Collect: {whom} should bring "
            f"accuracy {together}, your own "
            f"{self.public_rows:,} rows alone {alone} ({self.public_model}). {self.numbers} "
            "numbers in a share "
            f"({self.features}), {self.bytes:,} bytes from each owner{each}, rounds: {self.rounds}."
        )


def _report_bytes(outlook: Outlook) -> int:
    """Of one share in two sealed halves with its proof; its size does not depend on keys."""
    belief = outlook.combination
    law = belief.population.sum_terms(Ball(belief.numbers, 1.0), outlook.rounds)
    return Batch(bytes(32), 1, 1, SumTerms(law, bytes(32), bytes([1]) * 32)).report_size


def plan(
    X: Any,
    y: Any,
    *,
    owners: int,
    epsilon: float,
    rows_per_owner: int = 1,
    trust: str = NOBODY,
    delta: float = DELTA,
    schema: Schema | None = None,
    baseline: PublicModel | None = None,
    outlook: Outlook | None = None,
) -> Plan:
    """What to expect before anybody is asked, from the data user's own rows alone.

    It is what `PrivateClassifier` decides by: with few owners or a tiny epsilon it says not to
    collect.

    Parameters
    ----------
    X : array or data frame of shape (rows, features)
        The data user's own rows.
    y : array of shape (rows,)
        Their classes.
    owners : int
        How many owners would be asked.
    epsilon : float
        What each of them may spend.
    rows_per_owner : int, default=1
        How many rows an owner is believed to hold.
    trust : str, default="nobody"
        Whom owners trust: "nobody", or that of "two servers" one is honest.
    delta : float, default=1e-6
        With two servers, the chance that epsilon does not hold.
    schema : Schema, default=None
        Bounds, categories and classes, where they are known; None takes them from the rows.
    baseline : PublicModel, default=None
        What `fit_public` made of these rows, to be fitted but once for several plans.
    outlook : Outlook, default=None
        What `look_ahead` made of these rows, owners and epsilon.

    Returns
    -------
    Plan
        Its text says whether to collect, and what to expect.

    Examples
    --------
    >>> import numpy as np
    >>> coins = np.random.default_rng(1)
    >>> X = coins.normal(size=(300, 5))
    >>> y = (X[:, 0] + coins.normal(size=300) > 0).astype(int)
    >>> plan(X, y, owners=1000, epsilon=0.1).collect
    False
    >>> plan(X, y, owners=1_000_000, epsilon=1.0).collect
    True
    """
    public = Sample.of(X, y, schema).public
    population = Population(
        whole("owners", owners, 1),
        positive("epsilon", epsilon),
        whole("rows_per_owner", rows_per_owner, 1),
        trust,
        delta,
    )
    if outlook is None:
        outlook = look_ahead(public, baseline or fit_public(public), population)
    return Plan.of(outlook)


_BINS = 10  # of the chance of the predicted class, for calibration
_SMALLEST = 1e-15  # a chance of 0 for what happened costs that of this


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


@dataclass(frozen=True)
class Measures:
    """All measures on the same rows; a measure that needs a class which no row has is left out."""

    rows: int
    figures: tuple[Figure, ...]

    def __getitem__(self, name: str) -> Figure:
        return next(figure for figure in self.figures if figure.name == name)

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
        _balanced(said, y),
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


def _mean(name: str, values: FloatArray) -> tuple[str, float, FloatArray]:
    mean = float(values.mean())
    return name, mean, values - mean


def _balanced(said: IntArray, y: IntArray) -> tuple[str, float, FloatArray]:
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
