"""Shown, not told: what notebooks show of estimators, plans and guarantees; pictures in the manner
of scikit-learn's displays (matplotlib is the extra `plot`); a bar for long fits.

A display is made by `from_...`, which computes, and keeps what it drew (`ax_`, `figure_`); `plot`
draws it again. Accuracies are on rows that the caller gives: take your own, since an accuracy on
owners' rows is an exact figure of them.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from html import escape
from inspect import Signature, signature
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import check_consistent_length, column_or_1d

from tacit._util.types import AnyArray, FloatArray
from tacit.data.schema import Schema
from tacit.data.table import is_known
from tacit.estimators.budget import Budgeted
from tacit.estimators.explanation import Explained
from tacit.estimators.guarantee import Guarantee
from tacit.estimators.inputs import INSTEAD, no_such_argument
from tacit.estimators.persistence import Savable
from tacit.estimators.planning import Plan

# seen on white and on dark pages alike, as are figures that nothing is painted behind
_OURS, _PUBLIC, _AGAINST = "#17879c", "#7b8487", "#c8641a"
_LETTERS = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
_ON_ANY_PAGE: dict[Any, Any] = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
} | dict.fromkeys(_LETTERS, "#767676")
_STYLE = "border-collapse:collapse;font-size:.9em"
_CELL = "text-align:left;padding:.15em .8em .15em 0;vertical-align:top;white-space:normal"


def table_html(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in the colours of the notebook that it is in.

    >>> table_html((), [("unit", "a < b")]).count("a &lt; b")
    1
    """
    head = "".join(f'<th style="{_CELL}">{escape(cell)}</th>' for cell in heading)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in line) + "</tr>"
        for line in lines
    )
    return f'<table style="{_STYLE}">{f"<tr>{head}</tr>" if head else ""}{body}</table>'


def guarantee_html(promise: Guarantee) -> str:
    """The promise first, then its terms, then what is not protected."""
    terms = [*promise.terms]
    terms += [("not protected", sentence) for sentence in promise.not_protected]
    terms += [("not to be published", promise.held)] if promise.held else []
    colour = "color:#c0392b" if promise.void or promise.in_clear else ""
    return f'<p style="{colour}"><b>{escape(promise.headline)}</b></p>{table_html((), terms)}'


def plan_html(plan: Plan) -> str:
    """The advice, and a bar of what owners should add to the data user's own rows."""
    mark = "Collect" if plan.collect else "Do not collect"
    bars = ""
    if plan.public_accuracy is not None and plan.accuracy is not None:
        alone, together = 100 * plan.public_accuracy, 100 * plan.accuracy
        for name, value, colour in (("alone", alone, "#8a9599"), ("with owners", together, _OURS)):
            bars += (
                '<div style="display:flex;gap:.6em;white-space:nowrap;margin:.2em 0">'
                f'<span style="flex:none;width:6.5em">{name}</span>'
                f'<span style="flex:none;background:{colour};width:{value / 10:.2f}em"></span>'
                f"<span>{value:.1f} %</span></div>"
            )
    measured = plan.public_measures
    others = "" if measured is None else f"Your own rows alone, cross-validated: {measured.others}."
    return f"<p><b>{mark}</b></p>{bars}<p>{escape(str(plan))}</p><p>{escape(others)}</p>"


class Shown:
    """Of estimators: after a fit, what they promise is below scikit-learn's picture of them."""

    def _repr_html_inner(self) -> str:
        picture: Any = super()
        fitted: Any = self
        promise = getattr(fitted, "guarantee_", None)
        told = "" if promise is None else guarantee_html(promise)
        return str(picture._repr_html_inner()) + told

    def _repr_mimebundle_(self, **given: Any) -> dict[str, str]:
        bundle: Any = super()
        found: dict[str, str] = bundle._repr_mimebundle_(**given)
        return found | ({"text/html": self._repr_html_inner()} if "text/html" in found else {})


@dataclass(kw_only=True)
class _Display:
    """What all displays share: an axis of their own, or one that is given."""

    ax_: Any = field(init=False, default=None, repr=False)
    figure_: Any = field(init=False, default=None, repr=False)

    def _axis(self, ax: Any) -> Any:
        if ax is None:
            from matplotlib import pyplot

            plain = pyplot.rcParams["figure.facecolor"] == "white"  # a style of the user's stays
            with pyplot.rc_context(_ON_ANY_PAGE if plain else {}):
                _, ax = pyplot.subplots(layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def _show_ten_points(ax: Any) -> None:
    """Percents on an axis of ten points at least: a rise of one should not look like a leap."""
    low, high = ax.get_ylim()
    beside = max(0.0, 10 - (high - low)) / 2
    above = min(high + beside, max(high, 100.0))
    ax.set_ylim(min(low - beside, above - 10), above, auto=True)


@dataclass
class EpsilonCurveDisplay(_Display):
    """Accuracy against epsilon, and what the data user's own rows reach alone."""

    epsilon: FloatArray
    accuracy: FloatArray
    public_accuracy: float | None
    measured: str

    @classmethod
    def from_plan(cls, plans: Sequence[Plan], *, ax: Any = None) -> Self:
        """What several plans of the same rows expect, before anybody is asked."""
        known = sorted((plan.epsilon, plan.accuracy) for plan in plans if plan.accuracy is not None)
        if not known:
            raise ValueError(
                "plans must have an accuracy: there are too few public rows to tell"
                if plans
                else "plans must be at least one, as [plan(X, y, owners=100, epsilon=1.0)]"
            )
        epsilon, accuracy = (np.array(part, dtype=np.float64) for part in zip(*known, strict=True))
        alone = plans[0].public_accuracy
        return cls(epsilon, accuracy, alone, "accuracy, expected (cross-validated)").plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        test: tuple[Any, Any],
        epsilon: Sequence[float] = (0.5, 1.0, 2.0, 4.0),
        ax: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit clones over the owners of X and y at each epsilon, and measure on `test` rows.

        Every fit spends its epsilon: a `Budget` counts them. `public=(X0, y0)`, where it is given,
        is measured alone on the same test rows.
        """
        found = [
            clone(estimator).set_params(epsilon=each).fit(X, y, **fit_params) for each in epsilon
        ]
        accuracy = np.array([model.score(*test) for model in found])
        stages = next((model for model in found if hasattr(model, "staged_predict")), None)
        alone = None
        if stages is not None and hasattr(stages, "stages_"):  # the first is the own model
            alone = float(
                np.mean(next(iter(stages.staged_predict(test[0]))) == np.asarray(test[1]))
            )
        return cls(np.array(epsilon), accuracy, alone, "accuracy on test rows").plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it."""
        ax = self._axis(ax)
        ax.plot(self.epsilon, 100 * self.accuracy, marker="o", color=_OURS, label="with owners")
        if self.public_accuracy is not None:
            level = 100 * self.public_accuracy
            ax.axhline(level, color=_PUBLIC, linestyle="--", label="your public rows alone")
        ax.set(xscale="log", xlabel="epsilon", ylabel=f"{self.measured} in %")
        ax.set_xticks(self.epsilon, [f"{each:g}" for each in self.epsilon])
        ax.set_xticks([], minor=True)
        ax.legend(frameon=False, labelcolor=ax.xaxis.label.get_color())
        _show_ten_points(ax)
        return self


@dataclass
class StagesDisplay(_Display):
    """Accuracy after each round, on rows that the caller gives."""

    accuracy: FloatArray
    first: int

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Of an estimator with `staged_predict`."""
        if not hasattr(estimator, "staged_predict"):
            raise TypeError(
                f"StagesDisplay shows rounds of a fitted PrivateClassifier or PrivateBoosting, got "
                f"a {type(estimator).__name__}"
            )
        right = [float(np.mean(said == np.asarray(y))) for said in estimator.staged_predict(X)]
        own_first = hasattr(estimator, "stages_") and len(right) > len(estimator.report_)
        return cls(np.array(right), 0 if own_first else 1).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it; round 0 is the data user's own model."""
        ax = self._axis(ax)
        rounds = np.arange(self.first, self.first + len(self.accuracy))
        ax.plot(rounds, 100 * self.accuracy, marker="o", color=_OURS)
        ax.set(xlabel="round", ylabel="accuracy in %")
        ax.xaxis.get_major_locator().set_params(integer=True)
        _show_ten_points(ax)
        return self


@dataclass
class SitesDisplay(_Display):
    """The weight of every site's model in the ensemble."""

    sites: tuple[str, ...]
    weights: FloatArray

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Of a fitted ensemble of sites, or one that was read from a file."""
        if not all("site" in row for row in getattr(estimator, "report_", [{}])):
            raise TypeError(
                f"SitesDisplay shows a fitted ensemble of sites, got a {type(estimator).__name__}: "
                "fit it first, or let StagesDisplay show rounds"
            )
        names = tuple(str(row["site"]) for row in estimator.report_)
        weights = np.array([np.mean(np.abs(row["weights"])) for row in estimator.report_])
        return cls(names, weights).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it."""
        ax = self._axis(ax)
        ax.barh(self.sites, self.weights, color=_OURS)
        ax.invert_yaxis()
        largest = float(self.weights.max(initial=0.0))
        ax.set(xlabel="weight (0: its answer was not used)", xlim=(0, 1.05 * largest or 1))
        if not largest:
            said = "no answer was used:\nthe model is that of the public rows"
            ax.text(0.5, 0.5, said, ha="center", color=_PUBLIC, transform=ax.transAxes)
        return self


@dataclass
class ContributionsDisplay(_Display):
    """What columns add to one row's score, or how important they are for several."""

    names: tuple[str, ...]
    values: FloatArray
    unit: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, output: int = 0, most: int = 15, ax: Any = None
    ) -> Self:
        """Of the rows X: one row's contributions to an output, or several rows' importances."""
        found = estimator.explain(X)
        one = len(found.contributions) == 1
        values = found.contributions[0, :, output] if one else found.importances
        order = np.argsort(-np.abs(values), kind="stable")[:most]
        names = tuple(found.names[place] for place in order)
        return cls(names, values[order], found.unit).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it."""
        ax = self._axis(ax)
        colours = [_OURS if value >= 0 else _AGAINST for value in self.values]
        ax.barh(self.names, self.values, color=colours)
        ax.invert_yaxis()
        ax.axvline(0.0, color=_PUBLIC, linewidth=0.8)
        ax.set(xlabel=self.unit)
        return self


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """A bar for long fits, in terminals and notebooks.

    Parameters
    ----------
    total : int, default=None
        How many questions there are at most; None: nobody knows.

    Examples
    --------
    >>> with ProgressBar(total=10) as bar:  # model.fit(X, y, monitor=bar)
    ...     bar(3)
    False
    """

    def __init__(self, total: int | None = None) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(transient=True, console=Console(stderr=True))
        self._task = self._bar.add_task("asking owners", total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._bar.stop()

    def __call__(self, answered: int) -> bool:
        """Hear before each question how many were answered; it never stops a fit."""
        self._bar.update(self._task, completed=answered)
        return False


class EstimatorFace(Shown, Explained, Budgeted, Savable):
    """What all estimators have beside their fit: they are saved, explained, shown and charged."""

    __signature__: ClassVar[Signature]

    def __init_subclass__(cls, **named: Any) -> None:
        """Parameters are those of `__init__`; some Pythons would show those of `__new__`."""
        super().__init_subclass__(**named)
        _, *parameters = signature(cls.__init__).parameters.values()
        cls.__signature__ = Signature(parameters)

    def __new__(cls, *_given: Any, **named: Any) -> Self:
        """Weights that no estimator takes are refused with what to do instead."""
        for name in named.keys() & INSTEAD.keys():
            raise no_such_argument(cls.__name__, name)
        return super().__new__(cls)


class ClassifierFace(EstimatorFace, ClassifierMixin):  # type: ignore[misc]  # scikit-learn is untyped
    """What all classifiers have."""

    schema_: Schema

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on these rows. Labels are compared by what they say, as in a fit; rows without
        one do not count.
        """
        labels = np.asarray(column_or_1d(y))
        known = is_known(labels)
        said: AnyArray = np.asarray(self.predict(X))
        check_consistent_length(said, labels, sample_weight)
        if not known.any():
            raise ValueError("y has no label: there is nothing to compare predictions with")
        right = self.schema_.encode_labels(labels) == self.schema_.encode_labels(said)
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(right[known], weights=weights))
