"""Nothing outside `kinds/` tells kinds of campaigns apart: not by class, not by name."""

import ast
from pathlib import Path

import pytest

import tacit
from tacit.service.kinds.campaign_file import DEFAULT, SPECS, register

ROOT = Path(tacit.__file__).parent
OUTSIDE = [
    path
    for room in ("service", "cli")
    for path in sorted((ROOT / room).rglob("*.py"))
    if path.parent.name != "kinds"
]
CLASSES = {spec.__name__ for spec in SPECS.values()} | {
    spec.terms.__name__ for spec in SPECS.values()
}
BASES = {"CampaignTerms", "CampaignSpec"}


def names(node):
    """Names and last parts of attributes in a piece of code."""
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def tells_apart(node):
    """Whether a piece of code asks for the class, or compares the name, of a kind."""
    if isinstance(node, ast.Call) and names(node.func) & {"isinstance", "issubclass"}:
        return bool(names(node) & (CLASSES | BASES))
    if isinstance(node, ast.MatchClass):
        return bool(names(node.cls) & (CLASSES | BASES))
    if isinstance(node, ast.Compare):
        words = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
        return "kind" in names(node) | words and bool(words & SPECS.keys())
    return isinstance(node, ast.alias) and node.name in CLASSES


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_outside_kinds_tells_kinds_apart(path):
    tree = ast.parse(path.read_text())
    assert [ast.unparse(node) for node in ast.walk(tree) if tells_apart(node)] == []


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(terms, PeerTerms)",
        "isinstance(spec, kinds.BoostingSpec)",
        "match terms:\n    case SiteTerms():\n        pass",
        "terms.kind == 'boosting'",
        "status['kind'] in ('boosting', 'classifier')",
        "from tacit.service.kinds.boosting import BoostingTerms",
    ],
)
def test_whoever_does_is_seen(code):
    assert any(tells_apart(node) for node in ast.walk(ast.parse(code)))


def test_pages_tell_no_kinds_apart():
    for page in ROOT.rglob("*.html"):
        assert "status.kind" not in page.read_text()


def test_the_default_kind_is_that_of_fit():
    assert DEFAULT == "classifier"


def test_a_name_is_given_once():
    another = type("Another", (), {"terms": SPECS["boosting"].terms})
    with pytest.raises(ValueError, match="kind must be new, got 'boosting'"):
        register(another)
