"""A coordinator put together from its parts."""

from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.applications import Starlette

from tacit.campaign.greeting import greeting
from tacit.coordinator.app import Coordinator
from tacit.coordinator.driver import Draw, Driver, drawn_at_random
from tacit.coordinator.intake import Intake
from tacit.coordinator.spec import CampaignSpec
from tacit.coordinator.store import Store
from tacit.wire import encode
from tacit.wire.signed import public_bytes


@dataclass(frozen=True, eq=False)
class Running:
    """The service, its store, and the campaign key that owners may pin."""

    app: Starlette
    store: Store
    driver: Driver
    fingerprint: str


def coordinator(
    campaign: Path, database: str, key: Ed25519PrivateKey, admin: str, draw: Draw = drawn_at_random
) -> Running:
    """Read the campaign file, begin or take up the campaign in the database, and make the service."""
    terms, public = CampaignSpec.read(campaign).prepared()
    store = Store(database)
    store.found(terms.name, encode(terms))
    driver = Driver(store, terms, public, key, draw)
    intake = Intake(store, key.public_key())
    app = Coordinator(store, intake, driver, admin, greeting(terms, key)).app()
    return Running(app, store, driver, public_bytes(key.public_key()).hex())
