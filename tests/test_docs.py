"""The documentation: its code runs, its links lead somewhere, it names everything, and fetches
nothing.
"""

import json
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_CODE = re.compile(r"^```python\n(.*?)^```", flags=re.S | re.M)

_SPEC: Any = spec_from_file_location("notebooks_of_the_docs", DOCS / "_notebooks.py")
notebooks: Any = module_from_spec(_SPEC)
_SPEC.loader.exec_module(notebooks)


def name_of(path):
    return path.relative_to(DOCS).as_posix()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if _CODE.search(page.read_text())], ids=name_of
)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    """Shares that two servers add up are narrow: 2,000 numbers take half a minute."""
    monkeypatch.setattr("tacit.algorithms.wide_features.WIDE", 150)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    monkeypatch.setitem(sys.modules, "page", type(sys)("page"))  # dataclasses look their module up
    for code in _CODE.findall(page.read_text()):
        exec(compile(code, name_of(page), "exec"), names)
    if name_of(page) == "tutorial.md":
        assert "12,500 owners" in (tmp_path / "report" / "report.html").read_text()
        assert (tmp_path / "report" / "pictures" / "01-accuracy-against-epsilon.png").is_file()


def test_own_cells_run_as_the_page_says_and_are_kept(tmp_path, monkeypatch):
    page = (DOCS / "how-to" / "own-data-in-reproduce.md").read_text()
    (code,) = re.findall(r"^```python title=\S+\n(.*?)^```", page, flags=re.S | re.M)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").touch()
    (tmp_path / "mine" / "cells.py").write_text(code)
    coins = np.random.default_rng(1)
    rows = np.column_stack([coins.normal(size=(4000, 3)), np.arange(4000) % 2])
    rows[:, 0] += 2 * rows[:, 3]
    np.savetxt(tmp_path / "t.csv", rows, delimiter=",", header="a,b,c,income", comments="")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    measure = import_module("mine.cells").measure
    found = measure("t.csv", "income", processes=1)
    assert [(row.method, row.run) for row in found] == [
        (method, run) for method in ("combined", "boosted") for _ in range(2) for run in range(2)
    ]
    assert all(row.accuracy > 0.6 for row in found if row.method == "combined")
    before = (tmp_path / "rows.jsonl").read_bytes()
    (tmp_path / "t.csv").unlink()  # nothing is measured again
    assert measure("t.csv", "income", processes=1) == found
    assert (tmp_path / "rows.jsonl").read_bytes() == before
    for name in ("mine.cells", "mine"):
        del sys.modules[name]


QUICK = ("first-model", "hospitals", "own-learner")  # the campaign takes three more processes


@pytest.mark.parametrize("name", QUICK)
def test_a_notebook_shows_what_its_code_says(name, tmp_path, monkeypatch):
    """All of them: `python docs/_notebooks.py --check`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebooks.check(notebooks.FOLDER / f"{name}.ipynb")


def test_a_notebook_that_shows_something_else_is_found(tmp_path):
    said = {"name": "stdout", "output_type": "stream", "text": ["2\n"]}
    cell = {"cell_type": "code", "source": "print(1 + 1)", "outputs": [said]}
    (tmp_path / "sum.ipynb").write_text(json.dumps({"cells": [cell]}))
    notebooks.check(tmp_path / "sum.ipynb")
    (tmp_path / "sum.ipynb").write_text(json.dumps({"cells": [cell | {"source": "print(1 + 2)"}]}))
    with pytest.raises(ValueError, match=r"sum.ipynb, cell 1 shows .*2.* and gives .*3"):
        notebooks.check(tmp_path / "sum.ipynb")


@pytest.mark.parametrize("path", notebooks.notebooks(), ids=lambda path: path.stem)
def test_notebooks_are_executed_small_and_of_no_machine(path):
    text = path.read_text()
    assert len(text) < 200_000
    assert not re.search(r"/(home|tmp|work)/|\.venv|Traceback", text)
    cells = [cell for cell in notebooks.read(path)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]


def test_every_guide_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text()
    for page in PAGES:
        assert name_of(page) in menu, name_of(page)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    made = {DOCS / "reference" / "commands.md"}
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if ":" not in target:
            path = (page.parent / target).resolve()
            assert path.exists() or path in made, f"{name_of(page)}: {target}"


def test_every_threat_has_tests_that_are_there():
    rows = re.findall(r"^\| (\d+) \|(.*)\|$", (ROOT / "SECURITY.md").read_text(), re.M)
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    assert len(rows) >= 35
    for number, row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, number
        for file, name in named:
            assert f"def {name}(" in (ROOT / file).read_text(), (number, name)


@pytest.mark.parametrize(
    ("name", "least"),
    [("first-users.md", 45), ("service-promises.md", 45), ("scale-promises.md", 30)],
)
def test_lists_of_what_is_there_name_tests_that_are_there(name, least):
    page = (DOCS / "reference" / name).read_text()
    rows = [row for row in re.findall(r"^\|(.*)\|$", page, re.M) if row.strip("-| ")]
    asked = [row for row in rows if "| check it" not in row]
    assert len(asked) >= least
    for row in asked:
        checks = row.split(" | ")[-1]
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", checks)
        assert named or "`" in checks, row
        for file, name in named:
            assert f"def {name}(" in (ROOT / file).read_text(), name


def test_the_learner_of_the_guide_is_that_of_the_example():
    example = (ROOT / "examples" / "own_learner.py").read_text()
    for code in _CODE.findall((DOCS / "how-to" / "writing-a-learner.md").read_text()):
        for line in code.splitlines():
            assert line.strip() in example, line


def test_the_reference_names_everything_public():
    named = set(
        re.findall(r"^::: tacit\.(\w+)$", (DOCS / "reference" / "api.md").read_text(), flags=re.M)
    )
    assert named == set(tacit.__all__)


def test_what_is_unsound_is_explained():
    text = (DOCS / "explanation" / "papers.md").read_text()
    names = ("a.learners", "b.learners", "b.ring", "d.learners")
    marked: set[str] = set()
    for module in (import_module(f"tacit_papers.{name}") for name in names):
        own = [
            kind
            for kind in vars(module).values()
            if getattr(kind, "__module__", "") == module.__name__
        ]
        marked |= {kind.__name__ for kind in own if isinstance(getattr(kind, "unsound", None), str)}
        marked |= {kind.__name__ for kind in own if kind.__name__.startswith("simulate")}
    assert len(marked) >= 5
    assert all(f"`{name}`" in text for name in marked), marked


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built documentation; any warning of the builder is a failure."""
    if find_spec("mkdocs") is None or find_spec("mkdocstrings") is None:
        pytest.skip("mkdocs is not installed; pip install 'tacit[docs]' adds it")
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(folder),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_fetches_nothing_from_elsewhere(site):
    fetched = re.compile(
        r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//([^"'>\s]+)"""
    )
    for page in site.rglob("*.html"):
        text = re.sub(r"<link rel=.?canonical[^>]*>", "", page.read_text())
        assert not fetched.search(text), page.name
    assert not list(site.rglob("*.py*"))  # nor has it what only builds it, bytecode included
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", style.read_text()), style.name


def test_search_needs_no_server(site):
    """Its index is a script, which a browser takes from a folder, too; no worker fetches it."""
    entries = (site / "search" / "entries.js").read_text()
    assert entries.startswith("window.searchEntries = [{")
    assert "Writing a mechanism" in entries
    assert "_search.js" in (site / "search.html").read_text()
    assert not list(site.rglob("worker.js"))


def test_the_site_has_notes_commands_and_examples(site):
    pages = {path.relative_to(site).as_posix(): path.read_text() for path in site.rglob("*.html")}
    for name in (
        "notes/mechanisms-piecewise.html",
        "notes/owner-gate.html",
        "notes/CONTRIBUTING.html",
    ):
        assert name in pages
    commands = pages["reference/commands.html"]
    for word in ("tacit reproduce", "tacit ledger show", "--epsilon"):
        assert word in commands
    reference = pages["reference/api.html"]
    assert "PrivateClassifier" in reference
    assert "<blockquote>" not in reference
    assert "notes/owner-gate.html" in pages["explanation/promises.html"]
