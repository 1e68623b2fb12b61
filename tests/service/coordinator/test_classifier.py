"""Campaigns that refine the data user's own model: the classifier's algorithm, over the same
service.
"""

import asyncio

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import seeded
from tacit.engines.inline import Inline
from tacit.estimators.persistence import SavedModel, open_model
from tacit.learners.models.scores import ScoreModel
from tacit.service.coordinator.page import page
from tacit.service.device.disclosures import preview
from tacit.service.device.join import RehearsalPart, join
from tacit.service.kinds.classifier import ClassifierSpec, GradientTreesSpec
from tacit.wire import decode, encode
from tests.service.coordinator.made import driven, joining, rows, running, write

OWNERS, SEED = 60, 7
TOKENS = [f"token number {i:04d}" for i in range(OWNERS)]
CAMPAIGN = f"""
kind = "classifier"
name = "trial"
sample = "mine.csv"
label = "ill"
epsilon = [4.0, 8.0]
owners = {OWNERS}
rows_per_owner = 8
rounds = 2
start = {OWNERS}
minimum = 4
deadline = 300
"""


def folder_of(tmp_path, text=CAMPAIGN):
    write(
        tmp_path / "mine.csv",
        [{k: v for k, v in row.items() if k != "who"} for row in rows(30, 1, seed=1)],
    )
    write(tmp_path / "people.csv", rows(OWNERS, 8, seed=2))
    (tmp_path / "campaign.toml").write_text(text)
    return tmp_path


def in_process(folder, epsilon):
    terms, public = ClassifierSpec.read(folder / "campaign.toml").prepare()
    _, cohort = joining(folder).rows(terms)
    return Inline(cohort, np.full(len(cohort), epsilon), seeded(SEED)).run(terms.run(public))


def test_the_model_is_that_of_one_process_byte_for_byte(tmp_path, any_database):
    folder = folder_of(tmp_path)
    service = running(folder, any_database, rehearsal=SEED)
    service.store.add_tokens(TOKENS)

    async def work(link):
        shown = await preview(joining(folder, RehearsalPart(SEED)), link, None)
        answered = await join(joining(folder, RehearsalPart(SEED)), link, TOKENS)
        while (await link.call("GET", "/v1/model", None)).status_code == 404:
            await asyncio.sleep(0.05)
        status = (await link.call("GET", "/v1/status", None)).json()
        return shown, answered, status, await link.call("GET", "/v1/model", None)

    shown, answered, status, model = driven(service, work)
    assert any(
        "what the published model still gets wrong on your rows" in line for line in shown.lines
    )
    assert answered == OWNERS
    assert (status["state"], status["ended"], status["unit"]) == ("ended", "all 2 rounds", "owner")
    assert [question["counted"] for question in status["questions"]] == [OWNERS // 2] * 2
    published = decode(open_model(model.content)[0], SavedModel)
    assert "reproducible, not private" in published.guarantee.void
    expected = in_process(folder, 8.0)
    assert encode(published.model) == encode(expected.model)
    assert encode(published.model) != encode(in_process(folder, 4.0).model)

    (folder / "m.tacit").write_bytes(model.content)
    again = tacit.load(folder / "m.tacit")
    assert again.label_ == "ill"
    assert len(again.report_) == 2
    table = pd.DataFrame(rows(1, 300, seed=3))
    right = np.mean(again.predict(table[again.feature_names_in_]) == table["ill"])
    assert (
        right >= 0.8
    )  # a line through the origin: the sample's 30 rows find most of it, owners do no harm


def test_the_page_judges_rows_by_models_that_did_not_see_them(tmp_path):
    folder = folder_of(tmp_path)
    terms, public = ClassifierSpec.read(folder / "campaign.toml").prepare()
    result = in_process(folder, 8.0)
    first, last = terms.guesses(result, public)
    assert terms.guesses(terms.example(), public) == []
    seen = np.argmax(result.model.scores(public.X), axis=1)
    assert first.shape == last.shape == public.y.shape
    assert np.mean(last == public.y) <= np.mean(
        seen == public.y
    )  # what was fitted to a row flatters itself there
    service = running(folder)
    shown = page(driven(service, _status))
    assert "its model is where this one begins, and shows in it" in shown


async def _status(link):
    return (await link.call("GET", "/v1/status", None)).json()


def test_where_owners_cannot_help_nobody_is_asked(tmp_path):
    folder = folder_of(tmp_path, CAMPAIGN.replace("[4.0, 8.0]", "0.01"))
    with pytest.raises(
        ValueError,
        match=r"Do not collect: 60 owners at epsilon 0\.01 are not expected to add",
    ):
        running(folder)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("owners = 60", "owners = 61"), "owners must be at most start, 60, got 61"),
        (
            ("minimum = 4", "minimum = 31"),
            "minimum must be at most the owners of a round, 30, got 31",
        ),
        (("rounds = 2", 'features = "trees"'), "features must be one of"),
        (("owners = 60", "people = 60"), r"missing \['owners'\]"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, change, says):
    folder = folder_of(tmp_path, CAMPAIGN.replace(*change))
    with pytest.raises(ValueError, match=says):
        running(folder)


@pytest.mark.parametrize("rounds", [1, 4, 7])
def test_there_are_as_many_rounds_as_the_file_says(tmp_path, rounds):
    text = CAMPAIGN.replace("rounds = 2", f"rounds = {rounds}").replace(
        "minimum = 4", "minimum = 1"
    )
    folder = folder_of(tmp_path, text.replace("owners = 60", "owners = 50"))
    terms, public = ClassifierSpec.read(folder / "campaign.toml").prepare()
    assert terms.rounds == rounds
    assert (
        terms.example().owners
        == next(terms.run(public)).owners
        == terms.owners_needed
        == 50 // rounds
    )


def test_trees_that_grow_over_the_network_are_those_of_one_process(tmp_path, any_database):
    """Two trees of two levels: four questions to owners of their own, each a tree wider."""
    grown = CAMPAIGN.replace('"classifier"', '"gradient trees"').replace("rounds = 2", "trees = 2")
    folder = folder_of(tmp_path, f"{grown}depth = 2\n")
    service = running(folder, any_database, rehearsal=SEED)
    service.store.add_tokens(TOKENS)

    async def work(link):
        await join(joining(folder, RehearsalPart(SEED)), link, TOKENS)
        while (await link.call("GET", "/v1/model", None)).status_code == 404:
            await asyncio.sleep(0.05)
        status = (await link.call("GET", "/v1/status", None)).json()
        return status, await link.call("GET", "/v1/model", None)

    status, model = driven(service, work)
    assert status["ended"] == "all 2 trees of depth 2"
    assert [question["counted"] for question in status["questions"]] == [OWNERS // 4] * 4
    terms, public = GradientTreesSpec.read(folder / "campaign.toml").prepare()
    _, cohort = joining(folder).rows(terms)
    expected = Inline(cohort, np.full(len(cohort), 8.0), seeded(SEED)).run(terms.run(public))
    published = decode(open_model(model.content)[0], SavedModel)
    assert encode(published.model) == encode(expected.model)
    assert isinstance(published.model, ScoreModel)
    assert len(published.model.terms) == len(expected.own.model.terms) + 2


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ("trees = 101", "trees must be at most 100"),
        ("depth = 7", "depth must be at most 6"),
        ('trust = "two servers"', "trust = 'two servers' is of kinds"),
        ("minimum = 6", "minimum must be at most the owners of a round, 5"),
    ],
)
def test_trees_beyond_what_is_grown_are_refused(tmp_path, entries, says):
    grown = CAMPAIGN.replace('"classifier"', '"gradient trees"').replace("rounds = 2", "")
    folder = folder_of(tmp_path, f"{grown.replace('minimum = 4', '')}{entries}\n")
    with pytest.raises(ValueError, match=says):
        GradientTreesSpec.read(folder / "campaign.toml").prepare()
