"""Wrong options in plain words: what the option must be, what it means, and what was given."""

import re
import sys
from itertools import pairwise
from typing import Any

_RULES = (  # the library's wording, and ours
    (re.compile(r"Input should be a valid integer.*"), "a whole number"),
    (re.compile(r"Input should be a valid number.*"), "a number"),
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"\1 or more"),
    (re.compile(r"Input should be less than or equal to (\S+)"), r"\1 or less"),
)


def in_plain_words(wrong: Any) -> str:
    """One line for an error of the library that reads options; its own words where they are plain enough."""
    command = wrong.ctx.command_path if wrong.ctx is not None else "tacit"
    said = " ".join(wrong.format_message().split())
    rule = next((found.expand(ours) for theirs, ours in _RULES if (found := theirs.search(said))), "")
    if rule and getattr(wrong, "param", None) is not None:
        said = _told(wrong.param, rule)
    return f"{said.rstrip('.')}. See: {command} --help"


def _told(param: Any, rule: str) -> str:
    name, about = max(param.opts, key=len), str(getattr(param, "help", None) or "").partition(";")[0].rstrip(".")
    given = ", ".join(repr(value) for value in _given(name))
    meant = f": {about[0].lower()}{about[1:]}" if about else ""
    return f"{name} must be {rule}{meant}" + (f"; got {given}" if given else "")


def _given(name: str) -> list[str]:
    """What the command line has for an option, each time that it is there."""
    words = sys.argv[1:]
    after = [value for word, value in pairwise(words) if word == name]
    return after + [word.partition("=")[2] for word in words if word.startswith(f"{name}=")]
