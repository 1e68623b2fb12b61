"""Why a file cannot be read as a table, in words that say what to do. No row is ever quoted."""

import re
from pathlib import Path

_RAGGED = re.compile(r"(Row #\d+: )?Expected \d+ columns, got \d+")
_FIRST = {  # what files begin with
    b"\x1f\x8b": "it is compressed (gzip): unpack it first",
    b"PK": "it is a workbook or an archive: save it as CSV first",
    b"PAR1": "it is a parquet file: let its name end in .parquet",
    b"\xff\xfe": "it is UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "it is UTF-16 text: save it as UTF-8",
}


def unreadable(file: Path, problem: Exception | None = None) -> ValueError:
    """The library's message may quote a row: only its figures are told."""
    said = str(problem or "")
    ragged = _RAGGED.search(said)
    if ragged:
        why = f"{ragged.group(0).lower()}: every line must have as many values as the first has names"
    elif "UTF8" in said.upper():
        why = "it is not UTF-8 text: save it as UTF-8"
    else:
        why = _other_kind(file) or "is it a CSV (UTF-8 text) or parquet file with a heading?"
    return ValueError(f"{file} cannot be read as a table: {why}")


def refuse_other_kinds(file: Path) -> None:
    """An error for a file that is said to be CSV and is of another kind."""
    if not file.stat().st_size:
        raise ValueError(f"{file} is empty: a table needs a line with the names of its columns, and rows")
    if _other_kind(file):
        raise unreadable(file)


def is_parquet(file: Path) -> bool:
    """By the ending of its name."""
    return file.suffix.lower() in (".parquet", ".pq")


def _other_kind(file: Path) -> str:
    """What a file is that is neither CSV nor called parquet, by what it begins with; empty: nothing is known."""
    with file.open("rb") as content:
        first = content.read(4)
    kinds = (reason for begin, reason in _FIRST.items() if first.startswith(begin))
    return "" if first == b"PAR1" and is_parquet(file) else next(kinds, "")
