"""What a front end of the AI SDK sends: a message, and answers inside the agent's message."""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import Struct

from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import commands as c

__all__ = ["ChatRequest", "SentMessage", "TurnPlace", "answers_in", "content_of", "place_in"]

_DATA_URL = re.compile(r"data:([\w.+/-]+);base64,(.*)", re.DOTALL)
_BLOB = re.compile(r".*/api/blobs/([\w-]+)")
_FIELDS = {"text": "text", "file": "url` and a `mediaType"}
_TURN = re.compile(r"turn-([0-9]{1,18})")


class SentMessage(Struct, frozen=True):
    """A message of the front end. Unknown fields are ignored: front ends add their own."""

    id: str
    role: str
    parts: list[dict[str, Any]] = []
    metadata: Any = None


class ChatRequest(Struct, frozen=True, rename="camel"):
    """The body of a request, as `useChat` sends it. The last message counts."""

    id: str
    messages: list[SentMessage]
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    message_id: str | None = None
    agent: str | None = None  # of a new conversation
    options: dict[str, Any] = {}  # of a new conversation


def content_of(message: SentMessage) -> list[c.SentContent]:
    """Returns the content of a person's message. Raises Refused if it has a part of another kind."""
    out: list[c.SentContent] = []
    for part in message.parts:
        match part:
            case {"type": "text", "text": str(text)}:
                if text:
                    out.append(c.SentText(text))
            case {"type": "file", "url": str(url), "mediaType": str(media_type)}:
                out.append(_file(url, media_type, part.get("filename")))
            case {"type": ("text" | "file") as kind}:
                said = f"A part {kind!r} has a `{_FIELDS[kind]}`, of text."
                raise Refused("INVALID_PAYLOAD", said)
            case _:
                kind = part.get("type")
                raise Refused("INVALID_PAYLOAD", f"A message cannot have the part {kind!r}.")
    if not out:
        raise Refused("INVALID_PAYLOAD", "The message is empty.")
    return out


def _file(url: str, media_type: str, filename: Any) -> c.SentContent:
    is_image = media_type.startswith("image/")
    if found := _BLOB.fullmatch(url):
        blob = c.SentBlob(found[1])
        name = filename if isinstance(filename, str) else found[1]
        return (
            c.SentImage(media_type, blob=blob)
            if is_image
            else c.SentFile(name, media_type, blob=blob)
        )
    if not is_image:
        said = "Upload a file first, POST /api/blobs, and send the address of the blob as its url."
        raise Refused("NOT_SUPPORTED", said)
    if found := _DATA_URL.fullmatch(url):
        return c.SentImage(found[1], data=found[2])
    return c.SentImage(media_type, url=url)


class TurnPlace(Struct, frozen=True):
    """What a client has of a turn, as one of our messages says."""

    turn_id: int
    sequence: int = 0  # the newest entry of the turn; 0: not known
    conversation: str | None = None  # None: not known


def place_in(message: SentMessage) -> TurnPlace | None:
    """Returns the place that one of our messages stands for. Returns None if it is not ours."""
    found = _TURN.fullmatch(message.id)
    if found is None:
        return None
    match message.metadata:
        case {"turnwire": {"sequence": int(sequence), **more}} if sequence >= 0:
            name = more.get("conversation")
            return TurnPlace(int(found[1]), sequence, name if isinstance(name, str) else None)
        case _:
            return TurnPlace(int(found[1]))


def answers_in(message: SentMessage) -> list[c.InputResponse | c.PermissionResponse]:
    """Returns the answers that a person has put into the agent's message."""
    out: dict[str, c.InputResponse | c.PermissionResponse] = {}
    for part in message.parts:
        match part:
            case {"approval": {"id": str(name), "approved": bool(approved), **more}}:
                reason = more.get("reason")
                said = reason if isinstance(reason, str) else None
                out[name] = _decision(name, "allow" if approved else "deny", said)
            case {
                "type": "data-permission",
                "id": str(name),
                "data": {"decision": ("allow" | "deny") as decision, **more},
            }:
                reason = more.get("reason")
                said = reason if isinstance(reason, str) else None
                out.setdefault(name, _decision(name, decision, said))
            case {
                "type": "data-question",
                "id": str(name),
                "data": {"answer": str() | dict() as answer},
            }:
                out[name] = c.InputResponse(payload=c.QuestionAnswer(name, answer))
            case _:
                pass
    return list(out.values())


def _decision(
    name: str, decision: Literal["allow", "deny"], reason: str | None
) -> c.PermissionResponse:
    given = reason if decision == "deny" else None
    return c.PermissionResponse(payload=c.PermissionChoice(name, decision, given))
