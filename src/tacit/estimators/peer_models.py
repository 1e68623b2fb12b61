"""A fitted model of peers: raw rows in, classes and chances out."""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.special import expit

from tacit.estimators.sample import Sample
from tacit.learners.cells import Cells
from tacit.schema import Schema
from tacit.types import AnyArray, FloatArray, IntArray


class Scores(Protocol):
    """Something that gives each row (its cells) the log odds of the second class."""

    def score(self, cells: IntArray) -> FloatArray: ...


@dataclass(frozen=True, eq=False)
class PeerModel:
    """A score over cells, with the public schema that reads rows; `inner` is the score itself."""

    cells: Cells
    inner: Scores

    @property
    def schema_(self) -> Schema:
        return self.cells.schema

    @property
    def classes_(self) -> AnyArray:
        return np.array(self.cells.schema.classes)

    def decision_function(self, X: Any) -> FloatArray:
        """Log odds of the second class. A data frame may lack columns: what is not there adds nothing."""
        return self.inner.score(self.cells.read(self.cells.encode(X)))

    def predict(self, X: Any) -> AnyArray:
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(np.int64)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Chances of the two classes, (rows, 2)."""
        return self.chances(self.decision_function(X))

    def score(self, X: Any, y: Any) -> float:
        """Accuracy."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def chances(self, log_odds: FloatArray) -> FloatArray:
        return np.stack([expit(-log_odds), expit(log_odds)], axis=1)


def two_classes(known: Schema | None, sample: Sample | None) -> Schema:
    """The schema with its classes sorted as scikit-learn keeps them; there must be two."""
    if known is not None:
        schema = replace(known, classes=tuple(sorted(known.classes)))
    elif sample is not None:
        schema = sample.schema(None)
    else:
        raise ValueError("a schema or a public sample is needed: bounds and classes must be public")
    if len(schema.classes) != 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{len(schema.classes)} classes"
        )
    return schema
