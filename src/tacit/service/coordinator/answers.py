"""Where a driver has answers from: the transcript in the database, and sums with the helper.

The algorithm is a generator without I/O. Its transcript is in the database: the questions in order
with the reports to them, or with the verdict where two servers added reports up, since noise is
drawn once. Whoever starts anew runs the algorithm from the beginning with the answers already
there, which gives the same state to the bit (sums of reports are whole numbers), up to the first
question without an answer. So a kill at any moment loses nothing, and any worker can take over.

In sums of two servers the coordinator has the helper check block after block, asks for its sum, and
opens. The helper counts a block once and releases a batch once, and repeats what it said. Blocks
are a function of the reports in the database. So whatever is killed, and whenever, the same
requests can be sent again, and a sum is opened once: the first answer that is written down counts.
It is written beside the keys as well, and first: a database put back from before that does not have
it opened again, with fresh noise.
"""

import logging
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import httpx
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit._util.stopping import read_or_create
from tacit._util.types import FloatArray
from tacit.algorithms.boosting import Verdict
from tacit.algorithms.peers import Roll
from tacit.data.cohort import Public
from tacit.learners.learner import ShareQuery, Tally
from tacit.learners.owners.sum_query import SealedQuery, SharesQuery, SumQuery
from tacit.learners.query import PURPOSE, Answer, Invitation, Query, unpack
from tacit.mechanisms.base import Reports
from tacit.mechanisms.streams import Stream, secure
from tacit.service.coordinator.keys import CampaignKeys
from tacit.service.coordinator.peers import Rosters
from tacit.service.coordinator.status import Accuracy, accuracy
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import CLOSED, VOID, Question
from tacit.service.kinds.kind import CampaignTerms
from tacit.service.protocol.handshake import (
    BOND,
    LONGEST,
    Request,
    TheirClock,
    fetch_blocking,
    request_headers,
)
from tacit.service.protocol.succession import STATEMENTS
from tacit.sums.halves import Batch, SumTerms, TallyLaw
from tacit.sums.protocol import Checked, CoordinatorSide, HelperSum, block_owners
from tacit.sums.secure_sum import SumAnswer, SumRefusedError
from tacit.wire import WireError, decode, encode
from tacit.wire.envelopes import open_signed, public_bytes

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


log = logging.getLogger(__name__)
BLOCK, SUM, KEY = "/v1/block", "/v1/sum", "/v1/key"  # at the helper
OPENED = "opened"  # the folder with what was told of sums, a file for each
_FIRST, _LONGEST = 0.5, 30.0  # seconds between tries
_Kind = TypeVar("_Kind")
Read = Callable[[int, int], Sequence[bytes]]  # reports from the so-manyth, at most so many


class AwayError(Exception):
    """The helper cannot be asked now; the same request may be sent again later."""


@dataclass(frozen=True)
class Added:
    """What came of a sum: what the algorithm is told; None where a server refused."""

    answer: Verdict | Answer | None


def _told(answer: Any) -> Verdict | Answer:
    """What an algorithm is told of a law's answer."""
    return Verdict.of(answer) if isinstance(answer, SumAnswer) else Answer(*answer)


def _read_told(file: Path, batch: Batch) -> Verdict | Answer:
    """What was told of a sum, as it was written down."""
    told = file.read_bytes()
    try:
        if isinstance(batch.terms.law, TallyLaw):
            return decode(told, Verdict)
        return decode(told, Answer)
    except WireError:
        raise WireError(f"{file} is damaged: put the last copy of it back") from None


@dataclass
class _Adding:
    """A sum that is being made: reports up to the `done`-th are counted."""

    side: CoordinatorSide
    done: int = 0
    ended: bool = False


class Sums:
    """Sums with the helper behind `client`, whose key the campaign's terms name; `tally` are the
    terms of sums of errors, `noise` is where the coordinator's comes from, `opened` a folder for
    what is told of sums (None: the database alone has it).
    """

    patience: ClassVar[float] = LONGEST  # seconds for an answer of the helper

    def __init__(
        self,
        servers: tuple[bytes, bytes],
        tally: SumTerms | None,
        keys: CampaignKeys,
        client: httpx.Client,
        noise: Stream | None = None,
        opened: Path | None = None,
    ) -> None:
        self._servers, self._tally = servers, tally
        self._keys, self._opened = keys, opened
        self._client = client
        self._noise = secure() if noise is None else noise
        self._pause, self._not_before = _FIRST, 0.0
        self._clock = TheirClock()
        self._adding: _Adding | None = None
        self._asking: Future[httpx.Response] | None = None

    def tally(self, tally: Tally, columns: int, number: int, attempt: int) -> SumQuery:
        """The question to everybody that answers a tally."""
        if self._tally is None:
            raise RuntimeError("the algorithm asks for sums of errors, and the terms have none")
        terms = SumTerms(self._tally.law, *self._fetch_keys())
        return SumQuery.of(tally, columns, number, attempt, terms)

    def shares(self, query: ShareQuery, number: int) -> SharesQuery:
        """The question that answers one for shares, as the so-manyth of its campaign."""
        return SharesQuery.of(query, number, self._fetch_keys())

    def _fetch_keys(self) -> tuple[bytes, bytes]:
        """The keys in use of coordinator and helper. A helper that cannot be asked now still has
        the ones that are known.
        """
        helper = self._servers[1]
        # what is nested too deep is no answer, either
        with suppress(httpx.TransportError, ValueError, KeyError, TypeError, RecursionError):
            said = self._fetch("GET", KEY, b"", {}).json()["statements"]
            self._keys.hear_helper(tuple(bytes.fromhex(each) for each in said), helper)
        return self._keys.sealing_keys(helper)

    def _fetch(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> httpx.Response:
        """The helper's answer, if all of it is there in time. Whoever sends it byte by byte has one
        thread wait for it, and nothing else: no other request is made meanwhile.
        """
        if self._asking is not None and not self._asking.done():
            raise httpx.ReadTimeout("the helper has not ended its last answer")
        asking = self._asking = Future[httpx.Response]()

        def ask() -> None:
            try:
                asking.set_result(fetch_blocking(self._client, method, path, body, headers))
            except Exception as problem:
                asking.set_exception(problem)

        threading.Thread(target=ask, daemon=True, name="helper").start()
        try:
            return asking.result(self.patience)
        except TimeoutError:
            raise httpx.ReadTimeout("the helper has not ended its answer in time") from None

    def go_on(self, query: SealedQuery, read: Read) -> Added | None:
        """One exchange with the helper: a block of reports, or the release. None: there is more to
        do; `AwayError`: not now. What was told of the sum before is told again.
        """
        before = self._told_before(query.batch)
        if before is not None:
            return Added(before)
        if time.monotonic() < self._not_before:
            raise AwayError
        try:
            added = self._exchange(self._resume_adding(query), read)
        except SumRefusedError as refused:
            log.warning("a sum was refused: %s", refused)
            added = Added(None)
        except AwayError:
            self._not_before = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST)
            raise
        if added is not None:
            self._adding = None
        return added

    def _told_before(self, batch: Batch) -> Verdict | Answer | None:
        """What was told of a sum, whatever the database has forgotten; None: nothing was."""
        place = self._place(batch)
        return _read_told(place, batch) if place is not None and place.exists() else None

    def _keep(self, batch: Batch, told: Verdict | Answer) -> Verdict | Answer:
        """Write down what is told of a sum, before anybody hears of it; the first word counts."""
        place = self._place(batch)
        if place is None:
            return told
        read_or_create(place, lambda: encode(told))
        return _read_told(place, batch)

    def _place(self, batch: Batch) -> Path | None:
        return None if self._opened is None else self._opened / batch.digest.hex()

    def _resume_adding(self, query: SealedQuery) -> _Adding:
        batch = query.batch
        if self._adding is None or self._adding.side.batch != batch:
            opening = self._keys.secret_of(batch.terms.coordinator)
            self._adding = _Adding(CoordinatorSide(batch, opening))
        return self._adding

    def _exchange(self, adding: _Adding, read: Read) -> Added | None:
        side = adding.side
        if adding.ended:
            said = self._ask_helper(SUM, side, encode(side.request), HelperSum)
            return Added(self._keep(side.batch, _told(side.open(said, self._noise))))
        size = block_owners(side.batch)
        reports = read(adding.done, size)
        side.take(self._ask_helper(BLOCK, side, encode(side.block(reports)), Checked))
        adding.done += len(reports)
        adding.ended = len(reports) < size
        return None

    def _ask_helper(
        self, path: str, side: CoordinatorSide, body: bytes, kind: type[_Kind]
    ) -> _Kind:
        """The helper's answer to a request about a batch of this campaign."""
        campaign = public_bytes(self._keys.key.public_key())
        asked = Request(campaign, "POST", path, int(self._clock.now()), body)
        headers = request_headers(asked, self._keys.key) | {BOND: side.bond(campaign).hex()}
        if self._keys.statements.campaign:
            headers[STATEMENTS] = ",".join(each.hex() for each in self._keys.statements.campaign)
        try:
            response = self._fetch("POST", path, body, headers)
        except httpx.TransportError as problem:
            log.warning("the helper is away (%s)", type(problem).__name__)
            raise AwayError from problem
        self._clock.learn(response.headers)
        if response.status_code == 409:
            raise SumRefusedError(
                "the helper refuses: too few valid halves, or it has counted others"
            )
        if response.status_code == 507:
            log.warning("the helper has no more room for this campaign: ask who runs it (--keep)")
            raise AwayError
        if response.status_code != 200:
            log.warning("the helper answers %d: does it serve this campaign?", response.status_code)
            raise AwayError
        self._pause = _FIRST
        try:
            return decode(response.content, kind)
        except WireError as problem:
            raise SumRefusedError("the helper's answer is not readable") from problem
