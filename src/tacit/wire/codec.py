"""Canonical bytes of frozen dataclasses: one object, one string of bytes, and nothing else is
accepted.

A class opts in with ``@message("tag")``. It travels as [tag, field, field, ...] in msgpack, fields
in their declared order; arrays travel as shape and little-endian values. Decoding is led by the
declared types of the fields: nothing on the wire can name a class that was not registered or that
does not belong there. Numbers must be finite, the class's own checks run, and bytes that are not
exactly what encoding the result would give are refused. No pickle, no code.

Bytes of untrusted origin cost memory in proportion to their length (below a hundred times;
`largest` bounds it), and any defect is a `WireError`.
"""

import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from math import isfinite, prod
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgpack
import numpy as np

from tacit._util.types import AnyArray

VERSION = 1
LARGEST = 4 << 20  # bytes of one message
_ARRAYS = {1: np.dtype("<f8"), 2: np.dtype("<i8")}  # extension types
_MOST_AXES = 3
_SCALARS = (bool, int, float, str, bytes, type(None))

Kind = TypeVar("Kind")
_tag_of: dict[type, str] = {}
_class_of: dict[str, type] = {}


class WireError(ValueError):
    """Bytes that are not a message we know; the reason never quotes them."""


def message(tag: str) -> Callable[[type[Kind]], type[Kind]]:
    """Let a frozen dataclass travel under `tag`. A tag names one class for good; a changed
    layout takes a new tag.
    """

    def register(cls: type[Kind]) -> type[Kind]:
        if not is_dataclass(cls):
            raise TypeError(f"{cls.__name__} must be a dataclass to travel")
        known = _class_of.get(tag)
        if known is not None and (known.__module__, known.__qualname__) != (
            cls.__module__,
            cls.__qualname__,
        ):
            raise ValueError(f"tag {tag!r} is taken by {known.__qualname__}")
        _tag_of[cls] = tag
        _class_of[tag] = cls
        return cls

    return register


def encode(value: object) -> bytes:
    """The canonical bytes of a registered object."""
    return bytes(msgpack.packb([VERSION, _plain(value)], use_bin_type=True, strict_types=True))


def decode(data: bytes, kind: Callable[..., Kind], largest: int = LARGEST) -> Kind:
    """The object of class `kind` (or a subclass) that these bytes are, or a `WireError`."""
    if not len(data) <= largest:
        raise WireError(f"a message must be at most {largest} bytes")
    try:
        raw = msgpack.unpackb(data, raw=False, strict_map_key=True, ext_hook=_array)
    except (ValueError, TypeError, RecursionError, MemoryError, OverflowError) as problem:
        raise WireError("not a message: the bytes do not parse") from problem
    if not (isinstance(raw, list) and len(raw) == 2 and type(raw[0]) is int):
        raise WireError("not a message: no version in front")
    if raw[0] != VERSION:
        raise WireError(
            f"version must be {VERSION}, got {raw[0] if 0 <= raw[0] < 1 << 16 else 'another'}"
        )
    try:
        found = _typed(kind, raw[1])
        canonical = encode(found) == data
    except (RecursionError, MemoryError) as problem:
        raise WireError(
            "not a message: it is nested too deep, or means something too large"
        ) from problem
    if not canonical:
        raise WireError("not canonical: the same content has other bytes")
    result: Kind = found
    return result


def _plain(value: object) -> object:
    """Registered objects as lists, arrays as extension types, scalars as they are."""
    cls: Any = type(value)
    if cls in _tag_of:
        return [_tag_of[cls], *(_plain(getattr(value, field)) for field in _names(cls))]
    if isinstance(value, np.ndarray):
        return _extension(value)
    if type(value) is tuple:
        return [_plain(part) for part in value]
    if type(value) in _SCALARS:
        return value
    raise WireError(f"{type(value).__name__} cannot travel: it is not registered with @message")


def _typed(hint: Any, raw: object) -> Any:
    """`raw` as the declared type says, or a refusal."""
    if hint is Any:
        hint = bool | int | float | str | None
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _one_of(get_args(hint), raw)
    if origin is tuple:
        return _tuple(get_args(hint), raw)
    if origin is np.ndarray:
        wanted = np.dtype(get_args(get_args(hint)[1])[0])
        if not (isinstance(raw, np.ndarray) and raw.dtype == wanted):
            raise WireError(f"a field must be an array of {wanted}")
        return raw
    if hint in _SCALARS:
        if not (type(raw) is hint and (not isinstance(raw, float) or isfinite(raw))):
            raise WireError(
                f"a field must be a {'finite ' if hint is float else ''}{hint.__name__}"
            )
        return raw
    return _object(hint, raw)


def _one_of(hints: tuple[Any, ...], raw: object) -> Any:
    for hint in hints:
        try:
            return _typed(hint, raw)
        except WireError as problem:
            refusal = problem
    raise refusal


def _tuple(hints: tuple[Any, ...], raw: object) -> tuple[Any, ...]:
    if not isinstance(raw, list):
        raise WireError("a field must be a list")
    each = [hints[0]] * len(raw) if len(hints) == 2 and hints[1] is Ellipsis else list(hints)
    if len(each) != len(raw):
        raise WireError(f"a list must have {len(each)} entries, got {len(raw)}")
    return tuple(_typed(hint, part) for hint, part in zip(each, raw, strict=True))


def _object(hint: Any, raw: object) -> Any:
    """A registered object that is a `hint`; the class's own checks run."""
    if not (isinstance(raw, list) and raw and type(raw[0]) is str and raw[0] in _class_of):
        raise WireError(f"a field must be a known {getattr(hint, '__name__', 'object')}")
    cls = _class_of[raw[0]]
    names = _names(cls)
    if len(raw) != len(names) + 1:
        raise WireError(f"{cls.__name__} must have {len(names)} fields, got {len(raw) - 1}")
    hints = _hints(cls)
    values = {name: _typed(hints[name], part) for name, part in zip(names, raw[1:], strict=True)}
    try:
        made = cls(**values)
        belongs = isinstance(made, hint)
    except (ValueError, TypeError, OverflowError, ArithmeticError, IndexError) as problem:
        raise WireError(f"{cls.__name__}: a field is out of range") from problem
    if not belongs:
        raise WireError(f"a {cls.__name__} must not stand for a {hint.__name__}")
    return made


@lru_cache
def _names(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls) if field.init)


@lru_cache
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def _extension(array: AnyArray) -> msgpack.ExtType:
    """Axes, their lengths, and the values, little-endian."""
    codes = {dtype: code for code, dtype in _ARRAYS.items()}
    if (
        array.dtype not in codes
        or not 1 <= array.ndim <= _MOST_AXES
        or (array.ndim > 1 and not array.size)
    ):
        raise WireError(
            f"an array must be float64 or int64 with 1 to {_MOST_AXES} axes, got {array.dtype}"
        )
    if not np.isfinite(array).all():
        raise WireError("an array must be finite")
    shape = b"".join(length.to_bytes(4, "little") for length in array.shape)
    dtype = _ARRAYS[codes[array.dtype]]
    return msgpack.ExtType(
        codes[array.dtype], bytes([array.ndim]) + shape + array.astype(dtype).tobytes()
    )


def _array(code: int, data: bytes) -> AnyArray:
    """The inverse of `_extension`, with every length checked before anything is made."""
    if code not in _ARRAYS or not data or not 1 <= data[0] <= _MOST_AXES:
        raise ValueError("an unknown extension type")
    start = 1 + 4 * data[0]
    shape = tuple(int.from_bytes(data[at : at + 4], "little") for at in range(1, start, 4))
    if (
        len(data) < start
        or len(data) - start != 8 * prod(shape)
        or (len(shape) > 1 and not prod(shape))
    ):
        raise ValueError("an array of another length than its shape says")
    array = (
        np.frombuffer(data, dtype=_ARRAYS[code], offset=start)
        .reshape(shape)
        .astype(_ARRAYS[code].newbyteorder("="))
    )
    if not np.isfinite(array).all():
        raise ValueError("an array with a value that is not finite")
    array.setflags(write=False)
    return array
