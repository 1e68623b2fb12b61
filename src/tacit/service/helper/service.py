"""The helper: the second server of sums over all owners, as an ASGI service with its public key for
everybody and sums for the campaigns it serves. What it has released is kept durably: a question is
answered once, and the same answer repeated ever after.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit._util.checks import whole
from tacit._util.durable import make_private, use_journal
from tacit.mechanisms.streams import Stream, secure
from tacit.service.protocol.guard import Guard, Limits, leave_to_guard
from tacit.service.protocol.signed_requests import OWNER, Claim, UnsignedError
from tacit.sums.base import SumRefusedError
from tacit.sums.protocol import HelperSide, RelayedHalves
from tacit.wire import WireError, decode, encode


class Answers:
    """Releases on disk."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        make_private(path)
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        use_journal(self._connection)
        with self._transaction():
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS releases "
                "(question BLOB PRIMARY KEY, relay BLOB NOT NULL, answer BLOB NOT NULL) "
                "WITHOUT ROWID"
            )

    def find(self, question: bytes, relay: bytes) -> bytes | None:
        """The answer that was given; None: none yet. Other halves than it was given for are a
        `SumRefusedError`.
        """
        with self._transaction():
            return self._find(question, relay)

    def answer(self, question: bytes, relay: bytes, draw: Callable[[], bytes]) -> bytes:
        """The answer that was given, or the one that `draw` gives now, once and for all."""
        with self._transaction():
            found = self._find(question, relay)
            if found is None:
                found = draw()
                row = question, _digest(relay), found
                self._connection.execute(
                    "INSERT INTO releases (question, relay, answer) VALUES (?, ?, ?)", row
                )
            return found

    def close(self) -> None:
        self._connection.close()

    def _find(self, question: bytes, relay: bytes) -> bytes | None:
        wanted = "SELECT relay, answer FROM releases WHERE question = ?"
        known = self._connection.execute(wanted, (question,)).fetchone()
        if known is None:
            return None
        if known[0] != _digest(relay):
            raise SumRefusedError(
                "this question was answered for other halves; a helper releases a batch once"
            )
        return bytes(known[1])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:  # threads of this process; BEGIN IMMEDIATE keeps processes apart
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _digest(relay: bytes) -> bytes:
    return blake2b(relay, digest_size=32).digest()


log = logging.getLogger(__name__)
LARGEST = 16 << 20  # bytes of a relay: a quarter of a million owners
_SECONDS = 300.0  # for a relay to arrive
_KINDS = {401: "unauthorised", 404: "not found", 405: "method"}


class Helper:
    """Adds up the halves sealed to `key`, for the `campaigns` named by their keys (hex),
    `minimum` owners at least.
    """

    def __init__(
        self,
        key: X25519PrivateKey,
        answers: Answers,
        campaigns: Collection[str],
        minimum: int = 10,
        noise: Stream | None = None,
    ) -> None:
        self._key = key
        self._answers = answers
        self._campaigns = {name.lower() for name in campaigns}
        self._minimum = whole("minimum", minimum, 1)
        self._noise = secure() if noise is None else noise

    @property
    def public(self) -> str:
        """The key that owners pin and seal to, in hex."""
        return self._key.public_key().public_bytes_raw().hex()

    def total(self, body: bytes) -> bytes:
        """The answer to a relay's bytes, the same whenever they come; a `WireError` or
        `SumRefusedError` if none.
        """
        relay = decode(body, RelayedHalves, LARGEST)
        question = relay.batch.question
        known = self._answers.find(question, body)
        if known is not None:
            return known
        # takes a while, so not under the lock
        helping = HelperSide(relay, self._key, self._minimum)
        return self._answers.answer(question, body, lambda: encode(helping.release(self._noise)))

    def app(self) -> Guard:
        """The ASGI application."""
        made = Starlette(
            routes=[
                Route("/v1/key", self.key, methods=["GET"]),
                Route("/v1/sum", self.sum, methods=["POST"]),
            ],
            exception_handlers={HTTPException: _http_error, Exception: leave_to_guard},
        )
        return Guard(made, Limits(body=LARGEST, seconds=_SECONDS))

    async def key(self, request: Request) -> Response:
        return JSONResponse({"key": self.public})

    async def sum(self, request: Request) -> Response:
        body = await request.body()
        try:
            by = _signing_campaign(request, body)
        except UnsignedError:
            return _error("unsigned", 401)
        if by not in self._campaigns:
            return _error("forbidden", 403)
        try:
            answer = await run_in_threadpool(self.total, body)
        except WireError:
            return _error("malformed", 400)
        except SumRefusedError as refused:
            log.info("a sum was refused: %s", refused)
            return _error("refused", 409)
        return Response(answer, media_type="application/octet-stream")


def _signing_campaign(request: Request, body: bytes) -> str:
    """The campaign that signed a request with its own key, or `UnsignedError`."""
    try:
        campaign = bytes.fromhex(request.headers.get(OWNER, ""))
    except ValueError:
        raise UnsignedError from None
    route = request.method, request.url.path
    return Claim.of(campaign, route, request.headers, body).signer(time.time())


def _error(kind: str, code: int) -> JSONResponse:
    """Every error: its kind, nothing else."""
    return JSONResponse({"error": kind}, status_code=code)


async def _http_error(request: Request, problem: Exception) -> Response:
    code = problem.status_code if isinstance(problem, HTTPException) else 400
    return _error(_KINDS.get(code, "refused"), code)
