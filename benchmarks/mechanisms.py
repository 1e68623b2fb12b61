"""Time per owner of every mechanism, as ratios to Piecewise."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.tables import Row, Table
from benchmarks.timing import DIM, Effort, best, cores, per_item
from tacit import (
    Ball,
    Box,
    Duchi,
    Hybrid,
    Laplace,
    Mechanism,
    Piecewise,
    PrivUnit,
    RandomizedResponse,
    seeded,
)
from tacit._util.types import FloatArray

_EPSILON = 1.0
_BASE = Piecewise


@dataclass(frozen=True)
class MechanismRow(Row):
    """Cost of one mechanism."""

    space: str
    nanoseconds_per_owner: float
    ratio: float
    report_bits: int

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            self.space,
            f"{self.nanoseconds_per_owner:,.0f}",
            f"{self.ratio:,.1f}",
            str(self.report_bits),
        )


def mechanisms(effort: Effort) -> list[Table]:
    """One table, a row per mechanism."""
    owners = effort.mechanism_owners
    directions = np.random.default_rng(1).uniform(-1, 1, (owners, DIM))
    box, ball = Box(dim=DIM), Ball(dim=DIM)
    kinds: tuple[type[Mechanism], ...] = (Piecewise, Hybrid, Duchi, RandomizedResponse, Laplace)
    candidates: list[Mechanism] = [kind(epsilon=_EPSILON, space=box) for kind in kinds]
    candidates.append(PrivUnit(epsilon=_EPSILON, space=ball))
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    contestants = {
        _name(m): _contestant(m, unit if m.space is ball else directions) for m in candidates
    }
    seconds = best(contestants, effort.repetitions)
    rows = [_row(m, seconds[_name(m)], seconds[_BASE.__name__]) for m in candidates]
    title = f"Time per owner at d = {DIM}, epsilon {_EPSILON:g}: {owners:,} owners, {cores()} cores"
    headings = ("mechanism", "space", "ns/owner", "over Piecewise", "bits/report")
    note = (
        "Laplace releases every coordinate, Duchi a sign of each; PrivUnit scores codewords "
        "against the whole share."
    )
    return [Table("mechanisms", title, headings, rows, note)]


def _name(mechanism: Mechanism) -> str:
    return type(mechanism).__name__


def _contestant(mechanism: Mechanism, shares: FloatArray) -> Callable[[], float]:
    return per_item(lambda: mechanism.randomize(shares, seeded(1)), len(shares))


def _row(mechanism: Mechanism, seconds: float, base: float) -> MechanismRow:
    return MechanismRow(
        name=_name(mechanism),
        verdict=None,
        space=type(mechanism.space).__name__,
        nanoseconds_per_owner=seconds * 1e9,
        ratio=seconds / base,
        report_bits=mechanism.report_bits,
    )
