"""Pictures of paper A again: rows in, pictures out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

_COLOURS = {"laplace": "#b4532a", "duchi": "#7a6a9b", "piecewise": "#0b6e99", "auto": "#2a8c4a", "none": "0.45"}


class CurveRow(Protocol):
    """One point of a learning curve; epsilon None: without privacy."""

    @property
    def dataset(self) -> str: ...

    @property
    def learner(self) -> str: ...

    @property
    def variant(self) -> str: ...

    @property
    def mechanism(self) -> str: ...

    @property
    def epsilon(self) -> float | None: ...

    @property
    def learners(self) -> int: ...

    @property
    def mean(self) -> float: ...

    @property
    def std(self) -> float: ...

    @property
    def published(self) -> float | None: ...

    @property
    def unsound(self) -> str: ...


class PublicRow(Protocol):
    """A model of the data user's sample alone."""

    @property
    def dataset(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def error(self) -> float: ...


class TableRow(Protocol):
    """A cell of a table, beside the published one."""

    @property
    def table(self) -> str: ...

    @property
    def dataset(self) -> str: ...

    @property
    def measure(self) -> str: ...

    @property
    def mechanism(self) -> str: ...

    @property
    def epsilon(self) -> float: ...

    @property
    def mean(self) -> float: ...

    @property
    def std(self) -> float: ...

    @property
    def published_mean(self) -> float | None: ...


def draw_paper_a(
    curves: Sequence[CurveRow], publics: Sequence[PublicRow], tables: Sequence[TableRow], folder: Path
) -> list[Path]:
    """A picture per data set and base learner, and one per table and measure; where they were put."""
    paths = []
    for dataset, learner in dict.fromkeys((row.dataset, row.learner) for row in curves):
        own = [row for row in curves if (row.dataset, row.learner) == (dataset, learner)]
        paths.append(folder / f"paper_a_{learner}_{dataset}.png")
        draw_curves(own, [row for row in publics if row.dataset == dataset], paths[-1])
    for table, measure in dict.fromkeys((row.table, row.measure) for row in tables):
        paths.append(folder / f"paper_a_table_{table}_{measure}.png")
        draw_table([row for row in tables if (row.table, row.measure) == (table, measure)], paths[-1])
    return paths


def draw_curves(rows: Sequence[CurveRow], publics: Sequence[PublicRow], path: Path) -> None:
    """A panel per epsilon, error against base learners with one standard deviation; dashed: the data user alone."""
    from matplotlib.figure import Figure  # an extra: the rest of the package works without it

    epsilons = list(dict.fromkeys(row.epsilon for row in rows if row.epsilon is not None))
    figure = Figure(figsize=(1.5 + 4.5 * len(epsilons), 5.2), layout="constrained")
    axes = figure.subplots(1, len(epsilons), sharey=True, squeeze=False)[0]
    for axis, epsilon in zip(axes, epsilons, strict=True):
        shown = [row for row in rows if row.epsilon in (epsilon, None)]
        lines = list(dict.fromkeys((row.variant, row.mechanism) for row in shown))
        for number, line in enumerate(lines):
            _draw_line(axis, [row for row in shown if (row.variant, row.mechanism) == line], 0.06 * number)
        for row, dashes in zip(publics, ((0, (6, 3)), (0, (2, 2))), strict=False):
            label = f"data user's sample alone: {row.model}"
            axis.axhline(row.error, color="black", linewidth=1.2, linestyle=dashes, label=label)
        axis.set_title(f"epsilon {epsilon:g}", fontsize=11)
        axis.set_xlabel("base learners")
        axis.set_xticks(sorted({row.learners for row in rows}))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("misclassification on test rows")
    axes[0].set_ylim(bottom=0)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    figure.suptitle(
        f"Boosted {rows[0].learner} on {rows[0].dataset}: mean and standard deviation over runs", fontsize=12
    )
    _save(figure, path)


def draw_table(rows: Sequence[TableRow], path: Path) -> None:
    """A panel per data set: measured as lines with one standard deviation, published as crosses."""
    from matplotlib.figure import Figure

    datasets = list(dict.fromkeys(row.dataset for row in rows))
    figure = Figure(figsize=(1.5 + 3.6 * len(datasets), 4.2), layout="constrained")
    axes = figure.subplots(1, len(datasets), squeeze=False)[0]
    for axis, dataset in zip(axes, datasets, strict=True):
        for mechanism in dict.fromkeys(row.mechanism for row in rows):
            own = [row for row in rows if (row.dataset, row.mechanism) == (dataset, mechanism)]
            at = [row.epsilon for row in own]
            colour, means = _COLOURS[mechanism], [row.mean for row in own]
            spreads = [row.std for row in own]
            axis.errorbar(at, means, yerr=spreads, color=colour, marker="o", markersize=3, capsize=3, label=mechanism)
            known = [(row.epsilon, row.published_mean) for row in own if row.published_mean is not None]
            if known:
                axis.plot(*zip(*known, strict=True), "x", color=colour, label=f"{mechanism}, published")
        axis.set_yscale("log")
        axis.set_title(dataset, fontsize=11)
        axis.set_xlabel("epsilon")
        axis.set_xticks(sorted({row.epsilon for row in rows}))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel(f"error ({rows[0].measure})")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(f"Table {rows[0].table} of paper A: measured and published", fontsize=12)
    _save(figure, path)


def _draw_line(axis: Any, rows: Sequence[CurveRow], shift: float) -> None:
    """One curve, a little to the right, and crosses where the paper states a number."""
    unsound, colour = bool(rows[0].unsound), _COLOURS[rows[0].mechanism]
    mechanism = "no privacy" if rows[0].epsilon is None else rows[0].mechanism
    label = f"{rows[0].variant}{' (unsound)' if unsound else ''}, {mechanism}"
    style = {"linestyle": ":" if unsound else "-", "marker": "s" if unsound else "o", "markersize": 3.5}
    at, means = [row.learners + shift for row in rows], [row.mean for row in rows]
    axis.errorbar(
        at, means, yerr=[row.std for row in rows], color=colour, capsize=2, linewidth=1.3, label=label, **style
    )
    stated = [(row.learners, row.published) for row in rows if unsound and row.published is not None]
    if stated:
        axis.plot(
            *zip(*stated, strict=True), "x", color=colour, markersize=9, label=f"stated in the paper, {mechanism}"
        )


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
