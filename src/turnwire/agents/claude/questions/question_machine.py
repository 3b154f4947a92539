"""The state machine of a question that Claude itself asks a person, without I/O.

1. Claude calls a tool that asks. The call arrives at the gate (a hook before the tool) and waits.
2. If no answer comes in time, the process is told to defer the call, and its turn ends.
3. The next process of the session sends the same call to the gate by itself, and gets the answer.
4. If that process ends its turn without the call, Claude gets the answer in words, as a prompt.

`TRANSITIONS` has all states and causes. `Question` maps events to causes and keeps the answers.
`QuestionDelivery` carries out the acts. A question of a sub-agent has no states: it waits at the gate of its
process, and is never deferred.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from turnwire.core.conversation.state import Reply

__all__ = ["TRANSITIONS", "Act", "Answer", "Cause", "NotPossible", "Question", "State", "Step"]

State: TypeAlias = Literal[
    "idle",  # Claude has no open question in this process
    "called",  # Claude has called a tool that asks, and the call has not reached the gate yet
    "held",  # the call is at the gate, and the process waits for the answer
    "deferred",  # the process was told to defer the call, and ends its turn
    "resuming",  # an earlier process deferred a question: this one asks it again by itself
    "owed",  # the answer came before the call: Claude gets it in words if the turn ends first
    "taken_back",  # a deferred question was cancelled: its turn is interrupted and not shown
]

Cause: TypeAlias = Literal[
    "opened",  # the process opens a session that has a deferred question, or may have one
    "not_continued",  # the handshake says that the process does not continue a turn
    "called",  # Claude calls a tool that asks
    "asked",  # the call arrives at the gate
    "asked_with_answer",  # the call arrives at the gate, and its answer came earlier
    "asked_another",  # another question of Claude or of a sub-agent arrives at the gate
    "answered",  # a person answers, and the call is at the gate
    "answered_early",  # a person answers, and the call is not at the gate
    "resumed",  # the process was opened for this answer; the call is not at the gate yet
    "resumed_in_vain",  # the process was opened for these answers, but their calls are lost
    "hold_over",  # the hold time of the question is over
    "result",  # the call has its result
    "superseded",  # a prompt or a control comes instead of an answer
    "turn_done",  # the turn has ended normally
    "turn_cut",  # the turn was stopped, failed, or ended with a deferred call
]

Act: TypeAlias = Literal[
    "",  # nothing
    "show",  # show the question to people, and hold it
    "show_only",  # show the question to people, and wait without a timeout: it is never deferred
    "hold",  # hold it; people have seen it already, or must not see it
    "wait",  # wait without a timeout; people have seen it already
    "refuse",  # tell Claude to ask one question at a time
    "give",  # give the call its answer
    "keep",  # keep the answer for its call
    "leave",  # keep no answer: the engine has it, and delivers it to the next turn or process
    "tell",  # send Claude the answers in words
    "defer",  # tell the process to defer the call
    "interrupt",  # interrupt the process
]


class Step(NamedTuple):
    """The next state, and the act to carry out."""

    to: State
    act: Act = ""


# A cause that is not listed for a state cannot happen in it.
TRANSITIONS: Mapping[State, Mapping[Cause, Step]] = {
    "idle": {
        "opened": Step("resuming"),
        "called": Step("called"),
        "asked": Step("held", "show"),
        "asked_with_answer": Step("idle", "give"),
        "asked_another": Step("idle", "show_only"),
        "answered_early": Step("idle", "keep"),
        "resumed_in_vain": Step("idle", "tell"),
        "superseded": Step("idle"),
        "turn_done": Step("idle", "leave"),
        "turn_cut": Step("idle", "leave"),
    },
    "called": {
        "called": Step("called"),
        "asked": Step("held", "show"),
        "asked_with_answer": Step("idle", "give"),
        "asked_another": Step("called", "show_only"),
        "answered": Step("idle", "give"),
        "answered_early": Step("called", "keep"),
        "resumed_in_vain": Step("called", "tell"),
        "hold_over": Step("deferred", "defer"),
        "result": Step("idle"),
        "superseded": Step("called"),
        "turn_done": Step("idle", "leave"),
        "turn_cut": Step("idle", "leave"),
    },
    "held": {
        "called": Step("held"),
        "asked": Step("held", "hold"),
        "asked_with_answer": Step("idle", "give"),
        "asked_another": Step("held", "refuse"),
        "answered": Step("idle", "give"),
        "answered_early": Step("held", "keep"),
        "resumed_in_vain": Step("held", "tell"),
        "hold_over": Step("deferred", "defer"),
        "result": Step("idle"),
        "superseded": Step("held"),
        "turn_done": Step("idle", "leave"),
        "turn_cut": Step("idle", "leave"),
    },
    "deferred": {
        "called": Step("deferred"),
        "asked": Step("held", "hold"),
        "asked_with_answer": Step("idle", "give"),
        "asked_another": Step("deferred", "refuse"),
        "answered_early": Step("deferred", "leave"),
        "resumed_in_vain": Step("deferred", "tell"),
        "result": Step("deferred"),
        "superseded": Step("deferred"),
        "turn_done": Step("idle", "leave"),
        "turn_cut": Step("idle", "leave"),
    },
    "resuming": {
        "not_continued": Step("idle"),
        "called": Step("resuming"),
        "asked": Step("resuming", "wait"),
        "asked_with_answer": Step("idle", "give"),
        "asked_another": Step("resuming", "show_only"),
        "answered": Step("idle", "give"),
        "answered_early": Step("resuming", "keep"),
        "resumed": Step("owed", "keep"),
        "resumed_in_vain": Step("idle", "tell"),
        "result": Step("resuming"),
        "superseded": Step("taken_back", "interrupt"),
        "turn_done": Step("idle", "leave"),
        "turn_cut": Step("idle", "leave"),
    },
    "owed": {
        "called": Step("owed"),
        "asked_with_answer": Step("idle", "give"),
        "asked_another": Step("owed", "refuse"),
        "answered_early": Step("owed", "keep"),
        "resumed_in_vain": Step("owed", "tell"),
        "result": Step("owed"),
        "superseded": Step("owed"),
        "turn_done": Step("idle", "tell"),
        "turn_cut": Step("idle", "leave"),
    },
    "taken_back": {
        "called": Step("taken_back"),
        "asked": Step("taken_back", "hold"),
        "asked_with_answer": Step("taken_back", "give"),
        "asked_another": Step("taken_back", "refuse"),
        "answered": Step("taken_back", "give"),
        "answered_early": Step("taken_back", "keep"),
        "resumed_in_vain": Step("taken_back", "tell"),
        "hold_over": Step("taken_back", "defer"),
        "result": Step("taken_back"),
        "superseded": Step("taken_back"),
        "turn_done": Step("idle", "leave"),
        "turn_cut": Step("idle", "leave"),
    },
}
_WAITS: tuple[Act, ...] = ("show", "show_only", "hold", "wait")
_ONE_CALL: tuple[State, ...] = ("held", "deferred", "owed")  # states in which no other call may ask


class NotPossible(Exception):
    """This cause cannot happen in this state."""


class Answer(NamedTuple):
    """An answer for a call, and answers to lost calls, which Claude gets with it in words."""

    reply: Reply
    in_words: tuple[Reply, ...] = ()

    @property
    def replies(self) -> list[Reply]:
        """The answer and the answers to lost calls."""
        return [self.reply, *self.in_words]


class Question:
    """The state of Claude's question in one process, with the answers that wait for their calls."""

    def __init__(self) -> None:
        self.state: State = "idle"
        self._call: str | None = None  # the call that the state is about, if it is known
        self._at_gate: set[str] = set()  # calls that wait at the gate, also of sub-agents
        self._early: dict[str, Reply] = {}  # answers that came before their calls
        self._owed: Answer | None = None

    def happens(self, cause: Cause) -> Act:
        """Changes the state, and returns the act. Raises NotPossible."""
        step = TRANSITIONS[self.state].get(cause)
        if step is None:
            raise NotPossible(f"{cause} in the state {self.state}")
        self.state = step.to
        if step.to == "idle":
            self._call = self._owed = None
        return step.act

    def blocks(self, call: str) -> bool:
        """Whether another call is open, so that this call stays hidden."""
        return self.state in ("called", *_ONE_CALL) and call != self._call

    def was_asked(self, call: str) -> bool:
        """Whether people know this question: an earlier process asked it, or it has an answer."""
        return self.state == "resuming" or call in self._early or self._is_owed(call)

    # --- causes from Claude -------------------------------------------------------------------

    def open(self, call: str | None) -> None:
        """Opens a session with a deferred question. `call` is None if the call is not known."""
        self.happens("opened")
        self._call = call

    def call(self, call: str) -> None:
        """Notes that Claude itself calls a tool that asks, and no other call blocks it."""
        self.happens("called")
        if self.state == "called":
            self._call = call

    def ask(self, call: str, *, is_own: bool) -> tuple[Act, Answer | None]:
        """Handles a call that arrives at the gate; `is_own`: the call is of Claude itself.

        Returns the act, and the answer if it is known already.
        """
        answer = self._owed if self._is_owed(call) else None
        if answer is None and call in self._early:
            answer = Answer(self._early.pop(call))
        if self._is_owed(call) or (is_own and not self._is_another(call)):
            act = self.happens("asked" if answer is None else "asked_with_answer")
            if answer is None:
                self._call = call
        else:
            act = self.happens("asked_another") if answer is None else "give"
        if act in _WAITS:
            self._at_gate.add(call)
        return act, answer

    def end_hold(self, call: str) -> Act:
        """Ends the hold time of a call. Returns the act, which defers the call."""
        self._at_gate.discard(call)
        return self.happens("hold_over") if call == self._call else "defer"

    def leave_gate(self, call: str) -> None:
        """Removes a call that Claude has withdrawn from the gate."""
        self._at_gate.discard(call)

    def note_result(self, call: str) -> None:
        """Notes that a call has its result, and so is not open any more."""
        if call == self._call:
            self.happens("result")

    def end_turn(self, *, is_done: bool) -> list[Reply]:
        """Handles the end of a turn. Returns the answers that Claude has to get in words."""
        owed = self._owed
        act = self.happens("turn_done" if is_done else "turn_cut")
        self._early.clear()
        return owed.replies if owed is not None and act == "tell" else []

    # --- causes from people -------------------------------------------------------------------

    def answer(self, reply: Reply) -> Act:
        """Handles an answer to a call of this process. Returns the act."""
        call = reply.request_id
        if call in self._at_gate:
            self._at_gate.remove(call)
            return self.happens("answered") if call == self._call else "give"
        act = self.happens("answered_early")
        if act == "keep":
            self._early[call] = reply
        return act

    def resume(self, replies: Sequence[Reply]) -> tuple[Act, Answer | None]:
        """Handles the answers that the process was opened for.

        Returns the act, and the answer that can become the result of a call.
        """
        own = next((reply for reply in reversed(replies) if self._comes_back(reply)), None)
        if own is None:
            return self.happens("resumed_in_vain"), None
        answer = Answer(own, tuple(reply for reply in replies if reply is not own))
        if own.request_id in self._at_gate:
            self._at_gate.remove(own.request_id)
            return self.happens("answered"), answer
        act = self.happens("resumed")
        self._call, self._owed = own.request_id, answer
        return act, answer

    def _comes_back(self, reply: Reply) -> bool:
        """Whether this process asks the question again. Sub-agents of an earlier process do not."""
        is_own = reply.parent_tool_use_id is None
        return is_own and self.state == "resuming" and self._call in (None, reply.request_id)

    def _is_owed(self, call: str) -> bool:
        return self._owed is not None and self._owed.reply.request_id == call

    def _is_another(self, call: str) -> bool:
        """Whether the state is about another call than this one."""
        is_known = self.state == "resuming" and self._call is not None
        return (is_known or self.state in _ONE_CALL) and call != self._call
