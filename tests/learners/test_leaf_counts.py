"""Counts that peers release: sensitivity, law, epsilon from samples, and what a query cannot do.

Fixed seeds; the false-alarm rate of each statistical test is 1e-6.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from scipy.stats import chisquare

from tacit.audit.statistical import epsilon_lower_bound
from tacit.data.cohort import Cohort
from tacit.learners.peers.cells import Cut
from tacit.learners.peers.leaf_counts import (
    CHOICE,
    STEPS,
    CountLeaves,
    count_range,
    std_of,
    whole_weights,
)
from tacit.learners.peers.own_model import OwnBoosting
from tacit.learners.peers.peer_model import Additive, ScorePart
from tacit.learners.query import Query
from tacit.mechanisms.base import Reports
from tacit.mechanisms.streams import secure, seeded
from tacit.wire import decode, encode
from tests.learners.peers import CELLS, MODEL, cohort

ALARM = 1e-6
CONFIDENCE = 1 - 1e-6
EVERY = tuple(CELLS.every_cell(column) for column in range(3))
# an epsilon whose noise has a scale of four steps: small enough to see its law
LOUD = float(STEPS) / 4


def query(cuts=EVERY, epsilon=1.0, model=MODEL):
    return CountLeaves(1, 1, (0,), CELLS, cuts, model, (epsilon,))


def without(one, row):
    """A neighbour: the participant without one of its records."""
    keep = np.arange(len(one.y)) != row
    return Cohort(one.X[keep], one.y[keep], np.array([0, keep.sum()]))


def test_counts_are_sums_of_weights():
    asked, people = query(), cohort([7, 0, 5])
    tables = asked.counts(people)
    cells = CELLS.read(people.X)
    for number, cut in enumerate(EVERY):
        expected = np.zeros((3, 2, cut.size))
        for owner, (first, last) in enumerate([(0, 7), (7, 7), (7, 12)]):
            for i in range(first, last):
                margin = (2 * people.y[i] - 1) * MODEL.score(cells[i : i + 1])[0]
                expected[owner, people.y[i], cells[i, cut.column]] += round(
                    STEPS * min(1.0, np.exp(-margin))
                )
        assert (tables[number] == expected).all()


def test_one_record_moves_counts_and_gains_by_at_most_one():
    """On all neighbours of some participants, under a model that tells rows apart."""
    worst = 0
    for seed in range(5):
        one = cohort([30], seed)
        asked = query()
        before = asked.counts(one)
        for row in range(30):
            for table, other in zip(before, asked.counts(without(one, row)), strict=True):
                moved = np.abs(table - other).sum()
                gains = [np.abs(t[0, 1] - t[0, 0]).sum() for t in (table, other)]
                assert moved <= STEPS
                assert abs(gains[0] - gains[1]) <= STEPS
                worst = max(worst, moved)
    assert worst == STEPS  # the bound is reached: the noise is not larger than it must be


def test_weights_that_are_normalised_break_the_bound():
    """What the paper counts with: AdaBoost's weights of a participant, which one record changes
    for all others.
    """
    one = cohort([30])
    worst = 0.0
    for row in range(30):
        counts = []
        for part in (one, without(one, row)):
            boosting = OwnBoosting(CELLS.read(part.X), part.y, 0, rho=inf)
            weights = np.where(part.y == 1, 0.9, 0.1)
            boosting.weights = weights / weights.sum()
            counts.append(
                np.bincount(CELLS.read(part.X)[:, 0], len(part.y) * boosting.weights, minlength=4)
            )
        worst = max(worst, np.abs(counts[0] - counts[1]).sum())
    assert worst > 1.5


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -3.0, 7.0])
def test_no_weight_is_larger_than_one(bad):
    assert 0 <= whole_weights(np.array([bad]))[0] <= STEPS


def draws(asked, people, n, epsilon, seed):
    """Reports of n copies of one participant."""
    many = Cohort(np.tile(people.X, (n, 1)), np.tile(people.y, n), np.arange(n + 1) * len(people.y))
    return asked.release(many, epsilon, seeded(seed)).points


def law(scale, reach):
    """Weights of -reach .. reach of the two-sided geometric law, ends included in the last."""
    weights = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    weights[[0, -1]] /= 1 - np.exp(-1 / scale)
    return weights / weights.sum()


def fits(noise, scale):
    reach = round(6 * scale)
    counts = np.bincount(np.clip(noise, -reach, reach) + reach, minlength=2 * reach + 1)
    return chisquare(counts, law(scale, reach) * len(noise)).pvalue > ALARM


def test_noise_of_one_cut_has_its_law():
    asked = query(cuts=EVERY[2:], epsilon=LOUD)
    people = cohort([3])
    noise = draws(asked, people, 40_000, LOUD, 1)[:, 1:] - asked.counts(people)[0].reshape(1, -1)
    assert fits(noise.ravel(), 4)
    assert not fits(noise.ravel(), 0.95 * 4)
    assert not fits(noise.ravel(), 1.05 * 4)
    assert noise.std(axis=0) == pytest.approx(std_of(4) * STEPS, rel=0.05)
    together = np.corrcoef(noise.T)
    assert np.abs(together - np.eye(4)).max() < 0.03


def test_choice_and_counts_have_their_laws():
    loud = float(STEPS) / 2
    asked = query(cuts=EVERY[1:], epsilon=loud, model=Additive())
    people = cohort([4], seed=3)
    tables = asked.counts(people)
    gains = [int(np.abs(table[0, 1] - table[0, 0]).sum()) for table in tables]
    points = draws(asked, people, 40_000, loud, 2)
    for_gains, for_counts = asked.scales(loud)
    assert (for_gains, for_counts) == (16, 3)
    reach = 60 * for_gains
    z = law(for_gains, reach)
    lead = np.convolve(z, z)  # of Z_1 - Z_0, symmetric
    chance = lead[np.arange(-2 * reach, 2 * reach + 1) + gains[1] - gains[0] > 0].sum()
    hits = int((points[:, 0] == 1).sum())
    assert abs(hits - 40_000 * chance) <= 5 * np.sqrt(40_000 * max(chance * (1 - chance), 1e-4))
    for cut in (0, 1):
        size = asked.cuts[cut].size
        said = points[points[:, 0] == cut][:, 1:].reshape(-1, 2, asked.leaves)
        if len(said) > 3000:
            noise = (said[:, :, :size] - tables[cut][0]).ravel()
            assert fits(noise, for_counts)
            assert not fits(noise, 0.9 * for_counts)
        assert not said[:, :, size:].any()


def test_scales_are_rounded_to_the_safe_side():
    for epsilon in (0.01, 1 / 3, 1.0, 7.3):
        gains, counts = query(epsilon=epsilon).scales(epsilon)
        assert Fraction(2 * STEPS, gains) + Fraction(STEPS, counts) <= Fraction(repr(epsilon))
        assert Fraction(2 * STEPS, gains - 1) > CHOICE * Fraction(repr(epsilon))
        assert Fraction(STEPS, counts - 1) > (1 - CHOICE) * Fraction(repr(epsilon))
        (alone,) = query(cuts=EVERY[:1], epsilon=epsilon).scales(epsilon)[1:]
        assert Fraction(STEPS, alone) <= Fraction(repr(epsilon)) < Fraction(STEPS, alone - 1)


def measured(kind, cuts, epsilon, n, seed):
    """Epsilon proven from reports of a participant with one record and of the same without it.

    The event is chosen on a pilot sample: the best threshold of the log likelihood ratio that the
    claimed laws imply.
    """
    asked = kind(1, 1, (0,), CELLS, cuts, Additive(), (epsilon,))
    one = cohort([3], seed=5)
    pair = one, without(one, 0)
    tables = [asked.counts(people) for people in pair]

    def views(points):
        sign = np.zeros((len(cuts), 2, asked.leaves))
        for cut, (a, b) in enumerate(zip(*tables, strict=True)):
            sign[cut, :, : asked.cuts[cut].size] = np.sign(a[0] - b[0])
        base = np.stack([np.pad(b[0], ((0, 0), (0, asked.leaves - b.shape[2]))) for b in tables[1]])
        said = points[:, 1:].reshape(-1, 2, asked.leaves)
        chosen = points[:, 0]
        lead = ((said - base[chosen]) * sign[chosen]).sum(axis=(1, 2)) / STEPS
        return lead, chosen

    best = (0.0, 0.0, 0)
    pilot = [views(draws(asked, people, n, epsilon, seed + k)) for k, people in enumerate(pair)]
    for threshold in np.linspace(-1, 2, 25):
        for cut in range(-1, len(cuts)):
            hits = [
                int(((lead >= threshold) & ((chosen == cut) | (cut < 0))).sum())
                for lead, chosen in pilot
            ]
            best = max(
                best, (epsilon_lower_bound(hits[0], n, hits[1], n, 0.99), float(threshold), cut)
            )
    fresh = [
        views(draws(asked, people, n, epsilon, seed + 10 + k)) for k, people in enumerate(pair)
    ]
    hits = [
        int(((lead >= best[1]) & ((chosen == best[2]) | (best[2] < 0))).sum())
        for lead, chosen in fresh
    ]
    return epsilon_lower_bound(hits[0], n, hits[1], n, CONFIDENCE)


@pytest.mark.parametrize("cuts", [EVERY[:1], EVERY[1:]], ids=["one cut", "a choice"])
def test_epsilon_from_samples_is_below_the_claim(cuts):
    found = measured(CountLeaves, cuts, 2.0, 30_000, 11)
    assert (0.85 if len(cuts) == 1 else 0.6) * 2.0 < found <= 2.0


def test_too_little_noise_is_caught():
    @dataclass(frozen=True, eq=False)
    class Halved(CountLeaves):
        def scales(self, epsilon):
            return tuple(scale // 2 for scale in super().scales(epsilon))

    assert measured(Halved, EVERY[:1], 2.0, 30_000, 11) > 2.0
    assert measured(Halved, EVERY[1:], 2.0, 30_000, 11) > 2.0


def test_a_report_is_a_function_of_rows_and_tape():
    asked, people = query(epsilon=0.5), cohort([5, 0, 9, 2])
    together = asked.release(people, 0.5, seeded(3)).points
    for owner in range(4):
        alone = asked.release(
            people[owner : owner + 1], 0.5, seeded(3).of(np.array([owner]))
        ).points
        assert (alone[0] == together[owner]).all()
    assert (asked.release(people, 0.5, secure()).points != together).any()


def test_participants_may_have_different_epsilons():
    asked = CountLeaves(1, 1, (0, 1), CELLS, EVERY[:1], Additive(), (0.5, float(STEPS)))
    people = cohort([50, 50])
    each = np.array([0.5, float(STEPS)])
    told = asked.answer(asked.collect(asked.release(people, each, seeded(1)), each))
    error = np.abs(
        told.values[:, 1:].reshape(2, -1)
        - np.stack([t.ravel() for t in asked.counts(people)[0]]) / STEPS
    )
    assert error[0].mean() > 0.5
    assert error[1].max() < 0.01
    assert told.epsilons.tolist() == each.tolist()
    with pytest.raises(ValueError, match="epsilon must be one of"):
        asked.release(people, 0.7, seeded(1))


def test_without_noise_counts_are_exact_and_marked():
    asked, people = query(epsilon=inf), cohort([40])
    cut, counts = asked.read(asked.collect(asked.release(people, inf, seeded(1)), inf).values[0])
    tables = asked.counts(people)
    gains = [np.abs(table[0, 1] - table[0, 0]).sum() for table in tables]
    assert cut == EVERY[int(np.argmax(gains))]
    assert (counts * STEPS == tables[cut.column][0]).all()
    assert asked.unsound
    assert not query().unsound
    assert asked.std(inf) == 0


def test_reports_are_checked():
    asked = query(cuts=EVERY[1:])
    honest = asked.release(cohort([20, 0]), 1.0, seeded(2))
    assert asked.valid(honest, 1.0).all()
    assert honest.form == asked.blank(2).form
    low, high = count_range(asked.scales(1.0)[1])
    edges = Reports.of(honest.points.copy())
    edges.points[0, 0], edges.points[0, 1], edges.points[0, 1 + asked.leaves] = 0, low, high
    assert asked.valid(edges, 1.0).all()
    for place, value in ((0, 2), (0, -1), (1, high + 1), (1, low - 1), (2, 1 << 62)):
        broken = Reports.of(honest.points.copy())
        broken.points[0, place] = value
        assert asked.valid(broken, 1.0).tolist() == [False, True]
    longer = Reports.of(honest.points.copy())
    # "member" has two cells, the fourth must be empty
    longer.points[0, 0], longer.points[0, asked.leaves] = (1, 1)
    assert not asked.valid(longer, 1.0)[0]
    assert not asked.valid(Reports.of(honest.points.astype(np.int32)), 1.0).any()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cuts": ()}, "cuts must be"),
        ({"cuts": (Cut(3, (0, 1)),)}, "cuts must be"),
        (
            {"model": Additive((ScorePart(1, 9, (1.0,), 0),))},
            "columns of the model must be below 3",
        ),
        ({"menu": (0.0,)}, "menu must be numbers > 0"),
        ({"menu": (1e-9,)}, "epsilon of one answer must be at least"),
        ({"menu": (float("nan"),)}, "menu must be numbers > 0"),
        ({"owners": ()}, "owners must be"),
        ({"owners": (-1,)}, "owners must be"),
    ],
)
def test_queries_that_cannot_be_answered_are_refused_before_rows_are_seen(fields, message):
    with pytest.raises(ValueError, match=message):
        replace(query(), **fields)


def test_short_tables_of_a_hostile_query_stop_nobody():
    hostile = query(
        cuts=(Cut(0, (0,)), Cut(1, (0, 1))),
        model=Additive((ScorePart(1, 0, (9.0,), 0), ScorePart(2, 1, (), 0))),
    )
    assert hostile.release(cohort([30]), 1.0, seeded(1)).points.shape == (1, hostile.width)
    assert (hostile.model.score(np.array([[3, 3, 1], [0, -1, 0]])) == [0.0, 9.0]).all()


def test_queries_travel():
    asked = query()
    same = decode(encode(asked), Query)
    assert isinstance(same, CountLeaves)
    assert encode(same) == encode(asked)
    assert (same.dim, same.classes, same.what, same.how) == (6 - 1, 2, "leaves", "counts")
