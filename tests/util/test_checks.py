"""What is said of a bad parameter: one line, whatever the value is."""

from decimal import Decimal

import pytest

from tacit._util.checks import bad, positive, whole


@pytest.mark.parametrize(
    "value",
    [10**400, 10**5000, Decimal("sNaN"), Decimal("1e999999"), float("nan"), True, "1", None],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_finite_number_is_refused_by_its_name(value):
    """Whole numbers beyond all floats, and numbers that signal, were errors of Python's own."""
    with pytest.raises(ValueError, match="epsilon must be a finite number > 0, got"):
        positive("epsilon", value)


def test_a_number_of_many_digits_is_refused_by_its_name():
    with pytest.raises(
        ValueError, match="rounds must be a whole number >= 1, got a number of more"
    ):
        whole("rounds", -(10**5000), 1)


def test_a_long_value_is_quoted_in_part():
    assert len(str(bad("name", "short", "x" * 100_000))) < 300
    assert str(bad("name", "short", "x" * 30)).endswith("got '" + "x" * 30 + "'")
