"""Test vectors of our own, in the draft's format, from the plain reference: for those who do not
have the draft's at hand. Again: python -m tests.sums.prio3.make_vectors
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.sums.prio3 import plain_circuits as plain
from tests.sums.prio3.reference import P64, PlainPrio3

FOLDER = Path(__file__).parent / "vectors"
CONTEXT, KEY = b"vectors of our own", hashlib.sha256(b"key").digest()


def good(prio3: PlainPrio3, parameters, pairs, result):
    """A vector of (measurement, encoded) pairs that all succeed."""
    reports, operations = [], []
    for index, (measurement, meas) in enumerate(pairs):
        nonce, rand = _coins(prio3, index)
        report = prio3.shard(CONTEXT, meas, nonce, rand)
        states = [_init(prio3, nonce, report, place) for place in range(prio3.shares)]
        told = [state["verifier_share"] for state in states]
        message, valid = prio3.combine(CONTEXT, told)
        if not (valid and all(state["seed"] == message for state in states)):
            raise ValueError(f"report {index} is not valid")
        outs = [state["out_share"] for state in states]
        reports.append(
            _report(measurement, nonce, rand, report) | {
                "verifier_shares": [[each.hex() for each in told]],
                "verifier_messages": [message.hex()],
                "out_shares": [each.hex() for each in outs],
            }
        )  # fmt: skip
        operations.append(_step("shard", report_index=index))
        operations += _inits(prio3, index)
        operations.append(_step("verifier_shares_to_message", report_index=index, round=0))
        operations += [
            _step("verify_next", report_index=index, round=1, aggregator_id=place)
            for place in range(prio3.shares)
        ]
    shares = [_aggregate(prio3, reports, place) for place in range(prio3.shares)]
    operations += [_step("aggregate", aggregator_id=place) for place in range(prio3.shares)]
    operations.append(_step("unshard"))
    return _vector(prio3, parameters, reports, operations) | {
        "agg_shares": [share.hex() for share in shares],
        "agg_result": result,
    }


def bad(prio3: PlainPrio3, parameters, meas, spoil, fails):
    """One report that `spoil` changes, refused at the operation `fails`."""
    nonce, rand = _coins(prio3, 0)
    report = prio3.shard(CONTEXT, meas, nonce, rand)
    spoil(report)
    operations = _inits(prio3, 0)
    told, message = [], b""
    if fails == "verify_init":
        operations = [_step("verify_init", report_index=0, aggregator_id=0, success=False)]
    else:
        told = [
            _init(prio3, nonce, report, place)["verifier_share"] for place in range(prio3.shares)
        ]
        message, _ = prio3.combine(CONTEXT, told)
        combined = fails != "verifier_shares_to_message"
        operations.append(
            _step("verifier_shares_to_message", report_index=0, round=0, success=combined)
        )
        if combined:
            operations.append(
                _step("verify_next", report_index=0, round=1, aggregator_id=0, success=False)
            )
    found = _report(None, nonce, rand, report) | {
        "verifier_shares": [[each.hex() for each in told]],
        "verifier_messages": [message.hex()],
        "out_shares": [],
    }
    nothing: dict[str, Any] = {"agg_shares": [], "agg_result": None}
    return _vector(prio3, parameters, [found], operations) | nothing


def flip(report, name, byte):
    """Change one byte of a public share or of the leader's."""
    if name == "public_share":
        data = bytearray(report[name])
        data[byte] ^= 1
        report[name] = bytes(data)
    else:
        data = bytearray(report["input_shares"][0])
        data[byte] ^= 1
        report["input_shares"][0] = bytes(data)


def overflow(report):
    """The leader's first element becomes 2^64 - 1, which is no element."""
    report["input_shares"][0] = b"\xff" * 8 + report["input_shares"][0][8:]


def _init(prio3, nonce, report, place):
    return prio3.verify_init(
        KEY, CONTEXT, place, nonce, report["public_share"], report["input_shares"][place]
    )


def _inits(prio3, index):
    return [
        _step("verify_init", report_index=index, aggregator_id=place)
        for place in range(prio3.shares)
    ]


def _step(operation, *, success=True, **rest):
    return {"operation": operation, "success": success, **rest}


def _coins(prio3, index):
    size = 32 * prio3.shares * (2 if prio3.plain.joint_len else 1)
    stream = hashlib.shake_128(f"coins of report {index}".encode()).digest(16 + size)
    return stream[:16], stream[16:]


def _report(measurement, nonce, rand, report):
    return {
        "measurement": measurement,
        "nonce": nonce.hex(),
        "rand": rand.hex(),
        "public_share": report["public_share"].hex(),
        "input_shares": [share.hex() for share in report["input_shares"]],
    }


def _aggregate(prio3, reports, place):
    rows = [prio3.decoded(bytes.fromhex(report["out_shares"][place])) for report in reports]
    return prio3.encoded([sum(column) % prio3.plain.p for column in zip(*rows, strict=True)])


def _vector(prio3, parameters, reports, operations):
    return {
        "ctx": CONTEXT.hex(),
        "verify_key": KEY.hex(),
        "agg_param": "",
        "shares": prio3.shares,
        **parameters,
        "reports": reports,
        "operations": operations,
    }


def vectors():
    """All of them, by name."""
    bounded = plain.bounded(10, 50, 4, 3)
    numbers = {"length": 10, "bound": 50, "bits": 4, "calls": 3, "proofs": 3}
    entries = [[5, -4, 3, 0, 0, 0, 0, 0, 0, 0], [-1, 1, -1, 1, -1, 1, -1, 1, -1, 1]]
    pairs = [(x, plain.bounded_meas(x, 50, 4, 3)) for x in entries]
    total = [a + b for a, b in zip(*entries, strict=True)]
    long = [7, 7] + [0] * 8
    multi = plain.sum_vec(2, 6, 3, p=P64, proofs=3, algorithm=0xFFFFFFFF)
    two = [(x, [bit for v in x for bit in plain.bits_of(v, 6)]) for x in ([6, 0], [3, 4])]
    hot = {"length": 5, "max_weight": 3, "chunk_length": 3}
    marks = [0, 1, 1, 0, 1]
    meas = pairs[0][1]
    return {
        "Prio3Count_0": good(plain.count(3), {}, [(1, [1]), (0, [0])], 1),
        "Prio3Sum_0": good(
            plain.sum_(1337, 2),
            {"max_measurement": 1337},
            [(v, plain.bits_of(v, 1337)) for v in (0, 1024, 1337)],
            2361,
        ),
        "Prio3SumVecWithMultiproof_0": good(
            multi, {"length": 2, "max_measurement": 6, "chunk_length": 3}, two, [9, 4]
        ),
        "Prio3Histogram_0": good(
            plain.histogram(6, 2, 3),
            {"length": 6, "chunk_length": 2},
            [(b, [int(k == b) for k in range(6)]) for b in (5, 0)],
            [1, 0, 0, 0, 0, 1],
        ),
        "Prio3MultihotCountVec_0": good(
            plain.multihot(5, 3, 3), hot, [(marks, marks + plain.bits_of(3, 3))], marks
        ),
        "Prio3BoundedVector_0": good(bounded, numbers, pairs, total),
        "Prio3Histogram_bad_two_buckets": bad(
            plain.histogram(6, 2),
            {"length": 6, "chunk_length": 2},
            [1, 0, 0, 0, 0, 1],
            lambda report: None,
            "verifier_shares_to_message",
        ),
        "Prio3BoundedVector_bad_too_long": bad(
            bounded,
            numbers,
            plain.bounded_meas(long, 50, 4, 3),
            lambda report: None,
            "verifier_shares_to_message",
        ),
        "Prio3BoundedVector_bad_leader_share": bad(
            bounded, numbers, meas, lambda r: flip(r, "leader", 8), "verifier_shares_to_message"
        ),
        "Prio3BoundedVector_bad_public_share": bad(
            bounded, numbers, meas, lambda r: flip(r, "public_share", 40), "verify_next"
        ),
        "Prio3BoundedVector_bad_element": bad(bounded, numbers, meas, overflow, "verify_init"),
    }


if __name__ == "__main__":
    for name, vector in vectors().items():
        text = json.dumps(vector, indent=1, sort_keys=True)
        (FOLDER / f"{name}.json").write_text(text + "\n")
