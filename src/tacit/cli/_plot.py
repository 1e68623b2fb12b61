"""A chart as text: a grid of characters with a mark per line, for a terminal of any width."""

from math import log10

from rich.text import Text

from tacit.render.document import Chart, Line
from tacit.render.drawing import nice_ends

_MARKS, _DASHES = "●▲◇+■", "─┄"
_STYLES = {
    "ours": "bold green",
    "paper": "red",
    "published": "red",
    "public": "bold blue",
    "other": "dim",
}
_HEIGHT = 15
_MARGIN = 6  # columns for the numbers of the vertical axis


def text_plot(chart: Chart, width: int) -> Text:
    """Points of lines, levels as dashes, a legend below; points that fall together show the first
    line's mark.

    >>> from tacit.render.document import Chart, Line
    >>> lines = Line("a", (1, 2), (0, 10)), Line("b", (), (5,))
    >>> plot = text_plot(Chart("t", "x", "y", lines), 30).plain
    >>> plot.count("●"), "─ b" in plot
    (3, True)
    """
    across = max(20, width - _MARGIN - 2)
    low, high, ticks = nice_ends([y for line in chart.lines for y in line.y], "linear")
    places = [x for line in chart.lines for x in line.x] or [1.0]
    left, right = min(places), max(places)
    grid = [[(" ", "")] * across for _ in range(_HEIGHT)]
    marks, dashes = iter(_MARKS), iter(_DASHES)
    legend = Text()
    for line in sorted(
        chart.lines, key=lambda line: not line.is_level
    ):  # levels first: points go over them
        style = _STYLES[line.kind]
        mark = next(dashes, "-") if line.is_level else next(marks, "·")
        legend.append(f"\n{' ' * _MARGIN}  {mark} {line.name}{_level(line)}", style)
        if line.is_level:
            grid[_row(line.y[0], low, high)] = [
                (mark, style) if column % 2 else (" ", "") for column in range(across)
            ]
            continue
        for x, y in zip(line.x, line.y, strict=True):
            column = round(_part(x, left, right, chart.x_scale) * (across - 1))
            grid[_row(y, low, high)][column] = (mark, style)
    numbers = {_row(tick, low, high): f"{tick:g}" for tick in ticks}
    drawn = Text(f"{chart.y_label}\n", "bold") + _as_lines(grid, numbers)
    drawn.append(
        f"{'':{_MARGIN}} └{'─' * across}\n{'':{_MARGIN}}  "
        f"{_ticks(sorted(set(places)), chart, across)}\n"
    )
    drawn.append(f"{chart.x_label:>{_MARGIN + 2 + across}}", "bold")
    return drawn + legend


def _as_lines(grid: list[list[tuple[str, str]]], numbers: dict[int, str]) -> Text:
    """Characters with their styles, row by row, behind an axis with its numbers."""
    drawn = Text()
    for number, cells in enumerate(grid):
        drawn.append(f"{numbers.get(number, ''):>{_MARGIN}} │")
        for character, style in cells:
            drawn.append(character, style)
        drawn.append("\n")
    return drawn


def _row(y: float, low: float, high: float) -> int:
    return round((high - y) / (high - low) * (_HEIGHT - 1))


def _part(x: float, left: float, right: float, scale: str) -> float:
    if not right > left:
        return 0.0
    return log10(x / left) / log10(right / left) if scale == "log" else (x - left) / (right - left)


def _ticks(places: list[float], chart: Chart, across: int) -> str:
    """The values of the points below their columns, as far as there is room."""
    line = [" "] * (across + 8)
    free = 0
    for x in places:
        text = f"{x:g}"
        start = max(
            0, round(_part(x, places[0], places[-1], chart.x_scale) * (across - 1)) - len(text) + 1
        )
        if start >= free:
            line[start : start + len(text)] = text
            free = start + len(text) + 1
    return "".join(line).rstrip()


def _level(line: Line) -> str:
    return f": {line.y[0]:.1f}" if line.is_level else ""
