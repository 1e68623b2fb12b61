"""Encryption of what lies on disk: names, tokens, reports and a helper's sums; a key that is wrong
or missing is refused with one line.
"""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from tacit import seeded
from tacit.cli import app
from tacit.estimators.persistence import SavedModel, open_model
from tacit.service.coordinator import tables
from tacit.service.coordinator.peers import Rosters
from tacit.service.coordinator.records import Records
from tacit.service.coordinator.server import Making, Service
from tacit.service.coordinator.sql import Database
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import StoreError
from tacit.service.device.join import RehearsalPart, join
from tacit.service.helper import Helper, Sheets
from tacit.sums.secure_sum import SumRefusedError
from tacit.wire import WireError, decode, encode
from tacit.wire.envelopes import Vault, public_bytes
from tests.cli.made import run
from tests.service.coordinator.made import ADMIN, driven, enrol, joining, running
from tests.service.coordinator.peers import KEY
from tests.service.coordinator.peers import Trial as PeerTrial
from tests.service.coordinator.test_several import keys_of
from tests.service.coordinator.test_sites import (
    CAMPAIGN,
    LIMITS,
    SEED,
    SITES,
    TOKENS,
    folder_of,
    in_process,
)
from tests.service.helper.made import client_of
from tests.service.helper.test_service import NAME, adding, checked, summed
from tests.sums.made import HELPER_KEY, reports, terms

NAMES = [f"{i:09d}" for i in range(SITES)]  # of sites in a rehearsal


def contents(url):
    """Everything that is in a database, as text."""
    store = Store(url)
    with store.snapshot() as connection:
        there = [
            connection.execute(text(f"SELECT * FROM {name}")).all()  # noqa: S608 - ours
            for name in ("owners", "tokens", "reports", "storage")
        ]
    store.close()
    return [[tuple(map(_plain, row)) for row in table] for table in there]


def _plain(value):
    return bytes(value) if isinstance(value, bytes | memoryview) else value


def campaign(folder, database, vault):
    """A rehearsal of sites from enrolment to model, in a database with this vault."""
    service = running(folder, Database(database, vault), rehearsal=SEED)
    service.store.add_tokens(TOKENS)

    async def work(link):
        await join(joining(folder, RehearsalPart(SEED), **LIMITS), link, TOKENS)
        while (model := await link.call("GET", "/v1/model", None)).status_code == 404:
            await asyncio.sleep(0.05)
        status = (await link.call("GET", "/v1/status", None)).json()
        await asyncio.sleep(0.3)  # whatever still looks at the database ends
        return status, model.content

    found = driven(service, work)
    service.store.close()
    return found


def test_an_encrypted_campaign_is_the_same_and_its_database_says_nothing(tmp_path, database):
    folder, vault = folder_of(tmp_path), Vault(bytes(range(32)))
    status, model = campaign(folder, database, vault)
    published = decode(open_model(model)[0], SavedModel)
    assert encode(published.model) == encode(in_process(folder, 2.0))
    assert sorted(voice["name"] for voice in status["voices"]) == NAMES
    store = Store(Database(database, vault))
    assert sorted(store.labels().values()) == NAMES
    said = store.reports_of(1)
    store.close()
    owners, tokens, sent, _ = contents(database)
    written = repr((owners, tokens))
    assert not any(name in written for name in NAMES)
    assert len(sent) == len(said) == SITES
    clear = Store(f"sqlite:///{folder}/clear.db")
    clear.create_or_resume("x", b"terms", b"key")
    assert clear.hide(TOKENS[0]) not in written  # nor the hash that anybody could compute
    data = [bytes(report) for _, report in said]
    assert not any(plain in value for plain in data for row in sent for value in [row[3]])
    clear.close()


def test_several_campaigns_share_a_database_and_its_key(tmp_path):
    folder, vault, url = tmp_path / "campaigns", Vault(b"v" * 32), f"sqlite:///{tmp_path}/c.db"
    folder.mkdir()
    for slug in ("north", "south"):
        own = folder_of_sites(tmp_path, slug)
        (folder / "mine.csv").write_bytes((own / "mine.csv").read_bytes())
        (folder / f"{slug}.toml").write_bytes((own / "campaign.toml").read_bytes())

    def service(key):
        return Service(
            [folder], Database(url, key), keys_of, lambda slug: Making(admin=ADMIN, rehearsal=SEED)
        )

    running = service(vault)
    running.mount(running.look())
    names = {"north": "St Agatha", "south": "St Brendan"}
    for slug, each in running.campaigns.items():
        each.store.add_tokens(TOKENS[:1])
        assert enrol(each.store, "a" * 64, TOKENS[0], names[slug])
    labels = {slug: set(c.store.labels().values()) for slug, c in running.campaigns.items()}
    assert labels == {slug: {name} for slug, name in names.items()}
    running.close()
    written = repr(contents(url))
    assert not any(name in written for name in names.values())
    for key in (None, Vault(b"w" * 32)):
        with pytest.raises(WireError):
            service(key)
    again = service(vault)
    assert set(again.look()) == {"north", "south"}
    again.close()


def folder_of_sites(tmp_path, slug):
    own = tmp_path / slug
    own.mkdir()
    return folder_of(own, CAMPAIGN.replace("trial", f"trial {slug}"))


def test_what_was_in_the_clear_is_encrypted_when_a_key_is_given_and_then_needed(tmp_path, database):
    folder = folder_of(tmp_path)
    campaign(folder, database, None)
    before = contents(database)
    vault, other = Vault(b"k" * 32), Vault(b"o" * 32)
    store = Store(Database(database, vault))
    with store.transaction() as connection:
        store.storage.settle(connection)
    assert sorted(store.labels().values()) == NAMES
    assert [bytes(data) for _, data in store.reports_of(1)] == sorted_data(before)
    with store.transaction() as connection, pytest.raises(ValueError, match="cannot go back"):
        tables.downgrade(connection)
    store.close()
    for wrong, why in ((None, "is encrypted: give its key"), (other, "another storage key")):
        refused = Store(Database(database, wrong))
        with refused.transaction() as connection, pytest.raises(WireError, match=why):
            refused.storage.settle(connection)
        refused.close()


def sorted_data(before):
    return [row[3] for row in sorted(before[2], key=lambda row: row[2])]


def test_what_was_moved_or_changed_in_the_database_is_noticed(tmp_path):
    folder, vault = folder_of(tmp_path), Vault(b"k" * 32)
    url = f"sqlite:///{folder}/c.db"
    campaign(folder, url, vault)
    store = Store(Database(url, vault))
    with store.transaction() as connection:
        one = connection.execute(text("SELECT data FROM reports WHERE owner = 1")).scalar_one()
        change = text("UPDATE reports SET data = :data WHERE owner = 2")
        connection.execute(change, {"data": one})
    with pytest.raises(StoreError, match="not what was encrypted there"):
        store.reports_of(1)
    assert Records(store).owners()
    store.close()


def test_a_helpers_sums_are_encrypted_and_the_same(tmp_path):
    totals = []
    for name, vault in (("clear", None), ("sealed", Vault(b"k" * 32))):
        (tmp_path / name).mkdir()
        file = tmp_path / name / "released.db"
        sheets = Sheets(file, vault)
        made = Helper(HELPER_KEY, sheets, [NAME], noise=seeded(3))
        http = client_of(made)
        mine, sent = adding(), reports(terms())
        checked(http, mine, sent)
        totals.append(summed(http, mine).content)
        batch = mine.batch.digest
        kept = sheets._connection.execute("SELECT total FROM blocks").fetchall()
        assert [bytes(each[0]) for each in kept] != [
            total for total, _ in sheets.sums_of(batch)
        ] or vault is None
        sheets.close()
    assert totals[0] == totals[1]
    with pytest.raises(WireError, match="is encrypted: give its key"):
        Sheets(tmp_path / "sealed" / "released.db")
    with pytest.raises(WireError, match="another storage key"):
        Sheets(tmp_path / "sealed" / "released.db", Vault(b"o" * 32))
    # in the clear until now: encrypted from now on, and the same
    before = Sheets(tmp_path / "clear" / "released.db")
    sums = before.sums_of(batch)
    before.close()
    after = Sheets(tmp_path / "clear" / "released.db", Vault(b"k" * 32))
    assert after.sums_of(batch) == sums
    after._connection.execute("UPDATE blocks SET total = x'00'")
    with pytest.raises(SumRefusedError, match="was changed"):
        after.sums_of(batch)
    after.close()


def test_a_storage_key_comes_from_a_file_or_the_environment(tmp_path, monkeypatch):
    folder = folder_of(tmp_path)
    monkeypatch.chdir(folder)
    vault = Vault(bytes.fromhex("ab" * 32))
    store = running(folder, Database("sqlite:///c.db", vault)).store
    store.close()
    look = ["admin", "owners", "--database", "sqlite:///c.db"]
    assert "is encrypted: give its key" in str(run(app, look).exception)
    for wrong, why in (("cd" * 32, "another storage key"), ("short", "64 hexadecimal digits")):
        monkeypatch.setenv("TACIT_STORAGE_KEY", wrong)
        assert why in str(run(app, look).exception)
    Path("storage.key").write_text("ab" * 32 + "\n")
    for given in ("@storage.key", "ab" * 32):
        monkeypatch.setenv("TACIT_STORAGE_KEY", given)
        assert run(app, look).exit_code == 0


def signed_in(store):
    """Rosters, and what peers signed, as they lie in a database."""
    with store.snapshot() as connection:
        every = [
            connection.execute(text(f"SELECT data FROM {name}")).scalars().all()  # noqa: S608 - ours
            for name in ("rosters", "spoken")
        ]
    return [bytes(each) for rows in every for each in rows]


def test_rosters_and_what_peers_signed_are_encrypted_too(tmp_path):
    """Names and reports of peers lay in the clear beside those that were encrypted."""
    trial = PeerTrial(tmp_path)
    trial.play()
    plain, before = signed_in(trial.store), trial.relayed()
    assert any(b"person 000" in each for each in plain)
    trial.store.close()
    url, vault = f"sqlite:///{trial.folder}/c.db", Vault(b"k" * 32)
    for _ in range(2):  # the second time they are encrypted already
        trial.store = Store(Database(url, vault))
        terms, key = encode(trial.terms), public_bytes(KEY.public_key())
        trial.store.create_or_resume("trial", terms, key)
        trial.rosters = Rosters(trial.store, trial.terms, KEY)
        assert encode(trial.relayed().model) == encode(before.model)
        there = signed_in(trial.store)
        assert len(there) == len(plain)
        assert not any(b"person 000" in each for each in there)
        assert not any(each[-40:] in other for each in plain for other in there)
        trial.store.close()


@pytest.mark.parametrize("how", ["here", "forget", "archive"])
def test_what_was_forgotten_is_not_in_the_journal(tmp_path, how):
    """It is deleted in the file, and was still in the journal beside it, as it was written; so it
    was again where a command deleted it and wrote down that it did in one transaction.
    """
    url, owner = f"sqlite:///{tmp_path}/c.db", "ab" * 32
    store = running(folder_of(tmp_path)).store
    store.add_tokens(TOKENS[:1])
    assert enrol(store, owner, TOKENS[0], "Saint Agatha")
    assert any(owner.encode() in file.read_bytes() for file in tmp_path.glob("c.db*"))
    with store.transaction() as connection:
        connection.exec_driver_sql("UPDATE campaign SET state = 'ended'")
    if how == "here":
        assert Records(store).forget(owner)
    else:
        words = [owner] if how == "forget" else []
        done = run(app, ["admin", how, *words, "--database", url])
        assert done.exit_code == 0, done.output
    for file in tmp_path.glob("c.db*"):  # while it is in use
        if how != "archive" or file.name != "c.db":  # the log stays, and names whom it is about
            assert owner.encode() not in file.read_bytes(), file
        assert b"Saint Agatha" not in file.read_bytes(), file
    store.close()
