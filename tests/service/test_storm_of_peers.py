"""Peers at once: each word comes twice through two workers, one peer lies, one leaves, one goes by
another key, while two workers drive. What is relayed can be followed to the end, and gives the
model that was published.
"""

import threading
import time
from collections import Counter
from functools import partial

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.service.coordinator import peers
from tacit.service.coordinator.intake import Intake, Outcome
from tacit.service.coordinator.keys import PeerRenewals
from tacit.service.coordinator.records import Records
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import ENDED, OPEN, contradictions
from tacit.service.kinds.peers import PeerSpec
from tacit.service.protocol.succession import Renewal
from tacit.wire import encode
from tacit.wire.envelopes import public_bytes
from tests.service.coordinator.made import at_once, question_for, running
from tests.service.coordinator.peers import CAMPAIGN, KEY, Trial
from tests.service.coordinator.test_peers import another_report
from tests.service.test_storm import counted

HERE = public_bytes(KEY.public_key())


class Peers(Trial):
    """Four of them at a database of any kind, with two workers."""

    def __init__(self, folder, database):
        self.database, self.said, self.renewed = database, Counter[Outcome](), 0
        super().__init__(folder, CAMPAIGN.replace("rounds = 6", "rounds = 8"), founders=4)
        self.other = Store(database)

    def start(self):
        self.services = [running(self.folder, self.database, KEY) for _ in range(2)]
        self.store = self.services[0].store
        self.terms, _ = PeerSpec.read(self.folder / "campaign.toml").prepare()
        self.rosters = peers.Rosters(self.store, self.terms, KEY)

    def drive(self, service):
        while service.driver.step():
            time.sleep(0.01)

    def say(self, name, words):
        """Words of a peer, each through both workers at once."""

        def post(place):
            word, worker = words[place // 2], (self.store, self.other)[place % 2]
            testimony = peers.Testimony(worker, Intake(worker, KEY.public_key()))
            return testimony.write([(self.owner(name), word)])[0]

        said = at_once(post, times=2 * len(words))
        assert all(isinstance(each, Outcome) for each in said), said
        self.said.update(said)

    def live(self, name, fate):
        """Speak whenever it is its turn; then what is its fate, beside its words."""
        ends, seen = time.monotonic() + 60, list[bytes]()
        while self.store.standing().state != ENDED and time.monotonic() < ends:
            question = question_for(self.store, self.owner(name))
            if question:
                # whose key is replaced twice in a turn does not speak in it
                self.act(name, question, "stays" if question in seen else fate, len(seen))
                seen = [*seen, question]
            time.sleep(0.01)

    def act(self, name, question, fate, turns):
        words = [self.signed(name, question)[0]]
        if fate == "lies" and turns:
            others = (another_report(self, question, name) for _ in range(2))
            words += [self.signed(name, question, each)[0] for each in others]
        acts = [partial(self.say, name, words)]
        if fate in ("leaves", "is another"):
            acts.append(partial(self.leave if fate == "leaves" else self.renew, name))
        assert [each for each in at_once(lambda place: acts[place](), len(acts)) if each] == []

    def leave(self, name):
        both = [Records(each) for each in (self.store, self.other)]
        assert at_once(lambda place: both[place].leave(self.owner(name)), 2) == [True, True]

    def renew(self, name):
        """Go by another key from the turn that is open, if it has not spoken, or from the next."""
        old, new = self.keys[name], Ed25519PrivateKey.generate()
        keys = public_bytes(old.public_key()), public_bytes(new.public_key())
        now = max(each.number for each in self.store.questions())
        for turn in (now, now + 1):
            said = Renewal(HERE, *keys, turn)
            if PeerRenewals(self.other).take(self.owner(name), said, said.sign(old, new)) == 200:
                self.keys[name] = new
                self.renewed += 1
                return


def test_peers_at_once(tmp_path, database):
    trial = Peers(tmp_path, database)
    fates = dict(zip(trial.keys, ("stays", "lies", "leaves", "is another"), strict=True))
    first = {trial.owner(name) for name in fates}
    working = [threading.Thread(target=trial.drive, args=(each,)) for each in trial.services]
    for each in working:
        each.start()
    failed = at_once(lambda place: trial.live(*list(fates.items())[place]), times=4)
    assert failed == [None] * 4
    for each in working:
        each.join(30)
    assert trial.store.standing().state == ENDED
    after = trial.relayed()
    assert encode(trial.model().model.scores) == encode(after.model)
    asked = trial.store.questions()
    assert not [each for each in asked if each.state == OPEN]
    heard = [trial.store.counts(each.number)[1] for each in asked]
    assert set(heard) <= {0, 1}
    # what was taken out again was counted, too: of who left, or lied, in an open question
    assert sum(heard) <= trial.said[Outcome.COUNTED] <= sum(heard) + 2
    assert counted(trial.store, contradictions) <= 1
    acts = Counter(act.what for act in Records(trial.store).acts())
    assert acts["leave"] == 1
    assert acts["rekey"] == trial.renewed
    assert {peer.key.hex() for peer in after.roster.peers} == first
    trial.other.close()
    for each in trial.services:
        each.close()
