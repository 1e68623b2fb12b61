"""Databases for the tests: SQLite, and a real PostgreSQL that each test process starts for
itself; models of public rows, which are fitted once; what other packages registered; logs; Ctrl-C;
which files begin first.
"""

import logging
import signal
import sys
from copy import deepcopy
from typing import Any

import pytest

from tacit.algorithms import public_baseline
from tacit.learners.owners import LEARNERS, own_learners
from tacit.mechanisms.registry import MECHANISMS, own_mechanisms
from tacit.wire import codec

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


@pytest.fixture(scope="session", autouse=True)
def candidates_fitted_once():
    """scikit-learn's models of public rows, which take most of the time of a small fit, are fitted
    once for equal rows: each is a function of its rows alone.
    """
    fit, grow, kept = public_baseline._fit_model, public_baseline._grow, dict[Any, Any]()

    def once(key, make_one):
        if key not in kept:
            if len(kept) == 300:
                kept.clear()
            kept[key] = make_one()
        return kept[key]

    def fit_once(make, X, y, trees=None):
        key = make, trees, X.shape, X.strides, X.tobytes(), y.tobytes()
        return once(key, lambda: fit(make, X, y, trees))

    def grow_once(begun, X, y):
        key = grow, X.shape, X.strides, X.tobytes(), y.tobytes()
        return once(key, lambda: grow(deepcopy(begun), X, y))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(public_baseline, "_fit_model", fit_once)
        patch.setattr(public_baseline, "_grow", grow_once)
        yield


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server on loopback, stopped at the end of the session."""
    if programs() is None:
        pytest.skip(which())
    with started("fsync=off", "max_connections=60", "shared_buffers=16MB") as server:
        yield server


@pytest.fixture(scope="session")
def emptied():
    """Addresses of databases that tests are done with."""
    return []


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path, emptied):
    """The address of an empty database, once of each kind: for what databases have to do."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/campaign.db"
    else:
        yield from _on_postgres(request, emptied)


@pytest.fixture
def any_database(request, tmp_path, emptied):
    """The address of an empty database, for what is said of something else: of the kind that
    promises least (rows come in any order, writers at once), or SQLite where there is no other.
    """
    if programs() is None:
        yield f"sqlite:///{tmp_path}/campaign.db"
    else:
        yield from _on_postgres(request, emptied)


def _on_postgres(request, emptied):
    server = request.getfixturevalue("postgres")
    address = emptied.pop() if emptied else server.fresh()
    yield address
    server.empty(address)
    emptied.append(address)


@pytest.fixture(autouse=True)
def nobody_registered():
    """As in a process that knows no learner or mechanism of another package; afterwards those are
    known that were before.
    """
    before = _forget_others()
    codec.load_plugins.cache_clear()
    yield
    _forget_others()
    for table, content in zip(_REGISTERED, before, strict=True):
        table.update(content)
    codec.load_plugins.cache_clear()


_REGISTERED: tuple[dict[Any, Any], ...] = (MECHANISMS, LEARNERS, codec._class_of, codec._tag_of)


def _forget_others() -> list[dict[Any, Any]]:
    """Take what other packages registered out of all tables, and answer it; ours stay, those too
    whose modules a test was the first to import.
    """
    others: set[Any] = {*own_learners(), *own_mechanisms()}
    others |= {kind for tag, kind in codec._class_of.items() if ":" in tag}
    found = [
        {key: value for key, value in table.items() if key in others or value in others}
        for table in _REGISTERED
    ]
    for table, content in zip(_REGISTERED, found, strict=True):
        for key in content:
            del table[key]
    return found


@pytest.fixture(autouse=True)
def logs_as_before():
    """Commands set up logging for their process; the next test's begins as this one's did."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


# Files that take longest, or wait most: begun last, one of them would leave the other cores idle.
LONGEST = (
    "tests/estimators/test_checks.py",
    "tests/algorithms/test_foretelling.py",
    "tests/test_docs.py",
    "tests/algorithms/test_summed_gradients.py",
    "tests/cli/test_json.py",
    "tests/papers/test_paper_a.py",
    "tests/service/coordinator/test_readings.py",
    "tests/audit/test_findings.py",
    "tests/algorithms/test_refine.py",
    "tests/reliability/test_quick.py",
    "tests/audit/test_gate.py",
    "tests/service/coordinator/test_connections.py",
    "tests/papers/test_paper_d.py",
    "tests/service/coordinator/test_peers.py",
    "tests/test_benchmarks.py",
    "tests/audit/test_clock.py",
    "tests/clients/test_javascript.py",
    "tests/reliability/test_kills.py",
    "tests/service/coordinator/test_faults.py",
    "tests/papers/test_paper_c.py",
    "tests/cli/test_commands.py",
    "tests/service/test_rotation.py",
    "tests/service/test_storm.py",
    "tests/papers/test_paper_b.py",
    "tests/algorithms/test_sites.py",
    "tests/papers/test_cells.py",
    "tests/service/coordinator/test_strangers.py",
    "tests/service/coordinator/test_browser.py",
    "tests/service/coordinator/test_several.py",
    "tests/service/test_carried.py",
    "tests/owner/test_moments.py",
    "tests/cli/test_stopping.py",
    "tests/audit/test_statistical.py",
    "tests/mechanisms/test_estimates.py",
    "tests/service/coordinator/test_classifier.py",
    "tests/estimators/test_budget.py",
    "tests/audit/test_sums.py",
    "tests/render/test_report.py",
    "tests/service/test_upgrade.py",
    "tests/owner/test_worker.py",
)


def pytest_collection_modifyitems(items):
    """Files in the order in which processes should take them; tests of a file stay in theirs."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


def pytest_configure():
    """A shell that starts something in the background makes it deaf to Ctrl-C; tests of Ctrl-C
    need it to listen.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"database tests ran on SQLite and: {which()}")
