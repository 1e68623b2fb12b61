"""An owner's process can read every question: all that travels is known after importing the
learners; and it loads nothing that only fits.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tacit

SOURCES = Path(tacit.__file__).parent


@pytest.fixture(scope="module")
def told():
    """By a process of an owner: the tags that it knows when it has a gate, and what it has loaded
    when it can join.
    """
    code = (
        "import sys, tacit.owner.gate; from tacit.wire.codec import _class_of; "
        "print(*_class_of, sep='\\t'); import tacit.service.device.join; "
        "print(*sys.modules, sep='\\t')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    known, loaded = done.stdout.splitlines()
    return set(known.split("\t")), set(loaded.split("\t"))


def test_every_message_of_the_learners_is_known_to_an_owner(told):
    tags = {
        tag
        for path in (SOURCES / "learners").rglob("*.py")
        for tag in re.findall(r'^@message\("(.+?)"\)', path.read_text(), re.M)
    }
    assert len(tags) > 10
    assert tags <= told[0]


def test_an_owner_that_joins_loads_nothing_that_fits(told):
    """Two thirds of a second of processor, and eighty megabytes, of every owner."""
    assert {"numpy", "tacit.algorithms.public_baseline"} <= told[1]
    assert not {"sklearn", "scipy.stats"} & told[1]
