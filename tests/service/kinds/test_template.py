"""Consent that binds: what a campaign may ask is fixed when an owner joins."""

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.templates import campaigns, public_rows, search
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import Cohort, Number, Schema, seeded
from tacit.algorithms import wide_features
from tacit.algorithms.boosting import Verdict
from tacit.algorithms.peers import Peer, Roll, Roster
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.audit.recorder import parts
from tacit.learners.learner import ReportTerms, Tally
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.metric_gradient import MetricGradient
from tacit.learners.owners.stump import StumpModel
from tacit.learners.owners.sum_query import SharesQuery, SumQuery
from tacit.learners.peers.cells import Cells
from tacit.learners.query import PURPOSE, Answer, Invitation, digest_of
from tacit.mechanisms.streams import rational
from tacit.owner.gate import Gate, Reason, RefusedError
from tacit.owner.ledger import Ledger
from tacit.owner.template import FreePart, Template
from tacit.service.kinds.boosting import BoostingTerms
from tacit.service.kinds.classifier import ClassifierTerms
from tacit.service.kinds.peers import PeerTerms
from tacit.sums.discrete_gaussian import epsilon_of
from tacit.wire import WireError
from tacit.wire.envelopes import open_signed, sign
from tests.owner.made import KEY, policy
from tests.service.device.coordinators import POLICY, Watching, run, terms_of


def test_no_question_outside_the_template_is_accepted():
    accepted, tried = search(questions=300, seed=1)  # 100,000: python -m benchmarks.templates
    assert accepted == 0
    assert len({name.split(",")[0] for name in tried}) == 7  # of every kind


@pytest.mark.parametrize("place", range(13))
def test_what_a_campaign_asks_is_within_its_template(place):
    terms = campaigns()[place]
    asked = Invitation(terms.name, 1, 1, digest_of(terms.schema), terms.example())
    assert terms.template().objection(asked) == ""
    later = replace(asked, number=7, query=replace(asked.query, round=1, attempt=3))
    assert terms.template().objection(later) == ""


def test_what_sums_of_a_classifier_are_asked_for_is_within_its_template(monkeypatch):
    """Also while owners are asked between a line and all features, with more said along the way;
    not what is said along other axes than there are, or of other features.
    """
    monkeypatch.setattr(wide_features, "WIDE", 150)
    public, crowd = public_rows(), Population(200_000, 2.0, 1, "two servers")
    asking, keys = refine(public, crowd, "auto", 2.0), (bytes(32), bytes(range(32)))
    query, louder = next(asking), 0
    terms = ClassifierTerms(
        name="trial",
        schema=campaigns()[0].schema,
        label="ill",
        start=200_000,
        minimum=10,
        deadline=60.0,
        sample=bytes(32),
        query=query,
        owners=200_000,
        rows=1,
        rounds=4,
        features=("linear", "products"),
        maps=None,
        keys=keys,
        budget=2.0,
    )
    template, cohort = terms.template(), Cohort.of(public.X, public.y)
    for place in range(1, 5):
        asked = Invitation(
            "trial", place, 1, digest_of(terms.schema), SharesQuery.of(query, place, keys)
        )
        assert template.objection(asked) == ""
        learner = query.learner
        assert isinstance(learner, MetricGradient)
        axes, parts = learner.axes, learner.parts
        louder += int(parts.max() > 3)
        for other in (
            replace(learner, axes=np.vstack([axes, axes]), parts=np.append(parts, parts)),
            replace(learner, axes=1000 * axes),
            replace(learner, parts=parts + 1e7),
        ):
            bad = replace(asked, query=SharesQuery.of(replace(query, learner=other), place, keys))
            assert template.objection(bad) != ""
        mean = learner.share(query, cohort).mean(axis=0)
        with suppress(StopIteration):
            query = asking.send(Answer(mean, np.full(len(mean), 1e-6), 200_000))
    assert louder == 1


def ask(terms, gate, number, key=KEY, **changes):
    query = replace(terms.example(), **changes)
    asked = Invitation(terms.name, number, 1 << 40, digest_of(terms.schema), query)
    return gate.answer(sign(asked, PURPOSE, key))


def gate_of(terms, folder, template=True, key=KEY, **limits):
    rows = Cohort(np.zeros((2, terms.schema.dim)), np.array([0, 1]), np.array([0, 2]))
    ledger = Ledger(folder / "l.db", folder / "l.mark")
    given = terms.template() if template else None
    limits = {"epsilon_total": 9, "releases": 9, **limits}
    return Gate(
        rows, ["me"], terms.schema, policy(**limits), ledger, key.public_key(), template=given
    )


def test_a_gate_answers_within_the_template_and_as_often_as_it_says(tmp_path):
    terms = campaigns()[0]
    gate = gate_of(terms, tmp_path)
    grown = Ensemble(2).plus(0.5, StumpModel(1, 0.25, 0, 1))
    assert ask(terms, gate, 1, round=2, ensemble=grown)
    with pytest.raises(RefusedError) as second:
        ask(terms, gate, 2)
    assert second.value.reason is Reason.SPENT
    assert ask(terms, gate_of(terms, tmp_path, template=False), 3)  # the template alone refused it


def test_the_epsilon_is_the_one_agreed_to_whatever_was_spent_elsewhere(tmp_path):
    terms = campaigns()[0]  # offers 0.5 and 1
    assert isinstance(terms, BoostingTerms)
    other = replace(terms, name="other", terms=ReportTerms("privunit", (0.25,)))
    limits = {"epsilon_total": Fraction(6, 5)}
    key = Ed25519PrivateKey.generate()
    ask(other, gate_of(other, tmp_path, key=key, **limits), 1, key)
    gate = gate_of(terms, tmp_path, **limits)
    said = ask(terms, gate, 1)
    assert said[7] == 1  # the level: not that of 0.5, which would tell of the other
    assert [entry.epsilon for entry in gate._ledger.entries()] == ["1/4", "0"]
    assert ask(terms, gate, 1) == said  # once and for all, as if it had been paid for


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"columns": ("town",)}, "does not allow the columns age"),
        ({"columns_never": ("age",)}, "does not allow the columns age"),
        ({"columns_never": ("ill",)}, "does not allow the columns ill"),
        ({"labels": ("rich",)}, "does not allow to predict ill"),
    ],
)
def test_policies_name_columns_and_labels(tmp_path, limits, why):
    terms = campaigns()[0]
    with pytest.raises(RefusedError, match=why):
        ask(terms, gate_of(terms, tmp_path, **limits), 1)
    (tmp_path / "a.csv").write_text("age,ill\n41,yes\n")
    coordinator = Watching()
    with pytest.raises(ValueError, match=why):
        run(coordinator, tmp_path / "a.csv", tmp_path / "home", policy=replace(POLICY, **limits))
    assert [path for _, path, _, _ in coordinator.seen] == ["/v1/campaign"]


def test_allowed_columns_and_labels_are_allowed(tmp_path):
    terms = campaigns()[0]
    gate = gate_of(terms, tmp_path, columns=("age", "town", "more"), labels=("ill",))
    assert ask(terms, gate, 1)


def test_a_campaign_that_asks_for_something_else_later_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("age,ill\n41,yes\n")
    coordinator = Watching()
    run(coordinator, tmp_path / "a.csv", tmp_path / "home")
    coordinator.terms = replace(terms_of("trial"), rounds=5)
    with pytest.raises(ValueError, match="something else than what you agreed to"):
        run(coordinator, tmp_path / "a.csv", tmp_path / "home")


def test_the_template_is_shown_in_plain_words():
    lines = campaigns()[0].template().lines()
    assert lines[0] == "columns used: age, town; to predict ill"
    words = "may ask at most once: stump through privunit, unit owner, epsilon at most 1 each"
    assert lines[2].startswith(words)
    assert "the ensemble published so far (18 numbers up to 700)" in lines[3]
    large = FreePart("attempt", "the attempt", numbers=1, largest=2.0**40)
    assert large.words == f"{large.meaning} (a number up to 1,099,511,627,776)"
    assert replace(large, numbers=0).words == f"{large.meaning} (some of those published)"


def test_what_is_agreed_to_is_not_shown_as_less():
    """To six digits: an epsilon of 1.0000004 was shown as 1."""
    shown = campaigns()[0].template()
    wider = replace(shown, forms=(replace(shown.forms[0], most=1.0000004),))
    assert "epsilon at most 1.00001 each" in wider.lines()[2]


SUMMED = [role for role in parts() if getattr(role.terms, "budget", None) is not None]


@pytest.mark.parametrize("role", SUMMED, ids=lambda role: role.name)
def test_what_all_sums_cost_together_is_not_for_whoever_asks_to_say(role):
    """A campaign said epsilon 0.001 in all, and each of its sums was charged 0.5: an owner agreed
    to what it did not read.
    """
    (form,) = role.terms.template().forms
    with pytest.raises(ValueError, match="total must be what 1 sums cost together, or more"):
        replace(role.terms, budget=0.001).template()
    with pytest.raises(ValueError, match="total must be what 9 sums cost together, or more"):
        replace(form, times=9)
    query, allowed = form.example, policy(units=("owner", "record"), delta_total="0.1")
    together = epsilon_of(9 * query.rho, query.delta)
    assert replace(form, times=9, total=together).cost(allowed) == rational(together)
    assert together < 9 * query.epsilons[0]


def asked_by(terms, public, answer):
    """All questions that the campaign's algorithm puts, and the template says nothing against."""
    algorithm, template = terms.run(public), terms.template()
    query, number = next(algorithm), 0
    while True:
        number += 1
        if isinstance(query, Tally):
            query = SumQuery.of(query, terms.schema.dim, number, 1, terms.sums)
        asked = Invitation(terms.name, number, 1, digest_of(terms.schema), query)
        assert template.objection(asked) == ""
        try:
            query = algorithm.send(answer(query))
        except StopIteration:
            return number


@pytest.mark.parametrize("place", [0, 1, 3, 5, 12])
def test_all_that_a_campaign_asks_until_its_end_is_within_its_template(place):
    """Whatever owners say: here nothing but noise, loud and quiet."""
    rng = np.random.default_rng(place)

    def answer(query):
        if isinstance(query, SumQuery):
            return Verdict(0.3, 1.0)
        size = query.width
        loud = rng.choice([0.01, 1.0])
        return Answer(loud * rng.normal(size=size), np.full(size, loud), 1000)

    assert asked_by(campaigns()[place], public_rows(), answer) >= 3


@pytest.mark.parametrize(
    ("place", "turns", "seats"),
    [(2, 8, 0), (7, 30, 0), (8, 8, 0), (9, 8, 5), (10, 30, 5), (11, 8, 5)],
)
def test_all_that_peers_are_asked_is_within_their_template(place, turns, seats):
    """Five participants, one of whom holds one attribute, and two of whom come later."""
    terms, public = campaigns()[place], public_rows()
    algorithm, template = terms.run(public), terms.template()
    every = tuple(range(len(terms.schema.features)))
    peers = [
        Peer(number, bytes([number]) * 32, f"peer {number}", every if number != 1 else (0,))
        for number in range(5)
    ]
    rosters = iter((Roster(tuple(peers[:3])), Roster(tuple(peers), first=3)))
    rows = Cohort.of(public.X, public.y, np.zeros(len(public.y)))

    def run():
        asked, now = 0, next(algorithm)
        while True:
            if isinstance(now, Roll):
                now = algorithm.send(next(rosters, None))
                continue
            asked += 1
            put = Invitation(terms.name, asked, 1, digest_of(terms.schema), now)
            assert (asked <= turns + seats, template.objection(put)) == (True, "")
            said = now.release(rows, now.epsilons[0], seeded(asked))
            now = algorithm.send(now.answer(now.collect(said, now.epsilons[0])))

    with pytest.raises(StopIteration) as end:
        run()
    model = terms.publication(end.value.value, public, 0)
    assert (len(model.report), model.ended) == (5, f"{turns} turns of 5 participants")


def test_the_template_that_is_pinned_is_signed_by_itself(tmp_path):
    (tmp_path / "a.csv").write_text("age,ill\n41,yes\n")
    coordinator = Watching()
    run(coordinator, tmp_path / "a.csv", tmp_path / "home")
    key = coordinator.key.public_key()
    (pin,) = (tmp_path / "home" / "pins").glob("*.template")
    agreed = open_signed(pin.read_bytes(), Template, "template", key)
    assert agreed.columns == ("age",)
    other = Ed25519PrivateKey.generate().public_key()
    with pytest.raises(WireError, match="signature"):
        open_signed(pin.read_bytes(), Template, "template", other)


def test_a_template_binds_whatever_the_terms_say(tmp_path):
    """The gate goes by what was published as the template, and it must be about the same rows."""
    (tmp_path / "a.csv").write_text("age,ill\n41,yes\n")
    coordinator = Watching()
    (form,) = coordinator.terms.template().forms
    louder = replace(form.example, terms=ReportTerms("privunit", (0.25,)))
    quieter = replace(form, example=louder, most=0.25)
    coordinator.template = replace(coordinator.terms.template(), forms=(quieter,))
    assert run(coordinator, tmp_path / "a.csv", tmp_path / "home") == 0
    assert coordinator.reports() == 0
    coordinator.template = replace(coordinator.terms.template(), columns=("height",))
    with pytest.raises(ValueError, match="about other columns"):
        run(coordinator, tmp_path / "a.csv", tmp_path / "other")


def test_an_owner_reads_words_of_its_own_program(tmp_path):
    """Whoever asks could call a free part or a trust something else, or hide lines by escapes."""
    (tmp_path / "a.csv").write_text("age,ill\n41,yes\n")
    coordinator = Watching()
    honest = coordinator.terms.template()
    (form,) = honest.forms
    first, *others = form.free
    free = (replace(first, meaning="nothing of importance\x1b[2K"), *others)
    sizes = (replace(form.bounds[0], name="bits"), *form.bounds[1:])
    for number, other in enumerate(
        (
            replace(honest, forms=(replace(form, free=free),)),
            replace(honest, forms=(replace(form, bounds=sizes),)),
            replace(honest, trust="nobody but yourself"),
        )
    ):
        coordinator.template = other
        with pytest.raises(ValueError, match="in other words"):
            run(coordinator, tmp_path / "a.csv", tmp_path / f"home {number}")
    assert coordinator.bodies("/v1/enrol") == []


@pytest.mark.parametrize("hidden", ["\x1b[8mhidden", "two\nlines", "\u202egnp.exe"])
def test_names_that_owners_are_shown_are_printable(hidden):
    terms = Watching().terms
    for change in (
        {"name": hidden},
        {"label": hidden},
        {"schema": Schema((Number(hidden, 0, 1),), ("no", "yes"))},
    ):
        with pytest.raises(ValueError, match="printable characters"):
            replace(terms, **change)


@pytest.mark.parametrize("terms", [each for each in campaigns() if isinstance(each, PeerTerms)])
def test_terms_of_a_few_bytes_do_not_mean_billions_of_numbers(terms):
    """Whoever looked at such a campaign made every cut of every column, before it could refuse:
    seventeen seconds for a thousand bins, and all memory for the most there may be.
    """
    schema = Schema(tuple(Number(f"a{place}", 0, 1) for place in range(40)), (0, 1))
    with pytest.raises(ValueError, match="so few that a question has at most"):
        replace(terms, schema=schema, cells=Cells(schema, 1 << 16))
    usual = replace(terms, schema=schema, cells=Cells(schema, 100))
    assert usual.template().lines()
