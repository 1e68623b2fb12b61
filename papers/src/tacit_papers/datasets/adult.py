"""UCI Adult: persons of the US Current Population Survey of 1994, and whether they earn above
50,000 dollars a year.

Becker and Kohavi, UCI Machine Learning Repository, doi:10.24432/C5XW20, CC BY 4.0. Categories are
those that the repository's description lists; age begins at 17 and is cut at 90 by the survey,
hours have two digits, gains are top coded at 99,999; the bound of losses is a round number.
`fnlwgt` (a weight of the sample, not a fact of the person) and `education` (the same as
`education_num`) are in the table but not in the schema.
"""

import numpy as np

from tacit.data.schema import Category, Number, Schema
from tacit_papers.datasets.files import DataMissing, cache_folder
from tacit_papers.datasets.split import Split
from tacit_papers.datasets.tables import Table, encode_split, is_missing, read_table, rows_of

FILE = "adult.parquet"
_ROWS, _OPENML = 48_842, 1590

ADULT = Schema(
    features=(
        Number("age", 17, 90),
        Category("workclass", (
            "Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov",
            "Without-pay", "Never-worked",
        )),
        Number("education_num", 1, 16),
        Category("marital_status", (
            "Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed",
            "Married-spouse-absent", "Married-AF-spouse",
        )),
        Category("occupation", (
            "Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial",
            "Prof-specialty", "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical",
            "Farming-fishing", "Transport-moving", "Priv-house-serv", "Protective-serv",
            "Armed-Forces",
        )),
        Category("relationship", (
            "Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried",
        )),
        Category("race", ("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black")),
        Category("sex", ("Female", "Male")),
        Number("capital_gain", 0, 99_999),
        Number("capital_loss", 0, 5_000),
        Number("hours_per_week", 1, 99),
        Category("native_country", (
            "United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany",
            "Outlying-US(Guam-USVI-etc)", "India", "Japan", "Greece", "South", "China", "Cuba",
            "Iran", "Honduras", "Philippines", "Italy", "Poland", "Jamaica", "Vietnam", "Mexico",
            "Portugal", "Ireland", "France", "Dominican-Republic", "Laos", "Ecuador", "Taiwan",
            "Haiti", "Columbia", "Hungary", "Guatemala", "Nicaragua", "Scotland", "Thailand",
            "Yugoslavia", "El-Salvador", "Trinadad&Tobago", "Peru", "Hong", "Holand-Netherlands",
        )),
    ),
    classes=("<=50K", ">50K"),
)  # fmt: skip


def load_adult(fetch: bool = False) -> Table:
    """All 48,842 rows: 14 attributes, `income`, and `split` as first distributed.

    With `fetch`, OpenML is asked where the file is missing; its order is another, and it has no
    `split`.
    """
    try:
        return read_table(FILE)
    except DataMissing:
        if not fetch:
            raise
        return _from_openml()


def adult(
    public: int = 1_000,
    test: float = 0.3,
    seed: int = 0,
    complete: bool = True,
    fetch: bool = False,
) -> Split:
    """Income above 50,000 dollars, 87 columns; the 45,222 rows without missing values, or all of
    them.
    """
    table = load_adult(fetch)
    if complete:
        table = rows_of(table, ~np.any([is_missing(column) for column in table.values()], axis=0))
    return encode_split("adult", table, ADULT, "income", public=public, test=test, seed=seed)


def _from_openml() -> Table:
    """The set of OpenML with its columns and values named as in the file; it needs pandas."""
    from sklearn.datasets import fetch_openml

    home = str(cache_folder() / "openml")
    frame = fetch_openml(data_id=_OPENML, as_frame=True, parser="auto", data_home=home).frame
    table = {name.replace("-", "_"): np.asarray(frame[name]) for name in frame.columns}
    if not (len(frame) == _ROWS and {"age", "native_country", "class"} <= set(table)):
        raise ValueError(
            f"adult of OpenML must have {_ROWS} rows and a column class, got shape {frame.shape}"
        )
    for name, column in table.items():
        if column.dtype.kind == "O":
            texts = [
                None if value != value or value in (None, "?") else str(value)
                for value in column.tolist()
            ]
            table[name] = np.array(texts, dtype=object)
    table["income"] = table.pop("class")
    return table
