"""Lower bounds of epsilon out of what leaves a gate: of two gateways that hold one data set each,
or of one that holds both.

Nothing here trusts the gate: an answer may be a refusal, have any length and any bits. An outsider
reads four things out of it, each a matrix with a row per owner: what kind of answer it is at all,
the estimate of the share along the line between the two data sets' shares, the estimate coordinate
by coordinate, and the raw bits. Scores of these readings, and events of the scores, are chosen on a
part of the owners and measured on others: choosing costs no confidence.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.audit.staging import share_of
from tacit.audit.statistical import (
    best_tail,
    bin_edges,
    boldness,
    epsilon_lower_bound,
    guess,
    histogram,
)
from tacit.data.cohort import Cohort
from tacit.learners.learner import ShareQuery
from tacit.learners.query import Invitation, report_size, unpack
from tacit.owner.gate import RefusedError

Readings = Mapping[str, FloatArray]
Score = Callable[[Readings], FloatArray]
_PARTS = 6  # of the owners: one teaches scores, one chooses among them, the others measure


def of_two_runs(one: Readings, other: Readings, confidence: float) -> float:
    """What is proven by n answers on each of two data sets, by the score and the threshold that
    looked best.
    """
    part = len(one["kind"]) // _PARTS
    first, second, rest = slice(0, part), slice(part, 2 * part), slice(2 * part, None)
    best: tuple[float, FloatArray, FloatArray, float] = (0.0, np.zeros(1), np.zeros(1), np.inf)
    for score in learn_scores(_part(one, first), _part(other, first)):
        tried, fresh = (
            [score(_part(each, rows)) for each in (one, other)] for rows in (second, rest)
        )
        for a, b, new, new_other in (
            (*tried, *fresh),
            (-tried[1], -tried[0], -fresh[1], -fresh[0]),
        ):
            bound, least = best_tail(a, b, _PARTS - 2, confidence)
            if bound > best[0]:
                best = (bound, new, new_other, least)
    _, new, new_other, least = best
    hits, misses = int(np.count_nonzero(new >= least)), int(np.count_nonzero(new_other >= least))
    return epsilon_lower_bound(hits, len(new), misses, len(new_other), confidence)


def of_one_run(mixed: Readings, bits: BoolArray, confidence: float) -> float:
    """What is proven by the answers of one run in which owner i holds data set A if bits[i], else
    B.

    The bits of the first owners are set aside: they teach the score and how bold to be. The others
    are guessed.
    """
    part = len(bits) // _PARTS
    first, second, rest = np.arange(part), np.arange(part, 2 * part), np.arange(2 * part, len(bits))
    ones, others = _part(mixed, first[bits[first]]), _part(mixed, first[~bits[first]])
    if not (len(ones["kind"]) and len(others["kind"])):
        return 0.0
    best: tuple[float, FloatArray, float] = (0.0, np.zeros(0), 0.0)
    for score in learn_scores(ones, others):
        tried = score(_part(mixed, second))
        bound, least = boldness(tried, bits[second], _PARTS - 2, confidence)
        if bound > best[0]:
            best = (bound, score(_part(mixed, rest)), least)
    bound, scores, least = best
    return guess(scores, bits[rest], least, confidence) if bound > 0 else 0.0


@dataclass(frozen=True, eq=False)
class AnswerReader:
    """Reads answers to one question: are the rows of `one` or of `other` behind them?"""

    invitation: Invitation
    one: Cohort
    other: Cohort

    @property
    def query(self) -> ShareQuery:
        query = self.invitation.query
        if not isinstance(query, ShareQuery):
            raise TypeError(f"answers of unit owner can be read, got {type(query).__name__}")
        return query

    def read(self, answers: Sequence[bytes | RefusedError]) -> Readings:
        """All readings of some owners' answers."""
        query, n = self.query, len(answers)
        sent = [answer if isinstance(answer, bytes) else b"" for answer in answers]
        good, levels, reports = unpack(sent, self.invitation.digest, query)
        kinds = np.array(
            [-1.0 - len(a) if isinstance(a, bytes) else 1e6 + len(str(a)) for a in answers]
        )
        kinds[good] = levels
        estimates = np.zeros((n, query.width))
        estimates[good] = query.mechanism(np.array(query.epsilons)[levels]).estimate(reports)
        size = report_size(query)
        regular = np.array([len(each) == size for each in sent])
        bits = np.zeros((n, 8 * size))
        raw = np.frombuffer(b"".join(each for each in sent if len(each) == size), np.uint8)
        bits[regular] = np.unpackbits(raw.reshape(-1, size), axis=1, bitorder="little")
        line = share_of(query, self.one) - share_of(query, self.other)
        return {
            "kind": kinds[:, None],
            "line": (estimates @ line)[:, None],
            "coordinates": estimates,
            "bits": bits,
        }


def together(parts: Sequence[Readings]) -> Readings:
    """The readings of the same owners' answers to several questions."""
    return {name: np.hstack([part[name] for part in parts]) for name in parts[0]}


def learn_scores(one: Readings, other: Readings) -> list[Score]:
    """A score for every reading: the sum of its columns' log-likelihood ratios, as frequencies on
    pilot samples say.

    It is exact where columns are independent given the rows (Laplace), and a guess elsewhere; what
    a score proves does not rest on it.
    """
    return [_likelihood_ratio(name, one[name], other[name]) for name in one]


def _likelihood_ratio(name: str, one: FloatArray, other: FloatArray) -> Score:
    tables: list[tuple[FloatArray, FloatArray]] = []
    for a, b in zip(one.T, other.T, strict=True):
        edges = bin_edges(np.concatenate([a, b]), bins=max(4, min(64, len(a) // 16)))
        ratio = (
            (histogram(a, edges) + 0.5) / (len(a) + 1) * (len(b) + 1) / (histogram(b, edges) + 0.5)
        )
        tables.append((edges, np.log(ratio)))

    def score(readings: Readings) -> FloatArray:
        columns = readings[name].T
        parts = [
            logs[np.searchsorted(edges, c, side="right")]
            for (edges, logs), c in zip(tables, columns, strict=True)
        ]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)

    return score


def _part(readings: Readings, rows: slice | IntArray) -> Readings:
    return {name: values[rows] for name, values in readings.items()}
