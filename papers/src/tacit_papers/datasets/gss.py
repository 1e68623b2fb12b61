"""General Social Survey, happiness subset: 51,020 respondents of 1972 to 2006; the label is
`xmovie`.

NORC General Social Survey, the subset of J. Price that the model-inversion literature uses. Codes
and top codes (eight children or more, 89 years or older) are the survey's own. `id` is in the table
but not in the schema.
"""

from tacit.data.schema import Category, Number, Schema
from tacit_papers.datasets.split import Split
from tacit_papers.datasets.tables import Table, encode_split, read_table

FILE = "gss_happiness.parquet"
_HAPPY = ("NOT TOO HAPPY", "PRETTY HAPPY", "VERY HAPPY")

GSS = Schema(
    features=(
        Number("year", 1972, 2006),
        Category("work_status", (
            "WORKING FULLTIME", "WORKING PARTTIME", "TEMP NOT WORKING", "UNEMPL, LAID OFF",
            "RETIRED", "SCHOOL", "KEEPING HOUSE", "OTHER",
        )),
        Category("marital_status", (
            "MARRIED", "WIDOWED", "DIVORCED", "SEPARATED", "NEVER MARRIED",
        )),
        Number("children", 0, 8),
        Number("age", 18, 89),
        Category("gender", ("FEMALE", "MALE")),
        Category("race", ("WHITE", "BLACK", "OTHER")),
        Category("happiness", _HAPPY),
        Category("marriage_happiness", _HAPPY),
    ),
    classes=("NO", "YES"),
)  # fmt: skip


def load_gss() -> Table:
    """All 51,020 rows and 11 columns."""
    return read_table(FILE)


def gss(public: int = 1_000, test: float = 0.3, seed: int = 0) -> Split:
    """Whether a respondent saw such a film in the last year: the 29,694 rows with an answer, 26
    columns.

    Missing values go where the schema sends them; a marriage that was not asked about is all -1.
    """
    return encode_split("gss", load_gss(), GSS, "xmovie", public=public, test=test, seed=seed)
