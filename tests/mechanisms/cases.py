"""Every mechanism with the spaces it is meant for, and shares worth testing."""

import numpy as np

from tacit import (
    Ball,
    Box,
    Duchi,
    Hybrid,
    Laplace,
    Mechanism,
    NoPrivacy,
    Piecewise,
    PrivUnit,
    RandomizedResponse,
    Simplex,
)

PRIVATE: list[type[Mechanism]] = [Laplace, Duchi, Piecewise, Hybrid, PrivUnit, RandomizedResponse]
ALL: list[type[Mechanism]] = [*PRIVATE, NoPrivacy]
SPACES = [Box(dim=1), Box(dim=4, radius=2.0), Ball(dim=5), Simplex(dim=4)]


def make(kind, space, epsilon):
    return kind(space=space) if kind is NoPrivacy else kind(space=space, epsilon=epsilon)


def corners(space):
    """Shares at the middle, on the edge and off the axes."""
    rng = np.random.default_rng(space.dim)
    random = space.clip(rng.normal(size=(2, space.dim)) * space.radius_inf)
    edge = space.clip(np.full((1, space.dim), 9.0) * space.radius_inf)
    axis = space.clip(np.eye(1, space.dim) * space.radius_2)
    return np.vstack(
        [random, 0.3 * random if not isinstance(space, Simplex) else random[::-1], edge, axis]
    )


def name(value):
    return value.__name__ if isinstance(value, type) else str(value)
