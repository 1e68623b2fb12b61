"""Refining the data user's own model with one share per owner, as a generator that yields queries.

    combine:  for m = 1 .. M: ask the next owners for the gradient at the current model; take the
    posterior mean private:  ask all owners once for class-wise means in a space of unit covariance;
    linear discriminants

Which feature map, how many rounds, and whether to ask at all are decided beforehand by what each is
predicted to gain.
"""

from collections.abc import Generator, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from tacit._util.checks import whole
from tacit._util.types import FloatArray
from tacit.algorithms.combination import Combination, Population
from tacit.algorithms.feature_maps import spectrum_of, within_classes
from tacit.algorithms.public_baseline import PublicModel, fit_public, frequencies
from tacit.data.sample import Public
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.scores import ScoreModel
from tacit.learners.owners.discriminant import Discriminant, class_residuals
from tacit.learners.query import Answer, all_rounds, rounds_in_words

MAPS = ("linear", "products")
LEAST_GAIN = 1e-3  # nats of mean log loss: below, nobody is asked
_PRIVATE_QUANTILE = 0.1
_MARGIN = 1.5


@dataclass(frozen=True)
class StepRecord:
    """One round as it went: how many owners, how long the answer was, and how much of that is
    noise.
    """

    round: int
    owners: int
    features: str
    width: int
    signal: float
    noise: float


@dataclass(frozen=True, eq=False)
class Refined:
    """The model after each round (the data user's own first, when there is one), how it came
    about, why it ended.
    """

    stages: tuple[ScoreModel, ...]
    own: PublicModel
    records: tuple[StepRecord, ...]
    predicted_gain: float
    ended: str

    @property
    def model(self) -> ScoreModel:
        return self.stages[-1]


@dataclass(frozen=True, eq=False)
class Outlook:
    """The best way to ask that was found: a combination, what it should gain, in how many
    rounds.
    """

    combination: Combination
    gain: float
    rounds: int

    @property
    def own(self) -> PublicModel:
        """The data user's model that it begins with."""
        return self.combination.own


def look_ahead(
    public: Public, own: PublicModel, crowd: Population, maps: Sequence[str] = MAPS
) -> Outlook:
    """The feature map with the largest predicted gain, and rounds by how far scores should move.

    A later map must promise half as much again as the one before: predictions from few rows are
    rough.
    """
    found = [Combination(public, own, spectrum_of(name, public), crowd) for name in maps]
    best = found[0]
    for other in found[1:]:
        best = other if other.gain > _MARGIN * best.gain else best
    change = best.change
    return Outlook(best, best.gain, 1 if change < 0.5 else 2 if change < 1.0 else 4)


def too_little(gain: float) -> str:
    """Why nobody is asked, in words."""
    return (
        f"they would add too little (log loss {gain:.1g} lower, {LEAST_GAIN:g} is the least "
        "worth asking for)"
    )


def refine(
    public: Public,
    crowd: Population,
    mechanism: str,
    epsilon: float | FloatArray,
    *,
    maps: Sequence[str] = MAPS,
    rounds: int | None = None,
    own: PublicModel | None = None,
    outlook: Outlook | None = None,
) -> Generator[ShareQuery, Answer | None, Refined]:
    """The data user's model and the owners' answers, weighted by precision; nobody is asked for
    too small a gain.

    `own` and `outlook` are the data user's model and what asking promises, where they are known
    already; an outlook is left as it is.
    """
    own = own or (fit_public(public) if outlook is None else outlook.own)
    look = look_ahead(public, own, crowd, maps) if outlook is None else outlook
    if look.gain < LEAST_GAIN:
        return Refined(
            (own.model,), own, (), look.gain, f"nobody was asked: {too_little(look.gain)}"
        )
    number = look.rounds if rounds is None else whole("rounds", rounds, 1)
    belief, stages, records = copy(look.combination), [own.model], list[StepRecord]()
    facts, each = Facts(public.dim, public.classes), crowd.owners // number
    for place in range(1, number + 1):
        learner = belief.learner
        terms = ReportTerms.of(mechanism, learner.space(facts), epsilon)
        answer = yield ShareQuery(
            place, 1, max(1, each), learner, facts, Ensemble(public.classes), terms
        )
        if answer is None:
            return Refined(
                tuple(stages),
                own,
                tuple(records),
                look.gain,
                f"owners ran out after {rounds_in_words(place - 1)}",
            )
        belief.update(answer)
        stages.append(belief.model)
        records.append(record_of(place, answer, belief.spectrum.name))
    return Refined(tuple(stages), own, tuple(records), look.gain, all_rounds(number))


def discriminate(
    public: Public,
    crowd: Population,
    mechanism: str,
    epsilon: float | FloatArray,
    own: PublicModel | None = None,
) -> Generator[ShareQuery, Answer | None, Refined]:
    """Private only: linear discriminants from one share of every owner. Public rows give the
    space, no more.
    """
    own = fit_public(public) if own is None else own
    features, facts = within_classes(public), Facts(public.dim, public.classes)
    blank = frequencies(public)
    residuals = class_residuals(blank.scores(public.X), public.y)
    drawn = np.random.default_rng(0).integers(0, len(public.y), size=(4000, crowd.rows))
    phi = features.transform(public.X)
    means = np.einsum("nra,nrj->naj", residuals[drawn], phi[drawn]) / crowd.rows
    lengths = np.sqrt((means**2).sum(axis=(1, 2)))
    learner = Discriminant(features, blank, float(np.quantile(lengths, _PRIVATE_QUANTILE)))
    terms = ReportTerms.of(mechanism, learner.space(facts), epsilon)
    query = ShareQuery(1, 1, max(1, crowd.owners), learner, facts, Ensemble(public.classes), terms)
    answer = yield query
    if answer is None:
        return Refined((blank,), own, (), 0.0, "owners ran out before the first round")
    return Refined(
        (learner.learn(query, answer),), own, (record_of(1, answer, "linear"),), 0.0, "one round"
    )


def record_of(place: int, answer: Answer, features: str) -> StepRecord:
    """A round as it went."""
    signal, noise = (float(np.sqrt((vector**2).sum())) for vector in (answer.mean, answer.stderr))
    return StepRecord(place, answer.n, features, len(answer.mean), signal, noise)
