"""A coordinator put together from its parts."""

from dataclasses import dataclass
from pathlib import Path

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.campaign.boosting_terms import BoostingTerms
from tacit.campaign.greeting import greeting
from tacit.campaign.peer_terms import PeerTerms
from tacit.campaign.rehearsal import only_here, rehearsed
from tacit.coordinator.app import Coordinator
from tacit.coordinator.boosting_spec import BoostingSpec
from tacit.coordinator.driver import Draw, Driver, drawn_at_random
from tacit.coordinator.guard import Guard, Limits
from tacit.coordinator.intake import Intake
from tacit.coordinator.kinds import read_spec
from tacit.coordinator.rehearsal import SeededDraw
from tacit.coordinator.rosters import Rosters
from tacit.coordinator.store import Store
from tacit.coordinator.sums import Sums, sum_key
from tacit.coordinator.view import View
from tacit.streams import Stream, seeded
from tacit.wire import encode
from tacit.wire.signed import public_bytes


@dataclass(frozen=True, eq=False)
class Running:
    """The service, its store, and the campaign key that owners may pin."""

    app: Guard
    store: Store
    driver: Driver
    fingerprint: str


def coordinator(
    campaign: Path,
    database: str,
    key: Ed25519PrivateKey,
    admin: str,
    rehearsal: int | None = None,
    helper: httpx.Client | None = None,
    noise: Stream | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Running:
    """Read the campaign file, begin or take up the campaign in the database, and make the service.

    `rehearsal` is the seed of one: reproducible, not private. `helper` is where the campaign's helper answers (default:
    at the address in the file), `noise` the coordinator's own for sums (default: secure, in a rehearsal seeded).
    """
    spec = read_spec(campaign)
    terms, public = spec.prepared(sum_key(key).public_key().public_bytes_raw())
    store = Store(database)
    draw: Draw = drawn_at_random
    if rehearsal is not None:
        stream = seeded(rehearsal)
        terms, draw, noise = rehearsed(terms, rehearsal), SeededDraw(store, stream), noise or stream
    sums = None
    if isinstance(spec, BoostingSpec) and isinstance(terms, BoostingTerms) and terms.sums is not None:
        client = helper or spec.helper_client()
        if rehearsal is not None:
            only_here(client.base_url.host)
        sums = Sums(terms.sums, key, client, noise)
    store.found(terms.name, encode(terms))
    rosters = Rosters(store, terms, key) if isinstance(terms, PeerTerms) else None
    driver = Driver(store, terms, public, key, draw, sums, rosters)
    intake = Intake(store, key.public_key())
    view = View(store, key.public_key())
    app = Coordinator(store, intake, driver, admin, greeting(terms, key), view, limits, rosters).app()
    return Running(app, store, driver, public_bytes(key.public_key()).hex())
