"""The ends of a Flower federation, without one: `make flower` runs a real one."""

import asyncio
from types import SimpleNamespace

import pytest

pytest.importorskip("flwr", reason="flwr is missing: it has an environment of its own")

from flwr.app import ConfigRecord, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from tacit.service import flower
from tacit.service.device.carried import LARGEST, CarriedReply, Courier
from tacit.wire import decode
from tacit.wire.envelopes import public_bytes
from tests.service.coordinator.made import folder_of, running, visiting
from tests.service.coordinator.test_rehearsal import SEED
from tests.service.test_carried import FEWER, KEY, OWNERS, TOKENS

FILE = """
data = "people.csv"
label = "ill"
owners = "who"
policy = "policy.toml"
home = "owner"
tokens = "tokens"
campaign_key = "{key}"
coordinator = "http://localhost"
rehearsal = {seed}
"""


@pytest.fixture
def owner(tmp_path):
    folder = folder_of(tmp_path, OWNERS, FEWER)
    (folder / "policy.toml").write_text(
        "epsilon_per_release = 8\nepsilon_total = 8\ntime_step = 0\n"
    )
    (folder / "tokens").write_text("\n".join(token.replace(" ", "-") for token in TOKENS))
    key = public_bytes(KEY.public_key()).hex()
    (folder / "owner.toml").write_text(FILE.format(key=key, seed=SEED))
    return folder / "owner.toml"


def answered(owner, letter, **settings):
    """What a node says to a letter, whatever settings came with it."""
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
    content = RecordDict({"tacit": ConfigRecord({"letter": letter})})
    message = Message(content, dst_node_id=1, message_type="query")
    context = SimpleNamespace(node_config={"tacit": str(owner)}, run_config=settings)
    reply = flower.answer_letter(message, context)
    return decode(reply.content["tacit"]["letter"], CarriedReply, LARGEST).requests


def test_a_node_answers_the_pinned_campaign_by_its_own_file(owner):
    service = running(owner.parent, key=KEY, rehearsal=SEED)

    async def greet():
        async with visiting(service.app) as client:
            return await Courier(client).letter(set())

    requests = answered(owner, asyncio.run(greet()), tacit="/elsewhere.toml", data="/etc/passwd")
    assert [each.path for each in requests] == ["/v1/enrol"] * OWNERS
    assert answered(owner, b"run this") == ()


def test_a_part_that_lacks_something_is_refused_before_anything_starts(owner):
    lines = owner.read_text().splitlines(keepends=True)
    owner.write_text("".join(line for line in lines if not line.startswith("campaign_key")))
    with pytest.raises(ValueError, match="must have campaign_key"):
        flower.start_node(["--owner", str(owner)])
    with pytest.raises(ValueError, match="--owner FILE must be given"):
        flower.start_node(["--superlink", "127.0.0.1:1"])


def test_a_flower_that_was_not_tried_runs_nothing(monkeypatch):
    monkeypatch.setattr(flower, "TRIED", ("0.1.",))
    for start in (flower.run_installed, lambda: flower.start_node(["--owner", "x"])):
        with pytest.raises(ValueError, match=r"a version that begins with 0\.1\."):
            start()
