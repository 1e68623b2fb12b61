"""The tables of docs/evidence.md and docs/explanation/papers.md, made from rows on disk:

    python -m tacit_papers.evidence docs/evidence.md out/*/*.jsonl out/*.json

A table stands between two comments. The first names it and carries a digest of what its rows depend
on: the papers' code that its cells import, and what the product's own parts give for fixed seeds
(tests/golden); of a benchmark's table, the benchmark's own code. Nothing between the comments is
typed, sentences with figures in them neither.

Rows know which state of the code measured them (`state`), and a table is of the present one only if
nothing in it comes from rows of another: a line below it says so else. A table of the present state
is never replaced by an older one, one whose rows are not on disk is left as it is, and both are
named. Where the code has changed since, the page says so below the table, and a test fails until it
does (this command without rows writes that). Quick rows decide nothing, and no table is made of
them.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tacit_papers.evidence_benchmarks import (
    BENCHMARKS,
    MeasuredRow,
    digest_of_benchmark,
    read_benchmark,
)
from tacit_papers.evidence_tables import TABLES
from tacit_papers.registry import COMPARISONS, KINDS, PAPERS
from tacit_papers.rows_file import Block, CellRow, read_blocks
from tacit_papers.state import FILE, Golden, State, digest_of_state, golden_in

_BEGIN = r"<!-- table: ([\w ,]+); code ([0-9a-f]+) -->\n"
_END = "<!-- end of table -->\n"
OLDER = "*Measured by an earlier version of the code.*\n"
_UNKNOWN = "000000"  # the code of a table that rows of other states have a part in
_OURS = "tacit_papers."
Measured = Block | MeasuredRow


def digest_of(name: str, golden: Golden) -> str:
    """Of the papers' code behind a table's cells, and of what the product gives for fixed seeds; of
    a benchmark's table, of the benchmark's files.
    """
    if name in BENCHMARKS:
        return digest_of_benchmark(name)
    table = TABLES[name]
    return digest_of_state([_OURS + own for own in table.modules], table.golden, golden)


def renew(page: str, found: Sequence[Measured], golden: Golden) -> tuple[str, list[str]]:
    """The page with its tables made anew, and what is to be said of those that are not of rows of
    the present state.
    """
    notes: list[str] = []

    def table(match: re.Match[str]) -> str:
        name, digest, body = match[1], match[2], match[3]
        now = digest_of(name, golden)
        made, is_new, problem = _make(name, found, golden)
        if made and (is_new or digest != now):
            known = body.removesuffix(OLDER).rstrip("\n") + "\n"
            digest = now if is_new else digest if made == known else _UNKNOWN
        else:
            made = body.removesuffix(OLDER).rstrip("\n") + "\n"
            problem = f"left as it was: {problem}"
        if problem:
            notes.append(f"{name}: {problem}")
        older = "" if digest == now else f"\n{OLDER}"
        return f"<!-- table: {name}; code {digest} -->\n{made}{older}{_END}"

    return re.sub(_BEGIN + r"(.*?)" + re.escape(_END), table, page, flags=re.DOTALL), notes


def _make(name: str, found: Sequence[Measured], golden: Golden) -> tuple[str, bool, str]:
    """A table, whether nothing of it comes from rows of another state, and what is to be said of
    it; an empty one where rows are missing.

    What older rows have a part in is told by making it without them.
    """
    code, now, before = digest_of(name, golden), list[Measured](), list[Measured]()
    for each in found:
        (now if _is_present(each, name, code, golden) else before).append(each)
    try:
        made = _text(name, [*_not_again(before, now), *now])
    except LookupError as problem:
        return "", False, f"rows are missing: {problem}"
    try:
        is_new = made == _text(name, now)
    except LookupError:
        is_new = False
    return made, is_new, "" if is_new else "some of its rows are of another state of the code"


def _is_present(measured: Measured, name: str, code: str, golden: Golden) -> bool:
    """Whether the code that measured this is what would measure it now, as far as the table
    depends on it; `code` is the table's.
    """
    if isinstance(measured, MeasuredRow):
        return measured.code == code
    head = measured.known_head
    if name in BENCHMARKS or head is None:
        return False
    return State(head.code, head.golden).is_present(head.module, TABLES[name].golden, golden)


def _not_again(before: Sequence[Measured], now: Sequence[Measured]) -> list[Measured]:
    """Of earlier measurements those that have not been made again; the last of each cell."""
    again = {each.cell for each in now if isinstance(each, Block)}
    last = {each.cell: each for each in before if isinstance(each, Block)}
    others = [each for each in before if not isinstance(each, Block)]
    return [*others, *(each for cell, each in last.items() if cell not in again)]


def _text(name: str, measured: Sequence[Measured]) -> str:
    table = BENCHMARKS[name] if name in BENCHMARKS else TABLES[name]
    return table.make(rows_of(measured)).rstrip("\n") + "\n"


def rows_of(measured: Sequence[Measured]) -> list[Any]:
    """Heads and rows, also the means over runs of our own comparisons; a cell that was measured
    twice counts once, and they come as papers list them, whichever was done first.
    """
    cells = {each.cell: each for each in measured if isinstance(each, Block)}
    places = _places_of_cells()
    listed = sorted(cells.values(), key=lambda each: places.get(each.cell, len(places)))
    rows = [row for each in listed for row in (each.known_head, *each.rows) if row]
    for comparison in COMPARISONS.values():
        rows += comparison.summary([row for row in rows if isinstance(row, comparison.kinds)])
    return [*rows, *(each for each in measured if isinstance(each, MeasuredRow))]


@cache
def _places_of_cells() -> Mapping[str, int]:
    listed = [cell for paper in PAPERS.values() for cell in paper.cells(False, 1)]
    return {json.dumps(cell.settings, sort_keys=True): place for place, cell in enumerate(listed)}


def tables_of(page: str) -> dict[str, tuple[str, bool]]:
    """Names of a page's tables, with the digest that each carries and whether it says that it is
    older than the code.
    """
    found = re.finditer(_BEGIN + r"(.*?)" + re.escape(_END), page, flags=re.DOTALL)
    return {each[1]: (each[2], each[3].endswith(OLDER)) for each in found}


def golden_beside(page: Path) -> Golden:
    """What the product's parts give for fixed seeds, as the page's repository has it."""
    for folder in page.resolve().parents:
        if (folder / FILE).is_file():
            return golden_in(folder)
    raise LookupError(f"{FILE} is in no folder above the page")


def read_all(paths: Sequence[Path]) -> tuple[list[Measured], list[str]]:
    """What cells of papers and comparisons left (.jsonl), and what benchmarks wrote (.json), with
    what is to be said of that which no table is made of.
    """
    kinds = {kind for each in COMPARISONS.values() for kind in each.kinds} | set(KINDS)
    found, notes = list[Measured](), list[str]()
    for path in paths:
        if path.suffix == ".json":
            read: Sequence[Measured] = read_benchmark(path)
        else:
            read = list(read_blocks(path, kinds - {CellRow}))
        told = {each.unusable for each in read} - {""}
        found += [each for each in read if not each.unusable]
        for why in sorted(told):
            count = sum(each.unusable == why for each in read)
            notes.append(f"{path}: left out {count} of {len(read)}: {why}")
    return found, notes


def main(*paths: str) -> None:
    """Make the tables of some pages (.md) from rows (.jsonl) and results of benchmarks (.json)."""
    pages = [Path(each) for each in paths if each.endswith(".md")]
    if not pages:
        sys.exit(f"which pages? one or more files that end in .md, then rows\n\n{__doc__}")
    found, notes = read_all([Path(each) for each in paths if not each.endswith(".md")])
    for page in pages:
        made, problems = renew(page.read_text(encoding="utf-8"), found, golden_beside(page))
        page.write_text(made, encoding="utf-8")
        notes += [f"{page.name}, {problem}" for problem in problems]
    print(*notes, sep="\n")
    seconds = sum(each.head["cpu_seconds"] for each in found if isinstance(each, Block))
    print(f"cells of these rows took {seconds / 60:.1f} minutes of processor")


if __name__ == "__main__":
    main(*sys.argv[1:])
