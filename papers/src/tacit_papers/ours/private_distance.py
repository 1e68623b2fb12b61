"""A private distance between participants' distributions, which paper D leaves for later.

Before anything is learned, everybody answers one question for each of a few public attributes: how
many rows of either class are in each of its cells, with a small part of the budget as the noise of
these counts (`CountLeaves`, pure epsilon). The contrast of a participant is

    r = (rows of class 1 - rows of class 0) / rows, in every cell, of noisy counts

and the distance of two of them

    d(p, q) = 1 - 2 sum r_p r_q / (sum r_p^2 + sum r_q^2 - what noise and chance add to these)

which is 0 for the same distribution, 1 for two that have nothing to do with each other, and 2 for
the same rows with opposite classes: the scale of `own_model.distance`.

Claim: the distances cost epsilon for one record added or removed, whatever is done with them.
Proof: they are functions of released counts; a record is in one cell of each attribute, and what
    the attributes cost adds up to epsilon.
Variance: noises of two participants are independent, so sum r_p r_q has no bias, and its variance
    is sum (r_p^2 v_q + r_q^2 v_p + v_p v_q), with v a contrast's variance. `is_far` asks for two
    standard deviations: of pairs that have nothing to do with each other about one in forty is
    taken for opposite, of alike ones far fewer.
Edges: a participant with few rows, or a small epsilon, is near to everybody: nobody is sent away
    without reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np

from tacit._util.types import FloatArray
from tacit.algorithms.peers import fair_share
from tacit.data.cohort import Cohort
from tacit.data.schema import Schema
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.leaf_counts import CountLeaves
from tacit.learners.peers.peer_model import Additive
from tacit.mechanisms.streams import Stream

BINS = 4  # cells of a number: the fewer, the less noise
ATTRIBUTES = 3
_DOUBT = 2.0  # standard deviations


@dataclass(frozen=True, eq=False)
class Contrast:
    """What a participant told of its distribution: contrasts of cells with their variances, and
    about how many rows it has.
    """

    values: FloatArray
    variances: FloatArray
    rows: float


@dataclass(frozen=True, eq=False)
class DistanceQuestions:
    """One for each of some attributes, to everybody; `epsilon` pays for all of them."""

    queries: tuple[CountLeaves, ...]
    each: float  # epsilon of one answer

    @classmethod
    def of(cls, schema: Schema, participants: int, epsilon: float, coins: Stream) -> Self:
        """Attributes are drawn with public coins."""
        cells = Cells(schema, BINS)
        luck = coins.child("attributes").words(np.arange(len(cells)), 0, 1)[:, 0]
        chosen = np.argsort(luck, kind="stable")[:ATTRIBUTES].tolist()
        each = fair_share(epsilon, len(chosen))
        queries = tuple(
            CountLeaves(
                round=number,
                attempt=1,
                owners=tuple(range(participants)),
                cells=cells,
                cuts=(cells.every_cell(column),),
                model=Additive(),
                menu=(each,),
            )
            for number, column in enumerate(chosen, start=1)
        )
        return cls(queries, each)

    @property
    def sent(self) -> int:
        """Bytes of one participant's answers."""
        return sum(query.blank(1).points.nbytes for query in self.queries)

    def answers(self, cohort: Cohort, stream: Stream) -> dict[int, Contrast]:
        """What everybody tells, by number."""
        told = [
            query.collect(query.release(cohort, self.each, stream.child(number)), self.each).values
            for number, query in enumerate(self.queries)
        ]
        return {who: self._contrast([said[who] for said in told]) for who in range(len(cohort))}

    def _contrast(self, said: list[FloatArray]) -> Contrast:
        tables = [query.read(own)[1] for query, own in zip(self.queries, said, strict=True)]
        rows = max(1.0, float(np.mean([table.sum() for table in tables])))
        noise = 2 * self.queries[0].std(self.each) ** 2
        lead = np.concatenate([table[1] - table[0] for table in tables])
        held = np.concatenate([table.sum(axis=0) for table in tables])
        return Contrast(lead / rows, (noise + np.maximum(held, 0.0)) / rows**2, rows)


def distance(one: Contrast, other: Contrast) -> float:
    """Of two distributions, as far as noise lets it be seen: 0 the same, 2 opposite."""
    own, theirs = one.values**2 - one.variances, other.values**2 - other.variances
    size = max(float(own.sum() + theirs.sum()), 1e-12)
    return 1 - 2 * float(one.values @ other.values) / size


def is_far(one: Contrast, other: Contrast) -> bool:
    """Whether two distributions are more than unrelated, beyond doubt."""
    both = one.variances * other.variances
    spread = one.values**2 * other.variances + other.values**2 * one.variances - both
    doubt = _DOUBT * sqrt(max(float(spread.sum()), float(both.sum())))
    return float(one.values @ other.values) < -doubt


def groups_of(told: Mapping[int, Contrast]) -> tuple[tuple[int, ...], ...]:
    """Who listens to whom: from the largest to the smallest, a participant joins the group whose
    largest member is nearest to it, unless that one is far, and then begins another.
    """
    groups = list[list[int]]()
    for who in sorted(told, key=lambda number: (-told[number].rows, number)):
        gaps = [distance(told[group[0]], told[who]) for group in groups]
        nearest = groups[int(np.argmin(gaps))] if groups else [who]
        if not groups or is_far(told[nearest[0]], told[who]):
            groups.append([who])
        else:
            nearest.append(who)
    return tuple(tuple(sorted(group)) for group in groups)
