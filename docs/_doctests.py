"""Docstrings as Markdown: examples become blocks of code (>>> would be a quotation), parameters a
list.
"""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^|(?<=\n))(>>> (?:.+\n?)+)")
_HEADING = re.compile(r"^(\w+)\n-{3,}\n", flags=re.M)
_TERM = re.compile(r"^(\w[\w, ]*) : ", flags=re.M)


class Doctests(griffe.Extension):
    """Rewrites every docstring that is shown."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = "".join(map(_rewritten, _EXAMPLE.split(obj.docstring.value)))


def _rewritten(part: str) -> str:
    if part.startswith(">>> "):
        return f"\n```pycon\n{part.rstrip()}\n```\n"
    listed = _TERM.sub(r"- **\1**: ", _HEADING.sub(r"**\1**\n\n", part))
    return re.sub(r"(?<=[^\n])\n(?=- \*\*)", _apart, listed)


def _apart(found: re.Match[str]) -> str:
    """A list begins after an empty line."""
    line = found.string[: found.start()].rpartition("\n")[2]
    return "\n" if line.startswith(("- **", " ")) else "\n\n"
