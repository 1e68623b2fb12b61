"""make flower: a campaign that a real Flower federation carries, on this machine.

A coordinator, a SuperLink and three SuperNodes with fifteen owners each, all on loopback. It is a
rehearsal (seeded: reproducible, not private), so that the published model can be compared, byte for
byte, with that of the engine in one process, which is what the coordinator publishes over HTTP. The
application that is sent to the nodes would leave a mark where it is run: no owner may have one.
"""

import argparse
import csv
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import numpy as np
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.service.processes import Processes
from tacit.algorithms.boosting import OwnSample
from tacit.engines.inline import Inline
from tacit.estimators.persistence import SavedModel, open_model
from tacit.mechanisms.streams import seeded
from tacit.owner.policy import Policy
from tacit.service.coordinator.server import Running, coordinator
from tacit.service.device.join import Joining
from tacit.service.kinds.boosting import BoostingSpec
from tacit.wire import decode, encode

APP = Path(__file__).parents[2] / "clients" / "flower"
SEED, NODES, EACH = 7, 3, 15
CAMPAIGN = """
kind = "boosting"
name = "carried"
sample = "mine.csv"
label = "ill"
learner = "centroid"
epsilon = [4.0, 8.0]
rounds = 2
owners_per_round = 10
start = 45
minimum = 4
deadline = 3600
"""
POLICY = "epsilon_per_release = 8\nepsilon_total = 8\ntime_step = 0\n"
OWNER = """
data = "people{node}.csv"
label = "ill"
owners = "who"
policy = "policy.toml"
home = "owner{node}"
tokens = "tokens{node}"
campaign_key = "{key}"
coordinator = "http://127.0.0.1:{port}"
rehearsal = {seed}
first = {first}
"""


def write_rows(path: Path, owners: range, seed: int) -> None:
    """Owners with eight rows each."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(len(owners) * 8, 3))
    who = np.repeat([f"person {i:03d}" for i in owners], 8)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["who", "a", "b", "c", "ill"])
        for name, (a, b, c) in zip(who, x.tolist(), strict=True):
            table.writerow([name, a, b, c, "yes" if a + b / 2 > 0 else "no"])


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


@contextmanager
def serving(service: Running, port: int) -> Iterator[str]:
    """The coordinator, over HTTP on loopback."""
    server = uvicorn.Server(uvicorn.Config(service.app, port=port, log_level="warning"))
    thread = Thread(target=server.run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def in_process(folder: Path) -> Any:
    """What one process makes of the same rows and the same coins."""
    terms, public = BoostingSpec.read(folder / "campaign.toml").prepare()
    policy = Policy.read(folder / "policy.toml")
    joining = Joining(folder / "people.csv", "ill", policy, folder / "nobody", "who")
    _, cohort = joining.rows(terms)
    engine = Inline(cohort, np.full(len(cohort), 8.0), seeded(SEED))
    return engine.run(terms.algorithm(OwnSample(public))).ensemble


def prepare(folder: Path, key: str, port: int) -> list[str]:
    """Files of the data user and of the owners; the tokens."""
    tokens = [f"token-number-{i:04d}" for i in range(NODES * EACH)]
    (folder / "campaign.toml").write_text(CAMPAIGN)
    (folder / "policy.toml").write_text(POLICY)
    write_rows(folder / "named.csv", range(200), 1)
    lines = (folder / "named.csv").read_text().splitlines(keepends=True)
    (folder / "mine.csv").write_text("".join(line.partition(",")[2] for line in lines))
    write_rows(folder / "people.csv", range(NODES * EACH), 2)
    head, *rows = (folder / "people.csv").read_text().splitlines(keepends=True)
    for node in range(NODES):
        first = node * EACH
        own = "".join([head, *rows[first * 8 : (first + EACH) * 8]])
        (folder / f"people{node}.csv").write_text(own)
        (folder / f"tokens{node}").write_text("\n".join(tokens[first : first + EACH]))
        text = OWNER.format(node=node, key=key, port=port, seed=SEED, first=first)
        (folder / f"owner{node}.toml").write_text(text)
    return tokens


def send_marked(folder: Path, link: int, address: str) -> None:
    """Run the application with a mark in the part for owners."""
    shutil.copytree(APP, folder / "app")
    part = folder / "app" / "tacit_flower" / "client_app.py"
    part.write_text(f"open({str(folder / 'mark')!r}, 'w').close()\n{part.read_text()}")
    (folder / "flwr").mkdir(exist_ok=True)
    (folder / "flwr" / "config.toml").write_text(
        f'[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "127.0.0.1:{link}"\n'
        "insecure = true\n"
    )
    run = [program("flwr"), "run", str(folder / "app"), "here"]
    run += ["--run-config", f'coordinator="{address}"']
    subprocess.run(run, check=True, env={**os.environ, "FLWR_HOME": str(folder / "flwr")})


def program(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def wait_for_port(port: int, seconds: float) -> None:
    """Until somebody listens there."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.5)
    raise TimeoutError(f"nobody listens at port {port} after {seconds:g} seconds")


def wait_for_model(address: str, seconds: float) -> bytes:
    """The published model."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        response = httpx.get(f"{address}/v1/model", timeout=60)
        if response.status_code == httpx.codes.OK:
            return response.content
        time.sleep(2)
    raise TimeoutError(f"no model after {seconds:g} seconds")


def main() -> None:
    """Run and compare; exit status 1 if anything is not as it should be."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service.flower", description=__doc__
    )
    parser.add_argument("--patience", type=float, default=900.0, help="seconds for a model")
    parser.add_argument("--keep", type=Path, help="folder for files and logs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tacit-flower-") as name:
        folder = Path(name) if given.keep is None else given.keep
        folder.mkdir(parents=True, exist_ok=True)
        key = Ed25519PrivateKey.generate()
        port, link, *nodes = free_ports(2 + NODES)
        pinned = key.public_key().public_bytes_raw().hex()
        tokens = prepare(folder, pinned, port)
        database = f"sqlite:///{folder}/c.db"
        service = coordinator(folder / "campaign.toml", database, key, "nobody's", SEED)
        service.store.add_tokens(tokens)
        expected = in_process(folder)
        home = {
            "FLWR_HOME": str(folder / "flwr"),
            "FLWR_TELEMETRY_ENABLED": "0",
            "XDG_STATE_HOME": str(folder / "marks"),
        }
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        with serving(service, port) as address, Processes(folder) as processes:
            began = time.monotonic()
            superlink = [program("flower-superlink"), "--insecure", "--port", str(link)]
            superlink += ["--disable-runtime-dependency-installation"]
            processes.start("superlink", superlink, **home, PATH=path)
            for node, own in enumerate(nodes):
                command = [sys.executable, "-m", "tacit.service.flower", "--insecure"]
                command += ["--superlink", f"127.0.0.1:{link}", "--port", str(own)]
                command += ["--owner", str(folder / f"owner{node}.toml")]
                processes.start(f"node{node}", command, **home)
            wait_for_port(link, given.patience)
            send_marked(folder, link, address)
            content = wait_for_model(address, given.patience)
            took = time.monotonic() - began
        published = decode(open_model(content)[0], SavedModel)
        same = encode(published.model) == encode(expected)
        ran = (folder / "mark").exists()
    print(f"{NODES} SuperNodes, {NODES * EACH} owners, {took:.0f} s")
    print(f"the bytes of one process: {'yes' if same else 'NO'}")
    print(f"code that was sent ran at an owner: {'YES' if ran else 'no'}")
    sys.exit(0 if same and not ran else 1)


if __name__ == "__main__":
    main()
