"""What everybody may see of a campaign, in figures: nothing here is about anybody's rows.

Owners are counted, not named, except sites and peers: they are few, and who they are is public. How
far it has come (`Progress`) is kept in the database: how good the model is on the data user's
sample, which is public, and how precise answers were.

An answer's precision is its standard error, twice. Measured: from the spread of the reports,
mechanism's noise and owners' differences together. Predicted: by the closed-form variance of the
mechanism alone, for owners whose share is the mean. Measured well below predicted: these are not
the mechanism's reports. Well above: owners differ more than noise hides.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import Select, Table, func, select
from starlette.concurrency import run_in_threadpool

from tacit._util.types import FloatArray
from tacit.algorithms.public_baseline import fit_public
from tacit.data.cohort import Public
from tacit.estimators.measures import Measures
from tacit.estimators.persistence import SavedModel
from tacit.learners.learner import ShareQuery
from tacit.learners.query import PURPOSE, Answer, Invitation
from tacit.service.coordinator.store import BEGIN, END, Store
from tacit.service.coordinator.tables import (
    DECLINED,
    Question,
    Standing,
    contradictions,
    invitations,
    owners,
    reports,
)
from tacit.service.kinds import read_terms
from tacit.service.kinds.kind import CampaignTerms, Guesses
from tacit.sums.vector_terms import VectorTerms
from tacit.wire import decode
from tacit.wire.envelopes import open_signed, public_bytes

FRESH = 0.5  # seconds that figures are good for: many viewers cost the database as much as one


class View:
    """The figures of a campaign whose questions are signed with `key`, read at most every half
    second.
    """

    def __init__(self, store: Store, key: Ed25519PublicKey) -> None:
        self._store = store
        self._key = key
        self._lock = threading.Lock()
        self._read = -FRESH
        self._status: dict[str, Any] = {}
        self._asked: dict[int, dict[str, Any]] = {}  # questions never change: opened once
        self._weights: list[float] | None = None  # nor does what was published

    def status(self) -> dict[str, Any]:
        """The figures, as /v1/status gives them."""
        with self._lock:
            if time.monotonic() - self._read >= FRESH:
                self._status, self._read = self._figures(), time.monotonic()
            return self._status

    def latest(self) -> dict[str, Any] | None:
        """The figures, if they need not be read now."""
        return self._status if time.monotonic() - self._read < FRESH else None

    def forget(self) -> None:
        """Read anew next time: something was changed on purpose."""
        with self._lock:
            self._read = -FRESH

    def _figures(self) -> dict[str, Any]:
        """The figures as the database has them now."""
        standing = self._store.standing()
        if standing.archive is not None:
            return {**json.loads(standing.archive), "archived": True}
        terms = read_terms(standing.terms)
        query = terms.example()
        progress = Progress.read(standing.progress)
        outcomes, moments = self._store.outcomes(), self._store.moments()
        return {
            "name": standing.name,
            "key": public_bytes(self._key).hex(),
            "state": standing.state,
            "ended": standing.ended,
            "archived": False,
            "at": time.time(),
            "began_at": moments.get(BEGIN),
            "ended_at": moments.get(END),
            "owners": self._store.owner_counts(),
            "start": terms.start,
            "needed": terms.owners_needed,
            "kind": terms.kind,
            "learner": query.what,
            "unsound": query.unsound,
            "mechanism": query.how,
            "unit": query.unit,
            "adjacency": query.adjacency,
            "influence": query.influence,
            "epsilons": list(terms.epsilons),
            "delta": query.delta,
            "answers": terms.answers,
            "sum_epsilon": None if terms.sum_terms is None else terms.sum_terms.law.price,
            "rounds": max(terms.rounds_expected, len(progress.rounds)),
            "owners_per_round": query.owners if isinstance(query.owners, int) else None,
            "minimum": terms.minimum,
            "questions": [
                self._question(
                    question,
                    outcomes.get(question.number, {}),
                    progress,
                    time.time() - standing.worked,
                )
                for question in self._store.questions()
            ],
            "voices": self._voices(terms, standing) if query.unit == "record" else [],
            "strangers": outcomes.get(0, {}),
            "sample": progress.rows,
            "public_model": progress.model,
            "public_only": progress.public_only,
            "majority": progress.majority,
            "progress": progress.rounds,
            "measure": progress.measure,
            "plan": progress.plan,
            "test": progress.test,
        }

    def _voices(self, terms: CampaignTerms, standing: Standing) -> list[dict[str, Any]]:
        """Who has spoken, with what each weighs in what was published."""
        every = voices(self._store)
        if standing.model is not None and self._weights is None:
            report = json.loads(decode(standing.model, SavedModel).report)
            self._weights = terms.weights(report) or []
        heard = sorted(at for at, each in enumerate(every) if each["answered"])
        heard.sort(key=lambda at: str(every[at]["name"]))
        by_place = dict(zip(heard, self._weights or [], strict=False))
        return [{**each, "weight": by_place.get(at)} for at, each in enumerate(every)]

    def _question(
        self, question: Question, outcomes: dict[str, int], progress: "Progress", began: float
    ) -> dict[str, Any]:
        """One question; the campaign's time is shown as if it had run without a break since
        `began`.
        """
        invited, heard = self._store.counts(question.number)
        if question.number not in self._asked:
            query = open_signed(question.data, Invitation, PURPOSE, self._key).query
            asked = {"what": query.what, "round": query.round, "attempt": query.attempt}
            self._asked[question.number] = {"number": question.number, **asked}
        return self._asked[question.number] | {
            "state": question.state,
            "invited": invited + outcomes.get(DECLINED, 0),
            "counted": heard,
            "outcomes": outcomes,
            "opened": began + question.opened,
            "deadline": began + question.deadline,
            "answer": progress.answers.get(str(question.number)),
        }


class SharedSight:
    """What is made of the figures of a view for everybody to see, once for each look at them: many
    viewers cost as much as one.
    """

    def __init__(self, view: View, make: Callable[[dict[str, Any]], bytes]) -> None:
        self._view, self._make = view, make
        self._lock = threading.Lock()
        self._made: tuple[dict[str, Any] | None, bytes] = None, b""

    async def read(self) -> bytes:
        """What there is, in a thread only where it has to be made."""
        of, made = self._made
        if of is not None and of is self._view.latest():
            return made
        return await run_in_threadpool(self._read)

    def _read(self) -> bytes:
        status = self._view.status()
        with self._lock:
            if self._made[0] is not status:
                self._made = status, self._make(status)
            return self._made[1]


def gauges(status: Mapping[str, Any]) -> dict[tuple[str, str, str], dict[str, float]]:
    """The figures that change, as metrics: name, label and help, and values by label."""
    owners_by = {name: float(number) for name, number in status["owners"].items()}
    states, became = Counter[str](), Counter[str](status["strangers"])
    for question in status["questions"]:
        states[question["state"]] += 1
        became.update(question["outcomes"])
    return {
        ("tacit_campaign", "state", "1 for the state that the campaign is in."): {
            status["state"]: 1.0
        },
        ("tacit_owners", "state", "Owners that have enrolled, wait, were revoked."): owners_by,
        ("tacit_questions", "state", "Questions by their state."): dict(states),
        ("tacit_reports", "outcome", "What became of reports."): dict(became),
        ("tacit_rounds", "", "Rounds that are done."): {"": float(len(status["progress"]))},
    }


def voices(store: Store) -> list[dict[str, str | int | bool]]:
    """Of every owner, in the order they came: its label, how often it was asked and has answered,
    whether it left, and whether it was left out because it said two things.

    For campaigns of few, whose names are public.
    """
    known = select(owners.c.id, owners.c.label, owners.c.revoked).where(store.mine(owners))
    with store.snapshot() as connection:
        asked, answered = (
            {row.owner: row.times for row in connection.execute(_times(store, table))}
            for table in (invitations, reports)
        )
        rows = connection.execute(known.order_by(owners.c.id)).all()
        lied = select(contradictions.c.owner).where(store.mine(contradictions))
        liars = set(connection.execute(lied).scalars())
    return [
        {
            "name": store.storage.open_name(row.label),
            "asked": asked.get(row.id, 0),
            "answered": answered.get(row.id, 0),
            "gone": bool(row.revoked),
            "lied": row.id in liars,
        }
        for row in rows
    ]


def _times(store: Store, table: Table) -> Select[Any]:
    """How often each owner is in a table."""
    times = select(table.c.owner, func.count().label("times")).where(store.mine(table))
    return times.group_by(table.c.owner)


@dataclass(frozen=True)
class Accuracy:
    """Lengths of vectors: the answer, and its standard error as measured and as predicted (None:
    unknown).
    """

    signal: float
    measured: float | None
    predicted: float | None


def accuracy(query: ShareQuery, epsilons: FloatArray, answer: Answer) -> Accuracy:
    """The accuracy of an answer made of reports with these epsilons."""
    return Accuracy(
        _length(answer.mean) or 0.0, _length(answer.stderr), _predict_error(query, epsilons, answer)
    )


def _predict_error(query: ShareQuery, epsilons: FloatArray, answer: Answer) -> float | None:
    """sqrt(sum_l s_l^2 V_l / n_l): level l has n_l reports, its say s_l is in proportion to n_l
    / risk_l.
    """
    if isinstance(query.terms, VectorTerms):  # of both servers' noise and rounding: what it has
        return _length(answer.stderr)
    mechanism = query.mechanism(np.array(query.epsilons))  # a row for each level
    counts = np.array(
        [np.count_nonzero(epsilons == each) for each in query.epsilons], dtype=np.float64
    )
    if not (len(mechanism.levels) == len(counts) and (mechanism.risks > 0).all()):
        return None  # shares that leave as they are have no noise to predict
    variances = mechanism.variance(np.tile(answer.mean, (len(counts), 1))).sum(axis=1)
    pull = counts / mechanism.risks
    says = pull / pull.sum()
    return _length(says * np.sqrt(variances / np.maximum(counts, 1)))


def _length(vector: FloatArray) -> float | None:
    length = float(np.sqrt(np.sum(vector**2)))
    return length if isfinite(length) else None


@dataclass(frozen=True)
class Progress:
    """Errors on the data user's sample, and the accuracy of answers.

    Errors are those of the sample's own `model`, of the most frequent class, and of what is
    published, by round; `test` has those of what is published in the end and of the sample alone
    on rows that neither has seen. `measure` says what they are parts of: rows, or the variance of a
    target that is a number. `plan` is what was expected before anybody was asked.
    """

    rows: int = 0
    model: str = ""
    public_only: dict[str, float] | None = None
    majority: dict[str, float] | None = None
    rounds: list[dict[str, float]] = field(default_factory=list)
    test: dict[str, Any] | None = None
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    measure: str = "rows"
    plan: str = ""

    @classmethod
    def at_start(cls, public: Public, alone: Guesses | None = None) -> "Progress":
        """Before anything is asked: what the sample gives alone, by a model that says this of it
        (None: by `fit_public`). Fitted once in a campaign, for it may take a while.
        """
        rows = len(public.y)
        if alone is not None:
            bare = cls(rows=rows, majority=_rare(public), measure=_measure(public))
            return bare.beside(public, alone)
        own = fit_public(public)
        return cls(
            rows=rows,
            model=own.name,
            public_only=None if own.accuracy is None else _share(1 - own.accuracy, rows),
            majority=_rare(public),
        )

    @classmethod
    def read(cls, text: str) -> "Progress":
        """From the database; nothing has been kept before a driver has looked."""
        return cls(**json.loads(text))

    def after(
        self, public: Public, guesses: Sequence[Guesses], answers: Mapping[int, Accuracy]
    ) -> "Progress":
        """The progress when models that guess this are published, and these questions (by number)
        answered.
        """
        return replace(
            self,
            rounds=[error_of(public, each) for each in guesses],
            answers={str(number): asdict(found) for number, found in answers.items()},
        )

    def beside(self, public: Public, alone: Guesses) -> "Progress":
        """Compared with a model of the sample alone that guesses this."""
        name = "what would be published without any answer"
        return replace(self, model=name, public_only=error_of(public, alone))

    def with_test(self, test: Public, ours: Guesses, alone: Guesses) -> "Progress":
        """With what the published model and that of the sample alone say of test rows."""
        found = {
            "rows": len(test.y),
            "ours": error_of(test, ours),
            "alone": error_of(test, alone),
        }
        return replace(self, test=found)

    def with_measures(self, ours: Measures, alone: Measures) -> "Progress":
        """With what people measure of both on the same test rows."""
        found = {"ours": ours.as_dict, "alone": alone.as_dict}
        return replace(self, test={**(self.test or {}), "measures": found})

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


ROWS, VARIANCE = "rows", "variance"  # what an error is a part of


def _measure(public: Public) -> str:
    return ROWS if public.classes else VARIANCE


def _rare(public: Public) -> dict[str, float] | None:
    """The error of always saying the most frequent class; None where there are no classes."""
    if not public.classes:
        return None
    rows = len(public.y)
    return _share(float(1 - np.bincount(public.y).max() / rows), rows)


def error_of(rows: Public, guesses: Guesses) -> dict[str, float]:
    """The part of rows that guesses get wrong; of a target that is a number, the part of its
    variance that they leave unexplained, and the standard error of either.
    """
    if rows.classes:
        return _share(float(np.mean(guesses != rows.y)), len(rows.y))
    missed = (rows.y - guesses) ** 2 / max(float(np.var(rows.y)), 1.0)
    return {"error": float(missed.mean()), "stderr": float(missed.std() / len(missed) ** 0.5)}


def _share(error: float, rows: int) -> dict[str, float]:
    return {"error": error, "stderr": (max(error * (1 - error), 1 / rows) / rows) ** 0.5}
