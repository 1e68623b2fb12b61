"""A coordinator put together from its parts: the service of one campaign, or of several behind one
address.
"""

import asyncio
import logging
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from tacit.data.cohort import Public
from tacit.estimators.group_planning import GroupPlan
from tacit.estimators.persistence import sign_model
from tacit.mechanisms.streams import Stream, seeded
from tacit.service.coordinator.answers import OPENED, Campaign, Sums
from tacit.service.coordinator.app import Coordinator, make_app, stop
from tacit.service.coordinator.driver import Draw, Driver, SeededDraw, draw_at_random
from tacit.service.coordinator.intake import Intake
from tacit.service.coordinator.keys import Administrators, CampaignKeys, renew_signatures
from tacit.service.coordinator.openapi import document_of
from tacit.service.coordinator.owner_api import ENROL, body_sizes
from tacit.service.coordinator.page import list_page
from tacit.service.coordinator.peers import Rosters
from tacit.service.coordinator.sql import Database
from tacit.service.coordinator.status import FRESH, View
from tacit.service.coordinator.store import ROOT, Store, prepare
from tacit.service.coordinator.tables import StoreError
from tacit.service.kinds import read_spec, read_terms
from tacit.service.kinds.campaign_file import ADMINISTRATORS, PUBLIC, CampaignSpec, Readers
from tacit.service.kinds.kind import CampaignTerms
from tacit.service.protocol.guard import Direct, Guard, Limits
from tacit.service.protocol.handshake import greeting, rehearse_only_here
from tacit.service.protocol.serving import Figures, Watch
from tacit.service.protocol.web import static_routes
from tacit.wire import encode
from tacit.wire.envelopes import public_bytes

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Running:
    """The service, its store, and the campaign key that owners may pin."""

    app: Guard
    store: Store
    driver: Driver
    fingerprint: str
    watch: Watch

    def close(self) -> None:
        self.store.close()


@dataclass(frozen=True, kw_only=True)
class Making:
    """What campaigns are made with, beside file, database and key.

    `admin` is the first administrator's key, or its file, `administrators` are files of others.
    `rehearsal` is the seed of one: reproducible, not private. `helper` is where the campaign's
    helper answers (default: at the address in the file), `noise` the coordinator's own for sums
    (default: secure, in a rehearsal seeded). `keys` are all that the campaign has had, where its
    key took the place of others.
    """

    admin: str | Path
    administrators: tuple[Path, ...] = ()
    rehearsal: int | None = None
    helper: httpx.Client | None = None
    noise: Stream | None = None
    keys: CampaignKeys | None = None
    limits: Limits = field(default_factory=Limits)


def make_campaign(
    campaign: Path, store: Store, key: Ed25519PrivateKey, making: Making, watch: Watch | None = None
) -> Coordinator:
    """Read the campaign file, begin or take up the campaign in the database, and make its part of
    the service.
    """
    spec = read_spec(campaign)
    keys = making.keys or CampaignKeys.of(key)
    terms, public, test, plan = prepare_all(spec, keys.first_sealing)
    draw: Draw = draw_at_random
    seed, noise = making.rehearsal, making.noise
    if seed is not None:
        stream = seeded(seed)
        terms, draw, noise = terms.rehearsal(seed), SeededDraw(store, stream), noise or stream
    sums = None
    if terms.servers is not None:
        client = making.helper or spec.helper_client()
        if seed is not None:
            rehearse_only_here(client.base_url.host)
        # a rehearsal says the same by its seed, and another seed something else
        opened = None if seed is not None or keys.folder is None else keys.folder / OPENED
        sums = Sums(terms.servers, terms.sum_terms, keys, client, noise=noise, opened=opened)
    renew_signatures(store, keys)
    store.create_or_resume(terms.name, encode(terms), public_bytes(key.public_key()))
    rosters = None if terms.relay is None else Rosters(store, terms.relay, key, keys.first)
    driver = Driver(
        store,
        Campaign(terms, public, key, test, "" if plan is None else str(plan)),
        draw,
        sums,
        rosters,
    )
    made = _serve(terms, store, key, making, watch)
    return replace(made, driver=driver, rosters=rosters, readers=spec.readers)


class Prepared(NamedTuple):
    """What a campaign begins with, all of it read."""

    terms: CampaignTerms
    public: Public
    test: Public | None
    plan: GroupPlan | None


def prepare_all(spec: CampaignSpec, sum_key: bytes) -> Prepared:
    """What a campaign file and its tables give; whatever keeps it from being served is an error."""
    terms, public = spec.prepare(sum_key)
    test, plan = spec.read_test(terms.schema), spec.plan(terms, public)
    if plan is not None and not plan.collect:
        raise ValueError(str(plan))
    return Prepared(terms, public, test, plan)


def make_archived(
    store: Store, key: Ed25519PrivateKey, making: Making, watch: Watch | None
) -> Coordinator:
    """What is still to be seen of a campaign that was archived: page, figures, model, which its own
    key signs.
    """
    keys = making.keys or CampaignKeys.of(key)
    standing = store.standing()
    if standing.key not in (*keys.before, public_bytes(key.public_key())):
        raise StoreError(f"its folder of keys has another than {standing.key.hex()}: bring it back")
    return _serve(read_terms(standing.terms), store, key, making, watch)


def _serve(
    terms: CampaignTerms,
    store: Store,
    key: Ed25519PrivateKey,
    making: Making,
    watch: Watch | None,
) -> Coordinator:
    """The part of a service that needs no driver."""
    template, keys = terms.template(), making.keys or CampaignKeys.of(key)
    return Coordinator(
        store=store,
        intake=Intake(store, key.public_key()),
        view=View(store, key.public_key()),
        driver=None,
        rosters=None,
        greet=lambda: greeting(terms, template, key, keys.statements),
        statements=keys.count,
        campaign_key=keys.first,
        administrators=Administrators(making.admin, making.administrators),
        limits=making.limits,
        sizes=body_sizes(template),
        sign=lambda model: sign_model(model, key),
        root="" if watch is None else root_of(store.slug),
        watch=watch,
    )


def coordinator(
    campaign: Path,
    database: str | Database,
    key: Ed25519PrivateKey,
    admin: str | Path,
    rehearsal: int | None = None,
    **making: Any,
) -> Running:
    """The service of one campaign, by its file; `making` and others as in `Making`."""
    store, made = Store(database), Making(admin=admin, rehearsal=rehearsal, **making)
    service = make_campaign(campaign, store, key, made)
    if service.driver is None:
        raise RuntimeError("a campaign of a file has a driver")
    return Running(
        service.app(), store, service.driver, service.campaign_key.hex(), service.own_watch
    )


_SLUG = re.compile("[a-z0-9][a-z0-9-]{0,62}")


def root_of(slug: str) -> str:
    """What the addresses of a campaign begin with, where there are several."""
    return ROOT + slug


def _fail(problem: str) -> None:
    raise ValueError(problem)


def campaign_files(
    places: Sequence[Path], refuse: Callable[[str], None] = _fail
) -> dict[str, Path]:
    """Campaign files by slug, the name of the file: those given, and all in folders that were. What
    is wrong with one goes to `refuse`, and it is left out.
    """
    found: dict[str, Path] = {}
    for place in places:
        for file in sorted(place.glob("*.toml")) if place.is_dir() else [place]:
            if not _SLUG.fullmatch(file.stem):
                refuse(
                    f"{file}: of several campaigns the file's name is part of an address; it must "
                    "be lower-case letters, digits and -, up to 63"
                )
            elif file.stem == ADMINISTRATORS:
                refuse(f"{file}: STATE/{ADMINISTRATORS} is a file: give it another name")
            elif found.setdefault(file.stem, file) != file:
                refuse(f"{file} and {found[file.stem]} would have the same address")
    return found


def _readers_of(file: Path | None) -> Readers:
    """Who may read what is left of an archived campaign: whom its file names; without a file that
    can be read, administrators alone.
    """
    try:
        return Readers(ADMINISTRATORS, ADMINISTRATORS) if file is None else read_spec(file).readers
    except (ValueError, OSError):
        return Readers(ADMINISTRATORS, ADMINISTRATORS)


def _told(problem: Exception) -> str:
    """What the log says of an error: of one that nobody foresaw its name alone."""
    expected = isinstance(problem, (ValueError, StoreError, OSError))
    return str(problem) if expected else type(problem).__name__


class _Failed(NamedTuple):
    """A file that could not be served: as it was then, why, and until when it is left alone."""

    changed: tuple[int, int]
    why: str
    wait: float
    until: float

    def is_still(self, changed: tuple[int, int]) -> bool:
        """Whether it is not worth a try yet."""
        return self.changed == changed and time.monotonic() < self.until


class Service:
    """Several campaigns behind one address, on one database, each under its own root.

    Every few seconds it looks for files that have come, and for campaigns that were archived: the
    first are begun, of the others page, figures and model stay. A file that cannot be served is
    named in the log, does not keep others from being served, and is tried again when it or what
    lies beside it changes, and after a while, longer each time: what it needs may be elsewhere. A
    campaign whose file has gone is not served any more, and goes on where it was when the file is
    back. `keys_of` gives the keys of a campaign by its slug.
    """

    pause: ClassVar[float] = 5.0  # seconds between looks
    # seconds until a file that could not be served is tried again, the first time and at most
    again: ClassVar[tuple[float, float]] = (60.0, 3600.0)

    def __init__(
        self,
        places: Sequence[Path],
        database: str | Database,
        keys_of: Callable[[str], CampaignKeys],
        making: Callable[[str], Making],
        limits: Limits = Limits(),  # noqa: B008 - frozen
    ) -> None:
        self._places = places
        self._database = Database(database) if isinstance(database, str) else database
        self._keys_of, self._making = keys_of, making
        self._limits = limits
        self.campaigns: dict[str, Coordinator] = {}
        self._apps: dict[str, Starlette] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        # files that cannot be served, and what was said of others
        self._passed_over: dict[str, _Failed] = {}
        self._said: set[str] = set()
        self._found: dict[Path, tuple[int, int]] = {}  # files as they were at the last look
        self._lock = threading.Lock()
        self._listed_at, self._listed = -FRESH, list[dict[str, Any]]()
        self._list_page: tuple[list[dict[str, Any]] | None, str] = None, ""
        self._documented: tuple[tuple[str, ...] | None, bytes] = None, b""
        self._kinds: dict[str, str] = {}
        self._gone: set[str] = set()
        self._direct: dict[tuple[str, str], Direct] = {}
        self._open_to_all: set[tuple[str, str]] = set()
        self._signed: set[tuple[str, str]] = set()
        self.watch = Watch(self._database.campaigns, self._figures)
        campaign_files([place for place in places if not place.is_dir()])  # as they were typed
        prepare(self._database)

    def close(self) -> None:
        self._database.close()

    def look(self, is_whole: Callable[[Path], bool] = Path.exists) -> dict[str, Coordinator]:
        """Campaigns that are to be served now and were not, by slug, of files that are `is_whole`;
        those that are archived now in place of what they were.
        """
        found, files = {}, self._files()
        for slug, file in files.items():
            if slug in self.campaigns:
                continue
            if not file.exists():  # a link that leads nowhere, say
                if slug not in self._gone:
                    self._say(f"{file} is not there")
                continue
            if not is_whole(file):
                continue
            changed = file.stat().st_mtime_ns, file.parent.stat().st_mtime_ns
            failed = self._passed_over.get(slug)
            if failed is not None and failed.is_still(changed):
                continue
            try:
                store = Store(self._database, slug)
                found[slug] = make_campaign(file, store, *self._parts(slug))
            except SQLAlchemyError:
                raise  # of the database, not of the file
            except Exception as problem:  # whatever it is, it is about this one alone
                self._pass_over(slug, changed, problem)
            else:
                self._passed_over.pop(slug, None)
        return found | self._newly_archived(found, files)

    def has_settled(self, file: Path) -> bool:
        """Whether a file is as it was the last time somebody asked. Of one that is still being
        written a part may be a campaign, too: on other terms, which would hold for good.
        """
        now = file.stat().st_mtime_ns, file.stat().st_size
        before, self._found[file] = self._found.get(file), now
        return before == now

    def _pass_over(self, slug: str, changed: tuple[int, int], problem: Exception) -> None:
        """Leave a file alone for a while, longer each time that it fails as it is."""
        failed = self._passed_over.get(slug)
        why = _told(problem)
        if failed is None or failed.why != why:
            log.warning("campaign %s is not served: %s", slug, why)
        same = failed is not None and failed.changed == changed
        wait = min(2 * failed.wait, self.again[1]) if failed and same else self.again[0]
        self._passed_over[slug] = _Failed(changed, why, wait, time.monotonic() + wait)

    def _newly_archived(
        self, found: Mapping[str, Coordinator], files: Mapping[str, Path]
    ) -> dict[str, Coordinator]:
        """Campaigns that are archived now and were not, by slug."""
        out = {}
        for slug in filter(None, self._database.campaigns().values()):
            store = Store(self._database, slug)
            known = self.campaigns.get(slug) or found.get(slug)
            if (known is None or known.driver is not None) and store.standing().archive:
                try:
                    archived = make_archived(store, *self._parts(slug))
                except SQLAlchemyError:
                    raise  # of the database, not of its key
                except Exception as problem:
                    self._say(f"campaign {slug}, which is archived: {_told(problem)}")
                else:
                    out[slug] = replace(archived, readers=_readers_of(files.get(slug)))
        return out

    def find_gone(self) -> set[str]:
        """Campaigns that are served and whose files are not there any more; of archived ones no
        file is needed.
        """
        there = {slug for slug, file in self._files().items() if file.exists()}
        return {slug for slug, each in self.campaigns.items() if each.driver} - there

    def _files(self) -> dict[str, Path]:
        """Campaign files that are there now; of others the log says what is wrong."""
        return campaign_files(self._places, self._say)

    def _say(self, problem: str) -> None:
        """Have the log say once why something is not served."""
        if problem not in self._said:
            self._said.add(problem)
            log.warning("not served: %s", problem)

    def unmount(self, slugs: Collection[str]) -> None:
        """Serve these no more."""
        for slug in slugs:
            each = self.campaigns.pop(slug)
            del self._apps[slug]
            for method, path in each.direct():
                del self._direct[method, each.root + path]
            self._open_to_all.discard((ENROL[0], each.root + ENROL[1]))
            self._signed -= {(method, each.root + path) for method, path in each.signed()}
            self._gone.add(slug)
            log.info("campaign %s is not served any more: its file has gone", slug)

    def _parts(self, slug: str) -> tuple[Ed25519PrivateKey, Making, Watch]:
        """What a campaign is made with."""
        keys = self._keys_of(slug)
        return keys.key, replace(self._making(slug), keys=keys), self.watch

    def mount(self, campaigns: Mapping[str, Coordinator]) -> None:
        """Serve these from now on."""
        for slug, each in campaigns.items():
            self.campaigns[slug] = each
            self._apps[slug] = make_app(each.routes())
            for (method, path), answer in each.direct().items():
                self._direct[method, each.root + path] = answer
            self._open_to_all.add((ENROL[0], each.root + ENROL[1]))
            self._signed |= {(method, each.root + path) for method, path in each.signed()}

    def app(self) -> Guard:
        """The ASGI application."""
        own = [
            Route("/", self.page, methods=["GET"]),
            Route("/v1/campaigns", self.listing, methods=["GET"]),
            Route("/openapi.json", self.document, methods=["GET"]),
            *self.watch.routes(),
            *static_routes("tacit.render", "tacit.service.coordinator"),
            Route(ROOT + "{slug}", self._lead_on, methods=["GET"]),
            Mount(ROOT + "{slug}", self._pass_on),
        ]
        return Guard(
            make_app(own, self._lifespan),
            self._limits,
            self._direct,
            open_to_all=self._open_to_all,
            signed=self._signed,
            sizes=self._size,
            is_known=self._knows,
            observe=self.watch.observe,
            refused=self.watch.refuse,
        )

    async def page(self, request: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(self._show_list))

    def _show_list(self) -> str:
        """The page of all campaigns, made once for each look at them."""
        listed = self._listing()
        if self._list_page[0] is not listed:
            self._list_page = listed, list_page(listed)
        return self._list_page[1]

    async def document(self, request: Request) -> Response:
        names = tuple(self.campaigns)
        if names != self._documented[0]:
            self._documented = names, bytes(JSONResponse(document_of(names)).body)
        return Response(self._documented[1], media_type="application/json")

    async def listing(self, request: Request) -> Response:
        return JSONResponse({"campaigns": await run_in_threadpool(self._listing)})

    def _listing(self) -> list[dict[str, Any]]:
        """What everybody may know of every campaign, the latest first; how one stands whose figures
        are not for everybody is not told. Many viewers cost the database as much as one.
        """
        with self._lock:
            if time.monotonic() - self._listed_at >= FRESH:
                self._listed, self._listed_at = self._read_listing(), time.monotonic()
            return self._listed

    def _read_listing(self) -> list[dict[str, Any]]:
        outlines = self._database.outlines()
        now = dict(self.campaigns)  # one may come or go meanwhile
        served = [(slug, now[slug]) for slug in outlines if slug in now]
        return [
            {
                "campaign": slug,
                "address": root_of(slug) + "/",
                "name": outlines[slug].name,
                "key": outlines[slug].key.hex(),
                "kind": self._kind_of(slug, each),
                "state": outlines[slug].state if each.readers.status == PUBLIC else None,
                "archived": outlines[slug].archived if each.readers.status == PUBLIC else None,
            }
            for slug, each in reversed(served)
        ]

    def _kind_of(self, slug: str, campaign: Coordinator) -> str:
        """The kind of a campaign, which never changes."""
        if slug not in self._kinds:
            self._kinds[slug] = read_terms(campaign.store.standing().terms).kind
        return self._kinds[slug]

    async def _lead_on(self, request: Request) -> Response:
        """From the address of a campaign, as it is told, to its page, whatever host was named."""
        slug = request.path_params["slug"]
        if slug not in self.campaigns:
            raise HTTPException(404)
        return RedirectResponse(f"{slug}/", 308)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """To the campaign that an address names."""
        app = self._apps.get(scope["path_params"]["slug"])
        if app is None:
            raise HTTPException(404)
        await app(scope, receive, send)

    def _size(self, path: str, headers: Mapping[bytes, bytes]) -> int | None:
        each, rest = self._campaign_at(path)
        return None if each is None else each.size(rest, headers)

    def _knows(self, path: str, headers: Mapping[bytes, bytes]) -> bool:
        each, rest = self._campaign_at(path)
        return each is not None and each.knows(rest, headers)

    def _campaign_at(self, path: str) -> tuple[Coordinator | None, str]:
        """The campaign that an address is of, if any, and its place there."""
        slug, _, rest = path.removeprefix(ROOT).partition("/")
        return (self.campaigns.get(slug) if path.startswith(ROOT) else None), f"/{rest}"

    def _figures(self) -> dict[str, Figures | None]:
        """Of every campaign, None where they cannot be read, and, of none, of the database that
        they share.
        """
        shared = self._database.figures()  # one that is away is waited for once
        found: dict[str, Figures | None] = {"": shared}
        for slug, each in tuple(self.campaigns.items()):  # one may come or go meanwhile
            try:
                found[slug] = each.figures()
            except Exception as problem:  # whatever it is, it is about this one alone
                log.warning("no figures of campaign %s: %s", slug, type(problem).__name__)
                found[slug] = None
        return found

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Campaigns are at work for as long as the service lives; others may come."""
        following = asyncio.create_task(self._follow())
        yield
        for task in (following, *self._tasks.values()):
            await stop(task)
        self._database.close()

    async def _follow(self) -> None:
        while True:
            for slug, each in self.campaigns.items():
                if slug not in self._tasks:
                    self._tasks[slug] = asyncio.create_task(each.run())
            await asyncio.sleep(self.pause)
            try:
                found, gone = await run_in_threadpool(
                    lambda: (self.look(self.has_settled), self.find_gone())
                )
            except Exception as problem:  # a database that is away, a folder in the making
                log.warning("could not look for campaigns: %s", type(problem).__name__)
                continue
            for slug in (found.keys() | gone) & self._tasks.keys():
                await stop(self._tasks.pop(slug))
            self.unmount(gone)
            self.mount(found)
