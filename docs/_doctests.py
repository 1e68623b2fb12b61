"""Examples of docstrings that have no section for them become blocks of code: as Markdown, >>>
would be a quotation.
"""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^|(?<=\n))(>>> (?:.+\n?)+)")
_SECTION = re.compile(r"^Examples\n-{3,}\n", flags=re.M)


class Doctests(griffe.Extension):
    """Rewrites every docstring that is shown."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None and not _SECTION.search(obj.docstring.value):
            obj.docstring.value = _EXAMPLE.sub(_block, obj.docstring.value)


def _block(example: re.Match[str]) -> str:
    return f"\n```pycon\n{example.group(1).rstrip()}\n```\n"
