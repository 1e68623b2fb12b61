"""The methods that are compared on paper C's data, at one setting: their test errors."""

from dataclasses import dataclass

import numpy as np

from tacit.cohort import Cohort
from tacit.ensembles.combine import PublicOnly
from tacit.ensembles.rehearsal import rehearse
from tacit.ensembles.sites import combined_sites, models_of_public
from tacit.learners.lens import Lens, fit_lens
from tacit.learners.losses import HuberHinge
from tacit.learners.query import Estimates
from tacit.learners.site import TrainSite
from tacit.streams import Stream
from tacit.types import FloatArray, IntArray

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


def errors_of(setting: Setting, train: Part, test: Part, coins: Stream) -> dict[str, float]:
    """Test error of every method. The first records of `train` are public, the others the sites', one after another."""
    X0, y0, X, y, X1 = _projected(setting, train, test)
    sites = Cohort.of(X, y, np.arange(len(y)) // setting.records)
    first = fit_lens(X0, intercept=False)
    alone = models_of_public(_question(setting, first, "none"), X0, y0)
    shown = first.see(X1)
    errors: dict[str, float] = {}

    def measure(name: str, vector: FloatArray) -> None:
        errors[name] = float(np.mean((shown @ vector > 0) != test[1]))

    for short, privacy in (("no privacy", "none"), ("as published", "published"), ("exact", "objective")):
        query = _question(setting, first, privacy)
        if privacy == "objective":
            query = rehearse(query, X0, y0, setting.epsilon, None)
            shown = query.lens.see(X1)
        told = _told(query, sites, setting.epsilon, coins.child(privacy))
        baseline: tuple[PublicOnly, ...] = alone if query.lens is first else models_of_public(query, X0, y0)
        for combine in ("feature", "average"):
            letters = combine[0].upper() + ("N" if privacy == "none" else "L")
            model = combined_sites(query, told, X0, y0, combine, baseline)
            measure(f"{letters} {combine}, {short}", model.vectors[0])
        if privacy == "objective":
            measure("ours", combined_sites(query, told, X0, y0, "guarded", baseline).vectors[0])
            measure("public rows alone", baseline[0].f)
    return errors


def _projected(
    setting: Setting, train: Part, test: Part
) -> tuple[FloatArray, IntArray, FloatArray, IntArray, FloatArray]:
    """Public rows, sites' rows and test rows, on the principal components of the public ones."""
    X, y = train
    m = setting.records
    lens = fit_lens(X[:m], setting.components, intercept=False)
    wide = Lens(lens.centre, lens.directions, float(np.sqrt(lens.dim)))
    seen = wide.see(X)
    return seen[:m], y[:m], seen[m:], y[m:], wide.see(test[0])


def _question(setting: Setting, lens: Lens, privacy: str) -> TrainSite:
    ridge = None if privacy == "objective" else 2 * setting.strength * setting.records
    return TrainSite(1, 1, None, lens, HuberHinge(), 2, privacy, (setting.epsilon,), ridge)


def _told(query: TrainSite, sites: Cohort, epsilon: float, coins: Stream) -> Estimates:
    return query.answer(query.collect(query.release(sites, epsilon, coins), epsilon))
