"""Both servers' views through the whole path, sound and broken: the epsilon proven stays below the
claim, and every broken version proves more. Fixed seeds, false-alarm rate 1e-4 per audit.
"""

import numpy as np
import pytest

from tacit import Ball, seeded
from tacit.audit.mechanisms import ALARM, audit_views, prove_epsilon
from tacit.sums import halves
from tacit.sums.discrete_gaussian import epsilon_of
from tacit.sums.halves import TallyLaw
from tacit.sums.protocol import ServerSide
from tacit.sums.vector_terms import VectorTerms

TRIALS = 300
PURE = TallyLaw(1.0, 1)
STEPS = PURE.spec.steps
FARTHEST = np.array([0, 0]), np.array([STEPS, STEPS])


def proven(law=PURE, worlds=FARTHEST, delta=0.0, trials=TRIALS, seed=1):
    rows = audit_views(law, worlds, delta, trials, seeded(seed))
    return {(row.server, row.what): row.proven for row in rows}, rows


def test_neither_server_proves_more_than_the_claim():
    found, rows = proven(trials=1000)
    assert all(row.sound for row in rows)
    for server in ("coordinator", "helper"):
        assert found[server, "the other's sum"] > 0.05  # it does see something
        for what in ("own half", "opened verifier", "joint randomness"):
            assert found[server, what] < 0.05


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

    patch.setattr("tacit.audit.mechanisms.seal_reports", sealed)


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


def test_a_delta_that_is_ignored_is_caught():
    """A Gaussian sum keeps (epsilon, delta); taken for pure epsilon, it does not keep that."""
    law = VectorTerms.of(Ball(dim=2), 0.1, 0.4, minimum=1)
    worlds = np.array([7, 0]), np.array([-7, 0])
    assert law.epsilon <= 0.1
    with_delta, _ = proven(law, worlds, law.delta, 500)
    without, _ = proven(law, worlds, 0.0, 500)
    key = "coordinator", "the other's sum"
    assert with_delta[key] <= law.epsilon < without[key]
    assert epsilon_of(law.rho, 1e-6) > law.epsilon  # a smaller delta costs more epsilon


def test_events_prove_what_they_should():
    assert prove_epsilon(500, 500, 1000, 0.0, ALARM) == 0
    assert prove_epsilon(1000, 0, 1000, 0.0, ALARM) > 4
    assert prove_epsilon(1000, 0, 1000, 0.5, ALARM) < prove_epsilon(1000, 0, 1000, 0.0, ALARM)
    assert prove_epsilon(0, 1000, 1000, 0.0, ALARM) == 0
