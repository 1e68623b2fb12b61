"""Where listening to those that are alike costs: participants with few rows, who cannot be told
apart, and participants of one law whose classes are frequent in other proportions.

    python -m benchmarks.alike_peers

Ten participants, rows of eight made-up columns in two classes, means over runs with standard errors
of what is served, of own models, and of the number of circles.
"""

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import make_classification

from tacit import PeerEnsemble
from tacit.learners.peers.alike import LISTENING

_PEERS, _RUNS, _KNOWN, _TEST = 10, 6, 2_000, 4_000
Rows = tuple[np.ndarray, np.ndarray]


def draw(rows: int, seed: int) -> tuple[Rows, Rows, Rows]:
    """Rows of participants, public rows, and rows to test on."""
    number = rows + _KNOWN + _TEST
    X, y = make_classification(number, n_features=8, class_sep=1.2, random_state=seed)
    ends = rows, rows + _KNOWN
    parts = zip(np.split(X, ends), np.split(y, ends), strict=True)
    first, known, test = parts
    return first, known, test


def few_rows(method: str, listen_to: str) -> Iterator[tuple[float, ...]]:
    """800 rows each, at epsilon 0.5."""
    for seed in range(_RUNS):
        (X, y), known, test = draw(800 * _PEERS, seed)
        model = PeerEnsemble(epsilon=0.5, method=method, listen_to=listen_to, random_state=seed)
        model.fit(X, y, owners=np.arange(len(y)) % _PEERS, public=known)
        yield _figures(model, test)


def other_frequencies(method: str, listen_to: str) -> Iterator[tuple[float, ...]]:
    """Every other has class 1 in a quarter of its rows, the rest in three quarters."""
    for seed in range(_RUNS):
        (X, y), known, test = draw(70_000, seed)
        who = np.arange(len(y)) % _PEERS
        chance = np.where((who % 2 == 0) == (y == 1), 0.2, 0.6)
        kept = np.random.default_rng(seed).uniform(size=len(y)) < chance
        model = PeerEnsemble(epsilon=1.0, method=method, listen_to=listen_to, random_state=seed)
        model.fit(X[kept], y[kept], owners=who[kept], public=known)
        yield _figures(model, test)


def _figures(model: PeerEnsemble, test: Rows) -> tuple[float, ...]:
    own = [each.score(*test) for each in model.models_.values()]
    return 100 * model.score(*test), 100 * float(np.mean(own)), len(model.circles_)


def main() -> None:
    """All settings, a line each."""
    warnings.simplefilter("ignore")  # seeds are not private, and meant here
    for world in (few_rows, other_frequencies):
        for method in ("turns", "stumps"):
            for listen_to in LISTENING:
                found = np.array(list(world(method, listen_to)))
                served, own, circles = found.mean(axis=0)
                error = found[:, 0].std(ddof=1) / np.sqrt(_RUNS)
                print(
                    f"{world.__name__}, {method}, {listen_to}: served {served:.1f} ± {error:.1f}, "
                    f"own {own:.1f}, circles {circles:.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
