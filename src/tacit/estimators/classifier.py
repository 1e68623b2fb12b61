"""The product's face: the data user's own model, refined by one share of every owner. A
scikit-learn classifier.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import asdict, dataclass
from math import inf
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tacit._util.checks import bad, number_of_rounds, one_of, whole
from tacit._util.kernels import in_arrays
from tacit._util.types import AnyArray, FloatArray
from tacit.algorithms.gradient_trees import Growth, grow
from tacit.algorithms.outlook import Outlook
from tacit.algorithms.public_baseline import PublicModel
from tacit.algorithms.question import DELTA, Population, check_owner_rows
from tacit.algorithms.refinement import Refined, discriminate, refine, rounds_in_words
from tacit.data.schema import Schema
from tacit.engines.inline import INLINE, Monitor, engine_at
from tacit.estimators.budget import Budget
from tacit.estimators.displays import ClassifierFace
from tacit.estimators.guarantee import classifier_guarantee, under_two_servers
from tacit.estimators.inputs import (
    accept_table,
    baseline_of,
    check_monitor,
    names_files,
    no_such_argument,
    predict_rows,
    public_pair,
    read_inputs,
)
from tacit.estimators.parameters import check_common, check_epsilon, check_trust
from tacit.learners.learner import ShareQuery
from tacit.learners.query import Answer
from tacit.mechanisms.registry import mechanism_by_name
from tacit.mechanisms.streams import stream_of
from tacit.sums import HOW, NOBODY

FEATURES = ("auto", "linear", "products", "waves", "leaves", "trees")
_NO_NOISE = 16.0  # epsilon that predictions assume where shares are reported as they are


class PrivateClassifier(ClassifierFace, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """The best model of the data user's own sample, improved by owners that each speak at most
    once, in noise.

    The gain is predicted first. Where it is too small nobody is asked, and the data user's own
    model is returned.

    Parameters
    ----------
    epsilon : float or array of shape (owners,), default=1.0
        The budget of an owner's one report; one per owner in the sorted order of owners.
    combine : str, default="precision"
        "precision" weighs public and private knowledge by their precision; "private" uses the
        owners' answers alone, in a space that public rows give (and has nothing to compare itself
        with).
    features : str, default="auto"
        What the model may have beside the columns themselves: "linear" (nothing), "products",
        "waves" or "leaves"; "auto" is products of columns, as far as the evidence says, and waves
        where owners are so many that noise is not what limits a model;
        "trees" grows trees from the owners' answers instead (two classes, very many owners: see
        `tacit reproduce trees`).
    rounds : int, default=None
        In how many rounds to ask, each with other owners; None decides by the predicted change.
        With "trees", how many trees.
    rows_per_owner : int, default=1
        How many rows an owner is believed to hold. Only accuracy depends on it, not privacy.
    mechanism : str, default="auto"
        "auto" (the least error for the shares) or a name of `tacit.mechanisms.registry.MECHANISMS`,
        or of a mechanism of your own that was registered (`tacit.register`).
    trust : str, default="nobody"
        Whom owners trust: "nobody" (each report is noise for itself), or that of "two servers" one
        is honest, which add up what owners split between them, with noise of their own in the sum.
        Then everybody is asked in every round, `epsilon` is one number for all rounds together, and
        `mechanism` is "auto".
    delta : float, default=1e-6
        With two servers, the chance that epsilon does not hold; 0 asks for pure epsilon.
    schema : Schema, default=None
        Bounds, categories and classes, where they are known; None takes them from the data user's
        sample.
    public_fraction : float, default=0.2
        How many of the owners to set aside as the data user's sample when fit gets no `public`.
    budget : Budget, default=None
        What all fits over these owners may cost together; None: that of the context, if there is
        one.
    engine : str, default="inline"
        Where owners are asked: "inline" in this process, "ray" on a Ray of this machine or the one
        that RAY_ADDRESS names, "ray://host:port" on a cluster. The model is the same.
    random_state : None, int, RandomState or Generator, default=None
        None draws secure coins. A seed makes runs reproducible, and void of privacy.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is protected, from whom, and what is not; print it.
    public_only_score_ : float or None
        Cross-validated accuracy of the data user's sample alone; None when it is too small.
    public_model_ : str
        Which model that is ("boosted trees", ...).
    predicted_gain_ : float
        What owners should add, in nats.
    report_ : list of dict
        One per round.
    ended_ : str
        Why it ended, or why nobody was asked.
    model_, stages_ : ScoreModel, tuple of ScoreModel
        The model, and the models after each round.
    schema_ : Schema
        The public knowledge behind it.
    moved_values_, ignored_rows_ : int
        Owners' values outside the schema's bounds and rows outside its classes; not to be
        published.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(30_000, n_features=10, n_informative=6, random_state=1)
    >>> public = X[:100], y[:100]
    >>> model = PrivateClassifier(epsilon=2.0, random_state=1)
    >>> bool(model.fit(X[100:], y[100:], public=public).score(X, y) > 0.8)
    True
    """

    _fitted_model = "model_"
    _saved: ClassVar[Mapping[str, Any]] = {
        "public_only_score_": float | None,
        "public_model_": str,
        "predicted_gain_": float,
    }

    def __init__(
        self,
        epsilon: Any = 1.0,
        *,
        combine: str = "precision",
        features: str = "auto",
        rounds: int | None = None,
        rows_per_owner: int = 1,
        mechanism: str = "auto",
        trust: str = NOBODY,
        delta: float = DELTA,
        schema: Schema | None = None,
        public_fraction: float = 0.2,
        budget: Budget | None = None,
        engine: str = INLINE,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.combine = combine
        self.features = features
        self.rounds = rounds
        self.rows_per_owner = rows_per_owner
        self.mechanism = mechanism
        self.trust = trust
        self.delta = delta
        self.schema = schema
        self.public_fraction = public_fraction
        self.budget = budget
        self.engine = engine
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True  # the few hundred rows of a check drown in the noise
        return tags

    @in_arrays()
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        owners: Any = None,
        public: Any = None,
        X_public: Any = None,
        y_public: Any = None,
        monitor: Monitor | None = None,
        baseline: PublicModel | None = None,
        outlook: Outlook | None = None,
        **unknown: Any,
    ) -> Self:
        """Ask the owners of the rows of X.

        The model of the data user's sample is the start; all that is not paid for with epsilon
        comes from it or from the schema.

        Parameters
        ----------
        X : array or data frame of shape (rows, columns), or path
            The rows of all owners; or where they are: a parquet or CSV file, a folder, a pattern,
            or a list of files as `Path`, which are read a block at a time.
        y : array of shape (rows,), or str
            Their classes; of files, the column that has them.
        owners : array of shape (rows,), or str, default=None
            The owner of each row; of files, the column that names them. None makes every row an
            owner.
        public : pair (X0, y0), Sample or path, default=None
            The data user's own sample; rows in files need one. Without it some owners are set aside
            as such a sample, and `guarantee_` says that they are not protected.
        X_public, y_public : array or data frame, array, default=None
            The same sample in two parts, in place of `public`: a pipeline can pass them on, and
            transform the first (`Pipeline(..., transform_input=["X_public"])`).
        monitor : callable, default=None
            Hears before each question how many were answered; once it says True nobody is asked any
            more, and what was answered so far makes the model.
        baseline : PublicModel, default=None
            What `fit_public` made of the sample, where it is known.
        outlook : Outlook, default=None
            What `look_ahead` made of the sample and these owners, where it is known; it stays as it
            is.
        **unknown
            Nothing: weights of rows and classes are refused, with what to do instead.
        """
        if unknown:
            raise no_such_argument(f"{type(self).__name__}.fit", *unknown)
        check_monitor(monitor)
        self.check_parameters()
        chosen, stream = self._choices(), stream_of(self.random_state)
        public = public_pair(public, X_public, y_public)
        given = read_inputs(self, X, y, owners=owners, public=public, stream=stream)
        self.schema_ = given.sample.schema
        self.classes_ = np.array(self.schema_.classes)
        self.public_frequencies_ = given.frequencies
        self.moved_values_, self.ignored_rows_ = given.moved, given.cohort.ignored
        known = baseline if outlook is None else outlook.combination.own
        own = baseline_of(given.sample.public, known)
        expected = _NO_NOISE if chosen.mechanism == "none" else float(np.median(given.epsilon))
        crowd = Population(given.owners, expected, chosen.rows, self.trust, self.delta)
        price = inf if chosen.mechanism == "none" else given.epsilon
        charge = self._charge(price, crowd.delta if crowd.summed else 0.0)
        asked = {"public": given.sample.public, "crowd": crowd, "epsilon": given.epsilon}
        asked |= {"mechanism": chosen.mechanism, "own": own}
        algorithm = _ALGORITHMS[chosen.algorithm](asked, chosen, outlook)
        engine = engine_at(self.engine, given.cohort, given.epsilon, stream, monitor=monitor)
        refined = engine.run(algorithm)
        if charge is not None:
            charge.settle(asked=engine.speakers > 0)
        self.model_, self.stages_ = refined.stages[-1], refined.stages
        self.public_only_score_, self.public_model_ = own.accuracy, own.name
        self.predicted_gain_, self.ended_ = refined.predicted_gain, refined.ended
        self.report_ = [asdict(record) for record in refined.records]
        if engine.stopped:
            self.ended_ = f"stopped after {rounds_in_words(len(self.report_))}"
        self.transcript_ = engine.transcript
        named = "privunit" if chosen.mechanism == "auto" else chosen.mechanism
        promise = classifier_guarantee(named, given.epsilon, given.source, stream, engine.influence)
        if crowd.summed:
            rounds = max(1, len(refined.records))
            promise = under_two_servers(promise, crowd.epsilon, crowd.delta, rounds)
        self.guarantee_ = promise if engine.speakers else promise.without_reports
        return self

    def check_parameters(self) -> None:
        """Refuse parameters that cannot be meant, before rows are looked at."""
        check_common(self)
        check_epsilon(self.epsilon)
        chosen = self._choices()
        summed = check_trust(self.trust, self.delta, chosen.mechanism, self.epsilon)
        if summed and chosen.features not in ("auto", "trees"):
            raise bad("features", f'auto or trees with trust="{HOW}"', chosen.features)
        if chosen.algorithm != "trees":
            check_owner_rows(chosen.rows)

    def _choices(self) -> "_Choices":
        """The parameters, each one of those that there are."""
        combine = one_of("combine", self.combine, ("precision", "private"))
        features = one_of("features", self.features, FEATURES)
        trees = combine == "precision" and features == "trees"
        return _Choices(
            algorithm="trees" if trees else combine,
            features=features,
            maps=None if features == "auto" else (features,),
            mechanism="auto"
            if self.mechanism == "auto"
            else mechanism_by_name(self.mechanism, ("auto",)),
            rounds=None if self.rounds is None else number_of_rounds(self.rounds),
            rows=whole("rows_per_owner", self.rows_per_owner, 1),
        )

    def predict(self, X: Any) -> AnyArray:
        """The most likely class; the first of equal ones."""
        parts = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(parts, axis=1)])

    def predict_proba(self, X: Any) -> FloatArray:
        """How likely each class is, (rows, classes)."""
        if names_files(X):
            return predict_rows(self, X)
        rows = self._encode(X)
        return np.asarray(self.model_.probabilities(rows))

    def decision_function(self, X: Any) -> FloatArray:
        """Probabilities; for two classes the second's lead over the first, (rows,)."""
        parts = self.predict_proba(X)
        return parts[:, 1] - parts[:, 0] if len(self.classes_) == 2 else parts

    def staged_predict(self, X: Any) -> Iterator[AnyArray]:
        """Predictions of the data user's own model (when combining) and after each round."""
        rows = self._encode(X)
        for stage in self.stages_:
            yield np.asarray(self.classes_[np.argmax(stage.probabilities(rows), axis=1)])

    def _encode(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return np.asarray(self.schema_.encode(accept_table(self, X, reset=False)).X)


@dataclass(frozen=True)
class _Choices:
    """Parameters of a fit as they were accepted."""

    algorithm: str
    features: str
    maps: tuple[str, ...] | None
    mechanism: str
    rounds: int | None
    rows: int


# what asks owners: as they are combined, or as the features ask for it
_ALGORITHMS: dict[str, Callable[..., Generator[ShareQuery, Answer | None, Refined]]] = {
    "private": lambda asked, chosen, outlook: discriminate(**asked),
    "trees": lambda asked, chosen, outlook: grow(
        **asked, growth=Growth() if chosen.rounds is None else Growth(trees=chosen.rounds)
    ),
    "precision": lambda asked, chosen, outlook: refine(
        **asked, maps=chosen.maps, rounds=chosen.rounds, outlook=outlook
    ),
}
