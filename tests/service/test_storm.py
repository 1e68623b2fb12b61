"""Everything that may happen at once, at once: owners enrol by tokens that others have too, report
twice through two workers, leave, go by other keys and are revoked and forgotten, administrators
come and go, the campaign's key is replaced and workers with the old one go on, while questions are
put and closed; then the campaign is archived under all of them.

When it is over, books are made up: nothing was spent or counted twice, nothing that was accepted
is missing, of who left or was forgotten nothing is there that should not be, the log has a line for
everything, and no request was answered as if something of ours had broken.
"""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count

import httpx
from benchmarks.doorstep import report_to
from benchmarks.loopback import serve
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import func, select

from tacit.learners.query import PURPOSE, Invitation
from tacit.service.coordinator import driver
from tacit.service.coordinator.answers import TranscriptReplay
from tacit.service.coordinator.keys import (
    CampaignKeys,
    add_administrator,
    dismiss_administrator,
)
from tacit.service.coordinator.records import Records
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import (
    CLOSED,
    ENDED,
    OF_OWNERS,
    invitations,
    outcomes,
    owners,
    reports,
    tokens,
)
from tacit.service.protocol.guard import Limits
from tacit.service.protocol.handshake import Request, request_headers
from tacit.service.protocol.succession import CAMPAIGN as OF_CAMPAIGN
from tacit.service.protocol.succession import KeyRing, agree
from tacit.wire import WireError, encode
from tacit.wire.envelopes import open_signed, public_bytes
from tests.service.coordinator.made import ADMIN, CAMPAIGN, at_once, folder_of, running

TEXT = (
    CAMPAIGN.replace("epsilon = [4.0, 8.0]", "epsilon = 4.0")
    .replace("rounds = 2", "rounds = 4")
    .replace("start = 45", "start = 20")
    .replace("owners_per_round = 10", "owners_per_round = 5")
    .replace("deadline = 300", "deadline = 2")
)
PEOPLE = 72
FATES = "stays", "leaves", "is another", "leaves and is another", "is revoked", "is forgotten"
WHILE = 40.0  # seconds in which a person is asked, or not
NO_LIMITS = Limits(burst=1e9, looks=1e9, asks=1e9)
BUSY = 503
GOOD = {200, 204, 400, 401, 403, 409, 410}  # whatever else: something broke, or was lost


class Person:
    """An owner that has the same token as its neighbour, and what it was told."""

    def __init__(self, number, clients, keys, store):
        self.number, self.fate = number, FATES[number // 2 % len(FATES)]
        self.token = f"a token for two {number // 2:04d}"
        self.keys = [Ed25519PrivateKey.generate()]
        self.campaign, self.is_enrolled, self.report = keys, False, None
        self.statuses, self.outcomes = Counter[tuple[str, int]](), list[str]()
        self._clients, self._store = clients, store

    @property
    def name(self):
        return name_of(self.keys[-1])

    def call(self, method, path, body=b"", at=0, key=None):
        asked = Request(self.campaign.first, method, path, int(time.time()), body)
        headers = request_headers(asked, key or self.keys[-1])
        said = self._clients[at].request(method, path, headers=headers, content=body or None)
        self.statuses[path, said.status_code] += 1
        return said

    def live(self):
        """Come, be asked; then what is its fate."""
        enrol = lambda at: self.call("POST", "/v1/enrol", self.token.encode(), at)  # noqa: E731
        told = {answer.status_code for answer in at_once(enrol, times=2)}
        assert len(told) == 1  # both workers say the same
        self.is_enrolled = told == {200}
        if not self.is_enrolled:
            return
        until = time.monotonic() + (0 if self.number % 24 >= 20 else WHILE)  # some do not wait
        for turn in count():
            asked = self.call("GET", "/v1/question", at=turn % 2)
            if asked.status_code == 200:
                self.report = report_to(self._open(asked.content))
            if asked.status_code != 204 or time.monotonic() > until:
                break
            time.sleep(0.02)
        self._meet_fate()

    def _open(self, question):
        """A question, signed with the campaign's key of then or of now."""
        for signer in (self.campaign.key, *self.campaign.others):
            try:
                return open_signed(question, Invitation, PURPOSE, signer.public_key())
            except WireError:
                continue
        raise AssertionError("nobody's question")

    def say(self, at=0):
        if self.report is None:
            return
        said = self.call("POST", "/v1/report", self.report, at)
        if said.status_code == BUSY:  # a worker whose key was replaced reads no new question
            said = self.call("POST", "/v1/report", self.report, -1)
        self.outcomes += said.json().values()

    def leave(self, at=0):
        self.call("POST", "/v1/leave", b"leave", at)

    def renew(self, at=0):
        old, new = self.keys[-1], Ed25519PrivateKey.generate()
        body = agree(self.campaign.first, public_bytes(old.public_key()), new)
        if self.call("POST", "/v1/rekey", body, at, old).status_code == 200:
            self.keys.append(new)

    def revoke(self, at=0):
        key = {"x-tacit-admin": ADMIN}
        said = self._clients[at].post("/v1/admin/revoke", content=self.name, headers=key)
        self.statuses["/v1/admin/revoke", said.status_code] += 1

    def forget(self, at=0):
        Records(self._store).forget(self.name)

    def _meet_fate(self):
        acts = {
            "stays": [self.say, self.say],
            "leaves": [self.say, self.leave, self.leave, self.say],
            "is another": [self.say, self.renew, self.say],
            "leaves and is another": [self.leave, self.say, self.renew],
            "is revoked": [self.say, self.revoke, self.say],
            "is forgotten": [self.say, self.forget, self.say],
        }[self.fate]
        failed = at_once(lambda place: acts[place](place % 2), times=len(acts))
        assert failed == [None] * len(acts)
        if self.fate == "is another":  # whichever key it has now
            self.say()


class Staff:
    """Administrators who come and go, and make tokens, until they are stopped."""

    def __init__(self, client, file):
        self._client, self._file, self.done = client, file, threading.Event()
        self.statuses, self.made = Counter[tuple[str, int]](), list[str]()

    def ask(self, method, path, key, body=""):
        headers = {"x-tacit-admin": key}
        said = self._client.request(method, path, headers=headers, content=body or None)
        self.statuses[path, said.status_code] += 1
        return said

    def work(self, number):
        for turn in count():
            if self.done.is_set():
                return
            key = add_administrator(self._file, f"ada{number}", ["look", "admit"])
            new = [f"a-token-for-nobody-{number}-{turn:05d}-{at}" for at in range(3)]
            if self.ask("POST", "/v1/admin/tokens", key, "\n".join(new)).status_code == 200:
                self.made.extend(new)
            self.ask("GET", "/v1/admin/owners", key)
            self.ask("GET", "/v1/admin/tokens", key)
            self.ask("POST", "/v1/admin/state", key, "paused")  # which it may not
            dismiss_administrator(self._file, f"ada{number}")
            assert self.ask("GET", "/v1/admin/acts", key).status_code == 401


class Keys:
    """The campaign's keys: those that signed, and the first."""

    def __init__(self, folder):
        self._folder, kept = folder, CampaignKeys.at(folder)
        self.first, self.key, self.others = kept.first, kept.key, []

    def replace(self):
        """The campaign's keys from now on."""
        KeyRing.rotate(self._folder, OF_CAMPAIGN)
        kept = CampaignKeys.at(self._folder)
        self.others.append(kept.key)
        return kept


def name_of(key):
    return public_bytes(key.public_key()).hex()


def counted(store, table, *where):
    with store.snapshot() as connection:
        mine = select(func.count()).select_from(table).where(store.mine(table), *where)
        return connection.execute(mine).scalar_one()


def wait_for(done):
    until = time.monotonic() + 90
    while not done():
        assert time.monotonic() < until
        time.sleep(0.05)


def model_again(campaign, store):
    """What the database tells an algorithm that begins anew, with questions signed anew, too."""
    replay, asked = TranscriptReplay(store, campaign, None), store.questions()
    try:
        replay.catch_up(asked)
        replay.give_up()
    except StopIteration as end:
        answered = [question.digest for question in asked if question.state == CLOSED]
        return encode(campaign.terms.publish(end.value, campaign.public, answered, 0))
    raise AssertionError("the algorithm goes on")


def test_all_at_once(tmp_path, database, monkeypatch, caplog):
    monkeypatch.setattr(driver, "_LEASE", 3.0)  # for which a worker with the old key is waited for
    folder, file, keys = folder_of(tmp_path, text=TEXT), tmp_path / "staff", Keys(tmp_path / "keys")
    kept, made = (
        CampaignKeys.at(tmp_path / "keys"),
        {"limits": NO_LIMITS, "administrators": (file,)},
    )
    old = [running(folder, database, kept.key, keys=kept, **made) for _ in range(2)]
    other = Store(database)
    other.add_tokens([f"a token for two {number:04d}" for number in range(PEOPLE // 2)])
    with ExitStack() as stack:
        urls = [stack.enter_context(serve(each.app)) for each in old]
        limits = httpx.Limits(max_connections=None)
        clients = [
            stack.enter_context(httpx.Client(base_url=url, timeout=60.0, limits=limits))
            for url in urls
        ]
        everybody = [Person(at, clients, keys, other) for at in range(PEOPLE)]
        staff = Staff(clients[0], file)
        with ThreadPoolExecutor(PEOPLE + 2) as pool:
            hired = [pool.submit(staff.work, number) for number in range(2)]
            living = [pool.submit(person.live) for person in everybody]
            try:
                wait_for(lambda: len(other.questions()) > 1)
                renewed = keys.replace()
                new = running(folder, database, renewed.key, keys=renewed, **made)
                url = stack.enter_context(serve(new.app))
                clients.append(stack.enter_context(httpx.Client(base_url=url, timeout=60.0)))
                for each in living:
                    each.result(timeout=120)
            finally:
                staff.done.set()
            for each in hired:
                each.result(timeout=60)
        staff.ask("POST", "/v1/admin/state", ADMIN, "ended")
        wait_for(lambda: other.standing().state == ENDED)
        check_answers(everybody, staff)
        check_books(everybody, staff, other)
        check_log(everybody, staff, other)
        assert other.standing().key == public_bytes(renewed.key.public_key())
        assert "was replaced: this worker puts nothing any more" in caplog.text
        assert model_again(new.driver._campaign, other) == other.standing().model
        archive_under(everybody, staff, other)
    other.close()


def every_answer(everybody, staff):
    return sum((person.statuses for person in everybody), staff.statuses)


def is_good(every):
    """Whether nothing broke: who is told to come again did, to another worker."""
    return {status for _, status in every.keys() - {("/v1/report", BUSY)}} <= GOOD


def check_answers(everybody, staff):
    every = every_answer(everybody, staff)
    assert is_good(every), every
    for path in ("/v1/report", "/v1/leave", "/v1/rekey", "/v1/admin/revoke"):
        assert every[path, 200], path  # the races were there


def check_books(everybody, staff, store):
    here = [person for person in everybody if person.is_enrolled]
    assert len(here) == PEOPLE // 2 == len({person.token for person in here})
    assert counted(store, owners) == len(here)
    known = {each["owner"]: each for each in Records(store).owners()}
    with store.snapshot() as connection:
        asked = connection.execute(select(invitations.c.owner)).scalars().all()
        kept = {row.owner: row.data for row in connection.execute(select(reports))}
        spent = {row.id for row in connection.execute(select(owners)) if row.asked is not None}
    assert len(asked) == len(set(asked))  # nobody twice
    assert spent == set(asked)
    for person in here:
        assert Counter(person.outcomes)["counted"] <= 1
        mine = [known[name_of(key)] for key in person.keys if name_of(key) in known]
        assert len(mine) == (person.fate != "is forgotten")
        if person.fate in ("stays", "is another"):
            was_counted = "counted" in person.outcomes
            assert kept.get(mine[0]["number"]) == (person.report if was_counted else None)
        elif person.fate in ("leaves", "is revoked"):
            assert mine[0]["state"] == "revoked"
    # a token that let somebody in is used, or was forgotten with its owner
    gone = sum(person.fate == "is forgotten" for person in here)
    assert counted(store, tokens, tokens.c.used.is_(True)) == len(here) - gone
    assert counted(store, tokens, tokens.c.used.is_(False)) == len(staff.made)


def check_log(everybody, staff, store):
    acts, here = Records(store).acts(), [person for person in everybody if person.is_enrolled]
    assert sum(int(act.about.split()[0]) for act in acts if act.what == "enrol") == len(here)
    lines = Counter((act.what, act.about) for act in acts)
    for person in here:
        names = [name_of(key) for key in person.keys]
        left = sum(lines["leave", name] for name in names)
        assert left == (person.statuses["/v1/leave", 200] > 0)  # once, however often it was said
        if person.fate == "is forgotten":
            assert not {act.about for act in acts} & set(names)
    replaced = sum(len(person.keys) - 1 for person in here)
    assert sum(act.what == "rekey" for act in acts) == replaced + 1  # and the campaign's
    # of guesses of a key few are written down, of all else everything
    known = [act for act in acts if act.source and act.who != "unknown"]
    every = every_answer(everybody, staff).items()
    asked = [n for (path, status), n in every if "/admin/" in path and status != 401]
    assert len(known) == sum(asked)


def archive_under(everybody, staff, store):
    """Archive the campaign while all go on: nothing about anybody is left."""
    here = [person for person in everybody if person.is_enrolled]
    acts = [
        lambda person: person.say(),
        lambda person: person.leave(),
        lambda person: person.renew(),
        lambda person: person.forget(),
        lambda person: person.call("POST", "/v1/enrol", staff.made[0].encode()),
        lambda person: person.call("GET", "/v1/question"),
        lambda person: staff.ask("GET", "/v1/admin/owners", ADMIN),
        lambda person: staff.ask("POST", "/v1/admin/tokens", ADMIN, "a-token-that-is-too-late"),
    ]

    def go_on(place):
        if place == 0:
            time.sleep(0.05)
            return Records(store).archive()
        return acts[place % len(acts)](here[place])

    said = at_once(go_on, times=len(here))
    assert said[0] is True
    assert [each for each in said if isinstance(each, Exception)] == []
    # what came after was counted, as strangers' words are
    assert [each.name for each in OF_OWNERS if counted(store, each)] in ([], [outcomes.name])
    every = every_answer(everybody, staff)
    assert is_good(every), every
