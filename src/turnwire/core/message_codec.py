"""Encodes and decodes messages and deltas: of this version, older ones, and with newer fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, ValidationError, structs

from turnwire.core.lenient import salvage
from turnwire.core.message import SCHEMA_VERSION, Message, to_json
from turnwire.core.message_deltas import MessageDelta, UnknownDelta

__all__ = ["decode_delta", "decode_message", "encode", "read_message"]


def encode(thing: Message | MessageDelta) -> bytes:
    """Returns a message or delta as JSON. Fields of a newer version are written back in place."""
    raw = msgspec.json.encode(thing)
    if b'"kind":"unknown"' not in raw and b'"extra":' not in raw:
        return raw
    value = msgspec.json.decode(raw)
    if isinstance(thing, Message):
        extra = value.get("meta", {}).pop("extra", None)
        if not value.get("meta", True):
            del value["meta"]
        value["parts"] = [_as_it_came(part) for part in value["parts"]]
    elif isinstance(thing, UnknownDelta):
        value, extra = thing.data, None
    else:
        extra = value["payload"].pop("extra", None)
    for pointer, lost in (extra or {}).items():
        _put(value, pointer, lost)
    return msgspec.json.encode(value)


def decode_message(raw: bytes | str) -> Message:
    """Decodes a message of this or an earlier version, and keeps fields that a later one added."""
    known = raw.encode() if isinstance(raw, str) else raw
    try:
        message: Message = _decode_message(known)
    except ValidationError:
        pass
    else:
        # Usually true for our own output, and proves that nothing was left out.
        current = message.meta.get("schemaVersion") == SCHEMA_VERSION
        if current and _encode(message) == known:
            return message
    return read_message(msgspec.json.decode(raw))


def read_message(value: Any) -> Message:
    """Reads a message from decoded JSON.

    Raises ValidationError if the basic structure is invalid.
    """
    value = _upgraded(value)
    message = salvage(Message, value, [])
    assert isinstance(message, Message)
    extra = _left_out(value, message)
    if not extra:
        return message
    known = message.meta.get("extra")
    return structs.replace(
        message,
        meta={**message.meta, "extra": {**(known if isinstance(known, dict) else {}), **extra}},
    )


def decode_delta(raw: bytes | str) -> MessageDelta:
    """Decodes a delta, and keeps fields that a later version added."""
    try:
        delta = _DELTA.decode(raw)
    except ValidationError:
        pass
    else:
        if msgspec.json.encode(delta) == _bytes(raw):
            return delta
    value = msgspec.json.decode(raw)
    read: MessageDelta = salvage(MessageDelta, value, [])
    if isinstance(read, UnknownDelta):
        return read
    extra = _left_out(value, read)
    if not extra:
        return read
    payload = structs.replace(read.payload, extra={**(read.payload.extra or {}), **extra})
    return structs.replace(read, payload=payload)


_Value: TypeAlias = dict[str, Any]

# Upgrades decoded JSON from a version to the next one. Version 1 is the first.
_UPGRADES: dict[int, Callable[[_Value], _Value]] = {}


def _upgraded(value: Any) -> Any:
    """Returns a message of an older version, upgraded to this version."""
    meta = value.get("meta") if isinstance(value, dict) else None
    version = meta.get("schemaVersion", 1) if isinstance(meta, dict) else 1
    if not isinstance(version, int) or version not in _UPGRADES:
        return value
    while version in _UPGRADES:
        value = _UPGRADES[version](value)
        version += 1
    return {**value, "meta": {**(value.get("meta") or {}), "schemaVersion": version}}


def _left_out(value: Any, understood: Struct) -> dict[str, Any]:
    found: dict[str, Any] = {}
    _compare(value, to_json(understood), "", found)
    return found


def _compare(before: Any, after: Any, pointer: str, found: dict[str, Any]) -> None:
    """Collects every value of `before` that is missing in `after`, except empty ones."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        if after.get("kind") == "unknown" and after.get("data") == before:
            return
        for key, value in before.items():
            place = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            if key in after:
                _compare(value, after[key], place, found)
            elif value not in (None, {}, []):
                found[place] = value
    elif isinstance(before, list) and isinstance(after, list):
        for number, (one, other) in enumerate(zip(before, after, strict=False)):
            _compare(one, other, f"{pointer}/{number}", found)


def _put(value: Any, pointer: str, lost: Any) -> None:
    """Puts a value back at its pointer, if that place still exists and is free."""
    *way, last = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
    for step in way:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
    if isinstance(value, dict):
        value.setdefault(last, lost)


def _as_it_came(part: _Value) -> Any:
    if part["kind"] == "unknown":
        return part["data"]
    content = part["payload"].get("content")
    if part["kind"] == "tool_result" and isinstance(content, list):
        part["payload"]["content"] = [_as_it_came(inner) for inner in content]
    return part


def _bytes(raw: bytes | str) -> bytes:
    return raw.encode() if isinstance(raw, str) else raw


# Created once: a replay calls them for every entry.
_decode_message = msgspec.json.Decoder(Message).decode
_encode = msgspec.json.Encoder().encode
_DELTA: msgspec.json.Decoder[MessageDelta] = msgspec.json.Decoder(MessageDelta)
