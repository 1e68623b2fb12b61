"""ONNX graphs against the models they were made of, a million rows of each kind:
`python -m benchmarks.onnx_rows --rows 1000000`, or one kind: `--kind "classifier, two servers"`.

Prints the largest difference of a probability and how many labels differ, of a model of numbers
that of a prediction in parts of its range; the seconds of processor of either side, and how much
memory was needed beyond that of the first blocks. Exit status 1 beyond 1e-6.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from onnxruntime import InferenceSession
from sklearn.datasets import make_classification

from tacit import (
    PeerEnsemble,
    PrivateBoosting,
    PrivateClassifier,
    SiteEnsemble,
    SiteEnsembleRegressor,
)
from tacit._util.types import AnyArray
from tacit.data.schema import Category
from tacit.estimators.export import write_onnx

_BLOCK = 2_000  # a graph holds all that it makes of a block: of two servers' features 32 MB each
_SAMPLE = 6_000


def kinds() -> dict[str, Callable[[], Any]]:
    """One of every kind, to be fitted to made-up rows with seeded coins."""
    X, y = make_classification(_SAMPLE, n_features=12, n_informative=8, n_classes=3, random_state=1)
    two = (y > 0).astype(int)
    sites = np.arange(_SAMPLE - 500) % 5
    own, own_two = (X[:500], y[:500]), (X[:500], two[:500])
    rest, labels, pairs = X[500:], y[500:], two[500:]
    numbers = X[:, 0] + X[:, 1]
    servers = PrivateClassifier(4.0, trust="two servers", random_state=1)
    found: dict[str, Callable[[], Any]] = {
        "classifier": partial(PrivateClassifier(8.0, random_state=1).fit, rest, labels, public=own),
        "classifier, two servers": partial(servers.fit, rest, pairs, public=own_two),
    }
    for learner in ("stump", "centroid", "logistic"):
        boosting = PrivateBoosting(learner, epsilon=8.0, rounds=4, random_state=1)
        found[f"boosting, {learner}"] = partial(boosting.fit, rest, labels, public=own)
    grouped = partial(SiteEnsemble(epsilon=8.0, random_state=1).fit, rest, labels, owners=sites)
    regressor = SiteEnsembleRegressor(epsilon=8.0, random_state=1)
    found["sites"] = partial(grouped, public=own)
    found["sites, numbers"] = partial(
        regressor.fit, rest, numbers[500:], owners=sites, public=(X[:500], numbers[:500])
    )
    for method in ("turns", "stumps", "trees"):
        peers = PeerEnsemble(epsilon=8.0, rounds=10, method=method, random_state=1)
        found[f"peers, {method}"] = partial(peers.fit, rest, pairs, owners=sites, public=own_two)
    table = mixed_columns(np.random.default_rng(3), _SAMPLE)
    known = (table["n"] * (table["kind"] == "u") + table["is"] > 0.5).astype(int)
    mine = {name: column[:500] for name, column in table.items()}, known[:500]
    theirs = {name: column[500:] for name, column in table.items()}, known[500:]
    mixed = PrivateClassifier(8.0, random_state=1)
    found["classifier, mixed columns"] = partial(mixed.fit, *theirs, public=mine)
    return found


def mixed_columns(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Numbers, texts, truth values and codes, of which some are missing or unknown."""
    return {
        "n": np.where(rng.random(rows) < 0.05, np.nan, rng.normal(size=rows)),
        "kind": rng.choice(np.array(["u", "v", "w", "u v", "é"]), rows).astype(object),
        "is": rng.random(rows) < 0.5,
        "code": rng.integers(0, 9, rows),
    }


def main() -> None:
    """Compare every kind of model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    known = kinds()
    parser.add_argument("--kind", choices=list(known), help="this kind alone")
    given = parser.parse_args()
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name in known if given.kind is None else (given.kind,):
            worst = max(worst, compare(name, known[name](), given.rows, Path(folder)))
    sys.exit(int(not worst <= 1e-6))


def compare(name: str, model: object, rows: int, folder: Path) -> float:
    """The largest difference of a probability, or of a prediction in parts of its range."""
    fitted: Any = model
    write_onnx(fitted.content(), folder / "m.onnx")
    session = InferenceSession(str(folder / "m.onnx"), providers=["CPUExecutionProvider"])
    rng, worst, others, ours, theirs = np.random.default_rng(2), 0.0, 0, 0.0, 0.0
    held = 0
    for start in range(0, rows, _BLOCK):
        X, given = made_rows(fitted, min(_BLOCK, rows - start), rng)
        began = time.process_time()
        said = fitted.predict(X)
        if isinstance(fitted, SiteEnsembleRegressor):
            ran = time.process_time()
            (told,) = session.run(["prediction"], given)
            ended = time.process_time()
            spread = fitted.range_.high - fitted.range_.low
            worst = max(worst, float(np.abs(told[:, 0] - said).max()) / spread)
        else:
            likely = fitted.predict_proba(X)
            ran = time.process_time()
            label, chances = session.run(["label", "probabilities"], given)
            ended = time.process_time()
            worst = max(worst, float(np.abs(chances - likely).max()))
            others += int(np.count_nonzero(label != said))
        ours, theirs = ours + ran - began, theirs + ended - ran
        held = held if start > 10 * _BLOCK else _peak()
    print(
        f"{name}: {rows:,} rows, largest difference {worst:.1e}, {others} other labels; ours "
        f"{ours:.0f} s, onnxruntime {theirs:.0f} s; memory {held:,} MB, then {_peak() - held} more"
    )
    return worst


def made_rows(fitted: Any, rows: int, rng: np.random.Generator) -> tuple[Any, dict[str, AnyArray]]:
    """Rows for the model, and the same for its graph; of mixed columns a fifth of texts is unknown
    or empty, and truth values are written as Python does.
    """
    features = fitted.schema_.features
    if not any(isinstance(feature, Category) for feature in features):
        X = rng.normal(scale=2.0, size=(rows, fitted.n_features_in_))
        return X, {str(each.name): X[:, [place]] for place, each in enumerate(features)}
    table = mixed_columns(rng, rows)
    odd = rng.random(rows) < 0.2
    table["kind"][odd] = rng.choice(np.array(["never seen", ""]), int(odd.sum()))
    given = {}
    for name, column in table.items():
        is_text = column.dtype.kind in "Ob"
        values = np.array([str(each) for each in column], dtype=object) if is_text else column
        given[name] = (values if is_text else values.astype(np.float64))[:, np.newaxis]
    return table, given


def _peak() -> int:
    """The most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
