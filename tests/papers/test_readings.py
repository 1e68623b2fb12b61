"""What paper A leaves open is a parameter, and the default is what its own figures ask for."""

import numpy as np
import pytest

from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.stump import StumpModel
from tacit.learners.query import Answer
from tacit.mechanisms.registry import NoPrivacy
from tacit.mechanisms.streams import seeded
from tacit.render.document import Table
from tacit_papers.a.experiment import cells_a
from tacit_papers.a.learners import PublishedCentroid, PublishedLogistic, PublishedStump
from tacit_papers.a.measurements import (
    DEFAULTS,
    READINGS,
    ReadingCell,
    ReadingRow,
    hold_out,
    mean_gaps,
)
from tacit_papers.a.patches import PatchRow, best_patch, cross_validate
from tacit_papers.a.report import report_a
from tacit_papers.b.learners import MajorityStump, OneAgainstRest, WeightedCentroid
from tacit_papers.b.readings import SummedReadingRow
from tacit_papers.b.report import report_b
from tacit_papers.datasets.words import Patch
from tacit_papers.shared.splits import load_split
from tests.papers.datasets.made import bars


@pytest.fixture
def cohort():
    """Class 1 is rare and on the left: neither the median nor a fixed polarity is of any use."""
    X = np.random.default_rng(1).uniform(-1, 1, (60, 2))
    return Cohort(X, (X[:, 0] < -0.6).astype(np.int64), np.arange(21) * 3)


def query_of(learner, cohort, ensemble=None):
    facts = learner.facts(Public(cohort.X, cohort.y, 2))
    terms = ReportTerms("none", (1.0,))
    return ShareQuery(1, 1, len(cohort), learner, facts, ensemble or Ensemble(2), terms)


def exact(learner, query, cohort):
    mean = learner.share(query, cohort).mean(axis=0)
    return learner.learn(query, Answer(mean, np.zeros(mean.size), len(cohort)))


def test_the_stump_takes_the_best_cut_and_the_class_that_the_sums_say(cohort):
    learner = PublishedStump()
    model = exact(learner, query_of(learner, cohort), cohort)
    assert (model.column, model.left, model.right) == (0, 1, 0)
    assert model.threshold == pytest.approx(-0.6, abs=0.1)
    assert (model.predict(cohort.X) == cohort.y).all()


def test_other_readings_are_parameters(cohort):
    fixed = PublishedStump(polarity="fixed")
    model = exact(fixed, query_of(fixed, cohort), cohort)
    assert (model.left, model.right) == (0, 1)
    for learner in (PublishedStump(thresholds="median"), MajorityStump()):
        values = query_of(learner, cohort).facts.values
        np.testing.assert_array_equal(values, np.median(cohort.X, axis=0))
    with pytest.raises(ValueError, match="thresholds must be one of"):
        PublishedStump(thresholds="mean")
    with pytest.raises(ValueError, match="polarity must be one of"):
        PublishedStump(polarity="free")
    with pytest.raises(ValueError, match="must be one of"):
        PublishedCentroid(divide="owners")


@pytest.mark.parametrize("kind", [PublishedLogistic, OneAgainstRest])
def test_regressions_are_of_rows_less_the_public_mean_or_of_rows_as_they_are(cohort, kind):
    centred, plain = kind(), kind(centre="none")
    public = query_of(centred, cohort).facts
    np.testing.assert_array_equal(public.values, cohort.X.mean(axis=0))
    assert query_of(plain, cohort).facts.values.size == 0
    moved = Cohort(cohort.X - cohort.X.mean(axis=0), cohort.y, cohort.offsets)
    shares = [
        learner.share(query_of(learner, rows), rows)
        for learner, rows in ((plain, moved), (centred, cohort))
    ]
    np.testing.assert_allclose(shares[1], shares[0], atol=1e-9)
    models = [
        exact(learner, query_of(learner, rows), rows)
        for learner, rows in ((plain, moved), (centred, cohort))
    ]
    np.testing.assert_array_equal(models[0].predict(moved.X), models[1].predict(cohort.X))
    with pytest.raises(ValueError, match="centre must be one of"):
        kind(centre="own")


@pytest.mark.parametrize("kind", [PublishedCentroid, WeightedCentroid])
def test_centroids_are_weighted_means_or_grow_with_the_weights(cohort, kind):
    stump = StumpModel(1, 0.0, 0, 1)
    ensemble = Ensemble(2, ((0.3, stump),))
    learner = kind()
    query = query_of(learner, cohort, ensemble)
    weights = learner.row_weights(query, cohort)
    rows, after = learner.perturbed_rows(query, cohort)
    answer = learner.simulate(query, cohort, NoPrivacy, 1.0, seeded(1))
    by_rows = kind(divide="rows")
    other = by_rows.simulate(query_of(by_rows, cohort, ensemble), cohort, NoPrivacy, 1.0, seeded(1))
    for k in (0, 1):
        own = cohort.y == k
        total = (rows[own] * after[own][:, None]).sum(axis=0)
        np.testing.assert_allclose(answer.mean.reshape(2, -1)[k], total / weights[own].sum())
        np.testing.assert_allclose(other.mean.reshape(2, -1)[k], total / own.sum())


def test_readings_are_compared_on_rows_that_nobody_learns_from_or_tests_on():
    split = load_split("synthetic", quick=True)
    rest, held = hold_out(split)
    assert len(rest.y_train) + len(held.y_test) == len(split.y_train)
    np.testing.assert_array_equal(np.concatenate([rest.X_train, held.X_test]), split.X_train)
    assert rest.X_test is split.X_test


def test_every_reading_is_measured_and_shown():
    (cell,) = [
        cell
        for cell in cells_a(quick=True)
        if isinstance(cell, ReadingCell) and cell.learner == "stump"
    ]
    rows = cell.rows()
    assert {row.reading for row in rows} == set(READINGS["stump"])
    assert {row.epsilon for row in rows} == {None, 7.0}
    gaps = mean_gaps(rows)
    assert gaps["stump", DEFAULTS["stump"]] < gaps["stump", "median, fixed polarity"]
    (section,) = [each for each in report_a(rows).sections if each.title.startswith("How we read")]
    (table,) = section.parts
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == [*READINGS["stump"], "the paper states"]
    assert table.rows[-1][-1] == "30.0 → 19.0"


def test_the_gap_is_that_of_held_out_rows():
    row = ReadingRow("mnist", "stump", "x", 7.0, 0.5, 0.5, 0.2, 0.1, 0.02, 5)
    other = ReadingRow("fashion", "stump", "x", None, 0.5, 0.5, 0.2, 0.1, None, 5)
    assert mean_gaps([row, other]) == {("stump", "x"): 0.02}


def test_the_size_of_patches_is_the_best_on_average_over_image_sets():
    rows = [
        PatchRow(dataset, cell, side, error, images=100, apart=0.2)
        for dataset, errors in {"mnist": (0.2, 0.1, 0.3), "fashion": (0.1, 0.3, 0.1)}.items()
        for (cell, side), error in zip(((3, 2), (4, 3), (7, 1)), errors, strict=True)
    ]
    assert best_patch(rows) == Patch(3, 2)
    (section,) = [each for each in report_a(rows).sections if "visual words" in each.title]
    (table,) = section.parts
    assert isinstance(table, Table)
    assert table.rows[0] == ("2 by 2 cells of 3 pixels", "20.0", "10.0")
    assert table.strong == (0,)


def test_patches_are_judged_on_images_that_words_were_not_fitted_to():
    rng = np.random.default_rng(3)
    images = np.concatenate([bars(20, 0.4, rng), bars(20, 1.3, rng)])
    y = np.repeat([0, 1], 20)
    assert cross_validate(images, y, 8, Patch(), seed=1) < 0.2
    shuffled = rng.permutation(y)  # nothing to learn: words of all images would not show it
    assert cross_validate(images, shuffled, 8, Patch(), seed=1) > 0.25


def test_readings_of_paper_b_stand_side_by_side():
    rows = [
        SummedReadingRow("mnist", "stump", reading, epsilon, 0.3, 0.1, 10, 2)
        for reading in ("best cut", "median")
        for epsilon in (None, 5.0)
    ]
    (section,) = [each for each in report_b(rows).sections if each.title == "How we read it"]
    (table,) = section.parts
    assert isinstance(table, Table)
    assert table.rows[1][1:] == ("median", "30.0 → 10.0", "30.0 → 10.0")
