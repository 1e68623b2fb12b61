"""The reference of files that people write names every entry there is, with its default."""

import inspect
import re
from dataclasses import MISSING, fields
from fractions import Fraction
from pathlib import Path

import pytest

from tacit import estimators
from tacit.data.sample import read_schema
from tacit.owner.policy import Policy
from tacit.service.kinds import read_spec
from tacit.service.kinds.campaign_file import SPECS, CampaignSpec

PAGE = (Path(__file__).parents[1] / "docs" / "reference" / "files.md").read_text()
COMMON = {field.name for field in fields(CampaignSpec)}


def table(heading):
    """Names and defaults in the table under a heading."""
    section = PAGE.split(f"{heading}\n", 1)[1].split("\n#", 1)[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    return {row[1].strip(" `"): row[2].strip(" `") for row in rows}


def default(field):
    """As the page writes it."""
    value = field.default
    if value is MISSING:
        return "must be given"
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return str(list(value)).replace("'", '"')
    return f'"{value}"' if isinstance(value, str) else str(value)


@pytest.mark.parametrize(
    "kind", ["classifier", "gradient trees", "boosting", "sites", "peers", "stumps", "trees"]
)
def test_every_entry_of_a_campaign_file_is_there(kind):
    assert callable(read_spec)  # which makes all kinds known
    own = {f.name: default(f) for f in fields(SPECS[kind]) if f.name not in COMMON}
    heading = "peers" if kind in ("stumps", "trees") else kind
    assert table(f'### Kind "{heading}"') == own
    assert table("### Every campaign") == {f.name: default(f) for f in fields(CampaignSpec)}


def test_every_entry_of_a_policy_is_there():
    assert table("## policy.toml") == {f.name: default(f) for f in fields(Policy)}
    read = Policy(epsilon_per_release=Fraction(1), epsilon_total=Fraction(1))
    assert read.time_step == Fraction(1, 10)


def test_the_example_of_a_schema_is_one(tmp_path):
    assert set(table("## schema.toml")) == {"features", "classes"}
    file = tmp_path / "schema.toml"
    file.write_text(
        'classes = ["no", "yes"]\n[features]\nage = { low = 0, high = 99 }\n'
        'state = { values = ["north", "south"] }\n'
    )
    assert [feature.name for feature in read_schema(file).features] == ["age", "state"]
    for line in ("age = { low = 0, high = 99 }", 'state = { values = ["north", "south"] }'):
        assert line in PAGE


@pytest.mark.parametrize("name", ["PrivateClassifier", "PrivateBoosting", "SiteEnsemble",
                                  "SiteEnsembleRegressor", "PeerEnsemble"])  # fmt: skip
def test_estimators_take_the_parameters_that_they_document(name):
    kind = getattr(estimators, name)
    words = (
        inspect.cleandoc(kind.__doc__).partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    )
    told = re.findall(r"^(\w+(?:, \w+)*) : ", words, flags=re.M)
    assert sorted(", ".join(told).split(", ")) == sorted(kind().get_params())
