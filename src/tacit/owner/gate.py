"""The gate: the only way out of an owner.

    verify the signature -> check the policy and the bound of the work -> take the ledger's lock
    -> repeat what was said before, or check the budget -> compute, clip, randomise with fresh
    coins, in a process of its own that ends by the bound -> wait for the bound -> write debit and
    report down -> return bytes

Claim: for each owner (unit and adjacency as the query says), all that leaves in the owner's
lifetime is pure epsilon-DP with the sum of the charged epsilons, at most `policy.epsilon_total`,
against whoever signs the questions and sees all answers. Proof: gate.md.

A refusal depends on the question, the policy and the ledger, never on rows: everything about a
question that could fail is tried on an owner without rows before anything is charged. The moment
when an answer leaves is a function of question and policy, too.
"""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum
from fractions import Fraction

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tacit._util.types import FloatArray
from tacit.data.cohort import Cohort
from tacit.data.schema import Schema
from tacit.learners.invitation import PURPOSE, Invitation, digest_of, pack
from tacit.learners.query import Query
from tacit.mechanisms.reports import Reports
from tacit.mechanisms.streams import Stream, rational, secure
from tacit.owner.ledger import Book, Ledger
from tacit.owner.policy import Policy
from tacit.owner.rollback_guard import COUNTS, Entry, added_epsilon
from tacit.owner.template import Template
from tacit.owner.worker import JOB_LARGEST, Done, Job, Worker
from tacit.sums.halves import no_rehearsal
from tacit.wire import WireError, decode, encode
from tacit.wire.envelopes import open_signed

log = logging.getLogger(__name__)
_PACKING = 0.05  # seconds before its moment that work on rows ends: for the way back


class Reason(Enum):
    """Why a question is refused; none of them depends on rows."""

    UNREADABLE = "the question is not a signed invitation of this campaign"
    EXPIRED = "the question has expired"
    FORBIDDEN = "the owner's policy forbids the question"
    SPENT = "the owner's budget does not allow another release"


class RefusedError(Exception):
    """A question that is not answered, for a reason that anybody may know."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason.value}: {detail}" if detail else reason.value)

    def __reduce__(self) -> tuple[type["RefusedError"], tuple[Reason, str]]:
        return RefusedError, (self.reason, self.detail)


class Gate:
    """Answers signed questions for the owners of `cohort`, named by `owners`, under one policy and
    one ledger.

    One owner is the usual case; a gateway holds many. `schema` is the public description by which
    rows were read. `clock` only says when questions have expired, which no budget depends on: it
    may be the campaign's. Times in the ledger are this machine's. With a `template` only questions
    within it are answered, as often as it says, at the epsilon that the policy allows whatever was
    spent elsewhere.
    """

    def __init__(
        self,
        cohort: Cohort,
        owners: Sequence[str],
        schema: Schema,
        policy: Policy,
        ledger: Ledger,
        key: Ed25519PublicKey,
        clock: Callable[[], float] | None = None,
        template: Template | None = None,
    ) -> None:
        if not len(owners) == len(set(owners)) == len(cohort):
            raise ValueError(
                f"owners must name each of {len(cohort)} owners once, got {len(owners)} names"
            )
        if not (
            cohort.X.shape[1] == schema.dim
            and ((cohort.y >= 0) & (cohort.y < len(schema.classes))).all()
        ):
            raise ValueError(
                f"rows must have {schema.dim} numbers and a class of the schema, got "
                f"{cohort.X.shape[1]}"
            )
        if policy.helper is not None:
            no_rehearsal("helper of the policy", bytes.fromhex(policy.helper))
        self._cohort = cohort
        self._first = {
            unit: _first_rows(cohort, most)
            for unit, most in (("owner", policy.rows), ("record", policy.records))
        }
        self._place = {owner: place for place, owner in enumerate(owners)}
        self._schema = schema
        self._schema_digest = digest_of(schema)
        self._policy = policy
        self._ledger = ledger
        self._key = key
        self._clock = clock
        self._template = template
        self._worker: Worker | None = None
        if self._computes_apart:
            self._worker = Worker(self._try_there, self._compute_there)

    @property
    def _computes_apart(self) -> bool:
        """Whether rows are worked on in a process of their own: always, but in trials."""
        return self._policy.time_step > 0

    def answer(self, question: bytes, owner: str | None = None) -> bytes:
        """The report of one owner (of the only one, by default), or `RefusedError`."""
        if owner is None and len(self._place) != 1:
            raise ValueError(f"owner must be named: this gate has {len(self._place)}")
        (said,) = self.answers(question, [next(iter(self._place)) if owner is None else owner])
        if isinstance(said, RefusedError):
            raise said
        return said

    def answers(self, question: bytes, owners: Sequence[str]) -> list[bytes | RefusedError]:
        """The reports of several owners, written down in one transaction; refusals stand in
        their places.
        """
        if not set(owners) <= set(self._place):
            raise ValueError("owners must be among those of this gate")
        began = time.monotonic()
        try:
            return self._answers(question, owners)
        finally:
            step = float(self._policy.time_step)
            if step > 0:
                time.sleep(-(time.monotonic() - began) % step)

    def _answers(self, question: bytes, owners: Sequence[str]) -> list[bytes | RefusedError]:
        invitation = self._admitted(question)
        digest = invitation.digest
        said: dict[str, bytes | RefusedError] = {}
        with self._ledger.transaction() as book:
            fresh: list[tuple[str, int]] = []
            for owner in dict.fromkeys(owners):
                before = book.find(owner, digest)
                if before is not None:
                    said[owner] = before.report
                    continue
                level = self._level(book, owner, invitation)
                if level is None:
                    said[owner] = RefusedError(Reason.SPENT)
                else:
                    fresh.append((owner, level))
            reports = self._reports(invitation, fresh) if fresh else []
            at = int(time.time())
            query = invitation.query
            for (owner, level), report in zip(fresh, reports, strict=True):
                cost = self._cost(book, owner, invitation, level)
                campaign, number = invitation.campaign, invitation.number
                book.add(
                    Entry(
                        owner,
                        digest,
                        campaign,
                        number,
                        at,
                        str(cost),
                        query.unit,
                        query.what,
                        query.how,
                        report,
                        str(query.rho),
                        str(rational(query.delta)),
                    )
                )
                said[owner] = report
        if fresh:
            log.info("answered question %s of campaign %s", invitation.number, invitation.campaign)
        return [said[owner] for owner in owners]

    def _admitted(self, question: bytes) -> Invitation:
        """The question, if it is signed, timely, allowed and harmless; no rows and no budget are
        looked at.
        """
        try:
            invitation = open_signed(
                question, Invitation, PURPOSE, self._key, self._policy.largest_query
            )
        except WireError as problem:
            raise RefusedError(Reason.UNREADABLE, str(problem)) from None
        if not self._now() < invitation.expires:
            raise RefusedError(Reason.EXPIRED)
        query = invitation.query
        objection = self._objection(invitation)
        if objection:
            raise RefusedError(Reason.FORBIDDEN, objection)
        highest = self._policy.level(query.epsilons, Fraction(0))
        if highest is None:
            raise RefusedError(Reason.SPENT)
        objection = self._excess(query)
        if objection:
            raise RefusedError(Reason.FORBIDDEN, objection)
        if not self._works(invitation, highest):
            raise RefusedError(
                Reason.FORBIDDEN, "the question cannot be answered by an owner without rows"
            )
        return invitation

    def _objection(self, invitation: Invitation) -> str:
        """Why this question may not be answered, whatever the budget; empty: it may."""
        query, schema = invitation.query, self._schema
        try:
            if invitation.schema != self._schema_digest:
                return "the question is made for another schema than the owner's rows"
            if (query.dim, query.classes) != (schema.dim, len(schema.classes)):
                return "the question is made for other rows than the schema says"
            if self._template is not None:
                columns, label = self._template.columns, self._template.label
                barred = self._policy.refuse_columns(columns, label)
                outside = barred or self._template.objection(invitation)
                if outside:
                    return outside
            return self._policy.objection(invitation)
        except Exception:  # of a question of which we know nothing but who signed it
            return "the question contradicts itself"

    def _excess(self, query: Query) -> str:
        """Why the question is too much work, whatever the rows; empty: it is not."""
        try:
            return self._policy.too_costly(query)
        except Exception:  # of a question of which we know nothing but who signed it
            return "the question contradicts itself"

    def _works(self, invitation: Invitation, highest: int) -> bool:
        """Whether the question works at all, tried where it will be answered: what can be
        compiled is compiled then, before time counts.
        """
        if self._worker is None:
            return self._harmless(invitation.query, highest)
        job = Job(invitation, np.zeros(0, dtype=np.int64), np.array([highest]))
        return self._worker.prepare(encode(job)) is not None

    def _try_there(self, request: bytes) -> bytes:
        """`_works`, in the worker."""
        job = decode(request, Job, JOB_LARGEST)
        if not self._harmless(job.invitation.query, int(job.levels[0])):
            raise ValueError("it fails for everybody")
        return b""

    def _harmless(self, query: Query, highest: int) -> bool:
        """Whether it works at all, tried at owners without rows: a question that fails must fail
        for everybody. Then at one with a few made-up rows, so that no owner's rows are the first.
        """
        epsilons = np.array([query.epsilons[0], query.epsilons[highest]])
        try:
            coins = self._coins(query)
            reports = self._release(query, self._nobody(len(epsilons)), epsilons, coins)
            works = bool(query.valid(reports, epsilons).all())
        except Exception:  # whatever it is: no rows were looked at
            return False
        if self._computes_apart:
            with suppress(Exception):
                self._release(query, self._somebody(), epsilons[:1], coins)
        return works

    def _level(self, book: Book, owner: str, invitation: Invitation) -> int | None:
        """Which of the offered epsilons this owner can still pay; None: none, or no release is
        left.
        """
        spent, releases = book.spent(owner)
        if not releases < self._policy.releases:
            return None
        query = invitation.query
        able = self._policy.level(query.epsilons, spent, book.spent_on(owner, COUNTS), query.how)
        if query.delta:
            cost = self._cost(book, owner, invitation, 0)
            delta = book.delta_spent(owner, invitation.campaign, rational(query.delta))
            able = 0 if self._policy.pays(query, cost, spent, delta) else None
        form = None if self._template is None else self._template.form_of(query)
        if form is None:
            return able
        # with a template: what the policy allows, whatever was spent elsewhere, or nothing
        agreed = self._policy.level(query.epsilons, Fraction(0), how=query.how)
        answered = book.answered(owner, invitation.campaign, query.what)
        payable = able is not None and agreed is not None and agreed <= able
        return agreed if payable and answered < form.times else None

    def _cost(self, book: Book, owner: str, invitation: Invitation, level: int) -> Fraction:
        """The epsilon that an answer adds to what this owner has spent: where it has a delta, by
        zero-concentrated privacy within its campaign.
        """
        query = invitation.query
        if not query.delta:
            return rational(query.epsilons[level])
        before = book.rho_spent(owner, invitation.campaign, rational(query.delta))
        return added_epsilon(before, query.rho, query.delta)

    def _reports(self, invitation: Invitation, fresh: list[tuple[str, int]]) -> list[bytes]:
        """Reports of owners that can pay, all at the moment that question and policy name."""
        query = invitation.query
        seconds = float(self._policy.moment(query, len(fresh)))
        ends = time.monotonic() + seconds
        if self._worker is None:
            reports: list[bytes] | None = self._released(invitation, fresh)
        else:
            reports = self._computed(invitation, fresh, seconds - _PACKING)
        if reports is None:  # abandoned: as from owners without rows
            reports = [self._from_nobody(invitation, *each) for each in fresh]
        if self._policy.time_step:
            time.sleep(max(0.0, ends - time.monotonic()))
        return reports

    def _computed(
        self, invitation: Invitation, fresh: list[tuple[str, int]], seconds: float
    ) -> list[bytes] | None:
        """What the worker makes of owners' rows; None: nothing, in that time and memory."""
        if self._worker is None:
            raise RuntimeError("this gate has no worker")
        places = np.array([self._place[owner] for owner, _ in fresh])
        job = Job(invitation, places, np.array([level for _, level in fresh]))
        cost = invitation.query.cost(self._policy.rows_of(invitation.query)).times(len(fresh))
        said = self._worker.compute(encode(job), seconds, cost.memory)
        if said is None:
            return None
        reports = decode(said, Done, JOB_LARGEST).reports
        return list(reports) if len(reports) == len(fresh) else None

    def _compute_there(self, request: bytes) -> bytes:
        """`_released`, in the worker."""
        job = decode(request, Job, JOB_LARGEST)
        names = list(self._place)
        levels = job.levels.tolist()
        fresh = [(names[place], level) for place, level in zip(job.places, levels, strict=True)]
        return encode(Done(tuple(self._released(job.invitation, fresh))))

    def _released(self, invitation: Invitation, fresh: list[tuple[str, int]]) -> list[bytes]:
        """Reports of owners that can pay; rows that a learner stumbles over count as none."""
        query, digest = invitation.query, invitation.digest
        places = np.array([self._place[owner] for owner, _ in fresh])
        epsilons = np.array([query.epsilons[level] for _, level in fresh])
        cohort, coins = self._first[query.unit][places], self._coins(query).of(places)
        with suppress(Exception):
            reports = self._release(query, cohort, epsilons, coins)
            return [pack(digest, level, reports[i : i + 1]) for i, (_, level) in enumerate(fresh)]
        if len(fresh) > 1:  # in halves, so that nobody's report depends on another's rows
            half = len(fresh) // 2
            return [
                *self._released(invitation, fresh[:half]),
                *self._released(invitation, fresh[half:]),
            ]
        return [self._from_nobody(invitation, *fresh[0])]

    def _from_nobody(self, invitation: Invitation, owner: str, level: int) -> bytes:
        """The owner's report, had it no rows."""
        query = invitation.query
        epsilons, place = np.array([query.epsilons[level]]), np.array([self._place[owner]])
        reports = self._release(query, self._nobody(1), epsilons, self._coins(query).of(place))
        return pack(invitation.digest, level, reports)

    def _release(
        self, query: Query, cohort: Cohort, epsilons: FloatArray, coins: Stream
    ) -> Reports:
        with np.errstate(all="ignore"):  # a warning about numbers would tell of rows
            return query.release(cohort, epsilons, coins)

    def _nobody(self, owners: int) -> Cohort:
        """Owners without rows."""
        return Cohort(self._cohort.X[:0], self._cohort.y[:0], np.zeros(owners + 1, dtype=np.int64))

    def _somebody(self) -> Cohort:
        """An owner with two made-up rows, as public as the schema."""
        rows, labels = np.zeros((2, self._cohort.table.shape[1])), np.array([0, 1])
        return Cohort(rows, labels, np.array([0, 2]))

    def _coins(self, query: Query) -> Stream:
        """Fresh coins from the operating system. A gate takes no seed."""
        return secure()

    def _now(self) -> float:
        return time.time() if self._clock is None else self._clock()

    def __reduce__(self) -> str:
        raise TypeError("a gate cannot be copied or pickled: it holds an owner's rows")

    def __repr__(self) -> str:
        return f"Gate({len(self._place)} owners)"


def _first_rows(cohort: Cohort, most: int) -> Cohort:
    """The first so many rows of every owner; no copy."""
    first, last = cohort.spans[:, 0], cohort.spans[:, 1]
    spans = np.stack([first, np.minimum(last, first + most)], axis=1)
    return Cohort(cohort.table, cohort.labels, spans)
