"""What is wrong with a file, and what to do: one that is read as a table, one that is written.

A message about a file that cannot be read says what it may be instead; no row is quoted. Files that
are written are known to be writable before the work begins.
"""

import codecs
import csv
import errno
import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from glob import glob
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from tempfile import mkstemp
from typing import Any

PARQUET = (".parquet", ".pq")  # endings of names
_RAGGED = re.compile(r"Expected \d+ columns, got \d+")
_TOO_LONG = "straddles two block boundaries"
_OTHER_KINDS = {  # what files begin with that are no CSV
    b"\x1f\x8b": "it is compressed (gzip): unpack it first",
    b"PK": "it is a workbook or an archive: save it as CSV first",
    b"{": "it is JSON: save it as CSV first",
    b"[": "it is JSON: save it as CSV first",
    b"<": "it is a page (HTML or XML): save it as CSV first",
    b"PAR1": "it is a parquet file: let its name end in .parquet",
    b"PARE": "it is encrypted: decrypt it first",
    b"\xff\xfe\0\0": "it is UTF-32 text: save it as UTF-8, or say --encoding utf-32",
    b"\0\0\xfe\xff": "it is UTF-32 text: save it as UTF-8, or say --encoding utf-32",
    b"\xff\xfe": "it is UTF-16 text: save it as UTF-8, or say --encoding utf-16",
    b"\xfe\xff": "it is UTF-16 text: save it as UTF-8, or say --encoding utf-16",
}
_MOST_FIRST = max(map(len, _OTHER_KINDS))
_DELIMITERS = (",", ";", "\t", "|")
_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")
_LISTED = 20  # columns that an error names
_TRIED = 1 << 16  # bytes that are written to see that a disk takes them
_LOOKED_AT = 2_000  # rows that are looked at before anything is loaded that reads all of them
_VALUES = 1 << 20  # of wide rows no more values than that


def not_text(file: Path, encoding: str = "utf-8") -> ValueError:
    """A file that is written in another encoding than is said."""
    return _no_table(
        file,
        f"it is not {encoding.upper()} text: save it as UTF-8, or name its --encoding, as latin-1",
    )


def unreadable(
    file: Path, problem: Exception | None = None, found: str = "", first: bytes = b""
) -> ValueError:
    """The library's message may quote a row: only its figures are told; `found` is what a second
    look at the file says.
    """
    if isinstance(problem, OSError) and problem.errno is not None:
        return refused(file, problem)
    said = str(problem or "")
    if file.suffix.lower() in PARQUET and found:
        why = found
    elif _RAGGED.search(said):
        why = found or "a line has more or fewer values than the first has names"
    elif _TOO_LONG in said:
        why = found or "a line is longer than any that is read: is a quotation mark not closed?"
    elif "UTF8" in said.upper():
        return not_text(file)
    else:
        if not first:
            with file.open("rb") as content:
                first = content.read(_MOST_FIRST)
        why = _other_kind(first) or "is it a CSV (UTF-8 text) or parquet file with a heading?"
        if file.suffix.lower() in PARQUET and first in (b"", b"PAR1"):
            why = "it is cut off or damaged: write it again" if first else "it is empty"
    return _no_table(file, why)


def refused(file: Path, problem: OSError) -> ValueError:
    """A file that the system does not give: it has gone, is not for this user, a disk is broken."""
    if problem.errno in (errno.ENOENT, errno.ENOTDIR):
        return ValueError(f"{file} is not there any more: bring it back, or leave it out")
    why = os.strerror(problem.errno or 0)
    return ValueError(f"{file} cannot be read ({why}): mend that, or leave it out")


def check_text_form(decimal: str, encoding: str) -> None:
    """How a text file is said to be written: the sign before decimals, and the encoding."""
    if decimal not in (".", ","):
        raise ValueError(f"--decimal must be . or a comma, got {decimal!r}")
    try:
        "".encode(encoding)  # some that Python knows are not of texts
    except LookupError:
        raise ValueError(
            f"--encoding must be one that Python knows, as latin-1 or cp1252, got {encoding!r}"
        ) from None


def is_utf8(encoding: str) -> bool:
    """Whether a name is one of those that UTF-8 has."""
    return codecs.lookup(encoding).name == "utf-8"


@dataclass(frozen=True)
class Heading:
    """What the first line of a CSV file says: the sign between values, and the columns' names."""

    delimiter: str
    names: tuple[str, ...]


def read_heading(
    file: Path, encoding: str, columns: Collection[str | None] = (), look_at: int = 0
) -> Heading:
    """The heading of a file that is said to be CSV, its sign whichever of the usual ones its first
    line has most; an error if it is of another kind, lacks one of these columns, or if one of the
    `look_at` rows that follow is ragged.
    """
    try:
        opened = file.open("rb")
    except OSError as problem:
        raise refused(file, problem) from None
    with (
        opened as content,
        TextIOWrapper(
            content,
            encoding="utf-8-sig" if is_utf8(encoding) else encoding,
            errors="surrogateescape",
            newline="",
        ) as text,
    ):
        first = content.peek(_MOST_FIRST)[:_MOST_FIRST]
        if not first:
            raise ValueError(
                f"{file} is empty: a table needs a line with the names of its columns, and rows"
            )
        if is_utf8(encoding) and first.startswith(tuple(_OTHER_KINDS)):
            raise unreadable(file, first=first)
        try:
            line = text.readline()
        except UnicodeError:  # no mark of the order of bytes, say
            raise not_text(file, encoding) from None
        if not line.strip():
            raise _no_table(file, "its first line is empty: it must have the names of columns")
        if any("\udc80" <= letter <= "\udcff" for letter in line):  # what was no text
            raise not_text(file, encoding)
        if line.count('"') % 2:
            raise ValueError(f"{file}: a column name has a line break: write all names in one line")
        delimiter = max(_DELIMITERS, key=line.count)
        names = [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
        require_columns(file, names, *columns)
        rows = csv.reader(text, delimiter=delimiter)
        few = min(look_at, _VALUES // max(1, len(names)))
        ragged = _ragged_row(rows, len(names), few, lines_before=1)
    if ragged:
        raise _no_table(file, ragged)
    return Heading(delimiter, tuple(names))


def require_columns(file: Path, names: Collection[str], *columns: str | None) -> None:
    """An error that names the columns there are, unless these are among them."""
    known = set(names)
    for name in columns:
        if name is not None and name not in known:
            raise ValueError(f"column {name!r} is not in {file}; it has {listed(name, names)}")


def listed(wanted: str, names: Collection[str]) -> str:
    """Names of columns, the likeliest one first where there are too many. A first line with
    numbers may be somebody's row: it is not quoted.
    """
    if any(_NUMBER.fullmatch(name) for name in names):
        return (
            f"{len(names):,} columns, with numbers for names: does its first line hold the names "
            "of columns?"
        )
    by_letters = {name.casefold(): name for name in names}
    near = [by_letters[name] for name in get_close_matches(wanted.casefold(), by_letters, n=1)]
    likely = f"; did you mean {near[0]!r}?" if near else ""
    return f"{some_of(dict.fromkeys((*near, *names)) if len(names) > _LISTED else names)}{likely}"


def some_of(names: Collection[str]) -> str:
    """Names, and how many more there are where they are too many for a line.

    >>> some_of([f"x{number}" for number in range(100_000)])[-24:]
    'x18, x19 and 99,980 more'
    """
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return f"{', '.join(islice(names, _LISTED))}{more}"


def find_ragged(file: Path, delimiter: str, encoding: str) -> str:
    """Which line first has another number of values than the heading has names; empty: none, or
    the file has gone.
    """
    try:
        with file.open(encoding=encoding, errors="replace", newline="") as text:
            lines = csv.reader(text, delimiter=delimiter)
            return _ragged_row(lines, len(next(lines, [])), None, lines_before=0)
    except OSError:
        return ""


def _ragged_row(rows: Any, names: int, most: int | None, lines_before: int) -> str:
    """The same of `most` rows that a reader has before it; it began after some lines."""
    begun = rows.line_num
    try:
        for values in islice(rows, most):
            if values and len(values) != names:
                first, last = begun + 1 + lines_before, rows.line_num + lines_before
                why = "every line must have as many values as the first has names"
                if last > first:
                    why = f"it begins in line {first:,}: is a quotation mark not closed?"
                return (
                    f"line {last:,} has {len(values)} values, and the first line {names} names: "
                    f"{why}"
                )
            begun = rows.line_num
    except csv.Error:  # a value longer than any that is read
        first = begun + 1 + lines_before
        return (
            f"a value that begins in line {first:,} is longer than any that is read: is a "
            "quotation mark not closed?"
        )
    return ""


def check_name(file: Path) -> None:
    """Refuse a name that is no text, as one of another system may be: no reader takes it."""
    try:
        str(file).encode()
    except UnicodeEncodeError:
        shown = str(file).encode(errors="replace").decode()
        raise ValueError(f"{shown} has a name that is not UTF-8 text: rename the file") from None


def check_file(path: Path, what: str = "the name of a CSV or parquet file") -> None:
    """Refuse a file that is not there, before anything is loaded that would read it."""
    if not path.is_file():
        other = "is a folder" if path.is_dir() else "is no file"
        raise ValueError(f"{path} {other if path.exists() else 'is not there'}: give {what}")


def check_table(
    path: Path, *columns: str | None, written: tuple[str, str] = (".", "utf-8")
) -> Heading | None:
    """The same of rows, which may be in a folder or in files that a pattern matches.

    One CSV file, with its decimal sign and encoding, is looked at: whether it has these columns,
    and whether its first lines are ragged. Its heading, for whoever reads on.
    """
    pattern = any(sign in str(path) for sign in "*?[")
    if not (path.exists() or (pattern and glob(str(path), recursive=True))):
        raise ValueError(
            f"{path} is not there: give the name of a CSV or parquet file, of a folder of them, or "
            "a pattern in quotes"
        )
    check_text_form(*written)
    if not path.is_file() or path.suffix.lower() in PARQUET:
        return None
    return read_heading(path, written[1], columns, _LOOKED_AT)


def _no_table(file: Path, why: str) -> ValueError:
    return ValueError(f"{file} cannot be read as a table: {why}")


def _other_kind(first: bytes) -> str:
    """What a file is that is not CSV, by its first bytes; empty: nothing is known."""
    kinds = (reason for begin, reason in _OTHER_KINDS.items() if first.startswith(begin))
    return next(kinds, "")


def check_writable(option: str, out: Path, *read: Path | None) -> None:
    """Make the folder of a file; an hour's work should not end at a wrong name, nor in the place
    of what is `read`: a file, or a pattern that has it among its own.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(
            f"{option} {out}: its folder cannot be made ({problem.strerror}); choose another"
        ) from None
    if out.is_dir():
        raise ValueError(f"{option} must be a file, and {out} is a folder: give a name in it")
    if out.exists() and not out.is_file():  # what is written takes its place
        raise ValueError(f"{option} must be a file, and {out} is a pipe or a device: choose a name")
    if out.exists() and not os.access(out, os.W_OK):
        raise ValueError(f"{option} {out} is there and must not be changed: choose another name")
    for each in read:
        among = [] if each is None else [each, *map(Path, glob(str(each)))]
        if out.exists() and any(file.is_file() and out.samefile(file) for file in among):
            raise ValueError(f"{option} {out} is a file that is read: choose another name")
    _try_writing(option, out.parent)


def check_place(path: Path) -> Path:
    """`path`, if a file may be made there or take the place of one."""
    if not path.parent.is_dir():
        missing = f"No such file: there is no folder {path.parent}"
        raise FileNotFoundError(errno.ENOENT, missing)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it")
    if path.exists() and not path.is_file():  # what is written would take its place
        raise ValueError(f"{path} is a pipe or a device: name a file")
    return path


def make_folder(option: str, out: Path) -> None:
    """Make a folder to write to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(
            f"{option} {out}: this folder cannot be made ({problem.strerror}); choose another"
        ) from None
    _try_writing(option, out)


def _try_writing(option: str, place: Path) -> None:
    """Rights alone do not tell: a disk may be full, or forbid it to everybody."""
    try:
        handle, name = mkstemp(dir=place, prefix=".tacit-")
        try:
            with open(handle, "wb") as file:
                file.write(bytes(_TRIED))  # an empty file is made on full disks, too
        finally:
            Path(name).unlink()
    except OSError as problem:
        raise ValueError(
            f"{option}: {place} cannot be written to ({problem.strerror}); choose another"
        ) from None
