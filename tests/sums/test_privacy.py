"""What one server sees, the law of the noise, and epsilon from samples. Fixed seeds, false-alarm
rate 1e-6 per test.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare, norm

from tacit import secure, seeded
from tacit.audit.examination import bias_z, variance_z
from tacit.audit.statistical import epsilon_lower_bound
from tacit.sums import secure_sum as noise
from tacit.sums.secure_sum import (
    TwoServers,
    two_sided_geometric,
    two_sided_geometric_rows,
    variance,
)

ALARM = 1e-6
CONFIDENCE = 1 - 1e-6


@dataclass(frozen=True, kw_only=True)
class HalfSensitivity(TwoServers):
    """Forgets that a term can move from one end to the other."""

    def width(self, k):
        return super().width(k) // 2


def table(scale, reach):
    """Weights of -reach .. reach under a real scale, ends included in the last."""
    weights = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    weights[[0, -1]] /= 1 - np.exp(-1 / scale)
    return weights / weights.sum()


def fits(draws, weights):
    reach = len(weights) // 2
    counts = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=len(weights))
    return chisquare(counts, weights * len(draws)).pvalue > ALARM


@pytest.mark.parametrize("stream", [seeded(4), secure()], ids=["seeded", "secure"])
@pytest.mark.parametrize("scale", [1, 5])
def test_noise_has_its_law(scale, stream):
    draws = two_sided_geometric(300_000, scale, stream)
    assert fits(draws, table(scale, 6 * scale))
    assert not fits(draws, table(0.95 * scale, 6 * scale))
    assert not fits(draws, table(1.05 * scale, 6 * scale))


def test_noise_is_a_function_of_its_tape(monkeypatch):
    draws = two_sided_geometric(2000, 1 << 20, seeded(5))
    monkeypatch.setattr(noise, "_WORDS", 1)
    assert (two_sided_geometric(2000, 1 << 20, seeded(5)) == draws).all()


@pytest.mark.parametrize("runs", [0, 1, 62, 63, 64, 100])
@pytest.mark.parametrize("sign", [1, -1])
def test_noise_does_not_stop_at_63_scales(runs, sign):
    """A tape written by hand: rest 1, kept; `runs` successes of coins of chance 1/e, a failure;
    the sign.
    """
    low, high, scale = 0, 2**64 - 1, 1 << 20
    success, failure = [low, low, high], [low, high]  # for a scale that is a power of two
    side = [low if sign > 0 else high]
    rest = [1 << 44, high]
    counted = [*success * min(runs, 63), *(failure if runs < 63 else [])]
    beyond = [*success * (runs - 63), *failure] if runs >= 63 else []
    tape = np.array([*rest, *counted, *side, *beyond], dtype=np.uint64)
    assert noise.endless_laplace(tape, 0, np.uint64(scale)) == (
        sign * (1 + runs * scale),
        len(tape),
    )
    assert noise.endless_laplace(tape[:-1], 0, np.uint64(scale))[1] == -1


def opened(spec, runs, k, seed):
    """Errors of sums opened by the whole protocol, in steps, (runs, k)."""
    terms = np.ones((10, k))
    sums = np.array([spec.total(terms, seeded(seed).child(run)).sums for run in range(runs)])
    return (sums - 10) * spec.steps


def test_opened_sums_have_the_law_of_two_noises():
    spec = TwoServers(epsilon=16.0, steps=1)
    assert spec.scale(64) == 4
    errors = np.rint(opened(spec, 1500, 64, 6)).astype(np.int64).ravel()

    def both(scale):
        # its ends are far beyond what is seen
        whole = np.convolve(table(scale, 400), table(scale, 400))
        kept = whole[800 - 24 : 800 + 25].copy()
        kept[[0, -1]] += (1 - kept.sum()) / 2
        return kept

    assert fits(errors, both(4.0))
    assert not fits(errors, both(0.8 * 4))
    assert not fits(errors, both(1.25 * 4))


def test_stderr_is_that_of_the_opened_sum():
    spec, k = TwoServers(epsilon=3.0), 32
    errors = opened(spec, 1500, k, 7) / spec.steps
    stderr = spec.total(np.ones((10, k)), seeded(8)).stderr
    assert stderr == pytest.approx(2 * k / 3.0, rel=1e-5)
    limit = norm.isf(ALARM / (4 * k))
    zero = np.zeros(k)
    assert bias_z(errors, zero, stderr**2) < limit
    assert variance_z(errors, zero, stderr**2) < limit
    pooled = errors.reshape(-1, 1)
    for factor in (0.8, 1.25):
        assert variance_z(pooled, np.zeros(1), (factor * stderr[:1]) ** 2) > limit


def test_variance_formula():
    for scale in (1, 3, 1000):
        z = np.arange(-60 * scale, 60 * scale + 1)
        assert variance(scale) == pytest.approx(z**2 @ table(scale, 60 * scale), rel=1e-9)


def measured(spec, n, threshold, noises, seed):
    """Epsilon proven from sums of two neighbouring batches with `noises` noises: one at a server,
    two when opened.

    `test_exact` shows that an opened sum is the plain sum plus these draws. The owner's term is 0
    or 1; the event is that the sum lies `threshold` scales below the others' sum.
    """
    t = spec.scale(1)
    hits = []
    for term in (0, 1):
        draws = sum(
            two_sided_geometric(n, t, seeded(seed).child(term, number)) for number in range(noises)
        )
        hits.append(int(np.count_nonzero(term * spec.steps + draws <= -threshold * t)))
    return epsilon_lower_bound(hits[0], n, hits[1], n, CONFIDENCE)


@pytest.mark.parametrize(("noises", "threshold"), [(1, 0), (2, 4)], ids=["at a server", "opened"])
def test_epsilon_is_what_is_claimed(noises, threshold):
    n = 1_000_000
    claim = 3.0
    assert 0.8 * claim < measured(TwoServers(epsilon=claim), n, threshold, noises, 9) <= claim
    assert measured(HalfSensitivity(epsilon=claim), n, threshold, noises, 9) > claim


def test_scale_is_rounded_to_the_safe_side():
    for epsilon in (0.1, 1 / 3, 1.0, 7.3):
        for k in (1, 2, 5):
            spec = TwoServers(epsilon=epsilon)
            exact = k * spec.steps / Fraction(repr(epsilon))
            assert exact <= spec.scale(k) < exact + 1


@pytest.mark.parametrize("words", [28, 2], ids=["short draws", "draws that go on elsewhere"])
def test_many_draws_from_one_tape_have_the_law_and_are_independent(words, monkeypatch):
    monkeypatch.setattr(noise, "_WORDS", words)
    rows, each = (20_000, 8) if words > 2 else (1_500, 8)
    draws = two_sided_geometric_rows(rows, each, 3, seeded(12))
    assert fits(draws.ravel(), table(3, 18))
    if words > 2:
        assert not fits(draws.ravel(), table(0.95 * 3, 18))
        assert not fits(draws.ravel(), table(1.05 * 3, 18))
    assert np.abs(np.corrcoef(draws.T) - np.eye(each)).max() < 6 / np.sqrt(rows)
    alone = two_sided_geometric_rows(1, each, 3, seeded(12).of(np.array([5])))
    assert (alone[0] == draws[5]).all()
