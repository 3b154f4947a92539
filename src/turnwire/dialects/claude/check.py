"""Checks the stream of a Claude process against the rules of its protocol, line by line.

The adapter tolerates many faults, because a conversation must go on. This check tolerates only what
the real CLI does, and reports each broken rule with its line.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, assert_never

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core.violations import Violation, Violations
from turnwire.dialects.claude import blocks, control, messages, stream, system
from turnwire.dialects.claude.lines import Line
from turnwire.errors import BadLine

__all__ = ["RULES", "OpenTool", "StreamCheck", "StreamReport"]

RULES = {
    "bad_line": "Every line is a JSON object.",
    "message_not_started": "A stream event belongs to a message that has started.",
    "message_started_twice": "A message starts only once, before its other events.",
    "message_stopped": "A message that has stopped gets no more stream events.",
    "block_not_started": "A delta or a stop belongs to a block that has started.",
    "block_started_twice": "A block starts only once.",
    "block_stopped": "A block that has stopped gets no delta or stop.",
    "block_left_open": "Every block stops before its message, unless it is abandoned.",
    "block_differs": "A finished text, thinking or provider's tool call equals its streamed pieces.",
    "tool_id_reused": "A tool_use id is unique.",
    "result_repeated": "A tool call has only one result.",
    "result_without_call": "A tool result belongs to a call.",
    "cancel_without_request": "Only an existing request can be cancelled.",
    "result_index_backwards": "The result_index of a process grows.",
    "cost_backwards": "The cost of a session does not shrink while its process runs.",
}
"""The rules by the codes of their violations."""

_CALLS = (blocks.ToolUseBlock, blocks.ServerToolUseBlock, blocks.McpToolUseBlock)
_RESULTS = (blocks.ToolResultBlock, blocks.ServerToolResultBlock)


class OpenTool(Struct, frozen=True, gc=False):
    """A tool call without a result. That is allowed, because a turn can be interrupted."""

    id: str
    name: str
    line: int


class StreamReport(Struct, frozen=True, gc=False):
    """The report on a stream. `lines` is always `typed` + `unknown` + `errors`."""

    lines: int
    typed: int  # lines with only known types and fields
    unknown: int  # lines with unknown types or fields
    errors: int  # lines that are not JSON objects
    messages: int  # messages of the model and to the model
    blocks: int  # finished blocks in them
    tools: int  # tool calls
    inputs_rewritten: int  # calls whose finished input differs from the streamed one; allowed
    unknown_kinds: dict[str, int]  # name -> number of lines
    open_tools: list[OpenTool]
    violation_count: int
    violations: list[Violation]  # only the first violations


class StreamCheck:
    """Checks a recording: call `feed` for every line in order, then read `report`.

    A recording may hold several processes in sequence, and may start in the middle of one.
    """

    def __init__(self) -> None:
        self._lines = self._unknown = self._errors = 0
        self._messages = self._blocks = self._tools = self._inputs_rewritten = 0
        self._unknown_kinds: Counter[str] = Counter()
        self._violations = Violations()
        self._open: dict[str, OpenTool] = {}
        self._known_calls: set[str] = set()  # of all processes: a later one may have the results
        self._requests: set[str] = set()
        self._start_seen = False
        self._new_process()

    def _new_process(self) -> None:
        """Forgets what is only valid for one process."""
        self._voices: dict[str | None, _Voice] = {}
        self._calls: dict[str, _Call] = {}
        self._answers: dict[str, str | None] = {}  # call id -> uuid of the frame with its result
        self._in_turn = False
        self._shook_hands = False
        self._last_index: int | None = None
        self._last_cost: float | None = None
        self._session: str | None = None  # the session of the last result
        self._init_since_result = False

    # --- input and report ---------------------------------------------------------------------

    def feed(self, line: Line | BadLine, *, from_host: bool = False) -> None:
        """Takes one line. Only counts a line of the host: the rules are for the agent."""
        self._lines += 1
        if isinstance(line, BadLine):
            self._errors += 1
            self.violation("bad_line", line.line, line.detail)
            return
        if line.unknown:
            self._unknown += 1
            self._unknown_kinds.update(line.unknown)
        if from_host:
            return
        match line.message:
            case messages.StreamEvent() as frame:
                self._stream_event(frame, line)
            case messages.AssistantMessage() as frame:
                self._assistant(frame, line)
            case messages.UserMessage() as frame:
                self._user(frame, line)
            case messages.ResultMessage() as result:
                self._result(result, line)
            case system.Init():
                self._init()
            case control.ControlRequest() as request:
                self._requests.add(request.request_id)
                self._note_call_of(request)
            case control.ControlCancelRequest(request_id=request_id):
                if self._start_seen and request_id not in self._requests:
                    self.violation("cancel_without_request", line.number, f"request {request_id}")
            case control.ControlResponse(response=control.ControlSuccess(response=response)):
                if _is_handshake(response):
                    self._start_seen = self._shook_hands = True

    def violation(self, code: str, line: int, message: str) -> None:
        """Counts a violation. Stores only the first ones."""
        self._violations.add(code, line, message)

    def report(self) -> StreamReport:
        """Returns the report on the lines so far."""
        return StreamReport(
            self._lines,
            self._lines - self._unknown - self._errors,
            self._unknown,
            self._errors,
            self._messages,
            self._blocks,
            self._tools,
            self._inputs_rewritten,
            dict(self._unknown_kinds.most_common()),
            list(self._open.values()),
            self._violations.count,
            self._violations.in_order(),
        )

    # --- processes and turns ------------------------------------------------------------------

    def _init(self) -> None:
        """Starts a turn: in a new process, if a turn is open or a handshake came before.

        A handshake alone proves nothing: a host that reconnects may repeat it.
        """
        if self._in_turn or self._shook_hands:
            self._new_process()
        self._start_seen = self._in_turn = self._init_since_result = True

    def _result(self, result: messages.ResultMessage, line: Line) -> None:
        index, cost = result.result_index, result.total_cost_usd
        is_other = None not in (result.session_id, self._session) and (
            result.session_id != self._session
        )
        if index == 0 or is_other or (index is None and self._init_since_result):
            # A different session or a new process. Without an index this is a guess in favour of
            # the agent.
            self._last_index = self._last_cost = None
        self._session = result.session_id or self._session
        if index is not None and self._last_index is not None and index <= self._last_index:
            said = f"result_index {index} after {self._last_index}"
            self.violation("result_index_backwards", line.number, said)
        if cost is not None and self._last_cost is not None and cost < self._last_cost - 1e-9:
            said = f"total_cost_usd {cost:g} after {self._last_cost:g}"
            self.violation("cost_backwards", line.number, said)
        self._last_index = index
        self._last_cost = self._last_cost if cost is None else cost
        self._in_turn = self._shook_hands = self._init_since_result = False

    # --- stream events ------------------------------------------------------------------------

    def _stream_event(self, frame: messages.StreamEvent, line: Line) -> None:
        voice = self._voice(frame.parent_tool_use_id)
        event = frame.event
        if isinstance(event, stream.MessageStart):
            self._message_start(event, frame, voice, line)
            return
        if isinstance(event, stream.Ping | stream.StreamError | stream.UnknownStreamEvent):
            return
        message = self._message_of(frame, voice, line)
        if message is None:
            return
        match event:
            case stream.ContentBlockStart(index=index, content_block=start):
                if index in message.blocks:
                    self.violation("block_started_twice", line.number, message.place(index))
                else:
                    message.blocks[index] = _Block(start, exact=not line.unknown)
            case stream.ContentBlockDelta(index=index, delta=delta):
                block = self._block_of(message, index, "delta", line)
                if block is not None:
                    block.grow(delta, exact=not line.unknown)
            case stream.ContentBlockStop(index=index):
                block = self._block_of(message, index, "stop", line)
                if block is not None:
                    block.stopped = True
                    self._compare(message, index, block, line)
            case stream.MessageStop():
                self._message_stop(message, frame, line)
            case stream.MessageDelta():
                pass
            case _:
                assert_never(event)

    def _message_start(
        self, event: stream.MessageStart, frame: messages.StreamEvent, voice: _Voice, line: Line
    ) -> None:
        body = event.message or stream.ApiMessage()
        message_id = body.id or frame.api_message_id
        last = voice.message
        if last is not None and last.id is not None and last.id == message_id:
            self.violation("message_started_twice", line.number, last.name)
        # A message that did not stop was abandoned: the CLI retries after an error of the API.
        message = self._new_message(voice, message_id)
        voice.heard_from_start = True
        for index, block in enumerate(body.content if isinstance(body.content, list) else ()):
            message.blocks[index] = _Block(block, exact=not line.unknown)
            message.blocks[index].stopped = True  # the whole block came at once

    def _message_of(
        self, frame: messages.StreamEvent, voice: _Voice, line: Line
    ) -> _Message | None:
        message, named = voice.message, frame.api_message_id
        if message is not None and (named is None or message.id is None or named == message.id):
            if not message.stopped:
                return message
            self.violation("message_stopped", line.number, message.name)
            return None
        said = f"message {named or '(no id)'}"
        if voice.before is not None and named == voice.before.id:
            if voice.before.stopped:
                self.violation("message_stopped", line.number, said)
            return None  # else: a late event of an abandoned message
        self.violation("message_not_started", line.number, said)
        message = self._new_message(voice, named)
        message.cut = True  # report it once: its blocks have not started either
        return message

    def _block_of(self, message: _Message, index: int, what: str, line: Line) -> _Block | None:
        block = message.blocks.get(index)
        if block is None:
            if not message.cut:
                said = f"a {what} for {message.place(index)}"
                self.violation("block_not_started", line.number, said)
            block = message.blocks[index] = _Block(None, exact=False)
        elif block.stopped:
            self.violation("block_stopped", line.number, f"a {what} for {message.place(index)}")
            return None
        return block

    def _message_stop(self, message: _Message, frame: messages.StreamEvent, line: Line) -> None:
        message.stopped = True
        abandoned = frame.abandoned_blocks
        for index, block in message.blocks.items():
            if block.stopped or (abandoned and index >= abandoned.from_block_index):
                continue
            self.violation("block_left_open", line.number, message.place(index))

    # --- finished messages --------------------------------------------------------------------

    def _assistant(self, frame: messages.AssistantMessage, line: Line) -> None:
        voice = self._voice(frame.parent_tool_use_id)
        body = frame.message or stream.ApiMessage()
        message = voice.message_named(body.id)
        if message is None:
            # If an earlier message of this voice was recorded, no start is missing.
            voice.heard_from_start |= voice.message is not None or self._is_followed(frame)
            message = self._new_message(voice, body.id)
        if frame.uuid is not None:
            if frame.uuid in message.frames:
                return  # a repeat of the frame
            message.frames.add(frame.uuid)
        content = _content(body)
        # The CLI may repeat the whole message after it has sent the blocks one by one.
        again = message.said() if len(content) > 1 else []
        for finished in content:
            if finished in again:
                again.remove(finished)
                continue
            self._blocks += 1
            if isinstance(finished, _CALLS):
                self._call(finished, message, line)
            elif isinstance(finished, _RESULTS):
                self._answer(finished, voice, frame.uuid, line)
            index = message.waiting(finished)
            if index is not None:
                block = message.blocks[index]
                block.finished = finished
                # An interrupt can cut the finished block short.
                block.exact = block.exact and not frame.aborted and not line.unknown
                if block.stopped:
                    self._compare(message, index, block, line)

    def _compare(self, message: _Message, index: int, block: _Block, line: Line) -> None:
        """Compares a block that has both stopped and finished: the two must be equal."""
        if block.finished is None or not block.exact:
            return
        difference = block.difference()
        block.pieces.clear()  # not needed any more: saves memory in a long sub-agent
        if difference and isinstance(block.finished, blocks.ToolUseBlock):
            # The CLI normalizes the input of its own tools: it drops a redundant `cd`, adds
            # defaults, and converts numbers in quotes.
            self._inputs_rewritten += 1
        elif difference:
            self.violation("block_differs", line.number, f"{message.place(index)}: {difference}")

    def _user(self, frame: messages.UserMessage, line: Line) -> None:
        self._messages += 1
        voice = self._voice(frame.parent_tool_use_id)
        for block in _content(frame.message or stream.ApiMessage()):
            self._blocks += 1
            if isinstance(block, _RESULTS) and not frame.isReplay:
                self._answer(block, voice, frame.uuid, line)

    # --- tools --------------------------------------------------------------------------------

    def _call(
        self,
        block: blocks.ToolUseBlock | blocks.ServerToolUseBlock | blocks.McpToolUseBlock,
        message: _Message,
        line: Line,
    ) -> None:
        # Stores a hash of the input: a long process makes many calls, some with large inputs.
        call = _Call(message.id, block.name, hash(msgspec.json.encode(block.input)))
        before = self._calls.setdefault(block.id, call)
        if before is call:
            self._tools += 1
            self._known_calls.add(block.id)
            self._open[block.id] = OpenTool(block.id, block.name, line.number)
        elif before != call:
            said = f"{block.id} is the id of a call of {before.name} and of another of {block.name}"
            self.violation("tool_id_reused", line.number, said)

    def _answer(
        self,
        block: blocks.ToolResultBlock | blocks.ServerToolResultBlock,
        voice: _Voice,
        uuid: str | None,
        line: Line,
    ) -> None:
        call_id = block.tool_use_id
        self._open.pop(call_id, None)
        if call_id in self._answers:
            if uuid is None or self._answers[call_id] != uuid:
                self.violation("result_repeated", line.number, f"tool call {call_id}")
            return
        self._answers[call_id] = uuid
        # A resumed session sends results of calls from before this recording, but only before the
        # model speaks again. After that, all calls are known.
        if voice.heard_from_start and call_id not in self._known_calls:
            self.violation("result_without_call", line.number, f"tool call {call_id}")

    def _note_call_of(self, frame: control.ControlRequest) -> None:
        """Notes the call that a request names: a sub-agent's messages may be missing."""
        call_id = getattr(frame.request, "tool_use_id", None)
        if call_id is not None:
            self._known_calls.add(call_id)

    # --- voices -------------------------------------------------------------------------------

    def _voice(self, parent: str | None) -> _Voice:
        voice = self._voices.get(parent)
        if voice is None:
            voice = self._voices[parent] = _Voice()
        return voice

    def _new_message(self, voice: _Voice, message_id: str | None) -> _Message:
        self._messages += 1
        voice.before, voice.message = voice.message, _Message(message_id)
        return voice.message

    def _is_followed(self, frame: messages.AssistantMessage) -> bool:
        """Returns whether the recording has this voice from its start."""
        parent = frame.parent_tool_use_id
        return self._start_seen if parent is None else parent in self._calls


# --- state ------------------------------------------------------------------------------------


class _Call(Struct, frozen=True, gc=False):
    message_id: str | None
    name: str
    input: int


class _Voice:
    """The agent itself, or a sub-agent under its tool call."""

    __slots__ = ("before", "heard_from_start", "message")

    def __init__(self) -> None:
        self.message: _Message | None = None
        self.before: _Message | None = None  # the message before that one
        self.heard_from_start = False  # from some message on, nothing is missing

    def message_named(self, message_id: str | None) -> _Message | None:
        """Returns the message of a finished block, if it has started."""
        for message in (self.message, self.before):
            if message is not None and (message_id is None or message.id in (None, message_id)):
                return message
        return None


class _Message:
    """A model message and its blocks so far."""

    __slots__ = ("blocks", "cut", "frames", "id", "stopped")

    def __init__(self, message_id: str | None) -> None:
        self.id = message_id
        self.blocks: dict[int, _Block] = {}
        self.frames: set[str] = set()  # uuids of the frames with finished blocks
        self.stopped = False
        self.cut = False  # its start is missing

    @property
    def name(self) -> str:
        """Returns a name for people."""
        return f"message {self.id or '(no id)'}"

    def place(self, index: int) -> str:
        """Returns a name of one of its blocks for people."""
        return f"block {index} of {self.name}"

    def said(self) -> list[blocks.ClaudeBlock]:
        """Returns the streamed blocks that have been finished."""
        return [b.finished for b in self.blocks.values() if b.finished is not None]

    def waiting(self, finished: blocks.ClaudeBlock) -> int | None:
        """Returns the index of the streamed block that a finished one completes."""
        for index, block in self.blocks.items():
            if block.finished is None and block.may_become(finished):
                return index
        return None


class _Block:
    """A streamed block and its pieces so far."""

    __slots__ = ("exact", "finished", "pieces", "start", "stopped")

    def __init__(self, start: blocks.ClaudeBlock | None, *, exact: bool) -> None:
        self.start = start  # None: missing
        self.pieces: list[str] = []
        self.stopped = False
        self.finished: blocks.ClaudeBlock | None = None
        self.exact = exact  # all its fields are known, so it can be compared

    def grow(self, delta: stream.Delta, *, exact: bool) -> None:
        """Adds a delta."""
        self.exact = self.exact and exact
        match delta:
            case stream.TextDelta(text=piece):
                self.pieces.append(piece)
            case stream.ThinkingDelta(thinking=piece):
                self.pieces.append(piece)
            case stream.InputJsonDelta(partial_json=piece):
                self.pieces.append(piece)
            case _:
                pass

    def may_become(self, finished: blocks.ClaudeBlock) -> bool:
        """Returns whether this block can become the finished one."""
        if isinstance(self.start, _CALLS) and isinstance(finished, _CALLS):
            return self.start.id == finished.id
        return type(self.start) is type(finished)

    def difference(self) -> str | None:
        """Returns how the finished block differs; None if it is equal."""
        grown = "".join(self.pieces)
        match self.start, self.finished:
            case blocks.TextBlock() as start, blocks.TextBlock() as finished:
                return _difference(start.text + grown, finished.text)
            case blocks.ThinkingBlock() as start, blocks.ThinkingBlock() as finished:
                return _difference(start.thinking + grown, finished.thinking)
            case (
                blocks.ToolUseBlock()
                | blocks.ServerToolUseBlock()
                | blocks.McpToolUseBlock() as start,
                blocks.ToolUseBlock()
                | blocks.ServerToolUseBlock()
                | blocks.McpToolUseBlock() as finished,
            ):
                try:
                    streamed: Any = msgspec.json.decode(grown) if grown else start.input
                    same = streamed == finished.input
                except (msgspec.DecodeError, RecursionError):
                    return None  # the model was cut off inside the input, so it cannot be compared
                return (
                    None if same else f"the finished input differs from the streamed: {grown[:80]}"
                )
            case _:
                return None


def _difference(streamed: str, finished: str) -> str | None:
    if streamed == finished:
        return None
    pairs = enumerate(zip(streamed, finished, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(streamed), len(finished)))
    return f"{len(streamed)} characters streamed, {len(finished)} finished, different from {at} on"


def _content(message: stream.ApiMessage) -> list[blocks.ClaudeBlock]:
    if isinstance(message.content, str):
        return [blocks.TextBlock(message.content)]
    return message.content or []


def _is_handshake(response: Raw | UnsetType) -> bool:
    """Returns whether an answer is the one to `initialize`: it lists the commands."""
    return response is not UNSET and b'"commands"' in bytes(response)[:4096]
