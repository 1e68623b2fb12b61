"""Sites that predict numbers: the public sample of rows with such targets, and the regressor (paper
C).
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from tacit._util.checks import bad
from tacit._util.types import AnyArray, BoolArray, FloatArray
from tacit.data.cohort import Public
from tacit.data.number_target import NumberSchema, Range
from tacit.data.sample import Sample, schema_of_rows
from tacit.data.schema import Schema
from tacit.data.table import UserTable, type_columns
from tacit.data.values import as_floats
from tacit.engines.inline import INLINE
from tacit.estimators.budget import Budget
from tacit.estimators.guarantee import Source
from tacit.estimators.inputs import (
    accept_labels,
    accept_pair,
    accept_rows,
    accept_sample,
    label_numbers,
    names_files,
    no_such_argument,
    owner_names,
    predict_rows,
    public_pair,
    rows_of_files,
)
from tacit.estimators.set_aside import PublicPart, set_aside, warn_notes, warn_used_in_clear
from tacit.estimators.sites import SiteInputs, SiteModels
from tacit.mechanisms.streams import Stream, stream_of


@dataclass(frozen=True, eq=False)
class NumberSample:
    """Public rows with targets, which rows of the sites they were taken from, and what a
    guarantee says of that.
    """

    X: Any
    y: FloatArray
    taken: BoolArray
    source: Source

    def schema(self, known: Schema | None, bounds: Any) -> NumberSchema:
        """Columns and bounds of the target that are known, or what the sample shows; classes of a
        schema play no part.
        """
        if bounds is not None:
            ends = _range_of(bounds)
        else:
            ends = known.range if isinstance(known, NumberSchema) else Range.around(self.y)
        if known is None:
            known, notes = schema_of_rows(self.X, np.array([0, 1]))
            warn_notes(notes)
        return NumberSchema(known.features, (ends.low, ends.high))

    def part(self, known: Schema | None, bounds: Any) -> PublicPart:
        """The rows that have a target, encoded."""
        schema = self.schema(known, bounds)
        levels = schema.encode_labels(self.y)
        rows = Public(schema.encode(self.X).X[levels >= 0], levels[levels >= 0], classes=0)
        return PublicPart(Sample(schema, rows), self.taken, self.source)


def _range_of(bounds: Any) -> Range:
    """Public bounds that were given: two numbers."""
    given = as_floats(np.array(bounds, dtype=object).reshape(-1))
    if not (given.shape == (2,) and np.ndim(bounds) == 1):
        raise bad("target_range", "two numbers (low, high), or None", bounds)
    return Range(*given.tolist())


def accept_numbers(estimator: Any, public: Any, rows: int) -> NumberSample:
    """The sample that fit was given as `public`, a pair (X0, y0)."""
    X, y = accept_pair(estimator, public)
    nobody = np.zeros(rows, dtype=np.bool_)
    return NumberSample(X, as_floats(y), nobody, Source(len(y)))


def draw_numbers(estimator: Any, X: Any, y: AnyArray, stream: Stream) -> NumberSample:
    """Rows set aside at random."""
    every = np.arange(len(y))
    taken = set_aside(every % 2, every, estimator.public_fraction, stream)
    rows = np.flatnonzero(taken)
    drawn = f"{len(rows)} rows, drawn at random, became the data user's sample."
    targets = as_floats(y[rows])
    given = type_columns(X[rows]) if isinstance(X, UserTable) else X[rows]
    source = Source(len(rows), drawn, warn_used_in_clear(taken, "record"))
    return NumberSample(given, targets, taken, source)


class SiteEnsembleRegressor(RegressorMixin, SiteModels):  # type: ignore[misc]
    """A regressor from sites that each train one private linear model, combined with public rows.

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
        "auto", which is "huber"; "squared" has slopes without bound: only with privacy="none".
    ridge : float or "auto", default="auto"
        The public ridge of what a site minimises, a sum over its records.
    components : int, default=None
        Of the principal components of the public rows, how many sites see; None: all.
    target_range : pair of float, default=None
        Public bounds of targets; beyond becomes the bound. None: as the public rows show them.
    schema : Schema, default=None
        Bounds and categories, where they are known; None takes them from the public rows.
    public_fraction : float, default=0.2
        How many rows to set aside as public when fit gets no `public`.
    budget : Budget, default=None
        What all fits over these owners may cost together; None: that of the context, if there is
        one.
    engine : str, default="inline"
        Where sites train: "inline" (this process), "ray" or "ray://host:port" (the extra
        `tacit[ray]`). The model is the same, to the bit.
    random_state : None, int, RandomState or Generator, default=None
        None draws secure coins. A seed makes runs reproducible, and void of privacy.

    Attributes
    ----------
    guarantee_ : Guarantee
        What is protected, from whom, and what is not; print it.
    public_only_score_ : float
        Cross-validated R^2 of the public rows alone.
    range_ : Range
        The bounds of targets.
    report_, site_models_, sites_, model_, linear_, lens_, query_, schema_ : objects
        As in `SiteEnsemble`.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(4000, n_features=8, noise=5.0, random_state=1)
    >>> sites = [row % 5 for row in range(4000)]
    >>> model = SiteEnsembleRegressor(epsilon=1.0, random_state=1).fit(X, y, owners=sites)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    _numbers = True

    def __init__(
        self,
        *,
        combine: str = "guarded",
        privacy: str = "objective",
        epsilon: Any = 1.0,
        loss: str = "auto",
        ridge: Any = "auto",
        components: int | None = None,
        target_range: tuple[float, float] | None = None,
        schema: Schema | None = None,
        public_fraction: float = 0.2,
        budget: Budget | None = None,
        engine: str = INLINE,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            combine=combine,
            privacy=privacy,
            epsilon=epsilon,
            loss=loss,
            ridge=ridge,
            components=components,
            schema=schema,
            public_fraction=public_fraction,
            budget=budget,
            engine=engine,
            random_state=random_state,
        )
        self.target_range = target_range

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.regressor_tags.poor_score = True
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
        """Train over the sites that own the rows of X, as `SiteEnsemble.fit` does; rows without a
        target are left out.
        """
        if unknown:
            raise no_such_argument(f"{type(self).__name__}.fit", *unknown)
        self.check_parameters()
        stream = stream_of(self.random_state)
        public = public_pair(public, X_public, y_public)
        X, y, owners, public = rows_of_files(self, X, y, owners=owners, public=public, numbers=True)
        table = accept_rows(self, X, public)
        targets = accept_labels(self, table, y, finite=public is None)
        if targets.dtype.kind in "mM":
            raise ValueError(
                f"y is of type {targets.dtype}, and targets must be numbers: say since when, as "
                "(y - first) / numpy.timedelta64(1, 'D')"
            )
        names = owner_names(owners, len(targets))
        if isinstance(public, Sample):  # as files give it
            part = accept_sample(self, public, owners=len(targets))
        else:
            sample = (
                draw_numbers(self, table, targets, stream)
                if public is None
                else accept_numbers(self, public, rows=len(targets))
            )
            part = sample.part(self.schema, self.target_range)
        self.schema_, known = part.sample.schema, part.sample.public
        self.range_ = Range(*self.schema_.classes)
        rest = np.flatnonzero(~part.taken)
        inputs = SiteInputs(
            X=self.schema_.encode(table[rest]).X,
            y=label_numbers(targets[rest], self.schema_),
            names=names[rest],
            X0=known.X,
            y0=known.y,
            classes=0,
            source=part.source,
            bounds=(self.range_.low, self.range_.high),
        )
        self._ensemble(inputs, stream)
        self.public_only_score_ = self.model_.public_only_score(known.y, inputs.bounds)
        return self

    def check_parameters(self) -> None:
        """Refuse parameters that cannot be meant, before rows are looked at."""
        super().check_parameters()
        if self.target_range is not None:
            _range_of(self.target_range)

    def predict(self, X: Any) -> FloatArray:
        """Targets, inside the public range."""
        if names_files(X):
            return predict_rows(self, X)[:, 0]
        scores = self._scores(X)
        return self.range_.numbers(scores[:, 0])

    def _take_up(self, model: Any) -> None:
        super()._take_up(model)
        self.range_ = Range(*model.bounds)
