"""Settings that people write down in files of TOML."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def read_settings(
    file: Path, what: str, parse_float: Callable[[str], Any] = float
) -> dict[str, Any]:
    """What a file says; an error names the file, and `what` it should have been. A mark of the
    order of bytes, as some editors begin a file with, is no part of it.
    """
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"), parse_float=parse_float)
    except UnicodeDecodeError:
        why = "it is no UTF-8 text: save it as UTF-8"
    except (OSError, ValueError, RecursionError) as problem:
        why = str(problem)
    raise ValueError(f"{file} cannot be read as a {what}: {why}")
