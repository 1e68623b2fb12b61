"""tacit leave: an owner leaves a campaign."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli._output import Screen


def leave(
    url: Annotated[str, typer.Argument(help="The coordinator, https://host:port.")],
    owner: Annotated[
        str,
        typer.Argument(help="Who leaves: the name it joined with (the data file's, by default)."),
    ],
    authority: Annotated[
        Path | None, typer.Option("--ca", help="Certificate to trust (PEM).", exists=True)
    ] = None,
    state: Annotated[
        Path, typer.Option(help="The folder that it joined with.", exists=True)
    ] = Path("tacit-owner"),
    patience: Annotated[
        float, typer.Option(help="Seconds to go on trying while the coordinator is away.")
    ] = 600.0,
    *,
    screen: Screen,
) -> None:
    """Leave a campaign: not to be asked again. A peer's parts leave the model; what was released
    stays known.

    Example:
        tacit leave https://host:8443 north --state tacit-owner
    """
    from tacit.service.device.client import Link
    from tacit.service.device.member import Identity

    async def run() -> bool:
        link = Link.to(url, authority, patience)
        try:
            response = await link.call("POST", "/v1/leave", Identity.at(state).key(owner), b"leave")
            return response.status_code == 200
        finally:
            await link.close()

    if not asyncio.run(run()):
        raise ValueError(f"owner {owner!r} of {state} is not enrolled there")
    screen.tell(left=owner, campaign=url)
    screen.say(
        f"{owner} has left: it is not asked again; what it released stays known, and charged"
    )
