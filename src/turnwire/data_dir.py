"""Creates the data directory, and rejects it if other users of this machine may change it."""

from __future__ import annotations

import os
import shlex
import stat
from contextlib import suppress
from pathlib import Path

from turnwire.errors import TurnwireError

__all__ = ["cannot_use", "cause_of", "check_data_dir", "exposure_of", "make_data_dir"]


# A user who can write one of these can become the owner, or change the log.
_FILES = ("turnwire.db", "turnwire.db-wal", "turnwire.db-shm", "owner-token")
_OTHERS_WRITE = 0o022
_OTHERS_ENTER = 0o011
_OTHERS = 0o077
_HOW = "--data-dir DIR, or TURNWIRE_DATA_DIR"


def make_data_dir(path: Path, how: str = _HOW) -> None:
    """Creates the directory for this user only, if it is missing, and checks it.

    Raises TurnwireError.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise cannot_use(f"{_file_in(path)} is a file, not a directory", how) from None
    except OSError as failure:
        raise cannot_use(f"cannot create the directory {path}: {cause_of(failure)}", how) from None
    check_data_dir(path, how)


def check_data_dir(path: Path, how: str = _HOW) -> None:
    """Raises TurnwireError if another user of this machine may change the directory's content.

    Removes the access of other users to files that they may only read.
    """
    exposure = exposure_of(path)
    if exposure is not None:
        raise cannot_use(exposure, how)
    for name in _FILES:
        with suppress(OSError):
            file = path / name
            mode = file.stat().st_mode
            if mode & _OTHERS:  # a copied file may have other permissions
                file.chmod(mode & stat.S_IRWXU)


def exposure_of(path: Path) -> str | None:
    """Returns which other user may change the directory's content, and the command to run.

    Returns None if no other user may, or if the directory is missing or cannot be examined.
    """
    try:
        place = path.resolve()
        mode = place.stat().st_mode
        return (
            _not_ours(place)
            or _written_by_others(place)
            or next(filter(None, map(_replaceable_below, place.parents)), None)
            or next(filter(None, (_exposed_file(place / name, mode) for name in _FILES)), None)
        )
    except OSError:
        return None


def _not_ours(path: Path) -> str | None:
    """Returns the problem if another user owns the path and may change it at any time.

    Root may do so anyway.
    """
    owner = path.stat().st_uid
    if owner in (0, os.geteuid()):
        return None
    command = f"chown {os.geteuid()} {shlex.quote(str(path))}"
    return f"{path} belongs to another user (number {owner}), who may change it. Run: {command}"


def _written_by_others(path: Path) -> str | None:
    if not path.stat().st_mode & _OTHERS_WRITE:
        return None
    command = f"chmod go-w {shlex.quote(str(path))}"
    return f"{path} is writable for other users, who could become its owner. Run: {command}"


def _replaceable_below(parent: Path) -> str | None:
    """Returns the problem if any user may replace the directory in its parent."""
    mode = parent.stat().st_mode
    if not mode & stat.S_IWOTH or mode & stat.S_ISVTX:
        return None
    command = f"chmod o-w {shlex.quote(str(parent))}"
    return f"every user may replace files in {parent}. Run: {command}"


def _exposed_file(file: Path, directory_mode: int) -> str | None:
    """Returns the problem if another user can reach the file and owns it or may write it."""
    try:
        return _not_ours(file) or (
            _written_by_others(file) if directory_mode & _OTHERS_ENTER else None
        )
    except FileNotFoundError:
        return None


def cannot_use(cause: str, how: str = _HOW) -> TurnwireError:
    """Returns the error with its cause and the next step: `how` another directory is chosen."""
    step = f"Choose another directory that you may write to: {how}."
    return TurnwireError(f"{cause.rstrip('.')}. {step}")


def cause_of(failure: OSError) -> str:
    """Returns the operating system's message."""
    return failure.strerror or str(failure)


def _file_in(path: Path) -> Path:
    """Returns the path itself, or the first component of it that is a file."""
    return next((each for each in (path, *path.parents) if each.is_file()), path)
