"""What an exit status means; `tacit --help` prints this table.

Wrong options in plain words: what the option must be, what it means, and what was given.
"""

import re
import sys
from itertools import pairwise
from typing import Any

import tacit

DONE = 0
FAILED = 1  # a check found something wrong
BAD_INPUT = 2  # an option, a file or a setting must be changed; the message says how
DO_NOT_COLLECT = 3  # the plan advises against asking owners
BROKEN = 70  # a fault of the program itself, with a traceback to report
INTERRUPTED = 130  # Ctrl-C; what was done is kept, and a line says where

TABLE = (
    "Begin with: tacit demo. With --json every command speaks to programs. Exit status: 0 "
    "done; 1 a check failed; "
    "2 something you gave must be changed (one line says what); 3 the plan says do not "
    "collect; 70 a fault of tacit "
    "itself; 130 stopped by Ctrl-C (what is done is kept, one line says where)."
)

# What a user can put right: options, files, keys, other machines. Errors of our own classes were
# raised to be read.
_USERS_OWN = (ValueError, OSError, MemoryError)
_READABLE = ("tacit.", "sqlalchemy.exc", "httpx")


def failure(problem: BaseException) -> tuple[int, str]:
    """The exit status of an error, and the line that says what to do.

    >>> failure(ValueError("epsilon must be > 0,\\n got -1"))
    (2, 'epsilon must be > 0, got -1')
    >>> failure(ZeroDivisionError("inside"))[0]
    70
    """
    if (
        isinstance(problem, ModuleNotFoundError)
        and problem.name
        and not problem.name.startswith("tacit")
    ):
        missing = problem.name.partition(".")[0]
        return (
            BAD_INPUT,
            f"{missing} is missing: pip install 'tacit[service]' adds all that the network needs",
        )
    if isinstance(problem, _USERS_OWN):
        return BAD_INPUT, " ".join(str(problem).split()) or type(problem).__name__
    if type(problem).__module__.startswith(_READABLE):
        return BAD_INPUT, (str(problem).splitlines() or [type(problem).__name__])[0]
    return (
        BROKEN,
        f"this is a fault of tacit {tacit.__version__}; please report it with the lines above",
    )


_RULES = (  # the library's wording, and ours
    (re.compile(r"Input should be a valid integer.*"), "a whole number"),
    (re.compile(r"Input should be a valid number.*"), "a number"),
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"\1 or more"),
    (re.compile(r"Input should be less than or equal to (\S+)"), r"\1 or less"),
)


def in_plain_words(wrong: Any) -> str:
    """One line for an error of the library that reads options; its own words where they are
    plain enough.
    """
    command = wrong.ctx.command_path if wrong.ctx is not None else "tacit"
    said = " ".join(wrong.format_message().split())
    rule = next(
        (found.expand(ours) for theirs, ours in _RULES if (found := theirs.search(said))), ""
    )
    if rule and getattr(wrong, "param", None) is not None:
        said = _rule_text(wrong.param, rule)
    return f"{said.rstrip('.')}. See: {command} --help"


def _rule_text(param: Any, rule: str) -> str:
    name, about = (
        max(param.opts, key=len),
        str(getattr(param, "help", None) or "").partition(";")[0].rstrip("."),
    )
    given = ", ".join(repr(value) for value in _values_of(name))
    meant = f": {about[0].lower()}{about[1:]}" if about else ""
    return f"{name} must be {rule}{meant}" + (f"; got {given}" if given else "")


def _values_of(name: str) -> list[str]:
    """What the command line has for an option, each time that it is there."""
    words = sys.argv[1:]
    after = [value for word, value in pairwise(words) if word == name]
    return after + [word.partition("=")[2] for word in words if word.startswith(f"{name}=")]
