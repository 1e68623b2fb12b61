"""Tables of the evidence that benchmarks measure: made of the JSON that each writes below out/, as
the tables of papers are made of rows.

    python -m benchmarks        out/bench.json       python -m benchmarks.growth     out/growth.json
    python -m benchmarks.sizes  out/sizes.json       python -m reliability     out/reliability.json
    python -m benchmarks.service.faults  out/faults.json        ... .load         out/load.json
                                                                ... .siege        out/siege.json
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tacit.render.pages import table_of
from tacit_papers.rows_file import select
from tacit_papers.sources import digest_of_files

ROOT = Path(__file__).parents[3]  # of a clone, where benchmarks are


@dataclass(frozen=True)
class MeasuredRow:
    """One entry of a benchmark's JSON; `benchmark` is the name of its file, `code` a digest of what
    measured it.
    """

    benchmark: str
    values: Mapping[str, Any]
    code: str = ""
    quick: bool = False

    @property
    def unusable(self) -> str:
        """Why nothing can be told from it, if so."""
        return "a quick benchmark decides nothing" if self.quick else ""


@dataclass(frozen=True)
class BenchmarkFile:
    """Where a benchmark writes what it measures for one of the tables below; `code` is a digest of
    the code that measures it. Made before anything is measured: files may change meanwhile.
    """

    path: Path
    table: str
    code: str
    quick: bool = False

    @classmethod
    def begin(cls, path: Path, table: str, quick: bool = False) -> Self:
        path.parent.mkdir(parents=True, exist_ok=True)
        return cls(path, table, digest_of_benchmark(table), quick)

    def write(self, rows: Sequence[Mapping[str, Any]], **setting: Any) -> None:
        """The rows, and what else is to be known of the run; of code that changed meanwhile nothing
        is said.
        """
        code = self.code if self.code == digest_of_benchmark(self.table) else ""
        told = {"code": code, "quick": self.quick, **setting, "rows": list(rows)}
        self.path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def read_benchmark(path: Path) -> list[MeasuredRow]:
    """The entries of a file that a benchmark wrote; those of an earlier version do not say by
    which code.
    """
    found = json.loads(path.read_text(encoding="utf-8"))
    told = found if isinstance(found, dict) else {"rows": found}
    code, quick = told.get("code", ""), told.get("quick", False)
    return [MeasuredRow(path.stem, entry, code, quick) for entry in told["rows"]]


def digest_of_benchmark(table: str) -> str:
    """Of the code that measures a table's rows."""
    return digest_of_files(
        file for pattern in BENCHMARKS[table].files for file in ROOT.glob(pattern)
    )


def _values(rows: Sequence[Any], benchmark: str) -> list[Mapping[str, Any]]:
    found = [row.values for row in select(rows, MeasuredRow, benchmark=benchmark)]
    if not found:
        raise LookupError(f"out/{benchmark}.json")
    return found


def _cell(value: Any) -> str:
    """A value as a table has it.

    >>> _cell(0.123456), _cell(12345), _cell(12345.6), _cell("yes")
    ('0.123', '12,345', '12,346', 'yes')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if value >= 1000 else (
        f"{value:.3g}"
    )  # fmt: skip


def as_it_is(benchmark: str) -> Callable[[Sequence[Any]], str]:
    """All entries under their names."""

    def make(rows: Sequence[Any]) -> str:
        found = _values(rows, benchmark)
        heads = [name.replace("_", " ") for name in found[0]]
        return table_of(heads, [tuple(map(_cell, each.values())) for each in found])

    return make


def speed(rows: Sequence[Any]) -> str:
    """What has a goal: how it was met."""
    lines = []
    for each in _values(rows, "bench"):
        verdict = each["verdict"]
        if verdict is not None:
            plain = {"benchmark", "table", "name", "verdict"}
            told = "; ".join(
                f"{name.replace('_', ' ')} {_cell(value)}"
                for name, value in each.items()
                if name not in plain
            )
            met = "yes" if verdict["met"] else "no"
            lines.append((each["table"], each["name"], told, verdict["goal"], met))
    return table_of(("benchmark", "what", "measured", "goal", "met"), lines)


def reliability(rows: Sequence[Any]) -> str:
    """What was tried, and what must be 0."""
    lines = [
        (each["tried"], "; ".join(each["faults"]), _cell(sum(each["faults"].values())))
        for each in _values(rows, "reliability")
    ]
    return table_of(("tried", "must be 0", "found"), lines)


@dataclass(frozen=True)
class BenchmarkTable:
    """How a table is made, and the files of the repository (patterns of them) whose code measures
    its rows.
    """

    make: Callable[[Sequence[Any]], str]
    files: tuple[str, ...]


BENCHMARKS: dict[str, BenchmarkTable] = {
    "speed": BenchmarkTable(
        speed,
        tuple(
            f"benchmarks/{name}.py"
            for name in (
                "speed",
                "memory",
                "privunit",
                "mechanisms",
                "boosting",
                "refining",
                "proofs",
                "liars",
            )
        ),
    ),
    "growth": BenchmarkTable(as_it_is("growth"), ("benchmarks/growth.py",)),
    "growth over workers": BenchmarkTable(as_it_is("workers"), ("benchmarks/growth.py",)),
    "sizes": BenchmarkTable(
        as_it_is("sizes"), ("benchmarks/sizes.py", "benchmarks/sizes_child.py")
    ),
    "reliability": BenchmarkTable(reliability, ("reliability/*.py",)),
    "faults": BenchmarkTable(
        as_it_is("faults"), ("benchmarks/service/faults.py", "benchmarks/service/troubles.py")
    ),
    "load": BenchmarkTable(
        as_it_is("load"), ("benchmarks/service/load.py", "benchmarks/service/crowd.py")
    ),
    "siege": BenchmarkTable(as_it_is("siege"), ("benchmarks/service/siege.py",)),
}
