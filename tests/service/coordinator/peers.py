"""Campaigns of peers for tests: files, and a coordinator with participants that are moved by
hand, in one thread.
"""

from typing import Any

import pandas as pd
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import PeerEnsemble
from tacit.data.table_file import TableFile
from tacit.estimators.persistence import SavedModel
from tacit.learners.peers.leaf_counts import CountLeaves
from tacit.learners.query import PURPOSE, Invitation
from tacit.owner.gate import Gate
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.service.coordinator.intake import Intake, Outcome
from tacit.service.coordinator.peers import Rosters, Testimony
from tacit.service.device.home import Identity
from tacit.service.kinds.peers import PeerSpec
from tacit.service.protocol.peer_replay import SPOKEN, Following, Spoken
from tacit.wire import decode
from tacit.wire.envelopes import open_signed, public_bytes, sign
from tests.service.coordinator.made import enrol, joining, question_for, rows, running, write

PEERS = 3
SEED = 7
KEY = Ed25519PrivateKey.generate()
TOKENS = [f"token number {i:04d}" for i in range(8)]
CAMPAIGN = f"""
kind = "peers"
name = "trial"
sample = "mine.csv"
label = "ill"
epsilon = 2.0
rounds = 6
start = {PEERS}
deadline = 300
listen_to = "everybody"
"""
LIMITS: dict[str, Any] = {
    "epsilon_per_release": 2,
    "epsilon_total": 2,
    "releases": 2,
    "units": ("record",),
    "learners": ("leaves",),
}


def folder_of(tmp_path, text=CAMPAIGN):
    """The founders are in people.csv; person 003, who comes later, is in new.csv."""
    everybody = rows(PEERS + 1, 300, seed=2)
    write(
        tmp_path / "mine.csv",
        [{k: v for k, v in row.items() if k != "who"} for row in rows(100, 1, seed=1)],
    )
    write(tmp_path / "people.csv", [row for row in everybody if row["who"] != "person 003"])
    write(tmp_path / "new.csv", [row for row in everybody if row["who"] == "person 003"])
    (tmp_path / "campaign.toml").write_text(text)
    return tmp_path


def table_of(path, terms):
    """Columns, labels and participants of a file."""
    table = TableFile.open(path).read()
    frame = pd.DataFrame({str(f.name): table.column(str(f.name)) for f in terms.schema.features})
    if "who" not in table.columns:
        return frame, table.column("ill")
    return frame, table.column("ill"), table.column("who")


def in_process(folder, terms, newcomer=False, seed=SEED, public=None):
    """The same peers in one process; by the schema, or with the rows of a file that is public."""
    known = None if public is None else table_of(public, terms)
    X, y, who = table_of(folder / "people.csv", terms)
    made = PeerEnsemble(
        epsilon=terms.epsilon,
        rounds=terms.rounds,
        method=terms.method,
        listen_to=terms.listen_to,
        schema=terms.schema if known is None else None,
        random_state=seed,
    )
    made.fit(X, y, owners=who, public=known)
    if newcomer:
        X, y, _ = table_of(folder / "new.csv", terms)
        made.join(X, y, name="person 003")
    return made


def asked(question, kind=CountLeaves):
    """The invitation in signed bytes, and its query."""
    invitation = open_signed(question, Invitation, PURPOSE, KEY.public_key())
    assert isinstance(invitation.query, kind)
    return invitation, invitation.query


class Trial:
    """A coordinator and its peers; whoever is to move is moved by hand."""

    def __init__(self, tmp_path, text=CAMPAIGN, founders=PEERS):
        self.folder = folder_of(tmp_path, text)
        self.start()
        self.store.add_tokens(TOKENS)
        identity = Identity(bytes(32))
        self.keys, self.gates = {}, {}
        for file in ("people.csv", "new.csv"):
            mine = joining(self.folder, **LIMITS)
            mine = type(mine)(self.folder / file, "ill", mine.policy, self.folder / "owner", "who")
            names, cohort = mine.rows(self.terms)
            ledger = Ledger(self.folder / f"{file}.db", self.folder / f"{file}.mark")
            policy = Policy(**{**LIMITS, "time_step": 0})
            gate = Gate(cohort, names, self.terms.schema, policy, ledger, KEY.public_key())
            for name in names:
                self.keys[name], self.gates[name] = identity.key(name.encode()), gate
        for name in list(self.keys)[:founders]:
            self.enrol(name)

    def start(self):
        """A coordinator that knows nothing but the database, when the lease of the last has run
        out.
        """
        self.service = running(self.folder, f"sqlite:///{self.folder}/c.db", KEY)
        self.store = self.service.store
        terms, _ = PeerSpec.read(self.folder / "campaign.toml").prepare()
        self.terms = terms
        self.rosters = Rosters(self.store, terms, KEY)
        with self.store.transaction() as connection:
            connection.exec_driver_sql("UPDATE campaign SET lease_until = 0")

    def owner(self, name):
        return public_bytes(self.keys[name].public_key()).hex()

    def enrol(self, name, held=""):
        assert enrol(self.store, self.owner(name), TOKENS[len(self.store.labels())], name, held)

    def late(self):
        with self.store.transaction() as connection:
            connection.exec_driver_sql("UPDATE questions SET deadline = 0 WHERE state = 'open'")

    def step(self, count=1):
        for _ in range(count):
            self.service.driver.step()

    def turn(self):
        """Who has the turn, with its question; (None, b"") when nobody does."""
        for name in self.keys:
            data = question_for(self.store, self.owner(name))
            if data is not None:
                return name, data
        return None, b""

    def signed(self, name, question, report=None, key=None):
        digest = asked(question)[0].digest
        said = Spoken(digest, self.gates[name].answer(question, name) if report is None else report)
        return sign(said, SPOKEN, key or self.keys[name]), said.report

    def speak(self):
        """Let the one who has the turn speak."""
        name, question = self.turn()
        assert name is not None
        data, _ = self.signed(name, question)
        assert self.post(name, data) is Outcome.COUNTED
        return name

    def post(self, name, data):
        """What becomes of something that a peer signed."""
        intake = Intake(self.store, KEY.public_key())
        (outcome,) = Testimony(self.store, intake).write([(self.owner(name), data)])
        return outcome

    def play(self, most=50):
        """Everybody speaks in turn until nobody has one; who did."""
        spoke = []
        for _ in range(most):
            self.step(3)
            if self.turn()[0] is None:
                break
            spoke.append(self.speak())
        return spoke

    def relayed(self):
        """What a follower of the coordinator's relay has at the end."""
        following = Following(self.terms, KEY.public_key())
        while (data := self.given(following)) is not None:
            following.take(data)
        return following

    def given(self, following):
        kind, number = following.wants.split("/")[2:]
        return (
            self.rosters.roster(int(number))
            if kind == "rosters"
            else self.rosters.turn(int(number))
        )

    def model(self):
        return decode(self.store.standing().model or b"", SavedModel)
