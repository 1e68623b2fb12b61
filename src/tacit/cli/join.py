"""Taking part in a campaign, fetching its model, and leaving it: tacit join, model, leave. A
gateway's progress is seen from its requests.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import httpx
import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit._util.file_checks import check_writable
from tacit._util.stopping import write_whole
from tacit.cli._options import (
    FAILED,
    Authority,
    HomeFolder,
    LogJson,
    Patience,
    home_folder,
    key_of,
    log_to_stderr,
    optional_key,
    read_token,
    read_words,
    warn_of_rehearsal,
)
from tacit.cli._output import Bar, Screen, bars
from tacit.cli.invite import Way
from tacit.owner.policy import Policy
from tacit.service.device.client import Link

if TYPE_CHECKING:  # what is needed for it is loaded when somebody joins
    from tacit.service.device.disclosures import Preview

_NOT_SERVED = "waiting: the campaign is not served there now, and is asked again"
_WAITING = {
    ("/v1/enrol", 200): "enrolled: waiting to be asked; Ctrl-C stops, the same command goes on",
    ("/v1/question", 204): "waiting: the campaign has no question for you now, and is asked again",
    ("/v1/question", 200): "a question has come: the gate is at work on it",
    ("/v1/report", 200): "the report has arrived and counts",
    ("/v1/spoken", 200): "the report has arrived and counts",
    ("/v1/question", 410): "the campaign has ended",
    ("/v1/enrol", 404): _NOT_SERVED,
    ("/v1/question", 404): _NOT_SERVED,
}
Where = Annotated[
    str, typer.Argument(help="The coordinator, https://host:port, or the file of a kit.")
]
_SHOWN = {"/v1/enrol": "owners enrolled", "/v1/report": "reports sent"}


@dataclass
class WatchedLink(Link):
    """A link that tells of every request which was taken."""

    watch: Callable[[str, int], None] = lambda path, status: None

    @classmethod
    def of(cls, link: Link, watch: Callable[[str, int], None]) -> "WatchedLink":
        """The same link, and who is told."""
        return cls(
            link.clients,
            link.patience,
            clock=link.clock,
            news=link.news,
            became=link.became,
            coin=link.coin,
            watch=watch,
        )

    async def call(
        self, method: str, path: str, key: Ed25519PrivateKey | None, body: bytes = b""
    ) -> httpx.Response:
        response = await super().call(method, path, key, body)
        self.watch(path, response.status_code)
        return response


@contextmanager
def watch_outcomes(screen: Screen, owners: int) -> Iterator[Callable[[str, int], None]]:
    """A line for what is waited for, when that changes; of a gateway, whose owners each wait for
    something else, every line once, and a bar for each kind of request as soon as there is one,
    with the time left until so many owners have made it.
    """
    said, before = "", set[str]()
    counts: dict[str, int] = {}
    with bars(screen) as progress:
        shown = {
            path: Bar(progress, progress.add_task(what, visible=False))
            for path, what in _SHOWN.items()
        }

        def watch(path: str, status: int) -> None:
            nonlocal said
            line = _WAITING.get((path, status), said)
            if line != said and not (owners > 1 and line in before):
                said = line
                before.add(line)
                screen.say(line)
            if path in shown and owners > 1 and status == 200:
                counts[path] = counts.get(path, 0) + 1
                shown[path](
                    counts[path], max(owners, counts[path]), f"{counts[path]:,} {_SHOWN[path]}"
                )

        yield watch


def join(
    url: Where,
    data: Annotated[
        Path,
        typer.Option(
            help="Your table, CSV or parquet; it stays here.", exists=True, dir_okay=False
        ),
    ],
    policy: Annotated[
        Path | None,
        typer.Option(
            help="Your policy (TOML): what may leave. Of a kit: the one beside it.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Your column to predict; default: its name in the campaign.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            help="Where your one-time token is: @FILE, - for standard input; or TACIT_TOKEN.",
            envvar="TACIT_TOKEN",
        ),
    ] = None,
    tokens: Annotated[
        Path | None, typer.Option(help="A file of tokens, one per owner, for a gateway.")
    ] = None,
    owners: Annotated[
        str | None, typer.Option(help="Column that names owners; default: one owner.")
    ] = None,
    authority: Authority = None,
    campaign_key: Annotated[
        str | None, typer.Option(help="The campaign key (hex) to pin before first use.")
    ] = None,
    home: HomeFolder = None,
    guard: Annotated[
        list[Path] | None,
        typer.Option(help="A second place for the ledger's mark, e.g. on a share or a token."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="What a site or peer is called, for all to see; owners send no name."),
    ] = None,
    attributes: Annotated[
        str | None,
        typer.Option(help="Of a peer that lacks some: the columns it holds, a,b,c; all are told."),
    ] = None,
    peers: Annotated[
        Path | None,
        typer.Option(
            help="Keys (hex, one in a line) of the only peers to take part with.", exists=True
        ),
    ] = None,
    patience: Patience = 86400.0,
    rehearsal: Annotated[
        int | None, typer.Option(help="Seed of a rehearsal: reproducible, NOT PRIVATE.")
    ] = None,
    first: Annotated[
        int, typer.Option(help="In a rehearsal, the number of your first owner among all.", min=0)
    ] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would leave and what it would cost.")
    ] = False,
    log_json: LogJson = False,
    *,
    screen: Screen,
) -> None:
    """Take part in a campaign: your rows stay here, what leaves is small, noisy, and charged to
    your ledger. A kit that you were given stands for address, pins, token and name; its draft of a
    policy is written beside it by --dry-run, for you to read.

    Ctrl-C (exit status 130) leaves the ledger as it is; the same command goes on from there, and
    needs no token any more. Exit status 1: a question was refused or an answer did not count, and
    none did; in a dry run: the policy refuses the campaign.

    Example:
        tacit join https://host:8443 --data mine.parquet --policy policy.toml --dry-run
    """
    way = Way.to(url, optional_key(campaign_key), authority, patience)

    from tacit.service.device.client import UnreachableError
    from tacit.service.device.disclosures import Preview, preview
    from tacit.service.device.join import Joining, RehearsalPart, join
    from tacit.service.device.member import EnrolmentError
    from tacit.wire.codec import load_plugins

    load_plugins()
    part = None if rehearsal is None else RehearsalPart(rehearsal, first)
    if part is not None:
        warn_of_rehearsal()
    folder = home_folder(home, rehearsal=part is not None)
    allowed = way.find_policy(policy, dry_run)
    joining = Joining(
        data,
        label,
        Policy.read(allowed),
        folder,
        owners,
        rehearsal=part,
        known=_read_keys(peers),
        name=name or way.name,
        attributes=None if attributes is None else tuple(attributes.split(",")),
        guards=tuple(guard or ()),
    )
    given = read_token(token) if tokens is None else read_words(tokens, "tokens")
    given = given or way.tokens
    has_joined = any((folder / "pins").glob("*"))
    if not (given or dry_run or has_joined):
        raise ValueError("token must be given: --token @FILE or -, --tokens FILE, or TACIT_TOKEN")

    async def run(link: WatchedLink) -> int | Preview:
        """What would leave, or how many questions were answered."""
        try:
            return await (
                preview(joining, link, way.key) if dry_run else join(joining, link, given, way.key)
            )
        finally:
            await link.close()

    try:
        with watch_outcomes(screen, len(given)) as watch:
            log_to_stderr(log_json)
            link = WatchedLink.of(way.link(), watch)
            told = asyncio.run(run(link))
    except (EnrolmentError, UnreachableError) as problem:
        raise ValueError(str(problem)) from problem
    except KeyboardInterrupt:
        screen.stop(
            "nothing was sent and nothing was charged"
            if dry_run
            else f"what was released is charged in {folder / 'ledger.db'}; the same command goes "
            "on from there"
        )
    well = (
        _tell_preview(told, allowed, screen)
        if isinstance(told, Preview)
        else _tell_outcome(told, link.became, folder, screen)
    )
    if not well:
        raise typer.Exit(FAILED)


def _tell_preview(preview: "Preview", policy: Path, screen: Screen) -> bool:
    """What would leave, and by which policy; whether that allows it."""
    well = bool(preview.figures["allowed"])
    screen.tell(dry_run=True, policy=policy, **preview.figures)
    for line in preview.lines:
        screen.say(line)
    then = "the same command without --dry-run takes part" if well else "it is yours to change"
    screen.say(f"your policy is {policy}: read what may leave by it; {then}")
    return well


def _tell_outcome(answered: int, became: Counter[str], folder: Path, screen: Screen) -> bool:
    """What became of answers; whether some counted, if any was given."""
    from tacit.service.device.member import COUNTED

    counted = became.pop(COUNTED, 0)
    many = "1 question" if answered == 1 else f"{answered} questions"
    screen.tell(
        dry_run=False,
        answered=answered,
        counted=counted,
        not_counted=dict(became),
        ledger=folder / "ledger.db",
    )
    for why, times in became.items():
        screen.say(f"not answered, or in vain ({times}x): {why}")
    screen.say(f"done: {many} answered; see: tacit ledger show --home {folder}")
    return bool(counted or not became)


def _read_keys(peers: Path | None) -> frozenset[bytes] | None:
    """The keys in a file of peers; None: any will do."""
    if peers is None:
        return None
    return frozenset(key_of(line, "a peer's key") for line in read_words(peers, "keys of peers"))


def model(
    url: Where,
    out: Annotated[Path, typer.Option(help="Where to write the model.")] = Path("model.tacit"),
    campaign_key: Annotated[
        str | None, typer.Option(help="The campaign's key that must have signed the model (hex).")
    ] = None,
    authority: Authority = None,
    home: HomeFolder = None,
    patience: Patience = 600.0,
    *,
    screen: Screen,
) -> None:
    """Fetch the published model, also one that is for members alone: the request is signed with
    the key of whoever joined from this home.

    Example:
        tacit model https://host:8443 --home tacit-owner --out model.tacit
    """
    from tacit.estimators.persistence import open_model
    from tacit.service.device.home import Home
    from tacit.service.protocol.handshake import read_greeting
    from tacit.wire.envelopes import public_bytes

    check_writable("--out", out)
    log_to_stderr(as_json=False)  # that nobody answers is told while it is waited for
    way, folder = Way.to(url, optional_key(campaign_key), authority, patience), home_folder(home)
    kept = Home.at(folder) if (folder / "identity").exists() else None

    async def run() -> tuple[bytes, httpx.Response]:
        link = way.link()
        try:
            now, _, _, _, link.campaign = read_greeting(await link.greet(), way.key)
            joined = kept is not None and kept.has_joined(link.campaign)
            key = kept.key(link.campaign, None) if kept is not None and joined else None
            return public_bytes(now), await link.call("GET", "/v1/model", key)
        finally:
            await link.close()

    key, response = asyncio.run(run())
    if response.status_code != 200:
        raise ValueError(_NO_MODEL.get(response.status_code, _NO_MODEL[0]))
    open_model(response.content, key)  # which must have signed it
    write_whole(out, response.content)
    screen.tell(model=str(out), signed_by=key.hex())
    screen.say(f"{out} is the campaign's model, signed by {key.hex()}; tacit predict {out} uses it")


_NO_MODEL = {
    0: "the coordinator gives no model: its log says why",
    401: "the model is not for everybody: give the --home that joined, or ask an administrator",
    403: "the model is not for you: give the --home that joined, or ask an administrator",
    404: "there is no model yet: the campaign has not ended",
}


def leave(
    url: Where,
    authority: Authority = None,
    owner: Annotated[
        str | None, typer.Option(help="Who leaves a gateway: what the column of owners says.")
    ] = None,
    home: HomeFolder = None,
    patience: Patience = 600.0,
    *,
    screen: Screen,
) -> None:
    """Leave a campaign: not to be asked again. A peer's parts leave the model; what was released
    stays known.

    Example:
        tacit leave https://host:8443 --home tacit-owner
    """
    from tacit.data.owner_names import owner_name
    from tacit.service.device.home import ME, Home
    from tacit.service.protocol.handshake import read_greeting

    folder = home_folder(home)
    if not (folder / "identity").exists():
        raise ValueError(f"{folder} is no home: give the one that joined with --home")
    log_to_stderr(as_json=False)
    kept, way = Home.at(folder), Way.to(url, None, authority, patience)
    kept.check_named(owner)

    async def run() -> bool:
        link = way.link()
        try:
            campaign = link.campaign = read_greeting(await link.greet(), way.key).first
            key = kept.key(campaign, None if owner is None else owner_name(owner))
            response = await link.call("POST", "/v1/leave", key, b"leave")
            return kept.has_joined(campaign) and response.status_code == 200
        finally:
            await link.close()

    if not asyncio.run(run()):
        raise ValueError(f"owner {owner or ME!r} of {folder} is not enrolled there")
    screen.tell(left=owner or ME, campaign=url)
    screen.say(
        f"{owner or ME} has left: not asked again; what was released stays known, and charged"
    )
