"""Time per released value of exact Piecewise against its floor, a float version and other
libraries.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.floats import float_piecewise
from benchmarks.rivals import Rivals
from benchmarks.tables import Row, Table, Verdict, at_least, at_most
from benchmarks.timing import DIM, Effort, best, cores, per_item, pin
from tacit import Box, Piecewise, secure, seeded
from tacit._util.types import FloatArray, WordArray

_EPSILONS = (1.0, 5.0)
# goals
_MOST_WORDS = 8
_LEAST_OVER_FLOAT = 1
_LEAST_OVER_OPENDP = 200

_ONE = "tacit seeded, one core"
_ALL = "tacit seeded, all cores"
_FLOAT = "NumPy float Piecewise"
_FLOOR = "floor: SFC64 words"
_NOTE = (
    "Ratios are time over ours (tacit seeded). A floor word is one 64-bit word from NumPy's "
    "SFC64, the faster of "
    "random_raw and integers. Floor, NumPy and rivals use one thread; their goals are judged "
    "by our one-core time. "
    "Laplace is another mechanism: compared per released value only."
)


@dataclass(frozen=True)
class SpeedRow(Row):
    """Time of one released value, as it is and as ratios."""

    epsilon: float
    nanoseconds: float
    floor_words: float
    to_ours_one_core: float
    to_ours_all_cores: float

    @property
    def cells(self) -> tuple[str, ...]:
        ratios = (self.floor_words, self.to_ours_one_core, self.to_ours_all_cores)
        return (f"{self.nanoseconds:,.1f}", *(_format_ratio(ratio) for ratio in ratios))


def speed(effort: Effort, rivals: Rivals | None) -> list[Table]:
    """One table per epsilon."""
    shares = np.random.default_rng(1).uniform(-1, 1, (effort.owners, DIM))
    return [_table(shares, epsilon, effort, rivals) for epsilon in _EPSILONS]


def _table(shares: FloatArray, epsilon: float, effort: Effort, rivals: Rivals | None) -> Table:
    mechanism = Piecewise(epsilon=epsilon, space=Box(dim=DIM))
    contestants = _contestants(shares, epsilon, mechanism)
    if rivals is not None:
        for name in rivals.versions:
            contestants[name] = partial(
                rivals.seconds, name, epsilon / mechanism.slots, effort.rival_values
            )
    seconds = best(contestants, effort.repetitions)
    return Table(
        benchmark="speed",
        title=f"Exact Piecewise, epsilon {epsilon:g}: {len(shares):,} owners, d = {DIM}, k = "
        f"{mechanism.slots}",
        headings=(
            "contestant",
            "ns/value",
            "floor\nwords",
            "over ours,\none core",
            f"over ours,\n{cores()} cores",
        ),
        rows=[_row(name, epsilon, seconds) for name in seconds],
        note=_NOTE if epsilon == _EPSILONS[-1] else "",
    )


def _contestants(
    shares: FloatArray, epsilon: float, mechanism: Piecewise
) -> dict[str, Callable[[], float]]:
    count = len(shares) * mechanism.slots
    ours = per_item(lambda: mechanism.randomize(shares, seeded(1)), count)
    ours_secure = per_item(lambda: mechanism.randomize(shares, secure()), count)
    raw = per_item(lambda: np.random.SFC64(1).random_raw(count), count)
    integers = per_item(lambda: _integers(count), count)
    return {
        _ONE: pin(ours),
        _ALL: ours,
        "tacit secure, one core": pin(ours_secure),
        "tacit secure, all cores": ours_secure,
        _FLOOR: pin(lambda: min(raw(), integers())),
        _FLOAT: pin(per_item(lambda: float_piecewise(shares, epsilon, seed=1), count)),
    }


def _integers(count: int) -> WordArray:
    most = np.iinfo(np.uint64).max
    return np.random.Generator(np.random.SFC64(1)).integers(
        0, most, count, dtype=np.uint64, endpoint=True
    )


def _row(name: str, epsilon: float, seconds: Mapping[str, float]) -> SpeedRow:
    own = seconds[name]
    words, one = own / seconds[_FLOOR], own / seconds[_ONE]
    return SpeedRow(
        name=name,
        verdict=_verdict(name, words, one),
        epsilon=epsilon,
        nanoseconds=own * 1e9,
        floor_words=words,
        to_ours_one_core=one,
        to_ours_all_cores=own / seconds[_ALL],
    )


def _verdict(name: str, words: float, over_ours: float) -> Verdict | None:
    if name in (_ONE, _ALL):
        return at_most(words, _MOST_WORDS, " words")
    if name == _FLOAT:
        return at_least(over_ours, _LEAST_OVER_FLOAT)
    if name.startswith("OpenDP"):
        return at_least(over_ours, _LEAST_OVER_OPENDP)
    return None


def _format_ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:,.0f}"
