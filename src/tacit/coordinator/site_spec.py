"""The file of a campaign in which sites train a private model each."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.campaign.site_terms import SiteTerms
from tacit.checks import positive
from tacit.coordinator.spec import CampaignSpec
from tacit.ensembles.combine import COMBINE
from tacit.ensembles.rehearsal import lenses_of, rehearse
from tacit.estimators.site_parameters import loss_of
from tacit.learners.base import Public
from tacit.learners.names import one_of
from tacit.learners.site import TrainSite

_SOUND = ("objective", "output")


@dataclass(frozen=True, kw_only=True)
class SiteSpec(CampaignSpec):
    """Entries of a file of kind "sites", beside those of every campaign: parameters are those of `SiteEnsemble`.

    epsilon : of each record, for all that its site reports.
    minimum : how many sites must have answered at the deadline; with fewer, the model is that of the sample alone.
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
        one_of("privacy", self.privacy, _SOUND)  # what may only be simulated is not asked of anybody

    def prepared(self, sum_key: bytes = b"") -> tuple[SiteTerms, Public]:
        sample = self.read_sample()
        public = sample.public
        lenses = lenses_of(public.X, self.components)
        ridge = None if self.ridge is None else positive("ridge", self.ridge)
        loss = loss_of(self.loss, numbers=False)
        first = TrainSite(1, 1, None, lenses[0], loss, public.classes, self.privacy, self.epsilon, ridge)
        query = rehearse(first, public.X, public.y, float(np.median(self.epsilon)), lenses)
        made = SiteTerms(
            *self.common(sample, self.minimum),
            query,
            self.combine,
        )
        return made, public
