"""Files that are damaged, change, go away or are not for this user, and disks that are full: one
line that names them, and nothing half-written.
"""

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import disk_usage, rmtree

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tacit.data import owner_ranges
from tacit.data.owner_blocks import BlockedCohort, RowReading
from tacit.data.sample import ColumnRoles
from tacit.data.schema import Schema
from tacit.data.survey import survey
from tacit.data.table_file import TableFile, open_rows
from tacit.data.table_rows import read_owned, read_sample
from tacit.data.table_set import find_files
from tests.engines.test_by_block import rows

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Schema:
    file = tmp_path_factory.mktemp("public") / "public.parquet"
    parquet.write_table(rows(200), file)
    return read_sample(TableFile.open(file), ColumnRoles("y", leave_out=("who",))).schema


def read_all(cohort: BlockedCohort) -> int:
    """How many owners answer."""
    everybody = [
        numbers
        for block in cohort.blocks
        for numbers, _ in block.read(lambda owners: np.ones(len(owners), dtype=bool))
    ]
    return sum(map(len, everybody))


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """The system refuses to let files grow beyond so many bytes, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_texts_that_are_none_are_damage(tmp_path, schema):
    file = tmp_path / "rows.parquet"
    parquet.write_table(rows(900), file, row_group_size=300, compression="none")
    place = parquet.read_metadata(file).row_group(2).column(4).dictionary_page_offset
    content = bytearray(file.read_bytes())
    at = content.index(b"yes", place)
    content[at : at + 3] = b"\xff\xfe\xff"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"rows\.parquet .* row group 3 of 3 is damaged") as told:
        survey(open_rows(file), RowReading(schema, "y"))
    assert type(told.value) is ValueError


def test_a_page_that_is_not_the_one_its_checksum_is_of_is_damaged(tmp_path, schema):
    """One bit of a plain number can be told by nothing else."""
    file = tmp_path / "rows.parquet"
    written = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    parquet.write_table(rows(300), file, row_group_size=100, **written)
    content = bytearray(file.read_bytes())
    content[parquet.read_metadata(file).row_group(1).column(0).data_page_offset + 300] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"rows\.parquet .* row group 2 of 3 is damaged"):
        read_all(survey(open_rows(file), RowReading(schema, "y")))


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_whatever_is_damaged_the_file_is_named(tmp_path, schema, compression):
    """Bits of pages and of the footer flipped, parts cut off and doubled: rows, or one line."""
    file, coins = tmp_path / "rows.parquet", np.random.default_rng(5)
    parquet.write_table(rows(300), file, row_group_size=100, compression=compression)
    whole, told = file.read_bytes(), list[str]()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for trial in range(120):
        content = bytearray(whole)
        if trial % 3 == 0:
            content[coins.integers(footer, len(whole))] ^= 1 << int(coins.integers(8))
        elif trial % 3 == 1:
            content[coins.integers(footer)] ^= 1 << int(coins.integers(8))
        else:
            del content[coins.integers(len(whole)) :]
        file.write_bytes(content)
        try:
            read_all(survey(open_rows(file), RowReading(schema, "y", [None, "who"][trial % 2])))
        except ValueError as problem:
            told.append(str(problem))
    assert len(told) > 40
    assert all(str(file) in line and "\n" not in line for line in told)


def test_columns_of_other_kinds_are_found_where_the_first_file_has_no_values(tmp_path):
    for name, values in {
        "a": pa.nulls(2),
        "b": pa.array([1.5, 2]),
        "c": pa.array(["x", "y"]),
    }.items():
        parquet.write_table(pa.table({"x": values, "y": [0, 1]}), tmp_path / f"{name}.parquet")
    with pytest.raises(ValueError, match=r"c\.parquet has column 'x' as string, and .*b\.parquet"):
        open_rows(tmp_path)


@pytest.mark.parametrize(
    ("plain", "other"),
    [
        (pa.string(), pa.dictionary(pa.int8(), pa.string())),
        (pa.string(), pa.string_view()),
        (pa.dictionary(pa.int32(), pa.string()), pa.large_string()),
        (pa.float64(), pa.dictionary(pa.int32(), pa.float64())),
        (pa.decimal128(21, 2), pa.float16()),
        (pa.decimal128(21, 2), pa.uint64()),
    ],
    ids=str,
)
def test_files_may_write_the_same_values_in_other_ways(tmp_path, plain, other):
    values = pa.array([1.0, 2.0, None, 1.0])
    kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (plain, other)]
    for name, kind, inner in zip("ab", (plain, other), kinds, strict=True):
        column = values.cast(inner)
        column = column.dictionary_encode().cast(kind) if kind != inner else column
        parquet.write_table(pa.table({"x": column}), tmp_path / f"{name}.parquet")
    read = open_rows(tmp_path).read_text().columns["x"]
    np.testing.assert_array_equal(read[:4].astype(float), read[4:].astype(float))


def test_a_file_that_changes_is_named(tmp_path, schema):
    """Also where a row group has gone, or columns have, or are of another type."""
    file, table = tmp_path / "rows.parquet", rows(300)
    for other in (table.slice(0, 100), table.drop(["y"]), table.set_column(0, "x0", table["town"])):
        parquet.write_table(table, file, row_group_size=100)
        cohort = survey(open_rows(file), RowReading(schema, "y"))
        parquet.write_table(other, file)
        with pytest.raises(ValueError, match=r"rows\.parquet has changed since it was first read"):
            read_all(cohort)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_with_other_values_of_the_same_size_and_time_is_named(tmp_path, schema, ending):
    """Also where a parquet file says the same of itself, and where another row group changes."""
    file, table = tmp_path / f"rows.{ending}", rows(300)
    places = np.arange(300)
    places[[110, 120]] = 120, 110

    def write(some: pa.Table) -> None:
        if ending == "csv":
            some.to_pandas().to_csv(file, index=False)
        else:
            plain = {"compression": "none", "use_dictionary": False}
            parquet.write_table(some, file, row_group_size=100, **plain)

    write(table)
    before, known = file.read_bytes(), file.stat()
    cohort = survey(open_rows(file), RowReading(schema, "y"))
    assert read_all(cohort) == 300
    write(table.take(places))
    os.utime(file, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert file.stat().st_size == known.st_size
    with pytest.raises(ValueError, match=rf"rows\.{ending} has changed since it was first read"):
        read_all(cohort)
    file.write_bytes(before)
    assert read_all(cohort) == 300


def test_a_file_that_changes_while_it_is_read_is_named(tmp_path, schema):
    """What was read of it is not used."""
    file = tmp_path / "rows.csv"
    rows(300).to_pandas().to_csv(file, index=False)
    cohort = survey(open_rows(file), RowReading(schema, "y"))
    content = file.read_bytes()

    def rewrite(owners):
        file.write_bytes(content.replace(b"no", b"NO"))
        return np.ones(len(owners), dtype=bool)

    with pytest.raises(ValueError, match=r"rows\.csv has changed since it was first read"):
        list(cohort.blocks[0].read(rewrite))


@pytest.mark.parametrize("owner", [None, "who"])
def test_most_rows_with_labels_that_are_not_known_are_told(tmp_path, schema, owner):
    """By the block as in memory; not a few, on which no message is to depend."""
    file, table, reading = tmp_path / "rows.parquet", rows(300), RowReading(schema, "y", owner)
    for odd, said in ((149, ""), (150, "most rows"), (300, "no row")):
        labels = ["?!"] * odd + ["yes"] * (300 - odd)
        parquet.write_table(table.set_column(4, "y", pa.array(labels)), file)
        held = read_owned(open_rows(file), ColumnRoles("y", owner=owner), schema)
        counts = survey(open_rows(file), reading).counts
        assert (counts.rows, counts.ignored) == (300, odd)
        assert held.notes == counts.notes(reading, str(file))
        assert [note[: len(said)] for note in held.notes] == ([said] if said else [])


def test_a_folder_that_goes_away_is_named(tmp_path, schema):
    (tmp_path / "set").mkdir()
    for name in ("a", "b"):
        parquet.write_table(rows(60), tmp_path / "set" / f"{name}.parquet")
    cohort = survey(open_rows(tmp_path / "set"), RowReading(schema, "y"))
    rmtree(tmp_path / "set")
    with pytest.raises(ValueError, match=r"set/a\.parquet is not there"):
        read_all(cohort)


def test_files_and_folders_that_may_not_be_read_are_named(tmp_path, monkeypatch):
    """A folder that is passed over would leave out its owners unseen."""
    (tmp_path / "closed").mkdir()
    parquet.write_table(rows(60), tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("x,y\n1,0\n")
    look, read = Path.iterdir, Path.open

    def refuse(path, *given):
        if path.name in ("closed", "b.csv"):
            raise PermissionError(13, os.strerror(13), str(path))
        return (read if given else look)(path, *given)

    monkeypatch.setattr(Path, "iterdir", refuse)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ValueError, match=r"closed cannot be read \(Permission denied\)"):
        open_rows(tmp_path)
    with pytest.raises(ValueError, match=r"b\.csv cannot be read \(Permission denied\)"):
        TableFile.open(tmp_path / "b.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv"])
def test_a_file_of_somebody_else_is_named(tmp_path, name):
    file = tmp_path / name
    file.write_text("x,y\n1,0\n")
    file.chmod(0)
    with pytest.raises(ValueError, match=r"cannot be read \(Permission denied\)"):
        open_rows(file)


@pytest.mark.parametrize("inside", [True, False])
def test_a_pipe_is_named_and_not_left_out_in_silence(tmp_path, inside):
    parquet.write_table(rows(60), tmp_path / "a.parquet")
    os.mkfifo(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet is a pipe or a device"):
        open_rows(tmp_path if inside else tmp_path / "b.parquet")


@pytest.mark.parametrize("column", ["who", "y"])
def test_a_column_that_names_nobody_is_named_with_its_file(tmp_path, schema, column):
    """Of a table that is read as a whole as well as by the block."""
    file, table = tmp_path / "rows.parquet", rows(60)
    place = table.column_names.index(column)
    parquet.write_table(table.set_column(place, column, pa.array([{"k": 1}] * 60)), file)
    told = rf"rows\.parquet.*: column '{column}' .* struct"
    with pytest.raises(ValueError, match=told):
        read_owned(open_rows(file), ColumnRoles("y", owner="who"), schema)
    with pytest.raises(ValueError, match=told):
        survey(open_rows(file), RowReading(schema, "y", "who"))


def test_linked_folders_are_part_of_a_set_and_end(tmp_path):
    place, elsewhere = tmp_path / "set", tmp_path / "elsewhere"
    place.mkdir()
    elsewhere.mkdir()
    for folder in (place, elsewhere):
        parquet.write_table(pa.table({"x": [1.0]}), folder / "part.parquet")
    (place / "more").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(place)
    assert [file.relative_to(place).as_posix() for file in find_files(place)] == [
        "more/part.parquet",
        "part.parquet",
    ]


@pytest.mark.parametrize("leads_to", ["elsewhere", "more"])
def test_a_link_to_a_folder_that_is_not_there_is_named(tmp_path, leads_to):
    """Or to itself; its rows would be missing unseen. What is hidden is no part of the table."""
    parquet.write_table(pa.table({"x": [1.0]}), tmp_path / "part.parquet")
    (tmp_path / ".more").symlink_to(leads_to)
    assert [file.name for file in find_files(tmp_path)] == ["part.parquet"]
    (tmp_path / "more").symlink_to(leads_to)
    with pytest.raises(ValueError, match=r"more leads to a file or folder that is not there"):
        open_rows(tmp_path)


def test_folders_that_name_one_column_twice_are_named(tmp_path):
    place = tmp_path / "town=a" / "town=b"
    place.mkdir(parents=True)
    parquet.write_table(pa.table({"x": [1.0]}), place / "part.parquet")
    with pytest.raises(ValueError, match=r"part\.parquet lies in two folders that name one column"):
        open_rows(tmp_path)


def test_a_folder_of_missing_values_holds_missing_values(tmp_path, schema):
    """As writers of sets call it: no category, and no owner, of that name."""
    table = rows(300)
    parquet.write_to_dataset(table, tmp_path / "set", partition_cols=["town"])
    assert (tmp_path / "set" / "town=__HIVE_DEFAULT_PARTITION__").is_dir()
    parquet.write_table(table, tmp_path / "one.parquet")
    towns = [
        open_rows(tmp_path / name).read_text(["town"]).columns["town"].tolist()
        for name in ("set", "one.parquet")
    ]
    assert towns[0].count(None) == towns[1].count(None) > 0


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_folders_may_name_the_owners(tmp_path, schema, ending, monkeypatch):
    """So many rows that they are brought together in several ranges, which are cut by names."""
    monkeypatch.setattr(owner_ranges, "_RANGE", 1 << 10)
    for who in ("a", "b", "c"):
        folder = tmp_path / f"who={who}"
        folder.mkdir()
        part = rows(300).drop(["who"])
        if ending == "parquet":
            parquet.write_table(part, folder / "part.parquet", row_group_size=100)
        else:
            part.to_pandas().to_csv(folder / "part.csv", index=False)
    found = survey(open_rows(tmp_path), RowReading(schema, "y", "who"))
    assert read_all(found) == len(found) == 3
    assert open_rows(tmp_path).read_text(["who"]).columns["who"].tolist() == [
        who for who in "abc" for _ in range(300)
    ]


@pytest.mark.parametrize("name", [b"\xff.parquet", b"\xff.csv"])
def test_a_name_that_is_no_text_is_told(tmp_path, name):
    """As names that were made on another system may be."""
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    try:
        file.write_text("x,y\n1,0\n")
    except OSError:
        pytest.skip("this system has no such names")
    for place in (tmp_path, file):
        with pytest.raises(ValueError, match=r"has a name that is not UTF-8 text") as told:
            open_rows(place)
        assert type(told.value) is ValueError
        assert str(told.value).isprintable()


def test_a_value_longer_than_any_that_is_read_is_found_where_it_is(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("x,y\n1,0\n2,1\n" + '3,"' + "secret\n" * 1_500_000 + '"\n')
    with pytest.raises(ValueError, match=r"begins in line 4 is longer than any") as told:
        open_rows(file).read_text()
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_another_encoding_is_called_what_it_is(tmp_path, encoding):
    file = tmp_path / "rows.csv"
    file.write_text("x,y\n1,0\n", encoding=encoding)
    with pytest.raises(ValueError, match=f"it is {encoding.upper()} text"):
        open_rows(file)
    assert open_rows(file, encoding=encoding).read_text().columns["y"].tolist() == ["0"]


def test_a_column_that_only_later_files_have_is_no_column_of_a_set(tmp_path):
    """Public rows showed it, mostly missing, and the set did not have it."""
    parquet.write_table(pa.table({"x": [1.0], "y": [0]}), tmp_path / "a.parquet")
    parquet.write_table(pa.table({"x": [1.0], "y": [0], "z": [2]}), tmp_path / "b.parquet")
    table = open_rows(tmp_path)
    assert tuple(table.read().columns) == tuple(table.read_text(["x", "y", "z"]).columns)
    assert table.names == tuple(table.read().columns) == ("x", "y")
    with pytest.raises(ValueError, match=r"a\.parquet lacks z, which .*b\.parquet has: all files"):
        table.require("x", "z")


@pytest.mark.parametrize("name", ["b.csv.gz", "b.parquet.zst"])
def test_compressed_files_are_not_left_out_in_silence(tmp_path, name):
    (tmp_path / "a.csv").write_text("x,y\n1,0\n")
    (tmp_path / name).write_bytes(b"packed")
    with pytest.raises(ValueError, match=r"is compressed: unpack it first"):
        open_rows(tmp_path)
    assert open_rows(tmp_path / "*.csv").count_rows() == 1


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_without_rows_are_part_of_a_set(tmp_path, schema, ending):
    table = rows(60)
    for name, part in {"a": table, "b": table.slice(0, 0)}.items():
        if ending == "parquet":
            parquet.write_table(part, tmp_path / f"{name}.{ending}")
        else:
            part.to_pandas().to_csv(tmp_path / f"{name}.{ending}", index=False)
    for owner in (None, "who"):
        found = survey(open_rows(tmp_path), RowReading(schema, "y", owner))
        assert read_all(found) == len(found) > 0
    with pytest.raises(ValueError, match=rf"b\.{ending} has no rows"):
        survey(open_rows(tmp_path / f"b.{ending}"), RowReading(schema, "y"))


@ON_LINUX
def test_a_full_disk_for_the_rows_of_owners_is_named(tmp_path, schema, monkeypatch):
    file, scratch = tmp_path / "rows.parquet", tmp_path / "scratch"
    parquet.write_table(rows(3000), file)
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    said = r"scratch/tacit-rows-\w+, where .* cannot be used \(File too large\): let TMPDIR"
    with room_for(4096), pytest.raises(ValueError, match=said):
        survey(open_rows(file), RowReading(schema, "y", "who"))
    assert not list(scratch.iterdir())
    small = disk_usage(scratch)._replace(free=1000)
    with monkeypatch.context() as patched:
        patched.setattr(owner_ranges, "disk_usage", lambda _: small)
        with pytest.raises(ValueError, match=r"has room for 0\.0 GB, and to bring"):
            survey(open_rows(file), RowReading(schema, "y", "who"))
    cohort = survey(open_rows(file), RowReading(schema, "y", "who"))
    rmtree(next(scratch.iterdir()))
    with pytest.raises(ValueError, match=r"cannot be used \(No such file or directory\)"):
        read_all(cohort)
