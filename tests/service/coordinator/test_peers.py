"""Campaigns of peers: turns, signatures that all check, newcomers, leaving, kills, and the same
as in one process.
"""

import asyncio
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import tacit
from tacit.algorithms.peers import Peer, Roster
from tacit.estimators.persistence import SavedModel, open_model
from tacit.learners.peers.alike import CountClasses
from tacit.learners.peers.peer_model import Additive
from tacit.learners.query import PURPOSE, pack
from tacit.mechanisms.streams import secure
from tacit.owner.gate import RefusedError
from tacit.owner.policy import Policy
from tacit.service.coordinator import status
from tacit.service.coordinator.intake import Outcome
from tacit.service.coordinator.page import page
from tacit.service.coordinator.peers import Rosters
from tacit.service.coordinator.status import View
from tacit.service.coordinator.tables import CLOSED, VOID
from tacit.service.device.disclosures import preview
from tacit.service.device.home import Home
from tacit.service.device.join import Joining, RehearsalPart, join
from tacit.service.kinds import read_spec
from tacit.service.kinds.peers import PeerSpec, served_model
from tacit.service.protocol.peer_replay import (
    ROSTER,
    TURN,
    Contradiction,
    Following,
    ForgeryError,
    Turn,
)
from tacit.wire import WireError, decode, encode
from tacit.wire.envelopes import open_signed, public_bytes, sign
from tests.service.coordinator.made import driven, joining, running
from tests.service.coordinator.peers import (
    CAMPAIGN,
    KEY,
    LIMITS,
    PEERS,
    SEED,
    TOKENS,
    Trial,
    asked,
    folder_of,
    in_process,
    table_of,
)


@pytest.fixture
def trial(tmp_path):
    return Trial(tmp_path)


def over_http(folder, database, monkeypatch, limits):
    """Founders and a newcomer of a rehearsal: how often they answered, the figures, the model, and
    the folder of the campaign's own models.
    """
    monkeypatch.setattr("tacit.service.device.member._pause", lambda response, coin: 0.05)
    monkeypatch.setattr(
        Rosters, "is_over", lambda self, asked, now: len(self.read()) == 2
    )  # no waiting for others
    service = running(folder, database, rehearsal=SEED)
    service.store.add_tokens(TOKENS)
    founders = joining(folder, RehearsalPart(SEED), **limits)
    home, campaign = Home.at(folder / "owner"), bytes.fromhex(service.fingerprint)
    others = frozenset(
        public_bytes(home.key(campaign, f"person {number:03d}").public_key())
        for number in range(PEERS)
    )
    later = Joining(
        folder / "new.csv",
        "ill",
        founders.policy,
        folder / "later",
        "who",
        RehearsalPart(SEED, PEERS),
        others,
    )

    async def work(link):
        begun = asyncio.create_task(join(founders, link, TOKENS[:PEERS]))
        while not (await link.call("GET", "/v1/status", None)).json()["questions"]:
            await asyncio.sleep(0.05)
        answered = await asyncio.gather(begun, join(later, link, TOKENS[PEERS:]))
        return (
            answered,
            (await link.call("GET", "/v1/status", None)).json(),
            await link.call("GET", "/v1/model", None),
        )

    answered, status, model = driven(service, work)
    (folder / "m.tacit").write_bytes(model.content)
    return answered, status, decode(open_model(model.content)[0], SavedModel), campaign.hex()


def check_own_models(folder, campaign, same, X):
    """Everybody keeps the model that it would have in one process, for itself alone."""
    for name, file in (
        ("person 002", f"owner/peers/{campaign}/own-model-2.tacit"),
        ("person 003", f"later/peers/{campaign}/own-model.tacit"),
    ):
        own = tacit.load(folder / file)
        np.testing.assert_array_equal(
            own.decision_function(X), same.models_[name].decision_function(X)
        )
        assert (folder / file).stat().st_mode & 0o077 == 0


def test_a_newcomer_joins_over_http_and_everybody_has_the_model_of_one_process(
    tmp_path, any_database, monkeypatch
):
    folder = folder_of(tmp_path)
    answered, status, published, campaign = over_http(folder, any_database, monkeypatch, LIMITS)
    assert answered == [6, 1]
    assert [question["counted"] for question in status["questions"]] == [1] * 7
    assert status["ended"] == "7 turns of 4 participants"
    assert len(status["progress"]) == 7
    same = in_process(folder, PeerSpec.read(folder / "campaign.toml").prepare()[0], newcomer=True)
    assert encode(published.model) == encode(same._to_save())
    again = tacit.load(folder / "m.tacit")
    X, y, _ = table_of(folder / "new.csv", PeerSpec.read(folder / "campaign.toml").prepare()[0])
    np.testing.assert_array_equal(again.decision_function(X), same.decision_function(X))
    assert again.score(X, y) > 0.75
    check_own_models(folder, campaign, same, X)


@pytest.mark.parametrize(
    ("kind", "learner", "answered", "asks"),
    [
        ("stumps", "leaves", [9, 3], "an attribute that is drawn in public"),
        ("trees", "tree", [3, 1], "grows a small tree on what the trees before it get wrong"),
    ],
)
def test_stumps_and_trees_over_http_are_those_of_one_process(
    tmp_path, monkeypatch, kind, learner, answered, asks
):
    text = CAMPAIGN.replace('kind = "peers"', f'kind = "{kind}"').replace(
        "rounds = 6", "rounds = 3"
    )
    folder = folder_of(tmp_path, text)
    limits = {**LIMITS, "releases": 3, "learners": (learner,)}
    database = f"sqlite:///{folder}/c.db"
    said, status, published, campaign = over_http(folder, database, monkeypatch, limits)
    assert said == answered
    assert status["ended"] == f"{sum(answered)} turns of 4 participants"
    assert len(status["progress"]) == sum(answered)
    terms, _ = read_spec(folder / "campaign.toml").prepare()
    same = in_process(folder, terms, newcomer=True)
    assert encode(published.model) == encode(same._to_save())
    X, _, _ = table_of(folder / "new.csv", terms)
    check_own_models(folder, campaign, same, X)
    assert asks in page(status)
    spent: defaultdict[str, Fraction] = defaultdict(Fraction)
    for entry in Home.at(folder / "owner").ledger.entries():
        spent[entry.owner] += entry.cost
    assert len(spent) == PEERS
    assert all(1.9 < each <= 2 for each in spent.values())


def turn_classes_round(file, who):
    """One of the participants in a file says the opposite."""
    table = pd.read_csv(file)
    mine, (one, other) = table["who"] == who, sorted(table["ill"].unique())
    table.loc[mine, "ill"] = table.loc[mine, "ill"].map({one: other, other: one})
    table.to_csv(file, index=False)


@pytest.mark.parametrize(
    ("kind", "learner", "answered"),
    [("peers", "leaves", [15, 3]), ("stumps", "leaves", [12, 4]), ("trees", "tree", [15, 3])],
)
def test_circles_over_http_are_those_of_one_process(tmp_path, monkeypatch, kind, learner, answered):
    """One founder has opposite classes, and sits alone; the newcomer sits with the others."""
    text = CAMPAIGN.replace('kind = "peers"', f'kind = "{kind}"').replace("everybody", "alike")
    text = text.replace("epsilon = 2.0", "epsilon = 8.0")
    rounds = 3 if kind == "stumps" else 6
    folder = folder_of(tmp_path, text.replace("rounds = 6", f"rounds = {rounds}"))
    turn_classes_round(folder / "people.csv", "person 001")
    more = {"epsilon_per_release": 8, "epsilon_total": 8, "releases": 9}
    limits = {**LIMITS, **more, "learners": (learner, "contrasts")}
    database = f"sqlite:///{folder}/c.db"
    said, status, published, campaign = over_http(folder, database, monkeypatch, limits)
    assert said == answered
    assert status["ended"].endswith("; 1 learned apart")
    terms, _ = read_spec(folder / "campaign.toml").prepare()
    same = in_process(folder, terms, newcomer=True, public=folder / "mine.csv")
    assert same.circles_ == [["person 000", "person 002", "person 003"], ["person 001"]]
    assert encode(published.model) == encode(same._to_save())
    sizes = [len(circle) for circle in tacit.load(folder / "m.tacit").circles_]
    assert sizes == [3, 1]
    X, _, _ = table_of(folder / "new.csv", terms)
    check_own_models(folder, campaign, same, X)
    spent: defaultdict[str, Fraction] = defaultdict(Fraction)
    for entry in Home.at(folder / "owner").ledger.entries():
        spent[entry.owner] += entry.cost
        assert entry.cost == Fraction(4, 5) or entry.what != "contrasts"
    assert all(7.9 < each <= 8 for each in spent.values())


def test_one_that_refuses_to_be_seated_takes_part_all_the_same(tmp_path):
    trial = Trial(tmp_path, CAMPAIGN.replace("everybody", "alike"))
    trial.step(3)
    name, question = trial.turn()
    assert asked(question, CountClasses)[1].what == "contrasts"
    with pytest.raises(RefusedError, match="does not allow this learner"):
        trial.gates[name].answer(question, name)
    for _ in range(PEERS):
        trial.late()
        trial.step(3)
    spoke = trial.play()
    assert sorted(set(spoke)) == ["person 000", "person 001", "person 002"]
    assert encode(trial.model().model.scores) == encode(served_model(trial.relayed().model))


def test_nobody_waits_for_one_that_refuses_to_be_seated(tmp_path, monkeypatch):
    """Its policy was changed after it had joined. Its agent said nothing, and every question of
    that kind stayed open until its deadline.
    """
    folder = folder_of(tmp_path, CAMPAIGN.replace("everybody", "alike"))
    monkeypatch.setattr("tacit.service.device.member._pause", lambda response, coin: 0.05)
    monkeypatch.setattr(Rosters, "is_over", lambda self, asked, now: True)
    service = running(folder, f"sqlite:///{folder}/c.db", rehearsal=SEED)
    service.store.add_tokens(TOKENS)
    founders = joining(folder, RehearsalPart(SEED), **LIMITS)

    before = replace(founders, policy=replace(founders.policy, learners=("leaves", "contrasts")))

    async def work(link):
        await before.members(link)
        answered = await asyncio.wait_for(join(founders, link, TOKENS[:PEERS]), 120)
        return answered, (await link.call("GET", "/v1/status", None)).json(), link.became

    answered, status, became = driven(service, work)
    seating = status["questions"][:PEERS]
    assert [each["what"] for each in seating] == ["contrasts"] * PEERS
    assert [(each["state"], each["invited"], each["counted"]) for each in seating] == [
        ("void", 1, 0)
    ] * PEERS
    assert [each["outcomes"] for each in seating] == [{"declined": 1}] * PEERS
    assert status["state"] == "ended"
    assert answered == len(status["questions"]) - PEERS > 0
    assert became["the owner's policy forbids the question"] == PEERS
    assert ", 1 declined" in page(status)


def test_begun_before_anybody_has_enrolled_it_waits(tmp_path):
    trial = Trial(tmp_path, CAMPAIGN, founders=0)
    assert trial.store.begin()
    trial.step(3)
    assert trial.store.standing().state == "running"
    trial.enrol("person 000")
    trial.step(3)
    assert trial.turn()[0] == "person 000"


def test_every_kill_is_survived_and_peers_follow_to_the_same_model(trial):
    spoke = []
    for _ in range(2 * PEERS):
        trial.start()
        trial.step(3)
        trial.start()
        spoke.append(trial.speak())
        trial.start()
    trial.step(3)
    assert sorted(spoke) == sorted(["person 000", "person 001", "person 002"] * 2)
    assert trial.store.standing().ended == "6 turns of 3 participants"
    assert encode(trial.model().model.scores) == encode(trial.relayed().model)
    assert trial.model().guarantee.epsilon == (2.0, 2.0)
    assert not trial.model().guarantee.void


def test_who_comes_later_speaks_alone_and_who_leaves_takes_its_parts_along(tmp_path):
    trial = Trial(tmp_path, CAMPAIGN + "newcomers = 3600\n")
    assert len(trial.play()) == 6
    before = trial.relayed().model
    trial.enrol("person 003", held="0,1")
    assert trial.play() == ["person 003"]
    after = trial.relayed()
    assert after.model.parts[:6] == before.parts
    assert after.model.parts[6].column in (0, 1)
    assert after.roster.present == 4
    trial.store.revoke(trial.owner("person 001"))
    assert trial.play() == []
    left = trial.relayed()
    assert left.roster.gone == (1,)
    assert left.model == after.model.without({1})
    assert trial.store.standing().state == "running"
    with trial.store.transaction() as connection:
        connection.exec_driver_sql("UPDATE campaign SET worked = worked + 3500")
    trial.step(2)
    assert trial.store.standing().state == "running"
    with trial.store.transaction() as connection:
        connection.exec_driver_sql("UPDATE campaign SET worked = worked + 100")
    trial.step(2)
    assert trial.store.standing().state == "ended"
    assert encode(trial.model().model.scores) == encode(left.model)
    shown = page(View(trial.store, KEY.public_key()).status())
    assert "has left" in shown
    assert "Who has spoken" in shown


def test_silent_peers_are_passed_over(trial):
    trial.step(3)
    silent, _ = trial.turn()
    trial.late()
    spoke = trial.play()
    assert len(spoke) == 5
    assert [q.state for q in trial.store.questions()].count(VOID) == 1
    assert spoke.count(silent) == 1
    assert encode(trial.model().model.scores) == encode(trial.relayed().model)


def test_one_who_leaves_in_its_turn_is_not_waited_for(trial):
    trial.step(3)
    leaver, _ = trial.turn()
    trial.store.revoke(trial.owner(leaver))
    spoke = trial.play()
    assert len(spoke) == 4
    assert leaver not in spoke
    trial.start()
    trial.step(2)
    assert encode(trial.model().model.scores) == encode(trial.relayed().model)


def another_report(trial, question, name):
    """A second report to one question, as good as the first: of a peer that draws anew."""
    invitation, query = asked(question)
    _, cohort = type(joining(trial.folder))(
        trial.folder / "people.csv", "ill", Policy(**LIMITS), trial.folder / "owner", "who"
    ).rows(trial.terms)
    drawn = query.release(cohort[:1], np.array(query.epsilons[:1]), secure())
    return pack(invitation.digest, 0, drawn)


def test_what_is_not_signed_for_the_others_has_no_way_in(trial):
    trial.step(3)
    name, question = trial.turn()
    report = trial.gates[name].answer(question, name)
    body = {"key": trial.keys[name], "body": report}

    async def work(link):
        link.campaign = public_bytes(KEY.public_key())
        answer = await link.call("POST", "/v1/report", **body)
        return answer.status_code, answer.json()

    assert driven(trial.service, work) == (400, {"outcome": "malformed"})
    assert trial.store.reports_of(1) == []


def test_what_a_stranger_sends_is_not_even_parsed(trial, monkeypatch):
    """Whoever has enrolled has its words read, and nobody else."""
    seen = []

    def read(body, *more):
        seen.append(body)
        raise WireError("no")

    monkeypatch.setattr("tacit.service.coordinator.peers.open_signed", read)
    trial.keys["stranger"] = Ed25519PrivateKey.generate()
    assert trial.post("stranger", b"costly") is Outcome.STRANGE
    assert seen == []
    assert trial.post("person 000", b"costly") is Outcome.MALFORMED
    assert seen == [b"costly"]


@pytest.mark.parametrize("later", [False, True], ids=["at once", "after its turn"])
def test_a_peer_that_says_two_things_is_shown_to_have_lied_and_the_campaign_goes_on(trial, later):
    trial.step(3)
    liar, question = trial.turn()
    first, _ = trial.signed(liar, question)
    second, _ = trial.signed(liar, question, another_report(trial, question, liar))
    assert trial.post(liar, first) is Outcome.COUNTED
    if later:
        trial.step(2)
    assert trial.post(liar, first) is Outcome.REPEATED
    assert trial.post(liar, second) is Outcome.CONTRADICTED
    assert trial.post(liar, second) is Outcome.STRANGE  # it is left out
    spoke = trial.play()
    assert liar not in spoke
    assert len(spoke) == 4  # the others go on, as if it had left
    assert trial.store.standing().state == "ended"
    after = trial.relayed()
    assert encode(trial.model().model.scores) == encode(after.model)
    (number,) = (peer.number for peer in after.roster.peers if peer.name == liar)
    assert after.roster.gone == (number,)
    proof = decode(trial.rosters.lie(1), Contradiction)
    assert (proof.key.hex(), proof.first, proof.second) == (trial.owner(liar), first, second)
    assert proof.holds
    assert trial.rosters.lie(2) is None
    assert not replace(proof, second=first).holds
    assert not replace(proof, key=public_bytes(KEY.public_key())).holds
    voices = {each["name"]: each["lied"] for each in status.voices(trial.store)}
    assert voices == {name: name == liar for name in voices}
    assert "it said two things" in page(View(trial.store, KEY.public_key()).status())


# A coordinator that forges
# --------------------------------------------------------------------------------


def forged(trial, change):
    """Follow honestly through one turn, then take in a second one that `change` has made."""
    trial.step(3)
    trial.speak()
    trial.step(2)
    trial.speak()
    trial.step(2)
    following = Following(trial.terms, KEY.public_key())
    following.take(trial.rosters.roster(1))
    following.take(trial.rosters.turn(1))
    before = following.model
    turn = open_signed(trial.rosters.turn(2), Turn, TURN, KEY.public_key())
    with pytest.raises(ForgeryError) as problem:
        following.take(change(trial, turn))
    assert following.model == before  # nothing of it was taken in
    following.take(trial.rosters.turn(2))  # and the honest one still can be
    return str(problem.value)


def test_a_report_made_up_by_the_coordinator_is_refused(trial):
    def change(trial, turn):
        (speaker,) = asked(turn.invitation)[1].owners
        name = trial.relayed().roster.peers[speaker].name
        stranger = Ed25519PrivateKey.generate()
        data, _ = trial.signed(name, turn.invitation, key=stranger)
        return sign(replace(turn, spoken=data), TURN, KEY)

    assert "signature does not belong" in forged(trial, change)


def test_a_report_to_another_question_is_refused(trial):
    def change(trial, turn):
        first = open_signed(trial.rosters.turn(1), Turn, TURN, KEY.public_key())
        return sign(replace(turn, spoken=first.spoken), TURN, KEY)

    assert "cannot be taken in" in forged(trial, change)


def test_a_question_that_changes_what_was_released_is_refused(trial):
    def change(trial, turn):
        invitation, query = asked(turn.invitation)
        part = query.model.parts[0]
        louder = replace(part, scores=tuple(score + 1e-6 for score in part.scores))
        query = replace(query, model=Additive((louder,)))
        return sign(
            replace(turn, invitation=sign(replace(invitation, query=query), PURPOSE, KEY)),
            TURN,
            KEY,
        )

    assert "not the one that follows" in forged(trial, change)


def test_last_bits_of_scores_may_differ_between_machines(trial):
    trial.step(3)
    trial.speak()
    trial.step(2)
    following = trial.relayed()
    name, question = trial.turn()
    key = bytes.fromhex(trial.owner(name))
    invitation, query = asked(question)
    part = query.model.parts[0]
    close = replace(part, scores=tuple(float(np.nextafter(score, 9)) for score in part.scores))
    query = replace(query, model=Additive((close,)))
    (speaker,) = query.owners
    following.admit(sign(replace(invitation, query=query), PURPOSE, KEY), key)
    with pytest.raises(ForgeryError, match="somebody else's"):
        following.admit(question, bytes(32))
    for other in (
        replace(query, menu=(5.0,)),
        replace(query, owners=((speaker + 1) % PEERS,)),
        replace(query, cuts=query.cuts[:1]),
        replace(query, model=Additive()),
    ):
        with pytest.raises(ForgeryError):
            following.admit(sign(replace(invitation, query=other), PURPOSE, KEY), key)


def test_rosters_only_grow_and_strangers_can_be_refused(trial):
    trial.step(3)
    first = open_signed(trial.rosters.roster(1), Roster, ROSTER, KEY.public_key())
    other = Peer(0, bytes(32), "me too", (0,))
    swapped = replace(first, peers=(other, *first.peers[1:]), first=len(first.peers))
    assert not swapped.follows(first)
    assert not first.follows(first)
    assert Roster((*first.peers, replace(other, number=3)), 3).follows(first)
    following = Following(
        trial.terms, KEY.public_key(), known={peer.key for peer in first.peers[1:]}
    )
    with pytest.raises(
        ForgeryError, match=r"participants \[0\] have keys that are not among those you know"
    ):
        following.take(trial.rosters.roster(1))
    Following(trial.terms, KEY.public_key(), known={peer.key for peer in first.peers}).take(
        trial.rosters.roster(1)
    )


def test_a_peer_cannot_speak_for_another(trial):
    trial.step(3)
    name, question = trial.turn()
    data, _ = trial.signed(name, question)
    other = next(each for each in trial.keys if each != name)
    assert trial.post(other, data) is Outcome.MALFORMED  # its key did not sign it
    assert trial.post(other, trial.signed(name, question, key=trial.keys[other])[0]) is (
        Outcome.STRANGE  # nobody asked it
    )
    assert trial.post(name, data) is Outcome.COUNTED
    assert trial.post(name, b"something else") is Outcome.MALFORMED


def test_what_a_peer_signs_that_is_no_report_is_told_to_be_none(trial):
    """It was told that the service is busy, as was everybody whose words came with it."""
    trial.step(3)
    name, question = trial.turn()
    _, report = trial.signed(name, question)
    for wrong in (report[:7], report + b"more"):
        data, _ = trial.signed(name, question, wrong)
        assert trial.post(name, data) is Outcome.MALFORMED
    assert trial.post(name, trial.signed(name, question)[0]) is Outcome.COUNTED


def test_a_peer_that_leaves_while_its_turn_is_closed_leaves_no_gap(trial, monkeypatch):
    """Its turn counts as closed though nothing is there that it said: others are told so."""
    trial.step(3)
    name, close = trial.speak(), trial.store.close_question

    def leave_before(*closed):
        assert trial.store.revoke(trial.owner(name))
        close(*closed)

    with monkeypatch.context() as patched:
        patched.setattr(trial.store, "close_question", leave_before)
        trial.step()
    assert trial.store.questions()[0].state == CLOSED
    assert open_signed(trial.rosters.turn(1), Turn, TURN, KEY.public_key()).spoken == b""
    del trial.keys[name]
    trial.play()
    assert encode(trial.model().model.scores) == encode(trial.relayed().model)


def test_a_peer_leaves_by_itself(tmp_path):
    service = running(folder_of(tmp_path))
    service.store.add_tokens(TOKENS)

    async def work(link):
        _, (first, second, _) = await joining(tmp_path, **LIMITS).members(link)
        for member, token in zip((first, second), TOKENS, strict=False):
            await replace(member, held=(0, 2)).enrol(token)
        stranger = await link.call("POST", "/v1/leave", Ed25519PrivateKey.generate(), b"leave")
        left = [
            (await link.call("POST", "/v1/leave", first.key, b"leave")).status_code
            for _ in range(2)
        ]
        asked = [
            (await link.call("GET", "/v1/rosters/1", one.key)).status_code
            for one in (first, second)
        ]
        return stranger.status_code, left, asked

    assert driven(service, work) == (403, [200, 200], [403, 204])
    assert service.store.owner_counts() == {"enrolled": 2, "waiting": 1, "revoked": 1}


def test_before_joining_a_peer_sees_what_would_leave(tmp_path):
    service = running(folder_of(tmp_path))

    async def work(link):
        return (await preview(joining(tmp_path, **LIMITS), link, None)).lines

    lines = " ".join(driven(service, work))
    assert "the attribute that tells most, and counts of your records by its values" in lines
    assert "up to 2 times; it would cost epsilon 2 in all" in lines
    assert "the more take part, the less often you speak, at up to epsilon 2 each time" in lines
    assert "one record added to or removed from a participant's rows" in lines


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("epsilon = 2.0", "epsilon = [1.0, 2.0]"), "epsilon must be one number"),
        (("rounds = 6", "rounds = 0"), "rounds must be"),
        (("deadline = 300", "newcomers = -1"), "newcomers must be a finite number of seconds"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        running(folder_of(tmp_path, CAMPAIGN.replace(*change)))
