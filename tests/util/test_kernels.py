"""Kernels that are compiled when they are called, or not at all."""

import subprocess
import sys
from threading import Thread

import numpy as np
import pytest

from tacit._util.kernels import Kernel, affine, exponential, high_half, interpreted, turn


@pytest.mark.parametrize("width", [1, 2, 7])
def test_interpreted_loops_give_the_same_bits(width):
    rng = np.random.default_rng(1)
    X, centre = rng.normal(size=(20, 5)), rng.normal(size=5)
    X[3] = centre
    matrix = rng.normal(size=(5, width))
    compiled, plain = np.empty((20, width)), np.empty((20, width))
    affine(X, centre, matrix, compiled)
    with interpreted():
        affine(X, centre, matrix, plain)
    assert np.array_equal(compiled, plain)
    assert (compiled[3] == 0).all()


@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("terms", range(1, 10))
def test_terms_are_added_one_after_the_other(terms, width):
    rng = np.random.default_rng(terms)
    X, centre = rng.normal(size=(30, terms)), rng.normal(size=terms)
    X[rng.random(X.shape) < 0.3], X[4] = 0.0, centre
    matrix = rng.normal(size=(terms, width)) * 10.0 ** rng.integers(-9, 9, size=(terms, width))
    found, wanted = np.empty((30, width)), np.zeros((30, width))
    affine(X, centre, matrix, found)
    for j in range(terms):  # in another order the last bits differ
        wanted += (X[:, [j]] - centre[j]) * matrix[j]
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("function", [exponential, turn])
def test_interpreted_functions_give_the_same_bits(function):
    odd = [0.0, -0.0, -708.0, -708.1, 709.0, 709.1, 1e6, 1.1e6, np.inf, -np.inf, np.nan]
    rng = np.random.default_rng(2)
    values = [np.float64(x) for x in (*odd, *rng.normal(scale=300, size=2000))]
    compiled = [function(x) for x in values]
    with interpreted():
        plain = [function(x) for x in values]
    assert np.array_equal(compiled, plain, equal_nan=True)


def test_threads_that_call_first_at_once_compile_once():
    def twice(x):
        return 2 * x

    double: Kernel[[float], float] = Kernel(twice)
    made = []
    threads = [Thread(target=lambda: made.append(double.compiled)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(each) for each in made}) == 1
    assert double(3.0) == 6.0


def test_the_compiler_is_loaded_by_the_first_call_and_not_before():
    program = """
import sys, numpy as np, tacit.sums.prio3.fields, tacit.mechanisms.privunit
from tacit._util.kernels import exponential, interpreted
with interpreted():
    exponential(1.0)
print("numba" in sys.modules)
exponential(1.0)
print("numba" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == ["False", "True"]


def test_instructions_are_for_compiled_loops():
    with interpreted(), pytest.raises(TypeError, match="high_half"):
        high_half(1, 2)
