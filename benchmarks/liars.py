"""Owners that lie in sums of two servers: whole reports, sealed, through both servers and back.

One in a hundred sends what an honest owner cannot, in every way that we can think of; none may
count, and the sum must be that of the others to the last digit. Then liars that keep the rules: how
far they move a sum, against what is stated. By itself: python -m benchmarks.liars [--quick]
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from rich.console import Console

from benchmarks.tables import Row, Table, Verdict
from benchmarks.timing import FULL, QUICK, Effort
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
_NOTE = (
    "Of the owners one in a hundred lies in the way named, all others are honest. Counted: liars "
    "that both servers counted. Sum: whether it is the honest owners', noise taken off, exactly."
)
Lie = Callable[["Scene", int], ByteArray]


@dataclass(frozen=True)
class LiarRow(Row):
    """What became of liars of one kind."""

    owners: int
    liars: int
    counted: int
    exact: bool

    @property
    def cells(self) -> tuple[str, ...]:
        said = "exact" if self.exact else "WRONG"
        return f"{self.owners:,}", f"{self.liars}", f"{self.counted}", said


@dataclass(frozen=True)
class PushRow(Row):
    """How far liars that keep the rules move a sum, in lengths of an honest owner's longest."""

    share: float
    moved: float
    stated: float

    @property
    def cells(self) -> tuple[str, ...]:
        return f"{100 * self.share:g} %", f"{self.moved:.4f}", f"{self.stated:.4f}"


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

    def split(self, meas: AnyArray) -> tuple[ByteArray, SplitReports]:
        """Any measurement (n, meas_len, 1), valid or not, as a liar shares and proves it."""
        prio3 = self.law.prio3
        coins = fresh(len(meas), coins_size(prio3))
        context = bound_context(prio3, self.batch.application)
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


def noise_bytes(scene: Scene, n: int) -> ByteArray:
    """Anything."""
    return fresh(n, scene.batch.report_size)


LIES: dict[str, Lie] = {
    "out of range by one": out_of_range,
    "a third of the field": far_out,
    "squares wrap round": wraps_round,
    "longer than the bound": too_long,
    "forged proof": forged_proof,
    "another's proof": copied_proof,
    "copied report": copied_report,
    "halves of two reports": inconsistent_halves,
    "other public shares": other_public_shares,
    "another question's": another_question,
    "no field elements": no_elements,
    "random bytes": noise_bytes,
}


def liars(effort: Effort) -> list[Table]:
    """Invalid liars of every kind, then valid ones."""
    dim, owners = (1_000, 1_000) if effort is FULL else (50, 200)
    scene = Scene.of(dim, owners)
    rows = [_judge(scene, name, lie) for name, lie in LIES.items()]
    pushes = [_push(scene, share) for share in (0.001, 0.01, 0.05)]
    headings = ("lie", "owners", "liars", "counted", "sum")
    title = f"Invalid reports of {dim:,} numbers"
    return [
        Table("liars", title, headings, rows, _NOTE),
        Table(
            "liars",
            "Valid liars that push as far as they may",
            ("liars", "of all", "moved", "stated"),
            pushes,
            "How far the mean moves, in an honest owner's greatest length, and what is stated.",
        ),
    ]


def _judge(scene: Scene, name: str, lie: Lie) -> LiarRow:
    n = max(1, len(scene.reports) // 100)
    counted, total = scene.added([*scene.reports, *rows_of(lie(scene, n))])
    exact = bool((total == scene.numbers.sum(axis=0)).all())
    found = counted - len(scene.reports)
    verdict = Verdict("none, exact", bool(found == 0 and exact))
    return LiarRow(name, verdict, len(scene.reports), liars=n, counted=found, exact=exact)


def _push(scene: Scene, share: float) -> PushRow:
    """Liars in the place of honest owners, all with the longest vector in one direction."""
    n = len(scene.numbers)
    lying = max(1, round(share * n))
    law, honest = scene.law, scene.numbers
    each = min(law.largest, int(np.sqrt(law.bound / law.dim)))
    longest = np.full((lying, law.dim), each)
    sealed = seal_reports(longest, scene.batch, secure())
    counted, total = scene.added([*rows_of(sealed), *scene.reports[lying:]])
    moved = float(np.linalg.norm(total - honest.sum(axis=0))) / np.sqrt(law.bound) / n
    stated = 2 * lying / n
    verdict = Verdict("<= stated", bool(counted == n and moved <= stated))
    return PushRow(f"{lying}", verdict, share, moved, stated)


if __name__ == "__main__":
    for table in liars(QUICK if "--quick" in sys.argv else FULL):
        table.show(Console(width=100, highlight=False))
