"""Values planted in rows, looked for in everything that could carry them out by accident.

Owners' tables hold numbers and words that occur nowhere else. Everything an owner runs is run, well
and badly; all logs (from DEBUG up), warnings, printed text, tracebacks, reprs, pickles, the files
of ledger and mark, wire messages and models are collected and searched for the planted values in
every form they might take. Reports are not: they are what the owner pays for. A control checks that
the search finds what is there.
"""

import io
import logging
import pickle
import struct
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from reliability.campaign import LEARNERS, PRIVATE, Campaign, in_memory, ledger_in, limits
from reliability.finding import Finding
from tacit import Cohort, Laplace, Number, PrivateBoosting, Schema, secure
from tacit._util.types import FloatArray
from tacit.data.schema import Encoded
from tacit.engines.inline import Inline
from tacit.learners.query import Query
from tacit.mechanisms.base import Reports
from tacit.mechanisms.spaces import Box
from tacit.mechanisms.streams import Stream
from tacit.owner.gate import Gate
from tacit.owner.ledger import Ledger, LedgerError
from tacit.wire import encode

_NUMBERS = (0.73908513321516, 7.3890560989306)  # for the columns a in [-1, 1] and b in [0, 10]
_WORDS = (
    "zaunkoenig-4711",
    "wintergoldhaehnchen-0815",
)  # a category and a label that no schema knows
_POLICY = limits(epsilon_per_release=1, epsilon_total=9, releases=20)
_HOLDERS = (Cohort, Encoded)  # they are the rows: whoever pickles them means to
_DIGITS = 8  # how many of a number's digits make a hit


def forms() -> list[bytes]:
    """The planted values as they may be written: decimal, hexadecimal, binary, and as the schema
    encodes them.
    """
    a, b = _NUMBERS
    found = [word.encode() for word in _WORDS] + [word.encode("utf-16-le") for word in _WORDS]
    for number in (a, b, (b - 5) / 5):
        digits = f"{number:.15g}".replace("0.", "").replace(".", "")[:_DIGITS]
        found += [
            f"{number:.15g}"[: _DIGITS + 1].encode(),
            digits.encode(),
            f"{number:e}"[:_DIGITS].encode(),
        ]
        found += [number.hex()[4:14].encode()]
        for code in ("<d", ">d", "<f", ">f"):
            packed = struct.pack(code, number)
            found += [packed, packed.hex().encode()]
    return found


def hits(data: bytes) -> int:
    """How many forms of the planted values occur."""
    return sum(form in data for form in forms())


class Stumbling(Gate):
    """A gate whose release fails at rows, with an error that quotes them, as a careless
    learner's might.
    """

    def _release(
        self, query: Query, cohort: Cohort, epsilons: FloatArray, coins: Stream
    ) -> Reports:
        if len(cohort.y):
            raise RuntimeError(f"cannot deal with {cohort.X.tolist()}")
        return super()._release(query, cohort, epsilons, coins)


def table(owners: int, each: int = 3) -> dict[str, Any]:
    """An owner's table with planted values in every column."""
    rows = owners * each
    a, b = np.full(rows, _NUMBERS[0]), np.full(rows, _NUMBERS[1])
    c = np.array(["x", _WORDS[0], "z"] * owners, dtype=object)
    label = np.array([0, 1, _WORDS[1]] * owners, dtype=object)
    return {"a": a, "b": b, "c": c, "label": label, "owner": np.repeat(np.arange(owners), each)}


class Search:
    """Collects what is to be searched, by kind."""

    def __init__(self) -> None:
        self.found: dict[str, int] = dict.fromkeys(
            ("logs and prints", "tracebacks", "reprs", "pickles", "files"), 0
        )
        self.searched = 0
        self.size = 0

    def look(self, kind: str, data: str | bytes) -> None:
        raw = data.encode() if isinstance(data, str) else data
        self.found[kind] += hits(raw)
        self.searched += 1
        self.size += len(raw)

    def failing(self, work: Callable[[], object], locals_too: bool = False) -> None:
        """Something that must fail: its traceback, and its exceptions with all that hangs on
        them.
        """
        try:
            work()
        except Exception as problem:
            self.look("tracebacks", "".join(traceback.format_exception(problem)))
            self.look("pickles", pickle.dumps((type(problem).__name__, problem.args)))
            if locals_too:
                shown = traceback.TracebackException.from_exception(problem, capture_locals=True)
                self.look("tracebacks", "".join(shown.format()))
        else:
            raise RuntimeError("a call that was to fail did not")

    def reprs(self, thing: object) -> None:
        """Everything of ours that can be reached from here: as text, and as a pickle where there
        is one.
        """
        for each in _reachable(thing):
            for text in (repr(each), str(each), f"{each}"):
                self.look("reprs", text)
            if not isinstance(each, (*_HOLDERS, Inline)):
                try:
                    pickled = pickle.dumps(each)
                except (TypeError, pickle.PicklingError, AttributeError):
                    continue
                self.look("pickles", pickled)


def _reachable(thing: object) -> Iterator[Any]:
    """Objects of this package, found through attributes, fields and containers."""
    seen: set[int] = set()
    waiting: list[Any] = [thing]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, dict):
            waiting += list(each.values())
        elif isinstance(each, list | tuple | set):
            waiting += list(each)
        elif type(each).__module__.startswith(("tacit", "reliability")):
            yield each
            waiting += list(getattr(each, "__dict__", {}).values())
            if is_dataclass(each):
                waiting += [getattr(each, field.name) for field in fields(each)]


def canaries(owners: int) -> Finding:
    """The experiment."""
    search = Search()
    printed = io.StringIO()
    listener = logging.StreamHandler(printed)
    root = logging.getLogger()
    level = root.level
    root.addHandler(listener)
    root.setLevel(logging.DEBUG)
    logging.getLogger("numba").setLevel(
        logging.WARNING
    )  # a compiler's own log is about code, and endless
    try:
        with redirect_stdout(printed), redirect_stderr(printed), warnings.catch_warnings():
            warnings.simplefilter("always")
            _owner_side(search, owners)
            _data_user_side(search, owners)
    finally:
        root.removeHandler(listener)
        root.setLevel(level)
    search.look("logs and prints", printed.getvalue())
    faults = {f"planted values in {kind}": count for kind, count in search.found.items()}
    faults["controls in which they were missed"] = _controls_missed()
    tried = f"{owners} owners, {search.searched:,} texts and files, {search.size / 1e6:.1f} MB"
    return Finding("planted values", tried, faults)


def _owner_side(search: Search, owners: int) -> None:
    """All that runs where rows are: encoding, gate, ledger; well and badly."""
    campaign = Campaign()
    schema, rows = campaign.schema, table(owners)
    encoded = schema.encode(rows)
    cohort = Cohort.of(encoded.X, schema.encode_labels(rows["label"]), rows["owner"])
    names = [f"owner {i}" for i in range(len(cohort))]
    search.reprs([encoded, cohort, cohort[:1], schema])
    with in_memory() as name:
        folder = Path(name)
        ledger = ledger_in(folder)
        key = campaign.key.public_key()
        gate = Gate(cohort, names, schema, policy=_POLICY, ledger=ledger, key=key)
        questions = [
            campaign.question(number + 1, campaign.query(learner, mechanism))
            for number, (learner, mechanism) in enumerate(
                (each, how) for each in LEARNERS for how in PRIVATE
            )
        ]
        for question in questions[:20]:
            gate.answers(question, names)
        stumbling = Stumbling(cohort, names, schema, policy=_POLICY, ledger=ledger, key=key)
        for place, question in enumerate(questions[20:]):
            stumbling.answers(question, names[place::4])
        for refused in (
            b"",
            questions[0][:-1],
            campaign.question(99),
            campaign.question(98, ends=5),
        ):
            search.failing(lambda data=refused: gate.answer(data, names[0]), locals_too=True)  # type: ignore[misc]
        search.failing(lambda: gate.answers(questions[0], ["stranger"]), locals_too=True)
        search.reprs([gate, stumbling, ledger, ledger.entries(), questions])
        with ledger.transaction() as book:
            search.reprs(book)
        for path in folder.iterdir():
            search.look("files", _without_reports(path.read_bytes(), ledger))
        (folder / "ledger.mark").unlink()
        search.failing(lambda: gate.answers(questions[0], names), locals_too=True)
    search.failing(lambda: Gate(cohort, names[1:], schema, policy=_POLICY, ledger=ledger, key=key))
    search.failing(
        lambda: Gate(
            cohort,
            names,
            Schema((Number("a", 0, 1),), (0, 1)),
            policy=_POLICY,
            ledger=ledger,
            key=key,
        )
    )
    search.failing(lambda: Cohort.of(encoded.X, rows["a"][:-1]))
    search.failing(lambda: Cohort.of(encoded.X, rows["owner"], rows["a"][:-1]))
    search.failing(lambda: Cohort(encoded.X, rows["owner"][:-1], np.arange(3)))
    search.failing(lambda: schema.encode({**rows, "a": rows["a"][:-1]}))
    search.failing(lambda: schema.encode({"a": rows["a"]}))
    search.failing(lambda: schema.encode(encoded.X))
    search.failing(lambda: Laplace(epsilon=1.0, space=Box(dim=2)).randomize(encoded.X, secure()))
    search.failing(
        lambda: Laplace(epsilon=1.0, space=Box(dim=1)).randomize(rows["c"][:, np.newaxis], secure())
    )
    search.failing(lambda: campaign.query().mechanism(1.0).estimate(Reports.of(encoded.X)))
    search.failing(lambda: encode(cohort))
    search.reprs(Inline(cohort, 1.0, secure()))


def _without_reports(data: bytes, ledger: Ledger) -> bytes:
    """A file of the ledger without the reports in it: those are random bytes, and any byte may
    occur in them.
    """
    try:
        for entry in ledger.entries():
            data = data.replace(entry.report, b"") if len(entry.report) > _DIGITS else data
    except LedgerError:
        pass
    return data


def _data_user_side(search: Search, owners: int) -> None:
    """A model fitted over owners with planted values: what it prints, pickles and sends."""
    campaign = Campaign()
    schema, private = campaign.schema, table(owners)
    rng = np.random.default_rng(1)
    known = {
        "a": rng.uniform(-1, 1, 200),
        "b": rng.uniform(0, 10, 200),
        "c": rng.choice(["x", "y", "z"], 200),
    }
    labels = (known["a"] > 0).astype(object)
    X = pd.DataFrame({name: private[name] for name in ("a", "b", "c")})
    for learner in ("stump", "centroid", "logistic"):
        model = PrivateBoosting(learner, epsilon=4.0, rounds=2, schema=schema)
        model.fit(
            X, private["label"], owners=private["owner"], public=(pd.DataFrame(known), labels)
        )
        search.look("reprs", repr(model))
        search.reprs(vars(model))
        search.look("pickles", pickle.dumps(model))
        with TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.tacit")
            search.look("files", (Path(folder) / "model.tacit").read_bytes())
        search.failing(lambda fitted=model: fitted.predict(X[["a"]]))  # type: ignore[misc]
        search.failing(lambda fitted=model: fitted.fit(X, private["label"][:-1]))  # type: ignore[misc]


def _controls_missed() -> int:
    """The search must find planted values where they are, or its silence means nothing."""
    rows = table(1)
    X = Campaign().schema.encode(rows).X
    controls = (
        repr(rows["a"]),
        str(X),
        repr(X.tolist()),
        pickle.dumps(X),
        pickle.dumps(rows["b"].astype(np.float32)),
        X.tobytes().hex(),
        X.astype(">f8").tobytes(),
        float(X[0, 1]).hex(),
        f"row {_WORDS[0]!r}",
        f"{_NUMBERS[1]:.9f}",
        f"{_NUMBERS[0]:e}",
    )
    return sum(hits(each.encode() if isinstance(each, str) else each) == 0 for each in controls)
