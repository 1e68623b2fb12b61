"""A whole campaign: enrolment, invitations, reports, model."""

import asyncio
from dataclasses import replace

from typer.testing import CliRunner

import tacit
from tacit.cli import app
from tacit.data.table_file import TableFile
from tacit.service.coordinator.tables import ENDED
from tacit.service.device.join import join
from tests.service.coordinator.made import driven, folder_of, joining, running

TOKENS = [f"token number {i:04d}" for i in range(80)]
GAVE_UP = "5 rounds in a row were no better than chance; the last was dropped"


def test_a_campaign_from_enrolment_to_model(tmp_path, database):
    folder = folder_of(tmp_path)
    service = running(folder, database)
    service.store.add_tokens(TOKENS)

    async def work(link):
        answered = await join(
            replace(joining(folder), label=None), link, TOKENS
        )  # the campaign names it
        while (
            service.store.standing().state != ENDED
        ):  # owners that have all spoken leave before the last step
            await asyncio.sleep(0.05)
        return (
            answered,
            await link.call("GET", "/v1/status", None),
            await link.call("GET", "/v1/model", None),
        )

    answered, status, model = driven(service, work)
    figures = status.json()
    assert figures["state"] == "ended"
    endings = (
        "all 2 rounds",
        "owners ran out after 1 of 2 rounds",
        "owners ran out after 0 of 2 rounds",
        GAVE_UP,
    )
    assert figures["ended"] in endings  # noise may make any number of rounds no better than chance
    assert answered == sum(question["counted"] for question in figures["questions"])
    assert all(question["outcomes"] == {"counted": 10} for question in figures["questions"])
    (folder / "model.tacit").write_bytes(model.content)
    fitted = tacit.load(folder / "model.tacit", key=service.fingerprint)
    assert fitted.signed_by_ == service.fingerprint
    kept = [record["kept"] for record in fitted.report_].count(True)
    assert len(fitted.ensemble_) == kept
    assert (kept == 2) == (figures["ended"] == endings[0])
    assert fitted.schema_.columns == ["a", "b", "c", "place"]
    assert fitted.guarantee_.epsilon == (4.0, 8.0)
    assert not fitted.guarantee_.void
    assert "moved_values_" not in str(fitted.guarantee_)  # a campaign knows of no such counts
    out = folder / "predictions.csv"
    files = [str(folder / name) for name in ("model.tacit", "people.csv")]
    told = CliRunner().invoke(app, ["predict", *files, "--out", str(out)])
    assert told.exit_code == 0, told.output
    assert "accuracy" in told.output
    people = TableFile.open(folder / "people.csv").read()
    X = fitted.schema_.encode(people).X
    voted = [fitted.schema_.classes[place] for place in fitted.ensemble_.predict(X)]
    assert [line.split(",")[1] for line in out.read_text().splitlines()[1:]] == voted
