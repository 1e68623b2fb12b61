"""Measurements in fresh processes."""

import json
import os
import subprocess
import sys


def figures_of(module: str, *arguments: object) -> dict[str, float]:
    """What `python -m module arguments` prints as JSON, with this process's search path."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
    done = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures
