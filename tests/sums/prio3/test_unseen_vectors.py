"""Vectors that nobody has published: of any parameters, from the plain reference; with several
reports of which some are refused; and files that are no vectors. All are judged, none ends the
command.
"""

import copy
import json
import os
import random

import pytest

from tacit.sums.prio3.vectors import judge_file, judge_folder, main
from tests.sums.prio3 import make_vectors
from tests.sums.prio3 import plain_circuits as plain
from tests.sums.prio3.reference import P64

MANY = 0xFFFFFFFF  # the draft's number for its tests


def vector_of_bits(kind, rng, shares):
    length, most = rng.randint(1, 6), rng.choice([1, 2, 6, 255, 1000])
    bits = length * most.bit_length()
    chunk = rng.choice([1, 2, 5, bits, bits + 3])
    rows = [[rng.randint(0, most) for _ in range(length)] for _ in range(rng.randint(1, 3))]
    pairs = [(row, [bit for x in row for bit in plain.bits_of(x, most)]) for row in rows]
    more = {}
    if kind == "Prio3SumVecWithMultiproof":
        more = {"p": P64, "proofs": rng.randint(1, 5), "algorithm": MANY}
    made = plain.sum_vec(length, most, chunk, shares, **more)
    named = {"length": length, "max_measurement": most, "chunk_length": chunk}
    return made, named, pairs, [sum(column) for column in zip(*rows, strict=True)]


def multihot(rng, shares):
    length = rng.randint(1, 9)
    weight, chunk = rng.randint(1, length), rng.randint(1, length + 4)
    rows = []
    for _ in range(rng.randint(1, 3)):
        marked = set(rng.sample(range(length), rng.randint(0, weight)))
        rows.append([place in marked for place in range(length)])
    pairs = [(row, [int(x) for x in row] + plain.bits_of(sum(row), weight)) for row in rows]
    named = {"length": length, "max_weight": weight, "chunk_length": chunk}
    total = [sum(column) for column in zip(*rows, strict=True)]
    return plain.multihot(length, weight, chunk, shares), named, pairs, total


def histogram(rng, shares):
    length = rng.randint(1, 12)
    chunk, buckets = rng.randint(1, length + 2), [rng.randrange(length) for _ in range(3)]
    pairs = [(b, [int(place == b) for place in range(length)]) for b in buckets]
    total = [buckets.count(place) for place in range(length)]
    named = {"length": length, "chunk_length": chunk}
    return plain.histogram(length, chunk, shares), named, pairs, total


def numbers(rng, shares):
    most = rng.choice([1, 2, 7, 8, 1000, 2**31, 2**40 + 3])
    values = [0, most, rng.randint(0, most)]
    pairs = [(x, plain.bits_of(x, most)) for x in values]
    return plain.sum_(most, shares), {"max_measurement": most}, pairs, sum(values)


def counts(rng, shares):
    values = [rng.randint(0, 1) for _ in range(4)]
    return plain.count(shares), {}, [(x, [x]) for x in values], sum(values)


def higher_degrees(rng, shares):
    degree, calls = rng.randint(1, 10), rng.randint(1, 10)
    rows = [[rng.randrange(degree) for _ in range(calls)] for _ in range(3)]
    total = [sum(column) for column in zip(*rows, strict=True)]
    named = {"degree": degree, "gadget_calls": calls}
    return plain.small_numbers(degree - 1, calls, shares), named, [(x, x) for x in rows], total


def higher_degree(rng, shares):
    values = [rng.randint(0, 2) for _ in range(3)]
    made = plain.small_numbers(2, 1, shares)
    return made, {}, [(x, [x]) for x in values], sum(values)


KINDS = {
    "Prio3Count": counts,
    "Prio3Sum": numbers,
    "Prio3SumVec": lambda rng, shares: vector_of_bits("Prio3SumVec", rng, shares),
    "Prio3SumVecWithMultiproof": lambda rng, shares: vector_of_bits(
        "Prio3SumVecWithMultiproof", rng, shares
    ),
    "Prio3Histogram": histogram,
    "Prio3MultihotCountVec": multihot,
    "Prio3HigherDegree": higher_degree,
    "Prio3HigherDegree of vectors": higher_degrees,
}


def judged(tmp_path, kind, vector):
    path = tmp_path / f"{kind.split()[0]}_unseen.json"
    path.write_text(json.dumps(vector))
    return judge_file(path)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_vectors_of_any_parameters_are_judged(kind, seed, tmp_path, monkeypatch):
    rng = random.Random(f"{kind} {seed}")  # noqa: S311 - parameters of a test
    monkeypatch.setattr(make_vectors, "CONTEXT", rng.randbytes(rng.choice([0, 1, 9, 300, 65_000])))
    monkeypatch.setattr(make_vectors, "KEY", rng.randbytes(32))
    vector = make_vectors.good(*KINDS[kind](rng, rng.choice([2, 2, 3, 5])))
    assert judged(tmp_path, kind, vector).passed, (kind, vector["shares"])
    vector["verify_key"] = rng.randbytes(32).hex()
    assert judged(tmp_path, kind, vector).passed is False


def test_as_many_servers_as_there_may_be(tmp_path):
    most = make_vectors.good(plain.count(255), {}, [(1, [1])], 1)
    assert judged(tmp_path, "Prio3Count", most).passed
    few = dict(most, shares=1)
    assert "shares must be from 2 to 255" in judged(tmp_path, "Prio3Count", few).detail


def several(kind=3):
    """Three reports to a histogram, the one in the middle with two buckets: refused, and all
    others added up.
    """
    named = {"length": 6, "chunk_length": 2}
    made = plain.histogram(6, 2, kind)
    one = [[int(place == b) for place in range(6)] for b in (5, 0)]
    whole = make_vectors.good(made, named, [(5, one[0]), (None, one[0]), (0, one[1])], None)
    nonce, rand = make_vectors._coins(made, 1)
    lie = made.shard(make_vectors.CONTEXT, [1, 0, 0, 0, 0, 1], nonce, rand)
    told = [make_vectors._init(made, nonce, lie, place) for place in range(kind)]
    whole["reports"][1] = make_vectors._report(None, nonce, rand, lie) | {
        "verifier_shares": [[each["verifier_share"].hex() for each in told]],
        "verifier_messages": [],
        "out_shares": [],
    }
    steps = []
    for step in whole["operations"]:
        name, about = step["operation"], step.get("report_index")
        if about == 1 and name in ("shard", "verify_next"):
            continue
        steps.append(dict(step, success=(about, name) != (1, "verifier_shares_to_message")))
    whole["operations"] = steps
    kept = [whole["reports"][place] for place in (0, 2)]
    sums = [make_vectors._aggregate(made, kept, place).hex() for place in range(kind)]
    return dict(whole, agg_shares=sums, agg_result=[1, 0, 0, 0, 0, 1])


def test_who_is_refused_is_not_added_up(tmp_path):
    verdict = judged(tmp_path, "Prio3Histogram", several())
    assert verdict.passed, verdict
    assert verdict.detail.count("refused, as it must be: proof verifier check failed") == 1
    counted = several()
    counted["agg_result"] = [1, 0, 0, 0, 0, 2]
    assert judged(tmp_path, "Prio3Histogram", counted).passed is False


GOOD = make_vectors.vectors()["Prio3SumVecWithMultiproof_0"]


def refused_at(operation, **changes):
    """The good vector with something wrong, and the operation that must refuse it at the end."""
    vector = copy.deepcopy(GOOD)
    report = {name: value for name, value in changes.items() if name in vector["reports"][0]}
    vector["reports"][0].update(report)
    vector.update({name: value for name, value in changes.items() if name not in report})
    first = next(
        place for place, step in enumerate(vector["operations"]) if step["operation"] == operation
    )
    *before, last = vector["operations"][: first + 1]
    # what would compare the file's bytes with what they should be comes before in no such vector
    needed = [step for step in before if step["operation"] == "verify_init"]
    needed = needed if operation == "verify_next" else []
    vector["operations"] = [*needed, dict(last, success=False)]
    return vector


def longer(name):
    """The first of some shares with a byte more than it should have."""
    shares = copy.deepcopy(GOOD["reports"][0][name])
    inner = shares[0] if name == "verifier_shares" else shares
    inner[0] += "00"
    return {name: shares}


REFUSED = {
    "an aggregation parameter": ("verify_init", {"agg_param": "00"}, "no aggregation parameter"),
    "a short key": ("verify_init", {"verify_key": "00" * 31}, "key has a wrong size"),
    "a short nonce": ("verify_init", {"nonce": "00" * 15}, "16 bytes"),
    "a nonce too long to share with": ("shard", {"nonce": "00" * 17}, "16 bytes"),
    "too few coins": ("shard", {"rand": "00" * 32}, "coins have a wrong size"),
    "a measurement above the largest": ("shard", {"measurement": [7, 0]}, "from 0 to 6"),
    "a measurement that is too short": ("shard", {"measurement": [1]}, "length 2"),
    "a measurement of fractions": ("shard", {"measurement": [1.5, 0]}, "whole number"),
    "no public share": ("verify_init", {"public_share": ""}, "must have 64 bytes"),
    "a long input share": ("verify_init", longer("input_shares"), "an input share must have"),
    "a long verifier share": (
        "verifier_shares_to_message",
        longer("verifier_shares"),
        "a verifier share must have",
    ),
    "a long message": ("verify_next", longer("verifier_messages"), "message has a wrong size"),
    "a long context": ("verify_init", {"ctx": "00" * 65_528}, "context is too long"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_must_be_refused_is(name, tmp_path):
    operation, changes, reason = REFUSED[name]
    vector = refused_at(operation, **changes)
    verdict = judged(tmp_path, "Prio3SumVecWithMultiproof", vector)
    assert verdict.passed, verdict
    assert reason in verdict.detail.rsplit("refused, as it must be", 1)[-1]
    vector["operations"][-1]["success"] = True
    assert judged(tmp_path, "Prio3SumVecWithMultiproof", vector).passed is False


def texts(node, at=()):
    """Every text of a vector, by where it is."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for place, inner in pairs:
        if isinstance(inner, (dict, list)):
            yield from texts(inner, (*at, place))
        elif isinstance(inner, str) and place != "operation":
            yield (*at, place), inner


def with_text(vector, at, text):
    changed = inner = copy.deepcopy(vector)
    for place in at[:-1]:
        inner = inner[place]
    inner[at[-1]] = text
    return changed


@pytest.mark.parametrize("kind", KINDS)
def test_one_bit_of_any_element_is_told(kind, tmp_path):
    """Of public shares, input shares, verifiers, messages, output and aggregate shares, coins,
    nonces, key and context: each element of each.
    """
    rng = random.Random(kind)  # noqa: S311 - parameters of a test
    vector = make_vectors.good(*KINDS[kind](rng, 2))
    for at, text in texts(vector):
        data = bytes.fromhex(text)
        places = [
            rng.randrange(start, min(start + 8, len(data))) for start in range(0, len(data), 8)
        ]
        for place in rng.sample(places, min(12, len(places))):
            changed = bytearray(data)
            changed[place] ^= 1 << rng.randrange(8)
            verdict = judged(tmp_path, kind, with_text(vector, at, changed.hex()))
            assert verdict.passed is False, (at, place)
        for other in (text + "00", text[:-2] if text else "0"):
            assert judged(tmp_path, kind, with_text(vector, at, other)).passed is False, at


def test_what_is_done_twice_or_for_another_server_is_told(tmp_path):
    """Another place in the operation of the file: it was done twice there, and nowhere else."""
    changed = [
        (place, name, other)
        for place, step in enumerate(GOOD["operations"])
        for name, most in (("report_index", 2), ("aggregator_id", 2))
        for other in range(most)
        if step.get(name, other) != other
    ]
    assert len(changed) > 10
    for place, name, other in changed:
        vector = copy.deepcopy(GOOD)
        vector["operations"][place][name] = other
        assert judged(tmp_path, "Prio3SumVecWithMultiproof", vector).passed is False, (place, name)
    fewer = copy.deepcopy(GOOD)
    fewer["operations"] = [
        step
        for step in fewer["operations"]
        if (step["operation"], step.get("report_index")) != ("verify_next", 1)
    ]
    said = judged(tmp_path, "Prio3SumVecWithMultiproof", fewer)
    assert "report 1 is added up and was not verified" in said.detail
    bad = json.loads((make_vectors.FOLDER / "Prio3BoundedVector_bad_leader_share.json").read_text())
    said = judged(tmp_path, "Prio3BoundedVector", dict(bad, shares=3))
    assert said.detail == "2 input shares for 3 servers"


def other_writings(node):
    """The same numbers and bytes as nothing of the draft writes them, and lists with one more."""
    if isinstance(node, bool):
        return [int(node)]
    if isinstance(node, int):
        return [float(node), str(node), *([bool(node)] if node in (0, 1) else [])]
    if isinstance(node, str):
        return [f"{node[:2]} {node[2:]}", f"{node} ", f"0x{node}"]
    return [[*node, node[-1]], node[:-1]] if node else [[0]]


def nodes(node, at=()):
    """Every list, number and text of a vector that is compared with something, by where it is."""
    for place, inner in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(inner, (dict, list)):
            yield from nodes(inner, (*at, place))
        if not isinstance(inner, dict) and place not in ("operation", "operations"):
            yield (*at, place), inner


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_in_another_way_or_twice_fails(kind, tmp_path):
    """A share for a server that there is not, messages of a second round, true for 1: passed."""
    vector = make_vectors.good(*KINDS[kind](random.Random(kind), 2))  # noqa: S311
    for at, node in nodes(vector):
        own = at[:1] == ("reports",) and at[2:3] == ("measurement",)
        for other in () if own else other_writings(node):
            verdict = judged(tmp_path, kind, with_text(vector, at, other))
            assert verdict.passed is False, (at, other)


def test_whose_proof_nobody_has_decided_is_not_added_up(tmp_path):
    vector = copy.deepcopy(GOOD)
    vector["operations"] = [
        step
        for step in vector["operations"]
        if (step["operation"], step.get("report_index")) != ("verifier_shares_to_message", 1)
    ]
    said = judged(tmp_path, "Prio3SumVecWithMultiproof", vector)
    assert "report 1 is added up and was not verified" in said.detail


def test_a_file_of_before_says_what_it_lacks(tmp_path):
    """As drafts before had them, and a folder with what never ends to be read."""
    old = {"shares": 2, "verify_key": "00", "prep": [{"measurement": 1, "prep_shares": [["00"]]}]}
    said = judged(tmp_path, "Prio3Count", old)
    assert said.passed is False
    assert (
        said.detail == "no vector of this kind, or of another version of the draft (this is "
        "version 18): it has no 'operations'"
    )
    os.mkfifo(tmp_path / "Prio3Count_pipe.json")
    assert judge_file(tmp_path / "Prio3Count_pipe.json").detail == "no regular file"


def without_each_field():
    for name in ("shares", "ctx", "verify_key", "agg_param", "reports", "operations", "length"):
        yield {key: value for key, value in GOOD.items() if key != name}
    for name in GOOD["reports"][0]:
        vector = copy.deepcopy(GOOD)
        del vector["reports"][0][name]
        yield vector
    for change in (
        {"operation": "prepare"},
        {"operation": None},
        {"report_index": 9},
        {"report_index": -1},
        {"aggregator_id": 2},
        {"aggregator_id": -1},
        {"round": 0},
    ):
        vector = copy.deepcopy(GOOD)
        at = next(k for k, step in enumerate(vector["operations"]) if "round" in step)
        at += 1 if "round" in change or "aggregator_id" in change else 0  # the first verify_next
        vector["operations"][at].update(change)
        yield vector


def test_a_file_that_lacks_something_fails_and_ends_nothing(tmp_path, capsys):
    for place, vector in enumerate(without_each_field()):
        verdict = judged(tmp_path, "Prio3SumVecWithMultiproof", vector)
        assert verdict.passed is False, (place, verdict)
    for text in ("", "[]", "null", "3", '"x"', "{", "[" * 100_000, '{"shares": "2"}', "\x00"):
        path = tmp_path / "Prio3SumVec_odd.json"
        path.write_text(text)
        assert judge_file(path).passed is False, text[:9]
    (tmp_path / "Prio3Sum_bytes.json").write_bytes(b"\xff\xfe{")
    odd = copy.deepcopy(GOOD)
    odd["reports"][0]["public_share"] = odd["reports"][0]["public_share"][:-1]
    assert judged(tmp_path, "Prio3SumVecWithMultiproof", odd).passed is False
    for name in ("length", "max_measurement", "chunk_length", "shares"):
        for wrong in (0, -1, 10**9, 10**30, 2.5, None, "2"):
            huge = dict(GOOD, **{name: wrong})
            assert judged(tmp_path, "Prio3SumVecWithMultiproof", huge).passed is False
    assert main([str(tmp_path)]) == 1
    assert "0 passed, 3 failed, 0 not judged" in capsys.readouterr().out


def test_a_gadget_of_degree_one_is_judged(tmp_path):
    """Published, too: every measurement is zero, and everything of it is proven all the same."""
    zeros = make_vectors.good(plain.small_numbers(0, 2), {}, [([0, 0], [0, 0])] * 2, [0, 0])
    named = dict(zeros, degree=1, gadget_calls=2)
    assert judged(tmp_path, "Prio3HigherDegree", named).passed, judged(tmp_path, "x", named)
    named["agg_result"] = [0, 1]
    assert judged(tmp_path, "Prio3HigherDegree", named).passed is False
    assert judged(tmp_path, "Prio3HigherDegree", dict(named, degree=0)).passed is False


@pytest.mark.parametrize(
    "name",
    ["Prio3Count/0.json", "prio3count/bad_seed.json", "Prio3Count-1.json", "a/Prio3Count_0.JSON"],
)
def test_files_may_lie_as_others_lay_them(name, tmp_path):
    text = json.dumps(make_vectors.vectors()["Prio3Count_0"])
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8-sig")  # as some editors begin a file
    other = path.parent / "Poplar1_0.json"
    other.write_text(text)
    assert {each.name: each.passed for each in judge_folder(tmp_path)} == {
        name: True,
        other.relative_to(tmp_path).as_posix(): None,
    }


def test_success_is_true_or_false(tmp_path):
    for said in ("false", 1, None):
        vector = copy.deepcopy(GOOD)
        vector["operations"][0]["success"] = said
        verdict = judged(tmp_path, "Prio3SumVecWithMultiproof", vector)
        assert (verdict.passed, verdict.detail) == (False, "success of shard must be true or false")


def test_what_else_lies_in_a_folder_is_not_judged(tmp_path):
    (tmp_path / "Prio3Count_0.json").write_text(json.dumps(make_vectors.vectors()["Prio3Count_0"]))
    (tmp_path / "Prio3Count_folder.json").mkdir()
    for name in ("package.json", "Poplar1_0.json", "Pine128_0.json", "notes.md", "Prio3Sum.txt"):
        (tmp_path / name).write_text("not even JSON")
    found = {verdict.name: verdict for verdict in judge_folder(tmp_path)}
    assert {name: verdict.passed for name, verdict in found.items()} == {
        "Prio3Count_0.json": True,
        "package.json": None,
        "Poplar1_0.json": None,
        "Pine128_0.json": None,
    }
    assert "PINE is not used here" in found["Pine128_0.json"].detail
    assert main([str(tmp_path)]) == 0
