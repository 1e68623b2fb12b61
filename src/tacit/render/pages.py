"""A report as it is written: a page that fetches nothing and runs nothing, Markdown, and charts
beside them as PNG and SVG files, for slides and papers; the picture of an audit. Pictures need
matplotlib, which is an extra.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from itertools import count, groupby
from os.path import relpath
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from tacit._util.checks import in_digits
from tacit._util.stopping import write_whole
from tacit.render.document import Chart, Document, Figures, Line, Paragraph, Part, Table
from tacit.render.drawing import Curve, Drawing, as_table, draw, short, upright_axis, widen


def environment(package: str) -> Environment:
    """The templates of a package, and the common ones; a name that a template misspells is an
    error.
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("tacit.render")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"number": in_digits, "moment": moment}
    return made


def moment(seconds: float) -> str:
    """A time for people and machines alike.

    >>> moment(0)
    '1970-01-01 00:00:00 UTC'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


# Even if words of a document were to slip through as markup, a browser would fetch and run nothing.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def write_report(document: Document, folder: Path) -> bool:
    """Write report.html and report.md, and pictures of the charts; whether matplotlib was there
    to draw them.
    """
    write_page(document, folder / "report.html")
    try:
        pictures = write_pictures(document, folder / "pictures")
    except ModuleNotFoundError:
        write_markdown(document, folder / "report.md")
        return False
    write_markdown(document, folder / "report.md", pictures)
    return True


def write_page(document: Document, path: Path) -> None:
    """Write the page; its folder is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page_of(document).encode())


def page_of(document: Document) -> str:
    """The page as text."""
    templates = environment("tacit.render")
    templates.filters["tie"] = tie
    template = templates.get_template("report.html")
    return template.render(
        document=document,
        sections=[(section, list(_together(section.parts))) for section in document.sections],
        policy=POLICY,
        style=_read("tacit.css") + _read("report.css"),
        icon=base64.b64encode(_read("icon.svg").encode()).decode(),
    )


def framed_report(document: Document) -> str:
    """The page in a frame, for notebooks: neither has to do with the other's styles."""
    return _framed(document.title, page_of(document), 900)


def framed_chart(chart: Chart) -> str:
    """A chart alone, likewise."""
    page = environment("tacit.render").get_template("framed_chart.html")
    style = _read("tacit.css") + _read("report.css")
    return _framed(chart.title, page.render(drawing=draw(chart), policy=POLICY, style=style), 520)


def _framed(title: str, page: str, height: int) -> str:
    return (
        f'<iframe title="{escape(title)}" srcdoc="{escape(page)}" sandbox '
        f'style="width: 100%; height: {height}px; border: 0"></iframe>'
    )


def tie(text: str) -> str:
    """Text in which a number and its error stay on one line.

    >>> tie("69.1 ± 3.6, 74.1") == "69.1\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}3.6, 74.1"
    True
    """
    return text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")


@dataclass(frozen=True)
class Charts:
    """Charts that follow each other, of the same lines."""

    drawings: tuple[Drawing, ...]

    @property
    def legend(self) -> tuple[Curve, ...]:
        """One for all of them; none where a single chart has its own, or the only line is named
        by the axis.
        """
        first, *others = self.drawings
        named = [curve.name for curve in first.curves] != [first.y_label]
        return first.curves if others and named else ()


def _together(parts: Iterable[Part]) -> Iterator[Part | Charts]:
    """The parts of a section, charts of the same lines side by side."""
    drawn = [draw(part) if isinstance(part, Chart) else part for part in parts]
    for lines, group in groupby(drawn, key=_lines_of):
        if lines is None:
            yield from (part for part in group if not isinstance(part, Drawing))
        else:
            yield Charts(tuple(part for part in group if isinstance(part, Drawing)))


def _lines_of(part: Part | Drawing) -> tuple[tuple[str, str], ...] | None:
    """What a legend would say; None: it is no chart."""
    if not isinstance(part, Drawing):
        return None
    return tuple((curve.name, curve.look) for curve in part.curves)


def _read(name: str) -> str:
    return (files("tacit.render") / "static" / name).read_text(encoding="utf-8")


_ESCAPED = str.maketrans({letter: f"\\{letter}" for letter in "\\`*_[]<>|#"})
_TONES = {
    "plain": "",
    "promise": "**Promised.** ",
    "limits": "**Not protected.** ",
    "warning": "**Warning.** ",
}


def write_markdown(
    document: Document, path: Path, pictures: Mapping[Chart, Path] | None = None
) -> None:
    """Write the document; charts become tables, below their pictures where there are some."""
    path.parent.mkdir(parents=True, exist_ok=True)
    links = {
        chart: Path(relpath(picture, path.parent)).as_posix()
        for chart, picture in (pictures or {}).items()
    }
    write_whole(path, markdown_of(document, links).encode())


def markdown_of(document: Document, links: Mapping[Chart, str] | None = None) -> str:
    """The document as text; `links` are addresses of pictures."""
    blocks = [f"# {_plain(document.title)}", _plain(document.lead)]
    for section in document.sections:
        blocks += [f"## {_plain(section.title)}", _plain(section.text)]
        for part in section.parts:
            blocks += _blocks(part, links or {})
    if document.command or document.settings:
        code = [f"    {line}" for line in document.command.splitlines()]
        settings = [f"- {_plain(name)}: {_plain(value)}" for name, value in document.settings]
        blocks += ["## How to run it again", "\n".join(code), "\n".join(settings)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def table_of(
    columns: Sequence[str], rows: Iterable[Sequence[str]], strong: Sequence[int] = ()
) -> str:
    """A table with bars.

    >>> print(table_of(["method", "error"], [["ours", "3.2"], ["a|b", ""]], strong=[0]))
    | method | error |
    |---|---|
    | **ours** | **3.2** |
    | a\\|b |  |
    """
    lines = [_bars(columns), "|" + "---|" * len(columns)]
    for number, row in enumerate(rows):
        cells = [_plain(cell) for cell in row]
        lines.append(
            _bars(
                [f"**{cell}**" if cell and number in strong else cell for cell in cells],
                escaped=True,
            )
        )
    return "\n".join(lines)


def _blocks(part: Part, links: Mapping[Chart, str]) -> list[str]:
    match part:
        case Table():
            table = table_of(part.columns, part.rows, part.strong)
            return [f"*{_plain(part.caption)}*" if part.caption else "", table, _plain(part.note)]
        case Chart():
            heading, *rows = as_table(part)
            picture = f"![{_plain(part.title)}]({links[part]})" if part in links else ""
            caption = f"*{_plain(part.title)}: {_plain(part.y_label)}*"
            return [caption, picture, table_of(heading, rows), _plain(part.note)]
        case Figures():
            values = (
                f"- {_plain(name)}: **{_plain(value)}** {_plain(more)}".rstrip()
                for name, value, more in part.entries
            )
            return ["\n".join(values)]
        case Paragraph():
            terms = [f"- {_plain(name)}: {_plain(value)}" for name, value in part.terms]
            items = [f"- {_plain(item)}" for item in part.items]
            tone = _TONES[part.tone]
            if part.text.startswith(tone.strip("*. ")):  # it says so itself
                tone = ""
            return [
                f"{tone}{_plain(part.text)}".strip(),
                "\n".join(terms),
                "\n".join(items),
            ]


def _bars(cells: Sequence[str], escaped: bool = False) -> str:
    return "| " + " | ".join(cell if escaped else _plain(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    """Text that Markdown takes as it stands, on one line."""
    return " ".join(text.split()).translate(_ESCAPED)


_COLOURS = {
    "ours": ("#0f5f70", "#1c6b3a", "#1d4f91"),
    "paper": ("#b0500a", "#a8261d", "#7a5c00"),
    "published": ("#b0500a", "#a8261d", "#7a5c00"),
    "public": ("#1b2426",) * 3,
    "other": ("#6b4fa0", "#566266", "#96357f"),
}
_DASHES = {
    "ours": ("-",) * 3,
    "paper": ((0, (5, 3)), (0, (1.5, 3)), (0, (7, 2, 1.5, 2))),
    "published": ("none",) * 3,
    "public": ((0, (9, 4)), (0, (3, 3)), (0, (9, 3, 2, 3))),
    "other": ("-",) * 3,
}
_LEVELS = {**_DASHES, "other": ((0, (2, 2)), (0, (6, 2, 1.5, 2)), (0, (1, 3)))}
_MARKERS = "os^Dv"


def write_pictures(document: Document, folder: Path) -> dict[Chart, Path]:
    """Draw every chart of a document as NAME.png and NAME.svg; the PNG of each."""
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    paths: dict[Chart, Path] = {}
    with rc_context({"svg.hashsalt": "tacit", "svg.fonttype": "none"}):
        for number, chart in enumerate(document.charts, 1):
            figure = _figure_of(chart)
            paths[chart] = folder / f"{number:02d}-{_slug(chart.title)}.png"
            figure.savefig(paths[chart], dpi=150, metadata={"Software": "tacit"})
            figure.savefig(
                paths[chart].with_suffix(".svg"), metadata={"Creator": "tacit", "Date": None}
            )
    return paths


def _figure_of(chart: Chart) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.8), layout="constrained")
    axis = figure.subplots()
    axis.set(xscale=chart.x_scale, yscale=chart.y_scale, xlabel=chart.x_label, ylabel=chart.y_label)
    places = sorted({x for line in chart.lines for x in line.x})
    if len(places) == 1:  # an axis has a length, also around one point
        axis.set_xlim(*widen(places, chart.x_scale, share=0.1))
    numbers = {(line.kind, line.is_level): count() for line in chart.lines}
    shapes = count()
    for line in chart.lines:
        _draw(axis, line, next(numbers[line.kind, line.is_level]) % 3, shapes)
    if 0 < len(places) <= 10:
        axis.set_xticks(places, [short(x) for x in places])
        axis.set_xticks([], minor=True)
    axis.set_title(chart.title, fontsize=11, loc="left")
    axis.grid(axis="y", color="0.9")
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    low, high, grid = upright_axis(chart)
    axis.set_yticks(grid, [short(value) for value in grid])
    axis.set_yticks([], minor=True)
    axis.set_ylim(low, high)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def _draw(axis: Any, line: Line, number: int, shapes: "count[int]") -> None:
    colour, dashes = (
        _COLOURS[line.kind][number],
        (_LEVELS if line.is_level else _DASHES)[line.kind][number],
    )
    if line.is_level:
        axis.axhline(line.y[0], color=colour, linestyle=dashes, linewidth=1.5, label=line.name)
        return
    look: dict[str, Any] = {"marker": "x", "markersize": 7, "markeredgewidth": 2}
    if line.kind == "public":
        look = {"marker": ".", "markersize": 4}
    elif line.kind != "published":
        shape = next(shapes)
        hollow = {"markerfacecolor": "white"} if shape // len(_MARKERS) % 2 else {}
        look = {"marker": _MARKERS[shape % len(_MARKERS)], "markersize": 5, **hollow}
    axis.errorbar(
        line.x,
        line.y,
        yerr=line.error,
        color=colour,
        linestyle=dashes,
        linewidth=2.2 if line.kind == "ours" else 1.4,
        capsize=2,
        label=line.name,
        **look,
    )


def _slug(title: str) -> str:
    """A name for a file.

    >>> _slug("Boosted stumps on MNIST, epsilon 5")
    'boosted-stumps-on-mnist-epsilon-5'
    """
    words = "".join(
        letter.lower() if letter.isalnum() and letter.isascii() else " " for letter in title
    ).split()
    return "-".join(words)[:60] or "chart"


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
