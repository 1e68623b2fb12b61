"""The terms of a campaign, public and fixed from its beginning: what is asked of whom, and on what
conditions.

What all kinds of campaigns have in common is here; each kind is one file beside it
(`boosting_terms`, `site_terms`, `peer_terms`), and `kinds` knows them all.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit._util.checks import bad, positive, whole
from tacit._util.types import IntArray
from tacit.data.sample import Public
from tacit.data.schema import Schema
from tacit.learners.query import Query


@dataclass(frozen=True, eq=False)
class CampaignTerms(ABC):
    """A campaign begins when `start` owners have enrolled; a question lasts at most `deadline`
    seconds.

    A question needs `minimum` reports. `label` is what the data user calls the column to predict,
    `sample` the digest of the data user's own sample.
    """

    kind: ClassVar[str]

    name: str
    schema: Schema
    label: str
    start: int
    minimum: int
    deadline: float
    sample: bytes

    def __post_init__(self) -> None:
        if not 1 <= len(self.name) <= 200:
            raise bad("name", "1 to 200 characters", self.name[:20])
        if not (1 <= len(self.label) <= 200 and self.label.isprintable()):
            raise bad("label", "a name of 1 to 200 printable characters", self.label[:20])
        for name in ("start", "minimum"):
            whole(name, getattr(self, name), 1)
        positive("deadline", self.deadline)

    def with_public_coins(self, seed: int) -> "CampaignTerms":
        """The same terms for a rehearsal: whatever is secret or drawn in a campaign comes from
        the seed.
        """
        return self

    @property
    def once(self) -> bool:
        """Whether an owner is asked at most once."""
        return True

    @property
    @abstractmethod
    def needed(self) -> int:
        """How many owners the first question needs: with fewer it waits, also when it was told
        to begin.
        """

    @property
    def answers(self) -> int:
        """How many reports an owner gives at most, sums over all owners aside."""
        return 1

    @property
    @abstractmethod
    def epsilons(self) -> tuple[float, ...]:
        """What an owner may choose to spend on all its reports, sums aside."""

    @property
    @abstractmethod
    def rounds_expected(self) -> int:
        """How many rounds there will be, as far as is known at the beginning."""

    @abstractmethod
    def example(self) -> Query:
        """A question as it may come first: what an owner is shown before it joins."""

    @abstractmethod
    def run(self, public: Public) -> Generator[Any, Any, Any]:
        """The algorithm that the campaign runs, from its beginning; `public` is the data user's
        sample.
        """

    def replay(self) -> Generator[Any, Any, Any]:
        """The algorithm as those who take part run it themselves, where it needs no sample."""
        raise TypeError(f"a campaign of kind {self.kind!r} is run by its data user alone")

    @abstractmethod
    def guesses(self, at: Any, public: Public) -> Sequence[IntArray]:
        """Classes that the model gives to the sample, after each round, as a question or a
        result `at` knows it.
        """
