"""Work spread over the cores of this machine, for kernels that release the interpreter's lock.

Pieces must be independent: then the result is the same on any number of cores.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pieces(n: int, least: int, most: int | None = None) -> list[slice]:
    """0 .. n in one piece per core, none smaller than is worth a thread (`least`) or larger than
    `most`.

    >>> pieces(10, least=5, most=5)
    [slice(0, 5, None), slice(5, 10, None)]
    >>> pieces(10, least=10)
    [slice(0, 10, None)]
    """
    size = max(1, least, -(-n // cores()))
    size = size if most is None else max(1, min(most, size))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def spread(work: Callable[[slice], None], parts: Iterable[slice]) -> None:
    """Do all parts, the calling thread among the workers; one part, or one core, needs no other
    thread.
    """
    waiting = list(parts)
    others = min(cores(), len(waiting)) - 1
    queue = iter(waiting)

    def drain() -> None:
        for part in queue:
            work(part)

    if others < 1:
        drain()
        return
    with ThreadPoolExecutor(others) as pool:
        running = [pool.submit(drain) for _ in range(others)]
        drain()
        for other in running:
            other.result()
