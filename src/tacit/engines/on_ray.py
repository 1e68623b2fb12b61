"""Ray as the workers of `ByBlock`: each block of owners is a task. `tacit[ray]` installs it.

A task is told where the rows are, not the rows (those in memory aside): files must be where every
node can read them, and so must TMPDIR where a column names owners. What comes back are totals of a
few kilobytes. A task that is lost with its worker or node is done again by another; since it is a
function of the rows and of tapes by owners' numbers, and totals are whole numbers, nothing of that
shows in the answer. With secure coins it is drawn anew, and only what came back counts.

No dashboard, no usage statistics: nothing of a fit leaves the cluster.
"""

import os
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from tacit.data.owner_blocks import Workers

_AHEAD = 4  # tasks that wait for each core of the cluster
_RETRIES = 8
_PATIENCE = 10.0  # seconds to wait for an address to answer


def ray_workers(where: str) -> Workers:
    """Workers on the Ray that is running in this process, else on the one that `where` or
    RAY_ADDRESS names, else on one of this machine that is started.
    """
    import ray

    if not ray.is_initialized():
        _connect(ray, "" if where == "ray" else where)

    def spread(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        return _results(ray, function, tasks)

    return spread


def _connect(ray: Any, address: str) -> None:
    """Use the Ray at an address, or that of RAY_ADDRESS, or start one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    named = address or os.environ.get("RAY_ADDRESS", "")
    if named:
        _probe(named)
    started: dict[str, Any] = {} if named else {"include_dashboard": False}
    try:
        ray.init(address or None, log_to_driver=False, logging_level="ERROR", **started)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError, ImportError) as problem:
        raise _unreachable(named or "this machine", type(problem).__name__) from None


def _probe(address: str) -> None:
    """Refuse an address at which nobody listens: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
        except OSError as problem:
            raise _unreachable(address, problem.strerror or type(problem).__name__) from None
    elif address not in ("auto", "local"):
        raise ValueError(f"engine must be ray or ray://host:port, got {address!r}")


def _unreachable(address: str, why: str) -> ValueError:
    return ValueError(
        f"no Ray can be reached at {address} ({why}): see that it runs (ray status) and that its "
        "address is right, or ask in this process (inline)"
    )


def _results(ray: Any, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
    """Results in the order of tasks, so many tasks ahead as keep all cores busy; whoever stops
    listening cancels the rest.
    """
    remote = ray.remote(_do).options(max_retries=_RETRIES, num_cpus=1)
    most = max(2, int(_AHEAD * ray.cluster_resources().get("CPU", 1)))
    left, running = iter(tasks), deque[Any]()

    def send(task: Any) -> Any:
        return remote.remote(function, ray.cloudpickle.dumps(task))

    try:
        running.extend(send(task) for task in islice(left, most))
        while running:
            yield _one(ray, running[0])
            running.popleft()
            running.extend(send(task) for task in islice(left, 1))
    finally:
        for task in running:
            ray.cancel(task, force=False)


def _do(function: Callable[[Any], Any], packed: bytes) -> Any:
    """At a worker. Ray would hand over arrays that must not be written to, for which all kernels
    would be compiled once more; packed whole, tasks and results are as they were.
    """
    import ray

    return ray.cloudpickle.dumps(function(ray.cloudpickle.loads(packed)))


def _one(ray: Any, waiting: Any) -> Any:
    """One result; what a task says is wrong with its rows is said as it would be here."""
    try:
        return ray.cloudpickle.loads(ray.get(waiting))
    except ray.exceptions.RayTaskError as problem:
        cause = getattr(problem, "cause", None)
        if isinstance(cause, ValueError | OSError | TypeError | MemoryError):
            raise type(cause)(str(cause)) from None
        raise
    except ray.exceptions.RayError as problem:
        raise ValueError(
            f"Ray lost a block of owners {_RETRIES} times ({type(problem).__name__}): look at its "
            "nodes (ray status); nothing was written"
        ) from None
