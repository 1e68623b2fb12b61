"""The helper: the second server of sums over owners, as an ASGI service with its public key for
everybody and sums for the campaigns it serves.

A block of halves is checked, and what is proven is added to the batch's sum, once: the same block
again is answered from the same bytes and adds nothing. The sum is released once, and repeated ever
after. All of it is durable before it is said.

A campaign speaks of its own batches alone: whoever signs has to show that it has the coordinator's
key of the batch, too (`Batch.bond`). So what another campaign knows of a batch, or makes up, has no
way in. Campaigns work beside each other: each has so many connections, so many requests at once,
so much room on disk, and as many keys as a line of them may have.

It is run by somebody other than the coordinator. Only `tacit.cli` may import it; it imports
protocol, never coordinator or device.
"""

import hmac
import logging
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit._util.checks import whole
from tacit._util.kernels import cores
from tacit._util.stopping import make_private, replace_file, use_journal
from tacit.mechanisms.streams import Stream, secure
from tacit.service.protocol.door import ConnectionLimits
from tacit.service.protocol.guard import Guard, Limits, leave_to_guard, prove
from tacit.service.protocol.handshake import BOND, OWNER, Claim, UnsignedError
from tacit.service.protocol.serving import Figures, Watch
from tacit.service.protocol.succession import (
    CAMPAIGN,
    HELPER,
    MOST,
    STATEMENTS,
    KeyLine,
    KeyRing,
    find_first,
)
from tacit.service.protocol.waiting import Turns
from tacit.service.protocol.web import answer_http_error, error
from tacit.sums.halves import TallyLaw
from tacit.sums.protocol import Block, HelperSide, SumRequest
from tacit.sums.secure_sum import SumRefusedError
from tacit.sums.vector_terms import RecordTerms, VectorTerms
from tacit.wire import WireError, decode, encode
from tacit.wire.envelopes import Vault, check_storage

log = logging.getLogger(__name__)
LARGEST = 1 << 20  # bytes of a request: a block has half of it, and something around it
# connections: few come here, keep them, and bring much
FEW = ConnectionLimits(
    most=256,
    per_address=16,
    per_member=16,
    burst=64.0,
    per_second=10.0,
    handshakes=25.0,
    members_handshakes=25.0,
    late_handshakes=5.0,
)
LAWS = (TallyLaw, VectorTerms)  # of sums that a helper adds up
KEEP = 1 << 30  # bytes on disk that a campaign may have: some eight million owners' reports
_ROW = 128  # bytes of a small row with its keys, of a nonce for one
_SECONDS = 300.0  # for one to arrive
_AT_ONCE = 2  # requests of one campaign that are worked on; others of it wait
_BLOCKS = 1e9  # of a campaign a second: how many are worked on at once is the limit
_BLOCK, _SUM = "/v1/block", "/v1/sum"


class ForeignBatchError(Exception):
    """A batch of which the campaign that signs may not speak."""


class FullError(Exception):
    """More would have to be kept of a campaign than may be."""


@dataclass(frozen=True)
class Speaker:
    """The key (hex) that signed a request, and what shows that the batch is that campaign's."""

    campaign: str
    bond: str


class Sheets:
    """What the helper keeps on disk of every batch: its blocks and their sum, the nonces that were
    counted, and its release; which keys of campaigns took the place of others, and how much each
    campaign keeps: at most `keep` bytes. With a `vault` sums and releases are encrypted; those that
    are there become so.

    How many releases there were stands in a file of its own (`mark_of`), too: an old copy of this
    one, or none, would release again what was released, with fresh noise, and is refused.
    """

    def __init__(self, path: Path, vault: Vault | None = None, keep: int = KEEP) -> None:
        self._lock = threading.Lock()
        self._vault, self._keep = vault, keep
        self._path, self._marked = path, _read_mark(path)
        make_private(path, "releases", "releases", "tacit helper")
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
                "successors (old BLOB PRIMARY KEY, new BLOB NOT NULL)",
                "kept (campaign BLOB PRIMARY KEY, bytes INTEGER NOT NULL)",
                "counted (batch BLOB PRIMARY KEY)",  # in what is kept of a campaign
            ):
                self._connection.execute(f"CREATE TABLE IF NOT EXISTS {table} WITHOUT ROWID")
            self._compare_mark()
            if self._connection.execute("SELECT 1 FROM counted").fetchone() is None:
                self._connection.execute("DELETE FROM kept")  # counted anew, batch by batch
            mark = self._connection.execute("SELECT mark FROM storage").fetchone()
            check_storage(vault, None if mark is None else bytes(mark[0]), str(path))
            if vault is not None and mark is None:
                self._encrypt(vault)
        if vault is not None and mark is None:  # nothing in the clear is left in the journal
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def nonces_before(self, batch: bytes, place: int, nonces: Collection[bytes]) -> set[bytes]:
        """Those of some nonces that earlier blocks have counted."""
        wanted = "SELECT 1 FROM nonces WHERE batch = ? AND nonce = ? AND place < ?"
        with self._lock:
            ask = self._connection.execute
            return {each for each in nonces if ask(wanted, (batch, each, place)).fetchone()}

    def find_block(self, block: Block, request: bytes) -> bool:
        """Whether this block was counted; other bytes in its place, a gap before it, or a block
        after the release are a `SumRefusedError`.
        """
        batch, there = block.batch.digest, self.count_blocks(block.batch.digest)
        if block.place < there:
            wanted = "SELECT request FROM blocks WHERE batch = ? AND place = ?"
            before = self._connection.execute(wanted, (batch, block.place)).fetchone()
            if bytes(before[0]) != _digest(request):
                raise SumRefusedError("another block was counted in this place")
            return True
        if block.place > there or self._find_release(batch) is not None:
            raise SumRefusedError("this block comes too early, or after the release")
        return False

    def count_blocks(self, batch: bytes) -> int:
        """How many blocks of a batch were counted."""
        last = "SELECT MAX(place) FROM blocks WHERE batch = ?"
        (place,) = self._connection.execute(last, (batch,)).fetchone()
        return 0 if place is None else int(place) + 1

    def add_block(
        self, block: Block, request: bytes, side: HelperSide, new: list[bytes], campaign: str
    ) -> None:
        """Write down what a block added, for a campaign. The last block of a batch has the sum of
        all: what came before it is not kept beside it.
        """
        batch = block.batch.digest
        for each in self.sums_of(batch):
            side.resume(*each)
        gone = "UPDATE blocks SET total = x'', counted = 0 WHERE batch = ? AND length(total) > 0"
        self._connection.execute(gone, (batch,))
        total = self._seal(side.total, batch)
        self._connection.execute(
            "INSERT INTO blocks (batch, place, request, total, counted) VALUES (?, ?, ?, ?, ?)",
            (batch, block.place, _digest(request), total, side.counted),
        )
        self._connection.executemany(
            "INSERT INTO nonces (batch, nonce, place) VALUES (?, ?, ?)",
            [(batch, nonce, block.place) for nonce in new],
        )
        first = 0 if block.place else len(total)
        self._charge(campaign, batch, first + _ROW * (1 + len(new)))

    def sums_of(self, batch: bytes) -> list[tuple[bytes, int]]:
        """Sum and count of all blocks; of each, where a release of before wrote them down."""
        wanted = "SELECT total, counted FROM blocks WHERE batch = ? AND length(total) > 0"
        rows = self._connection.execute(wanted, (batch,)).fetchall()
        return [(self._open(bytes(row[0]), batch), int(row[1])) for row in rows]

    def answer(
        self, batch: bytes, request: bytes, campaign: str, draw: Callable[[], bytes]
    ) -> bytes:
        """The release of a campaign's batch, or the one that `draw` makes now, once and for all."""
        found = self._find_release(batch)
        if found is None:
            said = draw()
            self._connection.execute(
                "INSERT INTO releases (batch, request, answer) VALUES (?, ?, ?)",
                (batch, _digest(request), self._seal(said, batch)),
            )
            self._charge(campaign, batch, _ROW + len(said))
            return said
        if found[0] != _digest(request):
            raise SumRefusedError("this batch was released for other owners; it is released once")
        return found[1]

    def keep_mark(self) -> None:
        """Have what was released counted outside of this file as well, before it is told."""
        with self.transaction():
            self._compare_mark()

    def _compare_mark(self) -> None:
        """Write down how many releases there are; fewer than there were is a `ValueError`."""
        (count,) = self._connection.execute("SELECT COUNT(*) FROM releases").fetchone()
        if not count >= (self._marked or 0):
            raise ValueError(
                f"{self._path} is not the latest: it has {count} releases of {self._marked}, and "
                "would make the others again with fresh noise; put the latest back, or take a new "
                "key (an empty --state)"
            )
        if count != self._marked:
            replace_file(mark_of(self._path), b"%d" % count)
            self._marked = count

    def follow(self, line: KeyLine) -> None:
        """Write down that keys took the place of others; the first word about each counts. What was
        kept of them is kept of the last. `FullError`: a campaign has had so many keys already.
        """
        with self.transaction():
            added = "INSERT OR IGNORE INTO successors (old, new) VALUES (?, ?)"
            self._connection.executemany(added, pairwise(line.keys))
            (before,) = self._connection.execute(_BEFORE, (line.current,)).fetchone()
            if not before <= MOST:
                raise FullError(f"a campaign has had {MOST} keys before this one")
            for key in line.keys[:-1]:
                mine = "DELETE FROM kept WHERE campaign = ? RETURNING bytes"
                for (size,) in self._connection.execute(mine, (key,)).fetchall():
                    self._connection.execute(_MORE, (line.current, size)).fetchone()

    def kept(self) -> dict[str, float]:
        """Bytes that are kept of campaigns, by their keys (hex)."""
        with self._lock:
            rows = self._connection.execute("SELECT campaign, bytes FROM kept").fetchall()
        return {bytes(campaign).hex(): float(size) for campaign, size in rows}

    def _charge(self, campaign: str, batch: bytes, size: int) -> None:
        """So much more is kept of a campaign's batch; when it is first spoken of, all that is there
        of it, whoever wrote that. `FullError`: more than may be.
        """
        first = "INSERT OR IGNORE INTO counted (batch) VALUES (?)"
        if self._connection.execute(first, (batch,)).rowcount:
            (size,) = self._connection.execute(_SIZE, {"batch": batch, "row": _ROW}).fetchone()
        (kept,) = self._connection.execute(_MORE, (bytes.fromhex(campaign), size)).fetchone()
        if not kept <= self._keep:
            raise FullError(f"{kept} bytes would be kept of a campaign, at most {self._keep} may")

    def key_in_use(self, campaign: str) -> str:
        """The key (hex) at the end of what was written down of one."""
        rows = self._connection.execute("SELECT old, new FROM successors").fetchall()
        following = {bytes(old).hex(): bytes(new).hex() for old, new in rows}
        for _ in following:  # no line is longer, whatever a file has in it
            campaign = following.get(campaign, campaign)
        return campaign

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
                # constants of this function
                f"SELECT batch, {column} FROM {table} WHERE length({column}) > 0"  # noqa: S608
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


_MORE = (
    "INSERT INTO kept (campaign, bytes) VALUES (?, ?) "
    "ON CONFLICT (campaign) DO UPDATE SET bytes = bytes + excluded.bytes RETURNING bytes"
)
# of all rows of a batch
_SIZE = (
    "SELECT (SELECT COALESCE(SUM(:row + length(total)), 0) FROM blocks WHERE batch = :batch)"
    " + (SELECT :row * COUNT(*) FROM nonces WHERE batch = :batch)"
    " + (SELECT COALESCE(SUM(:row + length(answer)), 0) FROM releases WHERE batch = :batch)"
)
# how many keys a key took the place of, one after the other
_BEFORE = (
    "WITH RECURSIVE before (key) AS (SELECT old FROM successors WHERE new = ? "
    "UNION SELECT old FROM successors JOIN before ON new = key) SELECT COUNT(*) FROM before"
)


def mark_of(path: Path) -> Path:
    """Where the number of releases of a file of sheets stands, on a name that is none of its own:
    who deletes or puts back `released.*` leaves it as it is.
    """
    return path.parent / f"mark-of-{path.stem}"


def _read_mark(path: Path) -> int | None:
    """The number of releases that there were; None: nobody has counted them."""
    try:
        return int(mark_of(path).read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        raise ValueError(
            f"{mark_of(path)} must hold a number of releases; put it back as it was"
        ) from None


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
        # a key that was replaced is not heard again, whatever the command line says
        self._campaigns = {sheets.key_in_use(name.lower()) for name in campaigns}
        self._turns = Turns(_AT_ONCE, cores())
        self._minimum = whole("minimum", minimum, 1)
        self._noise = secure() if noise is None else noise
        self.watch = Watch(sheets.ping, lambda: {"": self._figures()})

    @property
    def public(self) -> str:
        """The key that owners pin and seal to, in hex."""
        return self._ring.line.current.hex()

    def check(self, body: bytes, speaker: Speaker) -> bytes:
        """What was found in a block, the same whenever its bytes come; a `WireError`,
        `ForeignBatchError` or `SumRefusedError` if nothing.
        """
        block = decode(body, Block, LARGEST)
        side = self._side(block, speaker)
        with self._sheets.transaction():
            repeated = self._sheets.find_block(block, body)
        known = partial(self._sheets.nonces_before, block.batch.digest, block.place)
        checked, counted = side.check(block, known)  # takes a while, so not under the lock
        if not repeated:
            with self._sheets.transaction():
                if not self._sheets.find_block(block, body):  # by another thread meanwhile
                    self._sheets.add_block(block, body, side, counted, speaker.campaign)
        return encode(checked)

    def total(self, body: bytes, speaker: Speaker) -> bytes:
        """The noisy sum of a batch, once, and the same bytes ever after."""
        request = decode(body, SumRequest, LARGEST)
        side = self._side(request, speaker)
        batch = request.batch.digest
        with self._sheets.transaction():
            for each in self._sheets.sums_of(batch):
                side.resume(*each)
            blocks = self._sheets.count_blocks(batch)
            if not (request.blocks, request.counted) == (blocks, side.counted):
                raise SumRefusedError("the coordinator counts other blocks, or other owners")
            sites = isinstance(request.batch.terms.law, RecordTerms)
            least = 1 if sites else self._minimum
            said = self._sheets.answer(
                batch, body, speaker.campaign, lambda: encode(side.release(least, self._noise))
            )
        self._sheets.keep_mark()
        return said

    def _side(self, about: Block | SumRequest, speaker: Speaker) -> HelperSide:
        """This server's part in a batch of the campaign that asks."""
        if not isinstance(about.batch.terms.law, LAWS):
            raise SumRefusedError("the terms have a law that this helper does not know")
        secret = self._ring.secrets.get(about.batch.terms.helper)
        if secret is None:
            raise SumRefusedError("the terms name another helper, or a key that was deleted")
        try:
            circuit = about.batch.terms.law.prio3.circuit
            if not circuit.output_len * circuit.field.size <= LARGEST:  # memory, and disk
                raise SumRefusedError("the sum has more numbers than an answer can hold")
            side = HelperSide(about.batch, X25519PrivateKey.from_private_bytes(secret))
            shown = side.bond(bytes.fromhex(speaker.campaign)).hex()
        except ValueError as problem:  # a coordinator's key that is no key, a size that is none
            raise SumRefusedError("the terms name a key or a size that is none") from problem
        if not hmac.compare_digest(shown.encode(), speaker.bond.encode()):
            raise ForeignBatchError("the campaign does not show that this batch is its own")
        return side

    def _figures(self) -> Figures:
        served = "tacit_campaigns", "", "Campaigns that are served."
        kept = "tacit_kept_bytes", "key", "Bytes on disk of a campaign, by its key."
        return {served: {"": float(len(self._campaigns))}, kept: self._sheets.kept()}

    def app(self) -> Guard:
        """The ASGI application."""
        made = Starlette(
            routes=[
                *self.watch.routes(),
                Route("/v1/key", self.key, methods=["GET"]),
                Route(_BLOCK, self.answer_signed(self.check), methods=["POST"]),
                Route(_SUM, self.answer_signed(self.total), methods=["POST"]),
            ],
            exception_handlers={HTTPException: answer_http_error, Exception: leave_to_guard},
        )
        made.router.redirect_slashes = False  # it would repeat whatever host a stranger names
        return Guard(
            made,
            Limits(seconds=_SECONDS, asks=_BLOCKS, asks_per_second=_BLOCKS),
            signed={("POST", _BLOCK), ("POST", _SUM)},
            sizes=self._size,
            observe=self.watch.observe,
            refused=self.watch.refuse,
        )

    def _size(self, path: str, headers: Mapping[bytes, bytes]) -> int | None:
        """Bytes that a body may have: much is read only of those that name a campaign."""
        named = headers.get(OWNER.encode(), b"").decode("latin-1").lower()
        statements = headers.get(STATEMENTS.encode(), b"").decode("latin-1")
        return LARGEST if named in self._campaigns or self._line_to(named, statements) else None

    def _line_to(self, campaign: str, statements: str) -> KeyLine | None:
        """How a key took the place of one that is served, if it did."""
        try:
            said = [bytes.fromhex(each) for each in statements.split(",")] if statements else []
            known = find_first(said, self._campaigns)
            if known is None:
                return None  # nothing is verified for strangers
            CAMPAIGN.line(said[known:])  # first what a key that is served must have signed
            line = CAMPAIGN.line(said)
        except (WireError, ValueError):
            return None
        before = {key.hex() for key in line.keys[:-1]}
        return line if line.current.hex() == campaign and before & self._campaigns else None

    def _serves(self, campaign: str, statements: str) -> bool:
        """Whether a campaign that signed is served: its key is named, or took the place of one that
        is. From then on that one is not heard any more.
        """
        if campaign in self._campaigns:
            return True
        line = self._line_to(campaign, statements)
        if line is None:
            return False
        self._sheets.follow(line)
        before = {key.hex() for key in line.keys}
        for name in before:
            self._turns.forget(name)
        self._campaigns = self._campaigns - before | {campaign}
        log.info("a campaign's key was replaced, as the one before it says")
        return True

    async def key(self, request: Request) -> Response:
        statements = [each.hex() for each in self._ring.statements]
        return JSONResponse({"key": self.public, "statements": statements})

    def answer_signed(
        self, work: Callable[[bytes, Speaker], bytes]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A route that does this work for the campaigns that are served, and for nobody else."""

        async def answer(request: Request) -> Response:
            body = await request.body()
            try:
                by = _signing_campaign(request, body)
            except UnsignedError:
                return error("unsigned", 401)
            speaker = Speaker(by, request.headers.get(BOND, ""))
            try:
                if not self._serves(by, request.headers.get(STATEMENTS, "")):
                    return error("forbidden", 403)
                prove(request.scope, by.encode())
                async with self._turns.turn_of(by):
                    said = await run_in_threadpool(work, body, speaker)
            except WireError:
                return error("malformed", 400)
            except ForeignBatchError as refused:
                log.warning("a request was refused: %s", refused)
                return error("forbidden", 403)
            except SumRefusedError as refused:
                log.info("a request was refused: %s", refused)
                return error("refused", 409)
            except FullError as refused:
                log.warning("a request was refused (tacit helper --keep): %s", refused)
                return error("full", 507)
            return Response(said, media_type="application/octet-stream")

        answer.__name__ = work.__name__  # by which logs and counts tell blocks from sums
        return answer


def _signing_campaign(request: Request, body: bytes) -> str:
    """The campaign that signed a request with its own key, or `UnsignedError`."""
    try:
        campaign = bytes.fromhex(request.headers.get(OWNER, ""))
    except ValueError:
        raise UnsignedError from None
    route = request.method, request.url.path
    return Claim.of(campaign, route, request.headers, body).signer(time.time())
