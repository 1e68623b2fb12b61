"""Two at the same rows, or files, at the same moment: none is lost, counted twice, or left behind,
and whoever is second is told what is so.

What is tried is not left to luck: the second begins while the transaction of the first is open, and
goes on when that is committed. With the sources of before each of these tests fails, with
PostgreSQL, whose writers do not wait for each other, but where it is said.
"""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import httpx
import pytest
from benchmarks.doorstep import report_to
from benchmarks.loopback import serve
from benchmarks.templates import campaigns
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import func, select, update

from tacit.learners.query import PURPOSE, Invitation
from tacit.service.coordinator import peers
from tacit.service.coordinator.intake import Intake, Outcome
from tacit.service.coordinator.keys import CampaignKeys, PeerRenewals, renew_signatures
from tacit.service.coordinator.owner_api import Admission, Enrolment, Newcomer
from tacit.service.coordinator.records import Records
from tacit.service.coordinator.sql import hold
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import (
    CLOSED,
    OF_OWNERS,
    OPEN,
    Question,
    StoreError,
    contradictions,
    outcomes,
    owners,
    renewals,
    token_hash,
    tokens,
)
from tacit.service.protocol.peer_replay import SPOKEN, Spoken
from tacit.service.protocol.succession import CAMPAIGN as OF_CAMPAIGN
from tacit.service.protocol.succession import KeyRing, Renewal
from tacit.wire.envelopes import public_bytes, sign, sign_bytes, verify
from tests.service.coordinator.made import ADMIN, at_once, enrol, folder_of, running

TOKENS = [f"token number {place:04d}" for place in range(4)]
NORTH, SOUTH, NEW, OTHER = (f"{place:064x}" for place in range(1, 5))


@pytest.fixture
def other(store, database):
    """Another worker, at the campaign of `store`, in which north and south take part."""
    store.add_tokens(TOKENS)
    for owner, token in zip((NORTH, SOUTH), TOKENS, strict=False):
        assert enrol(store, owner, token, owner[-1])
    made = Store(database)
    assert made.id == store.id
    yield made
    made.close()


def between(store, first, second):
    """What `first` and `second` said, which began while the transaction of the first was open."""
    with ThreadPoolExecutor(1) as pool:
        with store.transaction():
            said = first()
            told = pool.submit(second)
            time.sleep(0.3)  # until it waits, or has gone past what it should have waited for
        return said, told.result(timeout=60)


def rows(store, table):
    with store.snapshot() as connection:
        mine = select(func.count()).select_from(table).where(store.mine(table))
        return connection.execute(mine).scalar_one()


def test_who_is_forgotten_while_its_key_is_replaced_is_gone_or_still_there(store, other):
    """It had no key, was not revoked either, and was asked and waited for."""
    said, told = between(
        store, lambda: store.rekey(NORTH, NEW), lambda: Records(other).forget(NORTH)
    )
    assert said is True
    assert told is None  # nobody goes by that key
    assert Records(store).describe_owner(NEW) is not None
    assert Records(store).forget(NEW) is not None
    assert len(store.owners_present()) == 1
    assert NEW not in {act.about for act in Records(store).acts()}


def test_of_two_owners_that_want_one_key_one_has_it(store, other):
    """The second was told of a failure of ours."""
    assert between(store, lambda: store.rekey(NORTH, NEW), lambda: other.rekey(SOUTH, NEW)) == (
        True,
        False,
    )
    assert store.is_member(NEW)
    assert store.is_member(SOUTH)
    assert between(
        store, lambda: enrol(store, OTHER, TOKENS[2]), lambda: other.rekey(SOUTH, OTHER)
    ) == (True, False)
    assert store.is_member(SOUTH)


def test_a_peer_does_not_take_the_key_of_one_that_is_enrolling(store, other):
    """It was told of a failure of ours."""
    old, new = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    owner, taken = (public_bytes(key.public_key()).hex() for key in (old, new))
    assert enrol(store, owner, TOKENS[2], "peer")
    said = Renewal(b"k" * 32, bytes.fromhex(owner), bytes.fromhex(taken), 1)
    renewed = lambda: PeerRenewals(other).take(owner, said, said.sign(old, new))  # noqa: E731
    assert between(store, lambda: enrol(store, taken, TOKENS[3]), renewed) == (True, 403)
    assert rows(store, renewals) == 0
    assert store.is_member(owner)


def test_who_declines_by_two_workers_is_counted_once(store, other):
    """What it said was counted twice."""
    digest = b"d" * 32
    asked = Question(1, digest, b"signed", OPEN, 0.0, 60.0, None)
    store.ask(asked, store.owners_waiting(), spend=True)
    key = Ed25519PrivateKey.generate().public_key()
    said, told = between(
        store,
        lambda: Intake(store, key).decline([(NORTH, digest)]),
        lambda: Intake(other, key).decline([(NORTH, digest)]),
    )
    assert (said, told) == ([Outcome.DECLINED], [Outcome.STRANGE])
    with store.snapshot() as connection:
        mine = select(outcomes.c.count).where(outcomes.c.outcome == "declined")
        assert connection.execute(mine).scalars().all() == [1]


def test_tokens_in_another_order_keep_nobody_waiting_for_ever(store, other):
    """Each waited for a token of the other until the database ended one of them."""
    many = [f"one of many tokens {place:05d}" for place in range(1500)]
    workers = [store, other]

    def add(place):
        workers[place % 2].add_tokens(many if place % 2 else many[::-1])

    for _ in range(4):
        assert at_once(add) == [None] * 4
        assert Records(store).withdraw_tokens() in {len(many), len(many) + 2}


def test_who_enrols_while_tokens_are_withdrawn_is_not_in_the_way(store, other):
    """Each waited for a token of the other, too, where they lie in another order than they are used
    in.
    """
    Records(store).withdraw_tokens()
    first, middle, last = sorted(
        (f"a token of three: {place}" for place in range(3)), key=token_hash
    )
    for token in (last, first, middle):
        store.add_tokens([token])
    come = [Newcomer(f"{place:064x}", token) for place, token in enumerate((first, middle, last))]

    def hold():
        with store.transaction() as connection:
            held = tokens.c.token == store.hide(middle)
            connection.execute(select(tokens.c.token).where(held).with_for_update())

    def both(place):
        time.sleep(0.1 * place)
        return Records(other).withdraw_tokens() if place else Enrolment(other).admit(come)

    _, (admitted, withdrawn) = between(store, hold, lambda: at_once(both, times=2))
    assert admitted.count(Admission.YES) + withdrawn == 3


def test_who_enrols_while_a_campaign_is_archived_leaves_nothing_behind(store, other):
    """(So it was before, by the order in which an archive deletes.)"""
    store.end("rounds", b"model")
    said, told = between(
        store, lambda: enrol(store, NEW, TOKENS[2]), lambda: other.archive('{"voices": []}')
    )
    assert (said, told) == (True, True)
    assert [table.name for table in OF_OWNERS if rows(store, table)] == []
    assert not enrol(other, OTHER, TOKENS[3])


def test_who_leaves_by_two_workers_is_written_down_once(store, other):
    """The log had two lines."""
    leave = [partial(Records(each).leave, NORTH) for each in (store, other)]
    assert between(store, *leave) == (True, True)
    left = [act for act in Records(store).acts() if act.what == "leave"]
    assert [act.about for act in left] == [NORTH]


def test_no_token_comes_after_an_archive(store, other):
    """It was there when all else had gone, and let somebody into a campaign that was over."""

    def archive():
        return store.end("rounds", b"model") and store.archive('{"voices": []}')

    with pytest.raises(StoreError, match="has ended"):
        between(store, archive, lambda: other.add_tokens(["a token that is late"]))
    assert rows(store, tokens) == 0


def test_tokens_for_a_campaign_that_ends_meanwhile_are_refused_as_after_its_end(tmp_path, database):
    """Whoever gave them was told of a failure of ours."""
    campaign, other = running(folder_of(tmp_path), database), Store(database)
    given = partial(httpx.post, headers={"x-tacit-admin": ADMIN}, timeout=60.0)
    with serve(campaign.app) as url:
        add = partial(given, f"{url}/v1/admin/tokens", content="a-token-that-is-late")
        ended, told = between(other, lambda: other.end("rounds", b"model"), add)
    assert ended
    assert (told.status_code, told.json()) == (409, {"error": "ended"})
    (line,) = [act for act in Records(other).acts() if act.what == "tokens"]
    assert line.outcome == "409"
    other.close()


def test_who_leaves_while_it_is_asked_has_said_nothing(store, other, database):
    """Its report to the question that was put meanwhile stayed, and was counted."""
    key = Ed25519PrivateKey.generate()
    north = store.owners_waiting()[:1]
    query = next(each for each in campaigns() if each.relay is None and not each.servers).example()
    invitation = Invitation("trial", 1, int(time.time()) + 60, b"s" * 32, query)
    data = sign(invitation, PURPOSE, key)
    third = Store(database)

    def leave():
        with other.transaction():
            done = other.revoke(NORTH)  # waits for the row of an owner that is being asked
            said.append(pool.submit(report))
            time.sleep(0.3)  # until it waits, or has been counted
        return done

    def report():
        return Intake(third, key.public_key()).write([(NORTH, report_to(invitation))])

    said: list[Future[list[Outcome]]] = []
    with ThreadPoolExecutor(2) as pool:
        with store.transaction():
            question = Question(1, invitation.digest, data, OPEN, 0.0, 60.0, None)
            store.ask(question, north, spend=True)
            left = pool.submit(leave)
            time.sleep(0.3)
        assert left.result(timeout=60)
        assert said[0].result(timeout=60) == [Outcome.STRANGE]
    assert store.reports_of(1) == []
    third.close()


def test_a_worker_whose_key_was_replaced_puts_nothing_any_more(tmp_path, database):
    """It drove on: what it put was signed with a key that nobody listens to, and used owners up."""
    worker, keys, other = Store(database), CampaignKeys.at(tmp_path / "keys"), Store(database)
    worker.create_or_resume("trial", b"terms", keys.first)
    worker.add_tokens(TOKENS)
    assert enrol(worker, NORTH, TOKENS[0])
    assert worker.lease("it", 10.0) is not None
    KeyRing.rotate(tmp_path / "keys", OF_CAMPAIGN)
    renew_signatures(other, CampaignKeys.at(tmp_path / "keys"))
    assert worker.lease("it", 10.0) is None
    question = Question(1, b"d" * 32, b"signed", OPEN, 0.0, 60.0, None)
    with pytest.raises(StoreError, match="was replaced"):
        worker.ask(question, worker.owners_waiting(), spend=True)
    assert len(worker.owners_waiting()) == 1
    for each in (worker, other):
        each.close()


def test_a_question_is_put_before_a_key_is_replaced_or_not_at_all(tmp_path, database):
    """One that was being put while others were signed anew was signed with the old key for good."""
    keys, other = CampaignKeys.at(tmp_path / "keys"), Store(database)
    worker = Store(database)
    worker.create_or_resume("trial", b"terms", keys.first)
    data = sign_bytes(b"asked", PURPOSE, keys.key)
    KeyRing.rotate(tmp_path / "keys", OF_CAMPAIGN)
    renewed = CampaignKeys.at(tmp_path / "keys")
    question = Question(1, b"d" * 32, data, OPEN, 0.0, 60.0, None)
    between(
        worker,
        lambda: worker.ask(question, [], spend=False),
        lambda: renew_signatures(other, renewed),
    )
    (put,) = other.questions()
    assert verify(put.data, PURPOSE, renewed.key.public_key()) == b"asked"
    for each in (worker, other):
        each.close()


def test_who_is_forgotten_while_a_key_is_replaced_is_not_in_the_way(tmp_path, database):
    """Each waited for the other: the database ended one of them with an error."""
    keys, other = CampaignKeys.at(tmp_path / "keys"), Store(database)
    worker = Store(database)
    worker.create_or_resume("trial", b"terms", keys.first)
    worker.add_tokens(TOKENS)
    assert enrol(worker, NORTH, TOKENS[0])
    data = sign_bytes(b"asked", PURPOSE, keys.key)
    question = Question(1, b"d" * 32, data, OPEN, 0.0, 60.0, None)
    worker.ask(question, worker.owners_waiting(), spend=True)
    KeyRing.rotate(tmp_path / "keys", OF_CAMPAIGN)
    renewed = CampaignKeys.at(tmp_path / "keys")
    with ThreadPoolExecutor(1) as pool:
        with worker.transaction():
            worker.revoke(NORTH)  # holds the question
            told = pool.submit(renew_signatures, other, renewed)
            time.sleep(0.3)
            assert Records(worker).forget(NORTH) is not None
        told.result(timeout=60)
    assert other.standing().key == public_bytes(renewed.key.public_key())
    for each in (worker, other):
        each.close()


def test_a_peer_that_says_three_things_at_once_is_a_failure_to_nobody(store, other):
    """The third came while the second was proof that it lied: a failure of ours, for all whose
    words came with it.
    """
    campaign, key = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    liar = public_bytes(key.public_key()).hex()
    assert enrol(store, liar, TOKENS[2], "liar")
    query = next(each for each in campaigns() if each.relay is None and not each.servers).example()
    asked = Invitation("trial", 1, int(time.time()) + 60, b"s" * 32, query)
    data = sign(asked, PURPOSE, campaign)
    question = Question(1, asked.digest, data, OPEN, 0.0, 60.0, None)
    store.ask(question, store.owners_waiting()[-1:], spend=True)
    words = [sign(Spoken(asked.digest, report_to(asked)), SPOKEN, key) for _ in range(3)]

    def say(worker, word):
        testimony = peers.Testimony(worker, Intake(worker, campaign.public_key()))
        return partial(testimony.write, [(liar, word)])

    assert say(store, words[0])() == [Outcome.COUNTED]
    store.close_question(1, CLOSED)  # of an open one the first word goes, too
    told = between(store, say(store, words[1]), say(other, words[2]))
    assert told == ([Outcome.CONTRADICTED], [Outcome.STRANGE])
    assert rows(store, contradictions) == 1


def put(store, campaign, number, owner_ids, *, spend=True):
    """A question that is put to some owners; its invitation."""
    query = next(each for each in campaigns() if each.relay is None and not each.servers).example()
    asked = Invitation("trial", number, int(time.time()) + 60, bytes([number]) * 32, query)
    data = sign(asked, PURPOSE, campaign)
    store.ask(Question(number, asked.digest, data, OPEN, 0.0, 60.0, None), owner_ids, spend=spend)
    return asked


def test_words_about_two_questions_in_two_orders_keep_nobody_waiting(store, other, monkeypatch):
    """Each of two workers waited for the question that the other held, and all whose words were in
    one of the batches were told to come again: two peers could do that for ever.
    """
    campaign, words = Ed25519PrivateKey.generate(), []
    for number in (1, 2):
        key = Ed25519PrivateKey.generate()
        name = public_bytes(key.public_key()).hex()
        assert enrol(store, name, TOKENS[1 + number], f"peer {number}")
        asked = put(store, campaign, number, store.owners_waiting()[-1:])
        words.append((name, sign(Spoken(asked.digest, report_to(asked)), SPOKEN, key)))
    first, second = (
        peers.Testimony(each, Intake(each, campaign.public_key())) for each in (store, other)
    )
    take, told = first._take, list[Future[list[Outcome]]]()

    def take_slowly(*args):
        outcome = take(*args)
        if not told:
            told.append(pool.submit(second.write, words))
            time.sleep(0.3)  # until it waits
        return outcome

    monkeypatch.setattr(first, "_take", take_slowly)
    with ThreadPoolExecutor(1) as pool:
        assert first.write(words[::-1]) == [Outcome.COUNTED] * 2
        assert told[0].result(timeout=60) == [Outcome.REPEATED] * 2


class Talking:
    """Two peers who were asked so many questions each, in turn, and what each of them signs."""

    def __init__(self, store, rounds, campaign=None):
        self.campaign, self.store = campaign or Ed25519PrivateKey.generate(), store
        self.keys = [Ed25519PrivateKey.generate() for _ in range(2)]
        self.names = [public_bytes(key.public_key()).hex() for key in self.keys]
        for place, name in enumerate(self.names):
            assert enrol(store, name, TOKENS[2 + place], f"peer {place}")
        self.ids = store.owners_waiting()[-2:]
        self.asked = [self.put(number) for number in range(1, 2 * rounds + 1)]

    def put(self, number, store=None):
        """A question to the peer whose turn it is."""
        whose = [self.ids[(number - 1) % 2]]
        return put(store or self.store, self.campaign, number, whose, spend=False)

    def word(self, asked):
        """Another one with each call."""
        place = (asked.number - 1) % 2
        said = Spoken(asked.digest, report_to(asked))
        return self.names[place], sign(said, SPOKEN, self.keys[place])

    def at(self, worker):
        return peers.Testimony(worker, Intake(worker, self.campaign.public_key()))

    def say_all(self):
        """Everybody answers, and all questions are closed."""
        words = [self.word(asked) for asked in self.asked]
        assert self.at(self.store).write(words) == [Outcome.COUNTED] * len(words)
        for asked in self.asked:
            self.store.close_question(asked.number, CLOSED)


def beside(monkeypatch, testimony, batch, other):
    """What became of a batch, and what `other` said, which began after its first word."""
    take, told = testimony._take, list[Future[object]]()

    def take_slowly(*args):
        outcome = take(*args)
        if not told:
            told.append(pool.submit(other))
            time.sleep(0.3)  # until it waits
        return outcome

    monkeypatch.setattr(testimony, "_take", take_slowly)
    with ThreadPoolExecutor(1) as pool:
        return testimony.write(batch), told[0].result(timeout=60)


def test_two_who_lie_in_two_batches_keep_nobody_waiting(store, other, monkeypatch):
    """Each batch had left one of them out, and waited for the other: all whose words were in one of
    them were told to come again.
    """
    trial = Talking(store, rounds=2)
    trial.say_all()
    one = [trial.word(asked) for asked in trial.asked[:2]]
    two = [trial.word(asked) for asked in trial.asked[:1:-1]]
    later = partial(trial.at(other).write, two)
    found = beside(monkeypatch, trial.at(store), one, later)
    assert found == ([Outcome.CONTRADICTED] * 2, [Outcome.STRANGE] * 2)
    assert rows(store, contradictions) == 2


def test_who_is_left_out_and_lies_about_a_question_that_came_just_now(store, other, database):
    """Who leaves it out held it and waited for the question, and who takes its words the other way
    round.
    """
    trial, third = Talking(store, rounds=1), Store(database)
    trial.say_all()
    liar = trial.names[0]

    def lie():
        asked = trial.put(3, third)
        return trial.at(third).write([trial.word(asked), trial.word(asked)])

    with ThreadPoolExecutor(2) as pool:
        with store.transaction() as connection:  # as whoever changes something about the owner
            mine = store.mine(owners) & (owners.c.owner == liar)
            connection.execute(update(owners).where(mine).values(held=""))
            left = pool.submit(other.revoke, liar)
            time.sleep(0.3)  # until it waits
            said = pool.submit(lie)
            time.sleep(1.0)
        assert left.result(timeout=60)
        assert Outcome.COUNTED not in said.result(timeout=60)[1:]
    assert store.is_revoked(liar)
    assert store.reports_of(3) == []
    third.close()


def test_who_lies_while_a_campaign_is_archived_is_not_in_the_way(tmp_path, database, monkeypatch):
    """What it lied about was to be deleted, and it to be left out: each waited for the other."""
    key = Ed25519PrivateKey.generate()
    campaign, other = running(folder_of(tmp_path), database, key), Store(database)
    store = campaign.store
    store.add_tokens(TOKENS)
    trial = Talking(store, 1, key)
    trial.say_all()
    assert store.end("rounds", b"model")
    lies = [(trial.names[0], b"nothing"), *(trial.word(asked) for asked in trial.asked)]
    later = Records(other).archive

    def hold_slowly(*args):
        held = hold(*args)
        told.append(pool.submit(later))
        time.sleep(0.3)  # until it waits
        return held

    told = list[Future[bool]]()
    monkeypatch.setattr(peers, "hold", hold_slowly)
    with ThreadPoolExecutor(1) as pool:
        found = trial.at(store).write(lies)
        assert found == [Outcome.MALFORMED, Outcome.CONTRADICTED, Outcome.CONTRADICTED]
        assert told[0].result(timeout=60)
    assert sum(rows(other, table) for table in OF_OWNERS) == 0
    for each in (campaign, other):
        each.close()


def test_a_peers_new_key_keeps_no_other_campaign_waiting(store, other, database):
    """It waited for whoever was writing a report in any campaign of the database, and they all for
    it: every question was locked.
    """
    here, campaign = Store(database, "here"), Ed25519PrivateKey.generate()
    here.create_or_resume("another", b"terms", b"another key")
    here.add_tokens(TOKENS)
    assert enrol(here, NORTH, TOKENS[0], "north")
    put(store, campaign, 1, store.owners_waiting()[:1])
    said = Renewal(bytes(32), bytes.fromhex(NORTH), bytes.fromhex(NEW), 1)
    with ThreadPoolExecutor(1) as pool, store.snapshot() as connection:
        # as whoever reports there, and is not done yet
        assert Intake(store, campaign.public_key())._state(connection, 1) == OPEN
        taken = pool.submit(PeerRenewals(here).take, NORTH, said, b"signed by both")
        assert taken.result(timeout=10) == 200
    here.close()


def test_who_is_forgotten_while_a_campaign_is_archived_is_not_in_the_way(
    tmp_path, database, monkeypatch
):
    """Where it had left before, each waited for what the other was deleting."""
    key = Ed25519PrivateKey.generate()
    campaign, other = running(folder_of(tmp_path), database, key), Store(database)
    store, here = campaign.store, Records(campaign.store)
    store.add_tokens(TOKENS)
    assert enrol(store, NORTH, TOKENS[0])
    asked = put(store, key, 1, store.owners_waiting())
    assert Intake(store, key.public_key()).write([(NORTH, report_to(asked))]) == [Outcome.COUNTED]
    store.close_question(1, CLOSED)
    assert store.revoke(NORTH)
    assert store.end("rounds", b"model")
    drop, archived = here._drop_reports, []

    def drop_later(*args):
        archived.append(pool.submit(Records(other).archive))
        time.sleep(0.3)  # until it waits
        drop(*args)

    monkeypatch.setattr(here, "_drop_reports", drop_later)
    with ThreadPoolExecutor(1) as pool:
        assert here.forget(NORTH) is not None
        assert archived[0].result(timeout=60)
    assert sum(rows(other, table) for table in OF_OWNERS) == 0
    for each in (campaign, other):
        each.close()
