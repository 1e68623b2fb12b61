"""The work of `tacit fit`: reading what was asked for, an estimator of it, and a fit that keeps
what was asked on Ctrl-C.
"""

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from tacit._util.file_checks import Heading, some_of
from tacit._util.kernels import in_arrays
from tacit._util.stopping import ends_in_order, on_interrupt
from tacit.algorithms.gradient_trees import Growth
from tacit.algorithms.outlook import Outlook, look_ahead
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.question import Population
from tacit.cli._fit_report import (
    Evaluation,
    FitResult,
    OwnModels,
    OwnNumbers,
    as_document,
    show,
)
from tacit.cli._options import CLASSES, NUMBERS
from tacit.cli._output import Pace, Screen, Steps, steps
from tacit.cli.fit import OF_LEARNERS, FitFiles, FitMethod, method_of
from tacit.data.sample import ColumnRoles, Sample, first_notes
from tacit.data.schema import Schema
from tacit.data.table_file import TableFile, open_rows
from tacit.data.table_rows import (
    OwnerTable,
    divide,
    read_labelled,
    read_owned,
    read_sample,
    read_targets,
)
from tacit.estimators.boosting import PrivateBoosting
from tacit.estimators.classifier import PrivateClassifier
from tacit.estimators.peers import PeerEnsemble
from tacit.estimators.planning import Plan, measures_of_own
from tacit.estimators.set_aside import DataWarning
from tacit.estimators.site_regressor import SiteEnsembleRegressor
from tacit.estimators.sites import SiteEnsemble
from tacit.learners.owners import learner_or_simulation
from tacit.mechanisms.streams import drawing_order, stream_of

if TYPE_CHECKING:
    from tacit.estimators.at_scale import FileOwners

TREES = "trees"  # of owners' answers, which no plan foresees
_NAMED = 8  # columns to leave out, in a message
_AT_ONCE = 1 << 25  # values of a table that is read at once
_ESTIMATORS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        PrivateClassifier,
        PrivateBoosting,
        SiteEnsemble,
        SiteEnsembleRegressor,
        PeerEnsemble,
    )
}
WEIGHTS = {  # about how long the steps of a fit take
    "read": 1.0,
    "own": 2.0,
    "plan": 2.0,
    "ask": 4.0,
    "test": 1.0,
}


@dataclass(frozen=True)
class FitRequest:
    """What `tacit fit` was asked for: a method with its options, files, what columns are for."""

    method: str
    options: dict[str, Any]
    files: FitFiles
    headings: Mapping[Path, Heading | None]
    roles: ColumnRoles
    seed: int | None

    @property
    def chosen(self) -> FitMethod:
        """The estimator that its method names."""
        return method_of(self.method, NUMBERS if self.roles.numbers else CLASSES)

    def open(self, file: Path) -> TableFile:
        """One of its files, whose heading is known."""
        return open_rows(file, *self.files.written, heading=self.headings[file])


@ends_in_order()
@in_arrays()
def carry_out(request: FitRequest, screen: Screen) -> None:
    """Read, tell what to expect, ask, save, test, and tell what came of it."""
    began = time.monotonic()
    estimator_of(request, None).check_parameters()
    files, roles, pace, console = request.files, request.roles, Pace(), screen.console
    try:
        with steps(screen, WEIGHTS["read"] + WEIGHTS["own"] + WEIGHTS["plan"], pace) as step:
            step(f"reading {files.data.name}", WEIGHTS["read"])
            sample, owned, source = _read(request)
            tests = None
            if files.test is not None:
                read = read_targets if roles.numbers else read_labelled
                tests = read(request.open(files.test), roles.label, sample.schema)
            fitting = Fitting.prepare(request, owned, sample, step)
            expected = None if fitting.outlook is None else Plan.of(fitting.outlook)
    except KeyboardInterrupt:
        screen.stop("nobody was asked, and nothing was written")
    notes = (*sample.notes, *owned.notes)
    _show_plan("" if expected is None else str(expected), notes, source, console)
    with steps(screen, WEIGHTS["ask"], pace) as step:
        model, stopped = fitting.run(step, screen)
    if source:
        model.guarantee_ = model.guarantee_.with_first(source)
    model.label_ = roles.label
    own = OwnNumbers.of(model) if fitting.own is None else fitting.own
    if isinstance(own, PublicModel) and not fitting.method.is_served and files.test and tests:
        found = OwnModels.of(request.method, files.test, tests, model, own)
        found.show(console)
        screen.tell(**found.as_document(time.monotonic() - began))
        return
    keep_model(model, files.out)
    tested = None
    if files.test is not None and tests is not None:
        try:
            with steps(screen, WEIGHTS["test"], pace) as step:
                step("testing", WEIGHTS["test"])
                tested = Evaluation.of(files.test, tests, model, own)
        except KeyboardInterrupt:
            stopped = "it is whole, and only the test was left out"
    result = FitResult(
        method=request.method,
        label=roles.label,
        model=model,
        path=files.out,
        plan=expected,
        own=own,
        owners=owned.count,
        public_rows=len(sample.public.y),
        notes=notes,
        tested=tested,
        own_measures=None if isinstance(own, OwnNumbers) else measures_of_own(own, sample.public),
    )
    show(result, console)
    screen.tell(**as_document(result, time.monotonic() - began))
    if stopped:
        screen.stop(f"the model is in {files.out}; {stopped}")


def keep_model(model: Any, out: Path) -> None:
    """Write the model, or where that cannot be, keep it elsewhere: owners are not asked again for
    a full disk.
    """
    try:
        model.save(out)
    except OSError as problem:
        wrong = f"--out {out} cannot be written ({problem.strerror or type(problem).__name__})"
        try:
            spare = Path(mkdtemp(prefix="tacit-")) / out.name
            model.save(spare)
        except OSError:
            raise ValueError(f"{wrong}, nor a copy below TMPDIR: the model is lost") from None
        raise ValueError(f"{wrong}: the model is in {spare}; nothing was tested") from None


def _show_plan(plan: str, notes: tuple[str, ...], source: str, console: Console) -> None:
    """What is said before anybody is asked."""
    for note in notes:
        console.print(f"note: {note}", markup=False)
    if source:
        console.print(f"[bold red]NOT PROTECTED: {escape(source)}[/]")
        console.print(
            "Do this only with rows whose owners agreed, and say so wherever the model goes."
        )
    if plan:
        console.print(plan, markup=False)


def _read(request: FitRequest) -> "tuple[Sample, OwnerTable | FileOwners, str]":
    """Public and owners' rows; a sentence where the public ones were given up by owners."""
    files, roles, seed = request.files, request.roles, request.seed
    data, public = files.data, files.public
    if public is None:
        stream = stream_of(seed)
        return divide(
            request.open(data),
            roles,
            files.public_rows or 0,
            lambda count: drawing_order(count, stream, "public rows"),
        )
    known = request.open(public)
    sample = read_sample(known, roles)
    file = request.open(data)
    file.require(roles.label, roles.owner)
    names = [feature.name for feature in sample.schema.features]
    missing = sorted(set(names) - set(file.names))
    if missing:
        columns = "column" if len(missing) == 1 else "columns"
        options = " ".join(f"--leave-out {quote(name)}" for name in missing[:_NAMED])
        raise ValueError(
            f"{data} lacks {some_of(missing)}, which {roles.schema or public} has: add the "
            f"{columns}, or {options}{' and so on' if len(missing) > _NAMED else ''}"
        )
    file.require_numbers(sample.schema)
    where = request.options.get("engine") or "inline"
    owned: OwnerTable | FileOwners
    many = request.chosen.most is None  # owners: else they are few, with many rows each
    if not many or (where == "inline" and file.is_within(_AT_ONCE)):
        owned = read_owned(file, roles, sample.schema)
    else:  # a block at a time, as they are asked
        from tacit.estimators.at_scale import read_owners

        owned = read_owners(file, roles, sample.schema, where)
    if roles.schema is not None:
        return sample, owned, ""
    used = {*names, roles.label, roles.owner, *roles.leave_out, *known.names, ""}
    more = [
        f"column {name!r} of {data} is left out: {public} does not have it"
        for name in file.names
        if name not in used
    ]
    told = first_notes(more, f"columns of {data} are left out")
    return sample, replace(owned, notes=(*owned.notes, *told)), ""


def estimator_of(request: FitRequest, schema: Schema | None) -> Any:
    """The estimator of a method with the options that were given; without a schema for a look at
    these, before a file is read.
    """
    chosen = request.chosen
    options = {option: value for option, value in request.options.items() if value is not None}
    if schema is not None and chosen.two_classes and len(schema.classes) != 2:
        raise ValueError(
            f"--method {request.method} learns two classes, and the label has "
            f"{len(schema.classes)}: choose another --method, or a label of two classes"
        )
    if "learner" in chosen.options:
        options = _with_learner(options)
    return _ESTIMATORS[chosen.kind](schema=schema, **dict(chosen.fixed), **options)


def check_owners(name: str, chosen: FitMethod, column: str | None, count: int) -> None:
    """Refuse to ask too few or too many; how many there are is public."""
    if not chosen.least <= count:
        raise ValueError(
            f"--method {name} needs {chosen.least} owners or more, and column {column!r} "
            f"names {count}: choose the column that tells them apart"
        )
    if chosen.most is not None and not count <= chosen.most:
        raise ValueError(
            f"--method {name} is for up to {chosen.most:,} owners with many rows each, and "
            f"column {column!r} names {count:,}: choose a column with fewer, or --method "
            "classifier, where each owner speaks once"
        )


def _with_learner(given: dict[str, Any]) -> dict[str, Any]:
    """Options of a base learner become that learner."""
    own = {name: value for name, value in given.items() if name in OF_LEARNERS}
    rest = {name: value for name, value in given.items() if name not in own}
    if not own:
        return rest
    learner = learner_or_simulation(rest.get("learner", "stump"))
    wrong = sorted(name for name in own if not hasattr(learner, name))
    if wrong:
        raise ValueError(f"--{wrong[0]} does not go with --learner {learner.name}")
    return rest | {"learner": type(learner)(**own)}


@dataclass(frozen=True, eq=False)
class Fitting:
    """An estimator before its fit: whom it asks, and what is known beforehand.

    `own` is the data user's own model of classes, and `outlook` what owners should add to it,
    where the method can tell.
    """

    method: FitMethod
    estimator: Any
    owned: "OwnerTable | FileOwners"
    sample: Sample
    own: PublicModel | None
    outlook: Outlook | None

    @classmethod
    def prepare(
        cls, request: FitRequest, owned: "OwnerTable | FileOwners", sample: Sample, step: Steps
    ) -> "Fitting":
        """Refuse what the method cannot do; fit the public rows alone, and look ahead."""
        method = request.chosen
        check_owners(request.method, method, request.roles.owner, owned.count)
        estimator = estimator_of(request, sample.schema)
        if request.roles.numbers:  # of public rows alone sites' question tells, when it is put
            return cls(method, estimator, owned, sample=sample, own=None, outlook=None)
        step("fitting your public rows alone", WEIGHTS["own"])
        own = fit_public(sample.public)
        step("planning", WEIGHTS["plan"])
        outlook = None
        if "outlook" in method.takes and estimator.features != TREES:
            asked = Population(
                owned.count,
                estimator.epsilon,
                estimator.rows_per_owner,
                estimator.trust,
                estimator.delta,
            )
            maps = None if estimator.features == "auto" else (estimator.features,)
            outlook = look_ahead(sample.public, own, asked, maps)
        return cls(method, estimator, owned, sample=sample, own=own, outlook=outlook)

    @property
    def questions(self) -> int | None:
        """About how many are asked one after the other; None: everybody at once, and there is
        nothing to keep before that is done.
        """
        rounds: int | None = getattr(self.estimator, "rounds", None)
        if getattr(self.estimator, "features", "") == TREES:
            return (Growth() if rounds is None else Growth(trees=rounds)).questions
        return rounds if self.outlook is None else rounds or self.outlook.rounds

    @property
    def _arguments(self) -> dict[str, Any]:
        """The arguments of fit: what was computed is not computed again."""
        known = {"baseline": self.own, "outlook": self.outlook}
        return {
            "owners": self.owned.owners,
            "public": self.sample,
            **{name: known[name] for name in self.method.takes},
        }

    def run(self, step: Steps, screen: Screen) -> tuple[Any, str]:
        """The fitted model; what is to be said of it if somebody pressed Ctrl-C meanwhile, else
        nothing.
        """
        about = f"asking {self.owned.count:,} owners"
        number, done = self.questions, 0
        if number is None:
            return self._run_at_once(about, step, screen), ""
        arguments = self._arguments
        notice = (
            "stopping when this round is done, to keep what was asked; Ctrl-C again throws it away"
        )
        with on_interrupt(notice) as stop:

            def monitor(answered: int) -> bool:
                nonlocal done
                done = answered
                if answered < number:
                    more = f", {answered + 1} of {number}" if number > 1 else ""
                    step(f"{about}{more}", WEIGHTS["ask"] / number)
                return stop()

            try:
                model = self._fit(**arguments, monitor=monitor)
            except KeyboardInterrupt:
                screen.stop("the reports drawn so far were thrown away; nothing was written")
            if not stop():
                return model, ""
        early = model.ended_.startswith("stopped")
        if not done and early:
            screen.stop("nobody was asked, and nothing was written")
        return model, f"it {model.ended_}" if early else "it is whole"

    def _fit(self, **arguments: Any) -> Any:
        """What is to be known of the rows was told when they were read."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            return self.estimator.fit(self.owned.table, self.owned.labels, **arguments)

    def _run_at_once(self, about: str, step: Steps, screen: Screen) -> Any:
        step(about, WEIGHTS["ask"])
        try:
            return self._fit(**self._arguments)
        except KeyboardInterrupt:
            screen.stop(
                "all reports belong together, so those drawn so far were thrown away; nothing "
                "was written"
            )
