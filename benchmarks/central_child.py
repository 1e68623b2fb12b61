"""What rivals that see the whole table make of it. Run by their interpreter; needs nothing of ours.

    python central_child.py rows.npz epsilon delta seed

The file has rows of all owners (X, y), public rows (X_public, y_public) and rows to test on
(X_test, y_test), columns in [-1, 1]. Prints one JSON object: accuracy of each rival,
by owners' rows alone and with the public rows beside them, whose lengths then tell its bounds as
well. `epsilon`
is for a row: whoever protects owners of several rows gives each row its part.
"""

import json
import sys
import warnings
from collections.abc import Callable
from importlib import import_module  # our type checker does not have the rivals
from typing import Any

import numpy as np

_LENGTH = 0.95  # quantile of public rows' lengths that a norm is taken from
_ROUNDS = 300


def _logistic(known: dict[str, Any], epsilon: float, delta: float, seed: int) -> Any:
    """Logistic regression of diffprivlib; without public rows a row may be as long as its columns
    allow.
    """
    kind = import_module("diffprivlib.models").LogisticRegression
    norm = float(np.sqrt(known["X"].shape[1]))
    if len(known["public"]):
        norm = float(np.quantile(np.sqrt((known["public"] ** 2).sum(axis=1)), _LENGTH))
    return kind(epsilon=epsilon, data_norm=norm, max_iter=_ROUNDS, random_state=seed)


def _boosted(known: dict[str, Any], epsilon: float, delta: float, seed: int) -> Any:
    """Explainable boosting with differential privacy, of interpret."""
    kind = import_module("interpret.privacy").DPExplainableBoostingClassifier
    columns = known["X"].shape[1]
    bounds = dict.fromkeys(range(columns), (-1.0, 1.0))
    return kind(
        epsilon=epsilon,
        delta=delta,
        random_state=seed,
        n_jobs=1,
        feature_types=["continuous"] * columns,
        privacy_bounds=bounds,
    )


RIVALS: dict[str, Callable[[dict[str, Any], float, float, int], Any]] = {
    "diffprivlib LR": _logistic,
    "DP-EBM": _boosted,
}


def main(path: str, epsilon: str, delta: str, seed: str) -> None:
    warnings.simplefilter("ignore")
    with np.load(path) as file:
        rows = {name: file[name] for name in file.files}
    found = {}
    for name, make in RIVALS.items():
        for beside in (False, True):
            public = rows["X_public"] if beside else rows["X_public"][:0]
            X = np.vstack([rows["X"], public])
            y = np.concatenate([rows["y"], rows["y_public"][: len(public)]])
            model = make({"X": X, "public": public}, float(epsilon), float(delta), int(seed))
            model.fit(X, y)
            right = float(np.mean(model.predict(rows["X_test"]) == rows["y_test"]))
            found[name + (", public rows too" if beside else "")] = right
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
