"""For the same seeds, models, questions and reports have the bytes that they had before."""

import pytest

from tests.golden.digests import comparable, compute, differences, written


@pytest.mark.skipif(
    not comparable(), reason="the digests belong to x86-64 processors with AVX2, on Linux"
)
def test_models_questions_and_reports_have_the_bytes_they_had():
    assert differences(written(), compute()) == []


def test_a_part_that_changed_or_is_gone_or_is_new_is_a_difference():
    had = {"fit": {"model": "3 abc", "report": "1 d"}}
    assert differences(had, had) == []
    assert differences(had, {"fit": {"model": "3 abd", "report": "1 d"}}) == ["fit: model"]
    assert differences(had, {"fit": {"model": "3 abc"}, "plan": {"few": "1 e"}}) == [
        "fit: report",
        "plan: few",
    ]
