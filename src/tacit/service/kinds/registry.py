"""The kinds of campaigns there are; whoever reads terms reads them here.

The kinds of campaign files there are.
"""

from pathlib import Path

from tacit._util.checks import one_of
from tacit.service.kinds.boosting import BoostingSpec, BoostingTerms
from tacit.service.kinds.campaign_file import DEFAULT, KIND, CampaignSpec, entries
from tacit.service.kinds.classifier import ClassifierSpec, ClassifierTerms
from tacit.service.kinds.peers import PeerSpec, PeerTerms
from tacit.service.kinds.sites import SiteSpec, SiteTerms
from tacit.service.protocol.campaign import CampaignTerms
from tacit.wire import decode

KINDS: tuple[type[CampaignTerms], ...] = (ClassifierTerms, BoostingTerms, SiteTerms, PeerTerms)


def read_terms(data: bytes) -> CampaignTerms:
    """The terms that these bytes are, of whatever kind."""
    return decode(data, CampaignTerms)


FILES: dict[str, type[CampaignSpec]] = {
    kind.kind: kind for kind in (ClassifierSpec, BoostingSpec, SiteSpec, PeerSpec)
}


def read_spec(path: Path) -> CampaignSpec:
    """The campaign in a file, of whatever kind it says to be."""
    kind = one_of(KIND, entries(path).get(KIND, DEFAULT), FILES)
    return FILES[kind].read(path)
