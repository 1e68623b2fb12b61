"""What the parameters of ensembles of sites mean."""

from typing import Any

import numpy as np

from tacit.checks import bad, positive
from tacit.learners.losses import LOSSES, Loss
from tacit.learners.names import one_of
from tacit.types import AnyArray, FloatArray


def loss_of(name: Any, *, numbers: bool) -> Loss:
    """A loss by name; "auto" is the Huber hinge for classes and the Huber loss for numbers."""
    fitting = [known for known, loss in LOSSES.items() if loss.of_numbers == numbers]
    chosen = one_of("loss", name, ["auto", *fitting])
    return LOSSES[("huber" if numbers else "huber_hinge") if chosen == "auto" else chosen]


def ridge_of(ridge: Any) -> float | None:
    """A ridge that is given, or None for "auto"."""
    return None if isinstance(ridge, str) and ridge == "auto" else positive("ridge", ridge)


def site_names(sites: Any, rows: int) -> AnyArray:
    """The site of each row; None: all rows are of one site."""
    if sites is None:
        return np.zeros(rows, dtype=np.int64)
    names: AnyArray = np.asarray(sites)
    if names.shape != (rows,):
        raise ValueError(f"sites must name one site per row, got shape {names.shape} for {rows} rows")
    return names


def site_epsilons(epsilon: Any, sites: int) -> FloatArray:
    """One epsilon per site."""
    if np.ndim(epsilon) == 0:
        return np.full(sites, positive("epsilon", epsilon))
    each = np.asarray(epsilon, dtype=np.float64)
    if each.shape != (sites,):
        raise bad("epsilon", f"a number or one for each of {sites} sites", f"shape {each.shape}")
    return each
