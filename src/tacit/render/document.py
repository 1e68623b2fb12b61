"""A report before it has a form: words, tables and charts in sections, and pieces that many of them
have. Page, Markdown and pictures are made of it.
"""

from collections.abc import Iterable, Iterator
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

    Without `x` it has one `y` and runs over the whole chart: a level to compare with. Kinds:
    "ours"; "paper": a paper's method, run again; "published": numbers printed in a paper (crosses,
    no line); "public": the data user's sample alone; "other".
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
                f"{self.name}: x and y must be equally long and not empty, got {len(self.x)} "
                f"and {len(self.y)}"
            )
        if self.error is not None and len(self.error) != len(self.y):
            raise ValueError(
                f"{self.name}: error must be as long as y, got {len(self.error)} and {len(self.y)}"
            )
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
    `y_ends` are heights that the y axis reaches at least: those of charts that are compared.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    x_scale: Scaling = "linear"
    note: str = ""
    y_scale: Scaling = "linear"
    steps: int = 0
    y_ends: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.lines:
            raise ValueError(f"{self.title}: lines must not be empty")
        for name, scale, values in (
            ("x", self.x_scale, [value for line in self.lines for value in line.x]),
            ("y", self.y_scale, [value for line in self.lines for value in line.y]),
        ):
            if scale not in SCALINGS:
                raise ValueError(
                    f"{name}_scale must be one of {', '.join(SCALINGS)}, got {scale!r}"
                )
            if scale == "log" and not all(value > 0 for value in values):
                raise ValueError(f"{self.title}: {name} must be > 0 on a log scale")

    def _repr_html_(self) -> str:
        """For notebooks."""
        from tacit.render.pages import framed_chart

        return framed_chart(self)


__all__ = [
    "SPREAD",
    "Chart",
    "Document",
    "Figures",
    "Kind",
    "Line",
    "Paragraph",
    "Part",
    "Scaling",
    "Section",
    "Table",
    "mark_unsound",
    "percent",
    "percents",
    "protection",
]

SPREAD = "Bars: one standard deviation over runs."
Tone = Literal["plain", "promise", "limits", "warning"]


@dataclass(frozen=True)
class Figures:
    """A few numbers that are read first: name, value, and a smaller addition (or an empty one)."""

    entries: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Table:
    """Rows of text under headings; the first column names the row. `strong` are rows to look at
    first; `bars`, where there are any, one number for each row that is drawn beside its name, on a
    scale that holds `ends` too: tables of equal ends can be compared. `folded` is the line that
    stands for it on a page until it is opened.

    >>> Table("", ("", "adds"), (("a", "3"), ("b", "-1")), bars=(3.0, -1.0)).drawn_bars
    ((25.0, 75.0), (0.0, 25.0))
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    strong: tuple[int, ...] = ()
    bars: tuple[float, ...] = ()
    ends: tuple[float, float] = (0.0, 0.0)
    folded: str = ""

    def __post_init__(self) -> None:
        if len(self.bars) not in (0, len(self.rows)):
            raise ValueError(
                f"{self.caption}: bars must be one for each of {len(self.rows)} rows, or none, "
                f"got {len(self.bars)}"
            )
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"{self.caption}: a row must have {len(self.columns)} cells, got {len(row)}"
                )
        if not all(0 <= number < len(self.rows) for number in self.strong):
            raise ValueError(
                f"{self.caption}: strong must name rows below {len(self.rows)}, got {self.strong}"
            )

    @property
    def drawn_bars(self) -> tuple[tuple[float, float], ...]:
        """Where each bar begins and how long it is, in percent of their common width: all of them
        begin or end at zero.
        """
        low, high = min(0.0, *self.ends, *self.bars), max(0.0, *self.ends, *self.bars)
        whole = (high - low) or 1.0
        return tuple(
            (100 * (min(0.0, value) - low) / whole, 100 * abs(value) / whole) for value in self.bars
        )

    @property
    def wordy(self) -> tuple[bool, ...]:
        """Which columns hold words or several numbers in a cell: they are set to the left, single
        numbers to the right.
        """
        return tuple(
            any(cell[:1].isalpha() or ", " in cell for cell in column)
            for column in zip(*self.rows, strict=True)
        )


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, then terms with their meaning, then a list. Its tone is that of a promise,
    its limits, a warning.
    """

    text: str = ""
    tone: Tone = "plain"
    terms: tuple[tuple[str, str], ...] = ()
    items: tuple[str, ...] = ()


Part = Table | Chart | Paragraph | Figures


@dataclass(frozen=True)
class Section:
    """A heading, a paragraph, and what belongs to it. Charts that follow each other are set side
    by side.
    """

    title: str
    text: str = ""
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Document:
    """A whole report. `command` makes it again; `settings` are names and values that it depends
    on.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    command: str = ""
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def charts(self) -> Iterator[Chart]:
        """All charts, in order."""
        return (
            part for section in self.sections for part in section.parts if isinstance(part, Chart)
        )

    def _repr_html_(self) -> str:
        """For notebooks."""
        from tacit.render.pages import framed_report

        return framed_report(self)


def percent(mean: float, std: float | None = None) -> str:
    """A share for people.

    >>> percent(0.123, 0.004), percent(0.5)
    ('12.3 ± 0.4', '50.0')
    """
    return f"{100 * mean:.1f}" + ("" if std is None else f" ± {100 * std:.1f}")


def percents(name: str, points: Iterable[tuple[float, float, float]], kind: Kind) -> Line:
    """A line of shares in percent: (x, mean, standard deviation)."""
    x, means, stds = zip(*points, strict=True)
    return Line(
        name, tuple(x), tuple(100 * mean for mean in means), tuple(100 * std for std in stds), kind
    )


def mark_unsound(method: str, unsound: str) -> str:
    """A method's name, with the mark of one that may only be simulated."""
    return f"{method} (unsound)" if unsound else method


def protection(
    claim: str, terms: tuple[tuple[str, str], ...], limits: tuple[str, ...], unsound: Iterable[str]
) -> Section:
    """What the methods promise where they really run, what they do not, and why some may only be
    simulated.
    """
    reasons = tuple(sorted({reason for reason in unsound if reason}))
    parts = [
        Paragraph(
            "All numbers here come from seeded simulations: reproducible, not private. Public "
            "data only was used.",
            "warning",
        ),
        Paragraph(claim, "promise", terms),
        Paragraph("Not protected, whatever the method:", "limits", items=limits),
    ]
    if reasons:
        text = "Methods marked unsound are there for comparison and cannot run at an owner. Why:"
        parts.append(Paragraph(text, "limits", items=reasons))
    return Section("What is promised, and what is not", parts=tuple(parts))
