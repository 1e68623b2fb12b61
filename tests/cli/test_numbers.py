"""Sites' regressions (paper C) by commands: plan, fit, predict, explain and export of a label that
is a number.
"""

import json

import numpy as np
import pytest
from pyarrow import parquet

import tacit
from tacit.cli import app
from tests.cli.made import answers, run, write_csv

NUMBERS = ("--method", "sites", "--target", "numbers")


def stays(rows, seed, hospitals=()):
    """Made-up stays in hospitals: what they cost follows age and ward."""
    rng = np.random.default_rng(seed)
    age, ward = rng.integers(18, 95, rows), rng.choice(["a", "b", "c"], rows)
    cost = 500 + 80 * age + 4000 * (ward == "c") + rng.normal(0, 1000, rows)
    whose = {"hospital": rng.choice(hospitals, rows).tolist()} if hospitals else {}
    written = np.round(cost, 2).tolist()
    return {"age": age.tolist(), "ward": ward.tolist(), **whose, "cost": written}


@pytest.fixture(scope="module")
def hospitals(tmp_path_factory):
    made = tmp_path_factory.mktemp("hospitals")
    write_csv(made / "people.csv", stays(3000, 1, ("north", "south", "west")))
    write_csv(made / "mine.csv", stays(60, 2))
    write_csv(made / "test.csv", stays(800, 3))
    return made


def fit(folder, *more):
    given = ["--owners", "hospital", "--public", str(folder / "mine.csv")]
    out = ["--out", str(folder / "cost.tacit")]
    return run(app, ["fit", str(folder / "people.csv"), "--label", "cost", *given, *out, *more])


@pytest.fixture(scope="module")
def fitted(hospitals):
    """What fit said, as a program reads it, of a model in cost.tacit."""
    more = ("--target-range", "0", "15000", "--seed", "1", "--epsilon", "4", "--json")
    result = fit(hospitals, *NUMBERS, *more, "--test", str(hospitals / "test.csv"))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_fit_of_numbers_is_measured_beside_public_rows_alone(fitted):
    test = fitted["test"]
    assert test["rows"] == 800
    assert 0.8 < test["variance_explained"] < 0.95
    assert abs(test["variance_explained"] - test["public_only"]) < 0.1
    assert [each["name"] for each in test["measures"]] == ["variance explained", "RMSE", "MAE"]
    assert 900 < test["measures"][1]["value"] < 1200
    assert fitted["public_only"]["model"] == "linear regression"
    assert fitted["guarantee"]["unit"] == "record"


def test_the_model_is_that_of_the_estimator(hospitals, fitted):
    """The same rows and coins give the same predictions in Python."""
    owned, mine, test = stays(3000, 1, ("north", "south", "west")), stays(60, 2), stays(800, 3)
    sites, y, y0 = owned.pop("hospital"), owned.pop("cost"), mine.pop("cost")
    model = tacit.SiteEnsembleRegressor(epsilon=4.0, target_range=(0, 15000), random_state=1)
    model.fit(owned, y, owners=sites, public=(mine, y0))
    saved = tacit.load(hospitals / "cost.tacit")
    assert saved.label_ == "cost"
    np.testing.assert_allclose(saved.predict(test), model.predict(test), rtol=1e-12)


@pytest.mark.usefixtures("fitted")
def test_predictions_are_numbers_inside_the_range(hospitals, tmp_path):
    given = ["predict", str(hospitals / "cost.tacit"), str(hospitals / "test.csv"), "--out"]
    result = run(app, [*given, str(tmp_path / "p.csv")])
    assert result.exit_code == 0, result.output
    assert "variance explained 0." in result.output
    assert "on 800 rows with a known cost" in result.output
    assert "RMSE" in result.output
    said = tacit.load(hospitals / "cost.tacit").predict(stays(800, 3))
    np.testing.assert_allclose([float(each) for each in answers(tmp_path / "p.csv")], said, 1e-6)
    assert run(app, [*given, str(tmp_path / "p.parquet")]).exit_code == 0
    table = parquet.read_table(tmp_path / "p.parquet")
    np.testing.assert_allclose(table["prediction"].to_numpy(), said)
    wrong = run(app, [*given, str(tmp_path / "q.csv"), "--proba"]).exception
    assert "predicts numbers: leave it out" in str(wrong)


@pytest.mark.usefixtures("fitted")
def test_what_columns_add_is_told_in_the_unit_of_the_target(hospitals, tmp_path):
    model, page = str(hospitals / "cost.tacit"), tmp_path / "why.html"
    given = ["explain", model, "--data", str(hospitals / "test.csv"), "--out", str(page)]
    result = run(app, [*given, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["unit"] == "cost"
    assert all(500 < value < 3000 for value in found["importances"].values())
    assert "What a prediction of cost is made of" in page.read_text()
    card = tmp_path / "card.md"
    more = ["--test", str(hospitals / "test.csv"), "--use", "Planning."]
    assert run(app, ["export", model, "--out", str(card), *more]).exit_code == 0
    text = card.read_text()
    for word in ("Predicts cost (a number from 0 to 15,000)", "variance explained", "RMSE"):
        assert word in text, word
    assert "Not protected.** Not protected" not in text


def test_numbers_have_a_plan(hospitals):
    given = ["plan", str(hospitals / "mine.csv"), "--label", "cost", "--owners", "3", *NUMBERS]
    result = run(app, [*given, "--rows-per-owner", "1000", "--epsilon", "4", "--json"])
    assert result.exit_code in (0, 3), result.output
    (plan,) = json.loads(result.stdout)["plans"]
    assert plan["measure"] == "variance explained"
    assert plan["group"] == {"owners": 3, "records": 1000, "epsilon": 4.0}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--target", "numbers"), "--target numbers goes with --method sites, and only there"),
        (("--method", "sites", "--target", "amounts"), "one of classes, numbers, got 'amounts'"),
        (("--method", "sites", "--target-range", "0", "1"), "--target-range goes with --target"),
        ((*NUMBERS, "--target-range", "3", "1"), "the smaller one first, got (3.0, 1.0)"),
        ((*NUMBERS, "--trust", "two servers"), "does not go with --trust 'two servers'"),
        ((*NUMBERS, "--loss", "logistic"), "loss must be one of auto, huber, squared"),
        (("--method", "sites"), "--method sites --target numbers"),
    ],
)
def test_what_does_not_go_with_numbers_is_told(hospitals, more, said):
    assert said in str(fit(hospitals, *more).exception)


def test_the_published_regression_is_simulated(hospitals):
    result = fit(hospitals, *NUMBERS, "--privacy", "published")
    assert result.exit_code == 0, result.output
    assert "may only be simulated" in " ".join(result.output.split())
