"""A measurement depends on what it imports, and on nothing else."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tacit_papers import registry
from tacit_papers.runner import Cell
from tacit_papers.sources import Sources, imports_of

FILES = {
    "__init__.py": '"""A package."""\n',
    "cell.py": '"""Measures."""\nfrom probe.learner import learn\n\n\n'
    "def rows():\n    return learn()\n",
    "learner.py": "from probe import numbers\n\n\ndef learn():\n    return numbers.ONE\n",
    "numbers.py": "ONE = 1\n",
    "coordinator.py": "import probe.cell\n\nPORT = 8000\n",
}


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def digest_of(package):
    """As another process would see it: nothing is remembered."""
    return Sources({"probe": package}).digest("probe.cell")


def test_the_closure_is_what_is_imported(package):
    sources = Sources({"probe": package})
    assert sources.closure("probe.cell") == {
        "probe",
        "probe.cell",
        "probe.learner",
        "probe.numbers",
    }
    assert sources.path("probe.numbers.ONE") is None
    assert sources.path("probe.nothing") is None
    with pytest.raises(ValueError, match=r"module must be one of \['probe'\]"):
        sources.closure("elsewhere.cell")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cell.py", "# why\n" + FILES["cell.py"]),
        ("cell.py", FILES["cell.py"].replace("Measures", "Measures, and says so")),
        ("cell.py", FILES["cell.py"].replace("\n\n\n", "\n\n\n\n")),
        ("learner.py", FILES["learner.py"].replace("():\n", '():\n    """Learns."""\n')),
        ("coordinator.py", "PORT = 9000\n"),
        ("unheard_of.py", "import probe.cell\n"),
    ],
)
def test_comments_docstrings_and_files_elsewhere_change_nothing(package, name, text):
    before = digest_of(package)
    (package / name).write_text(text)
    assert digest_of(package) == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cell.py", FILES["cell.py"].replace("learn()", "learn() + 1")),
        ("learner.py", FILES["learner.py"].replace("numbers.ONE", "-numbers.ONE")),
        ("numbers.py", "ONE = 2\n"),
        ("__init__.py", "import probe.coordinator\n"),
        ("learner.py", "def learn():\n    from probe.coordinator import PORT\n    return PORT\n"),
    ],
)
def test_a_change_of_what_it_uses_is_another_measurement(package, name, text):
    before = digest_of(package)
    (package / name).write_text(text)
    assert digest_of(package) != before


def test_imports_for_the_type_checker_never_run(package):
    """The file itself has changed, and is the only one that has."""
    (package / "numbers.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import probe.coordinator\n"
        "else:\n    import probe.other\n"
    )
    (package / "other.py").write_text("")
    found = Sources({"probe": package}).closure("probe.cell")
    assert "probe.coordinator" not in found
    assert "probe.other" in found


def cell_modules() -> list[str]:
    def below(kind: Any) -> Iterator[type[Any]]:
        for one in kind.__subclasses__():
            yield one
            yield from below(one)

    assert registry.PAPERS
    found = {kind.__module__ for kind in below(Cell)}
    return sorted(name for name in found if name.startswith("tacit_papers."))


def test_there_are_cells_of_every_paper_and_of_our_own():
    rooms = {name.split(".")[1] for name in cell_modules()}
    assert {"a", "b", "c", "d", "ours"} <= rooms


@pytest.mark.parametrize("module", cell_modules())
def test_a_cell_knows_no_command_no_service_and_no_report(module):
    rooms = ("tacit.cli", "tacit.service", "tacit.render", "tacit.audit", "tacit_papers.registry")
    outside = {name for name in imports_of(module) if name.startswith(rooms)}
    assert not outside
    assert not {name for name in imports_of(module) if name.endswith(("report", "claims"))}


def test_what_is_really_imported_is_in_the_closure():
    """The other way round: a module that is only named while running would be missed."""
    program = (
        "import sys\n"
        "for name in sys.argv[1:]:\n    __import__(name)\n"
        "print(*(name for name in sys.modules if name.split('.')[0] in ('tacit', 'tacit_papers')))"
    )
    modules = cell_modules()
    done = subprocess.run(
        [sys.executable, "-c", program, *modules], capture_output=True, text=True, check=True
    )
    known = frozenset[str]().union(*(imports_of(module) for module in modules))
    assert set(done.stdout.split()) <= known
