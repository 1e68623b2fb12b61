"""Linear models of several sites become one, with the help of public rows (paper C). Everything
here is public.

- `combine_average`: their mean.
- `combine_features`, Algorithm 1: each model's score is a feature; a small model of these is
  trained on the public rows.
- `combine_guarded`: the same with the public-only model as one more feature, and the weights
  pulled to it. How hard is chosen by cross-validation, and the less sure the gain, the closer the
  result stays to the public-only model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.learners.sites.losses import Loss, minimise

_FOLDS = 5  # of cross-validation, as is usual
_RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # of the public-only model
_TINY = 1e-300  # in place of 0 where it is divided by
_TIMID = 0.1  # how strongly the factor of public-only scores is held to 1, and the least it is
_PULLS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # of the weights towards the public-only model
_SURE = 1.5  # standard errors of a gain that count as noise
_CHOOSING = 4_000  # public rows, at most, that strengths are chosen on


@dataclass(frozen=True, eq=False)
class PublicTask:
    """The public rows as sites see theirs (rows, dim), what they should give, and how that is
    judged.
    """

    rows: FloatArray
    targets: FloatArray
    loss: Loss

    def __getitem__(self, some: IntArray | BoolArray) -> "PublicTask":
        return PublicTask(self.rows[some], self.targets[some], self.loss)

    def of(self, features: FloatArray) -> "PublicTask":
        """The same task with other features of the same rows."""
        return PublicTask(features, self.targets, self.loss)

    def minimise(self, ridge: float | FloatArray, centre: FloatArray | float = 0.0) -> FloatArray:
        """The weights with the least loss, held to `centre` by the ridge."""
        return minimise(self.rows, self.targets, self.loss, ridge, centre=centre)


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


Combine: TypeAlias = Callable[[FloatArray, FloatArray, PublicTask, PublicOnly], Combined]


def folds_of(targets: FloatArray) -> IntArray:
    """A fold for each row: rows in the order of their targets are dealt out in turn, so that
    folds are alike.
    """
    folds = np.empty(len(targets), dtype=np.int64)
    folds[np.argsort(targets, kind="stable")] = np.arange(len(targets)) % _FOLDS
    return folds


def public_only(task: PublicTask, looks: Sequence[FloatArray] = ()) -> PublicOnly:
    """The regularised model of the public rows. A look is a matrix (dim, dim): the ridge then holds
    down what a row is after it. Beside the rows as they are seen all `looks` are tried, with every
    ridge, over five folds.

    Of those that the folds cannot tell from the best by a standard error, the one with the
    strongest ridge: public rows may be few, and sites' rows are seldom quite like them. One factor
    then makes its scores as bold as the folds allow.
    """
    known = task[_some(len(task.rows))]
    tried = [
        _Look(
            matrix,
            ridge,
            ridge / max(float((seen.rows**2).sum(axis=1).mean()), _TINY),
            task.loss.value(_scores_out_of_fold(seen, ridge), known.targets),
        )
        for matrix in (np.eye(task.rows.shape[1]), *looks)
        for seen in (known.of(known.rows @ matrix),)
        for ridge in _RIDGES
    ]
    best = min(tried, key=lambda look: look.total)
    near = [look for look in tried if _like(look.losses, best.losses)]
    chosen = max(near, key=lambda look: look.strength)
    seen = task.of(task.rows @ chosen.matrix)
    scores = _scores_out_of_fold(seen, chosen.ridge)
    bold = max(float(task.of(scores[:, np.newaxis]).minimise(_TIMID, 1.0)[0]), _TIMID)
    return PublicOnly(bold * (chosen.matrix @ seen.minimise(chosen.ridge)), bold * scores)


class _Look(NamedTuple):
    """A way to look at rows, a ridge, its strength beside the rows, and the loss of each row by a
    model that has not seen it.
    """

    matrix: FloatArray
    ridge: float
    strength: float
    losses: FloatArray

    @property
    def total(self) -> float:
        return float(self.losses.sum())


def _like(losses: FloatArray, best: FloatArray) -> bool:
    """Whether the mean of these is above the best by no more than a standard error."""
    more = losses - best
    return bool(more.mean() <= more.std() / np.sqrt(len(more)))


def combine_average(
    models: FloatArray, trust: FloatArray, task: PublicTask, alone: PublicOnly
) -> Combined:
    """The plain mean of the models, (sites, dim)."""
    return Combined(models.mean(axis=0), np.full(len(models), 1 / len(models)))


def combine_features(
    models: FloatArray, trust: FloatArray, task: PublicTask, alone: PublicOnly
) -> Combined:
    """Algorithm 1: weights trained on the public rows, which see only the models' scores."""
    sizes = _sizes(task.rows @ models.T)
    turned, axes = _turn(models / sizes[:, np.newaxis])
    weights = task.of(task.rows @ axes.T).minimise(_PULLS[0]) @ turned.T / sizes
    return Combined(weights @ models, weights)


def combine_guarded(
    models: FloatArray, trust: FloatArray, task: PublicTask, alone: PublicOnly
) -> Combined:
    """Never worse than the public-only model beyond noise.

    Candidates are two families (every site by itself, and their mean weighted by `trust`) and
    several strengths of the pull to the public-only model. Rows are judged by models that were not
    trained on them. Of those that make no more mistakes the one that saves most loss is taken, but
    the step to it is shortened by the part of the gain that may be noise, as James and Stein would:
    by (1.5 standard errors / gain)^2, to nothing where the gain is not larger.
    """
    some = _some(len(task.rows))
    known, loss = task[some], task.loss
    base = loss.value(alone.scores[some], known.targets)
    allowed = _mistakes(alone.scores[some], known)
    best = _Step(0.0, np.zeros((1, len(models))), np.zeros(len(some)), 0.0)
    for mix in (np.eye(len(models)), trust[np.newaxis] / trust.sum()):
        mix = mix / _sizes(known.rows @ (mix @ models).T)[:, np.newaxis]
        mix = _turn(mix @ models)[0].T @ mix
        features = np.hstack([alone.scores[some, np.newaxis], known.rows @ (mix @ models).T])
        for pull in _PULLS:
            scores = _scores_out_of_fold(known.of(features), pull, _first(features))
            saved = base - loss.value(scores, known.targets)
            if saved.mean() > best.gain and _mistakes(scores, known) <= allowed:
                best = _Step(float(saved.mean()), mix, saved, pull)
    stderr = float(best.saved.std() / np.sqrt(len(some)))
    if not best.gain > _SURE * stderr:
        return Combined(alone.f, np.zeros(len(models)), 1.0, best.gain, stderr)
    features = np.hstack([alone.scores[:, np.newaxis], task.rows @ (best.mix @ models).T])
    weights = task.of(features).minimise(best.pull, _first(features))
    sure = 1 - (_SURE * stderr / best.gain) ** 2
    sites, own = sure * (weights[1:] @ best.mix), 1 + sure * (float(weights[0]) - 1)
    return Combined(own * alone.f + sites @ models, sites, own, best.gain, stderr)


class _Step(NamedTuple):
    """The best way so far from the public-only model: loss saved per row on average, mix of the
    sites, loss saved by each row, pull.
    """

    gain: float
    mix: FloatArray
    saved: FloatArray
    pull: float


COMBINE: dict[str, Combine] = {
    "guarded": combine_guarded,
    "feature": combine_features,
    "average": combine_average,
}


def _turn(models: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Models (sites, dim) = turned @ axes, with orthonormal columns of `turned`: weights of the
    axes give the same scores as weights of the sites with the same ridge, and there are never more
    axes than dimensions. Few sites stay as they are.
    """
    if len(models) <= models.shape[1]:
        return np.eye(len(models)), models
    turned, sizes, axes = np.linalg.svd(models, full_matrices=False)
    return turned, sizes[:, np.newaxis] * axes


def _scores_out_of_fold(
    task: PublicTask, ridge: float | FloatArray, centre: FloatArray | float = 0.0
) -> FloatArray:
    """Each row's score by a model that was not trained on its fold."""
    scores = np.zeros(len(task.rows))
    folds = folds_of(task.targets)
    for fold in range(_FOLDS):
        scores[folds == fold] = task.rows[folds == fold] @ task[folds != fold].minimise(
            ridge, centre
        )
    return scores


def _first(features: FloatArray) -> FloatArray:
    """Weights that take the first feature as it is and nothing else."""
    return np.asarray(np.eye(1, features.shape[1])[0])


def _mistakes(scores: FloatArray, task: PublicTask) -> int:
    """Rows on the wrong side; 0 where targets are numbers."""
    return 0 if task.loss.of_numbers else int(np.sum(scores * task.targets <= 0))


def _sizes(scores: FloatArray) -> FloatArray:
    """The root mean square of each column; 1 for a column of zeros."""
    sizes = np.sqrt((scores**2).mean(axis=0))
    return np.where(sizes > 0, sizes, 1.0)


def _some(rows: int) -> IntArray:
    """All rows, or every so many-th."""
    return np.arange(0, rows, max(1, -(-rows // _CHOOSING)))
