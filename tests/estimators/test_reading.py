"""Every value is read by itself: no row of one owner changes how another's rows are read, stops a
fit or shows in a warning.
"""

import datetime
import tracemalloc
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from tacit import seeded
from tacit.data.number_target import NumberSchema, Range
from tacit.data.schema import Category, Number, Schema
from tacit.estimators import (
    DataWarning,
    PrivateClassifier,
    SiteEnsemble,
    SiteEnsembleRegressor,
)
from tacit.estimators.inputs import accept_labels, accept_table, owner_numbers, read_inputs
from tacit.estimators.set_aside import draw_sample
from tests.estimators.data import task

pd = pytest.importorskip("pandas")


ODD = [
    *("x", "true", "1", "1_0", "", "2020-01-01", b"x", "\ud800"),
    *(None, float("nan"), float("inf"), 1.5, 7, True, 10**30, 2**53 + 1, pd.NA, pd.NaT),
    *(datetime.date(2020, 1, 1), Decimal("1"), [1], {"a": 1}, np.array([1, 2])),
]
BIG = 2**53 + 1
COLUMNS: dict[str, tuple[Number | Category, list[Any]]] = {
    "numbers": (Number("c", 0, 10), [1, 2.5, 3, 4]),
    "texts of numbers": (Number("c", 0, 10), ["1", "2.5", "3e0", " 4 "]),
    "extremes": (Number("c", 0, 10), ["inf", "-inf", "nan", "1e400"]),
    "truth values": (Number("c", 0, 2), [True, False, True, True]),
    "truth words": (Number("c", 0, 2), ["true", "False", "TRUE", "tRuE"]),
    "truth values as codes": (Category("c", (0, 1)), [True, False, True, True]),
    "codes as truth values": (Category("c", (False, True)), [1, 0, 1, 1]),
    "codes": (Category("c", (1, 2, 3)), [1, 2.0, 3, 4]),
    "texts of codes": (Category("c", (1, 2, 3)), ["1", "02", "3.0", "4"]),
    "codes of texts": (Category("c", ("1", "2", "3")), [1, 2, 3, 4]),
    "texts like codes": (Category("c", ("1", "0", "true")), ["1", "0", "1", "01"]),
    "large codes": (Category("c", (BIG, BIG + 1, 3)), [BIG, BIG + 1, 3, 4]),
    "texts like dates": (Category("c", ("2020-01-01", "2020-01-02")), ["2020-01-01"] * 4),
    "dates": (Category("c", ("2020-01-01", "2020-01-02")), [datetime.date(2020, 1, 1)] * 4),
    "decimals": (Number("c", 0, 10), [Decimal("1.5")] * 4),
    "towns": (Category("c", ("a", "b", "c")), ["a", "b ", "c", "A"]),
}


def as_objects(values):
    found = np.empty((len(values), 2), dtype=object)
    for row, value in enumerate(values):
        found[row] = value, 1.0
    return found


CONTAINERS = {
    "frame": lambda values: pd.DataFrame({"c": values, "k": 1.0}),
    "frame of objects": lambda values: pd.DataFrame({"c": as_objects(values)[:, 0], "k": 1.0}),
    "mapping": lambda values: {"c": values, "k": [1.0] * len(values)},
    "lists": lambda values: [[value, 1.0] for value in values],
    "array of objects": as_objects,
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("column", COLUMNS)
def test_no_odd_value_changes_how_others_are_read(column, container):
    feature, values = COLUMNS[column]
    schema = Schema((feature, Number("k", 0, 2)), (0, 1))
    model = PrivateClassifier(schema=schema)

    def read(given):
        table = accept_table(model, CONTAINERS[container](given), reset=True)
        return schema.encode(table).X

    alone = read(values)
    for odd in ODD:
        if isinstance(odd, np.ndarray) and container == "lists":
            continue  # NumPy itself takes it for two columns
        if (
            isinstance(odd, str)
            and odd == "\ud800"
            and "frame" in container
            and isinstance(values[0], str)
        ):
            continue  # pandas itself refuses it
        np.testing.assert_array_equal(read([*values, odd])[: len(values)], alone)


@pytest.mark.parametrize("classes", [(0, 1), (False, True), ("0", "1"), (0.0, 1.0)])
@pytest.mark.parametrize("given", [[0, 1, 1], [True, False], [0.0, 1.0], ["0", "1"], ["False"]])
def test_no_odd_label_changes_how_others_are_read(classes, given):
    schema = Schema((Number("age", 0, 9),), classes)

    def labels_of(y):
        return accept_labels(None, y, y, finite=False)

    alone = schema.encode_labels(labels_of(given))
    for odd in ("x", "", None, float("nan"), 7, 1.5, True, "true", b"x"):
        together = schema.encode_labels(labels_of([*given, odd]))
        np.testing.assert_array_equal(together[: len(given)], alone)


def test_no_odd_owner_divides_another():
    assert len(np.unique(owner_numbers([1, 1.0, 2], 3))) == 2
    assert len(np.unique(owner_numbers([1, 1.0, 2, "x"], 4)[:3])) == 2


def test_one_odd_label_stops_no_fit_without_public_rows():
    X, y = task(400)
    labels = y.astype(object)
    labels[-1] = "x"
    for odd in ("x", 0.5, None, datetime.date(2020, 1, 1)):
        labels[-1] = odd
        taken = draw_sample(PrivateClassifier(), X, labels, np.arange(400), seeded(3)).taken
        assert not taken[-1]
        PrivateClassifier(random_state=3).fit(X, labels)


@pytest.mark.parametrize("odd", ["not to be told", None, {"a": 1}, b"x", 10**400])
@pytest.mark.parametrize("form", [np.asarray, lambda rows: rows.tolist()])
def test_an_odd_value_in_an_array_is_missing_where_public_rows_say_what_columns_are(odd, form):
    X, y = task(400)
    rows = X.astype(object)
    plain = X.copy()
    rows[-1, 0], plain[-1, 0] = odd, np.inf if odd == 10**400 else np.nan
    public = X[:99], y[:99]
    for model in (PrivateClassifier(random_state=1), SiteEnsemble(random_state=1)):
        found = model.fit(form(rows), y, public=public).predict_proba(X)
        same = clone(model).fit(plain, y, public=public).predict_proba(X)
        np.testing.assert_array_equal(found, same)


def test_types_of_lists_and_objects_are_not_told():
    X, y = task(400)
    labels = y.astype(object)
    labels[-1] = "x"
    for theirs in (labels, labels.tolist(), pd.Series(labels)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataWarning)
            PrivateClassifier(random_state=1).fit(X, theirs, public=(X[:99], y[:99]))


def test_a_target_that_is_no_number_is_left_out_also_without_public_rows():
    X, _ = task(400)
    targets = X[:, 0].astype(object)
    targets[-1] = "not to be told"
    model = SiteEnsembleRegressor(random_state=3).fit(X, targets)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("bounds", [(0.0, 5e-324), (1.0, 1.0), (5e-324, 1e-323), (-1e-301, 0.0)])
def test_bounds_that_rows_would_divide_by_nothing_are_refused(bounds):
    for make in (lambda: Number("age", *bounds), lambda: Range(*bounds)):
        with pytest.raises(ValueError, match="finite with low < high"):
            make()
    assert Number.around("age", np.array(bounds)).high >= 1 + bounds[0]


@pytest.mark.parametrize("bounds", [(0.0, 1e-300), (-1.7e308, 1.7e308), (1.0, 1.0 + 2**-52)])
def test_no_row_warns_whatever_the_bounds(bounds):
    schema = NumberSchema((Number("age", *bounds),), bounds)
    rows = np.array([0.0, 1.0, -1e308, 1e308, np.inf, -np.inf, np.nan, 5e-324, *bounds])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (np.abs(schema.encode(rows[:, np.newaxis]).X) <= 1).all()
        levels = schema.encode_labels(rows)
        assert levels[-2:].tolist() == [0, schema.codes - 1]
        assert np.isfinite(schema.range.numbers(np.array([-1.0, 0.0, 1.0]))).all()


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("shuffled", [False, True])
def test_reading_numbers_makes_no_second_table(kind, shuffled):
    """What is held beside the table is a few numbers for each row, whatever the columns."""
    rng = np.random.default_rng(1)
    X = (100 * rng.standard_normal((30_400, 100))).astype(kind)
    y, owners = (X[:, 0] > 0).astype(np.int64), np.arange(30_000) // 2
    owners = rng.permutation(owners) if shuffled else owners
    public = (X[:400], y[:400])
    tracemalloc.start()
    try:
        read_inputs(
            PrivateClassifier(1.0), X[400:], y[400:], owners=owners, public=public, stream=seeded(1)
        )
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 0.6 * 8 * X.size  # half of it blocks of both threads
