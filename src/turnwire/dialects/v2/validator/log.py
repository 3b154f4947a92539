"""Checks the log of a conversation: the numbers of its entries, and their meaning."""

from __future__ import annotations

from typing import Any

import msgspec

from turnwire.core.question_names import asked_by_name
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.frames import ServerFrame
from turnwire.dialects.v2.validator.blocks import BlockCheck
from turnwire.dialects.v2.validator.connection import Say
from turnwire.dialects.v2.validator.queue import QueueCheck
from turnwire.dialects.v2.validator.requests import RequestCheck
from turnwire.dialects.v2.validator.state import StateCheck
from turnwire.dialects.v2.validator.tools import ToolCheck
from turnwire.dialects.v2.validator.turns import TurnCheck, parent_of

__all__ = ["LogCheck"]


class LogCheck:
    """One log, as far as this client has received it. Each epoch is a separate log."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self.head = 0  # the newest known number
        self._marks: dict[int, int] = {}  # number -> hash of the entry, to compare replays
        self.blocks = BlockCheck(say)
        self.turns = TurnCheck(say)
        self.requests = RequestCheck(say)
        self.tools = ToolCheck(say, self.requests)
        self.queue = QueueCheck(say)
        self.state = StateCheck(say, self.turns, self.requests, self.queue, self.tools)

    def counts(self) -> tuple[int, int, int]:
        """Returns the numbers of entries, turns and tool calls."""
        return len(self._marks), self.turns.count, len(self.tools.turn_of)

    # --- connections --------------------------------------------------------------------------

    def connected(self, info: p.SessionInfo) -> None:
        """Starts a connection to this log."""
        self.replays()
        if info.head < self.head:
            self._say("head_backwards", f"head {info.head}, but entry {self.head} existed before")
        if info.first - 1 > self.head:
            self.turns.whole = self.requests.whole = self.tools.whole = False
            self.head = info.first - 1

    def replays(self) -> None:
        """Starts a replay: the running turn, open requests and growing blocks follow after it."""
        self.blocks.connection += 1
        self.turns.open = None
        self.turns.expected = None
        self.state.connected()

    def replayed_all(self, first: int, turns: set[int]) -> None:
        """Ends the replay; `turns` are the turns whose end was replayed."""
        for turn_id, end in reversed(self.turns.ends.items()):
            if end.said.after_sequence < first - 1:
                break  # turns are in the order of the log
            if turn_id not in turns:
                self._say("complete_not_replayed", f"the end of turn {turn_id}")

    # --- entries ------------------------------------------------------------------------------

    def is_new(self, number: int, value: dict[str, Any], *, live: bool) -> bool:
        """Returns whether an entry is new. Checks that a known entry has not changed."""
        mark = _mark(value)
        if number in self._marks:
            if live:
                self._say("message_sequence_gap", f"entry {number} is repeated, after {self.head}")
            elif self._marks[number] != mark:
                self._say("replay_differs", f"entry {number}")
            return False
        if live and number != self.head + 1:
            self._say("message_sequence_gap", f"entry {number} after {self.head}")
        self._marks[number] = mark
        self.head = max(self.head, number)
        return True

    def about(self, frame: f.Frame, *, live: bool) -> None:
        """Checks the turn and the sub-agent that a frame names."""
        if self.turns.about(frame, live=live):
            self.state.started()  # report it only once
        self.tools.parent(parent_of(frame))

    def entry(self, frame: ServerFrame) -> None:
        """Checks the content of a new entry, live or replayed."""
        match frame:
            case f.AssistantToolCall(payload=call):
                self.tools.called(frame, call.tool_use_id)
                self.blocks.finished(frame)
                if asked_by_name(call.tool_name):
                    self._say("question_as_tool_call", call.tool_use_id)
            case f.AssistantChunk() | f.AssistantThinking() | f.AssistantBlock():
                self.blocks.finished(frame)
            case f.AssistantRequestInput(payload=asked):
                if asked.announced:
                    self.tools.question(frame, asked.question_id)
                else:
                    self.tools.called(frame, asked.question_id)
                    self.blocks.finish(asked.block_id)
                if asked.block_id != asked.question_id:
                    self._say("wrong_block", f"block_id {asked.block_id} differs from the question")
                self.blocks.place(asked)
                self.requests.asked(frame)
            case f.AssistantPermissionRequest(payload=wanted):
                self.tools.permission(wanted.tool_use_id)
                self.requests.asked(frame)
            case f.AssistantRequestResolved():
                self.requests.resolved(frame)
            case f.AssistantToolResult(payload=result):
                self.tools.result(result.tool_use_id)
            case f.ConversationInterrupted(payload=receipt):
                self.turns.interrupted(frame.turn_id)
                self.queue.interrupted(receipt)
            case f.SessionSystemEvent(payload=p.SystemNews(subtype="agent_unavailable")):
                self.queue.hold()
            case _:
                pass

    def complete(self, frame: f.AssistantComplete, value: dict[str, Any], *, live: bool) -> None:
        """Checks assistant.complete, live or replayed."""
        turn_id, end = frame.turn_id, frame.payload
        if turn_id is None:
            self._say("wrong_complete", "it has no turn_id")
        elif self.turns.ended(turn_id, end, _mark(value), head=self.head, live=live):
            self.blocks.turn_ended(turn_id)
            self.tools.turn_ended(turn_id)
            self.requests.turn_ended(turn_id)
            self.queue.ended(end)
            if live:
                self.state.ended(end)


def _mark(value: dict[str, Any]) -> int:
    """Returns a hash of the frame without `sequence`, which belongs to the connection."""
    return hash(msgspec.json.encode({**value, "sequence": None}, order="sorted"))
