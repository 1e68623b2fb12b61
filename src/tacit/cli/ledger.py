"""tacit ledger: what an owner has released, and what is left."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from tacit.cli import add
from tacit.cli._options import check_port
from tacit.cli._output import Screen, table_of
from tacit.owner.entry import Entry
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.owner.statement import figures, owners, rounded_up, time_of

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="What an owner has released, to whom, for how much, and what is left.",
)
File = Annotated[Path, typer.Argument(help="The ledger's file.", exists=True, dir_okay=False)]
Mark = Annotated[
    Path | None,
    typer.Option(help="The ledger's mark, if not beside it or in the user's state folder."),
]
Limit = Annotated[
    Path | None, typer.Option(help="The owner's policy, to show what is left.", exists=True)
]


def show(
    file: File,
    policy: Limit = None,
    mark: Mark = None,
    *,
    screen: Screen,
) -> None:
    """Print every release, after checking that no line was changed and that the file is not an old
    copy.

    Example:
        tacit ledger show tacit-owner/ledger.db --policy policy.toml
    """
    entries = Ledger(file, mark or _beside(file)).entries()
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
        console.print(
            f"{escape(owner)}: epsilon {sums['spent']} spent in {_releases(sums['releases'])}{left}"
        )
    if limit is None:
        console.print("[dim]--policy FILE also shows what is left[/]")


def serve(
    file: File,
    policy: Limit = None,
    mark: Mark = None,
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
        tacit ledger serve tacit-owner/ledger.db --policy policy.toml
    """
    import socket

    import uvicorn

    from tacit.service.device.ledger_page import LedgerPage

    mark = mark or _beside(file)
    Ledger(file, mark).close()  # an old copy is refused here, not in the browser
    check_port("127.0.0.1", port)
    page = LedgerPage(file, mark, None if policy is None else Policy.read(policy))
    with socket.create_server(("127.0.0.1", port)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}{page.root}/"
        screen.say(f"the ledger is at {address} until you press Ctrl-C")
        screen.tell(address=address)
        screen.close()
        config = uvicorn.Config(
            page.app(), log_level="warning", access_log=False, server_header=False
        )
        uvicorn.Server(config).run(sockets=[listening])


def adopt(file: File, mark: Mark = None, *, screen: Screen) -> None:
    """Take a ledger that was moved here for the latest one, and begin a new mark for it.

    Only for a move on purpose: adopting an old copy gives away what was spent since.

    Example:
        tacit ledger adopt moved/ledger.db
    """
    ledger = Ledger.adopted(file, mark or _beside(file))
    releases = len(ledger.entries())
    screen.tell(ledger=file, releases=releases, mark=ledger.mark)
    screen.say(f"{file}: adopted with {_releases(releases)}; its mark is {ledger.mark}")


def _beside(file: Path) -> Path | None:
    """The mark beside a ledger, as `tacit join` keeps it; None: there is none."""
    mark = file.with_suffix(".mark")
    return mark if mark.exists() else None


def _table(entries: list[Entry]) -> Table:
    table = table_of(_releases(len(entries)))
    for heading in ("when\n(UTC)", "owner", "campaign", "no.", "what,\nhow", "hides"):
        table.add_column(heading, overflow="fold", no_wrap=heading not in ("owner", "campaign"))
    for heading in ("epsilon", "bytes"):
        table.add_column(heading, justify="right", no_wrap=True)
    for entry in entries:
        table.add_row(
            time_of(entry).removesuffix(" UTC").replace(" ", "\n"),
            escape(entry.owner),
            escape(entry.campaign),
            str(entry.number),
            f"{entry.what}\n{entry.how}",
            entry.unit,
            rounded_up(entry.cost),
            str(len(entry.report)),
        )
    return table


for _command in (show, serve, adopt):
    add(app, _command)


def _releases(count: object, more: str = "") -> str:
    return f"{count} {more}release{'' if count == 1 else 's'}"
