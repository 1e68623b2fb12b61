"""Campaigns that share a helper: what one of them does has no part in another's sums."""

import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import httpx
import pytest
from benchmarks.loopback import serve
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit import Ball, seeded
from tacit.service.helper import FEW, Helper, Sheets
from tacit.service.protocol import succession
from tacit.service.protocol.door import ConnectionLimits
from tacit.service.protocol.succession import CAMPAIGN, MOST, Succession
from tacit.sums.halves import COORDINATOR, SumTerms
from tacit.sums.prio3.batch import message_size
from tacit.sums.protocol import (
    Block,
    Checked,
    CoordinatorSide,
    HelperSide,
    HelperSum,
    SumRequest,
)
from tacit.sums.vector_terms import VectorTerms
from tacit.wire import WireError, decode, encode
from tests.service.helper.made import (
    InProcess,
    bond_of,
    client_of,
    headers_of,
    helper,
    name_of,
)
from tests.sums.made import (
    COORDINATOR_KEY,
    HELPER_KEY,
    batch,
    plain,
    public,
    reports,
    terms,
    without_noise,
)

OURS, THEIRS = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
OWN_KEY = X25519PrivateKey.generate()  # the other campaign's coordinator


def shared(folder, **kwargs):
    return helper(folder, name_of(OURS), name_of(THEIRS), noise=seeded(3), **kwargs)


def post(http, body, key, path="/v1/block", **more):
    return http.post(path, content=body, headers=headers_of(body, key, path, **more))


def take(http, side, sent):
    response = post(http, encode(side.block(sent)), OURS)
    assert response.status_code == 200
    side.take(decode(response.content, Checked))


def intrude(http, place=0, counted=0):
    """All that another campaign can say of our batch, of which it knows everything but secrets, and
    has owners among ours; the answers.
    """
    about = batch()
    sent = reports(terms(3, 9), about, seeded(8))
    halves = b"".join(each[about.half_size(COORDINATOR) :] for each in sent)
    told = bytes(3 * message_size(about.terms.law.prio3))
    bodies = [
        ("/v1/block", encode(Block(about, place, b"", b""))),
        ("/v1/block", encode(Block(about, place + 1, b"", b""))),
        ("/v1/block", encode(Block(about, place, halves, told))),
        ("/v1/sum", encode(SumRequest(about, 0, 0))),
        ("/v1/sum", encode(SumRequest(about, place, counted))),
    ]
    found = [
        post(http, body, THEIRS, path, bond=bond) for path, body in bodies for bond in bonds(body)
    ]
    return {(each.status_code, each.text) for each in found}


def bonds(body):
    """Nothing, nonsense, one by another key than the batch's, and ours, had it been overheard."""
    theirs = bond_of(body, name_of(THEIRS), OWN_KEY)
    return "", "nonsense", "ab" * 32, theirs, bond_of(body, name_of(OURS))


FORBIDDEN = {(403, '{"error":"forbidden"}')}


def test_another_campaign_has_no_say_in_a_sum(tmp_path):
    """An empty block in the first place, or a release in the middle, ended the sum of whoever it
    was about.
    """
    http, sent = client_of(shared(tmp_path)), reports(terms())
    mine = CoordinatorSide(batch(), COORDINATOR_KEY)
    assert intrude(http) == FORBIDDEN
    take(http, mine, sent[:5])
    assert intrude(http, 1, 5) == FORBIDDEN
    take(http, mine, sent[5:])
    assert intrude(http, 2, 12) == FORBIDDEN
    response = post(http, encode(mine.request), OURS, "/v1/sum")
    assert response.status_code == 200
    answer = mine.open(decode(response.content, HelperSum), seeded(3))
    assert answer.n == 12
    assert without_noise(answer) == plain(terms())
    assert intrude(http, 2, 12) == FORBIDDEN  # nor is it told what was released


def test_a_campaign_goes_on_with_its_own_batches(tmp_path):
    """The other one is served; its own batch, of the same question even, is another."""
    http = client_of(shared(tmp_path))
    theirs = batch(coordinator=OWN_KEY)
    side = CoordinatorSide(theirs, OWN_KEY)
    body = encode(side.block(reports(terms(), theirs)))
    found = post(http, body, THEIRS, bond=bond_of(body, name_of(THEIRS), OWN_KEY))
    assert found.status_code == 200
    side.take(decode(found.content, Checked))
    assert side.counted == 12
    take(http, CoordinatorSide(batch(), COORDINATOR_KEY), reports(terms()))


def test_a_key_that_was_replaced_is_not_heard_again(tmp_path):
    """After a restart, with the key of before on the command line, it was."""
    secrets = [OURS.private_bytes_raw(), os.urandom(32), os.urandom(32)]
    first, second, third = map(Ed25519PrivateKey.from_private_bytes, secrets)
    said = [CAMPAIGN.state(old, new) for old, new in pairwise(secrets)]
    mine, sent = CoordinatorSide(batch(), COORDINATOR_KEY), reports(terms())
    http = client_of(shared(tmp_path))
    take(http, mine, sent[:6])  # signed with the first key
    body = encode(mine.block(sent[6:]))
    assert post(http, body, second, statements=said[1:]).status_code == 403
    response = post(http, body, third, statements=said)
    assert response.status_code == 200
    mine.take(decode(response.content, Checked))
    http = client_of(shared(tmp_path))
    for stolen in (first, second):
        assert post(http, body, stolen).status_code == 403
        assert post(http, body, stolen, statements=said[:1]).status_code == 403
    # who has stolen a key names one of its own after it
    thief = os.urandom(32)
    other = [CAMPAIGN.state(secrets[0], thief)]
    stolen = Ed25519PrivateKey.from_private_bytes(thief)
    assert post(http, body, stolen, statements=other).status_code == 403
    response = post(http, encode(mine.request), third, "/v1/sum")  # without the statements, even
    assert response.status_code == 200
    assert mine.open(decode(response.content, HelperSum), seeded(3)).n == 12


def test_a_line_of_keys_has_an_end():
    secrets = [os.urandom(32) for _ in range(MOST + 2)]
    said = [CAMPAIGN.state(old, new) for old, new in pairwise(secrets)]
    assert len(CAMPAIGN.line(said[:MOST]).keys) == MOST + 1
    back = CAMPAIGN.state(secrets[1], secrets[0])
    for wrong in ([], said, [said[0], back]):
        with pytest.raises(WireError):
            CAMPAIGN.line(wrong)


def test_what_strangers_say_of_keys_is_not_verified(tmp_path, monkeypatch):
    """Sixteen statements are 32 signatures, on the loop, for whoever sends them."""
    verified = []
    secrets = [os.urandom(32) for _ in range(MOST)]
    said = [CAMPAIGN.state(old, new) for old, new in pairwise(secrets)]
    stranger = Ed25519PrivateKey.from_private_bytes(secrets[-1])
    http = client_of(shared(tmp_path))
    watched = "tacit.service.protocol.succession._check_both"
    monkeypatch.setattr(watched, lambda *about: verified.append(about))
    assert post(http, b"body", stranger, statements=said).status_code == 403
    assert not verified


def test_the_file_of_before_is_taken_over(tmp_path):
    """Sums that are under way and releases of a helper that kept no keys of campaigns."""
    file, sent = tmp_path / "released.db", reports(terms())
    made, mine = shared(tmp_path), CoordinatorSide(batch(), COORDINATOR_KEY)
    take(client_of(made), mine, sent[:6])
    made._sheets.close()
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE successors")
    http = client_of(shared(tmp_path))
    take(http, mine, sent[6:])
    said = post(http, encode(mine.request), OURS, "/v1/sum").content
    assert mine.open(decode(said, HelperSum), seeded(3)).n == 12
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE successors")
    again = post(client_of(shared(tmp_path)), encode(mine.request), OURS, "/v1/sum")
    assert again.content == said


class Held(Helper):
    """A helper whose work for one campaign takes until it is let go."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.begun, self.go_on = threading.Semaphore(0), threading.Event()

    def check(self, body, speaker):
        if speaker.campaign == name_of(THEIRS):
            self.begun.release()
            self.go_on.wait(60)
        return super().check(body, speaker)


def test_a_campaigns_many_requests_keep_no_other_waiting(tmp_path):
    """They had every thread there is."""
    campaigns = name_of(OURS), name_of(THEIRS)
    made = Held(HELPER_KEY, Sheets(tmp_path / "released.db"), campaigns)
    empty = encode(Block(batch(coordinator=OWN_KEY), 0, b"", b""))
    bond = bond_of(empty, name_of(THEIRS), OWN_KEY)
    many_of_each = ConnectionLimits(per_member=64)
    with serve(made.app(), None, many_of_each) as url, ThreadPoolExecutor(48) as pool:

        def ask(body, key, **more):
            return httpx.post(
                f"{url}/v1/block", content=body, headers=headers_of(body, key, **more), timeout=60
            ).status_code

        many = [pool.submit(ask, empty, THEIRS, bond=bond) for _ in range(45)]
        assert made.begun.acquire(timeout=60)
        side = CoordinatorSide(batch(), COORDINATOR_KEY)
        mine = pool.submit(ask, encode(side.block(reports(terms()))), OURS)
        try:
            assert mine.result(timeout=30) == 200
        finally:
            made.go_on.set()
        assert {each.result(timeout=60) for each in many} == {200}


def test_one_campaign_does_not_have_every_connection_of_a_helper(tmp_path):
    """Those by which a campaign had signed were never asked to make room for another's."""
    empty = encode(Block(batch(coordinator=OWN_KEY), 0, b"", b""))
    bond = bond_of(empty, name_of(THEIRS), OWN_KEY)
    body = encode(CoordinatorSide(batch(), COORDINATOR_KEY).block(reports(terms())))
    held, few = [], replace(FEW, most=2 * FEW.per_member)
    with serve(shared(tmp_path).app(), None, few) as url:
        try:
            for at in range(few.most + 8):
                source = httpx.HTTPTransport(local_address=f"127.0.2.{1 + at // 8}")
                held.append(httpx.Client(transport=source, base_url=url, timeout=60))
                assert post(held[-1], empty, THEIRS, bond=bond).status_code == 200
            with httpx.Client(base_url=url, timeout=60) as ours:
                assert post(ours, body, OURS).status_code == 200
        finally:
            for each in held:
                each.close()


def test_neighbours_of_a_campaign_do_not_keep_it_from_its_helper(tmp_path, monkeypatch):
    """Whoever shared its address could have it put off by asking for what is not there."""
    stopped = SimpleNamespace(monotonic=lambda: 1000.0)  # no allowance grows
    monkeypatch.setattr("tacit.service.protocol.waiting.time", stopped)
    body = encode(CoordinatorSide(batch(), COORDINATOR_KEY).block(reports(terms())))
    with serve(shared(tmp_path).app()) as url:
        with httpx.Client(base_url=url, timeout=60) as stranger:
            while stranger.get("/nothing").status_code == 404:
                pass
            assert stranger.get("/nothing").status_code == 429
        with httpx.Client(base_url=url, timeout=60) as ours:
            assert post(ours, body, OURS).status_code == 200


def test_strangers_who_sign_are_hung_up_on_where_too_much_was_refused(tmp_path, monkeypatch):
    """They were heard again and again on one connection: a signature to check each time."""
    stopped = SimpleNamespace(monotonic=lambda: 1000.0)  # no allowance grows
    monkeypatch.setattr("tacit.service.protocol.waiting.time", stopped)
    body = encode(CoordinatorSide(batch(), COORDINATOR_KEY).block(reports(terms())))[:100]
    with (
        serve(shared(tmp_path).app()) as url,
        httpx.Client(base_url=url, timeout=60) as stranger,
    ):
        closed = [
            post(stranger, body, Ed25519PrivateKey.generate()).headers.get("connection")
            for _ in range(110)
        ]
    assert closed[:90] == [None] * 90
    assert closed[-1] == "close"


def test_a_line_that_ends_at_a_campaigns_key_costs_strangers_one_signature(tmp_path, monkeypatch):
    """Fifteen statements of a stranger's own before one that names our key, which is not signed by
    it: all of them were verified, on the loop, twice.
    """
    ours = os.urandom(32)
    secrets = [os.urandom(32) for _ in range(MOST)]
    said = [CAMPAIGN.state(old, new) for old, new in pairwise(secrets)]
    before, last = CAMPAIGN.publish(ours), CAMPAIGN.publish(secrets[-1])
    forged = Succession(before[0], os.urandom(32), last[1], os.urandom(32))
    said.append(bytes(128) + encode(forged))
    verified, check = [], succession._check_both

    def counted(*about):
        verified.append(about)
        check(*about)

    http = client_of(helper(tmp_path, before[0].hex()))
    monkeypatch.setattr(succession, "_check_both", counted)
    stranger = Ed25519PrivateKey.generate()
    assert post(http, b"body", stranger, statements=said).status_code == 403
    assert len(verified) <= 2  # for the size of its body, and for who it is


def test_a_sum_that_no_answer_holds_is_refused(tmp_path):
    """A few hundred bytes had eight megabytes written, again and again."""
    wide = replace(VectorTerms.of(Ball(dim=1000), 1.0, 1e-6), dim=1 << 20)
    keys = (public(COORDINATOR_KEY), public(HELPER_KEY))
    http, body = client_of(shared(tmp_path)), b""
    for place in range(3):
        about = replace(batch(), number=1 + place, terms=SumTerms(wide, *keys))
        body = encode(Block(about, 0, b"", b""))
        assert post(http, body, OURS).status_code == 409
    assert len(body) < 1000
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 1 << 20


@pytest.mark.parametrize("dim", [1 << 31, (1 << 63) - 1])
@pytest.mark.parametrize("path", ["/v1/block", "/v1/sum"])
def test_a_sum_of_a_size_that_is_none_is_refused(tmp_path, dim, path):
    """Asked for a release of it, the helper said that it had failed."""
    law = VectorTerms.of(Ball(dim=1000), 1.0, 1e-6)
    servers = SumTerms(law, public(COORDINATOR_KEY), public(HELPER_KEY))
    about = replace(batch(), terms=servers)
    body = encode(Block(about, 0, b"", b"") if path == "/v1/block" else SumRequest(about, 1, 0))
    one, other = (
        encode(replace(about, terms=replace(servers, law=replace(law, dim=each))))
        for each in (1000, dim)
    )
    odd = body.replace(one[2:], other[2:])
    assert odd != body
    bond = bond_of(body, name_of(OURS))
    assert post(client_of(shared(tmp_path)), odd, OURS, path, bond=bond).status_code in (400, 409)


def size_of(folder):
    return sum(file.stat().st_size for file in folder.iterdir())


def wide(number):
    """A block without owners, of a batch whose sum takes half a megabyte."""
    law = replace(VectorTerms.of(Ball(dim=1000), 1.0, 1e-6), dim=1 << 16)
    servers = SumTerms(law, public(COORDINATOR_KEY), public(HELPER_KEY))
    return replace(batch(), number=number, terms=servers)


def limited(folder, keep):
    """A helper of two campaigns, each of which may keep so many bytes."""
    sheets = Sheets(folder / "released.db", keep=keep)
    return Helper(HELPER_KEY, sheets, [name_of(OURS), name_of(THEIRS)], noise=seeded(3))


def fill(http, key=OURS):
    """Batch after batch, of a few hundred bytes each; answers, until one is refused."""
    said: list[httpx.Response] = []
    while not said or (said[-1].status_code == 200 and len(said) < 40):
        body = encode(Block(wide(1 + len(said)), 0, b"", b""))
        said.append(post(http, body, key))
    return said


def test_a_campaign_keeps_so_much_at_a_helper_and_no_more(tmp_path):
    """Batch after batch one campaign filled the disk that all of them share."""
    made = limited(tmp_path, 4 << 20)
    http = client_of(made)
    said = fill(http)
    assert len(said) == 8  # seven of half a megabyte, and something for each
    assert (said[-1].status_code, said[-1].json()) == (507, {"error": "full"})
    assert size_of(tmp_path) < 3 * (4 << 20)  # the file, and a journal beside it
    kept = made._sheets.kept()[name_of(OURS)]
    assert post(http, encode(Block(wide(1), 0, b"", b"")), OURS).status_code == 200  # again
    assert made._sheets.kept() == {name_of(OURS): kept}
    assert 3 << 20 < kept <= 4 << 20
    with httpx.Client(transport=InProcess(made.watch.app()), base_url="http://localhost") as watch:
        assert f'tacit_kept_bytes{{key="{name_of(OURS)}"}}' in watch.get("/metrics").text
    # a sum that is under way ends when whoever runs it gives it more room; others do not wait
    mine, sent = CoordinatorSide(batch(), COORDINATOR_KEY), reports(terms())
    theirs = CoordinatorSide(batch(coordinator=OWN_KEY), OWN_KEY)
    body = encode(theirs.block(reports(terms(), theirs.batch)))
    bond = bond_of(body, name_of(THEIRS), OWN_KEY)
    assert post(http, body, THEIRS, bond=bond).status_code == 200
    made._sheets.close()
    narrow = client_of(limited(tmp_path, int(kept) + 1500))
    take(narrow, mine, sent[:6])
    assert post(narrow, encode(mine.block(sent[6:])), OURS).status_code == 507
    http = client_of(limited(tmp_path, 5 << 20))
    take(http, mine, sent[6:])
    said = post(http, encode(mine.request), OURS, "/v1/sum")
    answer = mine.open(decode(said.content, HelperSum), seeded(3))
    assert (answer.n, without_noise(answer)) == (12, plain(terms()))


def test_what_was_kept_before_campaigns_had_so_much_room_counts_when_it_is_spoken_of(tmp_path):
    """Sheets of before said of no batch whose it was: campaigns had all their room once more."""
    made, sent = limited(tmp_path, 4 << 20), reports(terms())
    mine = CoordinatorSide(batch(), COORDINATOR_KEY)
    take(client_of(made), mine, sent[:6])
    fill(client_of(made))
    one = made._sheets.kept()
    made._sheets.close()
    with sqlite3.connect(tmp_path / "released.db") as before:
        before.execute("DROP TABLE counted")
        before.execute("DROP TABLE kept")
    made = limited(tmp_path, 4 << 20)
    http = client_of(made)
    assert made._sheets.kept() == {}
    take(http, mine, sent[6:])  # all that is there of the batch, not this block alone
    ours = made._sheets.kept()[name_of(OURS)]
    post(http, encode(mine.request), OURS, "/v1/sum")
    released = made._sheets.kept()[name_of(OURS)] - ours
    made._sheets.close()
    with sqlite3.connect(tmp_path / "released.db") as now:
        rows = [
            now.execute(f"SELECT COUNT(*) FROM {table} WHERE batch = ?", (batch().digest,))  # noqa: S608
            for table in ("blocks", "nonces", "releases")
        ]
        blocks, nonces, releases = (each.fetchone()[0] for each in rows)
    assert (blocks, nonces, releases) == (2, len(sent), 1)
    assert ours > 128 * (blocks + nonces)
    assert released > 128
    assert ours < one[name_of(OURS)]  # others of it count when they are spoken of


def test_many_blocks_of_a_batch_take_the_room_of_one_sum(tmp_path):
    """Each had a sum of its own, however few were in it: half a megabyte for some hundred bytes."""
    http = client_of(shared(tmp_path))
    for place in range(24):
        assert post(http, encode(Block(wide(1), place, b"", b"")), OURS).status_code == 200
    assert size_of(tmp_path) < 24 * (1 << 19)  # the journal is not emptied at once


def test_a_file_with_a_sum_for_each_block_is_added_up(tmp_path):
    """As releases of before wrote it."""
    made, sent = shared(tmp_path), reports(terms())
    mine, sums = CoordinatorSide(batch(), COORDINATOR_KEY), []
    for part in (sent[:5], sent[5:9]):
        alone = HelperSide(batch(), HELPER_KEY)
        alone.check(mine.block(part), set().intersection)
        sums.append((alone.total, alone.counted))
        take(client_of(made), mine, part)
    made._sheets.close()
    with sqlite3.connect(tmp_path / "released.db") as connection:
        for place, (total, counted) in enumerate(sums):
            change = "UPDATE blocks SET total = ?, counted = ? WHERE place = ?"
            connection.execute(change, (total, counted, place))
    http = client_of(shared(tmp_path))
    take(http, mine, sent[9:])
    said = post(http, encode(mine.request), OURS, "/v1/sum").content
    answer = mine.open(decode(said, HelperSum), seeded(3))
    assert (answer.n, without_noise(answer)) == (12, plain(terms()))


def test_a_campaign_has_so_many_keys_at_a_helper(tmp_path):
    """A new one with every request: as many rows, and as many places in memory."""
    made, body = shared(tmp_path), encode(Block(batch(), 0, b"", b""))
    http, old, found = client_of(made), OURS.private_bytes_raw(), []
    for _ in range(MOST + 2):
        new = os.urandom(32)
        key = Ed25519PrivateKey.from_private_bytes(new)
        said = [CAMPAIGN.state(old, new)]
        found.append(post(http, body, key, statements=said).status_code)
        old = new
    assert found[:MOST] == [200] * MOST
    assert found[MOST] == 507
    assert found[MOST + 1] == 403  # it comes from a key that was never heard
    assert len(made._turns.names) == 1
    assert len(made._sheets.kept()) == 1  # what the first key kept is the last one's
    made._sheets.close()
    with sqlite3.connect(tmp_path / "released.db") as connection:
        assert connection.execute("SELECT COUNT(*) FROM successors").fetchone() == (MOST,)


@pytest.mark.parametrize("place", [1, 1 << 31, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_a_block_that_comes_too_early_is_refused_however_early(tmp_path, place):
    """Numbers that no database takes were told as a failure of ours."""
    body = encode(Block(batch(), place, b"", b""))
    assert post(client_of(shared(tmp_path)), body, OURS).status_code == 409


def test_blocks_and_sums_are_counted_apart(tmp_path):
    """Both were one route to whoever looks at the helper's metrics."""
    made, mine = shared(tmp_path), CoordinatorSide(batch(), COORDINATOR_KEY)
    http = client_of(made)
    take(http, mine, reports(terms()))
    assert post(http, encode(mine.request), OURS, "/v1/sum").status_code == 200
    with httpx.Client(transport=InProcess(made.watch.app()), base_url="http://localhost") as watch:
        told = watch.get("/metrics").text
    for route in ("check", "total"):
        assert f'tacit_requests_total{{route="{route}",status="200"}} 1.0' in told
