"""Newcomers, many at a time and through several workers: a token admits one owner, repeating
does no harm.
"""

import numpy as np
import pytest

from tacit.service.coordinator.owner_api import Admission, Enrolment, Newcomer
from tacit.service.coordinator.store import Store
from tacit.service.protocol.handshake import plain_name
from tests.service.coordinator.made import at_once, enrol

TOKENS = [f"token number {i:04d}" for i in range(200)]
YES, NO, MALFORMED = Admission.YES, Admission.NO, Admission.MALFORMED


@pytest.fixture
def store(store):
    store.add_tokens(TOKENS)
    return store


@pytest.fixture
def workers(store, database):
    made = [Store(database) for _ in range(4)]
    yield made
    for each in made:
        each.close()


def name(number):
    return f"{number:064x}"


def owners(store):
    return sorted(store.labels().values())


def test_two_may_not_go_by_one_name(store, workers):
    assert enrol(store, name(1), TOKENS[0], "north")
    assert not enrol(store, name(2), TOKENS[1], "north")
    assert enrol(store, name(2), TOKENS[1], "south")  # its token was not used up
    assert enrol(store, name(1), TOKENS[0], "north")
    assert all(enrol(store, name(3 + i), TOKENS[2 + i]) for i in range(2))  # most have no name
    said = at_once(lambda i: enrol(workers[i], name(10 + i), TOKENS[10 + i], "east"))
    assert sorted(said) == [False, False, False, True]
    assert store.revoke(name(1))
    assert enrol(store, name(20), TOKENS[20], "north")  # whose name it was has left


def test_a_token_enrols_one_owner_and_the_same_request_again_changes_nothing(store):
    assert enrol(store, "a" * 64, TOKENS[0], "a")
    assert enrol(store, "a" * 64, TOKENS[0], "a")
    assert not enrol(store, "b" * 64, TOKENS[0], "b")
    assert not enrol(store, "b" * 64, "unknown token 000", "b")
    assert not enrol(store, "a" * 64, TOKENS[1], "a")
    assert store.owner_counts()["enrolled"] == 1


def test_one_enrolment_sent_several_times_at_once_succeeds_each_time(store):
    assert at_once(lambda i: enrol(store, "a" * 64, TOKENS[0], "a")) == [True] * 4
    assert store.labels() == {store.owners_waiting()[0]: "a"}


def test_a_token_used_by_several_at_once_enrols_one(store):
    assert sorted(at_once(lambda i: enrol(store, f"{i:064x}", TOKENS[0], "x")), key=str) == [
        False
    ] * 3 + [True]


def test_in_one_batch_everybody_gets_what_it_would_get_alone(store):
    assert enrol(store, name(1), TOKENS[1], "one")
    store.revoke(name(1))
    assert enrol(store, name(2), TOKENS[2], "two")
    batch = [
        (name(3), f"{TOKENS[3]}\nthree\n0,2"),
        (name(3), f"{TOKENS[3]}\nthree"),  # again
        (name(4), f"{TOKENS[3]}\nfour"),  # another's token
        (name(3), f"{TOKENS[4]}\nthree"),  # a second token
        (name(5), f"{TOKENS[4]}\nfive"),  # which is still good for somebody else
        (name(1), f"{TOKENS[1]}\none"),  # revoked
        (name(2), f"{TOKENS[2]}\ntwo"),
        (name(6), "no such token\nsix"),
        (name(8), TOKENS[6]),  # an owner sends nothing but a token
        (name(7), ""),
        (name(7), f"{TOKENS[7]}\nse\x07ven"),
        (name(7), f"{TOKENS[7]}\nseven\n1,x"),
    ]
    expected = [YES, YES, NO, NO, YES, NO, YES, NO, YES, *[MALFORMED] * 3]
    assert Enrolment(store).enrol([(owner, text.encode()) for owner, text in batch]) == expected
    assert owners(store) == ["", "five", "one", "three", "two"]
    assert store.owner_counts() == {"enrolled": 5, "waiting": 4, "revoked": 1}
    assert enrol(store, name(7), TOKENS[7], "seven, at last"), (
        "what was malformed must not have used the token"
    )


def test_bytes_that_are_no_text_are_malformed(store):
    assert Enrolment(store).enrol([(name(1), b"\xff\xfe\nlabel"), (name(1), b"")]) == [
        MALFORMED,
        MALFORMED,
    ]
    assert Enrolment(store).enrol([]) == []


def test_the_same_newcomers_through_several_workers_at_once_are_enrolled_once(store, workers):
    batch = [Newcomer(name(i), TOKENS[i], f"owner {i:03d}") for i in range(200)]
    orders = [np.random.default_rng(seed).permutation(200) for seed in range(4)]
    said = at_once(lambda i: Enrolment(workers[i]).admit([batch[at] for at in orders[i]]))
    assert said == [[YES] * 200] * 4
    assert owners(store) == [f"owner {i:03d}" for i in range(200)]


def test_an_owner_with_several_tokens_at_several_workers_at_once_uses_one(store, workers):
    def work(i):
        return Enrolment(workers[i]).admit(
            [Newcomer(name(at), TOKENS[50 * i + at]) for at in range(50)]
        )

    said = at_once(work)
    for at in range(50):
        assert sorted(each[at].value for each in said) == ["no", "no", "no", "yes"]
    assert store.owner_counts()["enrolled"] == 50
    left = sum(enrol(store, name(1000 + at), token) for at, token in enumerate(TOKENS))
    assert left == 150, "a token that enrolled nobody must stay good"


@pytest.mark.parametrize(
    "label",
    ["north ", " north", "no  rth", "north\ufe0f", "north\u3164", "nor\u034fth", "\uff4eorth"],
)
def test_who_looks_like_another_does_not_enrol(store, label):
    """On the page it would have been the other."""
    sent = f"{TOKENS[0]}\n{label}".encode()
    assert Enrolment(store).enrol([(name(1), sent)]) == [Admission.MALFORMED]
    assert Newcomer.read(name(1), f"{TOKENS[0]}\n{plain_name(label)}".encode()) is not None
