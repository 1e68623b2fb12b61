"""Tables as people have them: types that frames declare, nested things, names that are missing; and
warnings that show the line of whoever called.
"""

import os
import re
import warnings
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.model_selection import cross_val_score

import tacit
from tacit import (
    DataWarning,
    PrivacyWarning,
    PrivateBoosting,
    PrivateClassifier,
    SiteEnsemble,
    SiteEnsembleRegressor,
    SitesDisplay,
    StagesDisplay,
    plan,
)
from tacit.data.sample import Sample
from tacit.data.schema import Category
from tacit.data.table import keep_frame, read_frame
from tacit.estimators.export import write_onnx
from tacit.estimators.inputs import accept_labels, accept_pair, owner_numbers

AGES = np.linspace(18, 90, 60)
LABELS = np.where(AGES > 50, "high", "low")
ROWS = AGES[:, np.newaxis], LABELS


def notes(**columns):
    """What a reader is told of public columns."""
    return " ".join(Sample.of(pd.DataFrame({"age": AGES, **columns}), LABELS).notes)


def test_ranges_that_pandas_cut_makes_are_categories():
    frame = pd.DataFrame({"age": pd.cut(pd.Series(AGES), 4)})
    for read in (read_frame, keep_frame):
        table = read(frame)
        assert table.categories == {"age"}
        assert table["age"][0] == str(frame["age"][0])
    (feature,) = Sample.of(frame, LABELS).schema.features
    assert isinstance(feature, Category)
    assert len(feature.values) == 4


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pd.period_range("2020", periods=60, freq="D"), "holds dates"),
        (pd.Categorical(pd.period_range("2020", periods=60, freq="D")), "holds dates"),
        (pd.to_timedelta(AGES, "D"), "holds durations"),
        (pd.IntervalIndex.from_arrays(AGES, AGES + 1), "holds values of type interval"),
        (AGES * 1j, "holds complex numbers"),
        (pd.Series([[age] for age in AGES], dtype=object), "holds values of type list"),
        (pd.Series([{"a": age} for age in AGES], dtype=object), "holds values of type dict"),
        (pd.Series([np.ones(2)] * 60, dtype=object), "holds values of type ndarray"),
        (np.full(60, np.nan), "is empty in the public rows"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_columns_of_other_things_are_left_out_and_named(column, said):
    assert f"column 'odd' is left out: it {said}" in notes(odd=column)


def test_columns_of_one_value_and_labels_of_many_numbers_are_told():
    assert "column 'c' has one value in all public rows" in notes(c=1.0)
    many = {f"c{place}": 1.0 for place in range(5)}
    assert "columns 'c0', 'c1', 'c2' and 2 more have one value" in notes(**many)
    told = Sample.of(pd.DataFrame({"age": AGES}), np.arange(60) // 2).notes
    assert any("the label has 30 different numbers" in note for note in told)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("kind", "classes"), [("Int64", [0, 1]), ("boolean", [False, True]), ("Float64", [0.0, 1.0])]
)
def test_labels_with_a_mask_stay_what_they_are(kind, classes, missing):
    y = pd.Series(LABELS == "high").astype(kind)
    if missing:
        y[::7] = pd.NA
    frame = pd.DataFrame({"age": AGES})
    found = Sample.of(frame, accept_labels(None, frame, y, finite=False)).schema.classes
    assert [(type(each), each) for each in found] == [(type(each), each) for each in classes]


def fit(X=None, y=LABELS, public=None, **more):
    X = pd.DataFrame({"age": AGES}) if X is None else X
    given = (pd.DataFrame({"age": AGES}), LABELS) if public is None else public
    return PrivateClassifier(1.0, random_state=1).fit(X, y, public=given, **more)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"y": "income"}, r"y must have one label for each row: of a frame give X\['income'\]"),
        (
            {"y": {"income": LABELS}},
            "y must have one label for each row, in their order, got a dict",
        ),
        ({"y": set(LABELS)}, "in their order, got a set: give a list, an array or a column"),
        ({"y": iter(LABELS)}, "in their order, got a .*iterator: give a list"),
        ({"X": b"age"}, "got bytes instead"),
        ({"X": [[1.0], [1.0, 2.0]], "public": ROWS}, "X, a list, is no table: all rows must have"),
        ({"X": ROWS[0], "public": (ROWS[0][:, [0, 0]], LABELS)}, "public: X has 2 features"),
        ({"X": ROWS[0], "public": (ROWS[0][:0], LABELS[:0])}, r"public: Found array with 0 sample"),
        ({"public": (pd.DataFrame({"age": AGES}), LABELS[1:])}, "public: Found input variables"),
        ({"monitor": 3}, "monitor must be a function of a number of rounds, got 3"),
        ({"owners": "who"}, r"owners must name one owner per row: of a frame give X\['who'\]"),
        ({"public": (AGES[:, np.newaxis], LABELS)}, "X has columns with names"),
        ({"X": {"age": 3.0}}, "column 'age' must be a list or array, got float: one row is a list"),
        ({"X": {"age": "old"}}, "column 'age' must be a list or array, got str"),
        ({"X": np.zeros(60, dtype=[("age", float)])}, "X is a structured array: give a dict"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(given, said):
    with pytest.raises((TypeError, ValueError), match=said):
        fit(**given)


@pytest.mark.parametrize("labels", [np.ones(60, int), np.ones(60), np.ones(60, bool)])
def test_labels_of_a_type_that_can_say_no_class_are_refused(labels):
    """Types may be told, values may not: nobody is asked in vain."""
    with pytest.raises(ValueError, match=r"the classes of the sample are .*: no row can have one"):
        fit(y=labels)


@pytest.mark.parametrize("kind", [Decimal, lambda label: 10**30 + label])
def test_labels_of_types_that_are_not_read_are_refused_with_what_to_do(kind):
    """As databases have them; in texts they are classes like any other."""
    labels = [kind(int(label == "high")) for label in LABELS]
    with pytest.raises(
        ValueError, match=r"of a type that is not read \((Decimal|int)\): give them"
    ):
        fit(y=labels, public=(pd.DataFrame({"age": AGES}), labels))
    texts = [str(label) for label in labels]
    assert len(fit(y=texts, public=(pd.DataFrame({"age": AGES}), texts)).classes_) == 2


def test_no_rows_at_all_are_told():
    with pytest.raises(ValueError, match="got nothing instead: X must be rows of numbers"):
        PrivateClassifier(1.0).fit(None, LABELS, public=ROWS)


def test_a_budget_that_is_none_is_refused_before_anybody_is_asked():
    with pytest.raises(
        TypeError, match=r"budget must be a Budget, as Budget\(epsilon=2.0\), got 2"
    ):
        PrivateClassifier(1.0).set_params(budget=2.0).fit(*ROWS, public=ROWS)


def test_scores_need_as_many_labels_as_rows_and_one_that_is_known():
    model = PrivateClassifier(1.0, random_state=1).fit(*ROWS, public=ROWS)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(ROWS[0], LABELS[1:])
    with pytest.raises(ValueError, match="y has no label"):
        model.score(ROWS[0], [None] * len(LABELS))


def test_nested_labels_are_refused_in_one_line():
    nested = np.empty(60, dtype=object)
    nested[:] = [(1, 2) if label == "high" else (3,) for label in LABELS]
    with pytest.raises(ValueError, match="labels must be numbers, texts or truth values"):
        fit(public=(pd.DataFrame({"age": AGES}), nested))


def test_names_of_columns_need_a_frame_on_both_sides():
    class Fitted:
        schema = None
        feature_names_in_ = np.array(["age"])

    with pytest.raises(ValueError, match="give both as data frames, or both as arrays"):
        accept_pair(Fitted(), (AGES[:, np.newaxis], LABELS))


def test_owners_are_told_by_every_type_that_names_them():
    whole = owner_numbers(np.arange(6) // 2, 6)
    for given in (
        pd.Series(np.arange(6) // 2).astype("category"),
        pd.Series(np.arange(6) // 2, index=np.arange(6)[::-1]).astype("Int64"),
        [0, 0, 1, 1, 2, 2],
    ):
        assert owner_numbers(given, 6).tolist() == whole.tolist()


def test_warnings_show_the_line_that_called():
    rows, labels = np.random.default_rng(1).normal(size=(200, 3)), np.arange(200) % 2
    frame = pd.DataFrame(rows).assign(day=pd.Timestamp("2020-01-01"))
    frame.columns = [str(name) for name in frame.columns]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = PrivateClassifier(1.0, random_state=1)
        model.fit(frame, labels)
        cross_val_score(model, rows, labels, cv=2)
    assert {each.category for each in told} == {DataWarning, PrivacyWarning}
    assert {each.filename for each in told} == {__file__}


def test_a_record_batch_is_a_table():
    batch = pa.RecordBatch.from_pydict({"age": AGES, "town": ["n", "s"] * 30})
    table = read_frame(batch)
    assert list(table.columns) == ["age", "town"]
    assert table.shape == (60, 2)


def regressor(target=AGES, **parameters):
    return SiteEnsembleRegressor(**parameters).fit(*ROWS[:1], target, public=(ROWS[0], AGES))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: PrivateClassifier().set_params(schema="x").fit(*ROWS, public=ROWS),
            "schema must be a Schema",
        ),
        (lambda: regressor(target_range="ab"), "target_range must be two numbers"),
        (lambda: regressor(target_range=(1,)), r"target_range must be two numbers .* got \(1,\)"),
        (lambda: regressor(target_range=5), "target_range must be two numbers"),
        (
            lambda: regressor(target=pd.date_range("2020", periods=60)),
            "targets must be numbers: say since when",
        ),
        (lambda: plan(ROWS[0], None, owners=10, epsilon=1.0), "plan needs y"),
        (lambda: tacit.load(__file__, key="x"), "64 hexadecimal digits, got 'x'"),
        (lambda: StagesDisplay.from_estimator(3, *ROWS), "StagesDisplay shows rounds of a fitted"),
        (lambda: SitesDisplay.from_estimator(SiteEnsemble()), "fit it first"),
        (
            lambda: plan(*ROWS, owners=10, epsilon=1.0, rows_per_owner=10**12),
            "rows_per_owner must be at most 10,000; owners with more rows than that are sites",
        ),
    ],
)
def test_what_cannot_be_meant_is_told_in_words(call, said):
    with pytest.raises((ValueError, TypeError), match=said):
        call()


def boosting():
    return PrivateBoosting("centroid", epsilon=4.0, rounds=1, random_state=1)


def test_what_is_saved_takes_the_place_of_a_file_and_of_nothing_else(tmp_path):
    """A pipe, as a device, would be gone, and nobody told."""
    pipe = tmp_path / "model.tacit"
    os.mkfifo(pipe)
    model = boosting().fit(*ROWS, public=ROWS)
    for write in (model.save, lambda path: write_onnx(model.content(), path)):
        with pytest.raises(ValueError, match=re.escape(f"{pipe} is a pipe or a device")):
            write(pipe)
        assert pipe.is_fifo()
        with pytest.raises(FileNotFoundError, match="there is no folder"):
            write(tmp_path / "nowhere" / "model")
        with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
            write(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model.tacit"]


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ([date(2020, 1, 1 + k % 9) for k in range(60)], "'k' holds dates"),
        ([Fraction(k, 7) for k in range(60)], "'k' holds values of type Fraction"),
    ],
    ids=["dates", "fractions"],
)
def test_a_table_of_nothing_to_learn_from_says_what_it_holds(column, says):
    frame = pd.DataFrame({"k": column})
    with pytest.raises(ValueError, match=f"no column to learn from: {says}"):
        boosting().fit(frame, LABELS, public=(frame, LABELS))


@pytest.mark.parametrize("place", ["owners", "public"])
def test_labels_that_scikit_learn_would_quote_are_not_quoted(place):
    odd = ROWS[0], np.arange(60) + 0j
    theirs, mine = (odd, ROWS) if place == "owners" else (ROWS, odd)
    with pytest.raises(ValueError, match="Complex data not supported") as refused:
        boosting().fit(*theirs, public=mine)
    assert "1.+0.j" not in str(refused.value)
    assert "[" not in str(refused.value)


@pytest.mark.parametrize("odd", [{"a": 1}, [1, 2], ({},)], ids=["dict", "list", "nested"])
def test_no_odd_name_of_an_owner_stops_a_fit(odd):
    names = np.empty(60, dtype=object)
    names[:] = ["a", "b", "c", "d"] * 15
    names[3] = odd
    model = boosting().fit(*ROWS, owners=names, public=ROWS)
    assert model.report_


def test_infinite_public_labels_are_named():
    with pytest.raises(ValueError, match="public: y must be finite where it is known"):
        boosting().fit(*ROWS, public=(ROWS[0], np.where(np.arange(60) == 3, np.inf, AGES)))
