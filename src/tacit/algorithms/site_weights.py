"""Linear models of several sites become one, with the help of public rows (paper C). Everything
here is public.

- `combine_average`: their mean.
- `combine_features`, Algorithm 1: each model's score is a feature; a small model of these is
  trained on the public rows.
- `combine_guarded`: one belief about the best model. Public rows enter by their likelihood, sites'
  models as directions in which it may lie far out: as far as they speak true, public rows need not
  find them. Whether they do is told by the evidence.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.learners.sites.losses import Loss, minimise

_FOLDS = 5  # of cross-validation, as is usual
_RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # of the public-only model
_TINY = 1e-300  # in place of 0 where it is divided by
_TIMID = 0.1  # how strongly the factor of public-only scores is held to 1, and the least it is
_PULLS = (0.3, 3.0)  # of sites' weights towards 0, for scores of size 1
_HELD = (0.1, 1.0, 10.0, 100.0, 1000.0)  # ridges of what public rows say beside sites
_FEATURE = 1.0  # ridge of paper C's weights
_DOUBTS = 1.0  # standard errors by which public rows must contradict sites to be believed
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
    """The model of public rows alone, the scores that its folds give to rows they were neither
    trained nor chosen on, and the ways to look at rows that were tried.
    """

    f: FloatArray
    scores: FloatArray
    looks: tuple[FloatArray, ...] = ()


@dataclass(frozen=True, eq=False)
class Combined:
    """One linear model: `weights` of the sites' models, and what public rows add to that (`own`).

    `scores` are those of the public rows, each by a model that has not seen it (Algorithm 1 and the
    mean: as they are, only the few weights have seen it). `believed` is how likely it is that sites
    say something that public rows do not; 0 where they were not asked, or nothing was compared.
    """

    f: FloatArray
    weights: FloatArray
    own: FloatArray
    scores: FloatArray
    believed: float = 0.0


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
    then makes its scores as bold as the folds allow. The scores of a fold's rows are those that the
    other folds would have chosen, as bold as these allow: chosen by themselves, sixty rows of
    made-up people had a loss of 0.58, where it is 0.68 on other rows.
    """
    known = task[_some(len(task.rows))]
    ways = (np.eye(task.rows.shape[1]), *looks)
    tried = [
        _Look(
            matrix,
            ridge,
            ridge / max(float((seen.rows**2).sum(axis=1).mean()), _TINY),
            scores,
            task.loss.value(scores, known.targets),
        )
        for matrix in ways
        for seen in (known.of(known.rows @ matrix),)
        for ridge in _RIDGES
        for scores in (_scores_out_of_fold(seen, ridge),)
    ]
    chosen = _choose(tried, np.ones(len(known.rows), dtype=np.bool_))
    seen, folds = task.of(task.rows @ chosen.matrix), folds_of(known.targets)
    unseen = np.empty(len(known.rows))
    for fold in range(_FOLDS):
        rest = folds != fold
        other = _choose(tried, rest) if rest.any() else chosen
        unseen[~rest] = _boldness(known[rest], other.scores[rest]) * other.scores[~rest]
    bold = _boldness(known, chosen.scores)
    if len(known.rows) < len(task.rows):  # so many that choosing hardly shows
        unseen = bold * _scores_out_of_fold(seen, chosen.ridge)
    return PublicOnly(bold * (chosen.matrix @ seen.minimise(chosen.ridge)), unseen, ways)


class _Look(NamedTuple):
    """A way to look at rows, a ridge, its strength beside the rows, and score and loss of each row
    by a model that has not seen it.
    """

    matrix: FloatArray
    ridge: float
    strength: float
    scores: FloatArray
    losses: FloatArray


def _choose(tried: Sequence[_Look], rows: BoolArray) -> _Look:
    """Of those that these rows cannot tell from the best, the one with the strongest ridge."""
    best = min(tried, key=lambda look: float(look.losses[rows].sum()))
    near = [look for look in tried if _like(look.losses[rows], best.losses[rows])]
    return max(near, key=lambda look: look.strength)


def _boldness(task: PublicTask, scores: FloatArray) -> float:
    """The factor of scores that suits the targets, held to 1."""
    return max(float(task.of(scores[:, np.newaxis]).minimise(_TIMID, 1.0)[0]), _TIMID)


def _like(losses: FloatArray, best: FloatArray) -> bool:
    """Whether the mean of these is above the best by no more than a standard error."""
    more = losses - best
    return bool(more.mean() <= more.std() / np.sqrt(len(more)))


def combine_average(
    models: FloatArray, trust: FloatArray, task: PublicTask, alone: PublicOnly
) -> Combined:
    """The plain mean of the models, (sites, dim)."""
    return of_weights(np.full(len(models), 1 / len(models)), models, task)


def combine_features(
    models: FloatArray, trust: FloatArray, task: PublicTask, alone: PublicOnly
) -> Combined:
    """Algorithm 1: weights trained on the public rows, which see only the models' scores."""
    sizes = _sizes(task.rows @ models.T)
    turned, axes = _turn(models / sizes[:, np.newaxis])
    weights = task.of(task.rows @ axes.T).minimise(_FEATURE) @ turned.T / sizes
    return of_weights(weights, models, task)


def of_weights(weights: FloatArray, models: FloatArray, task: PublicTask) -> Combined:
    """Nothing but sites' models with these weights."""
    f = weights @ models
    return Combined(f, weights, np.zeros_like(f), task.rows @ f)


def without_sites(sites: int, alone: PublicOnly) -> Combined:
    """The public-only model as it is."""
    return Combined(alone.f, np.zeros(sites), alone.f, alone.scores)


def combine_guarded(
    models: FloatArray, trust: FloatArray, task: PublicTask, alone: PublicOnly
) -> Combined:
    """The posterior mean of a linear model of which sites' models may be parts.

    f ~ N(0, 1 / ridge) as one of the looks sees rows, plus weights ~ N(0, 1 / pull) of the sites'
    models, each by itself or their mean weighted by `trust`; or without any. Targets by their
    likelihood; looks, ridges, pulls and families count by their evidence (Laplace), half of it
    beforehand for no sites, where the public-only model stands for what public rows say. Where no
    sites are the more likely it stays as it is, else all is averaged. With few records or much
    noise models are random directions, for which a weight does not pay; with many, public rows find
    them right where they would have to search a whole space by themselves, which is what evidence
    counts and cross-validation does not.

    Do no harm: the public-only model is kept as well where public rows are less likely by more than
    a standard error under the average, and as often wrong, unseen by either. One liar: in the mean
    no model counts by more than the median of their sizes; by itself it counts as far as its scores
    tell public rows' targets.
    """
    known = task[_some(len(task.rows))]
    seen = alone.scores[_some(len(task.rows))]
    noise = max(2 * float(task.loss.value(seen, known.targets).mean()), _TINY)
    noise = noise if task.loss.of_numbers else 1.0  # of a logarithm of a likelihood
    found = _fit_all(models, trust, known, alone, noise)
    asked = np.array([bool(each.weights.any()) for each in found])
    likely = np.array([each.evidence for each in found])
    likely -= np.log(np.where(asked, asked.sum(), (~asked).sum()))
    chances = np.exp(likely - likely.max())
    believed = float(chances[asked].sum() / chances.sum())
    if not believed > 1 / 2:
        return replace(without_sites(len(models), alone), believed=believed)
    shares = np.where(asked, chances, 0.0) / chances.sum()
    own, weights, scores = (
        sum(share * getattr(each, name) for share, each in zip(shares, found, strict=True))
        for name in ("own", "weights", "scores")
    )
    own, scores = own + (1 - believed) * alone.f, scores + (1 - believed) * seen
    if _is_contradicted(scores, seen, known, noise):
        return replace(without_sites(len(models), alone), believed=believed)
    f = own + weights @ models
    if len(known.rows) < len(task.rows):
        scores = task.rows @ f
    return Combined(f, weights, own, scores, believed)


def _is_contradicted(scores: FloatArray, alone: FloatArray, task: PublicTask, noise: float) -> bool:
    """Whether public rows are less likely by more than a standard error under these scores than
    under those of public rows alone, and as often wrong.
    """
    lead = (task.loss.value(alone, task.targets) - task.loss.value(scores, task.targets)) / noise
    behind = lead.mean() < -_DOUBTS * lead.std() / np.sqrt(len(lead))
    return bool(behind and _mistakes(scores, task) >= _mistakes(alone, task))


def _fit_all(
    models: FloatArray, trust: FloatArray, task: PublicTask, alone: PublicOnly, noise: float
) -> list["_Fit"]:
    """The mode for every family of sites' models, none first, look, ridge and pull."""
    sizes = _sizes(task.rows @ models.T)
    families = [np.zeros((0, len(models))), _typical_mean(models, trust, sizes, task)]
    families += [_each_by_itself(models, sizes)] if len(models) > 1 else []
    return [
        _fit(task.of(np.hstack([seen, scores])), look, mix, held, noise)
        for mix in families
        for scores in (task.rows @ (mix @ models).T,)
        for look in alone.looks or (np.eye(task.rows.shape[1]),)
        for seen in (task.rows @ look,)
        for ridge in _HELD
        for pull in (_PULLS if len(mix) else _PULLS[:1])
        for held in (np.repeat([ridge, pull], [look.shape[1], len(mix)]),)
    ]


class _Fit(NamedTuple):
    """The mode for one prior: what public rows add, weights of the sites, scores of rows that it
    has not seen, and the logarithm of the evidence.
    """

    own: FloatArray
    weights: FloatArray
    scores: FloatArray
    evidence: float


def _fit(
    task: PublicTask, look: FloatArray, mix: FloatArray, held: FloatArray, noise: float
) -> _Fit:
    """Mode and evidence by Laplace; a row is left out by one Newton step back. The task's rows are
    those seen by the look, and the scores of mixes of sites, (mixes, sites).
    """
    features = task.rows
    found = task.minimise(noise * held)
    scores = features @ found
    bends = task.loss.second(scores, task.targets) / noise
    factor = cho_factor((features * bends[:, np.newaxis]).T @ features + np.diag(held))
    leverage = (features * (features @ cho_solve(factor, np.eye(len(held))))).sum(axis=1)
    drop = leverage * task.loss.first(scores, task.targets) / noise
    unseen = scores + drop / np.maximum(1 - leverage * bends, _TINY)
    loss = float(task.loss.value(scores, task.targets).sum()) / noise + held @ found**2 / 2
    volume = float(np.log(held).sum()) / 2 - float(np.log(np.diag(factor[0])).sum())
    own, weights = np.split(found, [look.shape[1]])
    return _Fit(look @ own, weights @ mix, unseen, volume - float(loss))


def _typical_mean(
    models: FloatArray, trust: FloatArray, sizes: FloatArray, task: PublicTask
) -> FloatArray:
    """The mean weighted by trust, (1, sites); no model is larger in it than the median. Its scores
    have size 1.
    """
    counted = trust * np.minimum(1.0, np.median(sizes) / sizes)
    mean = np.asarray(counted / trust.sum())[np.newaxis]
    return np.asarray(mean / _sizes(task.rows @ (mean @ models).T)[:, np.newaxis])


def _each_by_itself(models: FloatArray, sizes: FloatArray) -> FloatArray:
    """Mixes of sites, each of scores of size 1, as few as there are dimensions."""
    turned, _ = _turn(models * (1 / sizes)[:, np.newaxis])
    return np.ascontiguousarray(turned.T * (1 / sizes))


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
