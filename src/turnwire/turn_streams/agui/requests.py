"""What an AG-UI client asks for, as commands of protocol v2."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import UNSET, Struct

from turnwire.core.error_codes import Refused
from turnwire.core.status import OpenRequest
from turnwire.dialects.agui.inputs import ResumeEntry, SentMessage
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.turn_streams.agui.parts import is_client_tool, text_of

__all__ = ["ClientCopy", "answer_of", "content_of", "tool_answers"]

_BLOB = re.compile(r".*/api/blobs/([\w-]+)")
_DATA_URL = re.compile(r"data:([\w.+/-]+);base64,(.*)", re.DOTALL)


# --- messages -------------------------------------------------------------------------------------


def content_of(message: SentMessage) -> list[c.SentContent]:
    """Returns the content of a person's message. Raises Refused if it has a part of another kind."""
    out: list[c.SentContent] = []
    given = message.content
    parts = given if isinstance(given, list) else [{"type": "text", "text": given or ""}]
    for part in parts:
        match part:
            case {"type": "text", "text": str(text)}:
                if text:
                    out.append(c.SentText(text))
            case {
                "type": ("image" | "document") as kind,
                "source": {"type": "data", "value": str(data), "mimeType": str(media_type)},
            }:
                if kind == "document":
                    raise _upload_first()
                out.append(c.SentImage(media_type, data=data))
            case {
                "type": ("image" | "document") as kind,
                "source": {"type": "url", "value": str(url), **more},
            }:
                known = more.get("mimeType")
                given_type = known if isinstance(known, str) else None
                out.append(_linked(url, given_type, is_image=kind == "image"))
            case {"type": "text"}:
                raise Refused("INVALID_PAYLOAD", "A part 'text' has a `text`, of text.")
            case {"type": ("image" | "document") as kind}:
                said = "a `source` of the type data (`value`, `mimeType`) or url (`value`)"
                raise Refused("INVALID_PAYLOAD", f"A part {kind!r} has {said}.")
            case _:
                kind = part.get("type")
                raise Refused("INVALID_PAYLOAD", f"A message cannot have the part {kind!r}.")
    if not out:
        raise Refused("INVALID_PAYLOAD", "The message is empty.")
    return out


def _linked(url: str, media_type: str | None, *, is_image: bool) -> c.SentContent:
    if found := _BLOB.fullmatch(url):
        blob, known = c.SentBlob(found[1]), media_type or "application/octet-stream"
        if is_image:
            return c.SentImage(media_type or "image/*", blob=blob)
        return c.SentFile(found[1], known, blob=blob)
    if not is_image:
        raise _upload_first()
    if found := _DATA_URL.fullmatch(url):
        return c.SentImage(found[1], data=found[2])
    return c.SentImage(media_type or "image/*", url=url)


def _upload_first() -> Refused:
    said = "Upload a file first, POST /api/blobs, and send the address of the blob as its url."
    return Refused("NOT_SUPPORTED", said)


class ClientCopy(Struct, frozen=True):
    """What the client has of the conversation. It is only compared, never stored."""

    texts: dict[str, str]  # of messages and of the arguments of tool calls, by id
    newest_text: str | None = None  # the id of the newest message, if it is text of the agent

    @classmethod
    def of(cls, messages: Iterable[SentMessage]) -> ClientCopy:
        """Returns the copy that a request shows."""
        texts: dict[str, str] = {}
        newest_text = None
        for each in messages:
            newest_text = each.id if each.role == "assistant" and each.content else None
            texts[each.id] = each.content if isinstance(each.content, str) else ""
            if each.role == "tool" and each.tool_call_id:  # the front end may have run the tool
                texts[f"{each.tool_call_id}:result"] = texts[each.id]
            for call in each.tool_calls:
                match call:
                    case {"id": str(name), "function": {"arguments": str(arguments)}}:
                        texts[name] = arguments
                    case _:
                        pass
        return cls(texts, newest_text)

    @property
    def lengths(self) -> dict[str, int]:
        """The number of characters of each message and call."""
        return {name: len(text) for name, text in self.texts.items()}

    def has(self, frame: f.Frame) -> bool | None:
        """Returns whether the client has the message of an entry. None: the entry becomes none."""
        match frame:
            case f.UserMessage(payload=words):
                if words.origin != "user" or words.parent_tool_use_id is not None:
                    return None
                name = words.client_message_id or f"message-{words.message_sequence}"
                return name in self.texts
            case f.AssistantChunk(payload=block) | f.AssistantThinking(payload=block):
                return self.texts.get(block.block_id) == block.text
            case f.AssistantToolCall(payload=call):
                return call.tool_use_id in self.texts
            case f.AssistantRequestInput(payload=asked):
                return asked.question_id in self.texts
            case f.AssistantToolResult(payload=result):
                return f"{result.tool_use_id}:result" in self.texts
            case _:
                return None


# --- answers --------------------------------------------------------------------------------------


def answer_of(
    entry: ResumeEntry, asked: OpenRequest
) -> c.InputResponse | c.PermissionResponse | None:
    """Returns the command of an answer. Returns None if a question was cancelled: it has no answer.

    Raises Refused if the answer is not of the form that the interrupt has named.
    """
    payload = None if entry.payload is UNSET else entry.payload
    if asked.kind == "permission":
        if entry.status == "cancelled":
            return _decision(asked, approved=False, reason="It was cancelled.")
        match payload:
            case bool():
                return _decision(asked, approved=payload)
            case {"approved": bool(approved), **more}:
                return _decision(asked, approved=approved, **_known(asked, more))
            case _:
                raise _wrong(asked, 'an object with "approved": true or false')
    if entry.status == "cancelled":
        return None
    match payload:
        case {"answer": str() | dict() as said, **more} if not more:
            payload = said
        case _:
            pass
    if not isinstance(payload, str | dict):
        raise _wrong(asked, "a text, or an object with the answers by the id of the question")
    return c.InputResponse(payload=c.QuestionAnswer(asked.request_id, payload))


def _known(asked: OpenRequest, more: dict[Any, Any]) -> dict[str, Any]:
    """Returns what a decision has besides `approved`. Raises Refused for rules it cannot have."""
    reason, edited = more.get("reason"), more.get("editedArgs")
    known: dict[str, Any] = {"remember": _rules(asked, more)}
    if isinstance(reason, str):
        known["reason"] = reason
    if edited is not None:
        known["edited"] = edited
    return known


def _rules(asked: OpenRequest, more: dict[Any, Any]) -> list[Any]:
    """Returns the rules of "always": those that are named, or what the agent has suggested."""
    always, named = more.get("always", False), more.get("remember", [])
    if not isinstance(always, bool) or not isinstance(named, list):
        raise _wrong(asked, 'an object; its "always" is true or false, "remember" a list of rules')
    rules = named or (asked.suggestions if always else [])
    if always and not rules:
        said = "The agent suggests no rule for this call: allow it once, without `always`."
        raise Refused("NOT_SUPPORTED", said)
    return rules if named or not asked.decision_only else rules[:1]


def _decision(
    asked: OpenRequest,
    *,
    approved: bool,
    reason: str | None = None,
    edited: Any = None,
    remember: Sequence[Any] = (),
) -> c.PermissionResponse:
    if approved:
        choice = c.PermissionChoice(asked.request_id, "allow", None, edited, [*remember])
    elif remember:
        raise Refused("INVALID_PAYLOAD", "A denied call has no `always` and no `remember`.")
    else:
        choice = c.PermissionChoice(asked.request_id, "deny", reason)
    return c.PermissionResponse(payload=choice)


def _wrong(asked: OpenRequest, form: str) -> Refused:
    said = f"The payload for the interrupt {asked.request_id!r} has to be {form}."
    return Refused("INVALID_PAYLOAD", said)


def tool_answers(
    messages: Iterable[SentMessage], requests: Iterable[OpenRequest]
) -> list[c.InputResponse]:
    """Returns the results of tools that the front end has run, for calls that wait for them."""
    waiting = {each.tool_use_id: each for each in requests if is_client_tool(each)}
    out: list[c.InputResponse] = []
    for message in messages:
        asked = waiting.pop(message.tool_call_id or "", None)
        if message.role == "tool" and asked is not None:
            text = message.error or _text(message)
            out.append(c.InputResponse(payload=c.QuestionAnswer(asked.request_id, text)))
    return out


def _text(message: SentMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return text_of([each for each in content_of(message) if isinstance(each, c.SentText)])
