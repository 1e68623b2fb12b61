"""Campaigns of sites with trust = "two servers": sums over the records of sites, proven, with noise
for one record; the bytes of one process, and what records pay.
"""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from tacit import SiteEnsemble, seeded
from tacit.algorithms.outlook import Outlook, look_ahead
from tacit.algorithms.question import Population
from tacit.engines.inline import Inline
from tacit.estimators.persistence import SavedModel, open_model
from tacit.learners.models.scores import ScoreModel
from tacit.learners.owners.sum_query import RecordsQuery, SharesQuery
from tacit.learners.query import Answer
from tacit.owner.gate import RefusedError
from tacit.service.coordinator.page import page
from tacit.service.coordinator.server import coordinator
from tacit.service.coordinator.status import View
from tacit.service.coordinator.tables import CLOSED, OPEN
from tacit.service.device.disclosures import preview
from tacit.service.device.join import RehearsalPart, join
from tacit.service.kinds.sites import SiteSpec, SummedSiteTerms
from tacit.sums.discrete_gaussian import epsilon_of
from tacit.sums.vector_terms import RecordTerms
from tacit.wire import decode, encode
from tests.service.coordinator.made import ADMIN, driven, joining, question_for, rows, write
from tests.service.coordinator.test_sums import KEY, Trial
from tests.service.coordinator.test_two_servers import rehearsed
from tests.sums.made import HELPER_KEY, public

SEED, SITES, RECORDS = 7, 4, 60
CAMPAIGN = f"""
kind = "sites"
name = "trial"
sample = "mine.csv"
label = "ill"
epsilon = 4.0
delta = 1e-6
trust = "two servers"
records = {RECORDS}
rounds = 2
start = {SITES}
minimum = 2
deadline = 300
helper = "https://helper.invalid"
helper_key = "{public(HELPER_KEY).hex()}"
"""
LIMITS = {
    "epsilon_per_release": 4,
    "epsilon_total": 4,
    "releases": 2,
    "delta_total": "0.000001",
    "units": ("record",),
    "helper": public(HELPER_KEY).hex(),
}
KNOWN: dict[Population, Outlook] = {}
TOKENS = [f"token number {i:04d}" for i in range(SITES)]


def folder_of(tmp_path, text=CAMPAIGN, sites=SITES):
    mine = [{k: v for k, v in row.items() if k != "who"} for row in rows(60, 1, seed=1)]
    write(tmp_path / "mine.csv", mine)
    write(tmp_path / "people.csv", rows(sites, RECORDS, seed=2))
    (tmp_path / "campaign.toml").write_text(text)
    return tmp_path


def looked_ahead(public_rows, own, crowd, *maps):
    """The outlook on a crowd, made once: all tests have the same public rows."""
    if crowd not in KNOWN:
        KNOWN[crowd] = look_ahead(public_rows, own, crowd, *maps)
    return KNOWN[crowd]


@pytest.fixture(autouse=True)
def small_questions_in_any_case(monkeypatch):
    """The made-up rows promise little; of few numbers, so that tests are quick."""
    monkeypatch.setattr("tacit.algorithms.wide_features.WIDE", 60)
    for where in ("service.kinds.sites", "algorithms.refinement"):
        monkeypatch.setattr(f"tacit.{where}.look_ahead", looked_ahead)
    monkeypatch.setattr("tacit.algorithms.outlook.Outlook.why_not", "")
    monkeypatch.setattr("tacit.service.device.member._pause", lambda response, coin: 0.3)


def published_by(folder, seed=SEED):
    database = f"sqlite:///{folder}/c.db"
    service = coordinator(
        folder / "campaign.toml", database, KEY, ADMIN, seed, helper=rehearsed(folder)
    )
    service.store.add_tokens(TOKENS)
    limits = {key: value for key, value in LIMITS.items() if key != "helper"}

    async def work(link):
        await join(joining(folder, RehearsalPart(seed), **limits), link, TOKENS)
        return await link.call("GET", "/v1/model", None)

    return decode(open_model(driven(service, work).content)[0], SavedModel)


def test_sites_and_both_servers_find_the_model_of_one_process(tmp_path):
    folder = folder_of(tmp_path)
    published = published_by(folder)
    terms, public_rows = SiteSpec.read(folder / "campaign.toml").prepare(bytes(32))
    assert isinstance(terms, SummedSiteTerms)
    _, cohort = joining(folder).rows(terms)
    engine = Inline(cohort, 4.0, seeded(SEED))
    same = engine.run(terms.run(public_rows))
    other = Inline(cohort, 4.0, seeded(SEED + 1)).run(terms.run(public_rows))
    assert isinstance(published.model, ScoreModel)
    assert encode(published.model) == encode(same.model) != encode(other.model)
    assert len(same.records) == 2
    assert all(abs(record.owners - SITES * RECORDS) < 30 for record in same.records)
    assert (published.kind, published.guarantee.unit) == ("SiteEnsemble", "record")
    assert (published.guarantee.epsilon, published.guarantee.delta) == ((4.0, 4.0), 1e-6)
    assert "one site, true or not, moves the mean over n records" in published.guarantee.influence
    assert engine.spent.max() <= 4.0


def test_the_estimator_fits_the_model_of_the_campaign(tmp_path):
    """As many records as the file says; the rounds are the plan's own."""
    folder = folder_of(tmp_path, CAMPAIGN.replace("rounds = 2\n", ""))
    terms, public_rows = SiteSpec.read(folder / "campaign.toml").prepare(bytes(32))
    assert isinstance(terms, SummedSiteTerms)
    _, cohort = joining(folder).rows(terms)
    campaign = Inline(cohort, 4.0, seeded(SEED)).run(terms.run(public_rows))
    people, mine = (pd.read_csv(folder / name) for name in ("people.csv", "mine.csv"))
    model = SiteEnsemble(epsilon=4.0, trust="two servers", random_state=SEED, schema=terms.schema)
    columns = [feature.name for feature in terms.schema.features]
    model.fit(
        people[columns],
        people["ill"],
        owners=people["who"],
        public=(mine[columns], mine["ill"]),
    )
    assert encode(model.linear_) == encode(campaign.model)


class Sites(Trial):
    """A coordinator, sites and a helper."""

    limits, people, spec = LIMITS, SITES, SiteSpec

    @staticmethod
    def make_folder(tmp_path, owners=SITES, text=CAMPAIGN):
        return folder_of(tmp_path, text, owners)


@pytest.fixture
def trial(tmp_path):
    made = Sites(tmp_path, CAMPAIGN)
    yield made
    made.store.close()


def test_records_are_charged_with_rho_and_delta(trial):
    assert trial.to_the_end().state == "ended"
    questions = [q for q in trial.store.questions() if q.state == CLOSED]
    query = trial.query(questions[0])
    assert isinstance(query, RecordsQuery)
    assert abs(decode(questions[0].answer, Answer).n - SITES * RECORDS) < 30
    entries = trial.ledger.entries()
    assert len(entries) == 2 * SITES
    assert {(entry.unit, entry.how, entry.delta) for entry in entries} == {
        ("record", "two servers", "1/1000000")
    }
    assert {Fraction(entry.rho) for entry in entries} == {query.law.rho}
    costs = [entry.cost for entry in entries if entry.owner == entries[0].owner]
    assert sum(costs) == Fraction(epsilon_of(2 * query.law.rho, 1e-6)) <= 4


def test_a_coordinator_that_is_killed_after_every_step_asks_and_opens_once(trial):
    while trial.service.driver.step():
        trial.answer(range(1, SITES))
        trial.start(trial.helper)  # a new one, from the database
        trial.answer()
    assert trial.store.standing().state == "ended"
    answers = [decode(question.answer, Answer) for question in trial.store.questions()]
    assert [abs(each.n - SITES * RECORDS) < 30 for each in answers] == [True, True]
    assert (trial.released(), len(trial.ledger.entries())) == (2, 2 * SITES)


def test_too_few_sites_release_nothing_and_what_they_sent_is_kept(trial):
    trial.service.driver.step()
    trial.service.driver.step()
    trial.answer([0])
    trial.late()
    assert trial.service.driver.step()
    assert (trial.last().state, trial.released()) == (OPEN, 0)
    trial.answer([2])
    trial.late()
    assert trial.service.driver.step()
    told = decode(trial.store.questions()[0].answer, Answer)
    assert abs(told.n - 2 * RECORDS) < 30
    assert trial.released() == 1


def test_a_policy_without_the_helper_the_unit_or_a_delta_refuses_with_one_line(trial):
    trial.service.driver.step()
    trial.service.driver.step()
    data = question_for(trial.store, trial.keys[0])
    for left_out, word in (
        ("helper", "the policy does not name the second server of this sum as its helper"),
        ("delta_total", "the policy allows a delta of at most 0"),
        ("units", "the policy does not allow the unit 'record'"),
    ):
        limits = {key: value for key, value in LIMITS.items() if key != left_out}
        with pytest.raises(RefusedError) as caught:
            trial.gate_with(left_out, **limits).answers(data, [trial.names[0]])
        assert str(caught.value) == f"the owner's policy forbids the question: {word}"


def test_a_question_names_the_unit_that_its_noise_protects(trial):
    terms = trial.terms
    assert isinstance(terms, SummedSiteTerms)
    asked = terms.example()
    assert (asked.unit, type(asked)) == ("record", RecordsQuery)
    parts = {name: getattr(asked, name) for name in ("round", "attempt", "owners", "learner")}
    more = {name: getattr(asked, name) for name in ("facts", "ensemble", "number", "terms")}
    with pytest.raises(ValueError, match="those of a sum that protects one owner"):
        SharesQuery(**parts, **more)


def test_one_record_moves_what_a_site_adds_by_no_more_than_its_law_says(trial):
    """Replaced, added or removed: squared, at most four times the bound."""
    asked = trial.terms.example()
    law: RecordTerms = asked.law
    rng, cohort = np.random.default_rng(3), trial.cohort
    for _ in range(20):
        at = int(rng.integers(RECORDS))
        X, y = cohort.X[:RECORDS], cohort.y[:RECORDS]
        without = np.arange(RECORDS) != at
        other = X.copy()
        other[at] = 1e6 * rng.normal(size=X.shape[1])
        worlds = [(X, y), (other, y), (X[without], y[without])]
        counts = [
            asked.measure(type(cohort).of(rows, labels, np.zeros(len(labels))), _Still())[0]
            for rows, labels in worlds
        ]
        for changed in counts[1:]:
            assert ((counts[0] - changed) ** 2).sum() <= 4 * law.bound


class _Still:
    """Coins that are all the same, so that records round alike wherever they stand."""

    def of(self, owners):
        return self

    def words(self, rows, start, count):
        return np.full((len(rows), count), 1 << 31 | 1 << 63, dtype=np.uint64)


def test_before_joining_a_site_sees_whom_it_trusts_and_what_leaves(tmp_path):
    folder = folder_of(tmp_path)
    service = coordinator(
        folder / "campaign.toml", f"sqlite:///{folder}/c.db", KEY, ADMIN, helper=rehearsed(folder)
    )

    async def work(link):
        return await preview(joining(folder, **LIMITS), link, None)

    said = driven(service, work)
    text = " ".join(said.lines)
    assert "gets wrong on your records, added up" in text
    assert "one record (one record of a site replaced, added or removed), from either of" in text
    assert "a sum over the first 240 of your records" in text
    assert "would cost epsilon 4 in all" in text
    assert said.figures["delta"] == 1e-6


def test_the_page_of_summed_sites_speaks_of_records_and_servers(trial):
    trial.service.driver.step()
    trial.service.driver.step()
    trial.answer([0, 1])
    text = " ".join(page(View(trial.store, KEY.public_key()).status()).split())
    assert "2 of 4 sites have answered" in text
    assert "Two servers add up over sites" in text
    assert "one record: one record of a site replaced, added or removed" in text
    assert "a report in two sealed halves" in text
    assert "Every site is asked once" not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("records = 60", ""), "records must be given with trust"),
        (("rounds = 2", "most_records = 50"), "most_records must be at least records, 60"),
        (("rounds = 2", 'combine = "average"'), "combine must be left out with trust"),
        (("rounds = 2", 'target = "numbers"'), "target must be left out with trust"),
        (("epsilon = 4.0", "epsilon = [1, 4]"), "epsilon must be one number with trust"),
        (("helper_key = ", "# helper_key = "), "helper and helper_key must be given where"),
        (("minimum = 2", "minimum = 5"), "minimum must be at most"),
        (
            ("rounds = 2", "most_records = 100000000000"),
            "records must be fewer: .* would wrap round",
        ),
        (("start = ", "start = 0 # "), "campaign.toml: start must be a whole number >= 1, got 0"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path, change, message):
    folder = folder_of(tmp_path, CAMPAIGN.replace(*change))
    with pytest.raises(ValueError, match=message):
        SiteSpec.read(folder / "campaign.toml").prepare(bytes(32))
