"""The first ten minutes of somebody who reads README.md and types what it says.

    python -m benchmarks.first_minutes [--python /usr/bin/python3] [--log FILE]

The committed state is cloned into an empty folder. Everything runs there with an environment that
has `HOME` (an empty folder) and `PATH` (the programs of the system, this Python, and what README
puts there) and nothing else. Commands are those that stand in README, word by word: `make demo`,
the lines of "On your own file", the Python of "In fifteen lines", the lines of "Over a network",
with what is typed for north typed for south and west as well. Whatever fails ends it.

The table has the seconds of a clock on the wall, and those of processor (of the command and all
that it started); the log has what every command said.
"""

import argparse
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).parent.parent
OWNERS = ("north", "south", "west")
_LONGEST = 1200  # seconds that one command may take


def commands_of(readme: str, heading: str) -> list[str]:
    """The commands that stand below a heading, without their comments.

    >>> commands_of("## A\\n\\n    tacit plan x   # first\\n    ls\\n\\n## B\\n\\n    cat\\n", "A")
    ['tacit plan x', 'ls']
    """
    section = readme.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^    (\S.*)$", re.sub(r"```.*?```", "", section, flags=re.S), flags=re.M)
    return [line.split("  #")[0].rstrip() for line in lines]


@dataclass
class Trial:
    """A clone, the environment that commands have, and what they took."""

    clone: Path
    home: Path
    python: Path
    log: TextIO
    rows: list[tuple[str, float, float]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        own = [str(self.clone / ".venv" / "bin"), str(self.python.parent), "/usr/bin", "/bin"]
        return {"HOME": str(self.home), "PATH": ":".join(own)}

    def start(self, command: str, folder: Path) -> subprocess.Popen[str]:
        """A command that goes on beside the others."""
        print(f"$ {command}", file=self.log, flush=True)
        return subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command}"],
            cwd=folder,
            env=self.environment,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def type(self, *commands: str, folder: Path, name: str = "") -> None:
        """Commands that run at once, to their end; a row of the table."""
        began, before = time.monotonic(), _processor()
        for each in [self.start(command, folder) for command in commands]:
            if each.wait(_LONGEST) != 0:
                raise SystemExit(f"{' and '.join(commands)} failed: see the log")
        took = time.monotonic() - began, _processor() - before
        self.rows.append((name or f"`{commands[0]}`", *took))
        print(f"[{took[0]:.0f} s]", file=self.log, flush=True)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def serving(trial: Trial, command: str, folder: Path) -> Iterator[None]:
    """A service that is there when its page answers, stopped by Ctrl-C in the end."""
    began = time.monotonic()
    server = trial.start(command, folder)
    try:
        while not _answers():
            if server.poll() is not None or time.monotonic() - began > _LONGEST:
                raise SystemExit(f"{command} does not answer: see the log")
            time.sleep(0.5)
        yield
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


def _answers() -> bool:
    try:
        with socket.create_connection(("127.0.0.1", 8443), timeout=1):
            return True
    except OSError:
        return False


def own_file(trial: Trial, readme: str) -> None:
    """`make demo`, and what follows on files that it has made."""
    trial.type("make demo", folder=trial.clone, name="`make demo`, installation included")
    files = trial.clone / "out" / "demo" / "files"
    first, *typed = commands_of(readme, "On your own file")
    if "out/demo/files" not in first:
        raise SystemExit(f"README begins with something else: {first}")
    for command in typed:
        trial.type(command, folder=files)
    lines = re.search(r"## In fifteen lines\n\n```python\n(.*?)```", readme, flags=re.S)
    script = trial.home / "fifteen.py"
    script.write_text(lines[1] if lines else "raise SystemExit('README has no such lines')")
    trial.type(f"python {script}", folder=trial.clone, name="README's fifteen lines of Python")


def network(trial: Trial, readme: str) -> None:
    """Three owners on this machine, from the service to predictions."""
    trial.type("pip install -e '.[service]'", folder=trial.clone)
    files = trial.clone / "out" / "demo" / "files"
    serve, *typed = commands_of(readme, "Over a network")
    began = time.monotonic()
    with serving(trial, serve, files):
        for command in typed:
            whose = [command.replace("north", owner) for owner in OWNERS]
            if command.startswith("tacit join"):
                trial.type(*whose, folder=files, name=f"`{command}`, three at once")
            else:
                trial.type(command, folder=files)
    whole = time.monotonic() - began
    trial.rows.append(("all of it over the network, from `tacit serve` on", whole, float("nan")))


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--log", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        log = given.log or folder / "log.txt"
        (folder / "home").mkdir()
        subprocess.run(["git", "clone", "-q", str(ROOT), "tacit"], cwd=folder, check=True)
        readme = (folder / "tacit" / "README.md").read_text(encoding="utf-8")
        with log.open("w", encoding="utf-8") as out:
            trial = Trial(folder / "tacit", folder / "home", given.python, out)
            own_file(trial, readme)
            network(trial, readme)
    print(f"load of the machine at the end: {os.getloadavg()[1]:.1f}\n")
    print("| typed | seconds | of processor |\n|---|---|---|")
    for name, wall, used in trial.rows:
        print(f"| {name} | {wall:.0f} | {'' if used != used else f'{used:.0f}'} |")


if __name__ == "__main__":
    main()
