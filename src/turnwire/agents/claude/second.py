"""Of several questions at once one is asked. Nobody is shown the others before it is known that they are."""

from __future__ import annotations

from turnwire.agents.claude.lines import told_by_us
from turnwire.core import events as ev
from turnwire.core.blocks import ToolResultBlock, ToolUseBlock
from turnwire.core.events import NormalizedStreamEvent

__all__ = ["ONE_AT_A_TIME", "SecondQuestions"]

ONE_AT_A_TIME = "Ask one question at a time: another one waits for its answer."


class SecondQuestions:
    """Holds back the calls of questions that come while one of Claude's own is open.

    What becomes of them the gate decides when they come to it: then they are shown, or there is
    news that they were refused.
    """

    def __init__(self) -> None:
        self._open: str | None = None  # Claude's own question: while it waits nobody else may ask
        self._held: dict[str, ev.AssistantMessage] = {}  # by call
        self._growing: set[tuple[str, int]] = set()  # their blocks, by message and index

    @property
    def is_open(self) -> bool:
        """Whether anything would be held back."""
        return self._open is not None

    def follow(self, event: NormalizedStreamEvent) -> list[NormalizedStreamEvent]:
        """What can be told now."""
        match event:
            case ev.AssistantMessage(content=[ToolUseBlock(id=call) as block]):
                if not block.is_question:
                    return [event]
                if self._open not in (None, call):
                    self._held[call] = event
                    return []
                if event.parent_tool_use_id is None:
                    self._open = call
            case ev.ContentStarted(block=ToolUseBlock(id=call) as block):
                if block.is_question and self._open not in (None, call):
                    self._growing.add((event.message_id, event.index))
                    return []
            case ev.ContentDelta() | ev.ContentCompleted():
                if (event.message_id, event.index) in self._growing:
                    return []
            case ev.UserMessage(content=[ToolResultBlock(tool_use_id=call)]):
                if call == self._open:
                    self._open = None
            case ev.TurnCompleted() | ev.TurnFailed():
                self._open = None
                self._growing.clear()
                return [*[told for call in [*self._held] for told in self.refused(call)], event]
            case _:
                pass
        return [event]

    def admitted(self, call: str) -> list[NormalizedStreamEvent]:
        """It may be asked after all."""
        held = self._held.pop(call, None)
        if held is None:
            return []
        if held.parent_tool_use_id is None:
            self._open = call
        return [held]

    def refused(self, call: str) -> list[NormalizedStreamEvent]:
        """It may not."""
        held = self._held.pop(call, None)
        if held is None:
            return []
        [block] = held.content
        assert isinstance(block, ToolUseBlock)
        about = {"tool_use_id": call, "tool_name": block.tool_name, "input": block.input}
        told = {"message": ONE_AT_A_TIME, **about}
        return [told_by_us(held.session_id, "question_refused", told)]
