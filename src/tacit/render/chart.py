"""What a chart shows, and its axes: from values to places, and where to write numbers. Where on a
sheet is for `drawing` and `pictures` to say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Literal

Kind = Literal["ours", "paper", "published", "public", "other"]
Scaling = Literal["linear", "log"]
KINDS: tuple[Kind, ...] = ("ours", "paper", "published", "public", "other")
SCALINGS: tuple[Scaling, ...] = ("linear", "log")
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)  # of a grid, times a power of ten
_CLOSE = 1e-9  # of a step: what counts as on a line of the grid


@dataclass(frozen=True)
class Line:
    """One line: points, with half the length of an error bar each where errors are known.

    Without `x` it has one `y` and runs over the whole chart: a level to compare with. Kinds:
    "ours"; "paper": a paper's method, run again; "published": numbers printed in a paper (crosses,
    no line); "public": the data user's sample alone; "other".
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] | None = None
    kind: Kind = "other"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if not self.y or (len(self.x) != len(self.y) and not self.is_level):
            raise ValueError(
                f"{self.name}: x and y must be equally long and not empty, got {len(self.x)} "
                f"and {len(self.y)}"
            )
        if self.error is not None and len(self.error) != len(self.y):
            raise ValueError(
                f"{self.name}: error must be as long as y, got {len(self.error)} and {len(self.y)}"
            )
        if not all(map(isfinite, (*self.x, *self.y, *(self.error or ())))):
            raise ValueError(f"{self.name}: x, y and error must be finite")

    @property
    def is_level(self) -> bool:
        """Whether it runs over the whole chart."""
        return not self.x and len(self.y) == 1

    @property
    def errors(self) -> tuple[float, ...]:
        """Half the lengths of the error bars, zero where none are known."""
        return self.error or (0.0,) * len(self.y)


@dataclass(frozen=True)
class Chart:
    """Lines over one pair of axes. `note` says what bars show, and what to look at.

    With `steps` the x axis counts them from 1 and has room for all, also for those to come.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    x_scale: Scaling = "linear"
    note: str = ""
    y_scale: Scaling = "linear"
    steps: int = 0

    def __post_init__(self) -> None:
        if not self.lines:
            raise ValueError(f"{self.title}: lines must not be empty")
        for name, scale, values in (
            ("x", self.x_scale, [value for line in self.lines for value in line.x]),
            ("y", self.y_scale, [value for line in self.lines for value in line.y]),
        ):
            if scale not in SCALINGS:
                raise ValueError(
                    f"{name}_scale must be one of {', '.join(SCALINGS)}, got {scale!r}"
                )
            if scale == "log" and not all(value > 0 for value in values):
                raise ValueError(f"{self.title}: {name} must be > 0 on a log scale")


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` lie between the places `start` and `end`; others at the nearer
    end.
    """

    low: float
    high: float
    start: float
    end: float
    kind: Scaling = "linear"

    def at(self, value: float) -> float:
        """The place of a value."""
        inside = min(max(value, self.low), self.high)
        low, high, inside = (
            log10(v) if self.kind == "log" else v for v in (self.low, self.high, inside)
        )
        return self.start + (self.end - self.start) * (inside - low) / (high - low)


def widen(values: Sequence[float], kind: Scaling, share: float) -> tuple[float, float]:
    """Ends of an axis with a margin on both sides, a share of its length; never of length zero."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if kind == "log":
        if low == high:
            return low / 2, high * 2
        return low * (low / high) ** share, high * (high / low) ** share
    margin = share * (high - low) or abs(low) / 2 or 0.5
    return low - margin, high + margin


def nice_ends(
    values: Sequence[float], kind: Scaling, most: int = 6
) -> tuple[float, float, tuple[float, ...]]:
    """Ends of an axis that holds all values, and round numbers for its grid.

    Amounts that reach far down begin at zero.

    >>> nice_ends([3.0, 18.2], "linear")
    (0.0, 20.0, (0.0, 5.0, 10.0, 15.0, 20.0))
    >>> nice_ends([0.03, 41.0], "log")
    (0.01, 100.0, (0.01, 0.1, 1.0, 10.0, 100.0))
    """
    low, high = min(values), max(values)
    if kind == "log":
        return _log_ends(low, high)
    if 0 < low < high / 2:
        low = 0.0
    if low == high:
        low, high = low - (abs(low) / 10 or 1.0), high + (abs(high) / 10 or 1.0)
    step = _step((high - low) / (most - 1))
    first, last = floor(low / step + _CLOSE), ceil(high / step - _CLOSE)
    ticks = tuple(round(number * step, 12) for number in range(first, last + 1))
    return ticks[0], ticks[-1], ticks


def _step(least: float) -> float:
    unit = 10.0 ** floor(log10(least))
    return unit * next(step for step in _STEPS if step * unit >= least * (1 - _CLOSE))


def _log_ends(low: float, high: float) -> tuple[float, float, tuple[float, ...]]:
    """Powers of ten; where there would be fewer than two decades, also twice and five times as
    much.
    """
    inner = (1.0, 2.0, 5.0) if high / low < 100 else (1.0,)
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    grid = [float(f"{digit * 10.0**power:.6g}") for power in powers for digit in inner]
    below = [value for value in grid if value <= low * (1 + _CLOSE)]
    above = [value for value in grid if value >= high * (1 - _CLOSE)]
    first, last = below[-1], above[0]
    if first == last:
        return first / 2, first * 2, (first / 2, first, first * 2)
    return first, last, tuple(value for value in grid if first <= value <= last)


def short(value: float) -> str:
    """A number on an axis.

    >>> [short(value) for value in (0.025, 0.0, -3.0, 12_000, 10_000_000)]
    ['0.025', '0', '\N{MINUS SIGN}3', '12,000', '10 M']
    """
    if abs(value) >= 1e6:
        text = f"{value / 1e6:,.4g} M"
    elif abs(value) >= 1000:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.6g}"
    return text.replace("-", "\N{MINUS SIGN}")
