"""Tables of the evidence are made of rows, and none is older than the code of its rows."""

from pathlib import Path

import pytest

from tacit_papers.c.experiment import SiteRow
from tacit_papers.evidence import TABLES, digest_of, renew, tables_of

PAGE = (Path(__file__).parents[2] / "docs" / "evidence.md").read_text(encoding="utf-8")
BLANK = "before\n<!-- table: paper C; code 000000 -->\n| typed |\n<!-- end of table -->\nafter\n"


def test_the_page_has_tables_that_are_made():
    assert {"claims", "paper A"} <= set(tables_of(PAGE)) <= set(TABLES)


@pytest.mark.parametrize("name", tables_of(PAGE))
def test_no_table_is_older_than_the_code_of_its_rows(name):
    """Else: measure again (`tacit reproduce all`), then
    `python -m tacit_papers.evidence out/papers/rows.jsonl docs/evidence.md`.
    """
    assert tables_of(PAGE)[name] == digest_of(name)


def test_a_table_is_what_rows_say():
    rows = [
        SiteRow("mnist", "epsilon", epsilon, 788, 10, "ours", 0.018, 0.002, 10, "")
        for epsilon in (0.025, 0.25)
    ]
    made, missing = renew(BLANK, rows)
    assert not missing
    assert "| ours | 1.8 ± 0.2 | 1.8 ± 0.2 |" in made
    assert "typed" not in made
    assert tables_of(made) == {"paper C": digest_of("paper C")}
    assert made.startswith("before\n")
    assert made.endswith("after\n")


def test_without_rows_a_table_stays_and_is_named():
    made, missing = renew(BLANK, [])
    assert made == BLANK
    assert missing == ["paper C: sites on mnist"]
