"""What a file is before it is a table: its kind, its first line, and what is wrong with one that
cannot be read. No row is ever quoted.
"""

import codecs
import csv
import re
from io import TextIOWrapper
from pathlib import Path

_RAGGED = re.compile(r"Expected \d+ columns, got \d+")
_MAGIC = {  # what files begin with
    b"\x1f\x8b": "it is compressed (gzip): unpack it first",
    b"PK": "it is a workbook or an archive: save it as CSV first",
    b"PAR1": "it is a parquet file: let its name end in .parquet",
    b"\xff\xfe": "it is UTF-16 text: save it as UTF-8, or say --encoding utf-16",
    b"\xfe\xff": "it is UTF-16 text: save it as UTF-8, or say --encoding utf-16",
}
_MOST_MAGIC = max(map(len, _MAGIC))


def is_parquet(file: Path) -> bool:
    """By the ending of its name."""
    return file.suffix.lower() in (".parquet", ".pq")


def is_utf8(encoding: str) -> bool:
    """Whether it is another name of it, or the name itself."""
    return codecs.lookup(encoding).name == "utf-8"


def read_heading(file: Path, encoding: str) -> str:
    """The first line of a file that is said to be CSV; an error if it is of another kind."""
    plain = is_utf8(encoding)
    with (
        file.open("rb") as content,
        TextIOWrapper(
            content, encoding="utf-8-sig" if plain else encoding, errors="replace"
        ) as text,
    ):
        first = content.peek(_MOST_MAGIC)[:_MOST_MAGIC]
        if not first:
            raise ValueError(
                f"{file} is empty: a table needs a line with the names of its columns, and rows"
            )
        if plain and _other_kind(first):
            raise unreadable(file, first=first)
        heading = text.readline()
    if heading.count('"') % 2:
        raise ValueError(
            f"{file} has a column name with a line break in it: write all names in the first line"
        )
    return heading


def unreadable(
    file: Path, problem: Exception | None = None, found: str = "", first: bytes = b""
) -> ValueError:
    """The library's message may quote a row: only its figures are told; `found` is what a second
    look at the file says.
    """
    said = str(problem or "")
    if is_parquet(file) and found:
        why = found
    elif _RAGGED.search(said):
        why = found or "a line has more or fewer values than the first has names"
    elif "UTF8" in said.upper():
        why = "it is not UTF-8 text: save it as UTF-8, or name its --encoding, as latin-1"
    else:
        if not first:
            with file.open("rb") as content:
                first = content.read(_MOST_MAGIC)
        known = "" if first == b"PAR1" and is_parquet(file) else _other_kind(first)
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
    kinds = (reason for begin, reason in _MAGIC.items() if first.startswith(begin))
    return next(kinds, "")
