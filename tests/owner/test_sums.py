"""Sums at the gate: what is pinned, charged, refused and repeated."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from scipy.stats import norm

from tacit import seeded
from tacit.learners.learner import Facts, ShareQuery, Tally
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.stump import StumpModel
from tacit.learners.owners.sum_query import SharesQuery, SumQuery
from tacit.learners.query import PURPOSE, digest_of, unpack
from tacit.mechanisms.streams import rational
from tacit.owner.gate import Gate, Reason, RefusedError
from tacit.owner.ledger import Ledger
from tacit.owner.ledger_entries import Entry
from tacit.owner.spending import owners
from tacit.owner.template import FreePart, QuestionForm, Template, bounds_of, repeat_parts
from tacit.sums.discrete_gaussian import epsilon_of
from tacit.sums.vector_terms import VectorTerms
from tacit.wire import WireError, decode, encode
from tacit.wire.envelopes import sign
from tests.owner.made import KEY, MEMBERS, SCHEMA, gate, invitation, policy, rows
from tests.sums.made import (
    COORDINATOR_KEY,
    HELPER_KEY,
    Pair,
    added_up,
    plain,
    public,
    sum_terms,
    without_noise,
)

PINNED = {"helper": public(HELPER_KEY).hex()}
MODEL = StumpModel(2, 0.0, 0, 1)


def query(attempt=1, epsilon=0.25, model=MODEL, members=MEMBERS, **terms):
    tally = Tally(model, Ensemble(2, tuple(members)))
    return SumQuery.of(tally, 3, 1, attempt, sum_terms(epsilon=epsilon, **terms))


def question(number=1, asked=None, **kwargs):
    return sign(invitation(number, asked=asked or query(**kwargs)), PURPOSE, KEY)


def refused(door, data):
    with pytest.raises(RefusedError) as caught:
        door.answer(data)
    return caught.value


def entries(folder):
    return Ledger(folder / "ledger.db", folder / "ledger.mark").entries()


def test_reports_through_the_gate_add_up_to_the_owners_terms(tmp_path):
    cohort = rows(owners=8)
    door = gate(tmp_path, cohort, releases=2, **PINNED)
    asked = invitation(asked=query())
    said = door.answers(sign(asked, PURPOSE, KEY), [f"owner {i}" for i in range(8)])
    good, levels, reports = unpack(said, asked.digest, asked.query)
    assert good.all()
    assert levels.tolist() == [0] * 8
    batch = asked.query.batch
    answer = added_up([row.tobytes() for row in reports.points], batch, seeded(1))
    terms = asked.query.ensemble.error_terms(MODEL, cohort)
    assert without_noise(answer, batch, seeded(1)) == plain(terms)


def test_a_sum_is_charged_once_and_repeated(tmp_path):
    door = gate(tmp_path, releases=9, **PINNED)
    data = question()
    assert door.answer(data) == door.answer(data)
    (entry,) = entries(tmp_path)
    assert (entry.cost, entry.unit, entry.what, entry.how) == (
        Fraction(1, 4),
        "owner",
        "error sum",
        "two servers",
    )
    assert door.answer(question(2, attempt=2)) != entry.report
    assert sum(entry.cost for entry in entries(tmp_path)) == Fraction(1, 2)


def test_sums_over_the_budget_are_refused(tmp_path):
    door = gate(tmp_path, epsilon_total="0.6", releases=9, **PINNED)
    for number in (1, 2):
        door.answer(question(number, attempt=number))
    assert refused(door, question(3, attempt=3)).reason is Reason.SPENT
    assert len(entries(tmp_path)) == 2


@pytest.mark.parametrize("limits", [{}, {"helper": "00" * 32}], ids=["none", "another"])
def test_only_the_helper_that_the_owner_names_is_trusted(tmp_path, limits):
    assert "does not name the second server" in str(refused(gate(tmp_path, **limits), question()))
    assert not entries(tmp_path)


def test_a_coordinator_cannot_be_its_own_helper(tmp_path):
    own = X25519PrivateKey.generate()
    with pytest.raises(ValueError, match="different keys"):
        query(coordinator=own, helper=own)
    assert "second server" in str(refused(gate(tmp_path, **PINNED), question(helper=own)))


def test_policies_name_sums_like_everything_else(tmp_path):
    allowed = gate(tmp_path, learners=["error sum"], mechanisms=["two servers"], **PINNED)
    allowed.answer(question())
    for number, limits in enumerate(({"learners": ["stump"]}, {"mechanisms": ["privunit"]})):
        (tmp_path / str(number)).mkdir()
        assert (
            refused(gate(tmp_path / str(number), **limits, **PINNED), question()).reason
            is Reason.FORBIDDEN
        )
    with pytest.raises(ValueError, match="helper must be a public key, 64 hexadecimal digits"):
        policy(helper="key")


def test_server_keys_of_low_order_are_refused_before_anything_is_charged(tmp_path):
    terms = encode(query()).replace(public(HELPER_KEY), bytes(32))
    door = gate(tmp_path, helper="00" * 32)
    assert refused(door, question(asked=decode(terms, SumQuery))).reason is Reason.FORBIDDEN
    assert not entries(tmp_path)


@pytest.mark.parametrize(
    "members",
    [((-700.0, MODEL),), ((700.0, MODEL),), ((-700.0, MODEL),) * 3, ((700.0, MODEL),) * 3],
    ids=["low", "high", "lowest", "highest"],
)
def test_hostile_votes_still_give_terms_in_range(tmp_path, members):
    """Terms are clipped, and NaN is 0: no votes can stretch what one owner adds, or tell by an
    error.
    """
    cohort = rows(owners=5)
    asked = query(members=members)
    reports = asked.release(cohort, 0.25, seeded(3))
    sums = without_noise(
        added_up([row.tobytes() for row in reports.points], asked.batch), asked.batch
    )
    assert all(0 <= each <= 5 << 20 for each in sums)


def test_a_sum_query_travels_and_checks_itself():
    data = encode(query())
    assert encode(decode(data, SumQuery)) == data
    with pytest.raises(ValueError, match="column and classes"):
        query(model=StumpModel(0, 0.0, 0, 7))
    name = b"\xabstump.model"
    model = encode(MODEL)[2:]
    assert model.startswith(b"\x95" + name + b"\x02")
    assert data.count(model) == 1
    with pytest.raises(WireError):
        decode(
            data.replace(model, b"\x95" + name + b"\x03" + model[len(name) + 2 :]), SumQuery
        )  # no such column
    with pytest.raises(ValueError, match="owners must be None"):
        SumQuery(1, 1, 5, 3, MODEL, Ensemble(2), 1, sum_terms())
    with pytest.raises(ValueError, match=r"epsilon must be 0\.25 as the question says"):
        query().release(rows(), 0.5, seeded(1))
    for read in (lambda: query().collect(query().blank(1), 0.25), lambda: query().answer(None)):
        with pytest.raises(TypeError, match="sum"):
            read()


def shares(number, attempt=1, epsilon=1.0, answers=1):
    """A question for shares of a learner, to be summed by two servers."""
    learner, facts = Centroid(), Facts(3, 2)
    terms = VectorTerms.of(learner.space(facts), epsilon, 1e-6, answers=answers)
    asked = ShareQuery(1, attempt, None, learner, facts, Ensemble(2), terms)
    servers = public(COORDINATOR_KEY), public(HELPER_KEY)
    return SharesQuery.of(asked, number, servers)


def test_shares_of_a_campaign_are_composed_as_gaussian_noise(tmp_path):
    door = gate(
        tmp_path, epsilon_total=2, epsilon_per_release=2, delta_total="1e-6", releases=9, **PINNED
    )
    asked = [shares(number, attempt=number, answers=4) for number in (1, 2, 3, 4)]
    for number, query in enumerate(asked, 1):
        door.answer(question(number, asked=query))
    found = entries(tmp_path)
    rho = sum((Fraction(entry.rho) for entry in found), Fraction())
    assert rho == 4 * asked[0].law.rho
    spent = sum(entry.cost for entry in found)
    assert spent == Fraction(epsilon_of(rho, 1e-6)) <= 1
    assert sum(Fraction(query.law.epsilon) for query in asked) > 1.5 * spent  # not added up
    (owner,) = owners(found, None).values()
    assert (owner["delta"], owner["releases"]) == ("0.000001", 4)


def gained(epsilon, delta, rho, charged):
    """The delta at `epsilon` against an asker that sees, after each of several sums of this rho,
    how much it has learnt, and may have all that is not `charged` yet as one pure epsilon instead
    of the sums that are left. Its loss is followed on a grid: after a sum it is more by a normal
    number of mean rho and variance 2 rho.
    """
    loss = np.linspace(-3, epsilon + 4, 8001)
    step = loss[1] - loss[0]
    reach = int(9 * np.sqrt(2 * rho) / step)
    chances = norm.pdf(np.arange(-reach, reach + 1) * step, 0, np.sqrt(2 * rho))
    value = np.maximum(0, 1 - np.exp(epsilon - loss))
    for left in (0.0, *(epsilon - float(each) for each in reversed(charged[:-1])), -np.inf):
        if left > 0:
            odds = 1 / (1 + np.exp(-left))
            either = (np.maximum(0, 1 - np.exp(epsilon - loss - way * left)) for way in (1, -1))
            value = np.maximum(value, np.dot((odds, 1 - odds), list(either)))
        if left > -np.inf:
            moved = np.interp(loss + rho, loss, value)
            padded = np.pad(moved, reach, mode="edge")
            value = np.convolve(padded, chances / chances.sum(), mode="valid")
    return np.interp(0, loss, value) / delta


def agreed(times):
    """A template of so many sums of shares, as often as an owner answers."""
    example = shares(1, answers=times)
    free = (*repeat_parts(times), FreePart("number", "which sum it is", 1, 99))
    form = QuestionForm(example, free, bounds_of(example, 64), times, most=1.0)
    columns = tuple(each.name for each in SCHEMA.features)
    return Template("trial", digest_of(SCHEMA), columns, "y", "two servers", (form,))


def test_sums_that_were_agreed_to_are_paid_for_with_the_first(tmp_path):
    """Each was charged what it added. Whoever put some, looked, and took what was left as a pure
    epsilon exactly where it had learnt much, had more delta than was promised.
    """
    limits = policy(
        epsilon_total=9, epsilon_per_release=2, delta_total="1e-6", releases=9, **PINNED
    )
    ledger = Ledger(tmp_path / "ledger.db", tmp_path / "ledger.mark")
    door = Gate(rows(), ["me"], SCHEMA, limits, ledger, KEY.public_key(), template=agreed(4))
    for number in (1, 2, 3, 4):
        door.answer(question(number, asked=shares(number, attempt=number, answers=4)))
    found = ledger.entries()
    rho = Fraction(found[0].rho)
    whole = Fraction(epsilon_of(4 * rho, 1e-6))
    assert [entry.cost for entry in found] == [whole, 0, 0, 0]
    assert all(entry.is_paid for entry in found)
    one_by_one = [epsilon_of(number * rho, 1e-6) for number in (1, 2, 3, 4)]
    assert gained(float(whole), 1e-6, float(rho), [float(whole)] * 4) == pytest.approx(1, abs=0.01)
    assert gained(float(whole), 1e-6, float(rho), one_by_one) > 1.9


def test_sums_that_were_begun_before_they_were_paid_for_at_once_are_paid_for_in_all(tmp_path):
    limits = {"epsilon_total": 9, "epsilon_per_release": 2, "delta_total": "1e-6", "releases": 9}
    ledger = Ledger(tmp_path / "ledger.db", tmp_path / "ledger.mark")
    for number, template in ((1, None), (2, agreed(4)), (3, agreed(4))):
        door = Gate(
            rows(),
            ["me"],
            SCHEMA,
            policy(**limits, **PINNED),
            ledger,
            KEY.public_key(),
            template=template,
        )
        door.answer(question(number, asked=shares(number, attempt=number, answers=4)))
    first, second, third = ledger.entries()
    assert first.cost == Fraction(epsilon_of(Fraction(first.rho), 1e-6))
    assert first.cost + second.cost == Fraction(epsilon_of(4 * Fraction(first.rho), 1e-6))
    assert third.cost == 0


def test_another_delta_is_another_promise_and_the_policy_bounds_their_sum(tmp_path):
    door = gate(
        tmp_path, epsilon_total=9, epsilon_per_release=2, delta_total="1e-6", releases=9, **PINNED
    )
    door.answer(question(1, asked=shares(1)))
    other = invitation(1, asked=shares(1, attempt=3))
    elsewhere = sign(replace(other, campaign="another"), PURPOSE, KEY)
    assert refused(door, elsewhere).reason is Reason.SPENT
    door.answer(question(2, asked=shares(2, attempt=2)))
    assert len(entries(tmp_path)) == 2


def test_shares_over_the_budget_are_refused(tmp_path):
    door = gate(
        tmp_path,
        epsilon_total="1.2",
        epsilon_per_release=1,
        delta_total="1e-6",
        releases=9,
        **PINNED,
    )
    door.answer(question(1, asked=shares(1)))
    assert refused(door, question(2, asked=shares(2, attempt=2))).reason is Reason.SPENT
    assert len(entries(tmp_path)) == 1


def test_rounded_shares_through_the_gate_add_up(tmp_path):
    cohort = rows(owners=12)
    door = gate(tmp_path, cohort, epsilon_per_release=1, delta_total="1e-6", **PINNED)
    asked = invitation(asked=shares(1))
    said = door.answers(sign(asked, PURPOSE, KEY), [f"owner {i}" for i in range(12)])
    good, _, reports = unpack(said, asked.digest, asked.query)
    assert good.all()
    query = asked.query
    pair = Pair(query.batch)
    assert pair.check([row.tobytes() for row in reports.points]) == (12, 12)
    mean, stderr, n = pair.open(seeded(1))
    assert (len(mean), n) == (query.width, 12)
    exact = query.learner.share(query.share_query, cohort).mean(axis=0)
    assert (abs(mean - exact) < 6 * stderr).all()


def test_what_costs_no_epsilon_yet_counts_in_what_comes(tmp_path):
    """At a large delta a sum may have epsilon 0; its rho is written down, and it is a release."""
    facts = Facts(3, 2)
    law = VectorTerms.of(Centroid().space(facts), 0.4, 1e-6, minimum=1)
    law = replace(law, delta=0.1)
    door = gate(
        tmp_path, epsilon_total=9, epsilon_per_release=9, releases=40, delta_total="0.1", **PINNED
    )
    servers = (public(COORDINATOR_KEY), public(HELPER_KEY))
    first = ShareQuery(1, 1, None, Centroid(), facts, Ensemble(2), law)
    assert law.price == 0
    for number in range(1, 41):
        asked = SharesQuery.of(first, number, servers)
        door.answer(sign(invitation(number, asked=asked), PURPOSE, KEY))
    made = entries(tmp_path)
    assert made[0].epsilon == "0"
    assert {Fraction(entry.rho) for entry in made} == {law.rho}
    charged = sum((entry.cost for entry in made), Fraction(0))
    assert charged == Fraction(epsilon_of(40 * law.rho, 0.1)) > 0
    assert owners(made, None)["owner 0"]["releases"] == 40
    more = SharesQuery.of(first, 41, servers)
    assert refused(door, question(41, asked=more)).reason is Reason.SPENT


def test_one_server_cannot_be_named_twice_in_another_writing():
    """Of a key with the highest bit set, or beyond the prime, a curve makes the same key."""
    terms = sum_terms()
    for other in (
        bytes([*terms.helper[:31], terms.helper[31] | 0x80]),
        (int.from_bytes(terms.helper, "little") + 2**255 - 19).to_bytes(33, "little")[:32],
    ):
        with pytest.raises(ValueError, match=r"one key has one writing|different keys"):
            replace(terms, coordinator=other)


def test_sums_beside_peers_counts_count_these_twice(tmp_path):
    """One record replaced is one removed and one added: counts prove their epsilon for each."""
    offered = {"epsilon_per_release": 2, "delta_total": "1e-6", "releases": 9, **PINNED}
    for total, spends in (("2.9", False), ("3", True)):
        folder = tmp_path / total
        folder.mkdir()
        door = gate(folder, epsilon_total=total, **offered)
        with Ledger(folder / "ledger.db", folder / "ledger.mark").transaction() as book:
            (owner,) = door._place
            counts = Entry(owner, bytes(32), "peers", 1, 0, "1", "record", "leaves", "counts", b"")
            book.add(counts)
        if spends:
            door.answer(question(1, asked=shares(1)))
        else:
            assert refused(door, question(1, asked=shares(1))).reason is Reason.SPENT


def test_pure_sums_are_charged_no_less_than_they_cost(tmp_path):
    """A third is no float: what is charged is not below it, and three of them are paid for."""
    learner, facts = Centroid(), Facts(3, 2)
    terms = VectorTerms.of(learner.space(facts), 1.0, 0.0, answers=3)
    door = gate(tmp_path, epsilon_total=1, epsilon_per_release=1, releases=9, **PINNED)
    for number in (1, 2, 3):
        asked = ShareQuery(1, number, None, learner, facts, Ensemble(2), terms)
        servers = public(COORDINATOR_KEY), public(HELPER_KEY)
        door.answer(question(number, asked=SharesQuery.of(asked, number, servers)))
    assert 3 * terms.charge <= sum(entry.cost for entry in entries(tmp_path)) <= 1
    for noise in range(terms.noise, terms.noise + 200):
        each = replace(terms, noise=noise)
        assert rational(each.epsilon) >= each.charge


def again(first):
    """The same sum of shares, in invitations of other numbers, names and times."""
    yield replace(first, number=2)
    yield replace(first, expires=first.expires + 1)
    yield replace(first, campaign="another")


@pytest.mark.parametrize("asked", [shares(1), query()], ids=["shares", "error terms"])
def test_an_owner_is_in_a_sum_once_whatever_invitations_it_comes_in(tmp_path, asked):
    """It sent a half with fresh coins for each: with four invitations it had four times the length
    in one sum, with noise for one, and was charged four times: rho is 16 times as much.
    """
    door = gate(
        tmp_path, epsilon_total=9, epsilon_per_release=2, delta_total="1e-6", releases=9, **PINNED
    )
    first = invitation(1, asked=asked)
    said = {door.answer(sign(each, PURPOSE, KEY)) for each in (first, *again(first))}
    assert len(said) == len(entries(tmp_path)) == 1
    good, _, reports = unpack(list(said), first.digest, asked)
    assert good.all()
    assert Pair(asked.batch).check([reports.points[0].tobytes()]) == (1, 1)


def test_two_campaigns_of_one_coordinator_have_an_owner_in_a_sum_once(tmp_path):
    """With one key to seal to and keys of their own to sign with, they could ask for one sum."""
    limits = {"epsilon_total": 9, "epsilon_per_release": 2, "delta_total": "0.1", "releases": 9}
    other, asked = Ed25519PrivateKey.generate(), invitation(1, asked=shares(1))
    door = gate(tmp_path, **limits, **PINNED)
    said = door.answer(sign(asked, PURPOSE, KEY))
    second = Gate(
        rows(), ["owner 0"], SCHEMA, policy(**limits, **PINNED), door._ledger, other.public_key()
    )
    assert second.answer(sign(replace(asked, campaign="second"), PURPOSE, other)) == said
    assert len(entries(tmp_path)) == 1


def test_a_sum_that_was_answered_before_sums_had_names_is_not_answered_again(tmp_path):
    """Ledgers of before know it by its invitation."""
    door = gate(tmp_path, **PINNED)
    asked = invitation(asked=query())
    with Ledger(tmp_path / "ledger.db", tmp_path / "ledger.mark").transaction() as book:
        about = "owner", "error sum", "two servers", b"x"
        before = Entry("owner 0", asked.digest, "trial", 1, 0, "1/4", *about, key=door._pin)
        book.add(before)
    assert door.answer(sign(asked, PURPOSE, KEY)) == b"x"
