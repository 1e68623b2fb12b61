"""Peers without a server: turns, stumps and passed trees as algorithms that never see rows."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.algorithms.peers import (
    exchange_stumps,
    fair_share,
    pass_trees,
    speakers,
    take_turns,
    turns_each,
)
from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.learners.peers.own_model import vote_own
from tacit.learners.peers.peer_model import Additive, NoisyTrees, SharedStumps
from tacit.learners.query import PURPOSE, Invitation, digest_of, unpack
from tacit.mechanisms.streams import seeded
from tacit.owner.gate import Gate, Reason, RefusedError
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.wire import encode
from tacit.wire.envelopes import sign
from tacit_papers.d.learners import UNSOUND, simulate_published
from tests.learners.peers import CELLS, SCHEMA, cohort, rows

EVERYTHING = dict.fromkeys(range(4), (0, 1, 2))
SIZES = [500, 300, 800, 400]


def turns(people, held, epsilon, order, known=None, seed=1):
    algorithm = take_turns(CELLS, held, order, (epsilon,), Additive() if known is None else known)
    return Inline(people, epsilon, seeded(seed)).run(algorithm)


def accuracy(model, seed=99):
    X, y = rows(2000, seed)
    return np.mean((model.score(CELLS.read(X)) > 0) == (y == 1))


def test_turns_are_shared_out_and_cost_what_there_is():
    order = speakers(dict.fromkeys(range(4), 2), seeded(1))
    assert sorted(order) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert set(order[:4]) == set(order[4:])
    assert order != speakers(dict.fromkeys(range(4), 2), seeded(2))
    assert turns_each(30, 10, 0.01) == 1
    assert turns_each(30, 10, inf) == 3
    assert turns_each(30, 10, 1e308) == 3
    for epsilon in (0.1, 0.3, 1 / 3, 1.0, 2.7):
        for answers in (1, 3, 7, 30, 49):
            share = fair_share(epsilon, answers)
            assert Fraction(repr(share)) * answers <= Fraction(repr(epsilon))
            assert Fraction(repr(float(np.nextafter(share, inf)))) * answers >= Fraction(
                repr(epsilon)
            )


def test_an_algorithm_sees_queries_and_answers_only():
    algorithm = take_turns(CELLS, EVERYTHING, (2, 0), (1.0,), Additive())
    first = next(algorithm)
    assert first.owners == (2,)
    assert first.epsilons == (1.0,)
    assert (first.unit, first.what, first.how) == ("record", "leaves", "counts")
    people = cohort(SIZES)
    told = first.answer(first.collect(first.release(people[2:3], 1.0, seeded(1)), 1.0))
    second = algorithm.send(told)
    assert second.owners == (0,)
    assert [part.speaker for part in second.model.parts] == [2]
    with pytest.raises(StopIteration) as end:
        algorithm.send(None)  # nobody answers: the round is passed over
    assert end.value.value == second.model


def test_peers_learn_and_more_budget_is_better():
    people = cohort(SIZES)
    order = speakers(dict.fromkeys(range(4), 2), seeded(3))

    def mean_accuracy(epsilon):
        found = [turns(people, EVERYTHING, epsilon, order, seed=seed) for seed in range(5)]
        return np.mean([accuracy(model) for model in found])

    found = {epsilon: mean_accuracy(epsilon) for epsilon in (0.001, 0.2, inf)}
    assert found[0.001] < 0.62 < found[0.2] - 0.03
    assert found[inf] > 0.7


def test_whoever_joins_changes_nothing_that_was_released():
    people = cohort(SIZES)
    before = turns(people[:3], dict.fromkeys(range(3), (0, 1, 2)), 1.0, (0, 1, 2))
    after = turns(people, {3: (0, 1, 2)}, 1.0, (3,), known=before)
    assert [encode(part) for part in after.parts[:3]] == [encode(part) for part in before.parts]
    assert [part.speaker for part in after.parts] == [0, 1, 2, 3]
    assert after.parts[3].round == 4
    again = turns(people, {3: (0, 1, 2)}, 1.0, (3,), known=before)
    assert again == after


def test_participants_speak_about_attributes_they_hold():
    held = {0: (0,), 1: (1, 2), 2: (2,), 3: (0, 2)}
    people = cohort(SIZES)
    parts = [
        CELLS.without_others(one.X, held[number]) for number, one in enumerate(people.blocks(1))
    ]
    some = Cohort(np.concatenate(parts), people.y, people.offsets)
    model = turns(some, held, 2.0, (0, 1, 2, 3, 0, 1))
    assert all(part.column in held[part.speaker] for part in model.parts)
    assert accuracy(model) > 0.68


def test_what_is_not_held_is_not_looked_at():
    people = cohort(SIZES)
    reports = []
    for town in (people.X[:, 1:4], np.ones((2000, 3)), np.full((2000, 3), np.nan)):
        X = people.X.copy()
        X[:, 1:4] = town
        hidden = Cohort(CELLS.without_others(X, (0, 2)), people.y, people.offsets)
        reports.append(encode(turns(hidden, dict.fromkeys(range(4), (0, 2)), 1.0, (0, 1, 2, 3))))
    assert len(set(reports)) == 1


def exchange(people, held, rounds, epsilon, known=None):
    algorithm = exchange_stumps(
        CELLS, held, rounds, (epsilon,), seeded(7), known=SharedStumps() if known is None else known
    )
    return Inline(people, epsilon, seeded(8)).run(algorithm)


def test_stumps_are_shared_by_everybody_in_every_round():
    people = cohort(SIZES)
    shared = exchange(people, EVERYTHING, 6, 0.5)
    assert [[stump.participant for stump in stumps] for stumps in shared.rounds] == [
        [0, 1, 2, 3]
    ] * 6
    assert accuracy(shared.model) > 0.65
    one = people[1:2]
    own = vote_own(CELLS.read(one.X), one.y, shared, 1.0, me=1)
    assert accuracy(own) > 0.65
    assert len(own.rounds) == 6


def test_a_poisoned_peer_is_left_out_of_nearly_all_rounds_and_honest_ones_are_not():
    people = cohort(SIZES)
    labels = people.y.copy()
    labels[people.offsets[2] : people.offsets[3]] ^= 1
    shared = exchange(Cohort(people.X, labels, people.offsets), EVERYTHING, 10, 2.0)
    for me in (0, 1, 3):
        one = people[me : me + 1]
        left_out = vote_own(CELLS.read(one.X), one.y, shared, 1.0, me=me).left_out
        assert left_out.get(2, 0) >= 7
        assert max((count for peer, count in left_out.items() if peer != 2), default=0) <= 5


def test_stumps_of_a_newcomer_come_after_the_others():
    people = cohort(SIZES)
    before = exchange(people[:3], dict.fromkeys(range(3), (0, 1, 2)), 3, 1.0)
    after = exchange(people, {3: (0, 1, 2)}, 3, 1.0, known=before)
    assert after.rounds[:3] == before.rounds
    assert after.model.parts[:9] == before.model.parts
    assert [stumps[0].round for stumps in after.rounds] == [1, 2, 3, 4, 5, 6]


def test_trees_are_passed_along():
    people = cohort(SIZES)
    algorithm = pass_trees(CELLS, EVERYTHING, (3, 1, 0, 2), 2, (2.0,), NoisyTrees())
    trees = Inline(people, 2.0, seeded(5)).run(algorithm)
    assert [tree.speaker for tree in trees.trees] == [3, 1, 0, 2]
    assert accuracy(trees) > 0.68


def test_the_published_scheme_is_marked():
    models = simulate_published(
        cohort(SIZES), CELLS, EVERYTHING, 5, 4.0, coins=seeded(1), stream=seeded(2)
    )
    assert len(models) == 4
    assert all(len(model.rounds) == 5 for model in models)
    assert "normalised" in UNSOUND
    assert np.mean([accuracy(model) for model in models]) > 0.6


def test_a_real_gate_answers_peers_until_the_budget_is_spent(tmp_path):
    """The same query, signed, through policy and ledger: two turns of a half, and no third."""
    key, people = Ed25519PrivateKey.generate(), cohort([60])
    policy = Policy(
        epsilon_per_release=Fraction(1, 2),
        epsilon_total=Fraction(1),
        releases=9,
        units=("record",),
        time_step=Fraction(0),
    )
    ledger = Ledger(tmp_path / "ledger.db", tmp_path / "ledger.mark")
    door = Gate(people, ["a"], SCHEMA, policy, ledger, key.public_key())
    algorithm = take_turns(CELLS, {0: (0, 1, 2)}, (0, 0, 0), (0.5,), Additive())
    query = next(algorithm)
    for number in (1, 2):
        asked = Invitation("peers", number, 1 << 40, digest_of(SCHEMA), query)
        good, _, reports = unpack([door.answer(sign(asked, PURPOSE, key))], asked.digest, query)
        assert good.all()
        query = algorithm.send(query.answer(query.collect(reports, 0.5)))
    asked = Invitation("peers", 3, 1 << 40, digest_of(SCHEMA), query)
    with pytest.raises(RefusedError) as refused:
        door.answer(sign(asked, PURPOSE, key))
    assert refused.value.reason is Reason.SPENT
