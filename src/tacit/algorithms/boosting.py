"""Private boosting: SAMME over owners that are asked at most once (paper A, Algorithms 1 and 4).

    for m = 1 .. M:
        ask H owners never asked before for the base learner's share under the published ensemble
        T_m     = learn(answer)
        err_m   = error of T_m under the boosting weights, as the judge finds it
        alpha_m = log((1 - err_m) / err_m) + log(K - 1)
        if alpha_m > 0: publish (alpha_m, T_m); else drop the round and ask H others

The generator yields a `ShareQuery` and receives its `Answer` (None: no owners left). Judges that
need owners yield too.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from math import hypot, log
from typing import Protocol

import numpy as np

from tacit._util.checks import number_of_rounds, whole
from tacit._util.types import BoolArray, FloatArray
from tacit.algorithms.refinement import all_rounds, rounds_in_words
from tacit.data.cohort import Public
from tacit.learners.learner import Facts, Learner, ReportTerms, ShareQuery, Tally
from tacit.learners.models.ensemble import Ensemble, Model
from tacit.learners.query import Answer
from tacit.sums.secure_sum import SumAnswer
from tacit.sums.vector_terms import VectorTerms
from tacit.wire import message

_LEAST_ERROR = 1e-6  # votes stay finite, and below 14 for two classes


@message("verdict")
@dataclass(frozen=True)
class Verdict:
    """A judge's error estimate and its standard error."""

    error: float
    stderr: float

    @classmethod
    def of(cls, told: SumAnswer) -> "Verdict":
        """From the summed (weighted error, weight) of all owners: their ratio, kept in [0, 1]."""
        wrong, weight = told.sums.tolist()
        error = min(max(wrong / max(weight, 1.0), 0.0), 1.0)
        return cls(error, hypot(told.stderr[0], error * told.stderr[1]) / max(weight, 1.0))


Question = ShareQuery | Tally
Reply = Answer | Verdict | None


class Judge(Protocol):
    """Says how wrong a base model is on the rows that the ensemble still gets wrong."""

    def error(self, model: Model, ensemble: Ensemble) -> Generator[Tally, Reply, Verdict | None]:
        """The verdict; None when none can be had."""

    def after(self, alpha: float, model: Model) -> "Judge":
        """The judge of the next round, when this model has been published."""


@dataclass(frozen=True, eq=False)
class OwnSample:
    """Paper A: the data user's own weighted sample. The smallest error it can tell is half a row.

    `weights` of its rows under the ensemble published so far, adding up to 1; None: nothing is
    published yet.
    """

    public: Public
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        # a stump reads one column: a copy once, not a detour each round
        by_column = np.asfortranarray(self.public.X)
        object.__setattr__(self, "public", replace(self.public, X=by_column))

    def error(self, model: Model, ensemble: Ensemble) -> Generator[Tally, Reply, Verdict]:
        yield from ()
        weights = self._weights
        error = float(weights @ self._mistakes(model))
        size = 1.0 / float(weights @ weights)  # how many equally weighted rows are worth as much
        return Verdict(error, float(np.sqrt(max(error * (1 - error), 0.25 / size) / size)))

    def after(self, alpha: float, model: Model) -> "OwnSample":
        weights = self._weights * np.exp(alpha * self._mistakes(model))
        return OwnSample(self.public, weights / weights.sum())

    @property
    def _weights(self) -> FloatArray:
        rows = len(self.public.y)
        return np.full(rows, 1.0 / rows) if self.weights is None else self.weights

    def _mistakes(self, model: Model) -> BoolArray:
        return np.asarray(model.predict(self.public.X) != self.public.y)


@dataclass(frozen=True)
class AllOwners:
    """Paper B: a noisy sum over all owners; a `Tally` is answered with a `Verdict`, or None."""

    def error(self, model: Model, ensemble: Ensemble) -> Generator[Tally, Reply, Verdict | None]:
        told = yield Tally(model, ensemble)
        if not (told is None or isinstance(told, Verdict)):
            raise TypeError(f"a Tally must be answered with a Verdict, got {type(told).__name__}")
        return told

    def after(self, alpha: float, model: Model) -> "AllOwners":
        return self


@dataclass(frozen=True, eq=False)
class RoundRecord:
    """One round as it went, kept or dropped."""

    round: int
    attempt: int
    owners: int
    error: float
    error_stderr: float
    alpha: float
    kept: bool
    signal: float
    noise: float

    @classmethod
    def of(cls, query: ShareQuery, answer: Answer, verdict: Verdict, alpha: float) -> "RoundRecord":
        """What is worth keeping of a round; one with a vote above 0 is kept."""
        return cls(
            round=query.round,
            attempt=query.attempt,
            owners=answer.n,
            error=verdict.error,
            error_stderr=verdict.stderr,
            alpha=alpha,
            kept=alpha > 0,
            signal=_size(answer.mean),
            noise=_size(answer.stderr),
        )


@dataclass(frozen=True, eq=False)
class Boosted:
    """The ensemble, how it came about, and why it ended."""

    ensemble: Ensemble
    records: tuple[RoundRecord, ...]
    ended: str


@dataclass(frozen=True)
class Schedule:
    """How long to boost: for `rounds` rounds of `owners` owners each, everybody's in each if None;
    `attempts` dropped rounds in a row are the end of it.
    """

    rounds: int
    owners: int | None
    attempts: int

    def __post_init__(self) -> None:
        number_of_rounds(self.rounds)
        if self.owners is not None:
            whole("owners per round", self.owners, 1)
        whole("attempts", self.attempts, 1)


def boost(
    learner: Learner,
    facts: Facts,
    terms: ReportTerms | VectorTerms,
    judge: Judge,
    schedule: Schedule,
) -> Generator[Question, Reply, Boosted]:
    """Boost by schedule; a judge that finds no better than chance drops a round."""
    ensemble = Ensemble(facts.classes)
    records: list[RoundRecord] = []
    attempt = 1

    def end(why: str) -> Boosted:
        return Boosted(ensemble, tuple(records), why)

    while len(ensemble) < schedule.rounds:
        query = ShareQuery(
            round=len(ensemble) + 1,
            attempt=attempt,
            owners=schedule.owners,
            learner=learner,
            facts=facts,
            ensemble=ensemble,
            terms=terms,
        )
        answer = yield query
        if not isinstance(answer, Answer):
            return end(f"owners ran out after {len(ensemble)} of {schedule.rounds} rounds")
        model = learner.learn(query, answer)
        verdict = yield from judge.error(model, ensemble)
        if verdict is None:
            return end(f"no sum over owners came about after {rounds_in_words(len(ensemble))}")
        alpha = vote(verdict.error, facts.classes)
        records.append(RoundRecord.of(query, answer, verdict, alpha))
        if alpha > 0:
            ensemble, judge, attempt = ensemble.plus(alpha, model), judge.after(alpha, model), 1
        elif attempt < schedule.attempts:
            attempt += 1
        else:
            return end(
                f"{schedule.attempts} rounds in a row were no better than chance; "
                "the last was dropped"
            )
    return end(all_rounds(schedule.rounds))


def vote(error: float, classes: int) -> float:
    """The vote log((1 - err) / err) + log(K - 1), for an error kept a little away from 0 and 1."""
    inside = min(max(error, _LEAST_ERROR), 1 - _LEAST_ERROR)
    return log((1 - inside) / inside) + log(classes - 1)


def _size(vector: FloatArray) -> float:
    return float(np.sqrt(np.sum(vector**2)))
