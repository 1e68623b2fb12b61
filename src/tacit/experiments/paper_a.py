"""Paper A again, at its own settings: `reproduce_a` yields the rows of Tables II to IV and of the curves."""

from collections.abc import Callable, Iterable, Iterator

from tacit.checks import bad
from tacit.datasets import brazil, fashion_words, mnist_words, synthetic
from tacit.datasets.split import Split
from tacit.experiments.paper_a_curves import CurveRow, CurveSetting, PublicRow, curve_rows, public_rows
from tacit.experiments.paper_a_tables import Setting, TableRow, Tick, table_rows
from tacit.experiments.published_a import EPSILONS
from tacit.streams import Stream, seeded

Row = TableRow | CurveRow | PublicRow
Progress = Callable[[int, int, str], None]  # steps done, steps in all, what was done
Load = Callable[[str, bool], Split]  # name of the data set, quick

DATASETS = ("synthetic", "mnist", "fashion", "brazil")
ROUNDS = 10
# Owners per round and rows of each, by table (or base learner of a curve) and data set.
SIZES: dict[str, dict[str, tuple[int, int]]] = {
    "II": {"synthetic": (2_000, 4), "mnist": (1_000, 4), "fashion": (1_000, 4)},
    "III": {"synthetic": (1_000, 80), "mnist": (200, 20), "fashion": (200, 20)},
    "IV": {"mnist": (100, 40), "fashion": (100, 40), "brazil": (10_000, 100)},
    "centroid": {"synthetic": (2_000, 4), "mnist": (1_000, 4)},
    "stump": {"synthetic": (1_000, 80), "mnist": (200, 20)},
}
# A look in seconds: made-up rows only, for Table IV too, which the paper has not.
_QUICK_SIZES: dict[str, dict[str, tuple[int, int]]] = {
    "II": {"synthetic": (2_000, 4)},
    "III": {"synthetic": (1_000, 80)},
    "IV": {"synthetic": (100, 40)},
    "centroid": {"synthetic": (2_000, 4)},
    "stump": {"synthetic": (200, 80)},
}
_CURVE_EPSILONS = (5.0, 7.0)


def reproduce_a(
    quick: bool,
    seed: int = 1,
    datasets: Iterable[str] = DATASETS,
    parts: Iterable[str] = ("II", "III", "IV", "centroid", "stump"),
    progress: Progress = lambda done, total, what: None,
    load: Load | None = None,
) -> Iterator[Row]:
    """Rows of paper A, data set by data set, part by part (a table, or the curves of a base learner).

    Full: 10 runs at the paper's settings. Quick: 2 runs on a few made-up rows, epsilon 1 and 7. `progress` hears of
    every run. `load` finds a data set by its name.
    """
    sizes = _QUICK_SIZES if quick else SIZES
    wanted, chosen = _known("datasets", datasets, DATASETS), _known("parts", parts, tuple(SIZES))
    jobs = [(dataset, part) for dataset in wanted for part in chosen if dataset in sizes[part]]
    runs = 2 if quick else 10
    done = 0

    def tick(what: str) -> None:
        nonlocal done
        done += 1
        progress(done, runs * len(jobs), what)

    stream = seeded(seed).child("paper A")
    for dataset in wanted:
        own = [part for name, part in jobs if name == dataset]
        if own:
            split = (load or load_split)(dataset, quick)
            if {"centroid", "stump"} & set(own):
                yield from public_rows(dataset, split)
            for part in own:
                yield from _part(part, dataset, split, sizes[part][dataset], quick, runs, stream, tick)


def load_split(name: str, quick: bool) -> Split:
    """A data set by its name; when `quick`, a small one."""
    if name == "synthetic":
        return synthetic(n=60_000) if quick else synthetic()
    if name == "brazil":
        return brazil(train=1_000_000, public=100_000)  # a round's owners in full
    if name not in ("mnist", "fashion"):
        raise bad("data set", f"one of {DATASETS}", name)
    return mnist_words() if name == "mnist" else fashion_words()


def _part(
    part: str,
    dataset: str,
    split: Split,
    size: tuple[int, int],
    quick: bool,
    runs: int,
    stream: Stream,
    tick: Tick,
) -> list[TableRow] | list[CurveRow]:
    if part in ("centroid", "stump"):
        budgets = _CURVE_EPSILONS[1:] if quick else _CURVE_EPSILONS
        return curve_rows(CurveSetting(dataset, split, part, *size, budgets, runs, ROUNDS), stream, tick)
    epsilons = (1.0, 7.0) if quick else EPSILONS
    return table_rows(Setting(part, dataset, split, *size, epsilons, runs), stream, tick)


def _known(name: str, given: Iterable[str], known: tuple[str, ...]) -> list[str]:
    """The names given, in the order of the known ones."""
    asked = set(given)
    if not asked <= set(known):
        raise bad(name, f"among {known}", sorted(asked - set(known)))
    return [each for each in known if each in asked]
