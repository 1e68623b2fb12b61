"""The error curve as places on a sheet; the template draws them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

WIDTH, HEIGHT = 560, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 14, 58
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)  # between lines of the grid
BAR = 2.0  # standard errors that an error bar shows either way


@dataclass(frozen=True)
class Tick:
    """A line of the grid: its place, and what is written there."""

    at: float
    text: str


@dataclass(frozen=True)
class Mark:
    """One round: its point, the ends of its error bar, and what it says when pointed at."""

    x: float
    y: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Chart:
    """A drawing of the error after each round, against that of the data user's sample alone."""

    marks: tuple[Mark, ...]
    line: Mark | None
    rows: tuple[Tick, ...]
    columns: tuple[Tick, ...]
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    top: float = _TOP
    bottom: float = HEIGHT - _BOTTOM
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def path(self) -> str:
        """The points as a polyline takes them."""
        return " ".join(f"{mark.x:.1f},{mark.y:.1f}" for mark in self.marks)


def chart_of(progress: Sequence[dict[str, float]], public_only: dict[str, float] | None, rounds: int) -> Chart:
    """The chart of a campaign of so many rounds; the sheet has room for those to come."""
    found = [*progress, *([public_only] if public_only is not None else [])]
    ends = [entry["error"] + side * BAR * entry["stderr"] for entry in found for side in (-1, 1)] or [0.0, 0.5]
    low, high = max(0.0, min(ends)), min(1.0, max(ends))
    step: float = next((step for step in _STEPS if high - low <= 6 * step), _STEPS[-1])
    first, last = floor(low / step + 1e-9), max(ceil(high / step - 1e-9), floor(low / step + 1e-9) + 1)

    def across(round_: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (round_ - 0.5) / rounds

    def down(error: float) -> float:
        inside = min(max(error / step, first), last)
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * (inside - first) / (last - first)

    def mark(x: float, entry: dict[str, float], name: str) -> Mark:
        error, reach = entry["error"], BAR * entry["stderr"]
        text = f"{name}: error {error:.1%}, give or take {reach:.1%}"
        return Mark(x, down(error), down(error - reach), down(error + reach), text)

    every = max(1, ceil(rounds / 12))
    return Chart(
        marks=tuple(mark(across(number), entry, f"Round {number}") for number, entry in enumerate(progress, 1)),
        line=None if public_only is None else mark(_LEFT, public_only, "The data user's sample alone"),
        rows=tuple(Tick(down(k * step), f"{k * step:.0%}") for k in range(first, last + 1)),
        columns=tuple(Tick(across(number), str(number)) for number in range(1, rounds + 1, every)),
    )
