from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tacit.owner.policy import Policy, exact

FILE = """
epsilon_per_release = 0.1
epsilon_total = 0.3
releases = 3
learners = ["stump", "centroid"]
mechanisms = ["privunit"]
campaign = "flu"
time_step = 0.25
"""


def test_a_file_is_read_exactly(tmp_path):
    (tmp_path / "policy.toml").write_text(FILE)
    policy = Policy.read(tmp_path / "policy.toml")
    assert policy.epsilon_per_release == Fraction(1, 10)
    assert policy.epsilon_total == Fraction(3, 10)
    assert policy.learners == ("stump", "centroid")
    assert policy.time_step == Fraction(1, 4)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("epsilom_total = 1", r"unknown names \['epsilom_total'\]"),
        ("releases = 0", "releases must be a whole number >= 1"),
        ("epsilon_total = -1", "epsilon_total must be > 0"),
        ("epsilon_total = nan", "epsilon_total must be an exact number"),
        ("epsilon_total = true", "epsilon_total must be an exact number"),
        ("mechanisms = ['none']", "mechanisms must be among"),
        ("mechanisms = 'duchi'", "mechanisms must be a list of names"),
        ("units = ['row']", "units must be of 'owner' and 'record'"),
        ("time_step = -1", "time_step must be 0 to 3600"),
        ("epsilon_total = 1e999999999", "epsilon_total must be an exact number"),
        ("columns_never = 5", "columns_never must be a list of names"),
        ("campaign = 5", "campaign must be the name of a campaign"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path, change, text):
    names = [line.split(" = ")[0] for line in FILE.splitlines()]
    kept = [
        line
        for line, name in zip(FILE.splitlines(), names, strict=True)
        if name != change.split(" = ")[0]
    ]
    (tmp_path / "policy.toml").write_text("\n".join([*kept, change]))
    with pytest.raises(ValueError, match=rf"policy\.toml: {text}"):
        Policy.read(tmp_path / "policy.toml")


def test_a_budget_must_be_given(tmp_path):
    (tmp_path / "policy.toml").write_text("releases = 1")
    with pytest.raises(ValueError, match="epsilon_per_release, epsilon_total must be given"):
        Policy.read(tmp_path / "policy.toml")


def test_levels():
    policy = Policy(epsilon_per_release=Fraction(3, 10), epsilon_total=Fraction(1))
    assert policy.level((0.1, 0.2, 0.3, 0.4), Fraction(0)) == 2
    assert policy.level((0.1, 0.2, 0.3), Fraction(8, 10)) == 1
    assert policy.level((0.1,), Fraction(1)) is None


@pytest.mark.parametrize("value", [0.1, float("inf"), None, "x", Decimal("NaN"), "1/0", True])
def test_only_exact_numbers_are_budgets(value):
    with pytest.raises(ValueError, match="b must be an exact number"):
        exact("b", value)


@pytest.mark.parametrize(
    "value",
    ["1e999999999", "1e-999999999", Decimal("1e999999"), "9" * 500, "1/" + "3" * 500, 10**5000],
    ids=lambda value: str(value)[:12] if isinstance(value, str) else type(value).__name__,
)
def test_a_number_with_more_digits_than_a_ledger_has_room_for_is_refused_at_once(value):
    """As a rational the first of them has a thousand million digits: it filled the memory."""
    with pytest.raises(ValueError, match="b must be an exact number") as refused:
        exact("b", value)
    assert len(str(refused.value)) < 400


def test_peers_counts_count_twice_once_kinds_are_mixed():
    """Counts prove twice their epsilon for one record replaced: a mixed sum must hold for all."""
    policy = Policy(epsilon_per_release=Fraction(1), epsilon_total=Fraction(2), releases=9)
    half, one = Fraction(1, 2), Fraction(1)
    offers = (0.25, 0.5, 1.0)
    assert policy.level(offers, one, one, "counts") == 2  # counts alone: 1 + 1 of 2
    assert policy.level(offers, one, one, "privunit") is None  # 2 + 1/4 is above 2
    assert policy.level(offers, half, half, "objective") == 2  # 2/2 + 1
    assert policy.level(offers, one, Fraction(0), "counts") == 1  # 1 + 2/2
    assert policy.level(offers, one, Fraction(0), "privunit") == 2


def test_no_order_of_kinds_spends_more_than_the_total_for_a_record_replaced():
    rng = np.random.default_rng(1)
    for _ in range(300):
        policy = Policy(epsilon_per_release=Fraction(1), epsilon_total=Fraction(3), releases=99)
        spent = counts = Fraction(0)
        for _ in range(12):
            how = str(rng.choice(["counts", "objective", "privunit"]))
            offers = (0.1, 0.3, 0.7)
            level = policy.level(offers, spent, counts, how)
            if level is not None:
                epsilon = Fraction(repr(offers[level]))
                spent, counts = spent + epsilon, counts + epsilon * (how == "counts")
        if spent != counts:
            assert spent + counts <= 3
        assert spent <= 3


@pytest.mark.parametrize("content", [b"epsilon_total 2", b"\xff\xfe"], ids=["no TOML", "no text"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    (tmp_path / "policy.toml").write_bytes(content)
    with pytest.raises(ValueError, match=r"policy\.toml cannot be read as a policy"):
        Policy.read(tmp_path / "policy.toml")
