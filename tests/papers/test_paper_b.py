"""Paper B again, quickly: rows, hitting rates, votes by sums, and what its learners do."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.stump import StumpModel
from tacit.mechanisms.piecewise import Piecewise
from tacit.mechanisms.registry import NoPrivacy
from tacit.mechanisms.streams import seeded
from tacit.render.pages import page_of
from tacit_papers.b.experiment import ErrorCell, cells_b
from tacit_papers.b.hits import CUTS, READINGS, HitRow, gaps_of_readings
from tacit_papers.b.learners import MajorityStump, OneAgainstRest, WeightedCentroid
from tacit_papers.b.published import published_square
from tacit_papers.b.report import report_b
from tacit_papers.b.summed import SUMS_SHARE, SummedCell
from tacit_papers.reproduce import print_tables
from tacit_papers.shared.curves import CurveRow, OursRow
from tacit_papers.shared.first_learner import FirstRow


@pytest.fixture(scope="module")
def rows():
    return [row for cell in cells_b(quick=True) for row in cell.rows()]


def of(rows, kind):
    return [row for row in rows if isinstance(row, kind)]


def test_every_figure_is_there_with_ours_and_the_sample_alone(rows):
    firsts = of(rows, FirstRow)
    assert {row.where for row in firsts} == {"Table 2, Fig. 2", "Fig. 3", "Fig. 4", "Fig. 6"}
    for where in {row.where for row in firsts}:
        assert {row.variant for row in firsts if row.where == where} == {
            "as published",
            "sound",
            "ours",
            "sample alone",
        }
    assert {row.learner for row in of(rows, CurveRow)} == {"centroid", "stump"}
    assert all(row.mean <= row.alone + 0.01 for row in of(rows, OursRow))
    for row in [*firsts, *of(rows, CurveRow), *of(rows, HitRow)]:
        assert row.paper == "b"
        assert bool(row.unsound) == row.variant.startswith("as published")


def test_squares_follow_the_law_of_the_mechanism(rows):
    """Laplace with scale 2 d / epsilon has variance 8 d^2 / epsilon^2; 100 owners, 21
    coefficients, two runs.
    """
    own = [
        row
        for row in of(rows, FirstRow)
        if (row.where, row.mechanism) == ("Table 2, Fig. 2", "laplace")
    ]
    for row in own:
        assert row.epsilon is not None
        assert row.error == pytest.approx(8 * 21**2 / row.epsilon**2 / 100, rel=0.5)


def test_more_owners_less_error(rows):
    for where in ("Fig. 4", "Fig. 6"):
        firsts = [
            row for row in of(rows, FirstRow) if (row.where, row.variant) == (where, "as published")
        ]
        own = [row for row in firsts if row.mechanism == "piecewise"]
        few, many = sorted(own, key=lambda row: row.owners)
        assert 2 < few.error / many.error < 8


def test_hitting_rates_are_rates(rows):
    hits = of(rows, HitRow)
    assert all(0 <= row.top1 <= row.top3 <= 1 for row in hits)
    assert {row.variant for row in hits} == {*READINGS, "sound", "sample alone"}
    for reading in READINGS:
        rates = {(row.mechanism, row.epsilon): row.top3 for row in hits if row.variant == reading}
        assert rates["piecewise", 5.0] > rates["piecewise", 1.0]
        assert rates["piecewise", 5.0] >= rates["duchi", 5.0]
    (alone,) = [row for row in hits if row.variant == "sample alone"]
    assert alone.epsilon is None


def test_the_stated_rates_say_where_attributes_are_cut():
    """The default is at the median, as learners have it; rates decide, by their mean distance."""
    default, other = READINGS
    assert READINGS[default].thresholds == MajorityStump().thresholds == "median"
    assert READINGS[other].thresholds == "best"
    assert set(CUTS) == set(READINGS)

    def row(variant, mechanism, top1, top3):
        size = (100, 1_000, 40, "leaks")
        return HitRow("b", "mnist", "mnist", variant, mechanism, 5.0, top1, top3, *size)

    gaps = gaps_of_readings(
        [
            row(default, "piecewise", 0.38, 0.9),
            row(other, "piecewise", 0.1, 0.5),
            row(other, "duchi", 0.4, 0.8),
            row("sound", "piecewise", 0.4, 0.8),
        ]
    )
    assert gaps == pytest.approx({default: 0.06, other: 0.3})


def test_boosting_helps(rows):
    ends = {
        (row.learner, row.variant, row.mechanism, row.learners): row.mean
        for row in of(rows, CurveRow)
        if row.epsilon in (None, 5.0)
    }
    assert ends["stump", "sound", "none", 10] < ends["stump", "sound", "none", 1]
    assert ends["stump", "sound", "auto", 10] < 0.45


def test_the_sound_variant_spends_no_more_than_epsilon():
    (cell,) = [
        cell for cell in cells_b(quick=True) if type(cell) is SummedCell and cell.learner == "stump"
    ]
    for line in cell.lines():
        epsilon, sums = cell._budget(line)
        if line.epsilon is not None and line.variant == "sound":
            assert not sums.unsound
            assert sums.epsilon == pytest.approx(SUMS_SHARE * 5.0 / 10)
            assert epsilon + cell.rounds * (sums.epsilon or 0.0) == pytest.approx(line.epsilon)
        else:
            assert sums.unsound
    assert cell.spare == 1  # so there cannot be more sums than rounds


def test_the_papers_settings():
    cells = cells_b(quick=False)
    sizes = {
        (cell.where, cell.dataset): cell.owners for cell in cells if isinstance(cell, ErrorCell)
    }
    assert sizes["Table 2, Fig. 2", "mnist ten"] == 500
    assert sizes["Fig. 3", "brazil"] == 1_000_000
    assert {cell.where for cell in cells} == {"Table 2, Fig. 2", "readings", "section 4.1"} | {
        f"Fig. {n}" for n in range(3, 12)
    }
    assert published_square("mnist", "duchi", 1.0) == (0.6149, 0.0367)
    assert published_square("synthetic", "duchi", 1.0) is None


def test_the_report_has_every_figure(rows):
    document = report_b(rows)
    charts = list(document.charts)
    assert len(charts) == 2 + 2 * 2 + 2 + 2 * (
        1 + 2
    )  # first learners; with errors; hits; curves and their votes
    for chart in charts:
        kinds = {line.kind for line in chart.lines}
        assert "paper" in kinds
        assert chart.y_label in ("error", "weighted error", "vote") or {"ours", "public"} <= kinds
    assert "Hitting rates on synthetic" in page_of(document)


def test_the_terminal_shows_every_table(rows):
    out = StringIO()
    console = Console(file=out, width=200)
    print_tables(report_b(rows), console)
    text = out.getvalue()
    for word in (
        "Table 2, synthetic",
        "Fig. 3",
        "Fig. 6",
        "Boosted centroid",
        "hitting rate",
        "as published (unsound)",
    ):
        assert word in text


@pytest.fixture
def cohort():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (60, 2))
    return Cohort(
        X, (X[:, 0] < 0).astype(np.int64), np.arange(21) * 3
    )  # class 1 on the left: an inverted stump


def query_of(learner, cohort, ensemble=None):
    public = Public(cohort.X, cohort.y, 2)
    return ShareQuery(
        1,
        1,
        len(cohort),
        learner,
        learner.facts(public),
        ensemble or Ensemble(2),
        ReportTerms("none", (1.0,)),
    )


def test_the_majority_of_each_side_is_told_in_clear(cohort):
    learner = MajorityStump()
    query = query_of(learner, cohort)
    model = learner.learn(query, learner.simulate(query, cohort, NoPrivacy, 1.0, seeded(1)))
    assert (model.column, model.left, model.right) == (0, 1, 0)
    noisy = learner.simulate(query, cohort, Piecewise, 1.0, seeded(1)).mean.reshape(2, -1)
    exact = learner.share(query, cohort).mean(axis=0)
    np.testing.assert_array_equal(noisy[1], exact)
    assert (noisy[0] != exact).all()


def test_weights_are_one_on_average_and_inside_the_noise(cohort):
    stump = StumpModel(1, 0.0, 0, 1)
    wrong = stump.predict(cohort.X) != cohort.y
    error = wrong.mean()
    alpha = float(np.log((1 - error) / error))
    ensemble = Ensemble(2, ((alpha, stump),))
    learner = WeightedCentroid()
    values, after = learner.perturbed_rows(query_of(learner, cohort, ensemble), cohort)
    np.testing.assert_array_equal(after, 1.0)
    weights = np.where(wrong, np.exp(alpha), 1.0) / (2 * (1 - error))
    assert weights.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(values, np.clip(cohort.X * weights[:, None], -1, 1))


def test_one_regression_per_class(cohort):
    labels = np.digitize(cohort.X[:, 1], (-0.3, 0.3))
    three = Cohort(cohort.X, labels, cohort.offsets)
    learner = OneAgainstRest()
    facts = learner.facts(Public(three.X, three.y, 3))
    query = ShareQuery(1, 1, len(three), learner, facts, Ensemble(3), ReportTerms("none", (1.0,)))
    shares = learner.share(query, three)
    assert shares.shape == (20, 3 * 3)
    assert np.abs(shares).max() == 1.0
    answer = learner.simulate(query, three, NoPrivacy, 1.0, seeded(1))
    np.testing.assert_allclose(answer.mean, shares.mean(axis=0))
    assert learner.learn(query, answer).coefficients.shape == (3, 3)
    again = learner.answer(query, shares, Piecewise, 4.0, seeded(1)).mean
    assert not np.allclose(again, answer.mean)
