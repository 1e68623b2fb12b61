"""One budget for life: whatever files, folders and campaigns are called, and whatever is lost."""

import shutil
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.owner.ledger import Ledger, LedgerError
from tacit.service.device.home import ME, Home
from tests.owner.made import gate, query, question
from tests.service.device.coordinators import POLICY, Watching, run

ROWS = "age,ill\n41,yes\n37,no\n"
GATEWAY = "patient,age,ill\n17,41,yes\n18,37,no\nWintergold <wintergold@x.org>,30,no\n"
cli = CliRunner().invoke


def spent(home):
    """What each owner of a home has spent."""
    found: dict[str, Fraction] = {}
    for entry in Home.at(home).ledger.entries():
        found[entry.owner] = found.get(entry.owner, Fraction(0)) + entry.cost
    return found


def files(folder):
    (folder / "a.csv").write_text(ROWS)
    (folder / "b.csv").write_text(ROWS)
    (folder / "fleet.csv").write_text(GATEWAY)
    return folder


def test_a_renamed_file_is_the_same_owner(tmp_path):
    files(tmp_path)
    first, second = Watching(), Watching("other", address="https://other")
    assert run(first, tmp_path / "a.csv", tmp_path / "home") == 1
    first.forget()
    assert run(first, tmp_path / "b.csv", tmp_path / "home") == 1
    assert len(set(first.bodies("/v1/report"))) == 1  # the same question, the same bytes
    with pytest.raises(ValueError, match="does not pay for the campaign"):
        run(second, tmp_path / "b.csv", tmp_path / "home")
    assert [path for _, path, _, _ in second.seen] == ["/v1/campaign"]
    assert spent(tmp_path / "home") == {ME: 1}


def test_a_second_campaign_pays_from_the_same_budget_and_needs_its_key_at_the_same_address(
    tmp_path,
):
    files(tmp_path)
    home, data = tmp_path / "home", tmp_path / "a.csv"
    run(Watching(), data, home)
    other = Watching("other")
    with pytest.raises(ValueError, match="is pinned: another campaign"):
        run(other, data, home)
    campaign = other.key.public_key().public_bytes_raw()
    with pytest.raises(ValueError, match=r"does not pay for the campaign, .* epsilon 1: nothing"):
        run(other, data, home, pinned=campaign)
    assert other.reports() == 0
    assert run(other, data, home, pinned=campaign, policy=_twice()) == 1
    assert spent(home) == {ME: 2}
    assert len(list((home / "pins").iterdir())) == 4  # two, with what each may ask


def test_an_owner_has_another_key_in_every_campaign(tmp_path):
    home = Home.at(tmp_path)
    keys = {
        home.key(campaign, value).public_key().public_bytes_raw()
        for campaign in (bytes(32), bytes([1]) * 32)
        for value in (None, "", "a", "one owner")
    }
    assert len(keys) == 8


def test_a_home_that_was_put_back_is_refused(tmp_path):
    files(tmp_path)
    home, data = tmp_path / "home", tmp_path / "a.csv"
    Home.at(home).ledger.close()
    shutil.copytree(home, tmp_path / "backup")
    run(Watching(), data, home, policy=POLICY)
    more = Watching("more", address="https://more")
    run(more, data, home, policy=_twice())
    shutil.rmtree(home)
    shutil.copytree(tmp_path / "backup", home)
    again = Watching("again", address="https://again")
    with pytest.raises(LedgerError, match="not the latest: it has 0 releases"):
        run(again, data, home)
    with pytest.raises(LedgerError, match="not the latest"):
        run(again, data, tmp_path / "backup")  # nor under another name
    assert again.reports() == 0


def _twice():
    from dataclasses import replace

    return replace(POLICY, epsilon_total=Fraction(2))


@pytest.mark.parametrize("lost", ["ledger.db", "identity", "."])
def test_what_a_home_has_lost_is_missed(tmp_path, lost):
    files(tmp_path)
    home, data = tmp_path / "home", tmp_path / "a.csv"
    run(Watching(), data, home)
    if lost == ".":
        shutil.rmtree(home)
    else:
        (home / lost).unlink()
    again = Watching("again", address="https://again")
    with pytest.raises(LedgerError, match="has lost its"):
        run(again, data, home)
    assert again.reports() == 0


@pytest.mark.parametrize("emptied", [False, True])
def test_a_home_without_ledger_and_mark_is_refused(tmp_path, emptied, monkeypatch):
    """Also where an empty file stands in the ledger's place."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    files(tmp_path)
    home, data = tmp_path / "home", tmp_path / "a.csv"
    run(Watching(), data, home)
    for file in [*home.glob("ledger.db*"), *(tmp_path / "state" / "tacit").glob("*.mark")]:
        file.unlink()
    if emptied:
        (home / "ledger.db").touch()
    again = Watching("again", address="https://again")
    with pytest.raises(LedgerError, match="has lost"):
        run(again, data, home)
    assert again.reports() == 0


def test_a_second_guard_is_remembered(tmp_path):
    files(tmp_path)
    home, data, token = tmp_path / "home", tmp_path / "a.csv", tmp_path / "token"
    token.mkdir()
    run(Watching(), data, home, guards=(token / "mark",))
    assert (token / "mark").exists()
    shutil.rmtree(token)
    with pytest.raises(LedgerError, match="not mounted"):
        run(Watching("again", address="https://again"), data, home)


def test_csv_and_parquet_name_the_same_owners(tmp_path):
    files(tmp_path)
    home = tmp_path / "home"
    assert run(Watching(), tmp_path / "fleet.csv", home, "patient") == 3
    numbers = pa.table({"patient": [17.0, 18.0], "age": [41, 37], "ill": ["yes", "no"]})
    pyarrow.parquet.write_table(numbers, tmp_path / "n.parquet")
    whole = numbers.set_column(0, "patient", pa.array([17, 18]))
    pyarrow.parquet.write_table(whole, tmp_path / "w.parquet")
    (tmp_path / "blanks.csv").write_text("patient,age,ill\n 17.0 ,41,yes\n018,37,no\n")
    for file in ("n.parquet", "w.parquet", "blanks.csv"):
        other = Watching(file, address=f"https://{file}")
        with pytest.raises(ValueError, match="does not pay for the campaign"):
            run(other, tmp_path / file, home, "patient")
        assert other.reports() == 0
    assert sorted(spent(home).values()) == [1, 1, 1]


def test_no_value_is_written_down(tmp_path):
    files(tmp_path)
    home = tmp_path / "home"
    run(Watching(), tmp_path / "fleet.csv", home, "patient")
    Home.at(home).ledger.close()
    for file in home.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        assert b"wintergold" not in content.lower()  # too long for chance to write it
        assert b"fleet" not in content


def test_one_home_is_for_one_kind_of_owners(tmp_path):
    files(tmp_path)
    home = tmp_path / "home"
    run(Watching(), tmp_path / "fleet.csv", home, "patient")
    for column in (None, "age"):
        other = Watching("other", address="https://other")
        with pytest.raises(ValueError, match="is for column patient, not for"):
            run(other, tmp_path / "fleet.csv", home, column)
        assert other.reports() == 0


def old_folder(folder, names=("north",)):
    """A folder as it was before there were homes: owners are files' names or values of a column."""
    folder.mkdir()
    door = gate(folder, owners=list(names), cohort=None if len(names) == 1 else _rows(len(names)))
    for name in names:
        door.answer(question(1, asked=query(epsilons=(0.25,))), name)
    (folder / "identity").write_bytes(bytes(range(32)))
    (folder / "campaign.key").write_bytes(bytes(32))
    (folder / "relayed").mkdir()
    (folder / "relayed" / "rosters-1").write_bytes(b"roster")
    return folder


def _rows(owners):
    from tests.owner.made import rows

    return rows(owners)


def test_a_home_that_was_only_looked_from_is_for_nobody_yet(tmp_path):
    """A dry run without --owners made it one of one owner, for good: the same command with them
    wanted another home.
    """
    files(tmp_path)
    home = Home.at(tmp_path / "home")
    home.settle(None)
    home.settle("patient")
    assert (tmp_path / "home" / "owners").read_text() == "column patient"
    home.pin(bytes(32), "https://there")
    with pytest.raises(ValueError, match="is for column patient, not for one owner"):
        home.settle(None)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="home must be a folder, and"):
        Home.at(tmp_path / "file")


def test_who_leaves_a_gateway_is_named_before_anything_is_sent(tmp_path):
    """What was told was that "owner 'me'" is not enrolled, of a home in which there is none."""
    for name, column, more, said in (
        ("gateway", "patient", [], "is for column patient: say who, --owner NAME"),
        ("single", None, ["--owner", "17"], "is for one owner: leave out --owner"),
    ):
        Home.at(tmp_path / name).settle(column)
        words = ["leave", "http://127.0.0.1:1", "--home", str(tmp_path / name), "--patience", "0"]
        assert said in str(cli(app, [*words, *more]).exception)


def test_what_has_no_ledger_is_not_adopted(tmp_path):
    """What was told is that "adopted.ledger.db" cannot be, which nobody had named."""
    (tmp_path / "empty").mkdir()
    words = ["ledger", "adopt", str(tmp_path / "empty"), "--home", str(tmp_path / "home")]
    assert f"{tmp_path / 'empty'} has no ledger.db: give a" in str(cli(app, words).exception)
    assert list((tmp_path / "empty").iterdir()) == []


def test_an_old_folder_is_moved_with_all_it_spent(tmp_path):
    old, home = old_folder(tmp_path / "old"), tmp_path / "home"
    with pytest.raises(LedgerError, match="tacit ledger adopt"):
        Home.at(old)
    result = cli(app, ["ledger", "adopt", str(old), "--home", str(home)])
    assert result.exit_code == 0, result.output
    assert spent(home) == {ME: Fraction(1, 4)}
    kept = Home.at(home)
    from tacit.service.device.home import Identity

    before = Identity(bytes(range(32))).key(b"north")  # the key it is enrolled with stays good
    assert kept.key(bytes(32), None).private_bytes_raw() == before.private_bytes_raw()
    assert (kept.peers(bytes(32)) / "relayed" / "rosters-1").read_bytes() == b"roster"
    assert cli(app, ["ledger", "adopt", str(old), "--home", str(home)]).exit_code == 0
    assert spent(home) == {ME: Fraction(1, 4)}  # twice is once
    assert not (old / "ledger.db").exists()


def test_releases_under_two_old_names_are_both_kept(tmp_path):
    old, home = old_folder(tmp_path / "old", ("a", "b")), tmp_path / "home"
    cli(app, ["ledger", "adopt", str(old), "--home", str(home)])
    assert spent(home) == {ME: Fraction(1, 2)}
    cli(app, ["ledger", "adopt", str(old), "--home", str(home)])
    assert spent(home) == {ME: Fraction(1, 2)}


def test_an_old_gateway_keeps_its_owners_apart(tmp_path):
    old, home = old_folder(tmp_path / "old", ("17.0", "b")), tmp_path / "home"
    cli(app, ["ledger", "adopt", str(old), "--home", str(home), "--owners", "patient"])
    kept = Home.at(home)
    assert spent(home) == {kept.owner("17"): Fraction(1, 4), kept.owner("b"): Fraction(1, 4)}


def test_a_home_that_was_moved_to_another_machine_is_adopted_on_purpose(tmp_path, monkeypatch):
    files(tmp_path)
    home = tmp_path / "home"
    run(Watching(), tmp_path / "a.csv", home)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    show = ["ledger", "show", "--home", str(home)]
    assert isinstance(cli(app, show).exception, LedgerError)
    assert cli(app, ["ledger", "adopt", str(home), "--home", str(home)]).exit_code == 0
    assert "me: epsilon 1 spent in 1 release" in cli(app, show).output


def test_the_mark_lies_apart(tmp_path):
    ledger = Home.at(tmp_path / "home").ledger
    assert tmp_path not in ledger.mark.parents
    assert isinstance(ledger, Ledger)


def test_gateways_of_any_size_are_named_at_once(tmp_path):
    home = Home.at(tmp_path)
    names = {home.owner(str(number)) for number in np.arange(2000)}
    assert len(names) == 2000
