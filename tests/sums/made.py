"""A small sum over the network: keys, a batch, terms, reports, and the whole protocol without a
socket.
"""

from fractions import Fraction

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit import seeded
from tacit.sums.protocol import (
    COORDINATOR,
    HELPER,
    Batch,
    CoordinatorSide,
    HelperSide,
    SumTerms,
    seal_halves,
    tape,
)
from tacit.sums.two_servers import two_sided_geometric

COORDINATOR_KEY = X25519PrivateKey.from_private_bytes(bytes(range(32)))
HELPER_KEY = X25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
STEPS = 1 << 20


def public(key):
    return key.public_key().public_bytes_raw()


def sum_terms(epsilon=1.0, minimum=3, coordinator=COORDINATOR_KEY, helper=HELPER_KEY):
    return SumTerms(epsilon, minimum, public(coordinator), public(helper))


def batch(question=b"q" * 32, number=1, **terms):
    return Batch(question, number, sum_terms(**terms))


def terms(n=12, seed=1):
    return np.random.default_rng(seed).random((n, 2))


def reports(values, about=None, stream=None):
    rows = seal_halves(np.asarray(values), about or batch(), stream or seeded(2))
    return [row.tobytes() for row in rows]


def added_up(sent, about=None, noise=None, minimum=1):
    """The answer of both servers to some reports."""
    noise = noise or seeded(3)
    adding = CoordinatorSide(about or batch(), sent, COORDINATOR_KEY)
    return adding.open(HelperSide(adding.relay, HELPER_KEY, minimum).release(noise), noise)


def without_noise(answer, about=None, noise=None):
    """The opened sum in steps, less what both servers drew."""
    about, noise = about or batch(), noise or seeded(3)
    scale = about.terms.sums(1).scale(2)
    drawn = sum(
        two_sided_geometric(2, scale, tape(about, server, noise))
        for server in (COORDINATOR, HELPER)
    )
    return (np.rint(answer.sums * STEPS).astype(np.int64) - drawn).tolist()


def plain(values):
    """Sums of columns in rationals, every entry on its nearest step."""
    return [
        sum(round(Fraction(x) * STEPS) for x in column) for column in np.asarray(values).T.tolist()
    ]
