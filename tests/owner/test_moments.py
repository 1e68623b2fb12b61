"""The moment of an answer: from question and policy alone, and never from rows."""

import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from tacit import Cohort
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.features import FeatureMap, Products, Rows
from tacit.learners.models.scores import Forest, ScoreModel, Trees
from tacit.learners.owners.gradient import Discriminant
from tacit.learners.owners.stump import Stump
from tacit.owner.gate import Gate, Reason, RefusedError
from tests.owner.made import gate, invitation, policy, query, question, rows

CLOCK = {"time_step": "0.05", "releases": 50, "epsilon_total": 50}


def chain(length, roots):
    """Many roots above one chain that only rows with x1 > 0.25 walk."""
    column = np.zeros(length + 2, dtype=np.int64)
    column[0], column[-1] = 1, -1
    cut = np.full(length + 2, 1e9)
    cut[0] = 0.25
    left, right = np.arange(1, length + 3), np.full(length + 2, length + 1)
    left[0], left[-1], right[0], right[-1] = length + 1, 0, 1, 0
    zeros = np.zeros(roots, dtype=np.int64)
    tree = Trees(column, cut, left, right, np.zeros(length + 2), zeros, zeros)
    learner = Discriminant(
        FeatureMap(Rows(), np.zeros(3), np.eye(3)),
        ScoreModel(2, (Forest(tree, np.zeros(2)),)),
        1.0,
    )
    return ShareQuery(1, 1, 1, learner, Facts(3, 2), Ensemble(2), ReportTerms("privunit", (0.5,)))


def wide(coordinates):
    """A map of very many features of few bytes each."""
    width = coordinates + coordinates * (coordinates + 1) // 2
    expansion = Products(np.zeros(3), np.full((3, coordinates), 0.01))
    learner = Discriminant(
        FeatureMap(expansion, np.zeros(width), np.zeros((width, 1))), ScoreModel(2), 1.0
    )
    return ShareQuery(1, 1, 1, learner, Facts(3, 2), Ensemble(2), ReportTerms("privunit", (0.5,)))


def owner(value, count):
    X = np.full((count, 3), value)
    return Cohort(X, np.arange(count) % 2, np.array([0, count]))


def took(door, asked):
    began = time.monotonic()
    door.answer(asked)
    return time.monotonic() - began


@pytest.mark.parametrize("asked", [chain(100, 100), wide(40)], ids=["chain", "wide"])
def test_rows_do_not_decide_when_an_answer_leaves(tmp_path, monkeypatch, asked):
    """Owners of many rows and of one: the work of the first takes 0.4 seconds more, within the
    bound of one question and beyond that of the other, and the moments differ by no more than
    those of two owners alike and half of that.
    """
    real = Discriminant.share

    def slow_for_many(learner, query, cohort):
        time.sleep(0.4 if len(cohort.y) > 2 else 0.0)  # two are made up
        return real(learner, query, cohort)

    monkeypatch.setattr(Discriminant, "share", slow_for_many)
    doors = [gate(tmp_path / str(i), owner(*rows), **CLOCK)
             for i, rows in enumerate([(0.9, 1000), (0.0, 1), (0.0, 1)])]  # fmt: skip
    for door in doors:
        door.answer(question(1, asked=asked))
    seen = np.array(
        [[took(door, question(2 + i, asked=asked)) for door in doors] for i in range(3)]
    )
    assert seen.min() >= float(policy(**CLOCK).moment(asked, 1))
    slow, quick, twin = seen.T
    noise = np.median(np.abs(quick - twin))  # of the scheduler and the disk
    assert np.median(np.abs(slow - quick)) < 0.2 + 3 * noise


def test_a_question_that_may_take_too_long_is_refused_before_rows_are_touched(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(Gate, "_works", lambda *_: pytest.fail("tried"))
    door = gate(tmp_path, longest=1, largest_memory=1 << 24)
    for asked, why in ((chain(12_000, 30_000), "longer than 1 s"), (wide(90), "memory")):
        with pytest.raises(RefusedError, match=why) as caught:
            door.answer(question(asked=asked))
        assert caught.value.reason is Reason.FORBIDDEN


def test_work_that_outlives_its_bound_is_answered_as_from_nobody(tmp_path, monkeypatch):
    real = Stump.share

    def stalling(learner, asked, cohort):
        if len(cohort.y) > 2:  # neither nobody nor the made-up rows
            time.sleep(60)
        return real(learner, asked, cohort)

    monkeypatch.setattr(Stump, "share", stalling)
    door = gate(tmp_path, time_step="0.05")
    began = time.monotonic()
    report = door.answer(question())
    assert time.monotonic() - began < 59
    assert len(report) == 16
    (entry,) = door._ledger.entries()
    assert (entry.report, entry.cost) == (report, 1)


def test_abandoned_work_leaves_nothing_to_do_after_its_bound(tmp_path, monkeypatch):
    """What is said instead takes time, too, which must not show in the moment of the answer: it is
    made before rows are touched, whether work is abandoned or not.
    """
    done: list[str] = []  # in this process: what the worker does is not seen here
    share, compute = Stump.share, Gate._compute_apart

    def watched(learner, asked, cohort):
        done.append(f"share of {len(cohort.y)} rows")
        if len(cohort.y) > 2:  # neither nobody nor the made-up rows
            time.sleep(60)
        return share(learner, asked, cohort)

    def apart(gate, *given):
        done.append("worker")
        said = compute(gate, *given)
        done.append("abandoned" if said is None else "answered")
        return said

    monkeypatch.setattr(Stump, "share", watched)
    monkeypatch.setattr(Gate, "_compute_apart", apart)
    longer = CLOCK | {"rows": 2_000_000}  # a second, in which a busy machine answers, too
    for count, became in ((1, "answered"), (5, "abandoned")):
        done.clear()
        gate(tmp_path / str(count), owner(0.0, count), **longer).answer(question())
        assert done == ["share of 0 rows", "worker", became]


LATE = """
import time
from tacit.owner.worker import Worker

def work(request):
    time.sleep(float(request))
    return request

made = Worker(lambda request: request, work)
began = time.monotonic()
abandoned = made.compute(b"30.0", 3.0, 1 << 24, patience=-2.8)
took = time.monotonic() - began
print(abandoned is None, took < 2.5, made.compute(b"0.0", 20.0, 1 << 24), made.prepare(b"next"))
"""


def test_work_that_ends_late_is_not_waited_for():
    """The reply to work that was abandoned comes when it comes, and is not taken for the next. In a
    process of its own: a fork takes along whatever threads of other tests hold.
    """
    done = subprocess.run(
        [sys.executable, "-c", LATE], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == ["True", "True", "b'0.0'", "b'next'"]


def test_only_the_first_rows_count(tmp_path):
    many = rows(2, each=50)
    few = Cohort(many.X, many.y, np.array([[0, 7], [50, 57]]))
    door = gate(tmp_path, many, rows=7)
    cohort = door._first["owner"]
    assert cohort.sizes.tolist() == [7, 7]
    np.testing.assert_array_equal(cohort.X, few.X)
    assert gate(tmp_path / "b", many, records=9)._first["record"].sizes.tolist() == [9, 9]


def test_the_moment_is_a_function_of_question_and_policy():
    small, large = policy(time_step="0.1", rows=10), policy(time_step="0.1", rows=100_000)
    heavy = chain(200, 200)
    assert small.moment(heavy, 1) < large.moment(heavy, 1)
    assert large.moment(heavy, 1) < large.moment(heavy, 4)
    assert replace(small, longest=1).too_costly(heavy) == ""
    assert "longer" in replace(large, longest=1).too_costly(heavy)


def test_a_gate_in_a_thread_of_others_answers(tmp_path):
    """Gateways answer in threads: a worker serves them one after the other."""
    from concurrent.futures import ThreadPoolExecutor

    names = [f"owner {i}" for i in range(6)]
    door = gate(tmp_path, rows(6), names, time_step="0.05")
    asked = question(asked=query())
    with ThreadPoolExecutor(3) as pool:
        said = list(pool.map(lambda name: door.answer(asked, name), names))
    assert len(set(said)) == 6
    assert all(len(each) == 16 for each in said)
    assert invitation().number == 1
