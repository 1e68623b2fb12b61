"""Pictures and what notebooks show."""

import sys
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest

from tacit import (
    Budget,
    ContributionsDisplay,
    EpsilonCurveDisplay,
    PrivateBoosting,
    PrivateClassifier,
    ProgressBar,
    SiteEnsemble,
    SitesDisplay,
    StagesDisplay,
    plan,
)
from tests.estimators.data import task

X, Y = task(rows=700)
OWN = X[500:600], Y[500:600]
TEST = X[600:], Y[600:]


@pytest.fixture(autouse=True)
def without_windows():
    mpl.use("agg")
    yield
    sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="module")
def boosted():
    return PrivateBoosting("centroid", epsilon=8.0, rounds=3, random_state=1).fit(
        X[:500], Y[:500], public=OWN
    )


def test_plans_and_fits_against_epsilon():
    plans = [plan(*OWN, owners=10**6, epsilon=epsilon) for epsilon in (4.0, 1.0)]
    shown = EpsilonCurveDisplay.from_plan(plans)
    (line, level) = shown.ax_.get_lines()
    assert line.get_xdata().tolist() == [1.0, 4.0]
    assert line.get_ydata().tolist() == [100 * (each.accuracy or 0) for each in plans[::-1]]
    assert level.get_ydata()[0] == 100 * (plans[0].public_accuracy or 0)
    budget = Budget(epsilon=3.0)
    model = PrivateBoosting("centroid", rounds=2, budget=budget, random_state=1)
    measured = EpsilonCurveDisplay.from_estimator(
        model, X[:500], Y[:500], test=TEST, epsilon=(1.0, 2.0), public=OWN, ax=shown.ax_
    )
    assert measured.figure_ is shown.figure_
    assert budget.left == 0  # every point was paid for
    assert measured.public_accuracy is None  # boosting does not start from the own model


def test_stages_of_a_fit(boosted):
    shown = StagesDisplay.from_estimator(boosted, *TEST)
    (line,) = shown.ax_.get_lines()
    assert line.get_xdata().tolist() == list(range(1, 1 + len(boosted.ensemble_)))
    assert line.get_ydata()[-1] == pytest.approx(100 * boosted.score(*TEST))
    own = PrivateClassifier(random_state=1).fit(X[:500], Y[:500], public=OWN)
    assert StagesDisplay.from_estimator(own, *TEST).first == 0


def test_weights_of_sites():
    model = SiteEnsemble(epsilon=9.0, random_state=1)
    model.fit(X[:500], Y[:500], owners=np.arange(500) % 3, public=OWN)
    shown = SitesDisplay.from_estimator(model)
    assert [bar.get_width() for bar in shown.ax_.patches] == shown.weights.tolist()
    assert shown.sites == ("0", "1", "2")


def test_what_cannot_be_drawn_is_told(boosted):
    with pytest.raises(TypeError, match="shows a fitted ensemble of sites, got a PrivateBoosting"):
        SitesDisplay.from_estimator(boosted)
    with pytest.raises(ValueError, match="plans must be at least one"):
        EpsilonCurveDisplay.from_plan([])


def test_nothing_used_is_said_and_small_rises_look_small():
    nothing = SitesDisplay(("a", "b"), np.zeros(2)).plot()
    assert [each.get_text() for each in nothing.ax_.texts] == [
        "no answer was used:\nthe model is that of the public rows"
    ]
    shown = StagesDisplay(np.array([0.985, 0.99]), first=0).plot()
    low, high = shown.ax_.get_ylim()
    assert high == 100
    assert high - low == pytest.approx(10)
    wide = StagesDisplay(np.array([0.5, 0.9]), first=0).plot(shown.ax_)  # on the same axis
    assert wide.ax_.get_ylim()[0] < 50


def test_contributions_of_one_row_and_of_many(boosted):
    one = ContributionsDisplay.from_estimator(boosted, TEST[0][:1])
    said = boosted.explain(TEST[0][:1]).contributions[0, :, 0]
    assert sorted(one.values) == sorted(said)
    many = ContributionsDisplay.from_estimator(boosted, TEST[0], most=2)
    assert len(many.ax_.patches) == 2
    assert many.values[0] == boosted.explain(TEST[0]).importances.max()


class _Balance(HTMLParser):
    """Counts tags that were opened and not closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_notebooks_show_promises(boosted):
    for shown in (boosted.guarantee_, plan(*OWN, owners=10**6, epsilon=1.0), boosted.explain(X)):
        page = shown._repr_html_()
        balance = _Balance()
        balance.feed(page)
        assert not balance.open
    assert "No guarantee" in boosted.guarantee_._repr_html_()
    assert "with owners" in plan(*OWN, owners=10**6, epsilon=1.0)._repr_html_()
    bundle = boosted._repr_mimebundle_()
    assert "No guarantee" in bundle["text/html"]
    assert "<table" not in PrivateBoosting()._repr_mimebundle_()["text/html"].partition("style")[0]


def test_a_bar_hears_every_question_and_stops_none():
    with ProgressBar(total=3) as bar:
        model = PrivateBoosting("centroid", epsilon=8.0, rounds=3, random_state=1)
        model.fit(X[:500], Y[:500], public=OWN, monitor=bar)
    assert len(model.ensemble_) == 3


def test_own_figures_are_seen_on_any_page_and_a_style_of_the_users_stays():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    stages = StagesDisplay(np.array([0.7, 0.8]), 0)
    assert stages.plot().figure_.get_facecolor()[3] == 0
    with pyplot.style.context("dark_background"):
        assert stages.plot().figure_.get_facecolor() == (0, 0, 0, 1)
    given = pyplot.subplots()[1]
    assert stages.plot(given).figure_.get_facecolor() == (1, 1, 1, 1)
    pyplot.close("all")
