"""The data directory: made, or said in plain words why it cannot be."""

from __future__ import annotations

from pathlib import Path

from turnwire.errors import TurnwireError

__all__ = ["cannot_use", "cause_of", "make_data_dir"]


_HOW = "--data-dir DIR, or TURNWIRE_DATA_DIR"


def make_data_dir(path: Path, how: str = _HOW) -> None:
    """Make it, for this user alone, if it is not there. Raises TurnwireError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise cannot_use(f"{_file_in(path)} is a file, not a directory", how) from None
    except OSError as failure:
        raise cannot_use(f"cannot make the directory {path}: {cause_of(failure)}", how) from None


def cannot_use(cause: str, how: str = _HOW) -> TurnwireError:
    """What is wrong, and what to do about it: `how` another directory is named."""
    step = f"Name another directory, which you may write to: {how}."
    return TurnwireError(f"{cause.rstrip('.')}. {step}")


def cause_of(failure: OSError) -> str:
    """What the system says of it."""
    return failure.strerror or str(failure)


def _file_in(path: Path) -> Path:
    """What is in the way: the path itself, or something that it goes through."""
    return next((each for each in (path, *path.parents) if each.is_file()), path)
