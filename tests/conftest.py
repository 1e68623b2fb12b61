"""Databases for the tests: SQLite, and a real PostgreSQL that each test process starts for
itself; logs; Ctrl-C.
"""

import logging
import signal
import sys

import pytest

if sys.platform != "win32":
    from benchmarks.service.postgres import postgres as started
    from benchmarks.service.postgres import programs, which


@pytest.fixture(scope="session", autouse=True)
def folders_of_the_user(tmp_path_factory):
    """Homes and marks of the tests are not among the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        patch.delenv("TACIT_HOME", raising=False)
        yield


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server on loopback, stopped at the end of the session."""
    if programs() is None:
        pytest.skip(which())
    with started("fsync=off", "max_connections=60", "shared_buffers=16MB") as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The address of an empty database, once of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/campaign.db"
    return request.getfixturevalue("postgres").fresh()


@pytest.fixture(autouse=True)
def logs_as_before():
    """Commands set up logging for their process; the next test's begins as this one's did."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def pytest_configure():
    """A shell that starts something in the background makes it deaf to Ctrl-C; tests of Ctrl-C
    need it to listen.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"database tests ran on SQLite and: {which()}")
