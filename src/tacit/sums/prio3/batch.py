"""Verified sums in batches: what owners send as bytes, and servers that check blocks of it and add
up what is proven.

For a block, every server opens its rows, tells all others what it found (`told`), and judges with
what they found: one exchange for a block, however many owners are in it. What is told of a report
is the verifier share and the seed of the joint randomness that the server used; of one that it
refuses already, bytes that are no field elements. So every check of one server can be made by all,
and all of them accept the same owners. What a server keeps is one block and one sum, so memory does
not grow with owners. Refusals are codes, row by row; they hold nothing of a measurement. Replays: a
nonce counts once in a block, for the first report that is valid under it, so that nobody is left
out for a copy of a part of its report; whoever stores reports must see to it that it counts once in
a sum.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import numpy as np

from tacit._util.types import BoolArray, ByteArray, WordArray
from tacit.sums.prio3 import instances
from tacit.sums.prio3.draft_circuits import NotValidError
from tacit.sums.prio3.fields import SEED
from tacit.sums.prio3.instances import bound_context
from tacit.sums.prio3.prio3 import NONCE, Prio3, VerifierShare, VerifyState

_PROVERS = 4  # owners proven at once: their arrays stay in a core's cache
_NO_ELEMENT = 0xFF  # so many of these bytes are above p
_VERIFIED = 1 << 16  # field elements of measurements verified at once: large enough for few calls


class Code(IntEnum):
    """What a server says to a report."""

    ACCEPTED = 0
    NOT_ELEMENTS = 1
    REPEATED_NONCE = 2
    TEST_POINT = 3
    PROOF = 4
    JOINT_RANDOMNESS = 5


@dataclass(frozen=True, eq=False)
class Sent:
    """What n owners send: nonces (n, 16) and public shares (n, size) to all, rows (n, size) to each
    server.
    """

    nonces: ByteArray
    public: ByteArray
    inputs: tuple[ByteArray, ...]

    def block(self, rows: slice) -> "Sent":
        return Sent(self.nonces[rows], self.public[rows], tuple(each[rows] for each in self.inputs))


@dataclass(frozen=True, eq=False)
class Opened:
    """A block at one server: what it tells the others, (n, message_size), what it keeps, and whom
    it refuses already.
    """

    nonces: ByteArray
    told: ByteArray
    states: tuple[VerifyState, ...]
    shares: tuple[VerifierShare, ...]
    codes: ByteArray


def coins_size(prio3: Prio3) -> int:
    """Bytes of coins that an owner needs for a report: nonce and seeds."""
    return NONCE + prio3.rand_size


def message_size(prio3: Prio3) -> int:
    """Bytes that a server tells the others of a report."""
    sizes = instances.Sizes(prio3)
    return sizes.verifier + sizes.message


def make_reports(
    prio3: Prio3, application: bytes, measurements: Sequence[Any] | Any, coins: ByteArray
) -> Sent:
    """At the owners: reports of measurements, from coins (n, coins_size) that serve once."""
    n = len(measurements)
    if not coins.shape == (n, coins_size(prio3)):
        raise ValueError(f"coins must be bytes ({n}, {coins_size(prio3)}), got {coins.shape}")
    context, sizes = bound_context(prio3, application), instances.Sizes(prio3)
    inputs = tuple(np.empty((n, sizes.share(place)), np.uint8) for place in range(prio3.shares))
    public = np.empty((n, sizes.public), np.uint8)
    for rows in _slices(n, _PROVERS):
        meas = prio3.circuit.encode_all(measurements[rows])
        made = prio3.shard(context, meas, coins[rows, :NONCE], coins[rows, NONCE:])
        public[rows] = instances.encode_public(made.public)
        for place, share in enumerate(made.inputs):
            inputs[place][rows] = instances.encode_input(prio3, share)
    return Sent(coins[:, :NONCE].copy(), public, inputs)


@dataclass
class Server:
    """Server `place` of a sum. `key` is the verification key, known to all servers and to no owner.

    >>> from tacit.sums.prio3.instances import prio3_count
    >>> prio3 = prio3_count()
    >>> coins = np.random.default_rng(1).integers(0, 256, (3, coins_size(prio3)), dtype=np.uint8)
    >>> sent = make_reports(prio3, b"doc", [1, 0, 1], coins)
    >>> servers = [Server(prio3, b"doc", place, key=bytes(32)) for place in (0, 1)]
    >>> verify_block(servers, sent).tolist()
    [0, 0, 0]
    >>> open_sum(servers)
    2
    """

    prio3: Prio3
    application: bytes
    place: int
    key: bytes = field(repr=False, kw_only=True)
    total: WordArray = field(init=False, repr=False)
    counted: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if not 0 <= self.place < self.prio3.shares:
            raise ValueError(f"place must be from 0 to {self.prio3.shares - 1}, got {self.place}")
        if not len(self.key) == SEED:
            raise ValueError(f"key must have {SEED} bytes, got {len(self.key)}")
        self._context = bound_context(self.prio3, self.application)
        self.total = self.prio3.circuit.field.zeros(self.prio3.circuit.output_len)

    def _parts(self, n: int) -> Iterator[slice]:
        """A block in parts that fit into a core's cache."""
        return _slices(n, max(8, min(1024, _VERIFIED // self.prio3.circuit.meas_len)))

    def open(
        self,
        nonces: ByteArray,
        public: ByteArray,
        inputs: ByteArray,
        repeated: BoolArray | None = None,
    ) -> Opened:
        """Query the shares of a block: nonces (n, 16), public shares and this server's input shares
        as bytes; `repeated` says whose nonce was in an earlier block.
        """
        if not (nonces.shape[1:] == (NONCE,) and len(nonces) == len(public) == len(inputs)):
            raise NotValidError(
                f"every report of a block needs {NONCE} bytes of nonce and two shares"
            )
        codes = np.full(len(nonces), Code.ACCEPTED, np.uint8)
        if repeated is not None:
            _mark(codes, ~repeated, Code.REPEATED_NONCE)
        told = np.empty((len(nonces), message_size(self.prio3)), np.uint8)
        states, shares = [], []
        for rows in self._parts(len(nonces)):
            share, fits = instances.decode_input(self.prio3, self.place, inputs[rows])
            state, verifier = self.prio3.verify_init(
                self.key,
                self._context,
                self.place,
                nonces=nonces[rows],
                public=instances.decode_public(self.prio3, public[rows]),
                share=share,
            )
            states.append(state)
            shares.append(verifier)
            encoded = instances.encode_verifier(self.prio3, verifier)
            told[rows] = np.concatenate([encoded, state.joint_seed], axis=1)
            _mark(codes[rows], fits, Code.NOT_ELEMENTS)
            _mark(codes[rows], state.fit, Code.TEST_POINT)
        told[codes != Code.ACCEPTED] = _NO_ELEMENT
        return Opened(nonces, told, tuple(states), tuple(shares), codes)

    def judge(self, opened: Opened, others: Sequence[ByteArray]) -> ByteArray:
        """Codes (n,) with what all other servers told, in the order of their places."""
        if not len(others) == self.prio3.shares - 1:
            raise NotValidError(
                f"others must be rows of {self.prio3.shares - 1} servers, got {len(others)}"
            )
        if not all(each.shape == opened.told.shape for each in others):
            raise NotValidError(f"what servers tell must be bytes {opened.told.shape}")
        codes, end = opened.codes.copy(), instances.Sizes(self.prio3).verifier
        slices = self._parts(len(codes))
        for rows, state, own in zip(slices, opened.states, opened.shares, strict=True):
            shares = []
            for each in others:
                share, fits = instances.decode_verifier(self.prio3, each[rows, :end])
                _mark(codes[rows], fits, Code.NOT_ELEMENTS)
                shares.append(share)
            shares.insert(self.place, own)
            message, valid = self.prio3.combine(self._context, shares)
            _mark(codes[rows], valid, Code.PROOF)
            for seed in (state.joint_seed, *(each[rows, end:] for each in others)):
                same = self.prio3.verify_next(replace(state, joint_seed=seed), message)
                _mark(codes[rows], same, Code.JOINT_RANDOMNESS)
        # who is valid has one nonce at all servers, so all of them leave out the same copies
        left = np.flatnonzero(codes == Code.ACCEPTED)
        codes[left[_find_repeats(opened.nonces[left])]] = Code.REPEATED_NONCE
        return codes

    def count(self, opened: Opened, accepted: BoolArray) -> None:
        """Add the outputs of those whom ALL servers accept to this server's sum."""
        field = self.prio3.circuit.field
        for rows, state in zip(self._parts(len(accepted)), opened.states, strict=True):
            self.total = field.add(self.total, self.prio3.aggregate(state.outputs[accepted[rows]]))
        self.counted += int(accepted.sum())


def verify_block(servers: Sequence[Server], block: Sent) -> ByteArray:
    """All servers in one process: codes (n,), the first refusal of each report; the sums then hold
    who has none.
    """
    opened = [
        server.open(block.nonces, block.public, block.inputs[server.place]) for server in servers
    ]
    codes = np.zeros(len(block.nonces), np.uint8)
    for server, own in zip(servers, opened, strict=True):
        others = [each.told for each in opened if each is not own]
        codes = np.where(codes == Code.ACCEPTED, server.judge(own, others), codes)
    for server, own in zip(servers, opened, strict=True):
        server.count(own, codes == Code.ACCEPTED)
    return codes


def open_sum(servers: Sequence[Server]) -> Any:
    """The result from all servers' sums, which must have counted the same owners."""
    if not len({server.counted for server in servers}) == 1:
        raise NotValidError(
            "the servers have counted different owners; judge and count the same blocks at all"
        )
    first = servers[0].prio3
    return first.circuit.decode(first.aggregate(np.stack([server.total for server in servers])))


def _slices(n: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _mark(codes: ByteArray, fine: BoolArray, code: Code) -> None:
    """The first refusal stays."""
    codes[(codes == Code.ACCEPTED) & ~fine] = code


def _find_repeats(nonces: ByteArray) -> BoolArray:
    """Which rows have the nonce of an earlier one."""
    keys = np.ascontiguousarray(nonces).view(f"V{NONCE}").ravel()
    repeated = np.ones(len(keys), np.bool_)
    repeated[np.unique(keys, return_index=True)[1]] = False
    return repeated
