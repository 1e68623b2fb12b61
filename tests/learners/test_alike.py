"""Who is alike: the question and its privacy, the distance and its false alarms, circles, and what
one liar can do to them.

Fixed seeds; the false-alarm rate of a statistical test is 1e-6 unless it says another.
"""

from fractions import Fraction

import numpy as np
import pytest

from tacit.audit.statistical import epsilon_lower_bound
from tacit.data.cohort import Cohort, Public
from tacit.data.schema import Category, Number, Schema
from tacit.learners.peers.alike import (
    BINS,
    Circles,
    Contrast,
    CountClasses,
    circles_of,
    distance,
    draw_columns,
    few_leaves,
    is_far,
    part_for,
    served_part,
    telling_columns,
)
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.leaf_counts import STEPS, scale_of
from tacit.learners.peers.peer_model import Additive, ScorePart
from tacit.mechanisms.streams import seeded
from tacit.wire import decode, encode
from tests.learners.peers import CELLS, cohort
from tests.learners.test_leaf_counts import LOUD, draws, fits, without

CONFIDENCE = 1 - 1e-6
CUTS = tuple(few_leaves(CELLS, column) for column in range(3))
NOTHING = Additive()


def question(epsilon, kind=CountClasses):
    return kind(1, 1, (0,), CELLS, CUTS, Additive(), (epsilon,))


class OneCutOnly(CountClasses):
    """A near miss: noise for one attribute, while a record is counted in each of three."""

    def scales(self, epsilon):
        return 0, scale_of(epsilon)


# The question


def test_counts_are_of_rows_and_noise_has_its_law():
    asked, people = question(3 * LOUD), cohort([5])
    exact = np.concatenate([table.ravel() for table in asked.counts(people)])
    assert exact.sum() == 3 * 5 * STEPS  # before anything is known every row counts as one
    noise = draws(asked, people, 20_000, 3 * LOUD, 1) - exact
    assert fits(noise.ravel(), 4)
    assert not fits(noise.ravel(), 0.95 * 4)
    together = np.corrcoef(noise.T)
    assert np.abs(together - np.eye(len(together))).max() < 0.05


def test_scales_are_rounded_to_the_safe_side():
    for epsilon in (0.01, 1 / 3, 1.0, 7.3):
        _, scale = question(epsilon).scales(epsilon)
        assert (
            Fraction(3 * STEPS, scale) <= Fraction(repr(epsilon)) < Fraction(3 * STEPS, scale - 1)
        )


def measured(kind, epsilon, n=60_000):
    """Epsilon proven from reports of a participant with three records and of the same with two."""
    asked, one = question(epsilon, kind), cohort([3], seed=5)
    pair = one, without(one, 0)
    a, b = ([table[0] for table in asked.counts(people)] for people in pair)
    sign, base = (
        np.concatenate([each.ravel() for each in part])
        for part in ([np.sign(x - y) for x, y in zip(a, b, strict=True)], b)
    )
    hits = []
    for seed, people in enumerate(pair):
        lead = ((draws(asked, people, n, epsilon, seed) - base) * sign).sum(axis=1) / STEPS
        hits.append(int((lead >= 3).sum()))
    return epsilon_lower_bound(hits[0], n, hits[1], n, CONFIDENCE)


def test_an_answer_costs_what_it_says_and_a_near_miss_is_caught():
    assert measured(CountClasses, 1.0) <= 1.0
    assert measured(OneCutOnly, 1.0) > 1.0


def test_what_is_valid_is_what_the_noise_allows():
    asked = question(1.0)
    honest = asked.release(cohort([4, 0]), 1.0, seeded(1))
    assert asked.valid(honest, 1.0).all()
    said = honest.points.copy()
    said[0, 3] = 1 << 50
    assert asked.valid(type(honest).of(said), 1.0).tolist() == [False, True]
    assert not asked.valid(type(honest).of(said[:, :-1]), 1.0).any()
    assert encode(decode(encode(asked), CountClasses)) == encode(asked)


def test_attributes_have_few_leaves_and_public_rows_say_which_tell():
    schema = Schema((*(Number(name, -1, 1) for name in "abcd"), Category("e", (*"uvwx",))), (0, 1))
    cells = Cells(schema, bins=10)
    assert few_leaves(cells, 0).size == BINS
    assert few_leaves(cells, 4).size == 5
    assert few_leaves(Cells(schema, bins=2), 0).leaves == (0, 1)
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.uniform(-1, 1, (400, 4)), rng.integers(0, 2, (400, 4))], axis=1)
    y = (X[:, 2] + 0.3 * rng.normal(size=400) > 0).astype(np.int64)
    assert telling_columns(cells, Public(X, y, 2))[0] == 2
    drawn = draw_columns(cells, seeded(1))
    assert len(set(drawn)) == 3
    assert drawn == draw_columns(cells, seeded(1)) != draw_columns(cells, seeded(2))


# The distance


def exact(leads, who=0):
    leads = np.array(leads, dtype=np.float64)
    return Contrast(who, tuple(leads / np.linalg.norm(leads)), (0.0,) * len(leads), 100.0)


def told(cohort, epsilon, seed=1):
    """What everybody tells, with these classes as they are."""
    asked = CountClasses(1, 1, None, PLAIN, LEAVES, Additive(), (epsilon,))
    said = asked.collect(asked.release(cohort, epsilon, seeded(seed)), epsilon)
    noise = asked.std(epsilon) ** 2
    columns = [cut.column for cut in LEAVES]
    return [
        Contrast.of(who, LEAVES, dict(zip(columns, asked.tables(one), strict=True)), noise)
        for who, one in enumerate(said.values)
    ]


PLAIN = Cells(Schema(tuple(Number(name, -1, 1) for name in "abc"), ("no", "yes")), bins=8)
LEAVES = tuple(few_leaves(PLAIN, column) for column in range(3))


def participants(sizes, opposite=(), seed=1):
    """Of one law, class 1 likelier where the first attribute is large; some with opposite ones."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (sum(sizes), 3))
    y = (rng.uniform(size=len(X)) < 0.5 + 0.4 * X[:, 0]).astype(np.int64)
    turned = np.repeat([who in opposite for who in range(len(sizes))], sizes)
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
    return Cohort(X, np.where(turned, 1 - y, y), offsets)


def groups(contrasts, columns=(0, 1, 2)):
    circles = Circles(columns).seat(contrasts, NOTHING).circles
    return sorted(circle.numbers for circle in circles)


def test_the_scale_is_that_of_the_papers_selection():
    one = exact([0.3, -0.2, 0.1])
    assert distance(one, one) == pytest.approx(0.0)
    assert distance(one, exact([0.2, 0.3, 0.0])) == pytest.approx(1.0)
    assert distance(one, exact([-0.3, 0.2, -0.1])) == pytest.approx(2.0)


def test_those_that_are_unrelated_are_seldom_far():
    """One in 44 by the normal law; of 2,000 pairs more than 75 or fewer than 22 have a chance below
    1e-4.
    """
    rng = np.random.default_rng(4)
    pairs = rng.normal(size=(2_000, 2, 30))
    ones = (1.0,) * 30
    far = sum(
        is_far(Contrast(0, tuple(p), ones, 1), Contrast(1, tuple(q), ones, 1)) for p, q in pairs
    )
    assert 22 <= far <= 75


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_opposite_classes_are_parted_and_like_ones_stay_together(epsilon):
    people = participants((900, 800, 700, 600, 500), opposite=(1, 4))
    assert groups(told(people, epsilon)) == [(0, 2, 3), (1, 4)]


def test_nobody_is_sent_away_without_reason():
    """All alike at any epsilon, those without rows, and opposite ones where noise hides all."""
    for seed in range(20):
        assert len(groups(told(participants((400, 300, 200, 0)), 1.0, seed))) == 1
    people = participants((400, 300, 200, 100), opposite=(1,))
    apart = [len(groups(told(people, 0.001, seed))) > 1 for seed in range(40)]
    assert sum(apart) < 10


def test_one_that_is_silent_or_lacks_the_attributes_is_far_from_nobody():
    silent = Contrast.of(7, LEAVES, {}, 0.0)
    assert silent.leads == silent.variances == (0.0,) * 12
    for other in told(participants((900, 800), opposite=(1,)), 1.0):
        assert not is_far(other, silent)
    people = told(participants((900, 800, 700), opposite=(1,)), 1.0)
    assert groups([*people, silent]) == [(0, 2, 7), (1,)]
    half = Contrast.of(8, LEAVES, {0: np.array([[90.0, 60, 40, 10], [10, 40, 60, 90]])}, 1.0)
    assert groups([*people, half]) == [(0, 2, 8), (1,)]


# One liar


def liars():
    """Whatever may be claimed: no rows or very many, in any leaf, evenly or not."""
    rng = np.random.default_rng(5)
    for scale in (1e-3, 1.0, 1e3, 1e7):
        for _ in range(50):
            tables = {c: scale * rng.normal(size=(2, 4)) for c in range(3)}
            yield Contrast.of(9, LEAVES, tables, 100.0)
        flat = {c: np.full((2, 4), scale) for c in range(3)}
        yield Contrast.of(9, LEAVES, flat, 100.0)


def test_a_voice_is_one_whatever_is_claimed():
    for lie in liars():
        assert sum(lead**2 for lead in lie.leads) <= 1 + 1e-9
        assert 0 <= sum(lie.variances) <= 1 + 1e-9


def test_a_liar_parts_nobody_and_joins_nobody_where_others_are_clear():
    """Eight clear participants, two of them opposite: whatever a ninth claims, they are as without
    it.
    """
    people = told(participants((3000,) * 8, opposite=(2, 5)), 2.0)
    assert groups(people) == [(0, 1, 3, 4, 6, 7), (2, 5)]
    for lie in liars():
        seated = groups([lie, *people])
        assert [tuple(n for n in g if n != 9) for g in seated if g != (9,)] == [
            (0, 1, 3, 4, 6, 7),
            (2, 5),
        ]


# Circles


def test_newcomers_move_nobody_and_leavers_take_their_parts_along():
    people = told(participants((900, 800, 700, 600), opposite=(1,)), 2.0)
    first = Circles((0, 1, 2)).seat(people[:3], NOTHING)
    part = ScorePart(1, 0, (0.5, -0.5), 0)
    first = first.after(0, Additive((part,)))
    later = first.seat(people[3:], NOTHING)
    assert {circle.numbers for circle in later.circles} == {(0, 2, 3), (1,)}
    assert later.largest is not None
    assert later.largest.numbers == (0, 2, 3)
    assert circles_of(later, range(4)) == [(0, 2, 3), (1,)]
    mine = first.circles[0].numbers[0]
    assert part_for(later, mine) == Additive((part,))
    left = later.without({0, 1})
    assert circles_of(left, range(4)) == [(2, 3)]
    assert [circle.released for circle in left.circles] == [NOTHING]
    assert decode(encode(later), Circles) == later
    with pytest.raises(LookupError, match="participant 1 has not come"):
        part_for(left, 1)
    assert served_part(Circles(), NOTHING) is NOTHING
    assert part_for(NOTHING, 3) is NOTHING
    assert circles_of(NOTHING, (0, 1)) == [(0, 1)]


def largest(people):
    found = Circles().seat(people, NOTHING).largest
    return None if found is None else found.numbers


def test_the_largest_circle_is_of_most_participants_and_then_of_most_rows():
    few = told(participants((900, 800), opposite=(1,)), 2.0)
    assert largest(few) == (0,)
    loud = Contrast(2, tuple(-lead for lead in few[0].leads), few[0].variances, 1e6)
    assert largest([few[0], loud]) == (2,)
    more = Contrast(3, few[0].leads, few[0].variances, 1.0)
    assert largest([few[0], more, loud]) == (0, 3)
