"""What is known of owners and forgotten, who may do what, and the log of what was done."""

import asyncio
import os
import time
from pathlib import Path

import httpx
import pytest
from sqlalchemy.exc import OperationalError

from tacit.cli import app
from tacit.cli.serve import give_tokens
from tacit.service.coordinator import intake
from tacit.service.coordinator import records as records_module
from tacit.service.coordinator import store as store_module
from tacit.service.coordinator.keys import add_administrator, dismiss_administrator
from tacit.service.coordinator.records import Act, Records
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import CLOSED, OPEN, Excerpt, Question, StoreError
from tacit.service.protocol.succession import MOST
from tests.cli.made import run
from tests.service.coordinator.made import ADMIN, at_once, client_of, enrol, folder_of, running

TOKENS = [f"token number {i:04d}" for i in range(4)]
KEYS = [f"{i:064x}" for i in range(4)]


@pytest.fixture
def records(store):
    store.add_tokens(TOKENS)
    assert enrol(store, KEYS[0], TOKENS[0], "north")
    assert enrol(store, KEYS[1], TOKENS[1])
    places = store.owners_waiting()
    for number, state in ((1, CLOSED), (2, OPEN)):
        asked = Question(number, bytes([number]) * 32, b"signed", OPEN, 0.0, 60.0, None)
        store.ask(asked, places, spend=number == 1)
        with store.transaction() as connection:
            intake.write_reports(
                connection, store.id, number, dict.fromkeys(places, b"report"), 0.0
            )
        if state == CLOSED:
            store.close_question(number, CLOSED)
    return Records(store)


def test_what_is_known_of_an_owner_is_shown(records):
    known = records.describe_owner(KEYS[0])
    assert (known["name"], known["reports"], known["invitations"]) == ("north", 2, 2)
    assert known["token_hash"]
    assert records.describe_owner("nobody") is None
    assert [(each["name"], each["state"]) for each in records.owners()] == [
        ("north", "answered"),
        ("", "answered"),
    ]


def test_who_enrolled_is_in_the_log_by_key_where_it_has_a_name_and_counted_where_not(records):
    enrolled = [each for each in records.acts() if each.what == "enrol"]
    assert [(each.who, each.about, each.source) for each in enrolled] == [
        ("owner", KEYS[0], ""),
        ("owner", "1 owner", ""),
    ]
    assert records.forget(KEYS[0])
    assert KEYS[0] not in repr(records.acts())


def test_forgetting_deletes_what_can_go_and_the_rest_after_the_end(records, store):
    records.note(Act("admin", "revoke", KEYS[1], "here", "200"))
    for name in ("north", "northwest"):
        records.note_command("invite", f"{name}, 1 tokens")
    done = records.forget(KEYS[1])
    assert done["deleted"] == ["its key", "its token's hash"]
    assert any("closed questions, until" in each for each in done["stays"])
    assert records.describe_owner(KEYS[1]) is None
    (act,) = [each for each in records.acts() if each.what == "revoke"]
    assert act.about == "forgotten 2"
    assert not enrol(store, KEYS[1], TOKENS[1])  # nor does its token open the door again
    assert [place for place, _ in store.reports_of(1)] == [1, 2]  # the replay needs it
    assert [place for place, _ in store.reports_of(2)] == [1]
    named = records.forget(KEYS[0])
    assert any("its name, until" in each for each in named["stays"])
    assert store.labels() == {1: "north", 2: ""}
    assert records.forget("nobody") is None

    assert store.end("all rounds", b"model")
    for key in ("forgotten 1", "forgotten 2"):
        again = records.forget(key)
        assert "its reports" in again["deleted"]
    assert store.labels() == {1: "", 2: ""}
    kits = [act.about for act in records.acts() if act.what == "invite"]
    assert kits == ["forgotten 1, 1 tokens", "northwest, 1 tokens"]
    assert store.reports_of(1) == store.reports_of(2) == []
    assert [each["state"] for each in records.owners()] == ["forgotten"] * 2


def test_tokens_that_nobody_used_are_withdrawn(records, store):
    assert records.withdraw_tokens() == 2
    assert not enrol(store, KEYS[2], TOKENS[2])


def test_serving_again_has_as_many_tokens_as_were_asked_for(store, tmp_path):
    assert [give_tokens(store, tmp_path, wanted) for wanted in (4, 4, 6, 0)] == [4, 0, 2, 0]
    given = (tmp_path / "tokens").read_text().split()
    assert len(set(given)) == 6
    assert len(Records(store).tokens()) == 6


def test_a_file_of_tokens_has_a_line_for_each(store, tmp_path, monkeypatch):
    """Where somebody's editor had left out the last line's end two tokens became one, as where a
    disk was full in the middle of one.
    """
    (tmp_path / "tokens").write_text("a-token-of-before")
    assert give_tokens(store, tmp_path, 3) == 2
    given = (tmp_path / "tokens").read_text()
    assert len(given.splitlines()) == 3
    assert all(enrol(store, f"{place}", each) for place, each in enumerate(given.split()[1:]))

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            give_tokens(store, tmp_path, 5)
    assert (tmp_path / "tokens").read_text() == given
    assert give_tokens(store, tmp_path, 5) == 2


def test_a_campaign_that_ends_while_it_is_served_again_has_no_new_tokens(
    store, tmp_path, monkeypatch
):
    """Another coordinator had ended it just now: this one did not begin, with all its campaigns."""
    before = store.standing()
    assert store.end("rounds", b"model")
    monkeypatch.setattr(store, "standing", lambda: before)
    assert give_tokens(store, tmp_path, 5) == 0
    assert not (tmp_path / "tokens").exists()


def test_tokens_are_listed_expire_and_are_withdrawn_one_by_one(records, store):
    store.add_tokens(["too late already"], expires=time.time() - 1, maker="ada")
    store.add_tokens(["still good token"], expires=time.time() + 60, maker="ada")
    assert not enrol(store, KEYS[2], "too late already")
    assert enrol(store, KEYS[2], "still good token")
    listed = records.tokens()
    states = [(each["state"], each["maker"], each["owner"]) for each in listed]
    used = [("used", "", KEYS[0]), ("used", "", KEYS[1])]
    assert sorted(states[:4]) == [("free", "", "")] * 2 + used
    assert states[4:] == [("expired", "ada", ""), ("used", "ada", KEYS[2])]
    free = next(each["token"] for each in listed if each["state"] == "free")
    assert records.withdraw_tokens(free) == 1
    assert records.withdraw_tokens(listed[-1]["token"]) == 0  # it was used
    assert len(records.tokens()) == 5


def test_administrators_do_what_their_roles_say_and_all_of_it_is_written_down(tmp_path):
    folder = folder_of(tmp_path)
    file = folder / "administrators"
    looks = add_administrator(file, "ada", ["look"])
    steers = add_administrator(file, "bob", ["steer"])
    assert file.stat().st_mode & 0o077 == 0
    assert looks not in file.read_text()
    for name, role in (("ada", "look"), ("admin", "look"), ("a b", "look"), ("eve", "fly")):
        with pytest.raises(ValueError, match=r"^(name|roles) must be"):
            add_administrator(file, name, [role])
    service = running(folder, administrators=(file,))
    calls = [
        (ADMIN, "POST", "state", b"paused"),
        (looks, "POST", "state", b"running"),
        (steers, "POST", "state", b"running"),
        (steers, "POST", "revoke", KEYS[0].encode()),
        ("guessed", "POST", "state", b"running"),
        (steers, "GET", "acts", b""),
        (looks, "GET", "owners", b""),
        (looks, "GET", "tokens", b""),
        (looks, "POST", "withdraw", b"all"),
        (ADMIN, "POST", "tokens?expires=4000000000", b"a new token, or two"),
        (ADMIN, "POST", "tokens?expires=soon", b"another-new-token"),
        (ADMIN, "POST", "tokens?expires=4000000000", b"another-new-token"),
        (ADMIN, "POST", "withdraw", b"all"),
        (looks, "GET", "acts", b""),
    ]

    async def ask(key):
        async with client_of(service.app) as client:
            found = await client.get("/v1/admin/owners", headers={"x-tacit-admin": key})
            return found.status_code

    async def main():
        async with client_of(service.app) as client:
            found = []
            for key, method, path, body in calls:
                headers = {"x-tacit-admin": key}
                path = f"/v1/admin/{path}"
                found.append(await client.request(method, path, content=body, headers=headers))
            return found

    found = asyncio.run(main())
    assert [each.status_code for each in found] == [
        *(200, 403, 200, 403, 401, 403, 200, 200, 403, 400, 400, 200, 200, 200)
    ]
    acts = [(act["who"], act["what"], act["outcome"]) for act in found[-1].json()["acts"]]
    assert acts == [
        ("admin", "state", "200"),
        ("ada", "state", "refused"),
        ("bob", "state", "200"),
        ("bob", "revoke", "refused"),
        ("unknown", "state", "refused"),
        ("bob", "acts", "refused"),
        ("ada", "owners", "200"),
        ("ada", "tokens", "200"),
        ("ada", "withdraw", "refused"),
        ("admin", "tokens", "400"),
        ("admin", "tokens", "400"),
        ("admin", "tokens", "200"),
        ("admin", "withdraw", "200"),
    ]
    assert found[-1].json()["acts"][0]["about"] == "paused"
    assert found[-2].json() == {"withdrawn": 1}
    late = add_administrator(file, "eve", ["look"])
    again = asyncio.run(ask(late))
    file.write_text("")  # whoever is taken out of the file is out at once
    assert (again, asyncio.run(ask(late))) == (200, 401)


def test_lists_are_read_in_parts(records, store):
    for number in range(7):
        records.note(Act("ada", "state", str(number), "", "200"))
    every = records.acts()
    numbers = [act.number for act in every]
    assert numbers == sorted(set(numbers))
    assert records.acts(Excerpt(limit=3)) == every[-3:]
    assert records.acts(Excerpt(limit=3, before=numbers[-3])) == every[-6:-3]
    assert records.acts(Excerpt(limit=2, after=numbers[1])) == every[2:4]
    assert records.acts(Excerpt(after=numbers[-1])) == []
    for find in (records.owners, records.tokens):
        whole = find()
        assert find(Excerpt(limit=1)) == whole[-1:]
        assert find(Excerpt(limit=1, after=whole[0]["number"])) == whole[1:2]
        assert find(Excerpt(before=whole[1]["number"])) == whole[:1]
    assert records.owners()[0]["answered"] == records.owners(Excerpt(limit=2))[0]["answered"] == 2


def test_administrators_read_lists_in_parts(tmp_path):
    service = running(folder_of(tmp_path))
    records, headers = Records(service.store), {"x-tacit-admin": ADMIN}
    for number in range(250):
        records.note(Act("ada", "state", str(number), "", "200"))

    async def main():
        async with client_of(service.app) as client:

            async def ask(which):
                return await client.get(f"/v1/admin/acts{which}", headers=headers)

            last = (await ask("")).json()["acts"]
            assert [act["about"] for act in last] == [str(number) for number in range(150, 250)]
            first = last[0]["number"]
            before = (await ask(f"?limit=7&before={first}")).json()["acts"]
            assert [act["about"] for act in before] == [str(number) for number in range(143, 150)]
            for odd in ("limit=0", "limit=1001", "limit=-1", "after=x", "before=1e3", "after="):
                assert (await ask(f"?{odd}")).status_code == 400

    asyncio.run(main())


def test_guesses_do_not_fill_the_database(tmp_path, monkeypatch):
    """Not from one address, nor from the many that one site has, nor from many sites."""
    monkeypatch.setattr(records_module, "_ALL_GUESSES", 25)
    service = running(folder_of(tmp_path))

    async def guess(address):
        transport = httpx.ASGITransport(service.app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            await client.post("/v1/admin/state", headers={"x-tacit-admin": "guessed"})

    async def count(addresses):
        for address in addresses:
            await guess(address)
        return len(Records(service.store).acts())

    assert asyncio.run(count(["192.0.2.1"] * 30)) == 10
    assert asyncio.run(count(f"2001:db8:1:2::{last:x}" for last in range(30))) == 20
    assert asyncio.run(count(f"192.0.2.{last}" for last in range(2, 60))) == 25


def test_a_line_that_is_no_administrator_locks_nobody_out(tmp_path, caplog):
    folder = folder_of(tmp_path)
    file = folder / "administrators"
    looks = add_administrator(file, "ada", ["look"])
    service = running(folder, administrators=(file,))

    def statuses():
        async def main():
            async with client_of(service.app) as client:
                keys = [{"x-tacit-admin": key} for key in (ADMIN, looks, "guessed")]
                found = [await client.get("/v1/admin/owners", headers=key) for key in keys]
                found.append(await client.post("/v1/admin/tokens", content=b"x"))
                return [each.status_code for each in found]

        return asyncio.run(main())

    for more in ("\n", "eve\n", "eve look nothex\n", "eve look 00 00\n"):
        file.write_text(file.read_text() + more)
        assert statuses() == [200, 200, 401, 401]
    assert "is no administrator" in caplog.text
    file.write_bytes(file.read_bytes() + b"\xff\xfe\n")
    assert statuses() == [200, 200, 401, 401]
    add_administrator(file, "bob", ["look"])
    assert statuses() == [200, 200, 401, 401]
    dismiss_administrator(file, "ada")
    assert statuses() == [200, 401, 401, 401]
    with pytest.raises(ValueError, match="name must be one of"):
        dismiss_administrator(file, "ada")
    file.unlink()
    file.mkdir()  # which is no file
    assert statuses() == [200, 401, 401, 401]
    assert "administrators cannot be read, and is nobody's" in caplog.text


@pytest.mark.parametrize("name", ["coordinator", "operator", "owner", "unknown", "\u0430da"])
def test_nobody_is_named_like_others_in_the_log(tmp_path, name):
    with pytest.raises(ValueError, match="name must be letters"):
        add_administrator(tmp_path / "administrators", name, ["look"])


ACTS = [
    ("state", b"paused", lambda store: store.standing().state),
    ("state", b"ended", lambda store: store.standing().state),
    ("tokens", b"a-token-of-the-test", lambda store: Records(store).tokens()),
    ("withdraw", b"all", lambda store: Records(store).tokens()),
    ("revoke", KEYS[0].encode(), lambda store: store.owner_counts()),
]


@pytest.mark.parametrize(("path", "body", "look"), ACTS)
def test_what_is_not_written_down_was_not_done(tmp_path, database, monkeypatch, path, body, look):
    """The database goes away between an act and the line in the log."""
    service = running(folder_of(tmp_path), database)
    service.store.add_tokens(TOKENS)
    assert enrol(service.store, KEYS[0], TOKENS[0])
    before = look(service.store), Records(service.store).acts()

    def gone(self, act):
        raise OperationalError("INSERT", {}, Exception("the database has gone"))

    def act():
        async def main():
            async with client_of(service.app) as client:
                headers = {"x-tacit-admin": ADMIN}
                return await client.post(f"/v1/admin/{path}", content=body, headers=headers)

        return asyncio.run(main()).status_code

    with monkeypatch.context() as patched:
        patched.setattr(Records, "note", gone)
        assert act() == 503
    assert (look(service.store), Records(service.store).acts()) == before
    assert act() == 200
    assert look(service.store) != before[0]
    assert Records(service.store).acts()[-1].what == path
    service.close()


GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "operate.md"


def kept_by_table():
    """What the guide says is still there, by row: while it takes part, after it left, after it was
    forgotten, and both after the end.
    """
    section = GUIDE.read_text().split("## Keep and forget")[1].split("\n## ")[0]
    rows = [line.strip("| ").split("|") for line in section.splitlines() if line.startswith("| ")]
    cells = {row[0].strip(): [cell.strip() for cell in row[2:]] for row in rows[1:]}
    return {
        name: [not cell.startswith("deleted") for cell in row]
        for name, row in cells.items()
        if "acts" not in name and "signed" not in name
    }


def test_what_the_guide_says_is_kept_and_deleted_is(records, store):
    def kept(key):
        known = {each["owner"] for each in records.owners()}
        return [
            key in known,
            store.labels()[1] == "north",
            1 in dict(store.reports_of(2)),
            1 in dict(store.reports_of(1)),
            store.counts(1)[0] == 2,
        ]

    stages = [kept(KEYS[0])]
    assert store.revoke(KEYS[0])
    stages.append(kept(KEYS[0]))
    assert records.forget(KEYS[0])
    stages.append(kept(KEYS[0]))
    assert store.end("all rounds", b"model")
    assert records.forget("forgotten 1")
    stages.append(kept(KEYS[0]))
    found = list(map(list, zip(*stages, strict=True)))
    assert found == list(kept_by_table().values())


def test_looking_again_and_again_does_not_fill_the_log(tmp_path, monkeypatch):
    """Every look is a line: an administrator who may do nothing else could write as many as it
    liked, and with what it may not do as well.
    """
    monkeypatch.setattr(records_module, "_ACTS", 6, raising=False)
    folder = folder_of(tmp_path)
    looks = add_administrator(folder / "administrators", "ada", ["look"])
    service = running(folder, administrators=(folder / "administrators",))

    async def main():
        async with client_of(service.app) as client:
            mine = {"x-tacit-admin": looks}
            found = [await client.get("/v1/admin/acts", headers=mine) for _ in range(4)]
            found += [await client.post("/v1/admin/state", headers=mine) for _ in range(4)]
            found += [await client.get("/v1/admin/acts", headers=mine) for _ in range(2)]
            found.append(await client.get("/v1/admin/acts", headers={"x-tacit-admin": ADMIN}))
            return found

    found = asyncio.run(main())
    codes = [answer.status_code for answer in found]
    assert codes == [*[200] * 4, *[403] * 4, *[429] * 2, 200]  # nobody waits for another
    assert found[-2].json() == {"error": "too many"}
    assert [act.who for act in Records(service.store).acts()] == ["ada"] * 6 + ["admin"]


def test_where_an_act_came_from_has_a_length(tmp_path):
    """A proxy may hand on whatever it was told."""
    service = running(folder_of(tmp_path))

    async def main():
        transport = httpx.ASGITransport(service.app, client=("y" * 16_000, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            await client.get("/v1/admin/acts", headers={"x-tacit-admin": ADMIN})
            await client.get("/v1/admin/acts", headers={"x-tacit-admin": "guessed"})

    asyncio.run(main())
    assert [act.source for act in Records(service.store).acts()] == ["y" * 64] * 2


def test_tokens_that_nobody_has_used_are_so_many(tmp_path, monkeypatch):
    """An administrator who may admit could add as many as the disk held."""
    monkeypatch.setattr(store_module, "MOST_TOKENS", 5, raising=False)
    service = running(folder_of(tmp_path))
    service.store.add_tokens(TOKENS[:2])

    async def main():
        async with client_of(service.app) as client:
            many = [f"another-new-token-{at}" for at in range(4)]
            headers = {"x-tacit-admin": ADMIN}
            bodies = many, many[:3], many[3:]
            return [
                await client.post("/v1/admin/tokens", content="\n".join(each), headers=headers)
                for each in bodies
            ]

    found = asyncio.run(main())
    assert [answer.status_code for answer in found] == [507, 200, 507]
    assert found[0].json() == {"error": "full"}
    with pytest.raises(StoreError, match="withdraw some"):
        service.store.add_tokens(["one more token than may be"])
    with pytest.raises(StoreError, match="make fewer"):  # of which none is made before
        service.store.make_tokens(10**18)
    assert enrol(service.store, KEYS[0], TOKENS[0])  # and there is room for one again
    service.store.add_tokens(["one more token than may be"])


def test_who_leaves_while_its_key_is_replaced_is_told_the_truth(records, store, monkeypatch):
    """ "Left", it was told, though it had not: it went by another key by then."""
    is_revoked = Store.is_revoked

    def renew_meanwhile(self, owner):
        found = is_revoked(self, owner)
        monkeypatch.setattr(Store, "is_revoked", is_revoked)
        assert store.rekey(KEYS[1], "e" * 64)
        return found

    monkeypatch.setattr(Store, "is_revoked", renew_meanwhile)
    assert not records.leave(KEYS[1])
    assert store.is_member("e" * 64)
    assert not [act for act in records.acts() if act.what == "leave"]
    assert records.leave("e" * 64)
    assert not store.is_member("e" * 64)


@pytest.mark.parametrize("trial", range(6))
def test_of_two_keys_at_once_one_is_told_that_it_is_the_owners(records, store, database, trial):
    """Both were, by workers that did not wait for each other: the device that believed the second
    was nobody.
    """
    owner = KEYS[1]
    others = [Store(database) for _ in range(4)]
    new = [f"{trial + 1}{place}" * 32 for place in range(4)]
    told = at_once(lambda place: others[place].rekey(owner, new[place]))
    goes_by = [key for key in new if store.is_member(key)]
    assert len(goes_by) == 1
    assert [key for key, said in zip(new, told, strict=True) if said is True] == goes_by
    assert sum(act.what == "rekey" for act in records.acts()) == 1
    for each in others:
        each.close()


def test_leaving_is_written_down_once_and_of_strangers_never(records, store):
    """Who had left could fill the log by leaving again."""
    for _ in range(5):
        assert records.leave(KEYS[1])
    assert not records.leave("f" * 64)
    assert [act.about for act in records.acts() if act.what == "leave"] == [KEYS[1]]


def test_an_owner_has_so_many_keys(records, store):
    """Each is a line in the log: there was no end to them."""
    taken = [store.rekey(f"{100 + i:064x}" if i else KEYS[0], f"{101 + i:064x}") for i in range(20)]
    assert taken == [True] * MOST + [False] * (20 - MOST)
    assert store.rekey(f"{99 + MOST:064x}", f"{100 + MOST:064x}")  # the last one, said again
    assert sum(act.what == "rekey" for act in records.acts()) == MOST


def test_no_token_expires_after_all_calendars(tmp_path):
    """Nobody could list tokens any more, nor make some: "year 33658 is out of range"."""
    service = running(folder_of(tmp_path))

    async def main():
        async with client_of(service.app) as client:
            for moment, status in (("253402300800", 400), ("253402300799", 200)):
                sent = {"content": b"another-new-token", "headers": {"x-tacit-admin": ADMIN}}
                where = f"/v1/admin/tokens?expires={moment}"
                assert (await client.post(where, **sent)).status_code == status

    asyncio.run(main())
    service.store.add_tokens(["of another release"], expires=999999999999.0)
    listed = run(app, ["admin", "tokens", "--database", f"sqlite:///{tmp_path}/c.db"])
    assert listed.exit_code == 0, listed.output
    assert "until 9999-12-31 23:59:59 UTC" in listed.output
    assert "until 999999999999 seconds after 1970" in listed.output
    service.store.close()
