"""Drives the state of a conversation with short calls, and shows its effects as lines of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw

from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from turnwire.core.content import Content, TextContent
from turnwire.core.controls import name_of
from turnwire.core.conversation import Conversation, Options, step
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.state import status_of
from turnwire.core.entries import EntryStream
from turnwire.core.error_codes import Refused
from turnwire.core.status import Outcome, Status, TurnEnd
from turnwire.core.times import iso
from turnwire.core.usage import Usage
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.entry_frames import frame_of

Queue: TypeAlias = Literal["hold", "continue", "clear"]

START = 1_767_225_600_000  # 2026-01-01T00:00:00.000Z


def whose(voice: str | None = None) -> tuple[str, str, str | None, str | None]:
    """The agent itself, or a sub-agent under its call."""
    return "demo", "session-1", voice, voice and f"sub-{voice}"


class Talk:
    """A conversation, and everything that its steps asked for."""

    def __init__(self, **options: Any) -> None:
        self.state = Conversation("talk", Options(**options))
        self.now = START
        self.log: list[e.AddEntry] = []
        self.writes: list[e.Moment] = []
        self.timers: dict[str, int] = {}  # those that are set, by name
        self.unsent = False  # whether the turn that starts has not been handed over yet
        self.choosing = False  # whether a choice has not reached the agent yet
        self.agent = "claude"  # the agent that speaks
        self._entries = EntryStream()
        self._ids = 0
        self._told: list[str] = []
        self._has_news = False
        self._commands: list[str] = []

    # --- effects --------------------------------------------------------------------------------

    @property
    def status(self) -> Status:
        """Returns the status that front ends get."""
        return status_of(self.state)

    def state_name(self) -> str:
        """Returns one of the five states."""
        return self.state.state

    def phase(self) -> str | None:
        """Returns the phase of the turn."""
        return self.state.turn.phase if self.state.turn else None

    @property
    def queue(self) -> list[str]:
        """The words that wait."""
        return [words(waiting.item.content) for waiting in self.state.queue]

    @property
    def told(self) -> list[str]:
        """Returns the writes since the last call, a line for each frame, without the audit trail."""
        told, self._told = self._told, []
        return told

    @property
    def commands(self) -> list[str]:
        """Returns the commands to the agent since the last call."""
        commands, self._commands = self._commands, []
        return commands

    @property
    def has_news(self) -> bool:
        """Returns whether a step since the last call moves the conversation to the top of lists."""
        has_news, self._has_news = self._has_news, False
        return has_news

    def audited(self) -> list[tuple[str, str | None]]:
        """Returns the audit trail from the beginning."""
        return [(w.action, w.by) for w in self.writes if isinstance(w, e.Audit)]

    def last_end(self) -> TurnEnd:
        """Returns the end of the last turn."""
        return next(w.end for w in reversed(self.writes) if isinstance(w, e.EndTurn))

    def frame(self, kind: type[f.Frame]) -> Any:
        """The payload of the newest frame of a kind."""
        frames = (frame_of(w.entry, w.sequence, "talk", w.trace_id) for w in reversed(self.log))
        return next(frame.payload for frame in frames if isinstance(frame, kind))  # type: ignore[attr-defined]

    def forget(self) -> Talk:
        """Forgets the writes and commands so far."""
        self._told, self._commands, self._has_news = [], [], False
        return self

    # --- inputs ---------------------------------------------------------------------------------

    def do(self, happened: i.Input) -> e.Effects:
        """Takes one step."""
        before = msgspec.json.encode(self.state)
        after, effects = step(self.state, happened)
        assert msgspec.json.encode(self.state) == before, "a step changed what it was given"
        assert msgspec.json.decode(msgspec.json.encode(after), type=Conversation) == after
        self.state = after
        self.writes += effects.writes
        self._has_news |= effects.is_news
        self.log += [write for write in effects.writes if isinstance(write, e.AddEntry)]
        self._told += [line for write in effects.writes for line in told(write)]
        self._commands += [command_line(command) for command in effects.commands]
        for timer in effects.timers:
            if isinstance(timer, e.SetTimer):
                self.timers[timer.name] = timer.at
            else:
                self.timers.pop(timer.name, None)
        return effects

    def _ask(self, happened: i.Input) -> e.Ack:
        ack = self.do(happened).ack
        assert ack is not None
        return ack

    def new_id(self, kind: str) -> str:
        """Returns a new id each time."""
        self._ids += 1
        return f"{kind}-{self._ids}"

    # people

    def say(
        self, text: str | list[Content] = "Hello", by: str | None = "ada", *, steer: bool = False
    ) -> e.Ack:
        """A person sends a message."""
        content: list[Content] = [TextContent(text)] if isinstance(text, str) else text
        queue_id, trace_id = self.new_id("q"), self.new_id("trace")
        message_id = f"m-{queue_id}"
        return self._ask(
            i.Said(
                at=self.now,
                content=content,
                queue_id=queue_id,
                trace_id=trace_id,
                by=by,
                client_message_id=message_id,
                steer=steer,
            )
        )

    def change(self, action: Any, text: str | None = None, **more: Any) -> e.Ack:
        """A person changes the queue; `text` is the text of the message."""
        queue_id = text and self.queue_id(text)
        return self._ask(
            i.ChangedQueue(at=self.now, action=action, queue_id=queue_id, by="ada", **more)
        )

    def queue_id(self, text: str) -> str:
        """The id under which a message waits."""
        ids = [w.item.queue_id for w in self.state.queue if words(w.item.content) == text]
        return ids[0] if ids else "q-unknown"

    def answer(
        self,
        question_id: str = "q1",
        answer: Any = "blue",
        *,
        resume_task: bool = True,
        by: str | None = "ada",
        ended: Outcome | None = None,
    ) -> e.Ack:
        """A person answers a question."""
        return self._ask(
            i.Answered(
                at=self.now,
                question_id=question_id,
                answer=answer,
                resume_task=resume_task,
                by=by,
                ended=ended,
            )
        )

    def decide(self, request_id: str = "p1", decision: Any = "allow", **more: Any) -> e.Ack:
        """A person allows or denies a permission."""
        given = {"by": "ada", "agent": self.agent, **more}
        return self._ask(i.Decided(at=self.now, request_id=request_id, decision=decision, **given))

    def forget_rule(self, rule_id: str, **more: Any) -> e.Ack:
        """A person takes a remembered rule back."""
        return self._ask(i.ForgotRule(at=self.now, rule_id=rule_id, by="ada", **more))

    def stop(self, turn_id: int | None = None, queue: Queue = "hold", by: str = "ada") -> e.Ack:
        """A person stops a turn: the running one, unless another is named."""
        if turn_id is None:
            assert self.state.turn is not None
            turn_id = self.state.turn.turn_id
        return self._ask(i.Interrupted(at=self.now, turn_id=turn_id, queue=queue, by=by))

    # the agent

    def hear(self, *events: ev.NormalizedStreamEvent) -> Talk:
        """Events that are ready together."""
        for number, event in enumerate(events, 1):
            said = i.AgentSaid(
                at=self.now,
                event=event,
                entries=self._entries.feed(event, run_id="", now=""),
                trace_id=self.new_id("trace"),
                inbox_item_id=self.new_id("inbox"),
                last=number == len(events) or not isinstance(events[number], ev.ResultSummary),
                unsent=self.unsent,
                choosing=self.choosing,
                agent=self.agent,
            )
            self.do(said)
        return self

    def starts(self) -> Talk:
        """The agent begins a turn: the one that it was handed, or one of its own."""
        return self.hear(ev.TurnStarted(*whose()))

    def speaks(self, text: str = "Hi", voice: str | None = None) -> Talk:
        """A finished text."""
        block = TextBlock(text, "completed")
        return self.hear(ev.AssistantMessage(*whose(voice), self.new_id("msg"), 0, [block]))

    def calls(
        self, tool_use_id: str = "t1", name: str = "Bash", voice: str | None = None, **given: Any
    ) -> Talk:
        """A call of a tool."""
        block = ToolUseBlock(tool_use_id, name, "TOOL", given, "completed")
        return self.hear(ev.AssistantMessage(*whose(voice), self.new_id("msg"), 0, [block]))

    def asks(self, question_id: str = "q1", voice: str | None = None, **given: Any) -> Talk:
        """A question."""
        return self.calls(
            question_id, "request_input", voice, **{"question": "Which colour?", **given}
        )

    def takes(self, queue_id: str | None) -> Talk:
        """The agent takes a message into its turn."""
        return self.hear(ev.UserMessage(*whose(), [], "user", message_id=queue_id))

    def gets(
        self,
        tool_use_id: str = "t1",
        content: Any = "done",
        voice: str | None = None,
        *,
        is_error: bool = False,
    ) -> Talk:
        """A tool's result."""
        block = ToolResultBlock(tool_use_id, content, is_error, "completed")
        return self.hear(ev.UserMessage(*whose(voice), [block], "tool"))

    def wants(
        self, request_id: str = "p1", tool_use_id: str = "t1", voice: str | None = None, **more: Any
    ) -> Talk:
        """A permission is asked for."""
        asked = (request_id, tool_use_id, "Bash", {"command": "ls"})
        return self.hear(ev.PermissionRequested(*whose(voice), *asked, **more))

    def withdraws(self, request_id: str = "p1") -> Talk:
        """The agent takes a request back."""
        return self.hear(ev.RequestWithdrawn(*whose(), request_id))

    def news(self, subtype: str, *, ephemeral: bool = False, **data: Any) -> Talk:
        """Something about the session."""
        raw = Raw(msgspec.json.encode(data))
        return self.hear(ev.SystemEvent(*whose(), subtype, raw, ephemeral))

    def tells(self, kind: type[ev.SystemEvent], *, ephemeral: bool = False, **typed: Any) -> Talk:
        """The agent sends a notice that the rules understand."""
        return self.hear(kind(*whose(), "news", UNSET, ephemeral, **typed))

    def task(self, task_id: str = "task-1", tool_use_id: str | None = None, **more: Any) -> Talk:
        """Work has begun in the background."""
        task = ev.Task(task_id, tool_use_id, **more)
        return self.tells(ev.TaskChanged, task=task, in_background=True)

    def ends(self, *, interrupted: bool = False, figures: bool = True, **more: Any) -> Talk:
        """The turn comes to its end."""
        end = ev.TurnCompleted(*whose(), "end_turn", interrupted, **more)
        return self.hear(end, RESULT) if figures else self.hear(end)

    def fails(self, code: str = "api_error") -> Talk:
        """The turn comes to a bad end."""
        return self.hear(ev.TurnFailed(*whose(), code, "It went wrong."), RESULT)

    # the rest

    def lose_agent(self, **more: Any) -> Talk:
        """Reports that the agent's process is gone."""
        self._entries = EntryStream()
        self.do(i.AgentLost(at=self.now, **more))
        return self

    def restart(self, **more: Any) -> Talk:
        """The server falls and comes back."""
        self._entries = EntryStream()
        self.do(i.Recovered(at=self.now, **more))
        return self

    def pass_deadline(self, request_id: str = "q1") -> Talk:
        """A request's time is over."""
        self.do(i.DeadlinePassed(at=self.now, request_id=request_id))
        return self

    def pass_grace(self) -> Talk:
        """The last client has left, and the grace is over."""
        self.do(i.Left(at=self.now))
        self.do(i.GraceOver(at=self.now))
        return self

    def overdue(self, turn_id: int) -> Talk:
        """The agent has not stopped."""
        self.do(i.StopOverdue(at=self.now, turn_id=turn_id))
        return self


RESULT = ev.ResultSummary(
    *whose(), "success", False, duration_ms=1000, cost_usd=0.5, usage=Usage(10, 5, 2, 3)
)


def running(**options: Any) -> Talk:
    """A conversation whose first turn has begun."""
    talk = Talk(**options)
    talk.say()
    return talk.starts().forget()


def asking(**options: Any) -> Talk:
    """A conversation whose first turn has asked `q1`."""
    return running(**options).asks().forget()


def suspended(**options: Any) -> Talk:
    """Returns the same conversation after the agent is gone."""
    return asking(**options).lose_agent().forget()


def words(content: list[Content]) -> str:
    """Returns the text of a message."""
    return "".join(part.text for part in content if isinstance(part, TextContent))


def refusal(ask: Callable[[], object]) -> str:
    """The code of the refusal that this gets."""
    try:
        ask()
    except Refused as refused:
        return refused.code
    raise AssertionError("it was not refused")


def at(milliseconds: int) -> str:
    """A time as the log has it, after the start."""
    return iso(START + milliseconds)


# --- writes as lines ----------------------------------------------------------------------------


def told(write: e.Moment) -> list[str]:
    """Returns a write as a line; an empty line if it is for the store alone."""
    match write:
        case e.AddEntry():
            return [_entry_line(write)]
        case e.BeginTurn(turn=turn):
            return [f"turn {turn.turn_id} begins: {turn.origin}"]
        case e.EndTurn(turn_id=turn_id, end=end):
            how = "interrupted" if end.interrupted else "completed"
            return [f"turn {turn_id} {f'failed: {end.error.code}' if end.error else how}"]
        case _:
            return []


def _entry_line(write: e.AddEntry) -> str:
    frame = frame_of(write.entry, write.sequence, "talk", write.trace_id)
    assert frame.turn_id == write.turn_id
    match frame:
        case f.UserMessage(payload=said):
            return f"user: {words(said.content)}{' (steered)' if said.steered_as else ''}"
        case f.AssistantChunk(payload=chunk):
            return f"agent: {chunk.text}"
        case f.AssistantThinking(payload=thought):
            return f"thinks: {thought.text}"
        case f.AssistantToolCall(payload=call):
            return f"call {call.tool_use_id}"
        case f.AssistantRequestInput(payload=asked):
            return f"question {asked.question_id}"
        case f.AssistantPermissionRequest(payload=wanted):
            return f"permission {wanted.request_id}"
        case f.AssistantToolResult(payload=result):
            return f"{'failed ' if result.is_error else ''}result {result.tool_use_id}: {result.content}"
        case f.AssistantRequestResolved(payload=ended):
            return f"{ended.request_id} {ended.outcome} by {ended.by}"
        case f.ConversationInterrupted(payload=stopped):
            return f"stopped: {stopped.reason}"
        case f.SessionSystemEvent(payload=news):
            return f"news: {news.subtype}"
        case _:
            raise AssertionError(frame)


def command_line(command: e.Command) -> str:
    """Returns a command to the agent as a line."""
    match command:
        case e.Prompt(turn=turn, content=content):
            return f"prompt {turn.turn_id}: {words(content)}"
        case e.Steer(turn_id=turn_id, item=item):
            return f"steer {turn_id}: {words(item.content)}"
        case e.Deliver(replies=replies, resume=resume):
            line = "resume" if resume else "deliver"
            for reply in replies:
                what = reply.decision or reply.answer
                line += f" {reply.request_id}={what}"
            return line
        case e.Choose(model=model, permission_mode=mode, max_thinking_tokens=tokens):
            thinks = "" if tokens is UNSET else f" {tokens}"
            return f"choose {model} {mode}{thinks}"
        case e.AskAgent(control=control):
            return f"ask {name_of(control)}"
        case e.StopAgent(turn_id=turn_id, force=force):
            return f"{'kill' if force else 'stop'} {turn_id}"
        case e.HandOver():
            return "hand over"
        case e.CloseAgent():
            return "close"
