"""Sums of two servers from inside each of them: what one server, with all that it holds and hears,
can prove about one owner.

The whole path is run again and again: an owner seals what it adds in one of two worlds that differ
as much as the law allows, both servers open, verify, judge and release, with fresh coins. All other
owners are known to the adversary, so that there are none. A view is a handful of numbers: the
server's own half (mask), the opened verifier of the proof, the other's part of the joint
randomness, and the other's sum with its noise, set against one's own half.

Events are fixed before anything is counted: a number lies in the upper half; a number of the second
half of the runs was seen in the first half, in the first world; the sum is nearer to one world, or
beyond it. Their frequencies prove an epsilon at the law's delta (Clopper-Pearson, the error shared
out over events). Claim: with a sound protocol no view proves more than the law's epsilon, but with
the chance `ALARM`.
"""

from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from scipy.stats import beta

from tacit._util.types import BoolArray, FloatArray, IntArray, WordArray
from tacit.mechanisms.streams import Stream
from tacit.sums.halves import (
    COORDINATOR,
    HELPER,
    Batch,
    SumLaw,
    SumTerms,
    open_halves,
    seal_reports,
)
from tacit.sums.prio3.batch import Server
from tacit.sums.prio3.messages import Sizes
from tacit.sums.prio3.xof import SEED
from tacit.sums.protocol import CoordinatorSide, HelperSide

ALARM = 1e-4
_KEYS = X25519PrivateKey.generate(), X25519PrivateKey.generate()
_NAMES = ("coordinator", "helper")


@dataclass(frozen=True)
class ViewRow:
    """What one number in a server's view proves."""

    server: str
    what: str
    trials: int
    proven: float
    claimed: float

    @property
    def sound(self) -> bool:
        return self.proven <= self.claimed


def audit_views(
    law: SumLaw, worlds: tuple[IntArray, IntArray], delta: float, trials: int, stream: Stream
) -> list[ViewRow]:
    """What both servers' views prove of an owner that adds one vector of `worlds` or the other; the
    law must open sums of one owner.
    """
    public = [key.public_key().public_bytes_raw() for key in _KEYS]
    batch = Batch(bytes(32), 1, 1, SumTerms(law, *public))
    seen = [_views(batch, worlds, place, trials, stream.child(place)) for place in (0, 1)]
    error = ALARM / (3 * len(_NAMES) * len(_WHAT))
    rows = []
    for server, name in enumerate(_NAMES):
        for column, what in enumerate(_WHAT):
            one, other = (each[:, server, column] for each in seen)
            events = [(one > 0.5, other > 0.5)]
            if what == _SUM:
                events += [(one >= 1, other >= 1), (one <= 0, other <= 0)]
            else:
                half = trials // 2
                events += [(np.isin(one[half:], one[:half]), np.isin(other[half:], one[:half]))]
            proven = max(_prove(*event, delta, error) for event in events)
            rows.append(ViewRow(name, what, trials, proven, law.price))
    return rows


def _prove(one: BoolArray, other: BoolArray, delta: float, error: float) -> float:
    """What an event proves, or its opposite, in one world or the other."""
    n, a, b = len(one), int(one.sum()), int(other.sum())
    pairs = ((a, b), (b, a), (n - a, n - b), (n - b, n - a))
    return max(prove_epsilon(*pair, n, delta, error) for pair in pairs)


def prove_epsilon(hits: int, others: int, trials: int, delta: float, error: float) -> float:
    """An epsilon that is exceeded at this delta, but with the chance `error`, if an event was so
    frequent in one world and in the other.

    >>> round(prove_epsilon(731, 269, 1000, 0.0, 1e-3), 2)  # true ratio: e
    0.77
    """
    low = float(beta.ppf(error / 2, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - error / 2, others + 1, trials - others)) if others < trials else 1.0
    return float(np.log((low - delta) / high)) if low - delta > high else 0.0


_SUM = "the other's sum"
_WHAT = ("own half", "opened verifier", "joint randomness", _SUM)


def _views(
    batch: Batch, worlds: tuple[IntArray, IntArray], world: int, trials: int, stream: Stream
) -> FloatArray:
    """What coordinator and helper hold of each of so many runs in this world, (trials, 2, 4):
    numbers from 0 to 1, the first three uniform. Runs are checked in one block, each is a sum of
    its own.
    """
    prio3, field = batch.terms.law.prio3, batch.terms.law.prio3.circuit.field
    sealed = seal_reports(np.tile(worlds[world], (trials, 1)), batch, stream.child("owner"))
    cut = batch.half_size(COORDINATOR)
    told, own = [], []
    for place, part in ((COORDINATOR, sealed[:, :cut]), (HELPER, sealed[:, cut:])):
        halves = open_halves([row.tobytes() for row in part], batch, place, _KEYS[place])
        key = batch.verify_key(place, _KEYS[place])
        server = Server(prio3, batch.application, place, key=key)
        opened = server.open(halves.nonces, halves.public, halves.inputs)
        told.append(opened.told)
        own.append(np.concatenate([state.outputs for state in opened.states]))
    end = Sizes(prio3).verifier - SEED
    verifiers = [field.decode(each[:, :end])[0] for each in told]
    opened_first = field.add(verifiers[0], verifiers[1])[:, 1]  # entry 0 is 0 for everybody
    views = np.empty((trials, 2, len(_WHAT)))
    for place in (COORDINATOR, HELPER):
        views[:, place, 0] = _scale(own[place][:, 0], field.modulus)
        views[:, place, 1] = _scale(opened_first, field.modulus)
        parts = np.ascontiguousarray(told[1 - place][:, end : end + 8]).view("<u8")
        views[:, place, 2] = _scale(parts, 1 << 64)
        for run in range(trials):
            noisy = _release(batch, 1 - place, own[1 - place][run], stream.child("noise", run))
            # the other's sum and one's own half: what was added, and the other's noise
            joined = field.to_signed(field.add(noisy, own[place][run]))
            views[run, place, 3] = _nearness(np.array(joined, dtype=np.float64), worlds)
    return views


def _release(batch: Batch, place: int, share: WordArray, stream: Stream) -> WordArray:
    """A server's noisy sum of one share."""
    side = (CoordinatorSide if place == COORDINATOR else HelperSide)(batch, _KEYS[place])
    side.resume(bytes(batch.terms.law.prio3.circuit.field.encode(share[np.newaxis])[0]), 1)
    return side.noisy_sum(1, stream)


def _scale(words: WordArray, whole: int) -> FloatArray:
    return np.asarray(words[:, 0] / whole)


def _nearness(value: FloatArray, worlds: tuple[IntArray, IntArray]) -> float:
    """Above 0.5: nearer to the second world, entry by entry within the two."""
    low, high = worlds
    apart = high != low
    along = (value - low)[apart] / (high - low)[apart]
    return float(np.clip(along, 0.0, 1.0).mean())
