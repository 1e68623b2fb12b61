"""What an exit status means; `tacit --help` prints this table."""

import tacit

DONE = 0
FAILED = 1  # a check found something wrong
BAD_INPUT = 2  # an option, a file or a setting must be changed; the message says how
DO_NOT_COLLECT = 3  # the plan advises against asking owners
BROKEN = 70  # a fault of the program itself, with a traceback to report
INTERRUPTED = 130  # Ctrl-C; what was done is kept, and a line says where

TABLE = (
    "Begin with: tacit demo. With --json every command speaks to programs. Exit status: 0 done; 1 a check failed; "
    "2 something you gave must be changed (one line says what); 3 the plan says do not collect; 70 a fault of tacit "
    "itself; 130 stopped by Ctrl-C (what is done is kept, one line says where)."
)

# What a user can put right: options, files, keys, other machines. Errors of our own classes were raised to be read.
_USERS_OWN = (ValueError, OSError, MemoryError)
_READABLE = ("tacit.", "sqlalchemy.exc", "httpx")


def failure(problem: BaseException) -> tuple[int, str]:
    """The exit status of an error, and the line that says what to do.

    >>> failure(ValueError("epsilon must be > 0,\\n got -1"))
    (2, 'epsilon must be > 0, got -1')
    >>> failure(ZeroDivisionError("inside"))[0]
    70
    """
    if isinstance(problem, ModuleNotFoundError) and problem.name and not problem.name.startswith("tacit"):
        missing = problem.name.partition(".")[0]
        return BAD_INPUT, f"{missing} is missing: pip install 'tacit[service]' adds all that the network needs"
    if isinstance(problem, _USERS_OWN):
        return BAD_INPUT, " ".join(str(problem).split()) or type(problem).__name__
    if type(problem).__module__.startswith(_READABLE):
        return BAD_INPUT, (str(problem).splitlines() or [type(problem).__name__])[0]
    return BROKEN, f"this is a fault of tacit {tacit.__version__}; please report it with the lines above"
