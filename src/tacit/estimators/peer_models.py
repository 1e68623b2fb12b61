"""A fitted model of peers: raw rows in, classes and chances out.

A participant's own model in a file of its own. It knows that participant's exact rows: it is for
itself alone.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy.special import expit

from tacit._util.types import AnyArray, FloatArray, IntArray
from tacit.data.sample import sort_classes
from tacit.data.schema import Schema
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.own_model import OwnModel
from tacit.learners.peers.peer_model import Additive
from tacit.wire import decode, encode, message


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
        """Log odds of the second class. A data frame may lack columns: what is not there adds
        nothing.
        """
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


def two_classes(known: Schema | None) -> Schema:
    """The schema with its classes sorted as scikit-learn keeps them; there must be two."""
    if known is None:
        raise ValueError("a schema or a public sample is needed: bounds and classes must be public")
    schema = sort_classes(known)
    if len(schema.classes) != 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{len(schema.classes)} classes"
        )
    return schema


_LARGEST = 1 << 30


@message("own model, not to be published")
@dataclass(frozen=True, eq=False)
class KeptModel:
    """An `OwnModel` with the cells it reads rows by. No question and no answer has a place for
    it.
    """

    cells: Cells
    released: Additive
    left_out: tuple[int, ...]
    scale: float
    offset: float
    tables: tuple[FloatArray, ...]


def keep_own(path: Path, cells: Cells, own: OwnModel) -> None:
    """Write a participant's own model, whole or not at all, readable by its user alone;
    `tacit.load` reads it.
    """
    content = KeptModel(cells, own.released, own.left_out, own.scale, own.offset, own.tables)
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(encode(content))
    os.replace(draft, path)


def decode_own(data: bytes) -> PeerModel:
    """The model that `keep_own` wrote."""
    kept = decode(data, KeptModel, _LARGEST)
    own = OwnModel(kept.released, kept.left_out, kept.scale, kept.offset, kept.tables)
    return PeerModel(kept.cells, own)
