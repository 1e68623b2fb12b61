"""A small sum over the network: keys, a batch, terms, reports, and the whole protocol without a
socket.
"""

from fractions import Fraction

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit import seeded
from tacit.sums.halves import Batch, SumTerms, TallyLaw, seal_reports
from tacit.sums.protocol import CoordinatorSide, HelperSide, blocks_of

COORDINATOR_KEY = X25519PrivateKey.from_private_bytes(bytes(range(32)))
HELPER_KEY = X25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
STEPS = 1 << 20


def public(key):
    return key.public_key().public_bytes_raw()


def sum_terms(epsilon=1.0, minimum=3, coordinator=COORDINATOR_KEY, helper=HELPER_KEY):
    return SumTerms(TallyLaw(epsilon, minimum), public(coordinator), public(helper))


def batch(question=b"q" * 32, number=1, attempt=1, **terms):
    return Batch(question, number, attempt, sum_terms(**terms))


def terms(n=12, seed=1):
    return np.random.default_rng(seed).random((n, 2))


def reports(values, about=None, stream=None):
    about = about or batch()
    measured = about.terms.law.measure(np.asarray(values))
    return [row.tobytes() for row in seal_reports(measured, about, stream or seeded(2))]


class Pair:
    """Both servers of a batch in one process; what they say goes straight over."""

    def __init__(self, about=None):
        self.batch = about or batch()
        self.coordinator = CoordinatorSide(self.batch, COORDINATOR_KEY)
        self.helper = HelperSide(self.batch, HELPER_KEY)
        self.known = set()

    def check(self, sent):
        """One block; how many count at both servers by now."""
        checked, counted = self.helper.check(self.coordinator.block(sent), self.known.intersection)
        self.known.update(counted)
        self.coordinator.take(checked)
        return self.coordinator.counted, self.helper.counted

    def open(self, noise, minimum=1):
        return self.coordinator.open(self.helper.release(minimum, noise), noise)


def added_up(sent, about=None, noise=None, minimum=1):
    """The answer of both servers to some reports."""
    pair = Pair(about)
    for block in blocks_of(sent, pair.batch):
        pair.check(block)
    return pair.open(noise or seeded(3), minimum)


def drawn(about=None, noise=None):
    """What both servers draw, as whole numbers."""
    about = about or batch()
    law, stream = about.terms.law, about.terms.law.tape(about, noise or seeded(3))
    return sum(law.draw_noise(stream.child("noise", server)) for server in "ab")


def without_noise(answer, about=None, noise=None):
    """The opened sum in steps, less what both servers drew."""
    return (np.rint(answer.sums * STEPS).astype(np.int64) - drawn(about, noise)).tolist()


def plain(values):
    """Sums of columns in rationals, every entry on its nearest step."""
    return [
        sum(round(Fraction(x) * STEPS) for x in column) for column in np.asarray(values).T.tolist()
    ]
