"""The page that lists every item of every paper names commands that there are, and leaves out no
figure or table that a cell measures.
"""

import inspect
import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tacit.cli.fit import fit
from tacit.learners.owners import LEARNERS, SIMULATIONS
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
