"""Processes that we start, watch and end by their ids, and no others."""

import os
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

_RUN = (
    "import mmap, struct, time; from tacit.cli import main; _real = time.time; "
    "_file = open({file!r}, 'rb'); _off = mmap.mmap(_file.fileno(), 8, access=mmap.ACCESS_READ); "
    "time.time = lambda: _real() + struct.unpack('d', _off[:8])[0]; main()"
)
_PLAIN = "from tacit.cli import main; main()"


@dataclass(frozen=True)
class Clock:
    """A clock that is off by what its file says, and jumps, in processes that run by it, when
    that is changed.
    """

    file: Path

    def put(self, seconds: float) -> None:
        """Be off by so many seconds from now on."""
        with self.file.open("r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("d", seconds))


def tacit(*arguments: str, clock: Clock | None = None) -> list[str]:
    """The command line `tacit ...`, by this clock (default: the machine's)."""
    return [
        sys.executable,
        "-c",
        _PLAIN if clock is None else _RUN.format(file=str(clock.file)),
        *arguments,
    ]


@dataclass
class Processes:
    """Processes of ours by name; each writes to NAME.log in `folder`. All are ended at the end."""

    folder: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    started: int = 0

    def start(self, name: str, command: list[str], **environment: str) -> subprocess.Popen[bytes]:
        """Start a process under a name that is free."""
        if self.alive(name):
            raise ValueError(f"{name} is running")
        quiet = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **quiet, **environment},
            )
        self.started += 1
        return self.running[name]

    def alive(self, name: str) -> bool:
        return name in self.running and self.running[name].poll() is None

    def kill(self, name: str) -> None:
        """Kill -9, at once."""
        with suppress(ProcessLookupError):
            self.running[name].kill()
        self.running[name].wait()

    def stop(self) -> None:
        """Ask all that still run to end, and wait; those that do not are killed."""
        left = [process for process in self.running.values() if process.poll() is None]
        for process in left:
            process.send_signal(signal.SIGTERM)
        for process in left:
            try:
                process.wait(10.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def memory(self) -> int:
        """Bytes that are ours alone (proportional set size) over all running processes."""
        total = 0
        for process in self.running.values():
            with suppress(OSError, ValueError, IndexError):
                text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
                total += int(text.split("Pss:")[1].split()[0]) * 1024
        return total

    def resident(self, name: str) -> int:
        """Bytes of a process and its children."""
        page = os.sysconf("SC_PAGE_SIZE")
        return sum(
            int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
            for pid in self._family(name)
        )

    def seconds(self, name: str) -> float:
        """Processor time that a process and its children have taken."""
        ticks = [
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            for pid in self._family(name)
        ]
        return sum(int(user) + int(system) for user, system in ticks) / os.sysconf("SC_CLK_TCK")

    def _family(self, name: str) -> list[int]:
        first = self.running[name].pid
        return [
            first,
            *(
                int(each)
                for each in Path(f"/proc/{first}/task/{first}/children").read_text().split()
            ),
        ]

    def __enter__(self) -> "Processes":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
