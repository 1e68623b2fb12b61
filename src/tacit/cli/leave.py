"""tacit leave: an owner leaves a campaign."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli._options import HomeFolder, home_folder
from tacit.cli._output import Screen


def leave(
    url: Annotated[str, typer.Argument(help="The coordinator, https://host:port.")],
    authority: Annotated[
        Path | None, typer.Option("--ca", help="Certificate to trust (PEM).", exists=True)
    ] = None,
    owner: Annotated[
        str | None, typer.Option(help="Who leaves a gateway: what the column of owners says.")
    ] = None,
    home: HomeFolder = None,
    patience: Annotated[
        float, typer.Option(help="Seconds to go on trying while the coordinator is away.")
    ] = 600.0,
    *,
    screen: Screen,
) -> None:
    """Leave a campaign: not to be asked again. A peer's parts leave the model; what was released
    stays known.

    Example:
        tacit leave https://host:8443 --home tacit-owner
    """
    from tacit.service.device.adoption import owner_called
    from tacit.service.device.client import Link
    from tacit.service.device.home import ME, Home
    from tacit.service.protocol.handshake import read_greeting
    from tacit.wire.signing import public_bytes

    folder = home_folder(home)
    if not (folder / "identity").exists():
        raise ValueError(f"{folder} is no home: give the one that joined with --home")
    kept = Home.at(folder)

    async def run() -> bool:
        link = Link.to(url, authority, patience)
        try:
            greeted = await link.call("GET", "/v1/campaign", None)
            campaign = public_bytes(read_greeting(greeted.content, None)[0])
            key = kept.key(campaign, None if owner is None else owner_called(owner))
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
