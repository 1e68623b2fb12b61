"""The methods that are compared on paper C's data, at one setting: their test errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.site_weights import PublicOnly
from tacit.algorithms.sites import combine_sites, models_of_public, projections_of, tune_site
from tacit.data.cohort import Cohort
from tacit.learners.query import Estimates
from tacit.learners.sites.losses import HuberHinge
from tacit.learners.sites.projection import Projection, fit_projection
from tacit.learners.sites.train import TrainSite
from tacit.mechanisms.streams import Stream

Part = tuple[FloatArray, IntArray]

_FLOATS = "noise in floating point"
_OPEN = "no privacy"
READINGS = {  # of paper C's rule for the noise, by what the site query calls them
    "published": "as published",
    "published, Lambda": "as published with Lambda",
}
METHODS = {  # why a method may only be simulated; empty: it is private
    "FN feature, no privacy": _OPEN,
    "AN average, no privacy": _OPEN,
    "one site, no privacy": _OPEN,
    "FL feature, as published": _FLOATS,
    "AL average, as published": _FLOATS,
    "FL feature, as published with Lambda": _FLOATS,
    "AL average, as published with Lambda": _FLOATS,
    "FL feature, exact": "",
    "AL average, exact": "",
    "ours": "",
    "public rows alone": "",
}


@dataclass(frozen=True)
class Setting:
    """One point of a curve: N sites with so many records, and as many public rows."""

    epsilon: float
    records: int
    sites: int
    strength: float
    components: int | None


def errors_of(
    settings: Sequence[Setting], train: Part, test: Part, coins: Stream
) -> list[dict[str, float]]:
    """Test errors of every method at each setting; settings differ in epsilon alone, and share what
    it does not touch.

    The first records of `train` are public, the others the sites', one after another.
    """
    X0, y0, X, y, X1 = _project(settings[0], train, test)
    sites = Cohort.of(X, y, np.arange(len(y)) // settings[0].records)
    projections = projections_of(X0)
    views = {
        id(projection): _View(projection, X0, y0, projection.see(X1), test[1])
        for projection in projections
    }
    open_ = _question(settings[0], projections[0], "none")
    view, answer = views[id(projections[0])], _ask(open_, sites, 1.0, coins)
    free = view.errors("N", "no privacy", open_, answer)
    free["one site, no privacy"] = float(np.mean([view.error(f) for f in answer.values]))
    found = []
    for number, setting in enumerate(settings):
        own = coins.child("setting", number)
        errors = dict(free)
        for privacy, reading in READINGS.items():
            query = _question(setting, projections[0], privacy)
            answer = _ask(query, sites, setting.epsilon, own.child(privacy))
            errors |= views[id(projections[0])].errors("L", reading, query, answer)
        query = tune_site(
            _question(setting, projections[0], "objective"), X0, y0, setting.epsilon, projections
        )
        answer = _ask(query, sites, setting.epsilon, own.child("objective"))
        view = views[id(query.projection)]
        errors |= view.errors("L", "exact", query, answer)
        errors["ours"] = view.error(view.combine(query, answer, "guarded"))
        errors["public rows alone"] = view.error(view.alone[0].f)
        found.append(errors)
    return found


@dataclass(frozen=True, eq=False)
class _View:
    """Public and test rows through one projection."""

    projection: Projection
    X0: FloatArray
    y0: IntArray
    shown: FloatArray
    truth: IntArray

    @cached_property
    def alone(self) -> tuple[PublicOnly, ...]:
        return models_of_public(site_query(self.projection, "none", 1.0), self.X0, self.y0)

    def combine(self, query: TrainSite, answer: Estimates, combine: str) -> FloatArray:
        model = combine_sites(query, answer, self.X0, self.y0, combine=combine, alone=self.alone)
        return np.asarray(model.vectors[0])

    def errors(
        self, letter: str, short: str, query: TrainSite, answer: Estimates
    ) -> dict[str, float]:
        """The paper's two ways to combine."""
        return {
            f"{combine[0].upper()}{letter} {combine}, {short}": self.error(
                self.combine(query, answer, combine)
            )
            for combine in ("feature", "average")
        }

    def error(self, vector: FloatArray) -> float:
        return float(np.mean((self.shown @ vector > 0) != self.truth))


def _project(
    setting: Setting, train: Part, test: Part
) -> tuple[FloatArray, IntArray, FloatArray, IntArray, FloatArray]:
    """Public rows, sites' rows and test rows, on the principal components of the public ones."""
    X, y = train
    m = setting.records
    projection = fit_projection(X[:m], setting.components, intercept=False)
    wide = Projection(projection.centre, projection.directions, float(np.sqrt(projection.dim)))
    seen = wide.see(X)
    return seen[:m], y[:m], seen[m:], y[m:], wide.see(test[0])


def site_query(
    projection: Projection, privacy: str, epsilon: float, ridge: float | None = None
) -> TrainSite:
    """Asks sites for a linear model of two classes with the paper's loss."""
    return TrainSite(
        1,
        1,
        None,
        projection=projection,
        loss=HuberHinge(),
        labels=2,
        privacy=privacy,
        menu=(epsilon,),
        ridge=ridge,
    )


def _question(setting: Setting, projection: Projection, privacy: str) -> TrainSite:
    epsilon = 1.0 if privacy == "none" else setting.epsilon
    ridge = None if privacy == "objective" else 2 * setting.strength * setting.records
    return site_query(projection, privacy, epsilon, ridge)


def _ask(query: TrainSite, sites: Cohort, epsilon: float, coins: Stream) -> Estimates:
    return query.answer(query.collect(query.release(sites, epsilon, coins), epsilon))
