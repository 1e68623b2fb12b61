"""Ensembles of sites as scikit-learn estimators: sites and aggregator in one process (paper C)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tacit._util.checks import bad, one_of, positive, whole
from tacit._util.types import AnyArray, FloatArray, IntArray
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import DELTA, Population
from tacit.algorithms.refinement import refine
from tacit.algorithms.site_weights import COMBINE
from tacit.algorithms.sites import ensemble_of_sites, projections_of, tune_site
from tacit.data.cohort import Cohort, Public
from tacit.data.schema import Schema
from tacit.engines.inline import INLINE, Engine, engine_at
from tacit.estimators.budget import Budget
from tacit.estimators.displays import ClassifierFace, EstimatorFace
from tacit.estimators.guarantee import Source, site_guarantee, summed_sites_guarantee
from tacit.estimators.inputs import (
    accept_labels,
    accept_rows,
    accept_sample,
    accept_table,
    epsilons_of,
    label_numbers,
    names_files,
    no_such_argument,
    owner_names,
    predict_rows,
    public_pair,
    rows_of_files,
)
from tacit.estimators.parameters import check_common, check_epsilon, check_trust
from tacit.estimators.set_aside import draw_sample
from tacit.learners.models.scores import ScoreModel
from tacit.learners.sites.losses import loss_of
from tacit.learners.sites.projection import LinearModel, winners
from tacit.learners.sites.train import PRIVACY, TrainSite
from tacit.mechanisms.streams import Stream, stream_of
from tacit.sums import NOBODY

# the parameters that there are without two servers alone, as they are by default
_OF_SUMS = {"combine": "guarded", "privacy": "objective", "loss": "auto", "ridge": "auto"}


@dataclass(frozen=True, eq=False)
class SiteInputs:
    """Encoded rows X of sites with targets y (class numbers, or levels of a range) and the `names`
    of their sites; the public ones X0, y0, and what a guarantee says of them.

    `classes` is 0 for targets that are numbers, which lie between `bounds`.
    """

    X: FloatArray
    y: IntArray
    names: AnyArray
    X0: FloatArray
    y0: IntArray
    classes: int
    source: Source
    bounds: tuple[float, float] | None = None


class SiteModels(EstimatorFace, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """What classifier and regressor share: the question to the sites, and what is kept of the
    answer.
    """

    _fitted_model = "linear_"
    _numbers: ClassVar[bool] = False  # whether targets are
    _saved: ClassVar[Mapping[str, Any]] = {"public_only_score_": float, "query_": TrainSite | None}
    model_: Any  # how sites were combined, or sums refined
    query_: Any  # what sites were asked, and
    site_models_: Any  # what they answered; None with two servers
    linear_: LinearModel | ScoreModel

    def __init__(
        self,
        *,
        combine: str = "guarded",
        privacy: str = "objective",
        epsilon: Any = 1.0,
        loss: str = "auto",
        ridge: Any = "auto",
        components: int | None = None,
        schema: Schema | None = None,
        public_fraction: float = 0.2,
        budget: Budget | None = None,
        trust: str = NOBODY,
        delta: float = DELTA,
        engine: str = INLINE,
        random_state: Any = None,
    ) -> None:
        self.combine = combine
        self.privacy = privacy
        self.epsilon = epsilon
        self.loss = loss
        self.ridge = ridge
        self.components = components
        self.schema = schema
        self.public_fraction = public_fraction
        self.budget = budget
        self.trust = trust
        self.delta = delta
        self.engine = engine
        self.random_state = random_state

    def check_parameters(self) -> None:
        """Refuse parameters that cannot be meant, before rows are looked at."""
        check_common(self)
        check_epsilon(self.epsilon)
        one_of("combine", self.combine, COMBINE)
        one_of("privacy", self.privacy, PRIVACY)
        loss_of(self.loss, numbers=self._numbers)
        ridge_of(self.ridge)
        if self.components is not None:
            whole("components", self.components, 1)
        if not check_trust(self.trust, self.delta, "auto", self.epsilon):
            return
        for name, value in _OF_SUMS.items():
            if getattr(self, name) != value:
                raise bad(name, f"{value!r} with trust={self.trust!r}", getattr(self, name))

    def _ensemble(self, given: SiteInputs, stream: Stream) -> None:
        """Ask the sites, combine their models with the public rows; sets what fit leaves behind."""
        self.sites_, X0, y0 = np.unique(given.names), given.X0, given.y0
        epsilon = epsilons_of(self.epsilon, len(self.sites_), "sites")
        menu = tuple(np.unique(epsilon).tolist())
        projections = projections_of(X0, self.components)
        self.query_ = TrainSite(
            round=1,
            attempt=1,
            owners=None,
            projection=projections[0],
            loss=loss_of(self.loss, numbers=given.classes == 0),
            labels=given.classes,
            privacy=self.privacy,
            menu=menu,
            ridge=ridge_of(self.ridge),
        )
        self.query_.check_plans()
        if not self.query_.unsound:
            self.query_ = tune_site(self.query_, X0, y0, float(np.median(epsilon)), projections)
        counts = np.bincount(y0, minlength=given.classes)[: given.classes]
        self.public_frequencies_ = counts / len(y0)
        self._charge(inf if self.query_.unsound else epsilon, unit=self.query_.unit)
        engine = self._engine(Cohort.of(given.X, given.y, given.names), epsilon, stream)
        self.model_ = engine.run(ensemble_of_sites(self.query_, X0, y0, self.combine))
        self.linear_ = self.model_.linear(self.query_, given.bounds)
        self.site_models_, self.transcript_ = self.model_.models, engine.transcript
        self.ended_ = f"all {len(self.sites_)} sites"
        self.guarantee_ = site_guarantee(self.query_, epsilon, given.source, stream)
        ridges = {each: self.query_.plan(each).ridge for each in menu}
        self.report_ = [
            {
                "site": name,
                "epsilon": each,
                "ridge": ridges[each],
                "weights": [float(one.weights[place]) for one in self.model_.combined],
            }
            for place, (name, each) in enumerate(
                zip(self.sites_.tolist(), epsilon.tolist(), strict=True)
            )
        ]

    def _add_up(self, given: SiteInputs, crowd: Population, stream: Stream) -> None:
        """Add up what the model of the public rows gets wrong over the records of all sites, and
        refine it; sets what fit leaves behind.
        """
        public = Public(given.X0, given.y0, given.classes)
        own = fit_public(public)
        sites = Cohort.of(given.X, given.y, given.names)
        charge = self._charge(crowd.epsilon, crowd.delta, unit="record")
        engine = self._engine(sites, crowd.epsilon, stream)
        refined = engine.run(refine(public, crowd, "auto", crowd.epsilon, own=own))
        if charge is not None:
            charge.settle(asked=len(refined.records) > 0)
        self.model_, self.linear_ = refined, refined.model
        self.query_ = self.site_models_ = None
        self.transcript_, self.ended_ = engine.transcript, refined.ended
        self.sites_ = np.unique(given.names)
        self.public_frequencies_ = np.bincount(given.y0, minlength=given.classes) / len(given.y0)
        self.public_only_score_ = float(np.mean(own.held_out.argmax(axis=1) == given.y0))
        self.report_ = [asdict(record) for record in refined.records]
        spent = crowd.epsilon, crowd.delta, len(self.report_)
        promise = summed_sites_guarantee(
            *spent, given.source, stream=stream, influence=engine.influence
        )
        self.guarantee_ = promise if self.report_ else promise.without_reports

    def _engine(self, cohort: Cohort, epsilon: float | FloatArray, stream: Stream) -> Engine:
        """What asks sites, an epsilon for each, or all their records, one for everybody."""
        if self.engine == INLINE or isinstance(epsilon, float):
            return engine_at(self.engine, cohort, epsilon, stream)
        from tacit.engines.by_block import site_engine

        return site_engine(self.engine, cohort, epsilon, stream)

    @property
    def lens_(self) -> Any:
        """The public projection that sites look through; None with two servers."""
        return None if self.query_ is None else self.query_.projection

    def _take_up(self, model: Any) -> None:
        super()._take_up(model)
        if any("site" in row for row in self.report_):
            self.sites_ = np.array([row["site"] for row in self.report_])

    def _rows(self, X: Any) -> FloatArray:
        """Encoded rows."""
        check_is_fitted(self)
        return np.asarray(self.schema_.encode(accept_table(self, X, reset=False)).X)

    def _scores(self, X: Any) -> FloatArray:
        """Scores (rows, vectors); of two classes the second's lead."""
        rows = self._rows(X)
        scores = np.asarray(self.linear_.scores(rows))
        return scores[:, 1:] - scores[:, :1] if scores.shape[1] == 2 else scores


class SiteEnsemble(ClassifierFace, SiteModels):
    """A classifier from sites that each train one private linear model, combined with public rows.

    Parameters
    ----------
    combine : str, default="guarded"
        "guarded" (one posterior of public rows and sites' models: by evidence, from the public-only
        model to what sites say; never worse than the former beyond noise), "feature" (Algorithm 1)
        or "average".
    privacy : str, default="objective"
        "objective" or "output" perturbation; "none" and "published" are simulations without a
        guarantee.
    epsilon : float or array of shape (sites,), default=1.0
        Of each record, for all that its site reports; one per site in the sorted order of sites.
    loss : str, default="auto"
        "auto", which is "huber_hinge", or "logistic".
    ridge : float or "auto", default="auto"
        The public ridge of what a site minimises, a sum over its records.
    components : int, default=None
        Of the principal components of the public rows, how many sites see; None: all.
    schema : Schema, default=None
        Bounds, categories and classes, where they are known; None takes them from the public rows.
    public_fraction : float, default=0.2
        How many rows to set aside as public when fit gets no `public`.
    budget : Budget, default=None
        What all fits over these owners may cost together; None: that of the context, if there is
        one.
    trust : str, default="nobody"
        Whom sites trust: "nobody" (each site's model has noise of its own), or that of "two
        servers" one is honest: what the model gets wrong is added up over the records of all sites,
        and noise for one record is added once. Then features are wide and rounds a few; `combine`,
        `privacy`, `loss` and `ridge` stay as they are by default.
    delta : float, default=1e-6
        With two servers, the chance that epsilon does not hold; 0 asks for pure epsilon.
    engine : str, default="inline"
        Where sites train: "inline" (this process), "ray" or "ray://host:port" (the extra
        `tacit[ray]`). The model is the same, to the bit.
    random_state : None, int, RandomState or Generator, default=None
        None draws secure coins. A seed makes runs reproducible, and void of privacy.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is protected, from whom, and what is not; print it.
    report_ : list of dict
        One per site: its epsilon, ridge and weights. No count of records, which is private. With
        two servers, one per round.
    public_only_score_ : float
        Cross-validated accuracy of the public rows alone.
    site_models_ : array of shape (sites, vectors, dim)
        As released; None with two servers. Not in a saved file, which compares no sites.
    sites_ : array of shape (sites,)
        Their names, in order. In a saved file where `report_` names them.
    model_ : object
        How models were combined; not in a saved file, since it has scores of single public rows.
    linear_, lens_, query_, schema_ : objects
        The linear model that predicts, the public projection and the question that sites were asked
        (both None with two servers), and the schema.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(4000, n_features=8, class_sep=2.0, random_state=1)
    >>> sites = [row % 5 for row in range(4000)]
    >>> model = SiteEnsemble(epsilon=1.0, random_state=1).fit(X, y, owners=sites)
    >>> bool(model.score(X, y) > 0.9)
    True
    >>> model.guarantee_.unit
    'record'
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True  # the few dozen rows of a check drown in the noise
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
        **unknown: Any,
    ) -> Self:
        """Train over the sites that own the rows of X; `owners` names one per row, None makes all
        rows one site.

        `public` is the aggregator's own pair (X0, y0): bounds, classes, projection and weights come
        from it. Without it some rows are set aside as public, and `guarantee_` says that they are
        not protected. `X_public` and `y_public` are the same pair, as pipelines pass it on.

        X may be files, with names of columns as y and owners, and a file as `public`: they are read
        at once, since a site's model is trained on all of its rows.
        """
        if unknown:
            raise no_such_argument(f"{type(self).__name__}.fit", *unknown)
        self.check_parameters()
        stream = stream_of(self.random_state)
        public = public_pair(public, X_public, y_public)
        X, y, owners, public = rows_of_files(self, X, y, owners=owners, public=public)
        table = accept_rows(self, X, public)
        labels = accept_labels(self, table, y, finite=public is None and self.schema is None)
        names = owner_names(owners, len(labels))
        if public is None:
            part = draw_sample(self, table, labels, np.arange(len(labels)), stream, unit="record")
        else:
            part = accept_sample(self, public, owners=len(labels))
        self.schema_, known = part.sample.schema, part.sample.public
        self.classes_ = np.array(self.schema_.classes)
        rest = np.flatnonzero(~part.taken)
        inputs = SiteInputs(
            X=self.schema_.encode(table[rest]).X,
            y=label_numbers(labels[rest], self.schema_),
            names=names[rest],
            X0=known.X,
            y0=known.y,
            classes=known.classes,
            source=part.source,
        )
        budget = float(np.median(epsilons_of(self.epsilon, len(np.unique(inputs.names)), "sites")))
        # how many records all sites have is public: what one has is not
        together = max(1, len(inputs.y))
        crowd = Population(together, budget, 1, self.trust, self.delta, site_records=together)
        if crowd.summed:
            self._add_up(inputs, crowd, stream)
            return self
        self._ensemble(inputs, stream)
        self.public_only_score_ = self.model_.public_only_score(known.y)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Scores: (rows,) for two classes, else (rows, classes)."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> AnyArray:
        """The class with the largest score."""
        if names_files(X):
            return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])
        best = winners(self._scores(X))
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> FloatArray:
        """Logistic probabilities of the scores; for more than two classes, made to add up to 1."""
        if names_files(X):
            return predict_rows(self, X)
        rows = self._rows(X)
        return self.linear_.probabilities(rows)


def ridge_of(ridge: Any) -> float | None:
    """A ridge that is given, or None for "auto"."""
    return None if isinstance(ridge, str) and ridge == "auto" else positive("ridge", ridge)
