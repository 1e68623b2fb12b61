"""Who owners are: the name that a value says, and the order in which owners are numbered.

Numbers are names by their exact value, however they are stored and whether they are written as
numbers or in digits: 17, 17.0, "17" and "017" are one owner, and so is 1e+22 and its digits, as
programs write large numbers. Every other value is a name by its letters. Two spellings of one owner
that were taken for two would let it speak twice, two owners taken for one only speak less: so
spellings that may be one are one, and how many owners are written in several ways is told
(`Numbered.respelled`).

Rows without a name come first, as one owner; then numbers by size, then texts by their letters. An
array of numbers sorts like that by itself, so owners have the same numbers, and models the same
bytes, whether names are in an array, a frame, a CSV or a parquet file.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from hashlib import blake2b
from typing import Any, NamedTuple
from unicodedata import normalize
from zlib import crc32

import numpy as np

from tacit._util.types import AnyArray, IntArray
from tacit.data.values import has_value, text_of

NOBODY = ""  # the name, and the key, of who has none
_DIGITS = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]*))?")
_LARGE = re.compile(r"([+-]?)([1-9])(?:\.([0-9]+))?e([+-][0-9]{2,3})")  # as programs write them
_LONG = 200  # letters of a name by which it is sorted
_DIGITS_OF_FLOATS = 400  # no float has more, before and behind the point
_WRITTEN = 10_000  # bits
_NINES = str.maketrans("0123456789", "9876543210")


class Numbered(NamedTuple):
    """Owners by number: their names in order, the number of each row's, and how many of them are
    written in several ways.
    """

    names: list[str]
    numbers: IntArray
    respelled: int

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return tell_respelled(self.respelled)


class OwnerNames(NamedTuple):
    """Whose some rows are: the different values that there are, as names, as keys that sort as
    owners do (one for one owner), and as numbers for how they are written; which of them each row
    has.
    """

    names: list[str]
    keys: list[str]
    spelling: AnyArray  # 0: as the name itself
    rows: IntArray

    def numbered(self) -> Numbered:
        """Owners in their order."""
        name_of = dict(zip(self.keys, self.names, strict=True))
        known = sorted(name_of)
        place = {key: number for number, key in enumerate(known)}
        numbers = np.array([place[key] for key in self.keys], dtype=np.int64)
        respelled = count_respelled(numbers, self.spelling)
        return Numbered([name_of[key] for key in known], numbers[self.rows], respelled)


def read_names(values: AnyArray) -> OwnerNames:
    """What the values of a column, or of an array, say of whose each row is."""
    different, rows = _different(values)
    if values.dtype.kind in "iu":  # nothing to look at
        names = [str(value) for value in different]
        return OwnerNames(
            names, [*map(_key_of_number, names)], np.zeros(len(names), np.uint32), rows
        )
    names = [owner_name(value) for value in different]
    written = [_spelling(value, name) for value, name in zip(different, names, strict=True)]
    return OwnerNames(names, [*map(sort_key, names)], np.array(written, np.uint32), rows)


def conform_owners(values: AnyArray) -> tuple[list[str], IntArray]:
    """The names of owners in order, and the number of each row's; rows without a name are of one
    owner, called "".

    >>> conform_owners(np.array(["b", None, 2**53 + 1, "10", float("nan"), 10.0, "9"], object))
    (['', '9', '10', '9007199254740993', 'b'], array([4, 0, 3, 2, 0, 2, 1]))
    """
    names, numbers, _ = read_names(values).numbered()
    return names, numbers


def count_respelled(numbers: IntArray, spelling: AnyArray) -> int:
    """How many owners are written in several ways; of each value its owner and its spelling.

    >>> count_respelled(np.array([0, 0, 1, 1, 2]), np.array([0, 7, 5, 5, 0], np.uint32))
    1
    """
    if not spelling.any():
        return 0
    pairs = np.unique((numbers.astype(np.int64) << 32) | spelling.astype(np.int64)) >> 32
    return int(np.count_nonzero(np.unique(pairs, return_counts=True)[1] > 1))


def tell_respelled(count: int) -> tuple[str, ...]:
    """What a reader should know of so many owners."""
    if not count:
        return ()
    which = "an owner is" if count == 1 else f"{count:,} owners are"
    return (f"{which} written in several ways, as 17 and 017 are, and counted once",)


def note_nameless(where: str, owner: str | None) -> tuple[str, ...]:
    """What a reader should know of a table in which rows name nobody."""
    return (f"rows of {where} without a {owner} count as one owner together",)


def owner_name(value: Any) -> str:
    """The name that a value says; "" where it says none.

    >>> [owner_name(value) for value in (17.0, "-017.50", " x ", 2**64, "1e5", "1e+22", True, None)]
    ['17', '-17.5', 'x', '18446744073709551616', '1e5', '10000000000000000000000', 'true', '']
    """
    value = value.item() if isinstance(value, np.number | np.bool_) else value
    if not has_value(value):
        return ""
    text = _text(value)
    return _number(text) or text


def sort_key(name: str) -> str:
    """A text that sorts as the name does: nobody, numbers by size, texts by their letters.

    >>> order = ["", "-10", "-9.5", "-9", "0", "0.5", "9", "10", "1e5", "a"]
    >>> sorted(reversed(order), key=sort_key) == order
    True
    """
    if not name:
        return ""
    if len(name) <= _DIGITS_OF_FLOATS and _number(name) == name:
        return _key_of_number(name)
    if name in ("inf", "-inf"):
        return "1~" if name == "inf" else "0"
    more = f"\0{blake2b(name.encode(), digest_size=16).hexdigest()}" if len(name) > _LONG else ""
    return f"2{name[:_LONG]}{more}"


def _key_of_number(name: str) -> str:
    whole, point, rest = name.removeprefix("-").partition(".")
    size = f"{len(whole):03}{whole}{point}{rest}"
    return f"1{size}" if name[0] != "-" else f"0{size.translate(_NINES)}~"


def _text(value: Any) -> str:
    """What is written, in letters of one form."""
    if isinstance(value, Decimal):
        return str(value).lower()
    if isinstance(value, int) and value.bit_length() > _WRITTEN:  # Python writes no more digits
        return hex(value)
    kept = value if isinstance(value, bytes | bool) else str(value)
    return normalize("NFC", text_of(kept) or "")


def _number(text: str) -> str | None:
    """A number in digits as it is named: no signs, zeros and points that say nothing."""
    if not text or text[0] not in "+-0123456789":
        return None
    if plain := _DIGITS.fullmatch(text):
        sign, whole, rest = plain[1], plain[2], plain[3] or ""
    elif large := _LARGE.fullmatch(text):
        digits, shift = large[2] + (large[3] or ""), int(large[4])
        digits = "0" * -shift + digits.ljust(shift + 1, "0")
        sign, whole, rest = large[1], digits[: max(shift, 0) + 1], digits[max(shift, 0) + 1 :]
    else:
        return None
    whole, rest = whole.lstrip("0") or "0", rest.rstrip("0")
    name = f"{whole}.{rest}" if rest else whole
    return f"-{name}" if sign == "-" and name != "0" else name


def _spelling(value: Any, name: str) -> int:
    """A number for the way in which a text writes a number, 0 for that of the name itself."""
    if not isinstance(value, str | bytes):
        return 0
    text = _text(value)
    return 0 if text == name else crc32(text.encode("utf-8", "replace")) | 1


def _different(values: AnyArray) -> tuple[list[Any], IntArray]:
    """The different values, and which of them each row has. True equals 1 in Python, and says
    another; what has no hash, as a list, is known by its text.
    """
    if values.dtype.kind in "iuUM":
        found, rows = np.unique(values, return_inverse=True)
        return found.tolist() if values.dtype.kind != "M" else [*map(str, found)], rows.ravel()
    place: dict[tuple[type, Any], int] = {}
    rows = np.empty(len(values), dtype=np.int64)
    for row, (kind, value) in enumerate(_hashable(values.tolist())):
        rows[row] = place.setdefault((kind, value), len(place))
    return [value for _, value in place], rows


def _hashable(values: Iterable[Any]) -> Iterable[tuple[type, Any]]:
    for value in values:
        try:
            hash(value)
        except TypeError:
            yield str, str(value)
        else:
            is_none = isinstance(value, float) and value != value
            yield (type(None), None) if is_none else (type(value), value)
