"""Tables of the evidence are made of rows, and none is older than the code of its rows unless it
says so.
"""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import pytest

from tacit_papers import evidence_benchmarks
from tacit_papers.c.experiment import SiteRow
from tacit_papers.evidence import OLDER, digest_of, golden_beside, read_all, renew, tables_of
from tacit_papers.evidence_benchmarks import BENCHMARKS, BenchmarkFile
from tacit_papers.evidence_tables import TABLES
from tacit_papers.registry import PAPERS
from tacit_papers.rows_file import Block, CellRow, line_of
from tacit_papers.state import State, state_of

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    DOCS / "evidence.md",
    DOCS.parent / "README.md",
    *(DOCS / "explanation" / f"{name}.md" for name in ("papers", "trust")),
]
GOLDEN = golden_beside(PAGES[0])
NAME = "paper C, mnist"
BLANK = f"before\n<!-- table: {NAME}; code 000000 -->\n| typed |\n<!-- end of table -->\nafter\n"
SITES = [
    SiteRow("mnist", "epsilon", epsilon, 788, 10, "ours", 0.018, 0.002, 10, "")
    for epsilon in (0.025, 0.25)
]
MODULE = "tacit_papers.c.experiment"


@cache
def present():
    """The state of the sources: it takes seconds to read them all."""
    return state_of(MODULE)


def block(rows, state=None, number=1, quick=False):
    """Rows as a cell of paper C leaves them."""
    settings = {"cell": "SiteCell", "paper": "c", "number": number, "quick": quick}
    state = state or present()
    head = CellRow(
        digest=str(number),
        settings=settings,
        runs=10,
        seed=1,
        versions={},
        module=MODULE,
        code=state.code,
        golden=state.golden,
        rows=len(rows),
    )
    lines = tuple(line_of(row) for row in (head, *rows))
    return Block(asdict(head), lines, tuple(rows))


def _on_pages():
    return {
        (page.name, name): state
        for page in PAGES
        for name, state in tables_of(page.read_text()).items()
    }


def test_no_table_of_measured_rows_is_typed():
    page = PAGES[0].read_text()
    assert set(tables_of(page)) <= {*TABLES, *BENCHMARKS}
    typed = re.sub(r"<!-- table: .*?<!-- end of table -->", "", page, flags=re.DOTALL)
    assert "|---" not in typed


def test_no_measured_figure_of_a_paper_is_typed_into_a_sentence():
    """Those that are settings follow the word epsilon."""
    evidence = PAGES[0].read_text()
    papers = evidence[evidence.index("## The papers again") : evidence.index("## Speed, memory")]
    for page in (papers, (DOCS / "explanation" / "papers.md").read_text()):
        typed = re.sub(r"<!-- table: .*?<!-- end of table -->", "", page, flags=re.DOTALL)
        assert re.findall(r"(?<!epsilon )\b\d+\.\d+ (?:→|%|±)", typed) == []


@pytest.mark.parametrize(("page", "name"), _on_pages())
def test_a_table_is_of_the_code_as_it_is_or_says_that_it_is_older(page, name):
    """Else: measure again (`tacit reproduce all`, `ahead`, `trees`), then `python -m
    tacit_papers.evidence PAGE ROWS...`; without rows that command says which tables are older.
    """
    digest, older = _on_pages()[page, name]
    assert (digest != digest_of(name, GOLDEN)) == older


def test_a_table_is_what_rows_say():
    made, notes = renew(BLANK, [block(SITES)], GOLDEN)
    assert not notes
    assert "| ours | 1.8 ± 0.2 | 1.8 ± 0.2 |" in made
    assert "typed" not in made
    assert tables_of(made) == {NAME: (digest_of(NAME, GOLDEN), False)}
    assert made.startswith("before\n")
    assert made.endswith("after\n")


def test_without_rows_a_table_stays_is_named_and_says_that_it_is_older():
    made, notes = renew(BLANK, [], GOLDEN)
    assert notes == [
        f"{NAME}: left as it was: rows are missing: SiteRow, dataset mnist, varied epsilon"
    ]
    assert f"| typed |\n\n{OLDER}" in made
    assert renew(made, [], GOLDEN)[0] == made
    assert OLDER not in renew(made, [block(SITES)], GOLDEN)[0]


STATES: dict[str, Callable[[State], State]] = {
    "other code of the papers": lambda now: replace(
        now, code={**now.code, "tacit_papers.c.methods": "000000000000"}
    ),
    "code that is gone": lambda now: replace(now, code={**now.code, "tacit_papers.c.gone": "0"}),
    "code that changed while it ran": lambda now: replace(now, code=dict.fromkeys(now.code, "")),
    "code that is not known": lambda now: replace(now, code={}),
    "other sites": lambda now: replace(now, golden={**now.golden, "fit sites logistic": "0"}),
    "sites that changed while it ran": lambda now: replace(
        now, golden={**now.golden, "fit sites logistic": ""}
    ),
    "no clone": lambda now: replace(now, golden={}),
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_a_table_of_rows_of_another_state_says_that_it_is_older(state):
    other = state(present())
    made, notes = renew(BLANK, [block(SITES, other)], GOLDEN)
    assert "| ours | 1.8 ± 0.2 | 1.8 ± 0.2 |" in made
    assert f"|\n\n{OLDER}" in made
    assert notes == [f"{NAME}: some of its rows are of another state of the code"]
    digest, older = tables_of(made)[NAME]
    assert older
    assert digest != digest_of(NAME, GOLDEN)
    assert renew(made, [block(SITES, other)], GOLDEN)[0] == made


def test_rows_that_do_not_say_what_measured_them_are_older():
    known = block(SITES)
    head = {name: known.head[name] for name in known.head if name not in {"module", "code"}}
    made, notes = renew(BLANK, [replace(known, head=head)], GOLDEN)
    assert OLDER in made
    assert len(notes) == 1


def test_rows_survive_what_moves_elsewhere():
    """Files of the product that give the same, cases that the table does not depend on, and those
    that have come since.
    """
    assert not any(name.split(".")[0] == "tacit" for name in present().code)
    assert {"tacit_papers.c.experiment", "tacit_papers.c.methods"} < set(present().code)
    moved = {**present().golden, "campaign sites": "0", "fit peers turns": "0"}
    del moved["fit sites logistic"]
    made, notes = renew(BLANK, [block(SITES, replace(present(), golden=moved))], GOLDEN)
    assert not notes
    assert OLDER not in made


def test_a_table_of_the_present_state_is_not_replaced_by_an_older_one():
    new, _ = renew(BLANK, [block(SITES)], GOLDEN)
    other = [replace(row, mean=0.5) for row in SITES]
    made, notes = renew(new, [block(other, STATES["other sites"](present()))], GOLDEN)
    assert made == new
    assert notes == [f"{NAME}: left as it was: some of its rows are of another state of the code"]


def test_what_was_measured_again_stands_for_itself():
    other = [replace(row, mean=0.5) for row in SITES]
    older = STATES["other sites"](present())
    made, notes = renew(BLANK, [block(SITES), block(other, older)], GOLDEN)
    assert not notes
    assert "| ours | 1.8 ± 0.2 | 1.8 ± 0.2 |" in made
    beside = block([replace(row, dataset="covertype") for row in other], older, number=2)
    assert not renew(BLANK, [block(SITES), beside], GOLDEN)[1]
    line = block([replace(row, method="average") for row in other], older, number=2)
    made, notes = renew(BLANK, [block(SITES), line], GOLDEN)
    assert notes == [f"{NAME}: some of its rows are of another state of the code"]
    assert "average" in made
    assert OLDER in made


def test_no_table_is_made_of_quick_rows(tmp_path):
    quick, other = tmp_path / "quick.jsonl", tmp_path / "rows.jsonl"
    quick.write_text("".join(block(SITES, quick=True).lines))
    other.write_text("".join(block(SITES).lines).replace("runs", "times"))
    found, notes = read_all([quick, other])
    assert not found
    assert notes[0] == f"{quick}: left out 1 of 1: quick cells decide nothing"
    assert notes[1].startswith(f"{other}: left out 1 of 1: rows must have the fields of SiteRow")


def test_rows_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(block(SITES).lines))
    found, notes = read_all([path])
    assert not notes
    assert renew(BLANK, found, GOLDEN) == renew(BLANK, [block(SITES)], GOLDEN)


def test_claims_are_counted_when_every_cell_has_been_measured():
    """A claim without rows would pass as unchecked."""
    page = BLANK.replace(NAME, "claims")
    _, notes = renew(page, [block(SITES)], GOLDEN)
    cells = PAPERS["a"].cells(False, 1)
    assert notes == [
        f"claims: left as it was: rows are missing: {len(cells)} of {len(cells)} cells of paper A"
    ]


@pytest.mark.parametrize(
    ("case", "part", "table"),
    [
        ("fit sites logistic", "guesses", NAME),
        ("mechanism duchi", "box", "paper A"),
        ("mechanism piecewise", "ball totals", "readings A"),
        ("plans", "1000", "plan"),
    ],
)
def test_what_the_product_gives_for_fixed_seeds_is_part_of_it(case, part, table):
    moved = {**GOLDEN, case: {**GOLDEN[case], part: "moved"}}
    assert digest_of(table, moved) != digest_of(table, GOLDEN)
    assert digest_of("patches", moved) == digest_of("patches", GOLDEN)


def test_a_benchmarks_table_is_made_of_what_it_wrote_and_older_than_its_code(tmp_path, monkeypatch):
    rows = [{"fault": "full disk", "times": 4, "campaigns": 2, "same_model": "yes"}]
    path, page = tmp_path / "faults.json", BLANK.replace(NAME, "faults")
    BenchmarkFile.begin(path, "faults").write(rows)
    made, notes = renew(page, read_all([path])[0], GOLDEN)
    assert not notes
    assert "| fault | times | campaigns | same model |" in made
    assert "| full disk | 4 | 2 | yes |" in made
    assert tables_of(made) == {"faults": (digest_of("faults", GOLDEN), False)}
    path.write_text(json.dumps(rows))
    made, notes = renew(page, read_all([path])[0], GOLDEN)
    assert "| full disk | 4 | 2 | yes |" in made
    assert OLDER in made
    assert notes == ["faults: some of its rows are of another state of the code"]
    file = tmp_path / "faults.py"
    file.write_text('"""Said otherwise."""\nimport os\nTIMES = 20\n')
    other = replace(BENCHMARKS["faults"], files=("faults.py",))
    monkeypatch.setitem(BENCHMARKS, "faults", other)
    monkeypatch.setattr(evidence_benchmarks, "ROOT", tmp_path)
    writer = BenchmarkFile.begin(path, "faults")
    writer.write(rows)
    file.write_text("TIMES = 20  # of each\n")
    assert OLDER not in renew(page, read_all([path])[0], GOLDEN)[0]
    file.write_text("TIMES = 21\n")
    assert OLDER in renew(page, read_all([path])[0], GOLDEN)[0]
    writer.write(rows)
    assert not json.loads(path.read_text())["code"]


def test_no_table_is_made_of_a_quick_benchmark(tmp_path):
    path = tmp_path / "reliability.json"
    BenchmarkFile.begin(path, "reliability", quick=True).write([{"tried": "a little"}])
    assert read_all([path]) == (
        [],
        [f"{path}: left out 1 of 1: a quick benchmark decides nothing"],
    )


def test_every_benchmarks_code_is_where_its_table_looks_for_it():
    for name, table in BENCHMARKS.items():
        for pattern in table.files:
            assert list(evidence_benchmarks.ROOT.glob(pattern)), (name, pattern)
