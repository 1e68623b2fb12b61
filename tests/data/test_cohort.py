import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data.cohort import Cohort, LateRows, owner_weights
from tacit.data.sample import ColumnRoles
from tacit.data.schema import Category, Number, Schema
from tacit.data.table import keep_frame
from tacit.data.table_file import TableFile
from tacit.data.table_rows import read_owned

SCHEMA = Schema(
    features=(Number("age", 0, 100), Category("state", ("n", "s", "w"))), classes=("no", "yes")
)
TABLE = {
    "age": [10, 20, 30, 40, 50],
    "state": ["n", "s", "?", "w", "n"],
    "label": ["no", "yes", "maybe", "yes", "no"],
    "who": ["b", "a", "c", "b", "a"],
}


@given(st.lists(st.integers(0, 6), min_size=0, max_size=40))
def test_rows_are_grouped_and_nothing_is_lost(owners):
    X = np.arange(2.0 * len(owners)).reshape(-1, 2)
    y = np.arange(len(owners)) % 3
    cohort = Cohort.of(X, y, owners)
    assert len(cohort) == len(set(owners))
    assert cohort.sizes.sum() == len(owners)
    for number, owner in enumerate(sorted(set(owners))):
        rows = [i for i, o in enumerate(owners) if o == owner]
        np.testing.assert_array_equal(cohort[number : number + 1].X, X[rows])
        np.testing.assert_array_equal(cohort[np.array([number])].y, y[rows])


def test_every_row_its_own_owner():
    cohort = Cohort.of(np.zeros((5, 2)), np.zeros(5, int))
    assert len(cohort) == 5
    assert (cohort.sizes == 1).all()


def test_selecting_and_blocks_agree():
    rng = np.random.default_rng(0)
    cohort = Cohort.of(rng.normal(size=(200, 3)), rng.integers(0, 2, 200), rng.integers(0, 30, 200))
    np.testing.assert_array_equal(np.vstack([block.X for block in cohort.blocks(7)]), cohort.X)
    chosen = np.array([5, 2, 29, 5])
    picked = cohort[chosen]
    for place, owner in enumerate(chosen):
        np.testing.assert_array_equal(picked[place : place + 1].X, cohort[owner : owner + 1].X)
    assert len(cohort[3:3]) == len(cohort[40:50]) == 0
    assert len(cohort[cohort.sizes > 5]) == (cohort.sizes > 5).sum()


def test_choosing_owners_copies_no_rows_until_they_are_asked_for():
    cohort = Cohort.of(np.arange(12.0).reshape(6, 2), np.zeros(6, int), [0, 0, 1, 2, 2, 2])
    chosen = cohort[np.array([2, 0])]
    assert chosen.table is cohort.table
    assert chosen.spans.tolist() == [[3, 6], [0, 2]]
    assert chosen.offsets.tolist() == [0, 3, 5]
    np.testing.assert_array_equal(chosen.X, cohort.table[[3, 4, 5, 0, 1]])
    assert np.shares_memory(cohort[1:3].X, cohort.table)  # neighbours lie as they should
    assert cohort[1:1].X.shape == (0, 2)


def cohort_of(table):
    labels = SCHEMA.encode_labels(np.asarray(table["label"]))
    return Cohort.of(SCHEMA.encode(table).X, labels, np.asarray(table["who"]))


def test_labels_outside_the_schema_are_counted_and_their_owner_stays():
    cohort = cohort_of(TABLE)
    assert cohort.ignored == 1
    assert SCHEMA.encode(TABLE).moved == 1  # the unseen state
    assert cohort.sizes.tolist() == [2, 2, 0]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_what_columns_give(frame):
    plain, framed = (cohort_of(table) for table in (TABLE, frame(TABLE)))
    np.testing.assert_array_equal(framed.X, plain.X)
    np.testing.assert_array_equal(framed.offsets, plain.offsets)


def test_parquet(tmp_path):
    pd.DataFrame(TABLE).to_parquet(tmp_path / "people.parquet")
    file = TableFile.open(tmp_path / "people.parquet")
    owned = read_owned(file, ColumnRoles("label", "who"), SCHEMA)
    labels = SCHEMA.encode_labels(owned.labels)
    cohort = Cohort.of(SCHEMA.encode(owned.table).X, labels, owned.owners)
    np.testing.assert_array_equal(cohort.X, cohort_of(TABLE).X)


def test_weights_add_up_to_the_load_of_each_owner_without_overflow():
    offsets = np.array([0, 3, 3, 4, 6, 7])
    logs = np.array([1000.0, 1000.0, 0.0, 0.0, 0.0, np.log(3.0), np.log(9.0)])
    weights = owner_weights(logs, offsets, 8.0)
    loads = [1.0, 1 / 8, (2 / 8) ** 0.5, 1.0]
    expected = [0.5 * loads[0]] * 2 + [0.0, loads[1], 0.25 * loads[2], 0.75 * loads[2], loads[3]]
    np.testing.assert_allclose(weights, expected, atol=1e-15)


@pytest.mark.parametrize(
    ("X", "y", "owners", "message"),
    [
        (np.zeros(3), np.zeros(3), None, "X must be"),
        (np.zeros((3, 1)), np.zeros(2), None, "X must be"),
        (np.zeros((3, 1)), np.zeros(3), [1, 2], "owners must name one owner per row"),
    ],
)
def test_bad_shapes(X, y, owners, message):
    with pytest.raises(ValueError, match=message):
        Cohort.of(X, y, owners)


def test_a_repr_shows_neither_rows_nor_how_many():
    cohort = Cohort(np.full((7, 2), 0.123456), np.zeros(7, dtype=np.int64), np.array([0, 3, 7]))
    assert repr(cohort) == str(cohort) == "Cohort(2 owners)"


@pytest.mark.parametrize(
    ("labels", "offsets"),
    [
        ([0], [0, 2]),
        ([0, 1], [0, 3]),
        ([0, 1], [-1, 2]),
        ([0, 1], [0, 2, 1, 2]),
        ([0, 1], [[0, 1], [2, 1]]),
    ],
    ids=range(5),
)
def test_kernels_can_trust_a_cohort(labels, offsets):
    with pytest.raises(ValueError, match="must"):
        Cohort(np.zeros((2, 1)), np.array(labels), np.array(offsets, dtype=np.int64))


NUMBERS = Schema((Number("a", -1, 3), Number("b", 0, 1e-3), Number("c", -5, 5)), classes=(0, 1))
ODD = [np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0, -0.0]


def odd_rows(rows=300):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(rows, 3)) * [2.0, 1e-3, 4.0]
    X[rng.random(X.shape) < 0.1] = rng.choice(ODD)
    return X


TABLES = {
    "matrix": odd_rows,
    "by columns": lambda: np.asfortranarray(odd_rows()),
    "halves": lambda: odd_rows().astype(np.float32),
    "whole numbers": lambda: np.arange(900).reshape(-1, 3) % 7 - 3,
    "truth": lambda: odd_rows() > 0,
    "frame": lambda: keep_frame(pd.DataFrame(odd_rows(), columns=["c", "a", "b"])),
    "frame of kinds": lambda: keep_frame(
        pd.DataFrame(
            {"a": np.arange(300), "b": odd_rows()[:, 1], "c": np.arange(300).astype(np.int8)}
        )
    ),
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("name", TABLES)
def test_rows_encoded_late_have_the_bits_of_rows_encoded_at_once(name):
    table = TABLES[name]()
    at_once, late = NUMBERS.encode(table), LateRows.of(table, NUMBERS)
    assert late is not None
    assert (late.shape, late.moved) == (at_once.X.shape, at_once.moved)
    order = np.random.default_rng(3).permutation(len(late))[:200]
    for rows in (slice(None), slice(7, 50), order):
        assert late[rows].tobytes() == at_once.X[rows].tobytes()
    assert late.taken(order)[5:9].tobytes() == at_once.X[order[5:9]].tobytes()
    assert late.taken(order).taken(order[:3] % 200)[:].tobytes() == (
        at_once.X[order[order[:3] % 200]].tobytes()
    )


def test_a_cohort_of_late_rows_is_one_of_rows():
    table, rng = odd_rows(), np.random.default_rng(4)
    y, owners = rng.integers(-1, 2, 300), rng.integers(0, 90, 300)
    late = LateRows.of(table, NUMBERS)
    for names in (None, owners, np.sort(owners)):
        one, other = Cohort.of(late, y, names), Cohort.of(NUMBERS.encode(table).X, y, names)
        assert (len(one), one.ignored, one.columns) == (len(other), other.ignored, 3)
        chosen = rng.permutation(len(one))[:40]
        for some in (slice(None), slice(3, 20), chosen):
            assert one[some].X.tobytes() == other[some].X.tobytes()
            settled = one[some].settled()
            assert settled.table.tobytes() == other[some].X.tobytes()
            assert (settled.sizes == other[some].sizes).all()
            for mine, theirs in zip(
                one[some].row_blocks(16), other[some].row_blocks(16), strict=True
            ):
                assert mine.X.tobytes() == theirs.X.tobytes()
                assert mine.y.tobytes() == theirs.y.tobytes()
        assert one.table.tobytes() == other.table.tobytes()
        assert other.settled() is other
    assert "300" not in repr(late)


@pytest.mark.parametrize(
    ("table", "schema"),
    [
        (keep_frame({"age": [1.0], "state": ["n"]}), SCHEMA),
        (np.zeros((3, 2)), NUMBERS),
        (np.zeros((3, 3), dtype=object), NUMBERS),
        (keep_frame({"a": [1.0], "b": [2.0]}), NUMBERS),
        (keep_frame({"a": [1.0], "b": [2.0], "c": ["x"]}), NUMBERS),
        ({"a": [1.0], "b": [2.0], "c": [3.0]}, NUMBERS),
    ],
)
def test_what_is_no_table_of_numbers_is_not_read_late(table, schema):
    assert LateRows.of(table, schema) is None
