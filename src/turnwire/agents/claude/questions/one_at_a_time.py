"""Asks one question at a time: hides later ones until the gate admits or refuses them."""

from __future__ import annotations

from turnwire.agents.claude.process.line_routing import told_by_us
from turnwire.agents.claude.questions.question_machine import Question
from turnwire.core import events as ev
from turnwire.core.blocks import ToolResultBlock, ToolUseBlock
from turnwire.core.events import NormalizedStreamEvent

__all__ = ["ONE_AT_A_TIME", "SecondQuestions"]

ONE_AT_A_TIME = "Ask one question at a time: another one waits for its answer."


def _waits(block: ToolUseBlock) -> bool:
    """Whether a call waits at the gate. Only calls for the front end say that they do not ask."""
    return block.is_question or block.asks is False


class SecondQuestions:
    """Holds back the events of later questions while a question of Claude itself is open.

    At the gate a later question is either shown, or an event reports that it was refused.
    """

    def __init__(self, question: Question) -> None:
        self._question = question
        self._held: dict[str, ev.AssistantMessage] = {}  # by call
        self._growing: set[tuple[str, int]] = set()  # blocks of held calls, by message and index

    @property
    def is_open(self) -> bool:
        """Whether events may have to be held back."""
        return self._question.state != "idle" or bool(self._growing)

    def follow(self, event: NormalizedStreamEvent) -> list[NormalizedStreamEvent]:
        """Returns the events that can be emitted now."""
        match event:
            case ev.AssistantMessage(content=[ToolUseBlock(id=call) as block]):
                if not _waits(block):
                    return [event]
                if self._question.blocks(call):
                    self._held[call] = event
                    return []
                if event.parent_tool_use_id is None:
                    self._question.call(call)
            case ev.ContentStarted(block=ToolUseBlock(id=call) as block):
                if _waits(block) and self._question.blocks(call):
                    self._growing.add((event.message_id, event.index))
                    return []
            case ev.ContentDelta() | ev.ContentCompleted():
                if (event.message_id, event.index) in self._growing:
                    return []
            case ev.UserMessage(content=[ToolResultBlock(tool_use_id=call)]):
                self._question.note_result(call)
            case ev.TurnCompleted() | ev.TurnFailed():
                self._growing.clear()
                return [*[told for call in [*self._held] for told in self.refuse(call)], event]
            case _:
                pass
        return [event]

    def admit(self, call: str) -> list[NormalizedStreamEvent]:
        """Returns the held event of a call that may be asked now."""
        held = self._held.pop(call, None)
        return [] if held is None else [held]

    def refuse(self, call: str) -> list[NormalizedStreamEvent]:
        """Returns an event that reports that a held call was refused."""
        held = self._held.pop(call, None)
        if held is None:
            return []
        [block] = held.content
        assert isinstance(block, ToolUseBlock)
        about = {"tool_use_id": call, "tool_name": block.tool_name, "input": block.input}
        told = {"message": ONE_AT_A_TIME, **about}
        return [told_by_us(held.session_id, "question_refused", told)]
