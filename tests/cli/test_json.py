"""Every command speaks to machines: one JSON document on standard output, whatever happens; and
its example works.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import httpx
import pytest
from benchmarks.service.postgres import free_port

import tacit
from tacit.cli import _options as _exits
from tacit.cli.serve import admin_key
from tacit.service.coordinator.store import Store
from tacit.service.device.home import Home, adopt_folder
from tacit.service.protocol.succession import CAMPAIGN, HELPER, KeyRing
from tacit_papers.c.experiment import cells_c
from tacit_papers.registry import PAPERS
from tests.cli.made import people, write_csv, write_parquet
from tests.cli.spoken import commands, document, example, run_program
from tests.owner.made import gate, query, question
from tests.service.coordinator.made import enrol
from tests.sums.prio3.make_vectors import FOLDER

COMMANDS = commands()
ENVIRONMENT = {"PYTHONPATH": str(Path(tacit.__file__).parents[1])}  # wherever a process begins
EXAMPLES = {  # what a document must have, of commands whose example runs by itself
    "demo": {"rows", "report", "files", "seconds"},
    "plan": {"plans", "collect", "notes"},
    "fit": {"model", "label", "guarantee", "plan", "test", "ended", "next"},
    "predict": {"rows", "out", "accuracy", "ignored_columns"},
    "explain": {"page", "importances", "measured", "unit"},
    "export": {"out", "kind", "signed_by"},
    "audit": {"sound", "mechanisms", "seconds"},
    "reproduce": {"claims", "counts", "rows_file", "command", "notes"},
    "vectors": {"passed", "failed", "not_judged", "vectors"},
    "ledger show": {"releases", "owners"},
    "ledger adopt": {"ledger", "releases", "into"},
    "admin owners": {"owners"},
    "admin forget": {"deleted", "stays"},
    "admin log": {"acts"},
    "admin grant": {"name", "roles", "key", "file"},
    "admin dismiss": {"name"},
    "admin database": {"version", "versions"},
    "admin tokens": {"tokens", "new"},
    "admin campaigns": {"campaigns"},
    "admin add": {"campaign", "files"},
    "identity campaign": {"key", "first", "replaced"},
    "identity helper": {"key", "first", "replaced"},
    "identity administrator": {"name", "key"},
}
SERVED = {
    "invite",
    "identity owner",
    "serve",
    "helper",
    "join",
    "leave",
    "model",
    "ledger serve",
    "admin revoke",
    "admin pause",
    "admin resume",
    "admin end",
    "admin archive",
}  # these need each other, or go on until Ctrl-C
WRONG = {  # each command, asked for something that its user has to change
    "demo": "--epsilon 0",
    "plan": "gone.csv --label income --owners 5",
    "fit": "gone.csv --label income --public mine.csv",
    "predict": "gone.tacit new.csv",
    "explain": "gone.tacit",
    "export": "gone.tacit --out model.onnx",
    "audit": "--epsilon nan",
    "reproduce": "z",
    "serve": "campaign.toml --host 192.0.2.1",
    "helper": "--campaign key",
    "join": "http://127.0.0.1:9 --data mine.csv --label income --policy policy.toml",
    "leave": "ftp://127.0.0.1",
    "model": "ftp://127.0.0.1",
    "invite": "north --url https://host:8443 --database sqlite:///empty.db",
    "vectors": "gone",
    "ledger show": "mine.csv",
    "ledger serve": "mine.csv",
    "ledger adopt": "mine.csv",
    "admin owners": "--database mysql://host/x",
    "admin forget": "nobody --database sqlite:///running.db",
    "admin log": "--database sqlite:///empty.db",
    "admin grant": "ada --roles fly",
    "admin dismiss": "eve --state campaign",
    "admin database": "--database sqlite:///running.db --to 9999",
    "admin tokens": "--database sqlite:///empty.db",
    "admin campaigns": "--database sqlite:///empty.db",
    "admin add": "campaign.toml gone",
    "admin revoke": "nobody --database sqlite:///running.db",
    "admin pause": "--campaign nobody --database sqlite:///running.db",
    "admin resume": "--campaign nobody --database sqlite:///running.db",
    "admin end": "--campaign nobody --database sqlite:///running.db",
    "admin archive": "--campaign nobody --database sqlite:///running.db",
    "identity campaign": "--state gone",
    "identity helper": "--state gone",
    "identity owner": "https://127.0.0.1:9 --home gone",
    "identity administrator": "eve --state gone",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the examples name."""
    made = tmp_path_factory.mktemp("examples")
    whole = people(2500)
    whole["income"], whole["state"] = whole.pop("rich"), whole.pop("family")
    parts = {"mine": slice(0, 200), "new": slice(200, 500), "people": slice(500, None)}
    cut = {
        name: {column: values[part] for column, values in whole.items()}
        for name, part in parts.items()
    }
    write_csv(made / "mine.csv", cut["mine"])
    write_csv(made / "new.csv", cut["new"])
    write_parquet(made / "people.parquet", cut["people"])
    ill = {
        "ill": cut["mine"]["income"],
        **{name: cut["mine"][name] for name in ("age", "height", "member", "born")},
    }
    write_parquet(made / "mine.parquet", ill)
    write_csv(made / "sample.csv", ill)
    (made / "campaign.toml").write_text(
        'kind = "boosting"\nname = "trial"\nsample = "sample.csv"\nlabel = "ill"\n'
        'learner = "centroid"\nepsilon = 1.0\nrounds = 2\n'
        "owners_per_round = 5\nstart = 9\nminimum = 2\ndeadline = 600\n"
        'model_for = "members"\n'
    )
    (made / "trial.toml").write_text((made / "campaign.toml").read_text())
    (made / "campaigns").mkdir()
    (made / "policy.toml").write_text("epsilon_per_release = 1\nepsilon_total = 1\nreleases = 3")
    store = Store(f"sqlite:///{made}/running.db")
    store.create_or_resume("trial", b"terms", b"key")
    store.add_tokens(["token number 0001"])
    assert enrol(store, "OWNER", "token number 0001")
    store.close()
    KeyRing.at(made / "campaign", CAMPAIGN)
    KeyRing.at(made / "helper", HELPER)
    admin_key(made / "campaign")
    copytree(FOLDER, made / "test_vec" / "vdaf")
    (made / "moved").mkdir()
    gate(made / "moved").answer(question(1, asked=query(epsilons=(0.3,))))
    adopt_folder(made / "moved", Home.at(made / "tacit-owner"), None)
    return made


def test_every_command_has_json_and_an_example():
    assert set(EXAMPLES) | SERVED == set(COMMANDS)
    assert set(WRONG) == set(COMMANDS)
    for name, command in COMMANDS.items():
        assert "--json" in [option for parameter in command.params for option in parameter.opts], (
            name
        )
        assert example(command)[: len(name.split())] == name.split()


def test_the_guide_for_scripts_names_all_of_it():
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "scripts.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("|")]
    for name in COMMANDS:
        documents = lines[: lines.index("| status | means |")]
        (told,) = [line for line in documents if f"`{name}`" in line.split("|")[1]]
        assert all(f"`{key}`" in page for key in EXAMPLES.get(name, set()) - {"seconds"}), told
    for status in (
        value for name, value in vars(_exits).items() if name.isupper() and type(value) is int
    ):
        assert any(line.startswith(f"| {status} |") for line in lines), status
        assert f"{status} " in _exits.TABLE


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


# predict follows fit; demo's, which takes longest, is run where its pages are looked at
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in ("predict", "demo")])
def test_an_example_works_and_says_one_document(name, here, monkeypatch, capfd):
    few = replace(PAPERS["c"], cells=lambda quick, seed: cells_c(quick, seed)[1:3])
    monkeypatch.setitem(PAPERS, "c", few)  # all of them: tests/papers
    monkeypatch.setattr("tacit_papers.reproduce.cores", lambda: 1)  # no processes of their own
    said, lines, status = run_program([*example(COMMANDS[name]), "--json"], monkeypatch, capfd)
    found = document(said)
    assert status == (3 if found.get("collect") is False else 0), (found, lines)
    assert EXAMPLES[name] <= set(found)
    if name == "fit":  # the next of the examples
        said, _, status = run_program([*example(COMMANDS["predict"]), "--json"], monkeypatch, capfd)
        found = document(said)
        assert (status, found["rows"], found["label"]) == (0, 300, "income")
        assert found["accuracy"] > 0.6


@pytest.mark.parametrize("name", COMMANDS)
def test_an_error_is_a_document_and_a_line(name, here, monkeypatch, capfd):
    said, line, status = run_program(
        [*name.split(), *WRONG[name].split(), "--json"], monkeypatch, capfd
    )
    assert status == 2
    assert line.startswith("tacit: ")
    assert line.count("\n") == 1
    assert document(said) == {"error": line.removeprefix("tacit: ").strip(), "status": 2}


def test_a_wrong_option_is_a_document_too(here, monkeypatch, capfd):
    said, line, status = run_program(
        ["fit", "people.parquet", "--nonsense", "--json"], monkeypatch, capfd
    )
    assert status == 2
    assert "--nonsense" in document(said)["error"]
    assert "See: tacit fit --help" in line


@pytest.mark.parametrize("name", ["serve", "helper", "ledger serve"])
def test_a_port_that_is_taken_is_named(name, here, monkeypatch, capfd):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said, line, status = run_program(
            [*example(COMMANDS[name]), "--json", "--port", str(port)], monkeypatch, capfd
        )
    assert status == 2
    assert f"cannot listen on 127.0.0.1, port {port}" in document(said)["error"]
    assert line.count("\n") == 1


def test_what_is_not_installed_is_named(here):
    # an extra
    without = (
        "import sys; sys.modules['starlette.applications'] = None; from tacit.cli import "
        "main; main()"
    )
    words = [sys.executable, "-c", without, "serve", "campaign.toml", "--json"]
    done = subprocess.run(
        words, cwd=here, env=os.environ | ENVIRONMENT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 2
    assert document(done.stdout)["error"].startswith(
        "starlette is missing: pip install 'tacit[service]' adds"
    )
    assert done.stderr.count("\n") == 1


def test_a_fault_is_a_document_too(here, monkeypatch, capfd):
    monkeypatch.setattr("tacit.data.sample.ColumnRoles", lambda *given, **named: 1 / 0)
    words = ["plan", "mine.csv", "--label", "income", "--owners", "5", "--json"]
    said, lines, status = run_program(words, monkeypatch, capfd)
    assert (status, document(said)["status"]) == (70, 70)
    assert "ZeroDivisionError" in lines


def started(words, folder):
    """The program in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tacit", *words],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def stopped(process):
    """Press Ctrl-C; the rest of what it said, its last line on standard error, its exit status."""
    process.send_signal(signal.SIGINT)
    rest, lines = process.communicate(timeout=300)
    return rest, lines.splitlines()[-1], process.returncode


def test_services_say_their_document_first_and_owners_theirs_at_the_end(here, monkeypatch, capfd):
    port, other = str(free_port()), str(free_port())
    services = {
        "serve": started(
            [*example(COMMANDS["serve"]), "--json", "--port", port, "--workers", "2"], here
        ),
        "helper": started([*example(COMMANDS["helper"]), "--json", "--port", other], here),
        "ledger serve": started(
            [*example(COMMANDS["ledger serve"]), "--json", "--port", "0"], here
        ),
    }
    try:
        told = {name: document(process.stdout.readline()) for name, process in services.items()}
        assert set(told["serve"]) == {
            "campaign_key",
            "page",
            "admin_key_file",
            "new_tokens",
            "tokens_file",
        }
        assert set(told["helper"]) == {"helper_key", "address"}
        assert set(told["ledger serve"]) == {"address"}
        _, *words = example(COMMANDS["join"])
        words = ["join", f"http://127.0.0.1:{port}", *words[1:], "--json"]
        said, _, status = run_program([*words, "--home", "tried"], monkeypatch, capfd)
        assert status == 0
        shown = document(said)
        assert shown["allowed"]
        assert len(shown["example"]) == 2 * shown["bytes"]
        assert shown["epsilon_in_all"] == shown["epsilon"] * shown["times"]

        words.remove("--dry-run")
        token = (here / told["serve"]["tokens_file"]).read_text().split()[0]
        said, line, status = run_program([*words, "--token", token], monkeypatch, capfd)
        assert status == 2
        assert "seen by everybody" in line
        (here / "token").write_text(token)
        owner = started([*words, "--home", "owner", "--token", "@token"], here)
        try:
            _wait_until_enrolled(f"http://127.0.0.1:{port}/v1/status")
            said, line, status = stopped(owner)
        finally:
            owner.kill()
        assert status == 130
        assert "what was released is charged in owner/ledger.db" in document(said)["stopped"]
        assert line.endswith(document(said)["stopped"])

        for home, why in (("tried", "not for everybody"), ("owner", "there is no model yet")):
            words = ["model", f"http://127.0.0.1:{port}", "--home", home, "--json"]
            said, line, status = run_program(words, monkeypatch, capfd)
            assert (status, why in line) == (2, True)
        words = ["leave", f"http://127.0.0.1:{port}", "--home", "owner", "--json"]
        said, _, status = run_program(words, monkeypatch, capfd)
        assert (status, document(said)["left"]) == (0, "me")
        for name, process in services.items():
            rest, line, status = stopped(process)
            assert (name, status, rest) == (name, 130, "")
            assert line.startswith("tacit: stopped")
    finally:
        for process in services.values():
            process.terminate()  # a killed one would leave its workers behind
            process.communicate(timeout=300)


def _wait_until_enrolled(status: str) -> None:
    until = time.monotonic() + 300
    while not httpx.get(status).json()["owners"]["enrolled"]:
        assert time.monotonic() < until, "the owner did not enrol"
        time.sleep(0.1)


@pytest.mark.parametrize("more", [["--json"], []], ids=["json", "piped"])
def test_nothing_is_drawn_where_nobody_watches(here, monkeypatch, capfd, more):
    """Standard error of a pipe holds notices, no bars, even where colours are wanted."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    words = ["plan", "mine.csv", "--label", "income", "--owners", "50", "--epsilon", "1"]
    words += ["--trust", "nobody", *more]
    _, lines, status = run_program(words, monkeypatch, capfd)
    assert status in (0, 3)
    assert lines == ""
