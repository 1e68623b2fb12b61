"""tacit fit: a private model from a file of owners' rows and a file of public rows."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit._util.checks import one_of, positive, whole
from tacit._util.interrupts import stop_on_interrupt
from tacit._util.types import AnyArray
from tacit.algorithms.combination import Population
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.refinement import Outlook, look_ahead
from tacit.cli._fit_report import Fitted, Tested, as_document, show, show_plan
from tacit.cli._inputs import (
    NO_PUBLIC,
    Owned,
    Reading,
    Sample,
    divided,
    labelled,
    misfits,
    owned_rows,
    public_sample,
)
from tacit.cli._methods import METHODS, Method
from tacit.cli._options import Categories, Label, LeaveOut, SchemaFile, writable
from tacit.cli._progress import Pace, Steps, steps
from tacit.cli._screen import Screen
from tacit.data import UserTable
from tacit.data.schema import Schema
from tacit.estimators.parameters import stream_of
from tacit.estimators.planning import Plan

_WEIGHTS = {
    "read": 1.0,
    "own": 2.0,
    "plan": 2.0,
    "ask": 4.0,
    "test": 1.0,
}  # about how long steps take


def fit(
    data: Annotated[Path, typer.Argument(help="Owners' rows, CSV or parquet.")],
    label: Label,
    owners: Annotated[
        str | None, typer.Option(help="Column that names owners; default: each row its own.")
    ] = None,
    public: Annotated[
        Path | None, typer.Option(help="Your own or published rows, same columns.")
    ] = None,
    public_rows: Annotated[
        int | None, typer.Option(help="Instead: rows of DATA to give up. NOT PROTECTED.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option(help="What one owner (sites, peers: one record) may spend.")
    ] = 1.0,
    out: Annotated[Path, typer.Option(help="Where to write the model.")] = Path("model.tacit"),
    test: Annotated[
        Path | None, typer.Option(help="Rows with labels to measure on; they decide nothing.")
    ] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "classifier",
    learner: Annotated[
        str | None, typer.Option(help="Of boosting: stump, centroid or logistic.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="In how many rounds to ask.")] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="Default: the one with the least error.")
    ] = None,
    rows_per_owner: Annotated[
        int | None, typer.Option(help="How many rows owners have, as far as known.")
    ] = None,
    schema: SchemaFile = None,
    category: Categories = None,
    leave_out: LeaveOut = None,
    seed: Annotated[
        int | None, typer.Option(help="Reproducible, NOT PRIVATE; default: secure coins.", min=0)
    ] = None,
    *,
    screen: Screen,
) -> None:
    """Fit a private model: every owner of DATA speaks at most once, in noise.

    All that is not paid for with epsilon (bounds, categories, classes, the model to start from)
    comes from the public rows. What to expect is told first; where owners cannot add to your own
    rows, nobody is asked.

    --method sites and peers are for few owners with many rows each: they protect every record
    instead of every owner.

    Ctrl-C (exit status 130) keeps the rounds that are done: they are written as a model, which says
    how many they are.

    Example:
        tacit fit people.parquet --label income --owners state --public mine.csv \\
        --epsilon 1 --out model.tacit
    """
    began = time.monotonic()
    positive("epsilon", epsilon)
    chosen = METHODS[one_of("method", method, METHODS)]
    if chosen.group != "owners" and owners is None:
        raise ValueError(f"--method {method} needs --owners, the column that names who holds a row")
    if owners == label:
        raise ValueError(f"--owners and --label must be two columns, got {label!r} for both")
    if public is not None and public.exists() and data.exists() and public.samefile(data):
        raise ValueError(
            f"--public must be other rows than those of owners in {data}; --public-rows "
            "gives up some"
        )
    writable("--out", out)
    options = {
        "learner": learner,
        "rounds": rounds,
        "mechanism": mechanism,
        "rows_per_owner": rows_per_owner,
    }
    reading = Reading(label, owners, schema, category or (), leave_out or ())
    pace = Pace()
    given = {"epsilon": epsilon, "random_state": seed, **options}
    try:
        with steps(screen, _WEIGHTS["read"] + _WEIGHTS["own"] + _WEIGHTS["plan"], pace) as step:
            sample, owned, source = _read(data, public, public_rows, reading, seed, step)
            estimator = chosen.estimator(method, given, sample.schema)
            chosen.check_owners(method, owners, owned.count)
            tests = None if test is None else labelled(test, label, sample.schema)
            population = Population(owned.count, epsilon, rows_per_owner or 1)
            own, outlook = _look_ahead(sample, population, chosen, step)
            expected = None if outlook is None else Plan.of(outlook)
    except KeyboardInterrupt:
        screen.stop("nobody was asked, and nothing was written")
    notes = (*sample.notes, *owned.notes)
    show_plan(expected, notes, source, screen.console)
    with steps(screen, _WEIGHTS["ask"], pace) as step:
        number = rounds or (chosen.questions if expected is None else expected.rounds)
        known = chosen.known(own, outlook)
        model, stopped = _asked(chosen, estimator, owned, sample, known, number, step, screen)
    if source:
        model.guarantee_ = model.guarantee_.with_first(source)
    model.label_ = label
    model.save(out)
    tested = None
    try:
        with steps(screen, _WEIGHTS["test"], pace) as step:
            step("testing", _WEIGHTS["test"])
            tested = (
                None
                if test is None or tests is None
                else _tested(test, tests, sample.schema, model, own)
            )
    except KeyboardInterrupt:
        stopped = "it is whole, and only the test was left out"
    found = Fitted(
        method, model, expected, own, tested, owned.count, len(sample.y), out, notes, label
    )
    screen.tell(**as_document(found, time.monotonic() - began))
    show(found, screen.console)
    if stopped:
        screen.stop(f"the model is in {out}; {stopped}")


def _asked(
    chosen: Method,
    estimator: Any,
    owned: Owned,
    sample: Sample,
    known: dict[str, Any],
    number: int | None,
    step: Steps,
    screen: Screen,
) -> tuple[Any, str]:
    """The fitted model; what is to be said of it if somebody pressed Ctrl-C meanwhile, else
    nothing.
    """
    about = f"asking {owned.count:,} owners"
    given = {chosen.group: owned.owners, "public": (sample.X, sample.y), **known}
    if number is None:
        step(about, _WEIGHTS["ask"])
        try:
            return estimator.fit(owned.X, owned.y, **given), ""
        except KeyboardInterrupt:
            screen.stop(
                "all reports belong together, so those drawn so far were thrown away; nothing "
                "was written"
            )
    notice = "stopping when this round is done, to keep what was asked; Ctrl-C again throws it away"
    done = 0
    with stop_on_interrupt(notice) as stop:

        def monitor(answered: int) -> bool:
            nonlocal done
            done = answered
            if answered < number:
                more = f", {answered + 1} of {number}" if number > 1 else ""
                step(f"{about}{more}", _WEIGHTS["ask"] / number)
            return stop()

        try:
            model = estimator.fit(owned.X, owned.y, **given, monitor=monitor)
        except KeyboardInterrupt:
            screen.stop("the reports drawn so far were thrown away; nothing was written")
        if not stop():
            return model, ""
    if not done and model.ended_.startswith("stopped"):
        screen.stop("nobody was asked, and nothing was written")
    return model, "it is whole" if not model.ended_.startswith("stopped") else f"it {model.ended_}"


def _read(
    data: Path,
    public: Path | None,
    public_rows: int | None,
    reading: Reading,
    seed: int | None,
    step: Steps,
) -> tuple[Sample, Owned, str]:
    """Public and owners' rows; a sentence where the public ones were given up by owners."""
    step(f"reading {data.name}", _WEIGHTS["read"])
    if public is not None and public_rows is not None:
        raise ValueError("--public and --public-rows must not be given together")
    if public is not None:
        sample = public_sample(public, reading)
        return sample, owned_rows(data, reading, sample.schema, str(reading.schema or public)), ""
    if public_rows is None:
        raise ValueError(NO_PUBLIC.format(data=data))
    return divided(data, reading, whole("public_rows", public_rows, 10), stream_of(seed))


def _look_ahead(
    sample: Sample, population: Population, chosen: Method, step: Steps
) -> tuple[PublicModel, Outlook | None]:
    """The data user's own model, and what owners should add to it where the method can tell."""
    step("fitting your public rows alone", _WEIGHTS["own"])
    known = sample.encoded
    own = fit_public(known)
    step("planning", _WEIGHTS["plan"])
    return own, look_ahead(known, own, population) if chosen.planned else None


def _tested(
    path: Path, rows: tuple[UserTable, AnyArray], schema: Schema, model: Any, own: PublicModel
) -> Tested:
    X, y = rows
    classes = schema.encode_labels(y)
    known = classes >= 0
    encoded = schema.encode(X)
    alone = own.model.predict(encoded.X)
    right = schema.encode_labels(model.predict(X))
    accuracy, public_only = (float((guess == classes)[known].mean()) for guess in (right, alone))
    return Tested(path, int(known.sum()), accuracy, public_only, dict(misfits(encoded, schema)))
