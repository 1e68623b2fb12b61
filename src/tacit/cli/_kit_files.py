"""Where kits lie, so that one that is there is always good: its tokens are known.

    with alone_with(folder):
        kept = find_kept(files)           those of a command that was stopped stay
        with drafts() as put, open(...):  one transaction with the tokens
            put(file, content)            NAME.kit.unfinished, whole and on disk
        finish(files)                     then NAME.kit, as tokens are known by now

Files are in no transaction, so the order says what a kill leaves: before the commit a draft whose
tokens nobody knows, after it one whose tokens are known and that nobody has. Neither is a kit; the
same command again takes what tokens there are back, and makes new ones. A kit that was in place by
then is good, and stays.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tacit._util.stopping import alone_in, rename_file, replace_file

UNFINISHED = ".unfinished"  # what the name of a draft ends in


def draft_of(file: Path) -> Path:
    """Where a kit lies until its tokens are known."""
    return file.with_name(f"{file.name}{UNFINISHED}")


@contextmanager
def alone_with(folder: Path) -> Iterator[None]:
    """No other command makes kits there; a folder that was made for nothing goes again."""
    was_there = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise ValueError(
            f"--out must be a folder, and {folder} cannot be one ({problem.strerror}): choose "
            "another"
        ) from None
    try:
        with alone_in(folder):
            yield
    except BaseException:
        if not was_there:
            with suppress(OSError):  # somebody has put something there
                folder.rmdir()
        raise


def find_kept(files: Sequence[Path]) -> list[Path]:
    """Those of the kits that a command left that was stopped before it had put all in place; the
    drafts of the others are there. Without any draft no kit may be there.
    """
    there = [file for file in files if file.exists()]
    if there and not any(draft_of(file).exists() for file in files):
        raise taken(there)
    for file in there:  # stopped in between its two names
        draft_of(file).unlink(missing_ok=True)
    return there


@contextmanager
def drafts() -> Iterator[Callable[[Path, bytes], None]]:
    """Puts the draft of a kit's file on disk; where one fails, or what is done with it, all that
    were made here go again.
    """
    written: list[Path] = []

    def put(file: Path, content: bytes) -> None:
        try:
            replace_file(draft_of(file), content)
        except OSError as problem:
            raise ValueError(
                f"{file} cannot be written ({problem.strerror}): make room, or choose other names "
                "or another --out; no kit was made"
            ) from None
        written.append(draft_of(file))

    try:
        yield put
    except BaseException:
        for draft in written:
            draft.unlink(missing_ok=True)
        raise


def finish(files: Sequence[Path]) -> None:
    """Put drafts in place, where nothing is."""
    for file in files:
        try:
            rename_file(draft_of(file), file)
        except FileExistsError:
            raise taken([file]) from None  # by another program, just now


def taken(files: Sequence[Path]) -> ValueError:
    names = ", ".join(map(str, files))
    return ValueError(f"{names} exist: delete them, or give other names or --out")
