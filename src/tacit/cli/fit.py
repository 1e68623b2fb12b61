"""tacit fit: a private model from a file of owners' rows and a file of public rows."""

import json
import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tacit.checks import positive, whole
from tacit.cli.fitted import Fitted, Tested, as_document, show, show_plan
from tacit.cli.inputs import NO_PUBLIC, Owned, Reading, Sample, divided, labelled, owned_rows, public_sample
from tacit.cli.methods import METHODS
from tacit.cli.options import Categories, Json, Label, LeaveOut, SchemaFile
from tacit.cli.steps import Pace, Steps, steps
from tacit.ensembles.combination import Crowd
from tacit.ensembles.public_model import PublicModel, fit_public
from tacit.estimators.parameters import stream_of
from tacit.estimators.planning import Plan, plan_for
from tacit.learners.names import one_of

_WEIGHTS = {"read": 1.0, "own": 2.0, "plan": 2.0, "ask": 4.0, "test": 1.0}  # about how long steps take


def fit(
    data: Annotated[Path, typer.Argument(help="Owners' rows, CSV or parquet.")],
    label: Label,
    owners: Annotated[str | None, typer.Option(help="Column that names owners; default: each row its own.")] = None,
    public: Annotated[Path | None, typer.Option(help="Your own or published rows, same columns.")] = None,
    public_rows: Annotated[int | None, typer.Option(help="Instead: rows of DATA to give up. NOT PROTECTED.")] = None,
    epsilon: Annotated[float, typer.Option(help="What one owner's report may cost, in all.")] = 1.0,
    out: Annotated[Path, typer.Option(help="Where to write the model.")] = Path("model.tacit"),
    test: Annotated[Path | None, typer.Option(help="Rows with labels to measure on; they decide nothing.")] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "classifier",
    learner: Annotated[str | None, typer.Option(help="Of boosting: stump, centroid or logistic.")] = None,
    rounds: Annotated[int | None, typer.Option(help="In how many rounds to ask.")] = None,
    mechanism: Annotated[str | None, typer.Option(help="Default: the one with the least error.")] = None,
    rows_per_owner: Annotated[int | None, typer.Option(help="How many rows owners have, as far as known.")] = None,
    schema: SchemaFile = None,
    category: Categories = None,
    leave_out: LeaveOut = None,
    seed: Annotated[int | None, typer.Option(help="Reproducible, NOT PRIVATE; default: secure coins.", min=0)] = None,
    as_json: Json = False,
) -> None:
    """Fit a private model: every owner of DATA speaks at most once, in noise.

    All that is not paid for with epsilon (bounds, categories, classes, the model to start from) comes from the public
    rows. What to expect is told first; where owners cannot add to your own rows, nobody is asked.

    Example: tacit fit people.parquet --label income --owners state --public mine.csv --epsilon 1 --out model.tacit
    """
    began = time.monotonic()
    positive("epsilon", epsilon)
    chosen = METHODS[one_of("method", method, METHODS)]
    if chosen.group != "owners" and owners is None:
        raise ValueError(f"--method {method} needs --owners, the column that names who holds a row")
    _writable(out)
    options = {"learner": learner, "rounds": rounds, "mechanism": mechanism, "rows_per_owner": rows_per_owner}
    reading = Reading(label, owners, schema, category or (), leave_out or ())
    console = Console(stderr=as_json)
    pace = Pace()
    given = {"epsilon": epsilon, "random_state": seed, **options}
    with steps(_WEIGHTS["read"] + _WEIGHTS["own"] + _WEIGHTS["plan"], pace) as step:
        sample, owned, source = _read(data, public, public_rows, reading, seed, step)
        estimator = chosen.estimator(method, given, sample.schema)
        expected, own = _expected(sample, owned, epsilon, rows_per_owner or 1, chosen.planned, step)
    show_plan(expected, sample.notes, source, console)
    with steps(_WEIGHTS["ask"] + _WEIGHTS["test"], pace) as step:
        step(f"asking {owned.count:,} owners (a first run compiles)", _WEIGHTS["ask"])
        model = estimator.fit(owned.X, owned.y, **{chosen.group: owned.owners, "public": (sample.X, sample.y)})
        if source:
            model.guarantee_ = model.guarantee_.with_first(source)
        step("testing", _WEIGHTS["test"])
        tested = None if test is None else _tested(test, label, sample, model, own)
        model.save(out)
    found = Fitted(method, model, expected, own, tested, owned.count, len(sample.y), out, sample.notes, data, label)
    if as_json:
        typer.echo(json.dumps(as_document(found, time.monotonic() - began)))
    else:
        show(found, console)


def _writable(out: Path) -> None:
    """An hour's work should not end at a wrong folder name."""
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.is_dir() or not os.access(out.parent, os.W_OK):
        raise ValueError(f"--out must be a file that can be written, got {out}")


def _read(
    data: Path, public: Path | None, public_rows: int | None, reading: Reading, seed: int | None, step: Steps
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


def _expected(
    sample: Sample, owned: Owned, epsilon: float, rows: int, planned: bool, step: Steps
) -> tuple[Plan | None, PublicModel]:
    """The data user's own model, and what owners should add to it."""
    step("fitting your public rows alone", _WEIGHTS["own"])
    known = sample.encoded
    own = fit_public(known)
    step("planning", _WEIGHTS["plan"])
    return (plan_for(known, Crowd(owned.count, epsilon, rows), own) if planned else None), own


def _tested(path: Path, label: str, sample: Sample, model: Any, own: PublicModel) -> Tested:
    X, y = labelled(path, label, sample.schema)
    classes = sample.schema.encode_labels(y)
    known = classes >= 0
    if not known.any():
        raise ValueError(f"{path} has no row with a known {label!r}")
    alone = own.model.predict(sample.schema.encode(X).X)
    right = sample.schema.encode_labels(model.predict(X))
    return Tested(
        path, int(known.sum()), float((right == classes)[known].mean()), float((alone == classes)[known].mean())
    )
