"""Several campaigns behind one address, on one database: the bytes of each are those that it has
alone; others go on while one is added, ended and archived.
"""

import asyncio
import threading
import time
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from prometheus_client import generate_latest

import tacit
from tacit.estimators.persistence import SavedModel, open_model
from tacit.service.coordinator import server
from tacit.service.coordinator.keys import CampaignKeys
from tacit.service.coordinator.records import Records
from tacit.service.coordinator.server import Making, Service, campaign_files
from tacit.service.coordinator.store import Store
from tacit.service.device.client import Link
from tacit.service.device.join import RehearsalPart, join
from tacit.service.kinds import read_spec, read_terms
from tacit.service.kinds.campaign_file import Readers
from tacit.service.protocol.handshake import Request, request_headers
from tacit.wire import decode, encode
from tests.service.coordinator.made import ADMIN, CAMPAIGN, client_of, folder_of, joining, visiting
from tests.service.coordinator.test_rehearsal import in_process

SEED = 7
TOKENS = [f"token number {i:04d}" for i in range(60)]
HEADERS = {"x-tacit-admin": ADMIN}


def keys_of(slug):
    digest = sha256(slug.encode()).digest()
    return CampaignKeys.of(Ed25519PrivateKey.from_private_bytes(digest))


def folder_with(tmp_path, *slugs):
    """A folder of campaigns, each with owners of its own beside."""
    folder = tmp_path / "campaigns"
    folder.mkdir()
    for slug in slugs:
        add(tmp_path, folder, slug)
    return folder


def add(tmp_path, folder, slug, **entries):
    """Another campaign for the folder; its owners' folder."""
    text = CAMPAIGN.replace("trial", f"trial {slug}").replace("start = 45", "start = 60")
    more = "".join(f"{name} = {value!r}\n" for name, value in entries.items())
    own = tmp_path / slug
    own.mkdir()
    folder_of(own, text=text + more)
    (folder / "mine.csv").write_bytes((own / "mine.csv").read_bytes())
    (folder / f"{slug}.toml").write_text(text + more)
    return own


class QuickService(Service):
    pause = 0.05


def service_of(folder, database, rehearsal=SEED):
    made = QuickService(
        [folder], database, keys_of, lambda slug: Making(admin=ADMIN, rehearsal=rehearsal)
    )
    made.mount(made.look())
    return made


async def take_part(client, tmp_path, slug):
    """All owners of a campaign, until it ends; the published model."""
    client.base_url = f"http://localhost/campaigns/{slug}"
    link = Link([client], patience=60.0)
    await join(joining(tmp_path / slug, RehearsalPart(SEED)), link, TOKENS)
    return (await link.call("GET", "/v1/model", None)).content


def test_two_campaigns_at_once_have_the_bytes_of_each_alone(tmp_path, any_database):
    folder = folder_with(tmp_path, "north", "south")
    service = service_of(folder, any_database)
    for each in service.campaigns.values():
        each.store.add_tokens(TOKENS)

    async def main():
        guard = service.app()
        async with visiting(guard) as one, client_of(guard) as other:
            return await asyncio.gather(
                take_part(one, tmp_path, "north"), take_part(other, tmp_path, "south")
            )

    for slug, published in zip(("north", "south"), asyncio.run(main()), strict=True):
        model, _ = open_model(published)
        alone = in_process(tmp_path / slug, SEED, 8.0)
        assert encode(decode(model, SavedModel).model) == encode(alone)
        file = tmp_path / f"{slug}.tacit"
        file.write_bytes(published)
        assert tacit.load(file, key=service.campaigns[slug].campaign_key.hex())
        other = service.campaigns["south" if slug == "north" else "north"]
        with pytest.raises(ValueError, match="signed"):
            tacit.load(file, key=other.campaign_key.hex())


def test_campaigns_are_added_ended_and_archived_while_others_go_on(tmp_path, database):
    folder = folder_with(tmp_path, "north")
    (folder / "broken.toml").write_text("kind = 'nothing'")
    service = service_of(folder, database)
    store, other = Store(database, "north"), Store(database, "south")
    store.add_tokens(TOKENS)

    async def until(client, path, wanted):
        for _ in range(400):
            found = await client.get(path)
            if wanted(found):
                return found
            await asyncio.sleep(0.05)
        raise AssertionError(path)

    async def main():
        async with visiting(service.app()) as client:
            listed = (await client.get("/v1/campaigns")).json()["campaigns"]
            assert [each["campaign"] for each in listed] == ["north"]
            document = (await client.get("/openapi.json")).json()
            (server,) = document["servers"]
            assert server["variables"]["campaign"]["enum"] == ["north"]
            shape = document["paths"]["/v1/campaigns"]["get"]["responses"]["200"]["content"]
            each = shape["application/json"]["schema"]["properties"]["campaigns"]["items"]
            assert set(listed[0]) == set(each["required"])
            assert (await client.get("/campaigns/south/v1/status")).status_code == 404
            add(tmp_path, folder, "south")
            await until(client, "/campaigns/south/v1/status", lambda r: r.status_code == 200)
            metrics = generate_latest(service.watch._registry).decode()
            assert 'tacit_owners{campaign="south",state="enrolled"} 0.0' in metrics
            listed = await until(client, "/", lambda r: 'href="/campaigns/south/"' in r.text)
            assert "trial north" in listed.text
            south = (await client.get("/campaigns/south/")).text
            assert "</span>/campaigns/south \\\n    --campaign-key" in south
            ended = await client.post(
                "/campaigns/south/v1/admin/state", content=b"ended", headers=HEADERS
            )
            assert ended.json() == {"state": "ending"}
            final = await until(client, "/campaigns/south/v1/model", lambda r: r.status_code == 200)
            both = [await client.get(f"/campaigns/{s}/v1/status") for s in ("north", "south")]
            assert [each.json()["state"] for each in both] == ["enrolling", "ended"]
            assert not Records(store).archive()  # it has not ended
            records = Records(other)
            assert records.archive()
            for path in ("/", "/campaigns/south/"):
                await until(client, path, lambda r: "Archived" in r.text)
            last = await client.get("/campaigns/south/v1/status")
            kept = {"at": last.json()["at"], "archived": True, "voices": []}
            assert last.json() == {**both[1].json(), **kept}
            again = await client.get("/campaigns/south/v1/model")
            assert again.content == final.content
            assert records.owners() == records.tokens() == []
            assert "state" in [each.what for each in records.acts()]
            file = folder / "south.toml"
            file.write_text(file.read_text() + '\nmodel_for = "members"\n')
            after = service_of(folder, database)  # what the file says of readers still counts
            assert after.campaigns["south"].readers == Readers("public", "members")
            after.close()
            file.unlink()  # figures and model need no file: without one, administrators have them

    asyncio.run(main())
    later = service_of(folder, database)
    assert [slug for slug, each in later.campaigns.items() if each.driver is None] == ["south"]
    assert later.campaigns["south"].readers == Readers("administrators", "administrators")
    for each in (later, store, other):
        each.close()


def test_a_campaign_whose_file_has_gone_is_not_served_until_it_is_back(tmp_path):
    folder = folder_with(tmp_path, "north", "south")
    service = service_of(folder, f"sqlite:///{tmp_path}/c.db")
    Store(service._database, "south").add_tokens(TOKENS[:1])

    async def main():
        async with visiting(service.app()) as client:

            async def until(path, wanted):
                for _ in range(400):
                    if (await client.get(path)).status_code == wanted:
                        return
                    await asyncio.sleep(0.05)
                raise AssertionError((path, wanted))

            (folder / "south.toml").rename(tmp_path / "south.away")
            await until("/campaigns/south/v1/status", 404)
            owner = Ed25519PrivateKey.generate()
            key = keys_of("south").first
            client.base_url = "http://localhost/campaigns/south"
            assert await ask(client, key, owner, "POST", "/v1/enrol", TOKENS[0]) == 404
            client.base_url = "http://localhost"
            assert (await client.get("/campaigns/north/v1/status")).status_code == 200
            assert "south" not in service._tasks
            (tmp_path / "south.away").rename(folder / "south.toml")
            await until("/campaigns/south/v1/status", 200)
            client.base_url = "http://localhost/campaigns/south"
            assert await ask(client, key, owner, "POST", "/v1/enrol", TOKENS[0]) == 200

    asyncio.run(main())


def test_a_file_that_cannot_be_served_keeps_no_other_from_being_served(
    tmp_path, caplog, monkeypatch
):
    """By its name, by a fault that nobody foresaw, or because its table is still to come."""
    folder = folder_with(tmp_path, "north")
    service = service_of(folder, f"sqlite:///{tmp_path}/c.db")

    def faulty(file):
        if file.stem == "faulty":
            raise KeyError("nobody foresaw it")
        return read_spec(file)

    monkeypatch.setattr(server, "read_spec", faulty)
    text = (folder / "north.toml").read_text()
    (folder / "My Trial.toml").write_text(text)
    (folder / "faulty.toml").write_text(text)
    early = text.replace("trial north", "trial early").replace("mine.csv", "later.csv")
    (folder / "early.toml").write_text(early)
    add(tmp_path, folder, "south")
    for _ in range(2):
        service.mount(service.look())
        assert set(service.campaigns) == {"north", "south"}
    assert service.find_gone() == set()
    assert caplog.text.count("part of an address") == 1
    assert caplog.text.count("campaign faulty is not served: KeyError") == 1
    (folder / "later.csv").write_bytes((folder / "mine.csv").read_bytes())
    service.mount(service.look())
    assert set(service.campaigns) == {"north", "south", "early"}
    with pytest.raises(ValueError, match="part of an address"):
        service_of(folder / "My Trial.toml", f"sqlite:///{tmp_path}/c.db")
    service.close()


def test_a_file_that_is_still_being_written_is_not_served(tmp_path):
    """What was there of it was a campaign with other terms, and the whole file none any more."""
    folder = folder_with(tmp_path, "north")
    service = service_of(folder, f"sqlite:///{tmp_path}/c.db")
    add(tmp_path, folder, "south")
    file = folder / "south.toml"
    whole = file.read_text()
    for part in (whole.partition("deadline")[0], whole):
        file.write_text(part)
        assert service.look(service.has_settled) == {}
    service.mount(service.look(service.has_settled))
    assert read_terms(service.campaigns["south"].store.standing().terms).deadline == 300
    service.close()


def test_a_file_that_failed_is_tried_again_though_it_did_not_change(tmp_path, caplog, monkeypatch):
    """What it needs may be elsewhere: a helper's certificate, a disk; the log says it once."""
    folder, away = folder_with(tmp_path, "north"), [True]

    def fickle(file):
        if file.stem == "south" and away:
            raise OSError("the disk is away")
        return read_spec(file)

    monkeypatch.setattr(server, "read_spec", fickle)
    monkeypatch.setattr(server.Service, "again", (0.0, 0.0))
    service = service_of(folder, f"sqlite:///{tmp_path}/c.db")
    add(tmp_path, folder, "south")
    for _ in range(3):
        assert service.look() == {}
    assert caplog.text.count("campaign south is not served: the disk is away") == 1
    away.clear()
    assert set(service.look()) == {"south"}
    service.close()


def test_who_took_part_may_read_what_was_archived_where_that_was_kept(tmp_path, any_database):
    folder = folder_with(tmp_path, "north", "south")
    for slug in ("north", "south"):
        file = folder / f"{slug}.toml"
        file.write_text(file.read_text() + '\nmodel_for = "members"\n')
    owners = [Ed25519PrivateKey.generate() for _ in range(3)]

    async def read(client, slug, owner):
        client.base_url = f"http://localhost/campaigns/{slug}"
        return await ask(client, keys_of(slug).first, owner, "GET", "/v1/model")

    async def main():
        service = service_of(folder, any_database)
        async with visiting(service.app()) as client:
            for slug in ("north", "south"):
                store = Store(any_database, slug)
                store.add_tokens(TOKENS[:3])
                client.base_url = f"http://localhost/campaigns/{slug}"
                for owner, token in zip(owners, TOKENS, strict=False):
                    await ask(client, keys_of(slug).first, owner, "POST", "/v1/enrol", token)
                public = [each.public_key().public_bytes_raw().hex() for each in owners]
                store.revoke(public[2])
                store.end("enough", b"a model")
                records = Records(store)
                assert records.archive(keep_readers=slug == "north")
                known = [each["state"] for each in records.owners()]
                assert known == (["reader"] * 2 if slug == "north" else [])
                assert not any(key in repr(records.owners()) for key in public)
                store.close()
        later = service_of(folder, any_database)
        async with visiting(later.app()) as client:
            stranger = Ed25519PrivateKey.generate()
            asked = [*owners, stranger]
            assert [await read(client, "north", each) for each in asked] == [200, 200, 403, 403]
            assert [await read(client, "south", each) for each in asked] == [403] * 4
            store = Store(any_database, "north")
            records = Records(store)
            described = records.describe_owner(public[0])
            assert described is not None
            assert described["name"] == ""
            assert records.forget(public[0])
            assert [await read(client, "north", each) for each in owners[:2]] == [403, 200]
            store.close()

    asyncio.run(main())


def test_who_waits_when_a_campaign_goes_is_told_to_come_again(tmp_path):
    """Batches in work, and requests that wait for theirs: nobody waits for ever."""
    folder = folder_with(tmp_path, "north", "south")
    service = service_of(folder, f"sqlite:///{tmp_path}/c.db", rehearsal=None)
    store, held = service.campaigns["south"].store, threading.Event()
    store.add_tokens(TOKENS)

    def slow(*arguments):
        held.wait(20)
        raise RuntimeError("too late")

    async def main():
        async with visiting(service.app()) as client:
            await asyncio.sleep(0.2)
            for batches in service.campaigns["south"]._owners._writes.values():
                batches._work = slow
            service.campaigns["south"]._owners._newcomers._work = slow
            client.base_url = "http://localhost/campaigns/south"
            key = service.campaigns["south"].campaign_key
            waiting = [
                asyncio.create_task(
                    ask(client, key, Ed25519PrivateKey.generate(), "POST", "/v1/enrol", token)
                )
                for token in TOKENS[:8]
            ]
            await asyncio.sleep(0.2)
            assert not any(task.done() for task in waiting)
            (folder / "south.toml").rename(tmp_path / "south.away")
            try:
                return await asyncio.wait_for(asyncio.gather(*waiting), 10)
            finally:
                held.set()

    assert asyncio.run(main()) == [503] * 8


def test_the_list_costs_the_same_however_many_look(tmp_path, monkeypatch):
    """One look at the database, without models or terms, for all who come in half a second."""
    monkeypatch.setattr(server, "FRESH", 3600.0)
    service = service_of(folder_with(tmp_path, "north", "south"), f"sqlite:///{tmp_path}/c.db")
    looks, outlines = [], service._database.outlines

    def counted():
        looks.append(1)
        return outlines()

    monkeypatch.setattr(service._database, "outlines", counted)

    async def main():
        async with client_of(service.app()) as client:
            found = [await client.get(path) for path in ("/", "/v1/campaigns") * 20]
            return {each.status_code for each in found}

    assert asyncio.run(main()) == {200}
    assert len(looks) == 1
    service.close()


async def ask(client, campaign, key, method, path, body=""):
    """One signed request; its status."""
    signed = Request(campaign, method, path, int(time.time()), body.encode())
    headers = request_headers(signed, key)
    return (await client.request(method, path, content=body, headers=headers)).status_code


def test_each_has_its_own_key_tokens_and_administrators(tmp_path):
    folder = folder_with(tmp_path, "north", "south")
    database = f"sqlite:///{tmp_path}/c.db"

    def making(slug):
        return Making(admin=f"the key of {slug}")

    service = Service([folder], database, keys_of, making)
    service.mount(service.look())
    north, south = service.campaigns["north"], service.campaigns["south"]
    assert north.campaign_key != south.campaign_key
    north.store.add_tokens(TOKENS[:1])

    async def main():
        async with visiting(service.app()) as client:
            owner = Ed25519PrivateKey.generate()
            said = []
            for signed_for, slug in ((north, "south"), (north, "north"), (south, "south")):
                client.base_url = f"http://localhost/campaigns/{slug}"
                key = signed_for.campaign_key
                said.append(await ask(client, key, owner, "POST", "/v1/enrol", TOKENS[0]))
                said.append(await ask(client, key, owner, "POST", "/v1/leave", "leave"))
            client.base_url = "http://localhost"
            steered = [
                await client.post(
                    f"/campaigns/{slug}/v1/admin/state",
                    content=b"paused",
                    headers={"x-tacit-admin": "the key of north"},
                )
                for slug in ("north", "south")
            ]
            return said, [each.status_code for each in steered]

    said, steered = asyncio.run(main())
    assert said == [401, 401, 200, 200, 403, 403]  # a signature is good in one campaign
    assert steered == [200, 401]


def test_names_of_files_are_parts_of_addresses(tmp_path):
    for name in ("Trial.toml", "a b.toml", "-a.toml", "ä.toml", f"{'a' * 64}.toml"):
        (tmp_path / name).write_text("")
        with pytest.raises(ValueError, match="part of an address"):
            campaign_files([tmp_path / name])
    (tmp_path / "deep").mkdir()
    for file in (tmp_path / "trial-1.toml", tmp_path / "deep" / "trial-1.toml"):
        file.write_text("")
    assert campaign_files([tmp_path / "deep"]) == {"trial-1": tmp_path / "deep" / "trial-1.toml"}
    with pytest.raises(ValueError, match="same address"):
        campaign_files([tmp_path / "trial-1.toml", tmp_path / "deep"])


def test_figures_and_model_are_for_whom_the_file_names(tmp_path):
    folder = folder_with(tmp_path)
    add(tmp_path, folder, "closed", status_for="administrators", model_for="members")
    service = service_of(folder, f"sqlite:///{tmp_path}/c.db", rehearsal=None)
    store = service.campaigns["closed"].store
    store.add_tokens(TOKENS[:1])

    async def main():
        async with visiting(service.app()) as client:
            client.base_url = "http://localhost/campaigns/closed"
            key = service.campaigns["closed"].campaign_key
            member = Ed25519PrivateKey.generate()
            assert await ask(client, key, member, "POST", "/v1/enrol", TOKENS[0]) == 200
            page = (await client.get("/")).text
            assert "figures are for its administrators" in page
            assert not any(f'id="{each}"' in page for each in ("figures", "badge"))
            client.base_url = "http://localhost"
            (listed,) = (await client.get("/v1/campaigns")).json()["campaigns"]
            assert (listed["name"], listed["state"], listed["archived"]) == (
                "trial closed",
                None,
                None,
            )
            listing = (await client.get("/")).text
            assert "enrolling" not in listing
            assert "how it stands is not for everybody" in listing
            client.base_url = "http://localhost/campaigns/closed"
            stranger = Ed25519PrivateKey.generate()
            return [
                [
                    (await client.get(path)).status_code,
                    (await client.get(path, headers=HEADERS)).status_code,
                    await ask(client, key, member, "GET", path),
                    await ask(client, key, stranger, "GET", path),
                ]
                for path in ("/v1/status", "/v1/model")
            ]

    status, model = asyncio.run(main())
    assert status == [401, 200, 401, 401]
    assert model == [401, 404, 404, 403]  # there is none yet


def test_a_link_that_leads_nowhere_keeps_no_other_from_being_served(tmp_path, caplog):
    """As long as it lay there, no campaign came, went or was archived."""
    folder = folder_with(tmp_path, "north")
    service = service_of(folder, f"sqlite:///{tmp_path}/c.db")
    (folder / "gone.toml").symlink_to("nowhere")
    add(tmp_path, folder, "south")
    for _ in range(2):
        service.mount(service.look(service.has_settled))
    assert set(service.campaigns) == {"north", "south"}
    assert caplog.text.count("gone.toml is not there") == 1
    service.close()


def archived(tmp_path):
    """A folder and a database with one campaign that was archived, and one that goes on."""
    folder, database = folder_with(tmp_path, "north", "south"), f"sqlite:///{tmp_path}/c.db"
    service = service_of(folder, database)
    store = service.campaigns["south"].store
    store.finish()
    while store.standing().state != "ended":
        service.campaigns["south"].driver.step()
    assert Records(store).archive()
    service.close()
    return folder, database


@pytest.mark.parametrize("damaged", [True, False])
def test_an_archived_campaign_without_its_key_keeps_no_other_from_being_served(
    tmp_path, caplog, damaged
):
    """A damaged key kept the service from being started; a new one signed the model."""
    folder, database = archived(tmp_path)

    def keys(slug):
        if slug != "south":
            return keys_of(slug)
        if damaged:
            (tmp_path / "signing.key").write_bytes(b"short")
            return CampaignKeys.at(tmp_path)
        return CampaignKeys.of(Ed25519PrivateKey.generate())

    making = Making(admin=ADMIN, rehearsal=SEED)
    service = QuickService([folder], database, keys, lambda slug: making)
    for _ in range(2):
        service.mount(service.look())
    assert set(service.campaigns) == {"north"}
    said = "signing.key must hold 32 bytes, got 5" if damaged else "has another than"
    assert caplog.text.count(f"campaign south, which is archived: {'' if damaged else 'its'}") == 1
    assert said in caplog.text
    service.close()


def test_a_campaign_is_not_called_as_a_file_of_the_service(tmp_path):
    """Its folder took the place of the file of administrators, and nobody was one any more."""
    folder = folder_with(tmp_path, "administrators")
    with pytest.raises(ValueError, match="give it another name"):
        campaign_files([folder])


def test_a_second_campaign_of_a_name_is_told_which_has_it(tmp_path, caplog):
    folder = folder_with(tmp_path, "north")
    service = service_of(folder, f"sqlite:///{tmp_path}/c.db")
    (folder / "copy.toml").write_text((folder / "north.toml").read_text())
    assert service.look() == {}
    assert "campaign copy is not served: campaign north has the name" in caplog.text
    service.close()


def test_the_address_of_a_campaign_leads_to_its_page(tmp_path):
    """It is what serve prints; wherever a stranger says that it is, it leads nowhere else."""
    service = service_of(folder_with(tmp_path, "north"), f"sqlite:///{tmp_path}/c.db")

    async def main():
        async with client_of(service.app()) as client:
            at = "/campaigns/north"
            found = await client.get(at, headers={"host": "elsewhere"})
            assert (found.status_code, found.headers["location"]) == (308, "north/")
            page = await client.get(at, follow_redirects=True)
            assert page.status_code == 200
            assert "trial north" in page.text
            assert (await client.get("/campaigns/south")).status_code == 404

    asyncio.run(main())
    service.close()


def test_a_campaign_that_goes_while_somebody_looks_is_no_failure(tmp_path, monkeypatch):
    """Between whether it is served and what it says: the list was a failure of the service."""

    class Going(dict[str, object]):
        def __contains__(self, slug):
            return super().__contains__(slug) and self.pop(slug) is not None

    service = service_of(folder_with(tmp_path, "north", "south"), f"sqlite:///{tmp_path}/c.db")
    monkeypatch.setattr(service, "campaigns", Going(service.campaigns))
    assert [each["campaign"] for each in service._listing()] == ["south", "north"]
    service.close()


def test_what_cannot_be_read_of_one_campaign_hides_no_other(tmp_path, monkeypatch, caplog):
    """One that came or went during a look, or whose figures could not be read, left none of any."""
    service = service_of(folder_with(tmp_path, "north", "south"), f"sqlite:///{tmp_path}/c.db")
    north = service.campaigns["north"]

    def figures():
        service.unmount(["north"])
        raise ValueError

    text = generate_latest(service.watch._registry).decode()
    assert all(line in text for line in ('owners{campaign="north"', "tacit_up 1.0"))
    monkeypatch.setattr(north, "figures", figures)
    text = generate_latest(service.watch._registry).decode()
    assert "no figures of campaign north: ValueError" in caplog.text
    assert 'tacit_owners{campaign="north"' not in text
    for line in ('tacit_owners{campaign="south"', "tacit_database_seconds", "tacit_up 0.0"):
        assert line in text, line
    assert "tacit_up 1.0" in generate_latest(service.watch._registry).decode()
    service.close()
