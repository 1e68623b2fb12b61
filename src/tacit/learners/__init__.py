"""Base learners: what an owner computes (`share`) and what the data user makes of the answers
(`learn`).

Whatever may travel in a question or a model is imported here, so that whoever reads one knows all
of it.
"""

from tacit.learners.models import features, scores, trees
from tacit.learners.owners import (
    centroid,
    discriminant,
    gradient_histogram,
    logistic,
    stump,
    sum_query,
)
from tacit.learners.peers import additive, cells, leaf_counts, noisy_tree, peer_model
from tacit.learners.sites import losses, projection, train

__all__ = [
    "additive",
    "cells",
    "centroid",
    "discriminant",
    "features",
    "gradient_histogram",
    "leaf_counts",
    "logistic",
    "losses",
    "noisy_tree",
    "peer_model",
    "projection",
    "scores",
    "stump",
    "sum_query",
    "train",
    "trees",
]
