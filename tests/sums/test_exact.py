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
from tacit.sums import base
from tacit.sums.base import SumRefusedError
from tacit.sums.two_servers import Half, SumServer, TwoServers, open_sum, split, two_sided_geometric
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


def servers(n, k=2, spec=SUM):
    return SumServer(spec, n, k), SumServer(spec, n, k)


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


@settings(deadline=None)  # the first draw compiles the kernel
@given(terms=batches, seed=st.integers(0, 2**40), data=st.data())
def test_drop_outs_leave_the_sum_of_the_others_exact(terms, seed, data):
    n, k = terms.shape
    spec = TwoServers(epsilon=1.0, minimum=1)
    reaches = arrays(np.bool_, n, elements=st.booleans())
    at_a, at_b = data.draw(reaches), data.draw(reaches)
    a, b = servers(n, k, spec)
    for half, server, arrived in zip(
        split(np.arange(n), terms, spec.steps, seeded(seed)), (a, b), (at_a, at_b), strict=True
    ):
        for chosen in np.array_split(
            np.random.default_rng(seed).permutation(np.flatnonzero(arrived)), 3
        ):
            server.receive(Half(half.owners[chosen], half.words[chosen]))
    stream = seeded(seed)
    if not (at_a & at_b).any():
        with pytest.raises(SumRefusedError, match="got 0"):
            a.release(b.present, stream)
        return
    answer = open_sum(
        a.release(b.present, stream.child("noise", "a")),
        b.release(a.present, stream.child("noise", "b")),
    )
    assert answer.n == np.count_nonzero(at_a & at_b)
    assert (in_steps(answer) - noise_of(k, stream)).tolist() == plain(terms[at_a & at_b])


def test_duplicates_are_counted_and_refused():
    terms = np.random.default_rng(1).random((12, 2))
    a, b = servers(12)
    halves = split(np.arange(12), terms, SUM.steps, seeded(2))
    others = split(np.arange(12), 1 - terms, SUM.steps, seeded(3))
    for half, other, server in zip(halves, others, (a, b), strict=True):
        server.receive(half)
        server.receive(Half(other.owners[:5], other.words[:5]))
        assert server.duplicates == 5
    within = Half(np.array([0, 1, 1, 1]), np.zeros((4, 2), np.uint64))
    lone = SumServer(SUM, 12, 2)
    lone.receive(within)
    assert (lone.duplicates, int(lone.present.sum())) == (2, 2)
    stream = seeded(4)
    answer = open_sum(
        a.release(b.present, stream.child("noise", "a")),
        b.release(a.present, stream.child("noise", "b")),
    )
    assert (in_steps(answer) - noise_of(2, stream)).tolist() == plain(terms)


def test_small_batches_are_refused():
    for spec in (SUM, RingSum()):
        for n in (0, 1, 9):
            with pytest.raises(SumRefusedError, match=rf"minimum=10 owners.*got {n}$"):
                spec.total(np.ones((n, 2)), seeded(1))
        assert spec.total(np.ones((10, 2)), seeded(1)).n == 10


def test_a_batch_is_released_once():
    a, b = servers(10)
    halves = split(np.arange(10), np.ones((10, 2)), SUM.steps, secure())
    a.receive(halves[0])
    with pytest.raises(SumRefusedError, match="got 0"):  # nothing at b yet: refused, nothing spent
        a.release(b.present, secure())
    b.receive(halves[1])
    a.release(b.present, secure())
    with pytest.raises(SumRefusedError, match="once"):
        a.release(b.present, secure())
    with pytest.raises(SumRefusedError, match="once"):
        a.receive(halves[0])


def test_releases_of_different_batches_do_not_open():
    def release(n, spec=SUM, k=2):
        a, b = servers(12, k, spec)
        halves = split(np.arange(n), np.ones((n, k)), spec.steps, seeded(1))
        a.receive(halves[0])
        b.receive(halves[1])
        return a.release(b.present, seeded(2))

    for other in (release(11), release(10, TwoServers(epsilon=2.0)), release(10, k=1)):
        with pytest.raises(SumRefusedError, match="same batch"):
            open_sum(release(10), other)


def test_seeded_runs_repeat_and_do_not_depend_on_blocks(monkeypatch):
    terms = np.random.default_rng(5).random((1000, 3))
    for spec in (SUM, RingSum()):
        once = spec.total(terms, seeded(6)).sums
        assert (spec.total(terms, seeded(6)).sums == once).all()
        for block in (1, 7, 999, 5000):
            with monkeypatch.context() as patch:
                patch.setattr(base, "_BLOCK", block)
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
        (lambda: SumServer(SUM, -1, 2), "owners must be a whole number >= 0, got -1"),
        (lambda: SumServer(SUM, 9, 0), "k must be a whole number >= 1, got 0"),
        (
            lambda: SumServer(SUM, 9, 2).receive(Half(np.array([9]), np.zeros((1, 2), np.uint64))),
            "owners of a half must lie in 0 .. 8",
        ),
        (
            lambda: SumServer(SUM, 9, 2).receive(Half(np.array([0]), np.zeros((1, 3), np.uint64))),
            "half must be one row of 2 words per numbered owner, got 'shape (1, 3)'",
        ),
        (
            lambda: SumServer(SUM, 9, 2).receive(
                Half(np.array([0.0]), np.zeros((1, 2), np.uint64))
            ),
            "half must be one row of 2 words per numbered owner, got 'shape (1, 2)'",
        ),
        (
            lambda: SumServer(SUM, 9, 2).release(np.ones(8, np.bool_), seeded(1)),
            "at_other must be 9 truth values, got 'bool of shape (8,)'",
        ),
    ],
)
def test_bad_parameters_have_one_clear_message(make, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        make()
    assert str(caught.value) == message
