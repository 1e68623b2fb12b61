"""The kinds of campaign files there are."""

from pathlib import Path

from tacit.coordinator.boosting_spec import BoostingSpec
from tacit.coordinator.classifier_spec import ClassifierSpec
from tacit.coordinator.peer_spec import PeerSpec
from tacit.coordinator.site_spec import SiteSpec
from tacit.coordinator.spec import DEFAULT, KIND, CampaignSpec, entries
from tacit.learners.names import one_of

KINDS: dict[str, type[CampaignSpec]] = {kind.kind: kind for kind in (ClassifierSpec, BoostingSpec, SiteSpec, PeerSpec)}


def read_spec(path: Path) -> CampaignSpec:
    """The campaign in a file, of whatever kind it says to be."""
    kind = one_of(KIND, entries(path).get(KIND, DEFAULT), KINDS)
    return KINDS[kind].read(path)
