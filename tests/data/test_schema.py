from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit.data.schema import Category, Number, Schema

PEOPLE = Schema(
    features=(
        Number("age", 20, 60),
        Category("sex", ("f", "m")),
        Category("state", ("n", "s", "w")),
    ),
    classes=(0, 1),
)


def test_numbers_are_placed_between_public_bounds_and_moved_ones_counted():
    X, moved = Number("age", 20, 60).encode(np.array([20.0, 40, 60, 100, -1, np.nan, np.inf]))
    np.testing.assert_allclose(X[:, 0], [-1, 0, 1, 1, -1, 0, 1])
    assert moved.tolist() == [False, False, False, True, True, True, True]


@pytest.mark.parametrize("short", ["a", "b"])
def test_columns_of_a_mapping_are_as_long_as_each_other(short):
    """The first one too: rows of the others would be left out in silence."""
    schema = Schema((Number("a", 0, 1), Number("b", 0, 1)), (0, 1))
    table = {"a": [0.1, 0.2, 0.3], "b": [0.4, 0.5, 0.6]}
    table[short] = table[short][:-1]
    with pytest.raises(ValueError, match=r"'a' has . values, 'b' has ."):
        schema.encode(table)


def test_text_where_a_number_should_be_counts_as_missing():
    X, moved = Number("age", 0, 10).encode(np.array(["5", "five", None], dtype=object))
    np.testing.assert_allclose(X[:, 0], [0, 0, 0])
    assert moved.tolist() == [False, True, True]


def test_categories():
    encoded = PEOPLE.encode(
        {"age": [40, 40, 40], "sex": ["m", "f", "x"], "state": ["w", None, "s"]}
    )
    np.testing.assert_array_equal(
        encoded.X, [[0, 1, -1, -1, 1], [0, -1, -1, -1, -1], [0, -1, -1, 1, -1]]
    )
    assert (encoded.moved, encoded.moved_by) == (2, {"sex": 1, "state": 1})
    assert PEOPLE.columns == ["age", "sex", "state=n", "state=s", "state=w"]
    assert PEOPLE.dim == 5


def test_labels():
    np.testing.assert_array_equal(PEOPLE.encode_labels([1, 0, 2, np.nan]), [1, 0, -1, -1])
    named = Schema(features=PEOPLE.features, classes=("b", "a"))
    np.testing.assert_array_equal(named.encode_labels(np.array(["a", "b", "c"])), [1, 0, -1])


def test_a_schema_of_the_public_sample():
    frame = pd.DataFrame(
        {"a": [1.0, 5.0, np.nan], "b": ["x", "y", "x"], "c": [7, 7, 7], "d": [1, 2, 3]}
    )
    schema = Schema.of_public(frame, ["u", "v", "u"], categories=["d"])
    assert schema.features == (
        Number("a", 1.0, 5.0),
        Category("b", ("x", "y")),
        Number("c", 7.0, 14.0),
        Category("d", (1, 2, 3)),
    )
    assert schema.classes == ("u", "v")
    assert schema.encode(frame).X.shape == (3, 6)


def test_odd_public_columns_make_a_schema():
    frame = pd.DataFrame({"huge": [1e17, 1e17], "text": pd.array(["x", pd.NA], dtype="string")})
    schema = Schema.of_public(frame, [0, 1])
    assert schema.features == (Number("huge", 1e17, 2e17), Category("text", ("x", None)))
    assert np.isfinite(schema.encode(frame).X).all()


def test_wide_bounds_do_not_overflow():
    X, _ = Number("a", -1.7e308, 1.7e308).encode(np.array([-1.7e308, 0.0, 1.7e308]))
    np.testing.assert_allclose(X[:, 0], [-1, 0, 1])


def test_a_matrix_by_position():
    schema = Schema.of_public(np.array([[0.0, 1.0], [2.0, 3.0]]), [0, 1])
    np.testing.assert_allclose(schema.encode(np.array([[1.0, 3.0]])).X, [[0.0, 1.0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Number("a", 1, 1), r"^bounds of 'a' must be finite with low < high, got \(1, 1\)"),
        (lambda: Number("a", 0, np.inf), r"^bounds of 'a' must be"),
        (lambda: Category("a", ("x",)), r"^values of 'a' must be at least two, all different"),
        (lambda: Schema(features=(), classes=(0, 1)), r"^features must be at least one column"),
        (
            lambda: Schema(features=(Number("a", 0, 1), Number("a", 0, 2)), classes=(0, 1)),
            r"^names of features must be all different, got \['a', 'a'\]",
        ),
        (
            lambda: Schema(features=(Number("a", 0, 1),), classes=(0, 0)),
            r"^classes must be at least two",
        ),
        (
            lambda: PEOPLE.encode(np.zeros((2, 4))),
            r"^a table must have 3 columns as in the schema, got shape \(2, 4\)",
        ),
        (
            lambda: PEOPLE.encode({"age": [1]}),
            r"^column 'sex' of the schema is missing; the table has \['age'\]",
        ),
    ],
)
def test_bad_schemas_and_tables(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_nothing_in_a_cell_can_stop_an_encoding():
    """An error that depends on an owner's rows would be a leak, and would stop the owner."""
    odd = np.empty(8, dtype=object)
    odd[:] = [10**400, -(10**400), [1, 2], {"a": 1}, None, "words", 1.7e308, b"\xff"]
    schema = Schema((Number("n", -2, 2), Category("c", ("a", "b", "c"))), ("no", "yes"))
    encoded = schema.encode({"n": odd, "c": odd})
    assert encoded.X[:, 0].tolist() == [1, -1, 0, 0, 0, 0, 1, 0]
    assert (encoded.X[:, 1:] == -1).all()
    assert (schema.encode_labels(odd) == -1).all()
    assert Number("n", -0.5, 0.5).encode(np.array([1.7e308]))[0].tolist() == [[1.0]]
    assert repr(encoded) == "Encoded(4 columns)"


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("rows", [1, 3000, 70_000])  # one block, several, several threads
def test_a_matrix_is_encoded_as_its_columns_are(dtype, rows):
    rng = np.random.default_rng(rows)
    bounds = [(-1.0, 2.5), (0.1, 0.3), (-7e307, 1.7e308)]
    schema = Schema(tuple(Number(str(j), *each) for j, each in enumerate(bounds)), (0, 1))
    X = rng.normal(scale=2.0, size=(rows, 3))
    X[rng.random(X.shape) < 0.01] = -0.0
    if dtype is np.float64:
        odd = [np.nan, np.inf, -np.inf, 1.7e308, -1.7e308, -1.0, 2.5]
        where = rng.random(X.shape) < 0.01
        X[where] = rng.choice(odd, size=int(where.sum()))
    X = X.astype(dtype)
    together, apart = schema.encode(X), schema.encode({str(j): X[:, j] for j in range(3)})
    assert together.X.tobytes() == apart.X.tobytes()
    assert (together.moved, together.moved_by) == (apart.moved, apart.moved_by)


ODD: tuple[Any, ...] = (
    1, 1.0, True, None, float("nan"), "x", "1", "true", " 1", "1_000", b"1", 10**30, 2**64, 1 + 1j,
    Decimal(1), np.float32(1), np.datetime64("2020-01-01"), np.timedelta64(3, "D"), [1], (1, 2), {},
)  # fmt: skip


def objects(values):
    """An array that holds each value as it is."""
    return np.fromiter(values, dtype=object, count=len(values))


@pytest.mark.parametrize("form", [list, tuple, objects], ids=["list", "tuple", "array"])
def test_no_row_changes_how_another_is_read(form):
    """Beside a text numpy makes a text of True, and dates are numbers unless a text is there."""
    schema = Schema((Number("a", -1, 5), Category("c", ("x", "1")), Category("k", (0, 1))), (0, 1))
    for one, other in product(ODD, ODD):
        both = schema.encode({name: form([one, other]) for name in "ack"}).X
        alone = [
            schema.encode({name: form([each]) for name in "ack"}).X[0] for each in (one, other)
        ]
        assert np.array_equal(both, alone), (one, other)


def test_a_matrix_of_objects_is_encoded_as_one_of_numbers_is():
    schema = Schema((Number("a", -1, 5), Number("b", 0, 1)), (0, 1))
    numbers = np.array([[0.0, 0.5], [4.0, np.nan], [-9.0, 1.0]])
    expected = schema.encode(numbers).X
    assert np.array_equal(schema.encode(numbers.astype(object)).X, expected)
    mixed = numbers.astype(object)
    mixed[0, 0], mixed[1, 1] = "0", None
    assert np.array_equal(schema.encode(mixed).X, expected)
