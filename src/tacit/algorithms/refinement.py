"""Refining the data user's own model with one share per owner, as a generator that yields queries.

    combine:  for m = 1 .. M: ask the next owners what the model gets wrong along the features that
              promise most; take the posterior mean.  Keep the data user's own model where public
              rows contradict the end
    private:  ask all owners once for class-wise means in a space of unit covariance; linear
              discriminants

Which features, how many rounds, and whether to ask at all are decided by what is predicted to be
gained.
"""

from collections.abc import Generator, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from tacit._util.checks import number_of_rounds
from tacit._util.types import FloatArray
from tacit.algorithms.feature_maps import within_classes
from tacit.algorithms.outlook import BY_PRODUCTS, Outlook, look_ahead
from tacit.algorithms.public_baseline import PublicModel, fit_public, frequencies
from tacit.algorithms.question import Population, made_up_owners
from tacit.data.cohort import Public
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.scores import ScoreModel
from tacit.learners.owners.gradient import Discriminant, class_residuals
from tacit.learners.query import Answer

_PRIVATE_QUANTILE = 0.1  # of lengths of shares, to clip at: noise grows with the radius


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

    `held_out` are scores of the public rows under each of them, as if it had not seen the row.
    """

    stages: tuple[ScoreModel, ...]
    held_out: tuple[FloatArray, ...]
    own: PublicModel
    records: tuple[StepRecord, ...]
    predicted_gain: float
    ended: str

    @property
    def model(self) -> ScoreModel:
        return self.stages[-1]


def refine(
    public: Public,
    crowd: Population,
    mechanism: str,
    epsilon: float | FloatArray,
    *,
    maps: Sequence[str] | None = None,
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
    belief, records = deepcopy(look.combination), list[StepRecord]()
    stages, held_out, contradicted = [own.model], [own.held_out], False

    def end(why: str) -> Refined:
        if contradicted:
            stages.append(own.model)
            held_out.append(own.held_out)
            why = f"{why}; the sample contradicts what owners say, so its own model was kept"
        return Refined(
            tuple(stages),
            tuple(held_out),
            own,
            records=tuple(records),
            predicted_gain=look.gain,
            ended=why,
        )

    if look.why_not:
        why = f"nobody was asked: {look.why_not}"
        if look.unasked is not None:
            stages.append(belief.model)
            held_out.append(belief.held_out)
            why += f"; {BY_PRODUCTS} of your own rows alone is better than {own.name}"
        return end(why)
    number = look.rounds if rounds is None else number_of_rounds(rounds)
    nothing_yet, facts = Ensemble(public.classes), Facts(public.X.shape[1], public.classes)
    for place in range(1, number + 1):
        learner, features = belief.learner, belief.features
        space = learner.space(facts)
        terms = (
            crowd.sum_terms(space, number)
            if crowd.summed
            else ReportTerms.of(mechanism, space, epsilon)
        )
        answer = yield ShareQuery(
            round=place,
            attempt=1,
            owners=None if crowd.summed else max(1, crowd.owners // number),
            learner=learner,
            facts=facts,
            ensemble=nothing_yet,
            terms=terms,
        )
        if answer is None:
            return end(f"owners ran out after {rounds_in_words(place - 1)}")
        belief.update(answer)
        stages.append(belief.model)
        held_out.append(belief.held_out)
        contradicted = belief.is_contradicted
        records.append(record_of(place, answer, features))
    return end(all_rounds(number))


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
    made_up = made_up_owners(4000, crowd.rows), crowd.rows
    drawn = np.random.default_rng(0).integers(0, len(public.y), size=made_up)
    phi = features.transform(public.X)
    means = np.einsum("nra,nrj->naj", residuals[drawn], phi[drawn]) / crowd.rows
    lengths = np.sqrt((means**2).sum(axis=(1, 2)))
    learner = Discriminant(features, blank, float(np.quantile(lengths, _PRIVATE_QUANTILE)))
    query = ShareQuery(
        round=1,
        attempt=1,
        owners=max(1, crowd.owners),
        learner=learner,
        facts=facts,
        ensemble=Ensemble(public.classes),
        terms=crowd.terms(learner.space(facts), mechanism, epsilon),
    )
    answer = yield query
    if answer is None:
        scores = (blank.scores(public.X),)
        return Refined(
            (blank,),
            scores,
            own,
            records=(),
            predicted_gain=0.0,
            ended="owners ran out before the first round",
        )
    model, record = learner.learn(query, answer), record_of(1, answer, "linear")
    return Refined(
        (model,),
        (model.scores(public.X),),
        own,
        records=(record,),
        predicted_gain=0.0,
        ended="one round",
    )


def record_of(place: int, answer: Answer, features: str) -> StepRecord:
    """A round as it went."""
    signal, noise = (float(np.sqrt((vector**2).sum())) for vector in (answer.mean, answer.stderr))
    return StepRecord(place, answer.n, features, width=len(answer.mean), signal=signal, noise=noise)


def rounds_in_words(number: int) -> str:
    """A number of rounds.

    >>> rounds_in_words(1), rounds_in_words(2)
    ('1 round', '2 rounds')
    """
    return f"{number} round{'' if number == 1 else 's'}"


def all_rounds(number: int) -> str:
    """Why an algorithm ended that did all it was told to do.

    >>> all_rounds(1), all_rounds(2)
    ('1 round', 'all 2 rounds')
    """
    return rounds_in_words(number) if number == 1 else f"all {rounds_in_words(number)}"
