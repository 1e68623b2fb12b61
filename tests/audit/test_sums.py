"""Both servers' views through the whole path, sound and broken: the epsilon proven stays below the
claim, every broken version proves more, and noise that is nearly right is told from the right one.
Fixed seeds, false-alarm rate 1e-4 per law.
"""

from dataclasses import replace

import numpy as np
import pytest

from tacit import Ball, seeded
from tacit.audit.sums import (
    ALARM,
    Runs,
    SumCase,
    audit_all_words,
    audit_noise,
    audit_price,
    audit_sums,
    audit_views,
    prove_epsilon,
    sum_cases,
)
from tacit.sums import discrete_gaussian, halves, vector_terms
from tacit.sums.discrete_gaussian import epsilon_of
from tacit.sums.halves import TallyLaw
from tacit.sums.prio3 import fields, flp
from tacit.sums.prio3.prio3 import Prio3
from tacit.sums.protocol import ServerSide
from tacit.sums.secure_sum import TwoServers
from tacit.sums.vector_terms import VectorTerms

TRIALS = 300
CASES = {case.name: case for case in sum_cases()}
TERMS, GAUSS = CASES["error terms"], CASES["shares, Gaussian"]
PURE = TallyLaw(1.0, 1)
NOISE = seeded(1).child("coordinator"), seeded(1).child("helper")


def runs_of(case, trials=TRIALS, seed=1):
    return Runs.of(case, trials, seeded(seed), NOISE)


def proven(case=TERMS, trials=TRIALS):
    rows = audit_views(runs_of(case, trials))
    return {(row.server, row.what): row.proven for row in rows}, rows


def test_neither_server_proves_more_than_the_claim():
    found, rows = proven(trials=1000)
    assert all(row.sound for row in rows)
    for server in ("coordinator", "helper"):
        assert found[server, "the other's sum"] > 0.05  # it does see something
        for what in ("own half", "opened verifier", "joint randomness"):
            assert found[server, what] < 0.05


def test_sound_sums_of_every_law_pass():
    checks = list(audit_sums(600, seeded(2), NOISE))
    assert [str(check) for check in checks if not check.sound] == []
    assert len(checks) == 4 * len(CASES) + 1 == 17
    assert all(check.sound for check in audit_sums(200, seeded(2)))  # with noise as servers draw it


def quiet(patch, place):
    """One server adds no noise."""
    whole = ServerSide.noisy_sum

    def sum_of(side, least, noise):
        return side._server.total if side._place == place else whole(side, least, noise)

    patch.setattr(ServerSide, "noisy_sum", sum_of)


def half_noise(patch):
    """Each server adds half of the noise, so that both together have enough."""
    patch.setattr(TallyLaw, "draw_noise", lambda law, stream: _drawn(law, stream) // 2)


def same_seeds(patch):
    """Owners' coins serve again and again."""
    true = halves.seal_reports

    def sealed(measurements, batch, stream):
        return true(measurements, batch, seeded(5).of(np.zeros(len(measurements), int)))

    patch.setattr("tacit.audit.sums.seal_reports", sealed)


_drawn = TallyLaw.draw_noise
BROKEN = {
    "no noise by the helper": (lambda patch: quiet(patch, 1), "coordinator", "the other's sum"),
    "no noise by the coordinator": (lambda patch: quiet(patch, 0), "helper", "the other's sum"),
    "half noise": (half_noise, "helper", "the other's sum"),
    "seeds that serve twice": (same_seeds, "coordinator", "own half"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_caught(name, monkeypatch):
    breaks, server, what = BROKEN[name]
    breaks(monkeypatch)
    found, rows = proven(trials=1000 if "half" in name else TRIALS)
    assert found[server, what] > PURE.epsilon, name
    assert not all(row.sound for row in rows)


def entry_in_the_clear(patch):
    """What a helper's seed stands for has zeros in one place: the coordinator has that entry."""
    true = Prio3._helper_meas

    def expanded(prio3, context, place, seed):
        shares = true(prio3, context, place, seed).copy()
        shares[:, 5] = 0
        return shares

    patch.setattr(Prio3, "_helper_meas", expanded)


def proof_without_coins(patch):
    """Wires of the proof begin with zeros: opened verifiers are a function of the measurement."""
    true = flp.prove

    def proved(circuit, meas, rand, joint):
        return true(circuit, meas, np.zeros_like(rand), joint)

    patch.setattr(flp, "prove", proved)


def blind_of_zeros(patch):
    """Parts of the joint randomness are hashes of what they should hide."""
    true = Prio3._split

    def split(prio3, coins):
        helpers, blind, seed = true(prio3, coins)
        bare = tuple(replace(each, blind=0 * each.blind, seed=0 * each.seed) for each in helpers)
        return bare, 0 * blind, seed

    patch.setattr(Prio3, "_split", split)


def lowest_digit(patch):
    """A mask that is even: of each element the coordinator learns whether it is odd."""
    true = fields.expand

    def expanded(field, seed, tag, binder, length):
        return true(field, seed, tag, binder, length) & ~np.uint64(1)

    patch.setattr("tacit.sums.prio3.prio3.expand", expanded)


def zeros_do_not_count(patch):
    """Who adds nothing is left out."""
    true = halves.seal_reports

    def sealed(measurements, batch, stream):
        rows = true(measurements, batch, stream)
        rows[(measurements == 0).all(axis=1), 40] ^= 1
        return rows

    patch.setattr("tacit.audit.sum_views.seal_reports", sealed)


WORDS = {
    entry_in_the_clear: "own share",
    proof_without_coins: "both findings",
    blind_of_zeros: "",
    lowest_digit: "",
    zeros_do_not_count: "who counts",
}


@pytest.mark.parametrize("mutant", WORDS, ids=lambda mutant: mutant.__name__)
def test_any_word_that_tells_something_is_found(mutant, monkeypatch):
    assert audit_all_words(TERMS, TRIALS, seeded(4)).sound
    mutant(monkeypatch)
    found = audit_all_words(TERMS, TRIALS, seeded(4))
    assert not found.sound
    assert WORDS[mutant] in found.seen, found.seen


@pytest.mark.parametrize("name", CASES)
def test_no_word_of_either_server_tells_anything(name):
    found = audit_all_words(CASES[name], TRIALS, seeded(5))
    assert found.sound, found.seen


def noise_made(make):
    """A law's noise made otherwise: from the law, its true draw, and the tape."""

    def breaks(patch):
        for kind in (TallyLaw, VectorTerms):
            true = kind.draw_noise
            patch.setattr(
                kind, "draw_noise", lambda law, stream, true=true: make(law, true, stream)
            )

    return breaks


def taped(tape):
    """Both servers' noise from another tape than their own of this sum."""

    def breaks(patch):
        def noisy(side, _least, _noise):
            field = side._law.prio3.circuit.field
            sign, stream = tape(side)
            return field.add(
                side._server.total, field.from_small(sign * side._law.draw_noise(stream))
            )

        patch.setattr(ServerSide, "noisy_sum", noisy)

    return breaks


def of_sum(side):
    return seeded(5).child(side.batch.number)


def one_for_all(law, true, stream):
    drawn = true(law, stream)
    return np.full_like(drawn, drawn[0])


def of_another_kind(law, true, stream):
    """Laplace's in the place of Gauss's and the other way round, with the same variance."""
    drawn = true(law, stream)
    coins = stream.child("other").words(np.arange(len(drawn)), 0, 2) / 2.0**64
    spread = np.sqrt(law.variance / 2) / law.step if law.law == vector_terms.GAUSSIAN else 0
    return np.rint(spread / np.sqrt(2) * np.log(coins[:, 0] / coins[:, 1])).astype(int)


NEARLY = {
    "a twentieth less": (noise_made(lambda law, true, tape: true(law, tape) * 95 // 100), "size"),
    "a twentieth more": (noise_made(lambda law, true, tape: true(law, tape) * 105 // 100), "size"),
    "never below zero": (noise_made(lambda law, true, tape: abs(true(law, tape))), "mean"),
    "five steps off": (noise_made(lambda law, true, tape: true(law, tape) + 5), "mean"),
    "of another kind": (noise_made(of_another_kind), "law"),
    "one for all numbers": (noise_made(one_for_all), "numbers and servers"),
    "the same at both servers": (taped(lambda side: (1, of_sum(side))), "numbers and servers"),
    "taken off by the other server": (
        taped(lambda side: (1 - 2 * side._place, of_sum(side))),
        "numbers and servers",
    ),
    "one for two sums": (
        taped(lambda side: (1, seeded(5).child(side._place, side.batch.number // 2))),
        "noise that came twice",
    ),
    "that of the sum before, turned round": (
        taped(
            lambda side: (
                (-1) ** side.batch.number,
                seeded(5).child(side._place, side.batch.number // 2),
            )
        ),
        "sums that follow",
    ),
    "the same in every sum": (
        taped(lambda side: (1, seeded(5).child(side._place))),
        "noise that came twice",
    ),
}


@pytest.mark.parametrize("name", NEARLY)
def test_noise_that_is_nearly_right_is_told_from_the_right_one(name, monkeypatch):
    breaks, what = NEARLY[name]
    assert all(row.sound for row in audit_noise(runs_of(GAUSS, 500)))
    breaks(monkeypatch)
    failed = {row.what for row in audit_noise(runs_of(GAUSS, 500)) if not row.sound}
    assert what in failed, failed


def test_a_twentieth_less_noise_on_error_terms_is_seen_by_an_audit_of_the_usual_size(monkeypatch):
    NEARLY["a twentieth less"][0](monkeypatch)
    failed = {row.what for row in audit_noise(runs_of(TERMS, 4000)) if not row.sound}
    assert "size" in failed


def larger_delta(patch):
    """Noise is chosen for ten times the delta, and what it costs is looked up there as well."""
    for name in ("rho_of", "compose_epsilon"):
        true = getattr(discrete_gaussian, name)
        patch.setattr(vector_terms, name, lambda cost, delta, true=true: true(cost, 10 * delta))


def half_a_length(patch):
    """Noise and its price are those of shares half as long."""
    for name in ("least_sigma", "rho_of_sum"):
        true = getattr(discrete_gaussian, name)
        patch.setattr(vector_terms, name, lambda bound, noise, true=true: true(bound // 4, noise))


def half_a_width(patch):
    half = TwoServers(epsilon=1.0, minimum=1, steps=1 << 19)
    patch.setattr(TallyLaw, "spec", property(lambda law: half))


@pytest.mark.parametrize("breaks", [larger_delta, half_a_length, half_a_width])
def test_a_price_that_is_too_low_is_caught(breaks, monkeypatch):
    assert all(audit_price(case).sound for case in sum_cases())
    farthest = TERMS.worlds  # what owners add does not shrink with what the noise is made for
    breaks(monkeypatch)
    found = [
        audit_price(replace(case, worlds=farthest) if case.law == PURE else case)
        for case in sum_cases()
    ]
    assert not all(check.sound for check in found)


def test_several_sums_for_the_price_of_one_are_caught():
    alone = VectorTerms.of(Ball(dim=12), 1.0, 1e-6, minimum=1)
    assert audit_price(replace(GAUSS, law=alone, answers=1)).sound
    assert not audit_price(replace(GAUSS, law=alone, answers=2)).sound
    assert not audit_price(replace(TERMS, answers=2)).sound


def test_a_delta_that_is_ignored_is_caught():
    """A Gaussian sum keeps (epsilon, delta); taken for pure epsilon, it does not keep that."""
    law = VectorTerms.of(Ball(dim=2), 0.1, 0.4, minimum=1)
    worlds = np.array([7, 0]), np.array([-7, 0])
    assert law.epsilon <= 0.1
    case = SumCase("large delta", law, worlds, 0.1, law.delta)
    with_delta, _ = proven(case, 500)
    without, _ = proven(replace(case, delta=0.0), 500)
    key = "coordinator", "the other's sum"
    assert with_delta[key] <= law.epsilon < without[key]
    assert epsilon_of(law.rho, 1e-6) > law.epsilon  # a smaller delta costs more epsilon
    assert audit_price(case).sound
    assert not audit_price(replace(case, delta=1e-6)).sound


def test_events_prove_what_they_should():
    assert prove_epsilon(500, 500, 1000, 0.0, ALARM) == 0
    assert prove_epsilon(1000, 0, 1000, 0.0, ALARM) > 4
    assert prove_epsilon(1000, 0, 1000, 0.5, ALARM) < prove_epsilon(1000, 0, 1000, 0.0, ALARM)
    assert prove_epsilon(0, 1000, 1000, 0.0, ALARM) == 0
