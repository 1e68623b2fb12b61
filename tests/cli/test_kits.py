"""A kit made by the data user is all that joining needs, and decides nothing for its owner."""

import errno
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.loopback import Authority, serve
from benchmarks.templates import campaigns

from tacit._util.stopping import replace_file
from tacit.cli import _kit_files, app
from tacit.cli.invite import Kit, draft_policy, fingerprint
from tacit.cli.serve import admin_key
from tacit.learners.query import Invitation, digest_of
from tacit.owner.policy import Policy
from tacit.service.coordinator.records import Records
from tests.cli.made import run
from tests.service.coordinator.made import CAMPAIGN, folder_of, running
from tests.service.coordinator.test_several import service_of

OWNERS = 6
SMALL = (
    CAMPAIGN.replace("rounds = 2", "rounds = 1")
    .replace("owners_per_round = 10", f"owners_per_round = {OWNERS}")
    .replace("start = 45", f"start = {OWNERS}")
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return folder_of(tmp_path, OWNERS, SMALL)


def invited(name, url, *more):
    words = ["invite", name, "--url", url, "--database", "sqlite:///c.db", *more]
    made = run(app, words)
    assert made.exit_code == 0, made.output
    return Path("kits") / f"{name}.kit"


def test_a_campaign_from_invitation_to_model(folder):
    """The host's name is on no certificate that anybody trusts: the kit's pin is enough."""
    authority = Authority.create(folder, "mine")
    service = running(folder)
    with serve(service.app, authority) as url:
        far = url.replace("127.0.0.1", "localhost")
        pinned = "--certificate", str(authority.certificate)
        kit = invited("clinic", far, *pinned, "--owners", str(OWNERS))
        assert kit.stat().st_mode & 0o077 == 0
        steps = [line for line in kit.read_text().splitlines() if line.startswith("# ")]
        assert len(steps) == 4
        join = ["join", str(kit), "--data", "people.csv", "--owners", "who", "--home", "home"]
        refused = run(app, join)
        assert refused.exit_code == 2 or isinstance(refused.exception, ValueError)
        assert "no policy says yet what may leave" in str(refused.exception)
        looked = run(app, [*join, "--dry-run"])
        assert looked.exit_code == 0, looked.output
        assert "nothing was sent and nothing was charged" in looked.output
        policy = Path("kits") / "clinic.policy.toml"
        policy.write_text(policy.read_text() + "time_step = 0\n")  # it is its owner's to change
        done = run(app, join)
        assert done.exit_code == 0, done.output
        assert f"done: {OWNERS} questions answered" in done.output
        assert service.store.standing().state in ("running", "ended")
        # the same kit again: its tokens are used, and it goes on
        assert run(app, join).exit_code == 0


def test_what_is_typed_is_written_down(folder):
    """Kits, tokens and administrators come by commands: the log of the campaign has them all."""
    service, database = running(folder), ["--database", "sqlite:///c.db"]
    invited("clinic", "https://host:8443", "--owners", "3", "--days", "2")
    admin_key(folder / "campaign")
    state = ["--state", "campaign", *database]
    for words in (
        ["admin", "tokens", "--new", "2", *database],
        ["admin", "grant", "ada", "--roles", "look,steer", *state],
        ["identity", "administrator", "ada", *state],
        ["admin", "dismiss", "ada", *state],
        ["admin", "tokens", "--withdraw", "all", *database],
    ):
        done = run(app, words)
        assert done.exit_code == 0, done.output
    for wrong in ("a", "%", "g" * 12):
        refused = run(app, ["admin", "tokens", "--withdraw", wrong, *database])
        assert "withdraw must be a token as it is listed" in str(refused.exception)
    refused = run(app, ["admin", "dismiss", "ada", *state])
    assert "name must be one of" in str(refused.exception)
    records = Records(service.store)
    assert {act.who for act in records.acts()} == {"operator"}
    assert [(act.what, act.about, act.outcome) for act in records.acts()] == [
        ("invite", "clinic, 3 tokens", "200"),
        ("tokens", "2 tokens", "200"),
        ("grant", "ada: look, steer", "200"),
        ("rekey", "ada", "200"),
        ("dismiss", "ada", "200"),
        ("withdraw", "5 tokens", "200"),
        ("dismiss", "ada", "refused"),
    ]
    assert records.tokens() == []
    service.close()


def test_a_command_that_is_killed_leaves_no_act_without_a_line(folder, monkeypatch):
    """A file of administrators is in no transaction with the log."""
    service = running(folder)
    admin_key(folder / "campaign")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tacit.service.coordinator.keys._write", killed)
    words = ["--state", "campaign", "--database", "sqlite:///c.db"]
    run(app, ["admin", "grant", "ada", "--roles", "look", *words])
    (act,) = Records(service.store).acts()
    assert (act.what, act.about, act.outcome) == ("grant", "ada: look", "begun")
    service.close()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["admin", "tokens", "--new", "999999999999999999"], "make fewer"),
        (["admin", "tokens", "--new", "1", "--days", "inf"], "days must be at most"),
        (["admin", "tokens", "--new", "1", "--days", "1e300"], "days must be at most"),
        (["invite", "x", "--url", "https://x", "--owners", "999999999999999999"], "make fewer"),
        (["invite", "x", "--url", "https://x", "--days", "1e300"], "days must be at most"),
        (["admin", "grant", "ada", "--roles", "look", "--state", "cmapaign"], "state must be"),
        (["invite", "x", "x", "--url", "https://x"], "names must be all different"),
        (["invite", "x", "--url", "https://x?y"], "url must be an address"),
        (["invite", "x", "--url", "https://x:99999"], "url must be an address"),
        (["invite", "\u4e2d" * 99, "--url", "https://x"], "name must be at most 200 bytes"),
        (["invite", "x", "--url", "https://x y"], "url must be an address"),
        (["invite", "x", "--url", "https://x\ny"], "url must be an address"),
        (["invite", "x", "--url", "https://x", "--days", "0"], "days must be at least a minute"),
        (["admin", "tokens", "--new", "1", "--days", "0"], "days must be at least a minute"),
        (["invite", "x", "--url", "https://x", "--out", "mine.csv"], "--out must be a folder"),
        (["invite", "x", "--url", "https://x", "--certificate", "no.pem"], "give a certificate"),
    ],
)
def test_what_is_typed_wrong_is_refused_and_changes_nothing(folder, words, problem):
    """A billion tokens were made in memory before they were too many; a folder that was misspelt
    was made, with a key in it that opens nothing; a moment beyond all calendars broke the list.
    """
    service = running(folder)
    before = sorted(path.name for path in folder.iterdir())
    refused = run(app, [*words, "--database", "sqlite:///c.db"])
    assert problem in str(refused.exception or refused.output)
    assert sorted(path.name for path in folder.iterdir()) == before
    records = Records(service.store)
    assert not records.tokens()
    assert not records.acts()
    service.close()


@pytest.mark.parametrize("verb", ["owners", "tokens", "log", "campaigns", "database", "pause"])
def test_a_database_is_not_made_by_looking(folder, verb):
    refused = run(app, ["admin", verb, "--database", "sqlite:///tpyo.db"])
    assert "there is no database" in str(refused.exception)
    assert not Path("tpyo.db").exists()


def test_a_campaign_that_lacks_a_file_is_not_added_by_half(folder):
    """The sample had been copied by then, and all that was said was "No such file or directory"."""
    (folder / "several").mkdir()
    more = f"""trust = "two servers"
delta = 1e-6
helper = "https://localhost:8444"
helper_key = "{"09" + "00" * 31}"
helper_ca = "nowhere.pem"
"""
    text = CAMPAIGN.replace("epsilon = [4.0, 8.0]", "epsilon = 1.0")
    (folder / "summed.toml").write_text(f"{text}{more}")
    refused = run(app, ["admin", "add", "summed.toml", "several"])
    assert "helper_ca of summed.toml must be a file that is there" in str(refused.exception)
    assert list((folder / "several").iterdir()) == []


def test_a_kit_leads_to_its_campaign_among_several(folder):
    (folder / "several").mkdir()
    for name in ("first", "second"):
        text = SMALL.replace('"trial"', f'"{name}"')
        (folder / "several" / f"{name}.toml").write_text(text)
    (folder / "mine.csv").rename(folder / "several" / "mine.csv")
    served = service_of(folder / "several", "sqlite:///c.db", rehearsal=None)
    with serve(served.app) as url:
        kit = invited("clinic", url, "--campaign", "second", "--owners", str(OWNERS))
        assert f'url = "{url}/campaigns/second"' in kit.read_text()
        there = invited("other", f"{url}/campaigns/second", "--campaign", "second")
        assert f'url = "{url}/campaigns/second"' in there.read_text()
        join = ["join", str(kit), "--data", "people.csv", "--owners", "who", "--home", "home"]
        looked = run(app, [*join, "--dry-run"])
        assert looked.exit_code == 0, looked.output
        assert "campaign: second" in looked.output
        kit.write_text(kit.read_text().replace("/campaigns/second", ""))
        lost = run(app, [*join, "--dry-run"])
        assert "each is at /campaigns/NAME" in str(lost.exception)


def test_another_certificate_than_the_pinned_one_is_not_trusted(folder):
    mine, other = Authority.create(folder, "mine"), Authority.create(folder, "other")
    with serve(running(folder).app, mine) as url:
        kit = invited("clinic", url, "--certificate", str(other.certificate))
        found = run(app, ["join", str(kit), "--data", "people.csv", "--dry-run"])
        assert "its certificate is not trusted" in str(found.exception)
        # of two that are pinned either will do: the next one can be there before it is used
        both = "--certificate", str(other.certificate), "--certificate", str(mine.certificate)
        kit = invited("next", url, *both)
        shown = run(app, ["join", str(kit), "--data", "people.csv", "--dry-run"])
        assert shown.exit_code == 0
        said = " ".join(shown.output.split())
        assert f"your policy is {kit.with_suffix('.policy.toml')}: read what may leave" in said


def test_another_campaign_behind_the_address_is_refused(folder, tmp_path_factory):
    running(folder)
    with serve(running(folder_of(tmp_path_factory.mktemp("other"), OWNERS, SMALL)).app) as url:
        kit = invited("clinic", url)
        found = run(app, ["join", str(kit), "--data", "people.csv", "--dry-run"])
        assert "another campaign?" in str(found.exception)


@pytest.mark.parametrize("place", range(7))
def test_the_draft_allows_what_the_campaign_asks_and_nothing_else(place, tmp_path):
    terms = campaigns()[place]
    template = terms.template()
    helper = None if terms.servers is None else terms.servers[1]
    draft = draft_policy(template, helper)
    (tmp_path / "p.toml").write_text(draft)
    policy = Policy.read(tmp_path / "p.toml")
    assert policy.helper is None  # told by whoever runs it, not by the data user
    (tmp_path / "p.toml").write_text(draft.replace("#helper", "helper"))
    policy = Policy.read(tmp_path / "p.toml")
    assert policy.refuse_columns(template.columns, template.label) == ""
    assert template.cost(policy) is not None
    for form in template.forms:
        asked = Invitation(terms.name, 1, 1, digest_of(terms.schema), form.example)
        assert policy.objection(asked) == ""
        assert policy.level(form.example.epsilons, 0 * policy.epsilon_total) is not None
        assert "campaign" in policy.objection(replace(asked, campaign="another"))
    assert policy.refuse_columns([*template.columns, "income"], template.label)
    assert policy.refuse_columns(template.columns, "income")


def test_kits_are_read_as_they_were_written_or_not_at_all(folder):
    authority = Authority.create(folder, "mine")
    running(folder)
    file = invited("St. Mary", "https://host:1", "--certificate", "mine.pem")
    kit = Kit.read(file)
    assert (kit.name, kit.url, len(kit.tokens)) == ("St. Mary", "https://host:1", 1)
    assert kit.certificates == (fingerprint(authority.certificate),)
    twice = run(app, ["invite", "St. Mary", "--url", "https://h", "--database", "sqlite:///c.db"])
    assert "exist: delete them" in str(twice.exception)
    whole = file.read_text()
    odd = (
        whole.replace("tokens", "words"),
        whole.replace('url = "https://host:1"', 'url = ["https://host:1"]'),
        whole.replace('name = "St. Mary"', 'name = "St. \\u001b[2JMary"'),
        re.sub("tokens = .*", 'tokens = "one"', whole),
    )
    for text in ("", "[", "url = 3", *odd):
        file.write_text(text)
        with pytest.raises(ValueError, match="is no kit"):
            Kit.read(file)
    with pytest.raises(
        ValueError, match=r"gone\.kit is not there: give the file that tacit invite"
    ):
        Kit.read(file.with_name("gone.kit"))
    for name in ("../up", "", "a/b", ".hidden"):
        found = run(app, ["invite", name, "--url", "https://h", "--database", "sqlite:///c.db"])
        assert found.exit_code != 0


@pytest.mark.parametrize("sample", ["../mine.csv", "{folder}/mine.csv"])
def test_a_campaign_does_not_bring_files_from_elsewhere(folder, sample):
    """They were copied to where they lay from the folder, which was outside of it."""
    (folder / "served" / "several").mkdir(parents=True)
    (folder / "other").mkdir()
    text = CAMPAIGN.replace("mine.csv", sample.format(folder=folder))
    (folder / "other" / "away.toml").write_text(text)
    refused = run(app, ["admin", "add", "other/away.toml", "served/several"])
    assert "sample of other/away.toml must lie beside it, or below" in str(refused.exception)
    assert [path.name for path in (folder / "served").rglob("*")] == ["several"]


@pytest.mark.parametrize(
    ("more", "problem"),
    [('status_for = "all"', "status_for must be one of"), ('test = "no.csv"', "is not there")],
)
def test_what_could_not_be_served_is_not_added(folder, more, problem):
    (folder / "several").mkdir()
    (folder / "odd.toml").write_text(f"{CAMPAIGN}{more}\n")
    refused = run(app, ["admin", "add", "odd.toml", "several"])
    assert problem in str(refused.exception)
    assert list((folder / "several").iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["join", "https://localhost:1", "--policy", "p.toml", "--token", "@{file}"],
        ["join", "https://localhost:1", "--policy", "p.toml", "--tokens", "{file}"],
        ["join", "https://localhost:1", "--policy", "p.toml", "--peers", "{file}"],
        ["serve", "campaign.toml", "--storage-key", "@{file}"],
    ],
    ids=["token", "tokens", "peers", "storage key"],
)
@pytest.mark.parametrize("content", [b"\xff\xfe", None], ids=["no text", "a folder"])
def test_a_file_of_keys_or_tokens_that_cannot_be_read_is_named(folder, words, content):
    """What was told was "'utf-8' codec can't decode byte 0xff", of no file."""
    Path("p.toml").write_text("epsilon_per_release = 8\nepsilon_total = 8\n")
    file = folder / "odd"
    file.mkdir() if content is None else file.write_bytes(content)
    data = ["--data", "people.csv"] if words[0] == "join" else ["--port", "0"]
    refused = run(app, [*(word.format(file=file) for word in words), *data])
    assert f"{file} cannot be read as " in str(refused.exception)


def test_what_is_over_is_told_by_its_name(folder):
    service, url = running(folder), ["--database", "sqlite:///c.db"]
    with service.store.transaction() as connection:
        connection.exec_driver_sql("UPDATE campaign SET state = 'ended'")
    refused = run(app, ["admin", "tokens", "--new", "1", *url])
    assert "campaign 'trial' has ended: nobody can take part any more" in str(refused.exception)
    assert run(app, ["admin", "archive", *url]).exit_code == 0
    refused = run(app, ["admin", "archive", *url])
    assert "campaign 'trial' is archived already" in str(refused.exception)
    service.close()


def test_of_kits_that_could_not_all_be_made_there_is_none(folder, monkeypatch):
    """Those that were made had tokens that nobody knew."""
    service = running(folder)

    def one(path, content):
        if "south" in path.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace_file(path, content)

    monkeypatch.setattr(_kit_files, "replace_file", one)
    refused = run(
        app, ["invite", "north", "south", "--url", "https://x", "--database", "sqlite:///c.db"]
    )
    assert "south.kit cannot be written (No space left on device)" in str(refused.exception)
    assert not (folder / "kits").exists()
    assert Records(service.store).tokens() == []
    service.close()


KILLED = """
import os, signal, sys
from sqlalchemy import event
from sqlalchemy.engine import Engine
from tacit.cli import app

def end():
    os.kill(os.getpid(), signal.SIGKILL)

def committing(_):
    if os.path.exists("kits"):
        end() if sys.argv[1] == "commit" else setattr(os, "link", second)

def second(*paths):
    left.pop() if left else end()
    link(*paths)

left, link = [1], os.link
event.listen(Engine, "commit", committing)
app(sys.argv[2:])
"""


@pytest.mark.parametrize(("moment", "made"), [("commit", 0), ("in place", 1)])
def test_a_kit_that_is_there_is_good_whenever_its_maker_was_killed(folder, moment, made):
    """Killed before the commit it left kits whose tokens nobody knew."""
    service = running(folder)
    words = ["invite", "north", "south", "--url", "https://x", "--database", "sqlite:///c.db"]
    killed = subprocess.run([sys.executable, "-c", KILLED, moment, *words], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(known_kits(service.store)) == made
    unfinished = Path("kits") / "south.kit.unfinished"
    refused = run(app, ["join", str(unfinished), "--data", "people.csv", "--dry-run"])
    assert "is no kit yet" in str(refused.exception)
    again = run(app, words)
    assert again.exit_code == 0, again.output
    assert again.output.count("made before") == made
    assert len(known_kits(service.store)) == 2
    assert len(Records(service.store).tokens()) == 2  # those of the draft are nobody's
    assert sorted(path.name for path in Path("kits").iterdir()) == ["north.kit", "south.kit"]
    assert "exist: delete them" in str(run(app, words).exception)
    service.close()


def known_kits(store):
    """The kits that are there; each has a token that enrols."""
    known = {each["token"] for each in Records(store).tokens() if each["state"] == "free"}
    kits = [Kit.read(file) for file in Path("kits").glob("*.kit")]
    assert all(store.hide(token)[:12] in known for kit in kits for token in kit.tokens)
    return kits


def test_tokens_that_are_told_are_not_those_that_are_withdrawn(folder):
    """To put new ones in the place of all was to withdraw these, too, and to tell them all the
    same.
    """
    service = running(folder)
    service.store.add_tokens(["a token of before"])
    words = ["admin", "tokens", "--new", "2", "--withdraw", "all", "--database", "sqlite:///c.db"]
    told = run(app, words)
    assert "1 tokens were withdrawn" in told.output
    new = re.findall("new, told once: (.+)", told.output)
    assert len(new) == 2
    listed = [(each["token"], each["state"]) for each in Records(service.store).tokens()]
    assert sorted(listed) == sorted((service.store.hide(each)[:12], "free") for each in new)
    service.close()


@pytest.mark.parametrize("command", ["model", "join"])
def test_patience_that_is_no_number_of_seconds_is_refused(folder, command):
    """With `nan` it had no end."""
    words = [command, "http://127.0.0.1:1", "--home", "home", "--patience", "nan"]
    data = ["--data", "people.csv"] if command == "join" else []
    refused = run(app, [*words, *data])
    assert "patience must be 0 or more seconds" in str(refused.exception)
