"""What owners that lie within the rules do to a model of summed shares.

    python -m benchmarks.valid_liars --task adult --part 0 --part 0.001 --part 0.01 --part 0.05

A proof bounds how long a share is, not where it points. Here liars know what honest owners say on
average, and all push back along it with the longest share that is allowed, in every round. Every
line is one part of liars: accuracy in percent on test rows, beside the data user's own model.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import Refined, refine
from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import ShareQuery
from tacit.learners.query import Answer
from tacit.mechanisms.streams import Stream, seeded
from tacit.sums import HOW
from tacit.sums.vector_terms import VectorTerms, round_shares
from tacit_papers.ours.tasks import Task, task_of


@dataclass(frozen=True)
class LiarsRun:
    """One run with a part of owners that lie: accuracies in percent."""

    task: str
    part: float
    liars: int
    public_rows: int
    epsilon: float
    run: int
    public_only: float
    accuracy: float
    ended: str


def run_with_liars(
    task: Task, parts: list[float], public_rows: int, epsilon: float, run: int
) -> Iterator[LiarsRun]:
    """All parts of liars of one run, the same owners each time."""
    cohort, public = task.cohort(run), task.public(public_rows, run)
    own = fit_public(public)
    alone = task.accuracy(own.model.predict(task.split.X_test))
    for part in parts:
        liars = round(part * len(cohort))
        crowd = Population(len(cohort), epsilon, task.rows, HOW)
        refined = _refine(public, cohort, crowd, liars, seeded(run))
        yield LiarsRun(
            task=task.name,
            part=part,
            liars=liars,
            public_rows=public_rows,
            epsilon=epsilon,
            run=run,
            public_only=round(100 * alone, 2),
            accuracy=round(100 * task.accuracy(refined.model.predict(task.split.X_test)), 2),
            ended=refined.ended,
        )


def _refine(
    public: Public, cohort: Cohort, crowd: Population, liars: int, stream: Stream
) -> Refined:
    """The product's algorithm, where the first owners push back."""
    asks = refine(public, crowd, "auto", crowd.epsilon)
    told: Answer | None = None
    while True:
        try:
            query = next(asks) if told is None else asks.send(told)
        except StopIteration as done:
            refined: Refined = done.value
            return refined
        told = _answer(query, cohort, liars, stream)


def _answer(query: ShareQuery, cohort: Cohort, liars: int, stream: Stream) -> Answer:
    """What two servers say when `liars` owners send the longest share against all others."""
    terms = query.terms
    if not isinstance(terms, VectorTerms):
        raise TypeError("liars push back in sums of two servers")
    shares = query.learner.share(query, cohort)
    honest = shares[liars:].mean(axis=0)
    shares[:liars] = -honest * terms.radius / max(float(np.sqrt((honest**2).sum())), 1e-300)
    coins = stream.child("round", query.round, query.attempt)
    return query.open_sum(round_shares(shares, terms, coins).sum(axis=0), len(shares), stream)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="adult")
    parser.add_argument("--part", action="append", type=float, default=None)
    parser.add_argument("--public", type=int, default=200)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    task, parts = task_of(given.task), given.part or [0.0, 0.001, 0.01, 0.05]
    for run in range(given.runs):
        for each in run_with_liars(task, parts, given.public, given.epsilon, run):
            print(json.dumps(asdict(each)), flush=True)


if __name__ == "__main__":
    main()
