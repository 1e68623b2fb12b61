"""Sites that each train one private model, combined with public rows: paper C."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit.campaign.terms import CampaignTerms
from tacit.checks import bad
from tacit.ensembles.combine import COMBINE
from tacit.ensembles.sites import SiteEnsembleModel, ensemble_of_sites
from tacit.learners.base import Public
from tacit.learners.query import Query
from tacit.learners.site import TrainSite
from tacit.types import IntArray
from tacit.wire import message


@message("campaign.sites")
@dataclass(frozen=True, eq=False)
class SiteTerms(CampaignTerms):
    """One question to all sites that have enrolled when it is put. Whoever has not answered in time is left out.

    With fewer than `minimum` answers the model is that of the public rows alone.
    """

    kind: ClassVar[str] = "sites"

    query: TrainSite
    combine: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.combine not in COMBINE:
            raise bad("combine", f"one of {tuple(COMBINE)}", self.combine)
        if not self.minimum <= self.start:
            raise bad("minimum", f"at most start, {self.start}", self.minimum)
        if not (self.query.dim, self.query.classes) == (self.schema.dim, len(self.schema.classes)):
            raise bad("query", "made for the schema", (self.query.dim, self.query.classes))

    @property
    def needed(self) -> int:
        return self.minimum

    @property
    def epsilons(self) -> tuple[float, ...]:
        return self.query.epsilons

    @property
    def rounds_expected(self) -> int:
        return 1

    def example(self) -> Query:
        return self.query

    def run(self, public: Public) -> Generator[Any, Any, SiteEnsembleModel]:
        return ensemble_of_sites(self.query, public.X, public.y, self.combine)

    def guesses(self, at: Any, public: Public) -> Sequence[IntArray]:
        """Of a result: each row by parts of the model that were not trained on it, as far as that is possible."""
        if not isinstance(at, SiteEnsembleModel):
            return []
        return [at.linear(self.query).winners(at.unseen_scores(self.query, public.X))]
