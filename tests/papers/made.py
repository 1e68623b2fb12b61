"""Small cells for tests of the runner; other processes import them from here."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import ClassVar

from tacit_papers.datasets import DataMissing
from tacit_papers.runner import Cell


@dataclass(frozen=True)
class NumberRow:
    """A number, and the process that found it."""

    number: int
    process: int


@dataclass(frozen=True, kw_only=True)
class NumberCell(Cell):
    """Says its number once for each run; `waits` lets a test stop it meanwhile, `kills` ends its
    process.
    """

    paper: ClassVar[str] = "z"

    number: int
    waits: str = ""
    kills: bool = False
    missing: bool = False
    fails: bool = False

    def rows(self) -> list[NumberRow]:
        if self.missing:
            raise DataMissing("numbers", [Path("nowhere")])
        if self.fails:
            raise ArithmeticError("no such number")
        if self.waits and not Path(self.waits).exists():
            Path(self.waits).touch()
            sleep(60)
        if self.kills:
            os.kill(os.getpid(), signal.SIGKILL)
        return [NumberRow(self.number, os.getpid())] * self.runs


def cells(
    *numbers: int, waits: str = "", kills: bool = False, missing: bool = False
) -> list[NumberCell]:
    """A cell for each number."""
    return [
        NumberCell(
            where="Fig. 1",
            dataset="made up",
            runs=2,
            number=n,
            waits=waits,
            kills=kills,
            missing=missing,
        )
        for n in numbers
    ]
