"""A Prometheus server of one's own on loopback, which reads what services show; its program must be
on the PATH. What it is asked is what Grafana asks.
"""

import json
import math
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

_READY = 120.0  # seconds until it answers


class MissingError(Exception):
    """A program is not here; the message says how to get it."""


def program() -> str:
    """Where Prometheus is."""
    found = shutil.which("prometheus")
    if found is None:
        raise MissingError("prometheus is not on the PATH: apt-get install prometheus")
    return found


@contextmanager
def prometheus(
    watched: Sequence[str], folder: Path, every: float = 5.0, job: str = "tacit"
) -> Iterator[httpx.Client]:
    """Prometheus on a free port, reading what some addresses show; ended at the end."""
    settings = {
        "global": {"scrape_interval": f"{every:g}s"},
        "scrape_configs": [
            {
                "job_name": job,
                "static_configs": [{"targets": [each.split("//")[1] for each in watched]}],
            }
        ],
    }
    (folder / "prometheus.yml").write_text(json.dumps(settings))  # which YAML is, too
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        program(),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        running_program = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0) as client:
            _wait_for(client)
            yield client
    finally:
        running_program.terminate()
        running_program.wait(60)


def _wait_for(client: httpx.Client) -> None:
    until = time.monotonic() + _READY
    while time.monotonic() < until:
        try:
            if client.get("/-/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise RuntimeError("Prometheus was not ready in time")


def at(client: httpx.Client, expression: str, moment: float | None = None) -> list[dict[str, Any]]:
    """The lines that a query gives at a moment (default: now), each with one value."""
    asked: dict[str, str | float] = {"query": expression}
    return _lines(client, "query", asked if moment is None else {**asked, "time": moment})


def over(
    client: httpx.Client, expression: str, span: tuple[float, float], step: float
) -> list[dict[str, Any]]:
    """The lines of a graph: from when to when, and seconds from point to point."""
    # as Grafana does: points of a graph stay where they are while time goes on
    start, end = (math.floor(each / step) * step for each in span)
    asked: dict[str, str | float] = {"query": expression, "start": start, "end": end, "step": step}
    return _lines(client, "query_range", asked)


def _lines(
    client: httpx.Client, path: str, asked: Mapping[str, str | float]
) -> list[dict[str, Any]]:
    """What it answers; ValueError for a query that it refuses."""
    found = client.get(f"/api/v1/{path}", params=dict(asked)).json()
    if found["status"] != "success":
        raise ValueError(f"{asked['query']}: {found.get('error', found['status'])}")
    return list(found["data"]["result"])
