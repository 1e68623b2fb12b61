"""tacit plan: what asking owners would bring, from public rows alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tacit._util.checks import bad, one_of, positive
from tacit._util.file_checks import check_file, check_table
from tacit._util.stopping import on_interrupt
from tacit.cli._options import (
    CLASSES,
    DO_NOT_COLLECT,
    NUMBERS,
    Categories,
    Decimal,
    Encoding,
    Label,
    LeaveOut,
    ListenTo,
    SchemaFile,
    Target,
    TargetRange,
    check_target,
)
from tacit.cli._output import Screen, Steps, steps, table_of
from tacit.cli.fit import FitMethod, method_of
from tacit.sums import HOW, NOBODY, TRUSTS

if TYPE_CHECKING:  # a wrong option or a missing file is told before any of it is loaded
    from tacit.algorithms.outlook import Outlook
    from tacit.algorithms.question import Population
    from tacit.data.cohort import Public
    from tacit.data.sample import ColumnRoles
    from tacit.data.table_file import TableFile
    from tacit.estimators.group_planning import GroupPlan
    from tacit.estimators.planning import Plan

_SITES = "sites"
_SEEN = 0.05  # of a point, in figures with one digit
_METHODS = ("classifier", _SITES, "peers", "stumps", "trees")


def plan(
    public: Annotated[
        Path,
        typer.Argument(help="Rows that you may use freely: CSV or parquet, a folder or a pattern."),
    ],
    label: Label,
    owners: Annotated[
        list[int], typer.Option(help="How many owners there are; repeat for several.", min=1)
    ],
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Repeat for several; default 0.5, 1, 2 and 4.")
    ] = None,
    rows_per_owner: Annotated[int, typer.Option(help="How many rows an owner has.", min=1)] = 1,
    trust: Annotated[
        list[str] | None,
        typer.Option(help="Whom owners trust: nobody, 'two servers'; default both, side by side."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="As of tacit fit: classifier; sites (paper C), peers, stumps (paper D) or trees: "
            "few owners with many records, each of which may cost epsilon."
        ),
    ] = "classifier",
    rounds: Annotated[int, typer.Option(help="Of peers: about how many turns.", min=1)] = 30,
    listen_to: ListenTo = None,
    target: Target = CLASSES,
    target_range: TargetRange = None,
    schema: SchemaFile = None,
    category: Categories = None,
    leave_out: LeaveOut = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    *,
    screen: Screen,
) -> None:
    """Say what asking owners should bring, before anybody is asked.

    Exit status 3: whatever the epsilon, do not collect. Ctrl-C (130) shows the plans that are done.

    Example:
        tacit plan mine.csv --label income --owners 10000 --rows-per-owner 4 \\
        --epsilon 0.5 --epsilon 1
    """
    one_of("method", method, _METHODS)
    heading = check_table(public, label, written=(decimal, encoding))
    if schema is not None:
        check_file(schema, "a schema (TOML)")
    check_target(method, target, target_range, trust or ())
    trusts = (NOBODY,) if target == NUMBERS else _trusts(method, trust)
    listening = _listening(method, listen_to)
    _check_owners(method_of(method, target), method, owners)
    crowds = _crowds(owners, epsilon or (0.5, 1.0, 2.0, 4.0), trusts, rows_per_owner)
    with on_interrupt():
        from tacit._util.kernels import in_arrays
        from tacit.data.number_target import Range
        from tacit.data.sample import ColumnRoles
        from tacit.data.table_file import open_rows
        from tacit.estimators.planning import Plan
    file = open_rows(public, decimal, encoding, heading)
    roles = ColumnRoles(
        label,
        None,
        schema,
        category or (),
        leave_out or (),
        numbers=target == NUMBERS,
        bounds=None if target_range is None else Range(*target_range),
    )
    plans: list[Plan | GroupPlan] = []
    notes, stopped = list[str](), False
    making: Callable[[list[Population], list[str], Steps], Iterator[Plan | GroupPlan]]
    making = partial(_make_plans, file, roles)
    if method != _METHODS[0]:
        making = partial(_make_group_plans, method, (rounds, listening), (file, roles))
    try:
        with in_arrays(), steps(screen, 3 + len(crowds)) as step:
            for each in making(crowds, notes, step):
                plans.append(each)  # noqa: PERF402 - those that are done are kept
    except KeyboardInterrupt:
        stopped = True
    collect = any(each.collect for each in plans)
    screen.tell(collect=collect or (None if stopped else False), notes=notes)
    screen.tell(plans=[_document(each) for each in plans])
    _show(plans, notes, screen.console)
    if stopped:
        screen.stop(f"{len(plans)} of {len(crowds)} plans are done")
    if not collect:
        raise typer.Exit(DO_NOT_COLLECT)


def _check_owners(chosen: FitMethod, method: str, owners: Sequence[int]) -> None:
    """Refuse to plan for fewer or more than a fit asks."""
    for count in owners:
        if not chosen.least <= count:
            raise bad("--owners", f"{chosen.least} or more with --method {method}", count)
        if chosen.most is not None and not count <= chosen.most:
            many = f"at most {chosen.most:,} with --method {method}; --method classifier has more"
            raise bad("--owners", many, count)


def _trusts(method: str, given: Sequence[str] | None) -> Sequence[str]:
    """Whom owners may trust; peers trust nobody."""
    if method in (_METHODS[0], _SITES):
        return given or TRUSTS
    if given:
        raise ValueError(f"--trust does not go with --method {method}")
    return (NOBODY,)


def _listening(method: str, given: str | None) -> str:
    """Whom peers listen to; there are none in other methods."""
    if method in (_METHODS[0], _SITES):
        if given is not None:
            raise ValueError(f"--listen-to does not go with --method {method}")
        return ""
    with on_interrupt():
        from tacit.learners.peers.alike import ALIKE, LISTENING
    return one_of("listen_to", given or ALIKE, LISTENING)


def _crowds(
    owners: Sequence[int], epsilons: Sequence[float], trusts: Sequence[str], rows_per_owner: int
) -> "list[Population]":
    """Whom to plan for: so many owners with each of these budgets, trusting each of these."""
    budgets = [positive("epsilon", each) for each in epsilons]
    for each in trusts:
        one_of("trust", each, TRUSTS)
    with on_interrupt():
        from tacit.algorithms.question import Population
    return [
        Population(number, budget, rows_per_owner, whom)
        for number, budget, whom in product(owners, budgets, trusts)
    ]


def _document(plan: "Plan | GroupPlan") -> dict[str, object]:
    """A plan as one JSON object."""
    from tacit.estimators.planning import Plan

    more: dict[str, object] = (
        {"accuracy": plan.accuracy, "between": plan.between}
        if isinstance(plan, Plan)
        else {"together": plan.together}
    )
    measured = None if plan.public_measures is None else plan.public_measures.as_dict
    more |= {"collect": plan.collect, "says": str(plan), "public_measures": measured}
    return {**asdict(plan), **more}


def _make_group_plans(
    method: str,
    peers: tuple[int, str],
    rows: "tuple[TableFile, ColumnRoles]",
    crowds: "list[Population]",
    notes: list[str],
    step: Steps,
) -> "Iterator[Plan | GroupPlan]":
    """The same for few owners with many records, by playing it; where two servers add up over
    records of sites, as for owners.
    """
    with on_interrupt():
        from tacit.algorithms.public_baseline import load_candidates
        from tacit.data.table_rows import read_sample
        from tacit.estimators.group_planning import (
            OwnerGroup,
            default_question,
            plan_peers,
            plan_sites,
        )
        from tacit.learners.peers.cells import Cells

        load_candidates()
    step("reading")
    sample = read_sample(*rows)
    notes += sample.notes
    for crowd in crowds:
        step(f"{crowd.owners:,} owners, epsilon {crowd.epsilon:g}")
        group = OwnerGroup(crowd.owners, crowd.rows, crowd.epsilon)
        if crowd.summed:
            yield _plan_sums(sample.public, crowd)
        elif method == _SITES:
            question = default_question(sample.public, crowd.epsilon)
            yield plan_sites(question, sample.public, "guarded", group)
        else:
            rounds, listen_to = peers
            yield plan_peers(
                method, Cells(sample.schema), rounds, sample.public, group, listen_to=listen_to
            )


def _plan_sums(public: "Public", sites: "Population") -> "Plan":
    """What sums over the records of so many sites should bring."""
    from tacit.algorithms.outlook import look_ahead
    from tacit.algorithms.public_baseline import fit_public
    from tacit.algorithms.question import Population
    from tacit.estimators.planning import Plan

    records = sites.owners * sites.rows
    crowd = Population(
        records, sites.epsilon, trust=sites.trust, delta=sites.delta, site_records=sites.rows
    )
    return Plan.of(look_ahead(public, fit_public(public), crowd))


def _make_plans(
    file: "TableFile",
    roles: "ColumnRoles",
    crowds: "list[Population]",
    notes: list[str],
    step: Steps,
) -> "Iterator[Plan]":
    """One after the other, so that those that are done are kept; notes on columns come first."""
    with on_interrupt():
        from tacit.algorithms.outlook import look_ahead
        from tacit.algorithms.public_baseline import fit_public, load_candidates
        from tacit.data.table_rows import read_sample
        from tacit.estimators.planning import Plan

        load_candidates()
    step("reading")
    sample = read_sample(file, roles)
    notes += sample.notes
    step("fitting your rows alone", 2)
    own = fit_public(sample.public)
    wide: Outlook | None = None  # the same start for all of them
    for crowd in crowds:
        step(f"{crowd.owners:,} owners, epsilon {crowd.epsilon:g}, trust in {crowd.trust}")
        if not crowd.summed:
            yield Plan.of(look_ahead(sample.public, own, crowd))
            continue
        wide = look_ahead(sample.public, own, crowd) if wide is None else wide.among(crowd)
        yield Plan.of(wide)


def _show(given: "list[Plan | GroupPlan]", notes: list[str], console: Console) -> None:
    from tacit.estimators.planning import Plan

    for note in notes:
        console.print(f"note: {note}", markup=False)
    plans = [each for each in given if isinstance(each, Plan)]
    if len(plans) < len(given) or not len(TRUSTS) < len(plans):
        for one in given:
            console.print(str(one))
        for one in given[:1]:
            _show_measures(one, console)
        if {each.trust for each in plans} == set(TRUSTS):
            rises = {each.trust: 100 * each.rise for each in plans}
            more = rises[HOW] - rises[NOBODY]
            if abs(more) >= _SEEN:
                console.print(f"If they trusted one of two servers: {more:+.1f} points more.")
    else:
        _show_table(plans, console)


def _show_measures(plan: "Plan | GroupPlan", console: Console) -> None:
    """What else people measure of the data user's rows alone."""
    measured = plan.public_measures
    if measured is not None and measured.others:
        console.print(f"Your own rows alone, cross-validated: {measured.others} (95 % intervals).")


def _show_table(plans: "list[Plan]", console: Console) -> None:
    """Many plans for the same rows, a line each."""
    first = plans[0]
    alone = "too few rows to tell"
    if first.public_accuracy is not None:
        low, high = first.public_between
        alone = f"{first.public_accuracy:.3f}, between {low:.2f} and {high:.2f}"
    console.print(
        f"Your own {first.public_rows:,} rows alone: accuracy {alone} ({first.public_model})."
    )
    _show_measures(first, console)
    table = table_of()
    for heading in ("owners", "epsilon", "trust", "accuracy", "rise", "log loss", "rounds"):
        table.add_column(heading, justify="right", no_wrap=heading in ("trust", "log loss"))
    table.add_column("verdict", no_wrap=True)
    for each in plans:
        accuracy = "?" if each.accuracy is None else f"{each.accuracy:.3f}"
        rise = f"{100 * each.rise:+.1f}" if each.raises_accuracy else "0"
        asked = (accuracy, rise, f"{-each.gain:.3f}", str(each.rounds))
        table.add_row(
            f"{each.owners:,}",
            f"{each.epsilon:g}",
            each.trust,
            *(asked if each.collect else ("", "", "", "")),
            "[green]collect[/]" if each.collect else "[red]do not collect[/]",
        )
    console.print(table)
    from tacit.algorithms.question import DELTA

    told = (
        f"{first.rows_per_owner:,} {'row' if first.rows_per_owner == 1 else 'rows'} of each owner; "
        f"trust: whom owners must trust, nobody or one of two servers (delta {DELTA:g}); accuracy: "
        "expected with their answers, as uncertain as that of your own rows; rise: points above "
        "these; log loss: how their answers change it."
    )
    console.print(told)
    refused = [each for each in plans if not each.collect]
    if refused:
        nearest = max(refused, key=lambda each: each.gain)
        console.print(
            f"Do not collect: of {nearest.owners:,} owners at epsilon {nearest.epsilon:g}, trust "
            f"in {nearest.trust}, {nearest.why_not}."
        )
