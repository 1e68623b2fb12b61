"""Files to try the commands on: GENERATED people of the census that `datasets.brazil` makes. No row is a person."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from tacit.datasets.brazil import people
from tacit.types import AnyArray

PARTS: dict[str, tuple[Literal["train", "public", "test"], int]] = {
    "people.csv": ("train", 40_000),
    "mine.csv": ("public", 60),
    "test.csv": ("test", 5_000),
}
LABEL = "income"


def write_files(folder: Path) -> None:
    """people.csv (each row an owner), mine.csv (public rows), test.csv, and new.csv, whose income nobody knows."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (part, rows) in PARTS.items():
        columns = people(part, rows)
        _write(folder / name, columns)
        if part == "test":
            _write(folder / "new.csv", {key: values for key, values in columns.items() if key != LABEL})


def _write(path: Path, columns: dict[str, AnyArray]) -> None:
    rows: Iterable[tuple[object, ...]] = zip(*(column.tolist() for column in columns.values()), strict=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(columns)
        lines.writerows(rows)
