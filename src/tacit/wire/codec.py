"""What may travel, its canonical bytes, and reading them: one object, one string of bytes.

A class opts in with ``@message("tag")``. It travels as [tag, field, field, ...] in msgpack, fields
in their declared order; arrays travel as shape and little-endian values.

Nothing is made that does not belong, in one pass led by the declared types. The first byte of a
value says what it is: a number, a text, a list, ... A `ReadPlan` maps that to the one way of
reading which the declared type allows there, so a union is decided by a look at one byte, and an
object by its tag, before anything inside it is read. There is no trying and no going back. Nothing
on the wire can name a class that was not registered or that does not belong there. Numbers must be
finite, the class's own checks run, and bytes that are not exactly what encoding the result would
give are refused. No pickle, no code: a class of another package travels as its name,
"package:Class", and is known where that package is installed.

Claim: reading takes time and memory in proportion to the bytes, whatever they are (`largest` bounds
it; `python -m benchmarks.decoding` searches for those that cost most), and any defect is a
`WireError`. Proof: every byte is read once, since each step either takes bytes and goes on or
refuses for good; a list makes room entry by entry, and an entry is at least one byte; constructors
are linear in their fields (`message`), and each object is constructed once. Depth and objects are
bounded beside it.
"""

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from math import isfinite, prod
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgpack
import numpy as np

from tacit._util.types import AnyArray

Kind = TypeVar("Kind")
_tag_of: dict[type, str] = {}
_class_of: dict[str, type] = {}

VERSION = 1  # of the encoding
SCALARS = frozenset((bool, int, float, str, bytes, NoneType))
ARRAYS = {1: np.dtype("<f8"), 2: np.dtype("<i8")}  # extension types
MOST_AXES = 3  # of an array that travels
PLUGINS = "tacit.plugins"  # entry points that name modules which register classes of their own
OUTSIDE = re.compile("[A-Za-z_][A-Za-z0-9_.]{0,99}:[A-Za-z_][A-Za-z0-9_]{0,99}")


class WireError(ValueError):
    """Bytes that are not a message we know; the reason never quotes them."""


class MissingError(WireError):
    """Something of another package that is not registered here; its name, which is plain letters,
    is quoted.
    """

    def __init__(self, name: str) -> None:
        package = name.partition(":")[0]
        super().__init__(
            f"{name} is not registered here: install and import {package}, if you trust it "
            "(code is never sent)"
        )


def message(tag: str) -> Callable[[type[Kind]], type[Kind]]:
    """Let a frozen dataclass travel under `tag`. A tag names one class for good; a changed
    layout takes a new tag.

    Its constructor runs on what strangers sent: it must take time and memory in proportion to the
    bytes of its fields.
    """

    def register(cls: type[Kind]) -> type[Kind]:
        if ":" in tag:
            raise ValueError(f"a tag with a colon is a class of another package, got {tag!r}")
        return _let_travel(cls, tag)

    return register


def outside_message(cls: type[Kind]) -> str:
    """Let a frozen dataclass of another package travel under "package:Class", which is answered. No
    tag of ours has a colon, so the two never meet.
    """
    tag = outside_name(cls)
    for name, hint in fields_of(cls) if is_dataclass(cls) else ():
        if not _can_travel(hint):
            raise TypeError(
                f"{tag}: {name} must be a number, text, tuple, registered class or array of "
                f"NDArray[np.float64] or NDArray[np.int64], to travel, and is declared {hint}"
            )
    _let_travel(cls, tag)
    return tag


def _can_travel(hint: Any) -> bool:
    """Whether a declared type is one that can be read again."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (tuple, Union, UnionType):
        return all(part is Ellipsis or _can_travel(part) for part in parts)
    if origin is np.ndarray:
        return get_args(parts[1])[:1] in {(dtype,) for dtype in _DTYPES}
    return hint in SCALARS or tag_of(hint) is not None


def outside_name(cls: type) -> str:
    """The name by which something of another package is known wherever that is installed."""
    name = f"{cls.__module__}:{cls.__name__}"
    if not (OUTSIDE.fullmatch(name) and not name.startswith("tacit.")):
        raise ValueError(f"{name} must be a class in plain letters, of a package other than tacit")
    return name


@cache
def load_plugins() -> None:
    """Import, once, what installed packages register: entry points of the group `tacit.plugins`.
    Whoever works here asks for it, by a name, a file or a command; no message from outside does.
    """
    from importlib.metadata import entry_points  # it takes time, and decoding does not need it

    for found in entry_points(group=PLUGINS):
        found.load()


def _let_travel(cls: type[Kind], tag: str) -> type[Kind]:
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


def encode(value: object) -> bytes:
    """The canonical bytes of a registered object."""
    return bytes(msgpack.packb([VERSION, plain(value)], use_bin_type=True, strict_types=True))


def plain(value: object) -> object:
    """Registered objects as lists, arrays as extension types, scalars as they are."""
    cls: Any = type(value)
    if cls in SCALARS:
        return value
    tag = tag_of(cls)
    if tag is not None:
        parts = [getattr(value, name) for name, _ in fields_of(cls)]
        return [tag, *[part if type(part) in SCALARS else plain(part) for part in parts]]
    if isinstance(value, np.ndarray):
        return pack_array(value)
    if cls is tuple:
        return [plain(part) for part in value]  # type: ignore[attr-defined]
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


LARGEST = 4 << 20  # bytes of one message
DEEPEST = 32  # lists and objects inside each other; what we send has below ten
MOST_OBJECTS = 1 << 17  # registered objects in one message

_DAMAGE = (ValueError, TypeError, RecursionError, MemoryError, OverflowError)
_ANYTHING = (bool, int, float, str, NoneType)  # what a field declared as Any may hold
_DTYPES = {np.float64: np.dtype(np.float64), np.int64: np.dtype(np.int64)}


def decode(data: bytes, kind: Callable[..., Kind], largest: int = LARGEST) -> Kind:
    """The object of class `kind` (or a subclass) that these bytes are, or a `WireError`."""
    if not len(data) <= largest:
        raise WireError(f"a message must be at most {largest} bytes")
    if not data[:2] == bytes((0x92, VERSION)):
        raise WireError(f"not a message of version {VERSION}")
    try:
        reader = Reader(data)
        reader.entries(0)
        reader.scalar(0)
        found: Kind = reader.value(plan_of(kind), 1)
        canonical = encode(found) == data
    except WireError:
        raise
    except (*_DAMAGE, msgpack.exceptions.UnpackException) as problem:
        raise WireError("not a message: the bytes do not parse") from problem
    if not canonical:
        raise WireError("not canonical: the same content has other bytes")
    return found


class Reader:
    """A place in the bytes of one message."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._unpacker = msgpack.Unpacker(
            raw=False, ext_hook=unpack_array, max_buffer_size=len(data) + 1, read_size=1
        )
        self._unpacker.feed(data)
        self._objects = 0

    def value(self, plan: "ReadPlan", depth: int) -> Any:
        """The next value, which must be one that `plan` allows."""
        at = self._unpacker.tell()
        form = _FORM[self._data[at]] if at < len(self._data) else None
        way = plan.ways.get(form) if form is not None else None
        if way is None:
            raise WireError(f"a field must be {plan.wanted}")
        return way(self, depth)

    def scalar(self, depth: int) -> Any:
        """A number, text or truth value as it stands; numbers must be finite."""
        found = self._unpacker.unpack()
        if type(found) is float and not isfinite(found):
            raise WireError("a number must be finite")
        return found

    def entries(self, depth: int) -> int:
        """How many entries the list has that begins here."""
        if not depth < DEEPEST:
            raise WireError(f"a message must be nested at most {DEEPEST} deep")
        return int(self._unpacker.read_array_header())

    def array(self, wanted: Any) -> AnyArray:
        """An array of one type."""
        found: AnyArray = self._unpacker.unpack()
        if not found.dtype == wanted:
            raise WireError(f"a field must be an array of {wanted}")
        return found

    def object(self, kinds: "Kinds", depth: int) -> Any:
        """An object of one of some kinds; its class's own checks run."""
        count = self.entries(depth)
        tag = self.value(_TEXT, depth) if count else ""
        cls: Any = kinds.admit(tag)
        if cls is None:
            if OUTSIDE.fullmatch(tag) and class_of(tag) is None:
                raise MissingError(tag)
            raise WireError(f"a field must be a known {kinds.name}")
        plans = _plans_of(cls)
        if not count == len(plans) + 1:
            raise WireError(f"{cls.__name__} must have {len(plans)} fields, got {count - 1}")
        self._objects += 1
        if not self._objects <= MOST_OBJECTS:
            raise WireError(f"a message must have at most {MOST_OBJECTS} objects")
        fields = {name: self.value(plan, depth + 1) for name, plan in plans}
        try:
            return cls(**fields)
        except MissingError:
            raise
        except (ValueError, TypeError, OverflowError, ArithmeticError, IndexError) as problem:
            raise WireError(f"{cls.__name__}: a field is out of range") from problem


Way = Callable[[Reader, int], Any]


class ReadPlan:
    """How to read one declared type: for each form that a value can have, the one way to read
    it; `wanted` says in words what belongs there.
    """

    def __init__(self, ways: dict[Any, Way], wanted: str) -> None:
        self.ways, self.wanted = ways, wanted


class Kinds:
    """The classes that may stand in a place: those named, and their subclasses."""

    def __init__(self, kinds: tuple[Any, ...]) -> None:
        self._kinds = kinds
        self._known: dict[str, type] = {}  # grows with registered tags only
        self.name = " or ".join(str(getattr(kind, "__name__", "object")) for kind in kinds)

    def admit(self, tag: str) -> type | None:
        """The class behind a tag, if it may stand here."""
        found = self._known.get(tag)
        if found is None:
            found = class_of(tag)
            if found is None or not issubclass(found, self._kinds):
                return None
            if ":" not in tag:  # others may be defined again, in a notebook
                self._known[tag] = found
        return found

    def read(self, reader: Reader, depth: int) -> Any:
        return reader.object(self, depth)


@lru_cache(maxsize=1024)
def plan_of(hint: Any) -> ReadPlan:
    """The plan of a declared type. One that two ways of reading would fit is a mistake of ours."""
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    ways: dict[Any, Way] = {}
    classes = []
    for member in members:
        origin = get_origin(member)
        if member is Any:
            found: dict[Any, Way] = dict.fromkeys(_ANYTHING, Reader.scalar)
        elif member in SCALARS:
            found = {member: Reader.scalar}
        elif origin is tuple:
            found = {list: _tuple_of(get_args(member))}
        elif origin is np.ndarray:
            found = {np.ndarray: _array_of(_DTYPES[get_args(get_args(member)[1])[0]])}
        else:
            classes.append(member)
            continue
        if ways.keys() & found.keys():
            raise TypeError(f"{hint} cannot be told apart by its first byte")
        ways |= found
    if classes:
        if list in ways:
            raise TypeError(f"{hint} cannot be told apart by its first byte")
        kinds = Kinds(tuple(classes))
        return ReadPlan(ways | {list: kinds.read}, f"a known {kinds.name}")
    return ReadPlan(ways, " or ".join(sorted(_WORDS[form] for form in ways)))


@lru_cache(maxsize=1024)
def _plans_of(cls: type) -> tuple[tuple[str, ReadPlan], ...]:
    return tuple((name, plan_of(hint)) for name, hint in fields_of(cls))


def _tuple_of(hints: tuple[Any, ...]) -> Way:
    many = len(hints) == 2 and hints[1] is Ellipsis
    plans = tuple(plan_of(hint) for hint in hints[: 1 if many else None])

    def read(reader: Reader, depth: int) -> tuple[Any, ...]:
        count = reader.entries(depth)
        if many:
            return tuple([reader.value(plans[0], depth + 1) for _ in range(count)])
        if not count == len(plans):
            raise WireError(f"a list must have {len(plans)} entries, got {count}")
        return tuple([reader.value(plan, depth + 1) for plan in plans])

    return read


def _array_of(wanted: Any) -> Way:
    return lambda reader, depth: reader.array(wanted)


def _form(first: int) -> Any:
    """What a value is, by its first byte; None for maps and all else that we never send."""
    for form, ranges in _BYTES.items():
        if any(low <= first <= high for low, high in ranges):
            return form
    return None


_BYTES: dict[Any, tuple[tuple[int, int], ...]] = {
    int: ((0x00, 0x7F), (0xE0, 0xFF), (0xCC, 0xD3)),
    float: ((0xCB, 0xCB),),
    str: ((0xA0, 0xBF), (0xD9, 0xDB)),
    bytes: ((0xC4, 0xC6),),
    bool: ((0xC2, 0xC3),),
    NoneType: ((0xC0, 0xC0),),
    list: ((0x90, 0x9F), (0xDC, 0xDD)),
    np.ndarray: ((0xC7, 0xC9), (0xD4, 0xD8)),
}
_WORDS = {
    int: "a whole number",
    float: "a number with a point",
    str: "a text",
    bytes: "bytes",
    bool: "a truth value",
    NoneType: "nothing",
    list: "a list",
    np.ndarray: "an array",
}
_FORM = tuple(_form(first) for first in range(256))
_TEXT = ReadPlan({str: Reader.scalar}, "a tag")


def unpack_array(code: int, data: bytes) -> AnyArray:
    """The inverse of `pack_array`, with every length checked before anything is made."""
    if code not in ARRAYS or not data or not 1 <= data[0] <= MOST_AXES:
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
        np.frombuffer(data, dtype=ARRAYS[code], offset=start)
        .reshape(shape)
        .astype(ARRAYS[code].newbyteorder("="))
    )
    if not np.isfinite(array).all():
        raise ValueError("an array with a value that is not finite")
    array.setflags(write=False)
    return array
