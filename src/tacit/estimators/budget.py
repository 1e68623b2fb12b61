"""A budget over many fits: what they cost the same owners adds up, and nothing goes beyond it.

Every fit asks all owners of its rows as far as the budget knows: its cost is the most that one of
them can have spent in it, and costs of fits add up, epsilons and deltas alike. That is basic
composition, and an upper bound for everybody, whoever was asked in which fit; folds of a
cross-validation, which leave some out, are counted as if they did not. Costs are exact fractions
of what is written: three fits of 0.1 spend 0.3.

Charged first, asked afterwards: a fit that ends early has spent its part. Only a fit that asked
nobody, which public rows alone decide, gives its part back.

What surrounds a fit is looked at, too: steps of a pipeline that were fitted to owners' rows, scores
and choices by them.
"""

import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from tacit._util.checks import bad, check_delta, positive
from tacit._util.stopping import make_private, use_journal
from tacit.estimators.set_aside import PrivacyWarning, warn_user
from tacit.mechanisms.streams import rational

_TABLES = """
CREATE TABLE IF NOT EXISTS terms (only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
                                  epsilon TEXT NOT NULL, delta TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS charges (number INTEGER PRIMARY KEY, what TEXT NOT NULL,
                                    unit TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL);
"""


class BudgetError(ValueError):
    """A fit that would cost owners more than the budget leaves; nobody was asked."""


class Budget(AbstractContextManager["Budget"]):
    """What all fits over the same owners may cost each of them.

    As a context it charges every fit inside, also in threads that were begun elsewhere; as the
    parameter `budget` of an estimator that one's fits, and those of its clones in a search or a
    cross-validation. Of owners and of records
    (sites, peers) it counts one kind only, that of the first fit.

    Parameters
    ----------
    epsilon : float
        What one owner (sites, peers: one record) may spend in all fits together.
    delta : float, default=0.0
        The chance that it does not hold, in all fits together; fits that trust two servers need
        some.
    file : str or Path, default=None
        Where charges are kept, so that they survive this process and are shared with others;
        without it they end with this object, which then cannot be sent to other processes.

    Attributes
    ----------
    spent, left : Fraction
        Epsilon that is spent, and that is left.

    Examples
    --------
    >>> budget = Budget(epsilon=2.0)
    >>> budget.charge("a first fit", 1.5, 0.0, "owner")
    1
    >>> float(budget.left)
    0.5
    >>> budget.charge("a second fit", 1.0, 0.0, "owner")
    Traceback (most recent call last):
    tacit.estimators.budget.BudgetError: a second fit would cost each owner epsilon 1, and the \
budget of 2 has 0.5 left: nobody was asked
    """

    def __init__(
        self, epsilon: float, *, delta: float = 0.0, file: str | Path | None = None
    ) -> None:
        self.epsilon = positive("epsilon", epsilon)
        self.delta = check_delta(delta)
        self.file = None if file is None else Path(file).absolute()
        self._memory = None if self.file is not None else self._open()
        self._alone, self._process = threading.Lock(), os.getpid()
        self._tokens: list[Token[Budget | None]] = []
        with self._connection() as place, closing(place.cursor()) as cursor:
            said = str(rational(self.epsilon)), str(rational(self.delta))
            cursor.execute("INSERT OR IGNORE INTO terms VALUES (1, ?, ?)", said)
            kept = cursor.execute("SELECT epsilon, delta FROM terms").fetchone()
        held = [float(_read_cost(each)) for each in kept]
        if held != [self.epsilon, self.delta]:
            there = ", ".join(f"{each:g}" for each in held)
            raise bad("epsilon and delta", f"those of {self.file}: {there}", (epsilon, delta))

    def __enter__(self) -> Self:
        self._tokens.append(AROUND.set(self))
        ENTERED.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        ENTERED.remove(self)
        AROUND.reset(self._tokens.pop())

    @property
    def spent(self) -> Fraction:
        """Epsilon that is spent."""
        with self._connection() as place:
            return _total(place)[0]

    @property
    def left(self) -> Fraction:
        """Epsilon that is left."""
        return rational(self.epsilon) - self.spent

    @property
    def charges(self) -> list[tuple[str, float]]:
        """What was charged: words, and epsilon."""
        with self._connection() as place:
            rows = place.execute("SELECT what, epsilon FROM charges ORDER BY number").fetchall()
        return [(what, float(Fraction(epsilon))) for what, epsilon in rows]

    def charge(self, what: str, epsilon: float, delta: float, unit: str) -> int:
        """Write a cost down for good, before anybody is asked, and say its number; a `BudgetError`
        where it is more than is left.
        """
        if not 0 < epsilon < np.inf:
            raise BudgetError(f"{what} has no privacy that a budget could count: nobody was asked")
        with self._connection() as place:
            place.execute("BEGIN IMMEDIATE")
            counted = place.execute("SELECT unit FROM charges LIMIT 1").fetchone()
            if counted is not None and counted[0] != unit:
                raise BudgetError(
                    f"{what} would cost each {unit}, and this budget counts what {counted[0]}s "
                    "spend: take another budget"
                )
            spent, risked = _total(place)
            for name, cost, limit, before in (
                ("epsilon", rational(epsilon), rational(self.epsilon), spent),
                ("delta", rational(delta), rational(self.delta), risked),
            ):
                if not before + cost <= limit:
                    raise BudgetError(
                        f"{what} would cost each {unit} {name} {float(cost):g}, and the budget of "
                        f"{float(limit):g} has {float(limit - before):g} left: nobody was asked"
                    )
            row = what, unit, str(rational(epsilon)), str(rational(delta))
            number = place.execute(
                "INSERT INTO charges (what, unit, epsilon, delta) VALUES (?, ?, ?, ?)", row
            ).lastrowid
        return int(number or 0)

    def charge_fit(self, estimator: object, epsilon: Any, delta: float, unit: str) -> "Charge":
        """Charge a fit of an estimator, whose owners spend at most these."""
        what = f"a fit of {type(estimator).__name__}"
        return Charge(self, self.charge(what, float(np.max(epsilon)), delta, unit))

    def give_back(self, number: int) -> None:
        """Of a fit that asked nobody."""
        with self._connection() as place:
            place.execute("DELETE FROM charges WHERE number = ?", (number,))

    def __repr__(self) -> str:
        where = "" if self.file is None else f", file={str(self.file)!r}"
        return f"Budget(epsilon={self.epsilon:g}, left={float(self.left):g}{where})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, known: Any) -> Self:
        """Clones of an estimator spend from one budget."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.file is None:
            raise TypeError(
                "a budget in memory cannot be sent to another process, which would spend it once "
                "more: give Budget(..., file=...)"
            )
        return _budget_at, (self.epsilon, self.delta, self.file)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """For one transaction: committed, or undone where something was refused."""
        if self._memory is None:
            with closing(self._open()) as place, place:
                yield place
            return
        if os.getpid() != self._process:
            raise BudgetError(
                "a budget in memory was taken along into another process, which would spend it "
                "once more: give Budget(..., file=...); nobody was asked"
            )
        with self._alone, self._memory as place:
            yield place

    def _open(self) -> sqlite3.Connection:
        if self.file is not None:
            make_private(self.file, "terms", "budget", "Budget")
        made = sqlite3.connect(
            self.file or ":memory:", isolation_level=None, check_same_thread=False
        )
        try:
            if self.file is not None:
                use_journal(made)
            made.executescript(_TABLES)
        except sqlite3.DatabaseError:
            made.close()
            raise
        return made


def _budget_at(epsilon: float, delta: float, file: Path) -> Budget:
    return Budget(epsilon, delta=delta, file=file)


def _total(place: sqlite3.Connection) -> tuple[Fraction, Fraction]:
    rows = place.execute("SELECT epsilon, delta FROM charges").fetchall()
    sums = (sum((_read_cost(row[part]) for row in rows), Fraction(0)) for part in (0, 1))
    return next(sums), next(sums)


def _read_cost(text: str) -> Fraction:
    """A cost in a file as it was given: earlier files have the binary number nearest to it."""
    return rational(float(Fraction(text)))


class Charge:
    """What a fit was charged."""

    def __init__(self, budget: Budget, number: int) -> None:
        self._budget, self._number = budget, number

    def settle(self, *, asked: bool) -> None:
        """At the end of the fit: where nobody was asked, nothing is spent."""
        if not asked:
            self._budget.give_back(self._number)


AROUND: ContextVar[Budget | None] = ContextVar("tacit budget", default=None)
ENTERED: list[Budget] = []  # contexts of all threads of this process


class Budgeted:
    """Of estimators with a parameter `budget`: a fit is charged to it, or to the budget of the
    context that it is in; and what surrounds a fit is looked at.
    """

    budget: Budget | None

    def check_budget(self) -> None:
        """Refuse what is no budget."""
        if not isinstance(self.budget, Budget | BudgetElsewhere | None):
            raise TypeError(f"budget must be a Budget, as Budget(epsilon=2.0), got {self.budget!r}")

    def _charge(self, epsilon: Any, delta: float = 0.0, unit: str = "owner") -> Charge | None:
        """Charge a fit that costs at most this, and settle that when it has ended; None: no budget
        counts.
        """
        self.check_budget()
        budget = self.budget or budget_around()
        warn_of_surroundings(charged=budget is not None)
        return None if budget is None else budget.charge_fit(self, epsilon, delta, unit)

    def __getstate__(self) -> Any:
        """What travels to another process takes the budget of the context along; after a fit, one
        that pays for no other: it may be read where its file is not.
        """
        state: Any = super().__getstate__()
        if self.budget is not None or not isinstance(state, dict):
            return state
        if (around := budget_around()) is None:
            return state
        spent = BudgetElsewhere(str(around.file or "memory"))
        return state | {"budget": spent if hasattr(self, "n_features_in_") else around}


@dataclass(frozen=True)
class BudgetElsewhere:
    """What a fitted estimator that was sent to another process has for a budget, where it was
    fitted in the context of one: another fit is refused there, and not free.
    """

    place: str

    def charge_fit(self, estimator: object, epsilon: Any, delta: float, unit: str) -> NoReturn:
        raise BudgetError(
            f"{type(estimator).__name__} was fitted in the context of a budget in {self.place} and "
            "sent here: set its parameter budget to Budget(..., file=...), or to None, before it "
            "is fitted again; nobody was asked"
        )


def budget_around() -> Budget | None:
    """The budget of the context; in a thread that has none of its own, such as those in which a
    search fits or sends fits to other processes, the one that any thread has entered.
    """
    own = AROUND.get()
    if own is not None or not ENTERED:
        return own
    if len(set(map(id, ENTERED))) > 1:
        raise BudgetError(
            f"{len(ENTERED)} budgets are entered in this process and none in this thread: say "
            "which one counts, as the parameter budget= of the estimator; nobody was asked"
        )
    return ENTERED[0]


def warn_of_surroundings(*, charged: bool) -> None:
    """Warn of what a fit cannot protect and its callers show: owners' rows that a step of a
    pipeline was fitted to, and scores or choices by owners' rows.
    """
    for frame in _callers():
        place = frame.f_globals.get("__name__", "")
        if place == "sklearn.pipeline" and frame.f_code.co_name == "fit":
            names = list(_fitted_steps(frame.f_locals.get("self")))
            if names:
                warn_user(
                    f"{', '.join(names)} of the pipeline was fitted to owners' rows as they are: "
                    "what it learned from them is not protected. Fit it to public rows and freeze "
                    "it (sklearn.frozen.FrozenEstimator), or leave it out: bounds and scales come "
                    "from the data user's sample",
                    PrivacyWarning,
                )
        if place.startswith("sklearn.") and not place.startswith(_HARMLESS):
            costs = "" if charged else "each of its fits spends epsilon again, and no Budget counts"
            learns = "what else it learns from them is exact, and no epsilon pays for that"
            scores = "its scores are exact figures of owners' rows, which no epsilon pays for"
            searches = place.startswith("sklearn.model_selection")
            what = "a search or cross-validation" if searches else ".".join(place.split(".")[:2])
            warn_user(
                f"{what} over owners' rows: "
                + (f"{costs}; " if costs else "")
                + (scores if searches else learns),
                PrivacyWarning,
            )
            return


_HARMLESS = (
    "sklearn.pipeline",
    "sklearn.base",
    "sklearn.utils",
)  # they fit once, and learn nothing


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _fitted_steps(pipeline: Any) -> Iterator[str]:
    """Names of steps before the last that learn from what goes through them, frozen ones apart."""
    for name, step in getattr(pipeline, "steps", [])[:-1]:
        if step in (None, "passthrough") or type(step).__name__ == "FrozenEstimator":
            continue
        if step.__sklearn_tags__().requires_fit:
            yield name
