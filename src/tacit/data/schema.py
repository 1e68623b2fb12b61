"""What is public about the data: columns, bounds, categories, classes. Everything else is
somebody's.

A schema turns a table into numbers in [-1, 1] by rules that look at nothing but the schema: a
number is placed between its public bounds, a category becomes one column per value (one column in
all when there are two). Missing, infinite and unseen values have a place too, so no owner's rows
can stop a fit; how many were moved is counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tacit._util.checks import bad
from tacit._util.file_checks import some_of
from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray
from tacit.data.values import as_floats, has_value, is_number, match_known, positions
from tacit.wire import message

if TYPE_CHECKING:  # a schema without tables does without pyarrow
    from tacit.data.table import UserTable

_ROWS = 1 << 13  # rows encoded at a time, so that what is made of them stays in the cache
_SPREAD = 8 * _ROWS  # rows that are worth a thread
_VALUES = 1 << 16  # of a matrix, at a time, for the same reason
_NAMED = 20  # columns that an error names
_NARROWEST = 1e-300  # of bounds: half of it is divided by


@message("number")
@dataclass(frozen=True)
class Number:
    """A column of numbers between public bounds. Missing becomes the middle, beyond the bounds
    becomes the bound.

    Parameters
    ----------
    name : str
        Of the column.
    low, high : float
        The bounds.
    """

    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (-np.inf < self.low < self.high < np.inf and is_wide(self.low, self.high)):
            raise bad(f"bounds of {self.name!r}", "finite with low < high", (self.low, self.high))
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    @classmethod
    def around(cls, name: str, values: FloatArray) -> "Number":
        """As wide as finite values are, a little wider where they are all alike."""
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
        return cls(name, low, high if is_wide(low, high) else low + max(1.0, abs(low)))

    @property
    def width(self) -> int:
        return 1

    def conform(self, values: AnyArray) -> AnyArray:
        """Numbers as floats, NaN for anything else."""
        return as_floats(values)

    def encode(self, values: AnyArray) -> tuple[FloatArray, BoolArray]:
        """The column in [-1, 1], (n, 1), and which values had to be moved."""
        raw = as_floats(values)
        # beyond the largest float is beyond the bounds; some that are no numbers say so loudly
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = (raw - (self.low / 2 + self.high / 2)) / (self.high / 2 - self.low / 2)
        inside = np.clip(np.where(np.isnan(scaled), 0.0, scaled), -1.0, 1.0)
        return inside[:, np.newaxis], ~(scaled == inside)


@message("category")
@dataclass(frozen=True)
class Category:
    """A column with a public set of values: -1 / +1 for two, one column per value for more. Unseen
    becomes all -1.

    Parameters
    ----------
    name : str
        Of the column.
    values : tuple
        At least two, all different.
    """

    name: str
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not len(set(self.values)) == len(self.values) >= 2:
            raise bad(f"values of {self.name!r}", "at least two, all different", self.values)

    @classmethod
    def among(cls, name: str, seen: list[Any]) -> "Category":
        """Of the values that were seen; of a single one, and any other."""
        return cls(name, tuple(seen if len(seen) > 1 else [*seen, None]))

    @property
    def width(self) -> int:
        return 1 if len(self.values) == 2 else len(self.values)

    def conform(self, values: AnyArray) -> AnyArray:
        """Each value as the one of the set that says the same, or None."""
        return match_known(values, self.values)

    def encode(self, values: AnyArray) -> tuple[FloatArray, BoolArray]:
        """Columns of -1 and +1, (n, width), and which values were not in the set."""
        code = positions(values, self.values)
        hot = np.where(code[:, np.newaxis] == np.arange(len(self.values)), 1.0, -1.0)
        return (hot[:, 1:] if self.width == 1 else hot), code < 0


@dataclass(frozen=True)
class Encoded:
    """Rows as numbers; `moved` counts the values that were missing, unknown or beyond the bounds,
    `moved_by` the same by the name of the feature, without features that have none.
    """

    X: FloatArray
    moved_by: dict[str, int]
    moved: int

    def __repr__(self) -> str:
        return f"Encoded({self.X.shape[1]} columns)"  # no rows: logs and tracebacks print this


@message("schema")
@dataclass(frozen=True)
class Schema:
    """The public description of a classification task.

    Parameters
    ----------
    features : tuple of Number and Category
        The columns to learn from, in order.
    classes : tuple
        What is to be predicted: at least two, all different.

    Examples
    --------
    >>> features = (Number("age", 0, 100), Category("state", ("n", "s", "w")))
    >>> people = Schema(features, classes=("no", "yes"))
    >>> people.encode({"age": [50, 100], "state": ["s", "?"]}).X
    array([[ 0., -1.,  1., -1.],
           [ 1., -1., -1., -1.]])
    >>> people.encode_labels(["yes", "maybe"])
    array([ 1, -1])
    """

    features: tuple[Number | Category, ...]
    classes: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.features:
            raise bad("features", "at least one column", self.features)
        names = [feature.name for feature in self.features]
        if len(set(names)) < len(names):
            raise bad("names of features", "all different", names)
        if not len(set(self.classes)) == len(self.classes) >= 2:
            raise bad("classes", "at least two, all different", self.classes)

    @property
    def dim(self) -> int:
        """The number of columns after encoding."""
        return sum(feature.width for feature in self.features)

    @property
    def labels(self) -> int:
        """How many classes there are to tell apart; 0: the target is a number."""
        return len(self.classes)

    @property
    def codes(self) -> int:
        """Labels of rows are whole numbers below this one, or -1 where they are not known."""
        return len(self.classes)

    @property
    def columns(self) -> list[str]:
        """Names of the columns after encoding."""
        names: list[str] = []
        for feature in self.features:
            if isinstance(feature, Category) and feature.width > 1:
                names += [f"{feature.name}={value}" for value in feature.values]
            else:
                names.append(feature.name)
        return names

    def conform(self, table: "UserTable", where: str = "the table") -> "UserTable":
        """The schema's columns, in its order: numbers as floats, categories as the schema's own
        values, else missing.

        >>> from tacit.data.table import UserTable
        >>> schema = Schema((Number("age", 0, 100), Category("code", (1, 2))), ("no", "yes"))
        >>> code, age = (np.array(texts, dtype=object) for texts in (["2", "x"], ["7", "?"]))
        >>> odd = UserTable({"code": code, "age": age})
        >>> {name: column.tolist() for name, column in schema.conform(odd).columns.items()}
        {'age': [7.0, nan], 'code': [2, None]}
        """
        missing = [each.name for each in self.features if each.name not in table.columns]
        if missing:
            what = "; ".join(
                f"{name!r} ({table.left_out[name]})" if name in table.left_out else repr(name)
                for name in missing[:_NAMED]
            )
            more = f" and {len(missing) - _NAMED:,} more" if len(missing) > _NAMED else ""
            raise ValueError(
                f"{where} lacks {what}{more}, which the model uses; it has {some_of(table.columns)}"
            )
        columns = {each.name: each.conform(table.columns[each.name]) for each in self.features}
        return replace(table, columns=columns, left_out={}, categories=frozenset())

    def conform_labels(self, labels: AnyArray) -> AnyArray:
        """Labels as the schema's own classes, None for any other."""
        return match_known(labels, self.classes)

    def encode(self, table: Any, where: str = "the table") -> Encoded:
        """A matrix with these columns in order, a data frame, a mapping of names to columns, or a
        user's table (`where` names it in messages), which is read by what its values say; all in
        [-1, 1].
        """
        if isinstance(getattr(table, "columns", None), dict):
            table = self.conform(table, where)
        columns = [
            _column(table, number, feature.name, len(self.features))
            for number, feature in enumerate(self.features)
        ]
        rows = len(columns[0])
        for feature, column in zip(self.features, columns, strict=True):
            if len(column) != rows:
                first = self.features[0].name
                raise ValueError(
                    f"columns must be as long as each other: {first!r} has {rows:,} values, "
                    f"{feature.name!r} has {len(column):,}"
                )
        X = np.empty((rows, self.dim))
        plain = isinstance(table, np.ndarray) and table.dtype.kind in "fiu"
        scale = self.scale if plain else None

        def encode_part(part: slice) -> IntArray:
            if scale is not None:
                return scale.place(table[part], X[part])
            counts = np.zeros(len(columns), dtype=np.int64)
            for start in range(part.start, part.stop, _ROWS):
                block = slice(start, min(start + _ROWS, part.stop))
                at = 0
                for number, feature in enumerate(self.features):
                    values, moved = feature.encode(columns[number][block])
                    X[block, at : at + feature.width] = values
                    counts[number] += np.count_nonzero(moved)
                    at += feature.width
            return counts

        if rows < _SPREAD:
            moved = encode_part(slice(0, rows)).tolist()
        else:
            from tacit._util.kernels import spread

            parts = [slice(at, min(at + _SPREAD, rows)) for at in range(0, rows, _SPREAD)]
            moved = np.sum(spread(encode_part, parts), axis=0).tolist()
        named = zip((feature.name for feature in self.features), moved, strict=True)
        return Encoded(X, {name: count for name, count in named if count}, sum(moved))

    @property
    def scale(self) -> "NumberScale | None":
        """How rows of numbers are encoded, where all columns are numbers."""
        numbers = [feature for feature in self.features if isinstance(feature, Number)]
        return NumberScale.of(numbers) if len(numbers) == len(self.features) else None

    def check_label_type(self, labels: AnyArray, where: str) -> None:
        """Refuse labels of a declared type that can say none of the classes. Types may be told,
        values may not.
        """
        if labels.dtype.kind in "fiub" and not any(is_number(each) for each in self.classes):
            raise ValueError(
                f"{where} is of type {labels.dtype}, the classes of the sample are {self.classes}: "
                "no row can have one of them; give labels as the sample has them"
            )

    def encode_labels(self, y: Any) -> IntArray:
        """Class numbers; -1 for a label that is not in the schema."""
        return positions(np.asarray(y), self.classes)

    @classmethod
    def of_public(cls, X: Any, y: Any, categories: Sequence[str | int] = ()) -> "Schema":
        """Bounds, categories and classes as the data user's own (public) sample shows them.

        `categories` are columns of numbers that are codes, beside those that a data frame declares
        to be categories.
        """
        names = list(X.columns) if hasattr(X, "columns") else list(range(np.shape(X)[1]))
        declared = [name for name in getattr(X, "columns", ()) if str(X[name].dtype) == "category"]
        features: list[Number | Category] = []
        for number, name in enumerate(names):
            column = _column(X, number, name, len(names))
            if name in (*categories, *declared) or column.dtype.kind not in "fiub":
                seen = sorted({value for value in column.tolist() if has_value(value)}, key=str)
                features.append(Category.among(str(name), seen))
            else:
                features.append(Number.around(str(name), as_floats(column)))
        seen = np.unique(np.asarray(y)).tolist()  # of objects NumPy's numbers stay as they are
        classes = (each.item() if isinstance(each, np.generic) else each for each in seen)
        return cls(tuple(features), tuple(classes))


class NumberScale(NamedTuple):
    """Where numbers lie between their bounds, all columns of a matrix at once: what
    `Number.encode` says of each, to the bit, without walking through the matrix once per column.
    """

    middle: FloatArray
    half: FloatArray

    @classmethod
    def of(cls, features: Sequence[Number]) -> "NumberScale":
        low, high = np.array([(feature.low, feature.high) for feature in features]).T
        return cls(low / 2 + high / 2, high / 2 - low / 2)

    def place(self, rows: AnyArray, out: FloatArray) -> IntArray:
        """Rows in [-1, 1] into `out`; how many values of each column had to be moved."""
        moved = np.zeros(len(self.half), dtype=np.int64)
        step = max(1, _VALUES // len(self.half))
        for start in range(0, len(rows), step):
            block = out[start : start + step]
            with np.errstate(over="ignore", invalid="ignore"):
                np.subtract(as_floats(rows[start : start + step]), self.middle, out=block)
                np.divide(block, self.half, out=block)
            is_moved = ~(np.abs(block) <= 1.0)
            if is_moved.any():
                moved += np.count_nonzero(is_moved, axis=0)
                block[np.isnan(block)] = 0.0
                np.clip(block, -1.0, 1.0, out=block)
        return moved


def _column(table: Any, number: int, name: Any, width: int) -> AnyArray:
    """One column of a matrix, frame or mapping."""
    columns = getattr(table, "columns", None)
    if isinstance(columns, dict) and name in columns:
        return np.asarray(columns[name])
    if hasattr(table, "columns") or isinstance(table, dict):
        known = list(table.columns) if hasattr(table, "columns") else list(table)
        named = {str(column): column for column in known}
        if str(name) not in named:
            raise ValueError(
                f"column {name!r} of the schema is missing; the table has {sorted(named)}"
            )
        return _array_of(table[named[str(name)]])
    matrix = np.asarray(table)
    if matrix.ndim != 2 or matrix.shape[1] != width:
        raise ValueError(
            f"a table must have {width} columns as in the schema, got shape {matrix.shape}"
        )
    return matrix[:, number]


def _array_of(column: Any) -> AnyArray:
    """A column as an array: one of a frame as it is declared, a list value by value, of which numpy
    would make texts if one is a text.
    """
    if not isinstance(column, list | tuple):
        return np.asarray(column)
    return np.fromiter(column, dtype=object, count=len(column))


def is_wide(low: float, high: float) -> bool:
    """Whether numbers can be placed between these bounds: rows must not find out that they cannot.

    >>> is_wide(0.0, 1e-300), is_wide(0.0, 5e-324), is_wide(1.0, 1.0)
    (True, False, False)
    """
    return high / 2 - low / 2 >= _NARROWEST / 2
