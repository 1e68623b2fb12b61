"""What commands share: options, what an exit status means, wrong options in plain words, checks of
what was given, logs of services (events with a few figures, never what was sent).
"""

import json
import logging
import re
import socket
import sys
import time
from collections.abc import Collection
from datetime import UTC, datetime
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import tacit
from tacit._util.checks import bad, one_of
from tacit.sums import HOW

if TYPE_CHECKING:
    from tacit.wire.envelopes import Vault

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


_EXTRAS = {
    "opentelemetry": ("otel", "what traces need"),
    "ray": ("ray", "what a cluster needs"),
}


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
        extra, what = _EXTRAS.get(missing, ("service", "all that the network needs"))
        return BAD_INPUT, f"{missing} is missing: pip install 'tacit[{extra}]' adds {what}"
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


Seed = Annotated[
    int, typer.Option(help="Seed of the simulation: reproducible, not private.", min=0)
]
Label = Annotated[str, typer.Option(help="The column to predict.")]
SchemaFile = Annotated[
    Path | None,
    typer.Option(help="Bounds, categories and classes (TOML) instead of what public rows show."),
]
Categories = Annotated[
    list[str] | None, typer.Option(help="A column of numbers that are codes; repeat for more.")
]
LeaveOut = Annotated[
    list[str] | None, typer.Option(help="A column that is no feature; repeat for more.")
]
ListenTo = Annotated[
    str | None,
    typer.Option(
        help="Of peers (what paper D leaves for later): alike (default; a tenth of epsilon tells "
        "whose distribution is like one's own), or everybody."
    ),
]
Target = Annotated[
    str,
    typer.Option(
        help="Of sites (paper C): what the label holds, classes or numbers, which are predicted as "
        "they are."
    ),
]
TargetRange = Annotated[
    tuple[float, float] | None,
    typer.Option(
        help="With --target numbers: public bounds LOW HIGH of the label, beyond is the bound; "
        "default: as public rows show."
    ),
]
CLASSES, NUMBERS = TARGETS = "classes", "numbers"
Decimal = Annotated[
    str, typer.Option(help="Sign before decimals in CSV files: a point or a comma.")
]
Encoding = Annotated[str, typer.Option(help="Encoding of CSV files, as latin-1.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log one JSON object per line.")]
HomeFolder = Annotated[
    Path | None,
    typer.Option(
        help="Your home: identity, ledger, pins; default: tacit in the user's data folder.",
        envvar="TACIT_HOME",
    ),
]
Authority = Annotated[
    Path | None, typer.Option("--ca", help="Certificate to trust (PEM).", exists=True)
]
Patience = Annotated[
    float, typer.Option(help="Seconds to go on trying while the coordinator is away.")
]


def check_target(
    method: str, target: str, bounds: tuple[float, float] | None, trust: Collection[str]
) -> None:
    """Refuse numbers where only classes are learned, and bounds that cannot be meant."""
    if one_of("target", target, TARGETS) == CLASSES:
        if bounds is not None:
            raise ValueError(f"--target-range goes with --target {NUMBERS}, and only there")
        return
    if method != "sites":
        raise ValueError(
            f"--target {NUMBERS} goes with --method sites, and only there: --method {method} "
            "learns classes"
        )
    if HOW in trust:
        raise ValueError(f"--target {NUMBERS} does not go with --trust {HOW!r}: sites train alone")
    if bounds is not None and not -inf < bounds[0] < bounds[1] < inf:
        raise bad("target_range", "two numbers, the smaller one first", bounds)


def home_folder(given: Path | None, rehearsal: bool = False) -> Path:
    """The home that was given, else the user's; a rehearsal's lies apart."""
    from tacit.service.device.home import default_home

    if given is not None:
        return given
    return default_home() / "rehearsal" if rehearsal else default_home()


def read_token(given: str | None) -> list[str]:
    """A token from a file (@FILE), standard input (-) or the environment; none: no token.

    One that stands on the command line is refused: everybody on the machine sees it there.
    """
    if given and given != "-" and not given.startswith("@") and given in _values_of("--token"):
        raise ValueError(
            "a token on the command line is seen by everybody on this machine: put it into a file "
            "and give --token @FILE, --token - for standard input, or TACIT_TOKEN"
        )
    if given == "-":
        return sys.stdin.readline().split()
    if given is not None and given.startswith("@"):
        return read_words(Path(given[1:]), "a token")
    return [given] if given else []


def read_words(file: Path, what: str) -> list[str]:
    """The words of a file of keys or tokens; an error names the file, and what it should have."""
    try:
        return file.read_text(encoding="utf-8-sig").split()
    except UnicodeDecodeError:
        why = "it is no UTF-8 text"
    except OSError as problem:
        why = str(problem.strerror)
    raise ValueError(f"{file} cannot be read as {what}: {why}")


StorageKey = Annotated[
    str | None,
    typer.Option(
        help="Where the key is that encrypts what is kept: @FILE (64 hexadecimal digits); or "
        "TACIT_STORAGE_KEY.",
        envvar="TACIT_STORAGE_KEY",
    ),
]


def open_vault(given: str | None) -> "Vault | None":
    """What encrypts, by a key from a file (@FILE) or the environment; None: nothing does."""
    from tacit.wire.envelopes import Vault

    if given is None:
        return None
    if given in _values_of("--storage-key") and not given.startswith("@"):
        raise ValueError(
            "a key on the command line is seen by everybody on this machine: put it into a file "
            "and give --storage-key @FILE, or TACIT_STORAGE_KEY"
        )
    is_file = given.startswith("@")
    text = " ".join(read_words(Path(given[1:]), "a storage key") if is_file else given.split())
    if not _STORAGE_KEY.fullmatch(text):
        where = given[1:] if is_file else "a storage key"
        raise ValueError(
            f"{where} must be 64 hexadecimal digits: openssl rand -hex 32 > FILE makes a key"
        )
    return Vault(bytes.fromhex(text))


_STORAGE_KEY = re.compile("[0-9a-fA-F]{64}")


def key_of(text: str, what: str = "campaign") -> bytes:
    """A key as it is printed."""
    if len(text) != 64 or set(text.lower()) - set("0123456789abcdef"):
        raise ValueError(f"{what} must be a key of 64 hexadecimal digits, got {text!r}")
    return bytes.fromhex(text)


def optional_key(text: str | None) -> bytes | None:
    """The key of a campaign that an option names, if it does."""
    return None if text is None else key_of(text)


def warn_of_rehearsal() -> None:
    """Say loudly what a rehearsal is not."""
    line = (
        "REHEARSAL: REPRODUCIBLE, NOT PRIVATE. Whoever knows the seed can undo every report. "
        "Use made-up rows."
    )
    typer.secho(line, fg=typer.colors.RED, bold=True, err=True)


_GOING = 8.0  # seconds in which workers have gone whose service was killed


def check_port(host: str, port: int) -> None:
    """Refuse a port that is taken, before anything is said of it. Two services of one user could
    share it, as workers do, and each would have some of the requests to the other. Workers of one
    that was killed are waited for.
    """
    until = time.monotonic() + _GOING
    while (why := _why_taken(host, port, shared=False)) is not None:
        if _why_taken(host, port, shared=True) is not None or time.monotonic() > until:
            raise ValueError(
                f"cannot listen on {host}, port {port} ({why}): choose another --port or --host"
            )
        time.sleep(0.1)


def _why_taken(host: str, port: int, *, shared: bool) -> object:
    """Why nobody can listen there, or nobody beside those who share a port; None: somebody can.
    Nothing listens here: whoever does would have requests of others.
    """
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared and hasattr(socket, "SO_REUSEPORT"):
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            made.bind((host, port))
        except (OSError, OverflowError) as problem:
            return getattr(problem, "strerror", None) or problem
    return None


_FIGURES = (
    "request",
    "status",
    "route",
    "kind",
    "question",
    "reports",
    "invited",
    "owners",
    "left_out",
)  # extra fields that are shown


class LineFormatter(logging.Formatter):
    """One line per event, for people."""

    def format(self, record: logging.LogRecord) -> str:
        event = event_of(record)
        time, level, where, text = (event.pop(name) for name in ("time", "level", "where", "event"))
        return " ".join(
            [time, level, where, text, *(f"{name}={value}" for name, value in event.items())]
        )


class JsonFormatter(logging.Formatter):
    """One JSON object per event, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(event_of(record))


def event_of(record: logging.LogRecord) -> dict[str, str]:
    """What may be said of an event: no traceback, no text of an exception, no line breaks."""
    event = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "where": record.name,
        "event": " ".join(record.getMessage().splitlines()),
    }
    if record.exc_info and record.exc_info[0] is not None:
        event["event"] = "failed"
        event["kind"] = record.exc_info[0].__name__
    return event | {name: str(getattr(record, name)) for name in _FIGURES if hasattr(record, name)}


def log_to_stderr(as_json: bool) -> None:
    """Send the events of this process to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if as_json else LineFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # lines that hold addresses, or say for every look at tables which database it is
    for noisy in ("httpx", "httpcore", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
