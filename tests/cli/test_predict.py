"""tacit predict on files: by name, block by block, and what becomes of values that do not fit."""

import csv
import errno
import json
import os
import re
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from tacit.cli import app
from tacit.cli.predict import _say
from tacit.estimators.measures import misfits_line
from tests.cli.made import fit, people, run, write_csv
from tests.data.test_broken_files import room_for


def test_predict_tells_what_it_did_with_odd_rows(model, tmp_path):
    model = str(model)
    odd = {
        "town": ["abroad", "north", ""],
        "member": ["True", "FALSE", "true"],
        "age": [300, 40, "?"],
        "extra": [1, 2, 3],
    }
    write_csv(tmp_path / "odd.csv", odd, delimiter=";")
    result = run(
        app, ["predict", model, str(tmp_path / "odd.csv"), "--out", str(tmp_path / "p.csv")]
    )
    assert "lacks height, which the model uses" in str(result.exception)
    write_csv(tmp_path / "odd.csv", {**odd, "height": [1, 170, 171]}, delimiter=";")
    result = run(
        app,
        [
            "predict",
            model,
            str(tmp_path / "odd.csv"),
            "--out",
            str(tmp_path / "p.csv"),
            "--proba",
            "--json",
        ],
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["moved_values"] == 5  # abroad, 300, ?, the empty town, height 1
    assert found["moved_by_column"] == {"town": 2, "age": 2, "height": 1}
    assert found["ignored_columns"] == ["extra"]
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[0] == "row,prediction,P(no),P(yes)"
    assert all(abs(sum(map(float, line.split(",")[2:])) - 1) < 1e-5 for line in lines[1:])
    again = run(app, ["predict", model, str(tmp_path / "odd.csv"), "--label", "rich"])
    assert "column 'rich' is not in" in str(again.exception)


def test_misfits_are_counted_by_column(model, folder, tmp_path, monkeypatch):
    """In predict, over all blocks, and in the test of a fit."""
    odd = people(30, seed=3)
    odd["age"], odd["town"][:7], odd["height"][:2] = [200] * 30, ["abroad"] * 7, [None] * 2
    write_csv(tmp_path / "odd.csv", odd)
    monkeypatch.setattr("tacit.cli.predict._BLOCK", 4)
    told = run(
        app, ["predict", str(model), str(tmp_path / "odd.csv"), "--out", str(tmp_path / "p.csv")]
    ).output
    said = (
        f"note: values of {tmp_path}/odd.csv that are missing, unknown to the model or beyond "
        "its bounds: age 30, "
    )
    assert said in told
    misfits = fit(folder, "--test", str(tmp_path / "odd.csv"), "--json")
    found = json.loads(misfits.stdout)["test"]["misfits"]
    assert (found["age"], found["height"], found["town"] >= 7) == (30, 2, True)
    shown = " ".join(fit(folder, "--test", str(tmp_path / "odd.csv")).output.split())
    assert f"age 30, town {found['town']}, height 2" in shown


def test_of_misfits_the_worst_columns_are_told():
    many = Counter({f"c{number}": number for number in range(1, 8)})
    assert misfits_line(many, Path("x.csv")).endswith(
        "bounds: c7 7, c6 6, c5 5, c4 4, c3 3 and 2 more columns"
    )
    del many["c1"]
    assert misfits_line(many, Path("x.csv")).endswith(" and 1 more column")
    assert misfits_line(Counter(), Path("x.csv")) == ""


def test_blocks_predict_like_the_whole(model, folder, monkeypatch):
    arguments = ["predict", str(model), str(folder / "new.csv"), "--proba", "--out"]
    assert run(app, [*arguments, str(folder / "whole.csv")]).exit_code == 0
    monkeypatch.setattr("tacit.cli.predict._BLOCK", 7)
    assert run(app, [*arguments, str(folder / "parts.csv")]).exit_code == 0
    assert (folder / "whole.csv").read_bytes() == (folder / "parts.csv").read_bytes()


def test_predictions_are_parquet_where_the_name_says_so(model, folder, monkeypatch):
    monkeypatch.setattr("tacit.cli.predict._BLOCK", 100)
    arguments = ["predict", str(model), str(folder / "new.csv"), "--proba", "--out"]
    assert run(app, [*arguments, str(folder / "same.csv")]).exit_code == 0
    assert run(app, [*arguments, str(folder / "same.parquet")]).exit_code == 0
    assert parquet.read_metadata(folder / "same.parquet").num_row_groups == 5
    found = parquet.read_table(folder / "same.parquet")
    assert found.column_names == ["row", "prediction", "P(no)", "P(yes)"]
    with (folder / "same.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [str(row) for row in found["row"].to_pylist()] == [line["row"] for line in lines]
    assert found["prediction"].to_pylist() == [line["prediction"] for line in lines]
    assert [f"{each:.6g}" for each in found["P(yes)"].to_pylist()] == [
        line["P(yes)"] for line in lines
    ]


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_stopping_keeps_the_predictions_that_are_done(model, folder, tmp_path, monkeypatch, name):
    monkeypatch.setattr("tacit.cli.predict._BLOCK", 50)
    blocks = []

    def interrupted(*given):
        blocks.append(given)
        if len(blocks) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return _say(*given)

    monkeypatch.setattr("tacit.cli.predict._say", interrupted)
    out, draft = tmp_path / name, tmp_path / f"{name}.part"
    result = run(app, ["predict", str(model), str(folder / "new.csv"), "--out", str(out)])
    assert result.exit_code == 130, result.output
    assert not out.exists()
    kept = parquet.read_table(draft) if name == "p.parquet" else arrow_csv.read_csv(draft)
    assert kept.column_names == ["row", "prediction"]
    assert kept["row"].to_pylist() == list(range(1, 201))
    assert f"the first 200 predictions are in {out}.part" in result.output


def test_stopping_in_the_last_block_keeps_the_whole_file(model, folder, tmp_path, monkeypatch):
    """It was said to be the first 500 of a file with 500 rows, and lay in OUT.part."""

    def interrupted(*given):
        os.kill(os.getpid(), signal.SIGINT)
        return _say(*given)

    monkeypatch.setattr("tacit.cli.predict._say", interrupted)
    out = tmp_path / "p.csv"
    result = run(app, ["predict", str(model), str(folder / "new.csv"), "--out", str(out)])
    assert result.exit_code == 130
    assert f"all 500 predictions are in {out}\n" in result.output
    assert arrow_csv.read_csv(out).num_rows == 500
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


@pytest.mark.parametrize("name", ["card.md", "card.html"])
def test_what_could_not_be_written_leaves_what_was_there(model, tmp_path, monkeypatch, name):
    """On a full disk the card of before was gone, and in its place a part of the new one."""

    replace = os.replace

    def full(draft, path):
        if str(path) == str(tmp_path / name):  # compilers keep files, too
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(draft, path)

    (tmp_path / name).write_text("of before")
    monkeypatch.setattr("tacit._util.stopping.os.replace", full)
    failed = run(app, ["export", str(model), "--out", str(tmp_path / name)])
    assert f"No space left on device: '{tmp_path / name}'" in str(failed.exception)
    assert (tmp_path / name).read_text() == "of before"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_engine_that_is_none_is_refused_before_anything_is_written(model, folder, tmp_path):
    given = [str(model), str(folder / "new.csv"), "--out", str(tmp_path / "p.csv")]
    result = run(app, ["predict", *given, "--engine", "dask"])
    assert 'engine must be "inline", "ray" or "ray://host:port"' in str(result.exception)
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_a_file_that_ends_in_the_middle_keeps_the_predictions_that_are_done(
    model, folder, tmp_path, monkeypatch, name
):
    monkeypatch.setattr("tacit.cli.predict._BLOCK", 50)
    rows, damaged = arrow_csv.read_csv(folder / "new.csv"), tmp_path / "new.parquet"
    parquet.write_table(rows, damaged, row_group_size=100, use_dictionary=False)
    place = parquet.read_metadata(damaged).row_group(1).column(0).data_page_offset
    content = bytearray(damaged.read_bytes())
    content[place : place + 40] = bytes(40)
    damaged.write_bytes(content)
    out, draft = tmp_path / name, tmp_path / f"{name}.part"
    result = run(app, ["predict", str(model), str(damaged), "--out", str(out)])
    said = (
        f"row group 2 of 5 is damaged.*; the first 100 predictions are in {re.escape(str(draft))}"
    )
    assert re.search(said, str(result.exception))
    assert not out.exists()
    kept = parquet.read_table(draft) if name == "p.parquet" else arrow_csv.read_csv(draft)
    assert kept["row"].to_pylist() == list(range(1, 101))


def test_explain_writes_a_page_of_a_saved_model(folder, model):
    words = ["explain", str(model), "--data", str(folder / "new.csv"), "--json"]
    result = run(app, [*words, "--out", str(folder / "explained.html")])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert list(told["importances"])[:2] == ["age", "town"]  # what the label was made of
    page = (folder / "explained.html").read_text()
    assert "Each column alone" in page
    assert "Your rows, one by one" in page
    out = folder / "said.csv"
    assert run(app, ["predict", str(model), str(folder / "new.csv"), "--out", str(out)]).output
    shown = re.findall(r"<td[^>]*>(yes|no) \d+ %</td>", page)
    with out.open() as file:
        assert shown == [line["prediction"] for line in csv.DictReader(file)][:20]
    assert "<script" not in page
    alone = run(app, ["explain", str(model), "--out", str(folder / "alone.html")])
    assert alone.exit_code == 0
    assert "Your rows" not in (folder / "alone.html").read_text()


def test_export_writes_graphs_and_cards(folder, model):
    assert run(app, ["export", str(model), "--out", str(folder / "m.onnx")]).exit_code == 0
    of_cards = ["--test", str(folder / "new.csv"), "--use", "tests"]
    for name in ("card.md", "card.HTML"):
        result = run(app, ["export", str(model), "--out", str(folder / name), *of_cards])
        assert result.exit_code == 0, result.output
    card = (folder / "card.md").read_text()
    assert "balanced accuracy" in card
    assert "tests" in card
    wrong = run(app, ["export", str(model), "--out", str(folder / "m.exe")])
    assert wrong.exit_code != 0
    assert "one of .html, .json, .md, .onnx" in str(wrong.exception)


@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_a_full_disk_is_one_line_and_leaves_nothing(model, folder, tmp_path, monkeypatch, name):
    monkeypatch.setattr("tacit.cli.predict._BLOCK", 50)
    monkeypatch.setattr("tacit._util.file_checks._TRIED", 512)
    given = ["predict", str(model), str(folder / "new.csv"), "--out", str(tmp_path / name)]
    with room_for(1024):
        result = run(app, given)
    said = f"{tmp_path / name}.part cannot be written to its end (File too large): make room"
    assert said in str(result.exception)
    assert not list(tmp_path.iterdir())
    with room_for(256):
        result = run(app, given)
    assert f"{tmp_path} cannot be written to (File too large)" in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_explain_and_cards_read_files_as_predict_does(folder, model, tmp_path):
    """With a decimal comma, in another encoding, of several files."""
    text = (folder / "new.csv").read_text()
    head, *lines = text.replace(".", ";").replace(",", "|").replace(";", ",").splitlines()
    for part in range(2):
        rows = [line.replace("west", "w\u00e9st") for line in lines[part::2]]
        content = "\n".join([head, *rows]) + "\n"
        (tmp_path / f"part{part}.csv").write_bytes(content.encode("latin-1"))
    form = ["--decimal", ",", "--encoding", "latin-1", "--json"]
    words = ["explain", str(model), "--data", str(tmp_path / "part*.csv"), *form]
    found = run(app, [*words, "--out", str(tmp_path / "explained.html")])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["measured"] == f"over {len(lines)} rows"
    utf8 = run(app, ["explain", str(model), "--data", str(tmp_path / "part0.csv")])
    assert "name its --encoding, as latin-1" in str(utf8.exception)
    card = ["export", str(model), "--test", str(tmp_path), "--label", "rich", *form]
    told = run(app, [*card, "--out", str(tmp_path / "card.md")])
    assert told.exit_code == 0, told.output
    assert f"On {len(lines)} rows that nobody learned from" in (tmp_path / "card.md").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["predict", "MODEL", "new.csv", "--out", "p.xlsx"], "p.xlsx would not be what its name"),
        (["explain", "MODEL", "--out", "page.pdf"], "ending of --out must be one of .htm, .html"),
        (["export", "MODEL", "--out", "m.onnx", "--use", "x"], "--use and --test are of a card"),
        (["export", "MODEL", "--out", "c.md", "--label", "x"], "--label x needs --test FILE"),
        (["predict", "MODEL", "blank.csv"], "its first line is empty: it must have the names"),
        (["predict", "MODEL", "new.csv", "--encoding", "utf-16"], "new.csv cannot be read"),
    ],
)
def test_what_would_be_in_vain_is_refused(folder, model, monkeypatch, words, said):
    monkeypatch.chdir(folder)
    (folder / "blank.csv").write_text("\n" + (folder / "new.csv").read_text())
    found = run(app, [str(model) if word == "MODEL" else word for word in words])
    assert said in str(found.exception)
    assert not any((folder / name).exists() for name in ("p.xlsx", "page.pdf", "c.md"))
