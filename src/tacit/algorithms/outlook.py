"""What to expect of owners before anybody is asked, and how to ask them: combination.md.

    look_ahead = a combination of what is known, what answers should add to it, in how many rounds

It is what a plan tells and what a fit begins with. Nobody is asked where answers would not pay.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit._util.one_thread import one_thread
from tacit.algorithms.combination import (
    BESIDE,
    LEAST_RISE,
    MORE,
    Combination,
    explained_by,
)
from tacit.algorithms.experience import weigh_forecast
from tacit.algorithms.feature_maps import MOST, WAVES
from tacit.algorithms.line_or_all import LineOrAll
from tacit.algorithms.public_baseline import PublicModel, accuracy_of_no_mistake
from tacit.algorithms.question import Population
from tacit.algorithms.summed_gradients import SummedGradients
from tacit.algorithms.wide_features import LINEAR, Mix, mixes_for
from tacit.data.cohort import Public
from tacit.learners.models.scores import softmax

MAPS = ("linear", "products")
RICH_MAPS = (*MAPS, "waves")  # where owners are so many that the map, not noise, would be the limit
BY_PRODUCTS = "a model by columns and their products"  # as the belief begins, in words
LEAST_GAIN = 1e-3  # nats of mean log loss: below, nobody is asked
_DRAWS = 200  # models drawn to tell what accuracy to expect
_SITE_DRAWS, _SURE = 60, 0.9  # models drawn where sites are asked; part of them that must gain
_TWO, _FOUR = 0.15, 0.3  # expected movement of scores from which on to ask in so many rounds
_TOLD = 2.0  # variance of the data user's own scores from which on classes are told well
_LOUDEST = 10.0  # noise of a coefficient in variances of a wave's, up to which waves are asked for


@dataclass(frozen=True, eq=False)
class Outlook:
    """How to ask: a combination, what it should gain in log loss and accuracy (`rise`), in how many
    rounds, by shares of so many `numbers` about which `features`; `doubt` says why not to ask
    although the log loss would fall.

    `rise` is over the data user's own model, and part of it may be what public rows alone say
    against that one; `gain` is what answers add. `unasked` is the part that comes even if nobody is
    asked, since the combination begins ahead of that model; None where it does not. `rivals` are
    beliefs of all kinds of features, of which other owners may make another one the best.
    """

    combination: Combination | SummedGradients
    gain: float
    rise: float
    rounds: int
    features: str
    numbers: int
    doubt: str = ""
    unasked: float | None = None
    rivals: tuple[SummedGradients, ...] = ()

    @property
    def why_not(self) -> str:
        """Why nobody is to be asked, in words; empty: it is worth asking."""
        if self.gain >= LEAST_GAIN:
            return self.doubt
        fall = f"{self.gain:.4f}" if self.gain >= 1e-4 else "less than 0.0001"
        return f"the log loss would fall by {fall}, {LEAST_GAIN:g} is the least worth asking for"

    @property
    def promised(self) -> float:
        """The rise that a plan tells: where nobody is to be asked, what public rows alone add; no
        more than there is to be put right.
        """
        alone = self.own.expected
        if alone == 1.0:
            alone = accuracy_of_no_mistake(len(self.combination.public.y))
        most = 1.0 if alone is None else 1.0 - alone
        rise, belief = (self.unasked or 0.0) if self.why_not else self.rise, self.combination
        if isinstance(belief, SummedGradients) and belief.public.classes == 2 and alone is not None:
            rise *= weigh_forecast(self.own, len(belief.public.y), most)
        return max(0.0, min(most, rise))

    @property
    def own(self) -> PublicModel:
        """The data user's model that it begins with."""
        return self.combination.own

    def among(self, crowd: Population) -> "Outlook":
        """The same for other owners: of what two servers add up the start does not depend on
        them.
        """
        belief = self.combination
        if isinstance(belief, SummedGradients):
            return _outlook_of_sums([rival.among(crowd) for rival in self.rivals])
        chosen = None if belief.maps in (MAPS, RICH_MAPS) else belief.maps
        return look_ahead(belief.public, self.own, crowd, chosen)


def maps_for(public: Public, own: PublicModel, crowd: Population) -> tuple[str, ...]:
    """Columns and their products; of two classes waves beside them where the map is what would
    limit a model, not noise. There the data user's own rows tell classes well, so that what is left
    to learn is the shape of their border; they are as many as features, and show how these curve;
    and the noise of a coefficient, if all features were asked for alike, is at most ten times the
    variance that is guessed of a wave's (the strongest are asked for, and have more).
    """
    told, chances = explained_by(own), softmax(own.held_out)
    weight = max(float((1 - (chances**2).sum(axis=1)).mean()), 1e-6)
    noise = crowd.cost(MOST) * MOST / (weight * crowd.owners * crowd.rows)
    exact = noise <= _LOUDEST * BESIDE * told / WAVES
    shown = public.classes == 2 and len(public.y) >= MOST and told >= _TOLD
    return RICH_MAPS if shown and exact else MAPS


def look_ahead(
    public: Public, own: PublicModel, crowd: Population, maps: Sequence[str] | None = None
) -> Outlook:
    """What to expect of these owners, and rounds by how far scores should move. None takes the maps
    that their answers will be exact enough for.
    """
    if crowd.summed:
        return _outlook_of_sums(
            [_belief_of_sums(public, own, crowd, mix) for mix in mixes_for(public)]
        )
    belief = Combination(public, own, maps or maps_for(public, own, crowd), crowd)
    with one_thread():
        change, (ahead, added) = belief.change, belief.expected_rise(_DRAWS, 0)
        rise = ahead + added
        return Outlook(
            belief,
            belief.gain,
            rise,
            rounds=1 if change < _TWO else 2 if change < _FOUR else 4,
            features=belief.features,
            numbers=belief.numbers,
            doubt=_nothing_left(own, len(public.y), rise) or _far_behind(belief, added),
            unasked=ahead if belief.begins_ahead(ahead) else None,
        )


def _nothing_left(own: PublicModel, rows: int, rise: float) -> str:
    """Why public rows show nothing that could be put right; empty where they do. A rise of less
    than a tenth of a point is worth asking for where a class is rare and probabilities get better,
    but not where there are no mistakes, or fewer than that.
    """
    if own.accuracy is None or own.accuracy <= 1 - LEAST_RISE:
        return ""
    wrong = 1 - (accuracy_of_no_mistake(rows) if own.accuracy == 1.0 else own.accuracy)
    if min(rise, wrong) >= LEAST_RISE:
        return ""
    which = "all" if own.accuracy == 1.0 else "nearly all"
    return (
        f"your rows, each left out in turn, are {which} predicted right: they show nothing that "
        "could be put right"
    )


def _far_behind(belief: Combination, added: float) -> str:
    """Why answers would not make up for what the belief is behind by when it begins; empty where
    they would, by three times what they are foretold to add.
    """
    if MORE * added >= belief.rows_behind:
        return ""
    return (
        f"they would be added to a model that your rows show to be behind {belief.own.name}, and "
        "would hardly make up for that"
    )


def _belief_of_sums(
    public: Public, own: PublicModel, crowd: Population, mix: Mix
) -> SummedGradients:
    """About features of this kind; where these are more than a line's, owners may say that it is
    all there is.
    """
    kind = SummedGradients if mix == LINEAR or own.accuracy is None else LineOrAll
    return kind(public, own, crowd, mix)


def _outlook_of_sums(rivals: Sequence[SummedGradients]) -> Outlook:
    """What sums should gain about the features whose model is expected to be the likeliest when
    everybody has answered. Where no more rows are expected to be predicted right, nobody is to be
    asked. Sites differ, which public rows do not show: from them more is wanted, a rise in nearly
    all models that public rows allow.
    """
    summed = min(rivals, key=lambda belief: belief.expected_loss)
    rise = summed.expected_rise(_DRAWS, 0)
    doubt = _nothing_left(summed.own, len(summed.public.y), rise)
    if rise < LEAST_RISE:
        doubt = "no more rows would be predicted right"
    elif summed.population.site_records:
        each = [summed.expected_rise(1, seed) for seed in range(1, 1 + _SITE_DRAWS)]
        wrong = int(np.sum(np.array(each) <= 0))
        if not _SITE_DRAWS - wrong >= _SURE * _SITE_DRAWS:
            doubt = (
                f"in {wrong} of {_SITE_DRAWS} models that your rows allow accuracy would not rise "
                "at all, and sites differ, too"
            )
    return Outlook(
        summed,
        summed.gain,
        rise,
        rounds=summed.rounds,
        features=summed.features,
        numbers=summed.numbers,
        doubt=doubt,
        rivals=tuple(rivals),
    )
