"""A whole campaign: enrolment, invitations, reports, model."""

import asyncio

from tacit.coordinator.publication import Publication
from tacit.coordinator.store import ENDED
from tacit.device.joining import join
from tacit.wire import decode
from tests.coordinator.made import driven, folder_of, joining, running

TOKENS = [f"token number {i:04d}" for i in range(80)]
GAVE_UP = "5 rounds in a row were no better than chance; the last was dropped"


def test_a_campaign_from_enrolment_to_model(tmp_path, database):
    folder = folder_of(tmp_path)
    service = running(folder, database)
    service.store.add_tokens(TOKENS)

    async def work(link):
        answered = await join(joining(folder), link, TOKENS)
        while service.store.standing().state != ENDED:  # owners that have all spoken leave before the last step
            await asyncio.sleep(0.05)
        return answered, await link.call("GET", "/v1/status", None), await link.call("GET", "/v1/model", None)

    answered, status, model = driven(service, work)
    figures = status.json()
    assert figures["state"] == "ended"
    rounds = {
        "all 2 rounds": 2,
        "owners ran out after 1 of 2 rounds": 1,
        "owners ran out after 0 of 2 rounds": 0,
        GAVE_UP: None,
    }
    kept = rounds[figures["ended"]]  # noise may make any number of rounds no better than chance
    assert answered == sum(question["counted"] for question in figures["questions"])
    assert all(question["outcomes"] == {"counted": 10} for question in figures["questions"])
    published = decode(model.content, Publication)
    assert len(published.ensemble) == kept or (kept is None and len(published.ensemble) < 2)
    assert published.schema.columns == ["a", "b", "c", "place"]
