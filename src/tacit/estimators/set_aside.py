"""Setting aside owners as the data user's sample, when the data user has none of its own."""

from math import ceil

import numpy as np

from tacit.checks import bad, positive
from tacit.streams import Stream
from tacit.types import BoolArray, IntArray

_LEAST = 10


def set_aside(classes: IntArray, owners: IntArray, fraction: float, stream: Stream) -> BoolArray:
    """Which owners to set aside: in random order, until there are `fraction` of them and they show two classes.

    At least ten owners, or half when there are fewer than twenty. When to stop depends on owners already taken (and on
    the number of all), never on the rows of those that stay: nobody who stays has been looked at. `classes` are class
    numbers by row, -1 for labels that do not count, and `owners` owner numbers by row.

    >>> from tacit.streams import seeded
    >>> int(set_aside(np.arange(100) % 2, np.arange(100), 0.2, seeded(1)).sum())
    20
    """
    if not positive("public_fraction", fraction) < 1:
        raise bad("public_fraction", "a number between 0 and 1", fraction)
    size = int(owners.max()) + 1
    if size < 2:
        raise ValueError(
            "one owner (n_samples = 1 or one name) is too few: one is set aside, one is asked; give public="
        )
    order = np.argsort(stream.child("set aside").words(np.arange(size), 0, 1)[:, 0], kind="stable")
    rank = np.empty(size, dtype=np.int64)
    rank[order] = np.arange(size)
    counted = classes >= 0
    first = np.full(max(2, int(classes.max()) + 1), size)  # of each class: when it is first seen
    np.minimum.at(first, classes[counted], rank[owners[counted]])
    second_class = int(np.partition(first, 1)[1]) + 1
    if second_class >= size:
        raise ValueError(
            "the rows set aside for the data user have one class, or would leave no owner to ask: "
            "y needs two classes with several owners each, or give public=(X0, y0)"
        )
    taken = np.zeros(size, dtype=np.bool_)
    taken[order[: min(size - 1, max(ceil(fraction * size), min(_LEAST, size // 2), second_class))]] = True
    return taken
