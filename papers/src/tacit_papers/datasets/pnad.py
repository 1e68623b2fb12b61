"""Brazil's household survey PNAD of 2015, an extract: 76,840 reference persons of households and
their income.

IBGE, Pesquisa Nacional por Amostra de Domicilios 2015 (open microdata). Codes are the survey's;
ages from 10, where the survey's questions about work begin. `schooling` is 1 for less than one
year, k for k - 1 years, 16 for 15 or more.
"""

import numpy as np

from tacit.data.schema import Category, Number, Schema
from tacit_papers.datasets.split import Split
from tacit_papers.datasets.tables import Table, deal, places, read_table

FILE = "brazil_pnad_2015.parquet"
_NOT_DETERMINED = 17
STATES = (
    11, 12, 13, 14, 15, 16, 17, 21, 22, 23, 24, 25, 26, 27, 28, 29, 31, 32, 33, 35, 41, 42, 43,
    50, 51, 52, 53,
)  # fmt: skip

PNAD = Schema(
    features=(
        Category("uf", STATES),
        Category("sex", (0, 1)),
        Number("age", 10, 100),
        Category("race", (0, 2, 4, 6, 8)),
        Number("schooling", 1, 16),
    ),
    classes=(0, 1),  # income at most, or above, a public threshold
)


def load_pnad() -> Table:
    """State, sex, age, race, schooling and monthly income in reais; schooling that was not
    determined is NaN.
    """
    table = read_table(FILE)
    schooling = table["schooling"].astype(np.float64)
    return table | {"schooling": np.where(schooling == _NOT_DETERMINED, np.nan, schooling)}


def pnad(public: int = 1_000, test: float = 0.3, seed: int = 0) -> Split:
    """Whether income is above the mean income of the public part, 35 columns."""
    table = load_pnad()
    parts = places(len(table["income"]), public, test, seed)
    classes = (table["income"] > table["income"][parts.public].mean()).astype(np.int64)
    return deal("pnad", PNAD.encode(table).X, classes, parts)
