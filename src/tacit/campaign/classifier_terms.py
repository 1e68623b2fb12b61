"""The data user's own model, refined by owners that each speak at most once: the classifier, over the network."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.campaign.terms import CampaignTerms
from tacit.checks import bad, whole
from tacit.ensembles.combination import Crowd
from tacit.ensembles.refine import Refined, refine
from tacit.learners.base import Public, ShareQuery
from tacit.learners.query import Query
from tacit.types import IntArray
from tacit.wire import message


@message("campaign.classifier")
@dataclass(frozen=True, eq=False)
class ClassifierTerms(CampaignTerms):
    """`rounds` rounds over `owners` owners in all, believed to hold `rows` rows each; `query` is the first question.

    A question with fewer reports than `minimum` is void, and others are asked. `features` are the feature maps that the
    data user may choose from.
    """

    kind: ClassVar[str] = "classifier"

    query: ShareQuery
    owners: int
    rows: int
    rounds: int
    features: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("owners", "rows", "rounds"):
            whole(name, getattr(self, name), 1)
        if not self.owners <= self.start:
            raise bad("owners", f"at most start, {self.start}", self.owners)
        if not self.minimum <= self.needed:
            raise bad("minimum", f"at most the owners of a round, {self.needed}", self.minimum)
        facts = self.query.facts
        if not (facts.dim, facts.classes) == (self.schema.dim, len(self.schema.classes)):
            raise bad("query", "made for the schema", (facts.dim, facts.classes))

    @property
    def needed(self) -> int:
        return max(1, self.owners // self.rounds)

    @property
    def epsilons(self) -> tuple[float, ...]:
        return self.query.epsilons

    @property
    def rounds_expected(self) -> int:
        return self.rounds

    @property
    def crowd(self) -> Crowd:
        """Those to be asked, as predictions see them."""
        return Crowd(self.owners, float(np.median(self.epsilons)), self.rows)

    def example(self) -> Query:
        return self.query

    def run(self, public: Public) -> Generator[Any, Any, Refined]:
        mechanism = self.query.terms.mechanism
        return refine(public, self.crowd, mechanism, np.array(self.epsilons), self.features, self.rounds)

    def guesses(self, at: Any, public: Public) -> Sequence[IntArray]:
        """Of a result: each row by the data user's model that was not fitted to it, and what owners added to it."""
        if not isinstance(at, Refined):
            return []
        start = at.own.model.scores(public.X)
        added = [stage.scores(public.X) - start for stage in at.stages[1:]]
        return [np.argmax(at.own.held_out + each, axis=1) for each in added]
