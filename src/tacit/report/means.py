"""The picture of true against estimated means."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from tacit.types import FloatArray


class MeanRow(Protocol):
    """What the picture needs to know of a mechanism."""

    @property
    def name(self) -> str: ...

    @property
    def bytes_per_owner(self) -> int: ...

    @property
    def mean(self) -> FloatArray: ...

    @property
    def stderr(self) -> FloatArray: ...

    @property
    def error(self) -> float: ...


def draw_means(truth: FloatArray, rows: Sequence[MeanRow], title: str, path: Path) -> None:
    """A panel per mechanism: true means as a line, estimates with two standard errors."""
    from matplotlib.figure import Figure  # an extra: the rest of the package works without it

    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = np.ravel(figure.subplots(2, 2, sharex=True, sharey=True))
    at = np.arange(1, len(truth) + 1)
    for axis, row in zip(axes, rows, strict=True):
        axis.axhline(0, color="0.85", linewidth=1)
        axis.plot(at, truth, color="0.25", linewidth=1.5, label="true mean (never seen by the data user)")
        bars = {"fmt": "o", "color": "#0b6e99", "markersize": 4, "capsize": 3}
        axis.errorbar(at, row.mean, yerr=2 * row.stderr, label="estimate ± 2 standard errors", **bars)
        axis.set_title(f"{row.name}: {row.bytes_per_owner} bytes per owner, error {row.error:.3f}", fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_xticks(at)
    for axis in axes[2:]:
        axis.set_xlabel("coordinate of the share")
    for axis in axes[::2]:
        axis.set_ylabel("mean over owners")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle(title, fontsize=12)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
