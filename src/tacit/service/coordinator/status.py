"""What everybody may see of a campaign, in figures: nothing here is about anybody's rows.

Owners are counted, not named, except sites and peers: they are few, and who they are is public.
"""

import threading
import time
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import Select, Table, func, select

from tacit.learners.invitation import PURPOSE, Invitation
from tacit.service.coordinator.progress import Progress
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import Question, invitations, owners, reports
from tacit.service.kinds.registry import read_terms
from tacit.wire.signing import opened

_FRESH = 0.5  # seconds that figures are good for: many viewers cost the database as much as one


class View:
    """The figures of a campaign whose questions are signed with `key`, read at most every half
    second.
    """

    def __init__(self, store: Store, key: Ed25519PublicKey) -> None:
        self._store = store
        self._key = key
        self._lock = threading.Lock()
        self._read = -_FRESH
        self._status: dict[str, Any] = {}
        self._asked: dict[int, dict[str, Any]] = {}  # questions never change: opened once

    def status(self) -> dict[str, Any]:
        """The figures, as /v1/status gives them."""
        with self._lock:
            if time.monotonic() - self._read >= _FRESH:
                self._status, self._read = self._figures(), time.monotonic()
            return self._status

    def forget(self) -> None:
        """Read anew next time: something was changed on purpose."""
        with self._lock:
            self._read = -_FRESH

    def _figures(self) -> dict[str, Any]:
        """The figures as the database has them now."""
        standing = self._store.standing()
        terms = read_terms(standing.terms)
        query = terms.example()
        progress = Progress.read(standing.progress)
        outcomes = self._store.outcomes()
        return {
            "name": standing.name,
            "state": standing.state,
            "ended": standing.ended,
            "at": time.time(),
            "owners": self._store.owner_counts(),
            "start": terms.start,
            "needed": terms.owners_needed,
            "kind": terms.kind,
            "learner": query.what,
            "unsound": query.unsound,
            "mechanism": query.how,
            "unit": query.unit,
            "adjacency": query.adjacency,
            "epsilons": list(terms.epsilons),
            "answers": terms.answers,
            "sum_epsilon": None if terms.sum_terms is None else terms.sum_terms.epsilon,
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
            "voices": voices(self._store) if query.unit == "record" else [],
            "strangers": outcomes.get(0, {}),
            "sample": progress.rows,
            "public_model": progress.model,
            "public_only": progress.public_only,
            "majority": progress.majority,
            "progress": progress.rounds,
        }

    def _question(
        self, question: Question, outcomes: dict[str, int], progress: Progress, began: float
    ) -> dict[str, Any]:
        """One question; the campaign's time is shown as if it had run without a break since
        `began`.
        """
        invited, heard = self._store.counts(question.number)
        if question.number not in self._asked:
            query = opened(question.data, Invitation, PURPOSE, self._key).query
            asked = {"what": query.what, "round": query.round, "attempt": query.attempt}
            self._asked[question.number] = {"number": question.number, **asked}
        return self._asked[question.number] | {
            "state": question.state,
            "invited": invited,
            "counted": heard,
            "outcomes": outcomes,
            "opened": began + question.opened,
            "deadline": began + question.deadline,
            "answer": progress.answers.get(str(question.number)),
        }


def voices(store: Store) -> list[dict[str, str | int | bool]]:
    """Of every owner, in the order they came: its label, how often it was asked and has answered,
    whether it left.

    For campaigns of few, whose names are public.
    """
    known = select(owners.c.id, owners.c.label, owners.c.revoked).order_by(owners.c.id)
    with store.reading() as connection:
        asked, answered = (
            {row.owner: row.times for row in connection.execute(_times(table))}
            for table in (invitations, reports)
        )
        rows = connection.execute(known).all()
    return [
        {
            "name": row.label,
            "asked": asked.get(row.id, 0),
            "answered": answered.get(row.id, 0),
            "gone": bool(row.revoked),
        }
        for row in rows
    ]


def _times(table: Table) -> Select[Any]:
    """How often each owner is in a table."""
    return select(table.c.owner, func.count().label("times")).group_by(table.c.owner)
