"""What an exit status means; `tacit --help` prints this table."""

FAILED = 1  # a check found something wrong
BAD_INPUT = 2  # an option, a file or a setting must be changed; the message says how
DO_NOT_COLLECT = 3  # the plan advises against asking owners
BROKEN = 70  # a fault of the program itself, with a traceback to report
INTERRUPTED = 130  # Ctrl-C; what was done is kept where the command says so

TABLE = (
    "Exit status: 0 done; 1 a check failed; 2 something you gave must be changed (one line says what); "
    "3 the plan says do not collect; 70 a fault of tacit itself; 130 stopped by Ctrl-C."
)
