"""Reports come in any order, twice, late, damaged, from strangers: each owner counts once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import seeded
from tacit.engines.collector import Collector, Outcome
from tacit.learners.invitation import pack
from tacit.learners.query import Answer
from tests.owner.made import invitation, query, rows

OWNERS = 60
NAMES = [f"owner {i}" for i in range(OWNERS)]


def closed(collector) -> Answer:
    answer = collector.close()
    assert isinstance(answer, Answer)
    return answer


def reports(asked, seed=1):
    epsilons = np.array(asked.query.epsilons)[np.arange(OWNERS) % len(asked.query.epsilons)]
    made = asked.query.release(rows(OWNERS), epsilons, seeded(seed))
    return [
        pack(asked.digest, i % len(asked.query.epsilons), made[i : i + 1]) for i in range(OWNERS)
    ], asked.query.answer(asked.query.collect(made, epsilons))


@pytest.mark.parametrize("mechanism", ["privunit", "piecewise", "duchi", "laplace", "randomized_response", "hybrid"])
def test_the_answer_is_that_of_the_reports_whatever_the_order(mechanism):
    asked = invitation(asked=query(mechanism=mechanism, epsilons=(0.5, 6.0)))
    data, expected = reports(asked)
    for order in (range(OWNERS), reversed(range(OWNERS))):
        collector = Collector(asked, NAMES)
        for i in order:
            assert collector.accept(NAMES[i], data[i]) is Outcome.COUNTED
        answer = closed(collector)
        np.testing.assert_array_equal(answer.mean, expected.mean)
        np.testing.assert_array_equal(answer.stderr, expected.stderr)
        assert answer.n == OWNERS


def test_everything_left_out_is_counted():
    asked = invitation()
    data, _ = reports(asked)
    collector = Collector(asked, NAMES)
    assert collector.accept("owner 0", data[0]) is Outcome.COUNTED
    assert collector.accept("owner 0", data[0]) is Outcome.REPEATED
    assert collector.accept("owner 0", data[1]) is Outcome.CONTRADICTED
    assert collector.accept("stranger", data[1]) is Outcome.STRANGE
    assert collector.accept("owner 1", data[1][:-1]) is Outcome.MALFORMED
    other = invitation(2)
    assert collector.accept("owner 1", reports(other)[0][1]) is Outcome.MALFORMED  # replayed from another question
    assert collector.accept("owner 1", data[1]) is Outcome.COUNTED  # nothing malformed used up its place
    answer = closed(collector)
    assert answer.n == 2 == collector.counted
    assert collector.accept("owner 2", data[2]) is Outcome.LATE
    assert collector.accept("owner 1", data[1]) is Outcome.REPEATED
    assert sum(collector.counts.values()) == 9
    assert closed(collector).n == 2


def test_nobody_is_no_answer():
    assert Collector(invitation(), NAMES).close() is None


@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=0, max_size=24))
def test_no_bytes_move_the_mean_beyond_one_honest_report(body):
    asked = invitation(asked=query(mechanism="piecewise", epsilons=(1.0,)))
    collector = Collector(asked, NAMES)
    header = bytes([1]) + asked.digest[:6]
    if collector.accept("owner 0", header + body) is Outcome.COUNTED:
        mechanism = asked.query.mechanism(1.0)
        edge = mechanism.laws[0].slope * (mechanism.laws[0].size - 1) * mechanism.spread[0]
        assert np.abs(closed(collector).mean).max() <= edge * (1 + 1e-12)
    else:
        assert collector.close() is None
