"""Pictures of what private data adds: rows in, pictures out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

_COLOURS = {50: "#b4532a", 200: "#7a6a9b", 1000: "#0b6e99"}


class AheadRow(Protocol):
    """Accuracy of a method on a task."""

    @property
    def dataset(self) -> str: ...

    @property
    def method(self) -> str: ...

    @property
    def owners_kind(self) -> str: ...

    @property
    def epsilon(self) -> float | None: ...

    @property
    def public_rows(self) -> int: ...

    @property
    def owners(self) -> int: ...

    @property
    def rows_per_owner(self) -> int: ...

    @property
    def mean(self) -> float: ...

    @property
    def std(self) -> float: ...

    @property
    def rise(self) -> float: ...

    @property
    def rise_error(self) -> float: ...


class BreakEvenRow(Protocol):
    """Expected rise for so many owners, epsilon and public rows."""

    @property
    def dataset(self) -> str: ...

    @property
    def owners(self) -> int: ...

    @property
    def epsilon(self) -> float: ...

    @property
    def public_rows(self) -> int: ...

    @property
    def rise(self) -> float: ...

    @property
    def collect(self) -> bool: ...


def draw_break_even(rows: Sequence[BreakEvenRow], measured: Sequence[AheadRow], path: Path) -> None:
    """A panel per task: expected rise of accuracy against owners, a line per epsilon and size of the public sample.

    Thick where the plan says collect, thin dots where it says not to; measured rises as squares with two standard
    errors.
    """
    from matplotlib.figure import Figure  # an extra: the rest of the package works without it

    datasets = list(dict.fromkeys(row.dataset for row in rows))
    columns = min(4, len(datasets))
    lines = -(-len(datasets) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.4 * lines + 0.8), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True)
    epsilons = sorted({row.epsilon for row in rows})
    for number, axis in enumerate(axes.ravel()):
        if number >= len(datasets):
            axis.set_visible(False)
            continue
        own = [row for row in rows if row.dataset == datasets[number]]
        for size in dict.fromkeys(row.public_rows for row in own):
            for place, epsilon in enumerate(epsilons):
                line = sorted((r for r in own if (r.public_rows, r.epsilon) == (size, epsilon)), key=lambda r: r.owners)
                _draw_line(axis, line, _COLOURS.get(size, "0.3"), 0.35 + 0.65 * (place + 1) / len(epsilons))
        for row in measured:
            if (row.dataset, row.method, row.epsilon, row.owners_kind) == (datasets[number], "combined", 1.0, "alike"):
                colour = _COLOURS.get(row.public_rows, "0.3")
                axis.errorbar(
                    row.owners,
                    100 * row.rise,
                    yerr=200 * row.rise_error,
                    color=colour,
                    marker="s",
                    markersize=5,
                    capsize=3,
                )
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_title(datasets[number], fontsize=11)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("owners")
    for row_of_axes in axes:
        row_of_axes[0].set_ylabel("points of accuracy above\nthe data user's own model")
    handles = [_handle(f"{size:,} public rows", colour) for size, colour in _COLOURS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    shades = ", ".join(f"{epsilon:g}" for epsilon in epsilons)
    figure.suptitle(
        f"Where private data begins to pay: predicted (lines, darker for larger epsilon: {shades};\n"
        "dotted: do not collect) and measured at epsilon 1 (squares, two standard errors)",
        fontsize=11,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _draw_line(axis: Any, line: Sequence[BreakEvenRow], colour: str, alpha: float) -> None:
    at, rises = [row.owners for row in line], [100 * row.rise for row in line]
    axis.plot(at, rises, color=colour, alpha=0.5 * alpha, linestyle=":", linewidth=1.2)
    kept = [(row.owners, 100 * row.rise) for row in line if row.collect]
    if kept:
        axis.plot(*zip(*kept, strict=True), color=colour, alpha=alpha, linewidth=2.0)


def _handle(label: str, colour: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, linewidth=2, label=label)
