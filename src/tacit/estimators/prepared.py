"""What every estimator does first: tell owners' rows from the data user's sample, and encode both by public rules."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.cohort import Cohort
from tacit.estimators.parameters import epsilon_of
from tacit.estimators.sample import drawn_sample, given_sample
from tacit.estimators.tables import accept_labels, accept_table, owner_numbers, some_rows
from tacit.learners.base import Public
from tacit.streams import Stream
from tacit.types import FloatArray


@dataclass(frozen=True, eq=False)
class Prepared:
    """The data user's sample, the owners, an epsilon for each or for all, a sentence on where the sample is from."""

    public: Public
    cohort: Cohort
    epsilon: float | FloatArray
    source: str


def prepare(estimator: Any, X: Any, y: Any, owners: Any, public: Any, stream: Stream) -> Prepared:
    """Checked and encoded input; sets the estimator's schema_, classes_, public_frequencies_ and the two counts."""
    table = accept_table(estimator, X, reset=True)
    labels = accept_labels(estimator, table, y, finite=public is None and estimator.schema is None)
    numbers = owner_numbers(owners, len(labels))
    if public is None:
        sample = drawn_sample(estimator, table, labels, numbers, stream)
    else:
        sample = given_sample(estimator, public, owners=int(numbers.max()) + 1)
    schema = estimator.schema_ = sample.schema(estimator.schema)
    estimator.classes_ = np.array(schema.classes)
    known = sample.encoded(schema)
    estimator.public_frequencies_ = np.bincount(known.y, minlength=known.classes) / len(known.y)

    rest = np.flatnonzero(~sample.taken[numbers])
    encoded = schema.encode(some_rows(table, rest))
    cohort = Cohort.of(encoded.X, schema.encode_labels(labels[rest]), numbers[rest])
    estimator.moved_values_, estimator.ignored_rows_ = encoded.moved, cohort.ignored
    return Prepared(known, cohort, epsilon_of(estimator.epsilon, sample.taken), sample.source)
