"""Files for the two worked campaigns of few owners: four hospitals as sites, four branches of a
census as peers.

    python -m examples.few_owners hospitals FOLDER      (Heart Disease)
    python -m examples.few_owners census FOLDER         (Adult)

Needs the data sets (TACIT_DATA), as `tacit reproduce` does. Codes become text, so that a schema
takes them for categories. The sample is public in these examples; everything else stays with its
owner, but for a table to test with.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tacit.data.schema import Category
from tacit_papers.datasets import HEART, load_adult, load_heart
from tacit_papers.datasets.tables import Table, places, rows_of

BRANCHES = {"north": 0.4, "east": 0.3, "south": 0.2, "west": 0.1}


def write(folder: Path, name: str, table: Table) -> None:
    parquet.write_table(
        pa.table({column: pa.array(values.tolist()) for column, values in table.items()}),
        folder / name,
    )


def hospitals(folder: Path, seed: int = 1) -> None:
    """60 patients of Cleveland are the sample; a third of all others is for testing."""
    table = load_heart()
    codes = [feature.name for feature in HEART.features if isinstance(feature, Category)]
    for name in codes:
        known = np.asarray(table[name], dtype=np.float64)
        table[name] = np.array(
            [None if np.isnan(code) else f"{code:g}" for code in known.tolist()], dtype=object
        )
    table["diagnosis"] = np.where(table.pop("num") > 0, "narrowed", "healthy").astype(object)
    order = np.random.default_rng(seed).permutation(len(table["site"]))
    own = rows_of(table, order[len(order) // 3 :])
    cleveland = np.flatnonzero(own["site"] == "cleveland")
    public = np.isin(np.arange(len(own["site"])), cleveland[:60])
    write(folder, "sample.parquet", _without_site(rows_of(own, public)))
    write(folder, "test.parquet", _without_site(rows_of(table, order[: len(order) // 3])))
    for site in np.unique(own["site"].astype(str)).tolist():
        write(
            folder, f"{site}.parquet", _without_site(rows_of(own, ~public & (own["site"] == site)))
        )


def census(folder: Path, seed: int = 1) -> None:
    """500 people are the sample; west, the smallest branch, does not know where people were
    born.
    """
    table = load_adult()
    table.pop("split", None)
    parts = places(len(table["income"]), 500, 0.3, seed)
    write(folder, "sample.parquet", rows_of(table, parts.public))
    write(folder, "test.parquet", rows_of(table, parts.test))
    ends = (
        np.rint(np.cumsum([0.0, *BRANCHES.values()]) * len(parts.train)).astype(np.int64).tolist()
    )
    for branch, first, last in zip(BRANCHES, ends[:-1], ends[1:], strict=True):
        own = rows_of(table, parts.train[first:last])
        if branch == "west":
            del own["native_country"]
        write(folder, f"{branch}.parquet", own)


def _without_site(table: Table) -> Table:
    return {name: column for name, column in table.items() if name != "site"}


if __name__ == "__main__":
    kind, target = sys.argv[1], Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    {"hospitals": hospitals, "census": census}[kind](target)
