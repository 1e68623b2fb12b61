"""What a model promises to owners, and what it does not, in plain words.

The words belong to a kind of model, not to how it came about: one that was fitted in one process
and one that a campaign published over the network say the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isinf
from typing import TYPE_CHECKING

import numpy as np

from tacit._util.types import FloatArray
from tacit.mechanisms.streams import SecureStream, Stream
from tacit.sums import HOW
from tacit.wire import message

if TYPE_CHECKING:  # a guarantee is read without what owners compute
    from tacit.learners.sites.train import TrainSite

_REPORTS = (
    "whoever sees the reports and all that is made of them, the data user included, with "
    "all other owners"
)
_SUMS = "; for the sums of the error estimates: either of two servers, but not both together"
_TWO_SERVERS = (
    "either of the two servers that add up, following the protocol or not, with all other owners "
    "and whoever sees the sums; the two servers together see every share"
)
_NO_REPORT = "no report"


@message("guarantee")
@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A guarantee with its unit, adjacency and adversary; print it.

    Parameters
    ----------
    epsilon : pair of float or None
        The smallest and the largest over owners, each for the one report of an owner; None: no
        guarantee; 0: nobody was asked, there is no report.
    mechanism : str
        What drew the reports.
    stream : str
        What may be said of its coins.
    not_protected : tuple of str
        Sentences on what is public or in the clear.
    void : str, default=""
        Why this run protects nobody; empty where the guarantee holds.
    error_epsilon : float, default=None
        What all error estimates together have cost; None when owners are not asked for them.
    unit, adjacency : str
        What is protected, and between which data sets; by default owners, with any rows.
    protects, notion, reporter, reports : str
        The words for it; by default those of owners that protect all their rows from everybody.
    held : str, default=""
        What the fitted object knows beyond the model. What is saved does not: `of_model` is its
        guarantee.
    influence : str, default=""
        What one report can do at most.
    in_clear : str, default=""
        Whose rows were used without any protection, if somebody's were.
    trust : str, default="nobody"
        Whom owners must trust: nobody, or that one of "two servers" is honest.
    delta : float, default=0.0
        The chance that epsilon does not hold, for all reports of an owner together.

    Examples
    --------
    >>> names = ("The names.",)
    >>> promise = Guarantee(epsilon=(1, 1), mechanism="m", stream="secure", not_protected=names)
    >>> print(promise.headline)
    Each owner's rows are protected by local differential privacy with epsilon 1.
    >>> str(promise).splitlines()[1:3]
    ['  unit: owner', '  adjacency: any two sets of rows of one owner']
    """

    epsilon: tuple[float, float] | None
    mechanism: str
    stream: str
    not_protected: tuple[str, ...]
    void: str = ""
    error_epsilon: float | None = None
    unit: str = "owner"
    adjacency: str = "any two sets of rows of one owner"
    protects: str = "Each owner's rows are"
    notion: str = "local differential privacy"
    reporter: str = "owner"
    reports: str = "one report"
    held: str = ""
    influence: str = ""
    in_clear: str = ""
    trust: str = "nobody"
    delta: float = 0.0

    @property
    def of_model(self) -> "Guarantee":
        """The guarantee of the model alone, without the object that was fitted."""
        return replace(self, held="")

    @property
    def without_reports(self) -> "Guarantee":
        """The guarantee of a fit that asked nobody: no report was made, so nothing is spent,
        whatever the coins.
        """
        return replace(
            self,
            epsilon=(0.0, 0.0),
            mechanism="none",
            reports=_NO_REPORT,
            stream="none drawn",
            void="",
            influence="",
        )

    def with_first(self, sentence: str) -> "Guarantee":
        """The same, with one more sentence on what is not protected, before the others."""
        return replace(self, not_protected=(sentence, *self.not_protected))

    @property
    def adversary(self) -> str:
        """Who may look, at what."""
        if self.trust == HOW:
            return _TWO_SERVERS
        return _REPORTS + ("" if self.error_epsilon is None else _SUMS)

    @property
    def terms(self) -> tuple[tuple[str, str], ...]:
        """What the headline means, by name: in the same words wherever it is said."""
        drawn = f"{self.mechanism}, {self.reports} per {self.reporter}"
        return (
            ("unit", self.unit),
            ("adjacency", self.adjacency),
            ("adversary", self.adversary),
            ("mechanism", drawn),
            ("coins", self.stream),
            *([("influence", self.influence)] if self.influence else []),
        )

    def __str__(self) -> str:
        lines = [
            self.headline,
            *(f"  {name}: {text}" for name, text in self.terms),
            *(["Not protected:"] if self.not_protected or self.held else []),
            *(
                f"  {sentence}"
                for sentence in (*self.not_protected, *([self.held] if self.held else []))
            ),
        ]
        if self.void and self.epsilon is not None:
            lines.insert(1, f"  the same run with secure coins would give {self._claim}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from tacit.estimators.displays import guarantee_html

        return guarantee_html(self)

    @property
    def headline(self) -> str:
        """What is promised, in one sentence; a second one where somebody's rows were used in
        clear.
        """
        if self.reports == _NO_REPORT:
            said = f"Nobody was asked: no {self.reporter} made a report, and no epsilon was spent."
        elif self.void:
            said = f"No guarantee: {self.void}."
        else:
            said = f"{self.protects} protected by {self._claim}."
        return f"{said} {self.in_clear}" if self.in_clear else said

    @property
    def _claim(self) -> str:
        low, high = self.epsilon or (np.inf, np.inf)
        budget = (
            f"epsilon {low:g}"
            if low == high
            else f"epsilon {low:g} to {high:g}, as each {self.reporter} chose"
        )
        if self.delta:
            budget += f" and delta {self.delta:g}"
        if self.error_epsilon is None:
            return f"{self.notion} with {budget}"
        return (
            f"differential privacy with {budget} for the report and {self.error_epsilon:g} for "
            "all error estimates"
        )


@dataclass(frozen=True)
class Source:
    """Where the data user's sample is from: its own `rows`, unless `drawn` says whose they were,
    and `in_clear` that nothing protects them.
    """

    rows: int
    drawn: str = ""
    in_clear: str = ""

    def sentence(self, places: str) -> str:
        """That the sample is not protected, and in which places of the model it shows."""
        return self.drawn or f"The data user's own sample of {self.rows} rows shows in {places}."

    @property
    def told(self) -> tuple[str, ...]:
        """What is public of records where some were drawn as the data user's sample."""
        return (_DRAWN,) if self.drawn else ()


_DRAWN = "How many records there are in all is public: it shows in how many were drawn."


_OWNERS = "Who the owners are, how many, and the epsilon of each are public."
_COUNTS = (
    "moved_values_ and ignored_rows_ are exact counts over owners' rows, for the simulation: "
    "do not publish them."
)


def classifier_guarantee(
    mechanism: str, epsilon: float | FloatArray, source: Source, stream: Stream, influence: str = ""
) -> Guarantee:
    """The guarantee of the data user's own model that owners have refined."""
    from tacit.learners.owners.gradient import Gradient

    whole = _owners_guarantee(
        Gradient.unsound,
        mechanism,
        epsilon,
        source.sentence("bounds, the model that was refined, its features and its weights"),
        stream,
    )
    return replace(whole, in_clear=source.in_clear, influence=influence)


def boosting_guarantee(
    unsound: str,
    mechanism: str,
    epsilon: float | FloatArray,
    *,
    error_epsilon: float | None,
    source: Source,
    stream: Stream,
    influence: str = "",
) -> Guarantee:
    """The guarantee of an ensemble; `unsound` says why it protects nobody, if so."""
    sample = source.sentence("bounds, thresholds and votes")
    whole = _owners_guarantee(unsound, mechanism, epsilon, sample, stream)
    return replace(
        whole, error_epsilon=error_epsilon, in_clear=source.in_clear, influence=influence
    )


def _owners_guarantee(
    unsound: str, mechanism: str, epsilon: float | FloatArray, sample: str, stream: Stream
) -> Guarantee:
    """The guarantee of owners that give one report each; no epsilon is named where none holds."""
    void = ""
    if unsound:
        void = f"what was published may only be simulated: {unsound}"
    elif mechanism == "none":
        void = "shares were reported as they are, mechanism='none'"
    return Guarantee(
        epsilon=None if void else (float(np.min(epsilon)), float(np.max(epsilon))),
        mechanism=mechanism,
        stream=stream.label,
        not_protected=(sample, _OWNERS),
        void=void or _void_coins(stream),
        held=_COUNTS,
    )


def under_two_servers(whole: Guarantee, epsilon: float, delta: float, reports: int) -> Guarantee:
    """The same where owners trust that one of two servers is honest: what all their reports to sums
    cost together, at most.
    """
    return replace(
        whole,
        epsilon=(epsilon, epsilon),
        delta=delta,
        trust=HOW,
        notion="differential privacy",
        mechanism="sums of two servers, each with noise of its own",
        reports="one report" if reports == 1 else f"up to {reports} reports",
    )


_SITES = (
    "Who the sites are, how many, and the epsilon of each are public; how many records a site "
    "has is not."
)
_TWICE = (
    "Somebody with records at several sites is protected by the sum of their epsilons; so is "
    "one with several here."
)


def site_guarantee(
    query: "TrainSite", epsilon: float | FloatArray, source: Source, stream: Stream
) -> Guarantee:
    """The guarantee of an ensemble of sites: records are protected from everybody outside their
    site.
    """
    void = query.unsound and f"privacy={query.privacy!r} may only be simulated: {query.unsound}"
    return Guarantee(
        epsilon=None if void else (float(np.min(epsilon)), float(np.max(epsilon))),
        mechanism=query.how_in_words,
        stream=stream.label,
        not_protected=(
            source.sentence("bounds, projections and weights"),
            *source.told,
            _SITES,
            _TWICE,
        ),
        void=void or _void_coins(stream),
        unit=query.unit,
        adjacency=query.adjacency,
        protects="Each record of a site is",
        notion="differential privacy",
        reporter="site",
        influence="" if query.unsound else query.influence,
        in_clear=source.in_clear,
    )


_TOGETHER = (
    "Who the sites are is public, and in one process how many records all of them have together; "
    "how many one site has is not."
)
_SEVERAL = (
    "Somebody with several records is protected by their number times epsilon, at a larger delta, "
    "wherever they are."
)


def summed_sites_guarantee(
    epsilon: float, delta: float, reports: int, source: Source, *, stream: Stream, influence: str
) -> Guarantee:
    """The guarantee where two servers add up over the records of all sites."""
    from tacit.learners.owners.sum_query import RecordsQuery

    whole = Guarantee(
        epsilon=(epsilon, epsilon),
        mechanism="",
        stream=stream.label,
        not_protected=(
            source.sentence("bounds, the model that was refined, its features and its weights"),
            _TOGETHER,
            _SEVERAL,
        ),
        void=_void_coins(stream),
        unit="record",
        adjacency=RecordsQuery.adjacency,
        protects="Each record of a site is",
        reporter="site",
        influence=influence,
        in_clear=source.in_clear,
    )
    return under_two_servers(whole, epsilon, delta, max(1, reports))


_PEERS = (
    "Who the participants are, which attributes they hold, and the epsilon of each are "
    "public; how many rows is not."
)
_TWO_STEPS = (
    "Replacing a record by another counts as two steps of the adjacency: twice epsilon. "
    "So do two records of one."
)
_ONE_VOICE = (
    "in who listens to whom, a participant has one voice, and can part or join circles where two "
    "others have not spoken clearly"
)
_OWN = (
    "models_ know the exact rows of their participant, and this object holds all rows: publish "
    "served_ alone."
)


def peer_guarantee(
    epsilons: Sequence[float],
    reports: int,
    source: Source | None,
    stream: Stream,
    influence: str = "",
    listen_to: str = "",
) -> Guarantee:
    """The guarantee when participants spend these budgets on up to so many reports each; `source`
    None: bounds and classes were known without a sample.
    """
    from tacit.learners.peers.alike import ALIKE, TOLD
    from tacit.learners.peers.leaf_counts import CountLeaves

    alike = listen_to == ALIKE

    void = (
        "epsilon is infinite for somebody: counts were released as they are"
        if isinf(max(epsilons))
        else ""
    )
    sample = () if source is None else (source.sentence("bounds"), *source.told)
    return Guarantee(
        epsilon=None if void else (min(epsilons), max(epsilons)),
        mechanism="noisy choices and counts"
        + (f", one part in {TOLD} of epsilon for who is alike" if alike else ""),
        stream=stream.label,
        not_protected=(*sample, _PEERS, _TWO_STEPS),
        void=void or _void_coins(stream),
        unit=CountLeaves.unit,
        adjacency=CountLeaves.adjacency,
        protects="Each record of a participant is",
        notion="differential privacy, over all rounds together,",
        reporter="participant",
        reports="one report" if reports == 1 else f"up to {reports} reports",
        held=_OWN,
        influence=influence + (f"; {_ONE_VOICE}" if alike and influence else ""),
        in_clear="" if source is None else source.in_clear,
    )


def published_peers_guarantee(unsound: str, source: Source | None, stream: Stream) -> Guarantee:
    """That a scheme of peers as published guarantees nothing, and why."""
    whole = peer_guarantee([np.inf], 1, source, stream)
    sample = () if source is None else (source.sentence("bounds"), *source.told)
    return replace(
        whole,
        void=f"what was published may only be simulated: {unsound}",
        not_protected=(*sample, "Who the participants are, and all that they tell each other."),
    )


def _void_coins(stream: Stream) -> str:
    """Why coins that can be repeated protect nobody; empty for secure ones."""
    return (
        ""
        if isinstance(stream, SecureStream)
        else f"the coins came from random_state ({stream.label})"
    )
