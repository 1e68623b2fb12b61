"""tacit audit: mechanisms, gate and sums, checked from outside."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tacit._util.checks import positive
from tacit._util.file_checks import check_table, check_writable
from tacit._util.stopping import ends_in_order
from tacit.audit import clock
from tacit.audit.gate import CASES, GateRow, audit_gate, find_repeated_coins, own_cases
from tacit.audit.mechanisms import AuditRow, audit_mechanisms
from tacit.audit.moments import audit_moments
from tacit.audit.non_interference import Difference, non_interference
from tacit.audit.questions import audit_questions
from tacit.audit.staging import Check
from tacit.audit.sums import audit_sums, sum_cases
from tacit.cli._options import FAILED, Seed
from tacit.cli._output import Screen, bar, table_of
from tacit.mechanisms.registry import PRIVATE, own_mechanisms
from tacit.mechanisms.streams import seeded
from tacit.render.pages import Measurement, draw_audit
from tacit.wire.codec import load_plugins

_LANES = 4  # processes in which slow questions are timed
_REPORTS_A_RUN = 25  # a run of a sum takes about as long as so many reports of a mechanism


class Part(Enum):
    """What can be audited by itself."""

    MECHANISMS = "mechanisms"
    GATE = "gate"
    NON_INTERFERENCE = "non-interference"
    SUMS = "sums"
    CLOCK = "clock"
    QUESTIONS = "questions"
    DEVICE = "device"
    DATA = "data"


@dataclass(frozen=True)
class _OwnTable:
    """A table of one's own to audit with: where owners' rows and public ones are, and which
    columns are what.
    """

    data: Path
    label: str
    public: Path
    owners: str | None


@dataclass(frozen=True)
class _Sizes:
    """How much of mechanisms and gate is checked."""

    epsilons: list[float]
    dims: list[int]
    reports: int
    owners: int


@dataclass
class _Findings:
    """What was found, part by part."""

    mechanisms: list[AuditRow] = field(default_factory=list)
    gate: list[GateRow] = field(default_factory=list)
    coins: list[str] | None = None
    differences: list[Difference] | None = None
    checks: dict[Part, list[Check]] = field(default_factory=dict)

    @property
    def sound(self) -> bool:
        rows = all(row.sound for row in self.mechanisms) and all(row.sound for row in self.gate)
        quiet = all(check.sound for each in self.checks.values() for check in each)
        return rows and quiet and not self.coins and not self.differences


def audit(
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Repeat for several; default 0.5, 1, 3, 5.")
    ] = None,
    dim: Annotated[
        list[int] | None, typer.Option(help="Repeat for several; default 1 and 4.", min=1)
    ] = None,
    reports: Annotated[
        int, typer.Option(help="Reports drawn per input of a mechanism.", min=10_000)
    ] = 100_000,
    owners: Annotated[int, typer.Option(help="Owners at each gateway.", min=400)] = 4000,
    part: Annotated[
        list[Part] | None, typer.Option(help="Repeat for several; default all.")
    ] = None,
    questions: Annotated[
        int | None,
        typer.Option(
            help="Hostile questions: searched (default 100), and slow ones timed (default 20).",
            min=10,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Your own table too: a file, a folder or a pattern, as fit takes it."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="With --data: the column to predict.")] = None,
    public: Annotated[
        Path | None, typer.Option(help="With --data: public rows, same columns.")
    ] = None,
    owner_column: Annotated[
        str | None, typer.Option(help="With --data: the column that names owners.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw claimed against measured epsilon here.")
    ] = None,
    seed: Seed = 1,
    *,
    screen: Screen,
) -> None:
    """Check mechanisms, gate, sums of two servers and device from outside: exact tables, proven
    lower bounds of epsilon, books, non-interference, what each server sees and the noise it adds,
    whether a clock tells owners apart, hostile questions, and all that a device sends. What
    installed packages register is checked like ours.

    With --data the question that a fit would ask is put to all owners of a table, block by block.
    Exit status 1 if anything fails. Ctrl-C (130) shows what was checked.

    Example:
        tacit audit --part mechanisms --epsilon 1 --dim 1
    """
    began = time.monotonic()
    if picture is not None:
        check_writable("--picture", picture)
    load_plugins()
    table = _own_table(data, label, public, owner_column)
    parts = _choose(part, table)
    found, stopped = _Findings(), False
    budgets = [positive("epsilon", each) for each in epsilon or (0.5, 1.0, 3.0, 5.0)]
    sizes = _Sizes(budgets, dim or [1, 4], reports, owners)
    try:
        _check(found, parts, sizes, seed, screen)
        _watch(found, parts, questions, seed, screen)
        if table is not None and Part.DATA in parts:
            _check_rows(found, table, sizes, seed, screen)
    except KeyboardInterrupt:
        stopped = True
    seconds = time.monotonic() - began
    screen.tell(**_document(found, seconds))
    _show(found, screen.console)
    screen.console.print(f"{_conclusion(found, stopped=stopped)}, in {seconds:.0f} seconds.")
    if picture is not None:
        _draw(found, picture, screen)
    if not found.sound:
        raise typer.Exit(FAILED)
    if stopped:
        screen.stop(f"what was checked is {'in the document' if screen.as_json else 'above'}")


def _conclusion(found: _Findings, *, stopped: bool) -> str:
    if not found.sound:
        return "[bold red]FAILS[/]"
    return "Everything holds" + (" as far as it was checked" if stopped else "")


def _check(found: _Findings, parts: list[Part], sizes: _Sizes, seed: int, screen: Screen) -> None:
    """Add to the findings one by one, so that an interruption keeps them."""
    if Part.MECHANISMS in parts:
        with bar(screen) as told:
            kinds = (*PRIVATE, *own_mechanisms())
            count = len(kinds) * len(sizes.epsilons) * len(sizes.dims)
            told(0, count, "mechanisms")
            for row in audit_mechanisms(sizes.epsilons, sizes.dims, sizes.reports, seeded(seed)):
                found.mechanisms.append(row)
                told(len(found.mechanisms), count, f"mechanisms: {row.mechanism}")
    if Part.GATE in parts:
        with bar(screen) as told:
            cases = (*CASES, *own_cases())
            told(0, len(cases), "gate")
            for case in audit_gate(sizes.owners, seeded(seed), cases):
                found.gate.append(case)
                told(len(found.gate), len(cases), f"gate: {case.learner}, {case.mechanism}")
            found.coins = list(find_repeated_coins())
    if Part.NON_INTERFERENCE in parts:
        with bar(screen) as told:
            told(0, 1, "non-interference")
            shown = partial(told, what="non-interference")
            found.differences = list(non_interference(seeded(seed), progress=shown))
    if Part.SUMS in parts:
        checks, count = found.checks.setdefault(Part.SUMS, []), 4 * len(sum_cases()) + 1
        with bar(screen) as told:
            told(0, count, "sums")
            for check in audit_sums(sizes.reports // _REPORTS_A_RUN, seeded(seed)):
                checks.append(check)
                told(len(checks), count, f"sums: {check.name}")


def _watch(
    found: _Findings, parts: list[Part], questions: int | None, seed: int, screen: Screen
) -> None:
    """The parts with a real clock, hostile questions and a device; the last needs what the network
    needs, and is left out where that is not installed and nobody asked for it.
    """
    if Part.CLOCK in parts:
        checks = found.checks.setdefault(Part.CLOCK, [])
        with bar(screen) as told:
            told(0, 2 * len(clock.CASES) + 2, "clock")
            for check in _clock_checks(questions or 20, seed):
                checks.append(check)
                told(len(checks), 2 * len(clock.CASES) + 2, f"clock: {check.name}")
    if Part.QUESTIONS in parts:
        with bar(screen) as told:
            told(0, 1, "questions")
            search = audit_questions(
                questions or 100, seed, progress=partial(told, what="questions")
            )
            found.checks[Part.QUESTIONS] = list(search.checks())
    if Part.DEVICE in parts and _has_network():
        from tacit.audit.device import audit_device
        from tacit.audit.recorder import parts as roles

        checks, count = found.checks.setdefault(Part.DEVICE, []), len(roles()) + 1
        with bar(screen) as told:
            told(0, count, "device")
            for check in audit_device():
                checks.append(check)
                told(len(checks), count, f"device: {check.name}")


def _choose(named: list[Part] | None, table: _OwnTable | None) -> list[Part]:
    """Which parts to check: those that were named, or all."""
    if named and Part.DATA in named and table is None:
        raise ValueError("--part data needs --data, your own table")
    return named or list(Part)


def _own_table(
    data: Path | None, label: str | None, public: Path | None, owners: str | None
) -> _OwnTable | None:
    """The table of the options, if one is given whole."""
    if data is None:
        if label or public or owners:
            raise ValueError("--label, --public and --owner-column go with --data")
        return None
    if label is None or public is None:
        raise ValueError("--data needs --label, the column to predict, and --public, public rows")
    for file in (public, data):
        check_table(file)
    return _OwnTable(data, label, public, owners)


@ends_in_order()
def _check_rows(
    found: _Findings, table: _OwnTable, sizes: _Sizes, seed: int, screen: Screen
) -> None:
    """The part with one's own rows, read as `tacit fit` reads them."""
    from tacit.audit.mechanisms import audit_rows
    from tacit.data.owner_blocks import RowReading
    from tacit.data.sample import ColumnRoles
    from tacit.data.survey import survey
    from tacit.data.table_file import open_rows
    from tacit.data.table_rows import read_sample

    roles = ColumnRoles(table.label, table.owners)
    sample = read_sample(open_rows(table.public), roles)
    rows = open_rows(table.data)
    rows.require(roles.label, roles.owner, *(feature.name for feature in sample.schema.features))
    rows.require_numbers(sample.schema)
    checks = found.checks.setdefault(Part.DATA, [])
    with bar(screen) as told:
        told(0, 1, f"reading {table.data.name}")
        cohort = survey(rows, RowReading(sample.schema, roles.label, roles.owner))
        for epsilon in sizes.epsilons:
            shown = partial(told, what=f"data: epsilon {epsilon:g}")
            reports = sizes.reports // 10
            checks.extend(
                audit_rows(sample.public, cohort, epsilon, reports, seeded(seed), heard=shown)
            )


def _clock_checks(questions: int, seed: int) -> Iterator[Check]:
    """Through the gate, through a member, polls of peers, and slow questions."""
    rows = clock.audit_clock(seeded(seed))
    if _has_network():
        from tacit.audit.clock import audit_polls, through_member

        member = clock.audit_clock(seeded(seed).child("member"), door=through_member)
        through = (replace(row, name=f"{row.name}, through a member") for row in member)
        rows = chain(rows, through, audit_polls(seeded(seed)))
    for row in rows:
        yield row.check
    yield audit_moments(questions, seed, lanes=min(_LANES, questions // 10)).check


def _has_network() -> bool:
    """Whether what a device needs is installed."""
    return find_spec("httpx") is not None


def _show(found: _Findings, console: Console) -> None:
    if found.mechanisms:
        console.print(_mechanism_table(found.mechanisms))
        limit = found.mechanisms[0].found.limit_z
        console.print(
            "exact: ln of the worst probability ratio, from whole numbers (small tables "
            "enumerated whole)."
        )
        console.print("proven: what samples show epsilon to be at least, with 99.9 % confidence.")
        console.print(
            "bias, var.: mean and variance, standard errors from the claim; above "
            f"{limit:.1f} fails.\n"
        )
    if found.gate:
        console.print(_gate_table(found.gate))
        console.print(
            "charged: by the ledger. two runs: proven by owners who all hold one data set, "
            "then another."
        )
        console.print(
            "one run: proven by guessing each owner's canary bit. Confidence 99.9 % each."
        )
        faults = list(dict.fromkeys(fault for row in found.gate for fault in row.faults))
        told = "every answer is in the ledger, charged in full, repeated alike, within budget"
        console.print(
            "best: the better of the two, in parts of the charge.\n\nBooks: "
            f"{'; '.join(faults) or told}."
        )
    if found.coins is not None:
        console.print(
            f"Coins: {'; '.join(found.coins) or 'fresh for every owner, question and start'}."
        )
    if found.differences is not None:
        told = "nothing that can be observed depends on rows"
        if found.differences:
            told = f"[bold red]{len(found.differences)} differences[/], first: "
        console.print(f"Non-interference: {told}", end="" if found.differences else ".\n")
        for difference in found.differences[:1]:
            console.print(str(difference), markup=False)
    for part, checks in found.checks.items():
        for check in checks:
            verdict = _verdict(check.sound)
            console.print(f"{part.value.capitalize()}: {check.name}: {verdict}.", end=" ")
            console.print(check.seen, markup=False)


def _mechanism_table(rows: list[AuditRow]) -> Table:
    table = table_of("Mechanisms: epsilon claimed, exact and proven")
    for heading in ("mechanism", "dim", "claimed", "exact", "proven", "bias", "var.", "verdict"):
        table.add_column(
            heading, justify="left" if heading == "mechanism" else "right", no_wrap=True
        )
    for row in rows:
        table.add_row(
            row.mechanism,
            str(row.dim),
            f"{row.epsilon:g}",
            f"{row.spent:.4f}",
            f"{row.found.measured:.3f}",
            f"{row.found.bias_z:.1f}",
            f"{row.found.variance_z:.1f}",
            _verdict(row.sound),
        )
    return table


def _gate_table(rows: list[GateRow]) -> Table:
    table = table_of("The whole gate: epsilon charged and proven")
    for heading in ("learner", "mechanism", "owners"):
        table.add_column(heading, no_wrap=heading != "mechanism")
    for heading in ("charged", "two runs", "one run", "best", "verdict"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.learner,
            row.mechanism.replace("_", " ")
            + (f", asked {row.questions}x" if row.questions > 1 else ""),
            row.contrast,
            f"{row.claimed:g}",
            f"{row.proven:.3f}",
            f"{row.one_run:.3f}",
            f"{max(row.proven, row.one_run) / max(row.claimed, 1e-9):.0%}",
            _verdict(row.sound),
        )
    return table


def _verdict(sound: bool) -> str:
    return "sound" if sound else "[bold red]FAILS[/]"


def _draw(found: _Findings, path: Path, screen: Screen) -> None:
    measurements = [
        Measurement("exact, mechanisms", row.epsilon, row.spent) for row in found.mechanisms
    ]
    measurements += [
        Measurement("proven, mechanisms", row.epsilon, row.found.measured)
        for row in found.mechanisms
    ]
    measurements += [
        Measurement("proven, gate in two runs", row.claimed, row.proven) for row in found.gate
    ]
    measurements += [
        Measurement("proven, gate in one run", row.claimed, row.one_run) for row in found.gate
    ]
    if not measurements:
        screen.note("no picture: neither mechanisms nor gate were audited")
        return
    try:
        draw_audit(
            measurements,
            "Epsilon claimed and measured; proven values hold with 99.9 % confidence",
            path,
        )
    except ModuleNotFoundError:
        screen.note("no picture: matplotlib is missing; pip install 'tacit[plot]' adds it")
    else:
        screen.tell(picture=path)
        screen.say(f"Picture: {path}")


def _document(found: _Findings, seconds: float) -> dict[str, object]:
    document: dict[str, object] = {"sound": found.sound, "seconds": round(seconds, 1)}
    if found.mechanisms:
        document["mechanisms"] = [
            {
                "mechanism": row.mechanism,
                "dim": row.dim,
                "claimed": row.epsilon,
                "exact": row.spent,
                "proven": row.found.measured,
                "bias_z": row.found.bias_z,
                "variance_z": row.found.variance_z,
                "sound": row.sound,
            }
            for row in found.mechanisms
        ]
    if found.gate:
        document["gate"] = [{**vars(row), "sound": row.sound} for row in found.gate]
        document["coins"] = found.coins
    if found.differences is not None:
        document["non_interference"] = [vars(each) for each in found.differences]
    for part, checks in found.checks.items():
        document[part.value] = [vars(check) for check in checks]
    return document
