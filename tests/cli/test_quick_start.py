"""What a command says at once is said before anything is loaded that computes. Modules are
counted, not seconds: those depend on the machine.
"""

import json
import subprocess
import sys

import pytest

_HEAVY = ("numpy", "numba", "scipy", "sklearn", "pandas", "pyarrow", "httpx")
_WATCH = """
import json, os, sys
from tacit.cli import main
for number, words in enumerate(json.loads(sys.argv[1])):
    if not os.fork():  # each as in a process that has loaded the command line and nothing else
        for file, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{number}.{name}", os.O_WRONLY | os.O_CREAT), file)
        sys.argv = ["tacit", *words]
        try:
            main()
        except SystemExit as end:
            loaded = sorted({name.partition(".")[0] for name in sys.modules})
            sys.stdout.flush()
            print(json.dumps([end.code, loaded]), file=sys.stderr, flush=True)
        os._exit(0)
    os.wait()
"""


def loaded_by(*commands, folder):
    """Of commands in processes of their own: exit status, what was said, and what was loaded."""
    words = json.dumps([[str(word) for word in each] for each in commands])
    subprocess.run([sys.executable, "-c", _WATCH, words], timeout=300, cwd=folder, check=True)
    found = []
    for number in range(len(commands)):
        out, err = ((folder / f"{number}.{name}").read_text() for name in ("out", "err"))
        *said, last = err.strip().splitlines()
        status, modules = json.loads(last)
        found.append((status, out + "\n".join(said), modules))
    return found


QUICK = [
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
]


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """What became of all of them."""
    folder = tmp_path_factory.mktemp("quick")
    (folder / "good.csv").write_text("x,y\n1,a\n2,b\n")
    (folder / "ragged.csv").write_text('x,y\n1,"a\nb",\n')
    return loaded_by(*(words for words, _, _ in QUICK), folder=folder)


@pytest.mark.parametrize("number", range(len(QUICK)))
def test_help_wrong_options_and_missing_files_load_nothing_that_computes(quick, number):
    _, status, said = QUICK[number]
    found, text, modules = quick[number]
    assert found == status
    assert said in text
    assert not set(_HEAVY) & set(modules)


def test_ten_rows_are_predicted_without_what_fits(folder, model):
    rows = (folder / "new.csv").read_text().splitlines(keepends=True)
    (folder / "ten.csv").write_text("".join(rows[:11]))
    ((status, text, modules),) = loaded_by(["predict", model, "ten.csv"], folder=folder)
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
    ((status, text, modules),) = loaded_by(["fit", "people.csv", *asked], folder=tmp_path)
    assert status == 0, text
    assert (tmp_path / "model.tacit").exists()
    assert not {"numba", "llvmlite"} & set(modules)
