"""Small tables of peers that every test here uses."""

import numpy as np

from tacit.data.cohort import Cohort
from tacit.data.schema import Category, Number, Schema
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.peer_model import Additive, ScorePart

SCHEMA = Schema(
    (Number("age", 0, 100), Category("town", ("n", "s", "w")), Category("member", (0, 1))),
    ("no", "yes"),
)
CELLS = Cells(SCHEMA, bins=4)
MODEL = Additive(
    (ScorePart(1, 0, (-1.0, 0.5, 2.0, 0.0), 0), ScorePart(2, 1, (0.3, -0.2, 0.1, 5.0), 1))
)


def rows(n, seed=1):
    """Encoded rows, and classes that follow age and town."""
    rng = np.random.default_rng(seed)
    table = {
        "age": rng.uniform(0, 100, n),
        "town": rng.choice(["n", "s", "w", "?"], n, p=[0.4, 0.3, 0.2, 0.1]),
        "member": rng.integers(0, 2, n),
    }
    chance = 0.1 + 0.5 * (table["age"] > 50) + 0.3 * (table["town"] == "n")
    return SCHEMA.encode(table).X, (rng.uniform(size=n) < chance).astype(np.int64)


def cohort(sizes, seed=1):
    """Participants with so many rows each."""
    X, y = rows(sum(sizes), seed)
    return Cohort(X, y, np.append(0, np.cumsum(sizes)).astype(np.int64))
