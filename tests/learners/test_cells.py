"""Cells are a total function of the schema and of one row."""

import numpy as np
import pytest

from tacit.data.schema import Category, Number, Schema
from tacit.learners.peers.cells import Cells, Cut, at_cells
from tacit.wire import decode, encode
from tests.learners.peers import CELLS, SCHEMA


def read(**columns):
    return CELLS.read(SCHEMA.encode(columns).X).tolist()


def test_numbers_fall_in_equal_parts_and_categories_in_their_own():
    found = read(age=[0, 24.9, 25, 99, 100], town=["n", "s", "w", "n", "n"], member=[0, 1, 0, 1, 1])
    assert found == [[0, 0, 0], [0, 1, 1], [1, 2, 0], [3, 0, 1], [3, 0, 1]]
    assert CELLS.sizes == (4, 4, 2)
    assert CELLS.is_ordered == (True, False, False)


def test_odd_values_have_a_place():
    found = read(
        age=[np.nan, np.inf, -np.inf, -7, 1e9],
        town=["?", None, "n", "s", "w"],
        member=[2, 0, 1, 0, 1],
    )
    assert found == [[2, 3, 0], [3, 3, 0], [0, 0, 1], [0, 1, 0], [3, 2, 1]]


def test_any_encoded_numbers_are_read():
    wild = np.random.default_rng(1).choice(
        [np.nan, np.inf, -np.inf, -5.0, 0.0, 0.3, 1.0, 9.0], size=(500, SCHEMA.dim)
    )
    with np.errstate(all="raise"):
        found = CELLS.read(wild)
    assert (found >= -1).all()
    assert (found < np.array(CELLS.sizes)).all()


def test_attributes_that_are_not_held_are_absent():
    X = SCHEMA.encode({"age": [10, 90], "town": ["n", "?"], "member": [0, 1]}).X
    held = CELLS.columns_of(["age", "member"])
    assert held == (0, 2)
    assert CELLS.read(CELLS.without_others(X, held)).tolist() == [[0, -1, 0], [3, -1, 1]]
    assert CELLS.columns_of(None) == (0, 1, 2)
    for names in ([], ["height"], ["age", "height"]):
        with pytest.raises(ValueError, match="attributes must be some of"):
            CELLS.columns_of(names)


def test_whole_numbers_of_a_short_range_keep_cells_of_their_own():
    cells = Cells(Schema((Number("years", 1, 16), Category("sex", ("f", "m"))), (0, 1)))
    X = cells.schema.encode({"years": np.arange(1, 17), "sex": ["f", "m"] * 8}).X
    assert cells.read(X)[:, 0].tolist() == list(range(16))


def test_leaves_and_tables_know_absent_and_unknown_cells():
    cells = np.array([[0], [1], [2], [-1]])
    assert Cut(0, (1, 0)).leaf_of(cells).tolist() == [1, 0, -1, -1]
    assert at_cells(np.array([1.0, 2.0]), cells[:, 0]).tolist() == [1.0, 2.0, 0.0, 0.0]
    assert CELLS.every_cell(1) == Cut(1, (0, 1, 2, 3))


@pytest.mark.parametrize("leaves", [(), (-1, 0), (0, 1 << 16)])
def test_bad_leaves_are_refused(leaves):
    with pytest.raises(ValueError, match="leaves must be"):
        Cut(0, leaves)


def test_cells_travel():
    assert decode(encode(CELLS), Cells) == CELLS
    with pytest.raises(ValueError, match="bins must be"):
        Cells(SCHEMA, bins=1)


def test_the_kernel_reads_as_the_plain_rule():
    rng = np.random.default_rng(2)
    X = rng.choice([-1.0, 1.0, np.nan, -0.4, 0.0, 0.7], size=(300, SCHEMA.dim))
    found = CELLS.read(X)
    for row, cells in zip(X, found, strict=True):
        age, town, member = row[0], row[1:4], row[4]
        expected = [
            -1 if np.isnan(age) else min(3, int(np.floor((age + 1) * 2))),
            -1 if np.isnan(town[0]) else max([k for k in range(3) if town[k] > 0], default=3),
            -1 if np.isnan(member) else int(member > 0),
        ]
        assert cells.tolist() == expected
