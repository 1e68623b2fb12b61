"""A whole campaign: enrolment, invitations, reports, model."""

from tacit.coordinator.publication import Publication
from tacit.device.joining import join
from tacit.wire import decode
from tests.coordinator.made import driven, folder_of, joining, running

TOKENS = [f"token number {i:04d}" for i in range(80)]


def test_a_campaign_from_enrolment_to_model(tmp_path, database):
    folder = folder_of(tmp_path)
    service = running(folder, database)
    service.store.add_tokens(TOKENS)

    async def work(link):
        answered = await join(joining(folder), link, TOKENS)
        return answered, await link.call("GET", "/v1/status", None), await link.call("GET", "/v1/model", None)

    answered, status, model = driven(service, work)
    figures = status.json()
    assert figures["state"] == "ended"
    assert figures["ended"] == "all 2 rounds"
    assert answered == sum(question["counted"] for question in figures["questions"])
    assert all(question["outcomes"] == {"counted": 10} for question in figures["questions"])
    published = decode(model.content, Publication)
    assert len(published.ensemble) == 2
    assert published.schema.columns == ["a", "b", "c", "place"]
