"""Files of users: what they say, however they are written."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from tacit.data import long_texts
from tacit.data.owner_names import conform_owners
from tacit.data.sample import ColumnRoles, describe, read_schema
from tacit.data.schema import Category, Number, Schema
from tacit.data.table import (
    MISSING,
    UserTable,
    type_columns,
)
from tacit.data.table_file import TableFile, TextForm
from tacit.data.table_rows import read_first, read_owned
from tacit.owner.policy import Policy
from tacit.service.kinds.campaign_file import entries
from tests.cli.made import people, write_csv, write_parquet


def wrote(folder, text, name="t.csv"):
    (folder / name).write_text(text)
    return folder / name


def read(path):
    return TableFile.open(path).read()


def test_columns_are_typed_as_a_whole(tmp_path):
    far = "\n".join(f"{n},{n},x,2020-01-0{n % 9 + 1},true,7" for n in range(60_000))
    table = read(
        wrote(tmp_path, f"whole,odd,text,day,truth,code\n{far}\n1,late,?,2020-01-01,,08\n")
    )
    assert table["whole"].dtype.kind == "i"
    assert (
        table["odd"].dtype.kind == "O"
    )  # one late text makes a column text, in whatever block it is
    assert table["truth"].tolist()[-2:] == [True, None]
    assert table["text"].tolist()[-1] is None
    assert table.left_out == {"day": "dates"}
    assert table["code"][-1] == 8


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"], ids=["comma", "semicolon", "tab", "bar"])
def test_the_usual_separators(tmp_path, sign):
    file = wrote(tmp_path, f"\ufeffage{sign} town \n 30 {sign}north\n{sign}\n")
    table = read(file)
    assert TableFile.open(file).names == ("age", "town")
    assert table["age"][0] == 30
    assert np.isnan(table["age"][1])
    assert table["town"].tolist() == ["north", None]


@pytest.mark.parametrize("text", MISSING)
def test_missing_texts(tmp_path, text):
    table = read(wrote(tmp_path, f"a,b\n1,x\n{text},{text}\n"))
    assert np.isnan(table["a"][1])
    assert table["b"].tolist() == ["x", None]


def test_no_message_quotes_a_row(tmp_path):
    for content in (b"a,b\n1,2\nsecret,2,3\n", b"a,b\n\xff\xfesecret\xff,1\n"):
        (tmp_path / "t.csv").write_bytes(content)
        with pytest.raises(ValueError, match="cannot be read as a table") as told:
            read(tmp_path / "t.csv")
        assert "secret" not in str(told.value)
        assert told.value.__cause__ is None
    (tmp_path / "t.parquet").write_bytes(b"secret")
    with pytest.raises(ValueError, match="cannot be read as a table"):
        read(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="several columns of one name: a"):
        read(wrote(tmp_path, "a,a\n1,2\n"))
    with pytest.raises(ValueError, match="has none of the columns x"):
        TableFile.open(wrote(tmp_path, "a,b\n1,2\n")).read_text(["x"])


def test_blocks_are_the_whole(tmp_path):
    columns = people(1000)
    write_csv(tmp_path / "p.csv", columns)
    write_parquet(tmp_path / "p.parquet", columns)
    schema = describe(read(tmp_path / "p.csv"), "rich", owner="family").schema
    names = [feature.name for feature in schema.features]
    for file in (tmp_path / "p.csv", tmp_path / "p.parquet"):
        assert TableFile.open(file).count_rows() == 1000
        blocks = list(TableFile.open(file).blocks(names, 64))
        assert max(len(block) for block in blocks) == 64
        parts = np.vstack([schema.encode(block).X for block in blocks])
        whole = schema.encode(TableFile.open(file).read_text(names)).X
        np.testing.assert_array_equal(parts, whole)
    csv_rows, parquet_rows = (
        TableFile.open(tmp_path / name).read_text(names) for name in ("p.csv", "p.parquet")
    )
    np.testing.assert_array_equal(
        schema.encode(csv_rows).X,
        schema.encode(parquet_rows).X,
    )


def test_some_rows_are_described_by_themselves(tmp_path):
    """The type of a column of rows that are given up does not depend on the others."""
    raw = TableFile.open(wrote(tmp_path, "a,b\n1,2020-01-01\n2,2020-01-02\nx,y\n")).read_text()
    part = type_columns(raw[np.array([0, 1])])
    assert part["a"].tolist() == [1, 2]
    assert part.left_out == {"b": "dates"}


def test_what_is_no_feature_is_left_out_and_named():
    rng = np.random.default_rng(0)
    table = UserTable(
        {
            "name": np.array([f"n{i}" for i in range(60)], dtype=object),
            "few": np.array(list("abc") * 20, dtype=object),
            "code": rng.integers(1, 4, 60),
            "empty": np.full(60, np.nan),
            "who": np.arange(60),
            "y": np.array([0, 1] * 30),
        },
        {"born": "dates"},
    )
    found = describe(table, "y", owner="who", categories=["code"])
    assert found.schema.columns == ["few=a", "few=b", "few=c", "code=1", "code=2", "code=3"]
    assert set(found.left_out) == {"born", "name", "empty"}
    assert found.schema.classes == (0, 1)
    with pytest.raises(ValueError, match="column 'gone' is not in the public table"):
        describe(table, "y", leave_out=["gone"])
    with pytest.raises(ValueError, match="2 to 100 classes in the public rows, it has 1"):
        describe(table[np.arange(0, 60, 2)], "y")


def test_values_are_what_they_say():
    schema = Schema(
        (
            Number("n", 0, 9),
            Category("code", (1, 2, 10)),
            Category("flag", (False, True)),
            Category("t", ("01", "1")),
        ),
        (0, 1),
    )
    ways: dict[str, dict[str, list[object]]] = {
        "text": {
            "n": ["3", "x"],
            "code": ["02", "10.0"],
            "flag": ["True", "FALSE"],
            "t": ["01", "1"],
        },
        "mixed": {"n": [3, None], "code": [2.0, 10], "flag": [True, "false"], "t": ["01", 1.0]},
    }
    for columns in ways.values():
        table = schema.conform(
            UserTable({name: np.array(v, dtype=object) for name, v in columns.items()})
        )
        assert table["code"].tolist() == [2, 10]
        assert table["flag"].tolist() == [True, False]
        assert table["t"].tolist() == ["01", "1"]
        assert table["n"][0] == 3
        assert np.isnan(table["n"][1])
    with pytest.raises(ValueError, match="here lacks 'n' \\(dates\\); 'code'"):
        schema.conform(UserTable({"flag": np.array([]), "t": np.array([])}, {"n": "dates"}), "here")


NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)
VALUES = st.lists(NAMES | st.integers(-(2**53), 2**53), min_size=2, max_size=4, unique_by=str)
NUMBERS = st.tuples(st.floats(-1e6, 1e6), st.floats(0.5, 1e6)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)


def schema_text(schema):
    """The file that `read_schema` reads as this schema."""
    lines = [f"classes = {json.dumps(list(schema.classes), ensure_ascii=False)}", "", "[features]"]
    for feature in schema.features:
        if isinstance(feature, Number):
            told = f"low = {feature.low!r}, high = {feature.high!r}"
        else:
            known = [value for value in feature.values if value is not None]
            told = f"values = {json.dumps(known, ensure_ascii=False)}"
        lines.append(f"{json.dumps(feature.name, ensure_ascii=False)} = {{ {told} }}")
    return "\n".join(lines) + "\n"


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(NAMES, NUMBERS | VALUES, min_size=1, max_size=4), VALUES)
def test_a_schema_survives_its_file(tmp_path_factory, columns, classes):
    features = tuple(
        Number(name, *given) if isinstance(given, tuple) else Category(name, tuple(given))
        for name, given in columns.items()
    )
    schema = Schema(features, tuple(classes))
    file = tmp_path_factory.mktemp("schema") / "schema.toml"
    file.write_text(schema_text(schema), encoding="utf-8")
    assert read_schema(file) == schema


BAD = {
    "no features": "classes = [1, 2]",
    "other names": "x = 1",
    "half a number": "classes = [1, 2]\n[features]\na = { low = 1 }",
    "no table": "classes = [1, 2]\n[features]\na = 3",
    "no toml": "==",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_bad_schema_files(tmp_path, text):
    with pytest.raises(
        ValueError, match=r"cannot be read as a schema|must have classes|must be \{ low"
    ):
        read_schema(wrote(tmp_path, text, "s.toml"))


def test_numbers_that_are_all_different_may_be_identifiers():
    rows = np.arange(40)
    odd = {
        "id": 7000 + rows,
        "as float": 3.0 * rows,
        "size": rows + 0.5,
        "age": rows % 39,
        "gap": np.r_[np.nan, rows[1:]],
    }
    table = UserTable({**odd, "y": rows % 2})
    found = describe(table, "y")
    assert found.identifiers == {"id": 40, "as float": 40}
    assert [feature.name for feature in found.schema.features] == list(
        odd
    )  # a note decides nothing
    assert describe(table, "y", categories=["id"]).identifiers == {"as float": 40}
    assert describe(table[:19], "y").identifiers == {}


def test_decimal_commas_are_called_what_they_are(tmp_path):
    odd = [("61173,01", "1.234,50", "1,2,3", "x7")] + [
        (f"{n},5", str(n), f"{n},1", f"x{n}") for n in range(40)
    ]
    lines = "\n".join(f"{n % 2};1;{';'.join(each)}" for n, each in enumerate(odd))
    table = read(wrote(tmp_path, f"y;z;plain;points;lists;names\n{lines}"))
    left_out = describe(table, "y").left_out
    commas = [
        name
        for name, why in left_out.items()
        if "they look like numbers with a decimal comma" in why
    ]
    assert commas == ["plain", "points"]
    assert list(left_out) == ["plain", "points", "lists", "names"]


def test_a_small_file_of_more_rows_than_memory_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "bomb.parquet"
    parquet.write_table(pa.table({"a": np.zeros(3_000_000), "b": np.zeros(3_000_000)}), file)
    assert file.stat().st_size < 100_000
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": (64 << 20) // 4096}
    monkeypatch.setattr("os.sysconf", sizes.__getitem__)
    with pytest.raises(ValueError, match=r"3,000,000 rows of 2 columns, more than this machine"):
        TableFile.open(file).read()
    assert len(TableFile.open(file).read(["a"])) == 3_000_000  # one of them fits
    assert sum(len(block) for block in TableFile.open(file).blocks(["a", "b"], 100_000)) == 3e6


@pytest.mark.parametrize("rows", [1, 4000])
def test_a_small_file_of_long_texts_is_refused(tmp_path, monkeypatch, rows):
    """One text of a gigabyte, and one of a megabyte in each of many rows, took all memory."""
    file = tmp_path / "bomb.parquet"
    text = "a" * (100 << 20 if rows == 1 else 1 << 20)
    one = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))
    table = pa.table({"a": one, "b": np.arange(rows), "c": [f"text {n % 9}" for n in range(rows)]})
    parquet.write_table(table, file, compression="zstd", store_schema=False)
    assert file.stat().st_size < 100_000
    for read in (TableFile.open(file).read, lambda: list(TableFile.open(file).blocks(["a"], 5000))):
        monkeypatch.setattr(long_texts, "memory", lambda: 1 << 31)
        with pytest.raises(ValueError, match="more than this machine's memory"):
            read()
    column = TableFile.open(file).read(["c"]).columns["c"]
    assert column[-1] == f"text {(rows - 1) % 9}"


@pytest.mark.parametrize("reader", [read_schema, Policy.read, entries])
def test_settings_that_are_nested_too_deep_are_an_error_of_the_file(tmp_path, reader):
    file = wrote(tmp_path, f"a = {'[' * 5000}{']' * 5000}", "deep.toml")
    with pytest.raises(ValueError, match=r"deep\.toml cannot be read as a"):
        reader(file)


@pytest.mark.parametrize(
    "text",
    [
        "classes = [[1], [2]]\n[features]\na = { low = 0, high = 1 }",
        "classes = [nan, nan]\n[features]\na = { low = 0, high = 1 }",
        "classes = [1, 2]\n[features]\na = { values = [{ b = 1 }, { b = 2 }] }",
        "classes = [1, 2]\n[features]\na = { low = 1, high = 0 }",
    ],
)
def test_a_schema_of_what_no_row_has_is_an_error_of_the_file(tmp_path, text):
    with pytest.raises(ValueError, match=r"s\.toml: "):
        read_schema(wrote(tmp_path, text, "s.toml"))


@pytest.mark.parametrize("reader", [read_schema, Policy.read, entries])
def test_settings_are_utf8_with_or_without_a_mark(tmp_path, reader):
    """Editors that write a mark were told "Invalid statement (at line 1, column 1)"."""
    text = (
        "classes = [1, 2]\n[features]\na = { low = 0, high = 1 }"
        if reader is read_schema
        else "epsilon_per_release = 1\nepsilon_total = 1"
    )
    file = tmp_path / "s.toml"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert reader(file)
    file.write_bytes(text.encode("utf-16"))
    with pytest.raises(ValueError, match=r"s\.toml cannot be read as a .*: save it as UTF-8"):
        reader(file)
    with pytest.raises(ValueError, match="cannot be read as a"):
        reader(tmp_path)


@pytest.mark.parametrize("beside", [True, False, 1.0, "1", "true", None, float("nan")])
def test_no_value_changes_how_another_is_read(beside):
    """True equals 1 in Python, and says something else: whichever comes first."""
    schema = Schema((Number("a", -1, 1),), (0, 1))
    for value in (1, 0, True, "1"):
        alone = schema.conform_labels(np.array([value], dtype=object))[0]
        for column in ([beside, value], [value, beside]):
            read = schema.conform_labels(np.array(column, dtype=object)).tolist()
            assert read[0 if column[0] is value else 1] == alone
        names, numbers = conform_owners(np.array([beside, value], dtype=object))
        (own,), _ = conform_owners(np.array([value], dtype=object))
        assert names[numbers[1]] == own


def test_decimal_commas_and_encodings_are_read(tmp_path):
    file = tmp_path / "latin.csv"
    text = "größe;preis;datum;wert\nköln;1.167,5;1.5.2020;7\nulm;12,25;2.5.2020;1.000\n"
    file.write_bytes(text.encode("latin-1"))
    table = TableFile.open(file, TextForm(",", "latin-1")).read()
    assert table.column("preis").tolist() == [1167.5, 12.25]
    assert table.column("wert").tolist() == [7, 1000]
    assert table.column("größe").tolist() == ["köln", "ulm"]
    for content in (text, text.replace("köln", "bonn"), text.replace("größe", "ort")):
        file.write_bytes(content.encode("latin-1"))
        with pytest.raises(ValueError, match=r"it is not UTF-8 text: .* name its --encoding"):
            TableFile.open(file).read()
    file.write_bytes(text.encode("latin-1"))
    plain = TableFile.open(file, TextForm(".", "latin-1")).read()
    assert plain.column("preis").tolist() == ["1.167,5", "12,25"]
    for wrong in ((";", "utf-8"), (".", "no such")):
        with pytest.raises(ValueError, match="must be"):
            TextForm(*wrong)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_ragged_line_is_named_and_not_quoted(tmp_path, newline):
    file = tmp_path / "ragged.csv"
    lines = ["a,b", '1,"two', 'lines"', *(f"{number},2" for number in range(500)), "secret,3,4"]
    file.write_text(newline.join(lines) + newline, newline="")
    with pytest.raises(ValueError, match="line 504 has 3 values, and the first line 2") as told:
        TableFile.open(file).read()
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("rows", [500, 60_000], ids=["short", "longer than any value"])
def test_a_quotation_mark_that_is_not_closed_is_found_where_it_is(tmp_path, rows):
    file = tmp_path / "open.csv"
    lines = ["a,b", "1,2", *["3,4"] * 700, '"secret,3', *["5,6"] * rows]
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=r"begins in line 703\b.* quotation mark") as told:
        TableFile.open(file).read()
    assert "secret" not in str(told.value)


def test_an_owner_without_any_label_takes_part_and_a_table_of_all_owners_is_refused(tmp_path):
    """Labels that are all missing make a column of numbers: whether an owner comes would tell."""
    schema, roles = Schema((Number("x", 0, 1),), ("no", "yes")), ColumnRoles("y")
    file = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"x": [0.2, 0.4], "y": [float("nan")] * 2}), file)
    for alone in (
        read_first(TableFile.open(file), roles, schema, 10),
        read_owned(TableFile.open(file), roles, schema, one_owner=True),
    ):
        assert (schema.encode_labels(alone.labels) == -1).all()
    with pytest.raises(ValueError, match=r"y of .* is of type float64"):
        read_owned(TableFile.open(file), roles, schema)
