"""The runner: cells in several processes, kept one by one, gone on with after a stop."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import active_children

import pytest

from tacit_papers import runner as module
from tacit_papers import state
from tacit_papers.ours.break_even import cells_ahead
from tacit_papers.rows_file import EARLIER, CellRow, read_blocks, read_rows, write_rows
from tacit_papers.runner import run_cells, versions
from tacit_papers.sources import code_digests, digest_of_sources, is_as_read
from tacit_papers.state import code_behind, digests_of, golden_of_product
from tests.papers.made import NumberRow, cells

PROGRAM = """
import sys
from pathlib import Path
from tacit_papers.runner import run_cells
from tests.papers.made import cells
if __name__ == '__main__':
    run_cells([*cells(1), *cells(2, waits=sys.argv[2])], Path(sys.argv[1]), processes=2)
"""


def numbers(path):
    return [row.number for row in read_rows(path, [NumberRow])]


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_rows_follow_a_head_that_says_everything(tmp_path):
    path = tmp_path / "deep" / "rows.jsonl"
    assert run_cells(cells(7), path) == []
    head, *rows = read_rows(path, [CellRow, NumberRow])
    assert isinstance(head, CellRow)
    assert (head.rows, head.runs, head.seed) == (2, 2, 1)
    assert head.versions == {**versions(), "sources": digest_of_sources("tests.papers.made")}
    assert (head.module, head.code, head.golden) == (
        "tests.papers.made",
        code_behind("tests.papers.made"),
        digests_of(golden_of_product()),
    )
    assert "tests.papers.made" in head.code
    assert "fit sites logistic" in head.golden
    assert head.settings["number"] == 7
    assert head.settings["paper"] == "z"
    assert 0 <= head.cpu_seconds < 1
    assert rows == [NumberRow(7, os.getpid())] * 2


def test_what_is_done_is_not_done_again(tmp_path):
    path, heard = tmp_path / "rows.jsonl", []
    run_cells(cells(1), path)
    before = path.read_text()
    run_cells(cells(1, 2), path, progress=lambda *step: heard.append(step))
    assert path.read_text().startswith(before)
    assert numbers(path) == [1, 1, 2, 2]
    assert [step[:2] for step in heard] == [(1.0, 2.0), (2.0, 2.0)]


def test_a_data_set_is_loaded_once_and_the_longest_cells_come_first():
    sets, costs = ("few", "many", "few", "many", "few"), (1, 9, 3, 2, 3)
    made = [
        replace(cell, dataset=dataset, cost=cost)
        for cell, dataset, cost in zip(cells(1, 2, 3, 4, 5), sets, costs, strict=True)
    ]
    assert [cell.number for cell in module.in_order(made)] == [2, 4, 3, 5, 1]


def test_first_runs_of_everything_come_first():
    order = module.in_order(cells_ahead(quick=False, seed=1, datasets=("adult", "pnad")))
    runs = [getattr(cell, "run", 0) for cell in order]
    assert runs == sorted(runs)
    assert max(runs) > 0


def test_other_settings_other_seeds_and_other_sources_are_measured_again(monkeypatch):
    (cell,) = cells(1)
    others = replace(cell, seed=2), replace(cell, runs=3), replace(cell, number=2)
    assert len({cell.digest, *(other.digest for other in others)}) == 4
    assert replace(cell, cost=9.0).digest == cell.digest
    known = cell.digest
    monkeypatch.setattr(module, "versions", lambda: {"sources": "others"})
    assert cell.digest != known


def test_cells_of_other_settings_are_put_aside_unless_they_are_named(tmp_path):
    path = tmp_path / "rows.jsonl"
    run_cells(cells(1, 2, 3), path)
    run_cells(cells(4), path, others=cells(2))
    assert sorted(numbers(path)) == [2, 2, 4, 4]
    assert numbers(tmp_path / EARLIER) == [1, 1, 3, 3]
    run_cells(cells(5), path)
    assert numbers(tmp_path / EARLIER) == [1, 1, 3, 3, 2, 2, 4, 4]


def test_a_cell_says_nothing_of_what_changed_while_it_ran(tmp_path, monkeypatch):
    """Files and golden cases may be edited or merged meanwhile: what measured it is a mixture."""
    path, clone = tmp_path / "rows.jsonl", tmp_path / "clone"
    golden = clone / state.FILE
    golden.parent.mkdir(parents=True)
    golden.write_text(json.dumps({"fit sites": {"guesses": "1"}, "plans": {"1000": "2"}}))
    monkeypatch.setattr(state, "_CLONE", clone)

    def meanwhile(done, total, what):
        golden.write_text(json.dumps({"fit sites": {"guesses": "1"}, "plans": {"1000": "3"}}))
        monkeypatch.setattr(state, "is_as_read", lambda name: not name.endswith("made"))

    before = digests_of(golden_of_product())
    run_cells(cells(1), path, progress=meanwhile)
    (head,) = read_rows(path, [CellRow])
    assert head.golden == {**before, "plans": ""}
    assert head.code == {**code_behind("tests.papers.made"), "tests.papers.made": ""}
    golden.unlink()
    run_cells(cells(2), path)
    assert next(read_rows(path, [CellRow])).golden == {}


def test_a_module_is_as_it_was_read_until_it_does_something_else(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "once_read"
    package.mkdir()
    (package / "__init__.py").touch()
    file = package / "cell.py"
    file.write_text("ONE = 1\n")
    assert set(code_digests(["once_read.cell"])) == {"once_read.cell"}
    assert is_as_read("once_read.cell")
    file.write_text("# why\nONE = 1\n")
    assert is_as_read("once_read.cell")
    file.write_text("ONE = 2\n")
    assert not is_as_read("once_read.cell")
    file.write_text("ONE = \n")
    assert not is_as_read("once_read.cell")
    file.unlink()
    assert not is_as_read("once_read.cell")


def test_rows_of_another_version_of_another_paper_stop_nobody(tmp_path):
    """Their cells are not run again here, and not read."""
    path = tmp_path / "rows.jsonl"
    run_cells(cells(1), path)
    other = path.read_text().replace('"paper": "z"', '"paper": "y"')
    path.write_text(other.replace("process", "thread"))
    run_cells(cells(2), path)
    first, second = read_blocks(path, [NumberRow])
    assert first.problem
    assert not first.rows
    assert [row.number for row in second.rows] == [2, 2]
    path.write_text(other.replace("versions", "editions"))
    run_cells(cells(2), path)
    assert numbers(path) == [2, 2]


@pytest.mark.parametrize("torn", [1, 40, 500])
def test_a_cell_torn_by_a_kill_is_measured_again(tmp_path, torn):
    path = tmp_path / "rows.jsonl"
    run_cells(cells(1, 2), path)
    path.write_bytes(path.read_bytes()[:-torn])
    run_cells(cells(1, 2), path)
    assert numbers(path) == [1, 1, 2, 2]
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_missing_data_stops_nobody_else(tmp_path):
    path = tmp_path / "rows.jsonl"
    (problem,) = run_cells([*cells(1, missing=True), *cells(2)], path)
    assert problem.startswith("paper Z, Fig. 1, made up: ")
    assert numbers(path) == [2, 2]


def test_an_error_is_raised_when_the_others_are_done(tmp_path):
    path = tmp_path / "rows.jsonl"
    (wrong,) = cells(1)
    with pytest.raises(ArithmeticError, match="no such number") as caught:
        run_cells([replace(wrong, fails=True), *cells(2)], path)
    assert "'number': 1" in caught.value.__notes__[0]
    assert numbers(path) == [2, 2]


def test_a_worker_that_dies_is_an_error_and_the_rest_is_kept(tmp_path):
    path = tmp_path / "rows.jsonl"
    run_cells(cells(1), path)
    with pytest.raises(BrokenProcessPool):
        run_cells([*cells(1), *cells(2, 3, kills=True)], path, processes=2)
    assert numbers(path) == [1, 1]


def test_ctrl_c_keeps_what_is_done_and_ends_the_workers(tmp_path):
    path, flag = tmp_path / "rows.jsonl", tmp_path / "waiting"
    waiting = [*cells(1), *cells(2, waits=str(flag))]

    def interrupt(done, total, what):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells(waiting, path, 2, interrupt)
    (row,) = set(read_rows(path, [NumberRow]))
    assert row.number == 1
    assert row.process != os.getpid()
    # Two threads may wait for a child; the one that comes second never learns that it ended. The
    # system knows.
    deadline = time.monotonic() + 30
    while any(alive(child.pid) for child in active_children()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_kill_leaves_nobody_behind_and_the_next_run_goes_on(tmp_path):
    path, flag = tmp_path / "rows.jsonl", tmp_path / "waiting"
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(script), str(path), str(flag)]
    deadline = time.monotonic() + 240
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        while (
            not (flag.exists() and path.exists() and numbers(path)) and time.monotonic() < deadline
        ):
            time.sleep(0.05)
        process.kill()
    assert numbers(path) == [1, 1]
    while time.monotonic() < deadline and _group(process.pid):
        time.sleep(0.05)
    assert not _group(process.pid)
    run_cells([*cells(1), *cells(2, waits=str(flag))], path)
    assert numbers(path) == [1, 1, 2, 2]


def _group(leader):
    """Whether anybody of the process group is left."""
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True


def test_rows_of_another_version_say_so(tmp_path):
    path = tmp_path / "rows.jsonl"
    write_rows([NumberRow(1, 2)], path)
    path.write_text(path.read_text().replace("process", "thread"))
    with pytest.raises(ValueError, match=r"they differ in \['process', 'thread'\]"):
        list(read_rows(path, [NumberRow]))
