"""Troubles: each is made while a campaign runs, and says how often it was made."""

import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks.service.postgres import Postgres, free_port
from benchmarks.service.processes import Clock, tacit
from benchmarks.service.proxy import Proxy
from benchmarks.service.stage import TRIAL, Stage, homes, owner_process
from tacit.service.coordinator.tables import BEFORE

Trouble = Callable[[Stage, random.Random], int]
PATIENCE = 1800.0  # seconds
_HOUR, _JUMPS = 3600.0, 40


def owners_up(stage: Stage) -> None:
    """Start every owner process."""
    for number in range(stage.plan.people.processes):
        stage.start_owners(number)


def kill_coordinator(times: int) -> Trouble:
    """Kill -9 at random moments, from enrolment to the end, and start it again."""

    def trouble(stage: Stage, chance: random.Random) -> int:
        owners_up(stage)
        for done in range(times):
            time.sleep(chance.uniform(0.0, 4.0))
            if stage.ended():
                return done
            stage.processes.kill("coordinator")
            stage.start_coordinator()
            if chance.random() < 0.7:  # else it dies again while it is starting
                stage.up()
        return times

    return trouble


def kill_owners(times: int) -> Trouble:
    """Kill -9 of owner processes at random moments; each is started again with what is on its
    disk.
    """

    def trouble(stage: Stage, chance: random.Random) -> int:
        owners_up(stage)
        for done in range(times):
            time.sleep(chance.uniform(0.0, 2.0))
            if stage.ended():
                return done
            number = chance.randrange(stage.plan.people.processes)
            stage.processes.kill(owner_process(number))
            stage.start_owners(number)
        return times

    return trouble


def kill_helper(times: int) -> Trouble:
    """Kill -9 of the second server of sums; it is started again with what is on its disk."""

    def trouble(stage: Stage, chance: random.Random) -> int:
        owners_up(stage)
        for done in range(times):
            time.sleep(chance.uniform(0.0, 4.0))
            if stage.ended():
                return done
            stage.processes.kill("helper")
            time.sleep(chance.uniform(0.0, 1.0))
            stage.start_helper()
        return times

    return trouble


def stall_helper(times: int) -> Trouble:
    """The second server of sums stands still at random moments, in the middle of whatever it does,
    and goes on; requests to it wait, or are given up and sent again.
    """

    def trouble(stage: Stage, chance: random.Random) -> int:
        owners_up(stage)
        for done in range(times):
            time.sleep(chance.uniform(0.0, 2.0))
            if stage.ended():
                return done
            helper = stage.processes.running["helper"]
            helper.send_signal(signal.SIGSTOP)
            time.sleep(chance.uniform(0.5, 4.0))
            helper.send_signal(signal.SIGCONT)
        return times

    return trouble


def drop_out(share: float) -> Trouble:
    """Some owners enrol and are never heard of again."""

    def trouble(stage: Stage, chance: random.Random) -> int:
        people = stage.plan.people
        owners_up(stage)
        stage.until(lambda: _running(stage), PATIENCE, "everybody to enrol")
        gone = chance.sample(range(people.processes), round(share * people.processes))
        for number in gone:
            stage.processes.kill(owner_process(number))
        return len(gone) * people.each

    return trouble


def restart_database(server: Postgres, times: int) -> Trouble:
    """The database is stopped, or crashes, and comes back after a while."""

    def trouble(stage: Stage, chance: random.Random) -> int:
        owners_up(stage)
        for done in range(times):
            time.sleep(chance.uniform(1.0, 4.0))
            if stage.ended():
                return done
            server.stop(chance.choice([signal.SIGINT, signal.SIGQUIT]))
            time.sleep(chance.uniform(0.0, 2.0))
            server.start()
        return times

    return trouble


def full_disk(times: int) -> Trouble:
    """No file of the coordinator, and then of the owners, may grow for a while; who could not
    begin is begun again.
    """

    def trouble(stage: Stage, chance: random.Random) -> int:
        owners_up(stage)
        for done in range(times):
            if stage.ended():
                return done
            names = (
                [owner_process(n) for n in range(stage.plan.people.processes)]
                if done % 2
                else ["coordinator"]
            )
            for limit in (4096, resource.RLIM_INFINITY):
                for name in names:
                    if stage.processes.alive(name):
                        pid = stage.processes.running[name].pid
                        resource.prlimit(
                            pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)
                        )
                time.sleep(chance.uniform(2.0, 4.0))
            for number in range(stage.plan.people.processes):
                if stage.processes.running[owner_process(number)].poll() not in (None, 0):
                    stage.start_owners(number)  # as a service manager does
        return times

    return trouble


def jumping_clocks(stage: Stage, chance: random.Random) -> int:
    """Clocks jump by hours, back and forth, under running processes: the coordinator's, the
    helper's, and owners'.

    The coordinator's also jumps while it is away. Every jump is longer than a question lasts.
    """
    owners = range(stage.plan.people.processes)
    names = ["coordinator", "helper", *(owner_process(number) for number in owners)]
    clocks = {name: Clock(stage.folder / f"clock-{name}") for name in names}
    jumps = 0

    def jump(name: str, hours: float) -> None:
        nonlocal jumps
        clocks[name].put(hours * _HOUR)
        jumps += 1

    for number, name in enumerate(names):
        jump(name, (0.0, -5.0, 7.0)[number % 3])
    for server in ("coordinator", "helper"):
        stage.processes.kill(server)
    stage.start_helper(clocks["helper"])
    stage.start_coordinator(clocks["coordinator"])
    stage.up()
    for number in owners:
        stage.start_owners(number, clocks[owner_process(number)])
    stage.until(lambda: _running(stage), PATIENCE, "everybody to enrol")
    while not stage.ended() and jumps < _JUMPS:
        jump(chance.choice(names), chance.choice((-30.0, -3.0, 0.0, 2.0, 26.0)))
        if jumps % 9 == 0:
            stage.processes.kill("coordinator")
            jump("coordinator", chance.choice((-3.0, 4.0)))
            stage.start_coordinator(clocks["coordinator"])
            stage.up()
        time.sleep(chance.uniform(0.5, 2.0))
    return jumps


# killed when the tables of a step are there and its number is about to be written down
_KILLED_UPGRADE = """
import os, signal, sys
from alembic.runtime.migration import HeadMaintainer
from tacit.service.coordinator import tables
from tacit.service.coordinator.store import Store
HeadMaintainer.update_to_step = lambda self, step: os.kill(os.getpid(), signal.SIGKILL)
with Store(sys.argv[1]).transaction() as connection:
    tables.upgrade(connection)
"""


def change_release(times: int) -> Trouble:
    """The coordinator is killed, its database taken back to the tables of before there were
    versions, and killed again on the way here; then it is started, and brings them here itself.
    """

    def trouble(stage: Stage, chance: random.Random) -> int:
        owners_up(stage)
        for done in range(times):
            time.sleep(chance.uniform(0.0, 3.0))
            if stage.ended():
                return done
            stage.processes.kill("coordinator")
            back = ("admin", "database", "--database", stage.database, "--to", BEFORE)
            _run(tacit(*back), 0)
            _run([sys.executable, "-c", _KILLED_UPGRADE, stage.database], -signal.SIGKILL)
            stage.start_coordinator()
            stage.up()
        return times

    return trouble


def replace_keys(times: int) -> Trouble:
    """Keys are replaced in the middle: the campaign's, whose coordinator is killed for it, and in
    turn those of all owners of a process.
    """

    def trouble(stage: Stage, chance: random.Random) -> int:
        owners_up(stage)
        stage.until(lambda: _running(stage), PATIENCE, "everybody to enrol")
        for done in range(times):
            time.sleep(chance.uniform(0.0, 2.0))
            if stage.ended():
                return done
            if done % 2:
                _replace_owners(stage, chance.randrange(stage.plan.people.processes))
            else:
                stage.processes.kill("coordinator")
                _run(tacit("identity", "campaign", "--state", str(stage.state())), 0)
                stage.start_coordinator()
                stage.up()
        return times

    return trouble


def _replace_owners(stage: Stage, number: int) -> None:
    """New keys for the owners of a process, which is killed for it."""
    stage.processes.kill(owner_process(number))
    options = ["--data", str(stage.folder / f"owners-{number:03d}.csv"), "--owners", "who"]
    options += ["--home", str(stage.folder / f"{homes(TRIAL)}-{number:03d}")]
    options += ["--ca", str(stage.folder / "authority.pem")] if stage.plan.tls else []
    _run(tacit("identity", "owner", stage.url(stage.port) + stage.root(), *options), 0)
    stage.start_owners(number)


def _run(command: list[str], status: int) -> None:
    """Run a command that ends so."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode != status:
        raise RuntimeError(f"{command[3:]} ended with {done.returncode}: {done.stderr[-2000:]}")


def _running(stage: Stage) -> bool:
    status = stage.status()
    return status is not None and status["state"] != "enrolling"


def bad_network(stage: Stage, chance: random.Random) -> int:
    """Requests are doubled, delayed, reordered, damaged; answers get lost."""
    with Proxy(free_port(), stage.port, seed=chance.randrange(1 << 30)) as proxy:
        stage.door = proxy.port
        owners_up(stage)
        stage.until(stage.ended, PATIENCE, "the end of the campaign")
        return sum(proxy.done.values()) - proxy.done["requests"]
