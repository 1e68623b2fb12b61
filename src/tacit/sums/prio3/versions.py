"""Why a vector fails: whether it may be one of another version of the draft.

All that is derived from a seed is bound to the version (`Prio3._tag`), so in a vector of another
version the shares of every report differ from the first element on, where a mistake in ours, or in
the file, leaves some of them as they are. Which version it is of is tried; where none
of them gives its bytes, more than the number has changed, or it is something else.
"""

from dataclasses import replace
from typing import Any

from tacit.sums.prio3.instances import WrongSizeError
from tacit.sums.prio3.prio3 import VERSION
from tacit.sums.prio3.replay import (
    INSTANCES,
    NO_VECTOR,
    XOF,
    MismatchError,
    Replay,
    judge,
    judge_xof,
)

_TRIED = range(32)  # versions of the draft


def explain(kind: str, vector: dict[str, Any], size: int) -> str:
    """What may be said of a vector that has failed, from a file of so many bytes; else nothing."""
    try:
        if not (_is_another_xof(vector) if kind == XOF else _is_another(kind, vector)):
            return ""
    except NO_VECTOR:
        return ""
    of_it = [] if kind == XOF else [each for each in _TRIED if _passes(kind, vector, size, each)]
    if of_it:
        return f"it is of version {of_it[0]} of the draft, and this is version {VERSION}"
    return (
        "nothing that is derived agrees, so it may be of another version of the draft: this is "
        f"version {VERSION}"
    )


def _is_another(kind: str, vector: dict[str, Any]) -> bool:
    """Whether in no report that should be good anything agrees that is derived from seeds: its
    shares, or where it is not shown how these come about, what servers derive that hold a seed.
    """
    replay = Replay(INSTANCES[kind](vector), vector)
    good = [each for each in vector["operations"] if each["success"] is True]
    shards = [each for each in good if each["operation"] == "shard"]
    derived = shards or [
        each for each in good if each["operation"] == "verify_init" and each["aggregator_id"] > 0
    ]
    for operation in derived:
        try:
            refusal = replay.refuses(operation["operation"], operation)
        except MismatchError as problem:
            if not problem.wholly:
                return False
        else:
            if not isinstance(refusal, WrongSizeError):
                return False
    return bool(derived)


def _is_another_xof(vector: dict[str, Any]) -> bool:
    try:
        judge_xof(vector)
    except MismatchError as problem:
        return problem.wholly
    return False


def _passes(kind: str, vector: dict[str, Any], size: int, version: int) -> bool:
    """Whether a vector is one of this version."""
    try:
        judge(kind, vector, size, replace(INSTANCES[kind](vector), version=version))
    except (MismatchError, *NO_VECTOR):
        return False
    return True
