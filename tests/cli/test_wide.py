"""Tables of very many columns: an answer, or one line before work begins."""

import time
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tacit
from tacit import PrivateClassifier
from tacit.cli import app
from tacit.data import table
from tacit.data.sample import MOST_COLUMNS, WIDE, Sample
from tacit.estimators.inputs import _check_columns
from tests.cli.made import run

MANY = 100_000


def write_wide(path, rows, columns, seed=0):
    """Numbers of one digit; the label is whether the first is large."""
    digits = np.random.default_rng(seed).integers(0, 9, (rows, columns))
    names = ",".join(f"x{number}" for number in range(columns))
    lines = [f"{','.join(map(str, row))},{'ny'[row[0] > 4]}" for row in digits.tolist()]
    path.write_text("\n".join([f"{names},label", *lines, ""]))


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wide")
    write_wide(folder / "mine.csv", 12, MANY)
    write_wide(folder / "people.csv", 40, MANY, seed=1)
    write_wide(folder / "narrow.csv", 60, 5, seed=2)
    return folder


@pytest.mark.parametrize("command", ["plan", "fit"])
def test_more_columns_than_a_model_learns_from_are_one_line(wide, tmp_path, command):
    given = [str(wide / "people.csv"), "--public", str(wide / "mine.csv")]
    given += ["--out", str(tmp_path / "m.tacit")]
    if command == "plan":
        given = [str(wide / "mine.csv"), "--owners", "1000"]
    began = time.process_time()
    result = run(app, [command, *given, "--label", "label"])
    assert time.process_time() - began < 20
    said = f"rows have 100,000 columns, and a model learns from {MOST_COLUMNS:,} numbers a row"
    assert said in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_so_many_columns_in_memory_are_refused_as_well():
    X = np.random.default_rng(0).normal(size=(40, MANY))
    y = (X[:, 0] > 0).astype(int)
    began = time.process_time()
    with pytest.raises(ValueError, match="rows have 100,000 columns, and a model"):
        PrivateClassifier().fit(X[20:], y[20:], public=(X[:20], y[:20]))
    assert time.process_time() - began < 30


def test_not_all_columns_are_typed_before_they_are_too_many(tmp_path):
    """Of columns that a model could just not learn from, a part is enough to say so."""
    columns = 6 * MOST_COLUMNS
    write_wide(tmp_path / "mine.csv", 12, columns)
    rows = np.random.default_rng(0).normal(size=(20, columns))
    many, y = (
        {f"x{place}": rows[:, place] for place in range(columns)},
        [row % 2 for row in range(20)],
    )
    said = f"rows have {columns:,} columns, more than {MOST_COLUMNS:,} of them features"
    with patch.object(table, "_read_values", wraps=table._read_values) as typed:
        result = run(app, ["plan", str(tmp_path / "mine.csv"), "--owners", "9", "--label", "label"])
        assert said in str(result.exception)
        for frame in (many, pa.table(many), pd.DataFrame(many)):
            with pytest.raises(ValueError, match=said):
                PrivateClassifier().fit(frame, y, public=(frame, y))
    assert MOST_COLUMNS < typed.call_count < columns


def test_columns_of_texts_do_not_count_before_they_are_left_out():
    """A table of very many columns may have few features."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    texts = {f"t{place}": [f"{place} {row}" for row in range(300)] for place in range(WIDE + 1)}
    frame = {"a": X[:, 0], **texts, "b": X[:, 1]}
    sample = Sample.of(frame, X[:, 0] > 0)
    assert [feature.name for feature in sample.schema.features] == ["a", "b"]
    _check_columns(frame)


def test_categories_count_by_their_values():
    """Few columns may be many numbers."""
    columns = MOST_COLUMNS // 50 + 1
    values = [[f"v{(row + number) % 50}" for row in range(100)] for number in range(columns)]
    many = {f"x{number}": each for number, each in enumerate(values)}
    y = [row % 2 for row in range(100)]
    said = f"{columns} columns, which are {50 * columns:,} numbers a row"
    with pytest.raises(ValueError, match=said):
        PrivateClassifier().fit(many, y, public=(many, y))


def test_columns_that_public_rows_do_not_have_cost_little(wide, tmp_path):
    """And are told in a few lines."""
    model = tmp_path / "m.tacit"
    given = ["--public", str(wide / "narrow.csv"), "--label", "label", "--out", str(model)]
    began = time.process_time()
    result = run(app, ["fit", str(wide / "people.csv"), *given, "--seed", "1"])
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    assert f"99,975 more columns of {wide / 'people.csv'} are left out" in told
    assert told.count("is left out") == 20
    assert tacit.load(model).schema_.columns == [f"x{number}" for number in range(5)]
    said = ["--out", str(tmp_path / "p.csv")]
    result = run(app, ["predict", str(model), str(wide / "people.csv"), *said])
    assert result.exit_code == 0, result.output
    assert "and 99,975 more" in " ".join(result.output.split())
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 41
    assert time.process_time() - began < 60
