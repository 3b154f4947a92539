"""Translates stream events into events of growing blocks and messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from turnwire.core import blocks as unified
from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects.claude import messages, stream
from turnwire.dialects.claude.lines import Line
from turnwire.dialects.claude.message_state import MessageState, StreamedBlock
from turnwire.dialects.claude.translate import unify

__all__ = ["NO_MESSAGE", "Events", "Lane", "StreamFollower"]

Events = list[NormalizedStreamEvent]

NO_MESSAGE = stream.ApiMessage()

_MAX_LANES = 1024  # maximum of remembered sub-agents; many more than ever run together
_MAX_PAST = 8  # earlier messages of a lane that late events may refer to


class Lane:
    """The messages of one voice: the agent itself, or a sub-agent under its tool call."""

    __slots__ = ("agent_id", "message", "parent", "past")

    def __init__(self, parent: str | None, agent_id: str | None) -> None:
        self.parent = parent
        self.agent_id = agent_id
        self.message: MessageState | None = None
        self.past: dict[str, MessageState] = {}  # earlier messages, for late events

    def is_streaming(self) -> bool:
        """Returns whether a message is streaming, and must be ended."""
        return self.message is not None and self.message.streaming


class StreamFollower:
    """Tracks, for each voice, its current message and the open blocks of it.

    Events get their common fields by position, and the usual cases come first, for speed: this code
    runs for every line of every conversation.
    """

    def __init__(self) -> None:
        self.session_id = ""
        self._main = Lane(None, None)
        self._lanes: dict[str | None, Lane] = {None: self._main}
        self._in_turn = False
        self._woken = False  # background work has ended since: the agent may start a turn by itself
        self._unnamed = 0  # counts messages without an id of the agent
        self._block_handlers: dict[type, Callable[[Any, Lane, MessageState], Events]] = {
            stream.ContentBlockDelta: self._block_delta,
            stream.ContentBlockStart: self._block_start,
            stream.ContentBlockStop: self._block_stop,
            stream.MessageDelta: self._message_delta,
        }

    def _stream_event(self, frame: messages.StreamEvent, line: Line) -> Events:
        lane = self._main if frame.parent_tool_use_id is None else self._lane(frame)
        event = frame.event
        handle = self._block_handlers.get(type(event))
        if handle is None:
            return self._message_event(frame, lane, line)
        state = lane.message
        if state is not None and state.streaming and frame.api_message_id == state.id:
            return handle(event, lane, state)
        out: Events = []
        state = self._current(frame, lane, out)
        return [*out, *handle(event, lane, state)] if state is not None else out

    def _message_event(self, frame: messages.StreamEvent, lane: Lane, line: Line) -> Events:
        match frame.event:
            case stream.MessageStart(message=message):
                return self._message_start(message or NO_MESSAGE, frame, lane)
            case stream.MessageStop():
                return self._message_stop(frame, lane)
            case stream.UnknownStreamEvent(original_type=kind):
                return [self._unknown(f"stream_event/{kind}", line)]
            case stream.StreamError():
                # Only this stream event passes its raw line on, so the line must be valid UTF-8
                # here.
                sound = line.raw.decode(errors="replace").encode()
                news = ev.SystemEvent(
                    "claude", self.session_id, None, None, "stream_error", Raw(sound)
                )
                return [news]
            case _:  # a ping
                return []

    def _message_start(
        self, message: stream.ApiMessage, frame: messages.StreamEvent, lane: Lane
    ) -> Events:
        message_id = message.id or frame.api_message_id
        state = lane.message
        if state is not None and message_id == state.id:
            if state.streamed or state.stopped:
                return []  # a duplicate: the first one counts
            return [self._follow(lane, state, message.model)]
        if message_id in lane.past:
            return []
        if frame.session_id != self.session_id:
            self._meet(frame.session_id)
        out: Events = []
        if not self._in_turn:
            self._open_turn(lane, out)
        # A message that did not stop before the next one started was abandoned.
        self._discard(lane, "restarted", out)
        state = self._new_message(lane, message_id)
        out.append(self._follow(lane, state, message.model))
        # The start may already contain blocks.
        if message.content and isinstance(message.content, list):
            for index, block in enumerate(message.content):
                out += self._start_block(lane, state, index, unify(block, "in_progress"))
        return out

    def _block_start(
        self, event: stream.ContentBlockStart, lane: Lane, state: MessageState
    ) -> Events:
        block = unify(event.content_block, "in_progress")
        return self._start_block(lane, state, event.index, block)

    def _block_delta(
        self, event: stream.ContentBlockDelta, lane: Lane, state: MessageState
    ) -> Events:
        index, delta = event.index, event.delta
        block = state.blocks.get(index)
        if block is None:
            started = _implied(delta)
            if started is None:
                return []
            begun = self._start_block(lane, state, index, started)
            return [*begun, *self._block_delta(event, lane, state)]
        if block.ended:
            return []
        kind: ev.DeltaKind
        if isinstance(delta, stream.TextDelta):
            kind, text = "text", delta.text
        elif isinstance(delta, stream.InputJsonDelta):
            kind, text = "tool_input", delta.partial_json
        elif isinstance(delta, stream.ThinkingDelta):
            kind, text = "thinking", delta.thinking
        else:
            return self._quiet_delta(delta, block, lane)
        if not text:  # Claude starts every tool's input with an empty piece
            return []
        block.pieces.append(text)
        return [
            ev.ContentDelta(
                "claude",
                self.session_id,
                lane.parent,
                lane.agent_id,
                state.id,
                index,
                kind,
                text,
                block.tool_use_id,
            )
        ]

    def _quiet_delta(
        self,
        delta: stream.SignatureDelta | stream.CitationsDelta | stream.UnknownDelta,
        block: StreamedBlock,
        lane: Lane,
    ) -> Events:
        """Stores deltas that are not shown while they stream, for the finished block."""
        if isinstance(delta, stream.SignatureDelta):
            block.signatures.append(delta.signature)
            return []
        if isinstance(delta, stream.CitationsDelta):
            block.citations.append(delta.citation)
            return []
        kind = f"delta/{delta.original_type}"
        data = Raw(msgspec.json.encode(delta.data))
        return [ev.UnknownEvent("claude", self.session_id, lane.parent, lane.agent_id, kind, data)]

    def _block_stop(
        self, event: stream.ContentBlockStop, lane: Lane, state: MessageState
    ) -> Events:
        block = state.blocks.get(event.index)
        if block is None or block.ended:
            return []
        return [self._end_block(lane, state, event.index, block)]

    def _message_delta(self, event: stream.MessageDelta, lane: Lane, state: MessageState) -> Events:
        if event.delta and event.delta.stop_reason:
            state.stop_reason = event.delta.stop_reason
        if not event.usage:
            return []
        state.usage = event.usage
        return [
            ev.UsageUpdated(
                "claude", self.session_id, lane.parent, lane.agent_id, event.usage, state.id
            )
        ]

    def _message_stop(self, frame: messages.StreamEvent, lane: Lane) -> Events:
        state = lane.message
        if state is None or state.stopped or self._is_late(frame, lane):
            return []
        state.stop()
        if not state.streamed:
            return []  # the message came only in finished frames
        out: Events = []
        abandoned = frame.abandoned_blocks
        if abandoned and any(i >= abandoned.from_block_index for i in state.blocks):
            self._drop(lane, state, "abandoned", out, abandoned.from_block_index)
            return out
        for index, block in state.blocks.items():
            if not block.ended:
                out.append(self._end_block(lane, state, index, block))
        out.append(
            ev.MessageCompleted(
                "claude",
                self.session_id,
                lane.parent,
                lane.agent_id,
                state.id,
                state.stop_reason,
                state.usage,
            )
        )
        return out

    # --- lanes and their messages -------------------------------------------------------------

    def _lane(
        self, frame: messages.StreamEvent | messages.AssistantMessage | messages.UserMessage
    ) -> Lane:
        parent = frame.parent_tool_use_id
        lane = self._lanes.pop(parent, None)
        if lane is None:
            lane = Lane(parent, frame.agent_id)
            if len(self._lanes) > _MAX_LANES:
                del self._lanes[self._quietest()]
        elif frame.agent_id is not None:
            lane.agent_id = frame.agent_id
        self._lanes[parent] = lane  # moves it to the end, to be forgotten last
        return lane

    def _quietest(self) -> str | None:
        """Returns the sub-agent with the oldest event, preferably one that is not streaming."""
        subs = [lane for lane in self._lanes.values() if lane is not self._main]
        return next((lane for lane in subs if not lane.is_streaming()), subs[0]).parent

    def _new_message(self, lane: Lane, message_id: str | None) -> MessageState:
        if message_id is None:
            self._unnamed += 1
        name = message_id or f"unnamed-{self._unnamed}"
        if lane.message is not None:
            lane.past[lane.message.id] = lane.message
            if len(lane.past) > _MAX_PAST:
                del lane.past[next(iter(lane.past))]
        lane.message = MessageState(name, message_id is not None)
        return lane.message

    def _is_late(self, frame: messages.StreamEvent, lane: Lane) -> bool:
        """Returns whether a stream event belongs to an earlier message."""
        return frame.api_message_id is not None and frame.api_message_id in lane.past

    def _current(self, frame: messages.StreamEvent, lane: Lane, out: Events) -> MessageState | None:
        """Returns the message of a stream event. Starts it here if its start is missing."""
        state = lane.message
        named = frame.api_message_id
        if state is not None and not state.stopped:
            if not state.streamed and named == state.id:
                out.append(self._follow(lane, state, None))
                return state
            if state.streaming and (named is None or not state.has_own_id):
                return state
        if self._is_late(frame, lane) or (state is not None and named == state.id):
            return None
        self._meet(frame.session_id)
        self._open_turn(lane, out)
        self._discard(lane, "restarted", out)
        state = self._new_message(lane, named)
        out.append(self._follow(lane, state, None))
        return state

    def _follow(self, lane: Lane, state: MessageState, model: str | None) -> NormalizedStreamEvent:
        """Streams the message from now on, even if finished frames came before."""
        state.follow()
        return ev.MessageStarted(
            "claude", self.session_id, lane.parent, lane.agent_id, state.id, model
        )

    def _start_block(
        self, lane: Lane, state: MessageState, index: int, block: ContentBlock
    ) -> Events:
        if index in state.blocks:  # a duplicate: the first one counts
            return []
        state.start(index, block)
        if isinstance(block, unified.ToolUseBlock) and not block.input:
            # An empty input at the start means "not yet known", not "no arguments".
            about = (block.id, block.tool_name, block.tool_type)
            block = unified.ToolUseBlock(*about, None, "in_progress", None, block.asks)
        return [
            ev.ContentStarted(
                "claude", self.session_id, lane.parent, lane.agent_id, state.id, index, block
            )
        ]

    def _end_block(
        self, lane: Lane, state: MessageState, index: int, block: StreamedBlock
    ) -> NormalizedStreamEvent:
        block.ended = True
        return ev.ContentCompleted(
            "claude",
            self.session_id,
            lane.parent,
            lane.agent_id,
            state.id,
            index,
            state.finished.get(index) or block.assembled(),
        )

    def _discard(self, lane: Lane, reason: str, out: Events) -> None:
        """Ends the lane's message if it is streaming, and discards its unconfirmed blocks."""
        state = lane.message
        if state is not None and state.streaming:
            state.stop()
            self._drop(lane, state, reason, out, state.first_unfinished())

    def _drop(
        self, lane: Lane, state: MessageState, reason: str, out: Events, from_index: int
    ) -> None:
        for index, block in state.blocks.items():
            if index < from_index and not block.ended:
                out.append(self._end_block(lane, state, index, block))
        out.append(
            ev.MessageDiscarded(
                "claude", self.session_id, lane.parent, lane.agent_id, state.id, from_index, reason
            )
        )

    def _discard_all(self, reason: str, out: Events) -> None:
        for lane in self._lanes.values():
            self._discard(lane, reason, out)

    def _meet(self, session_id: str | None) -> None:
        if session_id:  # some frames have none
            self.session_id = session_id

    def _open_turn(self, lane: Lane, out: Events) -> None:
        if not self._in_turn and lane is self._main:
            self._in_turn = True
            out.append(ev.TurnStarted("claude", self.session_id, None, None, self._woken))
            self._woken = False

    # --- events without a message -------------------------------------------------------------

    def _unknown(self, kind: str, line: Line) -> NormalizedStreamEvent:
        return ev.UnknownEvent("claude", self.session_id, None, None, kind, Raw(line.raw))


def _implied(delta: stream.Delta) -> ContentBlock | None:
    """Returns the block of a delta whose start is missing."""
    match delta:
        case stream.TextDelta() | stream.CitationsDelta():
            return unified.TextBlock("", "in_progress")
        case stream.ThinkingDelta() | stream.SignatureDelta():
            return unified.ThinkingBlock("", "in_progress")
        case _:  # a tool call without id and name cannot be derived
            return None
