"""Owners decide whether a line is all that is to be found."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tacit import seeded
from tacit.algorithms import line_or_all, public_curvature, wide_features
from tacit.algorithms.line_or_all import LineOrAll
from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.summed_gradients import SummedGradients
from tacit.algorithms.wide_features import ROUGH
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.learner import Facts, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.features import Products, Rows, Waves
from tacit.learners.models.scores import Leaves
from tacit.learners.owners.gradient import Gradient
from tacit.learners.query import Answer

COLUMNS, TEST = 12, 20_000


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    """Wide maps that are quick, and still ten times as wide as a line."""
    monkeypatch.setattr(wide_features, "WIDE", 300)
    monkeypatch.setattr(public_curvature, "_STAND_INS", 500)
    monkeypatch.setattr(wide_features, "COORDINATES", 6)


@cache
def problem(kind, known=200, owners=40_000):
    """A data user's rows, owners of one row each, and rows to test on with their chances."""
    slope = 4 * np.random.default_rng(7).normal(size=COLUMNS) / np.sqrt(COLUMNS)
    coins = np.random.default_rng(8)
    X = coins.normal(size=(known + TEST + owners, COLUMNS)) / 4
    score = X @ slope
    if kind == "products":
        score = score / 2 + 20 * (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3])
    chance = 1 / (1 + np.exp(-score))
    y = (coins.random(len(X)) < chance).astype(int)
    public = Public(X[:known], y[:known], 2)
    test = X[known : known + TEST], chance[known : known + TEST]
    return public, Cohort.of(X[known + TEST :], y[known + TEST :]), test


def crowd(owners=40_000, epsilon=2.0):
    return Population(owners, epsilon, 1, "two servers")


def question(held, place):
    space = held.learner.space(Facts(COLUMNS, 2))
    terms = held.population.sum_terms(space, held.rounds)
    facts = Facts(COLUMNS, 2)
    return ShareQuery(place, 1, None, held.learner, facts, ensemble=Ensemble(2), terms=terms)


def asked(held, cohort, rounds=4):
    """The belief after so many rounds; what was asked."""
    engine = Inline(cohort, held.population.epsilon, seeded(3))
    questions = []
    for place in range(1, rounds + 1):
        questions.append(question(held, place))
        held.update(engine.ask(questions[-1]))
    return questions


def begun(kind, known=200, owners=40_000, epsilon=2.0, of=LineOrAll):
    public, _, _ = problem(kind, known)
    return of(public, fit_public(public), crowd(owners, epsilon), ROUGH)


def accuracy(model, kind):
    """That is to be expected of any labels."""
    X, chance = problem(kind)[2]
    return float(np.mean(np.where(model.predict(X) == 1, chance, 1 - chance)))


def kinds_of_features(held):
    """What the model is made of, beside the data user's own."""
    (term,) = held.model.terms
    ours, _ = term.features.expansion.parts
    return [type(part) for part in ours.parts]


@pytest.mark.parametrize("known", [200, 320])
def test_where_a_line_is_all_there_is_owners_say_so(known):
    """Twenty times fewer features are noisy; no question costs more or is made of other features
    than without.
    """
    held, whole = (begun("line", known, of=each) for each in (LineOrAll, SummedGradients))
    _, cohort, _ = problem("line")
    after, before = asked(held, cohort), asked(whole, cohort)
    assert kinds_of_features(held) == [Rows]
    assert accuracy(held.model, "line") > accuracy(whole.model, "line") + 0.002
    assert [each.terms.charge for each in after] == [each.terms.charge for each in before]
    assert [each.learner.features for each in after] == [held.map] * 4
    assert len(held.held_out) == known


def test_where_there_is_more_than_a_line_it_stays_in_play():
    held = begun("products")
    asked(held, problem("products")[1])
    assert kinds_of_features(held) == [Rows, Products, Leaves, Waves]
    assert accuracy(held.model, "products") > accuracy(held._line.model, "products") + 0.05


def test_a_line_must_be_likelier_beyond_noise(monkeypatch):
    monkeypatch.setattr(line_or_all, "_SURE", 1000.0)
    held = begun("line")
    asked(held, problem("line")[1])
    assert not held._is_line


@pytest.mark.parametrize(("known", "owners"), [(200, 2000), (100, 40_000)])
def test_who_cannot_tell_is_asked_as_if_nobody_wanted_to_know(known, owners):
    """Few owners, or public rows that do not show how long shares are."""
    _, cohort, _ = problem("line")
    held, whole = (begun("line", known, owners, of=each) for each in (LineOrAll, SummedGradients))
    for mine, other in zip(
        asked(held, cohort[:owners]), asked(whole, cohort[:owners]), strict=True
    ):
        assert (mine.learner.weights == other.learner.weights).all()
        assert mine.terms == other.terms


def test_the_second_question_is_half_way_with_nearly_whole_shares():
    held = begun("line")
    asked(held, problem("line")[1], rounds=1)
    line, between = held._line_among_all, held._asked
    np.testing.assert_allclose(between - line, held._theta - between, atol=1e-12)
    assert held._clipping.left > 0.95
    space = held.learner.space(Facts(COLUMNS, 2))
    noise = held.population.mean_variance(space, held.rounds) / held._clipping.left**2
    foretold = np.full(len(held._curve), noise)
    assert held._error_along(held._way, foretold, 40_000) < line_or_all._TELLING / 4


def test_a_liar_moves_the_choice_no_farther_than_an_honest_share_may():
    """Along the way all features' shares are long and honest ones short: said louder there, the
    longest share counts for a fifteenth, and honest ones for what they did.
    """
    held = begun("line")
    asked(held, problem("line")[1], rounds=1)
    louder, way = held._louder, held._axes.join(held._way)[0]
    assert louder.axes.shape == (1, held.map.dim)
    assert (louder.axes**2).sum() == pytest.approx(1.0)
    (part,) = louder.parts
    lie = held._clipping.radius * louder.axes[0]  # along the way, as long as a proof allows
    told = held._undone(Answer(lie, np.full(held.numbers, 1e-3), 1), 1e-6)
    moved = float((told.slope * held._way).sum())
    whole = held._clipping.radius / held._clipping.left * np.sqrt((way**2).sum())
    assert moved == pytest.approx(whole / part, rel=0.05)
    assert part > 10
    assert moved < 2.0  # nats, of one owner's own rows: a mean of n is moved by the n-th part
    query, cohort = question(held, 2), problem("line")[1][:2000]
    shares = query.learner.share(query, cohort).mean(axis=0)
    honest = held._undone(Answer(shares, np.full(held.numbers, 1e-3), 2000), 1e-6)
    plain = Gradient(held.map, query.learner.weights, query.learner.reach, query.learner.radius)
    unchanged = plain.share(replace(query, learner=plain), cohort).mean(axis=0)
    true = held._axes.split(unchanged[np.newaxis]) / held._clipping.left
    np.testing.assert_allclose(honest.slope, true, atol=1e-12)


def test_an_answer_that_is_missing_leaves_the_question_as_it_was():
    held = begun("line")
    asked(held, problem("line")[1], rounds=1)
    before = held.learner.weights
    held.update(Answer(np.zeros(held.numbers), np.full(held.numbers, np.inf), 1))
    assert (held.learner.weights == before).all()
    assert not held._is_line


def test_a_line_hears_what_it_would_be_told_if_it_were_asked():
    """Its part of an answer about a model of its own, and how noisy that is."""
    held, (_, cohort, _) = begun("line"), problem("line")
    alone = held._line
    parts = []
    for belief in (held, alone):
        belief._clipping = belief._clipping._replace(radius=1e6, left=1.0)
        query = question(belief, 1)
        mean = query.learner.share(query, cohort[:2000]).mean(axis=0)
        answer = Answer(mean, np.full(len(mean), 1e-3), 2000)
        parts.append(belief._undone(answer, 1e-6))
    heard = held._part_of(parts[0])
    np.testing.assert_allclose(heard.slope, parts[1].slope, atol=1e-12)
    np.testing.assert_allclose(heard.reference, parts[1].reference, atol=1e-12)
    np.testing.assert_allclose(heard.chances, parts[1].chances, atol=1e-12)
    scale = held._place.scale[1:-1] ** 2  # the line's columns are so much longer
    assert heard.noise[: held._line._axes.seen.shape[1]].max() <= 1.01e-6 * scale.max()
    assert heard.noise[-1] == pytest.approx(1e-6 * (held._place.scale**2).mean())


def test_a_sample_without_a_model_of_its_own_has_no_line():
    """One class only: there is no own model that both kinds of features could begin with."""
    public = Public(np.random.default_rng(0).normal(size=(200, 4)), np.zeros(200, dtype=int), 2)
    look = look_ahead(public, fit_public(public), crowd())
    assert type(look.combination) is SummedGradients
