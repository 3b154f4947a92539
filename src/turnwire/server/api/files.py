"""HTTP handlers for the names of the files below a working directory: of a conversation, or of a new one."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from turnwire.core.error_codes import Refused
from turnwire.server.access.keys import Who
from turnwire.server.api.responses import json_answer, number, word
from turnwire.server.new_conversation import directory_for, open_roots
from turnwire.server.service import Service

__all__ = ["files", "files_in"]

_MOST = 200  # maximum names in a response
_MOST_SEEN = 20_000  # maximum directory entries that one request looks at
_DEEPEST = 16  # maximum depth of directories
_LONGEST = 200  # maximum characters of the text that a path has to contain
# Directories with files that people do not write. Hidden directories are left out, too.
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


async def files(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations/{id}/files?q=&limit="""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    return await _answer(service, request, who, talk.row.cwd)


async def files_in(service: Service, request: Request, who: Who) -> Response:
    """GET /api/directories/files?path=&q=&limit="""
    path = word(request, "path") or None
    async with service.shares.of(who).costly():
        cwd = await asyncio.to_thread(
            directory_for, path, service.roots, "path"
        )  # a disk may be slow
    return await _answer(service, request, who, cwd)


async def _answer(service: Service, request: Request, who: Who, cwd: str | None) -> Response:
    sought = (word(request, "q") or "").lower()
    if len(sought) > _LONGEST:
        raise Refused("INVALID_PAYLOAD", f"`q` has more than {_LONGEST} characters.")
    limit = number(request, "limit", 50, least=1, most=_MOST) or 50
    if cwd is None:
        return json_answer({"files": [], "complete": True})
    async with service.shares.of(who).costly():
        found, complete = await asyncio.to_thread(_found, cwd, service.roots, sought)
    return json_answer({"files": found[:limit], "complete": complete and len(found) <= limit})


def _found(cwd: str, roots: list[Path], sought: str) -> tuple[list[str], bool]:
    """Returns the matching paths, the best first, and whether all files were looked at.

    The directory may have been replaced by a link since the conversation began: so it is resolved
    and compared with the roots again.
    """
    try:
        top = Path(cwd).resolve(strict=True)
    except (OSError, RuntimeError):
        return [], True  # the directory is gone
    if not any(top.is_relative_to(root) for root in roots):
        raise Refused("FORBIDDEN", f"Agents may not work in it. {open_roots(roots)}")
    matching, complete = _walk(top, sought)
    return sorted(matching, key=lambda path: _rank(path, sought)), complete


def _walk(top: Path, sought: str) -> tuple[list[str], bool]:
    """Returns the paths below a directory that contain a text. Never follows a link."""
    found: list[str] = []
    seen = 0
    waiting = deque([("", 0)])
    while waiting:
        inside, depth = waiting.popleft()
        try:
            entries = os.scandir(top / inside)
        except OSError:
            continue  # gone, or not readable
        with entries:
            for entry in entries:
                seen += 1
                if seen > _MOST_SEEN:
                    return found, False
                path = f"{inside}{entry.name}"
                if not _is_text(path):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    is_shown = not entry.name.startswith(".") and entry.name not in _LEFT_OUT
                    if is_shown and depth < _DEEPEST:
                        waiting.append((f"{path}/", depth + 1))
                elif entry.is_file(follow_symlinks=False) and sought in path.lower():
                    found.append(path)
    return found, True


def _is_text(path: str) -> bool:
    """Whether a name is Unicode: others cannot be sent as JSON."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _rank(path: str, sought: str) -> tuple[bool, bool, int, str]:
    """Orders paths: names that begin with the text, names that contain it, shorter paths."""
    name = path.rpartition("/")[2].lower()
    return not name.startswith(sought), sought not in name, len(path), path
