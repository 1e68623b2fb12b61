"""One method on one file of rows, measured. Run by the interpreter that has the method.

    python sizes_child.py METHOD rows.npz

Prints one JSON object: seconds, seconds of processor, bytes of the peak beyond what was held
before, accuracy on the test rows.
"""

import json
import sys
import time
import warnings
from contextlib import suppress
from importlib import import_module  # our type checker does not have the rivals
from pathlib import Path
from typing import Any

import numpy as np

_EPSILON, _DELTA, _SEED, _WARM = 1.0, 1e-6, 1, 2000


def fit(method: str, rows: dict[str, Any], X: Any, y: Any) -> Any:
    """A fitted model with `predict`."""
    if method.startswith("tacit"):
        trust = "two servers" if method.endswith("two servers") else "nobody"
        made = import_module("tacit").PrivateClassifier(_EPSILON, trust=trust, random_state=_SEED)
        return made.fit(X, y, public=(rows["X_public"], rows["y_public"]))
    if method == "diffprivlib LR":
        kind = import_module("diffprivlib.models").LogisticRegression
        norm = float(np.sqrt(X.shape[1]))
        return kind(epsilon=_EPSILON, data_norm=norm, max_iter=300, random_state=_SEED).fit(X, y)
    if method == "DP-EBM":
        kind = import_module("interpret.privacy").DPExplainableBoostingClassifier
        columns = X.shape[1]
        settings = {
            "feature_types": ["continuous"] * columns,
            "privacy_bounds": dict.fromkeys(range(columns), (-1.0, 1.0)),
        }
        return kind(epsilon=_EPSILON, delta=_DELTA, random_state=_SEED, n_jobs=1, **settings).fit(
            X, y
        )
    if method == "LR in pfl's simulation":
        return import_module("sizes_pfl").fit_in_pfl(X, y, _EPSILON, _DELTA, _SEED)
    return import_module("sklearn.linear_model").LogisticRegression(max_iter=300).fit(X, y)


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def main(method: str, path: str) -> None:
    warnings.simplefilter("ignore")
    with np.load(path) as file:
        rows = {name: file[name] for name in file.files}
    if method.startswith("tacit"):
        import_module("tacit._util.kernels").compile_at_once()
    fit(method, rows, rows["X"][:_WARM], rows["y"][:_WARM])
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    before, began, worked = _status("VmRSS"), time.perf_counter(), time.process_time()
    model = fit(method, rows, rows["X"], rows["y"])
    found = {
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - worked,
        "bytes": _status("VmHWM") - before,
        "accuracy": float(np.mean(model.predict(rows["X_test"]) == rows["y_test"])),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
