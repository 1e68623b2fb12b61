"""The wheel: everything that runs is in it, and nothing else is needed."""

import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import tacit

ROOT = Path(__file__).parent.parent


def test_the_wheel_holds_code_pages_proofs_and_types(tmp_path):
    pytest.importorskip(
        "hatchling", reason="the extra dev brings hatchling, which builds the wheel"
    )
    code = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"tacit-{tacit.__version__}-py3-none-any.whl"
    with ZipFile(wheel) as content:
        names = set(content.namelist())
        entry = content.read(f"tacit-{tacit.__version__}.dist-info/entry_points.txt").decode()
    source = ROOT / "src"
    kept = {"__pycache__", ".ruff_cache"}
    files = {path for path in source.rglob("*") if path.is_file() and not kept & set(path.parts)}
    assert {path.relative_to(source).as_posix() for path in files} <= names
    assert "tacit/py.typed" in names
    assert not any(name.startswith("tests/") for name in names)
    assert "tacit = tacit.__main__:main" in entry


def test_the_version_is_written_once():
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()
    written = [
        path
        for path in (ROOT / "src").rglob("*.py")
        if re.search(r"^__version__ =", path.read_text(), re.M)
    ]
    assert written == [ROOT / "src" / "tacit" / "__init__.py"]
