"""The driver, on both databases: it asks, waits, voids and goes on from the database alone,
whoever takes over.
"""

import time

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import update

from tacit.algorithms.boosting import OwnSample
from tacit.engines.inline import Inline
from tacit.estimators.persistence import SavedModel
from tacit.learners.query import PURPOSE, Invitation
from tacit.mechanisms.streams import seeded
from tacit.owner.ledger import Ledger
from tacit.service.coordinator.intake import Intake
from tacit.service.coordinator.tables import (
    CLOSED,
    ENDED,
    ENROLLING,
    OPEN,
    RUNNING,
    VOID,
    campaign,
    questions,
)
from tacit.service.device.join import RehearsalGate, RehearsalPart
from tacit.service.kinds.boosting import BoostingSpec
from tacit.wire import decode, encode
from tacit.wire.envelopes import open_signed
from tests.service.coordinator.made import (
    CAMPAIGN,
    enrol,
    folder_of,
    joining,
    question_for,
    running,
)

PEOPLE, EACH, SEED = 24, 5, 7
TEXT = CAMPAIGN.replace("start = 45", f"start = {PEOPLE}").replace(
    "per_round = 10", f"per_round = {EACH}"
)
KEY = Ed25519PrivateKey.generate()
NAMES = [f"{i:064x}" for i in range(PEOPLE)]


class Trial:
    """A coordinator with its owners, in one thread: whoever is to move is moved by hand."""

    def __init__(self, tmp_path, database):
        self.folder, self.database = folder_of(tmp_path, owners=PEOPLE, text=TEXT), database
        self.services = [self.started()]
        self.store = self.services[0].store
        self.store.add_tokens(NAMES)
        self.terms, self.public = BoostingSpec.read(self.folder / "campaign.toml").prepare(
            bytes(32)
        )
        owners, self.cohort = joining(self.folder).rows(self.terms)
        self.owners = dict(zip(NAMES, owners, strict=True))
        ledger = Ledger(self.folder / "ledger.db", self.folder / "ledger.mark")
        policy, part = joining(self.folder).policy, RehearsalPart(SEED)
        self.gate = RehearsalGate(
            self.cohort, owners, self.terms.schema, policy, ledger, key=KEY.public_key(), part=part
        )

    def started(self):
        """One more worker on the same database."""
        return running(self.folder, self.database, KEY, SEED)

    @property
    def driver(self):
        return self.services[-1].driver

    def enrol(self, count=PEOPLE):
        for name in NAMES[:count]:
            assert enrol(self.store, name, name, self.owners[name])

    def enrol_more(self, upto):
        for name in NAMES[1:upto]:
            assert enrol(self.store, name, name, self.owners[name])

    def answer(self, most=PEOPLE):
        """Owners that are asked answer, so many at most."""
        asked = [
            (name, data) for name in NAMES if (data := question_for(self.store, name)) is not None
        ][:most]
        sent = [(name, self.gate.answer(data, self.owners[name])) for name, data in asked]
        return Intake(self.store, KEY.public_key()).write(sent) if sent else []

    def changed(self, statement):
        with self.store.transaction() as connection:
            connection.execute(statement)

    def late(self):
        """The deadline of every question passes."""
        self.changed(update(questions).values(deadline=0.0))

    def states(self):
        return [question.state for question in self.store.questions()]

    def query(self, number):
        return open_signed(
            self.store.questions()[number - 1].data, Invitation, PURPOSE, KEY.public_key()
        ).query

    def begun(self):
        """Everybody has enrolled and the first question is out."""
        self.enrol()
        assert self.driver.step()
        assert self.driver.step()
        assert self.states() == [OPEN]

    def in_process(self):
        engine = Inline(self.cohort, np.full(PEOPLE, 8.0), seeded(SEED))
        return engine.run(self.terms.algorithm(OwnSample(self.public))).ensemble


@pytest.fixture
def trial(tmp_path, database):
    made = Trial(tmp_path, database)
    yield made
    for service in made.services:
        service.store.close()


def test_it_begins_when_enough_have_enrolled(trial):
    trial.enrol(PEOPLE - 1)
    assert trial.driver.step()
    assert trial.driver.step()
    assert (trial.store.standing().state, trial.states()) == (ENROLLING, [])
    trial.begun()
    assert trial.store.counts(1) == (EACH, 0)


def test_started_anew_before_every_step_it_finds_the_model_of_one_process(trial):
    trial.enrol()
    while trial.store.standing().state != ENDED:
        trial.changed(update(campaign).values(lease_until=0.0))  # the one before was killed
        for killed in trial.services[1:]:
            killed.store.close()
        trial.services[1:] = [trial.started()]
        trial.driver.step()
        trial.answer(2)
    assert encode(decode(trial.store.standing().model, SavedModel).model) == encode(
        trial.in_process()
    )
    assert not trial.driver.step()


def test_too_few_reports_void_a_question_and_others_are_asked_the_same(trial):
    trial.begun()
    before = set(trial.store.owners_waiting())
    trial.answer(3)  # the minimum is 4
    assert trial.driver.step()
    assert trial.states() == [OPEN]  # there is time
    trial.late()
    assert trial.driver.step()
    assert trial.states() == [VOID, OPEN]
    assert encode(trial.query(1)) == encode(trial.query(2))
    assert trial.store.counts(2) == (EACH, 0)
    assert (
        len(before - set(trial.store.owners_waiting())) == EACH
    )  # others: asked means spent, also without an answer


def test_enough_reports_at_the_deadline_will_do(trial):
    trial.begun()
    trial.answer(4)
    trial.late()
    assert trial.driver.step()
    assert trial.states()[0] == CLOSED
    assert trial.query(2).round == 2


def test_a_pause_puts_no_question_and_loses_no_report(trial):
    trial.begun()
    assert trial.store.pause()
    assert len(trial.answer()) == EACH
    assert trial.driver.step()
    assert trial.states() == [OPEN]
    assert trial.store.go_on()
    assert trial.driver.step()
    assert trial.states() == [CLOSED, OPEN]


def test_begun_before_anybody_has_enrolled_it_waits_for_as_many_as_a_question_needs(trial):
    assert trial.store.pause()
    assert trial.driver.step()
    assert trial.store.go_on()
    assert trial.store.standing().state == ENROLLING  # a pause is no beginning
    assert trial.store.begin()
    for _ in range(2):
        assert trial.driver.step()
    trial.enrol(EACH)
    assert trial.store.revoke(NAMES[0])
    assert trial.driver.step()
    assert (trial.store.standing().state, trial.states()) == (RUNNING, [])  # one of them is gone
    trial.enrol_more(EACH + 1)
    assert trial.driver.step()
    assert trial.states() == [OPEN]
    assert trial.store.counts(1) == (EACH, 0)


def test_those_who_were_revoked_do_not_count_for_the_start(trial):
    trial.enrol()
    assert trial.store.revoke(NAMES[0])
    assert trial.driver.step()
    assert trial.store.standing().state == ENROLLING


@pytest.mark.parametrize("hours", [-30, 30])
def test_a_clock_that_jumps_ends_no_question_and_keeps_none_open(trial, monkeypatch, hours):
    real, began = time.time, time.monotonic()
    trial.begun()
    trial.answer(2)
    monkeypatch.setattr("time.time", lambda: real() + 3600.0 * hours)
    assert trial.driver.step()
    assert trial.states() == [OPEN]
    assert {name.name for name in trial.answer(2)} == {
        "COUNTED"
    }  # owners do not take it for expired
    monkeypatch.setattr("time.monotonic", lambda: began + 299.0)
    assert trial.driver.step()
    assert trial.states() == [OPEN]
    monkeypatch.setattr("time.monotonic", lambda: began + 400.0)
    assert trial.driver.step()
    assert trial.states() == [CLOSED, OPEN]


def test_hours_in_which_nobody_served_are_not_taken_from_a_question(trial, monkeypatch):
    trial.begun()
    real = time.time
    monkeypatch.setattr("time.time", lambda: real() + 3600.0)  # killed, and started an hour later
    trial.services.append(trial.started())
    assert trial.driver.step()
    assert trial.states() == [OPEN]
    assert len(trial.answer()) == EACH
    assert trial.driver.step()
    assert trial.states() == [CLOSED, OPEN]


def test_of_two_workers_the_one_with_the_lease_drives_until_it_is_silent(trial):
    trial.begun()
    trial.answer()
    trial.services.append(trial.started())
    assert trial.driver.step()
    assert trial.states() == [OPEN]  # the second has nothing to say
    trial.changed(update(campaign).values(lease_until=time.time() - 1))
    assert trial.driver.step()
    assert trial.states() == [CLOSED, OPEN]
    trial.answer()
    assert trial.services[0].driver.step()
    assert trial.states() == [CLOSED, OPEN]


def test_when_owners_have_run_out_it_ends_with_what_there_is(trial):
    trial.begun()
    while trial.driver.step():  # nobody answers
        trial.late()
    standing = trial.store.standing()
    assert (standing.state, standing.ended) == (ENDED, "owners ran out after 0 of 2 rounds")
    assert trial.states() == [VOID] * (PEOPLE // EACH)
    assert len(trial.store.owners_waiting()) == PEOPLE % EACH
