"""The coordinator's part in sums of two servers: have the helper check block after block, ask for
its sum, open.

The helper counts a block once and releases a batch once, and repeats what it said. Blocks are a
function of the reports in the database. So whatever is killed, and whenever, the same requests can
be sent again, and a sum is opened once: the first answer that is written down counts.
"""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from tacit.learners.learner import ShareQuery, Tally
from tacit.learners.owners.sum_query import SealedQuery, SharesQuery, SumQuery
from tacit.mechanisms.streams import Stream, secure
from tacit.service.coordinator.keys import CampaignKeys
from tacit.service.protocol.handshake import (
    Request,
    TheirClock,
    fetch_blocking,
    request_headers,
)
from tacit.service.protocol.succession import STATEMENTS
from tacit.sums.halves import SumTerms
from tacit.sums.protocol import Checked, CoordinatorSide, HelperSum, block_owners
from tacit.sums.secure_sum import SumRefusedError
from tacit.wire import WireError, decode, encode
from tacit.wire.envelopes import public_bytes

log = logging.getLogger(__name__)
BLOCK, SUM, KEY = "/v1/block", "/v1/sum", "/v1/key"  # at the helper
_FIRST, _LONGEST = 0.5, 30.0  # seconds between tries
_Kind = TypeVar("_Kind")
Read = Callable[[int, int], Sequence[bytes]]  # reports from the so-manyth, at most so many


class AwayError(Exception):
    """The helper cannot be asked now; the same request may be sent again later."""


@dataclass(frozen=True)
class Added:
    """What came of a sum: the law's answer; None where a server refused."""

    answer: Any


@dataclass
class _Adding:
    """A sum that is being made: reports up to the `done`-th are counted."""

    side: CoordinatorSide
    done: int = 0
    ended: bool = False


class Sums:
    """Sums with the helper behind `client`, whose key the campaign's terms name; `tally` are the
    terms of sums of errors, `noise` is where the coordinator's comes from.
    """

    def __init__(
        self,
        servers: tuple[bytes, bytes],
        tally: SumTerms | None,
        keys: CampaignKeys,
        client: httpx.Client,
        noise: Stream | None = None,
    ) -> None:
        self._servers, self._tally = servers, tally
        self._keys = keys
        self._client = client
        self._noise = secure() if noise is None else noise
        self._pause, self._not_before = _FIRST, 0.0
        self._clock = TheirClock()
        self._adding: _Adding | None = None

    def tally(self, tally: Tally, columns: int, number: int, attempt: int) -> SumQuery:
        """The question to everybody that answers a tally."""
        if self._tally is None:
            raise RuntimeError("the algorithm asks for sums of errors, and the terms have none")
        terms = SumTerms(self._tally.law, *self._sealing())
        return SumQuery.of(tally, columns, number, attempt, terms)

    def shares(self, query: ShareQuery, number: int) -> SharesQuery:
        """The question that answers one for shares, as the so-manyth of its campaign."""
        return SharesQuery.of(query, number, self._sealing())

    def _sealing(self) -> tuple[bytes, bytes]:
        """The keys in use of coordinator and helper. A helper that cannot be asked now still has
        the ones that are known.
        """
        helper = self._servers[1]
        with suppress(httpx.TransportError, ValueError, KeyError, TypeError):
            said = fetch_blocking(self._client, "GET", KEY, b"", {}).json()["statements"]
            self._keys.hear_helper(tuple(bytes.fromhex(each) for each in said), helper)
        return self._keys.sealing(helper)

    def go_on(self, query: SealedQuery, read: Read) -> Added | None:
        """One exchange with the helper: a block of reports, or the release. None: there is more to
        do; `AwayError`: not now.
        """
        if time.monotonic() < self._not_before:
            raise AwayError
        try:
            added = self._exchange(self._adding_of(query), read)
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

    def _adding_of(self, query: SealedQuery) -> _Adding:
        batch = query.batch
        if self._adding is None or self._adding.side.batch != batch:
            opening = self._keys.opening(batch.terms.coordinator)
            self._adding = _Adding(CoordinatorSide(batch, opening))
        return self._adding

    def _exchange(self, adding: _Adding, read: Read) -> Added | None:
        side = adding.side
        if adding.ended:
            said = self._ask_helper(SUM, encode(side.request), HelperSum)
            return Added(side.open(said, self._noise))
        size = block_owners(side.batch)
        reports = read(adding.done, size)
        side.take(self._ask_helper(BLOCK, encode(side.block(reports)), Checked))
        adding.done += len(reports)
        adding.ended = len(reports) < size
        return None

    def _ask_helper(self, path: str, body: bytes, kind: type[_Kind]) -> _Kind:
        """The helper's answer to a request."""
        campaign = public_bytes(self._keys.key.public_key())
        asked = Request(campaign, "POST", path, int(self._clock.now()), body)
        headers = request_headers(asked, self._keys.key)
        if self._keys.said.campaign:
            headers[STATEMENTS] = ",".join(each.hex() for each in self._keys.said.campaign)
        try:
            response = fetch_blocking(self._client, "POST", path, body, headers)
        except httpx.TransportError as problem:
            log.warning("the helper is away (%s)", type(problem).__name__)
            raise AwayError from problem
        self._clock.learn(response.headers)
        if response.status_code == 409:
            raise SumRefusedError(
                "the helper refuses: too few valid halves, or it has counted others"
            )
        if response.status_code != 200:
            log.warning("the helper answers %d: does it serve this campaign?", response.status_code)
            raise AwayError
        self._pause = _FIRST
        try:
            return decode(response.content, kind)
        except WireError as problem:
            raise SumRefusedError("the helper's answer is not readable") from problem
