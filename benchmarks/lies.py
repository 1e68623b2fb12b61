"""What an owner may send that no honest one would: a scene of one sum of vectors, and every lie
about it that we can think of, sealed as reports are. Used by `benchmarks.liars`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isqrt

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit._util.types import AnyArray, ByteArray
from tacit.mechanisms.spaces import Ball
from tacit.mechanisms.streams import secure, seeded
from tacit.sums.halves import COORDINATOR, Batch, SumTerms, seal_reports, seal_sent
from tacit.sums.prio3 import instances
from tacit.sums.prio3.batch import Sent, coins_size
from tacit.sums.prio3.bounded import BoundedVector
from tacit.sums.prio3.instances import bound_context
from tacit.sums.prio3.prio3 import NONCE, SplitReports
from tacit.sums.protocol import CoordinatorSide, HelperSide, blocks_of
from tacit.sums.vector_terms import VectorTerms, round_shares

_KEYS = X25519PrivateKey.generate(), X25519PrivateKey.generate()
Lie = Callable[["Scene", int], ByteArray]


@dataclass(frozen=True, eq=False)
class Scene:
    """One sum of vectors, and its honest owners' numbers and reports."""

    batch: Batch
    numbers: AnyArray
    reports: Sequence[bytes]

    @classmethod
    def of(cls, dim: int, owners: int) -> "Scene":
        public = [key.public_key().public_bytes_raw() for key in _KEYS]
        terms = VectorTerms.of(Ball(dim=dim), 1.0, 1e-6)
        batch = Batch(bytes(32), 1, 1, SumTerms(terms, *public))
        shares = np.random.default_rng(1).normal(size=(owners, dim)) / np.sqrt(dim)
        numbers = round_shares(shares, terms, seeded(1))
        return cls(batch, numbers, rows_of(seal_reports(numbers, batch, secure())))

    @property
    def law(self) -> VectorTerms:
        law = self.batch.terms.law
        if not isinstance(law, VectorTerms):
            raise TypeError("a scene sums vectors")
        return law

    @property
    def circuit(self) -> BoundedVector:
        circuit = self.law.prio3.circuit
        if not isinstance(circuit, BoundedVector):
            raise TypeError("vectors have a bounded circuit")
        return circuit

    def split(self, meas: AnyArray, batch: Batch | None = None) -> tuple[ByteArray, SplitReports]:
        """Any measurement (n, meas_len, 1), valid or not, as a liar shares and proves it, for this
        batch or another.
        """
        prio3 = self.law.prio3
        coins = fresh(len(meas), coins_size(prio3))
        context = bound_context(prio3, (batch or self.batch).application)
        return coins[:, :NONCE], prio3.shard(context, meas, coins[:, :NONCE], coins[:, NONCE:])

    def seal(self, nonces: ByteArray, made: SplitReports) -> ByteArray:
        inputs = tuple(instances.encode_input(self.law.prio3, each) for each in made.inputs)
        sent = Sent(nonces, instances.encode_public(made.public), inputs)
        return seal_sent(sent, self.batch, fresh(len(nonces), 64))

    def honest(self, n: int) -> AnyArray:
        """Encoded measurements of n more honest owners."""
        return self.circuit.encode_all(np.roll(self.numbers[:n], 1, axis=0))

    def added(self, reports: Sequence[bytes]) -> tuple[int, AnyArray]:
        """How many were counted by both servers, and the sum without noise."""
        coordinator = CoordinatorSide(self.batch, _KEYS[0])
        helper = HelperSide(self.batch, _KEYS[1])
        known: set[bytes] = set()
        for block in blocks_of(reports, self.batch):
            checked, counted = helper.check(coordinator.block(block), known.intersection)
            known.update(counted)
            coordinator.take(checked)
        if not coordinator.counted == helper.counted:
            raise RuntimeError("the servers have counted different owners")
        field = self.circuit.field
        raw = np.frombuffer(coordinator.total + helper.total, np.uint8).reshape(2, -1)
        halves, _ = field.decode(raw)
        return coordinator.counted, np.array(field.to_signed(field.add(halves[0], halves[1])))


def fresh(n: int, size: int) -> ByteArray:
    return np.frombuffer(np.random.default_rng().bytes(n * size), np.uint8).reshape(n, size)


def rows_of(sealed: ByteArray) -> list[bytes]:
    return [row.tobytes() for row in sealed]


# Lies ---------------------------------------------------------------------------------------------


def out_of_range(scene: Scene, n: int) -> ByteArray:
    """One entry just beyond the largest, told lengths and slack to match."""
    return _with_first_entries(scene, n, [scene.law.largest + 1])


def far_out(scene: Scene, n: int) -> ByteArray:
    """An entry of a third of the field: one such decides a sum without proofs."""
    return _with_first_entries(scene, n, [scene.circuit.field.modulus // 3])


def wraps_round(scene: Scene, n: int) -> ByteArray:
    """Two huge entries whose squares add up to zero in the field: a root of -1 times each other."""
    p = scene.circuit.field.modulus
    root = pow(7, (p - 1) // 4, p)
    return _with_first_entries(scene, n, [2**40, root * 2**40 % p])


def _with_first_entries(scene: Scene, n: int, first: list[int]) -> ByteArray:
    circuit, field = scene.circuit, scene.circuit.field
    meas = scene.circuit.encode_all(np.zeros((n, circuit.length), np.int64))
    end = circuit.length + len(circuit.weights)
    entries = field.array(first)
    for place, entry in enumerate(entries):
        meas[:, place] = entry
        call = end + place % circuit.calls
        meas[:, call] = field.add(meas[:, call], field.multiply(entry, entry))
    return scene.seal(*scene.split(meas))


def too_long(scene: Scene, n: int) -> ByteArray:
    """Every entry the largest: longer than the bound, lengths told as if it were not."""
    circuit, field = scene.circuit, scene.circuit.field
    meas = scene.honest(n)
    meas[:, : circuit.length] = field.from_small(np.full((n, circuit.length), circuit.largest))
    return scene.seal(*scene.split(meas))


def longer_by_one(scene: Scene, n: int) -> ByteArray:
    """All numbers in range, lengths as they are, and a squared length of one more than the bound:
    the lowest digit of what is left of the bound is one too low, so that all adds up.
    """
    circuit, field = scene.circuit, scene.circuit.field
    entries, lengths = _just_too_long(scene)
    digits = [-circuit.largest] * len(circuit.weights)
    digits[0] -= 1
    row = field.from_small(np.array([*entries, *digits, *lengths]))
    return scene.seal(*scene.split(np.tile(row, (n, 1, 1))))


def for_another_bound(scene: Scene, n: int) -> ByteArray:
    """The same, with a proof that is valid for a bound of one more."""
    law = replace(scene.law, bound=scene.law.bound + 1)
    entries, _ = _just_too_long(scene)
    coins = fresh(n, coins_size(law.prio3))
    context = bound_context(law.prio3, scene.batch.application)
    meas = law.prio3.circuit.encode_all([entries] * n)
    made = law.prio3.shard(context, meas, coins[:, :NONCE], coins[:, NONCE:])
    return scene.seal(coins[:, :NONCE], made)


def _just_too_long(scene: Scene) -> tuple[AnyArray, AnyArray]:
    """A vector whose squared length is one more than the bound, and its length call by call."""
    circuit, left = scene.circuit, scene.law.bound + 1
    entries = np.zeros(circuit.length, np.int64)
    for place in range(circuit.length):
        entries[place] = min(circuit.largest, isqrt(left))
        left -= int(entries[place]) ** 2
    if left:
        raise RuntimeError("no vector of this size is just too long")
    lengths = [int((entries[call :: circuit.calls] ** 2).sum()) for call in range(circuit.calls)]
    return entries, np.array(lengths)


def one_way(scene: Scene, n: int) -> ByteArray:
    """All liars together: as long as may be in one number, which is then out of range, and told to
    be what it is.
    """
    return _with_first_entries(scene, n, [isqrt(scene.law.bound)])


def forged_proof(scene: Scene, n: int) -> ByteArray:
    """A long vector with a proof of random elements."""
    nonces, made = scene.split(scene.honest(n))
    noise = np.random.default_rng().integers(0, 2**63, made.leader.proofs.shape, dtype=np.uint64)
    return scene.seal(nonces, replace(made, leader=replace(made.leader, proofs=noise)))


def copied_proof(scene: Scene, n: int) -> ByteArray:
    """One's own numbers with the proof of another owner's."""
    nonces, made = scene.split(scene.honest(n))
    turned = np.roll(made.leader.proofs, 1, axis=0) if n > 1 else made.leader.proofs[:, ::-1]
    return scene.seal(nonces, replace(made, leader=replace(made.leader, proofs=turned)))


def copied_report(scene: Scene, n: int) -> ByteArray:
    """The sealed bytes of honest owners once more."""
    return np.array([np.frombuffer(each, np.uint8) for each in scene.reports[:n]])


def inconsistent_halves(scene: Scene, n: int) -> ByteArray:
    """The coordinator's half of one report and the helper's of another."""
    first, second = (scene.seal(*scene.split(scene.honest(n))) for _ in range(2))
    cut = scene.batch.half_size(COORDINATOR)
    return np.concatenate([first[:, :cut], second[:, cut:]], axis=1)


def other_public_shares(scene: Scene, n: int) -> ByteArray:
    """Parts of the joint randomness that belong to nobody."""
    nonces, made = scene.split(scene.honest(n))
    return scene.seal(
        nonces, replace(made, public=fresh(n, made.public[0].size).reshape(made.public.shape))
    )


def another_question(scene: Scene, n: int) -> ByteArray:
    """Valid reports to another question."""
    other = replace(scene.batch, question=b"\x01" * 32)
    return seal_reports(scene.numbers[:n], other, secure())


def no_elements(scene: Scene, n: int) -> ByteArray:
    """Words that are no field elements, sealed as they should be."""
    nonces, made = scene.split(scene.honest(n))
    meas = np.full_like(made.leader.meas, np.iinfo(np.uint64).max)
    return scene.seal(nonces, replace(made, leader=replace(made.leader, meas=meas)))


def another_campaigns(scene: Scene, n: int) -> ByteArray:
    """Valid reports to the same question of a campaign with another key."""
    key = X25519PrivateKey.generate().public_key().public_bytes_raw()
    other = replace(scene.batch, terms=replace(scene.batch.terms, coordinator=key))
    return seal_reports(scene.numbers[:n], other, secure())


def another_rounds_proof(scene: Scene, n: int) -> ByteArray:
    """Made and proven for the next attempt at the same sum, sealed for this one."""
    return scene.seal(*scene.split(scene.honest(n), replace(scene.batch, attempt=2)))


def halves_swapped(scene: Scene, n: int) -> ByteArray:
    """Each server gets the half that is the other's."""
    cut, sealed = (
        scene.batch.half_size(COORDINATOR),
        seal_reports(scene.numbers[:n], scene.batch, secure()),
    )
    return np.concatenate([sealed[:, cut:], sealed[:, :cut]], axis=1)


def another_nonce(scene: Scene, n: int) -> ByteArray:
    """The same shares and proof under a nonce that they were not made for: a replay that is not
    known by its nonce.
    """
    _, made = scene.split(scene.honest(n))
    return scene.seal(fresh(n, NONCE), made)


def two_nonces(scene: Scene, n: int) -> ByteArray:
    """Each server is told another nonce, so that they test at different points."""
    nonces, made = scene.split(scene.honest(n))
    cut = scene.batch.half_size(COORDINATOR)
    halves = scene.seal(nonces, made)[:, :cut], scene.seal(fresh(n, NONCE), made)[:, cut:]
    return np.concatenate(halves, axis=1)


def stolen_half(scene: Scene, n: int) -> ByteArray:
    """The coordinator's half of an honest owner, with a half of one's own for the helper."""
    cut = scene.batch.half_size(COORDINATOR)
    own = seal_reports(scene.numbers[:n], scene.batch, secure())
    return np.concatenate([copied_report(scene, n)[:, :cut], own[:, cut:]], axis=1)


def noise_bytes(scene: Scene, n: int) -> ByteArray:
    """Anything."""
    return fresh(n, scene.batch.report_size)


LIES: dict[str, Lie] = {
    "out of range by one": out_of_range,
    "a third of the field": far_out,
    "squares wrap round": wraps_round,
    "longer than the bound": too_long,
    "longer by one": longer_by_one,
    "valid for a longer bound": for_another_bound,
    "all its length in one number": one_way,
    "forged proof": forged_proof,
    "another's proof": copied_proof,
    "copied report": copied_report,
    "halves of two reports": inconsistent_halves,
    "other public shares": other_public_shares,
    "another question's": another_question,
    "another campaign's": another_campaigns,
    "another attempt's proof": another_rounds_proof,
    "each half at the other": halves_swapped,
    "again, another nonce": another_nonce,
    "a nonce for each server": two_nonces,
    "another's half": stolen_half,
    "no field elements": no_elements,
    "random bytes": noise_bytes,
}
