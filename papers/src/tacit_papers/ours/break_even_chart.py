"""The break-even chart: from which epsilon on private data pays, for so many owners and so many
public rows.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit_papers.ours.break_even import BreakEvenRow

_COLOURS = ("#b4532a", "#7a6a9b", "#0f5e6e", "#4a7a2a")
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (4, 2, 1, 2)))


def draw_break_even(rows: Sequence[BreakEvenRow], least: float, path: Path) -> None:
    """A panel per task: above a line, owners at that epsilon are predicted to add at least `least`
    nats.

    A line per size of the data user's sample; where there is none, it never pays (or always) within
    the panel.
    """
    from matplotlib.figure import Figure  # an extra: the rest of the package works without it

    tasks = list(dict.fromkeys(row.dataset for row in rows))
    sizes = sorted({row.public_rows for row in rows})
    columns = min(4, len(tasks))
    lines = -(-len(tasks) // columns)
    figure = Figure(figsize=(3.3 * columns, 2.9 * lines + 1.1), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    for place, axis in enumerate(axes.ravel()):
        axis.set_visible(place < len(tasks))
        if place < len(tasks):
            _panel(axis, [row for row in rows if row.dataset == tasks[place]], sizes, least)
            axis.set_title(tasks[place], fontsize=10)
            if place + columns >= len(tasks):
                axis.set_xlabel("owners")
                axis.tick_params(labelbottom=True)
    figure.supylabel("epsilon of an owner's one report", fontsize=10)
    figure.legend(
        handles=_handles(sizes), loc="outside lower center", ncols=len(sizes), frameon=False
    )
    figure.suptitle(
        "Where private data begins to pay: above the line, predicted before anybody is asked",
        fontsize=12,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _panel(axis: Any, rows: Sequence[BreakEvenRow], sizes: Sequence[int], least: float) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    for size, colour, dashes in zip(sizes, _COLOURS, _DASHES, strict=False):
        own = {(row.owners, row.epsilon): row.gain for row in rows if row.public_rows == size}
        owners, epsilons = (
            sorted({number for number, _ in own}),
            sorted({epsilon for _, epsilon in own}),
        )
        if len(owners) < 2 or len(epsilons) < 2:
            continue
        above = [[own[number, epsilon] / least for number in owners] for epsilon in epsilons]
        flat = [value for line in above for value in line]
        axis.set_xlim(owners[0], owners[-1])
        axis.set_ylim(epsilons[0], epsilons[-1])
        axis.set_yticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axis.set_yticks([], minor=True)
        if min(flat) < 1 < max(flat):
            axis.contour(
                owners,
                epsilons,
                above,
                levels=[1.0],
                colors=[colour],
                linewidths=2,
                linestyles=[dashes],
            )
            axis.contourf(
                owners, epsilons, above, levels=[1.0, max(flat)], colors=[colour], alpha=0.08
            )
        elif min(flat) >= 1:
            axis.axhline(epsilons[0], color=colour, linewidth=4, linestyle=dashes)


def _handles(sizes: Sequence[int]) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=colour, linestyle=dashes, linewidth=2, label=f"{size:,} public rows")
        for size, colour, dashes in zip(sizes, _COLOURS, _DASHES, strict=False)
    ]
