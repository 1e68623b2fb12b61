"""What may travel, and its canonical bytes: one object, one string of bytes.

A class opts in with ``@message("tag")``. It travels as [tag, field, field, ...] in msgpack, fields
in their declared order; arrays travel as shape and little-endian values.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from types import NoneType
from typing import Any, TypeVar, get_type_hints

import msgpack
import numpy as np

from tacit._util.types import AnyArray

Kind = TypeVar("Kind")
_tag_of: dict[type, str] = {}
_class_of: dict[str, type] = {}

VERSION = 1
SCALARS = (bool, int, float, str, bytes, NoneType)
ARRAYS = {1: np.dtype("<f8"), 2: np.dtype("<i8")}  # extension types
MOST_AXES = 3


class WireError(ValueError):
    """Bytes that are not a message we know; the reason never quotes them."""


def message(tag: str) -> Callable[[type[Kind]], type[Kind]]:
    """Let a frozen dataclass travel under `tag`. A tag names one class for good; a changed
    layout takes a new tag.

    Its constructor runs on what strangers sent: it must take time and memory in proportion to the
    bytes of its fields.
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
    return bytes(msgpack.packb([VERSION, plain(value)], use_bin_type=True, strict_types=True))


def plain(value: object) -> object:
    """Registered objects as lists, arrays as extension types, scalars as they are."""
    cls: Any = type(value)
    tag = tag_of(cls)
    if tag is not None:
        return [tag, *(plain(getattr(value, name)) for name, _ in fields_of(cls))]
    if isinstance(value, np.ndarray):
        return pack_array(value)
    if cls is tuple:
        return [plain(part) for part in value]  # type: ignore[attr-defined]
    if cls in SCALARS:
        return value
    raise WireError(f"{cls.__name__} cannot travel: it is not registered with @message")


def tag_of(cls: type) -> str | None:
    """The tag that a class travels under; None: it does not travel."""
    return _tag_of.get(cls)


def class_of(tag: str) -> type | None:
    """The class behind a tag; None: no class has it."""
    return _class_of.get(tag)


@lru_cache(maxsize=1024)
def fields_of(cls: Any) -> tuple[tuple[str, Any], ...]:
    """Names and declared types of what a registered class is made of, in their order."""
    hints = get_type_hints(cls)
    return tuple((field.name, hints[field.name]) for field in fields(cls) if field.init)


def pack_array(array: AnyArray) -> msgpack.ExtType:
    """An array as it travels."""
    codes = {dtype: code for code, dtype in ARRAYS.items()}
    if (
        array.dtype not in codes
        or not 1 <= array.ndim <= MOST_AXES
        or (array.ndim > 1 and not array.size)
    ):
        raise WireError(
            f"an array must be float64 or int64 with 1 to {MOST_AXES} axes, got {array.dtype}"
        )
    if not np.isfinite(array).all():
        raise WireError("an array must be finite")
    shape = b"".join(length.to_bytes(4, "little") for length in array.shape)
    code = codes[array.dtype]
    return msgpack.ExtType(
        code, bytes([array.ndim]) + shape + array.astype(ARRAYS[code], copy=False).tobytes()
    )
