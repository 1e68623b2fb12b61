"""The page: what it says, that it escapes, and that its pictures and predictions are right."""

import asyncio
import json
import re
import subprocess
from html.parser import HTMLParser
from importlib import resources

import httpx
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import Cohort, seeded
from tacit.data.cohort import Public
from tacit.estimators.measures import measure
from tacit.learners.learner import ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.centroid import Centroid
from tacit.render.drawing import draw
from tacit.service.coordinator import app as app_module
from tacit.service.coordinator import status as status_module
from tacit.service.coordinator.page import chart_of, page, sentence
from tacit.service.coordinator.status import View, accuracy
from tacit.service.protocol.handshake import REHEARSAL
from tacit.service.protocol.web import static_files
from tests.clients.campaigns import node
from tests.service.coordinator.made import (
    ADMIN,
    CAMPAIGN,
    client_of,
    folder_of,
    running,
    visiting,
)

EVIL = """x' "><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}"""


KEY = "0123456789abcdef" * 4


def question(number, state, counted, **outcomes):
    answer = {"signal": 0.25, "measured": 0.11, "predicted": 0.1}
    return {
        "number": number,
        "what": "centroid",
        "round": number,
        "attempt": 1,
        "state": state,
        "invited": 1000,
        "counted": counted,
        "outcomes": {"counted": counted, **outcomes},
        "opened": 1.8e9,
        "deadline": 1.9e9,
        "answer": answer if state == "closed" else None,
    }


def figures(**more):
    asked = [
        question(1, "closed", 990, late=3, malformed=2, contradicted=1),
        question(2, "open", 400),
    ]
    known = {
        "name": "trial",
        "key": KEY,
        "state": "running",
        "ended": "",
        "at": 1.8e9,
        "owners": {"enrolled": 5000, "waiting": 3000, "revoked": 1},
        "start": 4000,
        "needed": 1000,
        "kind": "boosting",
        "unit": "owner",
        "adjacency": "any two sets of rows of one owner",
        "influence": "one report, true or not, moves the mean of n shares by at most 9 / n",
        "answers": 1,
        "learner": "centroid",
        "unsound": "",
        "mechanism": "privunit",
        "epsilons": [1.0, 2.0],
        "sum_epsilon": None,
        "delta": 0.0,
        "rounds": 10,
        "owners_per_round": 1000,
        "minimum": 100,
        "questions": asked,
        "voices": [],
        "strangers": {},
        "sample": 400,
        "public_model": "boosted trees",
        "public_only": {"error": 0.1, "stderr": 0.015},
        "majority": {"error": 0.4, "stderr": 0.02},
        "test": None,
        "progress": [{"error": 0.2, "stderr": 0.02}],
    }
    return {**known, **more}


class Outline(HTMLParser):
    """Tags, ids, attributes that script or style inline, and text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.ids, self.inline, self.text, self.references = [], [], [], "", []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name.startswith("on") or name == "style" or (tag == "style"):
                self.inline.append((tag, name))
            if name in ("aria-labelledby", "aria-describedby", "for"):
                self.references += value.split()

    def handle_data(self, data):
        self.text += " " + data


def test_the_page_says_what_is_going_on():
    outline = Outline(page(figures()))
    text = " ".join(outline.text.split())
    for words in (
        "1 of 10 rounds are done. Question 2 is open: 400 of 1,000 owners have answered.",
        "Owners invited 2,000",
        "Answered 1,390",
        "Late 3",
        "Refused 3",
        "Epsilon per owner 1 to 2",
        "So far the data user's sample alone is better than the ensemble, by 10.0% of rows.",
        "a factor of at most 7.389 (e to the power of 2)",
        "one owner: any two sets of rows of one owner",
        "Not protected",
    ):
        assert words in text, words
    assert re.search(r"Ratio 1 1 0.25 0.1 0.11 1.10", text)


def test_both_models_are_shown_by_all_measures_on_the_same_test_rows():
    chances, y = np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4], [0.4, 0.6]]), np.array([0, 1, 1, 0])
    ours, alone = measure(chances, y), measure(np.full((4, 2), 0.5), y)
    wrong = {"error": 0.5, "stderr": 0.25}
    test = {"rows": 4, "ours": wrong, "alone": wrong}
    measured = {"ours": ours.as_dict, "alone": alone.as_dict}
    html = page(figures(state="ended", test={**test, "measures": measured}))
    text = " ".join(Outline(html).text.split())
    for name in ("balanced accuracy", "F1", "AUC", "log loss", "calibration error"):
        shown = f"{name[0].upper()}{name[1:]} {ours[name]} {alone[name]}"
        assert shown in text, shown
    before = page(figures(state="ended", test=test))  # archived when only errors were kept
    assert "by other measures" not in before


def test_the_page_is_in_order_for_keyboards_and_readers():
    outline = Outline(page(figures()))
    assert {"header", "main", "footer", "h1", "caption", "title", "noscript"} <= set(outline.tags)
    assert outline.tags.count("h1") == 1
    assert outline.tags.count("table") == outline.tags.count("caption") == 3
    assert outline.tags.count("h3") == 2  # of the chart, and of what is not protected
    assert len(outline.ids) == len(set(outline.ids))
    assert set(outline.references) <= set(outline.ids)


def test_enter_in_the_field_of_the_key_steers_nothing():
    """It presses the first button that submits, as HTML says, which began the campaign: that cannot
    be taken back.
    """
    form = page(figures(state="enrolling")).partition('<form id="admin"')[2].partition("</form>")[0]
    buttons = re.findall("<button[^>]*>", form)
    assert ['type="button"' in each for each in buttons] == [
        'name="state"' in each for each in buttons
    ]
    first = next(each for each in buttons if 'type="button"' not in each)
    assert 'name="show"' in first
    assert "Enter shows the log, and changes nothing." in form


PRESSED = """
const asked = [], listening = {};
let hasKey = true;
const element = (more = {}) => ({
  dataset: { root: "" }, classList: { toggle() {} }, setAttribute() {}, replaceChildren() {},
  append() {}, addEventListener: (what, then) => { listening[more.value ?? what] = then; }, ...more,
});
const states = ["running", "paused", "ended"].map((value) => element({ name: "state", value }));
const form = element({
  elements: { key: { value: "the key", select() {} } },
  querySelectorAll: () => states,
  reportValidity: () => hasKey,
});
globalThis.document = {
  getElementById: (id) => (id === "admin" ? form : element()),
  querySelectorAll: () => [],
  dispatchEvent() {},
};
globalThis.Event = class {};
globalThis.confirm = () => true;
globalThis.location = { origin: "" };
globalThis.fetch = async (address, given) => {
  asked.push([given.method ?? "GET", address, given.body ?? ""]);
  return { ok: false, status: 403 };
};
require(process.argv[1]);
(async () => {
  listening.submit({ preventDefault() {}, submitter: { name: "show", value: "acts" } });
  for (const each of states) await listening[each.value]();
  hasKey = false;
  await listening.running();
  console.log(JSON.stringify(asked));
})();
"""


def test_the_script_steers_by_a_press_and_looks_by_what_is_submitted():
    file = str(resources.files("tacit.service.coordinator") / "static" / "admin.js")
    done = subprocess.run([node(), "-e", PRESSED, file], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [
        ["GET", "/v1/admin/acts?limit=50", ""],
        ["POST", "/v1/admin/state", "running"],
        ["POST", "/v1/admin/state", "paused"],
        ["POST", "/v1/admin/state", "ended"],
    ]


def test_names_from_outside_are_escaped_and_nothing_is_inline():
    html = page(figures(name=EVIL, ended=EVIL, state="ended"))
    outline = Outline(html)
    assert outline.inline == []
    assert "img" in outline.tags  # the brand's, and no other
    assert outline.tags.count("img") == 1
    assert outline.tags.count("script") == 2
    assert "{{7*7}}" in outline.text
    assert EVIL in outline.text


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {"state": "enrolling", "questions": [], "progress": []},
            "4,999 of 4,000 owners needed to begin have enrolled.",
        ),
        ({"state": "paused"}, "Paused after 1 of 10 rounds"),
        (
            {"state": "ended", "ended": "all 10 rounds"},
            "Ended: all 10 rounds. The model is published.",
        ),
        ({"questions": []}, "The next question is being prepared."),
        (
            {"state": "paused", "questions": []},
            "Paused before anything was asked: 4,999 owners have enrolled",
        ),
        (
            {"questions": [], "needed": 6000},
            "4,999 owners have enrolled; the first question needs 6,000.",
        ),
    ],
    ids=["enrolling", "paused", "ended", "between", "paused before", "too few"],
)
def test_every_state_has_its_sentence(more, words):
    assert words in sentence(figures(**more))
    assert words in " ".join(Outline(page(figures(**more))).text.split())


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"mechanism": "none"}, "shares leave as they are"),
        ({"name": f"{REHEARSAL}: trial"}, "this is a rehearsal: its coins can be repeated"),
        ({"unsound": "labels are not protected"}, "labels are not protected"),
    ],
    ids=["none", "rehearsal", "unsound"],
)
def test_no_guarantee_is_named_where_none_holds(more, why):
    text = " ".join(Outline(page(figures(**more))).text.split())
    assert f"Nothing: {why}." in text
    assert "a factor of at most" not in text
    assert "Epsilon per owner none" in text


def drawn(**more):
    chart = chart_of(figures(**more))
    assert chart is not None
    return draw(chart)


def test_the_chart_puts_things_where_they_belong():
    errors = [{"error": e, "stderr": 0.01} for e in (0.3, 0.2, 0.1)]
    chart = drawn(progress=errors, public_only={"error": 0.2, "stderr": 0.01}, rounds=4)
    ours, alone = chart.curves
    first, second, third = ours.points
    assert first.y < second.y < third.y  # less error is further down
    assert second.y == pytest.approx(alone.points[0].y)
    assert second.x - first.x == pytest.approx(third.x - second.x)
    assert third.x < chart.right - (third.x - second.x)  # there is room for the one to come
    assert [tick.text for tick in chart.columns] == ["1", "2", "3", "4"]
    heights = {tick.text: tick.at for tick in chart.rows}
    assert heights["20"] == pytest.approx(second.y)
    assert chart.figures[0] == ("round", "The ensemble", "The data user's sample alone")
    assert chart.figures[2] == ("2", "20 ± 2", "20 ± 2")


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("boosting", "The ensemble, round 1"),
        ("sites", "The combined model, step 1"),
        ("peers", "The served model, turn 1"),
    ],
    ids=["boosting", "sites", "peers"],
)
def test_every_kind_has_its_own_words(kind, says):
    assert drawn(kind=kind).curves[0].points[0].text == f"{says}: 20 ± 4"
    text = " ".join(
        Outline(
            page(figures(kind=kind, unit="record" if kind != "boosting" else "owner"))
        ).text.split()
    )
    assert f"No. {says.split()[-2].capitalize()} State" in text


def test_before_anything_is_known_there_is_no_chart():
    assert chart_of(figures(progress=[], public_only=None)) is None
    assert "Nothing is known yet." in page(figures(progress=[], public_only=None))
    levels = drawn(progress=[])
    assert levels.figures == (("round", "The data user's sample alone"), ("\N{EN DASH}", "10 ± 3"))


def test_where_nobody_was_asked_the_page_says_what_there_is_and_draws_no_curve():
    """It drew one line across rounds that never were, and said that nothing was asked "yet"."""
    over = {"state": "ended", "ended": "owners ran out before the first round", "progress": []}
    text = Outline(shown := page(figures(**over, questions=[]))).text
    assert "Nobody's answers are in what is published." in text
    assert "The data user's sample alone: 90.0 ± 3.0 % right answers." in text
    assert " yet" not in text
    assert 'class="chart' not in shown
    assert 'class="chart' in page(figures(questions=[], progress=[]))  # before the first step


@pytest.mark.parametrize("rounds", [1, 3, 200])
def test_charts_of_any_length_stay_on_their_sheet(rounds):
    rng = np.random.default_rng(rounds)
    errors = [{"error": float(e), "stderr": 0.2} for e in rng.uniform(0, 1, rounds)]
    chart = drawn(progress=errors, rounds=rounds)
    assert len(chart.rows) >= 2
    assert 1 <= len(chart.columns) <= 12
    points = [point for curve in chart.curves for point in curve.points]
    assert all(
        chart.left <= point.x <= chart.right and chart.top <= point.y <= chart.bottom
        for point in points
    )


@pytest.mark.parametrize("mechanism", ["privunit", "piecewise", "laplace", "duchi"])
def test_predicted_errors_are_those_of_the_reports(mechanism):
    """4,000 owners without rows, half at each epsilon: the ratio is 1 within 5 %; another
    epsilon's is not.
    """
    learner = Centroid()
    rng = np.random.default_rng(5)
    sample = Public(rng.uniform(-1, 1, (50, 4)), np.arange(50) % 2, 2)
    query = ShareQuery(
        1, 1, 10, learner, learner.facts(sample), Ensemble(2), ReportTerms(mechanism, (1.0, 2.0))
    )
    owners = 4000
    nobody = Cohort(
        np.zeros((0, 4)), np.zeros(0, dtype=np.int64), np.zeros(owners + 1, dtype=np.int64)
    )
    levels = np.arange(owners) % 2
    epsilons = np.array(query.epsilons)[levels]
    answer = query.answer(query.collect(query.release(nobody, epsilons, seeded(3)), epsilons))
    found = accuracy(query, epsilons, answer)
    assert found.measured is not None
    assert found.predicted is not None
    assert found.measured / found.predicted == pytest.approx(1, abs=0.05)
    other = accuracy(query, np.full(owners, query.epsilons[0]), answer)
    assert other.predicted is not None
    assert abs(found.measured / other.predicted - 1) > 0.1


def test_nothing_is_predicted_for_shares_that_leave_as_they_are():
    learner = Centroid()
    sample = Public(np.eye(4), np.arange(4) % 2, 2)
    query = ShareQuery(
        1, 1, 10, learner, learner.facts(sample), Ensemble(2), ReportTerms("none", (1.0,))
    )
    rows = Cohort(np.eye(4), np.arange(4) % 2, np.arange(5))
    epsilons = np.ones(4)
    answer = query.answer(query.collect(query.release(rows, epsilons, seeded(3)), epsilons))
    assert accuracy(query, epsilons, answer).predicted is None


def test_a_new_campaign_shows_the_public_line_and_can_be_begun_and_paused(tmp_path):
    text = CAMPAIGN.replace('"trial"', "'''" + EVIL.replace("'", "") + "'''")
    service = running(folder_of(tmp_path, text=text))

    async def main():
        async with visiting(service.app) as client:
            while not (await client.get("/v1/status")).json()["public_only"]:
                await asyncio.sleep(0.05)
            key = {"x-tacit-admin": ADMIN}
            states = []
            asked = [
                ("running", {}),
                ("paused", key),
                ("running", key),
                ("running", key),
                ("paused", key),
                ("over", key),
            ]
            for wanted, headers in asked:
                answer = await client.post("/v1/admin/state", content=wanted, headers=headers)
                states.append(
                    (answer.status_code, (await client.get("/v1/status")).json()["state"])
                )
            return states, await client.get("/")

    states, shown = asyncio.run(main())
    assert states[:3] == [(401, "enrolling"), (200, "paused"), (200, "enrolling")]
    assert states[3:] == [(200, "running"), (200, "paused"), (400, "paused")]
    assert isinstance(shown, httpx.Response)
    assert "sample alone" in shown.text
    assert "<script>alert" not in shown.text


def test_many_viewers_cost_the_database_as_much_as_one(tmp_path, monkeypatch):
    key = Ed25519PrivateKey.generate()
    service = running(folder_of(tmp_path), key=key)
    view = View(service.store, key.public_key())
    read = []
    standing = service.store.standing

    def counted():
        read.append(1)
        return standing()

    monkeypatch.setattr(service.store, "standing", counted)
    for _ in range(20):
        view.status()
    assert len(read) == 1
    view.forget()
    view.status()
    assert len(read) == 2


def test_sums_over_all_owners_are_told_apart():
    asked = [
        question(1, "closed", 990),
        {**question(2, "closed", 4000), "what": "error sum", "answer": None},
    ]
    text = " ".join(Outline(page(figures(sum_epsilon=0.5, questions=asked))).text.split())
    assert "Owners invited 1,000" in text  # those who spent their report
    assert "2 2, errors closed" in text
    assert "and 0.5 for each sum of errors that it takes part in" in text
    assert "either of two servers, but not both together" in text


def test_the_page_says_how_to_take_part_by_when_and_where_the_model_is():
    html = page(figures())
    assert f"--campaign-key {KEY}" in html
    assert "--token @token" in html
    # shown until the campaign has ended, also where that happens while somebody looks
    assert re.search('<p id="closed" data-live hidden>.*<pre class="joining">', html, re.DOTALL)
    style = static_files("tacit.render")["tacit.css"][1].decode()
    assert "#closed:not([hidden]) ~ .joining { display: none; }" in style
    assert "Open until" in html
    assert 'class="button" href="/v1/model"' not in html
    assert "Begun" not in html
    ended = page(figures(state="ended", ended="all rounds", began_at=60.0, ended_at=86400.0))
    assert '<p id="closed" data-live>The campaign has ended' in ended
    assert "1970-01-01 00:01:00 UTC" in ended
    assert "1970-01-02 00:00:00 UTC" in ended
    assert 'class="button" href="/v1/model" download="model.tacit">Download the model</a>' in ended
    assert "Compare it with what you were told by another way" in ended


def test_who_enrols_and_who_took_part_is_said_in_the_words_of_the_kind():
    of_sites = {"kind": "sites", "unit": "record", "voices": []}
    assert "Sites are enrolling" in page(figures(state="enrolling", **of_sites))
    assert "Nobody has enrolled yet" in page(figures(state="enrolling", **of_sites))
    archived = page(figures(state="ended", ended="all answered", archived=True, **of_sites))
    assert ">Archived</span>" in archived
    assert "who took part is not kept any more" in archived
    assert "Nobody has enrolled yet" not in archived


def test_trust_in_two_servers_is_promised_as_such():
    text = " ".join(Outline(page(figures(mechanism="two servers", delta=1e-6))).text.split())
    assert "local differential privacy" not in text
    assert "and delta 1e-06, exact" in text
    assert "but with a chance of 1e-06" in text
    assert "a report in two sealed halves" in text
    assert "If both of them work together against you, they see your report" in text
    own = " ".join(Outline(page(figures())).text.split())
    assert "local differential privacy" in own
    assert "delta" not in own


def test_many_viewers_cost_as_much_as_one(tmp_path, monkeypatch):
    """The page, its figures and the list of routes were made anew for everybody who looked."""
    monkeypatch.setattr(status_module, "FRESH", 3600.0)
    made = []

    def show(*given):
        made.append(1)
        return page(*given)

    monkeypatch.setattr(app_module, "page", show)
    service = running(folder_of(tmp_path))

    async def main():
        async with client_of(service.app) as client:
            paths = ("/", "/v1/status", "/openapi.json") * 10
            return [await client.get(path) for path in paths]

    found = asyncio.run(main())
    assert {each.status_code for each in found} == {200}
    assert made == [1]
    assert len({each.text for each in found}) == 3
    service.close()


def test_a_campaign_of_one_step_shows_two_bars_and_no_curve():
    html = page(figures(rounds=1))
    text = " ".join(Outline(html).text.split())
    assert "On the data user's sample, right answers in percent" in text
    assert "The ensemble 80.0 ± 4.0 The data user's sample alone 90.0 ± 3.0" in text
    assert "Its own model is boosted trees, cross-validated." in text
    assert '<svg class="chart"' not in html
    assert re.findall('<meter class="(\\w+)"', html) == ["ours", "alone"]
    seen = {"ours": {"error": 0.25, "stderr": 0.01}, "alone": {"error": 0.5, "stderr": 0.01}}
    tested = page(figures(rounds=1, test={"rows": 300, **seen}))
    assert "On 300 test rows that neither has seen" in tested
    assert "75.0" in tested
    for several in (figures(), figures(rounds=1, progress=[])):  # a curve, or nothing to compare
        assert '<svg class="chart"' in page(several)
        assert 'class="compared"' not in page(several)


def test_who_has_spoken_is_in_the_order_of_names():
    names = ["St Brendan", "St Agatha", "St Colman"]
    rest = {"asked": 1, "answered": 1, "gone": False, "lied": False, "weight": 1840.3}
    there = {**figures(), "unit": "record", "voices": [{"name": name, **rest} for name in names]}
    there |= {"kind": "sites", "influence": "by at most 1,840 / n"}
    shown = page(there)
    assert [shown.index(name) for name in sorted(names)] == sorted(map(shown.index, names))
    assert "by at most 1,840 / n" in shown
