"""A document as one HTML file that needs nothing else: no network, no script, no second file."""

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from tacit.pages.drawing import Drawing, draw
from tacit.pages.rendering import environment
from tacit.report.document import Chart, Document, Part

# Even if words of a document were to slip through as markup, a browser would fetch and run nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True)
class Charts:
    """Charts that follow each other."""

    drawings: tuple[Drawing, ...]


def write_page(document: Document, path: Path) -> None:
    """Write the page; its folder is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page_of(document), encoding="utf-8")


def page_of(document: Document) -> str:
    """The page as text."""
    templates = environment("tacit.report")
    templates.filters["tied"] = tied
    template = templates.get_template("report.html")
    return template.render(
        document=document,
        sections=[(section, list(_together(section.parts))) for section in document.sections],
        policy=POLICY,
        style=_read("tacit.pages", "tacit.css") + _read("tacit.report", "report.css"),
        icon=base64.b64encode(_read("tacit.pages", "icon.svg").encode()).decode(),
    )


def tied(text: str) -> str:
    """Text in which a number and its error stay on one line.

    >>> tied("69.1 ± 3.6, 74.1") == "69.1\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}3.6, 74.1"
    True
    """
    return text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")


def _together(parts: Iterable[Part]) -> Iterator[Part | Charts]:
    for are_charts, group in groupby(parts, key=lambda part: isinstance(part, Chart)):
        if are_charts:
            yield Charts(tuple(draw(part) for part in group if isinstance(part, Chart)))
        else:
            yield from group


def _read(package: str, name: str) -> str:
    return (files(package) / "static" / name).read_text(encoding="utf-8")
