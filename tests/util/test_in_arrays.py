"""What NumPy does in place of compiled loops: the same bits, and small fits load no compiler."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import Ball, PrivUnit, seeded
from tacit._util import kernels
from tacit._util.kernels import Kernel, affine, exponential, exponentials, in_arrays, interpreted
from tacit.data.cohort import BlockOwners
from tacit.learners.models import features, scores
from tacit.learners.owners.gradient import mean_shortened
from tacit.mechanisms import codewords, privunit, spaces

ODD = np.array([0.0, -0.0, 1e-320, -3.0, np.inf, -np.inf, np.nan, 1e308, -1e308])
Case = tuple[Kernel[Any, Any], Callable[[np.random.Generator], tuple[Any, ...]]]


def _odd_rows(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Ordinary numbers, with a few that are not."""
    X = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-3, 4, size=(rows, columns))
    X[rng.random(X.shape) < 0.05] = rng.choice(ODD)
    return X


def _affine(rng: np.random.Generator) -> tuple[Any, ...]:
    X, matrix = _odd_rows(rng, 63, 7), rng.normal(size=(7, 3))
    return X, rng.normal(size=7), matrix, np.full((63, 3), 9.0)


def _affine_to_two(rng: np.random.Generator) -> tuple[Any, ...]:
    X, centre, matrix, _ = _affine(rng)
    return X, centre, np.ascontiguousarray(matrix[:, :2]), np.full((63, 2), 9.0)


def _softmax(rng: np.random.Generator) -> tuple[Any, ...]:
    return 300 * _odd_rows(rng, 80, 4), np.empty((80, 4))


def _trees(rng: np.random.Generator) -> tuple[Any, ...]:
    column = np.array([0, 2, -1, -1, 1, -1, -1, -1])  # a tree of three cuts, and a bare leaf
    left, right = np.array([1, 2, 0, 0, 5, 0, 0, 0]), np.array([4, 3, 0, 0, 6, 0, 0, 0])
    roots, classes, value = np.array([0, 7]), np.array([1, 0]), rng.normal(size=8)
    trees = scores.Trees(column, rng.normal(size=8), left, right, value, roots, classes)
    return _odd_rows(rng, 150, 3), trees._walk, value, classes, np.ones((150, 2))


def _steps(rng: np.random.Generator) -> tuple[Any, ...]:
    size = 80  # nodes ask or are leaves at random; the last two can only be leaves
    here = np.arange(size - 2)
    left, right = (np.append(rng.integers(here + 1, size), [0, 0]) for _ in range(2))
    column = np.where(rng.random(size) < 0.7, 2, -1)
    column[-2:] = -1
    return left, right, column, np.zeros(size, dtype=np.int64)


def _marks(rng: np.random.Generator) -> tuple[Any, ...]:
    X, walk, *_ = _trees(rng)
    return X, walk, np.array([1, 0, 1, 2, 0, 3, 4, 5]), np.zeros((150, 7))


def _products(rng: np.random.Generator) -> tuple[Any, ...]:
    return _odd_rows(rng, 60, 5), np.zeros((60, 23)), 2


def _waves(rng: np.random.Generator) -> tuple[Any, ...]:
    angle = _odd_rows(rng, 200, 6) * 10.0 ** rng.integers(-2, 6, size=(200, 6))
    return angle, np.zeros((200, 15)), 1


def _scaled(rng: np.random.Generator) -> tuple[Any, ...]:
    return _odd_rows(rng, 60, 7), 0.2, rng.normal(size=6), rng.normal(size=6)


def _shares(rng: np.random.Generator) -> tuple[Any, ...]:
    counts = rng.integers(0, 4, size=20)
    offsets, rows = np.concatenate([[0], np.cumsum(counts)]), int(counts.sum())
    phi = _odd_rows(rng, rows, 5)
    of = BlockOwners(offsets, counts + rng.integers(1, 3, size=20))
    longest = np.abs(_odd_rows(rng, rows, 1)[:, 0])
    return rng.normal(size=(rows, 2)), phi, longest, 0.7, of, rng.normal(size=(20, 2, 5))


def _ball(rng: np.random.Generator) -> tuple[Any, ...]:
    rows = _odd_rows(rng, 300, 6)
    rows[:100] /= 1e4
    rows[100:200] = rng.choice(ODD, size=(100, 6))
    return rows, 0.7, rows.copy()


def _draw(rng: np.random.Generator) -> tuple[Any, ...]:
    mechanism = PrivUnit(epsilon=float(rng.choice([0.1, 1.0, 8.0])), space=Ball(dim=6))
    shares = rng.normal(size=(200, 6)) / 6
    shares[::50], shares[1] = 0.0, [1.0, 0, 0, 0, 0, 0]
    cap = mechanism.laws[0]
    constants = [cap.candidates, cap.favoured, cap.high, cap.low, cap.total]
    law = privunit._CapLaw(np.array(constants, dtype=np.uint64), 1.0)
    tape = rng.integers(0, 1 << 64, size=(200, 4), dtype=np.uint64)
    tape[:3, -1] = [0, 1, (1 << 64) - 1]  # one that is drawn again, and both ends
    return shares, tape, law, np.zeros((200, 1), dtype=np.uint64), np.ones(200, dtype=np.bool_)


def _names(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 1 << 64, size=500, dtype=np.uint64)


def _sum(rng: np.random.Generator) -> tuple[Any, ...]:
    return _names(rng), 10, np.ones(9, dtype=np.int64), np.ones(9, dtype=np.int64)


def _fill(rng: np.random.Generator) -> tuple[Any, ...]:
    return _names(rng), np.zeros((500, 9), dtype=np.int64)


CASES: dict[str, Case] = {
    "affine": (affine, _affine),
    "affine to two columns": (affine, _affine_to_two),
    "softmax": (scores._softmax, _softmax),
    "steps": (scores._count_steps, _steps),
    "trees": (scores._add_scores, _trees),
    "marks": (scores._mark_leaves, _marks),
    "products": (features._products, _products),
    "waves": (features._waves, _waves),
    "scaled": (features._scale, _scaled),
    "shares": (mean_shortened, _shares),
    "ball": (spaces.move_inside, _ball),
    "draw": (privunit._draw_codewords, _draw),
    "sum": (privunit._sum, _sum),
    "codewords": (codewords._fill, _fill),
}


def form_of(loop: Kernel[Any, Any]) -> tuple[Callable[..., Any], Callable[..., int]]:
    """What NumPy does in place of a loop, and on how many numbers."""
    found = loop._arrays
    assert found is not None
    return found


def _arrays(given: Any) -> Iterator[np.ndarray]:
    for each in given:
        if isinstance(each, np.ndarray):
            yield each


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_numpy_gives_the_bits_of_the_loop(name, seed):
    loop, make = CASES[name]
    found, wanted = make(np.random.default_rng(seed)), make(np.random.default_rng(seed))
    with np.errstate(all="ignore"):
        with interpreted():
            form_of(loop)[0](*found)
        loop(*wanted)
    for one, other in zip(_arrays(found), _arrays(wanted), strict=True):
        np.testing.assert_array_equal(one, other)
        assert (np.signbit(one) == np.signbit(other))[~np.isnan(one)].all()


def test_each_loop_that_numpy_can_do_is_compared():
    sources = Path(kernels.__file__).parents[1]
    known = {loop.__wrapped__ for loop, _ in CASES.values()}
    for path in sources.rglob("*.py"):
        if ".by_arrays(" in path.read_text():
            module = import_module(
                ".".join(("tacit", *path.relative_to(sources).with_suffix("").parts))
            )
            for each in vars(module).values():
                if isinstance(each, Kernel) and each._arrays is not None:
                    assert each.__wrapped__ in known, each.__wrapped__


def test_exponentials_are_those_of_the_loop():
    x = np.concatenate(
        [ODD, [-708.0, -708.1, 709.0, 709.1], np.random.default_rng(1).normal(0, 300, 5000)]
    )
    with interpreted():
        wanted = np.array([exponential(np.float64(each)) for each in x])
    assert exponentials(x).tobytes() == wanted.tobytes()


def test_threads_draw_by_arrays_too(monkeypatch):
    """And whatever patience is left when they begin, reports are the same."""
    mechanism = PrivUnit(epsilon=1.0, space=Ball(dim=10))
    shares = np.random.default_rng(1).normal(size=(40_000, 10)) / 10
    wanted = mechanism.randomize(shares, seeded(1)).points
    calls: list[Any] = []
    form, steps = form_of(privunit._draw_codewords)

    def noted(*given):
        calls.append(given)
        form(*given)

    monkeypatch.setattr(privunit._draw_codewords, "_arrays", (noted, steps))
    monkeypatch.setattr(privunit._draw_codewords, "_compiled", None)
    monkeypatch.setattr(kernels._PATIENCE, "left", 10**12)  # earlier tests may have used it up
    with in_arrays():
        assert (mechanism.randomize(shares, seeded(1)).points == wanted).all()
    assert len(calls) > 1


_FIT = """
import sys
from pathlib import Path
import numpy as np
from tacit import PrivateClassifier, plan
from tacit._util import kernels

kernels._PATIENCE.left = int(sys.argv[1])
rng = np.random.default_rng(1)
X = rng.normal(size=(6000, 4))
y = (X[:, 0] - X[:, 1] + rng.normal(size=6000) > 0).astype(int)
model = PrivateClassifier(2.0, random_state=1).fit(X[100:], y[100:], public=(X[:100], y[:100]))
plan(X[:100], y[:100], owners=5900, epsilon=2.0)
model.save(sys.argv[2])
print(model.ended_, "numba" in sys.modules)
"""


def test_a_small_fit_loads_no_compiler_and_has_the_bytes_of_one_that_does(tmp_path):
    said = {}
    for patience in (1 << 31, 0):
        command = [sys.executable, "-c", _FIT, str(patience), str(tmp_path / str(patience))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        said[patience] = done.stdout.split()[-1]
    assert said == {1 << 31: "False", 0: "True"}
    assert (tmp_path / "0").read_bytes() == (tmp_path / str(1 << 31)).read_bytes()
