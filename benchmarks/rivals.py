"""Talk to the rivals, who live in another interpreter: one line of JSON each way per
measurement.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_SCRIPT = Path(__file__).with_name("rival_laplace.py")


@dataclass(frozen=True)
class Rivals:
    """A running interpreter that measures on request."""

    requests: IO[str]
    answers: IO[str]
    versions: dict[str, str]  # by name

    def seconds(self, name: str, epsilon: float, values: int) -> float:
        """Seconds per value, once."""
        self.requests.write(
            json.dumps({"rival": name, "epsilon": epsilon, "values": values}) + "\n"
        )
        self.requests.flush()
        return float(_answer(self.answers)["seconds"])


@contextmanager
def rivals_of(python: str) -> Iterator[Rivals]:
    """The rivals installed for interpreter `python`; they stop when the block ends."""
    command = [python, "-W", "ignore", str(_SCRIPT)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr, text=True
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the rivals' interpreter has no pipes")
        yield Rivals(process.stdin, process.stdout, _answer(process.stdout))


def _answer(answers: IO[str]) -> dict[str, Any]:
    line = answers.readline()
    if not line:
        raise RuntimeError("the rivals' interpreter stopped; its message is above")
    answer: dict[str, Any] = json.loads(line)
    return answer
