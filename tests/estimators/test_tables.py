"""Data frames, categories, values and labels that nobody announced."""

import numpy as np
import pytest

from tacit.data.schema import Category, Number, Schema
from tacit.estimators import PrivateBoosting
from tests.estimators.data import people, task

SCHEMA = Schema(
    (Number("age", 0, 100), Category("town", ("north", "south", "west"))), ("yes", "no")
)


def frame(library, columns):
    return pytest.importorskip(library).DataFrame(columns)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_with_text(library):
    columns, y, owners = people()
    X = frame(library, columns)
    model = PrivateBoosting("centroid", mechanism="none", rounds=5, random_state=1).fit(
        X, y, owners=owners
    )
    if (
        library == "pandas"
    ):  # not every release of scikit-learn knows the names of every release of polars
        assert model.feature_names_in_.tolist() == ["age", "town", "member"]
    assert model.schema_.columns == ["age", "town=north", "town=south", "town=west", "member"]
    assert model.score(X, y) > 0.65
    assert model.predict_proba(X).shape == (len(y), 2)
    unseen = frame(library, {**columns, "town": np.full(len(y), "abroad")})
    assert set(model.predict(unseen)) <= {"yes", "no"}


def test_frames_of_both_kinds_give_the_same_model():
    columns, y, owners = people(300)
    reports = [
        PrivateBoosting(random_state=1).fit(frame(library, columns), y, owners=owners).report_
        for library in ("pandas", "polars")
    ]
    assert reports[0] == reports[1]


def test_columns_declared_as_categories():
    pandas = pytest.importorskip("pandas")
    columns, y, _ = people(300)
    codes = np.unique(columns["town"], return_inverse=True)[1]
    X = pandas.DataFrame({"age": columns["age"], "town": pandas.Categorical(codes)})
    model = PrivateBoosting(random_state=1).fit(X, pandas.Series(y, dtype="category"))
    assert model.schema_.columns == ["age", "town=0", "town=1", "town=2"]
    assert model.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_wrong_frames(library):
    columns, y, _ = people(200)
    model = PrivateBoosting(random_state=1).fit(frame(library, columns), y)
    with pytest.raises(ValueError, match=r"feature names|is missing"):
        model.predict(
            frame(
                library,
                {"age": columns["age"], "village": columns["town"], "member": columns["member"]},
            )
        )
    with pytest.raises(ValueError, match="0 sample"):
        PrivateBoosting().fit(frame(library, columns)[:0], y[:0])


def test_schema_and_labels_outside_it():
    pandas = pytest.importorskip("pandas")
    columns, y, owners = people()
    public = pandas.DataFrame(columns)[["age", "town"]]
    X = public.copy()
    X.loc[:9, "age"] = [np.nan, np.inf, -np.inf, 101, -1, 50, 50, 50, 50, 50]
    X.loc[20:24, "town"] = "abroad"
    labels = y.astype(object)
    labels[:7] = "perhaps"
    labels[7:9] = None
    labels[9] = np.nan
    model = PrivateBoosting(schema=SCHEMA, mechanism="none", random_state=1)
    model.fit(X, labels, owners=owners, public=(public, y))
    assert (model.ignored_rows_, model.moved_values_) == (10, 10)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(public, y) > 0.6


def test_owners_with_nothing_left_still_take_part():
    X, y = task(rows=300)
    owners = np.arange(300) // 3
    labels = np.where(owners < 20, 9, y)
    model = PrivateBoosting("logistic", rounds=2, owners_per_round=50, random_state=1)
    model.fit(X, labels, owners=owners, public=(X, y))
    assert model.ignored_rows_ == 60
    assert [row["owners"] for row in model.report_] == [50, 50]
    nobody = PrivateBoosting(rounds=2, random_state=1).fit(X, np.full(300, 9), public=(X, y))
    assert nobody.ignored_rows_ == 300
    assert set(nobody.predict(X)) <= {0, 1}


def test_arrays_with_text_need_a_schema():
    columns, y, _ = people(300)
    X = np.array([columns["age"], columns["town"]], dtype=object).T
    model = PrivateBoosting(schema=SCHEMA, mechanism="none", random_state=1).fit(X, y)
    assert model.moved_values_ == 0
    assert set(model.predict(X)) <= {"yes", "no"}


def test_missing_numbers():
    X, y = task(rows=300)
    holes = X.copy()
    holes[::3, 0], holes[1::3, 1], holes[:, 2] = np.nan, np.inf, np.nan
    assert PrivateBoosting(random_state=1).fit(holes, y, public=(X, y)).moved_values_ == 500
    model = PrivateBoosting(random_state=1).fit(holes, y)
    assert np.isfinite(model.predict_proba(holes)).all()


def test_sample_without_any_class_of_the_schema():
    X, y = task(rows=100)
    schema = Schema(tuple(Number(str(i), -1, 1) for i in range(5)), ("a", "b"))
    with pytest.raises(ValueError, match="no row with a class of the schema"):
        PrivateBoosting(schema=schema).fit(X, y, public=(X, y))
    with pytest.raises(ValueError, match="one class"):
        PrivateBoosting(schema=schema).fit(X, y)
