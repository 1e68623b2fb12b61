"""Sites that each train one private model, combined with public rows: paper C.

The file of a campaign in which sites train a private model each.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit._util.checks import bad, one_of, positive
from tacit._util.types import IntArray
from tacit.algorithms.site_tuning import projections_of, rehearse
from tacit.algorithms.site_weights import COMBINE
from tacit.algorithms.sites import SiteEnsembleModel, ensemble_of_sites
from tacit.data.sample import Public
from tacit.estimators.parameters import loss_of
from tacit.learners.query import Query
from tacit.learners.sites.train import TrainSite
from tacit.service.kinds.campaign_file import CampaignSpec
from tacit.service.protocol.campaign import CampaignTerms
from tacit.wire import message


@message("campaign.sites")
@dataclass(frozen=True, eq=False)
class SiteTerms(CampaignTerms):
    """One question to all sites that have enrolled when it is put. Whoever has not answered in time
    is left out.

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
        """Of a result: each row by parts of the model that were not trained on it, as far as
        that is possible.
        """
        if not isinstance(at, SiteEnsembleModel):
            return []
        return [at.linear(self.query).winners(at.unseen_scores(self.query, public.X))]


_SOUND = ("objective", "output")


@dataclass(frozen=True, kw_only=True)
class SiteSpec(CampaignSpec):
    """Entries of a file of kind "sites", beside those of every campaign: parameters are those of
    `SiteEnsemble`.

    epsilon : of each record, for all that its site reports.
    minimum : how many sites must have answered at the deadline; with fewer, the model is that of
    the sample alone.
    """

    kind: ClassVar[str] = "sites"

    minimum: int = 1
    combine: str = "guarded"
    privacy: str = "objective"
    loss: str = "auto"
    ridge: float | None = None
    components: int | None = None

    def __post_init__(self) -> None:
        one_of("combine", self.combine, COMBINE)
        one_of(
            "privacy", self.privacy, _SOUND
        )  # what may only be simulated is not asked of anybody

    def prepared(self, sum_key: bytes = b"") -> tuple[SiteTerms, Public]:
        sample = self.read_sample()
        public = sample.public
        projections = projections_of(public.X, self.components)
        ridge = None if self.ridge is None else positive("ridge", self.ridge)
        loss = loss_of(self.loss, numbers=False)
        first = TrainSite(
            1, 1, None, projections[0], loss, public.classes, self.privacy, self.epsilon, ridge
        )
        query = rehearse(first, public.X, public.y, float(np.median(self.epsilon)), projections)
        made = SiteTerms(
            *self.common(sample, self.minimum),
            query,
            self.combine,
        )
        return made, public
