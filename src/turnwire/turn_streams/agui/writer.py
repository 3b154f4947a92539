"""Writes a conversation as one run of AG-UI, for one reader.

A run shows everything that happens in the conversation until it has to end: the turn of its message
has ended, the conversation has nothing more to do, or the turn waits for a person. A person's answer
begins another run, which continues the same turn.

A reader that lacks a part of the conversation first gets all messages as one snapshot. Every event
after that has an id, which says what the reader has: see `place.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from msgspec import UNSET, Struct

from turnwire.core.error_codes import Refused
from turnwire.core.message import to_json
from turnwire.core.status import OpenRequest, Status, TurnEnd
from turnwire.dialects.agui import events as e
from turnwire.dialects.agui.messages import AguiMessage, MessagesBuilder
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.reply import ReplyReader
from turnwire.turn_streams.agui.parts import (
    OURS,
    about_block,
    arguments_of,
    end_metadata,
    interrupt_of,
    is_client_tool,
    queued_message,
    result_text,
    same_json,
    text_of,
    usage_of,
    user_message,
)
from turnwire.turn_streams.agui.sent import delta_of
from turnwire.turn_streams.agui.subagents import Subagents
from turnwire.turn_streams.growing_blocks import Growing, GrowingBlocks, piece_of
from turnwire.turn_streams.place import StreamPlace, log_mark, mark_of

__all__ = ["AguiWriter", "Run", "messages_of"]

_Handler: TypeAlias = Callable[[Any, int | None, list[e.Event]], None]
_PIECES = (f.AssistantChunk, f.AssistantThinking, f.AssistantToolCall)
_DISCARDED = {OURS: {"discarded": True}}
_OWNED = {"@ag-ui/client": {"authoritativeActivityTypes": ["turnwire.plan", "turnwire.block"]}}


class Run(Struct, frozen=True):
    """A run, as its client names it."""

    thread_id: str
    run_id: str
    state: Any = UNSET  # the state of the front end; UNSET: not known
    metadata: Mapping[str, Any] = {}  # ours, in the first event
    has_raw: bool = False  # the client also wants the frames of protocol v2
    knows_cancelled: bool = True  # False: the client is older than AG-UI 1.0


class AguiWriter:
    """The events of one run."""

    def __init__(
        self,
        run: Run,
        place: StreamPlace | None,
        *,
        own: ReplyReader | None = None,
        said: Iterable[str] = (),
        answered: Iterable[str] = (),
        blob_url: Callable[[str], str] = "/api/blobs/{}".format,
    ) -> None:
        """`place`: what the client has; None: it gets a snapshot of all messages.

        The frames begin with the turn of the place, or earlier: a run that continues a turn has to
        know its calls.
        `own` finds the turn that ends the run; None: the run ends when nothing is left to do.
        `said`: the ids of messages of people that the client has.
        `answered`: the tool calls whose results the client has, under ids of its own.
        """
        self.is_over = False
        self.last = 0 if place is None else place.number
        self.blocks = GrowingBlocks({} if place is None else place.lengths)
        self._run = run
        self._own = own
        self._said = set(said)
        self._answered = set(answered)
        self._blob_url = blob_url
        self._after = self.last
        self._builder = MessagesBuilder() if place is None else None  # until the snapshot is sent
        self._is_shown = False  # the frame becomes events; otherwise the client has it
        self._bare: list[AguiMessage] | None = None  # a snapshot that has no reasoning
        self._is_begun = False
        self._log = ""
        self._step: str | None = None
        self._state: dict[str, Any] | None = None  # as the client has it
        self._status: Status | None = None
        self._turn_end: tuple[int | None, TurnEnd] | None = None  # of the newest turn that ended
        self._own_end: tuple[int, TurnEnd] | None = None
        self._calls: set[str] = set()  # tool calls that are complete
        self._marks: dict[str, tuple[str, int]] = {}  # growing blocks: their names and lengths
        self._subagents = Subagents()
        if own is not None:
            own.keeps_frames = False
        self._handlers: dict[type, _Handler] = {
            f.TurnStarted: self._turn_started,
            f.UserMessage: self._user,
            f.AssistantChunk: self._text,
            f.AssistantThinking: self._thinking,
            f.AssistantToolCall: self._tool_call,
            f.AssistantBlock: self._block,
            f.AssistantToolProgress: self._progress,
            f.AssistantToolResult: self._result,
            f.AssistantDiscarded: self._discarded,
            f.AssistantRequestInput: self._question,
            f.AssistantPermissionRequest: self._permission,
            f.AssistantRequestResolved: self._resolved,
            f.AssistantComplete: self._completed,
            f.ConversationInterrupted: self._interrupted,
            f.SessionSystemEvent: self._system,
        }

    # --- what a connection calls ------------------------------------------------------------------

    @property
    def event_id(self) -> str | None:
        """The id of the newest event: what the reader has now. None before its snapshot."""
        if self._builder is not None:
            return None
        place = f"{self.last}{self._log}"
        for name, length in self._marks.values():
            place += f";{name}={length}"
        return place

    def feed(self, frame: f.Frame | f.UnknownFrame) -> list[e.Event]:
        """Returns the events of a frame.

        Raises Refused if the message was removed from the queue, because its turn never starts.
        """
        if self.is_over:
            return []
        out: list[e.Event] = []
        self._begin(out)
        reply = None if self._own is None else self._own.feed(frame)
        if isinstance(frame, f.MessageReplay):
            frame = frame.payload.event
        if self._run.has_raw and self._builder is None:
            out.append(e.RawEvent(to_json(frame), "turnwire.v2"))
        if isinstance(frame, f.SessionState):
            self._take_status(frame.payload, out)
        elif isinstance(frame, f.SessionConnected | f.SessionResumed):
            self._log = log_mark(frame.payload.epoch, frame.conversation_id)
        elif isinstance(frame, f.SessionReset):
            self._builder = MessagesBuilder()  # the client's copy is void
            self.last = self._after = 0
            self._calls.clear()
            self._said.clear()
            self._answered.clear()
        elif isinstance(frame, f.Frame):
            self._take(frame, out)
        if reply is not None and reply.end is not None:
            self._own_end = reply.turn_id, reply.end  # the state after it follows
        if self._builder is None:
            self._end_if_done(out)
        return out

    def is_next_piece(self, frame: f.Frame | f.UnknownFrame) -> bool:
        """Notes a piece of a block that was begun. Returns False if `feed` has to take the frame.

        The bytes of such a piece are the same for every reader: see `StreamSent.delta`.
        """
        if type(frame) not in _PIECES or self.is_over or self._run.has_raw:
            return False
        payload: Growing = frame.payload  # type: ignore[union-attr]
        if not self.blocks.is_next_piece(payload):
            return False
        self._grown(payload.block_id, len(piece_of(payload)))
        return True

    def refuse(self, refused: Refused) -> list[e.Event]:
        """Returns the events that end the run early, with an error."""
        out: list[e.Event] = []
        self._begin(out)
        self.is_over = True
        return [*out, e.RunError(refused.message, refused.code)]

    # --- the run ----------------------------------------------------------------------------------

    def _begin(self, out: list[e.Event]) -> None:
        if not self._is_begun:
            self._is_begun = True
            run = self._run
            ours = {OURS: {**run.metadata}} if run.metadata else None
            out.append(e.RunStarted(run.thread_id, run.run_id, e.PROTOCOL_VERSION, ours))

    def _take(self, frame: f.Frame, out: list[e.Event]) -> None:
        payload: Any = frame.payload  # type: ignore[attr-defined]  # every kind has one
        number: int | None = getattr(payload, "message_sequence", None)
        is_known = number is not None and number <= self._after
        self._is_shown = self._builder is None and not is_known
        self.last = max(self.last, number or 0)
        handle = self._handlers.get(type(frame))
        events: list[e.Event] = []
        if handle is not None:
            handle(payload, frame.turn_id, events)
        if self._is_shown:
            if events and not self._has_ended(frame.turn_id):
                self._enter(frame.turn_id, out)  # a replay has no frame that begins the turn
            out += events
        elif self._builder is not None:
            for event in events:
                self._builder.add(event)

    def _take_status(self, status: Status, out: list[e.Event]) -> None:
        self._status = status
        if self._builder is not None:
            messages = self._snapshot(self._builder, status)
            self._builder = None
            self._change_state(status, out)
            out.append(e.MessagesSnapshot(messages, _OWNED))
            if not any(each["role"] == "reasoning" for each in messages):
                self._bare = messages
        else:
            self._change_state(status, out)
        if self._own_end is not None:
            self._finish(*self._own_end, out)
        elif status.turn_id is not None:
            self._enter(status.turn_id, out)

    def _snapshot(self, builder: MessagesBuilder, status: Status) -> list[AguiMessage]:
        for item in status.queue:
            message = queued_message(item, self._blob_url)
            self._said.add(message["id"])
            builder.put(message)
        return builder.messages

    def _change_state(self, status: Status, out: list[e.Event]) -> None:
        """Sends our part of the state, or what has changed of it."""
        now: dict[str, Any] = to_json(status)
        before, self._state = self._state, now
        if before is None:
            theirs = self._run.state
            if theirs is UNSET:
                out.append(e.StateDelta([e.Patch("add", f"/{OURS}", now)]))
            else:
                own = theirs if isinstance(theirs, dict) else {}
                out.append(e.StateSnapshot({**own, OURS: now}))
            return
        patches = [e.Patch("remove", f"/{OURS}/{key}") for key in before if key not in now]
        patches += [
            e.Patch("add", f"/{OURS}/{key}", value)
            for key, value in now.items()
            if key not in before or before[key] != value
        ]
        if patches:
            out.append(e.StateDelta(patches))

    def _enter(self, turn_id: int | None, out: list[e.Event]) -> None:
        """Shows which turn runs, as a step."""
        name = None if turn_id is None else f"turn-{turn_id}"
        if name == self._step:
            return
        if self._step is not None:
            out.append(e.StepFinished(self._step))
        if name is not None:
            out.append(e.StepStarted(name, {OURS: {"turnId": turn_id}}))
        self._step = name

    def _has_ended(self, turn_id: int | None) -> bool:
        """Returns whether a turn has ended: only its background work may still follow."""
        ended = 0 if self._turn_end is None else self._turn_end[0] or 0
        return turn_id is None or turn_id <= ended

    def _end_if_done(self, out: list[e.Event]) -> None:
        """Ends the run if the conversation waits for a person, or has nothing more to do."""
        status = self._status
        if status is None or self.blocks.open or self.is_over:
            return
        requests = [each for each in status.requests if each.turn_id == status.turn_id]
        if status.turn_id is not None and requests:
            self._wait(requests, out)
        elif self._own is None and status.turn_id is None and _is_idle(status):
            turn_id, end = self._turn_end or (None, None)
            self._finish(turn_id, end, out)

    def _wait(self, requests: list[OpenRequest], out: list[e.Event]) -> None:
        interrupts = [interrupt_of(each) for each in requests if not is_client_tool(each)]
        pending = [each.tool_use_id for each in requests if is_client_tool(each)]
        outcome = e.Outcome("interrupt", interrupts)
        if not interrupts:
            # Older clients refuse the list; they find the calls, which have no result.
            outcome = e.Outcome("success", None, pending if self._run.knows_cancelled else None)
        self._close(out, "suspended", interrupts)
        out.append(e.RunFinished(self._run.thread_id, self._run.run_id, outcome))

    def _finish(self, turn_id: int | None, end: TurnEnd | None, out: list[e.Event]) -> None:
        if end is None:  # nothing has run
            self._close(out, "suspended")
            done = e.Outcome("success")
            out.append(e.RunFinished(self._run.thread_id, self._run.run_id, done))
            return
        metadata, usage = end_metadata(end, turn_id), usage_of(end.usage)
        is_failed = end.is_error and not end.interrupted
        self._close(out, "ended" if is_failed or end.interrupted else "suspended")
        if is_failed:
            said = end.error.message if end.error is not None else "The turn has failed."
            code = end.error.code if end.error is not None else None
            out.append(e.RunError(said, code, usage, metadata))
            return
        is_cancelled = end.interrupted and self._run.knows_cancelled
        outcome = e.Outcome("cancelled" if is_cancelled else "success")
        result = UNSET if end.structured_output is None else to_json(end.structured_output)
        ids = (self._run.thread_id, self._run.run_id)
        out.append(e.RunFinished(*ids, outcome, result, usage, metadata))

    def _close(self, out: list[e.Event], how: str, interrupts: Iterable[e.Interrupt] = ()) -> None:
        """Ends everything that a run has begun."""
        self.is_over = True
        for block_id in self.blocks.open:
            self._drop(block_id, out)
        self._subagents.close(out, is_ended=how == "ended", interrupts=interrupts)
        self._enter(None, out)

    # --- turns and people -------------------------------------------------------------------------

    def _turn_started(self, start: p.TurnStart, turn_id: int | None, out: list[e.Event]) -> None:
        if self._is_shown:
            self._enter(turn_id, out)

    def _completed(self, end: TurnEnd, turn_id: int | None, out: list[e.Event]) -> None:
        self._turn_end = turn_id, end
        if self._is_shown:
            self._enter(None, out)

    def _user(self, words: p.UserWords, turn_id: int | None, out: list[e.Event]) -> None:
        if words.origin != "user" or words.parent_tool_use_id is not None:
            return
        message = user_message(words, self._blob_url)
        if self._builder is not None:
            self._builder.put(message)
        elif message["id"] not in self._said:
            out.append(e.TextStart(message["id"], "user"))
            if text := text_of(words.content):
                out.append(e.TextContent(message["id"], text))
            out.append(e.TextEnd(message["id"]))
        self._said.add(message["id"])

    # --- blocks -----------------------------------------------------------------------------------

    def _text(self, block: p.Chunk, turn_id: int | None, out: list[e.Event]) -> None:
        tag = self._tag(block, out)
        start = e.TextStart(block.block_id, "assistant", tag)
        if block.partial:
            self._grow(block, [start], out)
            return
        finish = self.blocks.finish(block)
        if finish is None:
            return
        name = block.block_id
        if finish.is_other:
            out.append(e.TextEnd(name, _DISCARDED))
            name = f"{name}:again"  # a message cannot be emptied
            start = e.TextStart(name, "assistant", tag)
        if finish.is_new:
            out.append(start)
        if finish.text:
            out.append(e.TextContent(name, finish.text))
        out.append(e.TextEnd(name, about_block(block)))
        self._marks.pop(block.block_id, None)

    def _thinking(self, block: p.Thinking, turn_id: int | None, out: list[e.Event]) -> None:
        tag = self._tag(block, out)
        if block.partial:
            if block.snapshot and self._bare is not None:
                self._show_reasoning(block, tag, self._bare, out)
            self._grow(block, _reasoning(block.block_id, tag), out)
            return
        finish = self.blocks.finish(block)
        if finish is None:
            return
        name = block.block_id
        if finish.is_other:
            out += [e.ReasoningMessageEnd(name, _DISCARDED), e.ReasoningEnd(name)]
            name = f"{name}:again"
        if finish.is_new:
            out += _reasoning(name, tag)
        if finish.text:
            out.append(e.ReasoningContent(name, finish.text))
        out += [e.ReasoningMessageEnd(name, about_block(block)), e.ReasoningEnd(name)]
        if block.redacted is not None:
            out.append(e.ReasoningEncryptedValue("message", name, block.redacted))
        self._marks.pop(block.block_id, None)

    def _show_reasoning(
        self, block: p.Thinking, tag: str | None, before: list[AguiMessage], out: list[e.Event]
    ) -> None:
        """Sends a snapshot with reasoning that grows.

        A client keeps its own reasoning if a snapshot has none, and would add the text to it.
        """
        message: AguiMessage = {"id": block.block_id, "role": "reasoning", "content": block.text}
        if tag is not None:
            message["subagentRunId"] = tag
        out.append(e.MessagesSnapshot([*before, message], _OWNED))
        self.blocks.known[block.block_id] = len(block.text)
        self._bare = None

    def _tool_call(self, call: p.ToolCall, turn_id: int | None, out: list[e.Event]) -> None:
        if call.tool_use_id in self._calls:
            return
        tag = self._tag(call, out)
        self._subagents.called(call.tool_use_id, call.tool_name, tag)
        if call.partial:
            self._grow(call, [e.ToolCallStart(call.tool_use_id, call.tool_name, tag)], out)
            return
        about = about_block(call)
        self._complete(call, call.tool_use_id, tag, about, out)

    def _complete(
        self,
        call: p.ToolCall | p.RequestInput | p.PermissionAsked,
        name: str,
        tag: str | None,
        about: dict[str, Any] | None,
        out: list[e.Event],
    ) -> None:
        """Ends a tool call with its whole input."""
        self._calls.add(name)
        self._marks.pop(name, None)
        known = self.blocks.known.pop(name, 0)
        text = arguments_of(call)
        if name in self.blocks:
            _, sent = self.blocks.drop(name)
            if text and not sent:  # not all agents stream the input of a call
                out.append(e.ToolCallArgs(name, text))
            elif not same_json(sent, text):
                about = {OURS: {**(about or {}).get(OURS, {}), "arguments": text}}
        else:
            out.append(e.ToolCallStart(name, call.tool_name, tag))
            if not known:
                out.append(e.ToolCallArgs(name, text))
            else:
                about = {OURS: {**(about or {}).get(OURS, {}), "arguments": text}}
        out.append(e.ToolCallEnd(name, about))

    def _block(self, block: p.OtherBlock, turn_id: int | None, out: list[e.Event]) -> None:
        if not block.partial:
            tag = self._tag(block, out)
            content: dict[str, Any] = {"block": to_json(block.block)}
            if block.blob is not None:
                content["blob"] = to_json(block.blob)
            out.append(e.ActivitySnapshot(block.block_id, "turnwire.block", content, tag))

    def _grow(self, block: Growing, start: list[e.Event], out: list[e.Event]) -> None:
        growth = self.blocks.grow(block)
        if growth is None:
            return
        if growth.is_new:
            self._marks[block.block_id] = mark_of(block.block_id), growth.known
            out += start
        if growth.text or not growth.is_new:
            out.append(delta_of(block, growth.text))
        self._grown(block.block_id, len(growth.text))

    def _grown(self, block_id: str, length: int) -> None:
        name, before = self._marks[block_id]
        self._marks[block_id] = name, before + length

    def _discarded(self, void: p.Discarded, turn_id: int | None, out: list[e.Event]) -> None:
        for block_id in void.block_ids:
            if block_id in self.blocks:
                self._drop(block_id, out)
                self.blocks.forget(block_id)

    def _drop(self, block_id: str, out: list[e.Event]) -> None:
        """Ends a block that will never be finished. A stream cannot take text back."""
        kind, _ = self.blocks.drop(block_id)
        self._marks.pop(block_id, None)
        if kind == "tool":
            out.append(e.ToolCallEnd(block_id, _DISCARDED))
        elif kind == "reasoning":
            out += [e.ReasoningMessageEnd(block_id, _DISCARDED), e.ReasoningEnd(block_id)]
        else:
            out.append(e.TextEnd(block_id, _DISCARDED))

    def _tag(self, block: Any, out: list[e.Event]) -> str | None:
        """Returns the sub-agent of a block, which begins with its first one in this run."""
        tag: str | None = block.parent_tool_use_id
        if tag is not None and self._is_shown:
            self._subagents.begin(tag, block.agent_id, out)
        return tag

    # --- tools and requests -----------------------------------------------------------------------

    def _progress(
        self, progress: p.ToolProgressed, turn_id: int | None, out: list[e.Event]
    ) -> None:
        out.append(e.Custom("turnwire.tool_progress", to_json(progress)))

    def _result(self, result: p.ToolResult, turn_id: int | None, out: list[e.Event]) -> None:
        name, text = result.tool_use_id, result_text(result)
        self._subagents.returned(name, text if result.is_error else None, out)
        if self._builder is None and name in self._answered:
            return
        tag = self._tag(result, out)
        about: dict[str, Any] = {}
        if result.is_error:
            about["isError"] = True
        if result.blob is not None:
            about["blob"] = to_json(result.blob)
        metadata = {OURS: about} if about else None
        out.append(e.ToolCallResult(f"{name}:result", name, text, "tool", tag, metadata))

    def _question(self, asked: p.RequestInput, turn_id: int | None, out: list[e.Event]) -> None:
        if asked.question_id not in self._calls:
            self._complete(asked, asked.question_id, self._tag(asked, out), None, out)

    def _permission(
        self, asked: p.PermissionAsked, turn_id: int | None, out: list[e.Event]
    ) -> None:
        if asked.tool_use_id not in self._calls:  # the agent asks before it announces the call
            tag = self._tag(asked, out)
            self._subagents.called(asked.tool_use_id, asked.tool_name, tag)
            self._complete(asked, asked.tool_use_id, tag, None, out)

    def _resolved(
        self, resolved: p.RequestResolved, turn_id: int | None, out: list[e.Event]
    ) -> None:
        out.append(e.Custom("turnwire.request_resolved", to_json(resolved)))

    # --- news -------------------------------------------------------------------------------------

    def _interrupted(self, receipt: p.Interrupted, turn_id: int | None, out: list[e.Event]) -> None:
        out.append(e.Custom("turnwire.interrupted", to_json(receipt)))

    def _system(self, news: p.SystemNews, turn_id: int | None, out: list[e.Event]) -> None:
        if news.subtype != "plan":
            out.append(e.Custom("turnwire.system", to_json(news)))
        elif news.message_sequence is not None:
            tag = self._tag(news, out)
            plan = {"plan": to_json(news.data)}
            out.append(e.ActivitySnapshot(f"plan-{tag or turn_id}", "turnwire.plan", plan, tag))


def _is_idle(status: Status) -> bool:
    return not status.queue or status.queue_held


def _reasoning(name: str, tag: str | None) -> list[e.Event]:
    own = UNSET if tag is None else tag
    return [e.ReasoningStart(name, tag), e.ReasoningMessageStart(name, subagent_run_id=own)]


def messages_of(
    frames: Iterable[f.Frame], status: Status, blob_url: Callable[[str], str]
) -> list[AguiMessage]:
    """Returns the messages of a conversation, as a snapshot has them. `status` is that of the end."""
    writer = AguiWriter(Run("", ""), None, blob_url=blob_url)
    for frame in frames:
        writer.feed(frame)
    state = f.SessionState("", None, None, "", None, status)
    told = [each for each in writer.feed(state) if isinstance(each, e.MessagesSnapshot)]
    return told[0].messages
