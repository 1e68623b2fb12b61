"""tacit fit and plan on files, as a user types them."""

import csv
import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet
from rich.console import Console

import tacit
from tacit.algorithms.public_baseline import fit_public
from tacit.cli import _fit_report, app, main
from tacit.cli._fitting import keep_model
from tacit.cli.plan import _show
from tacit.data.cohort import Public
from tacit.estimators.measures import Figure
from tacit.estimators.planning import Plan
from tests.cli.made import answers, fit, people, run, write_csv
from tests.cli.spoken import commands


@pytest.mark.usefixtures("worth_asking")
def test_from_files_to_a_model_to_predictions(folder):
    result = fit(folder, "--owners", "family", "--test", str(folder / "new.csv"), "--epsilon", "4")
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    for word in (
        "'born' is left out: it holds dates",
        "'name' is left out: it has 300 different texts",
        "2,000 owners at epsilon 4",
        "protected by local differential privacy with epsilon 4.",
        "coins secure",
        "public rows alone",
        f"tacit predict {folder / 'm.tacit'} new.csv --out predictions.csv",
    ):
        assert word in told, word
    names = [feature.name for feature in tacit.load(folder / "m.tacit").schema_.features]
    assert names == ["age", "height", "town", "member"]

    out = folder / "sub" / "p.csv"
    result = run(
        app, ["predict", str(folder / "m.tacit"), str(folder / "new.csv"), "--out", str(out)]
    )
    assert result.exit_code == 0, result.output
    assert "500 predictions" in result.output
    assert "columns that the model does not use: born, name, family" in result.output
    with (folder / "new.csv").open() as file:
        right = [row["rich"] for row in csv.DictReader(file)]
    accuracy = np.mean([a == b for a, b in zip(answers(out), right, strict=True)])
    assert accuracy > 0.75
    error = 1.96 * np.sqrt(accuracy * (1 - accuracy) / 500)
    told = f"accuracy {accuracy:.3f} ± {error:.3f} on 500 rows with a known rich"
    assert told in result.output


@pytest.mark.usefixtures("worth_asking")
def test_without_test_rows_the_public_ones_are_measured_and_classes_are_named(folder):
    """Owners' rows with other classes would be asked in vain, and nobody may be told by rows."""
    told = " ".join(fit(folder, "--epsilon", "4").output.split())
    assert "classes no, yes; owners' rows with any other do not count" in told
    for name in ("balanced accuracy", "F1", "AUC", "log loss", "calibration error"):
        assert re.search(rf"{name} \d\.\d{{3}} ± \d\.\d{{3}}", told), name


def test_where_nobody_is_asked_the_screen_claims_no_epsilon(folder):
    result = fit(folder, "--epsilon", "0.5")
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    assert "Nobody was asked: no owner made a report, and no epsilon was spent." in told
    assert "protected by" not in told
    assert "nats" not in told


@pytest.mark.usefixtures("worth_asking")
def test_csv_and_parquet_are_the_same_rows(model, folder):
    result = fit(folder, "--seed", "1", "--json", data="people.parquet", out="same.tacit")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["guarantee"]["void"].startswith(
        "the coins came from random_state"
    )
    assert (folder / "same.tacit").read_bytes() == model.read_bytes()


@pytest.mark.usefixtures("worth_asking")
def test_a_folder_read_a_block_at_a_time_is_the_same_rows(model, folder, monkeypatch):
    """As a table is read that memory does not hold; predictions likewise."""
    rows, many = parquet.read_table(folder / "people.parquet"), folder / "many"
    many.mkdir()
    parquet.write_table(rows[:2500], many / "a.parquet", row_group_size=600)
    parquet.write_table(rows[2500:], many / "b.parquet")
    monkeypatch.setattr("tacit.cli._fitting._AT_ONCE", 0)
    result = fit(folder, "--seed", "1", data="many", out="by_block.tacit")
    assert result.exit_code == 0, result.output
    assert (folder / "by_block.tacit").read_bytes() == model.read_bytes()
    said = []
    for data in ("many", "many/*.parquet", "people.csv"):
        out = folder / "said.csv"
        result = run(app, ["predict", str(model), str(folder / data), "--out", str(out)])
        assert result.exit_code == 0, result.output
        said.append(out.read_bytes())
    assert said[0] == said[1] == said[2]


def test_owners_rows_decide_nothing_but_through_reports(model, folder):
    """Odd values in owners' rows change neither schema nor columns: the model has the schema of
    the public file.
    """
    odd = people(400, seed=9)
    odd["age"][7], odd["height"][8], odd["rich"][9], odd["town"][3] = (
        "old",
        "1e400",
        "perhaps",
        "abroad",
    )
    write_csv(folder / "odd.csv", odd)
    result = fit(folder, "--seed", "1", data="odd.csv", out="odd.tacit")
    assert result.exit_code == 0, result.output
    assert tacit.load(folder / "odd.tacit").schema_ == tacit.load(model).schema_


def test_boosting_by_name_and_options_that_do_not_fit(folder):
    result = fit(
        folder,
        "--method",
        "boosting",
        "--learner",
        "centroid",
        "--rounds",
        "3",
        "--epsilon",
        "8",
        "--json",
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["method"] == "boosting"
    assert len([row for row in found["rounds"] if row]) >= 3
    assert found["warning"].startswith("This method does not tell beforehand")
    wrong = fit(folder, "--learner", "centroid")
    assert "--learner does not go with --method classifier" in str(wrong.exception)
    assert "method must be one of" in str(fit(folder, "--method", "magic").exception)


TOWNS = ("--owners", "town", "--leave-out", "town")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            ["--method", "boosting", "--cuts", "2", "--error", "owners", "--error-epsilon", "3"],
            "epsilon 1",
        ),
        (
            ["--method", "boosting", "--learner", "logistic", "--ridge", "0.5", "--bound", "1"],
            "epsilon 1",
        ),
        (["--method", "boosting", "--owners-per-round", "9", "--attempts", "2"], "epsilon 1"),
        (["--method", "sites", *TOWNS, "--combine", "average", "--privacy", "output"], "epsilon 1"),
        (["--method", "sites", *TOWNS, "--privacy", "published"], "may only be simulated"),
        (["--method", "sites", *TOWNS, "--loss", "logistic", "--components", "2"], "epsilon 1"),
        (
            ["--method", "stumps", *TOWNS, "--rounds", "4", "--rho", "2", "--bins", "4"],
            "epsilon 1",
        ),
        (["--method", "trees", *TOWNS, "--rounds", "4", "--ridge", "3"], "epsilon 1"),
    ],
    ids=["sums", "regression", "rounds", "output", "published", "components", "stumps", "trees"],
)
def test_parameters_of_the_papers_are_flags(folder, more, said):
    result = fit(folder, *more, out="flags.tacit")
    assert result.exit_code == 0, result.output
    assert said in " ".join(result.output.split())


PUBLISHED = ("DiffPRS", "stumps, as published, two leaves")


@pytest.mark.parametrize("method", PUBLISHED)
def test_the_published_peers_are_simulated_measured_and_not_written(folder, method):
    more = ["--method", method, *TOWNS, "--rounds", "4", "--leave-out", "family"]
    test = ["--test", str(folder / "new.csv")]
    result = fit(folder, *more, *test, out="never.tacit")
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    for word in ("may only be simulated", "4, simulated together", "none is written"):
        assert word in told, word
    assert not (folder / "never.tacit").exists()
    found = json.loads(fit(folder, *more, *test, "--json", out="never.tacit").stdout)
    accuracies = found["test"]["by_participant"].values()
    assert len(accuracies) == found["owners"] == 4
    assert found["test"]["accuracy"] == pytest.approx(sum(accuracies) / 4)
    assert max(accuracies) > 0.7  # who names no town is a participant of few rows
    assert found["model"] is None
    assert found["guarantee"]["epsilon"] is None
    wrong = fit(folder, *more, out="never.tacit").exception
    assert f"--method {method} leaves participants models of their own" in str(wrong)
    wrong = fit(folder, *more, *test, "--rho", "2", out="never.tacit").exception
    assert f"--rho does not go with --method {method}" in str(wrong)


def test_names_that_are_nearly_right_are_answered_with_all_that_there_are(folder):
    for more, said in (
        (["--method", "diffprs"], "or, simulated and NOT PRIVATE, DiffPRS; "),
        (
            ["--method", "boosting", "--learner", "stumps, as published"],
            "or, simulated and NOT PRIVATE, centroid, as published; ",
        ),
    ):
        assert said in str(fit(folder, *more, out="never.tacit").exception)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--mechanism", "noise"], "mechanism must be one of auto, duchi"),
        (["--features", "deep"], "features must be one of auto, leaves"),
        (["--method", "sites", *TOWNS, "--combine", "sum"], "combine must be one of average"),
        (["--method", "sites", *TOWNS, "--privacy", "x"], "privacy must be one of"),
        (["--method", "peers", *TOWNS, "--listen-to", "me"], "listen_to must be one of alike"),
        (["--trust", "two servers", "--features", "waves"], "features must be auto or trees"),
        (["--trust", "two servers", "--mechanism", "privunit"], "mechanism must be auto with"),
        (["--rounds", "5000"], "rounds must be at most 1,000"),
        (["--rows-per-owner", "10001"], "rows_per_owner must be at most 10,000"),
        (["--method", "sites", *TOWNS, "--ridge", "0"], "ridge must be a finite number > 0"),
        (["--method", "boosting", "--cuts", "2", "--learner", "centroid"], "--cuts does not go"),
    ],
)
def test_names_of_nothing_are_refused_before_rows_are_read(folder, monkeypatch, more, said):
    monkeypatch.setattr("tacit.cli._fitting._read", lambda _: pytest.fail("rows were read"))
    assert said in str(fit(folder, *more, out="never.tacit").exception)


def test_options_of_one_learner_do_not_go_with_another(folder):
    wrong = fit(folder, "--method", "boosting", "--learner", "centroid", "--cuts", "2")
    assert "--cuts does not go with --learner centroid" in str(wrong.exception)


@pytest.mark.parametrize(
    ("accuracy", "warned"), [(0.6, True), (0.778, True), (0.79, False), (0.9, False)]
)
def test_a_model_that_is_worse_than_public_rows_alone_is_not_recommended(accuracy, warned):
    ours, alone = (Figure("accuracy", value, 0.03) for value in (accuracy, 0.8))
    tested = _fit_report.Evaluation(Path("test.csv"), 625, {}, (ours,), (alone,))
    own = fit_public(
        Public(np.linspace(-1, 1, 9)[:, np.newaxis], np.arange(9) % 2, 2)
    )  # it and the rest are not read
    found = _fit_report.FitResult(
        method="boosting",
        label="income",
        model=None,
        path=Path("m.tacit"),
        plan=None,
        own=own,
        owners=10,
        public_rows=20,
        notes=(),
        tested=tested,
    )
    assert found.warning.startswith("Your public rows alone are better") is warned
    assert bool(found.warning) is warned


def test_sites_protect_records(folder, tmp_path):
    assert "--method sites needs --owners" in str(fit(folder, "--method", "sites").exception)
    result = fit(
        folder, "--method", "sites", "--owners", "town", "--leave-out", "town", out="sites.tacit"
    )
    assert result.exit_code == 0, result.output
    assert (
        "Each record of a site is protected by differential privacy with epsilon 1."
        in result.output
    )
    told = run(
        app,
        [
            "predict",
            str(folder / "sites.tacit"),
            str(folder / "new.csv"),
            "--out",
            str(tmp_path / "p.csv"),
        ],
    )
    assert told.exit_code == 0, told.output
    assert set(answers(tmp_path / "p.csv")) <= {"no", "yes"}


def test_peers_serve_what_was_released(folder, tmp_path):
    towns = [
        "--method",
        "peers",
        "--owners",
        "town",
        "--leave-out",
        "town",
        "--leave-out",
        "family",
    ]
    result = fit(folder, *towns, "--test", str(folder / "new.csv"), out="peers.tacit")
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    for word in (
        "Each record of a participant is protected by differential privacy, over all rounds "
        "together, with epsilon 1.",
        "4; they took turns",
        "rows of " + str(folder / "people.csv") + " without a town count as one owner together",
    ):
        assert word in told, word
    assert "models_" not in told
    model = tacit.load(folder / "peers.tacit")
    assert not hasattr(model, "_cohort")
    assert not model.guarantee_.held
    done = run(
        app,
        [
            "predict",
            str(folder / "peers.tacit"),
            str(folder / "new.csv"),
            "--out",
            str(tmp_path / "p.csv"),
        ],
    )
    assert "accuracy 0." in done.output


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--method", "peers"], "--method peers needs --owners"),
        (
            ["--method", "peers", "--owners", "family"],
            "is for up to 200 owners with many rows each",
        ),
        (
            ["--method", "sites", "--owners", "family"],
            "is for up to 1,000 owners with many rows each",
        ),
        (
            ["--method", "peers", "--owners", "town", "--learner", "stump"],
            "--learner does not go with --method peers",
        ),
        (["--owners", "rich"], "--owners and --label must be two columns, got 'rich' for both"),
    ],
    ids=["whose", "too many peers", "too many sites", "learner", "label"],
)
def test_methods_and_owners_that_do_not_fit(folder, more, said):
    assert said in str(fit(folder, *more, out="never.tacit").exception)
    assert not (folder / "never.tacit").exists()


def test_too_few_peers_and_too_many_classes(folder, tmp_path):
    rows = people(60)
    write_csv(
        tmp_path / "one.csv",
        {**rows, "site": ["a"] * 60, "many": [str(row % 3) for row in range(60)]},
    )
    command = ["fit", str(tmp_path / "one.csv"), "--owners", "site", "--method", "peers", "--label"]
    one = run(
        app, [*command, "rich", "--public", str(folder / "mine.csv"), "--out", str(tmp_path / "m")]
    )
    assert "needs 2 owners or more, and column 'site' names 1" in str(one.exception)
    three_classes = {**rows, "many": [str(row % 3) for row in range(60)]}
    write_csv(tmp_path / "mine.csv", three_classes)
    write_csv(tmp_path / "one.csv", {**three_classes, "site": ["a", "b"] * 30})
    three = run(
        app,
        [*command, "many", "--public", str(tmp_path / "mine.csv"), "--out", str(tmp_path / "m")],
    )
    assert "learns two classes, and the label has 3" in str(three.exception)


def test_the_label_is_in_the_model_and_its_counts_of_rows_are_not(model, folder, tmp_path):
    _fit_report = tacit.load(model)
    assert _fit_report.label_ == "rich"
    assert "moved_values_" not in str(_fit_report.guarantee_)
    assert "moved_values_" not in fit(folder, "--seed", "1").output
    for column, said in (
        ({"rich": ["?", "", "poor"]}, "no accuracy: column 'rich' has a known class in no row"),
        ({}, "3 predictions: "),
    ):
        rows = {
            "age": [30, 40, 50],
            "height": [170] * 3,
            "town": ["west"] * 3,
            "member": ["true"] * 3,
            **column,
        }
        write_csv(tmp_path / "new.csv", rows)
        done = run(
            app,
            ["predict", str(model), str(tmp_path / "new.csv"), "--out", str(tmp_path / "p.csv")],
        )
        assert said in done.output
        assert ("accuracy" in done.output) == bool(column)


def test_public_rows_given_up_are_named_everywhere(folder):
    assert "--public-rows 200 gives up 200 rows" in str(fit(folder, public=None).exception)
    result = fit(folder, "--public-rows", "200", "--owners", "family", public=None, out="g.tacit")
    assert result.exit_code == 0, result.output
    told = "200 rows of 100 owners were given up as public rows: they are not protected."
    assert f"NOT PROTECTED: {told}" in " ".join(result.output.split())
    model = tacit.load(folder / "g.tacit")
    assert model.guarantee_.not_protected[0] == told
    assert not model.guarantee_.void
    assert "1,900" in result.output
    both = fit(folder, "--public-rows", "200")
    assert "must not be given together" in str(both.exception)
    assert "would leave no owner to ask" in str(
        fit(folder, "--public-rows", "9999", public=None).exception
    )


def test_a_schema_file_in_place_of_what_public_rows_show(folder, tmp_path):
    (tmp_path / "schema.toml").write_text(
        'classes = ["no", "yes"]\n[features]\nage = { low = 0, high = 120 }\ntown = { values '
        '= ["north", "south"] }\n'
    )
    result = fit(folder, "--schema", str(tmp_path / "schema.toml"), out="s.tacit")
    assert result.exit_code == 0, result.output
    assert tacit.load(folder / "s.tacit").schema_.columns == ["age", "town"]
    (tmp_path / "schema.toml").write_text("classes = 3")
    assert "must have classes" in str(
        fit(folder, "--schema", str(tmp_path / "schema.toml")).exception
    )


@pytest.mark.parametrize(
    ("flag", "paper"),
    [
        ("learner", "A"),
        ("cuts", "A"),
        ("bound", "A"),
        ("ridge", "A"),
        ("error", "B"),
        ("owners-per-round", "A"),
        ("attempts", "A"),
        ("combine", "C"),
        ("privacy", "C"),
        ("loss", "C"),
        ("components", "C"),
        ("rho", "D"),
        ("bins", "D"),
        ("method", "D"),
        ("rounds", "D"),
    ],
)
def test_help_names_the_paper_of_a_parameter(flag, paper):
    (option,) = [each for each in commands()["fit"].params if f"--{flag}" in each.opts]
    said = option.help or ""
    assert "paper" in said
    assert re.search(rf"\b{paper}\b", said), said


def test_sites_and_peers_have_a_plan(folder):
    mine = ["plan", str(folder / "mine.csv"), "--label", "rich", "--leave-out", "family"]
    few = [*mine, "--owners", "3", "--rows-per-owner", "9", "--epsilon", "0.1", "--method"]
    for method, many in (("sites", "sites"), ("peers", "participants")):
        result = run(app, [*few, method])
        assert result.exit_code == 3, result.output
        said = " ".join(result.output.split())
        assert f"Do not collect: 3 {many} with 9 records each at epsilon 0.1" in said
    wrong = run(app, [*few, "peers", "--trust", "nobody"])
    assert "--trust does not go with --method peers" in str(wrong.exception)
    result = run(app, [*few, "sites", "--trust", "two servers"])
    assert result.exit_code == 3, result.output
    assert "Do not collect: 27 records of sites at epsilon 0.1" in " ".join(result.output.split())


@pytest.mark.parametrize("method", ["classifier", "sites", "peers"])
def test_plans_tell_what_else_people_measure(folder, method):
    words = [
        "plan",
        str(folder / "mine.csv"),
        "--label",
        "rich",
        "--owners",
        "30",
        "--epsilon",
        "1",
    ]
    words += ["--rows-per-owner", "40", "--method", method]
    words += [] if method == "peers" else ["--trust", "nobody"]
    told = " ".join(run(app, words).output.split())
    assert "Your own rows alone, cross-validated: balanced accuracy 0." in told
    (plan,) = json.loads(run(app, [*words, "--json"]).stdout)["plans"]
    names = "accuracy", "balanced accuracy", "F1", "AUC", "log loss", "calibration error"
    assert tuple(plan["public_measures"]) == names
    assert all(each["error"] > 0 for each in plan["public_measures"].values())


def test_plan_tells_a_table_and_its_verdict_is_the_exit_status(folder):
    mine = ["plan", str(folder / "mine.csv"), "--label", "rich", "--leave-out", "family"]
    many = run(app, [*mine, "--owners", "500000", "--epsilon", "1", "--epsilon", "4"])
    assert many.exit_code == 0, many.output
    assert "500,000" in many.output
    few = run(app, [*mine, "--owners", "20", "--epsilon", "0.1", "--json"])
    assert few.exit_code == 3
    found = json.loads(few.stdout)["plans"]
    told = [(each["owners"], each["trust"], each["collect"]) for each in found]
    assert told == [(20, "nobody", False), (20, "two servers", False)]
    assert found[0]["says"].startswith("Do not collect: 20 owners at epsilon 0.1 are not")
    assert "trusting one of two servers" in found[1]["says"]


def test_two_plans_end_with_what_a_trusted_helper_would_bring():
    told = io.StringIO()
    nobody = Plan(
        owners=500,
        epsilon=1.0,
        rows_per_owner=1,
        public_rows=80,
        public_model="logistic regression",
        public_accuracy=0.8,
        rise=0.002,
        gain=0.01,
        features="linear",
        numbers=3,
        rounds=1,
        why_not="",
    )
    assert "accuracy 0.802 (between 0.70 and 0.88), your own 80 rows alone 0.800" in str(nobody)
    _show([nobody, replace(nobody, trust="two servers", rise=0.034)], [], Console(file=told))
    assert told.getvalue().endswith("If they trusted one of two servers: +3.2 points more.\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("fit nowhere.csv --label rich --public mine.csv", "nowhere.csv is not there"),
        ("fit people.csv --label wealth --public mine.csv", "column 'wealth' is not in mine.csv; "
            "it has age, "),
        ("plan mine.csv --label rich --owners no", "a whole number: how many owners there are; "
            "got 'no'."),
        ("plan mine.csv --label rich --owners=0", "--owners must be 1 or more: how many owners "
            "there are; got '0'."),
        ("plan mine.csv --label rich --owners 9 --epsilon x", "--epsilon must be a number: "),
        (
            "plan mine.csv --label rich --owners 201 --method peers",
            "--owners must be at most 200 with --method peers; --method classifier has more",
        ),
        (
            "plan mine.csv --label rich --owners 3 --owners 1 --method trees",
            "--owners must be 2 or more with --method trees, got 1",
        ),
        ("plan mine.csv --label rich --owners 9 --trust x", "trust must be one of nobody, two "
            "servers"),
        ("fit people.csv --label rich --method m", "method must be one of boosting, classifier, "
            "peers, sites, stumps, trees"),
        ("fit people.csv --label name --public mine.csv", "label 'name' must have 2 to 100 "
            "classes"),
        ("fit people.csv --label rich --public mine.csv --epsilon nan", "epsilon must be a finite "
            "number > 0"),
        ("fit people.csv --label rich --public bad.csv", "bad.csv cannot be read as a table: "),
        ("fit people.csv --public mine.csv", "Missing option '--label'"),
        ("predict people.csv people.csv", "people.csv is not a tacit model, or a damaged one: "
            "give a file"),
        ("predict none.tacit people.csv", "none.tacit is not there"),
        ("plan empty.csv --label rich --owners 5", "empty.csv has no rows"),
        ("nonsense", "No such command 'nonsense'"),
    ],
)  # fmt: skip
def test_what_a_user_can_put_right_is_one_line(folder, arguments, said, monkeypatch, capsys):
    (folder / "bad.csv").write_text("a,rich\n1,secret\n2,secret,3\n")
    (folder / "empty.csv").write_text("a,rich\n")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["tacit", *arguments.split()])
    with pytest.raises(SystemExit) as end:
        main()
    told = capsys.readouterr().err
    assert end.value.code == 2
    assert said in told
    assert told.startswith("tacit: ")
    assert told.count("\n") == 1
    assert "secret" not in told


def test_a_fault_of_the_program_is_called_one(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("tacit.data.sample.ColumnRoles", lambda *given: 1 / 0)
    monkeypatch.setattr(
        sys, "argv", ["tacit", "plan", "mine.csv", "--label", "rich", "--owners", "5"]
    )
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 70
    assert "this is a fault of tacit" in capsys.readouterr().err


def test_a_model_that_cannot_be_written_is_kept_elsewhere(folder, model, tmp_path, monkeypatch):
    """As on a disk that became full while owners were asked; here its folder has gone."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    fitted, out = tacit.load(model), folder / "gone" / "m.tacit"
    with pytest.raises(ValueError, match=r"--out .* cannot be written \(No such file") as told:
        keep_model(fitted, out)
    (kept,) = tmp_path.glob("tacit-*/m.tacit")
    assert f"the model is in {kept}" in str(told.value)
    assert kept.read_bytes() == model.read_bytes()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match=r"nor a copy below TMPDIR: the model is lost"):
        keep_model(fitted, out)
