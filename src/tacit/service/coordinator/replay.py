"""Runs the algorithm of a campaign up to where the database is.

The algorithm is a generator without I/O. Its transcript is in the database: the questions in order
with the reports to them, or with the verdict where two servers added reports up, since noise is
drawn once. Whoever starts anew runs the algorithm from the beginning with the answers already
there, which gives the same state to the bit (sums of reports are whole numbers), up to the first
question without an answer. So a kill at any moment loses nothing, and any worker can take over.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit._util.types import FloatArray
from tacit.algorithms.boosting import Verdict
from tacit.algorithms.peers import Roll
from tacit.data.cohort import Public
from tacit.learners.learner import ShareQuery, Tally
from tacit.learners.query import PURPOSE, Answer, Invitation, Query, unpack
from tacit.mechanisms.base import Reports
from tacit.service.coordinator.peers import Rosters
from tacit.service.coordinator.status import Accuracy, accuracy
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import CLOSED, VOID, Question
from tacit.service.kinds.kind import CampaignTerms
from tacit.wire import decode
from tacit.wire.envelopes import open_signed

_NOT_BEGUN = -1


@dataclass(frozen=True, eq=False)
class Campaign:
    """What a campaign is run with: its terms, the data user's sample, the key that signs, rows to
    compare models on, where there are some, and what its plan says, where there is one.
    """

    terms: CampaignTerms
    public: Public
    key: Ed25519PrivateKey = field(repr=False)
    test: Public | None = None
    plan: str = ""

    def query_of(self, question: Question) -> Query:
        """What a question of the database asks."""
        return open_signed(question.data, Invitation, PURPOSE, self.key.public_key()).query


class TranscriptReplay:
    """The algorithm of a campaign, told what the database knows.

    `query` is what it asks now, `accuracies` how precise answers to it were, by question.
    """

    def __init__(self, store: Store, campaign: Campaign, rosters: Rosters | None) -> None:
        self._store = store
        self._campaign = campaign
        self._rosters = rosters
        self._algorithm: Generator[Any, Any, Any] | None = None
        self._questions_told = _NOT_BEGUN
        self._rosters_told = 0
        self.query: Query | Tally | Roll | None = None
        self.accuracies: dict[int, Accuracy] = {}

    def forget(self) -> None:
        """Begin anew the next time: another worker drove meanwhile, or the algorithm has ended."""
        self._questions_told = _NOT_BEGUN

    def catch_up(self, asked: list[Question]) -> None:
        """Bring the algorithm to where all that was asked has been told; StopIteration when it
        has ended.
        """
        if self._algorithm is None or not 0 <= self._questions_told <= len(asked):
            self._algorithm = self._campaign.terms.run(self._campaign.public)
            self._questions_told = self._rosters_told = 0
            self.query, self.accuracies = next(self._algorithm), {}
        self._tell_rosters()
        for question in asked[self._questions_told :]:
            if self.query is None or isinstance(self.query, Roll):
                raise RuntimeError("the transcript has more answers than the algorithm asks for")
            if question.state == CLOSED or not _is_put_again(self.query):
                self.query = self._algorithm.send(self._answer(question, self.query))
            self._questions_told += 1
            self._tell_rosters()

    def give_up(self) -> None:
        """Tell the algorithm that what it asks will not be answered, until it asks nothing more:
        StopIteration.
        """
        while self._algorithm is not None:
            self._algorithm.send(None)

    def _tell_rosters(self) -> None:
        """Answer a roll with the roster that was written down for it, if it was."""
        if self._rosters is None or self._algorithm is None or not isinstance(self.query, Roll):
            return
        known = self._rosters.read()
        while isinstance(self.query, Roll) and self._rosters_told < len(known):
            self.query = self._algorithm.send(known[self._rosters_told])
            self._rosters_told += 1

    def _answer(self, question: Question, query: Query | Tally) -> Any:
        """What the reports to a question say, from the bytes in the database; None: nothing that
        counts.
        """
        if isinstance(query, Tally):
            return decode(question.answer or b"", Verdict)
        if question.answer is not None and isinstance(
            query, ShareQuery
        ):  # two servers have added up: noise is drawn once
            told = decode(question.answer, Answer)
            self.accuracies[question.number] = accuracy(query, np.zeros(0), told)
            return told
        if question.state == VOID or (
            self._rosters is not None and not self._rosters.find_signed(question.number)
        ):
            return None
        reports, epsilons = read_reports(self._store, question, query)
        answer = query.answer(query.collect(reports, epsilons))
        if isinstance(query, ShareQuery) and isinstance(answer, Answer):
            self.accuracies[question.number] = accuracy(query, epsilons, answer)
        return answer


def read_reports(
    store: Store, question: Question, query: Query, part: slice = slice(None)
) -> tuple[Reports, FloatArray]:
    """The reports to a question, or a part of them, with the epsilon of each, in the order of
    owners; of few, in that of their names.

    Sums of reports have no order, but where each report is looked at by itself a last bit may
    depend on it.
    """
    rows = store.reports_of(question.number, part)
    if query.unit == "record":
        names = store.labels()
        rows.sort(key=lambda row: (names[row[0]], row[0]))
    good, levels, reports = unpack([report for _, report in rows], question.digest, query)
    if not good.all():
        raise RuntimeError(
            f"question {question.number} of the database is not the one that was asked"
        )
    return reports, np.array(query.epsilons)[levels]


def _is_put_again(query: Query | Tally) -> bool:
    """Whether a question with too few answers is put again: to other owners, or to all for
    another sum.
    """
    return isinstance(query, Tally) or isinstance(query.owners, int)
