"""How many seconds of processor a cell takes: by that cells are put in order, and the time that is
left is told. `python -m tacit_papers.costs ROWS...` takes them from the heads of rows on disk;
until it has met rows of a cell they are those of one run, scaled, or of cells like it. What is not
named here, and quick cells, go by their own guess.

Times are no part of what is measured: they stand apart, so that to correct them voids no row.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tacit_papers.rows_file import Block, read_blocks

FILE = Path(__file__).with_name("costs.json")
_KINDS = ("learner", "method", "varied", "owners", "records", "sites")  # by which times differ


def name_of(settings: Mapping[str, Any]) -> str:
    """Cells of one name take about as long.

    >>> name_of({"paper": "d", "cell": "PeerCell", "dataset": "gss", "method": "turns", "seed": 1})
    'd PeerCell, gss, turns'
    """
    own = (settings[kind] for kind in _KINDS if settings.get(kind) is not None)
    return ", ".join(
        map(str, (f"{settings['paper']} {settings['cell']}", settings["dataset"], *own))
    )


def seconds_of(settings: Mapping[str, Any], guess: float) -> float:
    """What a cell of these settings takes."""
    return guess if settings["quick"] else _known().get(name_of(settings), guess)


@cache
def _known() -> Mapping[str, float]:
    found: Mapping[str, float] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def mean_seconds(blocks: Iterable[Block]) -> dict[str, float]:
    """By name, of whole cells on disk."""
    found: dict[str, list[float]] = {}
    for block in blocks:
        if not block.head["settings"]["quick"]:
            seconds = float(block.head["cpu_seconds"])
            found.setdefault(name_of(block.head["settings"]), []).append(seconds)
    return {name: max(0.1, round(sum(each) / len(each), 1)) for name, each in sorted(found.items())}


if __name__ == "__main__":
    measured = mean_seconds(block for path in sys.argv[1:] for block in read_blocks(Path(path)))
    FILE.write_text(json.dumps({**_known(), **measured}, indent=0) + "\n", encoding="utf-8")
