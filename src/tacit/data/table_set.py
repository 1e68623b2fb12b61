"""A table in several files: a folder, a pattern of names, a set that folders divide by the value of
a column (`state=SP/part-0.parquet`), or a list of files. It is read as one file would be.

Rows are in the order of files, sorted by path, and within a file in its own; names that begin with
a dot or an underscore are no part of it. Files are all parquet or all CSV. Each must have the
columns that are asked for, of one kind in all of them: numbers may be stored in several ways, and
are no texts. CSV files declare no kinds: `require_numbers` looks at their values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from glob import glob, has_magic
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from tacit._util.file_checks import PARQUET, refused, some_of
from tacit.data.file_bytes import changed, checksum, identity
from tacit.data.schema import Schema
from tacit.data.table_file import PLAIN, TableFile, TextForm

Location = str | Path | Sequence[str | Path]
_ENDINGS = (".parquet", ".pq", ".csv")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")  # of whole files, which are not read
_NO_FILE = "a pipe or a device, which cannot be read twice"
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # how writers of sets call the folder of missing values
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


@dataclass(frozen=True)
class SetFile:
    """A file of a set, closed: where it is and which one (`file_bytes`), how many rows its row
    groups have (none: CSV), and `values`, columns of folders' names that all its rows have alike.
    """

    path: Path
    form: TextForm
    identity: tuple[int, bytes]
    groups: tuple[int, ...]
    values: tuple[tuple[str, str | None], ...] = ()

    @classmethod
    def of(
        cls, file: TableFile, values: tuple[tuple[str, str | None], ...], form: TextForm
    ) -> "SetFile":
        named = [name for name, _ in values]
        twice = sorted(set(named) & set(file.names))
        if twice:
            raise ValueError(
                f"{file.path} has {', '.join(twice)} as a column and in the name of its folder"
            )
        if len(set(named)) < len(named):
            raise ValueError(f"{file.path} lies in two folders that name one column: rename one")
        return cls(file.path, form, identity(file.path), file.groups, values)

    def read_batches(
        self, columns: Sequence[str] | None, rows: int, group: int | None = None
    ) -> Iterator[Any]:
        """Pieces of the file, or of one row group of it, with what its folders say."""
        file = self._open()
        held = [each for each in self.values if columns is None or each[0] in columns]
        own = {*file.names} if columns is None else {*file.names} & {*columns}
        # what folders say alone is said of as many rows as any column has
        read = columns if own or not held else [name for name in file.names if name][:1]
        for batch in file.read_batches(read, rows, group):
            kept = batch if own else batch.select([])
            told = [pa.array([value] * batch.num_rows, pa.string()) for _, value in held]
            arrays, names = (
                [*kept.columns, *told],
                [*kept.schema.names, *(name for name, _ in held)],
            )
            yield pa.RecordBatch.from_arrays(arrays, names=names)

    def checksum(self, columns: Sequence[str], group: int | None) -> int:
        """Of the bytes in which columns of the file, or of one row group of it, lie."""
        return checksum(self.path, self._open().spans(columns, group))

    def _open(self) -> TableFile:
        """The file, if it is the one that it was."""
        file = TableFile.open(self.path, self.form)
        if identity(self.path) != self.identity:
            raise changed(self.path)
        return file


@dataclass(frozen=True, eq=False)
class TableSet(TableFile):
    """Several files whose headings were read; `path` is what was asked for, `others` are columns
    that the first file lacks, each with a file that has it.
    """

    members: tuple[SetFile, ...] = ()
    others: Mapping[str, Path] = field(default_factory=dict)

    @classmethod
    def open_all(cls, path: Location, form: TextForm = PLAIN) -> "TableSet":
        """Read the headings of all files, and refuse files that do not go together."""
        members: list[SetFile] = []
        first: TableFile | None = None
        kinds: dict[str, tuple[Path, Any]] = {}
        others: dict[str, Path] = {}
        for found in find_files(path):
            file = TableFile.open(found, form)
            first = first or file
            _check_alike(first, file)
            _check_kinds(kinds, file)
            others = {name: found for name in file.names if name not in first.names} | others
            members.append(SetFile.of(file, _folder_values(found, path), form))
            if [name for name, _ in members[0].values] != [name for name, _ in members[-1].values]:
                raise ValueError(f"{found} lies in folders of other names than {first.path}")
        if first is None:
            raise ValueError(f"{path} names no file")
        names = (*first.names, *(name for name, _ in members[0].values))
        return cls(_root(path), names, _form=form, members=tuple(members), others=others)

    def require(self, *columns: str | None) -> None:
        for name in columns:
            if name is not None and name in self.others and name not in self.names:
                raise _lacking(self.members[0].path, [name], self.others[name])
        super().require(*columns)

    @property
    def groups(self) -> tuple[int, ...]:
        return tuple(rows for member in self.members for rows in member.groups)

    def read_batches(
        self, columns: Sequence[str] | None, rows: int, group: int | None = None
    ) -> Iterator[Any]:
        named = [name for name in self.names if columns is None or name in columns]
        for member in self.members:  # what only some files have is no column of the table
            yield from member.read_batches(named or columns, rows, group)

    def require_numbers(self, schema: Schema) -> None:
        for member in self.members:
            if not member.groups:
                TableFile.open(member.path, member.form).require_numbers(schema)

    def count_rows(self) -> int:
        counts = (
            sum(member.groups)
            if member.groups
            else TableFile.open(member.path, member.form).count_rows()
            for member in self.members
        )
        return sum(counts)


def open_table(path: Location, form: TextForm = PLAIN) -> TableFile:
    """One file, or several as one."""
    single = isinstance(path, str | Path) and Path(path).is_file()
    return TableFile.open(path, form) if single else TableSet.open_all(path, form)  # type: ignore[arg-type]


def is_location(given: Any) -> bool:
    """Whether this names files: a path, a pattern, or a list of such."""
    if isinstance(given, list | tuple):
        return bool(given) and all(isinstance(each, str | Path) for each in given)
    return isinstance(given, str | Path)


def find_files(path: Location) -> list[Path]:
    """The files of a table in their order: what a folder holds at any depth, what a pattern
    matches, or those of a list.
    """
    if not isinstance(path, str | Path):
        return [file for each in path for file in find_files(each)]
    place = Path(path)
    if place.is_file():
        return [place]
    there = sorted(_files_at(place))
    for file in there:
        _check_link(file)
        if not file.is_file() and not file.is_dir():
            raise ValueError(f"{file} is {_NO_FILE}: leave it out, or write its rows to a file")
    files = [file for file in there if file.is_file()]
    if not files:
        raise ValueError(f"{place} names no CSV or parquet file (.csv, .parquet or .pq)")
    return files


def _check_link(place: Path) -> None:
    """Refuse a link that leads nowhere: to rows, for all that is known."""
    if place.is_symlink() and not place.exists():
        raise ValueError(
            f"{place} leads to a file or folder that is not there: mend the link, or delete it"
        )


def _files_at(place: Path) -> Iterable[Path]:
    """What a folder holds, or what a pattern matches."""
    if place.is_dir():
        return (file for file in _walk(place) if _is_member(file, place))
    if has_magic(str(place)):
        return map(Path, glob(str(place), recursive=True))
    if place.exists():
        raise ValueError(f"{place} is {_NO_FILE}: write its rows to a CSV or parquet file")
    raise ValueError(
        f"{place} is not there: give a CSV or parquet file, a folder of them, or a pattern "
        "as 'rows/*.parquet'"
    )


def _walk(root: Path, above: tuple[Path, ...] = ()) -> Iterator[Path]:
    """What a folder and those in it hold, links to folders as well; one that cannot be looked into
    is an error, else its rows would be missing unseen.
    """
    try:
        entries = list(root.iterdir())
    except OSError as problem:
        raise refused(root, problem) from None
    inside = (*above, root.resolve())
    for entry in entries:
        if entry.name.startswith((".", "_")):
            continue
        _check_link(entry)
        if not entry.is_dir():
            yield entry
        elif entry.resolve() not in inside:
            yield from _walk(entry, inside)


def _is_member(file: Path, root: Path) -> bool:
    if file.suffix.lower() in _COMPRESSED and file.with_suffix("").suffix.lower() in _ENDINGS:
        raise ValueError(
            f"{file} is compressed: unpack it first, or leave it out with a pattern as "
            f"'{root}/*{file.with_suffix('').suffix}'"
        )
    return file.suffix.lower() in _ENDINGS


def _folder_values(file: Path, root: Location) -> tuple[tuple[str, str | None], ...]:
    """What folders between a set's folder and a file say: `state=SP` is a column. Writers of such
    sets put signs that a folder's name cannot hold as an address does: `town=S%C3%A3o`.
    """
    if not (isinstance(root, str | Path) and Path(root).is_dir()):
        return ()
    folders = file.relative_to(root).parts[:-1]
    pairs = (folder.partition("=") for folder in folders if "=" in folder)
    return tuple(
        (unquote(name), None if value == _NO_VALUE else unquote(value)) for name, _, value in pairs
    )


def _check_alike(first: TableFile, file: TableFile) -> None:
    """Refuse a file that lacks a column of the first one, or is of another format."""
    missing = sorted(set(first.names) - set(file.names))
    if missing:
        raise _lacking(file.path, missing, first.path)
    if (first.path.suffix.lower() in PARQUET) != (file.path.suffix.lower() in PARQUET):
        raise ValueError(
            f"{file.path} and {first.path} are of two formats: the files of a table must all be "
            "parquet, or all CSV; a pattern as 'rows/*.parquet' chooses some"
        )


def _lacking(path: Path, names: list[str], other: Path) -> ValueError:
    return ValueError(
        f"{path} lacks {some_of(names)}, which {other} has: all files of a table must have the "
        "same columns"
    )


def _check_kinds(kinds: dict[str, tuple[Path, Any]], file: TableFile) -> None:
    """Refuse a file with a column of another kind than a file before it has; `kinds` is where each
    column first had values, and of which type, to which this file's are added.
    """
    for name, type_ in file.types.items():
        if _kind(type_) == "nothing":
            continue
        path, known = kinds.setdefault(name, (file.path, type_))
        if _kind(type_) != _kind(known):
            raise ValueError(
                f"{file.path} has column {name!r} as {type_}, and {path} as {known}: all files of "
                "a table must have it of one kind"
            )


def _kind(type_: Any) -> str:
    """Numbers, texts, or what else a column holds; nothing: no row has a value."""
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    if pa.types.is_null(type_):
        return "nothing"
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return "numbers"
    if any(is_text(type_) for is_text in _TEXTS):
        return "texts"
    return str(type_)


def _root(path: Location) -> Path:
    """What to call a set in messages."""
    return Path(path) if isinstance(path, str | Path) else Path(next(iter(path))).parent
