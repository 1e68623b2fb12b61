"""Campaigns of sites: one private model each, combined with the data user's sample, over the
same service.
"""

import asyncio
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import tacit
from tacit import seeded
from tacit.engines.inline import Inline
from tacit.estimators.persistence import SavedModel, open_model
from tacit.owner.gate import Gate, RefusedError
from tacit.owner.ledger import Ledger
from tacit.service.coordinator.intake import Intake, Outcome
from tacit.service.coordinator.page import chart_of, page
from tacit.service.coordinator.status import View
from tacit.service.coordinator.tables import CLOSED, OPEN, VOID
from tacit.service.device.disclosures import preview
from tacit.service.device.join import RehearsalPart, join
from tacit.service.kinds.sites import SiteSpec, SiteTerms
from tacit.wire import decode, encode
from tests.service.coordinator.made import (
    ADMIN,
    driven,
    enrol,
    joining,
    question_for,
    rows,
    running,
    write,
)

SITES = 4
TOKENS = [f"token number {i:04d}" for i in range(SITES)]
SEED = 7
KEY = Ed25519PrivateKey.generate()
CAMPAIGN = f"""
kind = "sites"
name = "trial"
sample = "mine.csv"
label = "ill"
epsilon = [1.0, 2.0]
start = {SITES}
minimum = 2
deadline = 300
"""
LIMITS = {"epsilon_per_release": 2, "epsilon_total": 2, "units": ("record",), "learners": ("site",)}


def folder_of(tmp_path, text=CAMPAIGN):
    write(
        tmp_path / "mine.csv",
        [{k: v for k, v in row.items() if k != "who"} for row in rows(60, 1, seed=1)],
    )
    write(tmp_path / "people.csv", rows(SITES, 200, seed=2))
    (tmp_path / "campaign.toml").write_text(text)
    return tmp_path


def in_process(folder, epsilon):
    terms, public = SiteSpec.read(folder / "campaign.toml").prepare()
    assert isinstance(terms, SiteTerms)
    _, cohort = joining(folder).rows(terms)
    return Inline(cohort, epsilon, seeded(SEED)).run(terms.run(public)).linear(terms.query)


def test_sites_train_and_the_model_is_that_of_one_process_byte_for_byte(tmp_path, any_database):
    more = 'test = "test.csv"\ncombine = "feature"\n'
    folder = folder_of(tmp_path, CAMPAIGN + more)
    write(folder / "test.csv", rows(1, 300, seed=3))
    service = running(folder, any_database, rehearsal=SEED)
    service.store.add_tokens(TOKENS)

    async def work(link):
        mine = joining(folder, RehearsalPart(SEED), **LIMITS)
        answered = await join(mine, link, TOKENS)
        while (await link.call("GET", "/v1/model", None)).status_code == 404:
            await asyncio.sleep(0.05)
        return (
            answered,
            (await link.call("GET", "/v1/status", None)).json(),
            await link.call("GET", "/v1/model", None),
        )

    answered, status, model = driven(service, work)
    assert answered == SITES
    assert (status["state"], status["ended"], status["unit"]) == (
        "ended",
        "4 sites answered",
        "record",
    )
    assert [voice["answered"] for voice in status["voices"]] == [1] * SITES
    assert {voice["name"] for voice in status["voices"]} == {f"{i:09d}" for i in range(SITES)}
    published = decode(open_model(model.content)[0], SavedModel)
    assert encode(published.model) == encode(in_process(folder, 2.0))
    assert encode(published.model) != encode(in_process(folder, 1.0))
    (folder / "m.tacit").write_bytes(model.content)
    again = tacit.load(folder / "m.tacit")
    table = pd.DataFrame(rows(1, 300, seed=3))
    right = again.score(table[list(again.feature_names_in_)], table["ill"])
    assert right > 0.85
    # what is measured on the test file is the published model
    assert status["test"]["rows"] == 300
    assert status["test"]["ours"]["error"] == pytest.approx(1 - right)
    assert 0 < status["test"]["alone"]["error"] < 0.5
    measured = status["test"]["measures"]
    assert measured["ours"]["accuracy"]["value"] == pytest.approx(right)
    assert measured["ours"]["AUC"]["value"] > measured["ours"]["accuracy"]["value"]
    assert list(measured["ours"]) == list(measured["alone"])
    named = sorted(status["voices"], key=lambda voice: voice["name"])
    in_file = [each["weights"] for each in again.report_]
    assert [voice["weight"] for voice in named] == [abs(weight) for (weight,) in in_file]
    shown = page(status)
    assert "On 300 test rows that neither has seen" in shown
    assert '<th scope="col">Weight</th>' in shown
    unused = {**status, "voices": [{**status["voices"][0], "weight": 0.0}]}
    assert "its answer was not used" in page(unused)
    assert again.guarantee_.unit == "record"
    assert again.guarantee_.void  # it was a rehearsal


NUMBERS = CAMPAIGN.replace('label = "ill"', 'label = "cost"') + 'target = "numbers"\n'


def costs(count, each, seed):
    """Rows whose target is a number; one of them is missing."""
    rng = np.random.default_rng(seed)
    table = [{k: v for k, v in row.items() if k != "ill"} for row in rows(count, each, seed)]
    for row in table:
        row["cost"] = round(40 + 9 * row["a"] - 5 * row["b"] + rng.normal(), 3)
    table[0] |= {"a": 0.0, "b": 0.0, "c": 0.0, "cost": ""}
    return table


def test_sites_predict_numbers_and_the_model_is_that_of_the_regressor(tmp_path, any_database):
    folder = folder_of(tmp_path, NUMBERS + 'test = "test.csv"\n')
    mine, theirs, test = costs(80, 1, 1), costs(SITES, 200, 2), costs(1, 300, 3)
    for name, table in (("mine", mine), ("people", theirs), ("test", test)):
        write(folder / f"{name}.csv", table)
    (folder / "mine.csv").write_text((folder / "mine.csv").read_text().replace("person ", ""))
    more = 'leave_out = ["who"]\ntest = "test.csv"\ncombine = "feature"\n'
    (folder / "campaign.toml").write_text(NUMBERS + more)
    service = running(folder, any_database, rehearsal=SEED)
    service.store.add_tokens(TOKENS)
    mine_joining = replace(joining(folder, RehearsalPart(SEED), **LIMITS), label=None)

    async def work(link):
        looked = await preview(mine_joining, link, None)
        await join(mine_joining, link, TOKENS)
        while (await link.call("GET", "/v1/model", None)).status_code == 404:
            await asyncio.sleep(0.05)
        status = (await link.call("GET", "/v1/status", None)).json()
        return looked, status, await link.call("GET", "/v1/model", None)

    looked, status, model = driven(service, work)
    (folder / "m.tacit").write_bytes(model.content)
    again = tacit.load(folder / "m.tacit")
    names = list(again.feature_names_in_)
    known, held, unseen = (pd.DataFrame(table) for table in (mine, theirs, test))
    fitted = tacit.SiteEnsembleRegressor(combine="feature", epsilon=2.0, random_state=SEED).fit(
        held[names],
        pd.to_numeric(held["cost"]),
        owners=held["who"],
        public=(known[names][1:], pd.to_numeric(known["cost"][1:])),
    )
    published = decode(open_model(model.content)[0], SavedModel)
    assert published.kind == "SiteEnsembleRegressor"
    assert encode(published.model) == encode(fitted.linear_)
    assert encode(published.schema) == encode(fitted.schema_)
    assert published.frequencies.size == 0
    assert all(voice["weight"] > 0 for voice in status["voices"])
    kept = unseen["cost"] != ""
    right = again.score(unseen[names][kept], pd.to_numeric(unseen["cost"][kept]))
    assert 0.8 < right == pytest.approx(1 - status["test"]["ours"]["error"], abs=1e-4)
    assert status["measure"] == "variance"
    assert 0 < status["test"]["ours"]["stderr"] < 0.05
    low, high = again.range_.low, again.range_.high
    said = " ".join(looked.lines)
    assert f"cost is read as a number from {low:g} to {high:g}" in said
    assert looked.figures["range"] == [low, high]
    shown = " ".join(page(status).split())
    assert "variance explained in percent" in shown
    chart = chart_of(status)
    assert chart is not None
    assert "Variance that is not explained on the data user's sample" in chart.y_label
    assert "most frequent class" not in shown


def test_the_public_bounds_of_a_number_are_those_of_the_file(tmp_path):
    folder = folder_of(tmp_path, NUMBERS + 'leave_out = ["who"]\ntarget_range = [0, 50]\n')
    write(folder / "mine.csv", costs(80, 1, 1))
    terms, public = SiteSpec.read(folder / "campaign.toml").prepare()
    assert isinstance(terms, SiteTerms)
    assert (terms.schema.classes, public.classes, terms.query.labels) == ((0.0, 50.0), 0, 0)
    assert public.y.max() == 1 << 20  # beyond is the bound
    assert len(public.y) == 79  # one has no number


def test_sites_that_cannot_add_anything_are_not_asked(tmp_path):
    folder = folder_of(tmp_path, CAMPAIGN.replace("[1.0, 2.0]", "0.1") + "records = 30\n")
    with pytest.raises(ValueError, match="Do not collect: 4 sites with 30 records each"):
        running(folder)


def test_the_page_says_what_was_expected(tmp_path):
    folder = folder_of(tmp_path, CAMPAIGN.replace("[1.0, 2.0]", "8.0") + "records = 1500\n")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 12))
    ill = x @ np.linspace(-1, 1, 12) + rng.logistic(size=60) / 2 > 0
    columns = {f"x{place}": x[:, place] for place in range(12)}
    pd.DataFrame({**columns, "ill": np.where(ill, "yes", "no")}).to_csv(
        folder / "mine.csv", index=False
    )
    service = running(folder, key=KEY)
    service.driver.step()
    status = View(service.store, KEY.public_key()).status()
    assert status["plan"].startswith("Collect: 4 sites with 1,500 records each at epsilon 8")
    assert f"from the sample alone: {status['plan']}" in " ".join(page(status).split())


class Trial:
    """A coordinator and four sites in one thread, each moved by hand."""

    def __init__(self, tmp_path, text=CAMPAIGN, **limits):
        self.folder = folder_of(tmp_path, text)
        self.url = f"sqlite:///{tmp_path}/c.db"
        self.start()
        self.store.add_tokens(TOKENS)
        self.names, cohort = joining(self.folder).rows(self.terms)
        self.keys = [f"{i:064x}" for i in range(SITES)]
        for key, token, name in zip(self.keys, TOKENS, self.names, strict=True):
            assert enrol(self.store, key, token, name)
        self.ledger = Ledger(self.folder / "ledger.db", self.folder / "ledger.mark")
        policy = joining(self.folder, **{**LIMITS, **limits}).policy
        self.gate = Gate(
            cohort, self.names, self.terms.schema, policy, self.ledger, KEY.public_key()
        )

    def start(self):
        """A coordinator that knows nothing but the database, when the lease of the last has run
        out.
        """
        self.service = running(self.folder, self.url, KEY)
        self.store = self.service.store
        self.terms, self.public = SiteSpec.read(self.folder / "campaign.toml").prepare()
        with self.store.transaction() as connection:
            connection.exec_driver_sql("UPDATE campaign SET lease_until = 0")

    def late(self):
        with self.store.transaction() as connection:
            connection.exec_driver_sql("UPDATE questions SET deadline = 0")

    def steps(self, count=3):
        for _ in range(count):
            self.service.driver.step()

    def answer(self, *sites):
        sent = []
        for site in sites:
            data = question_for(self.store, self.keys[site])
            assert data is not None
            sent.append((self.keys[site], self.gate.answer(data, self.names[site])))
        return Intake(self.store, KEY.public_key()).write(sent)

    def model(self):
        return decode(self.store.standing().model or b"", SavedModel)


@pytest.fixture
def trial(tmp_path):
    return Trial(tmp_path)


def test_sites_that_do_not_answer_are_left_out_and_every_kill_is_survived(trial):
    trial.start()
    trial.steps(2)
    trial.start()
    assert trial.answer(0, 2) == [Outcome.COUNTED] * 2
    trial.start()
    trial.steps()
    assert [q.state for q in trial.store.questions()] == [
        OPEN
    ]  # two are missing, and there is time
    trial.start()
    assert trial.answer(3) == [Outcome.COUNTED]
    trial.late()
    trial.steps()
    assert [q.state for q in trial.store.questions()] == [CLOSED]
    standing = trial.store.standing()
    assert (standing.state, standing.ended) == ("ended", "3 sites answered")
    assert not trial.model().guarantee.void
    assert trial.model().guarantee.epsilon == (2.0, 2.0)
    assert {str(entry.cost) for entry in trial.ledger.entries()} == {"2"}
    silent = page(View(trial.store, KEY.public_key()).status())
    assert "3 sites answered" in silent
    assert "was silent" in silent


def test_a_database_that_is_away_when_all_is_done_only_makes_it_wait(trial, monkeypatch):
    trial.steps(2)
    trial.answer(0, 1, 2, 3)

    def away(*_):
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(trial.store, "end", away)
        for _ in range(2):
            with pytest.raises(ConnectionError):
                trial.service.driver.step()
    trial.steps(1)
    assert trial.store.standing().ended == "4 sites answered"


def test_too_few_sites_give_the_model_of_the_sample_alone(trial):
    trial.steps(2)
    trial.answer(1)
    trial.late()
    trial.steps()
    assert [q.state for q in trial.store.questions()] == [VOID]
    assert trial.store.standing().ended == "fewer than 2 sites answered: the sample alone"
    alone = trial.terms.run(trial.public)
    next(alone)
    with pytest.raises(StopIteration) as end:
        alone.send(None)
    np.testing.assert_array_equal(trial.model().model.vectors, end.value.value.public_vectors)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"units": ("owner",)}, "does not allow the unit 'record'"),
        ({"learners": ("leaves",)}, "does not allow this learner"),
        ({"mechanisms": ("output",)}, "does not allow this mechanism"),
    ],
    ids=["unit", "learner", "mechanism"],
)
def test_a_site_speaks_only_as_its_policy_allows(tmp_path, limits, why):
    trial = Trial(tmp_path, **limits)
    trial.steps(2)
    with pytest.raises(RefusedError, match=why):
        trial.answer(0)
    assert trial.ledger.entries() == []


def test_before_joining_a_site_sees_what_would_leave(tmp_path):
    service = running(folder_of(tmp_path))

    async def work(link):
        allowed = (await preview(joining(tmp_path, **LIMITS), link, None)).lines
        return allowed, (await preview(joining(tmp_path), link, None)).lines

    allowed, refused = (" ".join(lines) for lines in driven(service, work))
    assert "trained on your records (5 numbers), through objective perturbation" in allowed
    assert (
        "everything about one record (one record of a site replaced, added or removed)" in allowed
    )
    assert "48 bytes per owner, once; it would cost epsilon 2 in all" in allowed
    assert (
        "your policy refuses it: the policy does not allow the unit 'record'; nothing would leave"
        in refused
    )


def test_the_page_of_sites_speaks_of_records(trial):
    trial.steps(2)
    trial.answer(0, 1)
    text = " ".join(page(View(trial.store, KEY.public_key()).status()).split())
    assert "2 of 4 sites have answered" in text
    assert "Epsilon per record" in text
    assert "one record: one record of a site replaced, added or removed" in text
    assert "Who has spoken" in text
    assert "has spoken" in text
    assert "Always saying the most frequent class is wrong in" in text
    assert "local differential privacy" not in text
    assert ADMIN not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('kind = "sites"', 'kind = "cites"'), "kind must be one of"),
        (("minimum = 2", "minimum = 5"), "minimum must be at most start, 4, got 5"),
        (("deadline = 300", 'privacy = "none"'), "privacy must be one of"),
        (("deadline = 300", "turns = 3"), r"unknown \['turns'\]; a campaign of kind 'sites' has"),
        (("deadline = 300", "rounds = 3"), "most_records and rounds go with trust = 'two servers'"),
        (("deadline = 300", 'trust = "two servers"'), "helper and helper_key must be given where"),
        (("deadline = 300", 'target = "names"'), "target must be one of"),
        (("deadline = 300", "target_range = [0, 1]"), "target_range must be given with target"),
        (("deadline = 300", 'target = "numbers"'), "have no target that is a number"),
        (("start = 4", ""), r"missing \['start'\]"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path, change, message):
    folder = folder_of(tmp_path, CAMPAIGN.replace(*change))
    with pytest.raises(ValueError, match=message):
        running(folder)
