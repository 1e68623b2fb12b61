"""Promises about the repository itself."""

import ast
import inspect
import re
import subprocess
from pathlib import Path

import pytest

import tacit
from tacit.mechanisms.registry import PRIVATE
from tests.conftest import LONGEST

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("kind", PRIVATE, ids=lambda kind: kind.__name__)
def test_every_mechanism_has_a_proof_note(kind):
    source = Path(inspect.getfile(kind))
    note = source.with_suffix(".md").read_text()
    for part in (
        "Setting",
        "Unit: owner",
        "Adjacency",
        "Adversary",
        "Claim",
        "QED",
        "ariance",
        "Edges",
    ):
        assert part in note, part
    assert source.with_suffix(".md").name in source.read_text().split('"""')[1]


@pytest.mark.parametrize("example", re.findall(r"```python\n(.*?)```", README, flags=re.S))
def test_the_readme_examples_run(example):
    assert len(example.strip().splitlines()) <= 15
    exec(compile(example, "README", "exec"), {})


def test_links_in_the_readme_lead_somewhere():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target.partition("#")[0]).exists(), target


def test_files_that_begin_first_are_there():
    assert [name for name in LONGEST if not (ROOT / name).exists()] == []


def test_public_names_exist_and_say_what_they_are():
    for name in tacit.__all__:
        assert getattr(tacit, name).__doc__, name


def test_nothing_of_one_machine_is_in_the_repository():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    home = re.compile(r"/(?:root|home/\w+|work)/|https?://[^ )\"']*(?:pypi|pythonhosted|simple/)")
    for name in listed:
        path = ROOT / name
        if (
            path.suffix in {".py", ".md", ".toml", ".txt", ""}
            and path.is_file()
            and path != Path(__file__)
        ):
            assert not home.search(path.read_text()), name


def test_a_class_name_means_one_thing_in_the_package():
    places: dict[str, list[str]] = {}
    for path in sorted((ROOT / "src" / "tacit").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def _others(tree):
    """Names in a file that are somebody else's."""
    mine = ("tacit", "benchmarks", "reliability")
    return {
        each.asname or each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith(mine)
        for each in node.names
    }


def test_calls_of_our_own_name_their_arguments_beyond_the_fifth():
    """Functions and classes of the sources; compiled kernels, which take no names, are left out."""
    trees = {
        path: ast.parse(path.read_text())
        for folder in ("src", "papers/src", "benchmarks", "reliability")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    ours, others = {"cls"}, set[str]()
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                drawn = " ".join(ast.unparse(each) for each in node.decorator_list)
                compiled = "kernel" in drawn or "inline" in drawn
                many = isinstance(node, ast.FunctionDef) and node.args.vararg is not None
                (others if compiled or many else ours).add(node.name)
    long_calls = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and sum(not isinstance(each, ast.Starred) for each in node.args) > 5
        and getattr(node.func, "attr", getattr(node.func, "id", ""))
        in ours - others - _others(tree)
    ]
    assert long_calls == []
