"""Drives the algorithm of a campaign: asks, waits, closes, and goes on, from whatever the database
says.

The algorithm is a generator without I/O. Its transcript is in the database: the questions in order
with the reports to them, or with the verdict where two servers added reports up, since noise is
drawn once. A driver that starts anew runs the algorithm from the beginning with the answers already
there, which gives the same state to the bit (sums of reports are whole numbers), and goes on from
the first question without an answer. So a kill at any moment loses nothing, and any worker can take
over.

Deadlines are in the campaign's own time (see store): only seconds in which owners could answer
count.
"""

import logging
import secrets
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit._util.types import FloatArray
from tacit.algorithms.boosting import Verdict
from tacit.algorithms.roster import Roll
from tacit.data.sample import Public
from tacit.learners.invitation import PURPOSE, Invitation, digest_of, unpack
from tacit.learners.learner import ShareQuery, Tally
from tacit.learners.owners.sum_query import SumQuery
from tacit.learners.query import Answer, Query
from tacit.mechanisms.reports import Reports
from tacit.service.coordinator.peers import Rosters
from tacit.service.coordinator.sql import NOTHING_YET
from tacit.service.coordinator.status import Accuracy, Progress, accuracy
from tacit.service.coordinator.store import (
    ADDING,
    CLOSED,
    ENDED,
    ENROLLING,
    OPEN,
    RUNNING,
    VOID,
    Question,
    Store,
)
from tacit.service.coordinator.sums import AwayError, Sums
from tacit.service.kinds.kind import CampaignTerms
from tacit.wire import decode, encode
from tacit.wire.signing import opened, sign

log = logging.getLogger(__name__)
Draw = Callable[
    [Sequence[int], int, int], list[int]
]  # owners never asked, how many, how many asked so far
_LEASE = 10.0  # seconds that a silent driver keeps its lease
_MANY, _REST = (
    10_000,
    20,
)  # so many owners, and reports, are counted a twentieth of the time at most
_GRACE = (
    30 * 86400
)  # seconds after the deadline that owners still answer: only the coordinator knows when it is over


def drawn_at_random(waiting: Sequence[int], count: int, asked: int) -> list[int]:
    """Owners drawn with the operating system's randomness: nobody can arrange to be asked
    together.
    """
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
        rosters: Rosters | None = None,
    ) -> None:
        if (sums is None) != (terms.sum_terms is None):
            raise ValueError(
                "sums must be given if and only if the campaign's terms ask for sums over "
                "all owners"
            )
        self._store = store
        self._terms = terms
        self._public = public
        self._key = key
        self._draw = draw
        self._sums = sums
        self._rosters = rosters
        self._worker = secrets.token_hex(8)
        self._schema = digest_of(terms.schema)
        self._told = (
            -1
        )  # how many questions the running algorithm has been told about; -1: it has to be replayed
        self._algorithm: Generator[Any, Any, Any] | None = None
        self._called = 0  # how many rosters it has been told
        self._query: Query | Tally | Roll | None = None
        self._count_after = self._look_after = (
            0.0  # when to count reports, and owners, again: on a clock without jumps
        )
        self._seen = 0  # owners, when they were last counted
        self._heard: dict[int, Accuracy] = {}  # of the answers that have been told
        self._stepped = time.monotonic()
        self._now = 0.0  # in the campaign's time

    def step(self) -> bool:
        """Do what is to be done now; answers whether the campaign goes on."""
        standing = self._store.standing()
        if standing.state == ENDED:
            return False
        stepped = time.monotonic()
        now = self._store.lease(self._worker, _LEASE, stepped - self._stepped)
        self._stepped = stepped
        if now is None:
            self._told = -1
            return True
        self._now = now
        if standing.progress == NOTHING_YET:
            self._store.set_progress(Progress.begun(self._public).text)
        if standing.state == ENROLLING and self._present() >= self._terms.start:
            if self._store.begin():
                log.info("campaign %s begins", self._terms.name)
        elif standing.state == RUNNING:
            self._drive()
        return True

    def _drive(self) -> None:
        """Close what is over, catch the algorithm up, and put its next question."""
        asked = self._store.questions()
        if not asked and self._rosters is None and self._present() < self._terms.owners_needed:
            return  # begun by the administrator before anything can be asked: more may come
        if asked and asked[-1].state in (OPEN, ADDING):
            if not self._closed(asked[-1]):
                return
            asked = self._store.questions()
        try:
            self._catch_up(asked)
            if isinstance(self._query, Roll):
                self._call(self._query, asked)
            elif isinstance(self._query, Tally):
                self._ask_all(self._query, asked)
            elif self._query is not None:
                self._ask(self._query, len(asked) + 1)
        except StopIteration as end:
            self._told = -1  # it says so once: if what follows fails, it is replayed
            self._publish(end.value, asked)

    def _closed(self, question: Question) -> bool:
        """Close a question that everybody answered or whose time is over; void if too few did."""
        began = time.monotonic()
        if began < self._count_after and self._now < question.deadline:
            return False
        invited, heard = self._store.counts(question.number)
        if invited > _MANY:
            self._count_after = began + _REST * (time.monotonic() - began)
        missing = question.state == OPEN and heard < invited and self._now < question.deadline
        if missing and (
            self._rosters is None or self._store.question_is_somebodys(question.number)
        ):
            return False
        query = self._asked(question)
        if isinstance(query, SumQuery):
            return self._added_up(question, query)
        needed = 1 if isinstance(query.owners, tuple) else self._terms.minimum
        self._store.close_question(question.number, CLOSED if heard >= needed else VOID)
        log.info("question %d closed with %d of %d reports", question.number, heard, invited)
        return True

    def _added_up(self, question: Question, query: SumQuery) -> bool:
        """Have two servers add up a question that takes no more reports; the first verdict
        written down counts.
        """
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

    def _catch_up(self, asked: list[Question]) -> None:
        """Bring the algorithm to where all that was asked has been told; StopIteration when it
        has ended.
        """
        if self._algorithm is None or not 0 <= self._told <= len(asked):
            self._algorithm = self._terms.run(self._public)
            self._query, self._told, self._called, self._heard = next(self._algorithm), 0, 0, {}
        self._tell_rosters()
        for question in asked[self._told :]:
            if self._query is None or isinstance(self._query, Roll):
                raise RuntimeError("the transcript has more answers than the algorithm asks for")
            if question.state == CLOSED or not _asked_again(self._query):
                self._query = self._algorithm.send(self._answer(question, self._query))
            self._told += 1
            self._tell_rosters()

    def _tell_rosters(self) -> None:
        """Answer a roll with the roster that was written down for it, if it was."""
        known = (
            self._rosters.read()
            if self._rosters is not None and isinstance(self._query, Roll)
            else []
        )
        while (
            isinstance(self._query, Roll)
            and self._called < len(known)
            and self._algorithm is not None
        ):
            self._query = self._algorithm.send(known[self._called])
            self._called += 1

    def _answer(self, question: Question, query: Query | Tally) -> Any:
        """What the reports to a question say, from the bytes in the database; None: nothing that
        counts.
        """
        if isinstance(query, Tally):
            return decode(question.answer or b"", Verdict)
        if question.state == VOID or (
            self._rosters is not None and not self._rosters.said(question.number)
        ):
            return None
        reports, epsilons = self._reports(question, query)
        answer = query.answer(query.collect(reports, epsilons))
        if isinstance(query, ShareQuery) and isinstance(answer, Answer):
            self._heard[question.number] = accuracy(query, epsilons, answer)
        return answer

    def _reports(self, question: Question, query: Query) -> tuple[Reports, FloatArray]:
        """The reports to a question, with the epsilon of each, in the order of owners; of few, in
        that of their names.

        Sums of reports have no order, but where each report is looked at by itself a last bit may
        depend on it.
        """
        said = self._store.reports_of(question.number)
        if query.unit == "record":
            names = self._store.labels()
            said.sort(key=lambda one: (names[one[0]], one[0]))
        data = [report for _, report in said]
        good, levels, reports = unpack(data, question.digest, query)
        if not good.all():
            raise RuntimeError(
                f"question {question.number} of the database is not the one that was asked"
            )
        return reports, np.array(query.epsilons)[levels]

    def _ask_all(self, tally: Tally, asked: list[Question]) -> None:
        """Put a sum to everybody; after as many void sums in a row as the campaign has attempts,
        it ends.
        """
        numbered = [
            question
            for question in asked
            if question.state == CLOSED and question.answer is not None
        ]
        void = (
            len(asked) - 1 - max((at for at, q in enumerate(asked) if q.state != VOID), default=-1)
        )
        if self._sums is not None and void < self._terms.sum_attempts:
            query = self._sums.query(tally, self._terms.schema.dim, len(numbered) + 1, void + 1)
            self._ask(query, len(asked) + 1)
        elif self._algorithm is not None:
            self._algorithm.send(None)

    def _call(self, roll: Roll, asked: list[Question]) -> None:
        """Write down who takes part from now on; when nobody has come or gone for long enough,
        it ends.
        """
        if self._rosters is None or self._algorithm is None:
            raise RuntimeError("the algorithm asks who takes part, and nobody keeps rosters")
        if not self._rosters.called(self._now) and self._rosters.over(asked, self._now):
            self._algorithm.send(None)

    def _ask(self, query: Query, number: int) -> None:
        """Put the question to owners that were never asked (or to all), and write down that they
        were.
        """
        invited = self._invited(query)
        named = isinstance(query.owners, tuple)
        if not invited and not named:
            if self._algorithm is not None:
                self._algorithm.send(None)  # owners have run out: it ends here
            return
        expires = int(time.time() + self._terms.deadline) + _GRACE
        invitation = Invitation(self._terms.name, number, expires, self._schema, query)
        data = sign(invitation, PURPOSE, self._key)
        state = OPEN if invited else VOID  # one who left is passed over, and that is written down
        deadline = self._now + self._terms.deadline
        question = Question(number, invitation.digest, data, state, self._now, deadline, None)
        self._store.ask(question, invited, spend=isinstance(query.owners, int))
        if not isinstance(query, SumQuery):
            self._show(query)
        log.info("question %d put to %d owners", number, len(invited))

    def _invited(self, query: Query) -> list[int]:
        """Owners for a question: drawn among those never asked, named by number, or all; none
        when they ran out.
        """
        if query.owners is None:
            return self._store.everybody()
        if isinstance(query.owners, tuple):
            return [] if self._rosters is None else self._rosters.places(query.owners)
        waiting = self._store.waiting()
        if len(waiting) < query.owners:
            return []
        return sorted(
            self._draw(waiting, query.owners, self._store.enrolled()["enrolled"] - len(waiting))
        )

    def _present(self) -> int:
        """How many owners have enrolled and were not revoked."""
        began = time.monotonic()
        if began >= self._look_after:
            counts = self._store.enrolled()
            self._seen = counts["enrolled"] - counts["revoked"]
            if self._seen > _MANY:
                self._look_after = began + _REST * (time.monotonic() - began)
        return self._seen

    def _show(self, at: Any) -> None:
        """Write down how far it has come, as a question or a result knows it, for everybody to
        see.
        """
        before = Progress.read(self._store.standing().progress)
        guesses = self._terms.guesses(at, self._public)
        self._store.set_progress(before.after(self._public, guesses, self._heard).text)

    def _publish(self, result: Any, asked: list[Question]) -> None:
        answered = tuple(question.digest for question in asked if question.state == CLOSED)
        sums = (
            0
            if self._sums is None
            else sum(isinstance(self._asked(each), SumQuery) for each in asked)
        )
        model = self._terms.publish(result, self._public, answered, sums)
        self._show(result)
        self._store.end(model.ended, encode(model))
        log.info("campaign %s ended: %s", self._terms.name, model.ended)

    def _asked(self, question: Question) -> Query:
        """What a question of the database asks."""
        return opened(question.data, Invitation, PURPOSE, self._key.public_key()).query


def _asked_again(query: Query | Tally) -> bool:
    """Whether a question with too few answers is put again: to other owners, or to all for
    another sum.
    """
    return isinstance(query, Tally) or isinstance(query.owners, int)
