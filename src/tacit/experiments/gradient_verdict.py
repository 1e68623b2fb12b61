"""Does locally private gradient boosting win anywhere? Against our default, on the same owners, over many settings."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tacit.engines.inline import Inline
from tacit.ensembles.combination import Crowd
from tacit.ensembles.grow import Growth, blank, grow
from tacit.ensembles.public_model import fit_public
from tacit.ensembles.refine import discriminate, refine
from tacit.experiments.ahead_tasks import Task, coins_of, quick_task, task_of
from tacit.streams import Stream, seeded

DATASETS = ("synthetic", "mnist 4 or 9", "adult", "covertype 1 or 2", "clusters 1e5", "board 1e5", "board 1e6")
EPSILONS = (1.0, 4.0)
PUBLIC_ROWS = (50, 1000)
GROWTHS = (Growth(1, 2), Growth(3, 2), Growth(4, 3))
_RUNS = 3


@dataclass(frozen=True)
class TreeRow:
    """Mean accuracies over runs at one setting. Of every kind of trees the best of `GROWTHS`, chosen in hindsight,
    which flatters them; `difference` is what trees have above the default, with its standard error.
    """

    dataset: str
    owners: int
    rows_per_owner: int
    epsilon: float
    public_rows: int
    runs: int
    public_only: float
    default: float
    private_only: float
    trees_alone: float
    trees_alone_growth: str
    trees_on_public: float
    trees_on_public_growth: str
    difference: float
    difference_error: float

    @property
    def wins(self) -> bool:
        """More than two standard errors above both the default and the data user's own model."""
        above = max(self.trees_alone, self.trees_on_public)
        return self.difference > 2 * self.difference_error and above > max(self.public_only, self.private_only)


def reproduce_trees(
    quick: bool,
    seed: int = 1,
    datasets: Iterable[str] = DATASETS,
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> Iterator[TreeRow]:
    """A row per data set, epsilon and size of the data user's sample; quick: made-up rows."""
    names = ["made up"] if quick else list(datasets)
    settings = [(e, n) for e in EPSILONS for n in PUBLIC_ROWS]
    stream, done = seeded(seed).child("trees"), 0
    for name in names:
        task = quick_task() if quick else task_of(name)
        for epsilon, rows in settings[: 1 if quick else None]:
            yield _row(task, epsilon, rows, 2 if quick else _RUNS, stream)
            done += 1
            progress(done, len(names) * len(settings), f"{name}, epsilon {epsilon:g}, {rows:,} public rows")


def _row(task: Task, epsilon: float, rows: int, runs: int, stream: Stream) -> TreeRow:
    found = [_accuracies(task, epsilon, rows, run, stream) for run in range(runs)]
    means = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
    best = {start: max(GROWTHS, key=lambda g: means[_key(start, g)]) for start in ("alone", "on public")}
    top = max((_key(start, growth) for start, growth in best.items()), key=lambda key: means[key])
    rises = np.array([one[top] - one["default"] for one in found])
    return TreeRow(
        dataset=task.name,
        owners=task.owners,
        rows_per_owner=task.rows,
        epsilon=epsilon,
        public_rows=rows,
        runs=runs,
        public_only=means["public only"],
        default=means["default"],
        private_only=means["private only"],
        trees_alone=means[_key("alone", best["alone"])],
        trees_alone_growth=_name(best["alone"]),
        trees_on_public=means[_key("on public", best["on public"])],
        trees_on_public_growth=_name(best["on public"]),
        difference=float(rises.mean()),
        difference_error=float(rises.std(ddof=1) / np.sqrt(runs)),
    )


def _accuracies(task: Task, epsilon: float, rows: int, run: int, stream: Stream) -> dict[str, float]:
    public, cohort = task.public(rows, run), task.cohort(run)
    own, crowd = fit_public(public), Crowd(len(cohort), epsilon, task.rows)
    asks = {
        "default": refine(public, crowd, "auto", epsilon, own=own),
        "private only": discriminate(public, crowd, "auto", epsilon, own),
    }
    found = {"public only": task.accuracy(own.model.predict(task.split.X_test))}
    for name, generator in asks.items():
        coins = coins_of(stream, name, task.name, epsilon, rows, run)
        found[name] = task.accuracy(Inline(cohort, epsilon, coins).run(generator).model.predict(task.split.X_test))
    for start, model in (("alone", blank(public)), ("on public", own)):
        for growth in GROWTHS:
            coins = coins_of(stream, _key(start, growth), task.name, epsilon, rows, run)
            grown = Inline(cohort, epsilon, coins).run(grow(public, crowd, "auto", epsilon, growth, model))
            found[_key(start, growth)] = task.accuracy(grown.model.predict(task.split.X_test))
    return found


def _key(start: str, growth: Growth) -> str:
    return f"trees {start}, {_name(growth)}"


def _name(growth: Growth) -> str:
    return f"{growth.trees} of depth {growth.depth}"
