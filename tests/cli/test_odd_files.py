"""Files as they come from other programs: a right result, or one line that says what to do."""

import shlex
import sys
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import tacit
from tacit.cli import app
from tests.cli.made import family_files, write_csv
from tests.cli.spoken import run_program

run = CliRunner().invoke
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="/proc is where nobody can write")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("people")
    cut = family_files(made, owners_rows=600)
    _odd(made, cut["mine"])
    (made / "file").write_text("")
    assert run(app, fitting(made, "mine.csv", "plain")).exit_code == 0
    return made


def fitting(folder, public, name):
    files = [
        str(folder / "people.csv"),
        "--public",
        str(folder / public),
        "--out",
        str(folder / f"{name}.tacit"),
    ]
    return ["fit", *files, "--label", "rich", "--leave-out", "family", "--seed", "1"]


def _odd(folder, mine):
    text = (folder / "mine.csv").read_text()
    (folder / "empty.csv").write_text("")
    (folder / "heading.csv").write_text(text.splitlines()[0] + "\n")
    (folder / "mark.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (folder / "returns.csv").write_text(text.replace("\n", "\r\n"), newline="")
    write_csv(folder / "semicolons.csv", mine, delimiter=";")
    write_csv(folder / "reversed.csv", dict(reversed(mine.items())))
    write_csv(
        folder / "breaks.csv", {**mine, "name": [f"{name}\nsecond line" for name in mine["name"]]}
    )
    (folder / "twice.csv").write_text(text.replace("height", "age", 1))
    (folder / "break.csv").write_text(text.replace("height", '"hei\nght"', 1))
    write_csv(folder / "one class.csv", {**mine, "rich": ["yes"] * len(mine["rich"])})
    (folder / "nameless.csv").write_text("41,170.5,north,yes\n" * 9)
    amounts = [place // 4 + 0.5 for place in range(len(mine["rich"]))]
    write_csv(folder / "amounts.csv", {**mine, "rich": amounts})
    write_csv(
        folder / "lacks.csv", {name: values for name, values in mine.items() if name != "height"}
    )
    write_csv(folder / "index.csv", {"": list(range(len(mine["rich"]))), **mine})
    (folder / "latin.csv").write_bytes(text.replace("west", "w\u00e9st").encode("latin-1"))
    (folder / "wide.csv").write_bytes(text.encode("utf-16"))
    (folder / "packed.csv").write_bytes(b"\x1f\x8b secret")
    (folder / "book.csv").write_bytes(b"PK\x03\x04 secret")
    (folder / "noise.parquet").write_bytes(b"\x00\x01 secret")
    _parquet(folder / "kinds.PARQUET", mine)
    (folder / "kinds.csv").write_bytes((folder / "kinds.PARQUET").read_bytes())
    lists = {name: pa.array(values) for name, values in mine.items()} | {
        "rich": pa.array([[1]] * len(mine["rich"]))
    }
    parquet.write_table(pa.table(lists), folder / "lists.parquet")


def _parquet(path, mine):
    """Dictionaries, decimals, times, truth values, lists, bytes, spans and a data frame's index."""
    rows = len(mine["rich"])
    typed = {name: pa.array(values) for name, values in mine.items()} | {
        "town": pa.array(mine["town"]).dictionary_encode(),
        "height": pa.array([Decimal(str(each)) for each in mine["height"]]),
        "born": pa.array([datetime.fromisoformat(each) for each in mine["born"]]),
        "member": pa.array([each == "true" for each in mine["member"]]),
        "rich": pa.array(mine["rich"]).dictionary_encode(),
        "tags": pa.array([[1, 2]] * rows),
        "photo": pa.array([b"secret"] * rows),
        "stay": pa.array([timedelta(days=1)] * rows),
        "code": pa.array([2**64 - 1 - row % 2 for row in range(rows)], pa.uint64()),
        "__index_level_0__": pa.array(range(rows)),
    }
    parquet.write_table(pa.table(typed), path)


@pytest.mark.parametrize("name", ["mark", "returns", "semicolons", "reversed", "breaks", "index"])
def test_the_same_rows_written_otherwise_make_the_same_model(folder, name):
    result = run(app, fitting(folder, f"{name}.csv", name))
    assert result.exit_code == 0, result.output
    made, plain = (tacit.load(folder / f"{each}.tacit") for each in (name, "plain"))
    assert sorted(made.schema_.features, key=str) == sorted(plain.schema_.features, key=str)
    done = run(
        app,
        [
            "predict",
            str(folder / "plain.tacit"),
            str(folder / f"{name}.csv"),
            "--out",
            str(folder / "p"),
        ],
    )
    assert "300 predictions" in done.output
    assert "accuracy 0." in done.output


def test_parquet_of_all_kinds(folder):
    result = run(app, [*fitting(folder, "kinds.PARQUET", "kinds"), "--leave-out", "code"])
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    for word in (
        "'born' is left out: it holds dates",
        "'tags' is left out: it holds values of type list",
        "'photo' is left out: it holds values of type binary",
        "'__index_level_0__' is left out: it holds a data frame's index",
    ):
        assert word in told, word
    made, plain = (tacit.load(folder / f"{each}.tacit") for each in ("kinds", "plain"))
    assert [feature.name for feature in made.schema_.features] == [
        feature.name for feature in plain.schema_.features
    ]
    refused = run(app, fitting(folder, "kinds.PARQUET", "never"))
    assert "people.csv lacks code, which" in str(refused.exception)


def test_public_rows_without_a_label_are_counted_once(folder, tmp_path):
    heading, *rows = (folder / "mine.csv").read_text().splitlines()
    blank = [row.rpartition(",")[0] + "," for row in rows[:5]]
    (tmp_path / "mine.csv").write_text("\n".join([heading, *blank, *rows[5:]]))
    told = " ".join(run(app, fitting(folder, tmp_path / "mine.csv", "fewer")).output.split())
    assert (
        "note: 5 of 300 public rows have no 'rich' that is known: they are not learned from" in told
    )
    for said in ("your own 295 rows", "295 public rows alone", "own sample of 295 rows"):
        assert said in told
    assert "300 public rows alone" not in told


def test_an_identifier_in_public_rows_is_noted(folder, tmp_path):
    text = (folder / "mine.csv").read_text().splitlines()
    numbered = ["customer id", *range(9000, 9000 + len(text) - 1)]
    (tmp_path / "mine.csv").write_text(
        "\n".join(f"{number},{line}" for number, line in zip(numbered, text, strict=True))
    )
    words = [
        "plan",
        str(tmp_path / "mine.csv"),
        "--label",
        "rich",
        "--owners",
        "50",
        "--epsilon",
        "1",
        "--trust",
        "nobody",
    ]
    said = (
        "column 'customer id' has 300 different whole numbers in 300 public rows: an "
        "identifier? --leave-out "
    )
    assert f"{said}'customer id'" in " ".join(run(app, words).output.split())
    assert "identifier" not in run(app, [*words, "--leave-out", "customer id"]).output


def test_columns_that_one_file_has_alone_are_named(folder):
    result = run(app, fitting(folder, "lacks.csv", "lacks"))
    told = " ".join(result.output.split())
    assert (
        f"column 'height' of {folder}/people.csv is left out: {folder}/lacks.csv does not have it"
        in told
    )
    assert "height" not in tacit.load(folder / "lacks.tacit").schema_.columns


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "--public empty.csv",
            "empty.csv is empty: a table needs a line with the names of its columns, and rows",
        ),
        ("--public heading.csv", "heading.csv has no rows"),
        (
            "--public twice.csv",
            "twice.csv has several columns of one name: age; rename all but one of each",
        ),
        ("--public break.csv", "break.csv: a column name has a line break"),
        (
            "--public one\\ class.csv",
            "label 'rich' must have 2 to 100 classes in the public rows, it has 1",
        ),
        ("--public latin.csv", "it is not UTF-8 text: save it as UTF-8"),
        ("--public wide.csv", "it is UTF-16 text: save it as UTF-8"),
        ("--public packed.csv", "it is compressed (gzip): unpack it first"),
        ("--public book.csv", "it is a workbook or an archive: save it as CSV first"),
        ("--public kinds.csv", "it is a parquet file: let its name end in .parquet"),
        ("--public noise.parquet", "noise.parquet cannot be read as a table"),
        ("--public lists.parquet", "column 'rich' cannot be used: it holds values of type list"),
        ("--public people.csv", "--public must be other rows than those of owners in people.csv"),
        ("--public mine.csv --owners nobody", "column 'nobody' is not in people.csv; it has age, "),
        ("--public mine.csv --owners famly", "; did you mean 'family'?"),
        (
            "--public nameless.csv",
            "it has 4 columns, with numbers for names: does its first line hold the names of",
        ),
        ("--public amounts.csv", "label 'rich' holds 75 different amounts in the public rows"),
        ("--public mine.csv --rounds 0", "--rounds"),
        ("--public mine.csv --rows-per-owner 0", "--rows-per-owner must be 1 or more: how many"),
        ("--public mine.csv --delta 1e-6", "--delta goes with --trust 'two servers', and only"),
        ("--public mine.csv --trust 'two servers' --delta 2", "delta must be 0, or above 0 and"),
        ("--public mine.csv --owners FAMILY", "; did you mean 'family'?"),
        ("--public mine.csv --test gone.csv", "gone.csv is not there"),
        # exact figures of owners' rows, which nobody paid for; or of rows that were learned from
        ("--public mine.csv --test ./people.csv", "--test people.csv is also in DATA: give rows"),
        ("--public mine.csv --test mine.csv", "--test mine.csv is also in --public: give rows"),
        ("--public-rows 3", "--public-rows must be a whole number >= 10, got 3"),
        ("--public mine.csv --out .", "--out must be a file, and . is a folder: give a name in it"),
        ("--public mine.csv --out people.csv", "--out people.csv is a file that is read: choose"),
        ("--public mine.csv --out ./mine.csv", "--out mine.csv is a file that is read: choose"),
        ("--public mine.csv --out file/m.tacit", "its folder cannot be made"),
        pytest.param(
            "--public mine.csv --out /proc/m.tacit", "/proc cannot be written to", marks=ON_LINUX
        ),
        pytest.param(
            "--public mine.csv --out /dev/null", "/dev/null is a pipe or a device", marks=ON_LINUX
        ),
        ("--public mine.csv --encoding rot13", "--encoding must be one that Python knows"),
        ("--public mine.csv --schema .", ". is a folder: give a schema"),
        ("--public mine.csv --mechanism noise", "mechanism must be one of auto, duchi"),
        (
            "--public mine.csv --rows-per-owner 1000000000000",
            "rows_per_owner must be at most 10,000; owners with more rows than that are sites",
        ),
    ],
)
def test_what_cannot_be_used_is_one_line(folder, words, said, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    before = set(Path().iterdir())
    _, line, status = run_program(
        ["fit", "people.csv", "--label", "rich", *shlex.split(words)], monkeypatch, capfd
    )
    assert status == 2
    assert said in line
    assert line.count("\n") == 1
    assert "secret" not in line
    assert set(Path().iterdir()) == before


def test_a_model_goes_to_a_folder_that_is_made(folder):
    result = run(
        app, [*fitting(folder, "mine.csv", "x"), "--out", str(folder / "new" / "deep" / "m.tacit")]
    )
    assert result.exit_code == 0, result.output
    assert (folder / "new" / "deep" / "m.tacit").exists()


def test_predictions_that_cannot_be_finished_leave_nothing(folder, tmp_path):
    heading, *rows = (folder / "new.csv").read_text().splitlines(keepends=True)
    many = (rows * (2_000 // len(rows) + 1))[:2_001]  # beyond what is looked at in the beginning
    (tmp_path / "torn.csv").write_text("".join([heading, *many]) + "1,2,3\n")
    for name in ("torn.csv", "none.csv"):
        (tmp_path / "none.csv").write_text((folder / "new.csv").read_text().splitlines()[0] + "\n")
        given = [
            str(folder / "plain.tacit"),
            str(tmp_path / name),
            "--out",
            str(tmp_path / "out" / "p.csv"),
        ]
        result = run(app, ["predict", *given])
        assert isinstance(result.exception, ValueError), result.output
        assert list((tmp_path / "out").iterdir()) == []


@ON_LINUX
def test_predictions_go_where_they_may(folder, tmp_path, monkeypatch, capfd):
    words = [
        "predict",
        str(folder / "plain.tacit"),
        str(folder / "new.csv"),
        "--out",
        "/proc/p.csv",
    ]
    _, line, status = run_program(words, monkeypatch, capfd)
    assert status == 2
    assert (
        line
        == "tacit: --out: /proc cannot be written to (No such file or directory); choose another\n"
    )
