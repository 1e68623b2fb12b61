"""Gates with a leak each: every one must be caught by the audit that is there for it."""

import logging
import time
import warnings
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import numpy as np

from tacit.learners.learner import ReportTerms
from tacit.learners.query import pack
from tacit.mechanisms.base import Reports
from tacit.mechanisms.streams import secure, seeded
from tacit.owner.gate import Gate, RefusedError
from tacit.owner.ledger import Book, Ledger


def louder(query, factor):
    """The same question with more epsilon than it says."""
    return replace(query, terms=ReportTerms(query.how, tuple(factor * e for e in query.epsilons)))


class Rows(Gate):
    """Helps mutants to look at rows where they must not."""

    def rows(self, owner):
        place = self._place.get(owner, 0)
        return self._cohort[place : place + 1]


# Caught by non-interference
# ---------------------------------------------------------------------------


class LogsRows(Gate):
    def _release(self, query, cohort, epsilons, coins):
        logging.getLogger("tacit.quiet").debug("%d rows", len(cohort.y))
        return super()._release(query, cohort, epsilons, coins)


class RowInRefusal(Gate):
    def _answers(self, question, owners):
        try:
            return super()._answers(question, owners)
        except RefusedError as refused:
            raise RefusedError(refused.reason, f"{self._cohort.X.sum()}") from None


class RowBehindRefusal(Gate):
    """The refusal is clean; the error behind it is not."""

    def _answers(self, question, owners):
        try:
            return super()._answers(question, owners)
        except RefusedError as refused:
            raise RefusedError(refused.reason) from ValueError(f"after {len(self._cohort.y)} rows")


class RefusesFew(Rows):
    def _level(self, book, owner, invitation):
        return super()._level(book, owner, invitation) if len(self.rows(owner).y) > 3 else None


class LevelByData(Rows):
    def _level(self, book, owner, invitation):
        level = super()._level(book, owner, invitation)
        return 0 if level and self.rows(owner).y.sum() > 0 else level


class LongerForMore(Rows):
    def _make_reports(self, invitation, fresh):
        said = super()._make_reports(invitation, fresh)
        return [
            report + bytes(len(self.rows(o).y) // 100)
            for report, (o, _, _) in zip(said, fresh, strict=True)
        ]


class SlowForMany(Gate):
    def _release(self, query, cohort, epsilons, coins):
        time.sleep(len(cohort.y) * 1e-6)
        return super()._release(query, cohort, epsilons, coins)


class Prints(Gate):
    def _release(self, query, cohort, epsilons, coins):
        print(end="." * (len(cohort.y) > 0))
        return super()._release(query, cohort, epsilons, coins)


class Warns(Gate):
    def _release(self, query, cohort, epsilons, coins):
        if (np.abs(cohort.X) == 1).all() and len(cohort.y):
            warnings.warn("all rows lie on the edge", stacklevel=1)
        return super()._release(query, cohort, epsilons, coins)


class WritesFile(Gate):
    def _release(self, query, cohort, epsilons, coins):
        with open("/dev/null" if len(cohort.y) > 50 else "/dev/full", "w"):
            return super()._release(query, cohort, epsilons, coins)


class FailsOnNone(Gate):
    def _answers(self, question, owners):
        if not len(self._cohort.y):
            raise RuntimeError("no rows")
        return super()._answers(question, owners)


class SortsOwners(Rows):
    def _answers(self, question, owners):
        return super()._answers(question, sorted(owners, key=lambda owner: len(self.rows(owner).y)))


class ChargesBySize(Rows):
    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        rows = self.rows

        class Uneven(Book):
            def add(self, entry):
                super().add(replace(entry, what=entry.what + "." * (len(rows(entry.owner).y) > 50)))

        self._ledger = ledger_with(self._ledger, Uneven)


# Caught by bounds on epsilon
# --------------------------------------------------------------------------


class RawSometimes(Gate):
    """One owner in twenty sends the sampled coordinate of its share as it is (Piecewise)."""

    def _release(self, query, cohort, epsilons, coins):
        said = super()._release(query, cohort, epsilons, coins)
        law = query.mechanism(epsilons).laws[0]
        values = np.take_along_axis(
            query.learner.share(query, cohort), said.indices.astype(np.int64), axis=1
        )
        raw = np.rint((values + 1) / 2 * law.steps + law.width / 2).astype(said.points.dtype)
        chosen = coins.child("whom").words(np.arange(len(cohort)), 0, 1) % np.uint64(20) == 0
        return Reports(np.where(chosen, raw, said.points), said.indices)


class EpsilonForEach(Gate):
    """Spends the whole epsilon on each of two parts: twice what is charged."""

    def _release(self, query, cohort, epsilons, coins):
        return super()._release(louder(query, 2.0), cohort, 2.0 * epsilons, coins)


class FortyPercentMore(Gate):
    def _release(self, query, cohort, epsilons, coins):
        return super()._release(louder(query, 1.4), cohort, 1.4 * epsilons, coins)


class Watermark(Gate):
    """The lowest bit of a report is the owner's label, wherever that lies."""

    def _release(self, query, cohort, epsilons, coins):
        said = super()._release(query, cohort, epsilons, coins)
        labels = np.array([cohort.y[first] if last > first else 0 for first, last in _ends(cohort)])
        points = said.points.copy()
        points[:, 0] = (points[:, 0] & ~points.dtype.type(1)) | labels.astype(points.dtype)
        return Reports(points, said.indices)


class RefusesClass(Rows):
    """Owners of one class are refused."""

    def _level(self, book, owner, invitation):
        return None if self.rows(owner).y.sum() else super()._level(book, owner, invitation)


# Caught by the books
# ----------------------------------------------------------------------------------


def ledger_with(ledger, kind):
    """The same ledger on disk with another kind of book."""

    class Changed(Ledger):
        @contextmanager
        def transaction(self):
            with super().transaction() as book:
                book.__class__ = kind
                yield book

        glance = transaction

    return Changed(ledger.path, ledger.mark)


class FreeWhenExtreme(Gate):
    """Reports that say much are not charged."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)

        class Sparing(Book):
            def add(self, entry):
                if entry.report[8] < 56:
                    super().add(entry)

        self._ledger = ledger_with(self._ledger, Sparing)


class Forgets(Gate):
    """The ledger does not find what was said before."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)

        class Forgetful(Book):
            def find(self, owner, digest, key=""):
                return None

            def add(self, entry):
                if super().find(entry.owner, entry.digest, entry.key) is None:
                    super().add(entry)

            def spending_of(self, owner):
                return (0, 0, 0)

        self._ledger = ledger_with(self._ledger, Forgetful)


class NeverSpent(Gate):
    """Answers every new question, whatever was spent before."""

    def _level(self, book, owner, invitation):
        return self._policy.level(invitation.query.epsilons, Fraction(0))


class OneTooMany(Gate):
    """Counts from 0: one release more than the policy allows."""

    def _level(self, book, owner, invitation):
        query, (spent, releases, counts) = invitation.query, book.spending_of(owner)
        if not releases <= self._policy.releases:
            return None
        return self._policy.level(query.epsilons, spent, counts, query.how)


class FreeFirst(Gate):
    """The first question of a campaign is not charged."""

    def _cost(self, book, due, invitation):
        return Fraction(0) if invitation.number == 1 else super()._cost(book, due, invitation)


class ChargesHalf(Gate):
    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)

        class Cheap(Book):
            def add(self, entry):
                super().add(replace(entry, epsilon=str(entry.cost / 2)))

        self._ledger = ledger_with(self._ledger, Cheap)


# Caught by looking at coins
# ---------------------------------------------------------------------------


class OneTape(Gate):
    """The same seed for every question and start."""

    def _coins(self, query):
        return seeded(7)


class SeedOfQuestion(Gate):
    """Questions differ, but a gate that is started again repeats itself."""

    def _admit(self, question):
        invitation = super()._admit(question)
        self._number = invitation.number
        return invitation

    def _coins(self, query):
        return seeded(7).child(getattr(self, "_number", 0))


class SharedByOwners(Gate):
    """Fresh for every question, but one draw for all owners."""

    def _make_reports(self, invitation, fresh):
        word = int(secure().words(np.zeros(1, np.int64), 0, 1)[0, 0] >> np.uint64(1))
        query = invitation.query
        said = []
        for owner, level, _ in fresh:
            place = self._place[owner]
            coins = seeded(word)
            report = self._release(
                query, self._cohort[place : place + 1], np.array([query.epsilons[level]]), coins
            )
            said.append(pack(invitation.digest, level, report))
        return said


def _ends(cohort):
    return zip(cohort.offsets[:-1].tolist(), cohort.offsets[1:].tolist(), strict=True)


INTERFERING = {
    LogsRows: "log",
    RowInRefusal: "error",
    RowBehindRefusal: "error",
    RefusesFew: "answer",
    LevelByData: "answer",
    LongerForMore: "answer",
    SlowForMany: "sleep",
    Prints: "stdout",
    Warns: "warning",
    WritesFile: "system",
    FailsOnNone: "error",
    SortsOwners: "answer",
    ChargesBySize: "ledger",
}
TELLING = [RawSometimes, EpsilonForEach, FortyPercentMore, Watermark, RefusesClass]
MISKEEPING = {
    FreeWhenExtreme: "not in the ledger",
    Forgets: "changed when the question was repeated",
    NeverSpent: "than the policy allows",
    OneTooMany: "in number than the policy allows",
    FreeFirst: "charged less",
    ChargesHalf: "charged less",
}
RESEEDING = {OneTape: "questions", SeedOfQuestion: "started again", SharedByOwners: "owners share"}
