"""Notebooks of the documentation: run, written back with what they show, and turned into pages.

    python docs/_notebooks.py            # runs all, and writes their outputs into them
    python docs/_notebooks.py hospitals  # one of them
    python docs/_notebooks.py --check    # fails where one shows something else than its code says

They are ordinary notebooks and open in Jupyter. Cells run here without it, in one namespace and in
an empty folder: printed lines, the value of a last expression, and figures become outputs as
Jupyter would write them. So building and testing the documentation needs no kernel, and the tests
can hold what a page shows against what its code says.
"""

import ast
import base64
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

_TO_NOTEBOOK = re.compile(r"\]\(([\w-]+)\.ipynb\)")
FOLDER = Path(__file__).parent / "notebooks"
DOTS = 80  # per inch of a figure: two columns of a page, and small files


def notebooks() -> list[Path]:
    """All of them, in the order in which one would read them (`tacit.order` in their metadata)."""
    return sorted(FOLDER.glob("*.ipynb"), key=lambda path: read(path)["metadata"]["tacit"]["order"])


def read(path: Path) -> Any:
    """A notebook as the JSON that it is."""
    return json.loads(path.read_text(encoding="utf-8"))


def title_of(path: Path) -> str:
    """The heading that a notebook begins with."""
    return str(text(read(path)["cells"][0]["source"])).splitlines()[0].removeprefix("# ")


def text(lines: str | list[str]) -> str:
    """Jupyter keeps texts as lists of lines."""
    return lines if isinstance(lines, str) else "".join(lines)


def run(notebook: Any, name: str) -> Iterator[list[dict[str, Any]]]:
    """The outputs of each code cell, run one after the other in the folder one is in."""
    names: dict[str, Any] = {"__name__": name}
    module = type(sys)(name)
    module.__dict__.update(names)
    sys.modules[name] = module  # dataclasses look up the module that they are made in
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")  # what others left open is not of these cells
    count = 0
    try:
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                yield _run_cell(text(cell["source"]), module.__dict__, count)
    finally:
        del sys.modules[name]


def _run_cell(code: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value, printed = None, io.StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append(
            {"name": "stdout", "output_type": "stream", "text": lines_of(printed.getvalue())}
        )
    figures = list(_figures())
    if value is not None and not (figures and not hasattr(value, "_repr_html_")):
        outputs.append(
            {
                "data": {key: lines_of(said) for key, said in _shown(value).items()},
                "execution_count": count,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs + figures


def _shown(value: Any) -> dict[str, str]:
    told = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        told["text/html"] = str(value._repr_html_())
    return dict(sorted(told.items()))


def _figures() -> Iterator[dict[str, Any]]:
    """What matplotlib drew since the last cell, if it was asked at all."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums() if pyplot else ():
        figure, picture = pyplot.figure(number), io.BytesIO()
        figure.savefig(picture, format="png", dpi=DOTS, bbox_inches="tight", metadata={})
        pyplot.close(figure)
        yield {
            "data": {
                "image/png": base64.b64encode(picture.getvalue()).decode() + "\n",
                "text/plain": ["<Figure>"],
            },
            "metadata": {},
            "output_type": "display_data",
        }


def lines_of(said: str) -> list[str]:
    """A text as Jupyter keeps it."""
    return said.splitlines(keepends=True)


def page_of(path: Path) -> str:
    """A notebook as Markdown: texts, code, and below it what it showed."""
    parts = []
    for cell in read(path)["cells"]:
        source = text(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_output(each) for each in cell["outputs"]]
    whole = _TO_NOTEBOOK.sub(r"](\1.md)", "\n\n".join(parts))  # others are pages, too
    return f"{whole}\n\nThis page is a notebook: [{path.name}]({path.name}) opens in Jupyter.\n"


def _output(output: dict[str, Any]) -> str:
    """One output; HTML and pictures in a box that may be wider than a phone and then scrolls."""
    data = output.get("data", {})
    if "image/png" in data:
        coded = text(data["image/png"]).strip()
        source = f"data:image/png;base64,{coded}"
        return f'<p class="output"><img alt="what the cell drew" src="{source}"></p>'
    if "text/html" in data:
        html = " ".join(text(data["text/html"]).split("\n"))
        return f'<div class="output">{html}</div>'
    said = text(output["text"] if "text" in output else data["text/plain"])
    return f"```text\n{said.rstrip()}\n```"


def said_by(outputs: list[dict[str, Any]]) -> list[str]:
    """The words of outputs, and of what kind the others are."""
    return [
        text(each["text"]) if "text" in each else " ".join(sorted(each["data"])) + _plain(each)
        for each in outputs
    ]


def _plain(output: dict[str, Any]) -> str:
    """What is printed of a value where nothing better is shown of it."""
    data = output["data"]
    return "" if "text/html" in data else f": {text(data['text/plain'])}"


def check(path: Path) -> None:
    """Run a notebook in the folder one is in; what it shows must be what its code says."""
    notebook = read(path)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for place, given in enumerate(run(notebook, "notebook")):
        shown, found = said_by(cells[place]["outputs"]), said_by(given)
        if not shown == found:
            raise ValueError(f"{path.name}, cell {place + 1} shows {shown} and gives {found}")


def write(path: Path) -> None:
    """Run a notebook in an empty folder, and write it back with its outputs."""
    notebook = read(path)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        outputs = list(run(notebook, "notebook"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, (cell, shown) in enumerate(zip(cells, outputs, strict=True), start=1):
        cell["execution_count"], cell["outputs"] = count, shown
    path.write_text(
        json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "agg"
    wanted = [each for each in sys.argv[1:] if each != "--check"]
    for each in notebooks():
        if not wanted or each.stem in wanted:
            if "--check" in sys.argv:
                with tempfile.TemporaryDirectory() as empty, chdir(empty):
                    check(each)
            else:
                write(each)
            print(f"{each.name}: {each.stat().st_size:,} bytes")
