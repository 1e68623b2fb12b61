"""Campaigns with trust = "two servers": shares in halves with proofs, added up by coordinator
and helper; the bytes of one process, and what owners pay.
"""

from fractions import Fraction

import numpy as np
import pytest

from tacit import seeded
from tacit.engines.inline import Inline
from tacit.estimators.persistence import SavedModel, open_model
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.metric_gradient import MetricGradient
from tacit.learners.owners.sum_query import SharesQuery, SumQuery
from tacit.learners.query import Answer
from tacit.owner.gate import RefusedError
from tacit.service.coordinator.server import coordinator
from tacit.service.coordinator.tables import CLOSED, OPEN
from tacit.service.device.disclosures import preview
from tacit.service.device.join import RehearsalPart, join
from tacit.service.helper import Helper, Sheets
from tacit.service.kinds.boosting import BoostingSpec
from tacit.service.kinds.classifier import ClassifierSpec
from tacit.sums.discrete_gaussian import epsilon_of
from tacit.sums.halves import rehearsal_key
from tacit.sums.vector_terms import VectorTerms
from tacit.wire import decode, encode
from tacit.wire.envelopes import public_bytes
from tests.service.coordinator.made import (
    ADMIN,
    driven,
    folder_of,
    joining,
    question_for,
    write_sample,
)
from tests.service.coordinator.test_sums import KEY, LIMITS, PEOPLE, TOKENS, Trial
from tests.service.helper.made import client_of
from tests.sums.made import HELPER_KEY, public

SEED = 7
CAMPAIGN = f"""
kind = "boosting"
name = "trial"
sample = "mine.csv"
label = "ill"
learner = "centroid"
epsilon = 8.0
delta = 1e-6
trust = "two servers"
rounds = 1
owners_per_round = 14
start = {PEOPLE}
deadline = 300
helper = "https://helper.invalid"
helper_key = "{public(HELPER_KEY).hex()}"
"""
ALLOWED = {**LIMITS, "delta_total": "0.00001"}


class Shared(Trial):
    """A coordinator, owners and a helper whose sums are of shares."""

    limits = ALLOWED


@pytest.fixture
def trial(tmp_path):
    made = Shared(tmp_path, CAMPAIGN)
    yield made
    made.store.close()


def rehearsed(folder):
    campaigns = [public_bytes(KEY.public_key()).hex()]
    sheets = Sheets(folder / "rehearsal.db")
    return client_of(Helper(rehearsal_key(), sheets, campaigns, noise=seeded(SEED)))


def in_process(folder, seed):
    terms, public_rows = BoostingSpec.read(folder / "campaign.toml").prepare(bytes(32))
    _, cohort = joining(folder).rows(terms)
    engine = Inline(cohort, 8.0, seeded(seed))
    return engine.run(terms.run(public_rows)).ensemble


def test_owners_and_both_servers_find_the_model_of_one_process(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.service.device.member._pause", lambda response, coin: 0.3)
    folder = folder_of(tmp_path, owners=PEOPLE, text=CAMPAIGN)
    database = f"sqlite:///{folder}/c.db"
    service = coordinator(
        folder / "campaign.toml", database, KEY, ADMIN, SEED, helper=rehearsed(folder)
    )
    service.store.add_tokens(TOKENS)
    allowed = {key: value for key, value in ALLOWED.items() if key != "helper"}

    async def work(link):
        await join(joining(folder, RehearsalPart(SEED), **allowed), link, TOKENS)
        return await link.call("GET", "/v1/model", None)

    published = decode(open_model(driven(service, work).content)[0], SavedModel)
    assert isinstance(published.model, Ensemble)
    assert len(published.model)
    assert encode(published.model) == encode(in_process(folder, SEED))
    assert encode(published.model) != encode(in_process(folder, SEED + 1))
    assert (published.guarantee.trust, published.guarantee.delta) == ("two servers", 1e-6)
    assert published.guarantee.epsilon is not None
    assert published.guarantee.epsilon[1] <= 8.0


def test_a_share_is_charged_with_epsilon_and_delta(trial):
    standing = trial.to_the_end()
    assert standing.state == "ended"
    questions = [q for q in trial.store.questions() if q.state == CLOSED]
    query = trial.query(questions[0])
    assert isinstance(query, SharesQuery)
    told = decode(questions[0].answer, Answer)
    assert told.n == 14
    assert np.isfinite(told.mean).all()
    entries = trial.ledger.entries()
    assert {(entry.what, entry.how, entry.delta) for entry in entries} == {
        ("centroid", "two servers", "1/1000000")
    }
    (cost,) = {entry.cost for entry in entries}
    assert cost == Fraction(epsilon_of(query.law.rho, 1e-6)) <= 8
    assert {Fraction(entry.rho) for entry in entries} == {query.law.rho}


def test_a_policy_without_helper_or_delta_refuses_with_one_line(trial):
    trial.service.driver.step()
    trial.service.driver.step()
    data = next(filter(None, (question_for(trial.store, key) for key in trial.keys)))
    for left_out, word in (
        ("helper", "the policy does not name the second server of this sum as its helper"),
        ("delta_total", "the policy allows a delta of at most 0"),
    ):
        limits = {key: value for key, value in ALLOWED.items() if key != left_out}
        door = trial.gate_with(left_out, **limits)
        with pytest.raises(RefusedError) as caught:
            door.answers(data, [trial.names[0]])
        assert str(caught.value) == f"the owner's policy forbids the question: {word}"


def test_too_few_shares_release_nothing_and_are_kept(trial):
    trial.service.driver.step()
    trial.service.driver.step()
    asked = [i for i, key in enumerate(trial.keys) if question_for(trial.store, key)]
    assert len(asked) == 14
    trial.answer(asked[:9])
    trial.late()
    assert trial.service.driver.step()
    assert trial.last().state == OPEN
    assert trial.released() == 0
    trial.answer(asked[9:11])
    trial.late()
    assert trial.service.driver.step()
    told = decode(trial.store.questions()[0].answer, Answer)
    assert (told.n, trial.released()) == (11, 1)


def test_the_dry_run_says_whom_one_trusts(tmp_path):
    folder = folder_of(tmp_path, owners=PEOPLE, text=CAMPAIGN)
    service = coordinator(
        folder / "campaign.toml", f"sqlite:///{folder}/c.db", KEY, ADMIN, helper=rehearsed(folder)
    )

    async def work(link):
        return await preview(joining(folder, **ALLOWED), link, None)

    said = driven(service, work)
    text = "\n".join(said.lines)
    assert "neither sees it alone, both together do" in text
    assert "from either of two servers, but not from both" in text
    assert "that one of two servers, the helper, is honest" in text
    assert said.figures["delta"] == 1e-6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('trust = "two servers"', 'trust = "three servers"'), "trust must be one of"),
        (("helper = ", "# helper = "), "helper and helper_key must be given where a second server"),
        (('trust = "two servers"', ""), "helper and helper_key must be given where"),
        (("epsilon = 8.0", "epsilon = [1.0, 8.0]"), "epsilon must be one number with trust"),
        (("delta = 1e-6", "delta = 0.7"), "delta must be 0, or above 0 and below 0.5"),
    ],
)
def test_a_bad_campaign_file_says_what_is_wrong(tmp_path, change, message):
    folder = folder_of(tmp_path, owners=1, text=CAMPAIGN.replace(*change))
    with pytest.raises(ValueError, match=message):
        BoostingSpec.read(folder / "campaign.toml").prepare(bytes(32))


def test_pure_epsilon_has_laplace_noise_and_no_delta(tmp_path):
    folder = folder_of(tmp_path, owners=1, text=CAMPAIGN.replace("delta = 1e-6", "delta = 0.0"))
    terms, _ = BoostingSpec.read(folder / "campaign.toml").prepare(bytes(32))
    assert isinstance(terms.terms, VectorTerms)
    assert (terms.terms.law, terms.example().rho) == ("discrete laplace", Fraction(0))


REFINED = f"""
kind = "classifier"
name = "trial"
sample = "mine.csv"
label = "ill"
epsilon = 30.0
delta = 1e-6
trust = "two servers"
owners = {PEOPLE}
rows_per_owner = 4
rounds = 2
start = {PEOPLE}
deadline = 300
helper = "https://helper.invalid"
helper_key = "{public(HELPER_KEY).hex()}"
"""


@pytest.mark.parametrize(
    "known", [200, pytest.param(400, id="400, whose steep axes are turned down")]
)
def test_a_classifier_asks_everybody_in_every_round_out_of_one_budget(tmp_path, monkeypatch, known):
    monkeypatch.setattr("tacit.service.device.member._pause", lambda response, coin: 0.3)
    monkeypatch.setattr("tacit.algorithms.outlook.Outlook.why_not", "")
    monkeypatch.setattr("tacit.algorithms.wide_features.WIDE", 60)
    folder = folder_of(tmp_path, owners=PEOPLE, text=REFINED)
    write_sample(folder, known)
    database = f"sqlite:///{folder}/c.db"
    service = coordinator(
        folder / "campaign.toml", database, KEY, ADMIN, SEED, helper=rehearsed(folder)
    )
    service.store.add_tokens(TOKENS)
    limits = {"epsilon_total": 30, "epsilon_per_release": 30, "releases": 2, "delta_total": "1e-6"}

    async def work(link):
        await join(joining(folder, RehearsalPart(SEED), **limits), link, TOKENS)
        return await link.call("GET", "/v1/model", None)

    published = decode(open_model(driven(service, work).content)[0], SavedModel)
    terms, public_rows = ClassifierSpec.read(folder / "campaign.toml").prepare(bytes(32))
    asked = terms.query.learner
    assert isinstance(asked, MetricGradient)
    assert (len(asked.parts) > 1) is (known == 400)
    _, cohort = joining(folder).rows(terms)
    engine = Inline(cohort, 30.0, seeded(SEED))
    same = engine.run(terms.run(public_rows))
    assert encode(published.model) == encode(same.model)
    assert len(same.records) == 2
    assert (published.guarantee.epsilon, published.guarantee.delta) == ((30.0, 30.0), 1e-6)
    assert engine.spent.max() <= 30.0


def test_sums_of_errors_are_counted_apart_from_sums_of_shares(tmp_path):
    """Their noise has tapes of its own, by their number, as in one process."""
    both = CAMPAIGN + 'error = "owners"\nerror_epsilon = 2.5\nerror_minimum = 10\n'
    trial = Shared(tmp_path, both)
    trial.to_the_end()
    asked = [trial.query(question) for question in trial.store.questions()]
    numbers = [query.number for query in asked if isinstance(query, SumQuery)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers
    trial.store.close()
