"""UCI Covertype: 581,012 cells of forest in Colorado, and which of seven types of trees covers
them.

Blackard, Dean and Anderson, UCI Machine Learning Repository, doi:10.24432/C50K5N, CC BY 4.0. Bounds
are of the quantities (degrees, grey levels) or, for heights and distances, three standard
deviations about the mean as published in the repository's description, rounded outwards; values
beyond become the bound.
"""

import numpy as np

from tacit.data.schema import Category, Number, Schema
from tacit_papers.datasets.files import DataMissing, cache_folder
from tacit_papers.datasets.split import Split
from tacit_papers.datasets.tables import Table, encode_split, read_table

FILE = "covtype.parquet"
_NUMBERS = (
    Number("elevation", 2_100, 3_800),
    Number("aspect", 0, 360),
    Number("slope", 0, 40),
    Number("horizontal_distance_to_hydrology", 0, 1_000),
    Number("vertical_distance_to_hydrology", -150, 250),
    Number("horizontal_distance_to_roadways", 0, 7_500),
    Number("hillshade_9am", 0, 255),
    Number("hillshade_noon", 0, 255),
    Number("hillshade_3pm", 0, 255),
    Number("horizontal_distance_to_fire_points", 0, 6_000),
)
_AREAS, _SOILS, _TYPES = 4, 40, 7

COVERTYPE = Schema(
    features=(
        *_NUMBERS,
        Category("wilderness_area", tuple(range(1, _AREAS + 1))),
        Category("soil_type", tuple(range(1, _SOILS + 1))),
    ),
    classes=tuple(range(1, _TYPES + 1)),
)


def load_covertype(fetch: bool = False) -> Table:
    """Ten numbers, the area (1 to 4), the soil (1 to 40) and `cover_type` (1 to 7) of all cells, in
    the first order.

    With `fetch`, scikit-learn's `fetch_covtype` is asked where the file is missing.
    """
    try:
        return read_table(FILE)
    except DataMissing:
        if not fetch:
            raise
        return _fetch()


def covertype(
    types: tuple[int, ...] = (1, 2),
    public: int = 31_509,
    test: float = 0.3,
    seed: int = 0,
    fetch: bool = False,
) -> Split:
    """Cells of these types, 54 columns. Types 1 and 2 have 346,598 rows, public ones included,
    148,543 for tests.
    """
    schema = Schema(COVERTYPE.features, types)
    return encode_split(
        "covertype",
        load_covertype(fetch),
        schema,
        "cover_type",
        public=public,
        test=test,
        seed=seed,
    )


def _fetch() -> Table:
    """The set from its distributor by way of scikit-learn, which checks its sha256."""
    from sklearn.datasets import fetch_covtype

    rows, types = fetch_covtype(data_home=str(cache_folder() / "covtype"), return_X_y=True)
    numbers, areas, soils = np.split(rows, [len(_NUMBERS), len(_NUMBERS) + _AREAS], axis=1)
    table = {
        feature.name: column.astype(np.int16)
        for feature, column in zip(_NUMBERS, numbers.T, strict=True)
    }
    indices = {
        "wilderness_area": areas.argmax(axis=1) + 1,
        "soil_type": soils.argmax(axis=1) + 1,
        "cover_type": types,
    }
    return table | {name: column.astype(np.uint8) for name, column in indices.items()}
