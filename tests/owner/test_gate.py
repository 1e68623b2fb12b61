"""The gate: what it answers, what it refuses, and that neither depends on rows."""

import copy
import pickle
import time
import tracemalloc
from fractions import Fraction

import msgpack
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Cohort, Number, Schema
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.stump import Stump, StumpModel
from tacit.learners.query import PURPOSE, report_size, unpack
from tacit.learners.sites.losses import HuberHinge
from tacit.learners.sites.projection import fit_projection
from tacit.learners.sites.train import TrainSite
from tacit.owner.gate import Gate, Reason, RefusedError
from tacit.owner.ledger import Ledger
from tacit.owner.report_maker import PACKING
from tacit.wire.codec import plain
from tacit.wire.envelopes import preimage, sign
from tacit_papers.a.learners import PublishedStump
from tests.owner.made import KEY, SCHEMA, gate, invitation, policy, query, question, rows


def refusal(gate, data):
    with pytest.raises(RefusedError) as caught:
        gate.answer(data)
    return caught.value.reason


def test_an_answer_is_a_small_valid_report_and_is_charged(tmp_path):
    door = gate(tmp_path)
    asked = invitation()
    report = door.answer(sign(asked, PURPOSE, KEY))
    assert len(report) == report_size(asked.query) == 16
    good, levels, _ = unpack([report], asked.digest, asked.query)
    assert (good.tolist(), levels.tolist()) == (
        [True],
        [1],
    )  # the largest epsilon on offer that the policy allows
    (entry,) = Ledger(tmp_path / "ledger.db", tmp_path / "ledger.mark").entries()
    assert (entry.epsilon, entry.what, entry.how, entry.report) == (
        "1",
        "stump",
        "privunit",
        report,
    )


def test_the_same_question_gets_the_same_bytes_and_no_new_charge(tmp_path):
    door, data = gate(tmp_path), question()
    first = door.answer(data)
    assert [door.answer(data) for _ in range(5)] == [first] * 5
    assert gate(tmp_path, rows(seed=5)).answer(data) == first  # restarted, and even with other rows
    assert len(Ledger(tmp_path / "ledger.db", tmp_path / "ledger.mark").entries()) == 1


def test_another_question_after_the_budget_or_the_release_is_refused(tmp_path):
    door = gate(tmp_path, epsilon_total=2, releases=3)
    door.answer(question(1))
    door.answer(question(2))
    assert refusal(door, question(3)) is Reason.SPENT  # budget
    (tmp_path / "one").mkdir()
    door = gate(tmp_path / "one", epsilon_total=9)
    door.answer(question(1))
    assert refusal(door, question(2)) is Reason.SPENT  # one release


def test_what_is_left_of_the_budget_decides_the_level(tmp_path):
    door = gate(tmp_path, epsilon_total="1.6", releases=3)
    asked = [invitation(number) for number in (1, 2, 3)]
    levels = [
        unpack([door.answer(sign(each, PURPOSE, KEY))], each.digest, each.query)[1]
        for each in asked[:2]
    ]
    assert np.concatenate(levels).tolist() == [1, 0]
    assert refusal(door, sign(asked[2], PURPOSE, KEY)) is Reason.SPENT


def test_tenths_add_up_exactly(tmp_path):
    door = gate(tmp_path, epsilon_per_release="0.1", epsilon_total="0.3", releases=9)
    for number in (1, 2, 3):
        door.answer(question(number, asked=query(epsilons=(0.1,))))
    assert refusal(door, question(4, asked=query(epsilons=(0.1,)))) is Reason.SPENT


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (lambda: question(key=Ed25519PrivateKey.generate()), Reason.UNREADABLE),
        (lambda: sign(SCHEMA, PURPOSE, KEY), Reason.UNREADABLE),
        (lambda: sign(invitation(), "another purpose", KEY), Reason.UNREADABLE),
        (lambda: b"", Reason.UNREADABLE),
        (lambda: question() + b"\x00", Reason.UNREADABLE),
        (lambda: question(expires=int(time.time()) - 1), Reason.EXPIRED),
        (lambda: question(campaign="another"), Reason.FORBIDDEN),
        (lambda: question(schema=Schema((Number("x", 0, 1),), (0, 1))), Reason.FORBIDDEN),
        (lambda: question(asked=query(learner=Centroid())), Reason.FORBIDDEN),
        (lambda: question(asked=query(mechanism="laplace")), Reason.FORBIDDEN),
        (lambda: question(asked=query(mechanism="none")), Reason.FORBIDDEN),
        (lambda: question(asked=query(learner=Stump(cuts=9))), Reason.FORBIDDEN),
        (lambda: question(asked=query(epsilons=(1.5,))), Reason.SPENT),
    ],
)
def test_refusals(tmp_path, data, reason):
    limits = {
        "learners": ["stump"],
        "mechanisms": ["privunit", "piecewise"],
        "campaign": "trial",
        "largest_share": 20,
    }
    door = gate(tmp_path, **limits)
    assert refusal(door, data()) is reason
    assert not Ledger(tmp_path / "ledger.db", tmp_path / "ledger.mark").entries()
    door.answer(question())  # a refusal costs nothing


def raw(change):
    """A signed invitation whose content was changed by hand, so that no check of ours ran before
    it was signed.
    """
    content = plain(invitation())
    change(content)
    body = msgpack.packb([1, content], use_bin_type=True)
    return KEY.sign(preimage(PURPOSE, body)) + body


def put(value, *path):
    def change(content):
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = value

    return change


def sizes(dim, classes):
    def change(content):
        put(dim, 5, 5, 1)(content)
        put(classes, 5, 5, 2)(content)
        put(classes, 5, 6, 1)(content)

    return change


def nested(depth, classes=2):
    ensemble = ["ensemble", classes, []]
    for _ in range(depth):
        ensemble = ["ensemble", 2, [[0.5, ensemble]]]
    return put(ensemble, 5, 6)


@pytest.mark.parametrize(
    "change",
    [
        put(1 << 63, 2),  # a number that no ledger can write down
        put("a\x1b[2J\n", 1),
        sizes(10**9, 2),
        sizes(10**13, 2),
        sizes(3, 20_000),  # its square is 3 GB
        sizes(3, 10**7),
        nested(1),
        nested(1, classes=10**10),
        nested(200),
        put(1e308, 5, 6, 2, 0, 0),
        put(-1e308, 5, 6, 2, 0, 0),
        put(7, 5, 6, 2, 0, 1, 3),  # a stump that says class 7 of 2, left
        put(7, 5, 6, 2, 0, 1, 4),  # or right
        put(3, 5, 6, 2, 0, 1, 1),  # a stump on column 3 of 3
    ],
    ids=range(14),
)
def test_hostile_questions_of_the_right_key_are_refused_before_they_cost_anything(tmp_path, change):
    door, data = gate(tmp_path), raw(change)
    tracemalloc.start()
    assert refusal(door, data) in (Reason.UNREADABLE, Reason.FORBIDDEN)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6
    assert not Ledger(tmp_path / "ledger.db", tmp_path / "ledger.mark").entries()
    door.answer(raw(lambda content: None))


def test_weights_that_vanish_do_not_stop_an_owner_with_rows():
    """Kernels divide by the unit of loudness, which quiet members make as small as they like."""
    quiet = Ensemble(2, ((-700.0, StumpModel(0, 0.0, 0, 1)),) * 5)
    weights = quiet.weights(rows())
    assert np.isfinite(weights).all()


def test_epsilons_that_no_policy_allows_are_not_even_tried(tmp_path, monkeypatch):
    monkeypatch.setattr(Gate, "_harmless", lambda *_: pytest.fail("tried"))
    assert refusal(gate(tmp_path), question(asked=query(epsilons=(1.5, 1e6)))) is Reason.SPENT


def test_the_ledger_has_the_owners_own_time(tmp_path):
    """Whatever time the coordinator says it is; that says what has expired alone."""
    theirs, before = 1_000_000.0, int(time.time())
    ledger = Ledger(tmp_path / "ledger.db", tmp_path / "ledger.mark")
    door = Gate(
        rows(), ["me"], SCHEMA, policy(), ledger, key=KEY.public_key(), clock=lambda: theirs
    )
    door.answer(question(expires=int(theirs) + 60))
    (entry,) = ledger.entries()
    assert before <= entry.at <= time.time()


def test_owners_of_another_gate_are_not_answered_for(tmp_path):
    gate(tmp_path, rows(2), ["a", "b"]).answers(question(), ["a", "b"])
    with pytest.raises(ValueError, match="among those of this gate"):
        gate(tmp_path, rows(1), ["a"]).answer(question(), "b")


def test_refusals_cross_processes():
    again = pickle.loads(pickle.dumps(RefusedError(Reason.FORBIDDEN, "because")))  # noqa: S301
    assert (again.reason, str(again)) == (
        Reason.FORBIDDEN,
        str(RefusedError(Reason.FORBIDDEN, "because")),
    )


def test_simulations_can_never_run_at_an_owner(tmp_path):
    with pytest.raises(ValueError, match="cannot travel"):
        question(asked=query(learner=PublishedStump()))


def test_policies_without_lists_still_refuse_what_is_not_private(tmp_path):
    assert refusal(gate(tmp_path), question(asked=query(mechanism="none"))) is Reason.FORBIDDEN


def test_many_owners_behind_one_gate(tmp_path):
    door = gate(tmp_path, rows(owners=50), epsilon_total=1)
    names = [f"owner {i}" for i in range(50)]
    data = question(1)
    first = door.answers(data, names[:30])
    again = door.answers(data, names)
    assert again[:30] == first
    assert len({*again}) == 50
    later = door.answers(question(2), names)
    assert {answer.reason for answer in later} == {Reason.SPENT}
    with pytest.raises(ValueError, match="owner must be named"):
        door.answer(question(3))


def test_rows_that_a_learner_stumbles_over_count_as_none(tmp_path, monkeypatch):
    share = Stump.share

    def stumbling(self, query, cohort):
        if (cohort.X > 0.99).any():
            raise RuntimeError("a defect")
        return share(self, query, cohort)

    monkeypatch.setattr(Stump, "share", stumbling)
    cohort = rows(owners=3)
    cohort.X[0, 0] = 1.0
    answers = gate(tmp_path, cohort).answers(question(), ["owner 0", "owner 1", "owner 2"])
    assert [type(answer) for answer in answers] == [bytes] * 3


def test_one_that_a_learner_stumbles_over_costs_many_others_little_time(tmp_path, monkeypatch):
    share, calls = Stump.share, []

    def stumbling(self, query, cohort):
        calls.append(len(cohort))
        if (cohort.X > 2).any():
            raise RuntimeError("a defect")
        return share(self, query, cohort)

    monkeypatch.setattr(Stump, "share", stumbling)
    cohort = rows(owners=64)
    cohort.X[5 * 37, 0] = 3.0
    names = [f"owner {i}" for i in range(64)]
    answers = gate(tmp_path, cohort).answers(question(), names)
    assert [type(answer) for answer in answers] == [bytes] * 64
    assert sum(calls) <= 4 * 64, "not one by one, and not all of them again and again"
    assert len(calls) <= 20


def test_refusals_and_sizes_do_not_depend_on_rows(tmp_path):
    """Owners with no rows, one row, one class, many rows: the same refusals, the same lengths."""
    some = rows(each=500)
    nobody = Cohort(some.X[:0], some.y[:0], np.zeros(2, dtype=np.int64))
    one = Cohort(some.X[:1], some.y[:1] * 0, np.array([0, 1]))
    said = []
    for number, cohort in enumerate((some, nobody, one)):
        (tmp_path / str(number)).mkdir()
        door = gate(tmp_path / str(number), cohort)
        data = [question(key=Ed25519PrivateKey.generate()), question(expires=5), b"x" * 100]
        texts = []
        for each in data:
            with pytest.raises(RefusedError) as caught:
                door.answer(each)
            texts.append(str(caught.value))
        said.append((texts, len(door.answer(question()))))
    assert said[0] == said[1] == said[2]


def test_answers_leave_at_the_moment_that_question_and_policy_name(tmp_path, monkeypatch):
    slept: list[float] = []
    door = gate(tmp_path, time_step="0.5")
    door.answer(question(2, expires=1 << 40))  # kernels are there
    monkeypatch.setattr("tacit.owner.gate.time.sleep", slept.append)
    with pytest.raises(RefusedError):
        door.answer(question())
    assert len(slept) == 1  # refusals at multiples of the step
    assert 0 <= slept[0] <= 0.5
    slept.clear()
    slow = {"time_step": "0.5", "rows": 10_000_000}  # seconds, which no busy machine needs
    door = gate(tmp_path / "other", **slow)
    began = time.monotonic()
    door.answer(question())
    took = time.monotonic() - began
    named = float(policy(**slow).moment(query(), 1))
    assert 5 < named < 6
    work, left = slept  # for the work, whenever it is done; then for its moment
    assert work <= named - PACKING
    assert named - took <= left <= named  # then the ledger is written


def test_a_gate_is_not_copied(tmp_path):
    door = gate(tmp_path)
    for copier in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            copier(door)
    assert repr(door) == "Gate(1 owners)"


def test_a_gate_checks_what_it_is_given(tmp_path):
    ledger = Ledger(tmp_path / "l.db", tmp_path / "l.mark")
    with pytest.raises(ValueError, match="each of 2 owners once"):
        Gate(rows(2), ["a", "a"], SCHEMA, policy(), ledger, KEY.public_key())
    other = Schema((Number("x", 0, 1),), (0, 1))
    with pytest.raises(ValueError, match="rows must have 1 numbers"):
        Gate(rows(), ["a"], other, policy(), ledger, KEY.public_key())


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.sampled_from(["ask", "retry", "drop", "restart"])),
        max_size=12,
    )
)
def test_whatever_the_schedule_an_owner_releases_once(tmp_path_factory, schedule):
    folder = tmp_path_factory.mktemp("schedule")
    door = gate(folder)
    questions = {number: question(number) for number in range(1, 5)}
    heard: dict[int, set[bytes]] = {}
    reasons = set()
    for number, move in schedule:
        if move == "restart":
            door = gate(folder)
        for _ in range(2 if move == "retry" else 1):
            try:
                report = door.answer(questions[number])
            except RefusedError as refused:
                reasons.add(refused.reason)
            else:
                if move != "drop":
                    heard.setdefault(number, set()).add(report)
    assert reasons <= {Reason.SPENT}
    assert len(heard) <= 1
    assert all(len(reports) == 1 for reports in heard.values())


def test_reports_are_distributed_as_the_mechanism_says(tmp_path):
    """Through signature, policy, ledger and packing the mean of many owners' reports is still
    the mean share.
    """
    cohort = rows(owners=4000)
    names = [str(i) for i in range(4000)]
    asked = invitation(asked=query(mechanism="duchi", epsilons=(4.0,), members=()))
    door = gate(tmp_path, cohort, names, epsilon_per_release=4, epsilon_total=4)
    answers = door.answers(sign(asked, PURPOSE, KEY), names)
    mechanism = asked.query.mechanism(4.0)
    estimates = mechanism.estimate(unpack(answers, asked.digest, asked.query)[2])
    shares = asked.query.learner.share(asked.query, cohort)
    error = np.sqrt(mechanism.variance(shares).sum(axis=0)) / len(shares)
    assert (
        np.abs((np.mean(estimates, axis=0) - shares.mean(axis=0)) / error).max() < 5
    )  # 1 in 290,000 by chance


def test_costs_are_rationals():
    assert policy(epsilon_per_release="0.5").epsilon_per_release == Fraction(1, 2)


def test_a_site_trains_behind_its_gate(tmp_path):
    """Unit record: only where the policy allows it, and charged like any other answer."""
    asked = TrainSite(
        1, 1, None, fit_projection(rows(100).X), HuberHinge(), 2, "objective", (0.5, 1.0)
    )
    data = question(asked=asked)
    assert refusal(gate(tmp_path), data) == Reason.FORBIDDEN
    door = gate(tmp_path, rows(1, 50), units=("record",), mechanisms=("objective",))
    report = door.answer(data)
    assert len(report) == report_size(asked) == 8 + 8 * asked.width
    (entry,) = Ledger(tmp_path / "ledger.db", tmp_path / "ledger.mark").entries()
    assert (entry.epsilon, entry.what, entry.how) == ("1", "site", "objective")
    simulated = TrainSite(1, 1, None, asked.projection, HuberHinge(), 2, "published", (1.0,))
    assert refusal(door, question(2, asked=simulated)) == Reason.FORBIDDEN
