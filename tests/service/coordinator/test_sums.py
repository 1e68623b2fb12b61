"""Campaigns judged by all owners: sums through a helper, killed, away, refusing, and the same as
in one process.
"""

import sqlite3
import threading
from contextlib import suppress

import httpx
import numpy as np
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nacl.bindings import crypto_scalarmult_ed25519_base_noclamp

from tacit import seeded
from tacit.algorithms.boosting import Verdict
from tacit.estimators.persistence import SavedModel
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.sum_query import SumQuery
from tacit.learners.query import PURPOSE, Invitation
from tacit.owner.gate import Gate, RefusedError
from tacit.owner.ledger import Ledger
from tacit.service.coordinator import answers as coordinator_sums
from tacit.service.coordinator import driver as driver_module
from tacit.service.coordinator.intake import Intake, Outcome
from tacit.service.coordinator.keys import CampaignKeys
from tacit.service.coordinator.server import coordinator
from tacit.service.coordinator.tables import ADDING, CLOSED, ENDED, OPEN, VOID
from tacit.service.device.disclosures import preview
from tacit.service.device.join import join
from tacit.service.kinds.boosting import BoostingSpec
from tacit.service.kinds.campaign_file import CampaignSpec
from tacit.service.protocol.succession import CAMPAIGN as CAMPAIGN_KEY
from tacit.service.protocol.succession import (
    HELPER,
    KeyRing,
    Succession,
    sign_by_sealing_key,
    verifier_of,
)
from tacit.sums.halves import Batch
from tacit.sums.protocol import CoordinatorSide
from tacit.sums.secure_sum import TwoServers
from tacit.wire import WireError, decode, encode
from tacit.wire.envelopes import open_signed, preimage, public_bytes
from tests.service.coordinator.made import ADMIN, driven, enrol, folder_of, joining, question_for
from tests.service.helper.made import client_of, helper
from tests.sums.made import HELPER_KEY, public

PEOPLE = 16
TOKENS = [f"token number {i:04d}" for i in range(PEOPLE)]
KEY = Ed25519PrivateKey.generate()
CAMPAIGN = f"""
kind = "boosting"
name = "trial"
sample = "mine.csv"
label = "ill"
learner = "centroid"
epsilon = 8.0
rounds = 2
owners_per_round = 5
start = {PEOPLE}
minimum = 3
attempts = 2
deadline = 300
error = "owners"
error_epsilon = 2.5
error_minimum = 10
helper = "https://helper.invalid"
helper_key = "{public(HELPER_KEY).hex()}"
"""
LIMITS = {"epsilon_total": 100, "releases": 20, "helper": public(HELPER_KEY).hex()}


class Lying(httpx.BaseTransport):
    """A helper that changes a byte of what it says about blocks, or about the sum."""

    def __init__(self, honest, path):
        self._honest, self._path = honest, path

    def handle_request(self, request):
        response = self._honest.handle_request(request)
        body = bytearray(response.read())
        if request.url.path == self._path:
            body[-5] ^= 1
        return httpx.Response(response.status_code, content=bytes(body))


class Away(httpx.BaseTransport):
    """A helper that cannot be reached, neither for sums, which are counted, nor for its key."""

    asked = 0

    def handle_request(self, request):
        self.asked += request.url.path != "/v1/key"
        raise httpx.ConnectError("away")


class Trial:
    """A coordinator with its owners and a helper, in one thread: whoever is to move is moved by
    hand.
    """

    def __init__(self, tmp_path, text=CAMPAIGN):
        self.folder = self.make_folder(tmp_path, owners=self.people, text=text)
        self.helper = client_of(
            helper(self.folder, public_bytes(KEY.public_key()).hex(), noise=seeded(5))
        )
        self.start(self.helper)
        self.service.store.add_tokens(TOKENS)
        self.names, self.cohort = joining(self.folder).rows(self.terms)
        self.keys = [f"{i:064x}" for i in range(self.people)]
        for key, token in zip(self.keys, TOKENS, strict=False):
            label = f"site {key[-1]}" if self.terms.has_names else ""
            assert enrol(self.service.store, key, token, label)
        ledger = Ledger(self.folder / "ledger.db", self.folder / "ledger.mark")
        self.ledger = ledger
        self.gate = self.gate_of(ledger, self.limits)

    def making(self):
        """What else the coordinator is made with."""
        return {"noise": seeded(5)}

    limits, people = LIMITS, PEOPLE
    spec: type[CampaignSpec] = BoostingSpec
    make_folder = staticmethod(folder_of)

    def gate_of(self, ledger, limits):
        policy = joining(self.folder, **limits).policy
        schema = self.terms.schema
        return Gate(self.cohort, self.names, schema, policy, ledger, KEY.public_key())

    def gate_with(self, name, **limits):
        """Another gate with a ledger of its own."""
        ledger = Ledger(self.folder / f"{name}.db", self.folder / f"{name}.mark")
        return self.gate_of(ledger, limits)

    def start(self, client):
        """The coordinator, started anew from what is in the database, when the lease of the last
        one has run out.
        """
        url = f"sqlite:///{self.folder}/c.db"
        if (self.folder / "c.db").exists():
            self.changed("UPDATE campaign SET lease_until = 0")
        self.service = coordinator(
            self.folder / "campaign.toml", url, KEY, ADMIN, helper=client, **self.making()
        )
        self.store = self.service.store
        self.terms, _ = self.spec.read(self.folder / "campaign.toml").prepare(bytes(32))

    def answer(self, owners=None):
        """Some owners answer what they are asked; what became of their reports."""
        sent = []
        for place in range(self.people) if owners is None else owners:
            data = question_for(self.store, self.keys[place])
            if data is not None:
                (said,) = self.gate.answers(data, [self.names[place]])
                assert not isinstance(said, RefusedError), said
                sent.append((self.keys[place], said))
        return Intake(self.store, KEY.public_key()).write(sent) if sent else []

    def last(self):
        return self.store.questions()[-1]

    def query(self, question):
        return open_signed(question.data, Invitation, PURPOSE, KEY.public_key()).query

    def until_sum(self):
        """On to the first question that is a sum, put to everybody and not answered yet."""
        while not (self.store.questions() and isinstance(self.query(self.last()), SumQuery)):
            self.answer()
            assert self.service.driver.step()

    def to_the_end(self):
        while self.service.driver.step():
            self.answer()
        return self.store.standing()

    def late(self):
        """The deadline of the open question passes."""
        self.changed("UPDATE questions SET deadline = 0")

    def changed(self, statement):
        connection = sqlite3.connect(self.folder / "c.db")
        connection.execute(statement)
        connection.commit()
        connection.close()

    def released(self):
        connection = sqlite3.connect(self.folder / "released.db")
        (count,) = connection.execute("SELECT count(*) FROM releases").fetchone()
        connection.close()
        return count


@pytest.fixture
def trial(tmp_path):
    made = Trial(tmp_path)
    yield made
    made.store.close()


def test_verdicts_are_those_of_one_process(trial):
    standing = trial.to_the_end()
    sums = [q for q in trial.store.questions() if isinstance(trial.query(q), SumQuery)]
    assert sums
    assert trial.released() == len(sums)
    for number, question in enumerate(sums, 1):
        query = trial.query(question)
        terms = query.ensemble.error_terms(query.model, trial.cohort)
        same = TwoServers(epsilon=2.5).total(terms, seeded(5).child("tally", number))
        assert decode(question.answer, Verdict) == Verdict.of(same)
        assert query.number == number
    published = decode(standing.model, SavedModel)
    assert isinstance(published.model, Ensemble)
    assert len(published.model) <= 2
    assert published.guarantee.error_epsilon == 2.5 * len(sums)


def test_every_sum_is_charged(trial):
    trial.to_the_end()
    sums = [q for q in trial.store.questions() if isinstance(trial.query(q), SumQuery)]
    entries = trial.ledger.entries()
    mine = [entry for entry in entries if entry.what == "error sum"]
    assert {(entry.epsilon, entry.how, entry.unit) for entry in mine} == {
        ("5/2", "two servers", "owner")
    }
    assert sorted(entry.owner for entry in mine) == sorted(trial.names * len(sums))


def test_drop_outs_leave_the_sum_of_the_others(trial):
    trial.until_sum()
    trial.answer(range(11))
    assert trial.service.driver.step()
    assert trial.last().state == OPEN  # not everybody, and there is time
    trial.late()
    assert trial.service.driver.step()
    question = next(q for q in trial.store.questions() if q.answer is not None)
    query = trial.query(question)
    terms = query.ensemble.error_terms(query.model, trial.cohort[:11])
    same = TwoServers(epsilon=2.5).total(terms, seeded(5).child("tally", 1))
    assert decode(question.answer, Verdict) == Verdict.of(same)


def test_a_coordinator_killed_while_servers_add_up_goes_on(trial, monkeypatch):
    trial.until_sum()
    trial.answer()

    class KilledError(Exception):
        pass

    def killed(*_):
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(
            CoordinatorSide, "open", killed
        )  # the helper has answered, nothing is written down
        with pytest.raises(KilledError):
            trial.service.driver.step()
    assert trial.last().state == ADDING
    assert trial.released() == 1
    trial.start(trial.helper)
    assert trial.service.driver.step()
    assert [q.state for q in trial.store.questions()].count(ADDING) == 0
    assert trial.released() == 1  # the same answer again, not another release
    assert trial.to_the_end().state == "ended"


def test_a_replay_uses_the_verdict_that_was_written_down(trial):
    trial.until_sum()
    number = trial.last().number
    trial.answer()
    assert trial.service.driver.step()
    before = [(q.number, q.data) for q in trial.store.questions()]
    away = Away()
    trial.start(httpx.Client(transport=away, base_url="http://localhost"))
    trial.answer()
    assert trial.service.driver.step()
    after = trial.store.questions()
    assert [(q.number, q.data) for q in after][: len(before)] == before
    assert len(after) > len(before)
    assert after[number - 1].answer is not None
    assert away.asked == 0


def test_a_helper_that_is_away_is_waited_for(trial, monkeypatch):
    monkeypatch.setattr(coordinator_sums, "_FIRST", 0.0)
    away = Away()
    trial.start(httpx.Client(transport=away, base_url="http://localhost"))
    trial.until_sum()
    trial.answer(range(15))
    trial.late()
    for tries in (1, 2, 3):
        assert trial.service.driver.step()
        assert trial.last().state == ADDING
        assert away.asked == tries
    assert trial.answer([15]) == []  # nobody is asked any more
    trial.start(trial.helper)
    assert trial.service.driver.step()
    assert [q.state for q in trial.store.questions()].count(ADDING) == 0


def test_a_campaign_can_be_ended_though_its_helper_is_away_for_good(trial, monkeypatch):
    monkeypatch.setattr(coordinator_sums, "_FIRST", 0.0)
    trial.start(httpx.Client(transport=Away(), base_url="http://localhost"))
    trial.until_sum()
    trial.answer(range(15))
    assert trial.store.finish()
    for _ in range(3):
        assert trial.service.driver.step()
        assert trial.last().state == ADDING  # it may come back
    monkeypatch.setattr(driver_module, "_LAST_WORDS", 0.0)
    trial.late()
    assert not all(trial.service.driver.step() for _ in range(50))  # it has nothing more to do
    assert trial.last().state == VOID
    assert trial.store.standing().state == ENDED
    assert trial.store.standing().model is not None


def test_a_helper_that_lies_about_proofs_is_caught(trial):
    """It says of the last owner what does not belong: that one is left out here, not there."""
    trial.until_sum()
    trial.answer()
    lying = Lying(trial.helper._transport, "/v1/block")
    trial.start(httpx.Client(transport=lying, base_url="http://localhost"))
    assert trial.service.driver.step()
    assert trial.store.questions()[1].state == VOID
    assert trial.released() == 0


def test_a_report_that_comes_while_servers_add_up_is_late(trial):
    trial.until_sum()
    question = question_for(trial.store, trial.keys[0])
    trial.store.close_question(trial.last().number, ADDING)
    (report,) = trial.gate.answers(question, [trial.names[0]])
    assert Intake(trial.store, KEY.public_key()).write([(trial.keys[0], report)]) == [Outcome.LATE]


def test_a_sum_that_too_few_answer_stays_open_and_keeps_their_halves(trial):
    trial.until_sum()
    trial.answer(range(9))
    trial.late()
    assert trial.service.driver.step()
    last = trial.last()
    assert (last.state, last.deadline > 0) == (OPEN, True)
    trial.answer([9])  # the tenth; the nine are not asked again, and pay once
    trial.late()
    assert trial.service.driver.step()
    question = next(q for q in trial.store.questions() if q.answer is not None)
    query = trial.query(question)
    terms = query.ensemble.error_terms(query.model, trial.cohort[:10])
    same = TwoServers(epsilon=2.5).total(terms, seeded(5).child("tally", 1))
    assert decode(question.answer, Verdict) == Verdict.of(same)
    paid = [entry.owner for entry in trial.ledger.entries() if entry.what == "error sum"]
    assert len(paid) == len(set(paid)) == 10


def test_too_few_owners_void_a_sum_and_in_the_end_the_campaign(trial):
    trial.until_sum()
    trial.answer(range(9))
    trial.changed("UPDATE questions SET deadline = 0, opened = -1000")  # after two deadlines
    assert trial.service.driver.step()
    first, again = (trial.query(question) for question in trial.store.questions()[-2:])
    assert [q.state for q in trial.store.questions()][-2:] == [VOID, OPEN]
    assert (first.attempt, again.attempt) == (1, 2)
    assert first.batch != again.batch  # what was sent for the first cannot be used for the second
    trial.changed("UPDATE questions SET deadline = 0, opened = -1000")
    trial.service.driver.step()
    standing = trial.store.standing()
    assert (standing.state, standing.ended) == (
        "ended",
        "no sum over owners came about after 0 rounds",
    )
    assert trial.released() == 0


def test_what_is_not_proven_is_not_counted(trial):
    """Halves that were changed on the way, at the owner or at the coordinator."""
    trial.until_sum()
    trial.answer()
    number = trial.last().number
    connection = sqlite3.connect(trial.folder / "c.db")
    for owner, at in ((3, 60), (7, -60)):
        wanted = "SELECT data FROM reports WHERE question = ? AND owner = ?"
        data = bytearray(connection.execute(wanted, (number, owner)).fetchone()[0])
        data[at] ^= 1
        change = "UPDATE reports SET data = ? WHERE question = ? AND owner = ?"
        connection.execute(change, (bytes(data), number, owner))
    connection.commit()
    connection.close()
    assert trial.service.driver.step()
    question = trial.store.questions()[number - 1]
    query = trial.query(question)
    rest = np.delete(np.arange(PEOPLE), [2, 6])
    terms = query.ensemble.error_terms(query.model, trial.cohort[rest])
    same = TwoServers(epsilon=2.5).total(terms, seeded(5).child("tally", 1))
    assert decode(question.answer, Verdict) == Verdict.of(same)


def test_the_first_verdict_counts(trial):
    trial.until_sum()
    number = trial.last().number
    for verdict in (Verdict(0.25, 0.1), Verdict(0.5, 0.1)):
        trial.store.close_question(number, CLOSED, encode(verdict))
    trial.store.close_question(number, ADDING)
    last = trial.last()
    assert (last.state, last.answer) == (CLOSED, encode(Verdict(0.25, 0.1)))


def test_owners_and_both_servers_over_http(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.service.device.member._pause", lambda response, coin: 0.3)
    folder = folder_of(
        tmp_path, owners=12, text=CAMPAIGN.replace(f"start = {PEOPLE}", "start = 12")
    )
    client = client_of(helper(folder, public_bytes(KEY.public_key()).hex()))
    service = coordinator(
        folder / "campaign.toml", f"sqlite:///{folder}/c.db", KEY, ADMIN, helper=client
    )
    service.store.add_tokens(TOKENS)

    async def work(link):
        lines = (await preview(joining(folder, **LIMITS), link, None)).lines
        answered = await join(joining(folder, **LIMITS), link, TOKENS)
        return lines, answered, (await link.call("GET", "/v1/status", None)).json()

    lines, answered, status = driven(service, work)
    assert status["state"] == "ended"
    assert answered == sum(question["counted"] for question in status["questions"])
    assert [question["invited"] for question in status["questions"]][:2] == [5, 12]
    terms, _ = BoostingSpec.read(folder / "campaign.toml").prepare(bytes(32))
    assert terms.sums is not None
    size = Batch(bytes(32), 1, 1, terms.sums).report_size
    assert any(
        f"{size} bytes sealed in two halves" in line and "epsilon 2.5" in line for line in lines
    )
    assert any("as your policy does" in line and public(HELPER_KEY).hex() in line for line in lines)
    assert np.isfinite([point["error"] for point in status["progress"]]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('error = "owners"', 'error = "mine"'), "error must be one of"),
        (
            ('error = "owners"', 'error = "public"'),
            "must be given with error = 'owners', and only then",
        ),
        (("error_epsilon = 2.5", ""), "error_epsilon must be given with error"),
        (
            ("error_epsilon = 2.5", "error_epsilon = -1"),
            "error_epsilon must be a finite number > 0",
        ),
        (("helper_key = ", "helper_key = 'ab' # "), "helper_key must be a helper's public key, 64"),
        (("helper_key = ", "helper_key = 'zz' # "), "helper_key must be a helper's public key, 64"),
        # of low order: no owner would seal anything to it
        (
            ("helper_key = ", f"helper_key = '{'00' * 32}' # "),
            "helper_key must be a helper's public",
        ),
        (
            ("error_minimum = 10", "error_minimum = 17"),
            "minimum of a sum must be at most start, 16, got 17",
        ),
    ],
)
def test_a_bad_campaign_file_says_what_is_wrong(tmp_path, change, message):
    folder = folder_of(tmp_path, owners=1, text=CAMPAIGN.replace(*change))
    with pytest.raises(ValueError, match=message):
        BoostingSpec.read(folder / "campaign.toml").prepare(bytes(32))


def test_the_helper_must_be_reached_safely(tmp_path):
    folder = folder_of(
        tmp_path, owners=1, text=CAMPAIGN.replace("https://helper.invalid", "http://helper.invalid")
    )
    with pytest.raises(ValueError, match="helper must begin with https://"):
        BoostingSpec.read(folder / "campaign.toml").helper_client()


class Kept(Trial):
    """A coordinator with fresh noise and a folder of keys."""

    def making(self):
        ring = KeyRing.of(CAMPAIGN_KEY, KEY.private_bytes_raw())
        return {"keys": CampaignKeys(ring, self.folder / "state")}

    def copy_database(self):
        with sqlite3.connect(self.folder / "c.db") as now, sqlite3.connect(self.copy) as copy:
            now.backup(copy)

    def put_back(self, helper, statement="SELECT 1"):
        """The coordinator, started anew from the copy, in which something was changed."""
        self.store.close()
        for file in self.folder.glob("c.db*"):
            file.unlink()
        self.copy.rename(self.folder / "c.db")
        self.changed(statement)
        self.start(helper)

    @property
    def copy(self):
        return self.folder / "copy.db"

    def verdict(self):
        """The first one that there is."""
        while not (told := [q.answer for q in self.store.questions() if q.answer is not None]):
            self.late()
            assert self.service.driver.step()
        return decode(told[0], Verdict)


FEWER = "DELETE FROM reports WHERE owner = 3 AND question = (SELECT MAX(question) FROM reports)"


@pytest.mark.parametrize("change", ["SELECT 1", FEWER], ids=["same owners", "fewer owners"])
def test_a_database_that_was_put_back_does_not_have_a_sum_opened_again(tmp_path, change):
    """It was, with fresh noise: a helper that does not follow the protocol had two sums of what
    owners had paid for once, of all or of fewer.
    """
    trial = Kept(tmp_path)
    trial.until_sum()
    trial.answer()
    trial.copy_database()
    told = trial.verdict()
    anew = tmp_path / "forgetful"
    anew.mkdir()
    forgetful = helper(anew, public_bytes(KEY.public_key()).hex())
    trial.put_back(client_of(forgetful), change)
    assert trial.verdict() == told
    assert trial.to_the_end().state == ENDED
    trial.store.close()


def test_what_was_told_of_a_sum_and_is_damaged_is_not_told_again(tmp_path):
    trial = Kept(tmp_path)
    trial.until_sum()
    trial.answer()
    trial.copy_database()
    trial.verdict()
    (kept,) = (tmp_path / "state" / "opened").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1])
    trial.put_back(trial.helper)
    with pytest.raises(WireError, match=f"{kept.name} is damaged: put the last copy of it back"):
        trial.verdict()
    trial.store.close()


class Odd(httpx.BaseTransport):
    """A helper that answers like this, whatever it is asked."""

    def __init__(self, status, content=b"", **headers):
        self._answer = {"status_code": status, "content": content, "headers": headers}

    def handle_request(self, request):
        return httpx.Response(**self._answer)


ODD = {
    "brackets inside brackets": Odd(200, b"[" * 200_000),
    "elsewhere, which is no address": Odd(307, location="http:h"),
}


@pytest.mark.parametrize("name", ODD)
def test_what_a_helper_says_of_its_keys_stops_nobody(trial, name):
    """The campaign stood still for as long as it said so: no question was put any more."""
    trial.start(httpx.Client(transport=ODD[name], base_url="http://localhost"))
    trial.until_sum()
    assert trial.answer() == [Outcome.COUNTED] * PEOPLE


class Renamed(httpx.BaseTransport):
    """A helper that says which key took the place of its own."""

    def __init__(self, honest, statement):
        self._honest, self._statement = honest, statement

    def handle_request(self, request):
        if request.url.path != "/v1/key":
            return self._honest.handle_request(request)
        said = {"key": "", "statements": [self._statement.hex()]}
        return httpx.Response(200, json=said)


def signed_by_nobody(said):
    """What passes for a signature by a point of order two, which has no secret: every second one
    does.
    """
    for number in range(1, 100):
        scalar = number.to_bytes(32, "little")
        signature = crypto_scalarmult_ed25519_base_noclamp(scalar) + scalar
        with suppress(InvalidSignature):
            verifier_of(bytes(32)).verify(signature, said)
            return signature
    raise AssertionError("none passes")


def helper_key_that_is_none(what):
    """The statement of a helper that a key to which nothing can be sealed took the place of its."""
    old, secret = HELPER_KEY.private_bytes_raw(), bytes(range(7, 39))
    new = sealing = bytes(32)
    if what == "another writing":
        (new, _) = HELPER.publish(secret)
        new = sealing = new[:31] + bytes([new[31] | 128])
    elif what == "beside another":
        _, sealing = HELPER.publish(secret)
    body = encode(Succession(public(HELPER_KEY), new, public(HELPER_KEY), sealing))
    said = preimage("succession", body)
    other = sign_by_sealing_key(secret, said) if any(new) else signed_by_nobody(said)
    return sign_by_sealing_key(old, said) + other + body


@pytest.mark.parametrize("what", ["low order", "another writing", "beside another"])
def test_a_key_that_is_none_takes_the_place_of_no_helpers(trial, what):
    """The campaign stood still for good: what was said of keys is kept, and it could not be ended,
    since the sum that was open could not be added up.
    """
    honest = trial.helper._transport
    renamed = Renamed(honest, helper_key_that_is_none(what))
    trial.start(httpx.Client(transport=renamed, base_url="http://localhost"))
    trial.until_sum()
    assert trial.query(trial.last()).terms.helper == public(HELPER_KEY)
    assert trial.answer() == [Outcome.COUNTED] * PEOPLE
    assert trial.to_the_end().state == ENDED


class Dripping(httpx.BaseTransport):
    """A helper that never ends an answer."""

    def __init__(self):
        self.asked, self.over = 0, threading.Event()

    def handle_request(self, request):
        self.asked += request.url.path != "/v1/key"
        self.over.wait(120)
        raise httpx.ConnectError("at last")


def test_a_campaign_can_be_ended_though_its_helper_answers_without_end(trial, monkeypatch):
    """Its driver read for as long as the helper sent a byte now and then."""
    monkeypatch.setattr(coordinator_sums, "_FIRST", 0.0)
    monkeypatch.setattr(coordinator_sums.Sums, "patience", 0.2, raising=False)
    trial.until_sum()
    trial.answer(range(15))
    slow = Dripping()
    trial.start(httpx.Client(transport=slow, base_url="http://localhost"))
    assert trial.store.finish()
    monkeypatch.setattr(driver_module, "_LAST_WORDS", 0.0)
    ending = threading.Thread(
        target=lambda: [trial.service.driver.step() for _ in range(20)], daemon=True
    )
    ending.start()
    ending.join(60)
    came_to_an_end = not ending.is_alive()
    slow.over.set()
    ending.join()
    assert came_to_an_end
    assert slow.asked == 1  # no second request beside the one that is not over
    assert trial.store.standing().state == ENDED
