"""Ctrl-C keeps what is done, in every command, and says so; the exit status is 130."""

import os
import signal
import subprocess
import sys

import pytest

import tacit
from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.audit.mechanisms import epsilon_in_use
from tacit.cli._fit_report import Evaluation
from tacit.engines.inline import Inline
from tacit_papers.ours import trees
from tests.cli.made import family_files
from tests.cli.spoken import document, run_program


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("people")
    family_files(made)
    return made


@pytest.fixture
def program(folder, tmp_path, monkeypatch, capfd):
    """The program in a folder with made-up people; models go to a fresh folder."""
    monkeypatch.chdir(folder)

    def run(text):
        return run_program(text.format(out=tmp_path).split(), monkeypatch, capfd)

    return run


def ctrl_c_at(number, function):
    """The same function, in whose call of this number somebody presses Ctrl-C."""
    calls = []

    def watched(*given, **named):
        calls.append(1)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGINT)
        return function(*given, **named)

    return watched


TOWNS = 4  # participants: rows without a town are one of their own
FIT = (
    "fit people.csv --label rich --public mine.csv --leave-out family --seed 1 --json --out "
    "{out}/m.tacit "
)


def test_rounds_that_are_done_are_the_model(program, tmp_path, monkeypatch):
    rounds = "--method boosting --learner centroid --rounds 6 --epsilon 8"
    monkeypatch.setattr(Inline, "ask", ctrl_c_at(3, Inline.ask))
    said, lines, status = program(FIT + rounds)
    assert status == 130
    assert "stopping when this round is done" in lines
    found = document(said)
    assert (
        found["stopped"]
        == f"stopped: the model is in {tmp_path}/m.tacit; it stopped after 3 of 6 rounds"
    )
    model = tacit.load(tmp_path / "m.tacit")
    assert len(model.ensemble_) == 3
    assert model.ended_ == "stopped after 3 of 6 rounds"


def test_a_round_that_was_the_last_is_a_whole_model(program, tmp_path, monkeypatch):
    """The one round of the classifier is finished: what was asked is not thrown away."""
    monkeypatch.setattr("tacit.algorithms.outlook.Outlook.why_not", "")
    monkeypatch.setattr(Inline, "ask", ctrl_c_at(1, Inline.ask))
    said, _, status = program(FIT + "--epsilon 8 --rounds 1")
    assert status == 130
    assert document(said)["stopped"] == f"stopped: the model is in {tmp_path}/m.tacit; it is whole"
    assert tacit.load(tmp_path / "m.tacit").ended_ == "1 round"


@pytest.mark.parametrize(("listen_to", "before"), [("everybody", 0), ("alike", TOWNS)])
def test_turns_that_were_taken_are_the_model(program, tmp_path, monkeypatch, listen_to, before):
    """Where participants listen to those that are alike, all are asked once before their turns."""
    monkeypatch.setattr(Inline, "ask", ctrl_c_at(before + 2, Inline.ask))
    peers = f"--method peers --owners town --leave-out town --listen-to {listen_to}"
    said, _, status = program(FIT + peers)
    assert status == 130
    assert document(said)["stopped"].endswith(f"it stopped after {before + 2} questions")
    assert len(tacit.load(tmp_path / "m.tacit").served_.inner.parts) == 2


def test_participants_that_took_no_turn_leave_an_empty_model(program, tmp_path, monkeypatch):
    monkeypatch.setattr(Inline, "ask", ctrl_c_at(2, Inline.ask))
    said, _, status = program(FIT + "--method peers --owners town --leave-out town")
    assert status == 130
    assert document(said)["stopped"].endswith("it stopped after 2 questions")
    assert not tacit.load(tmp_path / "m.tacit").served_.inner.parts


@pytest.mark.parametrize(
    ("where", "more", "said"),
    [
        ("tacit.cli._fitting.read_owned", "", "nobody was asked, and nothing was written"),
        ("tacit.cli._fitting.look_ahead", "", "nobody was asked, and nothing was written"),
        (
            "tacit.estimators.sites.tune_site",
            "--method sites --owners town --leave-out town",
            "nothing was written",
        ),
        (
            "tacit.estimators.boosting.boost",
            "--method boosting",
            "nobody was asked, and nothing was written",
        ),
    ],
)
def test_nothing_is_written_where_nothing_can_be_kept(
    program, tmp_path, monkeypatch, where, more, said
):
    module, name = where.rsplit(".", 1)
    monkeypatch.setattr(where, ctrl_c_at(1, getattr(__import__(module, fromlist=[name]), name)))
    answer, lines, status = program(FIT + more)
    assert status == 130
    assert document(answer)["stopped"].endswith(said)
    assert lines.endswith(f"{said}\n")
    assert list(tmp_path.iterdir()) == []


def test_the_second_one_ends_a_round_at_once(program, tmp_path, monkeypatch):
    asks = ctrl_c_at(1, ctrl_c_at(1, Inline.ask))
    monkeypatch.setattr(Inline, "ask", asks)
    said, _, status = program(FIT + "--method boosting --rounds 6")
    assert status == 130
    assert "thrown away; nothing was written" in document(said)["stopped"]
    assert list(tmp_path.iterdir()) == []


def test_a_model_is_kept_while_it_is_tested(program, tmp_path, monkeypatch):
    monkeypatch.setattr(Evaluation, "of", ctrl_c_at(1, Evaluation.of))
    said, _, status = program(FIT + "--test new.csv")
    assert status == 130
    assert document(said)["stopped"].endswith("it is whole, and only the test was left out")
    assert tacit.load(tmp_path / "m.tacit").label_ == "rich"


def test_plans_that_are_done_are_shown(program, monkeypatch):
    monkeypatch.setattr("tacit.algorithms.outlook.look_ahead", ctrl_c_at(3, look_ahead))
    said, lines, status = program(
        "plan mine.csv --label rich --owners 2000 --leave-out family --trust nobody --json"
    )
    assert status == 130
    assert [each["epsilon"] for each in document(said)["plans"]] == [0.5, 1.0]
    assert "2 of 4 plans are done" in lines


def test_a_plan_that_did_not_begin_says_neither_yes_nor_no(program, monkeypatch):
    monkeypatch.setattr("tacit.algorithms.public_baseline.fit_public", ctrl_c_at(1, fit_public))
    said, lines, status = program(
        "plan mine.csv --label rich --owners 2000 --leave-out family --trust nobody --json"
    )
    found = document(said)
    assert (status, found["plans"], found["collect"]) == (130, [], None)
    assert lines == "tacit: stopped: 0 of 4 plans are done\n"


WHILE_IMPORTING = """
import os, signal, sys

class Pressed:
    def find_spec(self, name, *rest):
        if name == {module!r}:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except BaseException:  # as some libraries do while they are imported
                pass

sys.meta_path.insert(0, Pressed())
sys.argv = ["tacit", "plan", "mine.csv", "--label", "rich", "--owners", "5", {more!r}]
from tacit.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("module", "more"), [("typer", "--json"), ("sklearn", "--json"), ("sklearn", "--epsilon=1")]
)
def test_ctrl_c_while_the_program_is_imported_is_one_line(folder, module, more):
    code = WHILE_IMPORTING.format(module=module, more=more)
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "tacit: stopped: nothing was done yet\n")
    assert done.stdout == (
        '{"stopped": "stopped: nothing was done yet"}\n' if more == "--json" else ""
    )


def test_the_list_of_commands_needs_no_numbers():
    code = (
        "import sys; from tacit.cli import app; app(['--help'], standalone_mode=False); "
        "print(sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Predict new rows with a saved model." in done.stdout
    assert "'tacit.cli'" in done.stdout
    for heavy in ("numba", "scipy", "sklearn", "pyarrow", "cryptography"):
        assert f"'{heavy}'" not in done.stdout


def test_checks_that_are_done_are_shown(program, monkeypatch):
    monkeypatch.setattr("tacit.audit.mechanisms.epsilon_in_use", ctrl_c_at(3, epsilon_in_use))
    said, _, status = program("audit --part mechanisms --epsilon 1 --dim 1 --reports 10000 --json")
    assert status == 130
    found = document(said)
    assert found["sound"]
    assert len(found["mechanisms"]) == 2


def test_cells_that_are_done_stay_on_disk(program, tmp_path, monkeypatch):
    command = "reproduce trees --quick --processes 1 --json --out {out}"
    measure = trees._accuracies
    monkeypatch.setattr(trees, "_accuracies", ctrl_c_at(2, measure))
    said, _, status = program(command)
    assert status == 130
    assert "the same command goes on from there" in document(said)["stopped"]
    kept = (tmp_path / "rows.jsonl").read_text()
    assert kept.count('"CellRow"') == 1
    monkeypatch.setattr(trees, "_accuracies", ctrl_c_at(0, measure))
    said, _, status = program(command)
    assert (status, len(document(said)["rows"])) == (0, 1)
    assert (tmp_path / "rows.jsonl").read_text().startswith(kept)
