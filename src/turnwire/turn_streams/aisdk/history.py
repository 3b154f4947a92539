"""The history of a conversation as UI messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from turnwire.core.content import Content, FileContent, ImageContent, TextContent
from turnwire.core.status import Status
from turnwire.dialects.aisdk.messages import MessageBuilder, UiMessage
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.reply import ReplyReader
from turnwire.turn_streams.aisdk.writer import UiWriter

__all__ = ["history_of"]


def history_of(
    frames: Iterable[f.Frame],
    status: Status,
    *,
    version: int = 7,
    blob_url: Callable[[str], str] = "/api/blobs/{}".format,
) -> list[UiMessage]:
    """Returns the messages of a conversation, in order.

    The message of a turn is what its stream assembles to, with what came after the end of the turn.
    The message of a turn that runs is left out: its stream has it. `status` is that of the end.
    """
    turns: dict[int, tuple[UiWriter, MessageBuilder]] = {}
    order: list[UiMessage | int] = []
    for frame in frames:
        if isinstance(frame, f.UserMessage) and _is_a_persons(frame):
            order.append(_user_message(frame, blob_url))
        turn_id = frame.turn_id
        if turn_id is None:
            continue
        if turn_id not in turns:
            reader = ReplyReader("", after=0)
            reader.acknowledged(turn_id, None)
            writer = UiWriter(reader, version=version, blob_url=blob_url)
            turns[turn_id] = writer, MessageBuilder()
            order.append(turn_id)
        _add(*turns[turn_id], frame)
    running = status.turn_id
    if running in turns:
        writer, builder = turns[running]
        for chunk in writer.feed(f.SessionState("", None, None, "", None, status)):
            builder.add(chunk)
        if not writer.is_over:
            del turns[running]
    out: list[UiMessage] = []
    for each in order:
        if not isinstance(each, int):
            out.append(each)
        elif each in turns and (told := turns[each][1].message) is not None:
            _settle(told)
            out.append(told)
    return out


def _settle(message: UiMessage) -> None:
    """Adds a person's approval to the tool that ran. A client has it from its own request.

    The package rejects an approval of an ended call without the decision, and a denied one.
    """
    parts = message["parts"]
    asked = {each["id"]: each["data"] for each in parts if each["type"] == "data-permission"}
    for part in parts:
        if "approval" in part and part["state"] != "approval-requested":
            approval = part.pop("approval")
            if asked[approval["id"]].get("decision") == "allow":
                part["approval"] = {**approval, "approved": True}


def _add(writer: UiWriter, builder: MessageBuilder, frame: f.Frame) -> None:
    for chunk in writer.feed(frame):
        builder.add(chunk)
    writer.is_over = False  # background work may go on after the end of its turn


def _is_a_persons(said: f.UserMessage) -> bool:
    return said.payload.origin == "user" and said.payload.parent_tool_use_id is None


def _user_message(said: f.UserMessage, blob_url: Callable[[str], str]) -> UiMessage:
    words = said.payload
    name = words.client_message_id or f"message-{words.message_sequence}"
    parts = [_user_part(each, blob_url) for each in words.content]
    ours = {"sequence": words.message_sequence, "by": words.by}
    return {"id": name, "role": "user", "parts": parts, "metadata": {"turnwire": ours}}


def _user_part(content: Content, blob_url: Callable[[str], str]) -> dict[str, Any]:
    match content:
        case TextContent():
            return {"type": "text", "text": content.text}
        case ImageContent() | FileContent():
            media_type = content.mime_type or "application/octet-stream"
            part = {"type": "file", "mediaType": media_type, "url": ""}
            if content.blob is not None:
                part["url"] = blob_url(content.blob.blob_id)
            elif isinstance(content, FileContent):
                part |= {"url": content.path, "filename": content.path}
            elif content.data is not None:
                part["url"] = f"data:{media_type};base64,{content.data}"
            else:
                part["url"] = content.url or ""
            return part
        case _:
            return {"type": "data-content", "id": content.original_type, "data": content.data}
