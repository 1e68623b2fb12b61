"""What everybody may see of a campaign, in figures: nothing here is about anybody's rows, or names an owner."""

import threading
import time
from typing import Any

from tacit.campaign.terms import CampaignTerms
from tacit.coordinator.progress import Progress
from tacit.coordinator.store import Store
from tacit.wire import decode

_FRESH = 0.5  # seconds that figures are good for: many viewers cost the database as much as one


class View:
    """The figures of a campaign, read at most every half second."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._read = -_FRESH
        self._status: dict[str, Any] = {}

    def status(self) -> dict[str, Any]:
        """The figures, as /v1/status gives them."""
        with self._lock:
            if time.monotonic() - self._read >= _FRESH:
                self._status, self._read = status(self._store), time.monotonic()
            return self._status

    def forget(self) -> None:
        """Read anew next time: something was changed on purpose."""
        with self._lock:
            self._read = -_FRESH


def status(store: Store) -> dict[str, Any]:
    """The figures as the database has them now."""
    standing = store.standing()
    terms = decode(standing.terms, CampaignTerms)
    progress = Progress.read(standing.progress)
    outcomes = store.outcomes()
    asked = []
    for question in store.questions():
        invited, heard = store.counts(question.number)
        asked.append(
            {
                "number": question.number,
                "state": question.state,
                "invited": invited,
                "counted": heard,
                "outcomes": outcomes.get(question.number, {}),
                "opened": question.opened,
                "deadline": question.deadline,
                "answer": progress.answers.get(str(question.number)),
            }
        )
    return {
        "name": standing.name,
        "state": standing.state,
        "ended": standing.ended,
        "at": time.time(),
        "owners": store.enrolled(),
        "start": terms.start,
        "learner": terms.learner.name,
        "unsound": terms.learner.unsound,
        "mechanism": terms.terms.mechanism,
        "epsilons": list(terms.terms.epsilons),
        "rounds": terms.rounds,
        "owners_per_round": terms.owners,
        "minimum": terms.minimum,
        "questions": asked,
        "strangers": outcomes.get(0, {}),
        "sample": progress.rows,
        "public_only": progress.public_only,
        "progress": progress.rounds,
    }
