"""The kinds of campaigns there are; whoever reads terms reads them here."""

from tacit.campaign.boosting_terms import BoostingTerms
from tacit.campaign.classifier_terms import ClassifierTerms
from tacit.campaign.peer_terms import PeerTerms
from tacit.campaign.site_terms import SiteTerms
from tacit.campaign.terms import CampaignTerms
from tacit.wire import decode

KINDS: tuple[type[CampaignTerms], ...] = (ClassifierTerms, BoostingTerms, SiteTerms, PeerTerms)


def read_terms(data: bytes) -> CampaignTerms:
    """The terms that these bytes are, of whatever kind."""
    return decode(data, CampaignTerms)
