"""Reports coming in, on both databases and through several workers: each owner counts once,
everything is counted.
"""

import threading
import time
from collections import Counter

import numpy as np
import pytest
from benchmarks.templates import campaigns
from sqlalchemy import event

from tacit import seeded
from tacit.learners.query import PURPOSE, pack, report_size, unpack
from tacit.service.coordinator.intake import Intake, Outcome
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import CLOSED, OPEN, Question
from tacit.wire.envelopes import sign
from tests.owner.made import KEY, invitation, rows
from tests.service.coordinator.made import enrol

OWNERS = 30
NAMES = [f"{i:064x}" for i in range(OWNERS)]


@pytest.fixture
def service(store):
    store.add_tokens(NAMES)
    for name in NAMES:
        enrol(store, name, name, "")
    asked = invitation()
    now = time.time()
    question = Question(1, asked.digest, sign(asked, PURPOSE, KEY), OPEN, now, now + 60, None)
    store.ask(
        question, store.owners_waiting()[: OWNERS - 2], spend=True
    )  # the last two are not invited
    return store, Intake(store, KEY.public_key()), asked


def reports(asked, seed=1):
    epsilon = np.full(OWNERS, asked.query.epsilons[0])
    made = asked.query.release(rows(OWNERS), epsilon, seeded(seed))
    return [pack(asked.digest, 0, made[i : i + 1]) for i in range(OWNERS)]


@pytest.mark.parametrize("terms", campaigns(), ids=lambda terms: type(terms).__name__)
def test_what_is_no_report_to_any_kind_of_question_is_told_to_be_none(terms):
    """Where nothing else came with it, what was no report to a question about leaves was a failure
    of ours.
    """
    for form in terms.template().forms:
        for data in ([], [b""], [b"no report", bytes(report_size(form.example))]):
            good, levels, taken = unpack(data, b"d" * 32, form.example)
            assert not good.any()
            assert (len(good), len(levels), len(taken)) == (len(data), 0, 0)


def test_everything_that_can_come_has_its_outcome(service):
    store, intake, asked = service
    data = reports(asked)
    other = reports(invitation(2))
    store.revoke(NAMES[5])
    batch = [
        (NAMES[0], data[0]),
        (NAMES[0], data[0]),
        (NAMES[0], data[1]),
        (NAMES[1], data[1][:-1]),
        (NAMES[1], other[1]),
        (NAMES[1], b""),
        (NAMES[OWNERS - 1], data[OWNERS - 1]),
        ("f" * 64, data[2]),
        (NAMES[5], data[5]),
        (NAMES[1], data[1]),
    ]
    o = Outcome
    expected = [
        *(o.COUNTED, o.REPEATED, o.CONTRADICTED),
        *(o.MALFORMED, o.MALFORMED, o.MALFORMED),
        *(o.STRANGE, o.STRANGE, o.STRANGE),
        o.COUNTED,
    ]
    assert intake.write(batch) == expected
    assert intake.write(batch[:3]) == [o.REPEATED, o.REPEATED, o.CONTRADICTED]
    store.close_question(1, CLOSED)
    assert intake.write([(NAMES[2], data[2]), (NAMES[0], data[0])]) == [o.LATE, o.REPEATED]
    assert store.counts(1) == (OWNERS - 2, 2)
    assert store.reports_of(1) == [
        (place, data[i]) for i, place in enumerate(sorted(store.labels())[:2])
    ]
    told = store.outcomes()
    assert told[1] == {
        "counted": 2,
        "repeated": 4,
        "contradicted": 2,
        "malformed": 1,
        "strange": 3,
        "late": 1,
    }
    assert told[0] == {"malformed": 2}


def test_who_declines_is_not_waited_for(service):
    store, intake, asked = service
    data = reports(asked)
    store.revoke(NAMES[5])
    assert intake.write([(NAMES[0], data[0])]) == [Outcome.COUNTED]
    said = [
        (NAMES[1], asked.digest),
        (NAMES[1], asked.digest),
        (NAMES[0], asked.digest),  # has reported
        (NAMES[OWNERS - 1], asked.digest),  # was not asked
        (NAMES[5], asked.digest),
        ("f" * 64, asked.digest),
        (NAMES[2], invitation(2).digest),
        (NAMES[2], b""),
        (NAMES[2], asked.digest[:31]),
    ]
    strange, late, malformed = Outcome.STRANGE, Outcome.LATE, Outcome.MALFORMED
    expected = [Outcome.DECLINED, strange, late, *[strange] * 3, *[malformed] * 3]
    assert intake.decline(said) == expected
    assert store.counts(1) == (OWNERS - 3, 1)
    assert store.outcomes()[1]["declined"] == 1
    assert intake.write([(NAMES[1], data[1])]) == [strange]  # it was asked, and is no more
    store.close_question(1, CLOSED)
    assert intake.decline([(NAMES[2], asked.digest)]) == [late]


def test_the_same_reports_through_several_workers_at_once_count_once(service, database):
    store, _, asked = service
    data = reports(asked)
    batch = [(NAMES[i], data[i]) for i in range(OWNERS - 2)]
    workers = [Store(database) for _ in range(4)]
    said: list[list[Outcome]] = [[] for _ in workers]

    def work(i):
        order = np.random.default_rng(i).permutation(len(batch))
        mine = Intake(workers[i], KEY.public_key())
        for start in range(0, len(order), 7):
            said[i] += mine.write([batch[at] for at in order[start : start + 7]])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = Counter(outcome for each in said for outcome in each)
    assert counts == {Outcome.COUNTED: len(batch), Outcome.REPEATED: 3 * len(batch)}
    assert store.counts(1)[1] == len(batch)
    for each in workers:
        each.close()


def test_no_report_is_counted_after_its_question_is_closed(service, database):
    """The count at closing is final, whatever is being written meanwhile."""
    store, intake, asked = service
    data = reports(asked)
    closed: list[int] = []

    def close():
        store.close_question(1, CLOSED)
        closed.append(store.counts(1)[1])

    thread = threading.Thread(target=close)
    found = []
    for i in range(OWNERS - 2):
        if i == 9:
            thread.start()
        found += intake.write([(NAMES[i], data[i])])
    thread.join()
    assert found.count(Outcome.COUNTED) == closed[0] == store.counts(1)[1]
    assert set(found) <= {Outcome.COUNTED, Outcome.LATE}


def statements_of(store, work):
    """How many statements a database is given by some work."""
    counted = []

    def count(connection, cursor, statement, *more):
        counted.append(statement)

    engine = store._database._engine
    event.listen(engine, "before_cursor_execute", count)
    work()
    event.remove(engine, "before_cursor_execute", count)
    return len(counted)


def test_what_strangers_send_costs_the_same_however_it_is_spelled(service):
    """Each tag that no question has was looked up by itself, in the transaction that honest reports
    wait for; so was each stranger that declines.
    """
    store, intake, _ = service

    def sent(many):
        return [(f"f{i:063d}", b"\0" + i.to_bytes(6, "little") + b"x" * 20) for i in range(many)]

    def told(many):
        return [(f"f{i:063d}", i.to_bytes(32, "little")) for i in range(many)]

    one, all_of_them = (statements_of(store, lambda n=n: intake.write(sent(n))) for n in (1, 60))
    assert one == all_of_them
    one, all_of_them = (statements_of(store, lambda n=n: intake.decline(told(n))) for n in (1, 60))
    assert one == all_of_them
    assert set(intake.write(sent(60)) + intake.decline(told(60))) == {Outcome.STRANGE}


def test_what_one_member_declines_costs_the_same_however_often(service):
    """Each word was looked up by itself, in the transaction that honest reports wait for: a member
    could have had five hundred in each, of digests that it made up, or of one question.
    """
    store, intake, asked = service
    store.close_question(1, CLOSED)

    def told(many, digest):
        return [(NAMES[i % 3], digest(i)) for i in range(many)]

    for digest in (lambda i: i.to_bytes(32, "little"), lambda i: asked.digest):
        one, all_of_them = (
            statements_of(store, lambda n=n, d=digest: intake.decline(told(n, d))) for n in (3, 300)
        )
        assert one == all_of_them
    assert set(intake.decline(told(60, lambda i: asked.digest))) == {Outcome.LATE}


def test_who_declines_what_is_closed_locks_nothing(service):
    """In the order in which a batch happens to have them, two workers would wait for each other."""
    store, intake, asked = service
    store.close_question(1, CLOSED)
    seen = []

    def look(connection, cursor, statement, *more):
        seen.append(statement)

    event.listen(store._database._engine, "before_cursor_execute", look)
    assert intake.decline([(NAMES[2], asked.digest)]) == [Outcome.LATE]
    event.remove(store._database._engine, "before_cursor_execute", look)
    if store._database._engine.dialect.name == "postgresql":
        assert not any("FOR UPDATE" in each for each in seen)
