"""The file of a campaign that refines the data user's own model with one share of every owner."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.campaign.classifier_terms import ClassifierTerms
from tacit.checks import whole
from tacit.coordinator.spec import CampaignSpec
from tacit.ensembles.combination import Crowd
from tacit.ensembles.public_model import fit_public
from tacit.ensembles.refine import LEAST_GAIN, MAPS, outlook, refine
from tacit.estimators.planning import plan_for
from tacit.learners.base import Public
from tacit.learners.names import one_of

_FEATURES = ("auto", "linear", "products", "waves", "leaves")


@dataclass(frozen=True, kw_only=True)
class ClassifierSpec(CampaignSpec):
    """Entries of a file of kind "classifier", beside those of every campaign.

    owners : how many owners are asked in all, each once.  rows_per_owner : how many rows one is believed to hold.
    features, mechanism, rounds : as in `PrivateClassifier`.  minimum : reports that a round needs.
    """

    kind: ClassVar[str] = "classifier"

    owners: int
    rows_per_owner: int = 1
    features: str = "auto"
    mechanism: str = "auto"
    rounds: int | None = None
    minimum: int = 2

    def prepared(self, sum_key: bytes = b"") -> tuple[ClassifierTerms, Public]:
        sample = self.read_sample()
        features = one_of("features", self.features, _FEATURES)
        maps = MAPS if features == "auto" else (features,)
        owners, rows = whole("owners", self.owners, 1), whole("rows_per_owner", self.rows_per_owner, 1)
        crowd = Crowd(owners, float(np.median(self.epsilon)), rows)
        own = fit_public(sample.public)
        look = outlook(sample.public, own, crowd, maps)
        if look.gain < LEAST_GAIN:
            raise ValueError(str(plan_for(sample.public, crowd, own, maps)))
        rounds = look.rounds if self.rounds is None else whole("rounds", self.rounds, 1)
        first = next(refine(sample.public, crowd, self.mechanism, np.array(self.epsilon), maps, rounds, own))
        made = ClassifierTerms(
            *self.common(sample, self.minimum),
            first,
            owners,
            rows,
            rounds,
            maps,
        )
        return made, sample.public
