"""The tables of docs/evidence.md and docs/explanation/papers.md, made from rows on disk:

    python -m tacit_papers.evidence docs/evidence.md out/*/rows.jsonl out/*.json

A table stands between two comments. The first names it and carries a digest of what its rows depend
on: the papers' code that its cells import, and what the product's own parts give for fixed seeds
(tests/golden); of a benchmark's table, the benchmark's own code. Nothing between the comments is
typed, sentences with figures in them neither. A table whose rows are not on disk is left as it is
and named; where the code has changed since, the page says so below it, and a test fails until it
does (this command without rows writes that).
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tacit_papers.evidence_benchmarks import BENCHMARKS, ROOT, read_benchmark
from tacit_papers.evidence_tables import TABLES
from tacit_papers.registry import COMPARISONS, KINDS
from tacit_papers.runner import CellRow, read_rows
from tacit_papers.sources import digest_of_code, digest_of_files, imports_of

_BEGIN = r"<!-- table: ([\w ,]+); code ([0-9a-f]+) -->\n"
_END = "<!-- end of table -->\n"
OLDER = "*Measured by an earlier version of the code.*\n"
_OURS = "tacit_papers."
_GOLDEN = Path("tests") / "golden" / "digests.json"
_PART = "guesses"  # of a golden case: what the fitted model says of fixed rows
_MACHINERY = {"tacit_papers.runner", "tacit_papers.sources"}  # run cells, and measure nothing


def digest_of(name: str, golden: Mapping[str, Mapping[str, str]]) -> str:
    """Of the papers' code behind a table's cells, and of what the product gives for fixed seeds; of
    a benchmark's table, of the benchmark's files.
    """
    if name in BENCHMARKS:
        return digest_of_files(ROOT / file for file in BENCHMARKS[name].files)
    table = TABLES[name]
    modules = {
        module
        for own in table.modules
        for module in imports_of(_OURS + own)
        if module.startswith(_OURS) and module not in _MACHINERY
    }
    digest = blake2b(digest_of_code(modules).encode(), digest_size=6)
    for case in sorted(golden):
        if case.startswith(table.golden):
            digest.update(f"{case} {golden[case].get(_PART, '')}".encode())
    return digest.hexdigest()


def renew(
    page: str, rows: Sequence[Any], golden: Mapping[str, Mapping[str, str]]
) -> tuple[str, list[str]]:
    """The page with its tables made anew, and what could not be made for want of rows; a table
    that is older than the code says so.
    """
    missing: list[str] = []

    def table(found: re.Match[str]) -> str:
        name, digest, body = found[1], found[2], found[3]
        now = digest_of(name, golden)
        try:
            made, digest = _text(name, rows), now
        except LookupError as problem:
            missing.append(f"{name}: {problem}")
            made = body.removesuffix(OLDER).rstrip("\n") + "\n"
        older = "" if digest == now else f"\n{OLDER}"
        return f"<!-- table: {name}; code {digest} -->\n{made}{older}{_END}"

    return re.sub(_BEGIN + r"(.*?)" + re.escape(_END), table, page, flags=re.DOTALL), missing


def _text(name: str, rows: Sequence[Any]) -> str:
    table = BENCHMARKS[name] if name in BENCHMARKS else TABLES[name]
    return table.make(rows).rstrip("\n") + "\n"


def tables_of(page: str) -> dict[str, tuple[str, bool]]:
    """Names of a page's tables, with the digest that each carries and whether it says that it is
    older than the code.
    """
    found = re.finditer(_BEGIN + r"(.*?)" + re.escape(_END), page, flags=re.DOTALL)
    return {each[1]: (each[2], each[3].endswith(OLDER)) for each in found}


def golden_beside(page: Path) -> dict[str, dict[str, str]]:
    """What the product's parts give for fixed seeds, as the page's repository has it."""
    for folder in page.resolve().parents:
        if (folder / _GOLDEN).is_file():
            found: dict[str, dict[str, str]] = json.loads((folder / _GOLDEN).read_text())
            return found
    raise LookupError(f"{_GOLDEN} is in no folder above the page")


def read_all(paths: Sequence[Path]) -> list[Any]:
    """Rows of papers and comparisons, of the latter also their means over runs; and what benchmarks
    wrote (.json).
    """
    kinds = {kind for each in COMPARISONS.values() for kind in each.kinds} | set(KINDS)
    rows: list[Any] = []
    for path in paths:
        rows += read_benchmark(path) if path.suffix == ".json" else read_rows(path, kinds)
    for comparison in COMPARISONS.values():
        rows += comparison.summary([row for row in rows if isinstance(row, comparison.kinds)])
    return rows


def main(page: str, *rows: str) -> None:
    path = Path(page)
    found = read_all([Path(each) for each in rows])
    made, missing = renew(path.read_text(encoding="utf-8"), found, golden_beside(path))
    path.write_text(made, encoding="utf-8")
    for line in missing:
        print(f"left as it was, rows are missing: {line}")
    seconds = sum(row.cpu_seconds for row in found if isinstance(row, CellRow))
    print(f"cells of these rows took {seconds / 60:.1f} minutes of processor")


if __name__ == "__main__":
    main(*sys.argv[1:])
