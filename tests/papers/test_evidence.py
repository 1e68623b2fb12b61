"""Tables of the evidence are made of rows, and none is older than the code of its rows unless it
says so.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tacit_papers.c.experiment import SiteRow
from tacit_papers.evidence import OLDER, digest_of, golden_beside, read_all, renew, tables_of
from tacit_papers.evidence_benchmarks import BENCHMARKS
from tacit_papers.evidence_tables import TABLES

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
    made, missing = renew(BLANK, SITES, GOLDEN)
    assert not missing
    assert "| ours | 1.8 ± 0.2 | 1.8 ± 0.2 |" in made
    assert "typed" not in made
    assert tables_of(made) == {NAME: (digest_of(NAME, GOLDEN), False)}
    assert made.startswith("before\n")
    assert made.endswith("after\n")


def test_without_rows_a_table_stays_is_named_and_says_that_it_is_older():
    made, missing = renew(BLANK, [], GOLDEN)
    assert missing == [f"{NAME}: SiteRow, dataset mnist, varied epsilon"]
    assert f"| typed |\n\n{OLDER}" in made
    assert renew(made, [], GOLDEN)[0] == made
    assert OLDER not in renew(made, SITES, GOLDEN)[0]


def test_what_the_product_gives_for_fixed_seeds_is_part_of_it():
    case = next(each for each in GOLDEN if each.startswith(TABLES[NAME].golden))
    moved = GOLDEN | {case: {**GOLDEN[case], "guesses": "moved"}}
    assert digest_of(NAME, moved) != digest_of(NAME, GOLDEN)
    assert digest_of("patches", moved) == digest_of("patches", GOLDEN)


def test_a_benchmarks_table_is_made_of_what_it_wrote_and_older_than_its_code(tmp_path, monkeypatch):
    rows = [{"fault": "full disk", "times": 4, "campaigns": 2, "same_model": "yes"}]
    (tmp_path / "faults.json").write_text(json.dumps(rows))
    page = BLANK.replace(NAME, "faults")
    made, missing = renew(page, read_all([tmp_path / "faults.json"]), GOLDEN)
    assert not missing
    assert "| fault | times | campaigns | same model |" in made
    assert "| full disk | 4 | 2 | yes |" in made
    assert tables_of(made) == {"faults": (digest_of("faults", GOLDEN), False)}
    file = tmp_path / "faults.py"
    file.write_text('"""Said otherwise."""\nimport os\nTIMES = 20\n')
    other = replace(BENCHMARKS["faults"], files=(str(file),))
    monkeypatch.setitem(BENCHMARKS, "faults", other)
    before = digest_of("faults", GOLDEN)
    file.write_text("TIMES = 20  # of each\n")
    assert digest_of("faults", GOLDEN) == before
    file.write_text("TIMES = 21\n")
    assert digest_of("faults", GOLDEN) != before
