"""One test vector of the draft, replayed operation by operation (section "Test Vectors").

An operation that should succeed has to give the file's bytes exactly, and one that should fail has
to be refused. A file says nothing beside: as many shares as there are servers, one round, whole
numbers, bytes as pairs of digits. What is no vector at all (a field is missing, or is something
else) raises whatever it leads to: a caller takes every error but `NotValidError`, which stays
inside, for a fault of the file.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit._util.types import ByteArray, WordArray
from tacit.sums.prio3 import flp, instances
from tacit.sums.prio3.draft_circuits import NotValidError
from tacit.sums.prio3.fields import FIELD128, LONGEST_TAG, SEED, derive_seeds, expand
from tacit.sums.prio3.instances import Sizes
from tacit.sums.prio3.prio3 import NONCE, TAG_PREFIX, Prio3, VerifyState

XOF = "XofTurboShake128"
_SPARE = 1 << 16  # bytes by which messages may be larger than the file that should hold them
_PART = 8  # bytes, of which no more than the least field elements have agree by chance
_MATTER = "operation", "success"  # of an operation, beside what it is about
_RESULT = "agg_result"
_PARAMETERS = {"shares", "length", "max_measurement", "chunk_length", "max_weight", "degree"}
_PARAMETERS |= {"gadget_calls", "bound", "bits", "calls", "proofs"}
_PAIRS = re.compile("([0-9a-fA-F]{2})*")


# what a file that is no vector leads to, wherever it is looked at
NO_VECTOR = (
    LookupError,
    TypeError,
    AttributeError,
    ValueError,
    ArithmeticError,
    MemoryError,
    RecursionError,
)


class MismatchError(Exception):
    """An operation did not give what the vector says; `wholly`: nor any part of it."""

    def __init__(self, problem: str, *, wholly: bool = False) -> None:
        super().__init__(problem)
        self.wholly = wholly


def judge(kind: str, vector: dict[str, Any], size: int, prio3: Prio3 | None = None) -> str:
    """Replay a vector from a file of so many bytes: what was done, what was refused and why. By
    default the instance is that of the kind.
    """
    if kind == XOF:
        return judge_xof(vector)
    for name in _PARAMETERS & vector.keys():
        if type(vector[name]) is not int:
            raise MismatchError(f"{name} must be a whole number")
    prio3 = prio3 or INSTANCES[kind](vector)
    if not Sizes(prio3).leader <= size + _SPARE:
        raise MismatchError("the parameters are those of messages that are not in the file")
    replay, refusals = Replay(prio3, vector), []
    for operation in vector["operations"]:
        name, should_succeed = (operation[each] for each in _MATTER)
        if not isinstance(should_succeed, bool):
            raise MismatchError(f"success of {name} must be true or false")
        refusal = replay.refuses(name, operation)
        if refusal is None and not should_succeed:
            raise MismatchError(f"{name} should be refused and was not")
        if refusal is not None:
            if should_succeed:
                raise MismatchError(f"{name} should succeed: {refusal}")
            refusals.append(f"{name} refused, as it must be: {refusal}")
    if not vector["operations"]:
        raise KeyError("operations")
    return "; ".join([f"{len(vector['operations'])} operations", *refusals])


def judge_xof(vector: dict[str, Any]) -> str:
    seed, tag, binder = (_bytes(vector[name]) for name in ("seed", "dst", "binder"))
    _same("derived_seed", derive_seeds(seed, tag, binder)[0].tobytes(), vector["derived_seed"])
    length, expanded = vector["length"], vector["expanded_vec_field128"]
    if not 2 * FIELD128.size * length == len(expanded):
        raise MismatchError(f"expanded_vec_field128 does not have {length} elements")
    elements = expand(FIELD128, seed, tag, binder, length)
    _same("expanded_vec_field128", FIELD128.encode(elements)[0].tobytes(), expanded)
    return f"a seed and {length} elements"


@dataclass
class Replay:
    """The operations of one vector, with the states that the servers keep between them, the reports
    that were refused on the way, and those whose proofs were decided and that were verified: nobody
    adds up any other.
    """

    prio3: Prio3
    vector: dict[str, Any]
    states: dict[tuple[int, int], VerifyState] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)
    decided: set[int] = field(default_factory=set)
    verified: set[tuple[int, int]] = field(default_factory=set)
    done: list[dict[str, Any]] = field(default_factory=list)

    def refuses(self, name: str, operation: dict[str, Any]) -> NotValidError | None:
        """Do one operation: why it is refused, if it is."""
        run = getattr(self, f"do_{name}", None)
        if run is None:
            raise MismatchError(f"operation {name} is not known")
        if operation in self.done:
            raise MismatchError(f"{name} comes twice")
        self.done.append(operation)
        try:
            run(operation)
        except NotValidError as refusal:
            if "report_index" in operation:
                self.refused.add(operation["report_index"])
            return refusal
        return None

    def do_shard(self, operation: dict[str, Any]) -> None:
        report, context = self._report(operation), self._context()
        rand = _row(report["rand"])
        if not rand.shape[1] == self.prio3.rand_size:
            raise instances.WrongSizeError("the coins have a wrong size")
        meas = self.prio3.circuit.encode_all([report["measurement"]])
        made = self.prio3.shard(context, meas, self._nonce(report), rand)
        _same(
            "public_share", instances.encode_public(made.public).tobytes(), report["public_share"]
        )
        _each_server("input shares", report["input_shares"], self.prio3)
        for place, share in enumerate(made.inputs):
            encoded = instances.encode_input(self.prio3, share)
            _same(f"input share {place}", encoded.tobytes(), report["input_shares"][place])

    def do_verify_init(self, operation: dict[str, Any]) -> None:
        report, place = self._report(operation), self._place(operation)
        context, nonce = self._context(), self._nonce(report)
        self._no_parameter()
        _each_server("input shares", report["input_shares"], self.prio3)
        key = _bytes(self.vector["verify_key"])
        _demand(len(key) == SEED, "the verification key has a wrong size")
        public = instances.decode_public(self.prio3, _row(report["public_share"]))
        share, fits = instances.decode_input(self.prio3, place, _row(report["input_shares"][place]))
        _demand(bool(fits.all()), "an element of the input share is not below the modulus")
        state, verifier = self.prio3.verify_init(
            key, context, place, nonces=nonce, public=public, share=share
        )
        _demand(bool(state.fit.all()), "the test point is a root of unity")
        self.states[operation["report_index"], place] = state
        encoded = instances.encode_verifier(self.prio3, verifier).tobytes()
        _same(f"verifier share {place}", encoded, _only("verifier_shares", report)[place])

    def do_verifier_shares_to_message(self, operation: dict[str, Any]) -> None:
        report, context = self._report(operation), self._context()
        self._no_parameter()
        _only_round(operation, 0)
        shares = []
        for encoded in _only("verifier_shares", report):
            share, fits = instances.decode_verifier(self.prio3, _row(encoded))
            _demand(bool(fits.all()), "an element of a verifier share is not below the modulus")
            shares.append(share)
        _demand(len(shares) == self.prio3.shares, "a server's verifier share is missing")
        message, valid = self.prio3.combine(context, shares)
        _demand(bool(valid.all()), "proof verifier check failed")
        _same("verifier message", message.tobytes(), _only("verifier_messages", report))
        self.decided.add(operation["report_index"])

    def do_verify_next(self, operation: dict[str, Any]) -> None:
        report, place = self._report(operation), self._place(operation)
        _only_round(operation, 1)
        message = _row(_only("verifier_messages", report))
        _demand(
            message.shape[1] == Sizes(self.prio3).message,
            "the verifier message has a wrong size",
        )
        state = self.states.get((operation["report_index"], place))
        if state is None:
            raise MismatchError("verify_next comes without a verify_init that succeeded")
        _demand(bool(self.prio3.verify_next(state, message).all()), "joint randomness check failed")
        _each_server("output shares", report["out_shares"], self.prio3)
        encoded = self.prio3.circuit.field.encode(state.outputs).tobytes()
        _same(f"output share {place}", encoded, report["out_shares"][place])
        self.verified.add((operation["report_index"], place))

    def do_aggregate(self, operation: dict[str, Any]) -> None:
        place = self._place(operation)
        self._no_parameter()
        counted = []
        for index, report in enumerate(self.vector["reports"]):
            if index not in self.refused:
                if not (index in self.decided and (index, place) in self.verified):
                    raise MismatchError(f"report {index} is added up and was not verified")
                counted.append(report["out_shares"][place])
        total = self.prio3.aggregate(self._outputs("output", counted))
        encoded = self.prio3.circuit.field.encode(total[None]).tobytes()
        _same(f"aggregate share {place}", encoded, self.vector["agg_shares"][place])

    def do_unshard(self, _operation: dict[str, Any]) -> None:
        self._no_parameter()
        _each_server("aggregate shares", self.vector["agg_shares"], self.prio3)
        shares = self._outputs("aggregate", self.vector["agg_shares"])
        result = self.prio3.circuit.decode(self.prio3.aggregate(shares))
        # as they are written: neither 1.0 nor true is 1
        if json.dumps(result) != json.dumps(self.vector[_RESULT]):
            raise MismatchError("the result differs")

    def _outputs(self, what: str, encoded: list[str]) -> WordArray:
        """What is summed, (n, output_len, words), from the shares of a file."""
        circuit = self.prio3.circuit
        rows = [_row(each) for each in encoded]
        size = circuit.output_len * circuit.field.size
        _demand(all(row.shape[1] == size for row in rows), f"an {what} share has a wrong size")
        joined = np.concatenate([np.zeros((0, size), np.uint8), *rows])
        elements, fits = circuit.field.decode(joined)
        _demand(bool(fits.all()), f"an element of an {what} share is not below the modulus")
        return elements

    def _report(self, operation: dict[str, Any]) -> dict[str, Any]:
        index = operation["report_index"]
        _expect_place("report", index, len(self.vector["reports"]))
        report: dict[str, Any] = self.vector["reports"][index]
        return report

    def _place(self, operation: dict[str, Any]) -> int:
        place: int = operation["aggregator_id"]
        _expect_place("server", place, self.prio3.shares)
        return place

    def _context(self) -> bytes:
        context = _bytes(self.vector["ctx"])
        _demand(len(context) <= LONGEST_TAG - TAG_PREFIX, "the context is too long")
        return context

    def _nonce(self, report: dict[str, Any]) -> ByteArray:
        nonce = _row(report["nonce"])
        _demand(nonce.shape[1] == NONCE, f"a nonce must have {NONCE} bytes")
        return nonce

    def _no_parameter(self) -> None:
        _demand(self.vector["agg_param"] == "", "Prio3 has no aggregation parameter")


def _multiproof(vector: dict[str, Any]) -> Prio3:
    """The number of proofs is no field of the file: the length of the leader's shares tells it, of
    the longest where one was cut short.
    """
    parameters = (
        vector["length"],
        vector["max_measurement"],
        vector["chunk_length"],
        vector["shares"],
    )
    one = instances.prio3_sum_vec_with_multiproof(*parameters, proofs=1)
    longest = max(len(report["input_shares"][0]) // 2 for report in vector["reports"])
    elements = (longest - SEED) // one.circuit.field.size
    proofs = (elements - one.circuit.meas_len) // flp.proof_len(one.circuit)
    return instances.prio3_sum_vec_with_multiproof(*parameters, proofs=proofs)


def _higher_degree(vector: dict[str, Any]) -> Prio3:
    """Of one number up to two, or of as many as there are calls of a gadget of some degree."""
    if "degree" not in vector:
        return instances.prio3_higher_degree(vector["shares"])
    return instances.prio3_higher_degrees(
        vector["degree"], vector["gadget_calls"], vector["shares"]
    )


INSTANCES: dict[str, Callable[[dict[str, Any]], Prio3]] = {
    "Prio3Count": lambda v: instances.prio3_count(v["shares"]),
    "Prio3Sum": lambda v: instances.prio3_sum(v["max_measurement"], v["shares"]),
    "Prio3SumVec": lambda v: instances.prio3_sum_vec(
        v["length"], v["max_measurement"], v["chunk_length"], v["shares"]
    ),
    "Prio3SumVecWithMultiproof": _multiproof,
    "Prio3Histogram": lambda v: instances.prio3_histogram(
        v["length"], v["chunk_length"], v["shares"]
    ),
    "Prio3MultihotCountVec": lambda v: instances.prio3_multihot_count_vec(
        v["length"], v["max_weight"], v["chunk_length"], v["shares"]
    ),
    "Prio3BoundedVector": lambda v: instances.prio3_bounded_in_calls(
        v["length"], v["bound"], v["bits"], v["calls"], shares=v["shares"], proofs=v["proofs"]
    ),
    "Prio3HigherDegree": _higher_degree,
}


def _bytes(hexadecimal: str) -> bytes:
    """What pairs of digits stand for, with nothing between them."""
    if not _PAIRS.fullmatch(hexadecimal):
        raise MismatchError("bytes must be pairs of hexadecimal digits")
    return bytes.fromhex(hexadecimal)


def _row(hexadecimal: str) -> ByteArray:
    return np.frombuffer(_bytes(hexadecimal), np.uint8)[None]


def _same(what: str, made: bytes, expected: str) -> None:
    known = _bytes(expected)
    if made != known:
        raise MismatchError(f"{what} differs", wholly=not _has_equal_part(made, known))


def _has_equal_part(made: bytes, known: bytes) -> bool:
    """Whether some of both agrees, part by part, as parts of one vector do by chance alone."""
    parts = range(0, len(known), _PART)
    return len(made) == len(known) and any(
        made[place : place + _PART] == known[place : place + _PART] for place in parts
    )


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise NotValidError(otherwise)


def _expect_place(what: str, place: int, count: int) -> None:
    if not (type(place) is int and 0 <= place < count):
        raise MismatchError(f"there is no {what} {place} among {count}")


def _only_round(operation: dict[str, Any], expected: int) -> None:
    at = operation["round"]
    if not (type(at) is int and at == expected):
        raise MismatchError(f"Prio3 has one round, got {at}")


def _only(name: str, report: dict[str, Any]) -> Any:
    """What a report has of the one round that there is."""
    rounds = report[name]
    if not len(rounds) == 1:
        raise MismatchError(f"Prio3 has one round, got {name} of {len(rounds)}")
    return rounds[0]


def _each_server(what: str, found: list[str], prio3: Prio3) -> None:
    if not len(found) == prio3.shares:
        raise MismatchError(f"{len(found)} {what} for {prio3.shares} servers")
