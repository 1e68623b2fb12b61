"""The vectors of the wire are what the code makes, and the code reads and refuses what they say."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tacit.learners.owners.sum_query import SharesQuery
from tacit.learners.query import PURPOSE, Invitation
from tacit.mechanisms.spaces import Ball
from tacit.owner.template import Template
from tacit.service.kinds import read_terms
from tacit.service.protocol.handshake import TEMPLATE, read_greeting
from tacit.wire import WireError, decode, encode
from tacit.wire.codec import class_of
from tacit.wire.envelopes import open_signed, verify
from tests.vectors import sum_from_page
from tests.vectors.checks import FILE, floats, written
from tests.vectors.from_page import draw
from tests.vectors.made import make

VECTORS = written()


@pytest.fixture(scope="module")
def fresh():
    return make()


@pytest.mark.parametrize("section", list(VECTORS))
def test_the_code_makes_what_was_written(fresh, section):
    assert fresh.keys() == VECTORS.keys()
    assert fresh[section] == VECTORS[section]


def test_the_vectors_are_small():
    assert FILE.stat().st_size < 350_000


def outcome(work):
    try:
        work()
    except WireError:
        return "refused"
    return "read"


def cases(section):
    return pytest.mark.parametrize(
        "case", VECTORS[section], ids=lambda case: case.get("why", case["is"])
    )


@cases("messages")
def test_messages(case):
    data, kind = bytes.fromhex(case["bytes"]), class_of(case["kind"])
    assert kind is not None
    assert outcome(lambda: decode(data, kind)) == case["is"]


@cases("signatures")
def test_signatures(case):
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(case["key"]))
    signed = bytes.fromhex(case["signed"])
    assert outcome(lambda: verify(signed, case["purpose"], key)) == case["is"]


@cases("greetings")
def test_greetings(case):
    data, pinned = bytes.fromhex(case["bytes"]), bytes.fromhex(case["pinned"]) or None
    assert outcome(lambda: read_greeting(data, pinned)) == case["is"]
    if case["is"] == "read":
        greeted = read_greeting(data, pinned)
        assert greeted.first.hex() == case["first"]
        assert read_terms(greeted.terms).name == case["campaign"]


@cases("questions")
def test_questions(case):
    greeted = read_greeting(bytes.fromhex(VECTORS["greetings"][0]["bytes"]), None)
    template = open_signed(greeted.template, Template, TEMPLATE, greeted.key)
    question = bytes.fromhex(case["bytes"])
    invitation = open_signed(question, Invitation, PURPOSE, greeted.key)
    assert invitation.digest.hex() == case["digest"]
    assert ("outside" if template.objection(invitation) else "within") == case["is"]


@pytest.mark.parametrize("case", VECTORS["sums"], ids=lambda case: str(case["law"]["dim"]))
def test_sums_are_what_the_page_says(case):
    tape, share = [int(word, 16) for word in case["tape"]], floats(case["share"]).tolist()
    assert sum_from_page.rounded(case["law"], share, tape) == case["entries"]
    assert sum_from_page.report(case).hex() == case["report"]
    if case["query"]:
        query = decode(bytes.fromhex(case["query"]), SharesQuery)
        assert encode(query.batch).hex() == case["batch"]


@pytest.mark.parametrize("section", ["draws", "other_draws"])
def test_draws_are_what_the_page_says(section):
    drawn = [case for case in VECTORS[section] if case["mechanism"] != "privunit"]
    for case in drawn:
        share = Ball(dim=len(case["share"]) // 16, radius=case["radius"]).clip(
            floats(case["share"])
        )
        tape = [int(word, 16) for word in case["tape"]]
        terms = case["mechanism"], case["epsilons"], case["level"], case["radius"]
        assert draw(*terms, share.tolist(), tape).hex() == case["report"], case["mechanism"]
    assert len(drawn) >= 10
