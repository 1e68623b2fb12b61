"""The picture of an audit: what is claimed of epsilon against what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

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
