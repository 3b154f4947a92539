"""Finds the finished items in normalized events, each once, for log entries and frames."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, structs

from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core import message as m
from turnwire.core.blocks import ContentBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import SCHEMA_VERSION, KeptBlock, MessagePart, Meta, Role, to_json
from turnwire.core.parts import kept_block, part_of, token_usage
from turnwire.core.recent import MAX_ENDED, Recent
from turnwire.core.usage import Usage

__all__ = ["Finished", "FinishedStream", "said"]

_MAX_TOLD = 4096  # tool results, user frames and news remembered to avoid duplicates


class Finished(Struct, frozen=True, gc=False):
    """A finished item: an entry of the log without a run and a time."""

    role: Role
    parts: list[MessagePart]
    meta: Meta  # without a turn; in `data` an agent's own message may still be bytes


def said(role: Role, content: Iterable[ContentBlock], meta: Meta) -> Finished:
    """Returns blocks as a finished item.

    Blocks that are no part, or not allowed here, go into meta.
    """
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
        if type(part) is m.ToolCallPart and part.payload.raw_args_text is not None:
            broken.append(part.payload.tool_call_id)
    if rest or broken:
        meta = structs.replace(meta, blocks=rest or None, args_not_json=broken or None)
    return Finished(role, parts, meta)


def said_block(role: Role, block: ContentBlock, meta: Meta) -> Finished:
    """Returns a single block as a finished item; much faster than `said`."""
    part = part_of(block)
    if part is None or type(part) not in m.ROLE_PARTS[role]:
        return said(role, (block,), meta)
    if type(part) is m.ToolCallPart and part.payload.raw_args_text is not None:
        return said(role, (block,), meta)
    return Finished(role, [part], meta)


_Key = tuple[str | None, str]  # sub-agent's tool call, message id


class FinishedStream:
    """Finds finished items in a stream of events, each once.

    A block is finished when an AssistantMessage contains it, or when its streamed message ends
    without one. A user message is one item, but each tool result in it is an item of its own. News
    about the session has the role system. Ephemeral news is left out.
    """

    def __init__(self) -> None:
        self._waiting: dict[_Key, dict[int, ContentBlock]] = {}  # streamed, not confirmed
        self._streamed: set[_Key] = set()
        self._told: OrderedDict[_Key, set[int]] = OrderedDict()
        self._told_users = Recent(_MAX_TOLD)
        self._told_results = Recent(_MAX_TOLD)
        self._told_news = Recent(_MAX_TOLD)
        self._handlers: dict[type, Callable[[Any], list[Finished]]] = {
            ev.MessageStarted: self._on_started,
            ev.ContentCompleted: self._on_block,
            ev.AssistantMessage: self._on_assistant,
            ev.MessageCompleted: self._on_completed,
            ev.MessageDiscarded: self._on_discarded,
            ev.UserMessage: self._on_user,
            ev.SessionInit: self._on_init,
            **dict.fromkeys(ev.SYSTEM_EVENTS, self._on_system),
            ev.UnknownEvent: self._on_unknown,
            ev.PlanUpdated: self._on_plan,
        }

    def feed(self, event: NormalizedStreamEvent) -> list[Finished]:
        """Returns the items that one event finishes, in order; often none."""
        handle = self._handlers.get(type(event))
        return handle(event) if handle is not None else []

    # --- messages -------------------------------------------------------------------------------

    def _on_started(self, e: ev.MessageStarted) -> list[Finished]:
        self._streamed.add((e.parent_tool_use_id, e.message_id))
        return []

    def _on_block(self, e: ev.ContentCompleted) -> list[Finished]:
        key = (e.parent_tool_use_id, e.message_id)
        if e.index not in self._told.get(key, ()):
            self._waiting.setdefault(key, {})[e.index] = e.block
        return []

    def _on_assistant(self, e: ev.AssistantMessage) -> list[Finished]:
        key = (e.parent_tool_use_id, e.message_id)
        reason, usage = None, None
        if key not in self._streamed:  # a complete frame during a stream has preliminary values
            reason, usage = e.stop_reason, e.usage
        return [
            _block(e, index, block, reason, usage, e.uuid, e.model, e.error, e.aborted)
            for index, block in self._new(key, enumerate(e.content, e.index))
        ]

    def _on_completed(self, e: ev.MessageCompleted) -> list[Finished]:
        key = (e.parent_tool_use_id, e.message_id)
        self._streamed.discard(key)
        left = self._waiting.pop(key, None)
        if not left:  # the usual case: all its blocks were returned before
            return []
        return [
            _block(e, index, block, e.stop_reason, e.usage)
            for index, block in self._new(key, sorted(left.items()))
        ]

    def _on_discarded(self, e: ev.MessageDiscarded) -> list[Finished]:
        key = (e.parent_tool_use_id, e.message_id)
        self._streamed.discard(key)
        left = sorted(self._waiting.pop(key, {}).items())
        stays = [(index, block) for index, block in left if index < e.from_index]
        return [_block(e, index, block, e.reason) for index, block in self._new(key, stays)]

    def _new(
        self, key: _Key, found: Iterable[tuple[int, ContentBlock]]
    ) -> list[tuple[int, ContentBlock]]:
        """Returns the blocks of a message that were not returned before, and remembers them."""
        told = self._told.get(key)
        if told is None:
            told = self._told[key] = set()
            if len(self._told) > MAX_ENDED:
                self._told.popitem(last=False)
        waiting = self._waiting.get(key)
        new: list[tuple[int, ContentBlock]] = []
        for index, block in found:
            if waiting is not None:
                waiting.pop(index, None)
            if index in told:
                continue
            told.add(index)
            if not isinstance(block, blocks.ToolResultBlock) or self._is_new(block):
                new.append((index, block))
        return new

    def _is_new(self, result: blocks.ToolResultBlock) -> bool:
        return self._told_results.is_new(result.tool_use_id)

    def _on_user(self, e: ev.UserMessage) -> list[Finished]:
        if e.uuid is not None and not self._told_users.is_new(e.uuid):
            return []
        out: list[Finished] = []
        rest: list[ContentBlock] = []
        for block in e.content:
            if not isinstance(block, blocks.ToolResultBlock):
                rest.append(block)
            elif self._is_new(block):
                out.append(said_block("tool", block, _meta(e, uuid=e.uuid)))
        if rest:
            out.append(said("user", rest, _meta(e, uuid=e.uuid, origin=e.origin)))
        return out

    # --- news ---------------------------------------------------------------------------------

    def _on_init(self, e: ev.SessionInit) -> list[Finished]:
        text = "Session started"
        if e.model:
            text += f": {e.model}"
        if e.cwd:
            text += f" in {e.cwd}"
        own: Any = e.raw
        if own is UNSET:
            own = to_json({name: value for name in _INIT_FIELDS if (value := getattr(e, name))})
        return self._news(e, text, {"subtype": "init"}, own)

    def _on_system(self, e: ev.SystemEvent) -> list[Finished]:
        if e.ephemeral:
            return []
        words = e.subtype.replace("_", " ") or "system event"
        text = e.text or words[0].upper() + words[1:]
        if isinstance(e, ev.HookRan):
            text = _words_of_hook(e.run)
        return self._news(e, text, {"subtype": e.subtype}, e.data)

    def _on_unknown(self, e: ev.UnknownEvent) -> list[Finished]:
        text = f"Unknown event: {e.original_type}" if e.original_type else "Unknown event"
        data = {"subtype": "unknown", "originalType": e.original_type}
        if e.reason is not None:
            data["reason"] = e.reason
        return self._news(e, text, data, e.data)

    def _on_plan(self, e: ev.PlanUpdated) -> list[Finished]:
        done = sum(item.status == "completed" for item in e.items)
        text = f"Plan: {done} of {len(e.items)} done"
        return self._news(e, text, {"subtype": "plan"}, {"items": to_json(e.items)})

    def _news(self, e: ev.Event, text: str, data: dict[str, Any], own: Any) -> list[Finished]:
        """Returns news with the agent's own message, or with `data` if the agent sent none."""
        uuid = _uuid_of(own)
        if uuid is not None and not self._told_news.is_new((data["subtype"], uuid)):
            return []
        if own is not UNSET:
            data["data"] = own
        meta = Meta(
            SCHEMA_VERSION,
            provider=e.provider,
            parent_tool_use_id=e.parent_tool_use_id,
            agent_id=e.agent_id,
            uuid=uuid,
            message_type="system",
            data=data,
        )
        return [Finished("system", [m.TextPart(m.TextPayload(text))], meta)]


_INIT_FIELDS = ("model", "cwd", "permission_mode", "tools", "agent_version")


class _Named(Struct, gc=False):
    uuid: str | None = None


_read_name = msgspec.json.Decoder(_Named).decode


def _words_of_hook(run: ev.HookRun) -> str:
    """Returns the decision of an application's hook as text."""
    where = f"{run.event} of {run.tool_name}" if run.tool_name else run.event
    said = "no decision" if run.decision == "none" else run.decision
    if run.message is not None:
        outcome = "the agent continues" if run.decision == "none" else said
        said = f"failed ({run.message}), so {outcome}"
    elif run.input is not None:
        said = "changed input" if run.decision == "none" else f"{said}, with changed input"
    if run.reason is not None and run.message is None:
        said += f" ({run.reason})"
    return f"Hook {run.hook}, {where}: {said}"


def _uuid_of(own: Any) -> str | None:
    """Returns the id that an agent gave to its own message. Returns None if it has none."""
    if type(own) is not Raw:
        return None
    try:
        return _read_name(own).uuid
    except (msgspec.DecodeError, RecursionError):
        return None


def _meta(e: ev.Event, **known: Any) -> Meta:
    return Meta(
        SCHEMA_VERSION,
        provider=e.provider,
        parent_tool_use_id=e.parent_tool_use_id,
        agent_id=e.agent_id,
        **known,
    )


def _block(
    e: ev.AssistantMessage | ev.MessageCompleted | ev.MessageDiscarded,
    index: int,
    block: ContentBlock,
    finish_reason: str | None,
    usage: Usage | None = None,
    uuid: str | None = None,
    model_id: str | None = None,
    error: str | None = None,
    aborted: bool = False,
) -> Finished:
    if isinstance(block, blocks.ToolResultBlock):
        return said_block("tool", block, _meta(e, message_id=e.message_id, index=index))
    meta = Meta(
        SCHEMA_VERSION,
        e.message_id,
        None,
        index,
        None,
        e.provider,
        e.parent_tool_use_id,
        e.agent_id,
        uuid,
        model_id=model_id,
        finish_reason=finish_reason,
        usage=None if usage is None else token_usage(usage),
        error=error,
        aborted=aborted,
    )
    return said_block("assistant", block, meta)
