"""Flower as a fabric: an existing federation carries a campaign's questions and reports, in letters
that it cannot read more of than a network could (`device/carried`). `tacit[flower]` installs it.

At the data user `server` runs as a ServerApp beside a coordinator (`tacit serve`), which stays what
asks, counts and publishes: the model is that of the same campaign over HTTP, to the byte. At an
owner `client` answers. Its rows, policy, home, token and pinned key are in a file of its own, that
its SuperNode's own configuration names; whatever a run sends along as settings is not looked at.

A SuperNode as Flower ships it installs and runs the code that comes with a run. An owner's must
not: `python -m tacit.service.flower --superlink HOST:PORT --owner owner.toml` starts a SuperNode
whose runs are all done by the `client` that is installed here, and by nothing that was sent.
It takes Flower by its inner names, so it refuses versions that it was not tried with.
"""

import asyncio
import os
import sys
import time
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from stat import S_IRWXU
from tempfile import mkdtemp
from typing import Any

import httpx
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from tacit._util.checks import bad, positive
from tacit.owner.policy import Policy
from tacit.service.device.carried import STEP, CarriedPart, Courier
from tacit.service.device.join import Joining, RehearsalPart
from tacit.service.protocol.handshake import check_url

TRIED = ("1.41.",)  # versions of Flower
_RECORD, _LETTER = "tacit", "letter"
_PAUSE, _REST, _PATIENCE = 1.0, 60.0, 600.0  # seconds between letters, to the silent, for a reply
_MODEL = "/v1/model"


def read_part(path: Path) -> CarriedPart:
    """An owner's part, from its file: `data`, `label`, `policy`, `home`, `tokens`, `campaign_key`,
    `coordinator`, perhaps `owners`, `name` and `step`; paths are seen from where the file is.
    """
    given = tomllib.loads(path.read_text(encoding="utf-8"))
    needed = {"data", "policy", "home", "tokens", "campaign_key", "coordinator"}
    missing = sorted(needed - set(given))
    if missing:
        raise ValueError(f"{path} must have {', '.join(missing)}")
    here = path.parent
    rehearsal = given.get("rehearsal")
    joining = Joining(
        here / given["data"],
        given.get("label"),
        Policy.read(here / given["policy"]),
        here / given["home"],
        given.get("owners"),
        rehearsal=None if rehearsal is None else RehearsalPart(rehearsal, given.get("first", 0)),
        name=given.get("name"),
    )
    return CarriedPart(
        joining,
        tuple((here / given["tokens"]).read_text(encoding="utf-8").split()),
        bytes.fromhex(given["campaign_key"]),
        check_url("coordinator", given["coordinator"]),
        positive("step", given.get("step", STEP)),
    )


def _letter(data: bytes) -> RecordDict:
    return RecordDict({_RECORD: ConfigRecord({_LETTER: data})})


def answer_letter(message: Message, context: Context) -> Message:
    """At an owner: the reply to a letter, by the file that its own node names."""
    part = read_part(Path(str(context.node_config["tacit"])))
    reply = part.reply_to(bytes(message.content[_RECORD][_LETTER]))
    return Message(_letter(reply), reply_to=message)


def carry_campaign(grid: Grid, context: Context) -> None:
    """At the data user: carry until the campaign has its model; `coordinator` is the run's
    setting.
    """
    asyncio.run(_carry(grid, check_url("coordinator", str(context.run_config["coordinator"]))))


async def _carry(grid: Grid, address: str) -> None:
    """Letters to all nodes that are there, again and again. One that asked for nothing is done, or
    could not read its letter: it gets another after a while, from the beginning.
    """
    asked: dict[int, set[str]] = {}
    until: dict[int, float] = {}
    async with httpx.AsyncClient(base_url=address, timeout=_PATIENCE) as client:
        courier = Courier(client)
        while (await client.get(_MODEL)).status_code != httpx.codes.OK:
            now = time.monotonic()
            nodes = [node for node in grid.get_node_ids() if until.get(node, now) <= now]
            letters = [
                Message(
                    _letter(await courier.letter(asked.get(node, set()))),
                    dst_node_id=node,
                    message_type="query",
                )
                for node in nodes
            ]
            replies = await asyncio.to_thread(grid.send_and_receive, letters, timeout=_PATIENCE)
            for reply in replies:
                if reply.has_error():
                    continue  # its node is away, or broke down: the next letter says the same
                node = reply.metadata.src_node_id
                asked[node] = await courier.take(bytes(reply.content[_RECORD][_LETTER]))
                if not asked[node]:
                    until[node] = time.monotonic() + _REST
            await asyncio.sleep(_PAUSE)


client, server = ClientApp(), ServerApp()
client.query()(answer_letter)
server.main()(carry_campaign)


def run_installed() -> None:
    """In place of `flwr-clientapp`: nothing that was sent is installed or loaded; whatever the run
    is, `client` answers.
    """
    _check_version()
    runtime = import_module("flwr.supernode.runtime.run_clientapp")

    def keep_out(*_: Any, **__: Any) -> None:
        return None

    def load_own(**_: Any) -> Any:
        return lambda *_: client

    for name, ours in (
        ("install_from_fab", keep_out),
        ("install_app_dependencies", keep_out),
        ("get_load_client_app_fn", load_own),
    ):
        if not callable(getattr(runtime, name, None)):
            raise RuntimeError(f"this Flower has no {name}: its runs would load what was sent")
        setattr(runtime, name, ours)
    import_module("flwr.supernode.cli.flwr_clientapp").flwr_clientapp()


def _check_version() -> None:
    found = version("flwr")
    if not found.startswith(TRIED):
        raise bad("flwr", f"a version that begins with {' or '.join(TRIED)}", found)


def start_node(arguments: list[str]) -> None:
    """A SuperNode for an owner: `--owner FILE`, and what `flower-supernode` takes. In its place
    comes Flower's own program, with ours in front of what it would start for a run.
    """
    _check_version()
    if "--owner" not in arguments[:-1]:
        raise ValueError("--owner FILE must be given: the owner's part in the campaign")
    place = arguments.index("--owner")
    owner = Path(arguments[place + 1]).resolve()
    read_part(owner).check_step()  # what is wrong with it is said before anything starts
    rest = arguments[:place] + arguments[place + 2 :]
    folder = Path(mkdtemp(prefix="tacit-flower-"))
    program = folder / "flwr-clientapp"
    program.write_text(
        f"#!{sys.executable}\nfrom tacit.service.flower import run_installed\nrun_installed()\n"
    )
    program.chmod(S_IRWXU)
    here = str(Path(sys.executable).parent)
    path = os.pathsep.join([str(folder), here, os.environ.get("PATH", "")])
    settings = ["--node-config", f'tacit="{owner}"']
    node = str(Path(sys.executable).with_name("flower-supernode"))
    environment = {**os.environ, "PATH": path, "FLWR_TELEMETRY_ENABLED": "0"}
    os.execve(node, [node, *rest, *settings], environment)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    start_node(sys.argv[1:])
