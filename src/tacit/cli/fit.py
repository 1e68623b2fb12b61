"""tacit fit: a private model from a file of owners' rows and a file of public rows."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit._util.checks import one_of, positive, whole
from tacit.cli._fit_report import Evaluation, FitResult, as_document, show, show_plan
from tacit.cli._fitting import METHODS, WEIGHTS, Fitting
from tacit.cli._options import Categories, Label, LeaveOut, SchemaFile
from tacit.cli._output import Pace, Screen, steps, writable
from tacit.data.sample import ColumnRoles, Sample
from tacit.data.table_file import (
    OwnerTable,
    TableFile,
    divide,
    read_labelled,
    read_owned,
    read_sample,
)
from tacit.estimators.inputs import stream_of
from tacit.estimators.planning import Plan
from tacit.mechanisms.streams import drawing_order

_NO_PUBLIC = (
    "--public FILE is missing: rows that you may use freely (your own, or published ones) "
    "give bounds, categories, classes and the model to start from; or --public-rows 200 gives up "
    "200 rows of {data}: those are NOT protected"
)


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
    method: Annotated[
        str,
        typer.Option(
            help="classifier; boosting (papers A, B); sites (paper C); peers (in turns), stumps "
            "(paper D) or trees (after InPriv)."
        ),
    ] = "classifier",
    learner: Annotated[
        str | None,
        typer.Option(
            help="Of boosting: stump, centroid, logistic (paper A); with tacit-papers also "
            "'stump, as published' and the like, which are simulations and NOT PRIVATE."
        ),
    ] = None,
    cuts: Annotated[
        int | None, typer.Option(help="Of stumps: cuts per column; 1 is the best of yours.", min=1)
    ] = None,
    ridge: Annotated[
        float | None, typer.Option(help="Of regressions and sites: how strongly they are held.")
    ] = None,
    bound: Annotated[
        float | None, typer.Option(help="Of regressions: the public length of coefficients.")
    ] = None,
    error: Annotated[
        str | None,
        typer.Option(
            help="Of boosting: a base model's error from 'public' rows (paper A), or from all "
            "'owners' by noisy sums (paper B)."
        ),
    ] = None,
    error_epsilon: Annotated[
        float | None, typer.Option(help="What one owner may spend on those sums, besides.")
    ] = None,
    owners_per_round: Annotated[
        int | None, typer.Option(help="Of boosting: how many a round asks (H of paper A).")
    ] = None,
    attempts: Annotated[
        int | None, typer.Option(help="Of boosting: tries of a round before it ends.")
    ] = None,
    combine: Annotated[
        str | None,
        typer.Option(
            help="Of sites: guarded, or paper C's feature or average, which may be worse than "
            "your own rows."
        ),
    ] = None,
    privacy: Annotated[
        str | None,
        typer.Option(
            help="Of sites: objective or output; 'published' (paper C) and 'none' are "
            "simulations and NOT PRIVATE."
        ),
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="In how many rounds to ask.")] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="Default: the one with the least error.")
    ] = None,
    trust: Annotated[
        str | None,
        typer.Option(
            help="Whom owners trust: nobody (default), or 'two servers', one of which is honest."
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="With --trust 'two servers': the chance that epsilon does not hold."),
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
    roles = ColumnRoles(label, owners, schema, category or (), leave_out or ())
    chosen.check_column(method, owners)
    _check_files(data, public, out, roles)
    options: dict[str, Any] = {"learner": learner, "rounds": rounds, "mechanism": mechanism}
    options |= {"cuts": cuts, "ridge": ridge, "bound": bound, "error": error}
    options |= {"error_epsilon": error_epsilon, "owners_per_round": owners_per_round}
    options |= {"attempts": attempts, "combine": combine, "privacy": privacy}
    options |= {"rows_per_owner": rows_per_owner, "epsilon": epsilon, "random_state": seed}
    options |= {"trust": trust, "delta": delta}
    pace = Pace()
    try:
        with steps(screen, WEIGHTS["read"] + WEIGHTS["own"] + WEIGHTS["plan"], pace) as step:
            step(f"reading {data.name}", WEIGHTS["read"])
            sample, owned, source = _read(data, public, public_rows, roles, seed)
            tests = (
                None if test is None else read_labelled(TableFile.open(test), label, sample.schema)
            )
            estimator = chosen.estimator(method, options, sample.schema)
            chosen.check_owners(method, owners, owned.count)
            fitting = Fitting.prepare(chosen, estimator, owned, sample, step)
            expected = None if fitting.outlook is None else Plan.of(fitting.outlook)
    except KeyboardInterrupt:
        screen.stop("nobody was asked, and nothing was written")
    notes = (*sample.notes, *owned.notes)
    show_plan(expected, notes, source, screen.console)
    with steps(screen, WEIGHTS["ask"], pace) as step:
        model, stopped = fitting.run(step, screen)
    if source:
        model.guarantee_ = model.guarantee_.with_first(source)
    model.label_ = label
    model.save(out)
    tested = None
    if test is not None and tests is not None:
        try:
            with steps(screen, WEIGHTS["test"], pace) as step:
                step("testing", WEIGHTS["test"])
                tested = Evaluation.of(test, tests, model, fitting.own)
        except KeyboardInterrupt:
            stopped = "it is whole, and only the test was left out"
    found = FitResult(
        method=method,
        label=label,
        model=model,
        path=out,
        plan=expected,
        own=fitting.own,
        owners=owned.count,
        public_rows=len(sample.public.y),
        notes=notes,
        tested=tested,
    )
    screen.tell(**as_document(found, time.monotonic() - began))
    show(found, screen.console)
    if stopped:
        screen.stop(f"the model is in {out}; {stopped}")


def _check_files(data: Path, public: Path | None, out: Path, roles: ColumnRoles) -> None:
    """Refuse what cannot be meant, before anything is read."""
    if roles.owner == roles.label:
        raise ValueError(f"--owners and --label must be two columns, got {roles.label!r} for both")
    if public is not None and public.exists() and data.exists() and public.samefile(data):
        raise ValueError(
            f"--public must be other rows than those of owners in {data}; --public-rows "
            "gives up some"
        )
    writable("--out", out)


def _read(
    data: Path, public: Path | None, public_rows: int | None, roles: ColumnRoles, seed: int | None
) -> tuple[Sample, OwnerTable, str]:
    """Public and owners' rows; a sentence where the public ones were given up by owners."""
    if public is not None and public_rows is not None:
        raise ValueError("--public and --public-rows must not be given together")
    if public is None and public_rows is None:
        raise ValueError(_NO_PUBLIC.format(data=data))
    if public is None:
        stream = stream_of(seed)
        return divide(
            TableFile.open(data),
            roles,
            whole("public_rows", public_rows, 10),
            lambda count: drawing_order(count, stream, "public rows"),
        )
    known = TableFile.open(public)
    sample = read_sample(known, roles)
    file = TableFile.open(data)
    file.require(roles.label, roles.owner)
    names = [feature.name for feature in sample.schema.features]
    missing = sorted(set(names) - set(file.names))
    if missing:
        raise ValueError(
            f"{data} lacks {', '.join(missing)}, which {roles.schema or public} has: add the "
            f"column, or --leave-out {missing[0]}"
        )
    owned = read_owned(file, roles, sample.schema)
    if roles.schema is not None:
        return sample, owned, ""
    used = {*names, roles.label, roles.owner, *roles.leave_out, *known.names, ""}
    more = [
        f"column {name!r} of {data} is left out: {public} does not have it"
        for name in file.names
        if name not in used
    ]
    return sample, replace(owned, notes=(*owned.notes, *more)), ""
