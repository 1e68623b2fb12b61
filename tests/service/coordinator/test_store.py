"""The store, on SQLite and PostgreSQL alike: what must not happen twice does not, also when two
try at once.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError

from tacit.service.coordinator import intake, sql
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import (
    CLOSED,
    ENDED,
    ENROLLING,
    OPEN,
    PAUSED,
    RUNNING,
    Question,
    StoreError,
)
from tests.service.coordinator.made import at_once, enrol

TOKENS = [f"token number {i:04d}" for i in range(40)]


@pytest.fixture
def store(store):
    store.add_tokens(TOKENS)
    return store


def question(number, state=OPEN):
    return Question(
        number, bytes([number]) * 32, b"signed", state, time.time(), time.time() + 60, None
    )


def enrolled(store, count):
    for i in range(count):
        assert enrol(store, f"{i:064x}", TOKENS[i], f"owner {i}")
    return store.owners_waiting()


def names_of(numbers):
    return [f"{number:064x}" for number in numbers]


def write_newcomers(store, numbers):
    """Owners that came with tokens of the same names."""
    about = {"label": "", "held": ""}
    rows = [{**about, "owner": name, "token": name} for name in names_of(numbers)]
    with store.transaction() as connection:
        sql.write_owners(connection, store.id, rows)


def test_a_campaign_is_taken_up_again_on_the_same_terms_only(store, database):
    again = Store(database)
    again.create_or_resume("trial", b"terms", b"key")
    with pytest.raises(StoreError, match="other terms"):
        again.create_or_resume("trial", b"others", b"key")
    with pytest.raises(StoreError, match="of the key 6b6579, and the state folder has 6f"):
        again.create_or_resume("trial", b"terms", b"other")  # owners would be used up in vain
    again.close()


def test_a_database_file_is_for_its_user_alone(tmp_path):
    file = tmp_path / "deep" / "c.db"
    made = Store(f"sqlite:///{file}")
    made.create_or_resume("trial", b"terms", b"key")
    modes = {path.name: path.stat().st_mode & 0o777 for path in file.parent.iterdir()}
    assert "c.db-wal" in modes
    assert set(modes.values()) == {0o600}
    made.close()
    file.chmod(0o644)
    Store(f"sqlite:///{file}").close()
    assert file.stat().st_mode & 0o777 == 0o600


def test_who_is_revoked_takes_its_reports_to_open_questions_along(store):
    places = enrolled(store, 2)
    for number in (1, 2):
        store.ask(question(number), places, spend=number == 1)
        with store.transaction() as connection:
            reports = dict.fromkeys(places, b"report")
            assert intake.write_reports(connection, store.id, number, reports, 0.0) == set(places)
        if number == 1:
            store.close_question(1, CLOSED)
    assert store.revoke(f"{0:064x}")
    assert not store.revoke("nobody")
    assert [place for place, _ in store.reports_of(1)] == places  # it was told to others
    assert [place for place, _ in store.reports_of(2)] == places[1:]


@pytest.mark.parametrize(
    "url",
    ["mysql://me:secret@host/x", "campaign.db", "", "sqlite://", "postgres://me:secret@host/x"],
)
def test_other_databases_are_named_for_what_they_are_not(url):
    with pytest.raises(
        StoreError, match=r"^database must be sqlite:///FILE or postgresql://"
    ) as caught:
        Store(url)
    assert "secret" not in str(caught.value)


def test_campaigns_of_one_database_know_nothing_of_each_other(store, database):
    places = enrolled(store, 3)
    other = Store(database, "other")
    other.create_or_resume("another", b"terms", b"other key")
    assert other.id != store.id
    unnamed = Store(database)
    with pytest.raises(StoreError, match="name a campaign of the database: it has other"):
        _ = unnamed.id
    unnamed.close()
    assert not enrol(other, f"{0:064x}", TOKENS[0])  # tokens are of one campaign
    other.add_tokens(TOKENS[:2])
    assert enrol(other, f"{0:064x}", TOKENS[0], "owner 0")  # the same owner, name and token
    (theirs,) = other.owners_waiting()
    for each, invited in ((store, places), (other, [theirs])):
        each.ask(question(1), invited, spend=True)
        with each.transaction() as connection:
            intake.write_reports(
                connection, each.id, 1, dict.fromkeys(invited, each.slug.encode()), 0
            )
    assert (store.counts(1), other.counts(1)) == ((3, 3), (1, 1))
    assert other.reports_of(1) == [(theirs, b"other")]
    assert other.labels() == {theirs: "owner 0"}
    other.close_question(1, CLOSED)
    assert [each.state for each in store.questions()] == [OPEN]
    assert store.revoke(f"{0:064x}")
    assert (store.counts(1)[1], other.counts(1)[1]) == (2, 1)
    assert other.begin()
    assert other.pause()
    assert store.standing().state == ENROLLING
    assert store.lease("a", 10) is not None
    assert other.lease("b", 10) is not None
    assert other.outcomes() == {1: {"counted": 1}}
    with pytest.raises(IntegrityError):  # of another campaign
        store.ask(question(2), [10_000], spend=False)
    other.close()


def test_a_campaign_is_its_key_and_no_two_have_one_name_or_place(store, database):
    here = Store(database, "here")
    with pytest.raises(StoreError, match="of the key 6b6579"):
        here.create_or_resume("trial", b"terms", b"other")
    with pytest.raises(StoreError, match="on other terms"):
        here.create_or_resume("another", b"terms", b"key")
    here.create_or_resume("trial", b"terms", b"key")  # it may move
    with pytest.raises(StoreError, match="on other terms"):
        here.create_or_resume("another", b"terms", b"other")
    assert store.standing().name == "trial"
    here.close()


def test_several_founders_at_once_found_one_campaign(database):
    stores = [Store(database) for _ in range(4)]
    assert at_once(lambda i: stores[i].create_or_resume("trial", b"terms", b"key")) == [None] * 4
    assert stores[0].standing().name == "trial"
    for each in stores:
        each.close()


def test_nobody_is_asked_twice_and_a_refused_question_leaves_no_trace(store):
    places = enrolled(store, 6)
    store.ask(question(1), places[:4], spend=True)
    with pytest.raises(StoreError, match="1 of 2 owners were asked before"):
        store.ask(question(2), [places[3], places[4]], spend=True)
    assert store.owners_waiting() == places[4:]
    assert [q.number for q in store.questions()] == [1]
    assert store.counts(1) == (4, 0)


def test_two_drivers_cannot_put_the_same_question(store):
    places = enrolled(store, 8)
    said = at_once(lambda i: store.ask(question(1), places[2 * i : 2 * i + 2], spend=True))
    assert said.count(None) == 1
    assert all(isinstance(each, IntegrityError | None) for each in said)
    assert len(store.owners_waiting()) == 6


def test_a_question_to_more_owners_than_a_statement_has_parameters(store):
    count = 70_000  # PostgreSQL takes 65,535 parameters, SQLite 32,766
    write_newcomers(store, range(count))
    store.ask(question(1), store.owners_waiting(), spend=True)
    assert store.counts(1) == (count, 0)


def rows_read(connection):
    """How many rows of the tables of owners a transaction has read so far."""
    counts = text(
        "SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_xact_user_tables "
        "WHERE relname IN ('owners', 'invitations', 'reports', 'tokens')"
    )
    return int(connection.execute(counts).scalar_one())


def test_plans_of_small_tables_are_not_used_for_large_ones(postgres):
    """Claim: a batch reads a few rows for each that asks, however fast the tables have grown."""
    store = Store(postgres.fresh())
    store.create_or_resume("trial", b"terms", b"key")

    def look(number, names):
        with store.transaction() as connection:
            before = rows_read(connection)
            found = sql.owner_statuses(connection, store.id, number, names)
            assert sql.tokens_of(connection, store.id, names).keys() == found.keys() == set(names)
            ids = (each.owner_id for each in found.values())
            data = {each: b"report" for each in ids if each is not None}
            intake.write_reports(connection, store.id, number, data, time.time())
            return rows_read(connection) - before

    write_newcomers(store, range(20))
    store.ask(question(1), store.owners_waiting(), spend=True)
    look(1, names_of(range(20)))
    with store.transaction() as connection:
        connection.execute(text("ANALYZE"))
    for _ in range(12):  # a statement that is prepared has its plan for good after ten
        look(1, names_of(range(20)))
    write_newcomers(store, range(20, 3000))
    store.ask(question(2), store.owners_waiting(), spend=True)
    for start in range(20, 3000, 500):
        look(2, names_of(range(start, min(start + 500, 3000))))
    assert look(2, names_of(range(100, 150))) < 2 * 3000  # not all of them for each of fifty
    store.close()


def test_a_lease_is_one_workers_until_it_runs_out_or_the_clock_goes_back(store, monkeypatch):
    assert store.lease("a", 10) is not None
    assert store.lease("a", 10) is not None
    assert store.lease("b", 10) is None
    now = time.time()
    monkeypatch.setattr("tacit.service.coordinator.store.time.time", lambda: now + 11)
    assert store.lease("b", 10) is not None
    assert store.lease("a", 10) is None
    monkeypatch.setattr("tacit.service.coordinator.store.time.time", lambda: now - 3 * 3600)
    assert store.lease("a", 10) is not None


def test_only_time_at_work_is_time_of_the_campaign(store, monkeypatch):
    assert store.lease("a", 10, 99.0) == 0.0  # whatever it did before, it did not drive
    assert store.lease("a", 10, 2.5) == 2.5
    assert store.lease("b", 10, 1.0) is None
    now = time.time()
    monkeypatch.setattr("tacit.service.coordinator.store.time.time", lambda: now + 7 * 3600)
    assert store.lease("a", 10, 0.5) == 3.0
    monkeypatch.setattr("tacit.service.coordinator.store.time.time", lambda: now + 8 * 3600)
    assert store.lease("b", 10, 3600.0) == 3.0  # an hour without anybody is none
    assert store.standing().worked == 3.0


def test_a_pause_goes_back_to_where_it_was(store):
    assert not store.go_on()
    assert store.pause()
    assert not store.pause()
    assert not store.begin()
    assert store.standing().state == PAUSED
    assert store.go_on()
    assert store.standing().state == ENROLLING
    assert store.begin()
    assert store.pause()
    assert store.go_on()
    assert store.standing().state == RUNNING


def test_what_has_ended_stays_ended(store):
    before = time.time()
    assert store.moments() == {}
    assert store.begin()
    assert store.pause()
    assert list(store.moments()) == ["begin"]
    assert store.end("all rounds", b"model")
    moments = store.moments()
    assert before <= moments["begin"] <= moments["end"] <= time.time()
    assert not any(move() for move in (store.begin, store.pause, store.go_on))
    assert not store.end("again", b"another")
    standing = store.standing()
    assert (standing.state, standing.ended, standing.model) == (ENDED, "all rounds", b"model")
    assert store.moments() == moments


def test_after_the_end_there_are_no_new_tokens(store):
    store.add_tokens(["token number 0001"])
    assert store.end("because", b"model")
    with pytest.raises(StoreError, match="has ended"):
        store.add_tokens(["token number 0002"])


def test_nobody_waits_for_ever_for_a_table_that_somebody_has_locked(store, database, monkeypatch):
    if not database.startswith("postgresql"):
        return  # SQLite has one writer, which gives up by itself
    monkeypatch.setattr(sql, "_LOCKED", "SET LOCAL lock_timeout = '100ms'")
    other = Store(database)
    with ThreadPoolExecutor(1) as pool, other.transaction() as connection:
        connection.exec_driver_sql("LOCK TABLE owners IN ACCESS EXCLUSIVE MODE")
        waiting = pool.submit(store.owners_waiting)
        with pytest.raises(OperationalError, match="lock timeout"):
            waiting.result(timeout=30)
    assert store.owners_waiting() == []
    other.close()


def test_a_key_that_was_revoked_is_nobodys_any_more(store):
    """To ask for it was an error of the database, told as a failure of ours."""
    for at in range(2):
        assert enrol(store, f"{at:064x}", f"token number {at:04d}")
    assert store.revoke(f"{1:064x}")
    assert not store.rekey(f"{0:064x}", f"{1:064x}")
    assert not store.rekey(f"{1:064x}", f"{2:064x}")
    assert store.rekey(f"{0:064x}", f"{2:064x}")
    assert store.rekey(f"{0:064x}", f"{2:064x}")  # again
    assert not store.rekey(f"{0:064x}", f"{3:064x}")
