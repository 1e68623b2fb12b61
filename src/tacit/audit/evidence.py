"""What an outsider reads out of an owner's answers, and scores that tell from it which of two data sets an owner holds.

Nothing here trusts the gate: an answer may be a refusal, have any length and any bits. Four readings are kept
apart, each a matrix with a row per owner: what kind of answer it is at all, the estimate of the share along the
line between the two data sets' shares, the estimate coordinate by coordinate, and the raw bits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.audit.campaign import share_of
from tacit.audit.events import bin_edges, histogram
from tacit.cohort import Cohort
from tacit.learners.base import ShareQuery
from tacit.learners.invitation import Invitation, report_size, unpack
from tacit.owner.gate import RefusedError
from tacit.types import FloatArray

Readings = Mapping[str, FloatArray]
Score = Callable[[Readings], FloatArray]


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads answers to one question about which of two owners' rows, `one` or `other`, are behind them."""

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
        kinds = np.array([-1.0 - len(a) if isinstance(a, bytes) else 1e6 + len(str(a)) for a in answers])
        kinds[good] = levels
        estimates = np.zeros((n, query.width))
        estimates[good] = query.mechanism(np.array(query.epsilons)[levels]).estimate(reports)
        size = report_size(query)
        regular = np.array([len(each) == size for each in sent])
        bits = np.zeros((n, 8 * size))
        raw = np.frombuffer(b"".join(each for each in sent if len(each) == size), np.uint8).reshape(-1, size)
        bits[regular] = np.unpackbits(raw, axis=1, bitorder="little")
        line = share_of(query, self.one) - share_of(query, self.other)
        return {"kind": kinds[:, None], "line": (estimates @ line)[:, None], "coordinates": estimates, "bits": bits}


def together(parts: Sequence[Readings]) -> Readings:
    """The readings of the same owners' answers to several questions."""
    return {name: np.hstack([part[name] for part in parts]) for name in parts[0]}


def learned(one: Readings, other: Readings) -> list[Score]:
    """A score for every reading: the sum of its columns' log-likelihood ratios, as frequencies on pilot samples say.

    It is exact where columns are independent given the rows (Laplace), and a guess elsewhere; what a score proves
    does not rest on it.
    """
    return [_learned(name, one[name], other[name]) for name in one]


def _learned(name: str, one: FloatArray, other: FloatArray) -> Score:
    tables: list[tuple[FloatArray, FloatArray]] = []
    for a, b in zip(one.T, other.T, strict=True):
        edges = bin_edges(np.concatenate([a, b]), bins=max(4, min(64, len(a) // 16)))
        ratio = (histogram(a, edges) + 0.5) / (len(a) + 1) * (len(b) + 1) / (histogram(b, edges) + 0.5)
        tables.append((edges, np.log(ratio)))

    def score(readings: Readings) -> FloatArray:
        columns = readings[name].T
        parts = [
            logs[np.searchsorted(edges, c, side="right")] for (edges, logs), c in zip(tables, columns, strict=True)
        ]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)

    return score
