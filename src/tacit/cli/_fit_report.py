"""What `tacit fit` tells: for people, and for machines."""

import math
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tacit._util.file_checks import some_of
from tacit._util.types import AnyArray, FloatArray
from tacit.algorithms.public_baseline import PublicModel
from tacit.algorithms.refinement import all_rounds, rounds_in_words
from tacit.data.number_target import Range
from tacit.data.table import UserTable
from tacit.estimators.guarantee import Guarantee
from tacit.estimators.measures import (
    VARIANCE,
    Amount,
    Figure,
    Measures,
    measure,
    measure_numbers,
    misfits_line,
    side_by_side,
)
from tacit.estimators.planning import Plan
from tacit.learners.sites.projection import LinearModel


@dataclass(frozen=True, eq=False)
class OwnNumbers:
    """The data user's rows alone, of which a model predicts numbers; `expected` is the variance
    explained of rows left out.
    """

    model: LinearModel
    expected: float
    name: str = "linear regression"

    @classmethod
    def of(cls, fitted: Any) -> "OwnNumbers":
        """What a fitted regressor would publish without sites."""
        seen = fitted.query_.projection
        alone = LinearModel(seen, fitted.model_.public_vectors, fitted.linear_.bounds)
        return cls(alone, fitted.public_only_score_)

    def predict(self, X: FloatArray) -> FloatArray:
        """Of encoded rows."""
        low, high = self.model.bounds or (-1.0, 1.0)
        return Range(low, high).numbers(self.model.scores(X)[:, 0])


@dataclass(frozen=True)
class Evaluation:
    """What was measured on rows that nobody learned from, of the model and of the data user's own
    on the same rows; `misfits` counts their values that do not fit the model, by column.
    """

    path: Path
    rows: int
    misfits: dict[str, int]
    measures: tuple[Figure, ...]  # the first is the one that counts
    public_measures: tuple[Figure, ...]

    @classmethod
    def of(
        cls,
        path: Path,
        rows: tuple[UserTable, AnyArray],
        model: Any,
        own: PublicModel | OwnNumbers,
    ) -> "Evaluation":
        """Compare the model, and the data user's own, with the class numbers, or the targets, of
        rows.
        """
        table, known = rows
        encoded = model.schema_.encode(table)
        if isinstance(own, OwnNumbers):
            ours = measure_numbers(model.predict(table), known)
            alone = measure_numbers(own.predict(encoded.X), known)
        else:
            ours = measure(model.predict_proba(table), known)
            alone = measure(own.model.probabilities(encoded.X), known)
        return cls(path, ours.rows, encoded.moved_by, ours.figures, alone.figures)

    @property
    def is_worse(self) -> bool:
        """Whether the data user's own model is better by more than a standard error."""
        ours, alone = self.measures[0], self.public_measures[0]
        error = 0.5 / math.sqrt(self.rows) if ours.name == "accuracy" else alone.error / 1.96
        gain = ours.value - alone.value
        return (-gain if isinstance(ours, Amount) else gain) < -error

    @property
    def as_document(self) -> dict[str, object]:
        """For programs."""
        best = self.measures[0]
        return {
            "path": self.path,
            "rows": self.rows,
            best.name.replace(" ", "_"): best.value,
            "public_only": self.public_measures[0].value,
            "misfits": self.misfits,
            "measures": self.measures,
            "public_measures": self.public_measures,
        }


@dataclass(frozen=True, eq=False)
class FitResult:
    """A fit and how it came about."""

    method: str
    label: str
    model: Any
    path: Path
    plan: Plan | None
    own: PublicModel | OwnNumbers
    owners: int
    public_rows: int
    notes: tuple[str, ...]
    tested: Evaluation | None
    own_measures: Measures | None = None  # of the data user's rows alone, cross-validated

    @property
    def measured(self) -> str:
        """What is measured first."""
        return VARIANCE if isinstance(self.own, OwnNumbers) else "accuracy"

    @property
    def guarantee(self) -> Guarantee:
        """That of the model that was written."""
        published: Guarantee = self.model.guarantee_.of_model
        return published

    @property
    def warning(self) -> str:
        """What speaks against the model; empty: nothing that is known."""
        if self.tested is not None and self.tested.is_worse:
            return (
                "Your public rows alone are better: do not use this model. More owners or a "
                "larger epsilon may help."
            )
        if self.tested is None and self.plan is None:
            if self.method == "boosting":
                return (
                    "This method does not tell beforehand whether it beats your public rows alone; "
                    "--test FILE does."
                )
            return (
                f"Whether this beats your public rows alone was not measured: --test FILE tells; "
                f"tacit plan --method {self.method} says beforehand what to expect."
            )
        return ""

    @property
    def next_command(self) -> str:
        """What to type to use the model."""
        return shlex.join(
            ["tacit", "predict", str(self.path), "new.csv", "--out", "predictions.csv"]
        )


def show(found: FitResult, console: Console) -> None:
    """Result against public rows alone, guarantee, where the model is, what to type next."""
    grid = _grid()
    alone = (
        "too few to tell"
        if found.own.expected is None
        else f"{found.own.expected:.3f}, cross-validated"
    )
    grid.add_row("owners", f"{found.owners:,}; {_end_in_words(found)}")
    grid.add_row(
        "your rows", f"{found.public_rows:,} public rows alone: {alone} ({found.own.name})"
    )
    if isinstance(found.own, PublicModel):
        grid.add_row("classes", f"{_classes(found)}; owners' rows with any other do not count")
    if found.tested is None:
        if found.own_measures is not None:
            grid.add_row("", f"{found.own_measures.others} (95 % intervals)")
        grid.add_row(
            found.measured, "not measured: --test FILE, with rows that nobody learned from, tells"
        )
    else:
        t = found.tested
        grid.add_row(
            t.measures[0].name,
            f"[bold]{t.measures[0]}[/] on {t.rows:,} rows of {escape(str(t.path))}; your "
            f"public rows alone {t.public_measures[0]} (95 % intervals)",
        )
        for each, own in side_by_side(t.measures[1:], t.public_measures):
            beside = "" if own is None else f", alone {own}"
            grid.add_row("", f"{each.name} {each}{beside}")
        if t.misfits:
            grid.add_row("", escape(f"note: {misfits_line(t.misfits, t.path)}"))
    grid.add_row(
        "model", f"[bold]{escape(str(found.path))}[/], {found.path.stat().st_size / 1000:.0f} kB"
    )
    console.print()
    console.print(grid)
    if found.warning:
        console.print(f"[bold yellow]{found.warning}[/]")
    console.print()
    show_guarantee(found.guarantee, console)
    console.print("\nNext:")
    console.print(f"  {found.next_command}", markup=False, soft_wrap=True)


def show_guarantee(guarantee: Guarantee, console: Console) -> None:
    """The guarantee in two columns."""
    console.print(f"[{'bold red' if guarantee.void else 'bold'}]{escape(guarantee.headline)}[/]")
    grid = _grid()
    for name, text in guarantee.terms:
        grid.add_row(name, escape(text))
    for number, sentence in enumerate(guarantee.not_protected):
        grid.add_row("" if number else "not protected", escape(sentence))
    console.print(grid)


@dataclass(frozen=True, eq=False)
class OwnModels:
    """What a simulated scheme leaves its participants, measured on rows that nobody learned from:
    accuracies by participant, and of the data user's own model.
    """

    method: str
    path: Path
    rows: int
    accuracies: dict[str, float]
    public_only: float
    guarantee: Guarantee

    @classmethod
    def of(
        cls,
        method: str,
        path: Path,
        rows: tuple[UserTable, AnyArray],
        model: Any,
        own: PublicModel,
    ) -> "OwnModels":
        table, classes = rows
        found = {
            str(name): measure(each.predict_proba(table), classes)["accuracy"].value
            for name, each in model.models_.items()
        }
        alone = measure(own.model.probabilities(model.schema_.encode(table).X), classes)
        accuracy = alone["accuracy"].value
        return cls(
            method, path, len(classes), found, public_only=accuracy, guarantee=model.guarantee_
        )

    @property
    def mean(self) -> float:
        return sum(self.accuracies.values()) / len(self.accuracies)

    def show(self, console: Console) -> None:
        """Accuracies beside public rows alone, and that nothing is promised."""
        values = self.accuracies.values()
        grid = _grid()
        grid.add_row("participants", f"{len(values):,}, simulated together")
        grid.add_row(
            "accuracy",
            f"of their own models [bold]{self.mean:.3f}[/] on average, {min(values):.3f} to "
            f"{max(values):.3f}, on {self.rows:,} rows of {escape(str(self.path))}; your public "
            f"rows alone {self.public_only:.3f}",
        )
        grid.add_row("model", "none is written: participants keep theirs, which show their rows")
        console.print()
        console.print(grid)
        console.print()
        show_guarantee(self.guarantee, console)

    def as_document(self, seconds: float) -> dict[str, object]:
        """The same as one JSON object."""
        return {
            "model": None,
            "method": self.method,
            "owners": len(self.accuracies),
            "test": {
                "path": self.path,
                "rows": self.rows,
                "accuracy": self.mean,
                "by_participant": self.accuracies,
                "public_only": self.public_only,
            },
            "guarantee": {**asdict(self.guarantee), "adversary": self.guarantee.adversary},
            "seconds": round(seconds, 1),
        }


def as_document(found: FitResult, seconds: float) -> dict[str, object]:
    """The same as one JSON object."""
    plan = (
        None
        if found.plan is None
        else {**asdict(found.plan), "accuracy": found.plan.accuracy, "between": found.plan.between}
    )
    if plan is not None:
        del plan["public_measures"]  # they are those of "public_only"
    return {
        "model": found.path,
        "method": found.method,
        "label": found.label,
        "owners": found.owners,
        "ended": found.model.ended_,
        "rounds": found.model.report_,
        "plan": plan,
        "public_rows": found.public_rows,
        "public_only": {
            "model": found.own.name,
            f"cross_validated_{found.measured.replace(' ', '_')}": found.own.expected,
            "measures": None if found.own_measures is None else found.own_measures.as_dict,
        },
        "test": None if found.tested is None else found.tested.as_document,
        "warning": found.warning,
        "guarantee": {**asdict(found.guarantee), "adversary": found.guarantee.adversary},
        "notes": found.notes,
        "next": found.next_command,
        "seconds": round(seconds, 1),
    }


def _classes(found: FitResult) -> str:
    """The classes that public rows or a schema know."""
    return escape(some_of([str(each) for each in found.model.classes_]))


def _end_in_words(found: FitResult) -> str:
    """How the asking went, in words."""
    ended, rounds = str(found.model.ended_), len(found.model.report_)
    if ended == all_rounds(rounds):
        return f"asked in {rounds_in_words(rounds)}"
    plainer = {
        f"all {found.owners} sites": "each was asked once",
        f"{found.owners} participants": "they took turns",
    }
    return plainer.get(ended, ended)


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2), pad_edge=False)
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    return grid
