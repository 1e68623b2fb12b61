"""Decoding costs time and memory in proportion to bytes; `python -m benchmarks.decoding` searches
longer.
"""

import sys
import tracemalloc
from dataclasses import dataclass
from time import process_time

import msgpack
import numpy as np
import pytest
from benchmarks.decoding import GOAL, search
from benchmarks.decoding_inputs import KINDS, hostile_patterns

from tacit.estimators.persistence import SavedModel
from tacit.learners.query import Invitation
from tacit.wire import WireError, decode, encode, message
from tacit.wire.codec import DEEPEST, MOST_OBJECTS, plan_of

MEMORY = 64  # bytes of memory for a byte read, and a little to begin with


def inside_itself(depth):
    """A class in each of its own fields that a union allows: four tries a level, once."""
    raw = ["ensemble", 2, []]
    for _ in range(depth):
        raw = ["saved model", "", "", ["schema", [], []], raw, 0, [], 0, 0, "", "", b""]
    return msgpack.packb([1, raw])


@pytest.mark.parametrize("depth", [8, 30, 300])
def test_unions_inside_unions_are_refused_at_once(depth):
    data = inside_itself(depth)
    began = process_time()
    for _ in range(20):
        with pytest.raises(WireError):
            decode(data, SavedModel)
    assert process_time() - began < 1.0  # 670 bytes took 14 s when every member was tried


@pytest.mark.parametrize("kind", KINDS)
def test_no_pattern_costs_more_memory_than_its_bytes_allow(kind):
    for made in hostile_patterns():
        if made.kind != kind:
            continue
        data = msgpack.packb(made.content) if made.data is None else made.data
        tracemalloc.start()
        try:
            decode(data, KINDS[kind])
        except WireError:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak <= MEMORY * len(data) + (1 << 20), made.way


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer takes time of its own")
def test_the_worst_of_some_thousand_inputs_costs_little_more_than_ordinary_ones():
    assert search(4000, np.random.default_rng(2)).ratio <= GOAL


def test_objects_and_depth_are_bounded():
    many = ["ensemble", 2, [[0.5, ["stump.model", 0, 0.0, 0, 1]]] * (MOST_OBJECTS + 1)]
    with pytest.raises(WireError, match="objects"):
        decode(msgpack.packb([1, many]), SavedModel.__annotations__["model"].__args__[0], 1 << 24)
    raw = ["ensemble", 2, []]
    for _ in range(DEEPEST):
        raw = ["ensemble", 2, [[0.5, raw]]]
    with pytest.raises(WireError, match="deep"):
        decode(msgpack.packb([1, raw]), plan_type())


def plan_type():
    from tacit.learners.models.ensemble import Ensemble

    return Ensemble


def test_a_class_that_does_not_belong_is_refused_before_its_fields_are_read():
    read = []

    @message("test costly")
    @dataclass(frozen=True)
    class Costly:
        number: int

        def __post_init__(self):
            read.append(self.number)

    with pytest.raises(WireError, match="a known Invitation"):
        decode(encode(Costly(7)), Invitation)
    assert read == [7]  # made by us, never by decoding


def test_types_that_one_byte_cannot_tell_apart_are_a_mistake_of_ours():
    for hint in (tuple[int, ...] | Invitation, tuple[int, ...] | tuple[str, ...]):
        with pytest.raises(TypeError, match="first byte"):
            plan_of(hint)
