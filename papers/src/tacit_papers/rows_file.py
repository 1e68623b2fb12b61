"""Rows on disk, a line of JSON each: those of a cell stand behind a head that says what made them.

    {"row": "CellRow", "digest": ..., "settings": ..., "rows": 2, ...}
    {"row": "SiteRow", ...}
    {"row": "SiteRow", ...}

A cell is written whole or, after a kill, torn, and a torn one is as good as none.
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

EARLIER = "earlier.jsonl"  # beside a file of rows: what was measured by other sources


@dataclass(frozen=True)
class CellRow:
    """Heads the rows of one cell: what was run, by which code, with which seeds and versions, and
    how long it took.

    Run number r of the cell draws its coins from (seed, r), r from 0 to runs - 1, unless the cell
    is one run and its settings say which. `module` has the cell; `code` and `golden` are the state
    of the sources when it was begun (`state.State`). `rows` counts the lines that follow.
    """

    digest: str
    settings: dict[str, Any]
    runs: int
    seed: int
    versions: dict[str, str]
    module: str
    code: dict[str, str]
    golden: dict[str, str]
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    rows: int = 0


@dataclass(frozen=True)
class Block:
    """A cell on disk. Its head is as it was written: one of another version has other fields.
    `problem` says why its rows cannot be read, where they have other fields than they have now.
    """

    head: Mapping[str, Any]
    lines: tuple[str, ...]
    rows: tuple[Any, ...] = ()
    problem: str = ""

    @cached_property
    def cell(self) -> str:
        """What was run, whatever ran it."""
        return json.dumps(self.head["settings"], sort_keys=True)

    @cached_property
    def known_head(self) -> CellRow | None:
        """The head, if it has the fields of this version."""
        known = {field.name for field in fields(CellRow)} == set(self.head)
        return CellRow(**self.head) if known else None

    @property
    def unusable(self) -> str:
        """Why nothing can be told from its rows, if so."""
        quick = "quick cells decide nothing" if self.head["settings"]["quick"] else ""
        return self.problem or quick


def read_blocks(path: Path, kinds: Iterable[type[Any]] = ()) -> Iterator[Block]:
    """The whole cells of a file, with their rows of these kinds."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for start, line in enumerate(lines):
        if not line.startswith('{"row": "CellRow"') or not line.endswith("}\n"):
            continue
        head = json.loads(line)
        del head["row"]
        block = tuple(lines[start : start + 1 + head["rows"]])
        if len(block) == 1 + head["rows"] and all(each.endswith("}\n") for each in block):
            try:
                yield Block(head, block, tuple(_rows_of(block[1:], kinds)))
            except ValueError as problem:
                yield Block(head, block, problem=str(problem))


def clear_file(path: Path, digests: Collection[str], papers: Collection[str]) -> set[str]:
    """Take out everything but the cells of these digests and those of other papers: other settings,
    other sources, and a cell torn by a kill; the digests that are left.

    Whole cells that are taken out are kept in a file beside it: where their state is still the
    present one (`state`), tables can be made of them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        return set()
    left: list[str] = []
    out: list[str] = []
    done: set[str] = set()
    for block in read_blocks(path):
        digest, paper = block.head["digest"], block.head["settings"]["paper"]
        wanted = digest in digests or (paper not in papers and block.known_head is not None)
        if wanted and digest not in done:
            left += block.lines
            done.add(digest)
        elif not wanted:
            out += block.lines
    if out:
        with path.with_name(EARLIER).open("a", encoding="utf-8") as file:
            file.writelines(out)
    if "".join(left) != path.read_text(encoding="utf-8"):
        draft = path.with_suffix(".part")
        draft.write_text("".join(left), encoding="utf-8")
        os.replace(draft, path)
    return done


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
    yield from _rows_of(path.read_text(encoding="utf-8").splitlines(), kinds)


def _rows_of(lines: Iterable[str], kinds: Iterable[type[Any]]) -> Iterator[Any]:
    known = {kind.__name__: kind for kind in kinds}
    for line in lines:
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
