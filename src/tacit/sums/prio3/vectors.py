"""The draft's test vectors, good and bad, replayed operation by operation: python -m
tacit.sums.prio3.vectors FOLDER.

A file passes if every operation that should succeed gives the file's bytes exactly, and every one
that should fail is refused where the file says so. Files of other kinds are reported as not judged.
Exit 1 if a file fails or none passes.
"""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit._util.types import ByteArray
from tacit.sums.prio3 import flp, instances
from tacit.sums.prio3.draft_circuits import NotValidError
from tacit.sums.prio3.fields import FIELD128, SEED, derive_seeds, expand
from tacit.sums.prio3.prio3 import Prio3, VerifyState


class MismatchError(Exception):
    """An operation did not give what the vector says."""


@dataclass(frozen=True)
class VectorVerdict:
    """What became of a file: `passed` is None where it could not be judged."""

    name: str
    passed: bool | None
    detail: str

    def __str__(self) -> str:
        word = {True: "pass", False: "FAIL", None: "not judged"}[self.passed]
        return f"{word:10} {self.name}: {self.detail}"


def judge_folder(folder: Path) -> list[VectorVerdict]:
    """A verdict for every JSON file of a folder and of those in it, in the order of their names."""
    return [
        replace(judge_file(path), name=path.relative_to(folder).as_posix())
        for path in sorted(folder.rglob("*.json"))
    ]


def judge_file(path: Path) -> VectorVerdict:
    try:
        vector = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        return VectorVerdict(path.name, None, f"not a readable JSON file ({error})")
    kind = re.split(r"[_.]", path.name)[0]
    if kind != "XofTurboShake128" and kind not in _INSTANCES:
        return VectorVerdict(path.name, None, f"{kind} is no kind that is judged here")
    try:
        return VectorVerdict(
            path.name,
            True,
            judge_xof(vector) if kind == "XofTurboShake128" else judge(kind, vector),
        )
    except MismatchError as error:
        return VectorVerdict(path.name, False, str(error))
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        return VectorVerdict(
            path.name, None, f"no vector of this kind ({type(error).__name__}: {error})"
        )
    except ValueError as error:
        return VectorVerdict(path.name, False, str(error))


def judge_xof(vector: dict[str, Any]) -> str:
    seed, tag, binder = (bytes.fromhex(vector[name]) for name in ("seed", "dst", "binder"))
    _same("derived_seed", derive_seeds(seed, tag, binder)[0].tobytes(), vector["derived_seed"])
    elements = expand(FIELD128, seed, tag, binder, vector["length"])
    _same(
        "expanded_vec_field128",
        FIELD128.encode(elements)[0].tobytes(),
        vector["expanded_vec_field128"],
    )
    return f"a seed and {vector['length']} elements"


def judge(kind: str, vector: dict[str, Any]) -> str:
    """Replay a vector's operations: how many there were, what was refused and why."""
    replay = Replay(_INSTANCES[kind](vector), vector)
    refusals = []
    for operation in vector["operations"]:
        name = operation["operation"]
        run = getattr(replay, f"do_{name}", None)
        if run is None:
            raise MismatchError(f"operation {name} is not known")
        try:
            run(operation)
        except NotValidError as refusal:
            if operation["success"]:
                raise MismatchError(f"{name} should succeed: {refusal}") from refusal
            refusals.append(f"{name} refused, as it must be: {refusal}")
        else:
            if not operation["success"]:
                raise MismatchError(f"{name} should be refused and was not")
    if not vector["operations"]:
        raise KeyError("operations")
    return "; ".join([f"{len(vector['operations'])} operations", *refusals])


@dataclass
class Replay:
    """The operations of one vector, with the states that the servers keep between them."""

    prio3: Prio3
    vector: dict[str, Any]
    states: dict[tuple[int, int], VerifyState] = field(default_factory=dict)

    def do_shard(self, operation: dict[str, Any]) -> None:
        report = self._report(operation)
        meas = self.prio3.circuit.encode_all([report["measurement"]])
        made = self.prio3.shard(self._context, meas, _row(report["nonce"]), _row(report["rand"]))
        _same(
            "public_share", instances.encode_public(made.public).tobytes(), report["public_share"]
        )
        if not len(report["input_shares"]) == self.prio3.shares:
            raise MismatchError(
                f"{len(report['input_shares'])} input shares for {self.prio3.shares} servers"
            )
        for place, share in enumerate(made.inputs):
            encoded = instances.encode_input(self.prio3, share)
            _same(f"input share {place}", encoded.tobytes(), report["input_shares"][place])

    def do_verify_init(self, operation: dict[str, Any]) -> None:
        report, place = self._report(operation), operation["aggregator_id"]
        public = instances.decode_public(self.prio3, _row(report["public_share"]))
        share, fits = instances.decode_input(self.prio3, place, _row(report["input_shares"][place]))
        _demand(bool(fits.all()), "an element of the input share is not below the modulus")
        state, verifier = self.prio3.verify_init(
            bytes.fromhex(self.vector["verify_key"]),
            self._context,
            place,
            nonces=_row(report["nonce"]),
            public=public,
            share=share,
        )
        _demand(bool(state.fit.all()), "the test point is a root of unity")
        self.states[operation["report_index"], place] = state
        encoded = instances.encode_verifier(self.prio3, verifier).tobytes()
        _same(f"verifier share {place}", encoded, report["verifier_shares"][0][place])

    def do_verifier_shares_to_message(self, operation: dict[str, Any]) -> None:
        report, turn = self._report(operation), operation["round"]
        shares = []
        for encoded in report["verifier_shares"][turn]:
            share, fits = instances.decode_verifier(self.prio3, _row(encoded))
            _demand(bool(fits.all()), "an element of a verifier share is not below the modulus")
            shares.append(share)
        _demand(len(shares) == self.prio3.shares, "a server's verifier share is missing")
        message, valid = self.prio3.combine(self._context, shares)
        _demand(bool(valid.all()), "proof verifier check failed")
        _same("verifier message", message.tobytes(), report["verifier_messages"][turn])

    def do_verify_next(self, operation: dict[str, Any]) -> None:
        report, place = self._report(operation), operation["aggregator_id"]
        message = _row(report["verifier_messages"][operation["round"] - 1])
        _demand(
            message.shape[1] == instances.Sizes(self.prio3).message,
            "the verifier message has a wrong size",
        )
        state = self.states[operation["report_index"], place]
        _demand(bool(self.prio3.verify_next(state, message).all()), "joint randomness check failed")
        encoded = self.prio3.circuit.field.encode(state.outputs).tobytes()
        _same(f"output share {place}", encoded, report["out_shares"][place])

    def do_aggregate(self, operation: dict[str, Any]) -> None:
        place = operation["aggregator_id"]
        rows = np.concatenate(
            [_row(report["out_shares"][place]) for report in self.vector["reports"]]
        )
        outputs, fits = self.prio3.circuit.field.decode(rows)
        _demand(bool(fits.all()), "an element of an output share is not below the modulus")
        total = self.prio3.aggregate(outputs)
        encoded = self.prio3.circuit.field.encode(total[None]).tobytes()
        _same(f"aggregate share {place}", encoded, self.vector["agg_shares"][place])

    def do_unshard(self, _operation: dict[str, Any]) -> None:
        rows = np.concatenate([_row(share) for share in self.vector["agg_shares"]])
        shares, fits = self.prio3.circuit.field.decode(rows)
        _demand(bool(fits.all()), "an element of an aggregate share is not below the modulus")
        result = self.prio3.circuit.decode(self.prio3.aggregate(shares))
        if result != self.vector["agg_result"]:
            raise MismatchError("the result differs")

    @property
    def _context(self) -> bytes:
        return bytes.fromhex(self.vector["ctx"])

    def _report(self, operation: dict[str, Any]) -> dict[str, Any]:
        report: dict[str, Any] = self.vector["reports"][operation["report_index"]]
        return report


def _multiproof(vector: dict[str, Any]) -> Prio3:
    """The number of proofs is no field of the file: the length of the leader's share tells it."""
    parameters = (
        vector["length"],
        vector["max_measurement"],
        vector["chunk_length"],
        vector["shares"],
    )
    one = instances.prio3_sum_vec_with_multiproof(*parameters, proofs=1)
    elements = (len(vector["reports"][0]["input_shares"][0]) // 2 - SEED) // one.circuit.field.size
    proofs = (elements - one.circuit.meas_len) // flp.proof_len(one.circuit)
    return instances.prio3_sum_vec_with_multiproof(*parameters, proofs=proofs)


_INSTANCES: dict[str, Callable[[dict[str, Any]], Prio3]] = {
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
    "Prio3HigherDegree": lambda v: instances.prio3_higher_degree(v["shares"]),
}


def _row(hexadecimal: str) -> ByteArray:
    return np.frombuffer(bytes.fromhex(hexadecimal), np.uint8)[None]


def _same(what: str, made: bytes, expected: str) -> None:
    if made != bytes.fromhex(expected):
        raise MismatchError(f"{what} differs")


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise NotValidError(otherwise)


def main(arguments: list[str]) -> int:
    if not (len(arguments) == 1 and Path(arguments[0]).is_dir()):
        print(
            "usage: python -m tacit.sums.prio3.vectors FOLDER (of test vectors, JSON)",
            file=sys.stderr,
        )
        return 2
    verdicts = judge_folder(Path(arguments[0]))
    for verdict in verdicts:
        print(verdict)
    counts = [
        sum(verdict.passed is outcome for verdict in verdicts) for outcome in (True, False, None)
    ]
    print("{} passed, {} failed, {} not judged".format(*counts))
    return 0 if counts[0] and not counts[1] else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
