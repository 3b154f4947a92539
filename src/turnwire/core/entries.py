"""Blocks as parts of messages, and normalized events as the entries of a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core import message as m
from turnwire.core.blocks import ContentBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import EventName, KeptBlock, Message, MessagePart, Role, meta_of, to_json
from turnwire.core.recent import MAX_ENDED, Recent
from turnwire.core.usage import Usage

__all__ = [
    "EntryStream",
    "entry_of",
    "event_entry",
    "kept_block",
    "part_of",
    "token_usage",
    "tool_call",
]

_MAX_TOLD = 4096  # tool results, user frames and news remembered, so that each is told once


# --- blocks as parts --------------------------------------------------------------------------


def part_of(block: ContentBlock) -> MessagePart | None:
    """A finished block as a part; none where no kind of part fits."""
    match block:
        case blocks.TextBlock():
            return m.TextPart(m.TextPayload(block.text, block.citations))
        case blocks.ThinkingBlock():
            return m.ThinkingPart(
                m.ThinkingPayload(block.thinking, block.signature, block.redacted)
            )
        case blocks.ToolUseBlock():
            return m.ToolCallPart(tool_call(block))
        case blocks.ToolResultBlock():
            content = _result_content(block.content)
            return m.ToolResultPart(
                m.ToolResultPayload(block.tool_use_id, block.is_error, content, block.details)
            )
        case blocks.ImageBlock():
            return m.ImagePart(m.ImagePayload(block.mime_type or "image/*", block.data, block.url))
        case blocks.FileRefBlock():
            return m.FileRefPart(m.FileRefPayload(block.path, block.mime_type, block.size))
        case _:
            return None


def tool_call(block: blocks.ToolUseBlock) -> m.ToolCallPayload:
    """A finished call as a payload. Arguments that are no object stay as the text they were."""
    arguments, raw = block.input, block.input_text
    if not isinstance(arguments, dict):
        if arguments is not None and raw is None:
            raw = msgspec.json.encode(arguments).decode()
        arguments = {}
    return m.ToolCallPayload(block.id, block.tool_name, arguments, raw, block.tool_type)


def _result_content(content: Any) -> list[MessagePart] | dict[str, Any] | str:
    """A result as the contract has it. A list that is not all text and pictures stays as it is."""
    if isinstance(content, str | dict):
        return content
    if content is None:
        return ""
    if not isinstance(content, list):
        return {"value": content}
    parts = [_content_part(item) for item in content]
    fitting = [part for part in parts if part is not None]
    return fitting if len(fitting) == len(parts) else {"blocks": content}


def _content_part(item: Any) -> MessagePart | None:
    """An item of a result, in the shapes of the Messages API and of MCP, if a part can say it."""
    match item:
        case {"type": "text", "text": str(text)} if len(item) == 2:
            return m.TextPart(m.TextPayload(text))
        case {
            "type": "image",
            "source": {"type": "base64", "media_type": str(mime), "data": str(data), **more},
        } if len(item) == 2 and not more:
            return m.ImagePart(m.ImagePayload(mime, data))
        case {"type": "image", "source": {"type": "url", "url": str(url), **more}} if (
            len(item) == 2 and not more
        ):
            return m.ImagePart(m.ImagePayload("image/*", None, url))
        case {"type": "image", "data": str(data), "mimeType": str(mime)} if len(item) == 3:
            return m.ImagePart(m.ImagePayload(mime, data))
        case _:
            return None


def kept_block(position: int, block: ContentBlock) -> KeptBlock:
    """A block that no part says, as it is."""
    return KeptBlock(position, to_json(block))


def token_usage(usage: Usage) -> m.TokenUsage:
    """What a model message consumed, in the contract's words."""
    read, written = usage.input_tokens or 0, usage.output_tokens or 0
    cache_read, cache_written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    total = read + written + (cache_read or 0) + (cache_written or 0)
    return m.TokenUsage(read, written, total, cache_read, cache_written)


# --- entries ----------------------------------------------------------------------------------


def entry_of(
    role: Role, content: Iterable[ContentBlock], *, run_id: str, timestamp: str, **known: Any
) -> Message:
    """Blocks as an entry of the log. What is no part, or none for this role, is kept in meta."""
    parts: list[MessagePart] = []
    rest: list[KeptBlock] = []
    broken: list[str] = []
    allowed = m.ROLE_PARTS[role]
    for position, block in enumerate(content):
        part = part_of(block)
        if part is None or type(part) not in allowed:
            rest.append(kept_block(position, block))
            continue
        parts.append(part)
        if isinstance(part, m.ToolCallPart) and part.payload.raw_args_text is not None:
            broken.append(part.payload.tool_call_id)
    if rest:
        known["blocks"] = rest
    if broken:
        known["args_not_json"] = broken
    return Message(run_id, role, parts, timestamp, meta_of(run_id, **known))


def event_entry(
    name: EventName, text: str, *, run_id: str, timestamp: str, data: Any = None, **known: Any
) -> Message:
    """Something that happened, as an entry of the log: words for a person, and the particulars."""
    return _event(name, text, to_json(data), run_id, timestamp, known)


def _event(
    name: EventName, text: str, data: Any, run_id: str, timestamp: str, known: dict[str, Any]
) -> Message:
    """The same with data that is plain JSON already: an agent's own message can be long."""
    meta = meta_of(run_id, **known, message_type=name, data=data)
    return Message(run_id, "system", [m.TextPart(m.TextPayload(text))], timestamp, meta)


_Key = tuple[str | None, str]  # whose message, and its id


class EntryStream:
    """Finished things as entries of the log, each once.

    A block is finished when an AssistantMessage says it, or when its streamed message ends and
    nothing has said it. A user message is one entry, but each tool result in it is one of its own.
    News about the session is an entry of role system, unless it is ephemeral.
    """

    def __init__(self) -> None:
        self._waiting: dict[_Key, dict[int, ContentBlock]] = {}  # streamed, not confirmed
        self._streamed: set[_Key] = set()
        self._told: dict[_Key, set[int]] = {}
        self._told_users = Recent(_MAX_TOLD)
        self._told_results = Recent(_MAX_TOLD)
        self._told_news = Recent(_MAX_TOLD)
        self._handlers: dict[type, Callable[[Any, str, str], list[Message]]] = {
            ev.MessageStarted: self._on_started,
            ev.ContentCompleted: self._on_block,
            ev.AssistantMessage: self._on_assistant,
            ev.MessageCompleted: self._on_completed,
            ev.MessageDiscarded: self._on_discarded,
            ev.UserMessage: self._on_user,
            ev.SessionInit: self._on_init,
            ev.SystemEvent: self._on_system,
            ev.UnknownEvent: self._on_unknown,
            ev.PlanUpdated: self._on_plan,
        }

    def feed(self, event: NormalizedStreamEvent, *, run_id: str, now: str) -> list[Message]:
        """The entries that one event means, in order; often none."""
        handle = self._handlers.get(type(event))
        return handle(event, run_id, now) if handle is not None else []

    # --- what is said -------------------------------------------------------------------------

    def _on_started(self, e: ev.MessageStarted, run_id: str, now: str) -> list[Message]:
        self._streamed.add((e.parent_tool_use_id, e.message_id))
        return []

    def _on_block(self, e: ev.ContentCompleted, run_id: str, now: str) -> list[Message]:
        key = (e.parent_tool_use_id, e.message_id)
        if e.index not in self._told.get(key, ()):
            self._waiting.setdefault(key, {})[e.index] = e.block
        return []

    def _on_assistant(self, e: ev.AssistantMessage, run_id: str, now: str) -> list[Message]:
        key = (e.parent_tool_use_id, e.message_id)
        known: dict[str, Any] = {
            "uuid": e.uuid,
            "model_id": e.model,
            "error": e.error,
            "aborted": e.aborted,
        }
        if key not in self._streamed:  # a frame beside a stream knows only how both began
            known |= {"finish_reason": e.stop_reason, "usage": e.usage and token_usage(e.usage)}
        return self._tell(e, enumerate(e.content, e.index), run_id, now, known)

    def _on_completed(self, e: ev.MessageCompleted, run_id: str, now: str) -> list[Message]:
        key = (e.parent_tool_use_id, e.message_id)
        self._streamed.discard(key)
        left = self._waiting.pop(key, None)
        if not left:  # almost always: each of its blocks was said for good before
            return []
        known = {"finish_reason": e.stop_reason, "usage": e.usage and token_usage(e.usage)}
        return self._tell(e, sorted(left.items()), run_id, now, known)

    def _on_discarded(self, e: ev.MessageDiscarded, run_id: str, now: str) -> list[Message]:
        key = (e.parent_tool_use_id, e.message_id)
        self._streamed.discard(key)
        left = sorted(self._waiting.pop(key, {}).items())
        stays = [(index, block) for index, block in left if index < e.from_index]
        return self._tell(e, stays, run_id, now, {"finish_reason": e.reason})

    def _tell(
        self,
        e: ev.AssistantMessage | ev.MessageCompleted | ev.MessageDiscarded,
        found: Iterable[tuple[int, ContentBlock]],
        run_id: str,
        now: str,
        known: dict[str, Any],
    ) -> list[Message]:
        key = (e.parent_tool_use_id, e.message_id)
        told = self._told.get(key)
        if told is None:
            told = self._told[key] = set()
            if len(self._told) > MAX_ENDED:
                del self._told[next(iter(self._told))]
        waiting = self._waiting.get(key, {})
        known = {"message_id": e.message_id, **_whose(e), **known}
        out: list[Message] = []
        for index, block in found:
            waiting.pop(index, None)
            if index in told:
                continue
            told.add(index)
            if isinstance(block, blocks.ToolResultBlock):
                out += self._result(e, block, run_id, now, message_id=e.message_id, index=index)
                continue
            known["index"] = index
            out.append(entry_of("assistant", [block], run_id=run_id, timestamp=now, **known))
        return out

    def _on_user(self, e: ev.UserMessage, run_id: str, now: str) -> list[Message]:
        if e.uuid is not None:
            if e.uuid in self._told_users:
                return []
            self._told_users.add(e.uuid)
        out: list[Message] = []
        rest: list[ContentBlock] = []
        for block in e.content:
            if isinstance(block, blocks.ToolResultBlock):
                out += self._result(e, block, run_id, now, uuid=e.uuid)
            else:
                rest.append(block)
        if rest:
            known = {**_whose(e), "uuid": e.uuid, "origin": e.origin}
            out.append(entry_of("user", rest, run_id=run_id, timestamp=now, **known))
        return out

    def _result(
        self, e: ev.Event, block: blocks.ToolResultBlock, run_id: str, now: str, **known: Any
    ) -> list[Message]:
        if block.tool_use_id in self._told_results:
            return []
        self._told_results.add(block.tool_use_id)
        return [entry_of("tool", [block], run_id=run_id, timestamp=now, **_whose(e), **known)]

    # --- news ---------------------------------------------------------------------------------

    def _on_init(self, e: ev.SessionInit, run_id: str, now: str) -> list[Message]:
        text = "Session started"
        if e.model:
            text += f": {e.model}"
        if e.cwd:
            text += f" in {e.cwd}"
        said = _json_of(e.raw)
        if said is None:
            said = to_json({name: value for name in _INIT_FIELDS if (value := getattr(e, name))})
        return self._news(e, run_id, now, "init", text, said)

    def _on_system(self, e: ev.SystemEvent, run_id: str, now: str) -> list[Message]:
        if e.ephemeral:
            return []
        words = e.subtype.replace("_", " ") or "system event"
        text = words[0].upper() + words[1:]
        return self._news(e, run_id, now, e.subtype, text, _json_of(e.data))

    def _on_unknown(self, e: ev.UnknownEvent, run_id: str, now: str) -> list[Message]:
        text = f"Unknown event: {e.original_type}" if e.original_type else "Unknown event"
        more = {"originalType": e.original_type}
        if e.reason is not None:
            more["reason"] = e.reason
        return self._news(e, run_id, now, "unknown", text, _json_of(e.data), more)

    def _on_plan(self, e: ev.PlanUpdated, run_id: str, now: str) -> list[Message]:
        done = sum(item.status == "completed" for item in e.items)
        text = f"Plan: {done} of {len(e.items)} done"
        return self._news(e, run_id, now, "plan", text, {"items": to_json(e.items)})

    def _news(
        self,
        e: ev.Event,
        run_id: str,
        now: str,
        subtype: str,
        text: str,
        said: Any,
        more: dict[str, str] | None = None,
    ) -> list[Message]:
        uuid = said.get("uuid") if isinstance(said, dict) else None
        if not isinstance(uuid, str):
            uuid = None
        elif (subtype, uuid) in self._told_news:
            return []
        else:
            self._told_news.add((subtype, uuid))
        data: dict[str, Any] = {"subtype": subtype, **(more or {})}
        if said is not None:
            data["data"] = said
        return [_event("system", text, data, run_id, now, {**_whose(e), "uuid": uuid})]


_INIT_FIELDS = ("model", "cwd", "permission_mode", "tools", "agent_version")


def _json_of(raw: Raw | UnsetType) -> Any:
    """The agent's own message; its text, where it holds what no value can, as `1e999`."""
    if raw is UNSET:
        return None
    try:
        return msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        return bytes(raw).decode()


def _whose(e: ev.Event) -> dict[str, Any]:
    return {
        "provider": e.provider,
        "parent_tool_use_id": e.parent_tool_use_id,
        "agent_id": e.agent_id,
    }
