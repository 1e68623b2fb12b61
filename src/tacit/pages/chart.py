"""What a chart shows, before anybody says where on a sheet."""

from dataclasses import dataclass
from math import isfinite
from typing import Literal

Kind = Literal["ours", "paper", "published", "public", "other"]
Scaling = Literal["linear", "log"]
KINDS: tuple[Kind, ...] = ("ours", "paper", "published", "public", "other")
SCALINGS: tuple[Scaling, ...] = ("linear", "log")


@dataclass(frozen=True)
class Line:
    """One line: points, with half the length of an error bar each where errors are known.

    Without `x` it has one `y` and runs over the whole chart: a level to compare with. Kinds: "ours"; "paper": a paper's
    method, run again; "published": numbers printed in a paper (crosses, no line); "public": the data user's sample
    alone; "other".
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] | None = None
    kind: Kind = "other"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if not self.y or (len(self.x) != len(self.y) and not self.is_level):
            raise ValueError(
                f"{self.name}: x and y must be equally long and not empty, got {len(self.x)} and {len(self.y)}"
            )
        if self.error is not None and len(self.error) != len(self.y):
            raise ValueError(f"{self.name}: error must be as long as y, got {len(self.error)} and {len(self.y)}")
        if not all(map(isfinite, (*self.x, *self.y, *(self.error or ())))):
            raise ValueError(f"{self.name}: x, y and error must be finite")

    @property
    def is_level(self) -> bool:
        """Whether it runs over the whole chart."""
        return not self.x and len(self.y) == 1

    @property
    def errors(self) -> tuple[float, ...]:
        """Half the lengths of the error bars, zero where none are known."""
        return self.error or (0.0,) * len(self.y)


@dataclass(frozen=True)
class Chart:
    """Lines over one pair of axes. `note` says what bars show, and what to look at.

    With `steps` the x axis counts them from 1 and has room for all, also for those to come.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    x_scale: Scaling = "linear"
    note: str = ""
    y_scale: Scaling = "linear"
    steps: int = 0

    def __post_init__(self) -> None:
        if not self.lines:
            raise ValueError(f"{self.title}: lines must not be empty")
        for name, scale, values in (
            ("x", self.x_scale, [value for line in self.lines for value in line.x]),
            ("y", self.y_scale, [value for line in self.lines for value in line.y]),
        ):
            if scale not in SCALINGS:
                raise ValueError(f"{name}_scale must be one of {', '.join(SCALINGS)}, got {scale!r}")
            if scale == "log" and not all(value > 0 for value in values):
                raise ValueError(f"{self.title}: {name} must be > 0 on a log scale")
