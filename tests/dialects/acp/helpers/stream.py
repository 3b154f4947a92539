"""An ACP stream in a few words: what the agent says and what the host sends, as events."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from turnwire.core.blocks import ToolResultBlock
from turnwire.core.events import NormalizedStreamEvent, UserMessage
from turnwire.dialects.acp import AcpStreamAdapter, decode
from turnwire.testing.agent_order import EventOrder

Events = list[NormalizedStreamEvent]
_T = TypeVar("_T")


class Stream:
    """Feeds messages to an adapter, and checks the order of all events."""

    def __init__(self) -> None:
        self.adapter = AcpStreamAdapter("acp", "k")
        self.order = EventOrder()
        self.events: Events = []

    def agent(self, message: dict[str, Any]) -> Events:
        return self.take(self.adapter.feed(decode(json.dumps(message).encode())))

    def host(self, message: dict[str, Any]) -> Events:
        return self.take(self.adapter.sent(decode(json.dumps(message).encode())))

    def update(self, update_kind: str, **fields: Any) -> Events:
        update = {"sessionUpdate": update_kind, **fields}
        params = {"sessionId": "s", "update": update}
        return self.agent({"jsonrpc": "2.0", "method": "session/update", "params": params})

    def text(self, text: str, **fields: Any) -> Events:
        return self.update("agent_message_chunk", content={"type": "text", "text": text}, **fields)

    def thought(self, text: str, **fields: Any) -> Events:
        return self.update("agent_thought_chunk", content={"type": "text", "text": text}, **fields)

    def tool(self, call: str, **fields: Any) -> Events:
        return self.update("tool_call", toolCallId=call, **fields)

    def change(self, call: str, **fields: Any) -> Events:
        return self.update("tool_call_update", toolCallId=call, **fields)

    def prompt(self, number: int = 9) -> Events:
        params = {"sessionId": "s", "prompt": [{"type": "text", "text": "Hello"}]}
        return self.host({"id": number, "method": "session/prompt", "params": params})

    def ends(self, reason: str | None = "end_turn", number: int = 9, **fields: Any) -> Events:
        return self.agent({"id": number, "result": {"stopReason": reason, **fields}})

    def fails(self, code: int, message: str, number: int = 9) -> Events:
        return self.agent({"id": number, "error": {"code": code, "message": message}})

    def finish(self) -> Events:
        return self.take(self.adapter.finish())

    def take(self, events: Events) -> Events:
        if events:
            self.order.feed(events)
        assert self.order.problems == []
        self.events += events
        return events

    def all(self, kind: type[_T]) -> list[_T]:
        return [event for event in self.events if isinstance(event, kind)]

    def only(self, kind: type[_T]) -> _T:
        (event,) = self.all(kind)
        return event

    def results(self) -> list[ToolResultBlock]:
        blocks = [block for message in self.all(UserMessage) for block in message.content]
        return [block for block in blocks if isinstance(block, ToolResultBlock)]


def prompted() -> Stream:
    stream = Stream()
    stream.prompt()
    return stream
