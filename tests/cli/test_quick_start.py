"""What a command says at once is said before anything is loaded that computes. Modules are
counted, not seconds: those depend on the machine.
"""

import json
import subprocess
import sys

import pytest

_HEAVY = ("numpy", "numba", "scipy", "sklearn", "pandas", "pyarrow", "httpx")
_WATCH = """
import json, sys
from tacit.cli import main
sys.argv = ["tacit", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    loaded = sorted({name.partition(".")[0] for name in sys.modules})
    print(json.dumps([end.code, loaded]), file=sys.stderr)
"""


def loaded_by(*words, folder):
    """The exit status of a command in a process of its own, what it said, and what it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", _WATCH, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        check=False,
    )
    *said, last = done.stderr.strip().splitlines()
    status, modules = json.loads(last)
    return status, done.stdout + "\n".join(said), modules


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--help"], 0, "predict"),
        (["fit", "--help"], 0, "--public"),
        (["plan", "--help"], 0, "--owners"),
        (["serve", "--help"], 0, "campaign"),
        (["ledger", "show", "--help"], 0, "--policy"),
        (["explain", "no.tacit"], 2, "no.tacit is not there"),
        (["fit", "people.csv", "--label", "y", "--epsilon", "much"], 2, "--epsilon"),
        (["fit", "no.csv", "--label", "y", "--public", "no.csv"], 2, "no.csv is not there"),
        (["fit", "no.csv", "--label", "y"], 2, "--public FILE is missing"),
        (["plan", "no.csv", "--label", "y", "--owners", "9"], 2, "no.csv is not there"),
        (["predict", "no.tacit", "no.csv"], 2, "no.tacit is not there"),
        (["fit", "ragged.csv", "--label", "y", "--public", "good.csv"], 2, "line 3 has 3 values"),
        (["fit", "good.csv", "--label", "no", "--public", "ragged.csv"], 2, "column 'no' is not"),
        (["plan", "ragged.csv", "--label", "y", "--owners", "9"], 2, "line 3 has 3 values"),
        (["predict", "good.csv", "ragged.csv"], 2, "line 3 has 3 values"),
        (["predict", "good.csv", "good.csv", "--encoding", "utf-9"], 2, "one that Python knows"),
    ],
)
def test_help_wrong_options_and_missing_files_load_nothing_that_computes(
    words, status, said, tmp_path
):
    (tmp_path / "good.csv").write_text("x,y\n1,a\n2,b\n")
    (tmp_path / "ragged.csv").write_text('x,y\n1,"a\nb",\n')
    found, text, modules = loaded_by(*words, folder=tmp_path)
    assert found == status
    assert said in text
    assert not set(_HEAVY) & set(modules)


def test_ten_rows_are_predicted_without_what_fits(folder, model):
    rows = (folder / "new.csv").read_text().splitlines(keepends=True)
    (folder / "ten.csv").write_text("".join(rows[:11]))
    status, text, modules = loaded_by("predict", model, "ten.csv", folder=folder)
    assert status == 0
    assert "10 predictions" in text
    assert not {*_HEAVY, "llvmlite", "joblib", "matplotlib"} - {"numpy", "pyarrow"} & set(modules)


def test_a_fit_does_not_compile_the_arithmetic_of_sums_that_it_does_not_make():
    program = "import sys, tacit.cli._fitting; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    modules = done.stdout.split()
    assert "tacit.sums.prio3.fields" in modules
    assert not {"tacit.sums.prio3.field64", "tacit.sums.prio3.field128"} & set(modules)


def test_a_fit_of_a_small_table_loads_no_compiler(folder, tmp_path):
    for name in ("people.csv", "mine.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    asked = ("--label", "rich", "--public", "mine.csv", "--epsilon", "2")
    status, text, modules = loaded_by("fit", "people.csv", *asked, folder=tmp_path)
    assert status == 0, text
    assert (tmp_path / "model.tacit").exists()
    assert not {"numba", "llvmlite"} & set(modules)
