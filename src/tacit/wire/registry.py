"""Which classes travel, and under which names: where encoding and reading meet."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, TypeVar, get_type_hints

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
