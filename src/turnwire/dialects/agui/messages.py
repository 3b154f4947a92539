"""Assembles the messages of a stream of AG-UI events, as `@ag-ui/client` does."""

from __future__ import annotations

from typing import Any, TypeAlias

from turnwire.dialects.agui import events as e

__all__ = ["AguiMessage", "MessagesBuilder"]

AguiMessage: TypeAlias = dict[str, Any]


class MessagesBuilder:
    """The messages of a conversation, and the state, after the events so far."""

    def __init__(self) -> None:
        self.messages: list[AguiMessage] = []
        self.state: Any = {}
        self._by_id: dict[str, AguiMessage] = {}
        self._owners: dict[str, AguiMessage] = {}  # of tool calls: the messages that hold them

    def add(self, event: e.Event) -> None:
        """Takes an event. Events that change no message are ignored."""
        match event:
            case e.TextStart():
                self._begin(event.message_id, event.role, event.subagent_run_id, event.metadata)
            case e.ReasoningMessageStart():
                tag = event.subagent_run_id
                self._begin(event.message_id, "reasoning", tag if isinstance(tag, str) else None)
            case e.TextContent() | e.ReasoningContent():
                self._by_id[event.message_id]["content"] += event.delta
            case e.TextEnd() | e.ReasoningMessageEnd():
                _merge(self._by_id[event.message_id], event.metadata)
            case e.ReasoningEncryptedValue():
                self._by_id[event.entity_id]["encryptedValue"] = event.encrypted_value
            case e.ToolCallStart():
                self._call(event)
            case e.ToolCallArgs():
                self._call_of(event.tool_call_id)["function"]["arguments"] += event.delta
            case e.ToolCallEnd():
                _merge(self._call_of(event.tool_call_id), event.metadata)
            case e.ToolCallResult():
                self._result(event)
            case e.ActivitySnapshot():
                self._activity(event)
            case e.MessagesSnapshot():
                self._replace(event.messages)
            case e.StateSnapshot():
                self.state = event.snapshot
            case e.StateDelta():
                for patch in event.delta:
                    self._patch(patch)
            case _:
                pass

    def put(self, message: AguiMessage) -> None:
        """Adds a whole message, or replaces the one with its id."""
        known = self._by_id.get(message["id"])
        if known is None:
            self._append(message, None)
        else:
            known.update(message)

    def _begin(
        self, name: str, role: str, tag: str | None, metadata: dict[str, Any] | None = None
    ) -> None:
        message = self._by_id.get(name)
        if message is None:
            message = self._append({"id": name, "role": role, "content": ""}, tag)
        _merge(message, metadata)

    def _append(self, message: AguiMessage, tag: str | None) -> AguiMessage:
        if tag is not None:
            message["subagentRunId"] = tag
        self.messages.append(message)
        self._by_id[message["id"]] = message
        return message

    def _call(self, event: e.ToolCallStart) -> None:
        name = event.tool_call_id
        if name not in self._owners:
            made: AguiMessage = {"id": name, "role": "assistant", "toolCalls": []}
            function = {"name": event.tool_call_name, "arguments": ""}
            made["toolCalls"].append({"id": name, "type": "function", "function": function})
            self._owners[name] = self._append(made, event.subagent_run_id)
        _merge(self._call_of(name), event.metadata)

    def _call_of(self, name: str) -> dict[str, Any]:
        calls: list[dict[str, Any]] = self._owners[name]["toolCalls"]
        return next(call for call in calls if call["id"] == name)

    def _result(self, event: e.ToolCallResult) -> None:
        message: AguiMessage = {
            "id": event.message_id,
            "toolCallId": event.tool_call_id,
            "role": "tool",
            "content": event.content,
        }
        if event.subagent_run_id is not None:
            message["subagentRunId"] = event.subagent_run_id
        _merge(message, event.metadata)
        self._by_id[event.message_id] = message
        owner = self._owners.get(event.tool_call_id)
        if owner is None:
            self.messages.append(message)
            return
        place = next(i for i, each in enumerate(self.messages) if each is owner) + 1
        while place < len(self.messages) and self.messages[place]["role"] == "tool":
            place += 1
        self.messages.insert(place, message)

    def _activity(self, event: e.ActivitySnapshot) -> None:
        message = self._by_id.get(event.message_id)
        if message is None:
            message = self._append({"id": event.message_id, "role": "activity"}, None)
        message |= {"activityType": event.activity_type, "content": event.content}
        if event.subagent_run_id is not None:
            message["subagentRunId"] = event.subagent_run_id

    def _replace(self, told: list[AguiMessage]) -> None:
        """Takes a snapshot. Messages that are in it keep their places; the others are dropped.

        A client keeps reasoning if a snapshot has none at all.
        """
        by_id = {each["id"]: each for each in told}
        has_reasoning = any(each["role"] == "reasoning" for each in told)
        kept = [
            by_id.pop(each["id"], each)
            for each in self.messages
            if each["id"] in by_id or (each["role"] == "reasoning" and not has_reasoning)
        ]
        self.messages = [*kept, *by_id.values()]
        self._by_id = {each["id"]: each for each in self.messages}
        self._owners = {
            call["id"]: each for each in self.messages for call in each.get("toolCalls", ())
        }

    def _patch(self, patch: e.Patch) -> None:
        *parents, last = patch.path.split("/")[1:]
        target = self.state
        for name in parents:
            target = target[name]
        if patch.op == "add":
            target[last] = patch.value
        else:
            del target[last]


def _merge(target: dict[str, Any], metadata: dict[str, Any] | None) -> None:
    """Adds metadata, key by key; the newest wins."""
    if metadata is not None:
        target["metadata"] = {**target.get("metadata", {}), **metadata}
