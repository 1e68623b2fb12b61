"""The owner's page: what left, when, to whom, for how much, what is left; on this machine only."""

import asyncio
import socket
import subprocess
import sys

import httpx
import pytest
from benchmarks.loopback import serve

from tacit.service.device.disclosures import LedgerPage
from tacit.service.protocol.web import HEADERS
from tests.browser import browser, watched
from tests.owner.made import gate, policy, query, question

EVIL = "<img src=x onerror=alert(1)>"


def ledger(folder, owner="owner 0", campaign="trial"):
    door = gate(folder, owners=[owner], epsilon_total=1, releases=3)
    door.answer(question(1, asked=query(epsilons=(0.3,)), campaign=campaign))
    door.answer(question(2, asked=query(epsilons=(0.25,), mechanism="duchi"), campaign=campaign))
    return LedgerPage(
        folder / "ledger.db", folder / "ledger.mark", (), policy(epsilon_total=1, releases=3)
    )


def fetched(page, path, host="127.0.0.1:8420"):
    async def main():
        transport = httpx.ASGITransport(page.app())
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8420"
        ) as client:
            return await client.get(path, headers={"host": host})

    return asyncio.run(main())


def test_it_shows_releases_and_what_is_left(tmp_path):
    page = ledger(tmp_path)
    answer = fetched(page, f"{page.root}/")
    assert answer.status_code == 200
    for words in (
        "2 releases have left this machine, in 1 campaign.",
        "privunit",
        "duchi",
        "trial",
        "0.55",
        "0.45",
        "\N{MULTIPLICATION SIGN}1.35",  # e^0.3, rounded up
        'max="1.0" value="0.55"',
    ):
        assert words in answer.text, words
    assert HEADERS.items() <= dict(answer.headers).items()
    assert (
        fetched(page, f"{page.root}/static/tacit.css")
        .headers["content-type"]
        .startswith("text/css")
    )


def test_every_release_can_be_taken_along(tmp_path):
    page = ledger(tmp_path)
    assert f'href="{page.root}/ledger.json"' in fetched(page, f"{page.root}/").text
    answer = fetched(page, f"{page.root}/ledger.json")
    assert HEADERS.items() <= dict(answer.headers).items()
    assert [release["how"] for release in answer.json()["releases"]] == ["privunit", "duchi"]
    assert answer.json()["owners"]["owner 0"]["spent"] == "0.55"
    (tmp_path / "ledger.mark").unlink()
    assert fetched(page, f"{page.root}/ledger.json").status_code == 503


def test_names_are_escaped(tmp_path):
    page = ledger(tmp_path, owner=EVIL, campaign=EVIL)
    assert EVIL not in fetched(page, f"{page.root}/").text


@pytest.mark.parametrize(
    "host", ["attacker.example", "127.0.0.1.attacker.example", "192.0.2.1:8420", ""]
)
def test_other_names_for_this_machine_are_refused(tmp_path, host):
    page = ledger(tmp_path)
    answer = fetched(page, f"{page.root}/", host)
    assert answer.status_code == 400
    assert "trial" not in answer.text


def test_without_the_secret_there_is_nothing(tmp_path):
    page = ledger(tmp_path)
    assert len(page.root) > 20
    assert page.root != LedgerPage(tmp_path / "ledger.db", None, (), None).root
    for path in ("/", "/ledger", f"/{'x' * 22}/", "/static/tacit.css", page.root):
        answer = fetched(page, path)
        assert (answer.status_code, answer.text) == (404, "refused")


def test_an_old_copy_is_not_shown_as_if_it_were_true(tmp_path):
    page = ledger(tmp_path)
    (tmp_path / "ledger.mark").unlink()
    answer = fetched(page, f"{page.root}/")
    assert answer.status_code == 503
    assert "tacit ledger adopt" in answer.text
    assert "duchi" not in answer.text


def test_in_the_browser_a_release_appears_by_itself(tmp_path):
    page = ledger(tmp_path)
    with browser() as running, serve(page.app()) as url:
        shown, wrong = watched(running, url)
        shown.goto(f"{url}{page.root}/")
        shown.get_by_text("2 releases have left this machine").wait_for()
        door = gate(tmp_path, owners=["owner 0"], epsilon_total=1, releases=3)
        door.answer(question(3, asked=query(epsilons=(0.25,))))
        shown.get_by_text("3 releases have left this machine").wait_for(timeout=15_000)
        row = shown.get_by_role("table", name="Epsilon by owner").get_by_role("row", name="owner 0")
        assert row.get_by_role("cell").all_inner_texts() == ["3", "0.8", "0.2", "0"]
        assert wrong == []


def test_the_command_serves_on_this_machine_and_prints_the_address(tmp_path):
    ledger(tmp_path)
    files = [str(tmp_path / "ledger.db"), "--mark", str(tmp_path / "ledger.mark")]
    command = [
        sys.executable,
        "-c",
        "from tacit.cli import main; main()",
        "ledger",
        "serve",
        *files,
        "--port",
        "0",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split(" is at ")[1].split()[0]
            assert httpx.get(address).status_code == 200
            with pytest.raises(
                (ConnectionRefusedError, TimeoutError)
            ):  # one address listens, not all of them
                socket.create_connection(("127.0.0.2", httpx.URL(address).port or 0), timeout=2)
        finally:
            process.terminate()
