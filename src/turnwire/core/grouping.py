"""Joins log entries to whole messages, and orders the content of a message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from turnwire.core.message import (
    BlobRef,
    KeptBlock,
    Message,
    MessagePart,
    UnknownPart,
    known_meta,
    to_json,
)

__all__ = ["block_of", "contents", "group", "in_order", "kept"]


def contents(message: Message) -> list[MessagePart | KeptBlock]:
    """Returns the content of a message in order: parts, and kept blocks at their positions."""
    return in_order(message.parts, known_meta(message).blocks)


def in_order(
    parts: list[MessagePart], blocks: list[KeptBlock] | None
) -> list[MessagePart | KeptBlock]:
    """Returns parts in order, with kept blocks at their positions."""
    whole: list[MessagePart | KeptBlock] = [*parts]
    for block in sorted(blocks or (), key=lambda kept: kept.position):
        whole.insert(block.position, block)
    return whole


def block_of(
    parts: list[MessagePart], blocks: list[KeptBlock] | None
) -> tuple[Any, BlobRef | None]:
    """Returns the block of an entry that no part represents, and its blob reference if it has one.

    An entry that this version would not have written is an unknown block.
    """
    match in_order(parts, blocks):
        case [KeptBlock(block=block, blob=blob)]:
            return block, blob
        case [UnknownPart(original_type=kind, data=data)]:
            return {"type": "unknown", "originalType": kind, "data": data}, None
        case items:
            return {"type": "unknown", "originalType": "message", "data": to_json(items)}, None


def group(entries: Iterable[Message]) -> list[Message]:
    """Returns entries as whole messages. A message takes the position of its first entry."""
    groups: dict[Any, list[Message]] = {}
    for number, entry in enumerate(entries):
        name = entry.meta.get("messageId")
        is_block = entry.role == "assistant" and isinstance(name, str)
        groups.setdefault((entry.run_id, name) if is_block else number, []).append(entry)
    return [
        _whole(members) if isinstance(key, tuple) else members[0] for key, members in groups.items()
    ]


def _whole(entries: list[Message]) -> Message:
    entries.sort(key=lambda entry: known_meta(entry).index or 0)  # a stable sort
    parts, rest = kept(item for entry in entries for item in contents(entry))
    meta: dict[str, Any] = {}
    broken: list[str] = []
    extra: dict[str, Any] = {}
    before = 0
    for entry in entries:
        known = known_meta(entry)
        meta |= entry.meta
        broken += known.args_not_json or ()
        for pointer, lost in (known.extra or {}).items():
            extra[_moved(pointer, before)] = lost
        before += len(entry.parts)
    for key in ("index", "uuid", "blocks", "extra"):  # keys of single entries
        meta.pop(key, None)
    if rest:
        meta["blocks"] = to_json(rest)
    if broken:
        meta["argsNotJson"] = broken
    if extra:
        meta["extra"] = extra
    latest = max(entry.timestamp for entry in entries)
    return Message(entries[0].run_id, "assistant", parts, latest, meta)


def _moved(pointer: str, by: int) -> str:
    """Returns a JSON pointer into an entry, shifted for the whole message."""
    match pointer.split("/"):
        case ["", "parts", number, *rest] if number.isdecimal():
            return "/".join(["", "parts", str(int(number) + by), *rest])
        case _:
            return pointer


def kept(
    whole: Iterable[MessagePart | KeptBlock],
) -> tuple[list[MessagePart], list[KeptBlock]]:
    """Splits content into parts and kept blocks with their positions: the inverse of `contents`."""
    parts: list[MessagePart] = []
    rest: list[KeptBlock] = []
    for position, item in enumerate(whole):
        if isinstance(item, KeptBlock):
            rest.append(structs.replace(item, position=position))
        else:
            parts.append(item)
    return parts, rest
