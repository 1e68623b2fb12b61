"""The helper: the second server of sums over owners, as an ASGI service with its public key for
everybody and sums for the campaigns it serves.

A block of halves is checked, and what is proven is added to the batch's sum, once: the same block
again is answered from the same bytes and adds nothing. The sum is released once, and repeated ever
after. All of it is durable before it is said.

It is run by somebody other than the coordinator. Only `tacit.cli` may import it; it imports
protocol, never coordinator or device.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
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
from tacit._util.stopping import make_private, use_journal
from tacit.mechanisms.streams import Stream, secure
from tacit.service.protocol.door import ConnectionLimits
from tacit.service.protocol.guard import Guard, Limits, leave_to_guard, prove
from tacit.service.protocol.handshake import OWNER, Claim, UnsignedError
from tacit.service.protocol.serving import Figures, Watch
from tacit.service.protocol.succession import CAMPAIGN, HELPER, STATEMENTS, KeyRing
from tacit.sums.halves import TallyLaw
from tacit.sums.protocol import Block, HelperSide, SumRequest
from tacit.sums.secure_sum import SumRefusedError
from tacit.sums.vector_terms import RecordTerms, VectorTerms
from tacit.wire import WireError, decode, encode
from tacit.wire.envelopes import Vault, check_storage

log = logging.getLogger(__name__)
LARGEST = 16 << 20  # bytes of a request
# connections: few come here, and what they bring is large
FEW = ConnectionLimits(most=256, per_address=16, burst=64.0, per_second=10.0)
LAWS = (TallyLaw, VectorTerms)  # of sums that a helper adds up
_SECONDS = 300.0  # for one to arrive
_KINDS = {401: "unauthorised", 404: "not found", 405: "method"}


class Sheets:
    """What the helper keeps on disk of every batch: its blocks with their sums, the nonces that
    were counted, and its release. With a `vault` sums and releases are encrypted; those that are
    there become so.
    """

    def __init__(self, path: Path, vault: Vault | None = None) -> None:
        self._lock = threading.Lock()
        self._vault = vault
        make_private(path)
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        use_journal(self._connection)
        with self.transaction():
            for table in (
                "blocks (batch BLOB, place INTEGER, request BLOB NOT NULL, total BLOB NOT NULL, "
                "counted INTEGER NOT NULL, PRIMARY KEY (batch, place))",
                "nonces (batch BLOB, nonce BLOB, place INTEGER NOT NULL, "
                "PRIMARY KEY (batch, nonce))",
                "releases (batch BLOB PRIMARY KEY, request BLOB NOT NULL, answer BLOB NOT NULL)",
                "storage (mark BLOB PRIMARY KEY)",
            ):
                self._connection.execute(f"CREATE TABLE IF NOT EXISTS {table} WITHOUT ROWID")
            mark = self._connection.execute("SELECT mark FROM storage").fetchone()
            check_storage(vault, None if mark is None else bytes(mark[0]), str(path))
            if vault is not None and mark is None:
                self._encrypt(vault)

    def nonces_before(self, batch: bytes, place: int) -> set[bytes]:
        """Nonces that earlier blocks have counted."""
        wanted = "SELECT nonce FROM nonces WHERE batch = ? AND place < ?"
        return {bytes(nonce) for (nonce,) in self._connection.execute(wanted, (batch, place))}

    def find_block(self, block: Block, request: bytes) -> bool:
        """Whether this block was counted; other bytes in its place, a gap before it, or a block
        after the release are a `SumRefusedError`.
        """
        batch = block.batch.digest
        rows = self._connection.execute(
            "SELECT place, request FROM blocks WHERE batch = ? ORDER BY place", (batch,)
        ).fetchall()
        if block.place < len(rows):
            if bytes(rows[block.place][1]) != _digest(request):
                raise SumRefusedError("another block was counted in this place")
            return True
        if block.place > len(rows) or self._find_release(batch) is not None:
            raise SumRefusedError("this block comes too early, or after the release")
        return False

    def add_block(self, block: Block, request: bytes, side: HelperSide, new: list[bytes]) -> None:
        """Write down what a block added."""
        batch = block.batch.digest
        self._connection.execute(
            "INSERT INTO blocks (batch, place, request, total, counted) VALUES (?, ?, ?, ?, ?)",
            (batch, block.place, _digest(request), self._seal(side.total, batch), side.counted),
        )
        self._connection.executemany(
            "INSERT INTO nonces (batch, nonce, place) VALUES (?, ?, ?)",
            [(batch, nonce, block.place) for nonce in new],
        )

    def sums_of(self, batch: bytes) -> list[tuple[bytes, int]]:
        """Sum and count of each block."""
        wanted = "SELECT total, counted FROM blocks WHERE batch = ? ORDER BY place"
        rows = self._connection.execute(wanted, (batch,)).fetchall()
        return [(self._open(bytes(row[0]), batch), int(row[1])) for row in rows]

    def answer(self, batch: bytes, request: bytes, draw: Callable[[], bytes]) -> bytes:
        """The release of a batch, or the one that `draw` makes now, once and for all."""
        found = self._find_release(batch)
        if found is None:
            said = draw()
            self._connection.execute(
                "INSERT INTO releases (batch, request, answer) VALUES (?, ?, ?)",
                (batch, _digest(request), self._seal(said, batch)),
            )
            return said
        if found[0] != _digest(request):
            raise SumRefusedError("this batch was released for other owners; it is released once")
        return found[1]

    def close(self) -> None:
        self._connection.close()

    def _find_release(self, batch: bytes) -> tuple[bytes, bytes] | None:
        wanted = "SELECT request, answer FROM releases WHERE batch = ?"
        found = self._connection.execute(wanted, (batch,)).fetchone()
        return None if found is None else (bytes(found[0]), self._open(bytes(found[1]), batch))

    def _encrypt(self, vault: Vault) -> None:
        """What was written in the clear, and the mark of the key."""
        for table, column in (("blocks", "total"), ("releases", "answer")):
            plain = self._connection.execute(
                f"SELECT batch, {column} FROM {table}"  # noqa: S608 - constants of this function
            ).fetchall()
            change = f"UPDATE {table} SET {column} = ? WHERE batch = ? AND {column} = ?"  # noqa: S608
            for batch, content in plain:
                sealed = vault.seal(bytes(content), bytes(batch).hex())
                self._connection.execute(change, (sealed, batch, content))
        self._connection.execute("INSERT INTO storage (mark) VALUES (?)", (vault.mark,))

    def _seal(self, plain: bytes, batch: bytes) -> bytes:
        return plain if self._vault is None else self._vault.seal(plain, batch.hex())

    def _open(self, sealed: bytes, batch: bytes) -> bytes:
        found = sealed if self._vault is None else self._vault.open(sealed, batch.hex())
        if found is None:
            raise SumRefusedError("what is written down of this batch was changed")
        return found

    def ping(self) -> None:
        """An error, if the disk cannot be read."""
        with self._lock:
            self._connection.execute("SELECT 1")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is read and written inside happens at once, or not at all."""
        with self._lock:  # threads of this process; BEGIN IMMEDIATE keeps processes apart
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _digest(request: bytes) -> bytes:
    return blake2b(request, digest_size=32).digest()


class Helper:
    """Verifies and adds up the halves sealed to `key`, or to one of `ring` that it took the place
    of, for the `campaigns` named by their keys (hex), `minimum` owners at least. Sites are few: of
    them a sum needs as many as its own terms say.
    """

    def __init__(
        self,
        key: X25519PrivateKey,
        sheets: Sheets,
        campaigns: Collection[str],
        minimum: int = 10,
        noise: Stream | None = None,
        *,
        ring: KeyRing | None = None,
    ) -> None:
        self._ring = ring or KeyRing.of(HELPER, key.private_bytes_raw())
        self._sheets = sheets
        self._campaigns = {name.lower() for name in campaigns}
        self._minimum = whole("minimum", minimum, 1)
        self._noise = secure() if noise is None else noise
        self.watch = Watch(sheets.ping, lambda: {"": self._figures()})

    @property
    def public(self) -> str:
        """The key that owners pin and seal to, in hex."""
        return self._ring.line.current.hex()

    def check(self, body: bytes) -> bytes:
        """What was found in a block, the same whenever its bytes come; a `WireError` or
        `SumRefusedError` if nothing.
        """
        block = decode(body, Block, LARGEST)
        side = self._side(block)
        with self._sheets.transaction():
            known = self._sheets.nonces_before(block.batch.digest, block.place)
            repeated = self._sheets.find_block(block, body)
        checked, counted = side.check(block, known)  # takes a while, so not under the lock
        if not repeated:
            with self._sheets.transaction():
                if not self._sheets.find_block(block, body):  # by another thread meanwhile
                    self._sheets.add_block(block, body, side, counted)
        return encode(checked)

    def total(self, body: bytes) -> bytes:
        """The noisy sum of a batch, once, and the same bytes ever after."""
        request = decode(body, SumRequest, LARGEST)
        side = self._side(request)
        batch = request.batch.digest
        with self._sheets.transaction():
            sums = self._sheets.sums_of(batch)
            for each in sums:
                side.resume(*each)
            if not (request.blocks, request.counted) == (len(sums), side.counted):
                raise SumRefusedError("the coordinator counts other blocks, or other owners")
            sites = isinstance(request.batch.terms.law, RecordTerms)
            least = 1 if sites else self._minimum
            return self._sheets.answer(
                batch, body, lambda: encode(side.release(least, self._noise))
            )

    def _side(self, about: Block | SumRequest) -> HelperSide:
        if not isinstance(about.batch.terms.law, LAWS):
            raise SumRefusedError("the terms have a law that this helper does not know")
        secret = self._ring.secrets.get(about.batch.terms.helper)
        if secret is None:
            raise SumRefusedError("the terms name another helper, or a key that was deleted")
        try:
            return HelperSide(about.batch, X25519PrivateKey.from_private_bytes(secret))
        except ValueError as problem:  # a coordinator's key that is no key
            raise SumRefusedError("the terms name a key that is none") from problem

    def _figures(self) -> Figures:
        served = "tacit_campaigns", "", "Campaigns that are served."
        return {served: {"": float(len(self._campaigns))}}

    def app(self) -> Guard:
        """The ASGI application."""
        made = Starlette(
            routes=[
                *self.watch.routes(),
                Route("/v1/key", self.key, methods=["GET"]),
                Route("/v1/block", self.answer_signed(self.check), methods=["POST"]),
                Route("/v1/sum", self.answer_signed(self.total), methods=["POST"]),
            ],
            exception_handlers={HTTPException: _http_error, Exception: leave_to_guard},
        )
        observe = self.watch.observe
        return Guard(made, Limits(seconds=_SECONDS), sizes=self._size, observe=observe)

    def _size(self, path: str, headers: Mapping[bytes, bytes]) -> int | None:
        """Bytes that a body may have: much is read only of those that name a campaign."""
        named = headers.get(OWNER.encode(), b"").decode("latin-1").lower()
        statements = headers.get(STATEMENTS.encode(), b"").decode("latin-1")
        return LARGEST if self._serves(named, statements) else None

    def _serves(self, campaign: str, statements: str) -> bool:
        """Whether a campaign is served: its key is named, or took the place of one that is. From
        then on that one is not heard any more.
        """
        if campaign in self._campaigns or not statements:
            return campaign in self._campaigns
        try:
            line = CAMPAIGN.line([bytes.fromhex(each) for each in statements.split(",")])
        except (WireError, ValueError):
            return False
        before = {key.hex() for key in line.keys[:-1]}
        if line.current.hex() != campaign or not before & self._campaigns:
            return False
        self._campaigns = self._campaigns - before | {campaign}
        log.info("a campaign's key was replaced, as the one before it says")
        return True

    async def key(self, request: Request) -> Response:
        statements = [each.hex() for each in self._ring.statements]
        return JSONResponse({"key": self.public, "statements": statements})

    def answer_signed(
        self, work: Callable[[bytes], bytes]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A route that does this work for the campaigns that are served, and for nobody else."""

        async def answer(request: Request) -> Response:
            body = await request.body()
            try:
                by = _signing_campaign(request, body)
            except UnsignedError:
                return _error("unsigned", 401)
            if not self._serves(by, request.headers.get(STATEMENTS, "")):
                return _error("forbidden", 403)
            prove(request.scope)
            try:
                said = await run_in_threadpool(work, body)
            except WireError:
                return _error("malformed", 400)
            except SumRefusedError as refused:
                log.info("a request was refused: %s", refused)
                return _error("refused", 409)
            return Response(said, media_type="application/octet-stream")

        return answer


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
