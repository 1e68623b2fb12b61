"""Verified sums of vectors with a bounded length: bytes, time of owner and server, and the same sum
without proofs. By itself: python -m benchmarks.proofs [--quick]
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from rich.console import Console

from benchmarks.children import figures_of
from benchmarks.tables import Row, Table, Verdict
from benchmarks.timing import FULL, QUICK, Effort, best, pin
from tacit._util.types import AnyArray
from tacit.sums.prio3.batch import Sent, Server, coins_size, make_reports
from tacit.sums.prio3.fields import SEED, expand
from tacit.sums.prio3.instances import Sizes, prio3_bounded_vector, soundness_bits
from tacit.sums.prio3.prio3 import NONCE, Prio3

BITS = 4
_APPLICATION, _KEY = b"benchmark", bytes(32)
_GOALS = {100: (5_000, 10_000.0), 1_000: (40_000, 3_000.0)}  # bytes, reports a second and core
_PROVE_MILLISECONDS = 10.0
_SPARE = 8_000_000  # bytes: a peak varies from run to run
_NOTE = (
    "Four bits a number, three proofs in the 64-bit field. Bytes: all that an owner sends, nonce "
    "included; between: what one server tells the other. Owner: one report on one core. Verify: "
    "per report, the busier of the two servers, all of its work (open, judge, count), one core. "
    "Plain: the same server's work to add the same vectors without proofs. Times are of a core, "
    "not of a clock: a busy machine changes them little."
)


@dataclass(frozen=True)
class ProofRow(Row):
    """Cost of one report of so many numbers."""

    numbers: int
    report_bytes: int
    between_bytes: int
    soundness: float
    owner_milliseconds: float
    verify_microseconds: float
    reports_per_second: float
    plain_microseconds: float

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            f"{self.report_bytes:,}",
            f"{self.between_bytes:,}",
            f"2^-{self.soundness:.0f}",
            f"{self.owner_milliseconds:.2f}",
            f"{self.verify_microseconds:.1f}",
            f"{self.reports_per_second:,.0f}",
            f"{self.plain_microseconds:.2f}",
            f"{self.verify_microseconds / self.plain_microseconds:.1f}",
        )


@dataclass(frozen=True)
class PeakRow(Row):
    """Memory of a server's work on so many owners, block by block."""

    owners: int
    peak_bytes: int

    @property
    def cells(self) -> tuple[str, ...]:
        return (f"{self.owners:,}", f"{self.peak_bytes / 1e6:,.1f}")


def processor_time(work: Callable[[], object], count: int) -> Callable[[], float]:
    """A contestant that answers how many seconds of one core `work` took for each of `count`."""

    def run() -> float:
        begin = time.thread_time()
        work()
        return (time.thread_time() - begin) / count

    return run


def vectors_of(length: int, owners: int) -> AnyArray:
    """Vectors as clipped gradients are: most entries small, some large."""
    normals = np.random.default_rng(length).standard_normal((owners, length))
    largest = 2 ** (BITS - 1) - 1
    return np.clip(np.rint(1.5 * normals), -largest, largest).astype(np.int64)


def block_of(prio3: Prio3, vectors: AnyArray) -> Sent:
    coins = np.random.default_rng(2).integers(
        0, 256, (len(vectors), coins_size(prio3)), dtype=np.uint8
    )
    return make_reports(prio3, _APPLICATION, vectors, coins)


def servers_of(prio3: Prio3) -> list[Server]:
    return [Server(prio3, _APPLICATION, place, key=_KEY) for place in (0, 1)]


def verify_at(server: Server, block: Sent, other_rows: AnyArray) -> None:
    """All that one server does for a block; the other server's rows are at hand."""
    opened = server.open(block.nonces, block.public, block.inputs[server.place])
    codes = server.judge(opened, [other_rows])
    if codes.any():
        raise RuntimeError("honest reports were refused")
    server.count(opened, codes == 0)


def add_plainly(prio3: Prio3, block: Sent, place: int) -> AnyArray:
    """The same vectors' sum without proofs at one server: elements as bytes, or from a seed."""
    circuit = prio3.circuit
    if place == 0:
        elements, _ = circuit.field.decode(block.inputs[0][:, : circuit.output_len * 8])
    else:
        seeds = block.inputs[1][:, :SEED]
        elements = expand(circuit.field, seeds, b"plain", b"", circuit.output_len)
    return prio3.aggregate(elements)


def proofs(effort: Effort) -> list[Table]:
    """Costs by numbers, then memory by owners."""
    sizes = (10, 100, 1_000, 2_000, 10_000) if effort is FULL else (100,)
    rows = [_row(length, effort.repetitions) for length in sizes]
    title = "Verified sums of vectors with a bounded length"
    headings = (
        "numbers",
        "bytes",
        "between\nservers",
        "error",
        "owner\nms",
        "verify\nus",
        "reports\n/ s",
        "plain\nus",
        "times",
    )
    peaks = _peaks((256, 2_048) if effort is FULL else (64, 128))
    return [
        Table("proofs", title, headings, rows, _NOTE),
        Table("proofs", "Memory of a server", ("vectors", "owners", "peak MB"), peaks, ""),
    ]


def _row(length: int, repetitions: int) -> ProofRow:
    prio3 = prio3_bounded_vector(length, 16 * length, BITS)
    owners = max(64, min(2_048, 128_000 // length))
    vectors = vectors_of(length, owners)
    block, servers, sizes = block_of(prio3, vectors), servers_of(prio3), Sizes(prio3)
    opened = [each.open(block.nonces, block.public, block.inputs[each.place]) for each in servers]
    told = [each.told for each in opened]
    contestants = {"owner": processor_time(lambda: block_of(prio3, vectors[:1]), 1)}
    for place, server in enumerate(servers):
        contestants[f"verify {place}"] = processor_time(
            partial(verify_at, server, block, told[1 - place]), owners
        )
        contestants[f"plain {place}"] = processor_time(
            partial(add_plainly, prio3, block, place), owners
        )
    seconds = best({name: pin(each) for name, each in contestants.items()}, 4 * repetitions)
    verify = max(seconds["verify 0"], seconds["verify 1"])
    figures = (sizes.report + NONCE, sizes.verifier, soundness_bits(prio3))
    owner = 1e3 * seconds["owner"]
    return ProofRow(
        f"{length:,}",
        _verdict(length, figures[0], owner, 1 / verify),
        length,
        *figures,
        owner_milliseconds=owner,
        verify_microseconds=1e6 * verify,
        reports_per_second=1 / verify,
        plain_microseconds=1e6 * max(seconds["plain 0"], seconds["plain 1"]),
    )


def _verdict(length: int, size: int, milliseconds: float, rate: float) -> Verdict | None:
    if length not in _GOALS:
        return None
    most, least = _GOALS[length]
    met = bool(size <= most and rate >= least and milliseconds <= _PROVE_MILLISECONDS)
    return Verdict(f"{most // 1000} KB, {_PROVE_MILLISECONDS:g} ms, {least:,.0f}", met)


def _peaks(sizes: Sequence[int]) -> list[PeakRow]:
    rows: list[PeakRow] = []
    for owners in sizes:
        peak = int(figures_of("benchmarks.proofs_child", owners)["bytes"])
        first = rows[0].peak_bytes if rows else peak
        verdict = Verdict("flat", bool(peak <= first + _SPARE)) if rows else None
        rows.append(PeakRow("1,000 numbers", verdict, owners, peak))
    return rows


if __name__ == "__main__":
    for table in proofs(QUICK if "--quick" in sys.argv else FULL):
        table.show(Console(width=100, highlight=False))
