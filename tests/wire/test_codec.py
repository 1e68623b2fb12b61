"""One object, one string of bytes; everything else is refused with a `WireError`."""

from dataclasses import dataclass

import msgpack
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Category, Number, Schema
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble, Model
from tacit.learners.owners.centroid import Centroid, CentroidModel
from tacit.learners.owners.logistic import Logistic, LogisticModel
from tacit.learners.owners.stump import Stump, StumpModel
from tacit.learners.query import Query
from tacit.wire import WireError, decode, encode, message
from tacit.wire.envelopes import open_signed, sign

MEMBERS = (
    (0.5, StumpModel(1, 0.25, 0, 1)),
    (0.25, CentroidModel(np.zeros((2, 3)))),
    (0.125, LogisticModel(np.ones((1, 4)))),
)


def query(learner=None, members=MEMBERS):
    facts = Facts(3, 2, np.array([-0.5, 0.0, 0.5]), np.arange(3))
    return ShareQuery(
        2,
        1,
        100,
        learner or Stump(),
        facts,
        Ensemble(2, tuple(members)),
        ReportTerms("piecewise", (0.5, 1.0)),
    )


SCHEMA = Schema((Number("age", 0, 99), Category("state", ("n", "s", None))), ("no", "yes"))
OBJECTS = [
    query(),
    query(Centroid()),
    query(Logistic(ridge=0.5)),
    SCHEMA,
    Schema((Number("x", -1, 1),), (0, 1, 2)),
]


@pytest.mark.parametrize("value", OBJECTS, ids=range(len(OBJECTS)))
def test_there_and_back(value):
    data = encode(value)
    again = decode(data, type(value))
    assert encode(again) == data
    assert type(again) is type(value)


def test_values_survive_exactly():
    again = decode(encode(query()), ShareQuery)
    assert again.terms == ReportTerms("piecewise", (0.5, 1.0))
    assert again.ensemble.members[0] == MEMBERS[0]
    centroids = again.ensemble.members[1][1]
    assert isinstance(centroids, CentroidModel)
    np.testing.assert_array_equal(centroids.centroids, np.zeros((2, 3)))
    assert not again.facts.values.flags.writeable


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: [2, raw[1]],  # version
        lambda raw: raw[1],  # no version
        lambda raw: [1, ["other", *raw[1][1:]]],  # unknown tag
        lambda raw: [1, ["stump", 1]],  # a known class that does not belong here
        lambda raw: [1, raw[1][:-1]],  # a field missing
        lambda raw: [1, [*raw[1], 0]],  # a field too many
        lambda raw: [1, [raw[1][0], 0, *raw[1][2:]]],  # round 0
        lambda raw: [1, [raw[1][0], True, *raw[1][2:]]],  # a truth value for a number
        lambda raw: [1, [raw[1][0], 2.0, *raw[1][2:]]],  # a float for a whole number
        lambda raw: [1, [*raw[1][:-1], ["terms", "gauss", [1.0]]]],  # unknown mechanism
        lambda raw: [1, [*raw[1][:-1], ["terms", "piecewise", [2.0, 1.0]]]],  # falling epsilons
        lambda raw: [1, [*raw[1][:-1], ["terms", "piecewise", [float("nan")]]]],
        lambda raw: [1, [*raw[1][:-1], ["terms", "piecewise", [float("inf")]]]],
        lambda raw: [1, [*raw[1][:-1], ["terms", "piecewise", []]]],
        lambda raw: [1, [*raw[1][:-2], ["ensemble", 3, []], raw[1][-1]]],  # classes disagree
        lambda raw: [
            1,
            [*raw[1][:-2], ["ensemble", 2, [[0.5, ["stump.model", 3, 0.0, 0, 1]]]], raw[1][-1]],
        ],  # column
        lambda raw: [
            1,
            [*raw[1][:-2], ["ensemble", 2, [[0.5, ["stump.model", 0, 0.0, 0, 7]]]], raw[1][-1]],
        ],  # class
        lambda raw: [
            1,
            [*raw[1][:-2], ["ensemble", 2, [[0.5, ["facts", 1, 2]]]], raw[1][-1]],
        ],  # not a model
    ],
)
def test_what_is_out_of_range_is_refused(change):
    raw = msgpack.unpackb(encode(query()), ext_hook=msgpack.ExtType)
    with pytest.raises(WireError):
        decode(msgpack.packb(change(raw)), Query)


def array(code, axes, shape, values):
    return msgpack.ExtType(
        code, bytes([axes]) + b"".join(n.to_bytes(4, "little") for n in shape) + values
    )


@pytest.mark.parametrize(
    "extension",
    [
        array(1, 1, [3], np.array([0.0, np.nan, 1.0]).tobytes()),
        array(1, 1, [3], np.array([0.0, np.inf, 1.0]).tobytes()),
        array(1, 1, [3], bytes(16)),  # shorter than its shape
        array(1, 2, [2**32 - 1, 2**32 - 1], bytes(8)),  # huge
        array(1, 2, [0, 2**32 - 1], b""),  # empty, with a huge axis: not these values
        array(7, 1, [3], bytes(24)),  # unknown type
        array(2, 1, [3], bytes(24)),  # whole numbers for floats
        array(1, 0, [], bytes(8)),
        array(1, 4, [1, 1, 1, 1], bytes(8)),
        msgpack.ExtType(1, b""),
    ],
)
def test_bad_arrays_are_refused(extension):
    raw = msgpack.unpackb(encode(query()), ext_hook=msgpack.ExtType)
    place = raw[1].index(
        next(part for part in raw[1] if isinstance(part, list) and part[0] == "facts")
    )
    raw[1][place][3] = extension
    with pytest.raises(WireError):
        decode(msgpack.packb(raw), Query)


def test_other_bytes_of_the_same_content_are_refused():
    data = encode(SCHEMA)
    longer = data.replace(b"\xa3age", b"\xd9\x03age")  # a short text with a long header
    assert longer != data
    assert msgpack.unpackb(longer) == msgpack.unpackb(data)
    with pytest.raises(WireError, match="not canonical"):
        decode(longer, Schema)
    with pytest.raises(WireError):
        decode(data + b"\x00", Schema)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_crash(data):
    for kind in (Query, Schema, Model):
        with pytest.raises(WireError):
            decode(data, kind)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_messages_decode_to_themselves_or_not_at_all(data):
    whole = bytearray(encode(query()))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        again = decode(bytes(whole), Query)
    except WireError:
        return
    assert encode(again) == bytes(whole)


def test_sizes_and_depth_are_bounded():
    with pytest.raises(WireError, match="at most 10 bytes"):
        decode(encode(SCHEMA), Schema, largest=10)
    with pytest.raises(WireError):
        decode(b"\x92\x01" + b"\x91" * 100_000 + b"\x00", Schema)
    with pytest.raises(WireError):
        decode(
            b"\x92\x01\xdd\xff\xff\xff\xff", Schema
        )  # a list that claims four thousand million entries


def test_only_registered_things_travel():
    @dataclass(frozen=True)
    class Stranger:
        secret: int

    for thing in (Stranger(1), [1, 2], {"a": 1}, np.zeros(3, dtype=np.float32), object()):
        with pytest.raises(WireError):
            encode(thing)
    with pytest.raises(ValueError, match="tag 'stump' is taken"):
        message("stump")(Stranger)
    with pytest.raises(TypeError, match="must be a dataclass"):
        message("plain")(object)


def test_every_flipped_bit_of_a_signed_query_is_refused():
    key = Ed25519PrivateKey.generate()
    data = sign(query(), "query", key)
    assert encode(open_signed(data, Query, "query", key.public_key())) == data[64:]
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << (bit % 8)
        with pytest.raises(WireError, match="signature"):
            open_signed(bytes(flipped), Query, "query", key.public_key())


def test_a_signature_serves_one_purpose_and_one_key():
    key = Ed25519PrivateKey.generate()
    data = sign(SCHEMA, "schema", key)
    with pytest.raises(WireError, match="signature"):
        open_signed(data, Schema, "other", key.public_key())
    with pytest.raises(WireError, match="signature"):
        open_signed(data, Schema, "schema", Ed25519PrivateKey.generate().public_key())
    with pytest.raises(WireError, match="65 to"):
        open_signed(data[:64], Schema, "schema", key.public_key())
