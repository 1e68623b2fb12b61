"""What a server sees says nothing of a measurement: in two worlds that differ as much as they can,
shares and verifiers have the same, uniform, law. Fixed seeds; each test is a chi-square at 10^-6.
"""

import numpy as np
import pytest
from scipy.stats import chi2

from tacit.sums.prio3 import flp, instances
from tacit.sums.prio3.batch import Server
from tests.sums.prio3.cheats import APPLICATION, KEY, honest

VECTOR = instances.prio3_bounded_in_calls(6, 6 * 49, 4, 3, shares=2, proofs=3)
WORLDS = ([0, 0, 0, 0, 0, 0], [7, -7, 7, -7, 7, 7])
OWNERS, CELLS, FALSE_ALARM = 2_000, 16, 1e-6


def statistic(elements):
    """Chi-square of the leading four bits of every element (owners, k): one for each column."""
    cells = (elements >> np.uint64(60)).astype(np.int64)
    expected = len(cells) / CELLS
    counts = np.stack([(cells == cell).sum(axis=0) for cell in range(CELLS)])
    return ((counts - expected) ** 2 / expected).sum(axis=0)


def opened_verifier(world, seed):
    """What both servers learn of the proofs, and what server 0 got."""
    block = honest(VECTOR, [world] * OWNERS, seed)
    servers = [Server(VECTOR, APPLICATION, place, key=KEY) for place in (0, 1)]
    parts = [
        server.open(block.nonces, block.public, block.inputs[server.place]) for server in servers
    ]
    field = VECTOR.circuit.field
    shares = [np.concatenate([share.verifiers for share in each.shares]) for each in parts]
    verifier = field.add(*shares)[..., 0].reshape(OWNERS, VECTOR.proofs, -1)
    elements, fits = field.decode(block.inputs[0][:, :-32])
    assert fits.all()
    return verifier, elements[..., 0], shares[1][..., 0]


def limit(columns):
    return chi2.isf(FALSE_ALARM / columns, CELLS - 1)


@pytest.mark.parametrize("world", range(2))
def test_what_servers_see_is_uniform_in_both_worlds(world):
    verifier, leader, told = opened_verifier(WORLDS[world], 20 + world)
    assert (verifier[..., 0] == 0).all()  # the circuit's output, which is public for valid reports
    wires = verifier[..., 1:-1].reshape(OWNERS, -1)
    for seen in (wires, leader, told):
        assert statistic(seen).max() < limit(seen.shape[1])


def test_a_proof_without_its_random_values_would_tell(monkeypatch):
    true = flp.prove
    without = lambda circuit, meas, rand, joint: true(circuit, meas, 0 * rand, joint)  # noqa: E731
    monkeypatch.setattr(flp, "prove", without)
    verifier, _, _ = opened_verifier(WORLDS[0], 22)
    wires = verifier[..., 1:-1].reshape(OWNERS, -1)
    assert statistic(wires).max() > limit(wires.shape[1])


def test_coins_that_serve_twice_tell_the_difference():
    """Why coins serve once: such reports differ by what the measurements differ by."""
    blocks = [honest(VECTOR, [world], 23) for world in WORLDS]
    field = VECTOR.circuit.field
    shares = [field.decode(block.inputs[0][:, :-32])[0] for block in blocks]
    difference = field.subtract(shares[1], shares[0])
    assert field.to_signed(difference[0, :6]) == WORLDS[1]
