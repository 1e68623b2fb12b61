"""The methods that are compared on paper C's data, at one setting: their test errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.site_tuning import projections_of, rehearse
from tacit.algorithms.site_weights import PublicOnly
from tacit.algorithms.sites import combined_sites, models_of_public
from tacit.data.cohort import Cohort
from tacit.learners.query import Estimates
from tacit.learners.sites.losses import HuberHinge
from tacit.learners.sites.projection import Projection, fit_projection
from tacit.learners.sites.train import TrainSite
from tacit.mechanisms.streams import Stream

Part = tuple[FloatArray, IntArray]

_FLOATS = "noise in floating point"
_OPEN = "no privacy"
METHODS = {  # why a method may only be simulated; empty: it is private
    "FN feature, no privacy": _OPEN,
    "AN average, no privacy": _OPEN,
    "FL feature, as published": _FLOATS,
    "AL average, as published": _FLOATS,
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
    X0, y0, X, y, X1 = _projected(settings[0], train, test)
    sites = Cohort.of(X, y, np.arange(len(y)) // settings[0].records)
    projections = projections_of(X0)
    views = {
        id(projection): _View(projection, X0, y0, projection.see(X1), test[1])
        for projection in projections
    }
    open_ = _question(settings[0], projections[0], "none")
    free = views[id(projections[0])].errors(
        "N", "no privacy", open_, _told(open_, sites, 1.0, coins)
    )
    found = []
    for number, setting in enumerate(settings):
        own = coins.child("setting", number)
        errors = dict(free)
        query = _question(setting, projections[0], "published")
        told = _told(query, sites, setting.epsilon, own.child("published"))
        errors |= views[id(projections[0])].errors("L", "as published", query, told)
        query = rehearse(
            _question(setting, projections[0], "objective"), X0, y0, setting.epsilon, projections
        )
        told = _told(query, sites, setting.epsilon, own.child("objective"))
        view = views[id(query.projection)]
        errors |= view.errors("L", "exact", query, told)
        errors["ours"] = view.error(view.combined(query, told, "guarded"))
        errors["public rows alone"] = view.error(view.alone[0].f)
        found.append(errors)
    return found


@dataclass(frozen=True, eq=False)
class _View:
    """Public and test rows through one lens."""

    projection: Projection
    X0: FloatArray
    y0: IntArray
    shown: FloatArray
    truth: IntArray

    @cached_property
    def alone(self) -> tuple[PublicOnly, ...]:
        query = TrainSite(1, 1, None, self.projection, HuberHinge(), 2, "none", (1.0,))
        return models_of_public(query, self.X0, self.y0)

    def combined(self, query: TrainSite, told: Estimates, combine: str) -> FloatArray:
        return np.asarray(
            combined_sites(query, told, self.X0, self.y0, combine, self.alone).vectors[0]
        )

    def errors(
        self, letter: str, short: str, query: TrainSite, told: Estimates
    ) -> dict[str, float]:
        """The paper's two ways to combine."""
        return {
            f"{combine[0].upper()}{letter} {combine}, {short}": self.error(
                self.combined(query, told, combine)
            )
            for combine in ("feature", "average")
        }

    def error(self, vector: FloatArray) -> float:
        return float(np.mean((self.shown @ vector > 0) != self.truth))


def _projected(
    setting: Setting, train: Part, test: Part
) -> tuple[FloatArray, IntArray, FloatArray, IntArray, FloatArray]:
    """Public rows, sites' rows and test rows, on the principal components of the public ones."""
    X, y = train
    m = setting.records
    projection = fit_projection(X[:m], setting.components, intercept=False)
    wide = Projection(projection.centre, projection.directions, float(np.sqrt(projection.dim)))
    seen = wide.see(X)
    return seen[:m], y[:m], seen[m:], y[m:], wide.see(test[0])


def _question(setting: Setting, projection: Projection, privacy: str) -> TrainSite:
    epsilon = 1.0 if privacy == "none" else setting.epsilon
    ridge = None if privacy == "objective" else 2 * setting.strength * setting.records
    return TrainSite(1, 1, None, projection, HuberHinge(), 2, privacy, (epsilon,), ridge)


def _told(query: TrainSite, sites: Cohort, epsilon: float, coins: Stream) -> Estimates:
    return query.answer(query.collect(query.release(sites, epsilon, coins), epsilon))
