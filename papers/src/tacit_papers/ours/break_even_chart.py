"""The break-even chart: from which epsilon on private data pays, for so many owners and so many
public rows, whether owners trust nobody or one of two servers.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.sums import HOW, NOBODY
from tacit_papers.ours.break_even import BreakEvenRow

_COLOURS = ("#b4532a", "#7a6a9b", "#0f5e6e", "#4a7a2a")
_DASHES: dict[str, Any] = {NOBODY: "-", HOW: (0, (2, 1.2))}
_WORDS = {NOBODY: "owners trust nobody", HOW: "owners trust one of two servers"}


def draw_break_even(rows: Sequence[BreakEvenRow], least: float, path: Path) -> None:
    """A panel per task: above a line, owners at that epsilon are predicted to add at least `least`
    nats.

    A colour per size of the data user's sample, dotted where owners trust one of two servers; where
    there is no line, it never pays within the panel, and where it always does the line lies on the
    panel's lower edge.
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
    figure.supylabel("epsilon of an owner, all in all", fontsize=10)
    handles = _handles(sizes, [trust for trust in _WORDS if any(r.trust == trust for r in rows)])
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
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
    for size, colour in zip(sizes, _COLOURS, strict=False):
        for trust, dashes in _DASHES.items():
            own = {
                (row.owners, row.epsilon): row.gain / least
                for row in rows
                if (row.public_rows, row.trust) == (size, trust)
            }
            _line(axis, own, colour, dashes)


def _line(axis: Any, above: dict[tuple[int, float], float], colour: str, dashes: Any) -> None:
    """Where gains, by owners and epsilon, reach 1."""
    owners = sorted({number for number, _ in above})
    epsilons = sorted({epsilon for _, epsilon in above})
    if len(owners) < 2 or len(epsilons) < 2:
        return
    flat = list(above.values())
    axis.set_xlim(owners[0], owners[-1])
    axis.set_ylim(epsilons[0], epsilons[-1])
    axis.set_yticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axis.set_yticks([], minor=True)
    if min(flat) < 1 < max(flat):
        table = [[above[number, epsilon] for number in owners] for epsilon in epsilons]
        style = {"colors": [colour], "linewidths": 2, "linestyles": [dashes]}
        axis.contour(owners, epsilons, table, levels=[1.0], **style)
    elif min(flat) >= 1:
        axis.axhline(epsilons[0], color=colour, linewidth=4, linestyle=dashes)


def _handles(sizes: Sequence[int], trusts: Sequence[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    rows = [
        Line2D([], [], color=colour, linewidth=2, label=f"{size:,} public rows")
        for size, colour in zip(sizes, _COLOURS, strict=False)
    ]
    trusted = [
        Line2D([], [], color="#444", linestyle=_DASHES[trust], linewidth=2, label=_WORDS[trust])
        for trust in trusts
    ]
    return [*rows, *trusted]
