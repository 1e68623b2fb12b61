"""Owners that ask, many at a time: each gets its own question, when to come again, or a refusal."""

import time

import pytest

from tacit.service.coordinator.intake import write_reports
from tacit.service.coordinator.owner_api import QuestionLookup
from tacit.service.coordinator.tables import CLOSED, OPEN, Question
from tests.service.coordinator.made import enrol

NAMES = [f"{i:064x}" for i in range(6)]
STRANGER = "f" * 64


@pytest.fixture
def store(store):
    store.add_tokens(NAMES)
    for name in NAMES:
        assert enrol(store, name, name)
    return store


def ask(store, number, places):
    question = Question(
        number, bytes([number]) * 32, b"question %d" % number, OPEN, 0.0, 60.0, None
    )
    store.ask(question, places, spend=False)


def told(asking, *names):
    """Statuses, and bodies where there is one."""
    answers = asking.answers([(name, b"") for name in names])
    return [answer.rest["body"] or answer.start["status"] for answer in answers]


def test_each_gets_its_own_in_the_order_of_the_batch(store):
    asking, places = QuestionLookup(store), store.owners_present()
    forbidden = b'{"error":"forbidden"}'
    assert told(asking, STRANGER, *NAMES[:2], STRANGER) == [forbidden, 204, 204, forbidden]
    ask(store, 1, places[:3])
    assert told(asking, NAMES[5], NAMES[0], STRANGER, NAMES[2], NAMES[0]) == [
        204,
        b"question 1",
        forbidden,
        b"question 1",
        b"question 1",
    ]
    store.revoke(NAMES[2])
    with store.transaction() as connection:
        write_reports(connection, store.id, 1, {places[0]: b"said"}, time.time())
    assert told(asking, *NAMES[:4]) == [204, b"question 1", forbidden, 204]
    store.close_question(1, CLOSED)
    assert told(asking, *NAMES[:2]) == [204, 204]


def test_of_several_open_questions_the_first_that_is_not_answered(store):
    asking, places = QuestionLookup(store), store.owners_present()
    ask(store, 1, places[:2])
    assert told(asking, NAMES[0]) == [b"question 1"]
    ask(store, 2, places[1:3])
    assert told(asking, *NAMES[:4]) == [b"question 1", b"question 1", b"question 2", 204]
    with store.transaction() as connection:
        write_reports(connection, store.id, 1, {places[1]: b"said"}, time.time())
    assert told(asking, *NAMES[:4]) == [b"question 1", b"question 2", b"question 2", 204]
    store.close_question(1, CLOSED)
    assert told(asking, *NAMES[:4]) == [204, b"question 2", b"question 2", 204]


def test_the_end_is_told_to_members_only(store):
    asking = QuestionLookup(store)
    store.end("rounds", b"model")
    assert told(asking, NAMES[0], STRANGER) == [410, b'{"error":"forbidden"}']


def test_whoever_has_to_wait_is_told_how_long(store):
    (answer,) = QuestionLookup(store).answers([(NAMES[0], b"")])
    assert (b"retry-after", b"2") in answer.start["headers"]
    assert b"content-length" not in dict(answer.start["headers"])  # of nothing: RFC 9110, 8.6
