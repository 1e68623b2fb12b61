"""Seconds of cells: by name, anew from rows, and no part of what is measured."""

import json

import pytest

from tacit_papers import costs
from tacit_papers.registry import PAPERS
from tacit_papers.rows_file import read_blocks
from tacit_papers.runner import run_cells
from tacit_papers.sources import imports_of
from tacit_papers.state import papers_behind
from tests.papers.made import cells


@pytest.fixture
def known(tmp_path, monkeypatch):
    file = tmp_path / "costs.json"
    file.write_text("{}")
    monkeypatch.setattr(costs, "FILE", file)
    costs._known.cache_clear()
    yield file
    costs._known.cache_clear()


def test_a_cell_goes_by_what_was_measured_and_else_by_its_guess(known):
    (cell,) = cells(1)
    assert cell.seconds == cell.cost
    known.write_text(json.dumps({costs.name_of(cell.settings): 7.5}))
    costs._known.cache_clear()
    assert cell.seconds == 7.5


def test_seconds_are_means_over_cells_of_one_name(tmp_path):
    path = tmp_path / "rows.jsonl"
    run_cells(cells(1, 2), path)
    blocks = list(read_blocks(path))
    (name,) = {costs.name_of(block.head["settings"]) for block in blocks}
    times = [block.head["cpu_seconds"] for block in blocks]
    assert costs.mean_seconds(blocks) == {name: max(0.1, round(sum(times) / 2, 1))}


def test_every_cell_of_a_paper_has_a_name_that_is_known():
    made = [cell for paper in PAPERS.values() for cell in paper.cells(False, 1)]
    assert {costs.name_of(cell.settings) for cell in made} <= set(costs._known())
    assert all(cell.seconds > 0 for cell in made)


def test_to_correct_them_voids_no_row():
    assert "tacit_papers.costs" in imports_of("tacit_papers.c.experiment")
    assert "tacit_papers.costs" not in papers_behind(["tacit_papers.c.experiment"])
