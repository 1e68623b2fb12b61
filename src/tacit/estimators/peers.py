"""Peers without a server as a scikit-learn classifier: all participants in one process (paper
D).
"""

from collections.abc import Collection, Mapping
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tacit._util.checks import bad, one_of, positive, whole
from tacit._util.types import AnyArray, FloatArray
from tacit.data.cohort import Cohort
from tacit.data.schema import Schema
from tacit.engines.inline import INLINE, Inline, Monitor
from tacit.estimators.budget import Budget
from tacit.estimators.displays import ClassifierFace
from tacit.estimators.guarantee import peer_guarantee, published_peers_guarantee
from tacit.estimators.inputs import (
    accept_labels,
    accept_rows,
    accept_sample,
    accept_table,
    check_monitor,
    label_numbers,
    names_files,
    no_such_argument,
    owner_names,
    predict_rows,
    public_pair,
    rows_of_files,
)
from tacit.estimators.own_models import PeerModel
from tacit.estimators.parameters import check_common
from tacit.estimators.peer_methods import (
    METHODS,
    Method,
    OwnTask,
    OwnTuning,
    budget_of,
    budgets_of,
    check_names,
    group_rows,
    make_own,
    method_of,
    two_classes,
)
from tacit.estimators.persistence import SavedModel
from tacit.estimators.set_aside import PublicPart, draw_sample
from tacit.learners.owners import load_simulations
from tacit.learners.peers.alike import (
    ALIKE,
    LISTENING,
    Circles,
    circles_of,
    part_for,
    telling_columns,
)
from tacit.learners.peers.cells import Cells, number_of_bins
from tacit.learners.peers.own_model import RHO, RIDGE, SCHEMES, PublishedScheme
from tacit.learners.peers.peer_model import (
    Additive,
    NoisyTrees,
    ServedScores,
    SharedStumps,
    odds_as_chances,
)
from tacit.mechanisms.streams import Stream, stream_of

if TYPE_CHECKING:
    from tacit.data.owner_blocks import Workers


class PeerEnsemble(ClassifierFace, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Participants that learn from each other's noisy counts, for two classes. `predict` is what
    may be served.

    `save` writes what may be served, and nothing else: a model that was read again predicts, and
    takes no newcomers.

    Parameters
    ----------
    epsilon : float or dict, default=1.0
        What each record may cost in all, over all rounds; or {participant: number}. Infinity: no
        noise.
    rounds : int, default=30
        About how many rounds there are; with "stumps" everybody speaks in all of them, otherwise
        one in each.
    method : str, default="turns"
        "turns" (participants take turns and choose an attribute), "stumps" (everybody shares random
        stumps, as in paper D) or "trees" (boosted trees passed along, after InPriv). With
        `tacit_papers` also "DiffPRS" (or "stumps, as published"), paper D to the letter: everybody
        listens to everybody, nothing may be served, and it is a simulation without a guarantee.
    rho : float, default=RHO
        Which peers a participant leaves out of its own model: those that fit its rows as badly as
        this. 0 is as well as its own rows could, 1 is chance, 2 the opposite.
    listen_to : str, default="alike"
        "alike": a tenth of epsilon tells, in noise, whose distribution is like whose; circles of
        those that are alike learn by themselves, and the largest circle's model is served (what
        paper D leaves for later). "everybody": all learn together.
    bins : int, default=16
        Cells that a number's range is cut into.
    ridge : float, default=RIDGE
        How strongly a participant's own model is held to what was released.
    schema : Schema, default=None
        Bounds, categories and classes, where they are known; None takes them from public rows.
    public_fraction : float, default=0.2
        How many rows to set aside as public when there is neither a schema nor `public`.
    budget : Budget, default=None
        What all fits over these owners may cost together; None: that of the context, if there is
        one.
    engine : str, default="inline"
        Where participants make their own models: "inline" (this process), "ray" or
        "ray://host:port" (the extra `tacit[ray]`). Models are the same, to the bit. Turns are taken
        here: one speaks at a time.
    random_state : None, int, RandomState or Generator, default=None
        None draws secure coins. A seed makes runs reproducible, and void of privacy.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is protected, from whom, and what is not; print it.
    served_ : PeerModel
        Made of released numbers only; predict, predict_proba and decision_function use it.
    models_ : dict
        {participant: its own model}, which knows that participant's exact rows: for itself alone,
        and in no saved file.
    released_ : object
        Everything that left the participants, in order.
    spent_ : dict
        {participant: epsilon charged}.
    circles_ : list
        Who listens to whom: lists of participants; the first is the one whose model is served.
    participants_, schema_, cells_, classes_ : list, Schema, Cells, array
        The rest.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(6000, n_features=5, class_sep=1.5, random_state=1)
    >>> who = [f"site {row % 5}" for row in range(6000)]
    >>> model = PeerEnsemble(epsilon=0.5, random_state=1).fit(X, y, owners=who)
    >>> bool(model.score(X, y) > 0.8), bool(model.models_["site 3"].score(X, y) > 0.8)
    (True, True)
    """

    _fitted_model = "served_"
    _saved: ClassVar[Mapping[str, Any]] = {
        "released_": Additive | NoisyTrees | SharedStumps | Circles
    }

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        rounds: int = 30,
        method: str = "turns",
        rho: float = RHO,
        listen_to: str = ALIKE,
        bins: int = 16,
        ridge: float = RIDGE,
        schema: Schema | None = None,
        public_fraction: float = 0.2,
        budget: Budget | None = None,
        engine: str = INLINE,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.rounds = rounds
        self.method = method
        self.rho = rho
        self.listen_to = listen_to
        self.bins = bins
        self.ridge = ridge
        self.schema = schema
        self.public_fraction = public_fraction
        self.budget = budget
        self.engine = engine
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # the few hundred rows of a check drown in the noise
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        owners: Any = None,
        attributes: Mapping[Any, Collection[Any]] | None = None,
        public: Any = None,
        X_public: Any = None,
        y_public: Any = None,
        monitor: Monitor | None = None,
        **unknown: Any,
    ) -> Self:
        """Learn from participants; `owners` names one per row, None: all rows are of one.

        `attributes` lists, for participants that do not hold all of them, the columns they hold;
        what their rows say elsewhere is not looked at. Bounds and classes come from the schema, or
        from the public sample `public` = (X0, y0); without both, some rows are drawn at random,
        leave their participants and become public. `monitor` hears before each turn how many there
        were; once it says True nobody speaks any more.

        X may be files, with names of columns as y and owners, and a file as `public` where there is
        no schema: they are read at once.
        """
        if unknown:
            raise no_such_argument(f"{type(self).__name__}.fit", *unknown)
        check_monitor(monitor)
        self.check_parameters()
        stream = stream_of(self.random_state)
        public = public_pair(public, X_public, y_public)
        X, y, owners, public = rows_of_files(self, X, y, owners=owners, public=public)
        table = accept_rows(self, X, public)
        labels = accept_labels(self, table, y, finite=public is None and self.schema is None)
        names = owner_names(owners, len(labels))
        part = self._public_part(table, labels, public, stream)
        self.schema_ = two_classes(self.schema if part is None else part.sample.schema)
        self.classes_ = np.array(self.schema_.classes)
        self.cells_ = Cells(self.schema_, self.bins)
        self.participants_ = np.unique(names).tolist()
        self._columns = () if part is None else telling_columns(self.cells_, part.sample.public)
        stay = np.arange(len(labels)) if part is None else np.flatnonzero(~part.taken)
        rows = self.schema_.encode(table[stay]).X
        numbers = np.searchsorted(self.participants_, names[stay])
        self._held = {
            number: self._attributes(name, attributes)
            for number, name in enumerate(self.participants_)
        }
        check_names("attributes", attributes, self.participants_)
        classes = label_numbers(labels[stay], self.schema_)
        self._cohort = group_rows(self.cells_, self._held, rows, classes, numbers)
        self._stream = stream
        self.models_: dict[Any, PeerModel] = {}
        self.spent_: dict[Any, float] = {}
        self._source = None if part is None else part.source
        self.transcript_ = b""
        self._present: dict[int, float] = {}
        budgets = dict(zip(self._held, budgets_of(self.epsilon, self.participants_), strict=True))
        if self.method in SCHEMES:
            return self._simulate(SCHEMES[self.method], budgets)
        self.released_ = self._method.nothing
        return self._learn(budgets, monitor)

    def join(
        self,
        X: Any,
        y: Any,
        *,
        name: Any,
        attributes: Collection[Any] | None = None,
        epsilon: Any = None,
    ) -> Self:
        """A newcomer takes its turns after the others. Nothing that was released changes; nobody
        else speaks again.

        The others only decide whether the newcomer's parts are worth taking into their own models.
        """
        self._check_participants()
        if name in self.participants_:
            raise ValueError(
                f"name must be that of a newcomer: {name!r} has taken part already, and has "
                "spent its budget"
            )
        budget = self.epsilon if epsilon is None else epsilon
        if np.ndim(budget) != 0 or isinstance(budget, Mapping):
            raise ValueError(
                "epsilon must be given for a newcomer: the ensemble has one for each participant"
            )
        table = accept_table(self, X, reset=False)
        labels = accept_labels(self, table, y, finite=False)
        number = len(self.participants_)
        self._held = self._held | {number: self.cells_.columns_of(attributes)}
        self.participants_ = [*self.participants_, name]
        rows = self.cells_.without_others(self.schema_.encode(table).X, self._held[number])
        classes = label_numbers(labels, self.schema_)
        whole_rows = np.concatenate([self._cohort.X, rows[classes >= 0]])
        offsets = np.append(self._cohort.offsets, len(whole_rows))
        self._cohort = Cohort(
            whole_rows, np.concatenate([self._cohort.y, classes[classes >= 0]]), offsets
        )
        return self._learn({number: budget_of(budget)})

    def leave(self, name: Any) -> Self:
        """A participant goes: its own model, and all parts made of what it released. What was
        known stays known.
        """
        self._check_participants()
        if name not in self.models_:
            raise ValueError(
                f"name must be that of a participant, one of {list(self.models_)}, got {name!r}"
            )
        number = self.participants_.index(name)
        self.released_ = self.released_.without({number})
        del self._present[number]
        return self._settle()

    def _learn(self, newcomers: dict[int, float], monitor: Monitor | None = None) -> Self:
        """Let newcomers speak, each with its budget; then everybody makes its own model."""
        method = self._method
        self._present = self._present | newcomers
        plan = method.plan(newcomers, whole("rounds", self.rounds, 1), len(self._present))
        epsilon = np.array([plan.most.get(number, np.inf) for number in range(len(self._cohort))])
        charge = self._charge(max(newcomers.values()), unit="record")
        engine = Inline(self._cohort, epsilon, self._stream, monitor=monitor)
        held = {number: self._held[number] for number in newcomers}
        coins = self._stream.child("public coins", min(newcomers))
        self.released_ = engine.run(
            method.algorithm(self.cells_, held, plan, coins, self.released_)
        )
        if charge is not None:
            charge.settle(asked=engine.answered > 0)
        self.transcript_ = blake2b(self.transcript_ + engine.transcript, digest_size=32).digest()
        self.spent_ = self.spent_ | {
            self.participants_[number]: float(engine.spent[number]) for number in newcomers
        }
        self.guarantee_ = peer_guarantee(
            list(self._present.values()),
            max(plan.turns.values()),
            self._source,
            self._stream,
            engine.influence,
            listen_to=self.listen_to,
        )
        self._settle()
        if engine.stopped:
            self.ended_ = f"stopped after {engine.answered} questions"
        return self

    def _simulate(self, scheme: PublishedScheme, budgets: dict[int, float]) -> Self:
        """A scheme as published, for comparison: everybody ends with a model of its own."""
        if len(set(budgets.values())) > 1:
            raise bad("epsilon", f"one number with method {self.method!r}", self.epsilon)
        charge = self._charge(np.inf, unit="record")
        self._present, epsilon = budgets, budgets[0]
        coins, rounds = self._stream.child("public coins"), whole("rounds", self.rounds, 1)
        found = scheme.run(
            self._cohort, self.cells_, self._held, rounds, epsilon, coins=coins, stream=self._stream
        )
        if charge is not None:
            charge.settle(asked=True)
        own = zip(self.participants_, found, strict=True)
        self.models_ = {name: PeerModel(self.cells_, model) for name, model in own}
        self.released_ = METHODS["stumps"].nothing
        self.guarantee_ = published_peers_guarantee(scheme.unsound, self._source, self._stream)
        self.ended_ = f"{len(found)} participants, simulated"
        self.report_: list[dict[str, Any]] = []
        self.__dict__.pop("served_", None)
        return self

    def _settle(self) -> Self:
        """Everybody present makes its own model; the served one is made of what was released."""
        self.served_ = PeerModel(self.cells_, self._method.served(self.released_))
        self.ended_ = f"{len(self._present)} participants"
        self.report_ = [
            {
                "participant": name if isinstance(name, str | int | float) else str(name),
                "epsilon": spent,
            }
            for name, spent in self.spent_.items()
        ]
        tuning = OwnTuning(float(self.rho), float(self.ridge))
        tasks = [
            OwnTask.of(self.method, self._cohort, me, part_for(self.released_, me), tuning)
            for me in self._present
        ]
        make = partial(make_own, self.cells_)
        own = zip(self._present, self._workers()(make, tasks), strict=True)
        self.models_ = {self.participants_[who]: PeerModel(self.cells_, one) for who, one in own}
        return self

    @property
    def _method(self) -> Method:
        return method_of(self.method, self.listen_to, self._columns)

    @property
    def circles_(self) -> list[list[Any]]:
        """Who listens to whom; the first circle is the one whose model is served."""
        check_is_fitted(self)
        present = getattr(self, "_present", range(len(self.participants_)))
        circles = circles_of(self.released_, present)
        return [[self.participants_[number] for number in circle] for circle in circles]

    def _workers(self) -> "Workers":
        """Who makes participants' own models."""
        if self.engine == INLINE:
            return map
        from tacit.engines.by_block import workers_at

        return workers_at(self.engine)

    def predict(self, X: Any) -> AnyArray:
        """The likelier class, by what was released; the first where nothing is known."""
        if names_files(X):
            return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])
        log_odds = self.decision_function(X)
        return np.asarray(self.classes_[(log_odds > 0).astype(np.int64)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Chances of the classes, (rows, 2), by what was released."""
        if names_files(X):
            return predict_rows(self, X)
        log_odds = self.decision_function(X)
        return odds_as_chances(log_odds)

    def decision_function(self, X: Any) -> FloatArray:
        """Log odds of the second class, by what was released."""
        check_is_fitted(self)
        self._check_served()
        return self.served_.decision_function(accept_table(self, X, reset=False))

    def _check_served(self) -> None:
        if not hasattr(self, "served_"):
            raise ValueError(
                f"with method {self.method!r} there is no model that may be served or saved: "
                "models_[participant].predict says what a participant's own model says"
            )

    def content(self) -> SavedModel:
        if hasattr(self, "models_"):
            self._check_served()
        return super().content()

    def _to_save(self) -> ServedScores:
        scores = self.served_.inner
        if not isinstance(scores, Additive | NoisyTrees):
            raise TypeError(f"{type(scores).__name__} cannot be saved")
        return ServedScores(self.cells_, scores)

    def _take_up(self, model: ServedScores) -> None:
        self.cells_, self.served_ = model.cells, PeerModel(model.cells, model.scores)
        self.spent_ = {row["participant"]: float(row["epsilon"]) for row in self.report_}
        self.participants_ = list(self.spent_)

    def __getstate__(self) -> Any:
        """What is pickled: neither rows nor what knows them, nor coins; as a model in a file it
        predicts and takes no newcomers.
        """
        state: Any = super().__getstate__()
        private = ("_cohort", "_stream", "models_")
        return {name: value for name, value in state.items() if name not in private}

    def _check_participants(self) -> None:
        check_is_fitted(self)
        if self.method in SCHEMES:
            raise ValueError(
                f"method {self.method!r} is simulated as a whole: fit all participants again"
            )
        if not hasattr(self, "_cohort"):
            raise ValueError(
                "a model that was read from a file, or copied, has no participants: they are where "
                "it was fitted"
            )

    def check_parameters(self) -> None:
        """Refuse parameters that cannot be meant, before rows are looked at."""
        check_common(self)
        for each in self.epsilon.values() if isinstance(self.epsilon, Mapping) else [self.epsilon]:
            budget_of(each)
        number_of_bins(self.bins)
        whole("rounds", self.rounds, 1)
        if self.method not in METHODS:
            load_simulations()
        one_of("method", self.method, (*METHODS, *SCHEMES))
        one_of("listen_to", self.listen_to, LISTENING)
        positive("rho", self.rho)
        positive("ridge", self.ridge)

    def _public_part(
        self, table: Any, labels: AnyArray, public: Any, stream: Stream
    ) -> PublicPart | None:
        if public is not None:
            return accept_sample(self, public, owners=len(labels))
        if self.schema is not None:
            return None
        return draw_sample(self, table, labels, np.arange(len(labels)), stream, unit="record")

    def _attributes(
        self, name: Any, attributes: Mapping[Any, Collection[Any]] | None
    ) -> tuple[int, ...]:
        return self.cells_.columns_of(None if attributes is None else attributes.get(name))
