"""Logistic regression in pfl's simulation, for `benchmarks.sizes`: what a federated simulator takes
for as many owners.

Every owner is asked once, in one of ten rounds, for the slope of its row's loss, clipped; a trusted
server adds Gaussian noise to the sum of a round. Rounds ask different owners, so the promise of one
is that of all. Run by the interpreter that has pfl.
"""

from importlib import import_module  # our type checker does not have the rivals
from typing import Any

import numpy as np

_ROUNDS, _STEP, _CLIP = 10, 4.0, 2.0  # a row of 20 columns between -1 and 1 has slopes of 1.4


class LinearModel:
    """Coefficients of the columns and a constant."""

    def __init__(self, columns: int) -> None:
        self.weights = np.zeros(columns + 1)

    def predict(self, X: Any) -> Any:
        return (X @ self.weights[:-1] + self.weights[-1] > 0).astype(np.int64)


def fit_in_pfl(X: Any, y: Any, epsilon: float, delta: float, seed: int) -> LinearModel:
    """The model after everybody was asked once."""
    np.random.seed(seed)  # noqa: NPY002 -- where pfl draws
    data, context = import_module("pfl.data.dataset"), import_module("pfl.context")
    simulate, stats = import_module("pfl.aggregate.simulate"), import_module("pfl.stats")
    privacy, metrics = import_module("pfl.privacy"), import_module("pfl.metrics")
    population = import_module("pfl.common_types").Population.TRAIN
    base = import_module("pfl.algorithm.base").FederatedAlgorithm

    class Descent(base):  # type: ignore[misc, valid-type]
        """A step down the mean slope of a round's owners."""

        def get_next_central_contexts(
            self, model: Any, iteration: int, *params: Any
        ) -> tuple[Any, Any, Any]:
            if iteration == _ROUNDS:
                return None, model, metrics.Metrics()
            settings = dict.fromkeys(("algorithm_params", "model_train_params"))
            asked = context.CentralContext(
                current_central_iteration=iteration,
                do_evaluation=False,
                cohort_size=len(y) // _ROUNDS,
                population=population,
                **settings,
            )
            return (asked,), model, metrics.Metrics()

        def simulate_one_user(self, model: Any, owner: Any, asked: Any) -> tuple[Any, Any]:
            row, label = owner.raw_data
            chance = 1 / (1 + np.exp(-(row @ model.weights[:-1] + model.weights[-1])))
            slope = (label - chance) * np.append(row, 1.0)
            return stats.MappedVectorStatistics({"slope": slope}, weight=1), metrics.Metrics()

        def process_aggregated_statistics(
            self, asked: Any, heard: Any, model: Any, total: Any
        ) -> tuple[Any, Any]:
            total.average()
            model.weights = model.weights + _STEP * total["slope"]
            return model, metrics.Metrics()

    owners = iter(np.random.permutation(len(y)))  # noqa: NPY002
    rows = import_module("pfl.data.federated_dataset").FederatedDataset(
        lambda owner: data.Dataset((X[owner], y[owner]), user_id=str(owner)), lambda: next(owners)
    )
    mechanism = privacy.GaussianMechanism.construct_single_iteration(_CLIP, epsilon, delta)
    noise = privacy.CentrallyAppliedPrivacyMechanism(mechanism)
    backend = simulate.SimulatedBackend(rows, rows, [noise])
    done: LinearModel = Descent().run(
        None, backend, LinearModel(X.shape[1]), None, send_metrics_to_platform=False
    )
    return done
