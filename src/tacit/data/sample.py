"""The data user's own sample: the only rows that bounds, categories, classes and thresholds are
taken from.

A public table is described first: which columns are features, between which bounds, with which
values; dates, names and other columns that are no features are left out and named. Or a schema
file says all that. Rows whose class the schema does not know are not learned from.
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from tacit._util.checks import bad
from tacit._util.file_checks import listed, some_of
from tacit._util.settings import read_settings
from tacit._util.types import AnyArray
from tacit.data.cohort import Public
from tacit.data.number_target import NumberSchema, Range
from tacit.data.schema import Category, Number, Schema
from tacit.data.table import (
    UserTable,
    is_frame,
    is_known,
    read_frame,
)


@dataclass(frozen=True)
class ColumnRoles:
    """What the columns of files are: the one to predict, the one that names owners, those of
    numbers that are codes, those that are no features; or a schema file that says it.

    `numbers` says that the target is a number, between `bounds` (None: as public rows show).
    """

    label: str
    owner: str | None = None
    schema: Path | None = None
    categories: Collection[str] = ()
    leave_out: Collection[str] = ()
    numbers: bool = False
    bounds: Range | None = None


@dataclass(frozen=True, eq=False)
class Sample:
    """The data user's rows with a known class, encoded by `schema`; `notes` are what a reader
    should know of the columns.
    """

    schema: Schema
    public: Public
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, X: Any, y: Any, schema: Schema | None = None) -> "Sample":
        """From rows in memory: a matrix, a data frame or named columns.

        Classes of a schema that is known are sorted, as scikit-learn keeps them; None: what the
        rows show. Frames are read as files are; `notes` say what was left out.
        """
        table, labels = read_frame(X) if is_frame(X) else X, np.asarray(y)
        known, notes = (
            schema_of_rows(table, labels) if schema is None else (sort_classes(schema), [])
        )
        check_width(known)
        numbers = known.encode_labels(labels)
        there = numbers >= 0
        if not there.any():
            raise ValueError("the data user's sample has no row with a class of the schema")
        if not there.all():
            missing = f"{int((~there).sum()):,} of {len(there):,} public rows"
            notes.append(f"{missing} have no label that is known: they are not learned from")
        rows = known.encode(table).X[there]
        return cls(known, Public(rows, numbers[there], len(known.classes)), tuple(notes))

    @cached_property
    def digest(self) -> bytes:
        """Of the encoded rows."""
        rows = self.public.X.tobytes() + self.public.y.tobytes()
        return blake2b(rows, digest_size=32).digest()


def check_width(schema: Schema) -> None:
    """Refuse more columns than a model can be fitted to: its time grows with their cube."""
    if not schema.dim <= MOST_COLUMNS:
        raise _too_wide(f"{len(schema.features):,} columns, which are {schema.dim:,} numbers a row")


def check_names(names: Collection[str], roles: ColumnRoles) -> None:
    """The same of a table whose heading alone was read: where nearly all columns would have to be
    no features, none is typed.
    """
    others = {roles.label, roles.owner, *roles.leave_out, ""}
    count = len({*names} - others)
    if roles.schema is None and not count <= _UNTYPED * MOST_COLUMNS:
        raise _too_wide(f"{count:,} columns")


def check_first(first: UserTable, count: int) -> None:
    """The same of a table of `count` columns, `WIDE` of which were typed: where these are too many
    features already, the others need not be.
    """
    kept, _ = _divide(first.columns, first.left_out, ())
    if not len(kept) <= MOST_COLUMNS:
        raise _too_wide(f"{count:,} columns, more than {MOST_COLUMNS:,} of them features")


def _too_wide(what: str) -> ValueError:
    return ValueError(
        f"the public rows have {what}, and a model learns from {MOST_COLUMNS:,} numbers a row at "
        "most: leave out columns that say least (a schema file names those that stay), or make "
        "fewer of them first, as principal components of public rows"
    )


def first_notes(notes: list[str], rest: str) -> list[str]:
    """Notes on columns, so many that they can be read; `rest` is what is said of the others.

    >>> first_notes(["a"] * 23, "columns are left out")[-2:]
    ['a', '3 more columns are left out']
    """
    more = [f"{len(notes) - _NOTES:,} more {rest}"] if len(notes) > _NOTES else []
    return notes[:_NOTES] + more


def note_unknown(schema: Schema, rows: int, unknown: int, where: str) -> tuple[str, ...]:
    """What whoever holds owners' rows should know where most have a label that is not known. Few
    are counted and not told: no label of one owner decides what a fit says. How many is in no
    message, which may be shown around.

    >>> schema = Schema((Number("age", 0, 99),), ("no", "yes"))
    >>> note_unknown(schema, 200, 19, "people.csv")
    ()
    >>> note_unknown(schema, 200, 200, "people.csv")[0][:51]
    'no row of people.csv has one of the labels no, yes:'
    """
    if not (unknown >= _MANY_UNKNOWN and unknown >= rows * _PART_UNKNOWN):
        return ()
    each = f"of the labels {some_of([str(value) for value in schema.classes])}"
    lack, have = f"have none {each}", f"has one {each}"
    if not schema.labels:
        lack, have = "have no number as target", "has a number as target"
    who = f"most rows of {where} {lack}" if unknown < rows else f"no row of {where} {have}"
    return (f"{who}: they are not learned from, though their owners take part",)


def schema_of_rows(table: Any, labels: AnyArray) -> tuple[Schema, list[str]]:
    """What rows in memory show, and notes on columns; those of a matrix are all features."""
    if not isinstance(table, UserTable):
        if np.ndim(table) == 2 and not np.shape(table)[1] <= MOST_COLUMNS:
            raise _too_wide(f"{np.shape(table)[1]:,} columns")
        return Schema.of_public(table, labels[is_known(labels)]), []
    found = describe_rows(table, labels)
    return found.schema, found.notes


def sort_classes(schema: Schema) -> Schema:
    """The same with its classes in order, numbers before texts."""
    return replace(schema, classes=tuple(in_order(schema.classes)))


def sample_of(table: UserTable, labels: AnyArray, roles: ColumnRoles, where: str) -> Sample:
    """The sample in a table of public rows, one column of which are the labels; `where` names it in
    messages.
    """
    schema, notes = (
        _infer_schema(table, roles) if roles.schema is None else _take_schema(table, roles)
    )
    check_width(schema)
    if roles.numbers:
        bounds = Range.around(labels) if roles.bounds is None else roles.bounds
        schema = NumberSchema(schema.features, (bounds.low, bounds.high))
    numbers = schema.encode_labels(schema.conform_labels(labels))
    there = numbers >= 0
    if not there.any():
        wanted = (
            f"a label of the schema's classes {schema.classes}" if schema.labels else "a number"
        )
        raise ValueError(f"no public row has {wanted} as {roles.label!r}")
    if not there.all():
        missing = f"{int((~there).sum()):,} of {len(there):,} public rows"
        notes.append(f"{missing} have no {roles.label!r} that is known: they are not learned from")
    rows = schema.encode(table, where).X[there]
    classes_there = 0 if roles.numbers else len(schema.classes)
    return Sample(schema, Public(rows, numbers[there], classes_there), tuple(notes))


def _infer_schema(table: UserTable, roles: ColumnRoles) -> tuple[Schema, list[str]]:
    """The schema that public rows show, and notes on columns."""
    found = describe(
        table,
        roles.label,
        owner=roles.owner,
        leave_out=roles.leave_out,
        categories=roles.categories,
        numbers=roles.numbers,
    )
    return found.schema, found.notes


def _take_schema(table: UserTable, roles: ColumnRoles) -> tuple[Schema, list[str]]:
    """The schema in a file, and notes on columns that it does not have."""
    schema = sort_classes(read_schema(str(roles.schema)))
    known = {feature.name for feature in schema.features} | {roles.label, roles.owner}
    others = [
        f"column {name!r} is left out: it is not in {roles.schema}"
        for name in table.columns
        if name not in known
    ]
    return schema, first_notes(others, "columns are left out")


def read_schema(path: str | Path) -> Schema:
    """The schema in a TOML file; features in their order there."""
    file = Path(path)
    content = read_settings(file, "schema")
    features, classes = content.get("features"), content.get("classes")
    if (
        set(content) != {"features", "classes"}
        or not isinstance(features, dict)
        or not isinstance(classes, list)
    ):
        raise ValueError(
            f"{file} must have classes = [...] and a table [features], and nothing else"
        )
    try:
        if not all(map(_is_one, classes)):
            raise bad("classes", "texts and numbers", classes)
        read = tuple(_read_feature(name, given) for name, given in features.items())
        return Schema(read, tuple(classes))
    except ValueError as problem:
        raise ValueError(f"{file}: {problem}") from None


def _is_one(value: Any) -> bool:
    """Whether a row may have this value: no list, no table, and nothing that differs from itself,
    as nan does.
    """
    return not isinstance(value, list | dict) and value == value


def _read_feature(name: str, given: Any) -> Number | Category:
    match given:
        case {"low": int() | float() as low, "high": int() | float() as high, **rest} if not rest:
            return Number(name, low, high)
        case {"values": [one], **rest} if not rest and _is_one(one):
            return Category.among(name, [one])
        case {"values": list() as values, **rest} if not rest and all(map(_is_one, values)):
            return Category(name, tuple(values))
    raise ValueError(
        f"feature {name!r} must be {{ low = ..., high = ... }} or {{ values = [...] }}, of texts "
        "and numbers"
    )


MOST_COLUMNS = 5_000  # numbers of a row, after encoding
WIDE = 6_000  # columns of a table with more, that are looked at first
_UNTYPED = 10  # times as many columns are not looked at
_MANY_UNKNOWN, _PART_UNKNOWN = 20, 0.5  # of rows, whose labels are not known, that are told
_NOTES = 20  # on columns, that are told one by one
MOST_VALUES = 100  # different texts of a category, and classes of a label
_OF_AMOUNTS = (
    " (amounts themselves are learned from sites: --method sites --target numbers, "
    'SiteEnsembleRegressor in Python, `tacit serve` with kind = "sites" and target = "numbers")'
)
# a text column with more different values than this part of its rows names things, it does not sort
# them
_NAMES = 0.5

_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([.' ]\d{3})+)(,\d+)?")
_NAMED = 3  # columns that a note names
_MANY = 20  # classes that are numbers: amounts?
_FEW = 20  # rows in which ages or counts may well be all different


@dataclass(frozen=True)
class Description:
    """A schema, and of every column that it leaves out, why.

    `identifiers` are features that may be none, whose values are all different whole numbers: how
    many they are. `notes` say both to a reader.
    """

    schema: Schema
    left_out: dict[str, str]
    identifiers: dict[str, int]
    notes: list[str]


def describe(
    table: UserTable,
    label: str,
    *,
    owner: str | None = None,
    leave_out: Collection[str] = (),
    categories: Collection[str] = (),
    numbers: bool = False,
) -> Description:
    """The schema of a public table without dates, names and other columns that are no features.

    `categories` are columns of numbers that are codes. Where the target is a number its `classes`
    are no part of what is found. Only the public table is looked at.
    """
    labels, others = table.columns[label], (label, owner, *leave_out)
    features = {name: column for name, column in table.columns.items() if name not in others}
    classes = [0, 1] if numbers else _distinct(labels)
    if not 2 <= len(classes) <= MOST_VALUES:
        amounts = len(classes) > 1 and labels.dtype.kind in "fiu"
        do = f"a column of classes instead of amounts{_OF_AMOUNTS}" if amounts else "another column"
        raise ValueError(
            f"label {label!r} must have 2 to {MOST_VALUES} classes in the public rows, it has "
            f"{len(classes)}: give rows of several classes, or {do}"
        )
    if not numbers and labels.dtype.kind == "f" and len(classes) > 20 and (labels % 1 > 0).any():
        raise ValueError(
            f"label {label!r} holds {len(classes)} different amounts in the public rows: name a "
            f"column of classes, or write a class for each range of amounts into one{_OF_AMOUNTS}"
        )
    for name in (*leave_out, *categories):
        if name not in table.columns and name not in table.left_out:
            raise ValueError(
                f"column {name!r} is not in the public table; it has {listed(name, table.columns)}"
            )
    kept, left_out = _divide(features, table.left_out, categories)
    if not kept:
        raise ValueError(f"the public table has no column to learn {label!r} from")
    return _description(kept, left_out, classes, lambda name: f"--leave-out {quote(name)}")


def describe_rows(table: UserTable, labels: AnyArray) -> Description:
    """The same for rows in memory, whose labels are apart."""
    kept, left_out = _divide(table.columns, table.left_out, ())
    if not kept:
        why = "; ".join(f"{name!r} {reason}" for name, reason in left_out.items())
        raise ValueError(f"the public rows have no column to learn from: {why}")
    classes = _distinct(labels[is_known(labels)])
    return _description(kept, left_out, classes, lambda _: "leave it out of X")


def _divide(
    columns: dict[str, AnyArray], others: dict[str, str], categories: Collection[str]
) -> tuple[dict[str, AnyArray], dict[str, str]]:
    """Columns that are features, and why the rest, and those known to be others, are none."""
    left_out = {name: f"holds {what}" for name, what in others.items()}
    kept = {}
    for name, column in columns.items():
        values = _distinct(column)
        if column.dtype.kind == "O" and len(values) > min(
            MOST_VALUES, max(20, _NAMES * len(column))
        ):
            left_out[name] = (
                f"has {len(values):,} different texts in {len(column):,} public "
                f"rows{_likely(values)}"
            )
        elif not values:
            left_out[name] = "is empty in the public rows"
        else:
            kept[name] = column.astype(object) if name in categories else column
    return kept, left_out


def _description(
    kept: dict[str, AnyArray],
    left_out: dict[str, str],
    classes: list[Any],
    leave_out: Callable[[str], str],
) -> Description:
    """`leave_out` says how to leave out a column that may be no feature."""
    identifiers = {name: len(column) for name, column in kept.items() if _identifies(column)}
    notes = first_notes(
        [f"column {name!r} is left out: it {why}" for name, why in left_out.items()],
        "columns are left out",
    )
    notes += first_notes(
        [
            f"column {name!r} has {count:,} different whole numbers in {count:,} public rows: "
            f"an identifier? {leave_out(name)}"
            for name, count in identifiers.items()
        ],
        "columns may be identifiers",
    )
    alike = [repr(name) for name, column in kept.items() if len(_distinct(column)) == 1]
    if alike:
        more = f" and {len(alike) - _NAMED:,} more" if len(alike) > _NAMED else ""
        which = (
            f"column {alike[0]} has"
            if len(alike) == 1
            else (f"columns {', '.join(alike[:_NAMED])}{more} have")
        )
        notes.append(
            f"{which} one value in all public rows: what other values say is not known; more "
            "public rows, or a schema, would tell"
        )
    if len(classes) > _MANY and not any(isinstance(value, str) for value in classes):
        notes.append(
            f"the label has {len(classes)} different numbers: if these are amounts, make a class "
            "of each range; so many classes take minutes, and noise for each"
        )
    features = tuple(_feature(name, column) for name, column in kept.items())
    return Description(Schema(features, tuple(classes)), left_out, identifiers, notes)


def _feature(name: str, column: AnyArray) -> Number | Category:
    """Bounds or categories as the public rows show them."""
    if column.dtype.kind in "fiu":
        return Number.around(name, column.astype(np.float64))
    return Category.among(name, _distinct(column))


def _likely(texts: list[Any]) -> str:
    """What texts look like, where they are no names."""
    numbers = all(isinstance(text, str) and _DECIMAL_COMMA.fullmatch(text) for text in texts)
    return (
        ": they look like numbers with a decimal comma; say --decimal , (in pandas decimal=',')"
        if numbers
        else ""
    )


def _identifies(column: AnyArray) -> bool:
    """Whether the values of a column, too many for chance, are whole numbers of which no two are
    the same.
    """
    if column.dtype.kind not in "fiu" or len(column) < _FEW:
        return False
    whole = np.isfinite(column).all() and (column % 1 == 0).all()
    return bool(whole) and len(np.unique(column)) == len(column)


def _distinct(column: Any) -> list[Any]:
    """Different values that are there (missing are None and NaN), in order; numbers by size."""
    if column.dtype.kind in "iu" or (column.dtype.kind == "f" and not (column == 0).any()):
        return [value for value in np.unique(column).tolist() if value == value]
    values = (value.item() if isinstance(value, np.generic) else value for value in column.tolist())
    return in_order({value for value in values if value is not None and value == value})


def in_order(values: Iterable[Any]) -> list[Any]:
    """Numbers by size, then texts."""
    return sorted(values, key=_place)


def _place(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value
