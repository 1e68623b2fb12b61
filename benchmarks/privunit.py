"""PrivUnit against Piecewise for shares on the unit sphere: error by formula and measured, time,
report size.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.tables import Row, Table, at_least
from benchmarks.timing import DIM, Effort, best, per_item
from tacit import Ball, Mechanism, Piecewise, PrivUnit, seeded
from tacit._util.types import FloatArray

_EPSILONS = (1.0, 3.0, 5.0, 7.0)
_LEAST_GAIN = 10  # goal
_NOTE = (
    "Error is the mean of ||estimate - share||^2, by formula. Gain is Piecewise's error over "
    "PrivUnit's; the goal is "
    "for both, formula and measurement. Time is over Piecewise's."
)


@dataclass(frozen=True)
class ErrorRow(Row):
    """Error and cost of one mechanism at one epsilon; gains are over Piecewise."""

    epsilon: float
    formula: float
    measured: float
    measured_stderr: float
    formula_gain: float
    measured_gain: float
    nanoseconds_per_owner: float
    time_ratio: float
    report_bits: int

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            f"{self.epsilon:g}",
            f"{self.formula:,.4g}",
            f"{self.measured / self.formula:.3f} ± {self.measured_stderr / self.formula:.3f}",
            f"{self.formula_gain:.1f}",
            f"{self.measured_gain:.1f}",
            f"{self.nanoseconds_per_owner:,.0f}",
            f"{self.time_ratio:,.1f}",
            str(self.report_bits),
        )


def privunit(effort: Effort) -> list[Table]:
    """One table, two rows per epsilon."""
    normals = np.random.default_rng(1).standard_normal((effort.error_owners, DIM))
    shares = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    rows = [
        row for epsilon in _EPSILONS for row in _pair(shares, epsilon, effort.error_repetitions)
    ]
    title = f"PrivUnit and Piecewise for unit-l2 shares: {len(shares):,} owners, d = {DIM}"
    errors = ("error", "measured\n/ formula", "gain,\nformula", "gain,\nmeasured")
    headings = ("mechanism", "epsilon", *errors, "ns/owner", "time", "bits")
    return [Table("privunit", title, headings, rows, _NOTE)]


def _pair(shares: FloatArray, epsilon: float, repetitions: int) -> list[ErrorRow]:
    space = Ball(dim=DIM)
    plain, ours = Piecewise(epsilon=epsilon, space=space), PrivUnit(epsilon=epsilon, space=space)
    seconds = best(
        {
            "plain": per_item(lambda: plain.randomize(shares, seeded(1)), len(shares)),
            "ours": per_item(lambda: ours.randomize(shares, seeded(1)), len(shares)),
        },
        repetitions,
    )
    base = _row(plain, shares, seconds["plain"], seconds["plain"], None)
    return [base, _row(ours, shares, seconds["ours"], seconds["plain"], base)]


def _row(
    mechanism: Mechanism,
    shares: FloatArray,
    seconds: float,
    plain_seconds: float,
    base: ErrorRow | None,
) -> ErrorRow:
    formula = float(mechanism.variance(shares).sum(axis=1).mean())
    epsilon = float(mechanism.levels[0])
    estimates = mechanism.estimate(
        mechanism.randomize(shares, seeded(2).child("error", str(epsilon)))
    )
    errors = ((estimates - shares) ** 2).sum(axis=1)
    measured = float(errors.mean())
    gains = (1.0, 1.0) if base is None else (base.formula / formula, base.measured / measured)
    return ErrorRow(
        name=type(mechanism).__name__,
        verdict=None if base is None else at_least(min(gains), _LEAST_GAIN),
        epsilon=epsilon,
        formula=formula,
        measured=measured,
        measured_stderr=float(errors.std() / len(errors) ** 0.5),
        formula_gain=gains[0],
        measured_gain=gains[1],
        nanoseconds_per_owner=seconds * 1e9,
        time_ratio=seconds / plain_seconds,
        report_bits=mechanism.report_bits,
    )
