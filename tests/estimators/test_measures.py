"""Measures against scikit-learn's, and their errors against samples drawn again."""

import numpy as np
import pytest
from sklearn import metrics

from tacit.estimators.measures import Measures, measure, measure_numbers, side_by_side


def rows(count, classes, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(count, classes))
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    y = (rng.uniform(size=(count, 1)) > np.cumsum(chances, axis=1)).sum(axis=1)
    return np.round(chances, 2 if classes == 2 else 6), np.minimum(y, classes - 1)


@pytest.mark.parametrize("classes", [2, 3])
def test_values_are_those_of_scikit_learn(classes):
    chances, y = rows(500, classes, 1)
    said, found = chances.argmax(axis=1), measure(chances, y)
    two = classes == 2
    assert found["accuracy"].value == pytest.approx(metrics.accuracy_score(y, said))
    assert found["balanced accuracy"].value == pytest.approx(
        metrics.balanced_accuracy_score(y, said)
    )
    average = "binary" if two else "macro"
    assert found["F1"].value == pytest.approx(metrics.f1_score(y, said, average=average))
    ranked = metrics.roc_auc_score(y, chances[:, 1] if two else chances, multi_class="ovr")
    assert found["AUC"].value == pytest.approx(ranked)
    clipped = np.clip(chances, 1e-15, 1)
    loss = -np.log(clipped[np.arange(len(y)), y]).mean()
    assert found["log loss"].value == pytest.approx(loss)


@pytest.mark.parametrize("name", ["accuracy", "balanced accuracy", "F1", "AUC", "log loss"])
def test_errors_are_those_of_samples_drawn_again(name):
    """The spread over 400 samples has an error of 3.5 %; a tenth off in seven of ten million runs
    would fail at 5 standard errors, and half or double the error is caught.
    """
    found = [measure(*rows(400, 2, seed))[name] for seed in range(400)]
    spread = 1.96 * np.std([each.value for each in found])
    assert np.mean([each.error for each in found]) == pytest.approx(spread, rel=0.18)


def targets(count, seed):
    rng = np.random.default_rng(seed)
    y = 100 + 20 * rng.normal(size=count)
    return y + 8 * rng.standard_t(12, size=count), y


def test_measures_of_numbers_are_those_of_scikit_learn():
    said, y = targets(500, 1)
    found = measure_numbers(np.append(said, 7.0), np.append(y, np.nan))
    assert found.rows == 500
    assert found["variance explained"].value == pytest.approx(metrics.r2_score(y, said))
    assert found["RMSE"].value == pytest.approx(metrics.root_mean_squared_error(y, said))
    assert found["MAE"].value == pytest.approx(metrics.mean_absolute_error(y, said))
    alike = measure_numbers(said, np.full(500, 3.0))
    assert [each.name for each in alike.figures] == ["RMSE", "MAE"]
    assert [each.value for each in measure_numbers(y, y).figures] == [1.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="some have a number as target"):
        measure_numbers(said, np.full(500, np.nan))


@pytest.mark.parametrize("name", ["variance explained", "RMSE", "MAE"])
def test_errors_of_numbers_are_those_of_samples_drawn_again(name):
    """As above: 400 samples, 5 standard errors."""
    found = [measure_numbers(*targets(400, seed))[name] for seed in range(400)]
    spread = 1.96 * np.std([each.value for each in found])
    assert np.mean([each.error for each in found]) == pytest.approx(spread, rel=0.18)


def test_what_is_calibrated_has_little_error_and_what_is_not_has_it():
    chances, y = rows(20_000, 2, 5)
    assert measure(chances, y)["calibration error"].value < 0.02
    sure = 0.01 + 0.98 * np.eye(2)[chances.argmax(axis=1)]
    told = measure(sure, y)["calibration error"]
    right = float((chances.argmax(axis=1) == y).mean())
    assert told.value == pytest.approx(0.99 - right, abs=1e-9)
    assert told.error < 0.01


def test_classes_that_no_row_has_and_unknown_ones():
    chances = np.array([[0.7, 0.3], [0.6, 0.4], [0.1, 0.9]])
    found = measure(chances, np.array([0, 0, -1]))
    assert found.rows == 2
    assert [each.name for each in found.figures] == [
        "accuracy",
        "balanced accuracy",
        "log loss",
        "calibration error",
    ]
    with pytest.raises(ValueError, match="known class"):
        measure(chances, np.array([-1, -1, -1]))


def test_a_measure_that_only_one_of_two_models_has_is_shown_alone():
    """Without a row of the second class F1 is there for whom says it, and for nobody else."""
    y = np.zeros(3, dtype=int)
    ours, alone = (measure(np.array(chances), y) for chances in ([[0.2, 0.8]] * 3, [[1, 0]] * 3))
    beside = {one.name: other for one, other in side_by_side(ours.figures, alone.figures)}
    assert beside["F1"] is None
    assert beside["accuracy"] == alone["accuracy"]
    assert len(side_by_side(alone.figures, ours.figures)) == len(alone.figures)


def test_what_is_written_is_read_as_it_was():
    for found in (
        measure(*rows(50, 2, 1)),
        measure_numbers(np.arange(9.0), np.arange(9.0)[::-1] * 1000),
    ):
        again = Measures.read(found.rows, found.as_dict)
        assert again == found
        assert again.others == found.others
