"""Paper C again, at its own settings: error against epsilon, records per site and sites, and four hospitals.

`reproduce_c` yields rows. Curves are the paper's (feature and average, with privacy as published and without), the same
two with exact noise, ours, and what nobody published: the public rows alone.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import make_classification

from tacit.checks import bad
from tacit.datasets import covertype, load_mnist
from tacit.experiments.hospitals import HospitalRow, hospital_rows
from tacit.experiments.paper_c_methods import METHODS, Setting, errors_of
from tacit.streams import seeded
from tacit.types import FloatArray, IntArray

Progress = Callable[[int, int, str], None]  # steps done, steps in all, what was done
Part = tuple[FloatArray, IntArray]
Load = Callable[[str], Part]

DATASETS = ("mnist", "covertype", "heart")
_TEST_SHARE = 0.3  # as in the paper: 3,718 of 12,396 and 148,543 of 495,141
_USUAL_EPSILON = 0.1  # where records per site or sites vary; the paper does not say which it took


@dataclass(frozen=True)
class Plan:
    """What is varied on a data set, one thing at a time. `rows` counts training rows, the aggregator's included."""

    strength: float  # Lambda of the paper
    components: int | None
    rows: int
    sites: int
    epsilons: tuple[float, ...]
    records: tuple[int, ...]
    numbers: tuple[int, ...]

    @property
    def settings(self) -> list[tuple[str, Setting]]:
        """(what is varied, setting); at each, public rows are as many as the records of one site."""
        whole = self.rows // (self.sites + 1)
        made = [("epsilon", self._setting(epsilon, whole, self.sites)) for epsilon in self.epsilons]
        made += [("records", self._setting(_USUAL_EPSILON, records, self.sites)) for records in self.records]
        made += [("sites", self._setting(_USUAL_EPSILON, self.rows // (n + 1), n)) for n in self.numbers]
        return made

    def _setting(self, epsilon: float, records: int, sites: int) -> Setting:
        return Setting(epsilon, min(records, self.rows // (sites + 1)), sites, self.strength, self.components)


PLANS = {
    "mnist": Plan(
        1e-2, 50, 8_678, 10, (0.025, 0.05, 0.1, 0.15, 0.2, 0.25), (39, 158, 394, 789), (2, 5, 10, 20)
    ),
    "covertype": Plan(
        1e-7, None, 346_598, 10, (0.025, 0.05, 0.1, 0.25), (3_151, 10_503, 31_509), (5, 10, 20)
    ),
}  # fmt: skip
_QUICK = {"synthetic": Plan(1e-2, None, 4_000, 5, (0.05, 0.25), (100,), (10,))}


@dataclass(frozen=True)
class SiteRow:
    """Test error of one method at one point of one curve, mean and spread over runs."""

    dataset: str
    varied: str
    epsilon: float
    records: int
    sites: int
    method: str
    mean: float
    std: float
    runs: int
    unsound: str

    @property
    def at(self) -> float:
        """The value of what is varied."""
        return {"epsilon": self.epsilon, "records": self.records, "sites": self.sites}[self.varied]


Row = SiteRow | HospitalRow


def reproduce_c(
    quick: bool,
    seed: int = 1,
    datasets: Iterable[str] = DATASETS,
    progress: Progress = lambda done, total, what: None,
    load: Load | None = None,
) -> Iterator[Row]:
    """Rows of paper C, data set by data set. Full: 10 runs at the paper's settings. Quick: 2 runs on made-up rows.

    `progress` hears of every run. `load` finds all rows of a data set by its name.
    """
    wanted = set(datasets)
    if not wanted <= set(DATASETS):
        raise bad("datasets", f"among {DATASETS}", sorted(wanted - set(DATASETS)))
    plans = _QUICK if quick else {name: plan for name, plan in PLANS.items() if name in wanted}
    runs = 2 if quick else 10
    heart = not quick and "heart" in wanted
    total = runs * sum(len(_groups(each for _, each in plan.settings)) for plan in plans.values()) + (
        runs if heart else 0
    )
    done = 0

    def tick(what: str) -> None:
        nonlocal done
        done += 1
        progress(done, total, what)

    for name, plan in plans.items():
        yield from _curves(name, plan, (load or load_rows)(name), runs, seed, tick)
    if heart:
        yield from hospital_rows(runs, seed, tick)


def load_rows(name: str) -> Part:
    """All rows of a data set, classes 0 and 1."""
    if name == "mnist":
        images = load_mnist()
        chosen = np.isin(images.train_labels, (3, 7))
        flat = images.train[chosen].reshape(-1, 28 * 28) / 127.5 - 1
        return flat, (images.train_labels[chosen] == 7).astype(np.int64)
    if name == "covertype":
        split = covertype(public=1)
        parts = [split.X_train, split.X_public, split.X_test], [split.y_train, split.y_public, split.y_test]
        return np.concatenate(parts[0]), np.concatenate(parts[1])
    if name == "synthetic":
        X, y = make_classification(6_000, n_features=20, n_informative=10, n_redundant=10, random_state=1)
        return X, y.astype(np.int64)
    raise bad("data set", f"one of {DATASETS}", name)


def _groups(settings: Iterable[Setting]) -> list[list[Setting]]:
    """Settings that differ in epsilon alone, together."""
    groups: dict[tuple[int, int], list[Setting]] = {}
    for setting in dict.fromkeys(settings):
        groups.setdefault((setting.records, setting.sites), []).append(setting)
    return list(groups.values())


def _curves(name: str, plan: Plan, rows: Part, runs: int, seed: int, tick: Callable[[str], None]) -> Iterator[SiteRow]:
    """All points of a data set; a point that several curves share is measured once."""
    X, y = rows
    found: dict[Setting, dict[str, list[float]]] = {setting: {} for _, setting in plan.settings}
    for run in range(runs):
        order = np.random.default_rng([seed, run]).permutation(len(y))
        train, test = order[: plan.rows], order[plan.rows : plan.rows + int(_TEST_SHARE * len(y)) + 1]
        shown = X[test], y[test]
        for number, group in enumerate(_groups(found)):
            own = train[: (group[0].sites + 1) * group[0].records]
            coins = seeded(seed).child("paper C", name, run, number)
            for setting, errors in zip(group, errors_of(group, (X[own], y[own]), shown, coins), strict=True):
                for method, error in errors.items():
                    found[setting].setdefault(method, []).append(error)
            tick(f"{name}, run {run + 1}, {group[0].sites} sites of {group[0].records}")
    for varied, setting in plan.settings:
        place = (setting.epsilon, setting.records, setting.sites)
        for method, measured in found[setting].items():
            each = np.array(measured)
            spread = float(each.std(ddof=1))
            yield SiteRow(name, varied, *place, method, float(each.mean()), spread, runs, METHODS[method])
