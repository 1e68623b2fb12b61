"""Kinds of campaigns, one file each: terms, campaign file, run, publication, words. Whoever reads
terms or a campaign file reads them here.

A kind of another distribution is found by an entry point of the group `tacit.kinds` that names its
module; one that was imported and is registered is known as it is. Coordinator and device may import
this room and know no kind by name; it imports protocol alone of the service.
"""

from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from tacit._util.checks import one_of
from tacit.service.kinds import (  # noqa: F401 - they register
    boosting,
    classifier,
    peer_methods,
    peers,
    sites,
)
from tacit.service.kinds.campaign_file import DEFAULT, KIND, SPECS, CampaignSpec, entries
from tacit.service.kinds.kind import CampaignTerms, KindWords
from tacit.sums import HOW
from tacit.wire import decode

GROUP = "tacit.kinds"


def read_terms(data: bytes) -> CampaignTerms:
    """The terms that these bytes are, of whatever kind."""
    _load_others()
    return decode(data, CampaignTerms)


def read_spec(path: Path) -> CampaignSpec:
    """The campaign in a file, of whatever kind it says to be."""
    _load_others()
    kind = one_of(KIND, entries(path).get(KIND, DEFAULT), SPECS)
    return SPECS[kind].read(path)


def words_of(kind: str, how: str = "") -> KindWords:
    """What the page of a campaign of this kind says, whose reports are randomised so."""
    terms = SPECS[kind].terms
    return (terms.summed_words or terms.words) if how == HOW else terms.words


@cache
def _load_others() -> None:
    """Import, once, the kinds that other distributions bring along."""
    for found in entry_points(group=GROUP):
        found.load()
