"""A real coordinator on loopback, and owners of the JavaScript client that join it.

`python -m tests.clients.campaigns --owners 100` compares their model with that of one process.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import pytest
from benchmarks.loopback import serve

from tacit import seeded
from tacit.engines.inline import Inline
from tacit.estimators.persistence import SavedModel, open_model
from tacit.service.kinds.classifier import ClassifierSpec
from tacit.wire import decode, encode
from tests.service.coordinator.made import joining, rows, running, write

CLIENT = Path(__file__).parents[2] / "clients" / "javascript"
SEED, EACH = 7, 8
CAMPAIGN = """
kind = "classifier"
name = "trial"
sample = "mine.csv"
label = "ill"
epsilon = [4.0, 8.0]
mechanism = "{mechanism}"
owners = {owners}
rows_per_owner = 8
rounds = 2
start = {owners}
minimum = 4
deadline = 300
"""


def node():
    """Node's path: TACIT_NODE, else what is on the PATH; without one a test says so and skips."""
    path = os.environ.get("TACIT_NODE") or shutil.which("node")
    if path is None:
        pytest.skip("no Node: it is not on the PATH, and TACIT_NODE names none")
    return path


def folder_of(folder, owners, mechanism="auto"):
    """Files of a campaign of so many owners."""
    sample = [{k: v for k, v in row.items() if k != "who"} for row in rows(30, 1, seed=1)]
    write(folder / "mine.csv", sample)
    write(folder / "people.csv", rows(owners, EACH, seed=2))
    text = CAMPAIGN.format(owners=owners, mechanism=mechanism)
    (folder / "campaign.toml").write_text(text)
    return folder


def records_of(folder):
    """Every owner's rows as texts, in the order of their names."""
    with (folder / "people.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    names = sorted({row["who"] for row in table})
    return [
        [{k: v for k, v in row.items() if k != "who"} for row in table if row["who"] == name]
        for name in names
    ]


def join_by_node(folder, address, tokens, rehearsal):
    """What became of every owner of the file, all of them in one process of Node."""
    plan = {
        "address": address,
        "folder": str(folder / "homes"),
        "policy": {"epsilonPerRelease": "8", "epsilonTotal": "8", "timeStep": 0},
        "rehearsal": rehearsal,
        "owners": [
            {"token": token, "records": records}
            for token, records in zip(tokens, records_of(folder), strict=True)
        ],
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    command = [node(), str(CLIENT / "test" / "owners.js"), str(folder / "plan.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def published(address, seconds=60, verify=True):
    """The model of a campaign, once there is one."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        response = httpx.get(f"{address}/v1/model", verify=verify)
        if response.status_code == 200:
            return decode(open_model(response.content)[0], SavedModel)
        time.sleep(0.1)
    raise TimeoutError("no model was published")


def in_process(folder):
    """The model of the same owners and the same coins, in this process."""
    terms, public = ClassifierSpec.read(folder / "campaign.toml").prepare()
    _, cohort = joining(folder).rows(terms)
    return Inline(cohort, np.full(len(cohort), 8.0), seeded(SEED)).run(terms.run(public)).model


def rehearse(folder):
    """A campaign of JavaScript's owners: outcomes, its model, and that of one process."""
    count = len(records_of(folder))
    tokens = [f"token number {i:04d}" for i in range(count)]
    service = running(folder, rehearsal=SEED)
    service.store.add_tokens(tokens)
    with serve(service.app) as address:
        outcomes = join_by_node(folder, address, tokens, SEED)
        model = published(address)
    return outcomes, encode(model.model), encode(in_process(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owners", type=int, default=100)
    parser.add_argument("--mechanism", default="auto")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        made = folder_of(Path(folder), given.owners, given.mechanism)
        outcomes, over_http, here = rehearse(made)
        counts = {each: outcomes.count(each) for each in set(outcomes)}
        print(f"{given.owners} owners in Node: {counts}, {time.monotonic() - began:.1f} s")
        print("same model as Python's owners" if over_http == here else "ANOTHER MODEL")
        return 0 if over_http == here else 1


if __name__ == "__main__":
    raise SystemExit(main())
