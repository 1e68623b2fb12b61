"""Tables from tiny files made on the spot, and, where TACIT_DATA has them, the real ones."""

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from tacit.data.schema import Category
from tacit_papers.datasets import (
    ADULT,
    COVERTYPE,
    GSS,
    HEART,
    PNAD,
    DataMissing,
    adult,
    covertype,
    files,
    gss,
    heart,
    load_adult,
    load_covertype,
    load_gss,
    load_heart,
    load_pnad,
    pnad,  # fmt: skip
)
from tacit_papers.datasets.tables import is_missing, places

MADE: dict[str, dict[str, Any]] = {
    "adult.parquet": {
        "age": [20, 30, 40, 50, 60, 17, 90, 45], "workclass": ["Private", None, *["Private"] * 6],
        "education_num": [1, 16, 9, 9, 9, 9, 9, 9], "marital_status": ["Divorced"] * 8,
        "occupation": ["Sales"] * 8, "relationship": ["Wife"] * 8, "race": ["White"] * 8,
        "sex": ["Male", "Female"] * 4, "capital_gain": [0] * 8,
        "capital_loss": [0] * 8, "hours_per_week": [40] * 8, "native_country": ["Cuba"] * 8,
        "income": ["<=50K", ">50K"] * 4,
    },
    "covtype.parquet": {feature.name: [1, 2, 3, 4, 1, 2] for feature in COVERTYPE.features}
    | {"cover_type": [1, 2, 7, 1, 2, 1]},
    "gss_happiness.parquet": {
        "year": [1972] * 6, "work_status": ["RETIRED"] * 6, "marital_status": ["MARRIED", None] * 3,
        "children": [0, None, 8, 1, 1, 1], "age": [18, 89, None, 50, 50, 50],
        "gender": ["MALE"] * 6, "race": ["WHITE"] * 6, "happiness": [None] * 6,
        "marriage_happiness": ["VERY HAPPY", None] * 3,
        "xmovie": ["NO", "YES", None, "NO", "YES", "NO"],
    },
    "brazil_pnad_2015.parquet": {
        "uf": [11, 53] * 4, "sex": [0, 1] * 4, "age": [30] * 8, "race": [8] * 8,
        "schooling": [17, 1] * 4,
        "income": [0, 100, 200, 300, 400, 500, 600, 700],
    },
    "heart_disease.parquet": {feature.name: [1.0, 0.0] * 4 for feature in HEART.features}
    | {"site": ["cleveland", "hungarian"] * 4, "num": [0, 3] * 4},
}  # fmt: skip


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A data folder with all five tables, tiny."""
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, columns in MADE.items():
        parquet.write_table(pa.table(columns), tmp_path / name)
    monkeypatch.setattr(files, "SHA256", {})
    return tmp_path


def test_tiny_tables(made):
    assert repr(adult(public=2)) == "Split('adult', dim=87, classes=2, train=2, public=2, test=3)"
    assert (
        repr(adult(public=2, complete=False))
        == "Split('adult', dim=87, classes=2, train=3, public=2, test=3)"
    )
    assert (
        repr(covertype(public=1))
        == "Split('covertype', dim=54, classes=2, train=2, public=1, test=2)"
    )
    assert repr(gss(public=1)) == "Split('gss', dim=26, classes=2, train=2, public=1, test=2)"
    assert repr(pnad(public=2)) == "Split('pnad', dim=35, classes=2, train=3, public=2, test=3)"
    assert (
        repr(heart(public=2).split)
        == "Split('heart', dim=22, classes=2, train=3, public=2, test=3)"
    )


def test_missing_values_are_none_or_nan(made):
    table = load_gss()
    assert table["marital_status"].tolist() == ["MARRIED", None] * 3
    assert is_missing(table["children"]).tolist() == [False, True, False, False, False, False]
    assert is_missing(load_heart()["chol"]).tolist() == [False, True] * 4  # 0 was not measured
    assert is_missing(load_heart()["fbs"]).sum() == 0
    assert (
        is_missing(load_pnad()["schooling"]).tolist() == [True, False] * 4
    )  # 17 was not determined


def test_the_threshold_of_income_is_of_the_public_part_alone(made):
    income = load_pnad()["income"]
    for seed in range(5):
        parts = places(8, 2, 0.3, seed)
        above = income > income[parts.public].mean()
        np.testing.assert_array_equal(pnad(public=2, seed=seed).y_train, above[parts.train])


def test_sites_of_heart_follow_their_rows(made):
    found = heart(public=2, public_site="hungarian")
    assert found.public_sites.tolist() == [1, 1]
    np.testing.assert_array_equal(
        found.split.y_train, found.train_sites
    )  # in the made table, site is the label
    np.testing.assert_array_equal(found.split.y_test, found.test_sites)
    np.testing.assert_array_equal(found.split.X_test, heart(public=2).split.X_test)
    with pytest.raises(ValueError, match=r"^public_site must be one of .* got 'mars'$"):
        heart(public_site="mars")
    with pytest.raises(ValueError, match=r"^public must be at most \d, the rows of that site"):
        heart(public=4, public_site="hungarian")


def test_parts_are_disjoint_and_depend_on_the_seed():
    parts = places(100, public=10, test=0.3, seed=3)
    assert [len(part) for part in parts] == [60, 10, 30]
    assert sorted(np.concatenate(parts).tolist()) == list(range(100))
    assert (parts.train == places(100, 10, 0.3, 3).train).all()
    assert (parts.train != places(100, 10, 0.3, 4).train).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"public": 0}, r"^public must be a whole number >= 1, got 0$"),
        ({"public": 70}, r"^public must be below 70, so that rows are left to train on, got 70$"),
        ({"test": 1.0}, r"^test must be a share between 0 and 1, got 1.0$"),
        ({"seed": -1}, r"^seed must be a whole number >= 0, got -1$"),
    ],
)
def test_bad_parts(change, message):
    with pytest.raises(ValueError, match=message):
        places(**({"rows": 100, "public": 10, "test": 0.3, "seed": 0} | change))


@pytest.mark.parametrize("load", [load_adult, load_covertype, load_gss, load_heart, load_pnad])
def test_missing_files_say_so(load, tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataMissing, match=r"\.parquet not found in .*TACIT_DATA"):
        load()


def test_a_changed_table_is_refused(made, monkeypatch):
    monkeypatch.setattr(files, "SHA256", {"gss_happiness.parquet": "0" * 64})
    with pytest.raises(ValueError, match=r"gss_happiness.parquet must have sha256 0000"):
        load_gss()


def test_adult_of_openml_is_named_as_in_the_file(made, monkeypatch):
    (made / "adult.parquet").unlink()
    columns = {name.replace("_", "-"): column for name, column in MADE["adult.parquet"].items()}
    frame = pd.DataFrame(columns).rename(columns={"income": "class"})
    frame["workclass"] = frame["workclass"].fillna("?").astype("category")
    calls = []

    def fetch(data_id, **options):
        calls.append(data_id)
        return type("Bunch", (), {"frame": frame})()

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    with pytest.raises(DataMissing):
        load_adult()
    with pytest.raises(ValueError, match=r"^adult of OpenML must have 48842 rows"):
        load_adult(fetch=True)
    monkeypatch.setattr(import_module("tacit_papers.datasets.adult"), "_ROWS", 8)
    table = load_adult(fetch=True)
    assert calls == [1590, 1590]
    assert table["workclass"].tolist() == MADE["adult.parquet"]["workclass"]
    assert table["income"].tolist() == MADE["adult.parquet"]["income"]
    assert ADULT.encode(table).moved == 1


def test_covertype_of_scikit_learn_is_folded(made, monkeypatch):
    (made / "covtype.parquet").unlink()
    rows = np.zeros((2, 54))
    rows[:, :10] = [[7] * 10, [8] * 10]
    rows[[0, 1], [10, 13]] = 1
    rows[[0, 1], [14, 53]] = 1
    monkeypatch.setattr("sklearn.datasets.fetch_covtype", lambda **_: (rows, np.array([1, 7])))
    table = load_covertype(fetch=True)
    names = ("slope", "wilderness_area", "soil_type", "cover_type")
    assert [table[name].tolist() for name in names] == [[7, 8], [1, 4], [1, 40], [1, 7]]


def real(load):
    try:
        return load()
    except DataMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    ("load", "schema", "rows"),
    [
        (load_adult, ADULT, 48_842), (load_covertype, COVERTYPE, 581_012), (load_gss, GSS, 51_020),
        (load_pnad, PNAD, 76_840), (load_heart, HEART, 920),
    ],
    ids=["adult", "covertype", "gss", "pnad", "heart"],
)  # fmt: skip
def test_the_real_tables_fit_their_schemas(load, schema, rows):
    """Every category is known; beyond bounds are few, and the rest of what is moved was missing."""
    table = real(load)
    for feature in schema.features:
        column = table[feature.name]
        moved = feature.encode(column)[1]
        assert len(moved) == rows
        assert moved[is_missing(column)].all()
        beyond = (moved & ~is_missing(column)).mean()
        assert beyond == 0 if isinstance(feature, Category) else beyond < 0.02


def test_the_real_splits_have_the_papers_sizes():
    assert len(real(adult).y_train) + 1_000 + 13_567 == 45_222
    assert (
        repr(real(covertype))
        == "Split('covertype', dim=54, classes=2, train=315089, public=31509, test=148543)"
    )
    assert repr(real(gss)) == "Split('gss', dim=26, classes=2, train=19785, public=1000, test=8909)"
    assert sum(len(part) for part in real(heart)[1:]) == 920
