"""Rows in files, where estimators of few owners and plans take them: what memory gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tacit import (
    DataWarning,
    PeerEnsemble,
    PrivateClassifier,
    SiteEnsemble,
    SiteEnsembleRegressor,
    plan,
)
from tacit.data.sample import ColumnRoles
from tacit.data.table_file import TableFile
from tacit.data.table_rows import read_sample
from tacit.wire import encode

SITES = 4


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """A row with a missing town and a missing number among them, and a number to predict."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(700, 2))
    town = np.array(["n", "s", None], dtype=object)[rng.integers(0, 3, 700)]
    gain = np.round(x[:, 0] + 0.3 * rng.normal(size=700), 6)
    x[3, 1] = np.nan
    columns = {"a": x[:, 0], "b": pa.array(x[:, 1], from_pandas=True), "town": town}
    ill = np.where(gain > 0, "yes", "no").astype(object)
    sites = [f"site {row % SITES}" for row in range(700)]
    return pa.table(columns | {"gain": gain, "ill": ill, "site": sites})


@pytest.fixture(params=["parquet", "csv"])
def files(request: Any, table: pa.Table, tmp_path: Path) -> Path:
    """100 public rows, and the others in two files."""
    write = parquet.write_table if request.param == "parquet" else csv.write_csv
    (tmp_path / "set").mkdir()
    public = table.slice(0, 100).drop(["site"])
    for label, other in (("ill", "gain"), ("gain", "ill")):
        write(public.drop([other]), tmp_path / f"{label}.{request.param}")
    write(table.slice(100, 250), tmp_path / "set" / f"a.{request.param}")
    write(table.slice(350), tmp_path / "set" / f"b.{request.param}")
    return tmp_path


@pytest.mark.parametrize(
    ("make", "label"),
    [
        (lambda: SiteEnsemble(epsilon=8.0, random_state=1), "ill"),
        (lambda: SiteEnsemble(epsilon=4.0, trust="two servers", random_state=1), "ill"),
        (lambda: SiteEnsembleRegressor(epsilon=8.0, random_state=1), "gain"),
        (lambda: PeerEnsemble(epsilon=4.0, rounds=4, random_state=1), "ill"),
    ],
    ids=["sites", "two servers", "numbers", "peers"],
)
def test_a_model_of_files_has_the_bytes_of_one_in_memory(files, table, make, label):
    (public,) = files.glob(f"{label}.*")
    sample = read_sample(TableFile.open(public), ColumnRoles(label, numbers=label == "gain"))
    rows = table.slice(100)
    X = rows.select(["a", "b", "town"])
    inside = make().fit(
        X, rows.column(label).to_numpy(), owners=rows.column("site").to_pylist(), public=sample
    )
    found = make().fit(files / "set", label, owners="site", public=public)
    assert encode(found.content()) == encode(inside.content())
    np.testing.assert_array_equal(found.predict(files / "set"), inside.predict(X))
    if label == "ill":
        np.testing.assert_array_equal(found.predict_proba(files / "set"), inside.predict_proba(X))


def test_a_plan_of_files_is_that_of_their_rows(files, table):
    (public,) = files.glob("ill.*")
    rows = table.slice(0, 100)
    X, y = rows.select(["a", "b", "town"]), rows.column("ill").to_numpy()
    inside = plan(X, y, owners=20_000, epsilon=1.0)
    assert str(plan(public, "ill", owners=20_000, epsilon=1.0)) == str(inside)


def test_what_is_missing_of_files_is_said(files):
    with pytest.raises(ValueError, match="need public="):
        SiteEnsemble().fit(files / "set", "ill", owners="site")
    with pytest.raises(TypeError, match="y must be the name of the column"):
        PeerEnsemble().fit(files / "set", np.zeros(3), owners="site", public=files)
    with pytest.raises(TypeError, match="y must be the name of the column"):
        plan(files / "set", np.zeros(3), owners=10, epsilon=1.0)
    (public,) = files.glob("ill.*")
    with pytest.raises(ValueError, match=r"column 'ward' is not in .*set"):
        SiteEnsemble().fit(files / "set", "ill", owners="ward", public=public)
    model = SiteEnsemble(epsilon=8.0, random_state=1)
    model.fit(files / "set", "ill", owners="site", public=public)
    with pytest.raises(ValueError, match="got the name of a file instead"):
        model.decision_function(files / "set")


def test_a_column_of_files_that_public_rows_lack_is_told_by_its_name(files, table):
    rows = table.slice(0, 100)
    public = (rows.select(["a", "b", "town"]), rows.column("ill").to_numpy())
    with pytest.warns(DataWarning, match="column 'gain' of X is left out: public does not have"):
        PrivateClassifier(0.01, random_state=1).fit(
            files / "set", "ill", owners="site", public=public
        )
