"""UCI Heart Disease: 920 patients of four hospitals, and whether a vessel is narrowed.

A. Janosi (Hungarian Institute of Cardiology, Budapest), W. Steinbrunn (University Hospital,
Zurich), M. Pfisterer (University Hospital, Basel), R. Detrano (V.A. Medical Center, Long Beach and
Cleveland Clinic Foundation); UCI Machine Learning Repository, doi:10.24432/C52P4X, CC BY 4.0.
Bounds are round numbers of clinical practice; values beyond become the bound. A cholesterol or
blood pressure of 0 was not measured and is missing here.
"""

from typing import NamedTuple

import numpy as np

from tacit._util.checks import bad
from tacit._util.types import IntArray
from tacit.data.schema import Category, Number, Schema
from tacit_papers.datasets.split import Split
from tacit_papers.datasets.tables import Places, Table, deal, places, read_table

FILE = "heart_disease.parquet"
SITES = ("cleveland", "hungarian", "switzerland", "va_long_beach")
_NEVER_ZERO = ("chol", "trestbps")

HEART = Schema(
    features=(
        Number("age", 20, 90),
        Category("sex", (0, 1)),
        Category("cp", (1, 2, 3, 4)),
        Number("trestbps", 80, 220),
        Number("chol", 100, 500),
        Category("fbs", (0, 1)),
        Category("restecg", (0, 1, 2)),
        Number("thalach", 60, 220),
        Category("exang", (0, 1)),
        Number("oldpeak", 0, 6),
        Category("slope", (1, 2, 3)),
        Number("ca", 0, 3),
        Category("thal", (3, 6, 7)),
    ),
    classes=(0, 1),
)


class HeartSplit(NamedTuple):
    """A split, and the hospital of each row of its parts by its place in `SITES`."""

    split: Split
    train_sites: IntArray
    public_sites: IntArray
    test_sites: IntArray


def load_heart() -> Table:
    """`site`, 13 attributes and the diagnosis `num` (0 healthy, 1 to 4 diseased) of 920
    patients.
    """
    table = read_table(FILE)
    for name in _NEVER_ZERO:
        values = table[name].astype(np.float64)
        table[name] = np.where(values == 0, np.nan, values)
    return table


def heart(
    public: int = 100, test: float = 0.3, seed: int = 0, public_site: str | None = None
) -> HeartSplit:
    """Healthy or diseased, 22 columns; public rows from all hospitals, or from one of them."""
    if not (public_site is None or public_site in SITES):
        raise bad("public_site", f"one of {SITES} or None", public_site)
    table = load_heart()
    sites = np.array([SITES.index(name) for name in table["site"].tolist()], dtype=np.int64)
    parts = places(len(sites), public, test, seed)
    if public_site is not None:
        parts = _public_from(sites == SITES.index(public_site), parts, public)
    split = deal("heart", HEART.encode(table).X, (table["num"] > 0).astype(np.int64), parts)
    return HeartSplit(split, *(sites[part] for part in parts))


def _public_from(
    there: np.ndarray[tuple[int], np.dtype[np.bool_]], parts: Places, public: int
) -> Places:
    """The same test rows; public ones are the first of the others that are there."""
    others = np.concatenate([parts.public, parts.train])
    here = others[there[others]]
    if not public <= len(here):
        raise bad(
            "public", f"at most {len(here)}, the rows of that site that are not tested on", public
        )
    return Places(
        np.concatenate([here[public:], others[~there[others]]]), here[:public], parts.test
    )
