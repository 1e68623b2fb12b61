"""Documents as HTML: templates with everything escaped that comes from outside them, and a report
as one file that needs nothing else, beside Markdown and pictures in one folder.
"""

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from tacit.render.document import Chart, Document, Part
from tacit.render.drawing import Drawing, draw
from tacit.render.markdown import write_markdown
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
