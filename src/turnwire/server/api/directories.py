"""HTTP handler that lists directories, for a person who chooses where an agent works."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from turnwire.core.error_codes import Refused
from turnwire.server.access.keys import Who
from turnwire.server.access.limits import MOST_PATH
from turnwire.server.api.responses import json_answer, word
from turnwire.server.new_conversation import open_roots
from turnwire.server.service import Service

__all__ = ["list_directories"]

_MOST = 200  # directories in a response
_MOST_READ = 10_000  # entries of a directory that are looked at


class DirectoriesJson(Struct, frozen=True, omit_defaults=True):
    """Directories below the roots that an agent may work in."""

    directories: list[str]  # absolute paths
    has_more: bool
    path: str | None = None  # the directory that they are in; absent: they are the roots
    parent: str | None = None  # the directory above it; absent if no agent may work there


async def list_directories(service: Service, request: Request, who: Who) -> Response:
    """GET /api/directories"""
    path = word(request, "path") or ""
    if not path:
        return json_answer(DirectoriesJson([str(root) for root in service.roots], has_more=False))
    async with service.shares.of(who).costly():
        found = await asyncio.to_thread(_below, path, service.roots)  # a disk may be slow
    return json_answer(found)


def _below(path: str, roots: Sequence[Path]) -> DirectoriesJson:
    """Returns the directories in a path, or those whose paths begin with it. Raises Refused."""
    if "\0" in path or not path.startswith(("/", "~")):
        raise Refused("INVALID_PAYLOAD", "`path` has to be an absolute path.")
    if len(path) > MOST_PATH:
        raise Refused("INVALID_PAYLOAD", f"`path` has more than {MOST_PATH} characters.")
    try:
        # Links are resolved first, so that neither a link nor `..` leads out of a root.
        whole = Path(path).expanduser()
        beginning = ""
        if not path.endswith("/") and not whole.is_dir():
            whole, beginning = whole.parent, whole.name
        folder = whole.resolve()
        if not _is_open(folder, roots):
            raise Refused("FORBIDDEN", f"Agents may not work in it. {open_roots(roots)}")
        names = _names_in(folder, beginning, roots)
    except (OSError, RuntimeError) as error:  # missing, an unknown user, a loop of links, too long
        raise Refused("INVALID_PAYLOAD", f"`path` cannot be read: {error}") from None
    return DirectoriesJson(
        [str(folder / name) for name in names[:_MOST]],
        has_more=len(names) > _MOST,
        path=str(folder),
        parent=str(folder.parent)
        if folder.parent != folder and _is_open(folder.parent, roots)
        else None,
    )


def _names_in(folder: Path, beginning: str, roots: Sequence[Path]) -> list[str]:
    """Returns the sorted names of directories. Hidden ones only if the beginning asks for them."""
    names = []
    with os.scandir(folder) as entries:
        for entry in islice(entries, _MOST_READ):
            is_hidden = entry.name.startswith(".") and not beginning.startswith(".")
            if is_hidden or not entry.name.startswith(beginning) or not entry.is_dir():
                continue
            if entry.is_symlink() and not _is_open(Path(entry.path).resolve(), roots):
                continue
            names.append(entry.name)
    return sorted(names)


def _is_open(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)
