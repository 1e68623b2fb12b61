"""tacit ledger: what an owner has released, and what is left."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from tacit.cli import add
from tacit.cli._options import HomeFolder, check_port, home_folder
from tacit.cli._output import Screen, table_of

if TYPE_CHECKING:  # help and wrong options are told before any of it is loaded
    from tacit.owner.ledger_entries import Entry

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="What an owner has released, to whom, for how much, and what is left.",
)
File = Annotated[
    Path | None,
    typer.Argument(help="A ledger's file; default: the home's.", exists=True, dir_okay=False),
]
Mark = Annotated[
    Path | None,
    typer.Option(help="The ledger's mark, if not beside it or in the user's state folder."),
]
Limit = Annotated[
    Path | None, typer.Option(help="The owner's policy, to show what is left.", exists=True)
]


def show(
    file: File = None,
    policy: Limit = None,
    mark: Mark = None,
    home: HomeFolder = None,
    *,
    screen: Screen,
) -> None:
    """Print every release, after checking that no line was changed and that the file is not an old
    copy.

    Example:
        tacit ledger show --home tacit-owner --policy policy.toml
    """
    from tacit.owner.ledger import Ledger
    from tacit.owner.policy import Policy
    from tacit.owner.spending import figures, owners

    entries = Ledger(*_place(file, mark, home_folder(home))).entries()
    limit = None if policy is None else Policy.read(policy)
    screen.tell(releases=[figures(entry) for entry in entries], owners=owners(entries, limit))
    console = screen.console
    console.print(_table(entries))
    for owner, sums in owners(entries, limit).items():
        left = (
            ""
            if limit is None
            else f", {sums['left']} left, {_releases(sums['releases_left'], 'more ')} allowed"
        )
        spent = f"epsilon {sums['spent']}{_delta(sums['delta'])} spent"
        console.print(f"{escape(owner)}: {spent} in {_releases(sums['releases'])}{left}")
    if limit is None:
        console.print("[dim]--policy FILE also shows what is left[/]")


def serve(
    file: File = None,
    policy: Limit = None,
    mark: Mark = None,
    home: HomeFolder = None,
    port: Annotated[
        int, typer.Option(help="Port on this machine; 0: any that is free.", min=0, max=65535)
    ] = 8420,
    *,
    screen: Screen,
) -> None:
    """Show the ledger in a browser, on this machine only, until Ctrl-C.

    The address holds a fresh secret: keep it to yourself. With --json the document is printed when
    the page is there.

    Example:
        tacit ledger serve --home tacit-owner --policy policy.toml
    """
    import socket

    import uvicorn

    from tacit.owner.ledger import Ledger
    from tacit.owner.policy import Policy
    from tacit.service.device.disclosures import LedgerPage

    place = _place(file, mark, home_folder(home))
    Ledger(*place).close()  # an old copy is refused here, not in the browser
    check_port("127.0.0.1", port)
    page = LedgerPage(*place, None if policy is None else Policy.read(policy))
    with socket.create_server(("127.0.0.1", port)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}{page.root}/"
        screen.say(f"the ledger is at {address} until you press Ctrl-C")
        screen.tell(address=address)
        screen.close()
        config = uvicorn.Config(
            page.app(), log_level="warning", access_log=False, server_header=False
        )
        uvicorn.Server(config).run(sockets=[listening])


def adopt(
    old: Annotated[
        Path,
        typer.Argument(help="A folder, home or ledger that was moved or used before.", exists=True),
    ],
    home: HomeFolder = None,
    owners: Annotated[
        str | None, typer.Option(help="The column that named owners, for a gateway's folder.")
    ] = None,
    mark: Mark = None,
    *,
    screen: Screen,
) -> None:
    """Move an old folder into your home, every release and what it cost; or take a home, or a
    ledger's file, that was moved here for the latest one and begin a new mark for it.

    Only for a move on purpose: adopting an old copy gives away what was spent since.

    Example:
        tacit ledger adopt moved --home tacit-owner
    """
    from tacit.owner.ledger import Ledger
    from tacit.service.device.home import Home, adopt_folder, adopt_home

    folder = home_folder(home)
    if old.is_file():
        ledger = Ledger.adopt(old, mark or _beside(old))
        releases, into = len(ledger.entries()), f"its mark is {ledger.mark}"
    elif old.resolve() == folder.resolve():
        releases, into = adopt_home(old), "its mark was written anew"
    else:
        kept = Home.at(folder)
        releases, into = adopt_folder(old, kept, owners), f"now in the home {folder}"
    screen.tell(ledger=old, releases=releases, into=into)
    screen.say(f"{old}: adopted with {_releases(releases)}; {into}")


def _place(
    file: Path | None, mark: Path | None, home: Path
) -> tuple[Path, Path | None, list[Path]]:
    """The file of a ledger, its mark, and further marks: of a home, or as `Ledger` keeps them."""
    from tacit.service.device.home import Identity, guard_of, guards_of

    if file is None and not (home / "ledger.db").exists():
        raise ValueError(f"{home} is no home: nothing was released from there")
    folder, file = (home, home / "ledger.db") if file is None else (file.parent, file)
    if mark is None and (folder / "identity").exists():
        guard = guard_of(Identity.at(folder))
        if guard.exists() or _beside(file) is None:
            return file, guard, guards_of(folder)
    return file, mark or _beside(file), []


def _beside(file: Path) -> Path | None:
    """The mark beside a ledger; None: there is none."""
    mark = file.with_suffix(".mark")
    return mark if mark.exists() else None


def _table(entries: "list[Entry]") -> Table:
    from tacit.owner.spending import round_up, time_of

    table = table_of(_releases(len(entries)))
    for heading in ("when\n(UTC)", "owner", "campaign", "no.", "what,\nhow", "hides"):
        table.add_column(heading, overflow="fold", no_wrap=heading not in ("owner", "campaign"))
    for heading in ("epsilon", "bytes"):
        table.add_column(heading, justify="right", no_wrap=True)
    for entry in entries:
        table.add_row(
            time_of(entry).removesuffix(" UTC").replace(" ", "\n"),
            escape(entry.owner),
            f"{escape(entry.campaign)}\n[dim]{entry.key[:12]}[/]",
            str(entry.number),
            f"{entry.what}\n{entry.how}",
            entry.unit,
            round_up(entry.cost),
            str(len(entry.report)),
        )
    return table


for _command in (show, serve, adopt):
    add(app, _command)


def _delta(delta: object) -> str:
    """The delta of all that was spent, where there is one: releases of one campaign are composed as
    Gaussian noise is.
    """
    return "" if delta == "0" else f" and delta {delta}"


def _releases(count: object, more: str = "") -> str:
    return f"{count} {more}release{'' if count == 1 else 's'}"
