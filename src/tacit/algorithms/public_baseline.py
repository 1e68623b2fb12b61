"""Public-only: the best that the data user's own sample gives, and the baseline that private data
has to beat.

The best of logistic regression, linear discriminants and boosted trees by cross-validated accuracy.
A candidate that falls far behind on the folds so far is given up, trees half grown where they are
hopeless: they take fifty times as long as the others, and mostly lose. The winner's out-of-fold
scores say how confident it may be (one temperature for all scores, which changes no prediction),
and what it still gets wrong.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._util.one_thread import one_thread
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Public
from tacit.learners.models.scores import Forest, Linear, ScoreModel, Trees, temperature

FOLDS = 5  # as scikit-learn has it
_LEAST_ROWS = 10  # fewer leave folds of one row
_LEAST_FOR_TREES = 50  # below, a leaf of 20 rows leaves nothing to split
_FAR_BEHIND = 2.0  # standard errors: of equal candidates one in 40 is given up after a fold
# With half of the trees. In 328 samples of our tasks and made-up problems the other half made up
# for 1.4 at most, and of those that were not given up by two none was 2.2 behind.
_HOPELESS = 3.0
_TREES = 100  # of each class, as scikit-learn has it
_UNSEEN = -10.0  # score of a class that the sample does not show


# scikit-learn takes a second of each process that loads it: it is loaded by whoever fits, which no
# owner does.
def _logistic_regression() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _linear_discriminants() -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")


def _boosted_trees() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=_TREES, early_stopping=False, random_state=0)


CANDIDATES: dict[str, Callable[[], Any]] = {
    "logistic regression": _logistic_regression,
    "linear discriminants": _linear_discriminants,
    "boosted trees": _boosted_trees,
}


def load_candidates() -> None:
    """Import what candidates are made of, before work begins that Ctrl-C should keep."""
    for make in CANDIDATES.values():
        make()


@dataclass(frozen=True, eq=False)
class PublicModel:
    """The data user's own model: scores, scores of its sample out of fold, accuracy there, all
    candidates' accuracy on the folds they were tried on, trees as far as they were grown.

    `accuracy` is None where rows or classes are too few to fit anything: then `model` says how
    frequent classes are.

    `expected` is the accuracy to expect on other rows: on each fold that of the candidate that is
    best on the others, so that no row chooses who is judged by it. `accuracy`, of the best by all
    rows, is 2.5 points too much with 60 rows and 1.5 with 200 (80 samples of made-up people each,
    standard errors 0.7 and 0.4); this is off by -0.6 and 0.5. `judged` are those scores, each row's
    by the candidate and the temperature that the other folds choose: what else is measured of them
    is as free of the row.
    """

    name: str
    model: ScoreModel
    held_out: FloatArray
    accuracy: float | None
    candidates: dict[str, float]
    expected: float | None = None
    judged: FloatArray | None = None


def fit_public(public: Public, names: Iterable[str] = tuple(CANDIDATES)) -> PublicModel:
    """The candidate of these names with the best cross-validated accuracy, fitted to all rows; the
    first of equal ones.

    >>> X = np.repeat([[-1.0], [1.0]], 20, axis=0)
    >>> own = fit_public(Public(X, (X[:, 0] > 0).astype(int), classes=2))
    >>> own.name, own.accuracy
    ('logistic regression', 1.0)
    """
    counts = np.bincount(public.y, minlength=public.classes)
    if len(public.y) < _LEAST_ROWS or np.count_nonzero(counts >= 2) < 2:
        model = frequencies(public)
        return PublicModel("frequencies", model, model.scores(public.X), None, {})
    some = [name for name in names if len(public.y) >= _LEAST_FOR_TREES or name != "boosted trees"]
    folds = folds_of(public.y)
    accuracy: dict[str, float] = {}
    whole: list[FloatArray] = []  # scores by candidates that were tried on all folds
    best, held_out = "", np.zeros(0)
    for name in some:
        scores, tried = _out_of_fold(name, public, folds, held_out)
        hits = np.argmax(scores, axis=1) == public.y
        accuracy[name] = float(np.mean(hits[folds < tried]))
        whole += [scores] if tried == FOLDS else []
        if not best or (tried == FOLDS and accuracy[name] > accuracy[best]):
            best, held_out = name, scores
    heat = temperature(held_out, public.y)
    fitted = _fit_model(CANDIDATES[best], public.X, public.y)
    model = as_scores(fitted, public.classes, heat)
    judged = _judged_by_others(whole, public.y, folds)
    expected = float(np.mean(np.argmax(judged, axis=1) == public.y))
    return PublicModel(
        best, model, heat * held_out, accuracy[best], accuracy, expected=expected, judged=judged
    )


def _judged_by_others(tried: list[FloatArray], y: IntArray, folds: IntArray) -> FloatArray:
    """Of every fold the scores of the candidate that is best on the others, at the temperature
    that is right for them.
    """
    right = np.stack([np.argmax(scores, axis=1) == y for scores in tried])
    judged = np.empty_like(tried[0])
    for fold in range(FOLDS):
        out = folds == fold
        best = tried[int(right[:, ~out].sum(axis=1).argmax())]
        judged[out] = temperature(best[~out], y[~out]) * best[out]
    return judged


def accuracy_of_no_mistake(rows: int) -> float:
    """What to expect where so many rows were all predicted right: the mean of what they allow,
    if all accuracies were as likely before.
    """
    return (rows + 1) / (rows + 2)


def folds_of(y: IntArray) -> IntArray:
    """Folds that deal out each class in turn: two classes with two rows each leave two in every
    training part.
    """
    folds = np.empty(len(y), dtype=np.int64)
    folds[np.argsort(y, kind="stable")] = np.arange(len(y)) % FOLDS
    return folds


def as_scores(fitted: Any, classes: int, heat: float = 1.0) -> ScoreModel:
    """A fitted scikit-learn model as plain arrays that owners can replay; scores are centred
    logarithms of odds.
    """
    seen = np.asarray(fitted.classes_)
    if hasattr(fitted, "_predictors"):  # boosted trees
        return ScoreModel(classes, (_forest(fitted, seen, classes, heat),))
    coefficients, intercept = np.atleast_2d(fitted.coef_), np.atleast_1d(fitted.intercept_)
    if len(seen) == 2 and len(coefficients) == 1:
        coefficients, intercept = (
            np.vstack([-coefficients, coefficients]) / 2,
            np.array([-1, 1]) * intercept[0] / 2,
        )
    weights, level = np.zeros((coefficients.shape[1], classes)), np.full(classes, _UNSEEN)
    weights[:, seen], level[seen] = coefficients.T, intercept
    return ScoreModel(classes, (Linear(heat * weights, heat * level),))


def _out_of_fold(
    name: str,
    public: Public,
    folds: IntArray,
    rival: FloatArray,
) -> tuple[FloatArray, int]:
    """Scores of all rows by models that were not fitted to them, and on how many folds; fewer
    than all where the candidate is far behind a `rival`, whose scores these are (empty: there is
    none).

    Trees are looked at when half of those of the first fold are grown, and go on from there.
    """
    make = CANDIDATES[name]
    scores = np.zeros((len(public.y), public.classes))

    def is_behind(fold: int, fitted: Any, errors: float) -> bool:
        out, so_far = folds == fold, folds <= fold
        scores[out] = as_scores(fitted, public.classes).scores(public.X[out])
        return bool(len(rival)) and (
            _errors_behind(scores[so_far], rival[so_far], public.y[so_far]) > errors
        )

    for fold in range(FOLDS):
        X, y = public.X[folds != fold], public.y[folds != fold]
        if fold == 0 and len(rival) and name == "boosted trees":
            half = _fit_model(make, X, y, _TREES // 2)
            if is_behind(fold, half, _HOPELESS):
                return scores, 1
            fitted = _grow(half, X, y)
        else:
            fitted = _fit_model(make, X, y)
        if is_behind(fold, fitted, _FAR_BEHIND):
            return scores, fold + 1
    return scores, FOLDS


def _errors_behind(scores: FloatArray, rival: FloatArray, y: IntArray) -> float:
    """By how many standard errors a rival is right more often.

    Compared are rows that one of both gets right and the other does not: of equal candidates the
    difference has variance at most their number.
    """
    mine, its = (np.argmax(each, axis=1) == y for each in (scores, rival))
    behind = np.count_nonzero(its & ~mine) - np.count_nonzero(mine & ~its)
    return behind / max(float(np.sqrt(np.count_nonzero(mine != its))), 1.0)


def _fit_model(
    make: Callable[[], Any], X: FloatArray, y: IntArray, trees: int | None = None
) -> Any:
    """A new model; `trees`: with so many of each class, and more can be grown."""
    model = make()
    if trees is not None:
        model.set_params(max_iter=trees, warm_start=True)
    return _fit(model, X, y)


def _grow(begun: Any, X: FloatArray, y: IntArray) -> Any:
    """The model with all of its trees, which are those of one that was fitted at once."""
    return _fit(begun.set_params(max_iter=_TREES), X, y)


def _fit(model: Any, X: FloatArray, y: IntArray) -> Any:
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # a class of one row has no covariance: then there are better candidates
        return model.fit(X, y)


def frequencies(public: Public) -> ScoreModel:
    """The model that only knows how frequent classes are in the sample."""
    counts = np.bincount(public.y, minlength=public.classes) + 0.5
    level = np.log(counts / counts.sum())
    return ScoreModel(public.classes, (Linear(np.zeros((public.dim, public.classes)), level),))


def _forest(fitted: Any, seen: IntArray, classes: int, heat: float) -> Forest:
    """The trees of scikit-learn's histogram boosting as arrays; a tree of a binary task speaks
    for both classes.
    """
    parts: list[Any] = []
    roots, owners = [], []
    start = 0
    for stage in fitted._predictors:
        for number, tree in enumerate(stage):
            parts.append((tree.nodes, start))
            roots.append(start)
            owners.append(seen[1] if len(stage) == 1 else seen[number])
            start += len(tree.nodes)
    inner = [~nodes["is_leaf"].astype(bool) for nodes, _ in parts]
    trees = Trees(
        column=_join_field(parts, inner, "feature_idx", -1).astype(np.int64),
        cut=_join_field(parts, inner, "num_threshold", 0.0),
        left=_join_children(parts, inner, "left"),
        right=_join_children(parts, inner, "right"),
        value=np.concatenate([nodes["value"] for nodes, _ in parts]).astype(np.float64),
        roots=np.array(roots, dtype=np.int64),
        classes=np.array(owners, dtype=np.int64),
    )
    level = np.full(classes, _UNSEEN)
    base = np.ravel(fitted._baseline_prediction)
    level[seen] = np.array([0.0, base[0]]) if len(seen) == 2 else base
    return Forest(trees, heat * level, heat)


def _join_field(parts: list[Any], inner: list[Any], field: str, leaf: float) -> FloatArray:
    chosen = [
        np.where(own, nodes[field], leaf) for (nodes, _), own in zip(parts, inner, strict=True)
    ]
    return np.concatenate(chosen).astype(np.float64)


def _join_children(parts: list[Any], inner: list[Any], field: str) -> IntArray:
    chosen = [
        np.where(own, nodes[field].astype(np.int64) + start, start)
        for (nodes, start), own in zip(parts, inner, strict=True)
    ]
    return np.concatenate(chosen)
