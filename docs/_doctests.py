"""Examples of docstrings as blocks of code: without it Markdown would take >>> for a quotation."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^|(?<=\n))(>>> (?:.+\n?)+)")


class Doctests(griffe.Extension):
    """Fences every example, up to the next empty line."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(
                lambda found: f"```pycon\n{found[1].rstrip()}\n```\n", obj.docstring.value
            )
