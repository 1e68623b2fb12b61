"""The wheel: everything that runs is in it, and nothing else is needed."""

import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import tacit
import tacit_papers

ROOT = Path(__file__).parent.parent


def wheel_of(project, out):
    """Build a wheel; its path, the names in it, and what it says about entry points."""
    pytest.importorskip(
        "hatchling", reason="the extra dev brings hatchling, which builds the wheel"
    )
    code = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", code, str(out)], cwd=project, check=True, capture_output=True
    )
    (wheel,) = out.glob("*.whl")
    with ZipFile(wheel) as content:
        names = set(content.namelist())
        (entries,) = (name for name in names if name.endswith("entry_points.txt"))
        return wheel, names, content.read(entries).decode()


def files_of(source):
    left_out = {"__pycache__", ".ruff_cache"}
    files = (path for path in source.rglob("*") if path.is_file())
    return {path.relative_to(source).as_posix() for path in files if not left_out & set(path.parts)}


def test_the_wheel_holds_code_pages_proofs_and_types(tmp_path):
    wheel, names, entries = wheel_of(ROOT, tmp_path)
    assert wheel.name == f"tacit-{tacit.__version__}-py3-none-any.whl"
    assert files_of(ROOT / "src") <= names
    assert "tacit/py.typed" in names
    assert not any(name.startswith("tests/") for name in names)
    assert "tacit = tacit.__main__:main" in entries


def test_the_wheel_holds_nothing_of_a_paper(tmp_path):
    _, names, entries = wheel_of(ROOT, tmp_path)
    own = f"tacit-{tacit.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"tacit", own}
    words = ("paper", "publish", "claim", "dataset", "reproduce")
    code = [name for name in names if name.endswith(".py")]
    assert not [name for name in code if any(word in Path(name).stem for word in words)]
    assert "tacit.commands" not in entries


def test_the_papers_are_a_wheel_of_their_own(tmp_path):
    wheel, names, entries = wheel_of(ROOT / "papers", tmp_path)
    assert wheel.name == f"tacit_papers-{tacit_papers.__version__}-py3-none-any.whl"
    assert files_of(ROOT / "papers" / "src") <= names
    own = f"tacit_papers-{tacit_papers.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"tacit_papers", own}
    assert "[tacit.commands]\nreproduce = tacit_papers.reproduce" in entries


def test_the_version_is_written_once():
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()
    written = [
        path
        for path in (ROOT / "src").rglob("*.py")
        if re.search(r"^__version__ =", path.read_text(), re.M)
    ]
    assert written == [ROOT / "src" / "tacit" / "__init__.py"]


def test_the_package_lists_its_public_names():
    """Also those that are not imported yet, and nothing else."""
    code = "import tacit; print(*dir(tacit)); [getattr(tacit, name) for name in dir(tacit)]"
    told = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert told == sorted(tacit.__all__)
    assert {"PrivateClassifier", "Schema", "plan", "load", "PrivUnit"} <= set(told)


def test_without_the_papers_reproduce_says_how_to_get_them():
    """In one line, in a process whose entry points are those of `tacit` alone."""
    code = (
        "import sys, tacit.cli; tacit.cli.entry_points = lambda **given: ();"
        "sys.argv = ['tacit', 'reproduce', 'a']; tacit.cli.main()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == (
        "tacit: tacit reproduce comes with tacit-papers: pip install tacit-papers "
        "(in a clone: pip install ./papers)\n"
    )
