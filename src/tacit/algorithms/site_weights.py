"""Linear models of several sites become one, with the help of public rows (paper C). Everything
here is public.

- `average`: their mean.
- `feature`: Algorithm 1: each model's score is a feature; a small model of these is trained on the
  public rows.
- `guarded`: as `feature`, with the public-only model as one more feature and the weights pulled to
  it. How hard is
  chosen by cross-validation, and the less sure the gain, the closer the result stays to the
  public-only model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.learners.sites.losses import Loss
from tacit.learners.sites.solver import minimise

_FOLDS = 5
_RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # of the public-only model
_PULLS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # of the weights towards the public-only model
_SURE = 1.5  # standard errors of a gain that count as noise
_CHOOSING = 4_000  # public rows, at most, that strengths are chosen on


@dataclass(frozen=True, eq=False)
class PublicOnly:
    """The model of public rows alone, and the scores that its folds give to rows they were not
    trained on.
    """

    f: FloatArray
    scores: FloatArray


@dataclass(frozen=True, eq=False)
class Combined:
    """One linear model: `public_weight` times the public-only model and `weights` of the sites'
    models.

    `gain` is the loss per public row that cross-validation saves against the public-only model,
    `gain_stderr` its standard error; both are 0 where nothing was compared.
    """

    f: FloatArray
    weights: FloatArray
    public_weight: float = 0.0
    gain: float = 0.0
    gain_stderr: float = 0.0


Combine: TypeAlias = Callable[
    [FloatArray, FloatArray, FloatArray, FloatArray, Loss, PublicOnly], Combined
]


def folds_of(targets: FloatArray) -> IntArray:
    """A fold for each row: rows in the order of their targets are dealt out in turn, so that
    folds are alike.
    """
    folds = np.empty(len(targets), dtype=np.int64)
    folds[np.argsort(targets, kind="stable")] = np.arange(len(targets)) % _FOLDS
    return folds


def public_only(
    rows: FloatArray, targets: FloatArray, loss: Loss, stretch: FloatArray | None = None
) -> PublicOnly:
    """The regularised model of the public rows; the ridge with the least loss over five folds.

    Where columns were stretched to suit private training, a ridge that undoes it is tried as well:
    the baseline must not suffer from what helps the sites.
    """
    some = _some(len(rows))
    known, told = rows[some], targets[some]
    plain = np.ones(rows.shape[1])
    shapes = (
        [plain]
        if stretch is None
        else [plain, stretch**2 * np.median(((rows / stretch) ** 2).sum(axis=1))]
    )
    ridges = [ridge * shape for shape in shapes for ridge in _RIDGES]
    totals = [loss.value(_unseen(known, told, loss, ridge), told).sum() for ridge in ridges]
    ridge = ridges[int(np.argmin(totals))]
    return PublicOnly(minimise(rows, targets, loss, ridge), _unseen(rows, targets, loss, ridge))


def average(
    models: FloatArray,
    trust: FloatArray,
    rows: FloatArray,
    targets: FloatArray,
    loss: Loss,
    alone: PublicOnly,
) -> Combined:
    """The plain mean of the models, (sites, dim)."""
    return Combined(models.mean(axis=0), np.full(len(models), 1 / len(models)))


def feature(
    models: FloatArray,
    trust: FloatArray,
    rows: FloatArray,
    targets: FloatArray,
    loss: Loss,
    alone: PublicOnly,
) -> Combined:
    """Algorithm 1: weights trained on the public rows, which see only the models' scores."""
    sizes = _sizes(rows @ models.T)
    weights = minimise(rows @ models.T / sizes, targets, loss, _PULLS[0]) / sizes
    return Combined(weights @ models, weights)


def guarded(
    models: FloatArray,
    trust: FloatArray,
    rows: FloatArray,
    targets: FloatArray,
    loss: Loss,
    alone: PublicOnly,
) -> Combined:
    """Never worse than the public-only model beyond noise.

    Candidates are two families (every site by itself, and their mean weighted by `trust`) and
    several strengths of the pull to the public-only model. Rows are judged by models that were not
    trained on them. Of those that make no more mistakes the one that saves most loss is taken, but
    the step to it is shortened by the part of the gain that may be noise, as James and Stein would:
    by (1.5 standard errors / gain)^2, to nothing where the gain is not larger.
    """
    some = _some(len(rows))
    known, told = rows[some], targets[some]
    base = loss.value(alone.scores[some], told)
    allowed = _mistakes(alone.scores[some], told, loss)
    best: tuple[float, FloatArray, FloatArray, float] = (
        0.0,
        np.zeros((1, len(models))),
        np.zeros(len(some)),
        0.0,
    )
    for mix in (np.eye(len(models)), trust[np.newaxis] / trust.sum()):
        mix = mix / _sizes(known @ (mix @ models).T)[:, np.newaxis]
        features = np.hstack([alone.scores[some, np.newaxis], known @ (mix @ models).T])
        for pull in _PULLS:
            scores = _unseen(features, told, loss, pull, _first(features))
            saved = base - loss.value(scores, told)
            if saved.mean() > best[0] and _mistakes(scores, told, loss) <= allowed:
                best = (float(saved.mean()), mix, saved, pull)
    gain, mix, saved, pull = best
    stderr = float(saved.std() / np.sqrt(len(some)))
    if not gain > _SURE * stderr:
        return Combined(alone.f, np.zeros(len(models)), 1.0, gain, stderr)
    features = np.hstack([alone.scores[:, np.newaxis], rows @ (mix @ models).T])
    weights = minimise(features, targets, loss, pull, centre=_first(features))
    sure = 1 - (_SURE * stderr / gain) ** 2
    sites, own = sure * (weights[1:] @ mix), 1 + sure * (float(weights[0]) - 1)
    return Combined(own * alone.f + sites @ models, sites, own, gain, stderr)


COMBINE: dict[str, Combine] = {"guarded": guarded, "feature": feature, "average": average}


def _unseen(
    rows: FloatArray,
    targets: FloatArray,
    loss: Loss,
    ridge: float | FloatArray,
    centre: FloatArray | float = 0.0,
) -> FloatArray:
    """Each row's score by a model that was not trained on its fold."""
    scores = np.zeros(len(rows))
    folds = folds_of(targets)
    for fold in range(_FOLDS):
        others, own = folds != fold, folds == fold
        scores[own] = rows[own] @ minimise(
            rows[others], targets[others], loss, ridge, centre=centre
        )
    return scores


def _first(features: FloatArray) -> FloatArray:
    """Weights that take the first feature as it is and nothing else."""
    return np.asarray(np.eye(1, features.shape[1])[0])


def _mistakes(scores: FloatArray, targets: FloatArray, loss: Loss) -> int:
    """Rows on the wrong side; 0 where targets are numbers."""
    return 0 if loss.of_numbers else int(np.sum(scores * targets <= 0))


def _sizes(scores: FloatArray) -> FloatArray:
    """The root mean square of each column; 1 for a column of zeros."""
    sizes = np.sqrt((scores**2).mean(axis=0))
    return np.where(sizes > 0, sizes, 1.0)


def _some(rows: int) -> IntArray:
    """All rows, or every so many-th."""
    return np.arange(0, rows, max(1, -(-rows // _CHOOSING)))
