"""Recorded streams of the real Codex: the view shows what the final items say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.dialects.codex.helpers.app_server import RECORDED, recorded_events, recorded_messages
from tests.helpers.recorded_views import sent
from turnwire.core import events as ev
from turnwire.core.ui import UiStreamAdapter
from turnwire.core.view import MessageView, OtherView, TextView, ThinkingView, ToolView, View
from turnwire.dialects import rpc
from turnwire.dialects.codex import decode
from turnwire.dialects.v2.validator.check import SessionCheck
from turnwire.dialects.v2.view_reducer import ViewReducer
from turnwire.engine.recording_view import Recording
from turnwire.testing.agent_order import EventOrder

every_stream = pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)


def final_items(path: Path) -> list[dict[str, Any]]:
    """Returns the items that Codex has completed."""
    messages = [msgspec.json.decode(raw) for host, raw in recorded_messages(path) if not host]
    return [
        message["params"]["item"]
        for message in messages
        if message.get("method") == "item/completed"
    ]


def v2_view(path: Path) -> tuple[View, SessionCheck]:
    session = Recording("conv-1", trace_of=lambda turn: f"{turn:032x}")
    reducer, check = ViewReducer(), SessionCheck()
    frames = [*session.connect(), *session.feed_all(recorded_events(path)), *session.finish()]
    for number, frame in enumerate(sent(frames), 1):
        check.feed(msgspec.json.encode(frame), number)
        reducer.apply(frame)
    check.finish()
    return reducer.view(), check


def rpc_view(path: Path) -> View:
    ui, bridge, transcript = UiStreamAdapter(), rpc.RpcBridge(), rpc.Transcript()
    for event in recorded_events(path):
        for shown in ui.feed(event):
            for message in bridge.feed(shown):
                transcript.apply(rpc.decode(rpc.encode(message)))
    return transcript.view()


def expected(path: Path) -> list[tuple[Any, ...]]:
    """Returns what the final items say, in order, by the fields that a front end shows."""
    said: list[tuple[Any, ...]] = []
    for item in final_items(path):
        match item["type"]:
            case "userMessage":
                said.append(("user", item["content"][0]["text"]))
            case "agentMessage":
                said.append(("text", item["text"]))
            case "reasoning":
                said += [("thinking", text) for text in [*item["summary"], *item["content"]]]
            case "commandExecution":
                failed = item["status"] != "completed"
                output = item["aggregatedOutput"] or item["status"]
                said.append(("command_execution", item["command"], output, failed))
            case "fileChange":
                paths = [change["path"] for change in item["changes"]]
                said.append(("file_change", paths, item["status"] != "completed"))
            case "mcpToolCall":
                said.append(("mcp", item["tool"], item["status"] != "completed"))
            case "webSearch":
                said.append(("web_search", item["query"]))
            case kind:
                pytest.fail(f"the recording has an item of the kind {kind}")
    return said


def shown(messages: list[MessageView]) -> list[tuple[Any, ...]]:
    said: list[tuple[Any, ...]] = []
    for message in messages:
        for block in message.blocks:
            match block:
                case TextView(status=status, text=text):
                    if status != "aborted":
                        said.append(("user" if message.role == "user" else "text", text))
                case ThinkingView(text=text):
                    said.append(("thinking", text))
                case ToolView(tool_name="request_user_input"):
                    pass  # a question is no item
                case ToolView() if block.result is None or block.result.content == "interrupted":
                    pass
                case ToolView(tool_name="command_execution", input=given, result=result):
                    assert result is not None
                    said.append(
                        ("command_execution", given["command"], result.content, result.is_error)
                    )
                case ToolView(tool_name="file_change", input=given, result=result):
                    assert result is not None
                    paths = [change["path"] for change in given["changes"]]
                    said.append(("file_change", paths, result.is_error))
                case ToolView(tool_name=name, result=result):
                    assert result is not None
                    said.append(("mcp", name.split("__")[-1], result.is_error))
                case OtherView(block=other) if msgspec.to_builtins(other)["type"] == "todo_list":
                    pass  # Codex has no item for a plan
                case OtherView(block=other):
                    said.append(
                        (msgspec.to_builtins(other)["type"], msgspec.to_builtins(other)["query"])
                    )
                case _:
                    pass
    return said


UNFINISHED = ("interrupt_command", "killed")  # their last command has no completed item


@every_stream
def test_the_view_equals_what_the_final_items_say(path: Path) -> None:
    view, check = v2_view(path)
    report = check.report()
    assert report.violations == []
    if path.stem in UNFINISHED:
        assert set(expected(path)) <= set(shown(view.messages))
    else:
        assert shown(view.messages) == expected(path)
        assert shown(rpc_view(path).messages) == expected(path)


@every_stream
def test_every_line_of_codex_is_known(path: Path) -> None:
    lines = [decode(raw) for from_host, raw in recorded_messages(path) if not from_host]
    assert [line.unknown for line in lines if line.unknown] == []
    assert not [event for event in recorded_events(path) if isinstance(event, ev.UnknownEvent)]


@every_stream
def test_the_events_are_in_the_order_of_the_agent_port(path: Path) -> None:
    order = EventOrder()
    order.feed(recorded_events(path))
    assert order.problems == []
