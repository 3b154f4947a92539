"""HTTP handler for the lines at which a requested edit would replace text."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from turnwire.safe_files import read_below
from turnwire.server.access.keys import Who
from turnwire.server.api.responses import json_answer
from turnwire.server.service import Service

__all__ = ["places"]

_MOST_TEXTS = 100  # texts of one request that are looked for
_MOST_BYTES = 2_000_000  # of a file


class Place(Struct, frozen=True):
    """A text that an edit would replace, and the line of its file at which it begins."""

    path: str
    text: str
    line: int


async def places(service: Service, request: Request, who: Who) -> Response:
    """GET /api/conversations/{id}/requests/{request_id}/places"""
    talk = await service.talk(request.path_params["id"], who, closed=True)
    row, wanted = talk.row, request.path_params["request_id"]
    asked = next((each for each in row.state.requests if each.request_id == wanted), None)
    found: list[Place] = []
    if asked is not None and row.cwd is not None:
        async with service.shares.of(who).costly():
            texts = list(_replaced_texts(asked.input))[:_MOST_TEXTS]
            found = await asyncio.to_thread(
                _found, texts, row.cwd, service.roots, service.settings.data_path
            )
    return json_answer({"places": found})


def _replaced_texts(given: Any) -> Iterator[tuple[str, str]]:
    """Yields the path and the text of each replacement, in the forms that agents use."""
    if not isinstance(given, dict):
        return
    path = _text(given, "file_path", "filePath", "path")
    edits, content = given.get("edits"), given.get("content")
    for edit in [given, *(edits if isinstance(edits, list) else [])]:
        text = _text(edit, "old_string", "oldString")
        if path and text:
            yield path, text
    for edit in content if isinstance(content, list) else []:
        own, text = _text(edit, "path"), _text(edit, "oldText")
        if own and text:
            yield own, text


def _text(given: Any, *names: str) -> str | None:
    found = (given.get(name) for name in names) if isinstance(given, dict) else ()
    return next((each for each in found if isinstance(each, str) and each), None)


def _found(
    texts: list[tuple[str, str]], cwd: str, roots: list[Path], data_dir: Path
) -> list[Place]:
    """Returns the texts that are exactly once in their file: of any other, the place is not known.

    Reads only files below the working directory, and none of Turnwire's own. The directory may
    have been replaced by a link since the conversation began.
    """
    try:
        top = Path(cwd).resolve(strict=True)
    except (OSError, RuntimeError):
        return []  # the directory is gone
    if not any(top.is_relative_to(root) for root in roots):
        return []
    found = []
    files: dict[str, str] = {}
    for path, text in texts:
        if path not in files:
            files[path] = _content(path, Path(cwd), top, data_dir.resolve())
        whole, sought = files[path], text.replace("\r\n", "\n")
        at = whole.find(sought)
        if at >= 0 and whole.find(sought, at + 1) < 0:
            found.append(Place(path, text, whole.count("\n", 0, at) + 1))
    return found


def _content(path: str, cwd: Path, top: Path, data_dir: Path) -> str:
    """Returns the text of a file below the directory; an empty one if it may not be read."""
    for base in (cwd, top):
        try:
            inside = Path(path).relative_to(base) if path.startswith("/") else Path(path)
            if ".." in inside.parts or (top / inside).is_relative_to(data_dir):
                return ""
            return read_below(top, inside.parts, _MOST_BYTES).decode().replace("\r\n", "\n")
        except (OSError, ValueError, IndexError):  # elsewhere, missing, a link, too large, no text
            continue
    return ""
