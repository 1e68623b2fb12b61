"""Rehearsals: campaigns over the network whose coins can be repeated. Reproducible, not private.

A rehearsal gives, byte for byte, the model that the engine in one process gives for the same rows
and seed, so that everything in between (requests, databases, restarts) can be checked. It cannot be
taken for a campaign: its name says what it is in every question and every line of a ledger, and all
ends refuse to rehearse off this machine. Its sums go to a helper whose key everybody knows.
"""

from dataclasses import replace

from tacit.service.protocol.campaign import CampaignTerms
from tacit.service.protocol.signed_requests import LOOPBACK

REHEARSAL = "rehearsal: reproducible, not private"


def rehearsed(terms: CampaignTerms, seed: int) -> CampaignTerms:
    """The same campaign, named as a rehearsal, with the helper of rehearsals and public coins
    from its seed.
    """
    return replace(terms, name=f"{REHEARSAL}: {terms.name}").with_public_coins(seed)


def is_rehearsal(name: str) -> bool:
    """Whether a campaign of this name is a rehearsal."""
    return name.startswith(REHEARSAL)


def only_here(host: str | None) -> None:
    """Refuse to rehearse with another machine."""
    if host not in LOOPBACK:
        raise ValueError(
            f"a {REHEARSAL}; it must stay on this machine ({', '.join(LOOPBACK)}), got host "
            f"{host!r}"
        )
