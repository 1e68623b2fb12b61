"""The coordinator's part in sums over all owners: ask everybody, relay what is sealed to the
helper, open the sum.

The helper answers a question once, and repeats its answer. So whatever is killed, and whenever, the
same relay can be sent again, and a sum is opened once: the first verdict that is written down
counts.
"""

import logging
import time
from collections.abc import Sequence

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.algorithms.boosting import Verdict
from tacit.learners.learner import Tally
from tacit.learners.owners.sum_query import SumQuery
from tacit.mechanisms.streams import Stream, secure
from tacit.service.protocol.handshake import sum_key
from tacit.service.protocol.signed_requests import (
    Request,
    TheirClock,
    fetch_blocking,
    request_headers,
)
from tacit.sums.base import SumRefusedError
from tacit.sums.protocol import CoordinatorSide, HelperSum, SumTerms
from tacit.wire import WireError, decode, encode
from tacit.wire.envelopes import public_bytes

log = logging.getLogger(__name__)
PATH = "/v1/sum"  # at the helper
_FIRST, _LONGEST = 0.5, 30.0  # seconds between tries


class AwayError(Exception):
    """The helper cannot be asked now; the same relay may be sent again later."""


class Sums:
    """Sums on the campaign's terms, with the helper behind `client`; `noise` is where the
    coordinator's comes from.
    """

    def __init__(
        self,
        terms: SumTerms,
        key: Ed25519PrivateKey,
        client: httpx.Client,
        noise: Stream | None = None,
    ) -> None:
        self._terms = terms
        self._signing, self._opening = key, sum_key(key)
        self._client = client
        self._noise = secure() if noise is None else noise
        self._pause, self._not_before = _FIRST, 0.0
        self._clock = TheirClock()

    def query(self, tally: Tally, columns: int, number: int, attempt: int) -> SumQuery:
        """The question to everybody that answers a tally."""
        return SumQuery.of(tally, columns, number, attempt, self._terms)

    def verdict(self, query: SumQuery, reports: Sequence[bytes]) -> Verdict | None:
        """What the reports add up to at both servers; None when one of them refuses;
        `AwayError`: not now.
        """
        if time.monotonic() < self._not_before:
            raise AwayError
        try:
            adding = CoordinatorSide(query.batch, reports, self._opening)
            return Verdict.of(adding.open(self._ask_helper(encode(adding.relay)), self._noise))
        except SumRefusedError as refused:
            log.warning("a sum was refused: %s", refused)
            return None
        except AwayError:
            self._not_before = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST)
            raise

    def _ask_helper(self, relay: bytes) -> HelperSum:
        """The helper's answer to a relay."""
        asked = Request(
            public_bytes(self._signing.public_key()), "POST", PATH, int(self._clock.now()), relay
        )
        headers = request_headers(asked, self._signing)
        try:
            response = fetch_blocking(self._client, "POST", PATH, relay, headers)
        except httpx.TransportError as problem:
            log.warning("the helper is away (%s)", type(problem).__name__)
            raise AwayError from problem
        self._clock.learn(response.headers)
        if response.status_code == 409:
            raise SumRefusedError(
                "the helper does not add these halves up: too few open, or it has answered others"
            )
        if response.status_code != 200:
            log.warning("the helper answers %d: does it serve this campaign?", response.status_code)
            raise AwayError
        self._pause = _FIRST
        try:
            return decode(response.content, HelperSum)
        except WireError as problem:
            raise SumRefusedError("the helper's answer is not readable") from problem
