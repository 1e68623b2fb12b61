"""What sites gain by trusting that one of two servers is honest, beside what each gives with noise
of its own: the same records, public rows and tests, by epsilon and number of sites.

    python -m benchmarks.sites_trust --task covertype --sites 4 --sites 64 --epsilon 0.1 --epsilon 1
    python -m benchmarks.sites_trust --task hospitals

Every line is one run: accuracy in percent on test rows of public rows alone (the product's best
model of them), of `SiteEnsemble` with each trust, and what the plan foresaw of sums. The task
"hospitals" has its own four sites.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from tacit._util.types import IntArray
from tacit.algorithms.public_baseline import fit_public
from tacit.data.cohort import Public
from tacit.estimators.planning import plan
from tacit.estimators.sites import SiteEnsemble
from tacit.sums import HOW, TRUSTS
from tacit_papers.datasets import covertype, heart, mnist_words
from tacit_papers.datasets.split import Split
from tacit_papers.ours.hospitals import PUBLIC, PUBLIC_SITE

TASKS = ("covertype", "mnist 3 or 7", "hospitals")
_RECORDS = 40_000  # at most, dealt to sites alike


@dataclass(frozen=True)
class SitesRun:
    """One run with one trust: accuracies in percent, foreseen rise of sums in points."""

    task: str
    sites: int
    records: int
    public_rows: int
    epsilon: float
    run: int
    trust: str
    public_only: float
    accuracy: float
    foreseen: float | None
    collect: bool | None
    ended: str
    seconds: float


def run_sites(
    task: str, sites: list[int], epsilons: list[float], public_rows: int, run: int
) -> Iterator[SitesRun]:
    """All numbers of sites, epsilons and trusts of one run."""
    split, own_sites = _split(task, run)
    coins = np.random.default_rng([run, 1])
    known = coins.permutation(len(split.y_public))[:public_rows]
    public = split.X_public[known], split.y_public[known]
    some = coins.permutation(len(split.y_train))[:_RECORDS]
    X, y = split.X_train[some], split.y_train[some]
    alone = fit_public(Public(*public, split.classes)).model.predict(split.X_test)
    for number in [4] if own_sites is not None else sites:
        names = np.arange(len(y)) % number if own_sites is None else own_sites[some]
        for epsilon in epsilons:
            each = -(-len(y) // number)
            foreseen = plan(
                *public,
                owners=number,
                rows_per_owner=each,
                epsilon=epsilon,
                trust=HOW,
                unit="record",
            )
            for trust in TRUSTS:
                began = time.monotonic()
                model = SiteEnsemble(epsilon=epsilon, trust=trust, random_state=run)
                model.fit(X, y, owners=names, public=public)
                yield SitesRun(
                    task=task,
                    sites=number,
                    records=len(y),
                    public_rows=len(public[1]),
                    epsilon=epsilon,
                    run=run,
                    trust=trust,
                    public_only=_percent(alone, split.y_test),
                    accuracy=_percent(model.predict(split.X_test), split.y_test),
                    foreseen=round(100 * foreseen.rise, 2) if trust == HOW else None,
                    collect=foreseen.collect if trust == HOW else None,
                    ended=model.ended_,
                    seconds=round(time.monotonic() - began, 1),
                )


def _split(task: str, run: int) -> tuple[Split, IntArray | None]:
    """Rows, and whose they are where that is given."""
    if task == "hospitals":
        split, sites, _, _ = heart(public=PUBLIC, seed=run, public_site=PUBLIC_SITE)
        return split, sites
    if task == "covertype":
        return covertype(public=1_000, test=0.15), None
    return mnist_words(digits=(3, 7), per_class=6_000), None


def _percent(guesses: IntArray, labels: IntArray) -> float:
    return round(100 * float(np.mean(guesses == labels)), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", action="append", required=True, choices=TASKS)
    parser.add_argument("--sites", action="append", type=int, default=None)
    parser.add_argument("--epsilon", action="append", type=float, default=None)
    parser.add_argument("--public", type=int, default=200)
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    for task in given.task:
        for run in range(given.runs):
            settings = given.sites or [4, 64], given.epsilon or [0.1, 1.0]
            for each in run_sites(task, *settings, given.public, run):
                print(json.dumps(asdict(each)), flush=True)


if __name__ == "__main__":
    main()
