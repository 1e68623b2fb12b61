"""The gate: the only way out of an owner.

    verify the signature -> check template, policy and the bound of the work -> repeat what was said
    before, or look at the budget -> compute, clip, randomise with fresh coins, in a process of its
    own that ends by the bound -> wait for the bound -> take the ledger's lock, look at the budget
    again, write debit and report down -> return bytes

Claim: for each owner (unit and adjacency as the query says), all that leaves in the owner's
lifetime is pure epsilon-DP with the sum of the charged epsilons, at most `policy.epsilon_total`,
against whoever signs the questions and sees all answers. Proof: gate.md.

A refusal depends on the question, the policy and the ledger, never on rows: everything about a
question that could fail is tried on an owner without rows before anything is charged. The moment
when an answer leaves is a function of question and policy, too. Here it is decided what leaves and
when; `report_maker` is where rows are touched.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tacit.data.cohort import Cohort
from tacit.data.schema import Schema
from tacit.learners.query import PURPOSE, Cost, Invitation, Query, digest_of
from tacit.mechanisms.streams import rational
from tacit.owner.ledger import Book, Ledger
from tacit.owner.ledger_entries import CampaignId, Entry, added_epsilon
from tacit.owner.policy import OVERHEAD, Policy
from tacit.owner.report_maker import PACKING, DueReport, ReportMaker
from tacit.owner.template import QuestionForm, Template
from tacit.owner.worker import Timetable
from tacit.sums.halves import no_rehearsal
from tacit.wire import WireError
from tacit.wire.envelopes import open_signed, public_bytes

log = logging.getLogger(__name__)
_LATELY = 4  # questions that are remembered


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


class Gate(ReportMaker):
    """Answers signed questions for the owners of `cohort`, named by `owners`, under one policy and
    one ledger.

    One owner is the usual case; a gateway holds many. `schema` is the public description by which
    rows were read. `clock` only says when questions have expired, which no budget depends on: it
    may be the campaign's. Times in the ledger are this machine's. With a `template` only questions
    within it are answered, as often as it says, at the epsilon that the policy allows; what was
    spent elsewhere shows in nothing. Threads may share a gate: while some wait for their moment,
    the rows of others are worked on.
    """

    def __init__(
        self,
        cohort: Cohort,
        owners: Sequence[str],
        schema: Schema,
        policy: Policy,
        ledger: Ledger,
        key: Ed25519PublicKey,
        *,
        clock: Callable[[], float] | None = None,
        template: Template | None = None,
    ) -> None:
        if not len(owners) == len(set(owners)) == len(cohort):
            raise ValueError(
                f"owners must name each of {len(cohort)} owners once, got {len(owners)} names"
            )
        if not (
            cohort.X.shape[1] == schema.dim and ((cohort.y >= 0) & (cohort.y < schema.codes)).all()
        ):
            raise ValueError(
                f"rows must have {schema.dim} numbers and a label of the schema, got "
                f"{cohort.X.shape[1]}"
            )
        if policy.helper is not None:
            no_rehearsal("helper of the policy", bytes.fromhex(policy.helper))
        super().__init__(cohort, owners, policy)
        self._schema = schema
        self._schema_digest = digest_of(schema)
        self._ledger = ledger
        self._key = key
        self._pin = public_bytes(key).hex()
        self._clock = clock
        self._template = template
        self._successors: tuple[bytes, ...] = ()
        self._lately: dict[bytes, Invitation] = {}
        self._agreed: dict[bytes, _Terms] = {}
        self._timetable = Timetable(float(OVERHEAD))
        self._moment = threading.local()

    def renew_keys(
        self, key: Ed25519PublicKey, first: bytes, template: Template, helpers: Sequence[bytes]
    ) -> None:
        """Take questions that another key signs from now on, which took the place of the one
        before; the ledger goes on to know the campaign by its `first`. The template is what it was,
        but for the keys that halves are sealed to; `helpers` are those that took the place of the
        one which the policy names.
        """
        self._key, self._template, self._successors = key, template, tuple(helpers)
        self._pin = first.hex()
        self._lately, self._agreed = {}, {}

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
        if not all(owner in self._place for owner in owners):
            raise ValueError("owners must be among those of this gate")
        began, step = time.monotonic(), float(self._policy.time_step)
        self._moment.named = False
        try:
            return self._answers(question, owners)
        finally:
            if step > 0 and not self._moment.named:
                time.sleep(-(time.monotonic() - began) % step)

    def _answers(self, question: bytes, owners: Sequence[str]) -> list[bytes | RefusedError]:
        """Reports are made before they are paid for, while nobody waits for the ledger; what has
        changed there meanwhile decides, and what was made in vain is forgotten. The transaction
        vouches also for what was read before it: nothing is said, or repeated, without one.
        """
        invitation = self._admit(question)
        said: dict[str, bytes | RefusedError] = {}
        left = list(dict.fromkeys(owners))
        while left:
            with self._ledger.glance() as book:
                due, looked_at = self._due(book, left, invitation, said), book.head
            reports = self._reports(invitation, due) if due else []
            with self._ledger.transaction() as book:
                now = due
                if book.head != looked_at:  # the head of a chain of all lines: else nothing changed
                    now = self._due(book, [each.owner for each in due], invitation, said)
                for each, report in zip(due, reports, strict=True):
                    if each in now:
                        cost = self._cost(book, each, invitation)
                        book.add(self._entry(invitation, each, cost, report))
                        said[each.owner] = report
            left = [each.owner for each in now if each not in due]
            if due:
                log.info("question %s of campaign %s", invitation.number, invitation.campaign)
        return [said[owner] for owner in owners]

    def _due(
        self,
        book: Book,
        owners: Sequence[str],
        invitation: Invitation,
        said: dict[str, bytes | RefusedError],
    ) -> list[DueReport]:
        """What is still to be said by these owners; what is known already goes into `said`."""
        due = []
        for owner in owners:
            before = self._answered(book, owner, invitation)
            if before is not None:
                said[owner] = before.report
            elif (found := self._decision(book, owner, invitation)) is None:
                said[owner] = RefusedError(Reason.SPENT)
            else:
                due.append(found)
        return due

    def _answered(self, book: Book, owner: str, invitation: Invitation) -> Entry | None:
        """What was said to this question before, also where it went by its invitation. In a sum an
        owner is once, in whatever invitations and by whichever campaign it is asked for: twice it
        would have twice the length, beside noise for one.
        """
        name = invitation.sum_digest
        before = None if name is None else book.find(owner, name, None)
        return before or book.find(owner, invitation.digest, self._pin)

    def _decision(self, book: Book, owner: str, invitation: Invitation) -> DueReport | None:
        """At which of the offered epsilons this owner answers, and whether it pays; None: it does
        not answer.

        With a template it answers at the one that the policy allows, as often as was agreed,
        whatever was spent elsewhere. If it cannot pay it says what an owner without rows says, and
        is charged nothing: that tells nothing about rows.
        """
        able, form = self._level(book, owner, invitation), self._terms(invitation).form
        if form is None:
            return None if able is None else DueReport(owner, able, paid=True)
        agreed = self._terms(invitation).highest
        answered = book.count_answers(owner, self._campaign(invitation), invitation.query.what)
        if not answered < form.times:
            return None
        return DueReport(owner, agreed, paid=able is not None and agreed <= able)

    def _level(self, book: Book, owner: str, invitation: Invitation) -> int | None:
        """Which of the offered epsilons this owner can still pay; None: none, or no release is
        left.
        """
        spent, releases, counts = book.spending_of(owner)
        if not releases < self._policy.releases:
            return None
        query = invitation.query
        if query.delta:
            cost = self._cost(book, DueReport(owner, 0, paid=True), invitation)
            delta = book.delta_of(owner, self._campaign(invitation), rational(query.delta))
            return 0 if self._policy.pays(query, cost, spent, counts, delta) else None
        return self._policy.level(query.epsilons, spent, counts, query.how)

    def _cost(self, book: Book, due: DueReport, invitation: Invitation) -> Fraction:
        """The epsilon that an answer adds to what this owner has spent: where it has a delta, as
        Gaussian noise composes within its campaign, and with the first answer for all that were
        agreed to; nothing, if it is made from no rows.
        """
        query = invitation.query
        if not due.paid:
            return Fraction(0)
        if not query.delta:
            return rational(query.epsilons[due.level])
        noise = due.owner, self._campaign(invitation), rational(query.delta)
        form = self._terms(invitation).form
        agreed = Fraction(0) if form is None else form.times * query.rho
        together = max(book.rho_of(*noise) + query.rho, agreed)
        return max(
            Fraction(0), added_epsilon(Fraction(0), together, query.delta) - book.charged_of(*noise)
        )

    def _campaign(self, invitation: Invitation) -> CampaignId:
        return CampaignId(invitation.campaign, self._pin)

    def _entry(
        self, invitation: Invitation, due: DueReport, cost: Fraction, report: bytes
    ) -> Entry:
        """A line of the ledger."""
        query = invitation.query
        return Entry(
            owner=due.owner,
            digest=invitation.answered_as,
            campaign=invitation.campaign,
            number=invitation.number,
            at=int(time.time()),
            epsilon=str(cost),
            unit=query.unit,
            what=query.what,
            how=query.how,
            report=report,
            rho=str(query.rho if due.paid else 0),
            delta=str(rational(query.delta) if due.paid else 0),
            key=self._pin,
        )

    def _admit(self, question: bytes) -> Invitation:
        """The question, if it is signed, timely, allowed and harmless; no rows and no budget are
        looked at. What was admitted lately is not checked again, but for its time.
        """
        lately = self._lately.get(question)
        if lately is None:
            lately = self._check_first(question)
            self._lately = dict([*self._lately.items(), (question, lately)][-_LATELY:])
        elif not self._now() < lately.expires:
            raise RefusedError(Reason.EXPIRED)
        return lately

    def _check_first(self, question: bytes) -> Invitation:
        """A question that comes for the first time."""
        try:
            invitation = open_signed(
                question, Invitation, PURPOSE, self._key, self._policy.largest_query
            )
        except WireError as problem:
            raise RefusedError(Reason.UNREADABLE, str(problem)) from None
        if not self._now() < invitation.expires:
            raise RefusedError(Reason.EXPIRED)
        objection = self._objection(invitation)
        if objection:
            raise RefusedError(Reason.FORBIDDEN, objection)
        query = invitation.query
        highest = self._policy.level(query.epsilons, Fraction(0), how=query.how)
        if highest is None:
            raise RefusedError(Reason.SPENT)
        objection = self._excess(query)
        if objection:
            raise RefusedError(Reason.FORBIDDEN, objection)
        self._timetable.wait()
        if not self._works(invitation, highest):
            raise RefusedError(
                Reason.FORBIDDEN, "the question cannot be answered by an owner without rows"
            )
        return invitation

    def _terms(self, invitation: Invitation) -> "_Terms":
        """What template and policy say of a question, found once."""
        found = self._agreed.get(invitation.digest)
        if found is None:
            query = invitation.query
            form = None if self._template is None else self._template.form_of(query)
            highest = self._policy.level(query.epsilons, Fraction(0), how=query.how)
            cost, nobody = query.cost(self._policy.rows_of(query)), query.cost(0)
            found = _Terms(form, 0 if highest is None else highest, cost, nobody)
            self._agreed = dict([*self._agreed.items(), (invitation.digest, found)][-_LATELY:])
        return found

    def _objection(self, invitation: Invitation) -> str:
        """Why this question may not be answered, whatever the budget; empty: it may."""
        query, schema = invitation.query, self._schema
        try:
            if invitation.schema != self._schema_digest:
                return "the question is made for another schema than the owner's rows"
            if (query.dim, query.classes) != (schema.dim, schema.labels):
                return "the question is made for other rows than the schema says"
            if self._template is not None:
                columns, label = self._template.columns, self._template.label
                barred = self._policy.refuse_columns(columns, label)
                outside = barred or self._template.objection(invitation)
                if outside:
                    return outside
            return self._policy.objection(invitation, self._successors)
        except Exception:  # of a question of which we know nothing but who signed it
            return "the question contradicts itself"

    def _excess(self, query: Query) -> str:
        """Why the question is too much work, whatever the rows; empty: it is not."""
        try:
            return self._policy.too_costly(query)
        except Exception:  # of a question of which we know nothing but who signed it
            return "the question contradicts itself"

    def _reports(self, invitation: Invitation, due: list[DueReport]) -> list[bytes]:
        """Reports of owners, all at the moment that question and policy name: when the worker will
        be done with them if everything before them, and they, take as long as they may.
        """
        if self._worker is None:
            return self._make_reports(invitation, due)
        terms = self._terms(invitation)
        cost, instead = terms.cost.times(len(due)), terms.nobody.times(len(due))
        ends = self._timetable.moment_of((cost + instead).seconds)
        # what is said if work is abandoned is drawn before rows are touched: on a busy machine it
        # takes a while, and work is abandoned for some rows sooner than for others
        without = self._make_reports(invitation, [each._replace(paid=False) for each in due])
        reports = self._compute_apart(invitation, due, ends - PACKING, cost.memory) or without
        time.sleep(max(0.0, ends - time.monotonic()))
        self._moment.named = True
        return reports

    def _now(self) -> float:
        return time.time() if self._clock is None else self._clock()

    def __reduce__(self) -> str:
        raise TypeError("a gate cannot be copied or pickled: it holds an owner's rows")

    def __repr__(self) -> str:
        return f"Gate({len(self._place)} owners)"


@dataclass(frozen=True)
class _Terms:
    """The form that a question has in the template, the place of the largest epsilon that the
    policy allows, and what one owner's answer takes at most, of its rows and of none.
    """

    form: QuestionForm | None
    highest: int
    cost: Cost
    nobody: Cost
