"""Drives a campaign: asks what its algorithm asks, waits, closes, and goes on, from whatever the
database says.

Deadlines are in the campaign's own time (see store): only seconds in which owners could answer
count.
"""

import logging
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from tacit.algorithms.peers import Roll
from tacit.learners.learner import ShareQuery, Tally
from tacit.learners.owners.sum_query import SealedQuery, SharesQuery, SumQuery
from tacit.learners.query import PURPOSE, Invitation, Query, digest_of
from tacit.mechanisms.streams import Stream, drawing_order
from tacit.service.coordinator.answers import (
    AwayError,
    Campaign,
    Sums,
    TranscriptReplay,
    read_reports,
)
from tacit.service.coordinator.peers import Rosters
from tacit.service.coordinator.status import Progress
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import (
    ADDING,
    CLOSED,
    ENDED,
    ENDING,
    ENROLLING,
    NOTHING_YET,
    OPEN,
    RUNNING,
    VOID,
    Question,
)
from tacit.service.kinds.kind import Published, guesses_of, measures_of
from tacit.sums.vector_terms import VectorTerms
from tacit.wire import encode
from tacit.wire.envelopes import public_bytes, sign

log = logging.getLogger(__name__)
Draw = Callable[[Sequence[int], int], list[int]]  # of owners never asked, so many
_LEASE = 10.0  # seconds that a silent driver keeps its lease
_LAST_WORDS = 600.0  # seconds for a helper to answer, when a campaign is to end
_MANY, _REST = 10_000, 20  # more owners, or reports, are counted a twentieth of the time at most
# seconds after the deadline that owners still answer: only the coordinator knows when it is over
_GRACE = 30 * 86400


def draw_at_random(waiting: Sequence[int], count: int) -> list[int]:
    """Owners drawn with the operating system's randomness: nobody can arrange to be asked
    together.
    """
    return secrets.SystemRandom().sample(list(waiting), count)


class SeededDraw:
    """Draws owners in the order in which the engine in one process does: by their place in the
    sorted order of their names.
    """

    def __init__(self, store: Store, stream: Stream) -> None:
        self._store = store
        self._stream = stream

    def __call__(self, waiting: Sequence[int], count: int) -> list[int]:
        names = self._store.labels()
        ids = sorted(names, key=lambda owner_id: names[owner_id])
        order = [ids[place] for place in drawing_order(len(ids), self._stream)]
        fresh = set(waiting)
        return [owner_id for owner_id in order if owner_id in fresh][:count]


class Driver:
    """One worker's driver; of several, the one with the lease drives."""

    def __init__(
        self,
        store: Store,
        campaign: Campaign,
        draw: Draw = draw_at_random,
        sums: Sums | None = None,
        rosters: Rosters | None = None,
    ) -> None:
        if (sums is None) != (campaign.terms.servers is None):
            raise ValueError(
                "sums must be given if and only if the campaign's terms ask for sums of two servers"
            )
        self._store = store
        self._campaign, self._terms = campaign, campaign.terms
        self._draw = draw
        self._sums = sums
        self._rosters = rosters
        self._replay = TranscriptReplay(store, campaign, rosters)
        self._worker = secrets.token_hex(8)
        self._key, self._is_replaced = public_bytes(campaign.key.public_key()), False
        self._schema = digest_of(campaign.terms.schema)
        # when to count reports, and owners, again: on a clock without jumps
        self._count_after = self._look_after = 0.0
        self._seen = 0  # owners, when they were last counted
        self._stepped = time.monotonic()
        self._now = 0.0  # in the campaign's time
        self._away_since: float | None = None  # the helper, in the campaign's time

    def step(self) -> bool:
        """Do what is to be done now; answers whether the campaign goes on."""
        standing = self._store.standing()
        if standing.state == ENDED:
            return False
        stepped = time.monotonic()
        now = self._store.lease(self._worker, _LEASE, stepped - self._stepped)
        self._stepped = stepped
        if now is None:
            self._replay.forget()
            if standing.key != self._key and not self._is_replaced:
                self._is_replaced = True
                log.warning(
                    "the key of campaign %s was replaced: this worker puts nothing any more, and "
                    "is to be stopped and started anew",
                    self._terms.name,
                )
            return True
        self._now = now
        if standing.progress == NOTHING_YET:
            public = self._campaign.public
            alone = self._terms.alone_guesses(None, public)
            begun = replace(Progress.at_start(public, alone), plan=self._campaign.plan)
            self._store.set_progress(begun.text)
        if standing.state == ENROLLING and self._owners_present() >= self._terms.start:
            if self._store.begin():
                log.info("campaign %s begins", self._terms.name)
        elif standing.state == RUNNING:
            self._drive()
        elif standing.state == ENDING:
            self._finish()
        return True

    def _drive(self) -> None:
        """Close what is over, catch the algorithm up, and put its next question."""
        asked = self._store.questions()
        if not asked and self._rosters is None and self._too_few_present():
            return  # begun by the administrator before anything can be asked: more may come
        if asked and asked[-1].state in (OPEN, ADDING):
            if not self._close_if_due(asked[-1]):
                return
            asked = self._store.questions()
        try:
            self._replay.catch_up(asked)
            query = self._replay.query
            if isinstance(query, Roll):
                self._call_roll(asked)
            elif isinstance(query, Tally):
                self._ask_all(query, asked)
            elif query is not None:
                self._ask(query, len(asked) + 1)
        except StopIteration as end:
            self._replay.forget()  # it says so once: if what follows fails, it is replayed
            self._publish(end.value, asked)

    def _finish(self) -> None:
        """Close what is open, with what has come; tell the algorithm that nothing more does. A
        helper that does not answer is not waited for for ever: without it a sum is void.
        """
        asked = self._store.questions()
        if asked and asked[-1].state in (OPEN, ADDING):
            if not self._close_if_due(replace(asked[-1], opened=-inf, deadline=self._now)):
                if self._away_since is None or self._now < self._away_since + _LAST_WORDS:
                    return
                self._store.close_question(asked[-1].number, VOID)
                log.warning("question %d is void: the helper is away", asked[-1].number)
            asked = self._store.questions()
        try:
            self._replay.catch_up(asked)
            self._replay.give_up()
        except StopIteration as end:
            self._replay.forget()
            self._publish(end.value, asked)

    def _close_if_due(self, question: Question) -> bool:
        """Close a question that everybody answered or whose time is over, void if too few did;
        whether it is closed.
        """
        began = time.monotonic()
        if began < self._count_after and self._now < question.deadline:
            return False
        invited, heard = self._store.counts(question.number)
        if invited > _MANY:
            self._count_after = began + _REST * (time.monotonic() - began)
        missing = question.state == OPEN and heard < invited and self._now < question.deadline
        if missing and (self._rosters is None or self._store.is_anybody_left(question.number)):
            return False
        query = self._campaign.query_of(question)
        if isinstance(query, SealedQuery):
            if heard < query.terms.law.minimum and self._may_wait(question):
                return False
            return self._add_up(question, query)
        needed = 1 if isinstance(query.owners, tuple) else self._terms.minimum
        self._store.close_question(question.number, CLOSED if heard >= needed else VOID)
        log.info("question %d closed with %d of %d reports", question.number, heard, invited)
        return True

    def _may_wait(self, question: Question) -> bool:
        """Give a sum that too few have answered another deadline, as often as it may be tried:
        halves that are here cost their owners something, and are kept.
        """
        waited = self._now - question.opened
        if question.state != OPEN or waited >= self._terms.sum_attempts * self._terms.deadline:
            return False
        self._store.extend_question(question.number, self._now + self._terms.deadline)
        log.info("question %d has too few reports and stays open", question.number)
        return True

    def _add_up(self, question: Question, query: SealedQuery) -> bool:
        """Have two servers verify and add up a question that takes no more reports, for as long as
        a step may take; the first answer written down counts.
        """
        if self._sums is None:
            raise RuntimeError("the database asks for sums, and the campaign file does not")
        self._store.close_question(question.number, ADDING)

        def read(start: int, most: int) -> list[bytes]:
            reports, _ = read_reports(self._store, question, query, slice(start, start + most))
            return [row.tobytes() for row in reports.points]

        until, added = time.monotonic() + _LEASE / 3, None
        try:
            while added is None and time.monotonic() < until:
                added = self._sums.go_on(query, read)
                self._away_since = None
        except AwayError:
            if self._away_since is None:
                self._away_since = self._now
            return False  # later again, with the same bytes
        if added is None:
            return False  # there are more, in the next step
        if added.answer is None:
            self._store.close_question(question.number, VOID)
        else:
            self._store.close_question(question.number, CLOSED, encode(added.answer))
        outcome = "refused" if added.answer is None else "added up"
        log.info("question %d: its reports were %s", question.number, outcome)
        return True

    def _ask_all(self, tally: Tally, asked: list[Question]) -> None:
        """Put a sum to everybody; after as many void sums in a row as the terms allow, it ends."""
        closed = [each for each in asked if each.state == CLOSED]
        sums = sum(isinstance(self._campaign.query_of(each), SumQuery) for each in closed)
        last_good = max((at for at, each in enumerate(asked) if each.state != VOID), default=-1)
        void = len(asked) - 1 - last_good
        if self._sums is not None and void < self._terms.sum_attempts:
            query = self._sums.tally(tally, self._terms.schema.dim, sums + 1, void + 1)
            self._ask(query, len(asked) + 1)
        else:
            self._replay.give_up()

    def _call_roll(self, asked: list[Question]) -> None:
        """Write down who takes part from now on; when nobody has come or gone for long enough,
        it ends.
        """
        if self._rosters is None:
            raise RuntimeError("the algorithm asks who takes part, and nobody keeps rosters")
        if not self._rosters.write_roster(self._now) and self._rosters.is_over(asked, self._now):
            self._replay.give_up()

    def _ask(self, query: Query, number: int) -> None:
        """Put the question to owners that were never asked (or to all), and write down that they
        were.
        """
        if isinstance(query, ShareQuery) and isinstance(query.terms, VectorTerms):
            if self._sums is None:
                raise RuntimeError("the algorithm asks for sums of two servers, and there is one")
            query = self._sums.shares(query, number)
        invited = self._choose_owners(query)
        if not invited and not isinstance(query.owners, tuple):
            self._replay.give_up()  # owners have run out
            return
        expires = int(time.time() + self._terms.deadline) + _GRACE
        invitation = Invitation(self._terms.name, number, expires, self._schema, query)
        question = Question(
            number=number,
            digest=invitation.digest,
            data=sign(invitation, PURPOSE, self._campaign.key),
            # one who left is passed over, and that is written down
            state=OPEN if invited else VOID,
            opened=self._now,
            deadline=self._now + self._terms.deadline,
            answer=None,
        )
        self._store.ask(question, invited, spend=isinstance(query.owners, int))
        if not isinstance(query, SumQuery):
            self._show_progress(query.share_query if isinstance(query, SharesQuery) else query)
        log.info("question %d put to %d owners", number, len(invited))

    def _choose_owners(self, query: Query) -> list[int]:
        """Owners for a question: drawn among those never asked, named by number, or all; none
        when they ran out.
        """
        if query.owners is None:
            return self._store.owners_present()
        if isinstance(query.owners, tuple):
            return [] if self._rosters is None else self._rosters.owner_ids(query.owners)
        waiting = self._store.owners_waiting()
        return [] if len(waiting) < query.owners else sorted(self._draw(waiting, query.owners))

    def _too_few_present(self) -> bool:
        return self._owners_present() < self._terms.owners_needed

    def _owners_present(self) -> int:
        """How many owners have enrolled and were not revoked."""
        began = time.monotonic()
        if began >= self._look_after:
            counts = self._store.owner_counts()
            self._seen = counts["enrolled"] - counts["revoked"]
            if self._seen > _MANY:
                self._look_after = began + _REST * (time.monotonic() - began)
        return self._seen

    def _show_progress(self, at: Any) -> None:
        """Write down how far it has come, as a question or a result knows it, for everybody to
        see.
        """
        public = self._campaign.public
        before = Progress.read(self._store.standing().progress)
        after = before.after(public, self._terms.guesses(at, public), self._replay.accuracies)
        self._store.set_progress(after.text)

    def _compare(self, result: Any, model: Published) -> Progress:
        """The progress with what is published against the sample alone: on the sample by the model
        that it is compared with, and on test rows.
        """
        public, test = self._campaign.public, self._campaign.test
        progress = Progress.read(self._store.standing().progress)
        alone = self._terms.alone_guesses(result, public)
        if alone is not None:
            progress = progress.beside(public, alone)
        if test is not None:
            models = model, self._terms.alone(result, public)
            guesses = (guesses_of(each, test.X) for each in models)
            measured = (measures_of(each, test, public) for each in models)
            progress = progress.with_test(test, *guesses).with_measures(*measured)
        return progress

    def _publish(self, result: Any, asked: list[Question]) -> None:
        answered = [question.digest for question in asked if question.state == CLOSED]
        sums = (
            0
            if self._sums is None
            else sum(isinstance(self._campaign.query_of(each), SumQuery) for each in asked)
        )
        model = self._terms.publish(result, self._campaign.public, answered, sums)
        self._show_progress(result)
        self._store.set_progress(self._compare(result, model.model).text)
        self._store.end(model.ended, encode(model))
        log.info("campaign %s ended: %s", self._terms.name, model.ended)
