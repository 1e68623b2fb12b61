"""Small tasks that every test of this room uses."""

import numpy as np
from sklearn.datasets import make_classification


def task(rows=1200, classes=2, seed=1):
    """A matrix of five columns and its labels."""
    return make_classification(
        rows,
        n_features=5,
        n_informative=4,
        n_redundant=0,
        n_classes=classes,
        class_sep=2.0,
        random_state=seed,
    )


def people(rows=900, seed=1):
    """Columns of a data frame with a number, a text and a truth value, labels in text, and
    owners with 1 to 9 rows.
    """
    rng = np.random.default_rng(seed)
    town = rng.choice(["north", "south", "west"], rows)
    age = rng.uniform(0, 100, rows)
    chance = 0.1 + 0.4 * (town == "north") + 0.4 * (age > 50)
    label = np.where(rng.uniform(size=rows) < chance, "yes", "no")
    owners = np.repeat([f"owner {i}" for i in range(rows)], rng.integers(1, 10, rows))[:rows]
    return {"age": age, "town": town, "member": rng.uniform(size=rows) < 0.5}, label, owners
