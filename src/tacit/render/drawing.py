"""A chart as places on a sheet: axes, ticks, points; the template draws them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil, floor, log10

from tacit.render.document import Chart, Line, Scaling

WIDTH, HEIGHT = 620, 380  # of the sheet, in units of its own
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 16, 16, 66  # margins: numbers and labels fit in
# least distance of numbers along the x axis; on a narrow screen they are larger
_GAP, _NARROW_GAP = 46.0, 104.0
_MANY = 10  # points that have numbers of their own under them
# between points of different lines at one x, so that their bars do not hide each other
_APART = 4.0
_MARKERS = (  # around 0, 0; filled or hollow, so that twice as many lines differ without colour
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z",
    "M-4.2 -4.2H4.2V4.2H-4.2Z",
    "M0 -5.5L5.2 4H-5.2Z",
    "M0 -6L5.2 0L0 6L-5.2 0Z",
    "M0 5.5L5.2 -4H-5.2Z",
)
_CROSS = "M-5 -5L5 5M-5 5L5 -5"
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)  # of a grid, times a power of ten
_CLOSE = 1e-9  # of a step: what counts as on a line of the grid


@dataclass(frozen=True)
class Tick:
    """A number on an axis; one that is not `kept` is left out on narrow screens."""

    at: float
    text: str
    kept: bool = True


@dataclass(frozen=True)
class Point:
    """A point, the ends of its error bar, and what it says when pointed at."""

    x: float
    y: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Curve:
    """A line on the sheet. `look` are classes of the style: its kind, its number among that
    kind, hollow or not.
    """

    name: str
    look: str
    marker: str
    points: tuple[Point, ...]
    is_level: bool

    @property
    def path(self) -> str:
        """The points as a polyline takes them."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.points)


@dataclass(frozen=True)
class Drawing:
    """All that a template needs to draw a chart, and to tell it to somebody who cannot see it."""

    title: str
    x_label: str
    y_label: str
    note: str
    curves: tuple[Curve, ...]
    rows: tuple[Tick, ...]
    columns: tuple[Tick, ...]
    figures: tuple[tuple[str, ...], ...]
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    top: float = _TOP
    bottom: float = HEIGHT - _BOTTOM
    width: int = WIDTH
    height: int = HEIGHT


def draw(chart: Chart) -> Drawing:
    """Where everything goes."""
    places: Sequence[float] = range(1, chart.steps + 1) if chart.steps else _places(chart.lines)
    ends = (0.5, chart.steps + 0.5) if chart.steps else widen(places, chart.x_scale, 0.04)
    across = Scale(*ends, _LEFT, WIDTH - _RIGHT, chart.x_scale)
    low, high, grid = upright_axis(chart)
    down = Scale(low, high, HEIGHT - _BOTTOM, _TOP, chart.y_scale)
    numbers = {(line.kind, line.is_level): count() for line in chart.lines}
    shapes, curves = count(), []
    spread = [line for line in chart.lines if not line.is_level and line.kind != "published"]
    for line in chart.lines:
        marker, look = _look(line, next(numbers[line.kind, line.is_level]), shapes)
        shift = (
            _APART * (spread.index(line) - (len(spread) - 1) / 2)
            if line in spread and line.error
            else 0.0
        )
        curves.append(
            Curve(line.name, look, marker, _points(chart, line, across, down, shift), line.is_level)
        )
    return Drawing(
        title=chart.title,
        x_label=chart.x_label,
        y_label=chart.y_label,
        note=chart.note,
        curves=tuple(curves),
        rows=tuple(Tick(down.at(value), short(value)) for value in grid),
        columns=_columns(_written(places, chart), across),
        figures=as_table(chart),
    )


def upright_axis(chart: Chart) -> tuple[float, float, tuple[float, ...]]:
    """Ends and grid of the vertical axis, the same on pages and in pictures."""
    return nice_ends([*_reach(chart), *chart.y_ends], chart.y_scale)


def as_table(chart: Chart) -> tuple[tuple[str, ...], ...]:
    """The same numbers as rows of text: a heading, then one row per x; where there is no x yet,
    one for levels.
    """
    places = _places(chart.lines)
    cells = [
        {
            x: _figure(y, error, line.error is not None)
            for x, y, error in zip(line.x, line.y, line.errors, strict=True)
        }
        if not line.is_level
        else dict.fromkeys(places, _figure(line.y[0], line.errors[0], line.error is not None))
        for line in chart.lines
    ]
    body = [(short(x), *(column.get(x, "") for column in cells)) for x in places]
    levels = [
        "\N{EN DASH}",
        *(_figure(line.y[0], line.errors[0], line.error is not None) for line in chart.lines),
    ]
    return (chart.x_label, *(line.name for line in chart.lines)), *(body or [tuple(levels)])


def _places(lines: Sequence[Line]) -> list[float]:
    return sorted({x for line in lines for x in line.x})


def _reach(chart: Chart) -> list[float]:
    """All heights to be seen, ends of bars included; on a log scale a bar may not reach down to
    zero.
    """
    ends = [
        y + side * error
        for line in chart.lines
        for y, error in zip(line.y, line.errors, strict=True)
        for side in (-1, 1)
    ]
    if chart.y_scale == "linear":
        heights = [y for line in chart.lines for y in line.y]
        return [max(end, 0.0) for end in ends] if min(heights) >= 0 else ends
    least = min(y for line in chart.lines for y in line.y)
    return [end for end in ends if end > least / 3]


def _look(line: Line, number: int, shapes: "count[int]") -> tuple[str, str]:
    look = f"{line.kind} n{number % 3}"
    if line.is_level:
        return "", f"{look} level"
    if line.kind in ("public", "published"):
        return (_CROSS if line.kind == "published" else ""), look
    shape = next(shapes)
    hollow = " hollow" if shape // len(_MARKERS) % 2 else ""
    return _MARKERS[shape % len(_MARKERS)], f"{look}{hollow}"


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


def _points(
    chart: Chart, line: Line, across: Scale, down: Scale, shift: float
) -> tuple[Point, ...]:
    if line.is_level:
        y, error, known = line.y[0], line.errors[0], line.error is not None
        text = f"{line.name}: {_figure(y, error, known)}"
        ends = down.at(y), down.at(y - error), down.at(y + error)
        return tuple(Point(x, *ends, text) for x in (across.start, across.end))
    points = []
    for x, y, error in zip(line.x, line.y, line.errors, strict=True):
        text = (
            f"{line.name}, {chart.x_label} {short(x)}: {_figure(y, error, line.error is not None)}"
        )
        points.append(
            Point(across.at(x) + shift, down.at(y), down.at(y - error), down.at(y + error), text)
        )
    return tuple(points)


def _figure(value: float, error: float, known: bool) -> str:
    return f"{value:.4g} ± {error:.2g}" if known else f"{value:.4g}"


def _written(places: Sequence[float], chart: Chart) -> Sequence[float]:
    """Where the x axis may have numbers: under the points themselves; where these are many, as of
    a curve over a range, at round numbers.
    """
    if chart.steps or chart.x_scale == "log" or len(places) <= _MANY:
        return places
    low, high = min(places), max(places)
    step = _step((high - low) / _MANY)
    first, last = ceil(low / step - _CLOSE), floor(high / step + _CLOSE)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _columns(places: Sequence[float], across: Scale) -> tuple[Tick, ...]:
    """Numbers at these places, as many as there is room for."""
    written = _apart(places, across, _GAP)
    kept = set(_apart(written, across, _NARROW_GAP))
    return tuple(Tick(across.at(x), short(x), x in kept) for x in written)


def _apart(places: Sequence[float], across: Scale, gap: float) -> list[float]:
    """From the right, every place at least a gap away from the one before."""
    found: list[float] = []
    for x in sorted(places, reverse=True):
        if not found or across.at(found[-1]) - across.at(x) >= gap:
            found.append(x)
    return found[::-1]


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
