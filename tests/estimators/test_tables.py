"""Data frames, categories, values and labels that nobody announced."""

from datetime import date

import numpy as np
import pytest
from sklearn import config_context
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from tacit.data.schema import Category, Number, Schema
from tacit.data.table import read_frame
from tacit.estimators import (
    DataWarning,
    PeerEnsemble,
    PrivateBoosting,
    PrivateClassifier,
    SiteEnsemble,
    SiteEnsembleRegressor,
)
from tacit.estimators.inputs import owner_numbers
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
    nobody = PrivateBoosting(rounds=2, random_state=1)
    with pytest.warns(DataWarning, match="no row of X has one of the labels 0, 1: they are not"):
        nobody.fit(X, np.full(300, 9), public=(X, y))
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


def columns_of_all_kinds(rows=200):
    """Numbers, texts, dates, names, a mixture of kinds, a list."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, rows)
    return {
        "age": age,
        "town": rng.choice(["north", "south"], rows),
        "born": (np.datetime64("2000-01-01") - age * 365).astype("datetime64[ns]"),
        "name": np.array([f"person {row}" for row in range(rows)]),
        "mixed": np.array([str(row % 3) if row % 2 else row % 3 for row in range(rows)], object),
        "nested": np.array([None, *([row] for row in range(1, rows))], object),
    }, np.where(age + rng.normal(size=rows) * 10 > 50, "yes", "no")


@pytest.mark.parametrize("given", ["pandas", "pyarrow", "dict"])
def test_a_frame_is_read_as_a_file_with_the_same_rows(given):
    columns, y = columns_of_all_kinds()
    if given == "pandas":
        X = pytest.importorskip("pandas").DataFrame(columns)
    elif given == "pyarrow":
        import pyarrow as pa

        X = pa.table({name: columns[name] for name in ("age", "town", "born", "name")})
    else:
        X = columns
    with pytest.warns(DataWarning) as heard:
        model = PrivateBoosting("centroid", rounds=2, random_state=1).fit(X, y, public=(X, y))
    told = " ".join(str(each.message) for each in heard)
    assert "'born' is left out: it holds dates" in told
    assert "'name' is left out: it has 200 different texts" in told
    features = [feature.name for feature in model.schema_.features]
    assert features == (["age", "town"] if given == "pyarrow" else ["age", "town", "mixed"])
    assert given == "pyarrow" or "'nested' is left out" in told
    assert model.predict(X).shape == (200,)


def test_labels_are_compared_by_what_they_say():
    X, y = task(400)
    model = PrivateClassifier(epsilon=8.0, random_state=1)
    with pytest.warns(DataWarning, match="compared by what they say"):
        model.fit(X, y.astype(str), public=(X[:100], y[:100]))
    same = PrivateClassifier(epsilon=8.0, random_state=1).fit(X, y, public=(X[:100], y[:100]))
    assert model.ignored_rows_ == same.ignored_rows_ == 0
    assert model.classes_.tolist() == [0, 1]
    assert (model.predict(X) == same.predict(X)).all()


@pytest.mark.parametrize(
    ("classes", "labels", "numbers"),
    [
        ((0, 1), np.array([True, False, None, "1", "maybe"], object), [1, 0, -1, 1, -1]),
        (("0", "1"), np.array([1, 0, 7]), [1, 0, -1]),
        (("no", "yes"), np.array([" yes", "no", "NO"]), [1, 0, -1]),
        ((0, 1), np.array([1.0, np.nan, 0.0]), [1, -1, 0]),
    ],
)
def test_labels_of_other_types(classes, labels, numbers):
    found = Schema((Number("age", 0, 9),), classes).encode_labels(labels)
    assert found.tolist() == numbers


@pytest.mark.parametrize(
    ("classes", "kind", "nothing"),
    [(("no", "yes"), object, None), ((0, 1), object, None), ((0.0, 1.0), float, np.nan)],
)
def test_public_rows_without_a_label_are_left_out_and_told(classes, kind, nothing):
    X, y = task(400)
    theirs = np.array(classes)[y]
    labels = theirs.astype(kind)
    labels[:3] = nothing
    with pytest.warns(DataWarning, match=r"3 of 100 public rows have no label") as told:
        model = PrivateClassifier(random_state=1).fit(X, theirs, public=(X[:100], labels[:100]))
    assert model.classes_.tolist() == list(classes)
    assert len(told) == 1


def test_none_among_a_list_of_numpy_labels_is_no_other_type(recwarn):
    X, y = task(400)
    labels = [None, *y[1:100]]  # numbers of NumPy in a list of objects
    model = PrivateClassifier(random_state=1).fit(X, y, public=(X[:100], labels))
    assert [str(each.message)[:16] for each in recwarn] == ["1 of 100 public "]
    assert model.classes_.tolist() == [0, 1]


def test_dates_of_the_standard_library_are_dates():
    days = [date(2020, 1, 1 + place) for place in range(9)]
    table = read_frame({"age": list(range(9)), "day": days})
    assert (list(table.columns), table.left_out) == (["age"], {"day": "dates"})
    some = read_frame({"age": list(range(9)), "day": [None, *days[1:]]})
    assert some.left_out == {"day": "dates"}
    assert read_frame({"age": [1, 2], "none": [None, None]}).left_out == {}


def test_lazy_frames_are_refused_with_what_to_do():
    lazy = frame("polars", {"age": [1, 2]}).lazy()
    with pytest.raises(TypeError, match=r"a lazy frame holds no rows yet: give its \.collect"):
        PrivateClassifier().fit(lazy, [0, 1], public=(lazy, [0, 1]))


@pytest.mark.parametrize("kind", [SiteEnsemble, PeerEnsemble, SiteEnsembleRegressor])
def test_labels_of_another_type_are_told_by_all(kind):
    X, y = task(400)
    with pytest.warns(DataWarning, match="y is of type <U.*compared by what they say"):
        model = kind(random_state=1).fit(X[100:], y[100:].astype(str), public=(X[:100], y[:100]))
    same = kind(random_state=1).fit(X[100:], y[100:], public=(X[:100], y[:100]))
    assert (model.predict(X) == same.predict(X)).all()


def test_scores_compare_labels_by_what_they_say():
    X, y = task(400)
    model = PrivateClassifier(random_state=1).fit(X[100:], y[100:], public=(X[:100], y[:100]))
    right = model.predict(X) == y
    assert model.score(X, y) == model.score(X, y.astype(str)) == right.mean()
    some = y.astype(object)
    some[:200] = None
    some[200:210] = "another"
    assert model.score(X, some) == right[210:].sum() / 200
    weights = np.arange(400.0)
    assert model.score(X, y, sample_weight=weights) == np.average(right, weights=weights)


def test_public_columns_are_found_by_name():
    columns, y, _ = people(300)
    X = frame("pandas", columns)
    public = X[["town", "member", "age"]], y
    model = PrivateBoosting(rounds=1, random_state=1).fit(X, y, public=public)
    assert model.schema_.columns[0] == "town=north"
    with pytest.raises(ValueError, match="X lacks town, member, which public has: add the column"):
        PrivateBoosting().fit(X[["age"]], y, public=public)
    with pytest.warns(DataWarning, match="column 'member' of X is left out: public does not have"):
        PrivateBoosting(rounds=1).fit(X, y, public=(X[["age", "town"]], y))


def test_a_list_of_rows_is_a_table():
    columns, y, _ = people(300)
    rows = [{"age": columns["age"][i], "town": columns["town"][i]} for i in range(300)]
    del rows[3]["town"]
    assert read_frame(rows)["town"][:4].tolist() == [*columns["town"][:3], None]
    made = PrivateBoosting(rounds=1, random_state=1).fit(rows, y, public=(rows, y))
    assert made.predict(rows[:2]).shape == (2,)


def test_owners_without_a_name_are_one_owner():
    names = np.array(["b", None, "a", float("nan"), "17", 17.0], dtype=object)
    with pytest.warns(DataWarning, match="rows of X without a name in owners count as one owner"):
        assert owner_numbers(names, 6).tolist() == [3, 0, 2, 0, 1, 1]


def test_messages_about_frames_quote_no_value():
    columns, y = columns_of_all_kinds()
    secret = {**columns, "odd": np.array([{"secret": 1}] * 200, object)}
    with pytest.warns(DataWarning) as heard:
        PrivateBoosting("centroid", rounds=1, random_state=1).fit(secret, y, public=(secret, y))
    assert not any("secret" in str(each.message) for each in heard)
    with pytest.raises(ValueError, match="columns must be of one length"):
        read_frame({"a": [1, 2], "b": [1, 2, 3]})
    texts = np.array([["secret", 1.0]] * 200, object)
    for rows in (texts, texts.astype(str), np.full(200, 3.14), np.full((200, 2), 3.14j)):
        with pytest.raises(ValueError, match=r"texts that are no|Reshape|Complex") as problem:
            PrivateBoosting().fit(rows, y, public=(rows, y))
        assert not {"secret", "3.14"} & set(str(problem.value).split())
        assert problem.value.__suppress_context__ or problem.value.__context__ is None


@pytest.mark.parametrize(
    "estimator",
    [PrivateClassifier(random_state=1), PrivateBoosting(rounds=2, random_state=1), SiteEnsemble()],
)
def test_a_pipeline_transforms_the_public_rows_as_well(estimator):
    X, y = task(600)
    with config_context(enable_metadata_routing=True):
        routed = estimator.set_fit_request(X_public=True, y_public=True)
        steps = [("double", FunctionTransformer(lambda rows: 2 * rows)), ("fit", routed)]
        made = Pipeline(steps, transform_input=["X_public"])
        made.fit(X[100:], y[100:], X_public=X[:100], y_public=y[:100])
    assert made["fit"].schema_.features[0].high == 2 * X[:100, 0].max()
    with pytest.raises(ValueError, match="or both X_public= and y_public="):
        estimator.fit(X, y, X_public=X[:100])
