"""Does locally private gradient boosting win anywhere? Against our default, on the same owners,
over many settings.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.algorithms.gradient_trees import Growth, blank, grow
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import discriminate, refine
from tacit.engines.inline import Inline
from tacit.mechanisms.streams import Stream, seeded
from tacit_papers.ours.tasks import Task, coins_of, seconds_of, task_for
from tacit_papers.rows_file import CellRow
from tacit_papers.runner import Cell

DATASETS = (
    "synthetic",
    "mnist 4 or 9",
    "adult",
    "covertype 1 or 2",
    "clusters 1e5",
    "board 1e5",
    "board 1e6",
)
EPSILONS = (1.0, 4.0)
PUBLIC_ROWS = (50, 1000)
GROWTHS = (Growth(1, 2), Growth(3, 2), Growth(4, 3))
RUNS, QUICK_RUNS = 3, 2


@dataclass(frozen=True)
class TreeRow:
    """Mean accuracies over runs at one setting. Of every kind of trees the best of `GROWTHS`,
    chosen in hindsight, which flatters them; `difference` is what trees have above the default,
    with its standard error.
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
        return self.difference > 2 * self.difference_error and above > max(
            self.public_only, self.private_only
        )


@dataclass(frozen=True)
class TreeRun:
    """Accuracy of one method in one run at one setting; of trees `method` also says how they
    were grown.
    """

    dataset: str
    owners: int
    rows_per_owner: int
    epsilon: float
    public_rows: int
    run: int
    method: str
    accuracy: float


@dataclass(frozen=True, kw_only=True)
class TreeCell(Cell):
    """Run number `run` of all methods on one task at one epsilon, with so many public rows."""

    paper: ClassVar[str] = "trees"

    epsilon: float
    public_rows: int
    run: int

    def rows(self) -> Iterator[TreeRun]:
        task = task_for(self.dataset, self.quick)
        stream = seeded(self.seed).child("trees")
        place = (self.dataset, task.owners, task.rows, self.epsilon, self.public_rows, self.run)
        for method, accuracy in _accuracies(task, self.epsilon, self.public_rows, self.run, stream):
            yield TreeRun(*place, method, accuracy)

    @property
    def title(self) -> str:
        return (
            f"{self.dataset}, epsilon {self.epsilon:g}, {self.public_rows:,} public rows, run "
            f"{self.run + 1}"
        )


KINDS = (CellRow, TreeRun)


def cells_trees(quick: bool, seed: int, datasets: Iterable[str]) -> list[Cell]:
    """Three runs for each data set, epsilon and size of the data user's sample; quick: two of
    made-up rows.
    """
    settings = [(e, n) for e in EPSILONS for n in PUBLIC_ROWS][: 1 if quick else None]
    return [
        TreeCell(
            where="trees",
            dataset=name,
            runs=1,
            seed=seed,
            quick=quick,
            cost=seconds_of(name, quick),
            epsilon=epsilon,
            public_rows=rows,
            run=run,
        )
        for name in (["synthetic"] if quick else datasets)
        for epsilon, rows in settings
        for run in range(QUICK_RUNS if quick else RUNS)
    ]


def rows_trees(found: Iterable[object]) -> list[TreeRow]:
    """A row per setting, from the runs that are there; settings with a single one, of a run that
    was stopped, wait.
    """
    kept: dict[tuple[str, float, int], dict[int, dict[str, TreeRun]]] = {}
    for each in found:
        if isinstance(each, TreeRun):
            setting = kept.setdefault((each.dataset, each.epsilon, each.public_rows), {})
            setting.setdefault(each.run, {})[each.method] = each
    order = {
        key: place
        for place, key in enumerate(
            (d, e, n) for d in DATASETS for e in EPSILONS for n in PUBLIC_ROWS
        )
    }
    settings = sorted(kept, key=lambda key: order.get(key, len(order)))
    return [
        _row([kept[key][run] for run in sorted(kept[key])])
        for key in settings
        if len(kept[key]) > 1
    ]


def _row(found: list[dict[str, TreeRun]]) -> TreeRow:
    means = {method: float(np.mean([one[method].accuracy for one in found])) for method in found[0]}
    best = {
        start: max(GROWTHS, key=lambda g: means[_key(start, g)]) for start in ("alone", "on public")
    }
    top = max((_key(start, growth) for start, growth in best.items()), key=lambda key: means[key])
    rises = np.array([one[top].accuracy - one["default"].accuracy for one in found])
    first = found[0]["default"]
    return TreeRow(
        dataset=first.dataset,
        owners=first.owners,
        rows_per_owner=first.rows_per_owner,
        epsilon=first.epsilon,
        public_rows=first.public_rows,
        runs=len(found),
        public_only=means["public only"],
        default=means["default"],
        private_only=means["private only"],
        trees_alone=means[_key("alone", best["alone"])],
        trees_alone_growth=_name(best["alone"]),
        trees_on_public=means[_key("on public", best["on public"])],
        trees_on_public_growth=_name(best["on public"]),
        difference=float(rises.mean()),
        difference_error=float(rises.std(ddof=1) / np.sqrt(len(found))),
    )


def _accuracies(
    task: Task, epsilon: float, rows: int, run: int, stream: Stream
) -> Iterator[tuple[str, float]]:
    public, cohort = task.public(rows, run), task.cohort(run)
    own, crowd = fit_public(public), Population(len(cohort), epsilon, task.rows)
    asks = {
        "default": refine(public, crowd, "auto", epsilon, own=own),
        "private only": discriminate(public, crowd, "auto", epsilon, own),
    }
    place = (task.name, epsilon, rows, run)
    yield "public only", task.accuracy(own.model.predict(task.split.X_test))
    for name, generator in asks.items():
        coins = coins_of(stream, name, *place)
        yield (
            name,
            task.accuracy(
                Inline(cohort, epsilon, coins).run(generator).model.predict(task.split.X_test)
            ),
        )
    for start, model in (("alone", blank(public)), ("on public", own)):
        for growth in GROWTHS:
            coins = coins_of(stream, _key(start, growth), *place)
            grown = Inline(cohort, epsilon, coins).run(
                grow(public, crowd, "auto", epsilon, growth=growth, own=model)
            )
            yield _key(start, growth), task.accuracy(grown.model.predict(task.split.X_test))


def _key(start: str, growth: Growth) -> str:
    return f"trees {start}, {_name(growth)}"


def _name(growth: Growth) -> str:
    return f"{growth.trees} of depth {growth.depth}"
