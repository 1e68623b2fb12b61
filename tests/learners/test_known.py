"""An owner's process can read every question: all that travels is known after importing the
learners.
"""

import re
import subprocess
import sys
from pathlib import Path

import tacit

SOURCES = Path(tacit.__file__).parent


def test_every_message_of_the_learners_is_known_to_an_owner():
    tags = {
        tag
        for path in (SOURCES / "learners").rglob("*.py")
        for tag in re.findall(r'^@message\("(.+?)"\)', path.read_text(), re.M)
    }
    code = (
        "import tacit.owner.gate; from tacit.wire.codec import _class_of; "
        "print('\\n'.join(_class_of))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split("\n")
    assert len(tags) > 10
    assert tags <= set(told)
