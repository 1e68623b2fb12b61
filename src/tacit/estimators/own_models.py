"""A peer's model, ready to predict, and the file in which a participant keeps its own.

A participant's own model knows that participant's exact rows: it is for itself alone. What is kept
of it is of classes that no question and no answer has a place for.
"""

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tacit._util.file_checks import check_place
from tacit._util.types import AnyArray, FloatArray, IntArray
from tacit.data.schema import Schema
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.own_model import OwnModel, VotedModel
from tacit.learners.peers.peer_model import Additive, NoisyTrees, RandomStump, odds_as_chances
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
    def schema(self) -> Schema:
        return self.cells.schema

    @property
    def schema_(self) -> Schema:
        return self.cells.schema

    @property
    def classes_(self) -> AnyArray:
        return np.array(self.cells.schema.classes)

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Chances of the two classes of encoded rows, (rows, 2)."""
        return odds_as_chances(self.inner.score(self.cells.read(X)))

    def decision_function(self, X: Any) -> FloatArray:
        """Log odds of the second class. A data frame may lack columns: what is not there adds
        nothing.
        """
        return self.inner.score(self.cells.read(self.cells.encode(X)))

    def predict(self, X: Any) -> AnyArray:
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(np.int64)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Chances of the two classes, (rows, 2)."""
        return odds_as_chances(self.decision_function(X))

    def score(self, X: Any, y: Any) -> float:
        """Accuracy."""
        return float(np.mean(self.predict(X) == np.asarray(y)))


_LARGEST = 1 << 30  # bytes of an own model, in its owner's own file


class KeptOwn(ABC):
    """What a participant keeps in its file. No question and no answer has a place for it."""

    @abstractmethod
    def model(self) -> PeerModel:
        """Ready to predict."""


@message("own model, not to be published")
@dataclass(frozen=True, eq=False)
class KeptModel(KeptOwn):
    """An `OwnModel` with the cells it reads rows by."""

    cells: Cells
    released: Additive
    left_out: tuple[int, ...]
    scale: float
    offset: float
    tables: tuple[FloatArray, ...]

    def model(self) -> PeerModel:
        own = OwnModel(self.released, self.left_out, self.scale, self.offset, self.tables)
        return PeerModel(self.cells, own)


@message("own votes, not to be published")
@dataclass(frozen=True, eq=False)
class KeptVotes(KeptOwn):
    """The rounds of a `VotedModel`, with the cells it reads rows by."""

    cells: Cells
    rounds: tuple[tuple[float, tuple[tuple[float, RandomStump], ...]], ...]

    def model(self) -> PeerModel:
        return PeerModel(self.cells, VotedModel(self.rounds, {}))


@message("trees that were passed")
@dataclass(frozen=True, eq=False)
class KeptTrees(KeptOwn):
    """Trees as everybody has them: with this method participants add nothing of their own."""

    cells: Cells
    trees: NoisyTrees

    def model(self) -> PeerModel:
        return PeerModel(self.cells, self.trees)


def _keep_own(cells: Cells, own: Any) -> KeptOwn:
    match own:
        case OwnModel():
            return KeptModel(
                cells,
                own.released,
                own.left_out,
                scale=own.scale,
                offset=own.offset,
                tables=own.tables,
            )
        case VotedModel():
            return KeptVotes(cells, own.rounds)
    return KeptTrees(cells, own)


def keep_own(path: Path, cells: Cells, own: Scores) -> None:
    """Write a participant's own model, whole or not at all, readable by its user alone;
    `tacit.load` reads it.
    """
    content = encode(_keep_own(cells, own))
    draft = check_place(path).with_name(f"{path.name}.{os.getpid()}.part")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.replace(draft, path)


def decode_own(data: bytes) -> PeerModel:
    """The model that `keep_own` wrote."""
    return decode(data, KeptOwn, _LARGEST).model()
