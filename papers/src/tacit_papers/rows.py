"""Rows of experiments on disk: one JSON object per line, the kind of row first."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

Kind = TypeVar("Kind")


def line_of(row: Any) -> str:
    """A row, which is a dataclass, as one line."""
    return json.dumps({"row": type(row).__name__, **asdict(row)}) + "\n"


def write_rows(rows: Iterable[Any], path: Path) -> None:
    """A whole file of rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(line_of(row) for row in rows)


def read_rows(path: Path, kinds: Iterable[type[Any]]) -> Iterator[Any]:
    """Rows of these kinds again as they were written, others left out; lists become tuples."""
    known = {kind.__name__: kind for kind in kinds}
    for line in path.read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        kind = known.get(found.pop("row"))
        if kind is not None:
            yield row_of(kind, found)


def row_of(kind: type[Any], found: Mapping[str, Any]) -> Any:
    """A row from its fields; a file of another version has others, and says so."""
    names = {field.name for field in fields(kind)}
    if not names == set(found):
        raise ValueError(
            f"rows must have the fields of {kind.__name__}; they differ in "
            f"{sorted(names ^ set(found))}"
        )
    return kind(
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in found.items()
        }
    )


def select(rows: Iterable[Any], kind: type[Kind], **wanted: object) -> list[Kind]:
    """The rows of a kind that have these fields.

    >>> select([1, 2.0, 1j], complex, real=0.0)
    [1j]
    """
    return [
        row
        for row in rows
        if isinstance(row, kind)
        and all(getattr(row, name) == value for name, value in wanted.items())
    ]
