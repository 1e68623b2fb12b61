"""A `tacit` command in this process, with the functions that it enters written down in order.

python -m benchmarks.walks_child WHERE.json fit people.csv ...
"""

import json
import sys
import threading
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules, walk_packages
from types import CodeType, FrameType
from typing import Any

from tacit._util.kernels import compile_at_once


def import_everything() -> dict[str, Path]:
    """Import all modules of the project, so that none is imported on the walk; its packages."""
    found = {}
    ours = [each for each in iter_modules() if each.name.startswith("tacit") and each.ispkg]
    for top in [each.name for each in ours]:
        package = import_module(top)
        found[top] = Path(package.__path__[0])
        for module in walk_packages(package.__path__, f"{top}."):
            try:
                import_module(module.name)
            except ModuleNotFoundError as missing:  # of an extra that is not installed
                if (missing.name or top).startswith("tacit"):
                    raise
    return found


class Walk:
    """Named functions of the project in the order in which any thread first enters them."""

    def __init__(self, packages: dict[str, Path]) -> None:
        self._roots = {f"{path}/": name for name, path in packages.items()}
        self._seen: set[CodeType] = set()
        self.steps: list[tuple[str, str]] = []

    def watch(self, frame: FrameType, event: str, argument: Any) -> None:
        """What a profiler is called with; on entering a function it notes its file and name."""
        code = frame.f_code
        if event != "call" or code in self._seen:
            return
        self._seen.add(code)
        name = code.co_qualname.rpartition(".")[2]
        if code.co_filename.endswith(".py") and not name.startswith("<"):
            for root, package in self._roots.items():
                if code.co_filename.startswith(root):
                    file = f"{package}/{code.co_filename[len(root) :]}"
                    self.steps.append((file, code.co_qualname))

    def begin(self) -> None:
        threading.setprofile(self.watch)
        sys.setprofile(self.watch)

    def end(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def main() -> None:
    """Run the command line behind the name of a file; the walk is written however it ends."""
    where, sys.argv = Path(sys.argv[1]), ["tacit", *sys.argv[2:]]
    walk = Walk(import_everything())
    run = import_module("tacit.__main__").main
    compile_at_once()  # the inside of loops is no part of a walk, however large they are
    walk.begin()
    try:
        run()
    finally:
        walk.end()
        where.write_text(json.dumps(walk.steps))


if __name__ == "__main__":
    main()
