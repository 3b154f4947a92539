"""Recorded streams as runs of AG-UI, uncut or cut and resumed, and what a reader has of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.helpers.recorded_streams import events_of
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import to_json
from turnwire.core.status import Status
from turnwire.core.view import MessageView, TextView, ThinkingView, ToolView, View
from turnwire.dialects.agui import events as e
from turnwire.dialects.agui.messages import MessagesBuilder
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.view_reducer import ViewReducer
from turnwire.engine.recording_view import Recording
from turnwire.turn_streams.agui.writer import AguiWriter, Run, messages_of
from turnwire.turn_streams.place import StreamPlace, place_of

__all__ = [
    "assembled",
    "frames_of",
    "history",
    "of_messages",
    "of_view",
    "recorded_frames",
    "recording",
    "runs_of",
    "view_of",
]

START = StreamPlace(0)
RUN = Run("thread-1", "run-1", {"mine": 1})


def recording() -> Recording:
    return Recording("conv-1", trace_of=lambda turn: f"{turn:032x}", keep=True)


def recorded_frames(events: Sequence[NormalizedStreamEvent]) -> list[list[f.Frame]]:
    """Returns the frames of a connection, by the event that they are about."""
    whole = recording()
    out = [whole.connect()]
    out += [whole.feed(event) for event in events]
    return [*out, whole.finish()]


def frames_of(path: Path) -> list[f.Frame]:
    """Returns the frames of a recorded stream of Claude Code."""
    events = events_of(path.read_bytes().splitlines())
    return [frame for some in recorded_frames(events) for frame in some]


def runs_of(
    frames: Iterable[f.Frame], place: StreamPlace | None = START, run: Run = RUN
) -> tuple[list[list[e.Event]], AguiWriter]:
    """Returns the runs of a client that begins another one as soon as one has ended."""
    out: list[list[e.Event]] = [[]]
    writer = AguiWriter(run, place)
    before: list[f.Frame] = []
    for frame in frames:
        if writer.is_over:
            writer = AguiWriter(run, place_of(writer.event_id or ""))
            out.append([each for known in before for each in writer.feed(known)])
        out[-1] += writer.feed(frame)
        if isinstance(frame, f.MessageReplay) or _is_entry(frame):
            before.append(frame)
    return [run for run in out if run], writer


def assembled(*streams: Iterable[e.Event]) -> Any:
    """Returns the messages of a client, as JSON."""
    builder = MessagesBuilder()
    for events in streams:
        for event in events:
            builder.add(msgspec.json.decode(msgspec.json.encode(event), type=e.Event))
    return to_json(builder.messages)


def history(frames: Sequence[f.Frame]) -> Any:
    """Returns the messages of a log, as JSON."""
    states = [each.payload for each in frames if isinstance(each, f.SessionState)]
    status = states[-1] if states else Status("active", False, [], [])
    kept = [each for each in frames if _is_entry(each) or isinstance(each, f.AssistantComplete)]
    return to_json(messages_of(kept, status, "/api/blobs/{}".format))


def _is_entry(frame: f.Frame) -> bool:
    payload: Any = frame.payload  # type: ignore[attr-defined]
    return getattr(payload, "message_sequence", None) is not None


def view_of(frames: Iterable[f.Frame]) -> View:
    """Returns our own view of a connection."""
    reducer = ViewReducer()
    for number, frame in enumerate(frames, 1):
        numbered: Any = msgspec.structs.replace(frame, sequence=number)
        reducer.apply(numbered)
    return reducer.view()


def of_view(view: View) -> dict[str, Any]:
    """Returns the blocks of a view by id: their kind, their content, and their sub-agent."""
    out: dict[str, Any] = {}
    for message in view.messages:
        _add(message, None, out)
    return out


def _add(message: MessageView, parent: str | None, out: dict[str, Any]) -> None:
    if message.role == "user":
        return
    for block in message.blocks:
        match block:
            case TextView():
                out[block.id] = ("text", block.text, parent)
            case ThinkingView():
                out[block.id] = ("reasoning", block.text, parent)
            case ToolView():
                given = block.input if block.input_text is None else block.input_text
                out[block.id] = ("tool", block.tool_name, to_json(given), parent)
                if block.result is not None:
                    told = to_json(block.result.content)
                    is_error = block.result.is_error
                    out[f"{block.id}:result"] = ("result", _plain(told), is_error, parent)
                for each in block.messages:
                    _add(each, block.id, out)
            case _:
                pass


def of_messages(messages: Any) -> dict[str, Any]:
    """Returns the same of a client's messages, without what was discarded."""
    out: dict[str, Any] = {}
    for each in messages:
        parent = each.get("subagentRunId")
        ours = each.get("metadata", {}).get("turnwire", {})
        name = each["id"].removesuffix(":again")
        if each["role"] in ("user", "activity") or ours.get("discarded"):
            continue
        if each["role"] == "tool":
            told = _decoded(each["content"])
            out[name] = ("result", _plain(told), bool(ours.get("isError")), parent)
        for call in each.get("toolCalls", ()):
            about = call.get("metadata", {}).get("turnwire", {})
            if not about.get("discarded"):
                given = about.get("arguments", call["function"]["arguments"])
                out[call["id"]] = ("tool", call["function"]["name"], _decoded(given), parent)
        if each["role"] == "reasoning":
            out[name] = ("reasoning", each["content"], parent)
        elif each["role"] == "assistant" and "content" in each:
            out[name] = ("text", each["content"], parent)
    return out


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _plain(content: Any) -> Any:
    match content:
        case [{"type": "text", "text": str(text)}]:
            return _decoded(text)
        case str():
            return _decoded(content)
        case _:
            return content
