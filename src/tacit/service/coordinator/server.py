"""A coordinator put together from its parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.estimators.persistence import sign_model
from tacit.learners.invitation import report_size
from tacit.mechanisms.streams import Stream, drawing_order, seeded
from tacit.owner.template import QuestionForm, Template
from tacit.service.coordinator.app import Coordinator
from tacit.service.coordinator.driver import Draw, Driver, draw_at_random
from tacit.service.coordinator.intake import Intake
from tacit.service.coordinator.keys import CampaignKeys, renew_signatures
from tacit.service.coordinator.owner_api import ENROL, REPORT, SPOKEN
from tacit.service.coordinator.peers import Rosters
from tacit.service.coordinator.records import Administrators
from tacit.service.coordinator.replay import Campaign
from tacit.service.coordinator.status import View
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.sums import Sums
from tacit.service.kinds import read_spec
from tacit.service.protocol.guard import Guard, Limits
from tacit.service.protocol.handshake import greeting, rehearse_only_here
from tacit.service.protocol.watch import Watch
from tacit.wire import encode
from tacit.wire.envelopes import public_bytes


class SeededDraw:
    """Draws owners in the order in which the engine in one process does: by their place in the
    sorted order of their names.
    """

    def __init__(self, store: Store, stream: Stream) -> None:
        self._store = store
        self._stream = stream

    def __call__(self, waiting: Sequence[int], count: int) -> list[int]:
        names = self._store.labels()
        ids = sorted(names, key=lambda owner_id: names[owner_id])
        order = [ids[place] for place in drawing_order(len(ids), self._stream)]
        fresh = set(waiting)
        return [owner_id for owner_id in order if owner_id in fresh][:count]


@dataclass(frozen=True, eq=False)
class Running:
    """The service, its store, and the campaign key that owners may pin."""

    app: Guard
    store: Store
    driver: Driver
    fingerprint: str
    watch: Watch


_ENROLMENT = 8 << 10  # bytes: a token, a name, the numbers of a thousand attributes
_SIGNED = 1 << 10  # bytes that a peer's signature and digest add to a report


def body_sizes(template: Template) -> dict[str, int]:
    """Bytes that the bodies of owners' routes may have: as many as the largest report that the
    campaign may ask for, where that is more than any route takes.
    """
    largest = max(_largest_report(form) for form in template.forms)
    report = max(largest, Limits().body)
    return {ENROL[1]: _ENROLMENT, REPORT[1]: report, SPOKEN[1]: report + _SIGNED}


def _largest_report(form: QuestionForm) -> int:
    query = form.example
    width = max((bound.most for bound in form.bounds if bound.name == "width"), default=0)
    return -(-report_size(query) * max(width, query.width) // query.width)


def coordinator(
    campaign: Path,
    database: str,
    key: Ed25519PrivateKey,
    admin: str,
    rehearsal: int | None = None,
    *,
    administrators: Path | None = None,
    helper: httpx.Client | None = None,
    noise: Stream | None = None,
    keys: CampaignKeys | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Running:
    """Read the campaign file, begin or take up the campaign in the database, and make the service.

    `rehearsal` is the seed of one: reproducible, not private. `helper` is where the campaign's
    helper answers (default: at the address in the file), `noise` the coordinator's own for sums
    (default: secure, in a rehearsal seeded). `admin` is the first administrator's key;
    `administrators` the file of others. `keys` are all that the campaign has had, where `key` took
    the place of others.
    """
    spec = read_spec(campaign)
    keys = keys or CampaignKeys.of(key)
    terms, public = spec.prepare(keys.first_sealing)
    store = Store(database)
    draw: Draw = draw_at_random
    if rehearsal is not None:
        stream = seeded(rehearsal)
        terms, draw, noise = terms.rehearsal(rehearsal), SeededDraw(store, stream), noise or stream
    sums = None
    if terms.servers is not None:
        client = helper or spec.helper_client()
        if rehearsal is not None:
            rehearse_only_here(client.base_url.host)
        sums = Sums(terms.servers, terms.sum_terms, keys, client, noise=noise)
    campaign_key = public_bytes(key.public_key())
    renew_signatures(store, keys)
    store.create_or_resume(terms.name, encode(terms), campaign_key)
    rosters = None if terms.relay is None else Rosters(store, terms.relay, key)
    driver = Driver(store, Campaign(terms, public, key), draw, sums, rosters)
    service = Coordinator(
        store=store,
        intake=Intake(store, key.public_key()),
        view=View(store, key.public_key()),
        driver=driver,
        rosters=rosters,
        greet=lambda: greeting(terms, terms.template(), key, keys.said),
        campaign_key=keys.first,
        statements=keys.count,
        administrators=Administrators(admin, administrators),
        limits=limits,
        sizes=body_sizes(terms.template()),
        sign=lambda model: sign_model(model, key),
    )
    return Running(service.app(), store, driver, campaign_key.hex(), service.watch)
