"""Base learners: what an owner computes (`share`) and what the data user makes of the answers (`learn`).

Whatever may travel in a question or a model is imported here, so that whoever reads one knows all of it.
"""

from tacit.learners import (
    additive,
    cells,
    centroid,
    discriminant,
    features,
    gradient_histogram,
    leaf_counts,
    lens,
    linear,
    logistic,
    losses,
    noisy_tree,
    scores,
    served,
    site,
    stump,
    sum_query,
    trees,
)

__all__ = [
    "additive",
    "cells",
    "centroid",
    "discriminant",
    "features",
    "gradient_histogram",
    "leaf_counts",
    "lens",
    "linear",
    "logistic",
    "losses",
    "noisy_tree",
    "scores",
    "served",
    "site",
    "stump",
    "sum_query",
    "trees",
]
