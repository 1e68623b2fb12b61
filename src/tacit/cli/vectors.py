"""tacit vectors: the proof system of sums against test vectors, the standard's or anybody's."""

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli._options import FAILED
from tacit.cli._output import Screen


def vectors(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Folder of test vectors (JSON), as the draft on verifiable aggregation has them.",
            exists=True,
            file_okay=False,
        ),
    ],
    screen: Screen,
) -> None:
    """Replay test vectors of Prio3, good ones and ones that must be refused, bit for bit.

    Each file is passed, failed or not judged (another algorithm). Exit status 1 if one has failed,
    or none was passed.

    Example:
        tacit vectors test_vec/vdaf
    """
    from tacit.sums.prio3.vectors import judge_folder

    found = judge_folder(folder)
    for verdict in found:
        screen.say(str(verdict))
    counts = {
        name: sum(verdict.passed is outcome for verdict in found)
        for name, outcome in (("passed", True), ("failed", False), ("not_judged", None))
    }
    screen.say(
        f"{counts['passed']} passed, {counts['failed']} failed, {counts['not_judged']} not judged"
    )
    screen.tell(**counts, vectors={verdict.name: verdict.passed for verdict in found})
    if counts["failed"] or not counts["passed"]:
        raise typer.Exit(FAILED)
