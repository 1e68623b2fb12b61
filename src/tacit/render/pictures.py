"""Charts as PNG and SVG files, for slides and papers, and the picture of an audit; matplotlib is an
extra.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from tacit.render.document import Chart, Document, Line
from tacit.render.drawing import short

_COLOURS = {
    "ours": ("#0f5f70", "#1c6b3a", "#1d4f91"),
    "paper": ("#b0500a", "#a8261d", "#7a5c00"),
    "published": ("#b0500a", "#a8261d", "#7a5c00"),
    "public": ("#1b2426",) * 3,
    "other": ("#6b4fa0", "#566266", "#96357f"),
}
_DASHES = {
    "ours": ("-",) * 3,
    "paper": ((0, (5, 3)), (0, (1.5, 3)), (0, (7, 2, 1.5, 2))),
    "published": ("none",) * 3,
    "public": ((0, (9, 4)), (0, (3, 3)), (0, (9, 3, 2, 3))),
    "other": ("-",) * 3,
}
_LEVELS = {**_DASHES, "other": ((0, (2, 2)), (0, (6, 2, 1.5, 2)), (0, (1, 3)))}
_MARKERS = "os^Dv"


def write_pictures(document: Document, folder: Path) -> dict[Chart, Path]:
    """Draw every chart of a document as NAME.png and NAME.svg; the PNG of each."""
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    paths: dict[Chart, Path] = {}
    with rc_context({"svg.hashsalt": "tacit", "svg.fonttype": "none"}):
        for number, chart in enumerate(document.charts, 1):
            figure = _figure_of(chart)
            paths[chart] = folder / f"{number:02d}-{_slug(chart.title)}.png"
            figure.savefig(paths[chart], dpi=150, metadata={"Software": "tacit"})
            figure.savefig(
                paths[chart].with_suffix(".svg"), metadata={"Creator": "tacit", "Date": None}
            )
    return paths


def _figure_of(chart: Chart) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.8), layout="constrained")
    axis = figure.subplots()
    axis.set(xscale=chart.x_scale, yscale=chart.y_scale, xlabel=chart.x_label, ylabel=chart.y_label)
    numbers = {(line.kind, line.is_level): count() for line in chart.lines}
    shapes = count()
    for line in chart.lines:
        _draw(axis, line, next(numbers[line.kind, line.is_level]) % 3, shapes)
    places = sorted({x for line in chart.lines for x in line.x})
    if 0 < len(places) <= 10:
        axis.set_xticks(places, [short(x) for x in places])
        axis.set_xticks([], minor=True)
    axis.set_title(chart.title, fontsize=11, loc="left")
    axis.grid(axis="y", color="0.9")
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    if chart.y_scale == "linear" and min(y for line in chart.lines for y in line.y) >= 0:
        axis.set_ylim(bottom=max(0.0, axis.get_ylim()[0]))
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def _draw(axis: Any, line: Line, number: int, shapes: "count[int]") -> None:
    colour, dashes = (
        _COLOURS[line.kind][number],
        (_LEVELS if line.is_level else _DASHES)[line.kind][number],
    )
    if line.is_level:
        axis.axhline(line.y[0], color=colour, linestyle=dashes, linewidth=1.5, label=line.name)
        return
    look: dict[str, Any] = {"marker": "x", "markersize": 7, "markeredgewidth": 2}
    if line.kind == "public":
        look = {"marker": ".", "markersize": 4}
    elif line.kind != "published":
        shape = next(shapes)
        hollow = {"markerfacecolor": "white"} if shape // len(_MARKERS) % 2 else {}
        look = {"marker": _MARKERS[shape % len(_MARKERS)], "markersize": 5, **hollow}
    axis.errorbar(
        line.x,
        line.y,
        yerr=line.error,
        color=colour,
        linestyle=dashes,
        linewidth=2.2 if line.kind == "ours" else 1.4,
        capsize=2,
        label=line.name,
        **look,
    )


def _slug(title: str) -> str:
    """A name for a file.

    >>> _slug("Boosted stumps on MNIST, epsilon 5")
    'boosted-stumps-on-mnist-epsilon-5'
    """
    words = "".join(
        letter.lower() if letter.isalnum() and letter.isascii() else " " for letter in title
    ).split()
    return "-".join(words)[:60] or "chart"


_LEAST = 0.05  # where a bound of zero is drawn


@dataclass(frozen=True)
class Measurement:
    """One measurement: a kind (a row of the legend), the claim, and the value found."""

    kind: str
    claimed: float
    found: float


_LOOKS: tuple[dict[str, Any], ...] = (
    {"marker": "_", "s": 160, "color": "0.15", "linewidths": 1.6},
    {"marker": "o", "s": 26, "color": "#0b6e99", "alpha": 0.65, "linewidths": 0},
    {"marker": "^", "s": 38, "color": "#c1662f", "alpha": 0.8, "linewidths": 0},
    {"marker": "D", "s": 26, "color": "#5b8c3a", "alpha": 0.8, "linewidths": 0},
)


def draw_audit(measurements: Sequence[Measurement], title: str, path: Path) -> None:
    """Claimed epsilon across, measured epsilon up; anything above the diagonal breaks the
    promise.
    """
    from matplotlib.figure import Figure  # an extra: the rest of the package works without it

    figure = Figure(figsize=(7.5, 6.5), layout="constrained")
    axis = figure.subplots()
    claims = [measurement.claimed for measurement in measurements]
    low, high = min(claims) / 2, max(claims) * 1.6
    line = np.array([low, high])
    floor = max(_LEAST, low / 4)
    axis.fill_between(line, line, high, color="#b33a3a", alpha=0.07, linewidth=0)
    axis.plot(line, line, color="#b33a3a", linewidth=1.2)
    axis.text(
        low * 1.15,
        high * 0.8,
        "broken promise:\nmore is spent than claimed",
        color="#b33a3a",
        va="top",
    )
    kinds = list(dict.fromkeys(measurement.kind for measurement in measurements))
    for number, (kind, look) in enumerate(zip(kinds, _LOOKS, strict=False)):
        chosen = [measurement for measurement in measurements if measurement.kind == kind]
        # side by side; to the right, so that nothing below the diagonal seems above it
        shift = 1 + 0.03 * number
        across = [measurement.claimed * shift for measurement in chosen]
        axis.scatter(
            across,
            [max(measurement.found, floor) for measurement in chosen],
            label=kind,
            zorder=3 + number,
            **look,
        )
    axis.set(xscale="log", yscale="log", xlim=(low, high), ylim=(floor, high))
    ticks = sorted(set(claims))
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_xticks([], minor=True)
    upward = [
        tick for tick in (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 4, 5, 7, 10) if floor <= tick <= high
    ]
    axis.set_yticks(upward, [f"{tick:g}" for tick in upward])
    axis.set_yticks([], minor=True)
    axis.grid(color="0.92")
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_xlabel("epsilon claimed")
    axis.set_ylabel("epsilon measured")
    axis.set_title(title, fontsize=11, loc="left")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
