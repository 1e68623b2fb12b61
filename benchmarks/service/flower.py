"""make flower: campaigns of every kind that a real Flower federation carries, on this machine.

A SuperLink and three SuperNodes, all on loopback, carry one campaign after the other; owners change
their own files in between. Each is a rehearsal (seeded: reproducible, not private), so that the
published model can be compared, byte for byte, with the one that the same coordinator publishes
when the same owners come over HTTP. The application that is sent to the nodes would leave a mark
where it is run: no owner may have one.
"""

import argparse
import asyncio
import csv
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import numpy as np
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from benchmarks.service.processes import Processes
from tacit.estimators.persistence import SavedModel, open_model
from tacit.mechanisms.streams import seeded
from tacit.service.coordinator.server import coordinator
from tacit.service.device.client import Link
from tacit.service.device.join import join
from tacit.service.helper import Helper, Sheets
from tacit.sums.halves import rehearsal_key
from tacit.wire import decode, encode
from tacit.wire.envelopes import public_bytes

APP = Path(__file__).parents[2] / "clients" / "flower"
SEED, NODES = 7, 3
CAMPAIGN = """
name = "carried"
sample = "mine.csv"
label = "ill"
deadline = 3600
"""
HELPED = """
helper = "http://127.0.0.1:{helper}"
helper_key = "{unused}"
"""
POLICY = "time_step = 0\nepsilon_total = 100\nreleases = 50\n"
OWNER = """
data = "{kind}/people{node}.csv"
label = "ill"
owners = "who"
policy = "{kind}/policy.toml"
home = "{kind}/{how}{node}"
tokens = "{kind}/tokens{node}"
campaign_key = "{key}"
coordinator = "http://127.0.0.1:{port}"
rehearsal = {seed}
first = {first}
"""


@dataclass(frozen=True)
class Kind:
    """A small campaign: what its file and its owners' policy add, owners at each node, rows of each
    owner, and of the data user.
    """

    campaign: str
    policy: str
    owners: int
    rows: int
    public: int = 200

    @property
    def everybody(self) -> int:
        return NODES * self.owners


_RECORDS = 'units = ["record"]\nepsilon_per_release = 2\n'
KINDS = {
    "classifier": Kind(
        'kind = "classifier"\nepsilon = [4.0, 8.0]\nowners = 60\nrows_per_owner = 8\nrounds = 2\n'
        "start = 60\nminimum = 4\n",
        "epsilon_per_release = 8\n",
        owners=20,
        rows=8,
        public=30,
    ),
    "boosting": Kind(
        'kind = "boosting"\nlearner = "logistic"\nepsilon = [4.0, 8.0]\nrounds = 2\n'
        "owners_per_round = 10\nstart = 45\nminimum = 4\n",
        "epsilon_per_release = 8\n",
        owners=15,
        rows=8,
    ),
    "sites": Kind(
        'kind = "sites"\nepsilon = [1.0, 2.0]\nstart = 6\nminimum = 2\ncombine = "feature"\n',
        f'{_RECORDS}learners = ["site"]\n',
        owners=2,
        rows=200,
    ),
    "sums": Kind(
        f'kind = "boosting"\nlearner = "centroid"\nepsilon = 8.0\nrounds = 2\n'
        f'owners_per_round = 5\nstart = 15\nminimum = 3\nattempts = 2\nerror = "owners"\n'
        f"error_epsilon = 2.5\nerror_minimum = 10\n{HELPED}",
        "epsilon_per_release = 8\n",
        owners=5,
        rows=8,
    ),
    "two servers": Kind(
        f'kind = "boosting"\nlearner = "centroid"\nepsilon = 8.0\ndelta = 1e-6\nrounds = 1\n'
        f'trust = "two servers"\nowners_per_round = 14\nstart = 15\n{HELPED}',
        'epsilon_per_release = 8\ndelta_total = "0.00001"\n',
        owners=5,
        rows=8,
    ),
    "peers": Kind(
        'kind = "peers"\nepsilon = 2.0\nrounds = 6\nstart = 3\nlisten_to = "everybody"\n',
        f'{_RECORDS}learners = ["leaves"]\n',
        owners=1,
        rows=300,
    ),
}


def write_rows(path: Path, owners: range, each: int, seed: int, names: bool = True) -> None:
    """Owners with so many rows each; without their names."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(len(owners) * each, 3))
    who = np.repeat([f"person {i:03d}" for i in owners], each)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*(["who"] if names else []), "a", "b", "c", "ill"])
        for name, (a, b, c) in zip(who, x.tolist(), strict=True):
            row = [a, b, c, "yes" if a + b / 2 > 0 else "no"]
            table.writerow([*([name] if names else []), *row])


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


@contextmanager
def serving(app: Any, port: int) -> Iterator[str]:
    """A service, over HTTP on loopback."""
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
    thread = Thread(target=server.run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@dataclass(frozen=True)
class Trial:
    """One kind of campaign in a folder, with its files; `helper` is the port of its helper."""

    name: str
    folder: Path
    key: Ed25519PrivateKey
    helper: int

    @property
    def kind(self) -> Kind:
        return KINDS[self.name]

    @property
    def slug(self) -> str:
        return self.name.replace(" ", "-")

    @property
    def own(self) -> Path:
        return self.folder / self.slug

    @property
    def tokens(self) -> list[str]:
        return [f"token-number-{i:04d}" for i in range(self.kind.everybody)]

    def prepare(self) -> None:
        """Files of the data user and of the owners."""
        self.own.mkdir()
        unused = X25519PrivateKey.generate().public_key().public_bytes_raw().hex()
        text = self.kind.campaign.format(helper=self.helper, unused=unused)
        (self.own / "campaign.toml").write_text(CAMPAIGN + text)
        (self.own / "policy.toml").write_text(POLICY + self.kind.policy)
        write_rows(self.own / "mine.csv", range(self.kind.public), 1, 1, names=False)
        write_rows(self.own / "people.csv", range(self.kind.everybody), self.kind.rows, 2)
        head, *rows = (self.own / "people.csv").read_text().splitlines(keepends=True)
        each = self.kind.owners
        for node in range(NODES):
            at = slice(node * each * self.kind.rows, (node + 1) * each * self.kind.rows)
            (self.own / f"people{node}.csv").write_text("".join([head, *rows[at]]))
            tokens = "\n".join(self.tokens[node * each : (node + 1) * each])
            (self.own / f"tokens{node}").write_text(tokens)

    def write_owner(self, node: int, port: int, how: str) -> Path:
        """The file of the owners of a node: this campaign is what it takes part in from now on."""
        given: dict[str, Any] = {"kind": self.slug, "node": node, "how": how, "port": port}
        first = node * self.kind.owners
        key = public_bytes(self.key.public_key()).hex()
        file = self.folder / f"owner{node}.toml"
        file.write_text(OWNER.format(**given, key=key, seed=SEED, first=first))
        return file

    @contextmanager
    def serving(self, how: str, port: int) -> Iterator[str]:
        """Its coordinator, and its helper if it has one, with a database of its own."""
        campaign = public_bytes(self.key.public_key()).hex()
        sheets = Sheets(self.own / f"{how}-helper.db")
        helper = Helper(rehearsal_key(), sheets, [campaign], noise=seeded(SEED))
        with ExitStack() as stack:
            if HELPED in self.kind.campaign:
                stack.enter_context(serving(helper.app(), self.helper))
            database = f"sqlite:///{self.own}/{how}.db"
            service = coordinator(self.own / "campaign.toml", database, self.key, "nobody's", SEED)
            service.store.add_tokens(self.tokens)
            yield stack.enter_context(serving(service.app, port))

    def over_http(self, port: int, patience: float) -> SavedModel:
        """What the coordinator publishes when all come over HTTP."""
        from tacit.service.flower import read_part

        async def come(address: str) -> None:
            parts = [read_part(self.write_owner(node, port, "http")) for node in range(NODES)]
            links = [Link.to(address, None, patience) for _ in parts]
            each = zip(parts, links, strict=True)
            await asyncio.gather(
                *(join(part.joining, link, list(part.tokens), part.pinned) for part, link in each)
            )
            await asyncio.gather(*(link.close() for link in links))

        with self.serving("http", port) as address:
            asyncio.run(come(address))
            return wait_for_model(address, patience)

    def carried(self, port: int, link: int, patience: float) -> SavedModel:
        """What it publishes when the federation carries."""
        for node in range(NODES):
            self.write_owner(node, port, "carried")
        with self.serving("carried", port) as address:
            send_marked(self.folder, link, address)
            return wait_for_model(address, patience)


def send_marked(folder: Path, link: int, address: str) -> None:
    """Run the application with a mark in the part for owners."""
    if not (folder / "app").exists():
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


def wait_for_model(address: str, seconds: float) -> SavedModel:
    """The published model."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        response = httpx.get(f"{address}/v1/model", timeout=60)
        if response.status_code == httpx.codes.OK:
            return decode(open_model(response.content)[0], SavedModel)
        time.sleep(2)
    raise TimeoutError(f"no model after {seconds:g} seconds")


def start_federation(processes: Processes, folder: Path, link: int, nodes: list[int]) -> None:
    """A SuperLink and owners' SuperNodes."""
    home = {
        "FLWR_HOME": str(folder / "flwr"),
        "FLWR_TELEMETRY_ENABLED": "0",
        "XDG_STATE_HOME": str(folder / "marks"),
    }
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    superlink = [program("flower-superlink"), "--insecure", "--port", str(link)]
    superlink += ["--disable-runtime-dependency-installation"]
    processes.start("superlink", superlink, **home, PATH=path)
    for node, own in enumerate(nodes):
        command = [sys.executable, "-m", "tacit.service.flower", "--insecure"]
        command += ["--superlink", f"127.0.0.1:{link}", "--port", str(own)]
        command += ["--owner", str(folder / f"owner{node}.toml")]
        processes.start(f"node{node}", command, **home)


def main() -> None:
    """Run and compare; exit status 1 if anything is not as it should be."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service.flower", description=__doc__
    )
    parser.add_argument("--kind", action="append", choices=sorted(KINDS), help="default: all")
    parser.add_argument("--patience", type=float, default=900.0, help="seconds for a model")
    parser.add_argument("--keep", type=Path, help="folder for files and logs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tacit-flower-") as name:
        folder = Path(name) if given.keep is None else given.keep.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        good = run_kinds(given.kind or list(KINDS), folder, given.patience)
        ran = (folder / "mark").exists()
    print(f"code that was sent ran at an owner: {'YES' if ran else 'no'}")
    sys.exit(0 if good and not ran else 1)


def run_kinds(kinds: list[str], folder: Path, patience: float) -> bool:
    """All of them by one federation; whether each had the bytes of HTTP."""
    port, helper, link, *nodes = free_ports(3 + NODES)
    trials = [Trial(kind, folder, Ed25519PrivateKey.generate(), helper) for kind in kinds]
    print(f"{NODES} SuperNodes and a SuperLink on loopback")
    good = True
    with Processes(folder) as processes:
        for place, trial in enumerate(trials):
            trial.prepare()
            expected = trial.over_http(port, patience)
            if place == 0:  # nodes read their owners' rows when they start
                start_federation(processes, folder, link, nodes)
                wait_for_port(link, patience)
            began = time.monotonic()
            found = trial.carried(port, link, patience)
            both = [encode(each.model) for each in (expected, found)]
            same, took = both[0] == both[1], time.monotonic() - began
            digests = (blake2b(each, digest_size=8).hexdigest() for each in both)
            print(f"digests: {trial.name},{','.join(digests)}")
            told = f"{trial.name}, {trial.kind.everybody} owners, {took:.0f} s"
            print(f"{told}: the bytes of HTTP: {'yes' if same else 'NO'}", flush=True)
            good &= same
    return good


if __name__ == "__main__":
    main()
