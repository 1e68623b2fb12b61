"""Public and private knowledge in one posterior. Derivation: combination.md.

The data user's rows enter by their likelihood, each answer of owners by its known variance: with
few owners or a tiny epsilon the data user's rows decide, with many the owners do, and between them
both count by their precision. The data user's own model is one of the features, unless the
posterior alone predicts public rows better than it does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit._util.one_thread import one_thread
from tacit._util.types import FloatArray
from tacit.algorithms.experience import is_linear
from tacit.algorithms.feature_maps import Basis, Group, basis_of, with_model
from tacit.algorithms.posterior import Posterior, PriorScale
from tacit.algorithms.public_baseline import PublicModel
from tacit.algorithms.public_curvature import stand_ins
from tacit.algorithms.question import (
    AnsweredQuestion,
    Population,
    RoundQuestion,
    StandIn,
    next_question,
)
from tacit.data.cohort import Public
from tacit.learners.models.scores import Linear, Mapped, ScoreModel, contrasts, softmax, temperature
from tacit.learners.owners.gradient import Gradient
from tacit.learners.query import Answer

_LEVEL = 4.0  # variance of the intercept
_LINEAR, _OTHER = (1.0, 1.0), (0.1, 3.0)  # variance of scores by a group, spread of its logarithm
BESIDE = 0.2  # part of what the data user's own model explains that another group may, at least
_MODEL = 0.25  # variance of the weight of the data user's own model around 1
_THEIR_LEVEL = (1e-2, 2.0)  # the same for the level that owners have of their own
_TILT = (1.0, 2.0)  # variance of the tilt in units of chance, spread of its logarithm
_TILTED = 15  # columns along which owners' rows may lie elsewhere
# standard errors by which public rows must contradict owners to be believed, by whether the belief
# began as the data user's own model
_DOUBTS = {True: 2.0, False: 1.5}
_STAND_INS, _TIMES = 600, 12  # rows in owners' place, where public ones are fewer; times as many
_WORD = 3.0  # what the belief says that it is ahead by may be wrong by so many times as much
MORE = 3.0  # times what is foretold that answers may bring to a belief that begins behind
_AHEAD = 1.0  # standard errors of leads that pass for chance
LEAST_RISE = 1e-3  # of accuracy: a tenth of a point is worth another model


@dataclass(eq=False)
class Combination:
    """A belief about the best model; `learner` asks, `update` takes the answer in.

    `held_out` are scores of each public row by the model as it would be without its label,
    `likeness` how much each row is like the owners'; 1 on average.
    """

    public: Public
    own: PublicModel
    maps: Sequence[str]
    population: Population

    def __post_init__(self) -> None:
        self.basis = basis_of(self.maps, self.public)
        phi = self.basis.transform(self.public.X)
        said = (self.own.model.scores(self.public.X), self.own.held_out)
        linear = _is_linear(self.basis, self.own)
        with one_thread():  # matrices too small for threads, which would wait on each other
            self._begin(phi, said if linear and self.public.classes == 2 else None)
            if self._posterior.fitted is None and not self._is_ahead:
                if linear and _rows_tell(self.basis, self.public):
                    self._begin(phi, said)
                elif not is_linear(self.own):
                    self.basis = with_model(self.basis, self.own)
                    self._begin(self.basis.transform(self.public.X), None)
        self._left = self.population.owners
        self._chosen: RoundQuestion | None = None

    def _begin(self, phi: FloatArray, fitted: tuple[FloatArray, FloatArray] | None) -> None:
        """The belief before anybody has answered, by features `phi` of public rows; `fitted` are
        scores of the data user's own model, and what they are out of fold, if it is to stand for
        labels.
        """
        self._posterior = _posterior_of(self.basis, phi, self.public, self.own, fitted)
        self.held_out, self.likeness = self._posterior.held_out, np.ones(len(phi))

    @property
    def _question(self) -> RoundQuestion:
        """The next one, chosen when it is asked for: after the last round nobody does."""
        if self._chosen is None:
            left = Population(self._left, self.population.epsilon, self.population.rows)
            belief = self._posterior
            with one_thread():
                variances = np.diag(belief.open_covariance)
                self._chosen = next_question(belief, variances, belief.owners_chances, left)
        return self._chosen

    @property
    def features(self) -> str:
        """What the next question is about, in words."""
        scale = np.zeros(self.basis.dim)
        scale[self._question.kept] = 1.0
        names = [each.name for each in self.basis.groups]
        asked = [name for name in names if scale[self.basis.columns(name)].any()]
        return " + ".join(asked) or "intercept"

    @property
    def numbers(self) -> int:
        """The length of a share."""
        return (self.public.classes - 1) * len(self._question.kept)

    @property
    def learner(self) -> Gradient:
        """What the next round asks for."""
        asked, scale = self._question, np.zeros(self.basis.dim)
        scale[asked.kept] = asked.scale
        matrix = contrasts(len(asked.reference) + 1)
        weights = (matrix @ (asked.reference[:, asked.kept] / asked.scale)).T
        features = self.basis.feature_map(scale)
        return Gradient(features, np.ascontiguousarray(weights), asked.reach, asked.radius)

    @property
    def model(self) -> ScoreModel:
        """The mean of the belief."""
        weights = (contrasts(self.public.classes) @ self._posterior.theta).T
        term = Mapped(
            self.basis.feature_map(np.ones(self.basis.dim)), np.ascontiguousarray(weights)
        )
        return ScoreModel(self.public.classes, (term,))

    def update(self, answer: Answer) -> None:
        """The posterior after an answer; too few owners tell nothing."""
        noise = float(np.mean(answer.stderr**2))
        if np.isfinite(noise):
            heard = AnsweredQuestion(self._question, answer.mean, max(noise, 1e-15))
            with one_thread():
                self._posterior.take(heard)
                self.held_out, self.likeness = self._posterior.held_out, self._posterior.likeness
        self._left = max(1, self._left - answer.n)
        self._chosen = None

    @property
    def is_contradicted(self) -> bool:
        """Whether public rows speak against the model, and for the data user's own: it is wrong
        more often on rows it has not seen, and less likely by more than two standard errors, or one
        and a half if it did not begin as that model. Rows count by how much they are like the
        owners'.
        """
        doubts, like, y = _DOUBTS[self._begins_as_own], self.likeness, self.public.y
        lead = like * self._lead
        wrong = [
            like * (np.argmax(scores, axis=1) != y) for scores in (self.held_out, self.own.held_out)
        ]
        against = lead.sum() < -doubts * _error_of(lead)
        return bool(against and wrong[0].sum() >= wrong[1].sum())

    @property
    def gain(self) -> float:
        """Expected fall of the mean log loss below the data user's own model if everybody answers,
        in nats. Where the belief does not begin as that model and is behind it on rows that neither
        has seen, answers must make up for that first (of two classes for what is more than chance),
        by three times what is foretold: what they add to a poor beginning is understated.
        """
        chances = softmax(self._posterior.scores(self._posterior.theta))
        told = 0.5 * self._mean_square(self._split_covariance[0], 1 - (chances**2).sum(axis=1))
        lead, by_chance = self._lead, 0.0
        if self.public.classes == 2:
            by_chance = _AHEAD * _error_of(lead) / len(lead)
        behind = 0.0 if self._begins_as_own else min(0.0, float(lead.mean()) + by_chance)
        return max(0.0, told + behind / MORE)

    @property
    def rows_behind(self) -> float:
        """Of more than two classes, where the belief does not begin as the data user's own model:
        on how many more of all public rows that one is right, unseen by either, beyond a standard
        error.
        """
        if self.public.classes == 2 or self._begins_as_own:
            return 0.0
        lead, variance = self._rows_ahead
        return max(0.0, -lead - _AHEAD * float(np.sqrt(variance)))

    @property
    def change(self) -> float:
        """How far scores are expected to move, root mean square: when it is large, one question is
        not enough.
        """
        return float(
            np.sqrt(self._mean_square(self._split_covariance[0], np.ones(len(self.public.y))))
        )

    def expected_rise(self, draws: int, seed: int) -> tuple[float, float]:
        """Expected rise of accuracy over the data user's own model: what the belief is ahead by
        before anybody has answered, and what answers add, by models drawn as answers would make
        them and truths around them. Of more than two classes by rows left out: a few rows of each
        seem told apart by any model that was fitted to them.
        """
        explained, after = self._split_covariance
        coins, size, shape = np.random.default_rng(seed), len(after), self._posterior.theta.shape
        roots = [_root(part) for part in (explained, after)]
        rows, ahead, added = np.arange(len(self.public.y)), 0.0, 0.0
        many, said = self.public.classes > 2, self._posterior.scores(self._posterior.theta)
        own = np.argmax(self.own.held_out if many else self._start, axis=1)
        said = self.held_out if many else said
        begun = np.argmax(said, axis=1)
        for _ in range(draws):
            steps = [
                self._posterior.scores((root @ coins.normal(size=size)).reshape(shape))
                for root in roots
            ]
            heard = said + steps[0]
            chance = softmax(heard + steps[1])
            guess = np.argmax(heard, axis=1)
            ahead += float(np.mean(chance[rows, begun] - chance[rows, own])) / draws
            added += float(np.mean(chance[rows, guess] - chance[rows, begun])) / draws
        by_word = many and is_linear(self.own)
        return (ahead if by_word else self._shown_ahead(ahead)), added

    def _shown_ahead(self, believed: float) -> float:
        """By how many more rows the belief is right than the data user's own model before anybody
        has answered: by its word, which may be wrong by three times what it says, and by public
        rows that neither has seen, each by its precision.
        """
        lead, error = self._rows_ahead
        doubt = (_WORD * believed) ** 2
        return float((error * believed + doubt * lead) / (error + doubt))

    @property
    def _rows_ahead(self) -> tuple[float, float]:
        """On how many more of all public rows the belief is right than the data user's own model,
        unseen by either, and the variance of that. Of n rows m are told differently, and their
        number has the variance of m + 1: where none is, the next one might be.
        """
        sides = [np.argmax(scores, axis=1) for scores in (self.held_out, self.own.held_out)]
        y, rows = self.public.y, len(self.public.y)
        lead = (np.count_nonzero(sides[0] == y) - np.count_nonzero(sides[1] == y)) / rows
        return lead, (np.count_nonzero(sides[0] != sides[1]) + 1) / rows**2

    def begins_ahead(self, by: float) -> bool:
        """Whether public rows alone make a better model of it than the data user's own, if it is
        expected to be right on so many more rows. Where it began as that model, and labels have
        moved it, that must be a tenth of a point: else the data user's own stays as it is.
        """
        if self.own.accuracy is None or not self._is_ahead or self.rows_behind > 0:
            return False
        return by >= LEAST_RISE or not self._begins_as_own

    @property
    def _is_ahead(self) -> bool:
        """Whether public rows are likelier than under the data user's own model by more than a
        standard error. (A row is left out alone here, and there with a fifth of all rows, which
        costs that model more.)
        """
        lead = self._lead
        return bool(lead.sum() > _AHEAD * _error_of(lead))

    @property
    def _start(self) -> FloatArray:
        """Scores of public rows by the data user's own model, as the basis has them."""
        inside = any(group.name == "model" for group in self.basis.groups)
        return self.own.held_out if inside else self.own.model.scores(self.public.X)

    @property
    def _begins_as_own(self) -> bool:
        """Whether the belief begins as the data user's own model."""
        inside = any(group.name == "model" for group in self.basis.groups)
        return inside or self._posterior.fitted is not None

    @property
    def _split_covariance(self) -> tuple[FloatArray, FloatArray]:
        """What everybody's answers would explain of the coefficients' covariance, and the rest."""
        asked = self._question
        after = self._posterior.covariance_after(asked, asked.spread / self._left)
        return self._posterior.covariance - after, after

    @property
    def _lead(self) -> FloatArray:
        """By how much public rows are likelier than under the data user's own model, unseen by
        either.
        """
        rows, y = np.arange(len(self.public.y)), self.public.y
        said = self.held_out
        said = temperature(said, y) * said  # the data user's own model has had the same favour
        sides = [softmax(scores)[rows, y] for scores in (said, self.own.held_out)]
        return np.asarray(np.log(np.maximum(sides[0], 1e-12) / np.maximum(sides[1], 1e-12)))

    def _mean_square(self, covariance: FloatArray, weights: FloatArray) -> float:
        """Mean over public rows of weight times the variance of a contrast of scores."""
        size, phi = self.public.classes - 1, self._posterior.phi
        blocks = covariance.reshape(size, phi.shape[1], size, -1)
        one = np.einsum("aiaj->ij", blocks) / size
        found = float(np.mean(weights * ((phi @ one) * phi).sum(axis=1)))
        return max(0.0, found)  # of covariances that differ by next to nothing, rounded below


def _posterior_of(
    basis: Basis,
    phi: FloatArray,
    public: Public,
    own: PublicModel,
    fitted: tuple[FloatArray, FloatArray] | None,
) -> Posterior:
    """Before anybody has answered: the data user's rows alone, whose features are `phi`."""
    mean = np.zeros((public.classes - 1, basis.dim))
    scales = [PriorScale(slice(0, 1), np.ones(1), _LEVEL, 0.0)]
    for group in basis.groups:
        columns = basis.columns(group.name)
        if group.name == "model":
            width = 1 / np.diag(group.matrix)
            phi[:, columns] = own.held_out @ contrasts(public.classes) / width
            mean[:, columns] = np.diag(width)
            scales.append(PriorScale(columns, width**2, _MODEL, 0.0))
        elif group.name == "linear":
            guess = _LINEAR[0] / group.dim
            if fitted is not None:
                mean[:, : columns.stop] = _coefficients(group, own.model)
                guess = max(guess, float((mean[:, columns] ** 2 / group.strength).mean()))
            scales.append(
                PriorScale(columns, group.strength, guess, _LINEAR[1], late=fitted is not None)
            )
        else:
            late = fitted is not None and public.classes > 2
            whole = _OTHER[0] if late else max(_OTHER[0], BESIDE * explained_by(own))
            guess = whole / group.dim
            scales.append(
                PriorScale(columns, group.strength, guess, _OTHER[1], late=late, explore=True)
            )
    linear, dim = basis.columns("linear").stop, basis.dim
    scales.append(PriorScale(slice(dim, dim + 1), np.ones(1), *_THEIR_LEVEL, late=True))
    tilted = min(linear - 1, _TILTED)
    mistaken = fitted is None and public.classes > 2  # for what labels say of many classes
    guess, spread = _TILT[0] / len(phi), 0.0 if mistaken else _TILT[1]
    tilt = PriorScale(slice(1, 1 + tilted), np.ones(tilted), guess, spread, late=True)
    return Posterior(
        phi=phi,
        labels=public.y,
        classes=public.classes,
        scales=scales,
        mean=mean,
        plain=slice(0, linear),
        tilt=tilt,
        owners=StandIn(
            _with_others(basis, phi, public, own), public.classes, tilt.columns, len(phi)
        ),
        fitted=fitted,
    )


def _with_others(basis: Basis, phi: FloatArray, public: Public, own: PublicModel) -> FloatArray:
    """Features of public rows and of rows between them; of rows that are told apart without error
    none are between.
    """
    if own.accuracy == 1.0:
        return phi
    between = stand_ins(public, min(_STAND_INS, _TIMES * len(phi))).X
    return np.vstack([phi, basis.transform(between)]) if len(between) else phi


def explained_by(own: PublicModel) -> float:
    """The variance of a contrast of the data user's own scores, of rows out of fold."""
    said = own.held_out @ contrasts(own.held_out.shape[1])
    return float(said.var(axis=0).mean())


def _is_linear(basis: Basis, own: PublicModel) -> bool:
    """Whether the data user's own model is a sum of features that the basis has."""
    linear = basis.groups[0]
    whole = linear.dim == np.linalg.matrix_rank(linear.matrix) == _count_varying(linear)
    return bool(whole and is_linear(own))


def _rows_tell(basis: Basis, public: Public) -> bool:
    """Whether public rows show all classes, and are no fewer than a linear model's coefficients."""
    seen = np.bincount(public.y, minlength=public.classes)
    coefficients = (public.classes - 1) * (1 + basis.groups[0].dim)
    return bool(len(public.y) >= coefficients and seen.min() > 0)


def _coefficients(linear: Group, model: ScoreModel) -> FloatArray:
    """Intercepts and coefficients of a linear model in the group's features, (classes - 1, ...)."""
    weights = sum(term.weights for term in model.terms if isinstance(term, Linear))
    level = sum(term.level for term in model.terms if isinstance(term, Linear))
    slopes = np.linalg.pinv(linear.matrix) @ weights
    both = np.vstack([level + linear.centre @ weights, slopes]) @ contrasts(model.classes)
    return np.ascontiguousarray(both.T)


def _count_varying(linear: Group) -> int:
    """How many columns vary on public rows."""
    return int((linear.matrix != 0).any(axis=1).sum())


def _error_of(terms: FloatArray) -> float:
    """The standard error of a sum."""
    return float(terms.std()) * float(np.sqrt(len(terms)))


def _root(covariance: FloatArray) -> FloatArray:
    """A matrix whose square is the covariance."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
