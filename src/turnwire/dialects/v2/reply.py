"""The reply to one message: reads the content and the end of its turn from frames."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from msgspec import Struct, structs

from turnwire.core.error_codes import Refused
from turnwire.core.status import OpenRequest, TurnEnd
from turnwire.core.usage import Usage
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p

__all__ = ["OnRequest", "Reply", "ReplyReader", "ToolUse", "call_for_requests"]


class ToolUse(Struct, frozen=True):
    """A tool call of a turn and its result. `result` is None while the call has none."""

    tool_use_id: str
    tool_name: str
    input: Any = None
    result: Any = None
    is_error: bool = False


class Reply(Struct, frozen=True):
    """The content and the end of one turn. `end` is None while the turn waits for a person."""

    turn_id: int
    end: TurnEnd | None
    requests: list[OpenRequest]  # the open questions and permissions of the turn
    frames: list[f.Frame]  # the finished frames of the turn, in the order of the log
    cursor: int  # the number of the newest entry that was read

    @property
    def text(self) -> str:
        """The agent's texts, separated by blank lines. Texts of sub-agents are only in `frames`."""
        return "\n\n".join(
            frame.payload.text
            for frame in self.frames
            if isinstance(frame, f.AssistantChunk) and frame.payload.parent_tool_use_id is None
        )

    @property
    def tools(self) -> list[ToolUse]:
        """The tool calls of the turn with their results, in the order of the calls."""
        calls: dict[str, ToolUse] = {}
        for frame in self.frames:
            match frame:
                case f.AssistantToolCall(payload=call):
                    calls[call.tool_use_id] = ToolUse(call.tool_use_id, call.tool_name, call.input)
                case f.AssistantToolResult(payload=result) if result.tool_use_id in calls:
                    calls[result.tool_use_id] = structs.replace(
                        calls[result.tool_use_id], result=result.content, is_error=result.is_error
                    )
                case _:
                    pass
        return list(calls.values())

    @property
    def is_error(self) -> bool:
        """Returns whether the turn failed; `end.error` says why."""
        return self.end is not None and self.end.is_error

    @property
    def was_interrupted(self) -> bool:
        """Returns whether the turn was interrupted."""
        return self.end is not None and self.end.interrupted

    @property
    def usage(self) -> Usage | None:
        """The tokens of the turn; None if the agent does not count them."""
        return self.end.usage if self.end is not None else None

    @property
    def cost_usd(self) -> float | None:
        """The price of the turn in US dollars; None if the agent does not say it."""
        return self.end.cost_usd if self.end is not None else None


class ReplyReader:
    """Reads the frames of a conversation until one turn has ended, or waits for a person.

    A reader whose turn waits can be fed further frames. It returns the next reply when the turn has
    ended, or waits for another request.
    """

    def __init__(self, client_message_id: str, *, after: int) -> None:
        """`client_message_id`: the message that starts the turn; `after`: the log's head before."""
        self.cursor = after
        self.keeps_frames = True  # False: the replies have no frames
        self._client_message_id = client_message_id
        self._turn_id: int | None = None
        self._frames: list[f.Frame] = []
        self._is_queued = False
        self._told: set[str] = set()  # the requests that were part of an earlier reply

    @classmethod
    def resumed(cls, reply: Reply) -> ReplyReader:
        """Returns a reader that continues after a reply whose turn had not ended."""
        reader = cls("", after=reply.cursor)
        reader._turn_id = reply.turn_id
        reader._frames = list(reply.frames)
        reader._told = {request.request_id for request in reply.requests}
        return reader

    @property
    def turn_id(self) -> int | None:
        """The turn of the message; None while it is not known, as while the message is queued."""
        return self._turn_id

    def acknowledged(self, turn_id: int | None, queue_id: str | None) -> None:
        """Takes the answer to the message: the turn that it began, or its place in the queue."""
        if self._turn_id is None:
            self._turn_id = turn_id
            self._is_queued = queue_id is not None

    def feed(self, frame: f.Frame | f.UnknownFrame) -> Reply | None:
        """Takes a frame. Returns the reply when the turn has ended or waits for a person.

        Raises Refused if the message was removed from the queue, because its turn never
        starts.
        """
        if isinstance(frame, f.MessageReplay):
            frame = frame.payload.event
        if isinstance(frame, f.UnknownFrame):
            return None
        if isinstance(frame, f.SessionReset):
            self._reset(frame.payload)
            return None
        payload: Any = frame.payload  # type: ignore[attr-defined]  # every kind has one
        number = getattr(payload, "message_sequence", None)
        if number is not None:
            if number <= self.cursor:
                return None
            self.cursor = number
        if self._turn_id is None:
            self._find_turn(frame)
        if isinstance(frame, f.SessionState):
            return self._state(frame)
        if frame.turn_id is None or frame.turn_id != self._turn_id:
            return None
        if isinstance(frame, f.AssistantComplete):
            self._frames.append(frame)
            return self._reply(frame.payload, [])
        if number is not None and self.keeps_frames:
            self._frames.append(frame)
        return None

    def _reset(self, reset: p.Reset) -> None:
        """The log is another one, or was not sent whole: numbers begin anew."""
        self.cursor = reset.first - 1
        if reset.reason != "tail":
            self._frames = []

    def _find_turn(self, frame: f.Frame) -> None:
        match frame:
            case f.UserMessage(payload=payload) | f.TurnStarted(payload=payload):
                if payload.client_message_id == self._client_message_id:
                    self._turn_id = frame.turn_id
            case _:
                pass

    def _state(self, frame: f.SessionState) -> Reply | None:
        status = frame.payload
        if self._turn_id is None:
            was_queued = self._is_queued
            self._is_queued = any(
                item.client_message_id == self._client_message_id for item in status.queue
            )
            if was_queued and not self._is_queued:
                raise Refused(
                    "QUEUE_ITEM_NOT_FOUND",
                    "The message was removed from the queue before its turn began.",
                )
            return None
        own = [request for request in status.requests if request.turn_id == self._turn_id]
        ids = {request.request_id for request in own}
        if ids <= self._told:
            return None
        self._told |= ids
        return self._reply(None, own)

    def _reply(self, end: TurnEnd | None, requests: list[OpenRequest]) -> Reply:
        assert self._turn_id is not None
        return Reply(self._turn_id, end, requests, list(self._frames), self.cursor)


# Replies to a question or a permission, with the conversation's `answer` or `decide`.
OnRequest: TypeAlias = Callable[[OpenRequest], Awaitable[object] | object]


async def call_for_requests(
    reply: Reply, on_request: OnRequest | None, wait: Callable[[Reply], Awaitable[Reply]]
) -> Reply:
    """Calls `on_request` once with each request of the turn. Returns the reply with its end."""
    told: set[str] = set()
    while on_request is not None and reply.end is None:
        for request in reply.requests:
            if request.request_id not in told:
                told.add(request.request_id)
                came = on_request(request)
                if isinstance(came, Awaitable):
                    await came
        reply = await wait(reply)
    return reply
