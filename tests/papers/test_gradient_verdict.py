"""Where trees win: the table that says so."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit_papers.ours.trees import DATASETS, TreeRow, TreeRun, cells_trees, rows_trees

TREES = ("1 of depth 2", "3 of depth 2", "4 of depth 3")


def test_the_table_and_what_is_on_disk_is_not_run_again(tmp_path, monkeypatch):
    command = ["reproduce", "trees", "--quick", "--processes", "1", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "of 1 settings" in done.output
    kept = (tmp_path / "rows.jsonl").read_text()
    assert kept.count('"CellRow"') == 2
    monkeypatch.setattr("tacit_papers.ours.trees._accuracies", None)
    again = CliRunner().invoke(app, [*command, "--json"])
    assert again.exit_code == 0, again.output
    assert len(json.loads(again.stdout)["rows"]) == 1
    assert (tmp_path / "rows.jsonl").read_text() == kept


def test_settings_are_judged_from_two_runs_on():
    names = ("public only", "default", "private only")
    grown = [f"trees {start}, {tree}" for start in ("alone", "on public") for tree in TREES]
    base = TreeRun("adult", 10, 4, 1.0, 50, 0, "default", 0.8)
    found = [replace(base, method=name) for name in (*names, *grown)]
    assert rows_trees(found) == []
    found += [
        replace(each, run=1, accuracy=0.9 if each.method == grown[1] else 0.8) for each in found
    ]
    (row,) = rows_trees(found)
    assert (row.runs, row.trees_alone_growth) == (2, TREES[1])
    assert (row.trees_alone, row.difference, row.difference_error) == pytest.approx(
        (0.85, 0.05, 0.05)
    )
    assert not row.wins


def test_the_cells_are_those_that_were_published():
    assert (
        len({cell.digest for cell in cells_trees(False, 1, DATASETS)}) == len(DATASETS) * 2 * 2 * 3
    )


@pytest.mark.parametrize(("difference", "wins"), [(0.01, True), (0.001, False), (-0.01, False)])
def test_a_win_is_more_than_noise(difference, wins):
    row = TreeRow(
        "t", 1, 1, 1.0, 50, 3, 0.7, 0.8, 0.6, 0.75, "", 0.8 + difference, "", difference, 0.001
    )
    assert row.wins == wins
