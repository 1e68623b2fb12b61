"""A document as Markdown: for read-mes, merge requests and terminals."""

from collections.abc import Iterable, Mapping, Sequence
from os.path import relpath
from pathlib import Path

from tacit.render.document import Chart, Document, Figures, Paragraph, Part, Table
from tacit.render.drawing import as_table

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
