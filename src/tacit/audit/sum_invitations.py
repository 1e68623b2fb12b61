"""One sum, asked for again and again: an owner must be in it once.

A coordinator may put one question into several invitations, with other numbers and other times to
answer, and ask an owner each. Halves with fresh coins would all count in that one sum: m of them
are m times the length, beside noise for one, which is rho of m^2 and was charged m times. So a gate
says the same bytes to all of them, and its ledger has one line.

Claim: a gate that answers a sum twice is found, with certainty: coins of two halves are the same
with a chance of 2^-256.
"""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.audit.staging import (
    FIRST_ROUND,
    NEVER,
    REHEARSAL,
    Check,
    gateway,
    invite,
    ledger_in,
    names,
    same_rows,
    share_query,
    sign_invitation,
)
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.sum_query import SharesQuery
from tacit.owner.gate import Gate
from tacit.owner.policy import Policy
from tacit.sums.vector_terms import VectorTerms

_DELTA = 1e-6


def audit_invitations(kind: type[Gate] = Gate) -> Check:
    """Whether a gate is in one sum once, whatever invitations it comes in."""
    servers = [X25519PrivateKey.generate().public_key().public_bytes_raw() for _ in range(2)]
    asked = share_query(Centroid(), "privunit", [1.0], FIRST_ROUND)
    law = VectorTerms.of(asked.learner.space(asked.facts), 1.0, _DELTA)
    query = SharesQuery.of(replace(asked, terms=law), 1, (servers[0], servers[1]))
    policy = Policy(
        epsilon_per_release=Fraction(9),
        epsilon_total=Fraction(9),
        delta_total=Fraction(1, 100),
        releases=9,
        helper=servers[1].hex(),
        campaign=REHEARSAL,
        time_step=Fraction(0),
    )
    invitations = [invite(query), invite(query, 2), invite(query, expires=NEVER - 1), invite(query)]
    with TemporaryDirectory() as folder:
        ledger = ledger_in(Path(folder))
        gate = gateway(kind, same_rows(1.0, 1, 3), policy, ledger)
        said = {gate.answer(sign_invitation(each), names(1)[0]) for each in invitations}
        lines = len(ledger.entries())
        ledger.close()
    seen = f"{len(invitations)} invitations: {len(said)} halves for each server, {lines} charged"
    return Check("one sum in several invitations", len(said) == lines == 1, seen)
