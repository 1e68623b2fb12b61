"""Pictures of paper C again: rows in, pictures out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

_COLOURS = {"F": "#0b6e99", "A": "#b4532a", "o": "#2a8c4a", "p": "0.2"}  # by the first letter of a method


class SiteRow(Protocol):
    """One point of one curve."""

    @property
    def dataset(self) -> str: ...

    @property
    def varied(self) -> str: ...

    @property
    def method(self) -> str: ...

    @property
    def at(self) -> float: ...

    @property
    def mean(self) -> float: ...

    @property
    def std(self) -> float: ...

    @property
    def unsound(self) -> str: ...


def draw_paper_c(rows: Sequence[SiteRow], out: Path) -> list[Path]:
    """One picture per data set, one panel per thing that is varied (paper C, Fig. 3); needs matplotlib."""
    from matplotlib.figure import Figure

    paths = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset]
        varied = list(dict.fromkeys(row.varied for row in own))
        figure = Figure(figsize=(5 * len(varied), 4.6), layout="constrained")
        axes = figure.subplots(1, len(varied), sharey=True, squeeze=False)[0]
        for axis, name in zip(axes, varied, strict=True):
            _panel(axis, name, [row for row in own if row.varied == name])
        axes[0].set_ylabel(f"test error, {dataset}")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{dataset}.png"
        figure.savefig(path, dpi=150)
        paths.append(path)
    return paths


def _panel(axis: Any, varied: str, rows: Sequence[SiteRow]) -> None:
    for method in dict.fromkeys(row.method for row in rows):
        line = sorted((row for row in rows if row.method == method), key=lambda row: row.at)
        style = ":" if "published" in method else "--" if line[0].unsound else "-"
        axis.errorbar(
            [row.at for row in line],
            [row.mean for row in line],
            yerr=[row.std for row in line],
            color=_COLOURS[method[0]],
            linestyle=style,
            linewidth=2.2 if method == "ours" else 1.2,
            marker="o" if method == "ours" else ".",
            capsize=2,
            label=f"{method} (unsound)" if "published" in method else method,
        )
    axis.set_xlabel({"records": "records per site", "sites": "sites"}.get(varied, varied))
    axis.set_ylim(bottom=0)
    axis.spines[["top", "right"]].set_visible(False)
