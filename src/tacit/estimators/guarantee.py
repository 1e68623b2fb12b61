"""What a fit promises to owners, and what it does not, in plain words.

What peers promise about each record, in plain words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isinf

import numpy as np

from tacit._util.types import FloatArray
from tacit.estimators.peer_methods import Plan
from tacit.learners.peers.leaf_counts import CountLeaves
from tacit.learners.sites.train import TrainSite
from tacit.mechanisms.streams import SecureStream, Stream
from tacit.wire import message

_REPORTS = (
    "whoever sees the reports and all that is made of them, the data user included, with "
    "all other owners"
)
_SUMS = "; for the sums of the error estimates: either of two servers, but not both together"
_COUNTS = (
    "moved_values_ and ignored_rows_ are exact counts over owners' rows, for the "
    "simulation: "
    "do not publish them."
)
_SITES = (
    "Who the sites are, how many, and the epsilon of each are public; how many "
    "records a site "
    "has is not."
)
_TWICE = (
    "Somebody with records at several sites is protected by the sum of their epsilons; so is "
    "one with several here."
)
_NO_REPORT = "no report"
_OWNERS = "Who the owners are, how many, and the epsilon of each are public."


@message("guarantee")
@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A guarantee with its unit, adjacency and adversary.

    `epsilon` holds the smallest and the largest over owners, each for the one report of an owner;
    None: no guarantee; 0: nobody was asked, there is no report. `error_epsilon` is the budget of
    all error estimates together, None when owners are not asked for them. `void` says why this run
    protects nobody, and is empty where the guarantee holds. `protects`, `notion` and `reporter` are
    the words for it: by default those of owners that protect all their rows from everybody. `held`
    says what the fitted object knows beyond the model; what is saved does not, and `published` is
    its guarantee.

    >>> print(Guarantee(epsilon=(1.0, 1.0), mechanism="privunit", stream="secure", not_protected=("The names.",)))
    Each owner's rows are protected by local differential privacy with epsilon 1.
      unit: owner adjacency: any two sets of rows of one owner adversary: whoever sees the reports
      and all that is made of them, the data user included, with all other owners mechanism:
      privunit, one report per owner coins: secure
    Not protected:
      The names.
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

    @property
    def published(self) -> "Guarantee":
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
        )

    def with_first(self, sentence: str) -> "Guarantee":
        """The same, with one more sentence on what is not protected, before the others."""
        return replace(self, not_protected=(sentence, *self.not_protected))

    @property
    def adversary(self) -> str:
        """Who may look, at what."""
        return _REPORTS + ("" if self.error_epsilon is None else _SUMS)

    def __str__(self) -> str:
        lines = [
            self.headline,
            f"  unit: {self.unit}",
            f"  adjacency: {self.adjacency}",
            f"  adversary: {self.adversary}",
            f"  mechanism: {self.mechanism}, {self.reports} per {self.reporter}",
            f"  coins: {self.stream}",
            *(["Not protected:"] if self.not_protected or self.held else []),
            *(
                f"  {sentence}"
                for sentence in (*self.not_protected, *([self.held] if self.held else []))
            ),
        ]
        if self.void and self.epsilon is not None:
            lines.insert(1, f"  the same run with secure coins would give {self._claim}")
        return "\n".join(lines)

    @property
    def headline(self) -> str:
        """What is promised, in one sentence."""
        if self.reports == _NO_REPORT:
            return f"Nobody was asked: no {self.reporter} made a report, and no epsilon was spent."
        return (
            f"No guarantee: {self.void}."
            if self.void
            else f"{self.protects} protected by {self._claim}."
        )

    @property
    def _claim(self) -> str:
        low, high = self.epsilon or (np.inf, np.inf)
        budget = (
            f"epsilon {low:g}"
            if low == high
            else f"epsilon {low:g} to {high:g}, as each {self.reporter} chose"
        )
        if self.error_epsilon is None:
            return f"{self.notion} with {budget}"
        return (
            f"differential privacy with {budget} for the report and {self.error_epsilon:g} for "
            "all error estimates"
        )


def site_guarantee(
    query: TrainSite, epsilon: float | FloatArray, stream: Stream, source: str
) -> Guarantee:
    """The guarantee of an ensemble of sites: records are protected from everybody outside their
    site.
    """
    void = query.unsound and f"privacy={query.privacy!r} may only be simulated: {query.unsound}"
    named = None if void else (float(np.min(epsilon)), float(np.max(epsilon)))
    if not void and not isinstance(stream, SecureStream):
        void = f"the coins came from random_state ({stream.label})"
    return Guarantee(
        epsilon=named,
        mechanism=f"{query.privacy} perturbation" if not query.unsound else query.privacy,
        stream=stream.label,
        not_protected=(source, _SITES, _TWICE),
        void=void,
        unit=query.unit,
        adjacency=query.adjacency,
        protects="Each record of a site is",
        notion="differential privacy",
        reporter="site",
    )


def guarantee_of(
    unsound: str,
    mechanism: str,
    epsilon: float | FloatArray,
    error_epsilon: float | None,
    stream: Stream,
    source: str,
) -> Guarantee:
    """The guarantee of a run; no epsilon is named where none holds. `source` says where the
    public sample is from.
    """
    void = ""
    if unsound:
        void = f"this learner may only be simulated: {unsound}"
    elif mechanism == "none":
        void = "shares were reported as they are, mechanism='none'"
    named = None if void else (float(np.min(epsilon)), float(np.max(epsilon)))
    if not void and not isinstance(stream, SecureStream):
        void = f"the coins came from random_state ({stream.label})"
    return Guarantee(
        epsilon=named,
        mechanism=mechanism,
        stream=stream.label,
        not_protected=(source, _OWNERS),
        void=void,
        error_epsilon=error_epsilon,
        held=_COUNTS,
    )


_PEERS = (
    "Who the participants are, which attributes they hold, and the epsilon of each are "
    "public; how many rows is not."
)
_TWO_STEPS = (
    "Replacing a record by another counts as two steps of the adjacency: twice epsilon. "
    "So do two records of one."
)
_OWN = (
    "models_ know the exact rows of their participant, and this object holds all rows: publish "
    "served_ alone."
)


def peer_guarantee(epsilons: Sequence[float], plan: Plan, stream: Stream, source: str) -> Guarantee:
    """The guarantee when participants spend these budgets; no epsilon is named where none holds."""
    low, high = min(epsilons), max(epsilons)
    void = (
        "epsilon is infinite for somebody: counts were released as they are" if isinf(high) else ""
    )
    named = None if void else (low, high)
    if not void and not isinstance(stream, SecureStream):
        void = f"the coins came from random_state ({stream.label})"
    most = max(plan.turns.values())
    return Guarantee(
        epsilon=named,
        mechanism="noisy choices and counts",
        stream=stream.label,
        not_protected=(*([source] if source else []), _PEERS, _TWO_STEPS),
        void=void,
        unit=CountLeaves.unit,
        adjacency=CountLeaves.adjacency,
        protects="Each record of a participant is",
        notion="differential privacy, over all rounds together,",
        reporter="participant",
        reports="one report" if most == 1 else f"up to {most} reports",
        held=_OWN,
    )
