"""A document as files of one folder: a page that needs nothing else (no network, no script, no
second file), Markdown, and pictures where matplotlib is there to draw them.
"""

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from tacit.render.document import Chart, Document, Part
from tacit.render.drawing import Drawing, draw
from tacit.render.html import environment
from tacit.render.markdown import write_markdown
from tacit.render.pictures import write_pictures

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
