"""A kind of one's own is one file: a campaign of it runs over loopback without touching another."""

import asyncio
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvicorn

import tacit
from tacit.learners.models.ensemble import Ensemble
from tacit.service.device.client import Link
from tacit.service.device.disclosures import preview
from tacit.service.device.join import join
from tests.service.coordinator.made import folder_of, joining, running
from tests.service.kinds import own_kind

CAMPAIGN = """
kind = "bagging"
name = "trial"
sample = "mine.csv"
label = "ill"
epsilon = 8.0
groups = 3
owners_per_group = 8
start = 24
deadline = 60
"""
TOKENS = [f"token number {i:04d}" for i in range(24)]


@contextmanager
def served(app):
    """The address of a service on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


async def take_part(url, joining):
    link = Link.to(url, None)
    try:
        shown = await preview(joining, link, None)
        return shown, await join(joining, link, TOKENS)
    finally:
        await link.close()


def test_a_kind_is_one_file_of_under_80_lines():
    assert len(Path(own_kind.__file__).read_text().splitlines()) < 80


def test_a_campaign_of_ones_own_kind_runs_over_loopback(tmp_path):
    folder = folder_of(tmp_path, owners=24, text=CAMPAIGN)
    service = running(folder)
    service.store.add_tokens(TOKENS)
    with served(service.app) as url:
        shown, answered = asyncio.run(take_part(url, joining(folder)))
        while (model := httpx.get(f"{url}/v1/model")).status_code == 404:
            time.sleep(0.05)
        figures, page = httpx.get(f"{url}/v1/status").json(), httpx.get(url).text
    assert "asks for: the centroid share of your rows" in "\n".join(shown.lines)
    assert answered == 24
    assert figures["kind"] == "bagging"
    assert figures["ended"] == "3 of 3 groups"
    assert len(figures["progress"]) == 3
    assert "Groups done" in page
    (folder / "model.tacit").write_bytes(model.content)
    fitted = tacit.load(folder / "model.tacit")
    assert isinstance(fitted.ensemble_, Ensemble)
    assert [alpha for alpha, _ in fitted.ensemble_.members] == [1.0] * 3
    assert not fitted.guarantee_.void


def test_a_kind_of_another_distribution_is_found_by_its_entry_point(tmp_path):
    """In a process that has imported nothing of it."""
    about = tmp_path / "bagging-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: bagging\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[tacit.kinds]\nbagging = bagging_kind\n")
    (tmp_path / "bagging_kind.py").write_text(Path(own_kind.__file__).read_text())
    folder = folder_of(tmp_path, owners=1, text=CAMPAIGN)
    script = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from tacit.service.kinds import read_spec, read_terms\n"
        "from tacit.wire import encode\n"
        "terms, _ = read_spec(Path(sys.argv[1]) / 'campaign.toml').prepare()\n"
        "print(read_terms(encode(terms)).kind)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "bagging\n", done.stderr
