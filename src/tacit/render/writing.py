"""A document in all its forms, side by side in one folder."""

from pathlib import Path

from tacit.render.document import Document
from tacit.render.html import write_page
from tacit.render.markdown import write_markdown
from tacit.render.pictures import write_pictures


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
