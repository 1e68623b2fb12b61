"""Paper D as published (DiffPRS) with the face of an estimator: a simulation without a guarantee.

Every participant ends with a model of its own, which knows its exact rows; there is none that may
be served, so `predict` says whose is asked.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tacit._util.checks import bad, one_of, positive, whole
from tacit._util.types import AnyArray
from tacit.data.cohort import Cohort
from tacit.data.schema import Schema
from tacit.estimators.inputs import owner_names
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.peer_model import LEAVES
from tacit.mechanisms.streams import stream_of
from tacit_papers.d.learners import UNSOUND, simulate_published


class DiffPRS(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Participants that share random stumps, as paper D has it, for two classes.

    Parameters
    ----------
    schema : Schema
        Bounds, categories and classes, which are public.
    epsilon : float, default=1.0
        What the paper says each record costs, over all rounds; infinity: no noise.
    rounds : int, default=30
        Everybody speaks in all of them.
    leaves : str, default="cells"
        How an attribute is cut: "cells", "values" or "halves" (`random_cut`).
    random_state : None, int, RandomState or Generator, default=None
        Seeds the simulation.

    Attributes
    ----------
    unsound_ : str
        Why no real participant may run it.
    models_ : dict
        {participant: its own model}, which knows that participant's exact rows.

    Examples
    --------
    >>> from tacit import Number
    >>> rng = np.random.default_rng(1)
    >>> X = {"age": rng.uniform(0, 100, 900)}
    >>> y = (X["age"] > 50).astype(int)
    >>> who = np.arange(900) % 3
    >>> model = DiffPRS(Schema((Number("age", 0, 100),), (0, 1)), rounds=9, random_state=1)
    >>> bool((model.fit(X, y, owners=who).predict(X, 0) == y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        schema: Schema,
        *,
        epsilon: float = 1.0,
        rounds: int = 30,
        leaves: str = "cells",
        random_state: Any = None,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.rounds = rounds
        self.leaves = leaves
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, owners: Any = None) -> Self:
        """Simulate all participants; `owners` names one per row."""
        if self.epsilon != np.inf:
            positive("epsilon", self.epsilon)
        whole("rounds", self.rounds, 1)
        one_of("leaves", self.leaves, LEAVES)
        self.cells_ = Cells(self.schema)
        rows = self.cells_.encode(X)
        labels = self.schema.encode_labels(y)
        self.classes_ = np.array(self.schema.classes)
        names = owner_names(owners, len(labels))
        self.participants_ = np.unique(names).tolist()
        known = labels >= 0
        cohort = Cohort.of(rows[known], labels[known], names[known])
        stream = stream_of(self.random_state)
        held = dict.fromkeys(range(len(cohort)), self.cells_.columns_of(None))
        found = simulate_published(
            cohort,
            self.cells_,
            held,
            self.rounds,
            float(self.epsilon),
            leaves=self.leaves,
            coins=stream.child("public coins"),
            stream=stream,
        )
        self.models_ = dict(zip(self.participants_, found, strict=True))
        self.unsound_ = UNSOUND
        return self

    def predict(self, X: Any, participant: Any) -> AnyArray:
        """What this participant's own model says."""
        check_is_fitted(self)
        if participant not in self.models_:
            raise bad("participant", f"one of {self.participants_}", participant)
        own = self.models_[participant]
        scores = own.score(self.cells_.read(self.cells_.encode(X)))
        return np.asarray(self.classes_[(scores > 0).astype(np.int64)])
