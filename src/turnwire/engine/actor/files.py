"""Files of a message on their way to the agent: their bytes in the prompt, or a copy to read."""

from __future__ import annotations

import asyncio
import os
import re
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from turnwire.core.content import Blob, Content, FileContent, LoadedFile
from turnwire.core.error_codes import Refused
from turnwire.core.pictures import is_among
from turnwire.engine.actor.pictures import Fetch
from turnwire.ports import AgentCapabilities
from turnwire.safe_files import has_file, write_below

__all__ = ["COPIES", "with_files"]

COPIES = Path(".turnwire", "files")  # below the working directory
_LARGEST_IN_PROMPT = 20_000_000  # bytes: the largest prompts that models take have about 32 MB
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\]")
_LONGEST_NAME = 120  # bytes; file systems allow 255


async def with_files(
    content: Sequence[Content], fetch: Fetch, able: AgentCapabilities, cwd: str | None
) -> list[Content]:
    """Returns the content with each uploaded file in the form that the agent can use.

    A file of a type in `able.files` gets its bytes. Any other file is copied to the working
    directory, and its path becomes the path of the copy, if the agent reads files. A file whose
    blob is deleted stays a name. Raises Refused if a copy cannot be written.
    """
    return [
        await _usable(item, fetch, able, cwd) if isinstance(item, FileContent) else item
        for item in content
    ]


async def _usable(
    item: FileContent, fetch: Fetch, able: AgentCapabilities, cwd: str | None
) -> FileContent:
    match item.blob:
        case Blob(blob_id=blob_id, mime_type=kind, size=size):
            is_taken = is_among(kind or "", able.files) and (size or 0) <= _LARGEST_IN_PROMPT
            if not is_taken and not able.reads_files:
                return item
            found = await fetch(blob_id)
        case _:
            return item
    if found is None:
        return item
    data, _ = found
    if is_taken:
        text = b64encode(data).decode()
        return LoadedFile(item.path, item.mime_type, item.size, item.blob, text)
    try:
        copy = await asyncio.to_thread(_copied, data, blob_id, item.path, Path(cwd or ""))
    except OSError as error:
        name = error.strerror or type(error).__name__
        said = (
            f"The file {item.path!r} cannot be put into the working directory ({COPIES}): {name}."
        )
        raise Refused("NOT_SUPPORTED", said) from error
    return structs.replace(item, path=str(copy))


def _copied(data: bytes, blob_id: str, path: str, cwd: Path) -> Path:
    """Writes a copy below the working directory, unless it is there already. Returns its path.

    The directory has the id of the blob, so a repeated delivery finds the same copy. The copy
    belongs to the owner of the working directory, because the agent may run as another user. Raises
    OSError, also if a link would be followed.
    """
    home = cwd.resolve()
    about = home.stat()
    owner = (about.st_uid, about.st_gid) if os.geteuid() == 0 else None
    place = [*COPIES.parts, blob_id, _file_name(path)]
    ignored = [COPIES.parts[0], ".gitignore"]
    if not has_file(home, ignored):
        # The copies belong to the conversation, not to the project.
        write_below(home, ignored, b"*\n", owner, is_private=False)
    if not has_file(home, place):
        write_below(home, place, data, owner, is_private=False)
    return home.joinpath(*place)


def _file_name(path: str) -> str:
    """Returns a name without a directory that every file system takes."""
    name = _UNSAFE.sub("_", re.split(r"[/\\]", path)[-1]).strip(" .")
    stem, dot, ending = name.rpartition(".")
    if len(name.encode()) > _LONGEST_NAME:
        ending = ending[:20] if dot else ""
        kept = (stem or name).encode()[: _LONGEST_NAME - len(ending.encode()) - 1]
        name = f"{kept.decode(errors='ignore')}.{ending}".strip(" .")
    return name or "file"
