"""Owners are who they are, however a file or an array writes their names."""

import warnings
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from tacit import DataWarning, PrivateClassifier
from tacit.data import owner_ranges
from tacit.data.owner_blocks import RowReading
from tacit.data.owner_names import conform_owners, owner_name, read_names, sort_key
from tacit.data.sample import ColumnRoles
from tacit.data.schema import Number, Schema
from tacit.data.survey import survey
from tacit.data.table_file import TableFile, open_rows
from tacit.data.table_rows import read_owned
from tacit.estimators.inputs import owner_numbers
from tacit.wire import encode

BIG = 2**53
SCHEMA = Schema((Number("x", 0, 1),), (0, 1))


def told_of_nobody(rows: int) -> AbstractContextManager[Any]:
    """That rows without a name count as one owner's is told, if there are such."""
    return pytest.warns(DataWarning, match="count as one owner together") if rows else nullcontext()


@pytest.mark.parametrize(
    ("spellings", "name"),
    [
        ([17, 17.0, "17", "17.0", "017", "+17", " 17 ", Decimal("17.00"), np.int8(17)], "17"),
        ([-0.5, "-0.5", "-00.50", Decimal("-0.5")], "-0.5"),
        ([0, -0.0, "0", "-0", "00.0"], "0"),
        ([1e22, "1e+22", "1" + "0" * 22, 10**22, Decimal("1E+22")], "1" + "0" * 22),
        ([1.5e-07, "1.5e-07"], "0.00000015"),
        ([True, "True", "true", np.True_], "true"),
        (["é", "e\u0301"], "é"),
        ([None, float("nan"), "", " ", pd.NA, pd.NaT], ""),
    ],
)
def test_values_that_say_the_same_are_one_owner(spellings, name):
    assert {owner_name(value) for value in spellings} == {name}


@pytest.mark.parametrize(
    "others",
    [
        [BIG, BIG + 1, float(BIG + 2), str(BIG + 3)],
        [2**64 - 1, 2**64 - 2, Decimal(2**64)],
        ["1234e567", "1235e567", "12e4", "120000", "inf"],  # no numbers: digits of a checksum
        ["1_000", "1000", "1,000", "0x10", "16"],
        [True, 1, "yes"],
        [10**400, 10**400 + 1],
        [1 << 40_000, (1 << 40_000) + 1],
    ],
)
def test_values_that_say_others_are_others(others):
    names, numbers = conform_owners(np.array(others, dtype=object))
    assert len(names) == len(set(numbers.tolist())) == len(others)


@given(st.integers() | st.floats(allow_nan=False), st.integers() | st.floats(allow_nan=False))
def test_numbers_are_in_order_of_size(one, other):
    keys = [sort_key(owner_name(value)) for value in (one, other)]
    exact = [Decimal(repr(value)) for value in (one, other)]
    assert (keys[0] < keys[1]) == (exact[0] < exact[1])
    assert (keys[0] == keys[1]) == (exact[0] == exact[1])


def test_names_of_any_length_are_told_apart_and_take_their_own_room():
    texts = ["a" * 5000 + end for end in "bac"] + ["a"]
    found = read_names(np.array(texts, dtype=object))
    assert len(set(found.keys)) == 4
    assert max(map(len, found.keys)) < 300
    assert found.numbered().names[0] == "a"


@pytest.mark.parametrize(
    "column",
    [
        pa.array([BIG, BIG + 1, None, BIG + 2], pa.int64()),
        pa.array([BIG, BIG + 1, 0, BIG + 2], pa.uint64()),
        pa.array([BIG, BIG + 1, None, 2**64 - 1], pa.uint64()),
        pa.array([Decimal(BIG), Decimal(BIG + 1), None, Decimal(10**20)], pa.decimal128(38, 2)),
        pa.array([BIG, BIG + 1, None, BIG + 2], pa.int64()).dictionary_encode(),
        pa.array([str(BIG), str(BIG + 1), None, str(BIG + 2)]),
    ],
    ids=["int with none", "uint", "uint with none", "decimal", "dictionary", "texts"],
)
def test_every_digit_counts_in_files_and_in_memory(tmp_path, column):
    file, csv = tmp_path / "rows.parquet", tmp_path / "rows.csv"
    table = pa.table({"x": [0.1, 0.2, 0.3, 0.4], "y": [0, 1, 0, 1], "who": column})
    parquet.write_table(table, file)
    table.to_pandas(types_mapper=pd.ArrowDtype).to_csv(csv, index=False)
    for place in (file, csv):
        held = read_owned(TableFile.open(place), ColumnRoles("y", owner="who"), SCHEMA)
        assert len(set(held.owners.tolist())) == 4
        assert len(survey(open_rows(place), RowReading(SCHEMA, "y", "who"))) == 4
        for owners in (table["who"], column.to_pylist()):
            with told_of_nobody(column.null_count):
                assert owner_numbers(owners, 4).tolist() == held.owners.tolist()


@pytest.mark.parametrize(
    "who",
    [
        lambda people: people,
        lambda people: people - 50,
        lambda people: people / 4,
        lambda people: people.astype(str),
        lambda people: np.where(people > 9, people, np.nan),
        lambda people: np.where(people > 9, people.astype(object), "w"),
    ],
    ids=["numbers", "signs", "fractions", "digits", "some nobody's", "mixed"],
)
def test_an_array_of_owners_gives_the_bytes_of_a_file_with_them(tmp_path, monkeypatch, who):
    """By texts, 10 came before 9 in a file and after it in an array."""
    monkeypatch.setattr(owner_ranges, "_RANGE", 1 << 11)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(600, 2))
    y, owners = (X[:, 0] > 0).astype(int), who(rng.integers(0, 120, 600))
    named = [str(name) for name in owners] if owners.dtype == object else owners
    columns = {"a": X[:, 0], "b": X[:, 1]}
    parquet.write_table(pa.table(columns | {"y": y, "who": named}), tmp_path / "rows.parquet")
    public = ({name: column[:60] for name, column in columns.items()}, y[:60])
    made = [PrivateClassifier(4.0, rounds=2, random_state=1) for _ in range(2)]
    nobodies = int(pd.isna(pd.Series(owners)).sum())
    with told_of_nobody(nobodies):
        made[0].fit(columns, y, owners=owners, public=public)
    with told_of_nobody(nobodies):
        made[1].fit(tmp_path / "rows.parquet", "y", owners="who", public=public)
    assert encode(made[0].content()) == encode(made[1].content())


def test_owners_that_are_written_in_several_ways_are_told(tmp_path):
    """Not where a file knows no other way, as CSV files know no numbers."""
    with pytest.warns(DataWarning, match="^an owner is written in several ways, as 17 and 017"):
        assert owner_numbers(["17", 9, "017", "x"], 4).tolist() == [1, 0, 1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        owner_numbers(np.array(["17", 17, 17.0, "018"], dtype=object), 4)
    (tmp_path / "a.csv").write_text("x,y,who\n0.1,0,17\n0.2,1,18\n0.4,1,19\n")
    (tmp_path / "b.csv").write_text("x,y,who\n0.1,0,17.0\n0.2,1,018\n0.4,1,20\n")
    found = survey(open_rows(tmp_path), RowReading(SCHEMA, "y", "who"))
    assert (len(found), found.counts.respelled) == (4, 2)
    held = read_owned(open_rows(tmp_path), ColumnRoles("y", owner="who"), SCHEMA)
    said = "2 owners are written in several ways, as 17 and 017 are, and counted once"
    notes = found.counts.notes(RowReading(SCHEMA, "y", "who"), str(tmp_path))
    assert held.notes == notes == (said,)
