"""A population of owners, its true means, and what the data user learns of them through each mechanism."""

from dataclasses import dataclass

import numpy as np

from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.choose import choose
from tacit.mechanisms.duchi import Duchi
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.piecewise import Piecewise
from tacit.spaces import Ball
from tacit.streams import Stream, seeded
from tacit.types import FloatArray

DIM = 12


@dataclass(frozen=True)
class MeanRow:
    """What one mechanism tells the data user about the population."""

    name: str
    bytes_per_owner: int
    mean: FloatArray
    stderr: FloatArray
    error: float
    predicted: float


def population(owners: int, stream: Stream) -> FloatArray:
    """Made-up owners: each holds a vector in the unit ball, scattered around a hidden profile."""
    rng = np.random.default_rng(stream.words(np.arange(1), 0, 4)[0])
    profile = 0.45 * np.cos(np.linspace(0, 2.2 * np.pi, DIM)) * np.linspace(1, 0.4, DIM)
    return Ball(dim=DIM).clip(profile + rng.normal(scale=0.12, size=(owners, DIM)))


def estimate_means(owners: int, epsilon: float, seed: int) -> tuple[FloatArray, list[MeanRow], str]:
    """The true mean share, one row per mechanism, and why the last one was chosen."""
    stream = seeded(seed)
    shares = population(owners, stream.child("population"))
    space = Ball(dim=DIM)
    choice = choose(space, epsilon)
    mechanisms: list[Mechanism] = [kind(epsilon=epsilon, space=space) for kind in (Laplace, Duchi, Piecewise)]
    truth = shares.mean(axis=0)
    rows = []
    for mechanism in [*mechanisms, choice.mechanism]:
        totals = mechanism.totals(mechanism.randomize(shares, stream.child(type(mechanism).__name__)))
        error = float(np.sqrt(np.sum((totals.mean - truth) ** 2)))
        noise = mechanism.variance(shares[:1000]).sum(axis=1).mean() / owners
        name, size = type(mechanism).__name__, -(-mechanism.report_bits // 8)
        rows.append(MeanRow(name, size, totals.mean, totals.stderr, error, float(np.sqrt(noise))))
    return truth, rows, choice.why
