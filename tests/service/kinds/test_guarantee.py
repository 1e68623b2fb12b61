"""A model's guarantee says the same words, whether it was fitted in one process or over the
network.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import tacit
from tacit.service.device import member
from tacit.service.device.join import join
from tacit.service.kinds.campaign_file import SPECS
from tacit.wire.envelopes import public_bytes
from tests.service.coordinator.made import driven, joining, rows, running, write
from tests.service.helper.made import client_of, helper
from tests.sums.made import HELPER_KEY, public

COMMON = 'name = "trial"\nsample = "mine.csv"\nlabel = "ill"\ndeadline = 300\n'
RECORDS = {"epsilon_per_release": 2, "epsilon_total": 2, "units": ("record",), "releases": 2}
KINDS: dict[str, tuple[str, tuple[int, int, dict[str, Any]], Callable[[], Any]]] = {
    "classifier": (
        "owners = 40\nrows_per_owner = 8\nrounds = 1\nepsilon = 8.0\nstart = 40\n",
        (40, 8, {}),
        lambda: tacit.PrivateClassifier(epsilon=8.0, rows_per_owner=8, rounds=1),
    ),
    "gradient trees": (
        "owners = 40\nrows_per_owner = 8\ntrees = 1\nepsilon = 8.0\nstart = 40\n",
        (40, 8, {}),
        lambda: tacit.PrivateClassifier(epsilon=8.0, rows_per_owner=8, rounds=1, features="trees"),
    ),
    "boosting": (
        'learner = "centroid"\nepsilon = 8.0\nrounds = 1\nowners_per_round = 20\nstart = 20\n',
        (20, 8, {}),
        lambda: tacit.PrivateBoosting("centroid", epsilon=8.0, rounds=1, owners_per_round=20),
    ),
    "sites": (
        "epsilon = 2.0\nstart = 3\nminimum = 3\n",
        (3, 200, RECORDS),
        lambda: tacit.SiteEnsemble(epsilon=2.0),
    ),
    "peers": (
        "epsilon = 2.0\nrounds = 6\nstart = 3\n",
        (3, 200, RECORDS),
        lambda: tacit.PeerEnsemble(epsilon=2.0, rounds=6),
    ),
    **{
        method: (
            "epsilon = 2.0\nrounds = 2\nstart = 3\n",
            (3, 200, RECORDS),
            partial(tacit.PeerEnsemble, epsilon=2.0, rounds=2, method=method),
        )
        for method in ("stumps", "trees")
    },
}


def over_the_network(folder, limits, tokens, **more):
    """A campaign with secure coins; its model."""
    service = running(folder, **more)
    service.store.add_tokens(tokens)

    async def work(link):
        await join(joining(folder, **limits), link, tokens)
        while (model := await link.call("GET", "/v1/model", None)).status_code == 404:
            await asyncio.sleep(0.02)
        return model.content

    (folder / "published.tacit").write_bytes(driven(service, work))
    return tacit.load(folder / "published.tacit")


def in_one_process(folder, estimator):
    """The same rows in one process; the model that is saved."""
    people, mine = (pd.read_csv(folder / name) for name in ("people.csv", "mine.csv"))
    features = ["a", "b", "c", "place"]
    public = (mine[features], mine["ill"])
    estimator.fit(people[features], people["ill"], public=public, owners=people["who"])
    estimator.save(folder / "fitted.tacit")
    return tacit.load(folder / "fitted.tacit")


def test_every_kind_is_compared():
    assert KINDS.keys() == SPECS.keys() - {"bagging"}  # which another test adds


@pytest.mark.parametrize("kind", KINDS)
def test_network_and_process_promise_the_same_in_the_same_words(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(member, "_pause", lambda response, coin: 0.02)
    entries, (owners, each, limits), estimator = KINDS[kind]
    tokens = write_campaign(tmp_path, kind, entries, owners, each)
    published = over_the_network(tmp_path, limits, tokens).guarantee_
    fitted = in_one_process(tmp_path, estimator()).guarantee_
    assert str(published) == str(fitted)
    assert published == fitted
    assert not published.void
    assert "own sample of 30 rows shows in bounds" in published.not_protected[0]


def test_errors_by_sums_cost_the_same_and_in_the_same_words(tmp_path, monkeypatch):
    """Three rounds at most, of one attempt each: a sum after each of them that finds a model."""
    monkeypatch.setattr(member, "_pause", lambda response, coin: 0.02)
    key = Ed25519PrivateKey.generate()
    judged = f"""
learner = "centroid"
epsilon = 8.0
rounds = 3
attempts = 1
owners_per_round = 20
start = 60
error = "owners"
error_epsilon = 0.5
helper = "https://helper.invalid"
helper_key = "{public(HELPER_KEY).hex()}"
"""
    limits = {"epsilon_total": 20, "releases": 4, "helper": public(HELPER_KEY).hex()}
    tokens = write_campaign(tmp_path, "boosting", judged, owners=60, each=8)
    second = client_of(helper(tmp_path, public_bytes(key.public_key()).hex()))
    published = over_the_network(tmp_path, limits, tokens, key=key, helper=second).guarantee_
    fitted = in_one_process(
        tmp_path,
        tacit.PrivateBoosting(
            "centroid",
            epsilon=8.0,
            rounds=3,
            attempts=1,
            owners_per_round=20,
            error="owners",
            error_epsilon=1.5,
        ),
    ).guarantee_
    assert {published.error_epsilon, fitted.error_epsilon} <= {0.5, 1.0, 1.5}  # what was asked
    assert "either of two servers, but not both together" in published.adversary
    assert str(published) == str(replace(fitted, error_epsilon=published.error_epsilon))
    assert published == replace(fitted, error_epsilon=published.error_epsilon)


def write_campaign(folder, kind, entries, owners, each):
    """The files of a campaign; its tokens."""
    sample = [{k: v for k, v in row.items() if k != "who"} for row in rows(30, 1, seed=1)]
    write(folder / "mine.csv", sample)
    write(folder / "people.csv", rows(owners, each, seed=2))
    (folder / "campaign.toml").write_text(f'kind = "{kind}"\n{COMMON}{entries}')
    return [f"token number {i:04d}" for i in range(owners)]
