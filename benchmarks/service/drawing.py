"""The dashboard as Grafana's own components draw it, from what a Prometheus answers, as pictures.

What Grafana's server does on the way is done here: its variables are put in, the seconds between
points are chosen, and points become frames (`grafana/draw.jsx`). The components come from npm,
once, into `.cache/grafana`; a browser without a window takes the pictures.
"""

import json
import math
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from benchmarks.service.prometheus import MissingError, at, over

THEMES = "light", "dark"
_PAGE = Path(__file__).parent / "grafana"
_BUILT = Path(__file__).parents[2] / ".cache" / "grafana"
_BROWSERS = "chromium", "chromium-browser", "google-chrome"
_QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--virtual-time-budget=30000"),
)
_WIDTH = 1600  # pixels
_PATIENCE = 180.0  # seconds for a picture
_LINES = 4  # of what a program says when it fails
_CELL, _MARGIN = 38, 16  # of Grafana's grid, as draw.jsx has them
_DAY = 86_400.0
# seconds between points below which seconds, and the round time that Grafana takes; to half a day
_ROUND = (
    *((1.5, 1.0), (3.5, 2.0), (7.5, 5.0), (12.5, 10.0), (17.5, 15.0), (25.0, 20.0), (45.0, 30.0)),
    *((90.0, 60.0), (210.0, 120.0), (450.0, 300.0), (750.0, 600.0), (1050.0, 900.0)),
    *((1500.0, 1200.0), (2700.0, 1800.0), (5400.0, 3600.0), (9000.0, 7200.0)),
    *((16_200.0, 10_800.0), (32_400.0, 21_600.0), (_DAY, 43_200.0)),
)
_FRAME = """<!doctype html><meta charset="utf-8"><title>tacit</title>
<link rel="stylesheet" href="draw.css"><div id="board"></div>
<script type="module" src="draw.js"></script>
"""


def chosen(span: float, every: float, panel: Mapping[str, Any]) -> tuple[float, str]:
    """Seconds between points, and `$__rate_interval`, as Grafana chooses them for a panel: about a
    point a pixel, in round times, never closer than Prometheus looks; four looks at least in a
    rate.
    """
    apart = span / (panel["gridPos"]["w"] * _WIDTH / 24)
    step = max(every, next((step for below, step in _ROUND if apart < below), _DAY))
    return step, f"{math.ceil(max(step + every, 4 * every))}s"


def ask_panels(
    client: httpx.Client, board: dict[str, Any], span: tuple[float, float], every: float
) -> dict[str, Any]:
    """All that the page draws: the board, and the lines of each panel's queries."""
    answers, steps = {}, {}
    for panel in board["panels"]:
        step, rate = chosen(span[1] - span[0], every, panel) if panel["type"] != "row" else (0, "")
        put_in = {"$__rate_interval": rate, "$__range": f"{math.ceil(span[1] - span[0])}s"}
        answers[panel["id"]] = [
            _ask(client, target, with_choices(target["expr"], put_in), span, step)
            for target in panel.get("targets", ())
        ]
        steps[panel["id"]] = step
    return {"board": board, "from": span[0], "to": span[1], "steps": steps, "answers": answers}


def _ask(
    client: httpx.Client,
    target: Mapping[str, Any],
    expression: str,
    span: tuple[float, float],
    step: float,
) -> list[dict[str, Any]]:
    """What a panel shows of the whole time, or, where it says so, of its end."""
    if target.get("instant"):
        return at(client, expression, span[1])
    return over(client, expression, span, step)


def with_choices(expression: str, more: Mapping[str, str]) -> str:
    """An expression with all campaigns chosen, and the rest of Grafana's variables."""
    for name, value in {"$campaign": ".*", **more}.items():
        expression = expression.replace(name, value)
    return expression


def tools() -> tuple[str, str]:
    """Where npm and a browser are."""
    npm = shutil.which("npm")
    if npm is None:
        raise MissingError("npm is not on the PATH: apt-get install npm (Node 20 or later)")
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise MissingError("no chromium is on the PATH: apt-get install chromium")
    return npm, browser


def build(npm: str) -> Path:
    """The page's folder, made of Grafana's components; they are fetched the first time."""
    _BUILT.mkdir(parents=True, exist_ok=True)
    wanted = (_PAGE / "package.json").read_bytes()
    has = _BUILT / "package.json"
    if not (_BUILT / "node_modules").exists() or not has.exists() or has.read_bytes() != wanted:
        has.write_bytes(wanted)
        # react-table, which nothing here draws with, asks for an earlier React
        quiet = "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"
        _run([npm, "install", *quiet, "--legacy-peer-deps", "--loglevel=error"], "npm install")
    shutil.copyfile(_PAGE / "draw.jsx", _BUILT / "draw.jsx")
    shutil.rmtree(_BUILT / "built", ignore_errors=True)
    _run([npm, "run", "--silent", "build"], "npm run build")
    return _BUILT / "built"


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, cwd=_BUILT, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line.removeprefix("npm error ") for line in done.stderr.splitlines()]
        told = "; ".join(said[:_LINES]) or f"exit status {done.returncode}"
        raise MissingError(f"{what} failed: {told}")


def draw(asked: dict[str, Any], page: Path, browser: str, out: Path) -> list[Path]:
    """A picture for each theme."""
    (page / "index.html").write_text(_FRAME)
    (page / "draw.css").touch()
    (page / "asked.json").write_text(json.dumps(asked))
    places = [panel["gridPos"] for panel in asked["board"]["panels"]]
    height = _CELL * max(place["y"] + place["h"] for place in places) + 2 * _MARGIN
    out.mkdir(parents=True, exist_ok=True)
    with _served(page) as address:
        return [_take(browser, address, theme, height, out) for theme in THEMES]


def _take(browser: str, address: str, theme: str, height: int, out: Path) -> Path:
    """A picture of the page; one of before stays until there is another."""
    made = out.resolve() / f"dashboard-{theme}.png"
    with tempfile.TemporaryDirectory() as folder:
        taken = Path(folder) / made.name
        command = [browser, *_QUIET, f"--user-data-dir={folder}/profile"]
        command += [f"--window-size={_WIDTH},{height}", f"--screenshot={taken}"]
        command.append(f"{address}/index.html?theme={theme}")
        try:
            done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
        except subprocess.TimeoutExpired as problem:
            raise MissingError(f"{browser} made no picture in {_PATIENCE:g} s") from problem
        if not taken.exists():
            (out / "browser.log").write_bytes(done.stderr)
            raise MissingError(f"{browser} made no picture: see {out / 'browser.log'}")
        shutil.move(taken, made)
    return made


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """A folder's files on loopback."""
    handler = partial(_Silent, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass
