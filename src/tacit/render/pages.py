"""A report as it is written: a page that fetches nothing and runs nothing, Markdown, and pictures
beside them.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from itertools import groupby
from os.path import relpath
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from tacit.render.document import Chart, Document, Figures, Paragraph, Part, Table
from tacit.render.drawing import Drawing, as_table, draw
from tacit.render.pictures import write_pictures


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
    made.filters |= {"number": number, "moment": moment}
    return made


def number(value: float | None) -> str:
    """A figure in three digits; a dash where there is none.

    >>> number(0.123456), number(12), number(1234567)
    ('0.123', '12', '1,234,567')
    """
    if value is None:
        return "\N{EN DASH}"
    return f"{value:,}" if isinstance(value, int) or value >= 1000 else f"{value:.3g}"


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
    path.write_text(page_of(document), encoding="utf-8")


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


def tie(text: str) -> str:
    """Text in which a number and its error stay on one line.

    >>> tie("69.1 ± 3.6, 74.1") == "69.1\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}3.6, 74.1"
    True
    """
    return text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")


@dataclass(frozen=True)
class Charts:
    """Charts that follow each other."""

    drawings: tuple[Drawing, ...]


def _together(parts: Iterable[Part]) -> Iterator[Part | Charts]:
    for are_charts, group in groupby(parts, key=lambda part: isinstance(part, Chart)):
        if are_charts:
            yield Charts(tuple(draw(part) for part in group if isinstance(part, Chart)))
        else:
            yield from group


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
    path.write_text(markdown_of(document, links), encoding="utf-8")


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
            return [
                f"{_TONES[part.tone]}{_plain(part.text)}".strip(),
                "\n".join(terms),
                "\n".join(items),
            ]


def _bars(cells: Sequence[str], escaped: bool = False) -> str:
    return "| " + " | ".join(cell if escaped else _plain(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    """Text that Markdown takes as it stands, on one line."""
    return " ".join(text.split()).translate(_ESCAPED)
