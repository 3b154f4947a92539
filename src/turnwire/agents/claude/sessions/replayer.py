"""Replays a recorded session of Claude Code: the rules of a live conversation make its log."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Raw, Struct, structs

from turnwire.core import events as ev
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation import step
from turnwire.core.conversation.effects import AddEntry, Tell, Write
from turnwire.core.conversation.state import Conversation
from turnwire.core.entries import EntryStream
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.times import iso
from turnwire.core.usage import Usage
from turnwire.dialects.claude import ClaudeMessage, ClaudeStreamAdapter, decode
from turnwire.dialects.claude.history import Record, as_said
from turnwire.dialects.claude.messages import AssistantMessage

__all__ = ["Batch", "Retelling"]

_REASON = "import"


class Batch(Struct, frozen=True):
    """Writes of one commit: those of a turn, or those between two turns."""

    state: Conversation
    writes: list[Write]
    at: str


class _Turn:
    """The state of the turn that is being replayed."""

    def __init__(self, began: int) -> None:
        self.began = began
        self.last: str | None = None  # the kind of the last record
        self.stop_reason: str | None = None
        self.stopped = False
        self.error: str | None = None
        self.text = ""  # the text of the last message
        self.usage: dict[str | None, Usage] = {}  # by message
        self.open: set[str] = set()  # calls without a result

    def end(self, at: int, *, goes_on: bool) -> bytes:
        """Returns the result line that the program would have ended the turn with."""
        facts = {
            "type": "result",
            "subtype": "success",
            "duration_ms": at - self.began,
            "stop_reason": self.stop_reason,
            "usage": _sum(list(self.usage.values())),
        }
        if self.error is not None:
            facts |= {"is_error": True, "terminal_reason": self.error, "result": self.text}
        elif not self._is_done(goes_on=goes_on):
            facts |= {"subtype": "error_during_execution", "terminal_reason": "aborted_streaming"}
        return msgspec.json.encode(facts)

    def _is_done(self, *, goes_on: bool) -> bool:
        """Whether the turn ended normally. Only the last record shows it."""
        if self.stopped or self.open:
            return False
        if self.last == "told":
            return goes_on or self.stop_reason != "tool_use"
        return self.last == "news" or (self.last == "result" and goes_on)


class Retelling:
    """Takes records in order; `ready` has the batches to commit."""

    def __init__(self, state: Conversation, session_id: str, new_id: Callable[[], str]) -> None:
        self.state = state
        self.ready: list[Batch] = []
        self._session_id = session_id
        self._new_id = new_id
        self._adapter = ClaudeStreamAdapter()
        self._entries = EntryStream()
        self._writes: list[Write] = []
        self._turn: _Turn | None = None
        self._is_new = False  # whether the turn is new to the log
        self._has_news = False
        self._now = 0

    def know(self, record: Record, call: str | None) -> None:
        """Takes a record that the log already has: updates the state, and writes nothing."""
        self._take(record, call, is_new=False)

    def tell(self, record: Record, call: str | None) -> None:
        """Takes a new record, and writes it to the log."""
        self._has_news = True
        if call is None and not self._is_new:
            self._end_turn(goes_on=True)  # the turn that the log has
        self._take(record, call, is_new=True)

    def went_back(self, to: str | None) -> None:
        """Notes that the next record follows the record `to`, and not the last one in the log."""
        said = "The session went back to an earlier message and continued from there."
        news = {"type": "system", "subtype": "went_back", "to": to, "message": said}
        self._hear(self._news("went_back", msgspec.json.encode(news)), is_new=True)

    def finish(self) -> None:
        """Ends the open turn and all open requests after the last record."""
        self._end_turn(goes_on=False)
        if self._has_news:
            self._step(i.AgentLost(at=self._now, reason=_REASON))
            self._flush()

    # --- records ------------------------------------------------------------------------------

    def _take(self, record: Record, call: str | None, *, is_new: bool) -> None:
        if record.kind == "aside":
            return
        begins = call is None and record.kind in ("said", "begun")
        if begins:
            self._end_turn(goes_on=True)
        self._now = max(self._now, record.at or 0)
        if call is None:
            self._is_new = is_new
            if begins:
                self._begin(record)
            if record.kind == "said":
                return
        line = as_said(record, call)
        if call is None:
            self._follow(record, line.message)
        if is_new and record.kind == "result":
            if self.state.tools.keys().isdisjoint(record.answered):
                # The log has another result for this call, written before this one existed.
                self._hear(self._news("late_tool_result", line.raw), is_new=True)
                return
            self._answer(record)
        for event in self._adapter.feed(line):
            self._hear(event, is_new=is_new)

    def _begin(self, record: Record) -> None:
        self._turn = _Turn(self._now)
        if not self._is_new:
            return
        if record.kind == "begun":
            event = ev.TurnStarted("claude", self._session_id, None, None)
            self._hear(event, is_new=True)
            return
        said = i.Said(
            at=self._now,
            content=record.content,
            queue_id=self._new_id(),
            trace_id=self._new_id(),
        )
        self._step(said, uuid=record.uuid)

    def _follow(self, record: Record, frame: ClaudeMessage) -> None:
        """Updates the state that the result line of the turn depends on."""
        if self._turn is None:
            if record.kind not in ("told", "result"):
                return
            self._turn = _Turn(self._now)
        turn = self._turn
        if record.kind == "stopped":
            turn.stopped = True
            self._adapter.interrupt_requested()
        if record.kind != "news" or turn.last is None:
            turn.last = record.kind
        turn.open.update(record.calls)
        turn.open.difference_update(record.answered)
        if isinstance(frame, AssistantMessage) and frame.message is not None:
            message = frame.message
            turn.stop_reason = message.stop_reason
            if message.usage is not None:
                turn.usage[message.id] = message.usage
            failed = frame.error is not None or record.data.get("isApiErrorMessage") is True
            turn.error = (frame.error or "api_error") if failed else None
            parts = message.content if isinstance(message.content, list) else []
            turn.text = "".join(getattr(part, "text", "") for part in parts)

    def _answer(self, record: Record) -> None:
        """Takes a person's answer to a question from the result of the call."""
        given = record.data.get("toolUseResult")
        answers = given.get("answers") if isinstance(given, dict) else None
        if not answers or not isinstance(answers, dict):
            return
        for request in self.state.requests:
            if request.kind == "question" and request.request_id in record.answered:
                question_id = request.request_id
                self._step(i.Answered(at=self._now, question_id=question_id, answer=answers))
                return

    # --- steps --------------------------------------------------------------------------------

    def _end_turn(self, *, goes_on: bool) -> None:
        turn, self._turn = self._turn, None
        if turn is None:
            return
        events = self._adapter.feed(decode(turn.end(self._now, goes_on=goes_on)))
        for event in events:
            self._hear(event, is_new=self._is_new, last=event is events[-1])
        if self._is_new:
            self._flush()

    def _hear(self, event: NormalizedStreamEvent, *, is_new: bool, last: bool = True) -> None:
        entries = self._entries.feed(event, run_id="", now=iso(self._now))
        if is_new:
            said = i.AgentSaid(
                at=self._now,
                event=event,
                entries=entries,
                trace_id=self._new_id(),
                inbox_item_id=self._new_id(),
                last=last,
            )
            self._step(said)

    def _step(self, happened: i.Input, *, uuid: str | None = None) -> None:
        self.state, effects = step(self.state, happened)
        for write in effects.writes:
            if not isinstance(write, Tell):
                self._writes.append(_named(write, uuid))

    def _flush(self) -> None:
        writes, self._writes = self._writes, []
        if writes:
            self.ready.append(Batch(self.state, writes, iso(self._now)))

    def _news(self, subtype: str, raw: bytes) -> NormalizedStreamEvent:
        return ev.SystemEvent("claude", self._session_id, None, None, subtype, Raw(raw))


def _named(write: Write, uuid: str | None) -> Write:
    """Adds the session's uuid to a person's message, so that the next import knows it."""
    if uuid is not None and isinstance(write, AddEntry) and write.entry.role == "user":
        entry = structs.replace(write.entry, meta={**write.entry.meta, "uuid": uuid})
        return structs.replace(write, entry=entry)
    return write


def _sum(figures: list[Usage]) -> Usage | None:
    """Returns the sum of the usage of a turn, or None if no usage is known."""
    if not figures:
        return None
    return Usage(
        sum(each.input_tokens or 0 for each in figures),
        sum(each.output_tokens or 0 for each in figures),
        sum(each.cache_creation_input_tokens or 0 for each in figures),
        sum(each.cache_read_input_tokens or 0 for each in figures),
    )
