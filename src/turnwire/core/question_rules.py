"""Rules for the questions of an agent: which calls may ask a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from turnwire.core import events as ev
from turnwire.core.blocks import ToolResultBlock, ToolUseBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.questions import questions_of
from turnwire.errors import TurnwireError

__all__ = ["BadQuestion", "QuestionRules"]

T = TypeVar("T")

_REMEMBERED = 1024  # maximum number of calls to remember: with a result, and with a question


class BadQuestion(TurnwireError):
    """A question of an agent that a person could not answer.

    The message says what to do instead.
    """

    code = "AGENT_ERROR"


class QuestionRules:
    """Follows the events of one agent session and rejects invalid questions.

    A call of any tool may ask, if it has no result yet and has not asked before.
    """

    def __init__(self) -> None:
        self._called: dict[str, ToolUseBlock] = {}  # calls that were announced
        self._ended: dict[str, None] = {}  # calls with a result
        self._asked: dict[str, None] = {}  # calls that have asked

    def feed(self, event: NormalizedStreamEvent) -> None:
        """Raises BadQuestion if the event is an invalid question."""
        take = _TAKES.get(type(event))
        if take is not None:  # most events are pieces of text
            take(self, event)

    def _take_assistant(self, event: ev.AssistantMessage) -> None:
        for block in event.content:
            if isinstance(block, ToolUseBlock):
                _remember(self._called, block.id, block)

    def _take_user(self, event: ev.UserMessage) -> None:
        for block in event.content:
            if isinstance(block, ToolResultBlock):
                _remember(self._ended, block.tool_use_id, None)

    def _take_question(self, event: ev.QuestionAsked) -> None:
        problem = self._problem(event)
        if problem is not None:
            raise BadQuestion(f"The question {event.request_id!r} {problem}")
        _remember(self._asked, event.tool_use_id, None)

    def first_bad(self, events: Iterable[NormalizedStreamEvent]) -> tuple[int, BadQuestion] | None:
        """Feeds a batch of events. Returns the position of the first bad question, and its error.

        Returns None if all questions are valid.
        """
        for place, event in enumerate(events):
            try:
                self.feed(event)
            except BadQuestion as bad:
                return place, bad
        return None

    def _problem(self, event: ev.QuestionAsked) -> str | None:
        call = event.tool_use_id
        if not call:
            return (
                "names no call. Set `tool_use_id` to the id of the tool call that asks, "
                "or to a new id if there is none."
            )
        if call in self._ended:
            return (
                f"is asked by the call {call!r}, which has its result already. "
                "Ask before the result, or announce another call and ask with its id."
            )
        called = self._called.get(call)
        if called is not None and called.is_question != event.is_question:
            if called.tool_name == event.tool_name:
                return (
                    f"has `asks={event.asks}`, but its call {call!r} has `asks={called.asks}`. "
                    "Give both the same value."
                )
            return (
                f"is of the tool {event.tool_name!r}, but its call was announced as "
                f"{called.tool_name!r}. Use the same name in both."
            )
        if event.is_question:  # its questions are in its call's input; it may repeat them
            return None if called is None else _not_in_input(event, questions_of(called.input))
        if call in self._asked:
            return (
                f"is the second one of the call {call!r}. Put all questions into `questions` of "
                "one event, or announce another call and ask with its id."
            )
        if not any(each.question for each in event.questions or questions_of(event.input)):
            return "asks nothing. Put at least one Question into `questions`."
        return None


def _not_in_input(event: ev.QuestionAsked, in_input: list[ev.Question]) -> str | None:
    """Returns what is wrong if the event repeats other questions than the input of its call has."""
    asked, shown = _texts(event.questions), _texts(in_input)
    if asked and not any(shown):
        return "has no question in the input of its call. Put its questions there as well."
    # An agent that passes the input on has rewritten it since: it uses the answer to what is shown.
    if asked and event.input is None and asked != shown:
        return (
            f"asks {asked}, but the input of its call asks {shown}, which is what a person is shown."
            " Leave `questions` empty, or put the same questions there."
        )
    return None


def _texts(questions: list[ev.Question]) -> list[str]:
    return [each.question for each in questions]


_TAKES: Mapping[type, Callable[[QuestionRules, Any], None]] = {
    ev.AssistantMessage: QuestionRules._take_assistant,
    ev.UserMessage: QuestionRules._take_user,
    ev.QuestionAsked: QuestionRules._take_question,
}


def _remember(calls: dict[str, T], call: str, what: T) -> None:
    calls.pop(call, None)
    calls[call] = what
    if len(calls) > _REMEMBERED:
        del calls[next(iter(calls))]
