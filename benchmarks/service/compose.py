"""Every command of compose.yaml, run outside of containers: `python -m benchmarks.service.compose`.

What a container would have is put in its place: volumes are folders, names of services are this
machine, ports are free ones, the database is a PostgreSQL of our own. Services start in the order
that the file says, those that others wait for must have ended well or be ready. All is well if the
campaign ends, with every owner's answer counted.
"""

import argparse
import os
import ssl
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from benchmarks.service.postgres import free_port, postgres
from benchmarks.service.processes import Processes

ROOT = Path(__file__).parents[2]
FILE = ROOT / "compose.yaml"
_PATIENCE = 900.0  # seconds for one step: longer than the deadline, on a busy machine


def read(file: Path = FILE) -> dict[str, Any]:
    """The services of a compose file, merged."""
    services: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))["services"]
    return services


def in_order(services: Mapping[str, Any]) -> list[str]:
    """Services, each after those that it depends on."""
    found: list[str] = []
    while len(found) < len(services):
        ready = [
            name
            for name, service in services.items()
            if name not in found and set(service.get("depends_on", {})) <= set(found)
        ]
        if not ready:
            raise ValueError("services wait for each other")
        found += ready
    return found


@dataclass
class Stand:
    """What stands for what a container has."""

    folder: Path
    database: str
    ports: dict[str, str] = field(
        default_factory=lambda: {port: str(free_port()) for port in ("8443", "8444", "9100")}
    )

    def command(self, service: Mapping[str, Any]) -> list[str]:
        """The words of a service's command, as they are run here."""
        words = [*service.get("entrypoint", ["tacit"]), *service["command"]]
        return [self.word(word) for word in words]

    def word(self, word: str) -> str:
        """A text with everything of a container replaced."""
        for here, there in self._replaced():
            word = word.replace(here, there)
        return word

    def _replaced(self) -> Iterator[tuple[str, str]]:
        yield "$$", "$"
        yield "/trial", str(self.folder / "trial")
        yield "/examples", str(ROOT / "examples")
        yield "//coordinator:", "//localhost:"
        yield "//helper:", "//localhost:"
        yield "0.0.0.0", "127.0.0.1"  # noqa: S104 - what is replaced
        yield from self.ports.items()

    def environment(self, service: Mapping[str, Any]) -> dict[str, str]:
        """What a service's environment is here; a home of its own."""
        given = dict(service.get("environment", {}))
        if "TACIT_DATABASE" in given:
            given["TACIT_DATABASE"] = self.database
        bin_folder = str(Path(sys.executable).parent)
        return {**given, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}


def run(folder: Path, database: str) -> dict[str, Any]:
    """Run all of it; what the campaign's page says at the end."""
    services, stand = read(), Stand(folder, database)
    with Processes(folder) as processes:
        for name in in_order(services):
            if "command" not in services[name]:
                continue  # PostgreSQL itself
            home = str(folder / f"home-{name}")
            own = {"TACIT_HOME": home, "XDG_STATE_HOME": f"{home}-marks"}
            made = stand.environment(services[name]) | own
            process = processes.start(name, stand.command(services[name]), **made)
            if name.startswith("owner"):
                continue  # they wait for each other
            if "restart" in services[name]:
                _wait(lambda name=name: _is_ready(stand, name))
            elif process.wait(_PATIENCE):
                raise RuntimeError(f"{name} failed: {(folder / f'{name}.log').read_text()}")
            if name == "prepare":  # names of services are in the campaign's file
                file = folder / "trial" / "campaign.toml"
                file.write_text(stand.word(file.read_text()))
        for name in services:
            if name.startswith("owner") and processes.running[name].wait(_PATIENCE):
                raise RuntimeError(f"{name} failed: {(folder / f'{name}.log').read_text()}")
        _wait(lambda: _status(stand)["state"] == "ended")
        ended: dict[str, Any] = _status(stand)
        return ended


def _is_ready(stand: Stand, name: str) -> bool:
    if name == "coordinator":
        return _fetch(f"http://127.0.0.1:{stand.ports['9100']}/readyz", None) != b""
    return _fetch(f"https://localhost:{stand.ports['8444']}/readyz", stand) != b""


def _status(stand: Stand) -> Any:
    said = _fetch(f"https://localhost:{stand.ports['8443']}/v1/status", stand)
    return yaml.safe_load(said)  # JSON is YAML


def _fetch(url: str, stand: Stand | None) -> bytes:
    trust = None
    if stand is not None:
        trust = ssl.create_default_context(cafile=str(stand.folder / "trial" / "services.pem"))
    with suppress(OSError), urllib.request.urlopen(url, context=trust, timeout=10) as answer:  # noqa: S310 - of ours
        content: bytes = answer.read()
        return content
    return b""


def _wait(done: Any) -> None:
    until = time.monotonic() + _PATIENCE
    while not done():
        if time.monotonic() > until:
            raise TimeoutError("a service is not ready")
        time.sleep(0.5)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--folder", type=Path, default=None)
    folder = given.parse_args().folder or Path(tempfile.mkdtemp(prefix="tacit-compose-"))
    folder.mkdir(parents=True, exist_ok=True)
    with postgres() as server:
        status = run(folder, server.fresh())
    counted = sum(question["counted"] for question in status["questions"])
    print(f"state {status['state']}: {status['ended']}; answers counted {counted}")
    sys.exit(status["state"] != "ended")


if __name__ == "__main__":
    main()
