"""What may travel: classes registered by a tag, and arrays as their shape and little-endian
values.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from math import prod
from typing import Any, TypeVar, get_type_hints

import msgpack
import numpy as np

from tacit._util.types import AnyArray

Kind = TypeVar("Kind")
_tag_of: dict[type, str] = {}
_class_of: dict[str, type] = {}


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


_KINDS = {1: np.dtype("<f8"), 2: np.dtype("<i8")}  # extension types
_MOST_AXES = 3


def pack_array(array: AnyArray) -> msgpack.ExtType:
    """An array as it travels."""
    codes = {dtype: code for code, dtype in _KINDS.items()}
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
    code = codes[array.dtype]
    return msgpack.ExtType(
        code, bytes([array.ndim]) + shape + array.astype(_KINDS[code], copy=False).tobytes()
    )


def unpack_array(code: int, data: bytes) -> AnyArray:
    """The inverse of `pack_array`, with every length checked before anything is made."""
    if code not in _KINDS or not data or not 1 <= data[0] <= _MOST_AXES:
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
        np.frombuffer(data, dtype=_KINDS[code], offset=start)
        .reshape(shape)
        .astype(_KINDS[code].newbyteorder("="))
    )
    if not np.isfinite(array).all():
        raise ValueError("an array with a value that is not finite")
    array.setflags(write=False)
    return array
