"""An owner's file means in a campaign what it means to `tacit fit`, and no owner's rows change
another's.
"""

import asyncio
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tacit.data.cohort import Cohort
from tacit.data.sample import ColumnRoles
from tacit.data.table_file import TableFile
from tacit.data.table_rows import first_rows, read_owned, read_sample
from tacit.owner.policy import Policy
from tacit.service.device.client import Link
from tacit.service.device.join import Joining, join
from tacit.service.kinds.boosting import BoostingSpec
from tacit.service.kinds.peers import PeerSpec
from tacit.wire import WireError
from tests.service.coordinator.made import client_of, folder_of, joining, running

SAMPLE = "age,code,town,seen,ill\n" + "".join(
    f"{20 + i},{i % 3},{'north' if i % 2 else 'south'},2024-01-{i + 1:02d},"
    f"{'yes' if i % 4 else 'no'}\n"
    for i in range(28)
)
OWNERS = """who,town,ill,age,code
a, north ,yes,33,1
a,south,no,n/a,01
b,elsewhere,yes,old,2.0
b,north,perhaps,47,7
c,south,no,1e9,0
"""
CAMPAIGN = """
name = "trial"
sample = "mine.csv"
label = "ill"
categories = ["code"]
epsilon = 4.0
start = 3
"""
BOOSTING = CAMPAIGN + 'kind = "boosting"\nowners_per_round = 3\n'
POLICY = Policy(epsilon_per_release=Fraction(4), epsilon_total=Fraction(4))


def made(folder: Path, owners=OWNERS, label="ill", who="who"):
    (folder / "mine.csv").write_text(SAMPLE)
    (folder / "people.csv").write_text(owners)
    (folder / "campaign.toml").write_text(BOOSTING)
    terms, _ = BoostingSpec.read(folder / "campaign.toml").prepare()
    return terms, Joining(folder / "people.csv", label, POLICY, folder / "state", who)


def test_a_file_means_what_it_means_to_tacit_fit(tmp_path):
    terms, mine = made(tmp_path)
    roles = ColumnRoles("ill", owner="who", categories=("code",))
    sample = read_sample(TableFile.open(tmp_path / "mine.csv"), roles)
    assert sample.schema == terms.schema
    assert [feature.name for feature in terms.schema.features] == [
        "age",
        "code",
        "town",
    ]  # dates are no feature
    owned = read_owned(TableFile.open(tmp_path / "people.csv"), roles, sample.schema)
    names, cohort = mine.rows(terms)
    known = terms.schema.encode_labels(owned.labels) >= 0
    assert names == ["a", "b", "c"]
    np.testing.assert_array_equal(cohort.X, terms.schema.encode(owned.table).X[known])
    assert cohort.sizes.tolist() == [2, 1, 1]


def test_only_rows_that_count_are_made_numbers_of(tmp_path):
    terms, mine = made(tmp_path)
    names, whole = mine.rows(terms)
    few, cohort = replace(mine, policy=replace(POLICY, rows=1)).rows(terms)
    assert few == names
    assert cohort.sizes.tolist() == [1, 1, 1]
    np.testing.assert_array_equal(cohort.X, whole.X[whole.offsets[:-1]])
    rng = np.random.default_rng(4)
    owners, labels = rng.integers(0, 40, 2000), rng.integers(-1, 2, 2000)
    owners[:40] = np.arange(40)
    labels[owners == 7] = -1
    full = Cohort.of(np.arange(2000.0)[:, np.newaxis], labels, owners)
    kept = first_rows(labels, owners, 5)
    cut = Cohort.of(np.arange(2000.0)[kept, np.newaxis], labels[kept], owners[kept])
    assert cut.sizes.tolist() == np.minimum(full.sizes, 5).tolist()
    for owner in range(40):
        np.testing.assert_array_equal(cut[owner : owner + 1].X, full[owner : owner + 1].X[:5])


def test_a_campaign_cannot_take_more_memory_than_the_policy_allows(tmp_path):
    """However many rows there are: whether an owner comes would tell how many."""
    terms, mine = made(tmp_path)
    assert terms.schema.dim == 5
    enough = 8 * 5 * (POLICY.rows + 4 * POLICY.rows)
    mine.rows(terms)
    replace(mine, policy=replace(POLICY, largest_memory=enough)).rows(terms)
    poor = replace(mine, policy=replace(POLICY, largest_memory=enough - 1))
    with pytest.raises(ValueError, match=r"5 numbers of a row.*largest_memory.*nothing was sent"):
        poor.rows(terms)


def test_an_odd_value_of_one_owner_changes_nothing_for_another(tmp_path):
    terms, mine = made(tmp_path)
    _, plain = mine.rows(terms)
    odd = OWNERS.replace("elsewhere,yes,old,2.0", "2024-05-05,yes,,x")
    terms, mine = made(tmp_path, odd)
    _, other = mine.rows(terms)
    for owner in (0, 2):
        np.testing.assert_array_equal(plain[owner : owner + 1].X, other[owner : owner + 1].X)


def test_what_is_missing_is_named(tmp_path):
    terms, mine = made(tmp_path, OWNERS.replace("town", "city"))
    with pytest.raises(ValueError, match=r"people.csv lacks 'town'"):
        mine.rows(terms)
    terms, mine = made(tmp_path, label="healthy")
    with pytest.raises(
        ValueError,
        match=r"column 'healthy' is not in .*people.csv; it has who, town, ill, age, code",
    ):
        mine.rows(terms)
    terms, mine = made(tmp_path, who="whose")
    with pytest.raises(ValueError, match="column 'whose' is not in"):
        mine.rows(terms)


def test_a_peer_may_lack_columns_but_not_all_of_them(tmp_path):
    _, mine = made(tmp_path, OWNERS.replace("town", "city"))
    (tmp_path / "campaign.toml").write_text('kind = "peers"\n' + CAMPAIGN)
    terms, _ = PeerSpec.read(tmp_path / "campaign.toml").prepare()
    assert terms.attributes_of(TableFile.open(mine.data).names) == (0, 1)
    with pytest.raises(ValueError, match=r"lacks town; .* type those to be told: --attributes age"):
        mine.rows(terms)
    with pytest.raises(ValueError, match="attributes must be among those of the campaign"):
        replace(mine, attributes=("age", "city")).rows(terms)
    mine = replace(mine, attributes=("age", "code"))
    _, cohort = mine.rows(terms)
    assert np.isnan(cohort.X).any(axis=0).tolist() == [False] * 4 + [True]
    _, mine = made(tmp_path, "who,ill\na,yes\n")
    with pytest.raises(ValueError, match="lacks age, code, town"):
        mine.rows(terms)


def test_a_key_that_is_given_counts_beside_the_one_that_was_pinned(tmp_path):
    folder = folder_of(tmp_path)
    service = running(folder)
    right, wrong = bytes.fromhex(service.fingerprint), bytes(32)

    async def greeted(pinned):
        async with client_of(service.app) as client:
            return await joining(folder).members(Link([client]), pinned)

    with pytest.raises(WireError, match="is pinned: another campaign"):
        asyncio.run(greeted(wrong))
    assert not (folder / "owner" / "pins").exists()
    asyncio.run(greeted(None))  # whatever answered first is pinned
    asyncio.run(greeted(right))
    with pytest.raises(WireError, match="is pinned: another campaign"):
        asyncio.run(greeted(wrong))


def test_enrolment_comes_at_a_moment_that_rows_do_not_name(tmp_path, monkeypatch):
    """The file is read before the greeting, and what follows comes whole steps later."""
    _, mine = made(tmp_path)
    moments = []

    class Slow(TableFile):
        def in_memory(self):
            moments.append("read")
            return super().in_memory()

    class Greeting:
        async def greet(self):
            moments.append("greeted")
            raise ConnectionError

    monkeypatch.setattr(TableFile, "open", Slow.open)
    link: Any = Greeting()
    with pytest.raises(ConnectionError):
        asyncio.run(mine.members(link))
    assert moments == ["read", "greeted"]

    waits: list[float] = []

    class Brought:
        policy = SimpleNamespace(time_step=Fraction(1, 10))
        rehearsal = None

        async def members(self, link, pinned):
            began = time.monotonic()
            time.sleep(waits.pop())
            terms = SimpleNamespace(once=True, relay=None, has_names=False)
            return SimpleNamespace(terms=terms, began=began), []

    for took in (0.0, 0.15):
        waits.append(took)
        began = time.monotonic()
        brought: Any = Brought()
        monkeypatch.setattr("tacit.service.device.join.SETTLING", 0.4)
        asyncio.run(join(brought, link, []))
        assert time.monotonic() - began >= 0.4
