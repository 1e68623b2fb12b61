"""The protocol in whole numbers: what is opened, minus the noise that was drawn, is the plain
sum. Refusals.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tacit import secure, seeded
from tacit.sums import secure_sum
from tacit.sums.secure_sum import SumRefusedError, TwoServers, two_sided_geometric
from tacit_papers.b.ring import RingSum

SUM = TwoServers(epsilon=1.0)
anything = (
    st.floats(width=64)
    | st.floats(-0.5, 1.5)
    | st.sampled_from([0.0, 1.0, 0.5 / SUM.steps, 1.5 / SUM.steps])
)
batches = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=30), elements=anything
)


def steps_of(x):
    """The rule, in rationals: NaN is 0, then clip, then the nearest step, ties to even."""
    inside = 0.0 if x != x else min(max(x, 0.0), 1.0)
    return round(Fraction(inside) * SUM.steps)


def plain(terms):
    return [sum(steps_of(x) for x in column) for column in np.asarray(terms).T.tolist()]


def in_steps(answer):
    return np.rint(answer.sums * SUM.steps).astype(np.int64)


def noise_of(k, stream):
    return sum(two_sided_geometric(k, SUM.scale(k), stream.child("noise", name)) for name in "ab")


@settings(deadline=None)  # the first draw compiles the kernel
@given(terms=batches, seed=st.integers(0, 2**40))
def test_opened_sum_minus_noise_is_the_plain_sum(terms, seed):
    stream = seeded(seed)
    answer = TwoServers(epsilon=1.0, minimum=1).total(terms, stream)
    assert (in_steps(answer) - noise_of(terms.shape[1], stream)).tolist() == plain(terms)
    assert answer.n == len(terms)


@settings(deadline=None)  # the first draw compiles the kernel
@given(terms=batches, seed=st.integers(0, 2**40))
def test_the_ring_is_exact(terms, seed):
    answer = RingSum(minimum=1).total(terms, seeded(seed))
    assert in_steps(answer).tolist() == plain(terms)
    assert (answer.stderr == 0).all()


def test_small_batches_are_refused():
    for spec in (SUM, RingSum()):
        for n in (0, 1, 9):
            with pytest.raises(SumRefusedError, match=rf"minimum=10 owners.*got {n}$"):
                spec.total(np.ones((n, 2)), seeded(1))
        assert spec.total(np.ones((10, 2)), seeded(1)).n == 10


def test_seeded_runs_repeat_and_do_not_depend_on_blocks(monkeypatch):
    terms = np.random.default_rng(5).random((1000, 3))
    for spec in (SUM, RingSum()):
        once = spec.total(terms, seeded(6)).sums
        assert (spec.total(terms, seeded(6)).sums == once).all()
        for block in (1, 7, 999, 5000):
            with monkeypatch.context() as patch:
                patch.setattr(secure_sum, "_BLOCK", block)
                assert (spec.total(terms, seeded(6)).sums == once).all()
    assert (SUM.total(terms, seeded(7)).sums != SUM.total(terms, seeded(6)).sums).all()
    assert (SUM.total(terms, secure()).sums != SUM.total(terms, secure()).sums).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TwoServers(epsilon=float("nan")), "epsilon must be a finite number > 0, got nan"),
        (lambda: TwoServers(epsilon=0), "epsilon must be a finite number > 0, got 0"),
        (lambda: TwoServers(epsilon=None), "epsilon must be a finite number > 0, got None"),
        (
            lambda: RingSum(epsilon=1.0),
            "epsilon must be None: this simulation adds no noise, got 1.0",
        ),
        (lambda: TwoServers(epsilon=1, minimum=0), "minimum must be a whole number >= 1, got 0"),
        (lambda: TwoServers(epsilon=1, steps=0), "steps must be a whole number >= 1, got 0"),
        (
            lambda: TwoServers(epsilon=1, steps=2**31),
            "steps must be at most 1073741824, got 2147483648",
        ),
        (
            lambda: TwoServers(epsilon=1e-9).scale(2),
            "epsilon must be at least 1.9e-06 for 2 entries, got 1e-09",
        ),
        (lambda: SUM.total(np.ones(20), seeded(1)), "terms must have shape (n, 1), got (20,)"),
        (
            lambda: SUM.total(np.ones((20, 0)), seeded(1)),
            "number of entries of a term must be a whole number >= 1, got 0",
        ),
        (lambda: SUM.total([["a", "b"]], seeded(1)), "terms must hold real numbers, got dtype <U1"),
    ],
)
def test_bad_parameters_have_one_clear_message(make, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        make()
    assert str(caught.value) == message
