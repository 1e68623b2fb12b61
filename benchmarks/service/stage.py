"""A campaign on this machine in processes of its own: one coordinator, several owner processes, real sockets."""

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.service.authority import issue
from benchmarks.service.people import People
from benchmarks.service.postgres import free_port
from benchmarks.service.processes import Processes, tacit
from tacit.cohort import Cohort
from tacit.coordinator.publication import Publication
from tacit.coordinator.spec import CampaignSpec
from tacit.device.joining import Joining
from tacit.engines.inline import Inline
from tacit.ensembles.boosting import OwnSample
from tacit.learners.ensemble import Ensemble
from tacit.owner.policy import Policy
from tacit.streams import seeded
from tacit.wire import decode

_POLICY = 'epsilon_per_release = "{epsilon}"\nepsilon_total = "{epsilon}"\ntime_step = "0.01"\n'
_UP = 120.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to happen; `seed` None is a campaign with secure coins instead of a rehearsal."""

    people: People
    rounds: int
    per_round: int
    minimum: int = 2
    deadline: float = 600.0
    epsilon: int = 8
    learner: str = "centroid"
    seed: int | None = 7
    tls: bool = True
    workers: int = 1
    start: int | None = None  # owners that must have enrolled; None: all people

    def campaign(self) -> str:
        return (
            f'name = "trial"\nsample = "sample.csv"\nlabel = "ill"\nlearner = "{self.learner}"\n'
            f"epsilon = {self.epsilon}\nrounds = {self.rounds}\nowners_per_round = {self.per_round}\n"
            f"start = {self.start or self.people.owners}\nminimum = {self.minimum}\ndeadline = {self.deadline}\n"
        )


@dataclass
class Stage:
    """One campaign in `folder` and `database`; `door` is the port that owners knock at, where it is not its own."""

    folder: Path
    plan: Plan
    database: str
    processes: Processes
    port: int = field(default_factory=free_port)
    door: int | None = None
    _client: httpx.Client = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.plan.people.write(self.folder)
        (self.folder / "campaign.toml").write_text(self.plan.campaign())
        (self.folder / "policy.toml").write_text(_POLICY.format(epsilon=self.plan.epsilon))
        authority = issue(self.folder)[0] if self.plan.tls else None
        verify: Any = ssl.create_default_context(cafile=authority) if authority else True
        self._client = httpx.Client(base_url=self.url(self.port), verify=verify, timeout=10.0)

    def url(self, port: int) -> str:
        return f"{'https' if self.plan.tls else 'http'}://127.0.0.1:{port}"

    # The coordinator ---------------------------------------------------------------------------------

    def start_coordinator(self, clock: float = 0.0) -> None:
        """Start or restart it; tokens are made the first time."""
        first = not (self.folder / "state" / "tokens").exists()
        options = ["--port", str(self.port), "--database", self.database, "--state", str(self.folder / "state")]
        options += ["--workers", str(self.plan.workers)] if self.plan.workers > 1 else []
        options += ["--tokens", str(self.plan.people.owners)] if first else []
        options += [] if self.plan.seed is None else ["--rehearsal", str(self.plan.seed)]
        if self.plan.tls:
            options += ["--certificate", str(self.folder / "server.pem"), "--key", str(self.folder / "server.key")]
        command = tacit("serve", str(self.folder / "campaign.toml"), *options, clock=clock)
        self.processes.start("coordinator", command)

    def up(self) -> None:
        """Wait until the coordinator answers."""
        self.until(lambda: self.status() is not None, _UP, "the coordinator to answer")

    def status(self) -> dict[str, Any] | None:
        """The campaign in figures; None while nobody answers."""
        try:
            response = self._client.get("/v1/status")
        except httpx.TransportError:
            return None
        return dict(response.json()) if response.status_code == 200 else None

    def model(self) -> Publication:
        return decode(self._client.get("/v1/model").content, Publication)

    # Owners ------------------------------------------------------------------------------------------

    def start_owners(self, number: int, clock: float = 0.0) -> None:
        """Start or restart one owner process; the state in its folder stays."""
        people = self.plan.people
        tokens = (self.folder / "state" / "tokens").read_text().split()
        mine = self.folder / f"tokens-{number:03d}"
        first = number * people.each
        mine.write_text("\n".join(tokens[first : first + people.each]))
        options = ["--data", str(self.folder / f"owners-{number:03d}.csv"), "--label", "ill", "--owners", "who"]
        options += ["--policy", str(self.folder / "policy.toml"), "--tokens", str(mine)]
        options += ["--state", str(self.folder / f"owner-{number:03d}")]
        options += [] if self.plan.seed is None else ["--rehearsal", str(self.plan.seed), "--first", str(first)]
        options += ["--ca", str(self.folder / "authority.pem")] if self.plan.tls else []
        url = self.url(self.door or self.port)
        self.processes.start(owner_process(number), tacit("join", url, *options, clock=clock))

    # What should come out ----------------------------------------------------------------------------

    def in_process(self) -> Ensemble:
        """The ensemble that the engine in one process finds for the same rows and seed.

        It also compiles what the owners are going to run, once for all of them.
        """
        seed = 0 if self.plan.seed is None else self.plan.seed
        terms, public = CampaignSpec.read(self.folder / "campaign.toml").prepared()
        policy = Policy.read(self.folder / "policy.toml")
        parts = [
            Joining(self.folder / f"owners-{n:03d}.csv", "ill", policy, self.folder, owners="who").rows(terms)[1]
            for n in range(self.plan.people.processes)
        ]
        sizes = np.concatenate([part.sizes for part in parts])
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        cohort = Cohort(np.concatenate([p.X for p in parts]), np.concatenate([p.y for p in parts]), offsets)
        engine = Inline(cohort, np.full(len(cohort), float(self.plan.epsilon)), seeded(seed))
        return engine.run(terms.algorithm(OwnSample(public))).ensemble

    def until(self, happened: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait for something; RuntimeError when it takes too long or the coordinator is gone."""
        end = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > end or not self.processes.alive("coordinator"):
                log = (self.folder / "coordinator.log").read_text()[-2000:]
                raise RuntimeError(f"waited {seconds:g} s for {what}; the coordinator's log ends with:\n{log}")
            time.sleep(0.1)

    def ended(self) -> bool:
        status = self.status()
        return status is not None and status["state"] == "ended"

    def close(self) -> None:
        self._client.close()


def owner_process(number: int) -> str:
    """The name of an owner process."""
    return f"owners-{number:03d}"
