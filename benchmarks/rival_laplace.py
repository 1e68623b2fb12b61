"""Time per value of other libraries' Laplace mechanisms. Run by their interpreter; needs nothing of
ours.

The first line of output is a JSON object, name -> version, of the rivals. After that every line of
input, {"rival": name, "epsilon": 1.0, "values": 100000}, is answered by one line, {"seconds":
seconds per value}.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module  # our type checker does not have the rivals
from importlib.metadata import version

_WIDTH = 2.0  # of [-1, 1], where the values are
_OUR_GRID = -20  # log2 of the grid that our Piecewise releases on, relative to the radius


def _opendp(values: Sequence[float], epsilon: float, log_grid: int | None) -> float:
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=len(values))
    release = dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=_WIDTH / epsilon, k=log_grid)
    begin = time.perf_counter()
    release(values)
    return (time.perf_counter() - begin) / len(values)


def _diffprivlib(values: Sequence[float], epsilon: float) -> float:
    mechanism = import_module("diffprivlib.mechanisms").Laplace(epsilon=epsilon, sensitivity=_WIDTH)
    some = values[: max(1, len(values) // 10)]  # one call per value: nothing to amortise
    begin = time.perf_counter()
    for value in some:
        mechanism.randomise(value)
    return (time.perf_counter() - begin) / len(some)


def _rivals() -> dict[str, tuple[str, Callable[[Sequence[float], float], float]]]:
    return {
        "OpenDP Laplace": ("opendp", lambda values, epsilon: _opendp(values, epsilon, None)),
        "OpenDP Laplace, grid 2^-20": (
            "opendp",
            lambda values, epsilon: _opendp(values, epsilon, _OUR_GRID),
        ),
        "diffprivlib Laplace": ("diffprivlib", _diffprivlib),
    }


def main() -> None:
    """Answer requests until the input ends."""
    rivals = _rivals()
    print(
        json.dumps(
            {name: f"{package} {version(package)}" for name, (package, _) in rivals.items()}
        ),
        flush=True,
    )
    for line in sys.stdin:
        request = json.loads(line)
        count = int(request["values"])
        values = [2 * i / count - 1 for i in range(count)]
        _, measure = rivals[request["rival"]]
        print(json.dumps({"seconds": measure(values, float(request["epsilon"]))}), flush=True)


if __name__ == "__main__":
    main()
