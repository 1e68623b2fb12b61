"""The services: tacit serve, the coordinator of a campaign; tacit helper, the second of sums;
tacit vectors, test vectors of the proofs behind sums.
"""

import os
import secrets
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit._util.stopping import alone_in, read_or_create, replace_file
from tacit.cli._options import (
    FAILED,
    LogJson,
    StorageKey,
    check_port,
    key_of,
    log_to_stderr,
    open_vault,
    warn_of_rehearsal,
)
from tacit.cli._output import Screen

if TYPE_CHECKING:
    from tacit.service.coordinator.server import Service
    from tacit.service.coordinator.sql import Database
    from tacit.service.coordinator.store import Store
    from tacit.service.protocol.serving import Watch

WatchPort = Annotated[
    int | None,
    typer.Option(help="Port on this machine for /metrics, /healthz and /readyz.", min=1),
]
Traces = Annotated[
    bool,
    typer.Option("--traces", help="Tell OpenTelemetry of requests, as OTEL_* variables say."),
]
TrustedProxy = Annotated[
    list[str] | None,
    typer.Option(
        help="Address or network of a proxy whose X-Forwarded-For is believed; repeat for more."
    ),
]


def helper(
    campaign: Annotated[
        list[str] | None, typer.Option(help="Key (hex) of a campaign to serve; repeat for more.")
    ] = None,
    state: Annotated[
        Path, typer.Option(help="Folder with the helper's key and what it released.")
    ] = Path("helper"),
    host: Annotated[
        str, typer.Option(help="Address to listen on; off this machine TLS is required.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8444,
    certificate: Annotated[
        Path | None, typer.Option(help="TLS certificate (PEM).", exists=True)
    ] = None,
    key: Annotated[Path | None, typer.Option(help="TLS key (PEM).", exists=True)] = None,
    minimum: Annotated[
        int,
        typer.Option(
            help="Owners that a sum needs, whatever the campaign says (sites aside).", min=1
        ),
    ] = 10,
    keep: Annotated[
        int, typer.Option(help="Mebibytes on disk that each campaign may have.", min=1)
    ] = 1024,
    rehearsal: Annotated[
        int | None, typer.Option(help="Seed of a rehearsal: reproducible, NOT PRIVATE.")
    ] = None,
    storage_key: StorageKey = None,
    watch: WatchPort = None,
    traces: Traces = False,
    trusted_proxy: TrustedProxy = None,
    log_json: LogJson = False,
    *,
    screen: Screen,
) -> None:
    """Run the helper of a campaign's sums: add up what is sealed to you, add noise, answer each
    question once.

    Run it only if you are not the coordinator: owners rely on the two not working together. Your
    key is made on first use, in STATE; tell it to owners yourself, they pin it in their policies.
    Without a campaign it only tells its key. Ctrl-C (exit status 130) ends it; what was released
    stays on disk. With --json the document is printed before it serves.

    Example:
        tacit helper --state helper
    """
    from tacit.mechanisms.streams import seeded
    from tacit.service.protocol.handshake import rehearse_only_here
    from tacit.service.protocol.succession import HELPER, KeyRing
    from tacit.service.protocol.waiting import check_proxy
    from tacit.sums.halves import rehearsal_key

    check_tls(host, certificate, key)
    proxies = tuple(map(check_proxy, trusted_proxy or ()))
    for each in campaign or []:
        key_of(each)
    if rehearsal is not None:
        rehearse_only_here(host)
        warn_of_rehearsal()
    check_port(host, port)
    if watch is not None:
        check_port("127.0.0.1", watch)
    from tacit.service.helper import FEW, Helper, Sheets
    from tacit.service.protocol.guard import Guard
    from tacit.service.protocol.serving import Address, serve_forever

    log_to_stderr(log_json)
    if rehearsal is None:
        ring = KeyRing.at(state, HELPER)
        key_in_use = X25519PrivateKey.from_private_bytes(ring.secret)
        sheets = Sheets(state / "released.db", open_vault(storage_key), keep << 20)
        made = Helper(key_in_use, sheets, campaign or [], minimum, ring=ring)
    else:  # another key and another book: what it says never meets what a helper says
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        sheets = Sheets(state / "rehearsal.db", keep=keep << 20)
        made = Helper(rehearsal_key(), sheets, campaign or [], minimum, seeded(rehearsal))
    address = f"{'http' if certificate is None else 'https'}://{host}:{port}/"
    screen.say(f"helper key (owners pin it): {made.public}")
    what = "" if campaign else "; no --campaign is named: it tells its key, and adds nothing up"
    screen.say(f"address: {address}{what}")
    screen.tell(helper_key=made.public, address=address)
    screen.close()

    def app() -> Guard:
        beside(made.watch, watch, "tacit helper" if traces else None)
        return made.app()

    limits = replace(FEW, proxies=proxies)
    serve_forever(app, Address(host=host, port=port, certificate=certificate, key=key), 1, limits)
    # it returns on Ctrl-C alone
    screen.stop("what was released stays on disk; the same command goes on from there")


def serve(
    campaign: Annotated[
        list[Path],
        typer.Argument(help="The campaign file (TOML); several, or a folder of them.", exists=True),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on; off this machine TLS is required.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8443,
    database: Annotated[
        str, typer.Option(help="sqlite:///FILE or postgresql://...", envvar="TACIT_DATABASE")
    ] = "sqlite:///campaign.db",
    state: Annotated[
        Path, typer.Option(help="Folder with the campaign's key and the admin key.")
    ] = Path("campaign"),
    certificate: Annotated[
        Path | None, typer.Option(help="TLS certificate (PEM).", exists=True)
    ] = None,
    key: Annotated[Path | None, typer.Option(help="TLS key (PEM).", exists=True)] = None,
    workers: Annotated[
        int, typer.Option(help="Processes on one database, behind one port.", min=1, max=64)
    ] = 1,
    rehearsal: Annotated[
        int | None, typer.Option(help="Seed of a rehearsal: reproducible, NOT PRIVATE.")
    ] = None,
    tokens: Annotated[
        int, typer.Option(help="Have so many tokens, one per owner, in STATE/tokens.", min=0)
    ] = 0,
    storage_key: StorageKey = None,
    watch: WatchPort = None,
    traces: Traces = False,
    trusted_proxy: TrustedProxy = None,
    log_json: LogJson = False,
    *,
    screen: Screen,
) -> None:
    """Run the coordinator: invite owners, collect their reports, publish the model.

    The campaign's signing key and the admin key are made on first use, in STATE. Owners join with a
    token each. Several campaigns share address, database and STATE: each is at /campaigns/NAME by
    its file's name, with key and tokens in STATE/NAME, and a file that comes into a folder that is
    served is served, too.

    Ctrl-C (exit status 130) ends it; everything is in the database, and the same command goes on
    from there. With --json the document is printed before it serves.

    Example:
        tacit serve campaign.toml --tokens 50
    """
    from tacit.service.protocol.door import ConnectionLimits
    from tacit.service.protocol.handshake import rehearse_only_here
    from tacit.service.protocol.waiting import check_proxy

    check_tls(host, certificate, key)
    limits = ConnectionLimits(proxies=tuple(map(check_proxy, trusted_proxy or ())))
    if rehearsal is not None:
        rehearse_only_here(host)
        warn_of_rehearsal()
    check_port(host, port)
    if watch is not None:
        check_port("127.0.0.1", watch)
        if workers > 1:  # before anything counts
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="tacit-watch-")
    from tacit.service.coordinator.keys import CampaignKeys
    from tacit.service.coordinator.server import Running, Service, coordinator
    from tacit.service.coordinator.sql import Database
    from tacit.service.protocol.guard import Guard
    from tacit.service.protocol.serving import Address, serve_forever

    log_to_stderr(log_json)
    page = f"{'http' if certificate is None else 'https'}://{host}:{port}/"
    alone = len(campaign) == 1 and campaign[0].is_file()
    others = state / "administrators"

    def open_database() -> Database:
        return Database(database, open_vault(storage_key))

    def make_one() -> Running:
        keys = CampaignKeys.at(state)
        more = {"administrators": (others,), "keys": keys}
        return coordinator(
            campaign[0], open_database(), keys.key, admin_file(state), rehearsal, **more
        )

    def make_several() -> Service:
        return several(campaign, open_database(), state, rehearsal)

    made = make_one() if alone else make_several()
    if isinstance(made, Service):
        fresh = {
            slug: give_tokens(each.store, state / slug, tokens)
            for slug, each in made.campaigns.items()
        }
        screen.tell(
            page=page,
            admin_key_file=state / "admin.key",
            campaigns=[
                {
                    "campaign": slug,
                    "address": f"{page.rstrip('/')}{each.root}",
                    "campaign_key": each.campaign_key.hex(),
                    "new_tokens": fresh[slug],
                    "tokens_file": state / slug / "tokens",
                }
                for slug, each in made.campaigns.items()
            ],
        )
        for slug, each in made.campaigns.items():
            screen.say(f"{slug}: {page.rstrip('/')}{each.root}, key {each.campaign_key.hex()}")
        screen.say(f"page: {page}, admin key: {state / 'admin.key'}")
    else:
        new = give_tokens(made.store, state, tokens)
        if new:
            screen.say(f"{new} tokens were added to {state / 'tokens'}: give one to each owner")
        screen.say(f"campaign key (owners may pin it): {made.fingerprint}")
        screen.say(f"page: {page}, admin key: {state / 'admin.key'}")
        screen.tell(
            campaign_key=made.fingerprint,
            page=page,
            admin_key_file=state / "admin.key",
            new_tokens=new,
        )
        screen.tell(tokens_file=state / "tokens")
    screen.close()
    made.close()  # nothing open may be shared by several workers

    def app() -> Guard:
        mine = made if workers == 1 else make_one() if alone else make_several()
        beside(mine.watch, watch, "tacit coordinator" if traces else None)
        return mine.app() if isinstance(mine, Service) else mine.app

    address = Address(host=host, port=port, certificate=certificate, key=key)
    serve_forever(app, address, workers, limits)
    screen.stop(
        "everything is in the database; the same command goes on from there"
    )  # it returns on Ctrl-C alone


def beside(watch: "Watch", port: int | None, traced: str | None) -> None:
    """What operators see of a service: counts at a port of their own, requests as traces."""
    from tacit.service.protocol.serving import Address, serve_beside, tracer_of

    if port is not None:
        serve_beside(watch.app(), Address(host="127.0.0.1", port=port))
    if traced is not None:
        watch.trace(tracer_of(traced))


def several(
    places: list[Path], database: "str | Database", state: Path, rehearsal: int | None
) -> "Service":
    """The service of several campaigns: the first administrator and the file of others in STATE are
    for all of them; of each campaign its key, its tokens and administrators of its own are in
    STATE/CAMPAIGN.
    """
    from tacit.service.coordinator.keys import CampaignKeys
    from tacit.service.coordinator.server import Making, Service

    first = admin_file(state)

    def making_of(slug: str) -> Making:
        files = state / "administrators", state / slug / "administrators"
        return Making(admin=first, administrators=files, rehearsal=rehearsal)

    made = Service(places, database, lambda slug: CampaignKeys.at(state / slug), making_of)
    made.mount(made.look())
    if not made.campaigns:
        raise ValueError(
            f"no campaign can be served from {', '.join(map(str, places))}: give campaign files, "
            "or a folder with some (NAME.toml); the lines above say what is wrong with those there"
        )
    return made


def give_tokens(store: "Store", state: Path, wanted: int) -> int:
    """Have so many tokens in STATE/tokens, a line for each; how many are new."""
    from tacit.service.coordinator.records import OPERATOR, Records
    from tacit.service.coordinator.tables import ENDED, OverError

    file = state / "tokens"
    with alone_in(state):
        there = file.read_text().split() if file.exists() else []
        if wanted <= len(there) or store.standing().state == ENDED:
            return 0
        try:
            with store.transaction():
                fresh = store.make_tokens(wanted - len(there), maker=OPERATOR)
                Records(store).note_command("tokens", f"{len(fresh)} tokens")
        except OverError:
            return 0  # another coordinator has ended it just now
        replace_file(file, "".join(f"{token}\n" for token in (*there, *fresh)).encode())
    return len(fresh)


def check_tls(host: str, certificate: Path | None, key: Path | None) -> None:
    """Refuse to listen off this machine without TLS."""
    if (certificate is None) != (key is None):
        raise ValueError("certificate and key must be given together")
    from tacit.service.protocol.handshake import LOOPBACK

    if certificate is None and host not in LOOPBACK:
        raise ValueError(
            f"host {host} is not this machine: give --certificate and --key, or listen on 127.0.0.1"
        )


def signing_key(state: Path) -> Ed25519PrivateKey:
    """The campaign's signing key, made on first use."""
    from tacit.service.protocol.succession import CAMPAIGN, KeyRing

    return Ed25519PrivateKey.from_private_bytes(KeyRing.at(state, CAMPAIGN).secret)


def admin_key(state: Path) -> str:
    """The administrator's key, made on first use."""
    return (
        read_or_create(state / "admin.key", lambda: secrets.token_urlsafe(32).encode())
        .decode()
        .strip()
    )


def admin_file(state: Path) -> Path:
    """The file with that key, which may be replaced while it is in use."""
    admin_key(state)
    return state / "admin.key"


def vectors(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Folder of test vectors (JSON), as the draft on verifiable aggregation has them;"
            " those in folders of it are replayed, too.",
            exists=True,
            file_okay=False,
        ),
    ],
    screen: Screen,
) -> None:
    """Replay test vectors of Prio3, good ones and ones that must be refused, bit for bit.

    Each file is passed, failed or not judged (another algorithm). Exit status 1 if one has failed,
    or none was passed.

    Example:
        tacit vectors test_vec/vdaf
    """
    from tacit.sums.prio3.vectors import judge_folder

    found = judge_folder(folder)
    if not found:
        raise ValueError(f"{folder} has no test vectors: name a folder with files of JSON")
    for verdict in found:
        screen.say(str(verdict))
    counts = {
        name: sum(verdict.passed is outcome for verdict in found)
        for name, outcome in (("passed", True), ("failed", False), ("not_judged", None))
    }
    screen.say(
        f"{counts['passed']} passed, {counts['failed']} failed, {counts['not_judged']} not judged"
    )
    screen.tell(**counts, vectors={verdict.name: verdict.passed for verdict in found})
    if counts["failed"] or not counts["passed"]:
        raise typer.Exit(FAILED)
