"""Test vectors: the draft's where they are at hand, our own everywhere; and ones that must fail."""

import copy
import json
import os
from pathlib import Path

import pytest

from tacit.sums.prio3.vectors import judge_file, judge_folder, main
from tests.sums.prio3 import reference
from tests.sums.prio3.make_vectors import FOLDER, vectors

OURS = sorted(FOLDER.glob("*.json"))
STANDARD = Path(os.environ.get("TACIT_STANDARDS") or "absent") / "vdaf"


def test_the_draft_s_vectors_pass_good_and_bad(capsys):
    if not STANDARD.is_dir():
        pytest.skip("set TACIT_STANDARDS to the folder that holds vdaf/ with the draft's vectors")
    verdicts = judge_folder(STANDARD)
    assert [str(verdict) for verdict in verdicts if verdict.passed is not True] == []
    kinds = {verdict.name.split("_")[0].removesuffix(".json") for verdict in verdicts}
    assert kinds >= {
        "Prio3Count",
        "Prio3Sum",
        "Prio3SumVec",
        "Prio3SumVecWithMultiproof",
        "Prio3Histogram",
        "Prio3MultihotCountVec",
        "Prio3HigherDegree",
        "XofTurboShake128",
    }
    refused = [verdict for verdict in verdicts if "refused, as it must be" in verdict.detail]
    assert len(refused) == sum("_bad_" in verdict.name for verdict in verdicts) > 0
    assert main([str(STANDARD)]) == 0
    assert f"{len(verdicts)} passed, 0 failed" in capsys.readouterr().out


def test_folders_of_folders_are_replayed(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Prio3Count_0.json").write_text(
            (FOLDER / "Prio3Count_0.json").read_text()
        )
    found = {verdict.name: verdict.passed for verdict in judge_folder(tmp_path)}
    assert found == {"one/Prio3Count_0.json": True, "two/Prio3Count_0.json": True}


def test_our_vectors_are_what_the_reference_makes():
    made = vectors()
    assert [path.stem for path in OURS] == sorted(made)
    for path in OURS:
        assert json.loads(path.read_text()) == made[path.stem]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Prio3Count_0", "20 operations"),
        ("Prio3Sum_0", "21 operations"),
        ("Prio3SumVecWithMultiproof_0", "15 operations"),
        ("Prio3Histogram_0", "20 operations"),
        ("Prio3MultihotCountVec_0", "9 operations"),
        ("Prio3BoundedVector_0", "15 operations"),
        ("Prio3Histogram_bad_two_buckets", "proof verifier check failed"),
        ("Prio3BoundedVector_bad_too_long", "proof verifier check failed"),
        ("Prio3BoundedVector_bad_leader_share", "proof verifier check failed"),
        ("Prio3BoundedVector_bad_public_share", "joint randomness check failed"),
        ("Prio3BoundedVector_bad_element", "not below the modulus"),
    ],
)
def test_our_vectors_pass_for_the_right_reason(name, reason):
    verdict = judge_file(FOLDER / f"{name}.json")
    assert verdict.passed, verdict
    assert reason in verdict.detail


def spoiled(vector):
    """The vector with each of its expected values changed in turn, and each success denied."""

    def changed(text):
        return f"{int(text[:2], 16) ^ 1:02x}{text[2:]}"

    for name in (
        "public_share",
        "input_shares",
        "verifier_shares",
        "verifier_messages",
        "out_shares",
    ):
        other = copy.deepcopy(vector)
        value = other["reports"][0][name]
        if name == "public_share":
            other["reports"][0][name] = changed(value)
        elif name == "verifier_shares":
            value[0][1] = changed(value[0][1])
        else:
            value[0] = changed(value[0])
        yield name, other
    for name in ("agg_shares", "agg_result", "ctx", "verify_key"):
        other = copy.deepcopy(vector)
        if name == "agg_shares":
            other[name][0] = changed(other[name][0])
        elif name == "agg_result":
            other[name] = [x + 1 for x in other[name]]
        else:
            other[name] = changed(other[name])
        yield name, other
    for place in range(len(vector["operations"])):
        other = copy.deepcopy(vector)
        other["operations"][place]["success"] = False
        yield f"operation {place}", other


def test_a_vector_with_anything_changed_fails(tmp_path):
    vector = json.loads((FOLDER / "Prio3BoundedVector_0.json").read_text())
    path = tmp_path / "Prio3BoundedVector_0.json"
    for what, other in spoiled(vector):
        path.write_text(json.dumps(other))
        assert judge_file(path).passed is False, what


@pytest.mark.parametrize(
    "name", [path.stem for path in OURS if path.stem != "Prio3BoundedVector_bad_element"]
)
def test_a_vector_of_another_version_is_told_by_its_version(name, tmp_path, monkeypatch):
    """All that was said was "public_share differs", as of a mistake in ours."""
    monkeypatch.setattr(reference, "VERSION", 12)
    made, path = vectors()[name], tmp_path / f"{name}.json"
    path.write_text(json.dumps(made))
    verdict = judge_file(path)
    assert verdict.passed is False
    assert "it is of version 12 of the draft, and this is version 18" in verdict.detail


def test_a_vector_that_may_be_of_another_version_is_said_to_be(tmp_path):
    """Where other things than a number have changed: tags, parameters, names, lengths."""

    def told(stem, **changed):
        vector = json.loads((FOLDER / f"{stem}.json").read_text())
        vector |= changed
        (tmp_path / f"{stem}.json").write_text(json.dumps(vector))
        verdict = judge_file(tmp_path / f"{stem}.json")
        assert verdict.passed is False
        return verdict.detail

    maybe = "may be of another version of the draft: this is version 18"
    assert maybe in told("Prio3Histogram_0", ctx="00")
    reports = json.loads((FOLDER / "Prio3Histogram_0.json").read_text())["reports"]
    short = [each | {"rand": each["rand"][: len(each["rand"]) // 2]} for each in reports]
    assert maybe in told("Prio3Histogram_0", reports=short)
    assert "of another version of the draft (this is version 18)" in told(
        "Prio3Count_0", operations=[{"name": "shard"}]
    )
    first = reports[0] | {"public_share": "00" * (len(reports[0]["public_share"]) // 2)}
    assert told("Prio3Histogram_0", reports=[first, *reports[1:]]) == "public_share differs"


def test_a_bad_vector_that_is_good_fails(tmp_path):
    bad = json.loads((FOLDER / "Prio3BoundedVector_bad_leader_share.json").read_text())
    bad["operations"][-1]["success"] = True
    path = tmp_path / "Prio3BoundedVector_bad.json"
    path.write_text(json.dumps(bad))
    verdict = judge_file(path)
    assert verdict.passed is False
    assert "should succeed" in verdict.detail


def test_files_that_cannot_be_judged_are_said_to_be(tmp_path, capsys):
    (tmp_path / "Poplar1_0.json").write_text("{}")
    (tmp_path / "Prio3Count_9.json").write_text('{"shares": 2, "operations": []}')
    (tmp_path / "Prio3Sum_9.json").write_text("not JSON")
    assert [verdict.passed for verdict in judge_folder(tmp_path)] == [None, False, False]
    assert main([str(tmp_path)]) == 1
    assert "0 passed, 2 failed, 1 not judged" in capsys.readouterr().out
    for broken in ("Prio3Count_9", "Prio3Sum_9"):
        (tmp_path / f"{broken}.json").unlink()
    assert main([str(tmp_path)]) == 1  # nothing passed
    (tmp_path / "Prio3Count_0.json").write_text((FOLDER / "Prio3Count_0.json").read_text())
    assert main([str(tmp_path)]) == 0
    wrong = json.loads((FOLDER / "Prio3Count_0.json").read_text())
    wrong["agg_result"] = 2
    (tmp_path / "Prio3Count_1.json").write_text(json.dumps(wrong))
    assert main([str(tmp_path)]) == 1
    assert main([]) == 2
