"""Before sites or peers are asked: what to expect of so many with so many records each, from public
rows alone.

The campaign is played a few times on made-up rows, by the very code that would run it:

    truth    = a model that the public rows allow: of sites drawn from their posterior, around
               their own model; of peers that model itself
    public*  = the public rows with labels drawn from the truth
    sites    = rows drawn from the public ones, with labels drawn from the truth
    rise     = how much better what would be published predicts the truth than public* alone

So it knows what sites add by being many, and what their noise takes away; that sites differ, or
that the public rows are unlike theirs, it does not know. A site of very many records is played by
fewer with as much more epsilon: the same beside the noise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from tacit._util.checks import bad, positive, whole
from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.public_baseline import CANDIDATES, accuracy_of_no_mistake, fit_public
from tacit.algorithms.site_weights import PublicOnly
from tacit.algorithms.sites import combine_sites, models_of_public, projections_of, tune_site
from tacit.data.cohort import Cohort, Public
from tacit.data.number_target import LEVELS, steps_of
from tacit.engines.inline import Inline
from tacit.estimators.measures import VARIANCE, Measures, measure, measure_numbers
from tacit.estimators.peer_methods import method_of
from tacit.estimators.planning import measures_of_own
from tacit.learners.models.scores import logistic
from tacit.learners.peers.alike import ALIKE, telling_columns
from tacit.learners.peers.cells import Cells
from tacit.learners.sites.losses import loss_of
from tacit.learners.sites.perturbation import LARGEST
from tacit.learners.sites.projection import LinearModel, chances_of, winners
from tacit.learners.sites.train import TrainSite
from tacit.mechanisms.streams import seeded

_PLAYS = 6  # of a campaign, whose mean is told
_ROWS = 20_000  # of all sites together, in one play
_RIDGE = 1.0  # of what is known of a linear model before any row, whose length is about 1
_PUBLIC = 2_000  # public rows that a play has, at most
_LEAST_RISE = 1e-3  # of accuracy, or of the variance explained: below, nobody is asked
ACCURACY = "accuracy"
PEERS = {"peers": "turns", "stumps": "stumps", "trees": "trees"}  # methods by their kind


@dataclass(frozen=True)
class OwnerGroup:
    """Sites or participants that are believed to hold so many `records` each, of which each may
    cost epsilon.
    """

    owners: int
    records: int
    epsilon: float

    def __post_init__(self) -> None:
        whole("owners", self.owners, 1)
        whole("records", self.records, 1)
        positive("epsilon", self.epsilon)

    @property
    def miniature(self) -> "OwnerGroup":
        """As many with fewer records, where a play would take long, at a larger epsilon."""
        records = max(1, min(self.records, _ROWS // self.owners))
        return replace(self, records=records, epsilon=self._alike(records))

    def _alike(self, records: int) -> float:
        return min(self.epsilon * self.records / records, LARGEST)


@dataclass(frozen=True)
class GroupPlan:
    """What asking a group is expected to bring; its text says it in words. `alone` is the `measure`
    of the public rows alone, cross-validated, `rise` what the group should add to it if it were
    asked, and `doubt` the standard error of that over plays; `public_measures` is what else people
    measure of the public rows alone, cross-validated too.
    """

    method: str
    group: OwnerGroup
    public_rows: int
    measure: str
    alone: float
    rise: float
    doubt: float
    public_measures: Measures | None = None

    @property
    def together(self) -> float:
        """What is expected of what would be published."""
        return self.alone + self.rise

    @property
    def collect(self) -> bool:
        """Whether to ask at all."""
        return not self.why_not

    @property
    def why_not(self) -> str:
        """Why nobody is to be asked; empty: it is worth asking."""
        if self.rise < _LEAST_RISE:
            points = f"{self.measure} would change by {100 * self.rise:+.2f} points"
            return f"{points}, {100 * _LEAST_RISE:+.1f} is the least worth asking for"
        if not self.rise > self.doubt:
            low, high = (100 * (self.rise + side * 2 * self.doubt) for side in (-1, 1))
            return f"{self.measure} could change by anything from {low:+.1f} to {high:+.1f} points"
        return ""

    def __str__(self) -> str:
        group, rows = self.group, f"your own {self.public_rows:,} rows"
        many = "sites" if self.method == "sites" else "participants"
        whom = (
            f"{group.owners:,} {many} with {group.records:,} records each at epsilon "
            f"{group.epsilon:g}"
        )
        if self.collect:
            return (
                f"Collect: {whom} should bring {self.measure} {self.together:.3f}, {rows} alone "
                f"{self.alone:.3f}."
            )
        beat = "may well not beat" if self.rise >= _LEAST_RISE else "are not expected to beat"
        return (
            f"Do not collect: {whom} {beat} {rows} ({self.measure} {self.alone:.3f}): "
            f"{self.why_not}."
        )


@dataclass(frozen=True, eq=False)
class PlayedWorld:
    """A truth that labels are drawn from: `draw` gives labels to rows by their numbers, `judge`
    says how good scores (rows, vectors) of all rows are.
    """

    draw: Callable[[IntArray, np.random.Generator], IntArray]
    judge: Callable[[FloatArray], float]


PlayedWorlds: TypeAlias = Callable[[np.random.Generator], PlayedWorld]
# scores of the public rows by the public rows alone, and by what would be published
Play: TypeAlias = Callable[[Cohort, Public, int], tuple[FloatArray, FloatArray]]


def plan_sites(query: TrainSite, public: Public, combine: str, group: OwnerGroup) -> GroupPlan:
    """What sites that are asked this should add to the public rows."""
    known = _some(public)
    played = group.miniature
    ridge = None if query.ridge is None else query.ridge * played.records / group.records
    asked = replace(query, menu=(played.epsilon,), ridge=ridge)
    own = models_of_public(query, known.X, known.y)
    worlds = _linear_worlds(query, known, own)

    def play(sites: Cohort, made: Public, number: int) -> tuple[FloatArray, FloatArray]:
        coins = seeded(number).child("sites")
        said = asked.collect(asked.release(sites, played.epsilon, coins), played.epsilon)
        model = combine_sites(asked, said, made.X, made.y, combine)
        rows = query.projection.see(made.X)
        return rows @ model.public_vectors.T, rows @ model.vectors.T

    unseen = np.array([one.scores for one in own]).T
    alone = float(np.mean(winners(unseen) == known.y))
    if known.classes:
        measured = measure(chances_of(unseen), known.y)
    else:
        missed = (known.y - steps_of(unseen[:, 0])) ** 2
        alone = 1 - float(missed.mean()) / max(float(known.y.var()), 1.0)
        spread = measure_numbers(steps_of(unseen[:, 0]), known.y.astype(np.float64))
        measured = Measures(spread.rows, spread.figures[:-2])  # RMSE and MAE would be of levels
    name = ACCURACY if known.classes else VARIANCE
    found = _play_all(group, known, worlds, play)
    plan = _plan_of("sites", group, len(public.y), name, alone, played=found)
    return replace(plan, public_measures=measured)


def _linear_worlds(query: TrainSite, known: Public, alone: Sequence[PublicOnly]) -> PlayedWorlds:
    """Worlds in which the truth is a linear model that the public rows allow: normal around their
    own one, with the curvature of its loss and of a ridge as its precision.
    """
    rows = query.projection.see(known.X)
    missed = known.y - steps_of(alone[0].scores)  # of targets that are numbers
    noise = max(float((missed**2).mean()) * (2 / LEVELS) ** 2, 1e-6)
    roots = []
    for one in alone:
        chance = logistic(rows @ one.f)
        curves = chance * (1 - chance) if known.classes else np.full(len(rows), 1 / noise)
        precision = (rows * curves[:, np.newaxis]).T @ rows + _RIDGE * np.eye(rows.shape[1])
        roots.append(np.linalg.inv(np.linalg.cholesky(precision)).T)

    def world(rng: np.random.Generator) -> PlayedWorld:
        drawn = [
            one.f + root @ rng.normal(size=len(one.f))
            for one, root in zip(alone, roots, strict=True)
        ]
        truth = LinearModel(query.projection, np.array(drawn))
        if known.classes:
            return _classes(truth.probabilities(known.X))
        return _numbers(steps_of(truth.scores(known.X)[:, 0]), missed)

    return world


def plan_peers(
    method: str,
    cells: Cells,
    rounds: int,
    public: Public,
    group: OwnerGroup,
    listen_to: str = ALIKE,
) -> GroupPlan:
    """What participants by this method (one of `PEERS`) that listen to those who are alike, or to
    everybody, should have beside the public rows, of which nothing enters their model.
    """
    if not public.classes == 2:
        raise bad("classes", "two for peers", public.classes)
    known, played = _some(public), group.miniature
    way = method_of(PEERS[method], listen_to, telling_columns(cells, public))
    own = fit_public(known)
    world = _classes(own.model.probabilities(known.X))
    turns = way.plan(dict.fromkeys(range(group.owners), group.epsilon), rounds, group.owners)
    factor = played.epsilon / group.epsilon
    plan = turns.louder(factor)
    held = {number: tuple(range(len(cells))) for number in range(group.owners)}
    names = (own.name,) if own.candidates else tuple(CANDIDATES)

    def play(peers: Cohort, made: Public, number: int) -> tuple[FloatArray, FloatArray]:
        coins = seeded(number)
        each = np.array([plan.most[who] for who in range(group.owners)])
        asking = way.algorithm(cells, held, plan, coins.child("public coins"), way.nothing)
        served = way.served(Inline(peers, each, coins).run(asking))
        alone = fit_public(made, names).model.scores(made.X)
        log_odds = served.score(cells.read(made.X))
        return alone[:, 1:] - alone[:, :1], log_odds[:, np.newaxis]

    found = _play_all(group, known, lambda _: world, play)
    alone = own.expected or float(np.bincount(known.y).max() / len(known.y))
    said = _plan_of(method, group, len(public.y), ACCURACY, alone, played=found)
    return replace(said, public_measures=measures_of_own(own, known))


def _plan_of(
    method: str,
    group: OwnerGroup,
    rows: int,
    measure: str,
    alone: float,
    played: tuple[float, float],
) -> GroupPlan:
    """What plays say, of what is left above the public rows."""
    if measure == ACCURACY and alone == 1.0:
        alone = accuracy_of_no_mistake(rows)
    rise, doubt = played
    return GroupPlan(
        method,
        group,
        public_rows=rows,
        measure=measure,
        alone=alone,
        rise=min(rise, 1.0 - alone),
        doubt=doubt,
    )


def default_question(public: Public, epsilon: float) -> TrainSite:
    """What sites are asked where nothing else is said."""
    projections = projections_of(public.X)
    loss = loss_of("auto", numbers=public.classes == 0)
    first = TrainSite(
        1,
        1,
        None,
        projection=projections[0],
        loss=loss,
        labels=public.classes,
        privacy="objective",
        menu=(epsilon,),
    )
    return tune_site(first, public.X, public.y, epsilon, projections)


def _play_all(
    group: OwnerGroup, known: Public, worlds: PlayedWorlds, play: Play
) -> tuple[float, float]:
    """Play a few times: how much better what would be published is on average, and the standard
    error of that.
    """
    played, made = group.miniature, []
    every, size = np.arange(len(known.y)), played.owners * played.records
    names = np.repeat(np.arange(played.owners), played.records)
    for number in range(_PLAYS):
        rng = np.random.default_rng(number)
        world = worlds(rng)
        drawn = rng.integers(len(known.y), size=size)
        theirs = Cohort.of(known.X[drawn], world.draw(drawn, rng), names)
        scores = play(theirs, replace(known, y=world.draw(every, rng)), number)
        made.append([world.judge(each) for each in scores])
    alone, together = np.array(made).T
    rises = together - alone
    return float(rises.mean()), float(rises.std(ddof=1) / np.sqrt(len(rises)))


def _some(public: Public) -> Public:
    """The public rows, or every so many-th of them."""
    every = -(-len(public.y) // _PUBLIC)
    return Public(public.X[::every], public.y[::every], public.classes)


def _classes(chances: FloatArray) -> PlayedWorld:
    """Classes have these chances, (rows, classes); scores are judged by expected accuracy."""
    edges, every = chances.cumsum(axis=1)[:, :-1], np.arange(len(chances))

    def draw(rows: IntArray, rng: np.random.Generator) -> IntArray:
        return np.asarray((rng.random(len(rows))[:, np.newaxis] > edges[rows]).sum(axis=1))

    return PlayedWorld(draw, lambda scores: float(chances[every, winners(scores)].mean()))


def _numbers(middle: FloatArray, missed: FloatArray) -> PlayedWorld:
    """Targets, in levels, are as far off `middle` as any of `missed`; scores are judged by the part
    of the variance that they explain.
    """
    noise = float((missed**2).mean())
    spread = max(float(middle.var()) + noise, 1.0)

    def draw(rows: IntArray, rng: np.random.Generator) -> IntArray:
        off = missed[rng.integers(len(missed), size=len(rows))]
        return np.rint(np.clip(middle[rows] + off, 0, LEVELS)).astype(np.int64)

    def judge(scores: FloatArray) -> float:
        return 1 - (float(((steps_of(scores[:, 0]) - middle) ** 2).mean()) + noise) / spread

    return PlayedWorld(draw, judge)
