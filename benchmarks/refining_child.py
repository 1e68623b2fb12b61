"""The default classifier's collection in a fresh process: `python -m benchmarks.refining_child
OWNERS` prints JSON.
"""

import json
import sys
from dataclasses import replace

import numpy as np

from benchmarks.children import measure
from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.query import report_size
from tacit.mechanisms.streams import seeded

DIM, PUBLIC = 20, 1_000
# owners that the plan believes in, whoever comes: the same share for all sizes
_EXPECTED = 10_000_000
_WARM = 1_000  # owners


def rows(n: int) -> tuple[FloatArray, IntArray]:
    """Two columns whose product tells the class: the plan asks for products of columns."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (n, DIM))
    y = (4 * X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n) > 0).astype(np.int64)
    return X, y


def main(owners: int) -> None:
    """Measure and print {"bytes", "seconds" per owner, "held" bytes of rows, "report" bytes,
    "numbers" of a share}.
    """
    X, y = rows(owners + PUBLIC)
    public = Public(X[:PUBLIC], y[:PUBLIC], 2)
    own = fit_public(public)
    cohort = Cohort(X[PUBLIC:], y[PUBLIC:], np.arange(owners + 1))
    query = next(refine(public, Population(_EXPECTED, 1.0), "auto", 1.0, own=own, rounds=1))
    Inline(cohort[:_WARM], 1.0, seeded(1)).ask(replace(query, owners=_WARM))
    growth, seconds = measure(
        lambda: Inline(cohort, 1.0, seeded(1)).ask(replace(query, owners=owners))
    )
    print(
        json.dumps(
            {
                "bytes": growth,
                "seconds": seconds / owners,
                "held": X.nbytes + y.nbytes,
                "report": report_size(query),
                "numbers": query.width,
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
