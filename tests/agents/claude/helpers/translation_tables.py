"""The translation of each message of Claude Code: into the log, frames of v2 and RPC messages."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, get_args

from msgspec import Struct

from turnwire.agents.claude.options.types import MODES
from turnwire.core.content import TextContent
from turnwire.core.conversation import step
from turnwire.core.conversation.effects import AddEntry, EndTurn, Moment
from turnwire.core.conversation.inputs import Said
from turnwire.core.conversation.state import Conversation
from turnwire.core.ui import UiStreamAdapter
from turnwire.dialects.claude import ClaudeStreamAdapter, decode
from turnwire.dialects.claude.blocks import ClaudeBlock
from turnwire.dialects.claude.control import ControlBody
from turnwire.dialects.claude.messages import ClaudeMessage
from turnwire.dialects.claude.stream import Delta, StreamEventBody
from turnwire.dialects.claude.system import SystemMessage
from turnwire.dialects.rpc import RpcBridge
from turnwire.dialects.v2.projector import V2Projector
from turnwire.engine.actor.agent_events import AgentEvents
from turnwire.engine.fanout.channel import Channel
from turnwire.stores.entry_row import message_type

_AT = 1_700_000_000_000
_INIT = {"type": "system", "subtype": "init", "session_id": "s1", "model": "m"}
_CALL = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}
_ASK = {"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "c1", "input": {}}
_HELPER = {"name": "request_input", "arguments": {"question": "Which?"}}
_TOOL_CALL = {
    "method": "tools/call",
    "params": {**_HELPER, "_meta": {"claudecode/toolUseId": "q1"}},
}

Line = dict[str, Any]


class Becomes(NamedTuple):
    """The columns of the table."""

    log: list[str]  # entries by role and kind, or the end of a turn
    v2: list[str]  # frames; session.state goes with most of them and is left out
    rpc: list[str]  # messages, with system messages and the output of tools switched on


def becomes(line: Line, *before: Line) -> Becomes:
    """Returns the translation of one line in the middle of a turn."""
    said = Said(at=_AT, content=[TextContent("hi")], queue_id="q", trace_id="t")
    state, _ = step(Conversation("talk"), said)
    adapter = ClaudeStreamAdapter()
    hearing = AgentEvents(Channel(state), lambda: "id", is_owners=True, modes=MODES)
    ui, bridge = UiStreamAdapter(), RpcBridge(tool_progress="output_delta", system=True)
    found = Becomes([], [], [])
    for each in (_INIT, *before, line):
        events = adapter.feed(decode(json.dumps(each).encode()))
        heard = hearing.take(state, events, _AT)
        state = heard.state
        rpc = bridge.feed_all(ui.feed_all(events))
        found = Becomes(
            _once([name for write in heard.writes for name in _log_name(write)]),
            _once(
                [_tag(each) for each in V2Projector("talk").frames(heard.happened)], "session.state"
            ),
            _once([_rpc_name(message) for message in rpc]),
        )
    return found


def _log_name(write: Moment) -> list[str]:
    match write:
        case AddEntry(entry=entry):
            kind = message_type(entry)
            return [entry.role if kind == "text" else f"{entry.role} {kind}"]
        case EndTurn():
            return ["end of the turn"]
        case _:
            return []


def _tag(struct: Any) -> str:
    return str(type(struct).__struct_config__.tag)


def _rpc_name(message: Any) -> str:
    event = getattr(message, "event", None)
    return f"stream_event {_tag(event)}" if isinstance(event, Struct) else _tag(message)


def _once(names: list[str], *without: str) -> list[str]:
    return [name for name in dict.fromkeys(names) if name not in without]


# --- samples ------------------------------------------------------------------------------------


def _assistant(block: Line, **more: Any) -> Line:
    return {
        "type": "assistant",
        "session_id": "s1",
        "message": {"id": "m1", "content": [block]},
        **more,
    }


def _user(block: Line) -> Line:
    return {"type": "user", "session_id": "s1", "message": {"role": "user", "content": [block]}}


def _stream(event: Line) -> Line:
    return {"type": "stream_event", "session_id": "s1", "event": event}


def _control(request: Line) -> Line:
    return {"type": "control_request", "request_id": "r1", "request": request}


_START = _stream({"type": "message_start", "message": {"id": "m1"}})


def _tags(union: Any) -> list[str]:
    found = [kind.__struct_config__.tag for kind in get_args(union)]
    return [tag for tag in found if tag is not None and tag != "unknown"]


def _open(block: Line) -> Line:
    return _stream({"type": "content_block_start", "index": 0, "content_block": block})


def messages() -> dict[str, Becomes]:
    """Returns the messages by type. The tables of blocks have more about `user` and `assistant`."""
    system = get_args(SystemMessage)
    kinds = [k for k in get_args(ClaudeMessage) if k not in system]
    samples: dict[str, tuple[Line, ...]] = {
        "user": (_user({"type": "text", "text": "x"}),),
        "assistant": (_assistant({"type": "text", "text": "x"}),),
        "result": ({"type": "result", "subtype": "success"},),
        "stream_event": (_START,),
        "tool_progress": ({"type": "tool_progress", "tool_use_id": "c1"}, _assistant(_CALL)),
        "error": ({"type": "error", "error": "x"},),
        "control_request": (_control(_ASK), _assistant(_CALL)),
        "control_response": (
            {"type": "control_response", "response": {"subtype": "success", "request_id": "r1"}},
        ),
        "control_cancel_request": (
            {"type": "control_cancel_request", "request_id": "r1"},
            *(_assistant(_CALL), _control(_ASK)),
        ),
    }
    tags = [str(kind.__struct_config__.tag) for kind in kinds if kind.__struct_config__.tag]
    named = {tag: becomes(*samples.get(tag, ({"type": tag},))) for tag in tags}
    return {**named, "anything else": becomes({"type": "new"})}


def news() -> dict[str, Becomes]:
    """Messages of the type `system`, by subtype."""
    tags = {tag: becomes({"type": "system", "subtype": tag}) for tag in _tags(SystemMessage)}
    return {**tags, "anything else": becomes({"type": "system", "subtype": "new"})}


def stream_events() -> dict[str, Becomes]:
    """Returns the stream events by the type of the event and of its delta."""
    text = {"type": "text", "text": ""}
    thinking = {"type": "thinking", "thinking": ""}
    delta = {"type": "content_block_delta", "index": 0}
    growing: dict[str, tuple[Line, Line]] = {
        "text_delta": (text, {"text": "x"}),
        "thinking_delta": (thinking, {"thinking": "x"}),
        "signature_delta": (thinking, {"signature": "x"}),
        "input_json_delta": (_CALL, {"partial_json": "{"}),
        "citations_delta": (text, {"citation": {}}),
    }
    samples: dict[str, tuple[Line, ...]] = {
        "message_start": (_START,),
        "content_block_start": (_open(text), _START),
        "content_block_stop": (
            _stream({"type": "content_block_stop", "index": 0}),
            *(_START, _open(text)),
        ),
        "message_delta": (
            _stream({"type": "message_delta", "usage": {"output_tokens": 1}}),
            _START,
        ),
        "message_stop": (_stream({"type": "message_stop"}), _START),
        "ping": (_stream({"type": "ping"}), _START),
        "error": (_stream({"type": "error", "error": {}}), _START),
    }
    for name, (block, grown) in growing.items():
        line = _stream({**delta, "delta": {"type": name, **grown}})
        samples[name] = (line, _START, _open(block))
    wanted = [tag for tag in _tags(StreamEventBody) if tag != "content_block_delta"]
    assert set(samples) == {*wanted, *_tags(Delta)}
    return {tag: becomes(*samples[tag]) for tag in [*wanted, *_tags(Delta)]}


def blocks() -> dict[str, Becomes]:
    """Returns the blocks of finished messages: tool results of user messages, all others of assistant messages."""
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    found: dict[str, Becomes] = {}
    for tag in _tags(ClaudeBlock):
        block: Line = {"type": tag, "id": "c2", "name": "x", "tool_use_id": "c1", "text": "x"}
        block |= {"thinking": "x", "data": "x", "source": source}
        is_result = tag == "tool_result"
        line = _user(block) if is_result else _assistant(block)
        called = _assistant(_CALL) if tag.endswith("_result") else None
        found[tag] = becomes(line, *([called] if called else []))
    ask = {**_CALL, "id": "q1", "name": "AskUserQuestion", "input": {"questions": []}}
    found["tool_use of a question"] = becomes(_assistant(ask))
    found["anything else"] = becomes(_assistant({"type": "new"}))
    return found


def control() -> dict[str, Becomes]:
    """Returns the requests of both sides by subtype."""
    samples: dict[str, tuple[Line, ...]] = {
        "can_use_tool": (_control(_ASK), _assistant(_CALL)),
        "hook_callback": (_control({"subtype": "hook_callback", "callback_id": "h1"}),),
        "mcp_message": (
            _control({"subtype": "mcp_message", "server_name": "turnwire", "message": _TOOL_CALL}),
        ),
    }
    needs = {"mode": "plan", "user_message_id": "u", "serverName": "x", "server_name": "x"}
    more = {**needs, "enabled": True, "task_id": "t", "title": "x"}
    plain = {
        tag: (_control({"subtype": tag, **more}),)
        for tag in _tags(ControlBody)
        if tag not in samples
    }
    found = {tag: becomes(*{**samples, **plain}[tag]) for tag in _tags(ControlBody)}
    return {**found, "anything else": becomes(_control({"subtype": "new"}))}


TABLES = {
    "messages": messages,
    "news": news,
    "stream events": stream_events,
    "blocks": blocks,
    "control requests": control,
}


def cells(what: Becomes) -> tuple[str, str, str]:
    """Returns the cells as the page shows them."""
    log, v2, rpc = (", ".join(f"`{name}`" for name in names) or "–" for names in what)
    return log, v2, rpc


if __name__ == "__main__":
    for title, table in TABLES.items():
        print(f"\n### {title}\n")
        for name, what in table().items():
            shown = name if " " in name else f"`{name}`"
            print(f"| {shown} | | {' | '.join(cells(what))} |")
