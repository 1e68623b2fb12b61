"""The draft's test vectors, good and bad, replayed bit for bit: python -m
tacit.sums.prio3.vectors FOLDER.

What a file is of says its name, or that of its folder where its own names no algorithm
(Prio3Count_0.json, Prio3Count/0.json). A file passes if every operation that should succeed gives
the file's bytes exactly, and every one that should fail is refused where the file says so
(`replay`). A file of a kind that is judged here and that cannot be read, or lacks something, fails,
and so does one of another version of the draft, of which the reason says so (`versions`). Files of
other kinds are reported as not judged. Exit 1 if a file fails or none passes.
"""

import json
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.sums.prio3.prio3 import VERSION
from tacit.sums.prio3.replay import INSTANCES, NO_VECTOR, XOF, MismatchError, judge
from tacit.sums.prio3.versions import explain

_PINE = (
    "PINE is not used here: vectors of bounded length are proven by a circuit of our own, "
    "Prio3BoundedVector"
)
_WORD = re.compile("[^A-Za-z0-9]")
_KINDS = {kind.lower(): kind for kind in (XOF, *INSTANCES)}


@dataclass(frozen=True)
class VectorVerdict:
    """What became of a file: `passed` is None where it could not be judged."""

    name: str
    passed: bool | None
    detail: str

    def __str__(self) -> str:
        word = {True: "pass", False: "FAIL", None: "not judged"}[self.passed]
        return f"{word:10} {self.name}: {self.detail}"


def judge_folder(folder: Path) -> list[VectorVerdict]:
    """A verdict for every JSON file of a folder and of those in it, in the order of their names."""
    return [
        replace(judge_file(path), name=path.relative_to(folder).as_posix())
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() == ".json" and not path.is_dir()
    ]


def _kind_of(path: Path) -> str:
    """What a file is of: the first word of its name, or of its folder's where that is no name of an
    algorithm, which begin with a capital.
    """
    own, folder = (_WORD.split(name)[0] for name in (path.name, path.resolve().parent.name))
    known = _KINDS.get(own.lower())
    return known or (own if own[:1].isupper() else _KINDS.get(folder.lower(), own))


def judge_file(path: Path) -> VectorVerdict:
    kind = _kind_of(path)
    if path.exists() and not path.is_file():
        return VectorVerdict(path.name, None, "no regular file")
    if kind.startswith("Pine"):
        return VectorVerdict(path.name, None, _PINE)
    if kind != XOF and kind not in INSTANCES:
        return VectorVerdict(path.name, None, f"{kind} is no kind that is judged here")
    try:
        text = path.read_text(encoding="utf-8-sig")
        vector = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        return VectorVerdict(path.name, False, f"not a readable JSON file ({error})")
    try:
        return VectorVerdict(path.name, True, judge(kind, vector, len(text)))
    except MismatchError as error:
        why = explain(kind, vector, len(text))
        return VectorVerdict(path.name, False, f"{error}; {why}" if why else str(error))
    except KeyError as missing:
        reason = (
            f"no vector of this kind, or of another version of the draft (this is version "
            f"{VERSION}): it has no {missing}"
        )
        return VectorVerdict(path.name, False, reason)
    except NO_VECTOR as error:
        reason = f"no vector of this kind ({type(error).__name__}: {error})"
        return VectorVerdict(path.name, False, reason)


def main(arguments: list[str]) -> int:
    if not (len(arguments) == 1 and Path(arguments[0]).is_dir()):
        print(
            "usage: python -m tacit.sums.prio3.vectors FOLDER (of test vectors, JSON)",
            file=sys.stderr,
        )
        return 2
    verdicts = judge_folder(Path(arguments[0]))
    for verdict in verdicts:
        print(verdict)
    counts = [
        sum(verdict.passed is outcome for verdict in verdicts) for outcome in (True, False, None)
    ]
    print("{} passed, {} failed, {} not judged".format(*counts))
    return 0 if counts[0] and not counts[1] else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
