"""How two servers verify and add up the reports to one question, without a socket.

    coordinator: open its halves of a block of owners, query them  -> Block, with what it found
    helper:      open its halves of these, query, judge, add what is proven to its sum
                                                                   -> Checked, what it found
    coordinator: judge, add what is proven to its sum; ... block after block; then -> SumRequest
    helper:      its sum and its noise, once                                       -> HelperSum
    coordinator: its own sum and its own noise, once; open

One exchange for a block and one for the release. Both servers judge by the same function of what
both found (prio3/batch.py), so they count the same owners; a server that says otherwise is not
believed. All but the noise is a function of reports and keys: whoever was killed does it again and
says the same. Proof: two_servers.md.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit._util.checks import bad, whole
from tacit._util.types import BoolArray, ByteArray, WordArray
from tacit.mechanisms.streams import Stream
from tacit.sums.halves import COORDINATOR, HELPER, Batch, OpenedHalves, open_halves
from tacit.sums.prio3.batch import Code, Opened, Server, message_size
from tacit.sums.prio3.instances import Sizes
from tacit.sums.secure_sum import SumRefusedError
from tacit.wire import message

_TOLD_BYTES = 1 << 19  # that a server tells of a block
_OWN_BYTES = 1 << 24  # of the coordinator's halves of a block
_BLOCK_OWNERS = 1024  # checked in one exchange


@message("sum.block")
@dataclass(frozen=True)
class Block:
    """From the coordinator: the helper's halves of some owners, which it cannot open, and what it
    found in its own halves of the same owners. `place` counts the blocks of a batch from 0.
    """

    batch: Batch
    place: int
    halves: bytes
    told: bytes

    def __post_init__(self) -> None:
        whole("place", self.place, 0)
        size = self.batch.half_size(HELPER)
        owners, rest = divmod(len(self.halves), size)
        if rest or not len(self.told) == owners * message_size(self.batch.terms.law.prio3):
            raise bad("halves", f"pieces of {size} bytes, and what was found in each", rest)

    @property
    def pieces(self) -> list[bytes]:
        size = self.batch.half_size(HELPER)
        return [self.halves[at : at + size] for at in range(0, len(self.halves), size)]


@message("sum.checked")
@dataclass(frozen=True)
class Checked:
    """From the helper: what it found in its halves of a block, owner by owner."""

    batch: bytes
    place: int
    told: bytes


@message("sum.request")
@dataclass(frozen=True)
class SumRequest:
    """From the coordinator: the sum of the first `blocks` blocks, in which so many owners count."""

    batch: Batch
    blocks: int
    counted: int


@message("sum.added")
@dataclass(frozen=True)
class HelperSum:
    """From the helper, once for a batch: how many owners it counted, and its noisy sum as field
    elements.
    """

    batch: bytes
    counted: int
    total: bytes


class ServerSide:
    """What both servers have: a sum of proven halves of one batch, and what it says in the end."""

    def __init__(self, batch: Batch, place: int, key: X25519PrivateKey) -> None:
        self.batch = batch
        self._place, self._key = place, key
        self._law = batch.terms.law
        self._server = Server(
            self._law.prio3, batch.application, place, key=batch.verify_key(place, key)
        )

    @property
    def counted(self) -> int:
        """Owners in the sum."""
        return self._server.counted

    @property
    def total(self) -> bytes:
        """This server's sum so far, as field elements: it says nothing without the other's."""
        return bytes(self._law.prio3.circuit.field.encode(self._server.total[None])[0])

    def bond(self, campaign: bytes) -> bytes:
        """What shows that this campaign may speak of this batch: it has the coordinator's key."""
        return self.batch.bond(self._place, self._key, campaign)

    def resume(self, total: bytes, counted: int) -> None:
        """Add what was counted before."""
        field = self._law.prio3.circuit.field
        elements, _ = field.decode(np.frombuffer(total, np.uint8)[None])
        self._server.total = field.add(self._server.total, elements[0])
        self._server.counted += counted

    def _query(self, halves: OpenedHalves, repeated: BoolArray) -> Opened:
        return self._server.open(halves.nonces, halves.public, halves.inputs, repeated)

    def _rows(self, told: bytes, owners: int) -> ByteArray:
        return np.frombuffer(told, np.uint8).reshape(owners, message_size(self._law.prio3))

    def noisy_sum(self, least: int, noise: Stream) -> WordArray:
        """This server's sum with its own full noise; fewer owners, and more than whose sum is sure
        not to wrap round, are a `SumRefusedError`.
        """
        if not self.counted >= max(least, self._law.minimum):
            raise SumRefusedError(
                f"a sum needs at least minimum={max(least, self._law.minimum)} owners with valid "
                f"proofs, got {self.counted}"
            )
        field = self._law.prio3.circuit.field
        # a half of what does not wrap round is for both servers' noise: millions of its scales
        if not self.counted * self._law.most <= field.modulus // 4:
            raise SumRefusedError(f"a sum of {self.counted} owners could wrap round")
        tape = self._law.tape(self.batch, noise).child("noise", "ab"[self._place])
        drawn = self._law.draw_noise(tape)
        return field.add(self._server.total, field.from_small(drawn))


class HelperSide(ServerSide):
    """The helper's part. What it keeps between blocks is `total`, `counted` and nonces; a caller
    that stores them may make it anew for each request.
    """

    def __init__(self, batch: Batch, key: X25519PrivateKey) -> None:
        super().__init__(batch, HELPER, key)

    def check(
        self, block: Block, known: Callable[[Collection[bytes]], set[bytes]]
    ) -> tuple[Checked, list[bytes]]:
        """Judge a block and count what is proven, but no nonce that earlier blocks have: `known`
        says which of some are; also the nonces that were counted.
        """
        pieces = block.pieces
        halves = open_halves(pieces, self.batch, HELPER, self._key)
        before = known([nonce.tobytes() for nonce in halves.nonces])
        opened = self._query(halves, _among(halves.nonces, before))
        found = np.full((len(pieces), message_size(self._law.prio3)), 0xFF, np.uint8)
        found[halves.places] = opened.told
        theirs = self._rows(block.told, len(pieces))[halves.places]
        accepted = self._server.judge(opened, [theirs]) == Code.ACCEPTED
        self._server.count(opened, accepted)
        counted = [nonce.tobytes() for nonce in halves.nonces[accepted]]
        return Checked(self.batch.digest, block.place, found.tobytes()), counted

    def release(self, least: int, noise: Stream) -> HelperSum:
        """The noisy sum; whoever calls sees to it that this happens once for a batch."""
        field = self._law.prio3.circuit.field
        total = bytes(field.encode(self.noisy_sum(least, noise)[None])[0])
        return HelperSum(self.batch.digest, self.counted, total)


class CoordinatorSide(ServerSide):
    """The coordinator's part in one sum over some owners' reports, each two sealed halves."""

    def __init__(self, batch: Batch, key: X25519PrivateKey) -> None:
        super().__init__(batch, COORDINATOR, key)
        self._known: set[bytes] = set()
        self._blocks = 0
        self._open: tuple[Block, Opened, ByteArray] | None = None

    def block(self, reports: Sequence[bytes]) -> Block:
        """The next block, of these reports: those whose own half opens and may be valid, in an
        order of sealed bytes, which are random. In that of owners the helper would know who was who
        in the question before.
        """
        cut, reports = self.batch.half_size(COORDINATOR), sorted(reports)
        halves = open_halves(
            [report[:cut] for report in reports], self.batch, COORDINATOR, self._key
        )
        opened = self._query(halves, _among(halves.nonces, self._known))
        theirs = [reports[place][cut:] for place in halves.places.tolist()]
        size = self.batch.half_size(HELPER)
        whole_ones = b"".join(each if len(each) == size else bytes(size) for each in theirs)
        made = Block(self.batch, self._blocks, whole_ones, opened.told.tobytes())
        self._open = made, opened, halves.nonces
        return made

    def take(self, said: Checked) -> None:
        """Count those of the block that are proven, by what the helper found."""
        if self._open is None:
            raise SumRefusedError("no block is being checked")
        block, opened, nonces = self._open
        if not (
            (said.batch, said.place) == (self.batch.digest, block.place)
            and len(said.told) == len(block.told)
        ):
            raise SumRefusedError("what the helper found is not about this block")
        accepted = self._server.judge(opened, [self._rows(said.told, len(nonces))]) == Code.ACCEPTED
        self._server.count(opened, accepted)
        self._known.update(nonce.tobytes() for nonce in nonces[accepted])
        self._blocks, self._open = self._blocks + 1, None

    @property
    def request(self) -> SumRequest:
        """What asks the helper for its sum."""
        return SumRequest(self.batch, self._blocks, self.counted)

    def open(self, said: HelperSum, noise: Stream) -> Any:
        """The law's answer, from what the helper said; what does not fit is a `SumRefusedError`."""
        circuit = self._law.prio3.circuit
        raw = np.frombuffer(said.total, np.uint8)
        if not (
            (said.batch, said.counted) == (self.batch.digest, self.counted)
            and len(raw) == circuit.output_len * circuit.field.size
        ):
            raise SumRefusedError("the helper's sum is not about this batch and these owners")
        theirs, fits = circuit.field.decode(raw[None])
        if not fits[0]:
            raise SumRefusedError("the helper's sum holds no field elements")
        total = circuit.field.add(self.noisy_sum(1, noise), theirs[0])
        return self._law.answer(circuit.field.to_signed(total), self.counted)


def block_owners(batch: Batch) -> int:
    """How many owners go into a block."""
    prio3 = batch.terms.law.prio3
    most = min(_TOLD_BYTES // message_size(prio3), _OWN_BYTES // Sizes(prio3).leader)
    return max(1, min(_BLOCK_OWNERS, most))


def blocks_of(reports: Sequence[bytes], batch: Batch) -> Iterator[Sequence[bytes]]:
    """Reports block by block; none are one empty block."""
    size = block_owners(batch)
    for start in range(0, max(1, len(reports)), size):
        yield reports[start : start + size]


def _among(nonces: ByteArray, known: set[bytes]) -> BoolArray:
    return np.array([nonce.tobytes() in known for nonce in nonces], dtype=np.bool_)
