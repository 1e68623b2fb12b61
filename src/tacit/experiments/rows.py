"""Rows of experiments on disk."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any


def write_rows(rows: Iterable[Any], path: Path) -> None:
    """One JSON object per line, with the kind of row first; rows are dataclasses."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({"row": type(row).__name__, **asdict(row)}) + "\n")
