"""Before anything is collected: what to expect of so many owners at such an epsilon, from public
knowledge alone.
"""

from dataclasses import dataclass
from math import hypot, sqrt
from typing import Any

from tacit._util.checks import bad, one_of, positive, whole
from tacit._util.kernels import in_arrays
from tacit.algorithms.outlook import BY_PRODUCTS, LEAST_GAIN, Outlook, look_ahead
from tacit.algorithms.public_baseline import PublicModel, accuracy_of_no_mistake, fit_public
from tacit.algorithms.question import DELTA, Population
from tacit.data.cohort import Public
from tacit.data.sample import ColumnRoles, Sample
from tacit.data.schema import Schema
from tacit.estimators.measures import Measures, measure
from tacit.learners.models.scores import softmax
from tacit.mechanisms.spaces import Ball
from tacit.sums import HOW, NOBODY
from tacit.sums.halves import Batch, SumTerms

UNITS = ("owner", "record")
_SEEN = 0.0005  # of accuracy: a tenth of a point, rounded
_NORMAL = 1.96  # standard errors that 19 of 20 normal figures are within
_BEYOND = 3.0  # times what is foretold that may come beyond it, in all but one of 20


@dataclass(frozen=True)
class Plan:
    """What collecting is expected to bring; its text says it in words.

    Parameters
    ----------
    owners : int
        How many are asked.
    epsilon : float
        What each of them may spend.
    rows_per_owner : int
        How many rows an owner is believed to hold.
    public_rows : int
        The data user's own rows.
    public_model : str
        Which model is best for them.
    public_accuracy : float or None
        The accuracy to expect of it, cross-validated, with the choice of the model; None where rows
        are too few to tell. Of n rows that are all predicted right it is (n + 1) / (n + 2).
    rise : float
        What owners should add to it; 0 where nobody is to be asked.
    gain : float
        How far the log loss should fall by what they answer, in nats.
    features : str
        The public feature map of the correction.
    numbers : int
        The length of a share.
    rounds : int
        In how many rounds to ask, each with other owners.
    why_not : str
        Why nobody is to be asked; empty: it is worth asking.
    bytes : int, default=16
        What an owner sends in a round.
    trust : str, default="nobody"
        Whom owners trust: nobody, or that one of "two servers" is honest.
    delta : float, default=0.0
        With two servers, the chance that epsilon does not hold.
    unit : str, default="owner"
        "record" where owners are records of sites, which add up over them.
    public_measures : Measures or None, default=None
        What else people measure of the data user's own model, cross-validated like its accuracy,
        with 95 % intervals; None where rows are too few to tell.
    unasked : float, default=0.0
        Where nobody is to be asked: what a model by columns and their products, which fit makes of
        the data user's rows alone where they show it to be better, should add to its accuracy.
    """

    owners: int
    epsilon: float
    rows_per_owner: int
    public_rows: int
    public_model: str
    public_accuracy: float | None
    rise: float
    gain: float
    features: str
    numbers: int
    rounds: int
    why_not: str
    bytes: int = 16
    trust: str = NOBODY
    delta: float = 0.0
    unit: str = "owner"
    public_measures: Measures | None = None
    unasked: float = 0.0

    @property
    def collect(self) -> bool:
        """Whether to ask at all."""
        return not self.why_not

    @property
    def accuracy(self) -> float | None:
        """Expected accuracy with the owners' answers."""
        return None if self.public_accuracy is None else self.public_accuracy + self.rise

    @property
    def between(self) -> tuple[float, float]:
        """Where the accuracy with the owners' answers is in about 19 of 20 cases: public rows tell
        that of the data user's own model so far, and a rise may be nothing, or four times what is
        foretold. Both errors are independent, so their squares add up.

        Of 236 settings that the factor was chosen on it was there in 222; without it, in 205.
        """
        if self.accuracy is None:
            return 0.0, 1.0
        low, high = self.public_between
        below = hypot(self.accuracy - self.rise - low, self.rise)
        above = hypot(high - self.accuracy + self.rise, _BEYOND * self.rise)
        return max(0.0, self.accuracy - below), min(1.0, self.accuracy + above)

    @property
    def public_between(self) -> tuple[float, float]:
        """Where the accuracy of the data user's own model is in 19 of 20 cases: the interval of
        Wilson (1927) for that of so many rows; all of 0 to 1 where they are too few to tell.

        Of 160 samples of 60 or 200 made-up people it had that on other rows in 150.
        """
        if self.public_accuracy is None:
            return 0.0, 1.0
        all_right = self.public_accuracy == accuracy_of_no_mistake(self.public_rows)
        seen = 1.0 if all_right else self.public_accuracy
        more = _NORMAL**2 / self.public_rows
        middle = (seen + more / 2) / (1 + more)
        spread = seen * (1 - seen) / self.public_rows
        half = _NORMAL * sqrt(spread + more / self.public_rows / 4) / (1 + more)
        return max(0.0, middle - half), min(1.0, middle + half)

    @classmethod
    def of(cls, outlook: Outlook) -> "Plan":
        """An outlook in the words of a plan."""
        belief = outlook.combination
        population, public = belief.population, belief.public
        alone = belief.own.expected
        if alone == 1.0:
            alone = accuracy_of_no_mistake(len(public.y))
        return cls(
            owners=population.owners,
            epsilon=population.epsilon,
            rows_per_owner=population.rows,
            public_rows=len(public.y),
            public_model=belief.own.name,
            public_accuracy=alone,
            rise=0.0 if outlook.why_not else outlook.promised,
            gain=outlook.gain,
            features=outlook.features,
            numbers=outlook.numbers,
            rounds=outlook.rounds,
            why_not=outlook.why_not,
            bytes=_report_bytes(outlook) if population.summed else 16,
            trust=population.trust,
            delta=population.delta if population.summed else 0.0,
            unit="record" if population.site_records else "owner",
            public_measures=measures_of_own(belief.own, public),
            unasked=outlook.promised if outlook.why_not else 0.0,
        )

    def _repr_html_(self) -> str:
        """For notebooks."""
        from tacit.estimators.displays import plan_html

        return plan_html(self)

    def __str__(self) -> str:
        alone = (
            "too few rows to tell"
            if self.public_accuracy is None
            else f"{self.public_accuracy:.3f}"
        )
        many, sender = ("owners", "owner") if self.unit == "owner" else ("records of sites", "site")
        whom = f"{self.owners:,} {many} at epsilon {self.epsilon:g}"
        if self.trust != NOBODY:
            whom += f" and delta {self.delta:g}, trusting one of two servers,"
        rows = f"your own {self.public_rows:,} rows"
        if not self.collect:
            add = "may well add nothing" if self.gain >= LEAST_GAIN else "are not expected to add"
            better = ""
            if self.public_accuracy is not None and self.unasked >= _SEEN:
                better = (
                    f" {BY_PRODUCTS.capitalize()}, which fit makes of them without asking anybody, "
                    f"should have {self.public_accuracy + self.unasked:.3f}."
                )
            return (
                f"Do not collect: {whom} {add} to {rows} (accuracy {alone}, {self.public_model}): "
                f"{self.why_not}.{better}"
            )
        each = "" if self.trust == NOBODY else " in each round"
        return (
            f"Collect: {whom} should {self._hoped_for}, {rows} alone {alone} "
            f"({self.public_model}). {self.numbers} numbers in a share ({self.features}), "
            f"{self.bytes:,} bytes from each {sender}{each}, rounds: {self.rounds}."
        )

    @property
    def _hoped_for(self) -> str:
        """What answers should bring: accuracy, or, where that stays as it is, likelier classes."""
        if self.accuracy is None:
            together = "unknown"
        else:
            low, high = self.between
            together = f"{self.accuracy:.3f} (between {low:.2f} and {high:.2f})"
        if self.raises_accuracy:
            return f"bring accuracy {together}"
        return f"lower the log loss by {self.gain:.3f} at accuracy {together}"

    @property
    def raises_accuracy(self) -> bool:
        """Whether accuracy should rise by what can be seen in a table of points, a tenth: with a
        rare class it may not where probabilities get much better.
        """
        return self.rise >= _SEEN


def measures_of_own(own: PublicModel, public: Public) -> Measures | None:
    """What people measure of the data user's own model, on rows that it was not fitted to."""
    return None if own.judged is None else measure(softmax(own.judged), public.y)


def _report_bytes(outlook: Outlook) -> int:
    """Of one share in two sealed halves with its proof; its size does not depend on keys."""
    belief = outlook.combination
    law = belief.population.sum_terms(Ball(outlook.numbers, 1.0), outlook.rounds)
    return Batch(bytes(32), 1, 1, SumTerms(law, bytes(32), bytes([1]) * 32)).report_size


@in_arrays()
def plan(
    X: Any,
    y: Any,
    *,
    owners: int,
    epsilon: float,
    rows_per_owner: int = 1,
    trust: str = NOBODY,
    delta: float = DELTA,
    unit: str = "owner",
    schema: Schema | None = None,
    baseline: PublicModel | None = None,
    outlook: Outlook | None = None,
) -> Plan:
    """What to expect before anybody is asked, from the data user's own rows alone.

    It is what `PrivateClassifier` decides by: with few owners or a tiny epsilon it says not to
    collect.

    Parameters
    ----------
    X : array or data frame of shape (rows, features), or path
        The data user's own rows, or the files that they are in.
    y : array of shape (rows,), or str
        Their classes; of files the name of the column with them.
    owners : int
        How many owners would be asked.
    epsilon : float
        What each of them may spend.
    rows_per_owner : int, default=1
        How many rows an owner is believed to hold.
    trust : str, default="nobody"
        Whom owners trust: "nobody", or that of "two servers" one is honest.
    delta : float, default=1e-6
        With two servers, the chance that epsilon does not hold.
    unit : str, default="owner"
        "record" with two servers for owners that are sites: they add up over their rows, of which
        each is protected by itself.
    schema : Schema, default=None
        Bounds, categories and classes, where they are known; None takes them from the rows.
    baseline : PublicModel, default=None
        What `fit_public` made of these rows, to be fitted but once for several plans.
    outlook : Outlook, default=None
        What `look_ahead` made of these rows, owners and epsilon.

    Returns
    -------
    Plan
        Its text says whether to collect, and what to expect.

    Examples
    --------
    >>> import numpy as np
    >>> coins = np.random.default_rng(1)
    >>> X = coins.normal(size=(300, 5))
    >>> y = (X[:, 0] + coins.normal(size=300) > 0).astype(int)
    >>> plan(X, y, owners=1000, epsilon=0.1).collect
    False
    >>> plan(X, y, owners=1_000_000, epsilon=1.0).collect
    True
    """
    if y is None:
        raise ValueError("plan needs y, the classes of your own rows")
    public = _sample(X, y, schema).public
    owners, rows = whole("owners", owners, 1), whole("rows_per_owner", rows_per_owner, 1)
    records = one_of("unit", unit, UNITS) == "record"
    if records and trust != HOW:
        raise bad("unit", f"'owner' but with trust={HOW!r} (tacit plan has sites and peers)", unit)
    population = Population(
        owners * rows if records else owners,
        positive("epsilon", epsilon),
        1 if records else rows,
        trust,
        delta,
        site_records=rows if records else 0,
    )
    if outlook is None:
        outlook = look_ahead(public, baseline or fit_public(public), population)
    return Plan.of(outlook)


def _sample(X: Any, y: Any, schema: Schema | None) -> Sample:
    """The data user's own rows, in memory or in files."""
    from tacit.data.table_set import is_location

    if not is_location(X):
        return Sample.of(X, y, schema)
    from tacit.estimators.at_scale import sample_at

    if not isinstance(y, str):
        raise TypeError(
            "of rows in files, y must be the name of the column with their classes, got "
            f"{type(y).__name__}"
        )
    return sample_at(X, ColumnRoles(y), schema)
