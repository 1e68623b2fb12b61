"""What leaves at enrolment: a public key, a token, and what was typed; nothing of rows, columns or
names of files.
"""

import asyncio
from pathlib import Path

import pytest

from tacit.cli._options import read_token
from tacit.owner.policy import Policy
from tacit.service.device.disclosures import preview
from tacit.service.device.join import Joining
from tacit.service.kinds.peers import PeerSpec
from tests.service.coordinator.peers import CAMPAIGN as PEERS
from tests.service.coordinator.peers import LIMITS, folder_of
from tests.service.device.coordinators import POLICY, Watching, run

WORLDS = {
    "a.csv": ("patient", "patient,age,ill\nAda <ada@x.org>,41,yes\nB,3,no\n"),
    "diagnosis HIV.csv": ("who", "x,who,ill,age\n9,zoe,no,77\n9,yan,no,12\n8,yan,yes,13\n"),
}


def world(folder: Path, name, owners):
    """A coordinator that has seen all that a device sends in one world."""
    column, rows = WORLDS[name]
    folder.mkdir()
    (folder / name).write_text(rows)
    coordinator = Watching()
    home = folder / f"home of {name}"
    run(coordinator, folder / name, home, column if owners else None, tokens=2)
    return coordinator


@pytest.mark.parametrize("owners", [False, True], ids=["one owner", "gateway"])
def test_what_enrolment_sends_is_the_same_in_every_world(tmp_path, owners):
    one, other = (world(tmp_path / f"world {i}", name, owners) for i, name in enumerate(WORLDS))
    said = [b"token 0", b"token 1"] if owners else [b"token 0"]
    assert one.bodies("/v1/enrol") == other.bodies("/v1/enrol") == said
    sent = [
        [(method, path, len(who), len(body)) for method, path, who, body in each.seen]
        for each in (one, other)
    ]
    assert sent[0] == sent[1]  # the rest of it is keys, signatures, and what the gate released
    assert {path for _, path, _, _ in one.seen} == {
        "/v1/campaign", "/v1/enrol", "/v1/question", "/v1/report",
    }  # fmt: skip


@pytest.fixture
def peers(tmp_path):
    folder = folder_of(tmp_path, PEERS)
    terms, _ = PeerSpec.read(folder / "campaign.toml").prepare()
    text = (folder / "new.csv").read_text()
    (folder / "few.csv").write_text(text.replace("place", "room"))
    return folder, terms


def test_a_peer_tells_what_was_typed_and_nothing_else(peers):
    folder, terms = peers
    policy = Policy(**{**LIMITS, "time_step": 0})

    coordinator = Watching(terms=terms)

    def enrolled(file, **more):
        coordinator.seen.clear()
        joining = Joining(folder / file, "ill", policy, folder / f"{file} home", **more)

        async def enrol():
            _, (member,) = await joining.members(coordinator)
            await member.enrol("token")

        asyncio.run(enrol())
        return coordinator.bodies("/v1/enrol")

    with pytest.raises(ValueError, match="goes by the name that you type with --name"):
        enrolled("new.csv")
    assert enrolled("new.csv", name="north") == [b"token\nnorth\n0,1,2,3"]
    with pytest.raises(ValueError, match="type those to be told: --attributes a,b,c"):
        enrolled("few.csv", name="north")
    typed = {"name": "north", "attributes": ("a", "b")}
    assert enrolled("few.csv", **typed) == enrolled("new.csv", **typed) == [b"token\nnorth\n0,1"]


def test_the_dry_run_sends_nothing_and_shows_what_would_be_told(peers):
    folder, terms = peers
    coordinator = Watching(terms=terms)
    policy = Policy(**{**LIMITS, "time_step": 0})
    joining = Joining(folder / "new.csv", "ill", policy, folder / "home", name="north")
    shown = asyncio.run(preview(joining, coordinator, None))
    assert [(method, path) for method, path, _, _ in coordinator.seen] == [("GET", "/v1/campaign")]
    assert not (folder / "home" / "pins").exists()
    assert any("the name 'north'" in line and "a, b, c, place" in line for line in shown.lines)
    assert shown.figures["told_at_enrolment"] == {
        "name": "north", "attributes": ["a", "b", "c", "place"],
    }  # fmt: skip


def test_the_dry_run_of_an_owner_says_that_no_name_leaves(tmp_path):
    (tmp_path / "a.csv").write_text("age,ill\n41,yes\n")
    coordinator = Watching()
    joining = Joining(tmp_path / "a.csv", None, POLICY, tmp_path / "home")
    shown = asyncio.run(preview(joining, coordinator, None))
    assert "told at enrolment: a public key made for this campaign and your token" in shown.lines


def test_a_token_is_read_from_a_file_or_standard_input(tmp_path, monkeypatch):
    import io

    (tmp_path / "token").write_text("secret\n")
    assert read_token(f"@{tmp_path / 'token'}") == ["secret"]
    monkeypatch.setattr("sys.stdin", io.StringIO("typed\nmore\n"))
    assert read_token("-") == ["typed"]
    assert read_token("plain") == ["plain"]
    assert read_token(None) == []
