"""Data of paper D: Adult and the General Social Survey, dealt out to ten participants of unequal
sizes.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit._util.checks import bad
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Cohort
from tacit.data.schema import Category, Number, Schema
from tacit.learners.peers.cells import Cells
from tacit.mechanisms.streams import Stream
from tacit_papers.datasets import ADULT, GSS, load_adult, load_gss
from tacit_papers.datasets.tables import is_missing, rows_of

DATASETS = ("adult", "gss")
PARTICIPANTS = 10
PUBLIC = 500  # rows
_TEST = 0.3
_LEAST = 0.005  # of all rows, for the smallest participant


@dataclass(frozen=True, eq=False)
class SurveyTask:
    """Encoded rows with their classes, and the public schema."""

    name: str
    schema: Schema
    X: FloatArray
    y: IntArray


@dataclass(frozen=True, eq=False)
class Trial:
    """One run: the participants' rows, public rows for an aggregator, rows to test on (and their
    cells), and coins.

    Peers have no use for the public rows; ensembles of sites, beside which they are measured,
    cannot do without.
    """

    cells: Cells
    cohort: Cohort
    X_public: FloatArray
    y_public: IntArray
    X_test: FloatArray
    y_test: IntArray
    test: IntArray
    stream: Stream

    @property
    def held(self) -> dict[int, tuple[int, ...]]:
        """Everybody holds every attribute."""
        return {number: self.cells.columns_of(None) for number in range(len(self.cohort))}


@lru_cache(maxsize=1)
def load_task(name: str, quick: bool) -> SurveyTask:
    """A data set by its name; when `quick`, made-up rows instead.

    Adult: the 45,222 rows without missing values. GSS: the 29,694 rows that have the label; missing
    values go where the schema sends them.
    """
    if name not in DATASETS:
        raise bad("data set", f"one of {DATASETS}", name)
    if quick:
        return make_up(name)
    table, schema, label = (
        (load_adult(), ADULT, "income") if name == "adult" else (load_gss(), GSS, "xmovie")
    )
    if name == "adult":
        table = rows_of(table, ~np.any([is_missing(column) for column in table.values()], axis=0))
    classes = schema.encode_labels(table[label])
    known = classes >= 0
    return SurveyTask(name, schema, schema.encode(rows_of(table, known)).X, classes[known])


def make_up(name: str, rows: int = 4_000) -> SurveyTask:
    """Rows of three numbers and a category, a quarter of them of the second class."""
    schema = Schema(
        (*(Number(letter, -1, 1) for letter in "abc"), Category("d", ("u", "v", "w"))),
        ("no", "yes"),
    )
    rng = np.random.default_rng(sum(name.encode()))
    table = {letter: rng.uniform(-1, 1, rows) for letter in "abc"} | {
        "d": rng.choice(["u", "v", "w"], rows)
    }
    odds = 3 * table["a"] + 2 * (table["d"] == "u") - 2 * np.abs(table["b"]) - 1.5
    return SurveyTask(
        f"made up ({name})",
        schema,
        schema.encode(table).X,
        (rng.logistic(size=rows) < odds).astype(np.int64),
    )


def deal(task: SurveyTask, stream: Stream, participants: int = PARTICIPANTS) -> Trial:
    """Three tenths of the rows public or to test on, the rest to participants whose shares are
    drawn at random.
    """
    rng = np.random.default_rng(stream.child("deal").words(np.arange(1), 0, 4)[0])
    order = rng.permutation(len(task.y))
    shown = round(_TEST * len(order))
    public, test, train = order[:PUBLIC], order[PUBLIC:shown], order[shown:]
    shares = np.maximum(rng.dirichlet(np.full(participants, 2.0)), _LEAST)
    who = rng.choice(participants, size=len(train), p=shares / shares.sum())
    who[:participants] = np.arange(participants)  # nobody is without rows
    cells = Cells(task.schema)
    cohort = Cohort.of(task.X[train], task.y[train], who)
    known, tested = (task.X[public], task.y[public]), (task.X[test], task.y[test])
    return Trial(cells, cohort, *known, *tested, cells.read(task.X[test]), stream)
