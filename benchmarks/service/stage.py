"""A campaign on this machine in processes of its own: coordinator, helper, several owner
processes, real sockets.
"""

import shutil
import ssl
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from benchmarks.service.authority import issue
from benchmarks.service.people import People
from benchmarks.service.postgres import free_port
from benchmarks.service.processes import Clock, Processes, tacit
from tacit.algorithms.boosting import AllOwners, OwnSample
from tacit.cli.serve import signing_key
from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.estimators.persistence import SavedModel, open_model
from tacit.learners.models.ensemble import Ensemble
from tacit.mechanisms.streams import seeded
from tacit.owner.policy import Policy
from tacit.service.device.join import Joining
from tacit.service.kinds.boosting import BoostingSpec
from tacit.sums import HOW, NOBODY
from tacit.sums.halves import TallyLaw
from tacit.wire import decode
from tacit.wire.envelopes import public_bytes

_UP = 120.0
TRIAL, NEIGHBOUR = "trial", "neighbour"  # of two campaigns, the one that trouble is made for


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to happen; `seed` None is a campaign with secure coins instead of a rehearsal.

    With `sum_epsilon` all owners judge base models, each sum at that cost, with the help of a
    helper; with `trust` in two servers the helper adds up shares, too.
    """

    people: People
    rounds: int
    per_round: int
    minimum: int = 2
    deadline: float = 600.0
    epsilon: int = 8
    sum_epsilon: str | None = None
    trust: str = NOBODY
    learner: str = "centroid"
    seed: int | None = 7
    tls: bool = True
    workers: int = 1
    start: int | None = None  # owners that must have enrolled; None: all people
    crowd: bool = False  # thousands of connections from this machine, as from a proxy
    neighbour: bool = False  # another campaign of the same people, on the same coordinator
    watch: bool = False  # both servers show their figures to operators

    @property
    def helped(self) -> bool:
        return self.sum_epsilon is not None or self.trust == HOW

    def campaign(self) -> str:
        return (
            'kind = "boosting"\nname = "trial"\nsample = "sample.csv"\nlabel = "ill"\n'
            f'learner = "{self.learner}"\ntrust = "{self.trust}"\n'
            f"epsilon = {self.epsilon}\nrounds = {self.rounds}\nowners_per_round = "
            f"{self.per_round}\n"
            f"start = {self.start or self.people.owners}\nminimum = {self.minimum}\ndeadline "
            f"= {self.deadline}\n"
        )

    def policy(self, helper: str) -> str:
        """What owners allow: one report, and sums for twice the rounds, since rounds may be
        dropped.
        """
        sums, each = (
            (0, Fraction(0))
            if self.sum_epsilon is None
            else (2 * self.rounds, Fraction(self.sum_epsilon))
        )
        return (
            f'epsilon_per_release = "{self.epsilon}"\nepsilon_total = '
            f'"{self.epsilon + sums * each}"\n'
            f'releases = {1 + sums}\ntime_step = "0.01"\n'
            + (f'helper = "{helper}"\ndelta_total = "0.000001"\n' if self.helped else "")
        )


@dataclass
class Stage:
    """One campaign in `folder` and `database`; `door` is the port that owners knock at, where it
    is not its own.
    """

    folder: Path
    plan: Plan
    database: str
    processes: Processes
    port: int = field(default_factory=free_port)
    door: int | None = None
    helper: int = field(default_factory=free_port)
    figures: int = field(default_factory=free_port)
    helper_figures: int = field(default_factory=free_port)
    _client: httpx.Client = field(init=False, repr=False)
    _verify: ssl.SSLContext | bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.plan.people.write(self.folder)
        authority = issue(self.folder)[0] if self.plan.tls else None
        self._verify = ssl.create_default_context(cafile=authority) if authority else True
        self._client = httpx.Client(base_url=self.url(self.port), verify=self._verify, timeout=10.0)
        text, key = self.plan.campaign(), ""
        if self.plan.helped:
            self.start_helper()
            key = self._helper_key()
            text += f'helper = "{self.url(self.helper)}"\nhelper_key = "{key}"\n'
            text += 'helper_ca = "authority.pem"\n' if authority else ""
        if self.plan.sum_epsilon is not None:
            text += f'error = "owners"\nerror_epsilon = {self.plan.sum_epsilon}\n'
        (self.folder / "campaign.toml").write_text(text)
        if self.plan.neighbour:
            self._write_both(text)
        (self.folder / "policy.toml").write_text(self.plan.policy(key))

    def _write_both(self, text: str) -> None:
        """The campaign and its neighbour in a folder of their own."""
        served = self.folder / "campaigns"
        served.mkdir()
        for name in ("sample.csv", "authority.pem"):
            if (self.folder / name).exists():
                shutil.copyfile(self.folder / name, served / name)
        (served / f"{TRIAL}.toml").write_text(text)
        other = text.replace('name = "trial"', 'name = "neighbour"')
        (served / f"{NEIGHBOUR}.toml").write_text(other)

    def state(self, campaign: str = TRIAL) -> Path:
        """The folder with a campaign's key and tokens."""
        every = self.folder / "state"
        return every / campaign if self.plan.neighbour else every

    def root(self, campaign: str = TRIAL) -> str:
        """What a campaign's addresses begin with."""
        return f"/campaigns/{campaign}" if self.plan.neighbour else ""

    def slugs(self) -> list[str]:
        """The campaigns, as the database names them."""
        return [TRIAL, NEIGHBOUR] if self.plan.neighbour else [""]

    def url(self, port: int) -> str:
        return f"{'https' if self.plan.tls else 'http'}://127.0.0.1:{port}"

    # The helper
    # --------------------------------------------------------------------------------------

    def start_helper(self, clock: Clock | None = None) -> None:
        """Start or restart it, for this campaign."""
        both = (TRIAL, NEIGHBOUR) if self.plan.neighbour else (TRIAL,)
        keys = [public_bytes(signing_key(self.state(each)).public_key()).hex() for each in both]
        options = [
            *(part for key in keys for part in ("--campaign", key)),
            "--state",
            str(self.folder / "helper"),
            "--port",
            str(self.helper),
            *self._watched(self.helper_figures),
        ]
        self.processes.start("helper", tacit("helper", *options, *self._served(), clock=clock))

    def _helper_key(self) -> str:
        """The key that campaign and owners are told, when it answers."""
        with httpx.Client(base_url=self.url(self.helper), verify=self._verify) as client:
            self.until(lambda: _answers(client, "/v1/key"), _UP, "the helper to answer", "helper")
            told = str(client.get("/v1/key").json()["key"])
        own = X25519PrivateKey.generate().public_key().public_bytes_raw().hex()
        return (
            told if self.plan.seed is None else own
        )  # the file is that of a campaign; a rehearsal has its own helper

    # The coordinator
    # ---------------------------------------------------------------------------------

    def start_coordinator(self, clock: Clock | None = None) -> None:
        """Start or restart it; tokens are made the first time."""
        first = not (self.state() / "tokens").exists()
        options = [
            "--port",
            str(self.port),
            "--database",
            self.database,
            "--state",
            str(self.folder / "state"),
            *self._watched(self.figures),
        ]
        options += ["--workers", str(self.plan.workers)] if self.plan.workers > 1 else []
        options += ["--trusted-proxy", "127.0.0.1"] if self.plan.crowd else []
        options += ["--tokens", str(self.plan.people.owners)] if first else []
        served = self.folder / ("campaigns" if self.plan.neighbour else "campaign.toml")
        command = tacit("serve", str(served), *options, *self._served(), clock=clock)
        self.processes.start("coordinator", command)

    def _watched(self, port: int) -> list[str]:
        return ["--watch", str(port)] if self.plan.watch else []

    def _served(self) -> list[str]:
        """Options of both servers."""
        return [
            *([] if self.plan.seed is None else ["--rehearsal", str(self.plan.seed)]),
            *self._certificate(),
        ]

    def _certificate(self) -> list[str]:
        if not self.plan.tls:
            return []
        return [
            "--certificate",
            str(self.folder / "server.pem"),
            "--key",
            str(self.folder / "server.key"),
        ]

    def start_blank(self, port: int) -> None:
        """Start the server that does nothing, to compare with."""
        options = ["--port", str(port), "--workers", str(self.plan.workers), *self._certificate()]
        self.processes.start("blank", [sys.executable, "-m", "benchmarks.service.blank", *options])

    @property
    def trust(self) -> ssl.SSLContext | None:
        """What a client believes in; None without TLS."""
        return self._verify if isinstance(self._verify, ssl.SSLContext) else None

    def up(self) -> None:
        """Wait until the coordinator answers."""
        self.until(lambda: self.status() is not None, _UP, "the coordinator to answer")

    def status(self, campaign: str = TRIAL) -> dict[str, Any] | None:
        """The campaign in figures; None while nobody answers."""
        try:
            response = self._client.get(f"{self.root(campaign)}/v1/status")
        except httpx.TransportError:
            return None
        return dict(response.json()) if response.status_code == 200 else None

    def page(self) -> str:
        return self._client.get(f"{self.root()}/").text

    def model(self, campaign: str = TRIAL) -> SavedModel:
        """The published model; a copy is in the folder, as `tacit predict` takes it."""
        content = self._client.get(f"{self.root(campaign)}/v1/model").content
        (self.folder / "model.tacit").write_bytes(content)
        return decode(open_model(content)[0], SavedModel)

    # Owners
    # ------------------------------------------------------------------------------------------

    def start_owners(self, number: int, clock: Clock | None = None) -> None:
        """Start or restart one owner process; the state in its folder stays."""
        self._start_owners(number, clock)

    def start_neighbours(self) -> None:
        """Have the same people take part in the other campaign, from homes of their own."""
        for number in range(self.plan.people.processes):
            self.start_neighbour(number)

    def start_neighbour(self, number: int) -> None:
        """One process of them."""
        self._start_owners(number, None, NEIGHBOUR)

    def _start_owners(self, number: int, clock: Clock | None, campaign: str = TRIAL) -> None:
        people = self.plan.people
        tokens = (self.state(campaign) / "tokens").read_text().split()
        mine = self.folder / f"tokens-{campaign}-{number:03d}"
        first = number * people.each
        mine.write_text("\n".join(tokens[first : first + people.each]))
        options = [
            "--data",
            str(self.folder / f"owners-{number:03d}.csv"),
            "--label",
            "ill",
            "--owners",
            "who",
        ]
        options += ["--policy", str(self.folder / "policy.toml"), "--tokens", str(mine)]
        options += ["--home", str(self.folder / f"{homes(campaign)}-{number:03d}")]
        options += (
            []
            if self.plan.seed is None
            else ["--rehearsal", str(self.plan.seed), "--first", str(first)]
        )
        options += ["--ca", str(self.folder / "authority.pem")] if self.plan.tls else []
        own = campaign == TRIAL
        port = self.port if self.door is None or not own else self.door
        url = self.url(port) + self.root(campaign)
        name = owner_process(number) if own else f"{NEIGHBOUR}-{number:03d}"
        self.processes.start(name, tacit("join", url, *options, clock=clock))

    # What should come out
    # ----------------------------------------------------------------------------

    def in_process(self) -> Ensemble:
        """The ensemble that the engine in one process finds for the same rows and seed.

        It also compiles what the owners are going to run, once for all of them.
        """
        seed = 0 if self.plan.seed is None else self.plan.seed
        terms, public = BoostingSpec.read(self.folder / "campaign.toml").prepare(bytes(32))
        policy = Policy.read(self.folder / "policy.toml")
        parts = [
            Joining(
                self.folder / f"owners-{n:03d}.csv", "ill", policy, self.folder, owners="who"
            ).rows(terms)[1]
            for n in range(self.plan.people.processes)
        ]
        sizes = np.concatenate([part.sizes for part in parts])
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        cohort = Cohort(
            np.concatenate([p.X for p in parts]), np.concatenate([p.y for p in parts]), offsets
        )
        law = None if terms.sums is None else terms.sums.law
        sums = law.spec if isinstance(law, TallyLaw) else None
        engine = Inline(cohort, float(self.plan.epsilon), seeded(seed), sums)
        return engine.run(
            terms.algorithm(OwnSample(public) if sums is None else AllOwners())
        ).ensemble

    def until(
        self, happened: Callable[[], bool], seconds: float, what: str, server: str = "coordinator"
    ) -> None:
        """Wait for something; RuntimeError when it takes too long or the server is gone."""
        end = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > end or not self.processes.alive(server):
                log = (self.folder / f"{server}.log").read_text()[-2000:]
                raise RuntimeError(
                    f"waited {seconds:g} s for {what}; the log of the {server} ends with:\n{log}"
                )
            time.sleep(0.1)

    def ended(self, campaign: str = TRIAL) -> bool:
        status = self.status(campaign)
        return status is not None and status["state"] == "ended"

    def close(self) -> None:
        self._client.close()


def _answers(client: httpx.Client, path: str) -> bool:
    try:
        return client.get(path).status_code == 200
    except httpx.TransportError:
        return False


def homes(campaign: str) -> str:
    """What the homes of a campaign's owners are called, but for their number."""
    return NEIGHBOUR if campaign == NEIGHBOUR else "owner"


def owner_process(number: int) -> str:
    """The name of an owner process."""
    return f"owners-{number:03d}"
