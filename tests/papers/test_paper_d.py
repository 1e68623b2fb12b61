"""Paper D again, quickly: rows, their seeds, their pictures, and the deal of unequal
participants.
"""

import json
from html import escape

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.learners.peers.own_model import say
from tacit.mechanisms.streams import seeded
from tacit.render.pages import page_of
from tacit_papers.d.edge import EdgeCell, EdgeRow
from tacit_papers.d.events import EVENTS, EventRow
from tacit_papers.d.experiment import CONTESTANTS, EventCell, PeerCell, PeerRow, cells_d
from tacit_papers.d.report import report_d
from tacit_papers.d.tasks import DATASETS, PUBLIC, deal, load_task, make_up
from tacit_papers.evidence import rows_of
from tacit_papers.registry import KINDS
from tacit_papers.rows_file import read_blocks

COMMAND = ["reproduce", "d", "--quick", "--processes", "1", "--out"]


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """The command's folder, and what it says."""
    place = tmp_path_factory.mktemp("reproduced")
    result = CliRunner().invoke(app, [*COMMAND, str(place)])
    assert result.exit_code == 0, result.output
    return place, result.output


@pytest.fixture(scope="module")
def rows(reproduced):
    return rows_of(list(read_blocks(reproduced[0] / "rows.jsonl", KINDS)))


def test_the_command_shows_measured_beside_published(reproduced):
    place, output = reproduced
    for word in (
        "accuracy in % by epsilon",
        "(unsound)",
        "peers in turns",
        "left it out",
        "could not be checked",
    ):
        assert word in " ".join(output.split())  # titles are as wide as their tables
    kept = (place / "rows.jsonl").read_text()
    assert kept.count("\n") > 50
    assert len(list((place / "paper_d" / "pictures").glob("*.png"))) >= 2
    for name in ("report.html", "report.md"):
        text = (place / "paper_d" / name).read_text()
        assert "tacit reproduce d --quick --seed 1" in text
        assert "Published claims" in text
    claims = [json.loads(line) for line in (place / "claims.jsonl").read_text().splitlines()]
    assert {claim["paper"] for claim in claims} == {"d"}
    assert f"paper D: Of {len(claims)} published claims " in output


def test_what_is_on_disk_is_not_run_again(reproduced):
    place, _ = reproduced
    kept = (place / "rows.jsonl").read_text()
    with pytest.MonkeyPatch.context() as patch:
        for kind in (EdgeCell, EventCell, PeerCell):
            patch.setattr(kind, "rows", lambda cell: pytest.fail(f"{cell} was run again"))
        assert CliRunner().invoke(app, [*COMMAND, str(place)]).exit_code == 0
    assert (place / "rows.jsonl").read_text() == kept


def test_every_method_is_there(rows):
    peers = [row for row in rows if isinstance(row, PeerRow)]
    assert {row.method for row in peers} == {contestant.name for contestant in CONTESTANTS}
    assert len(peers) == 4 + 10 * 3 + 3 * 2 + 2 * 3  # some over rounds, some after one
    for row in peers:
        assert all(value is None or 0.5 < value < 1 for value in (row.own, row.served))
        assert (row.own, row.served) != (None, None)


def test_what_leaks_is_marked_and_serves_nothing(rows):
    for row in rows:
        if isinstance(row, PeerRow):
            assert bool(row.unsound) == ("as published" in row.method)
            assert not (row.unsound and row.served is not None)


def test_turns_are_above_the_majority_and_below_all_rows_together(rows):
    found = {
        (row.method, row.epsilon): row
        for row in rows
        if isinstance(row, PeerRow) and row.rounds == 10
    }
    names = "majority class", "all rows together, no privacy", "peers in turns"
    low, high, turns = (
        found[name, epsilon].served for name, epsilon in zip(names, (None, None, 0.3), strict=True)
    )
    assert low is not None
    assert high is not None
    assert turns is not None
    assert low + 0.03 < turns < high


def test_events_are_there(rows):
    events = {(row.method, row.event): row for row in rows if isinstance(row, EventRow)}
    assert set(events) == {(method, event) for method in ("turns", "stumps") for event in EVENTS}
    assert events["turns", "one is poisoned"].left_out > 0.6 > events["turns", "nothing"].left_out
    assert events["turns", "one leaves"].left_out == 0


def test_a_seed_says_everything(rows):
    def first(seed):
        return [row for cell in cells_d(True, seed)[:4] for row in cell.rows()]

    assert all(row in rows for row in first(1))
    assert not all(row in rows for row in first(2))


def test_the_report_shows_every_method_and_event(rows):
    peers = [row for row in rows if isinstance(row, PeerRow)]
    events = [row for row in rows if isinstance(row, EventRow)]
    document = report_d(rows)
    text = page_of(document)
    assert all(escape(row.method) in text for row in peers)
    assert all(row.event in text for row in events)
    served, own = list(document.charts)[:2]
    for chart, name in ((served, "served"), (own, "own")):
        (line,) = [line for line in chart.lines if line.name == "peers in turns"]
        wanted = {
            row.epsilon: row for row in peers if (row.method, row.rounds) == ("peers in turns", 10)
        }
        assert line.y == tuple(100 * getattr(wanted[epsilon], name) for epsilon in line.x)
    assert "random stumps, as published (unsound)" in {line.name for line in own.lines}


def test_participants_are_unequal_and_nobody_is_tested_on_its_own_rows():
    task = make_up("adult")
    trial = deal(task, seeded(1))
    assert len(trial.cohort) == 10
    assert trial.cohort.sizes.min() >= 1
    assert trial.cohort.sizes.max() > 2 * trial.cohort.sizes.min()
    assert len(trial.y_public) == len(trial.X_public) == PUBLIC
    assert PUBLIC + len(trial.y_test) + trial.cohort.sizes.sum() == len(task.y)
    assert PUBLIC + len(trial.y_test) == round(0.3 * len(task.y))
    assert (deal(task, seeded(2)).cohort.sizes != trial.cohort.sizes).any()


def test_by_eq_10_nobody_is_outvoted_by_all_others_together():
    """So what is shared changes no vote: the proof that stands beside the claims that differ."""
    rng = np.random.default_rng(4)
    for count in (2, 3, 10, 50):
        for spread in (0.2, 1.0, 20.0):
            parts = rng.dirichlet(np.full(count, spread)) + 1e-6
            shares = dict(enumerate((parts / parts.sum()).tolist()))
            for me in shares:
                others = sum(say(other, me, shares) for other in shares if other != me)
                assert say(me, me, shares) >= 1 > others


def test_unknown_data_sets_are_refused():
    with pytest.raises(ValueError, match="data set must be one of"):
        load_task("cifar", quick=True)
    assert set(DATASETS) == {"adult", "gss"}


def test_what_a_participant_pays_grows_with_rounds_and_not_with_rows(rows):
    usual, fewer, narrower, longer, _ = [row for row in rows if isinstance(row, EdgeRow)][:5]
    assert (fewer.rows, longer.rounds) == (usual.rows // 4, 4 * usual.rounds)
    assert narrower.attributes == usual.attributes // 2
    assert fewer.sent == usual.sent
    assert 2 * usual.sent < longer.sent < 8 * usual.sent
    assert usual.heard == usual.sent * (usual.participants - 1)
    assert usual.installed > 10
    section = next(each for each in report_d(rows).sections if "participant pays" in each.title)
    assert "megabytes" in section.text
