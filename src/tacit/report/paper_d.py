"""Pictures of paper D again: rows in, pictures out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

_COLOURS = ("#2a8c4a", "#0b6e99", "#b4532a", "#7a6a9b", "#c4a000", "#c05a9b", "0.45")


class PeerRow(Protocol):
    """Accuracy of one method at one epsilon; epsilon None: without privacy."""

    @property
    def dataset(self) -> str: ...

    @property
    def method(self) -> str: ...

    @property
    def epsilon(self) -> float | None: ...

    @property
    def rounds(self) -> int: ...

    @property
    def own(self) -> float | None: ...

    @property
    def own_std(self) -> float: ...

    @property
    def served(self) -> float | None: ...

    @property
    def served_std(self) -> float: ...

    @property
    def unsound(self) -> str: ...


def draw_paper_d(rows: Sequence[PeerRow], folder: Path) -> list[Path]:
    """A picture per data set: accuracy against epsilon, of the served models and of the participants' own."""
    paths = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset]
        most = max(row.rounds for row in own)
        name = "".join(letter if letter.isalnum() else "_" for letter in dataset)
        paths.append(folder / f"paper_d_{name}.png")
        _draw([row for row in own if row.rounds == most], paths[-1])
    return paths


def _draw(rows: Sequence[PeerRow], path: Path) -> None:
    from matplotlib.figure import Figure  # an extra: the rest of the package works without it

    figure = Figure(figsize=(11, 5.4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    private = list(dict.fromkeys(row.method for row in rows if row.epsilon is not None))
    flat = [row for row in rows if row.method not in private]
    for axis, what in zip(axes, ("served", "own"), strict=True):
        for colour, method in zip(_COLOURS, private, strict=False):
            _line(axis, [row for row in rows if row.method == method and row.epsilon is not None], what, colour)
        for row, dashes in zip(flat, ((0, (1, 2)), (0, (6, 2)), (0, (4, 2, 1, 2)), (0, (2, 1))), strict=False):
            level = row.served if row.served is not None else row.own
            axis.axhline(level, color="black", linewidth=1.1, linestyle=dashes, label=row.method)
        axis.set_xscale("log")
        axis.set_xlabel("epsilon of a record, over all rounds")
        axis.set_title("served: released numbers only" if what == "served" else "held by participants, on average")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("accuracy on test rows")
    handles = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(f"Ten participants on {rows[0].dataset}: mean and standard deviation over runs", fontsize=12)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _line(axis: Any, rows: Sequence[PeerRow], what: str, colour: str) -> None:
    known = [row for row in rows if getattr(row, what) is not None]
    if known:
        unsound = bool(known[0].unsound)
        axis.errorbar(
            [row.epsilon for row in known],
            [getattr(row, what) for row in known],
            yerr=[getattr(row, f"{what}_std") for row in known],
            color=colour,
            capsize=2,
            marker="s" if unsound else "o",
            markersize=3.5,
            linestyle=":" if unsound else "-",
            label=f"{known[0].method}{' (unsound)' if unsound else ''}",
        )
