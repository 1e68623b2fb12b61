"""What an owner is told while it waits, and how the command ends: by what happened."""

import asyncio

import httpx
import pytest
import typer

from tacit.cli import join as command
from tacit.cli._output import Screen
from tacit.service.device.client import Link
from tacit.service.device.join import join
from tacit.service.device.member import COUNTED, EnrolmentError
from tests.service.coordinator.made import driven, folder_of, joining, running

TOKENS = [f"token number {i:04d}" for i in range(12)]
CAMPAIGN = """
kind = "boosting"
name = "trial"
sample = "mine.csv"
label = "ill"
learner = "centroid"
epsilon = [4.0, 8.0]
rounds = 1
owners_per_round = 12
start = 12
minimum = 4
deadline = 300
"""


@pytest.fixture
def service(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.service.device.member._pause", lambda response, link: 0.02)
    made = running(folder_of(tmp_path, owners=12, text=CAMPAIGN))
    made.store.add_tokens(TOKENS)
    return made


def test_an_owner_goes_on_without_its_used_token(tmp_path, service):
    async def work(link):
        with pytest.raises(EnrolmentError, match=r"not enrolled \(give its token"):
            await join(joining(tmp_path), link, [])  # never enrolled
        first = asyncio.create_task(join(joining(tmp_path), link, TOKENS))
        while service.store.owner_counts()["enrolled"] < 12:
            await asyncio.sleep(0.02)
        first.cancel()
        link.became.clear()
        answered = await join(joining(tmp_path), link, [])
        return answered, link.became

    answered, became = driven(service, work)
    assert answered == 12
    assert set(became) == {COUNTED}


def test_refusals_are_told_apart_from_answers(tmp_path, service):
    async def work(link):
        slow = joining(tmp_path, longest="0.0000001")  # seen when a question has come
        task = asyncio.create_task(join(slow, link, TOKENS))
        while len(link.became) == 0:
            await asyncio.sleep(0.02)
        task.cancel()
        return link.became

    assert set(driven(service, work)) == {"the owner's policy forbids the question"}


@pytest.mark.parametrize("limits", [{"learners": ("stump",)}, {"units": ("record",)}])
def test_a_policy_that_refuses_what_everybody_is_asked_does_not_enrol(tmp_path, service, limits):
    """It was enrolled, asked, and waited for until the deadline."""

    async def work(link):
        with pytest.raises(ValueError, match=r"the policy does not allow .*: nothing was sent"):
            await asyncio.wait_for(join(joining(tmp_path, **limits), link, TOKENS), 60)

    driven(service, work)
    assert service.store.owner_counts()["enrolled"] == 0


def test_what_is_waited_for_is_said_when_it_changes():
    said = []

    class Kept(Screen):
        def say(self, line):
            said.append(line)

    with command.watch_outcomes(Kept(False), 1) as watch:
        for path, status in (
            ("/v1/enrol", 200),
            ("/v1/question", 204),
            ("/v1/question", 204),
            ("/v1/campaign", 200),
            ("/v1/question", 200),
            ("/v1/report", 200),
            ("/v1/question", 410),
        ):
            watch(path, status)
    assert [each.split(":")[0] for each in said] == [
        "enrolled",
        "waiting",
        "a question has come",
        "the report has arrived and counts",
        "the campaign has ended",
    ]


@pytest.mark.parametrize(
    ("became", "status"),
    [
        ({COUNTED: 1}, 0),
        ({COUNTED: 1, "the question has expired": 2}, 0),
        ({}, 0),  # it was never asked
        ({"the owner's policy forbids the question": 1}, 1),
    ],
    ids=["counted", "some", "never asked", "refused"],
)
def test_the_exit_status_says_what_happened(tmp_path, monkeypatch, became, status):
    folder = folder_of(tmp_path, owners=1)
    (folder / "policy.toml").write_text("epsilon_per_release = 8\nepsilon_total = 8\n")

    async def taken(joining, link, tokens, pinned):
        link.became.update(became)
        return became.get(COUNTED, 0)

    monkeypatch.setattr("tacit.service.device.join.join", taken)
    (folder / "home" / "pins").mkdir(parents=True)
    (folder / "home" / "pins" / "key").touch()
    given = {
        "data": folder / "people.csv",
        "policy": folder / "policy.toml",
        "home": folder / "home",
        "screen": Screen(True),
    }
    try:
        command.join("http://127.0.0.1:1", **given)
        found = 0
    except typer.Exit as end:
        found = end.exit_code
    assert found == status


def test_a_campaign_that_is_not_served_for_a_while_has_refused_nobody(tmp_path, service):
    """The agent said that the token was unknown, and ended."""
    tried: list[str] = []

    class Away(Link):
        async def call(self, method, path, key, body=b""):
            if path == "/v1/enrol" and len(tried) < 3:
                tried.append(path)
                return httpx.Response(404)
            return await super().call(method, path, key, body)

    async def work(link):
        return await join(joining(tmp_path), Away(link.clients, patience=20.0), TOKENS)

    assert driven(service, work) == 12
    assert len(tried) == 3
