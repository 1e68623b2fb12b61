"""Drives the algorithm of a campaign: asks, waits, closes, and goes on, from whatever the database says.

The algorithm is a generator without I/O. Its transcript is in the database: the questions in order with the reports to
them, or with the verdict where two servers added reports up, since noise is drawn once. A driver that starts anew runs
the algorithm from the beginning with the answers already there, which gives the same state to the bit (sums of reports
are whole numbers), and goes on from the first question without an answer. So a kill at any moment loses nothing, and
any worker can take over.
"""

import logging
import secrets
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.campaign.terms import CampaignTerms
from tacit.coordinator.accuracy import Accuracy, accuracy
from tacit.coordinator.progress import Progress
from tacit.coordinator.publication import Publication
from tacit.coordinator.store import ADDING, CLOSED, ENDED, ENROLLING, OPEN, RUNNING, VOID, Question, Store
from tacit.coordinator.sums import AwayError, Sums
from tacit.coordinator.tables import NOTHING_YET
from tacit.ensembles.boosting import AllOwners, Boosted, OwnSample, Verdict
from tacit.learners.base import Public, ShareQuery, Tally
from tacit.learners.ensemble import Ensemble
from tacit.learners.invitation import PURPOSE, Invitation, digest_of, unpack
from tacit.learners.query import Answer, Query
from tacit.learners.sum_query import SumQuery
from tacit.mechanisms.reports import Reports
from tacit.types import FloatArray
from tacit.wire import decode, encode
from tacit.wire.signed import opened, sign

log = logging.getLogger(__name__)
Draw = Callable[[Sequence[int], int, int], list[int]]  # owners never asked, how many, how many asked so far
_LEASE = 10.0  # seconds that a silent driver keeps its lease
_GRACE = 60  # seconds that an owner may be late by its own clock


def drawn_at_random(waiting: Sequence[int], count: int, asked: int) -> list[int]:
    """Owners drawn with the operating system's randomness: nobody can arrange to be asked together."""
    return secrets.SystemRandom().sample(list(waiting), count)


class Driver:
    """One worker's driver; of several, the one with the lease drives."""

    def __init__(
        self,
        store: Store,
        terms: CampaignTerms,
        public: Public,
        key: Ed25519PrivateKey,
        draw: Draw = drawn_at_random,
        sums: Sums | None = None,
    ) -> None:
        if (sums is None) != (terms.sums is None):
            raise ValueError("sums must be given if and only if the campaign's terms ask for sums over all owners")
        self._store = store
        self._terms = terms
        self._public = public
        self._key = key
        self._draw = draw
        self._sums = sums
        self._worker = secrets.token_hex(8)
        self._schema = digest_of(terms.schema)
        self._told = -1  # how many answers the running algorithm has been given; -1: it has to be replayed
        self._algorithm: Generator[Any, Any, Boosted] | None = None
        self._query: Query | Tally | None = None
        self._heard: dict[int, Accuracy] = {}  # of the answers that have been told

    def step(self) -> bool:
        """Do what is to be done now; answers whether the campaign goes on."""
        standing = self._store.standing()
        if standing.state == ENDED:
            return False
        if not self._store.lease(self._worker, _LEASE):
            self._told = -1
            return True
        if standing.progress == NOTHING_YET:
            self._store.set_progress(Progress.begun(self._public).text)
        if standing.state == ENROLLING and self._store.enrolled()["enrolled"] >= self._terms.start:
            self._store.set_state(RUNNING)
            log.info("campaign %s begins", self._terms.name)
        elif standing.state == RUNNING:
            self._drive()
        return True

    def _drive(self) -> None:
        """Close what is over, catch the algorithm up, and put its next question."""
        asked = self._store.questions()
        if asked and asked[-1].state in (OPEN, ADDING):
            if not self._closed(asked[-1]):
                return
            asked = self._store.questions()
        answered = [question for question in asked if question.state == CLOSED]
        try:
            self._catch_up(answered)
            if isinstance(self._query, Tally):
                self._ask_all(self._query, asked)
            elif self._query is not None:
                self._ask(self._query, len(asked) + 1)
        except StopIteration as end:
            self._publish(end.value, answered)

    def _closed(self, question: Question) -> bool:
        """Close a question that everybody answered or whose time is over; void if too few did."""
        invited, heard = self._store.counts(question.number)
        if question.state == OPEN and heard < invited and time.time() < question.deadline:
            return False
        query = opened(question.data, Invitation, PURPOSE, self._key.public_key()).query
        if isinstance(query, SumQuery):
            return self._added_up(question, query)
        self._store.close_question(question.number, CLOSED if heard >= self._terms.minimum else VOID)
        log.info("question %d closed with %d of %d reports", question.number, heard, invited)
        return True

    def _added_up(self, question: Question, query: SumQuery) -> bool:
        """Have two servers add up a question that takes no more reports; the first verdict written down counts."""
        if self._sums is None:
            raise RuntimeError("the database asks for sums, and the campaign file does not")
        self._store.close_question(question.number, ADDING)
        reports, _ = self._reports(question, query)
        try:
            verdict = self._sums.verdict(query, [row.tobytes() for row in reports.points])
        except AwayError:
            return False  # later again, with the same bytes
        if verdict is None:
            self._store.close_question(question.number, VOID)
        else:
            self._store.close_question(question.number, CLOSED, encode(verdict))
        log.info(
            "question %d: %d reports were %s",
            question.number,
            len(reports),
            "refused" if verdict is None else "added up",
        )
        return True

    def _catch_up(self, answered: list[Question]) -> None:
        """Bring the algorithm to where all answers have been told; StopIteration when it has ended."""
        if self._algorithm is None or self._told > len(answered) or self._told < 0:
            self._algorithm = self._terms.algorithm(AllOwners() if self._sums else OwnSample(self._public))
            self._query, self._told, self._heard = next(self._algorithm), 0, {}
        for question in answered[self._told :]:
            if self._query is None:
                raise RuntimeError("the transcript has more answers than the algorithm asks for")
            answer = self._answer(question, self._query)
            self._query, self._told = self._algorithm.send(answer), self._told + 1

    def _answer(self, question: Question, query: Query | Tally) -> Any:
        """What the reports to a question say, from the bytes in the database."""
        if isinstance(query, Tally):
            return decode(question.answer or b"", Verdict)
        reports, epsilons = self._reports(question, query)
        answer = query.answer(query.collect(reports, epsilons))
        if isinstance(query, ShareQuery) and isinstance(answer, Answer):
            self._heard[question.number] = accuracy(query, epsilons, answer)
        return answer

    def _reports(self, question: Question, query: Query) -> tuple[Reports, FloatArray]:
        """The reports to a question, with the epsilon of each, in the order of owners."""
        data = [report for _, report in self._store.reports_of(question.number)]
        good, levels, reports = unpack(data, question.digest, query)
        if not good.all():
            raise RuntimeError(f"question {question.number} of the database is not the one that was asked")
        return reports, np.array(query.epsilons)[levels]

    def _ask_all(self, tally: Tally, asked: list[Question]) -> None:
        """Put a sum to everybody; after as many void sums in a row as the campaign has attempts, it ends."""
        numbered = [question for question in asked if question.state == CLOSED and question.answer is not None]
        void = len(asked) - 1 - max((at for at, q in enumerate(asked) if q.state != VOID), default=-1)
        if self._sums is not None and void < self._terms.attempts:
            query = self._sums.query(tally, self._terms.facts.dim, len(numbered) + 1, void + 1)
            self._ask(query, len(asked) + 1)
        elif self._algorithm is not None:
            self._algorithm.send(None)

    def _ask(self, query: Query, number: int) -> None:
        """Put the question to owners that were never asked (or to all), and write down that they were."""
        invited = self._invited(query)
        if not invited:
            if self._algorithm is not None:
                self._algorithm.send(None)  # owners have run out: it ends here
            return
        now = time.time()
        deadline = now + self._terms.deadline
        invitation = Invitation(self._terms.name, number, int(deadline) + _GRACE, self._schema, query)
        data = sign(invitation, PURPOSE, self._key)
        question = Question(number, invitation.digest, data, OPEN, now, deadline, None)
        self._store.ask(question, invited, spend=isinstance(query.owners, int))
        if isinstance(query, ShareQuery):
            self._show(query.ensemble)
        log.info("question %d put to %d owners", number, len(invited))

    def _invited(self, query: Query) -> list[int]:
        """Owners for a question: drawn among those never asked, named by number, or all; none when they ran out."""
        if query.owners is None:
            return self._store.everybody()
        if isinstance(query.owners, tuple):
            everybody = self._store.everybody()
            return [everybody[number] for number in query.owners if number < len(everybody)]
        waiting = self._store.waiting()
        if len(waiting) < query.owners:
            return []
        return sorted(self._draw(waiting, query.owners, self._store.enrolled()["enrolled"] - len(waiting)))

    def _show(self, ensemble: Ensemble) -> None:
        """Write down how far it has come, for everybody to see."""
        before = Progress.read(self._store.standing().progress)
        self._store.set_progress(before.after(self._public, ensemble, self._heard).text)

    def _publish(self, result: Boosted, answered: list[Question]) -> None:
        transcript = tuple(question.digest for question in answered)
        model = Publication.of(self._terms, result, transcript)
        self._show(result.ensemble)
        self._store.set_state(ENDED, result.ended, encode(model))
        log.info("campaign %s ended: %s", self._terms.name, result.ended)
