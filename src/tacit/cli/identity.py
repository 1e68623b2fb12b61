"""tacit identity: keys put in the place of others, in the middle of a campaign. Nothing is lost by
it: no owner, no answer, no budget, and not the campaign's name, which stays its first key.
"""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import add
from tacit.cli._options import Authority, HomeFolder, Patience, home_folder
from tacit.cli._output import Screen
from tacit.cli.admin import HERE, Database, StateFolder, write_down
from tacit.cli.invite import Way
from tacit.cli.join import Where
from tacit.service.protocol.succession import CAMPAIGN, HELPER, KeyKind, KeyRing

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Replace keys in the middle of a campaign: its own, a helper's, an owner's, a person's.",
)


def campaign(
    state: Annotated[
        Path, typer.Option(help="The campaign's folder, as tacit serve has it.")
    ] = Path("campaign"),
    *,
    screen: Screen,
) -> None:
    """Put a new key in the place of the campaign's, signed by both. Stop tacit serve first, and
    start it again: it signs anew what the database holds, and owners and helper follow by
    themselves.

    Example:
        tacit identity campaign --state campaign
    """
    _rotate(state, CAMPAIGN, "campaign", screen)


def helper(
    state: Annotated[Path, typer.Option(help="The helper's folder, as tacit helper has it.")] = (
        Path("helper")
    ),
    *,
    screen: Screen,
) -> None:
    """Put a new key in the place of the helper's, signed by both. Stop tacit helper first, and
    start it again: coordinator and owners follow by themselves, from the next question on.

    Example:
        tacit identity helper --state helper
    """
    _rotate(state, HELPER, "helper", screen)


def owner(
    url: Where,
    authority: Authority = None,
    data: Annotated[
        Path | None, typer.Option(help="Of a gateway: its table, which names owners.", exists=True)
    ] = None,
    owners: Annotated[
        str | None, typer.Option(help="Of a gateway: the column that names owners.")
    ] = None,
    home: HomeFolder = None,
    patience: Patience = 600.0,
    *,
    screen: Screen,
) -> None:
    """Go by another key in a campaign, which the present one signs for. Stop tacit join first, and
    start it again. The ledger and what is left of the budget stay as they are. A peer's new key
    speaks from the next turn on, so it is replaced once in a turn; the others check that both keys
    signed it.

    Example:
        tacit identity owner https://host:8443 --home tacit-owner
    """
    from tacit.service.device.home import Home
    from tacit.service.device.keys import replace_owner_keys

    folder = home_folder(home)
    if not (folder / "identity").exists():
        raise ValueError(f"{folder} is no home: give the one that joined with --home")
    if (data is None) != (owners is None):
        raise ValueError("data and owners must be given together: both name a gateway's owners")
    kept, way = Home.at(folder), Way.to(url, None, authority, patience)
    table = None if data is None or owners is None else (data, owners)

    async def run() -> int:
        link = way.link()
        try:
            return await replace_owner_keys(kept, link, table, way.key)
        finally:
            await link.close()

    count = asyncio.run(run())
    screen.tell(replaced=count, home=folder)
    screen.say(f"{count} keys were replaced; ledger and budget are what they were")


def administrator(
    name: Annotated[str, typer.Argument(help="Whose; admin is whoever has the first key.")],
    state: StateFolder = Path("campaign"),
    database: Database = HERE,
    *,
    screen: Screen,
) -> None:
    """Put a new key in the place of an administrator's, with the same roles. It holds at once, and
    the old one does not.

    Example:
        tacit identity administrator admin --state campaign
    """
    from tacit.service.coordinator.keys import replace_administrator

    with write_down(database, state, "rekey", name):
        key = replace_administrator(state, name)
    screen.tell(name=name, key=key)
    screen.say(f"the new key of {name}, told once: {key}")


def _rotate(state: Path, kind: KeyKind, whose: str, screen: Screen) -> None:
    if not (state / kind.file).exists():
        raise ValueError(f"{state} holds no {kind.file} to replace: give the --state of a {whose}")
    ring = KeyRing.rotate(state, kind)
    screen.tell(key=ring.line.current.hex(), first=ring.line.first.hex(), replaced=len(ring.before))
    screen.say(f"the {whose}'s key is now {ring.line.current.hex()}; it began as")
    screen.say(f"{ring.line.first.hex()}, and whoever pinned that one follows")
    screen.say(f"once no open question is older than now, delete {state / 'retired'}")


for _each in (campaign, helper, owner, administrator):
    add(app, _each)
