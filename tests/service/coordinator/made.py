"""A small campaign over HTTP, in this process: files of a data user and of owners, a
coordinator, members.
"""

import asyncio
import csv
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.owner.policy import Policy
from tacit.service.coordinator.owner_api import Admission, Enrolment, Newcomer, QuestionLookup
from tacit.service.coordinator.server import coordinator
from tacit.service.device.client import Link
from tacit.service.device.join import Joining

CAMPAIGN = """
kind = "boosting"
name = "trial"
sample = "mine.csv"
label = "ill"
learner = "centroid"
epsilon = [4.0, 8.0]
rounds = 2
owners_per_round = 10
start = 45
minimum = 4
deadline = 300
"""
ADMIN = "an administrator's key"


def rows(owners, each, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(owners * each, 3))
    ill = x[:, 0] + 0.5 * x[:, 1] > 0
    names = np.repeat([f"person {i:03d}" for i in range(owners)], each)
    return [
        {
            "who": who,
            "a": a,
            "b": b,
            "c": c,
            "place": "north" if c > 0 else "south",
            "ill": "yes" if sick else "no",
        }
        for who, (a, b, c), sick in zip(names, x.tolist(), ill.tolist(), strict=True)
    ]


def write(path: Path, table):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)


def write_sample(tmp_path: Path, known: int) -> None:
    """So many rows of the data user's."""
    sample = [{k: v for k, v in row.items() if k != "who"} for row in rows(known, 1, seed=1)]
    write(tmp_path / "mine.csv", sample)


def folder_of(tmp_path: Path, owners=60, text=CAMPAIGN):
    write_sample(tmp_path, 200)
    write(tmp_path / "people.csv", rows(owners, 8, seed=2))
    (tmp_path / "campaign.toml").write_text(text)
    return tmp_path


def running(folder: Path, url=None, key=None, rehearsal=None, **more):
    key = key or Ed25519PrivateKey.generate()
    return coordinator(
        folder / "campaign.toml", url or f"sqlite:///{folder}/c.db", key, ADMIN, rehearsal, **more
    )


def enrol(store, owner, token, label="", held=""):
    """Whether an owner with a token is enrolled."""
    return Enrolment(store).admit([Newcomer(owner, token, label, held)]) == [Admission.YES]


def question_for(store, owner):
    """The question that this owner gets when it asks, if any."""
    (answer,) = QuestionLookup(store).answers([(owner, b"")])
    return answer.rest["body"] if answer.start["status"] == 200 else None


def at_once(work, times=4):
    """Run `work(i)` in several threads at once; what each returned or raised."""
    said: list[object] = [None] * times
    ready = threading.Barrier(times)

    def one(i):
        ready.wait()
        try:
            said[i] = work(i)
        except Exception as problem:
            said[i] = problem

    threads = [threading.Thread(target=one, args=(i,)) for i in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return said


def client_of(app):
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


@asynccontextmanager
async def visiting(guard):
    """A client of a service whose batches and driver are at work."""
    async with guard.app.router.lifespan_context(guard.app), client_of(guard) as client:
        yield client


def joining(folder: Path, rehearsal=None, name="here", **limits):
    policy = Policy(**{"epsilon_per_release": 8, "epsilon_total": 8, "time_step": 0, **limits})
    return Joining(
        folder / "people.csv", "ill", policy, folder / "owner", "who", rehearsal, name=name
    )


def driven(running, work):
    """Run `work(link)` against the service while its driver steps; what it returned."""

    async def main():
        async with visiting(running.app) as client:
            return await work(Link([client] * 4, patience=20.0))

    return asyncio.run(main())
