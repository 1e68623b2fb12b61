"""Sums of two servers, audited from inside each of them: what can a server, with all that it holds
and hears, prove about one owner; and is the noise of the other the one that was promised?

*Views.* The whole path is run again and again: an owner seals what it adds in one of two worlds
that differ as much as the law allows, both servers open, verify and release, with fresh coins. All
other owners are known to the adversary, so that there are none. A view is a handful of numbers: the
server's own half (mask), the opened verifier of the proof, the other's part of the joint
randomness, and the other's sum with its noise, set against one's own half. Events are fixed before
anything is counted: a number lies in the upper half; a number of the second half of the runs was
seen in the first half, in the first world; the sum is nearer to one world, or beyond it. Their
frequencies prove an epsilon at the law's delta (Clopper-Pearson, the error shared out over events).

*All words.* Beside these numbers everything that a server holds of an owner is looked at, word by
word (`sum_views`): no word may tell anything, and what servers say has the same lengths in both
worlds.

*Noise.* Samples prove little of an epsilon, and noise that is a twentieth too small hides almost as
much. So what a release has beyond what was added is looked at by itself: mean, size and law (bins
of equal chance) are those that the terms name; the noises of two entries, servers or sums that
follow each other have ranks without correlation; none comes twice.

*Price.* What the terms say a sum costs, and several sums of the same owners together, is computed
anew from the length that two worlds differ by and the scale of the noise.

Claim: sound sums fail with a chance of at most `ALARM` for each law.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import exp, expm1, isqrt, pi, sqrt

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from scipy.stats import beta, chisquare, norm, poisson, rankdata

from tacit._util.types import BoolArray, FloatArray, IntArray, WordArray
from tacit.audit.staging import Check
from tacit.audit.sum_invitations import audit_invitations
from tacit.audit.sum_views import WorldView, audit_words
from tacit.mechanisms.spaces import Ball
from tacit.mechanisms.streams import Stream, secure
from tacit.sums.halves import (
    COORDINATOR,
    HELPER,
    Batch,
    SumLaw,
    SumTerms,
    TallyLaw,
    open_halves,
    seal_reports,
)
from tacit.sums.prio3.batch import Server
from tacit.sums.prio3.fields import SEED
from tacit.sums.prio3.instances import Sizes
from tacit.sums.protocol import CoordinatorSide, HelperSide
from tacit.sums.vector_terms import GAUSSIAN, RecordTerms, VectorTerms

ALARM = 1e-4  # of one audit of sound sums
_KEYS = X25519PrivateKey.generate(), X25519PrivateKey.generate()
_NAMES = ("coordinator", "helper")
_BINS = 16
_SMALL, _FAR = 4096, 40  # scales whose laws are enumerated, so many scales far
Noise = tuple[Stream, Stream]  # where the coordinator's and the helper's comes from


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


@dataclass(frozen=True)
class NoiseRow:
    """How far something about a server's noise is from what it should be: the chance of that."""

    server: str
    what: str
    chance: float
    limit: float

    @property
    def sound(self) -> bool:
        return self.chance >= self.limit

    @property
    def errors(self) -> float:
        """The same in standard errors."""
        return float(norm.isf(max(self.chance, 1e-300) / 2))


@dataclass(frozen=True, eq=False)
class SumCase:
    """A law that opens sums of one owner, two worlds as far apart as it allows, and how many such
    sums of the same owners may cost (`epsilon`, `delta`) together.
    """

    name: str
    law: SumLaw
    worlds: tuple[IntArray, IntArray]
    epsilon: float
    delta: float
    answers: int = 1


def sum_cases() -> tuple[SumCase, ...]:
    """One of every law that owners and sites may be asked under."""
    tally = TallyLaw(1.0, 1)
    several = VectorTerms.of(Ball(dim=12), 1.0, 1e-6, answers=4, minimum=1)
    once = VectorTerms.of(Ball(dim=12), 1.0, 1e-6, minimum=1)
    pure = VectorTerms.of(Ball(dim=4), 1.0, 0.0, minimum=1)
    sites = RecordTerms.at_sites(once, 5)
    far = longest(once)
    return (
        SumCase("error terms", tally, (np.zeros(2, int), np.full(2, tally.spec.steps)), 1.0, 0.0),
        SumCase("shares, Gaussian", several, _both_ways(longest(several)), 1.0, 1e-6, answers=4),
        SumCase("shares, Laplace", pure, _both_ways(longest(pure)), 1.0, 0.0),
        # a record is replaced by its opposite, beside four of zeros
        SumCase("records of sites", sites, (sites.tell(far, 5), sites.tell(-far, 5)), 1.0, 1e-6),
    )


def longest(law: VectorTerms) -> IntArray:
    """A vector that is as long as the law allows, or nearly: beside Laplace noise of even sizes,
    so that their squares fit as well.
    """
    if law.law != GAUSSIAN:
        return np.asarray((np.arange(law.dim) + law.reach) // law.dim, dtype=np.int64)
    left, entries = law.bound, []
    for _ in range(law.dim):
        entries.append(min(law.largest, isqrt(left)))
        left -= entries[-1] ** 2
    return np.array(entries, dtype=np.int64)


def _both_ways(vector: IntArray) -> tuple[IntArray, IntArray]:
    return vector, -vector


def audit_sums(trials: int, stream: Stream, noise: Noise | None = None) -> Iterator[Check]:
    """Views, noise and price of every law, noise as servers draw it, unless it is given; and what
    a gate says to one sum in several invitations.
    """
    for case in sum_cases():
        runs = Runs.of(case, trials, stream.child(case.name), noise)
        views = audit_views(runs)
        proven = (max(row.proven for row in views if row.server == name) for name in _NAMES)
        seen = "; ".join(
            f"the {name} proves {each:.3f}" for name, each in zip(_NAMES, proven, strict=True)
        )
        sound = all(row.sound for row in views)
        yield Check(f"{case.name}, views", sound, f"{seen} of epsilon {case.law.price:.3f}")
        yield audit_all_words(case, trials, stream.child("words", case.name))
        rows = audit_noise(runs)
        worst = max(rows, key=lambda row: row.errors)
        limit = float(norm.isf(worst.limit / 2))
        seen = (
            f"of {len(rows)} figures {worst.what} ({worst.server}) is furthest off: "
            f"{worst.errors:.1f} standard errors, above {limit:.1f} fails"
        )
        yield Check(f"{case.name}, noise", all(row.sound for row in rows), seen)
        yield audit_price(case)
    yield audit_invitations()


# What is seen of one owner
# -------------------------------------------------------------------------------------------------

_SUM = "the other's sum"
_UNIFORM = ("own half", "opened verifier", "joint randomness")
_WHAT = (*_UNIFORM, _SUM)


@dataclass(frozen=True, eq=False)
class Runs:
    """A case in both worlds, again and again: what each server holds that should be uniform,
    (2 worlds, runs, 2 servers, 3), and the other's sum set against its own half, in steps (2, runs,
    2, entries).
    """

    case: SumCase
    uniform: FloatArray
    sums: IntArray

    @classmethod
    def of(cls, case: SumCase, trials: int, stream: Stream, noise: Noise | None = None) -> "Runs":
        batch = Batch(bytes(32), 1, 1, SumTerms(case.law, *_public_keys()))
        streams = noise or (secure(), secure())
        both = [
            _run(batch, case, world, trials, stream=stream.child(world), noise=streams)
            for world in (0, 1)
        ]
        uniform, sums = zip(*both, strict=True)
        return cls(case, np.stack(uniform), np.stack(sums))

    @property
    def noise(self) -> IntArray:
        """The noise of coordinator and helper in each run of both worlds, (runs, 2, entries)."""
        added = np.stack(self.case.worlds)[:, np.newaxis, np.newaxis]
        # the coordinator sees the helper's, and the other way round
        drawn = (self.sums - added)[:, :, ::-1]
        return np.asarray(drawn.reshape(-1, *drawn.shape[2:]))


def audit_all_words(case: SumCase, trials: int, stream: Stream) -> Check:
    """Whether any word of what a server holds of an owner tells one world from the other."""
    batch = Batch(bytes(32), 1, 1, SumTerms(case.law, *_public_keys()))
    one, other = (
        WorldView.of(batch, np.tile(world, (trials, 1)), _KEYS, stream.child(number))
        for number, world in enumerate(case.worlds)
    )
    name = f"{case.name}, all words"
    if one.shape != other.shape:
        return Check(name, False, "who counts, or how long messages are, differs")
    rows = audit_words(one, other, ALARM / 3, _prove_purely)
    worst = max(rows, key=lambda row: row.proven)
    if worst.proven > 0:
        where = f"word {worst.word} of the {worst.server}'s {worst.part}"
        return Check(name, False, f"{where} proves epsilon {worst.proven:.3f}")
    count = sum(each.words for each in one.servers)
    return Check(name, True, f"none of {count:,} words tells anything, and lengths are the same")


def _prove_purely(hits: int, others: int, trials: int, error: float) -> float:
    return prove_epsilon(hits, others, trials, 0.0, error)


def _public_keys() -> list[bytes]:
    return [key.public_key().public_bytes_raw() for key in _KEYS]


def audit_views(runs: Runs) -> list[ViewRow]:
    """What both servers' views prove of an owner that is in one world or the other."""
    case, trials = runs.case, runs.uniform.shape[1]
    error = ALARM / 3 / (3 * len(_NAMES) * len(_WHAT))
    half, rows = trials // 2, []
    for server, name in enumerate(_NAMES):
        for column, what in enumerate(_WHAT):
            if what == _SUM:
                one, other = (_nearness(each[:, server], case) for each in runs.sums)
                events = [(one >= 1, other >= 1), (one <= 0, other <= 0)]
            else:
                one, other = (each[:, server, column] for each in runs.uniform)
                events = [(np.isin(one[half:], one[:half]), np.isin(other[half:], one[:half]))]
            events.append((one > 0.5, other > 0.5))
            proven = max(_prove(*event, case.delta, error) for event in events)
            rows.append(ViewRow(name, what, trials, proven, case.law.price))
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


def _run(
    batch: Batch, case: SumCase, world: int, trials: int, *, stream: Stream, noise: Noise
) -> tuple[FloatArray, IntArray]:
    """What both servers hold in so many runs in a world. Runs are checked in one block; each is a
    sum of its own, with a number of its own.
    """
    prio3, field = batch.terms.law.prio3, batch.terms.law.prio3.circuit.field
    sealed = seal_reports(np.tile(case.worlds[world], (trials, 1)), batch, stream.child("owner"))
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
    uniform = np.empty((trials, 2, len(_UNIFORM)))
    sums = np.empty((trials, 2, own[0].shape[1]), dtype=np.int64)
    for place in (COORDINATOR, HELPER):
        uniform[:, place, 0] = _scale(own[place][:, 0], field.modulus)
        uniform[:, place, 1] = _scale(opened_first, field.modulus)
        parts = np.ascontiguousarray(told[1 - place][:, end : end + 8]).view("<u8")
        uniform[:, place, 2] = _scale(parts, 1 << 64)
        for run in range(trials):
            asked = replace(batch, number=world * trials + run + 1)
            noisy = _release(asked, 1 - place, own[1 - place][run], noise[1 - place])
            sums[run, place] = field.to_signed(field.add(noisy, own[place][run]))
    return uniform, sums


def _release(batch: Batch, place: int, share: WordArray, stream: Stream) -> WordArray:
    """A server's noisy sum of one share."""
    side = (CoordinatorSide if place == COORDINATOR else HelperSide)(batch, _KEYS[place])
    side.resume(bytes(batch.terms.law.prio3.circuit.field.encode(share[np.newaxis])[0]), 1)
    return side.noisy_sum(1, stream)


def _scale(words: WordArray, whole: int) -> FloatArray:
    return np.asarray(words[:, 0] / whole)


def _nearness(sums: IntArray, case: SumCase) -> FloatArray:
    """Of each sum: above 0.5 where it is nearer to the second world. It grows with the likelihood
    ratio: along the line between both beside Gaussian noise, entry by entry within the two beside
    Laplace's.
    """
    low, high = case.worlds
    apart = high != low
    along, gap = (sums - low)[:, apart].astype(np.float64), (high - low)[apart]
    if _law_of(case.law)[0] == GAUSSIAN:
        return np.asarray(along @ gap / (gap @ gap))
    return np.asarray(np.clip(along / gap, 0.0, 1.0).mean(axis=1))


# Noise by itself
# -------------------------------------------------------------------------------------------------


def audit_noise(runs: Runs) -> list[NoiseRow]:
    """Whether both servers' noise is what the terms name, and shared with nothing else."""
    drawn, law = runs.noise, runs.case.law
    pooled = {name: drawn[:, place].ravel() for place, name in enumerate(_NAMES)}
    chances = [
        (name, what, chance)
        for name, each in pooled.items()
        for what, chance in _against_the_law(each, law).items()
    ]
    chances += [("both", what, chance) for what, chance in _independence(drawn, law).items()]
    limit = ALARM / 3 / len(chances)
    return [NoiseRow(*chance, limit=limit) for chance in chances]


def _law_of(law: SumLaw) -> tuple[str, int]:
    """Which law the noise has, and its scale in steps."""
    if isinstance(law, VectorTerms):
        return law.law, law.noise
    if isinstance(law, TallyLaw):
        return "discrete laplace", law.spec.scale(2)
    raise TypeError(f"there is no audit of {type(law).__name__}")


def _against_the_law(draws: IntArray, law: SumLaw) -> dict[str, float]:
    """Chances of mean, size and frequencies as far off as these."""
    kind, scale = _law_of(law)
    n, values = len(draws), draws.astype(np.float64)
    if kind == GAUSSIAN:
        variance, sizes = float(scale) ** 2, values**2
        size, spread = variance, sqrt(2) * variance
    else:
        q = exp(-1 / scale)
        variance, sizes = 2 * q / expm1(-1 / scale) ** 2, np.abs(values)
        size = 2 * q / -expm1(-2 / scale)
        spread = sqrt(variance - size**2)
    return {
        "mean": _two_sided(values.mean() / sqrt(variance / n)),
        "size": _two_sided((sizes.mean() - size) / (spread / sqrt(n))),
        "law": _frequencies(draws, kind, scale),
    }


def _frequencies(draws: IntArray, kind: str, scale: int) -> float:
    """The chance that so many draws fall so unevenly into bins of nearly equal chance."""
    counts = np.bincount(_bin(draws, kind, scale), minlength=_BINS)
    if scale > _SMALL:  # bins have thousands of values each
        return float(chisquare(counts).pvalue)
    values = np.arange(-_FAR * scale, _FAR * scale + 1)
    chances = np.exp(-((values / scale) ** 2) / 2 if kind == GAUSSIAN else -np.abs(values) / scale)
    expected = np.bincount(_bin(values, kind, scale), chances / chances.sum(), _BINS)
    return float(chisquare(counts, expected * len(draws)).pvalue)


def _bin(values: IntArray, kind: str, scale: int) -> IntArray:
    """In which bin of continuous noise values are."""
    tail = np.exp(-np.abs(values) / scale) / 2
    laplace = np.where(values < 0, tail, 1 - tail)
    below = norm.cdf(values / scale) if kind == GAUSSIAN else laplace
    return np.asarray(np.minimum(below * _BINS, _BINS - 1).astype(np.int64))


def _independence(drawn: IntArray, law: SumLaw) -> dict[str, float]:
    """Chances of ranks as alike as the most alike ones: of two numbers of a sum, of both servers,
    and of sums that follow each other; and of as many noises that are the same.
    """
    runs = len(drawn)
    columns = drawn.reshape(runs, -1)
    ranks = rankdata(columns, axis=0)
    ranks = ranks - ranks.mean(axis=0)
    lengths = np.sqrt((ranks**2).sum(axis=0))
    alike = ranks / np.where(lengths > 0, lengths, 1.0)
    same, next_one = alike.T @ alike, alike[:-1].T @ alike[1:]
    pairs = np.abs(same[np.triu_indices(len(same), 1)])
    alone = {
        "numbers and servers": (float(pairs.max()), len(pairs)),
        "sums that follow": (float(np.abs(next_one).max()), next_one.size),
    }
    found = {
        what: min(1.0, count * _two_sided(most * sqrt(runs - 1)))
        for what, (most, count) in alone.items()
    }
    kind, scale = _law_of(law)
    meet = 1 / (2 * scale * sqrt(pi)) if kind == GAUSSIAN else 1 / (4 * scale)  # of two draws
    twice = 2 * runs - len(np.unique(drawn.reshape(2 * runs, -1), axis=0))
    expected = runs * (2 * runs - 1) * meet ** drawn.shape[2]
    return found | {"noise that came twice": float(poisson.sf(twice - 1, expected))}


def _two_sided(errors: float) -> float:
    return float(2 * norm.sf(abs(errors)))


# What it costs
# -------------------------------------------------------------------------------------------------


def audit_price(case: SumCase) -> Check:
    """What all sums of the case cost together, computed anew from how far the worlds are apart."""
    kind, scale = _law_of(case.law)
    gap = (case.worlds[1] - case.worlds[0]).astype(np.float64)
    if kind == GAUSSIAN:
        length = sqrt(case.answers * float(gap @ gap) / (scale**2 - 4))
        lost = norm.cdf(length / 2 - case.epsilon / length)
        lost -= exp(case.epsilon) * norm.cdf(-length / 2 - case.epsilon / length)
        sound = bool(lost <= case.delta)
        seen = f"delta {lost:.3g} at epsilon {case.epsilon:g}, promised {case.delta:g}"
    else:
        spent = case.answers * float(np.abs(gap).sum()) / scale
        sound = spent <= case.epsilon
        seen = f"epsilon {spent:.4f}, promised {case.epsilon:g}"
    sums = "one sum" if case.answers == 1 else f"{case.answers} sums of the same owners"
    return Check(f"{case.name}, price", sound, f"{sums}: {seen}")
