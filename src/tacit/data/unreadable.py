"""What is wrong with a file that cannot be read as a table, and what to do; no row is quoted."""

import csv
import re
from pathlib import Path

PARQUET = (".parquet", ".pq")  # endings of names
_RAGGED = re.compile(r"Expected \d+ columns, got \d+")
OTHER_KINDS = {  # what files begin with that are no CSV
    b"\x1f\x8b": "it is compressed (gzip): unpack it first",
    b"PK": "it is a workbook or an archive: save it as CSV first",
    b"PAR1": "it is a parquet file: let its name end in .parquet",
    b"\xff\xfe": "it is UTF-16 text: save it as UTF-8, or say --encoding utf-16",
    b"\xfe\xff": "it is UTF-16 text: save it as UTF-8, or say --encoding utf-16",
}
MOST_FIRST = max(map(len, OTHER_KINDS))


def unreadable(
    file: Path, problem: Exception | None = None, found: str = "", first: bytes = b""
) -> ValueError:
    """The library's message may quote a row: only its figures are told; `found` is what a second
    look at the file says.
    """
    said = str(problem or "")
    if file.suffix.lower() in PARQUET and found:
        why = found
    elif _RAGGED.search(said):
        why = found or "a line has more or fewer values than the first has names"
    elif "UTF8" in said.upper():
        why = "it is not UTF-8 text: save it as UTF-8, or name its --encoding, as latin-1"
    else:
        if not first:
            with file.open("rb") as content:
                first = content.read(MOST_FIRST)
        known = "" if first == b"PAR1" and file.suffix.lower() in PARQUET else _other_kind(first)
        why = known or "is it a CSV (UTF-8 text) or parquet file with a heading?"
    return ValueError(f"{file} cannot be read as a table: {why}")


def find_ragged(file: Path, delimiter: str, encoding: str) -> str:
    """Which line first has another number of values than the heading has names; empty: none."""
    with file.open(encoding=encoding, errors="replace", newline="") as text:
        lines = csv.reader(text, delimiter=delimiter)
        names = len(next(lines, []))
        try:
            for values in lines:
                if values and len(values) != names:
                    return (
                        f"line {lines.line_num:,} has {len(values)} values, and the first line "
                        f"{names} names: every line must have as many values as the first has names"
                    )
        except csv.Error:
            return ""
    return ""


def _other_kind(first: bytes) -> str:
    """What a file is that is not CSV, by its first bytes; empty: nothing is known."""
    kinds = (reason for begin, reason in OTHER_KINDS.items() if first.startswith(begin))
    return next(kinds, "")
