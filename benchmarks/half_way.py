"""How much of the way from public rows alone to all rows in one place two servers go.

    python -m benchmarks.half_way --task "fashion 0 or 6" --task "mnist ten" --runs 10

All rows in one place are the same family of models without any privacy: logistic regression over
the features that owners were asked about, its ridge chosen on a tenth of the rows, fitted for the
first run alone (`--together` so many). Owners' images are training images and moved copies of them,
test images are as they were, and public ones too. So there is a second line for images: what is
right of test images and moved copies of them, made as owners' rows are of theirs, which nobody has
trained on. It tells what owners brought about rows of their kind, and it has more rows to tell it.

The error of a mean over runs is that of owners and noise: all runs have the same test rows.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.algorithms.summed_gradients import SummedGradients
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.models.features import FeatureMap
from tacit.learners.models.scores import Mapped, ScoreModel
from tacit.mechanisms.streams import seeded
from tacit.sums import HOW
from tacit_papers.datasets.augment import augment, cut
from tacit_papers.datasets.images import Images, load_fashion, load_mnist
from tacit_papers.datasets.words import fit_words
from tacit_papers.ours.tasks import Task, task_of

_RIDGES, _KEPT_OUT, _ITERATIONS = (4.0, 64.0), 0.1, 60  # of all rows in one place
_AS_THEY_ARE, _AS_OWNERS = "test rows", "made as owners'"
TestRows = tuple[FloatArray, IntArray]


@dataclass(frozen=True)
class Pictures:
    """How a task's rows were made of images; `per_class` are the owners' of each class."""

    load: Callable[[bool], Images]
    classes: tuple[int, ...]
    words: int
    per_class: int = 20_000
    test_per_class: int = 1_000
    place: float = 0.0
    public: int = 1_000

    def made_as_owners(self, task: Task) -> TestRows:
        """Test images and moved copies of them, in the proportion of owners' rows."""
        images = self.load(False)
        given = {"test_per_class": self.test_per_class, "public": self.public, "seed": 0}
        parts = cut(images, self.classes, per_class=1, **given)
        features = fit_words(parts.public, self.words, 0, self.place).transform
        if not np.array_equal(features(parts.test), task.split.X_test):
            raise SystemExit(f"the rows of {task.name} are not made so any more")
        made, labels = [], []
        for number, label in enumerate(self.classes):
            shown = parts.test[parts.y_test == number]
            known = np.count_nonzero(parts.y_public == number)
            originals = np.count_nonzero(images.train_labels == label) - known
            total = round(len(shown) * self.per_class / originals)
            made.append(features(augment(shown, total, number)))
            labels.append(np.full(total, number))
        return np.vstack(made), np.concatenate(labels)


PICTURES = {
    "mnist 4 or 9": Pictures(load_mnist, (4, 9), 50),
    "fashion 0 or 6": Pictures(load_fashion, (0, 6), 100),
    "mnist ten": Pictures(
        load_mnist, tuple(range(10)), 50, per_class=6_000, test_per_class=890, place=1.0
    ),
}


def fit_together(features: FeatureMap, cohort: Cohort, public: Public) -> ScoreModel:
    """The same family of models from all rows in one place, without privacy."""
    X, y = np.vstack([cohort.X, public.X]), np.concatenate([cohort.y, public.y])
    phi, known = features.transform(X), np.random.default_rng(0).random(len(y)) > _KEPT_OUT

    def fit(ridge: float, rows: BoolArray) -> FloatArray:
        made = LogisticRegression(C=ridge, fit_intercept=False, max_iter=_ITERATIONS)
        found = made.fit(phi[rows], y[rows]).coef_
        return found if len(found) > 1 else np.vstack([-found, found]) / 2

    def right(ridge: float) -> float:
        guesses = (phi[~known] @ fit(ridge, known).T).argmax(axis=1)
        return float(np.mean(guesses == y[~known]))

    weights = fit(max(_RIDGES, key=right), np.ones(len(y), dtype=np.bool_))
    return ScoreModel(public.classes, (Mapped(features, np.ascontiguousarray(weights.T)),))


@dataclass(frozen=True)
class Walk:
    """Accuracies in percent by kind of test rows, of one run."""

    public_only: dict[str, float]
    two_servers: dict[str, float]
    together: dict[str, float] | None


def walk(
    task: Task,
    tests: dict[str, TestRows],
    public: Public,
    epsilon: float,
    run: int,
    *,
    whole: bool,
) -> Walk:
    """One run; `whole`: with all rows in one place."""

    def right(model: ScoreModel) -> dict[str, float]:
        return {kind: 100 * float(np.mean(model.predict(X) == y)) for kind, (X, y) in tests.items()}

    cohort = task.cohort(run)
    own, crowd = fit_public(public), Population(len(cohort), epsilon, task.rows, HOW)
    look = look_ahead(public, own, crowd)
    if not isinstance(look.combination, SummedGradients):
        raise SystemExit(f"{task.name}: owners would not be asked about sums")
    asks = refine(public, crowd, "auto", epsilon, own=own, outlook=look)
    reached = Inline(cohort, epsilon, seeded(run)).run(asks).model
    together = right(fit_together(look.combination.map, cohort, public)) if whole else None
    return Walk(right(own.model), right(reached), together)


def tell(task: Task, walks: list[Walk]) -> None:
    """A line for each kind of test rows."""
    whole = [each.together for each in walks if each.together is not None]
    for kind in walks[0].public_only:
        alone = np.array([each.public_only[kind] for each in walks])
        with_owners = np.array([each.two_servers[kind] for each in walks])
        all_rows = float(np.mean([each[kind] for each in whole]))
        way = (with_owners - alone) / (all_rows - alone)
        error = way.std(ddof=1) / np.sqrt(len(way)) if len(way) > 1 else float("nan")
        print(
            f"{task.name:16s} {kind:16s} {alone.mean():7.2f} {with_owners.mean():12.2f} "
            f"{all_rows:9.2f} {100 * way.mean():7.0f} % ± {100 * error:.0f}   ({len(way)} runs)",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", action="append", required=True)
    parser.add_argument("--public", type=int, default=1000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--together", type=int, default=1, help="runs with all rows in one place")
    given = parser.parse_args()
    print(f"{'':34s} public  two servers  all rows    of the way")
    for name in given.task:
        task = task_of(name)
        tests = {_AS_THEY_ARE: (task.split.X_test, task.split.y_test)}
        if name in PICTURES:
            tests[_AS_OWNERS] = PICTURES[name].made_as_owners(task)
        walks = []
        for run in range(given.runs):
            public, whole = task.public(given.public, run), run < given.together
            walks.append(walk(task, tests, public, given.epsilon, run, whole=whole))
        tell(task, walks)


if __name__ == "__main__":
    main()
