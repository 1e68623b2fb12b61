"""The page that lists every item of every paper names commands that there are, and leaves out no
figure or table that a cell measures.
"""

import inspect
import re
import shlex
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tacit.cli._options import CLASSES
from tacit.cli.fit import fit, method_of
from tacit.learners.owners import LEARNERS, SIMULATIONS
from tacit.service.kinds.campaign_file import SPECS
from tacit_papers import simulations
from tacit_papers.registry import DATASETS, PAPERS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "paper-items.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_commands_name_papers_and_data_sets_that_there_are():
    commands = re.findall(r"tacit reproduce (\w+)((?: --dataset (?:\"[^\"]+\"|\w+))*)", TEXT)
    assert len(commands) > 15
    for paper, options in commands:
        for quoted, plain in re.findall(r"--dataset (?:\"([^\"]+)\"|(\w+))", options):
            assert (quoted or plain) in DATASETS[paper]


def test_learners_are_known_by_the_names_that_it_says():
    names = re.findall(r"PrivateBoosting\(\"([^\"]+)\"", TEXT)
    assert len(names) > 6
    assert set(names) <= set(LEARNERS) | set(SIMULATIONS)


def test_what_estimators_simulate_goes_by_the_names_that_it_says():
    for parameter, known in simulations.NAMES.items():
        names = re.findall(rf"\b{parameter}=\"([^\"]+)\"", TEXT)
        assert set(names) <= set(known), parameter
    assert {"ring", "shamir"} <= set(re.findall(r"sums=\"(\w+)\"", TEXT))
    assert 'PeerEnsemble(method="DiffPRS")' in TEXT


def test_kinds_of_campaigns_are_known():
    named = set(re.findall(r"kind = \"([^\"]+)\"", TEXT))
    assert {"sites", "stumps", "trees", "gradient trees", "peers"} <= named <= set(SPECS)


def test_every_command_line_of_fit_is_one_that_its_method_takes():
    """Options by method, as the command itself checks them; values by their types."""
    lines = re.findall(r"`tacit fit (?:\.\.\.|[\w.]+ --label \w+ --public [\w.]+) ([^`]+)`", TEXT)
    assert len(lines) > 12
    for line in lines:
        words = shlex.split(line)
        given = dict(zip(words[::2], words[1::2], strict=True))
        name, target = given.pop("--method", "classifier"), given.pop("--target", CLASSES)
        for about in ("--owners", "--test"):
            given.pop(about, None)
        options = {flag[2:].replace("-", "_"): value for flag, value in given.items()}
        method_of(name, target).check_options(name, options)


def test_flags_are_those_of_tacit_fit():
    known = set(inspect.signature(fit).parameters)
    found = {name.replace("-", "_") for name in re.findall(r"--([a-z][a-z-]+)", TEXT)}
    assert found - {"dataset", "quick"} <= known


def test_every_line_of_an_algorithm_leads_to_code():
    lines = TEXT[TEXT.index("## Algorithms, line by line") :]
    names = re.findall(r"`(tacit(?:_papers)?\.[\w.]+)`", lines)
    assert len(names) > 25
    for name in names:
        assert callable(resolve_name(name)), name
    printed = {"A": range(1, 8), "B": range(2, 5), "C": (1,), "D": (1, 2)}
    for paper, numbers in printed.items():
        listed = re.findall(rf"^\| {paper}, (\d)(?: and (\d))?", lines, flags=re.MULTILINE)
        assert {int(number) for pair in listed for number in pair if number} == set(numbers)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_figure_and_table_that_is_measured_is_on_the_page(paper):
    page = TEXT[TEXT.index(f"## {paper.upper()}:") :].partition("\n## ")[0]
    listed = set()
    order = ["I", "II", "III", "IV", *map(str, range(1, 12))]
    for kind, words in re.findall(r"(Fig|Table)s?\.? ((?:[\dIVX]+(?:, | and | to )?)+)", page):
        listed |= {(kind, number) for number in re.findall(r"[\dIVX]+", words)}
        for first, last in re.findall(r"([\dIVX]+) to ([\dIVX]+)", words):
            listed |= {(kind, one) for one in order[order.index(first) : order.index(last) + 1]}
    measured = set()
    for cell in PAPERS[paper].cells(False, 1):
        for kind, number in re.findall(r"(Fig|Table)s?\.? (\d+|[IVX]+)", cell.where):
            measured.add((kind, number))
    assert measured
    assert measured <= listed
