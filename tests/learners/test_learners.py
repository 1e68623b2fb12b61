"""What every base learner promises: shares in their space, an owner alone as in a crowd, a model
that learns.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from examples.own_learner import Bayes
from sklearn.linear_model import LogisticRegression

from tacit import NoPrivacy, seeded
from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import Facts, ReportTerms, ShareQuery, _RecordTapes
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.features import FeatureMap, Rows
from tacit.learners.models.scores import Linear, ScoreModel, Trees
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.cross_tables import OwnedRows
from tacit.learners.owners.logistic import Logistic, fit_each, fit_owners
from tacit.learners.owners.stump import Stump, StumpModel, SummedStump, best_thresholds
from tacit.learners.query import Answer
from tacit.sums.vector_terms import RecordTerms, VectorTerms, coins_of_share, round_shares
from tacit_papers.a.learners import PublishedCentroid, PublishedLogistic, PublishedStump
from tests.mechanisms.membership import contains

SOUND = [Centroid(), Stump(), Stump(cuts=4), SummedStump(cuts=2), Logistic(), Bayes()]
PUBLISHED = [PublishedStump(), PublishedLogistic(), PublishedCentroid()]


TERMS = ReportTerms("piecewise", (1.0,))


def task(classes, n=3000, dim=5, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-0.6, 0.6, size=(classes, dim))
    y = rng.integers(0, classes, n)
    X = np.clip(centres[y] + rng.normal(scale=0.25, size=(n, dim)), -1, 1)
    X[:, -1] = np.sign(X[:, -1])  # a binary column
    return X, y


def query_for(learner, classes, members=()):
    X, y = task(classes, seed=1)
    public = Public(X[:300], y[:300], classes)
    return ShareQuery(
        1, 1, 10, learner, learner.facts(public), Ensemble(classes, tuple(members)), TERMS
    )


PUBLISHED_MEMBERS = [(0.8, StumpModel(0, 0.1, 0, 1)), (0.3, StumpModel(2, -0.2, 1, 0))]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("learner", SOUND, ids=lambda v: v.name)
def test_shares_live_in_their_space_and_owners_are_cohorts_of_one(learner, classes):
    X, y = task(classes)
    owners = np.random.default_rng(2).integers(0, 200, len(y))
    cohort = Cohort.of(X, np.where(owners < 3, -1, y), owners)  # the first owners have no rows left
    query = query_for(learner, classes, PUBLISHED_MEMBERS)
    shares = learner.share(query, cohort)
    space = learner.space(query.facts)
    assert shares.shape == (len(cohort), space.dim)
    assert (shares[:3] == 0).all()
    if not isinstance(learner, Logistic):  # its space clips on purpose
        assert contains(space, shares).all()
    for i in (0, 5, 77, len(cohort) - 1):
        np.testing.assert_array_equal(learner.share(query, cohort[i : i + 1])[0], shares[i])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("learner", SOUND, ids=lambda v: v.name)
def test_without_noise_it_learns(learner, classes):
    X, y = task(classes)
    cohort = Cohort.of(X, y, np.arange(len(y)) // 30)
    query = query_for(learner, classes)
    mechanism = NoPrivacy(space=learner.space(query.facts))
    totals = mechanism.totals(mechanism.randomize(learner.share(query, cohort), seeded(1)))
    model = learner.learn(query, Answer(totals.mean, totals.stderr, totals.n))
    test_X, test_y = task(classes, seed=0, n=6000)
    accuracy = (model.predict(test_X[3000:]) == test_y[3000:]).mean()
    majority = np.bincount(test_y).max() / len(test_y)
    assert accuracy > majority + 0.1


@pytest.mark.parametrize("learner", SOUND, ids=lambda v: v.name)
def test_any_answer_gives_a_model(learner):
    """Pure noise, zeros, one report: still a model that answers with classes."""
    query = query_for(learner, 3)
    dim = learner.space(query.facts).dim
    rng = np.random.default_rng(0)
    for mean in (np.zeros(dim), rng.normal(size=dim) * 100, -np.ones(dim)):
        model = learner.learn(query, Answer(mean, np.full(dim, np.inf), 1))
        assert set(model.predict(task(3)[0])) <= {0, 1, 2}


def test_weights_are_inside_the_share():
    """An ensemble that is wrong about a row moves the share towards that row."""
    X, y = np.array([[0.5, 0.0], [-0.5, 0.0]]), np.array([1, 1])
    cohort = Cohort.of(X, y, [0, 0])
    query = query_for(Centroid(), 2)
    wrong_about_first = Ensemble(2, ((2.0, StumpModel(0, 0.0, 1, 0)),))
    facts = Centroid().facts(Public(X, y, 2))
    share = (
        Centroid()
        .share(ShareQuery(1, 1, 1, Centroid(), facts, wrong_about_first, TERMS), cohort)[0]
        .reshape(2, 3)
    )
    ratio = np.exp(2) / (np.exp(2) + 1)
    assert 0.9 < share[1, 2] <= 1
    np.testing.assert_allclose(share[1, :2], [0.5 * (2 * ratio - 1) * share[1, 2], 0])
    assert query.facts.dim == 5


def test_a_learner_of_ones_own_is_short_and_runs(tmp_path):
    source = Path(__file__).parents[2] / "examples" / "own_learner.py"
    assert len(source.read_text().splitlines()) < 75
    done = subprocess.run(
        [sys.executable, source], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert float(done.stdout.split()[-1]) > 0.78


def test_stumps_cut_where_the_public_sample_says():
    X = np.column_stack([np.linspace(-1, 1, 101), np.where(np.arange(101) % 2, 1.0, -1.0)])
    facts = Stump(cuts=3).facts(Public(X, np.arange(101) % 2, 2))
    np.testing.assert_allclose(facts.values, [-0.5, 0.0, 0.5, 0.0])
    assert facts.columns.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("classes", [2, 3])
def test_summed_stumps_say_the_same_in_half_of_the_numbers(classes):
    """Both sides follow from their difference and the owner's weight, whatever is published; noise
    in what tells cuts apart has half of the variance.
    """
    X, y = task(classes)
    cohort = Cohort.of(X, y, np.arange(len(y)) // 30)
    models, sizes, spreads = [], [], []
    for learner in (Stump(cuts=3), Stump(cuts=3).for_sums()):
        query = query_for(learner, classes, PUBLISHED_MEMBERS)
        share = learner.share(query, cohort).mean(axis=0)
        models.append(learner.learn(query, Answer(share, 0 * share, 1)))
        space = learner.space(query.facts)
        sizes.append(space.dim)
        each = VectorTerms.of(space, 1.0, 1e-6).variance
        spreads.append(each if isinstance(learner, SummedStump) else 2 * each)  # of left - right
    assert models[0] == models[1]
    codes = 1 if classes == 2 else classes
    assert sizes[1] == sizes[0] // 2 + codes
    assert spreads[1] < 0.6 * spreads[0]
    assert Stump(cuts=3).for_sums().for_sums() == SummedStump(cuts=3)
    assert PublishedStump().for_sums() == PublishedStump()  # what is unsound stays unsound


def test_stumps_turn_themselves_the_right_way():
    X, y = np.linspace(-1, 1, 100)[:, np.newaxis], (np.linspace(-1, 1, 100) < 0).astype(int)
    query = ShareQuery(1, 1, 1, Stump(), Stump().facts(Public(X, y, 2)), Ensemble(2), TERMS)
    share = Stump().share(query, Cohort.of(X, y, np.zeros(100)))[0]
    assert (Stump().learn(query, Answer(share, 0 * share, 1)).predict(X) == y).all()
    fixed = PublishedStump(polarity="fixed")
    assert (fixed.learn(query, Answer(share, 0 * share, 1)).predict(X) != y).all()


def test_owners_logistic_fits_are_scikit_learns():
    X, y = task(2, n=600)
    cohort = Cohort.of(X, y, np.arange(600) // 60)
    weights = np.random.default_rng(0).uniform(0.1, 1, 600)
    weights /= np.repeat(np.add.reduceat(weights, np.arange(0, 600, 60)), 60)
    ours = fit_owners(cohort, weights, 2, ridge=0.1)
    for owner in range(10):
        rows = slice(60 * owner, 60 * owner + 60)
        # the intercept is regularised like the rest
        design = np.column_stack([X[rows], np.ones(60)])
        theirs = LogisticRegression(C=10.0, fit_intercept=False, tol=1e-10, max_iter=1000)
        theirs.fit(design, y[rows], sample_weight=weights[rows])
        np.testing.assert_allclose(ours[owner, 0], theirs.coef_[0], atol=1e-5)


def test_separable_rows_keep_coefficients_bounded():
    X, y = np.array([[-1.0], [1.0]]), np.array([0, 1])
    theta = fit_owners(Cohort.of(X, y, [0, 0]), np.array([0.5, 0.5]), 2, ridge=0.1)
    assert np.sqrt((theta**2).sum()) <= np.sqrt(2 * np.log(2) / 0.1)
    one_class = fit_owners(
        Cohort.of(X, np.array([1, 1]), [0, 0]), np.array([0.5, 0.5]), 2, ridge=0.1
    )
    assert np.isfinite(one_class).all()


@pytest.mark.parametrize("learner", PUBLISHED, ids=lambda v: v.name)
def test_what_was_published_is_marked(learner):
    assert learner.unsound
    assert not any(sound.unsound for sound in SOUND)


BAD = [(lambda: Stump(cuts=0), "^cuts must"), (lambda: Logistic(ridge=0.0), "^ridge must")]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_neighbour_with_endless_rows_changes_nobodys_fit():
    """Rows are fitted four at a time: what an owner leaves in the last four must not reach the
    next.
    """
    X = np.random.default_rng(0).uniform(-1, 1, (7, 2))
    X[:5] = np.inf
    y = np.array([0, 1, 0, 1, 0, 0, 1])
    together, alone = np.zeros((2, 1, 3)), np.zeros((1, 1, 3))
    fit_each(
        OwnedRows(X, y, np.array([[0, 5], [5, 7]])), np.full(7, 0.2), 0.1, np.zeros(2), together
    )
    fit_each(OwnedRows(X[5:], y[5:], np.array([[0, 2]])), np.full(2, 0.2), 0.1, np.zeros(2), alone)
    np.testing.assert_array_equal(together[1], alone[0])


def test_members_with_other_shapes_than_rows_are_refused_before_a_kernel_reads_them():
    """Kernels check no bounds: a longer matrix would be read, and written, beyond the rows."""
    for shape, level in (((9, 2), 2), ((3, 7), 7), ((3, 2), 3)):
        hostile = ScoreModel(2, (Linear(np.ones(shape), np.ones(level)),))
        with pytest.raises(ValueError, match="weights must be"):
            Ensemble(2, ((0.5, hostile),)).check(3, 2)
    with pytest.raises(ValueError, match="classes of a member"):
        Ensemble(2, ((0.5, ScoreModel(10**9)),)).check(3, 2)
    with pytest.raises(ValueError, match="columns of the trees"):
        _trees(column=7).indicators(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="columns of the trees"):
        _trees(column=7).scores(np.zeros((1, 3)), 2)
    with pytest.raises(ValueError, match="vectors"):
        replace(_trees(column=0), roots=np.zeros((1, 1), dtype=np.int64))
    with pytest.raises(ValueError, match="width of the expansion"):
        FeatureMap(Rows(), np.zeros(9), np.ones((9, 2))).transform(np.zeros((1, 3)))


def _trees(column):
    one = np.array([1], dtype=np.int64)
    nodes = np.array([column, -1, -1])
    return Trees(
        nodes, np.zeros(3), np.array([1, 0, 0]), np.array([2, 0, 0]), np.ones(3), one - 1, one
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_regressions_are_fitted_to_rows_less_the_public_mean(classes):
    rng = np.random.default_rng(classes)
    X, y = rng.uniform(-1, 1, (60, 3)), rng.integers(classes, size=60)
    cohort, centre = Cohort(X, y, np.arange(7) * 10), np.array([0.5, -0.25, 0.0])
    learner = Logistic()
    facts = [Facts(3, classes, centre), Facts(3, classes)]
    queries = [
        ShareQuery(1, 1, 6, learner, each, Ensemble(classes), ReportTerms("none", (1.0,)))
        for each in facts
    ]
    shares = learner.share(queries[0], cohort)
    moved = learner.share(queries[1], Cohort(X - centre, y, cohort.offsets))
    np.testing.assert_allclose(shares, moved, atol=1e-12)
    answer = Answer(shares.mean(axis=0), np.zeros(shares.shape[1]), 6)
    models = [learner.learn(query, answer) for query in queries]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X - centre))
    for wrong in (np.zeros(2), np.full(3, np.nan), np.full(3, 1.5)):
        with pytest.raises(ValueError, match=r"^centre must be 3 numbers from -1 to 1"):
            learner.space(Facts(3, classes, wrong))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_best_threshold_is_the_best_of_all(classes):
    rng = np.random.default_rng(classes)
    X = np.round(rng.uniform(-1, 1, (80, 6)), 1)
    X[:, 5] = 0.5  # nothing to cut
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=80), np.linspace(-1, 1, classes + 1)[1:-1])

    def errors(column, threshold):
        left = X[:, column] < threshold
        sides = [np.bincount(y[side], minlength=classes) for side in (left, ~left)]
        return sum(int(counts.sum() - counts.max()) for counts in sides)

    found = best_thresholds(Public(X, y, classes))
    assert found[5] == 0.5
    for column in range(5):
        values = np.unique(X[:, column])
        tried = [errors(column, cut) for cut in (values[1:] + values[:-1]) / 2]
        assert errors(column, found[column]) == min(tried)


def test_a_site_adds_what_its_records_would_add_one_by_one():
    """Coins of later attempts included: of many records that are drawn again at once."""
    X, y = task(2, n=700, dim=5)[:2]
    learner = Centroid()
    facts = learner.facts(Public(X, y, 2))
    law = VectorTerms.of(learner.space(facts), 1.0, 1e-6)
    law = replace(law, bound=law.bound // 2)  # most do not fit at once
    terms = RecordTerms.at_sites(law, records=600)
    query = ShareQuery(1, 1, None, learner, facts, Ensemble(2), terms)
    tape, coins = seeded(3).of(np.array([4])), coins_of_share(terms)
    total = np.zeros(terms.dim, dtype=np.int64)
    for record in range(600):
        alone = Cohort(X, y, np.array([[record, record + 1]]))
        tapes = _RecordTapes(tape, record, *coins)
        total += round_shares(learner.share(query, alone), terms, tapes)[0]
    found = query.measure(Cohort(X, y, np.array([0, 700])), tape)
    assert (found[0] == terms.tell(total, 600)).all()
