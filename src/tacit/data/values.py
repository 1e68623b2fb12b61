"""What one value says: as a number, as a text, as one of some known values.

Each is read by itself, whatever library holds it and whatever is beside it: no row of somebody's
table changes how another is read, and nothing in a cell is an error.
"""

from contextlib import suppress
from types import NoneType
from typing import Any

import numpy as np

from tacit._util.types import AnyArray, FloatArray, IntArray


def has_value(value: Any) -> bool:
    """Whether a value is there at all: not None, NaN, NaT or pandas' NA (whose comparison has no
    truth value).
    """
    try:
        return value is not None and bool(value == value)
    except (TypeError, ValueError):
        return False


def as_floats(values: AnyArray) -> FloatArray:
    """Numbers as floats; what is none is missing: NaN. Where they are not declared to be numbers
    each is read by itself: numpy reads dates as numbers, unless a text is among them.
    """
    if values.dtype.kind in "fiub":
        return values.astype(np.float64, copy=False)
    if values.dtype.kind not in "OSU":
        return np.full(values.shape, np.nan)
    if values.ndim != 1:
        return as_floats(values.ravel()).reshape(values.shape)
    each = values.tolist()
    if set(map(type, each)) <= _PLAIN:
        with suppress(OverflowError):  # a whole number beyond all floats
            return np.array(each, dtype=np.float64)
    return np.array([float_or_nan(value) for value in each], dtype=np.float64)


_PLAIN = {float, int, bool, NoneType}  # numpy reads each of these as we do, whatever is beside it


def float_or_nan(value: Any) -> float:
    """A value as a number, NaN if it is none."""
    if isinstance(value, np.generic):
        value = value.item()
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
    except OverflowError:  # a whole number beyond all floats
        return float("inf") if value > 0 else float("-inf")


_TRUTH = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}


def positions(values: AnyArray, known: tuple[Any, ...]) -> IntArray:
    """The place of each value among the known ones, -1 if none of them says the same. Every value
    is read by itself, so that none changes how another is read, also where a library makes texts of
    all values because one is a text.

    >>> positions(np.array([2, "2.0", "x", True], dtype=object), (1, 2)).tolist()
    [1, 1, -1, 0]
    """
    numbers = all(isinstance(value, int | float) for value in known if value is not None)
    if values.dtype.kind in "fiub" and numbers and None not in known:
        order = np.argsort(np.array(known, dtype=np.float64))
        ranked = np.array(known, dtype=np.float64)[order]
        place = np.searchsorted(ranked, values.astype(np.float64)).clip(max=len(known) - 1)
        return np.where(ranked[place] == values, order[place], -1)
    mixed = any(isinstance(value, int | float) for value in known)
    read = _number_of if numbers else _number_text_of if mixed else text_of
    places = {read(value): place for place, value in reversed(list(enumerate(known)))}
    seen: dict[Any, int] = {}
    found = np.full(len(values), -1, dtype=np.int64)
    for row, value in enumerate(values.tolist()):
        try:
            key = type(value), value  # True == 1, and may say another
            if key not in seen:
                seen[key] = places.get(read(value), -1)
            found[row] = seen[key]
        except TypeError:  # a list or the like, which has no hash
            continue
    return found


def is_number(known: Any) -> bool:
    """Whether a known value can be said by a number or a truth value."""
    return not np.isnan(float_or_nan(known)) or str(known) in _TRUTH


def match_known(column: AnyArray, values: tuple[Any, ...]) -> AnyArray:
    """Each value as the known one that says the same, or None."""
    known = np.empty(len(values) + 1, dtype=object)
    known[:-1], known[-1] = values, None
    return np.asarray(known[positions(column, values)])


def _number_of(value: Any) -> float | str | None:
    """What a value says where numbers are meant: the texts "03" and "3.0" are 3, and truth values 1
    and 0.
    """
    text = text_of(value)
    if text is None or not isinstance(value, str | bytes):
        number = float_or_nan(value)
    else:
        number = _TRUTH.get(text, float_or_nan(text))
    return text if np.isnan(number) else number


def _number_text_of(value: Any) -> str | None:
    """The same where numbers and texts are meant."""
    number = float_or_nan(value) if isinstance(value, str) else float("nan")
    return text_of(value) if np.isnan(number) else text_of(number)


def text_of(value: Any) -> str | None:
    """What a value says: truth values in lower case, whole numbers without a point and as precise
    as a float, texts without blanks around; None: nothing.
    """
    if not has_value(value):
        return None
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float_or_nan(value)
        return str(int(number)) if number.is_integer() else str(number)
    text = str(value).strip()
    return text.lower() if text in _TRUTH else text
