"""Private boosting as a scikit-learn classifier: owners and data user in one process."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from math import inf
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tacit._util.checks import number_of_rounds, one_of, positive, whole
from tacit._util.types import AnyArray, FloatArray
from tacit.algorithms.boosting import AllOwners, Judge, OwnSample, Schedule, boost
from tacit.algorithms.public_baseline import PublicModel
from tacit.algorithms.question import DELTA, Population
from tacit.data.cohort import Public
from tacit.data.schema import Schema
from tacit.engines.inline import INLINE, Monitor, engine_at
from tacit.estimators.budget import Budget
from tacit.estimators.displays import ClassifierFace
from tacit.estimators.guarantee import boosting_guarantee, under_two_servers
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
from tacit.learners.learner import Facts, Learner
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners import learner_or_simulation, load_simulations
from tacit.mechanisms.registry import mechanism_by_name
from tacit.mechanisms.streams import rational, stream_of
from tacit.sums import HOW, NOBODY
from tacit.sums.discrete_gaussian import all_of, compose_epsilon, each_of
from tacit.sums.secure_sum import SIMULATED_SUMS, SecureSum, TwoServers

_PUBLISHED = "piecewise"  # what the papers run their learners through


class PrivateBoosting(ClassifierFace, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Boosting over owners that each speak once, in noise.

    Parameters
    ----------
    learner : str or Learner, default="stump"
        "stump", "centroid", "logistic" or a learner of one's own. With `tacit_papers` also
        "stump, as published" and the like: simulations without a guarantee.
    epsilon : float or array of shape (owners,), default=1.0
        The budget of an owner's one report; one per owner in the sorted order of owners.
    mechanism : str, default="auto"
        "auto" (the least error for the shares; for a learner as published "piecewise", which the
        papers run) or a name of `tacit.mechanisms.registry.MECHANISMS`, or of a mechanism of your
        own that was registered (`tacit.register`).
    trust : str, default="nobody"
        Whom owners trust: "nobody" (each report is noise for itself), or that of "two servers" one
        is honest, which add up what owners split between them, with noise of their own in the sum.
        Then `epsilon` is one number, and everybody is asked in every round, unless
        `owners_per_round` says otherwise.
    delta : float, default=1e-6
        With two servers, the chance that epsilon does not hold; 0 asks for pure epsilon.
    rounds : int, default=10
        How many base models to publish, at most.
    owners_per_round : int, default=None
        How many owners a round asks; None shares them out evenly, with a reserve for dropped
        rounds.
    error : str, default="public"
        "public" estimates a base model's error on the data user's sample, "owners" by secure sums
        over all owners.
    error_epsilon : float, default=1.0
        With error="owners", the budget of all these sums together, on top of `epsilon`.
    sums : str or SecureSum, default=None
        With error="owners", how they are added up; None or "two servers": by two servers that add
        noise; a `TwoServers`: by such, at its own epsilon for each sum, whatever `error_epsilon`
        says. With `tacit_papers` also "ring" and "shamir", which paper B names: exact, so they are
        simulations without a guarantee.
    schema : Schema, default=None
        Bounds, categories and classes, where they are known; None takes them from the data user's
        sample.
    public_fraction : float, default=0.2
        How many of the owners to set aside as the data user's sample when fit gets no `public`.
    attempts : int, default=5
        How often a round may be tried with other owners before boosting ends.
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
    report_ : list of dict
        One per round, dropped ones included.
    ended_ : str
        Why boosting ended.
    public_only_score_ : float or None
        Accuracy that the data user's sample reaches alone; None when it is too small.
    ensemble_ : Ensemble
        The model.
    schema_, facts_, public_frequencies_ : Schema, Facts, array of shape (classes,)
        The public knowledge behind it.
    moved_values_, ignored_rows_ : int
        Owners' values outside the schema's bounds and rows outside its classes; not to be
        published.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(3000, n_features=5, class_sep=2.0, random_state=1)
    >>> model = PrivateBoosting("centroid", epsilon=2.0, rounds=3, random_state=1).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    >>> model.guarantee_.not_protected[0]
    "600 rows of 600 owners, drawn at random, became the data user's sample."
    """

    _fitted_model = "ensemble_"
    _saved: ClassVar[Mapping[str, Any]] = {"public_only_score_": float | None, "facts_": Facts}

    def __init__(
        self,
        learner: str | Learner = "stump",
        *,
        epsilon: Any = 1.0,
        mechanism: str = "auto",
        trust: str = NOBODY,
        delta: float = DELTA,
        rounds: int = 10,
        owners_per_round: int | None = None,
        error: str = "public",
        error_epsilon: float = 1.0,
        sums: str | SecureSum | None = None,
        schema: Schema | None = None,
        public_fraction: float = 0.2,
        attempts: int = 5,
        budget: Budget | None = None,
        engine: str = INLINE,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.trust = trust
        self.delta = delta
        self.rounds = rounds
        self.owners_per_round = owners_per_round
        self.error = error
        self.error_epsilon = error_epsilon
        self.sums = sums
        self.schema = schema
        self.public_fraction = public_fraction
        self.attempts = attempts
        self.budget = budget
        self.engine = engine
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True  # the few hundred rows of a check drown in the noise
        return tags

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
        **unknown: Any,
    ) -> Self:
        """Boost over the owners of the rows of X.

        All that is not paid for with epsilon (bounds, categories, classes, thresholds) comes from
        the data user's sample or from the schema.

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
            more, and the base models so far are the model.
        baseline : PublicModel, default=None
            What `fit_public` made of the sample, where it is known.
        **unknown
            Nothing: weights of rows and classes are refused, with what to do instead.
        """
        if unknown:
            raise no_such_argument(f"{type(self).__name__}.fit", *unknown)
        check_monitor(monitor)
        self.check_parameters()
        learner, stream = learner_or_simulation(self.learner), stream_of(self.random_state)
        mechanism = self.mechanism
        if mechanism != "auto":
            mechanism = mechanism_by_name(mechanism, ("auto",))
        public = public_pair(public, X_public, y_public)
        given = read_inputs(self, X, y, owners=owners, public=public, stream=stream)
        self.schema_ = given.sample.schema
        self.classes_ = np.array(self.schema_.classes)
        self.public_frequencies_ = given.frequencies
        self.moved_values_, self.ignored_rows_ = given.moved, given.cohort.ignored
        known, cohort, epsilon = given.sample.public, given.cohort, given.epsilon
        if self.trust == HOW:
            learner = learner.for_sums()
        self.facts_ = learner.facts(known)
        self.public_only_score_ = baseline_of(known, baseline).accuracy
        each, most = _owners_each(self.owners_per_round, self.rounds, self.attempts, len(cohort))
        crowd = Population(len(cohort), float(np.max(epsilon)), 1, self.trust, self.delta)
        if mechanism == "auto" and learner.unsound and not crowd.summed:
            mechanism = _PUBLISHED
        everybody = crowd.summed and self.owners_per_round is None
        answers = self.rounds if everybody else 1  # what a dropped round cost is missing at the end
        terms = crowd.terms(learner.space(self.facts_), mechanism, epsilon, answers)
        judge, sums = self._judge(known, most)
        unsound = learner.unsound or ("" if sums is None else sums.unsound)
        cost = self._cost(crowd.epsilon, sums, most, sound=not unsound and mechanism != "none")
        charge = self._charge(cost, crowd.delta if crowd.summed else 0.0)
        engine = engine_at(self.engine, cohort, epsilon, stream, sums=sums, monitor=monitor)
        schedule = Schedule(self.rounds, None if everybody else each, self.attempts)
        boosted = engine.run(boost(learner, self.facts_, terms, judge, schedule))
        if charge is not None:
            charge.settle(asked=engine.answered > 0)
        self.ensemble_, self.transcript_ = boosted.ensemble, engine.transcript
        self.report_ = [asdict(record) for record in boosted.records]
        self.ended_ = self._end_in_words(boosted.ended, stopped=engine.stopped)
        price = None if sums is None else sums.epsilon
        promise = boosting_guarantee(
            unsound,
            terms.mechanism,
            epsilon,
            error_epsilon=None if price is None else all_of(price, engine.tallies),
            source=given.source,
            stream=stream,
            influence=engine.influence,
        )
        if crowd.summed:
            promise = under_two_servers(promise, crowd.epsilon, crowd.delta, answers)
        self.guarantee_ = promise
        return self

    def check_parameters(self) -> None:
        """Refuse parameters that cannot be meant, before rows are looked at."""
        check_common(self)
        check_epsilon(self.epsilon)
        learner_or_simulation(self.learner)
        mechanism = self.mechanism
        if mechanism != "auto":
            mechanism = mechanism_by_name(mechanism, ("auto",))
        check_trust(self.trust, self.delta, mechanism, self.epsilon)
        _owners_each(self.owners_per_round, self.rounds, self.attempts, owners=1)
        one_of("error", self.error, ("public", "owners"))
        if self.error == "public" and self.sums is not None:
            raise ValueError("sums must be given with error='owners', and only then")
        if self.error == "owners":
            _sums_of(self.sums, positive("error_epsilon", self.error_epsilon))

    def _judge(self, known: Public, most: int) -> tuple[Judge, SecureSum | None]:
        """Who finds a base model's error, in `most` rounds, and by which sums."""
        if self.error == "public":
            return OwnSample(known), None
        budget = positive("error_epsilon", self.error_epsilon)
        return AllOwners(), _sums_of(self.sums, each_of(budget, most))

    def _cost(self, epsilon: float, sums: SecureSum | None, most: int, *, sound: bool) -> float:
        """What an owner pays at most: for its report, and for all sums that judge, of which there
        are at most so many.
        """
        if not sound:
            return inf
        if sums is None or sums.epsilon is None:
            return epsilon
        together = rational(float(self.error_epsilon))
        if sums is self.sums:
            together = most * rational(sums.epsilon)
        return compose_epsilon(rational(epsilon) + together, 0.0)

    def _end_in_words(self, ended: str, *, stopped: bool) -> str:
        """Why it ended."""
        said = f"stopped after {len(self.ensemble_)} of {self.rounds} rounds" if stopped else ended
        if len(self.ensemble_):
            return said
        return f"{said}; with no base model, predictions are the data user's most frequent class"

    def predict(self, X: Any) -> AnyArray:
        """The class with the most votes; the first of equal ones."""
        return self._winners(self.predict_proba(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Each class's part of the votes, (rows, classes). Votes are not calibrated
        probabilities.
        """
        if names_files(X):
            return predict_rows(self, X)
        rows = self._encode(X)
        return self._parts(self.ensemble_.votes(rows))

    def decision_function(self, X: Any) -> FloatArray:
        """Parts of the votes; for two classes the second's lead over the first, (rows,)."""
        parts = self.predict_proba(X)
        return parts[:, 1] - parts[:, 0] if len(self.classes_) == 2 else parts

    def staged_predict(self, X: Any) -> Iterator[AnyArray]:
        """Predictions after each round; at least once."""
        rows = self._encode(X)
        for votes in self.ensemble_.staged_votes(rows):
            yield self._winners(self._parts(votes))
        if not len(self.ensemble_):
            yield self._winners(self._parts(self.ensemble_.votes(rows)))

    def _encode(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return np.asarray(self.schema_.encode(accept_table(self, X, reset=False)).X)

    def _take_up(self, model: Ensemble) -> None:
        if len(getattr(self, "public_frequencies_", ())) != model.classes:
            raise ValueError("a model that is boosted needs how frequent each class is")
        super()._take_up(model)

    def _parts(self, votes: FloatArray) -> FloatArray:
        return self.ensemble_.parts(votes, self.public_frequencies_)

    def _winners(self, parts: FloatArray) -> AnyArray:
        return np.asarray(self.classes_[np.argmax(parts, axis=1)])


def _sums_of(given: str | SecureSum | None, epsilon: float) -> SecureSum:
    """How errors are added up: the sums given, by name those of two servers at this epsilon for
    each, or a simulation.
    """
    if isinstance(given, SecureSum):
        return given
    if given is None or given == HOW:
        return TwoServers(epsilon=epsilon)
    load_simulations()
    simulated: Any = SIMULATED_SUMS[one_of("sums", given, (HOW, *SIMULATED_SUMS))]
    made: SecureSum = simulated()  # what may only be simulated has no epsilon to be given
    return made


def _owners_each(wanted: Any, rounds: Any, attempts: Any, owners: int) -> tuple[int, int]:
    """How many owners a round asks, and how many rounds, dropped ones included, there can be at
    most.

    By default the owners of every fifth round (one at least) are kept in reserve for rounds that
    get dropped.

    >>> _owners_each(None, rounds=10, attempts=5, owners=125)
    (10, 12)
    """
    rounds, attempts = number_of_rounds(rounds), whole("attempts", attempts, 1)
    reserve = max(1, rounds // 5) if rounds > 1 else 0
    each = (
        max(1, owners // (rounds + reserve))
        if wanted is None
        else whole("owners_per_round", wanted, 1)
    )
    return each, max(1, min(rounds * attempts, owners // each))
