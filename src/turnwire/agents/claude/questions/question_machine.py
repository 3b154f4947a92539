"""The question that Claude itself asks a person, from the call to the answer: a machine without I/O.

Claude calls a tool that asks. The call comes to the gate, a hook that runs before the tool, and waits
there for the answer. If none comes in time the process is told to defer the call: its turn ends. The next
process that opens the session comes to the gate with the same call by itself, and gets the answer there.
If it ends its turn without that, Claude is told the answer in words, as a prompt.

`TRANSITIONS` is the whole of it. `Question` finds out which cause an event is, and keeps the answers;
`Asking` does what is to be done. A sub-agent's question has no states: it waits at the gate of its
process, and is never deferred.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from turnwire.core.conversation.state import Reply

__all__ = ["TRANSITIONS", "Act", "Answer", "Cause", "NotPossible", "Question", "State", "Step"]

State: TypeAlias = Literal[
    "idle",  # Claude has no open question in this process
    "called",  # Claude has called a tool that asks, and the call is on its way to the gate
    "held",  # the call is at the gate, and the process waits for the answer
    "deferred",  # the process was told to defer the call, and ends its turn
    "resuming",  # a process before this one deferred a question: this one asks it again by itself
    "owed",  # the answer came before the question: Claude gets it in words if the turn ends first
    "taken_back",  # a deferred question was cancelled: its turn is interrupted, and not shown
]

Cause: TypeAlias = Literal[
    "opened",  # the process opens a session that has a deferred question, or may have one
    "rested",  # its answer to the handshake says that it does not go on with anything
    "called",  # Claude calls a tool that asks
    "asked",  # the call comes to the gate
    "asked_with_answer",  # the call comes to the gate, and its answer was there before it
    "asked_another",  # another question comes to the gate, of Claude or of a sub-agent
    "answered",  # a person answers, and the call is at the gate
    "answered_early",  # a person answers, and the call is not at the gate
    "resumed",  # the answer that the process was opened for; the call is not at the gate yet
    "resumed_in_vain",  # answers that the process was opened for, and their calls are lost
    "hold_over",  # the time is over for which a question is held
    "result",  # the call has its result
    "superseded",  # a prompt or a control comes instead of an answer
    "turn_done",  # the turn has ended by itself
    "turn_cut",  # the turn was stopped, failed, or ended with a deferred call
]

Act: TypeAlias = Literal[
    "",  # nothing
    "show",  # show the question to people, and hold it
    "show_only",  # show the question to people, and wait as long as it takes: it is never deferred
    "hold",  # hold it; people know it already, or will not hear of it
    "wait",  # wait as long as it takes; people know it already
    "refuse",  # tell Claude to ask one question at a time
    "give",  # let the call have its answer
    "keep",  # keep the answer for its call
    "leave",  # keep no answer: the engine has it, and gives it to the next turn or process
    "tell",  # tell Claude the answers in words
    "defer",  # tell the process to defer the call
    "interrupt",  # interrupt the process
]


class Step(NamedTuple):
    """What a state becomes, and what is to be done."""

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
        "rested": Step("idle"),
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
_ONE_CALL: tuple[State, ...] = ("held", "deferred", "owed")  # while no other call may ask


class NotPossible(Exception):
    """This cause cannot happen in this state."""


class Answer(NamedTuple):
    """An answer for a call, and answers to lost calls, which Claude is told in words with it."""

    reply: Reply
    in_words: tuple[Reply, ...] = ()

    @property
    def replies(self) -> list[Reply]:
        """All of them."""
        return [self.reply, *self.in_words]


class Question:
    """The state of Claude's question in one process, with the answers that wait for their calls."""

    def __init__(self) -> None:
        self.state: State = "idle"
        self._call: str | None = None  # the call that the state is about, if it is known
        self._at_gate: set[str] = set()  # calls that wait there, those of sub-agents too
        self._early: dict[str, Reply] = {}  # answers that came before their calls
        self._owed: Answer | None = None

    def happens(self, cause: Cause) -> Act:
        """Changes the state, and returns what is to be done. Raises NotPossible."""
        step = TRANSITIONS[self.state].get(cause)
        if step is None:
            raise NotPossible(f"{cause} in the state {self.state}")
        self.state = step.to
        if step.to == "idle":
            self._call = self._owed = None
        return step.act

    def blocks(self, call: str) -> bool:
        """Whether another call is open, so that people are not shown this one yet."""
        return self.state in ("called", *_ONE_CALL) and call != self._call

    def was_asked(self, call: str) -> bool:
        """Whether people know this question from before: a process before this one has asked it, or
        they have answered it.
        """
        return self.state == "resuming" or call in self._early or self._is_owed(call)

    # --- what Claude does ---------------------------------------------------------------------

    def open(self, call: str | None) -> None:
        """The process opens a session with a deferred question; None: with any, or with none."""
        self.happens("opened")
        self._call = call

    def call(self, call: str) -> None:
        """Claude itself calls a tool that asks, and nothing blocks it."""
        self.happens("called")
        if self.state == "called":
            self._call = call

    def ask(self, call: str, *, is_own: bool) -> tuple[Act, Answer | None]:
        """A call comes to the gate; `is_own`: of Claude itself. Returns its answer if that is known."""
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
        """The time is over for which a call is held. Returns that it is to be deferred."""
        self._at_gate.discard(call)
        return self.happens("hold_over") if call == self._call else "defer"

    def leave_gate(self, call: str) -> None:
        """A call does not wait any more: Claude has taken it back."""
        self._at_gate.discard(call)

    def note_result(self, call: str) -> None:
        """A call has its result, so it does not ask any more."""
        if call == self._call:
            self.happens("result")

    def end_turn(self, *, is_done: bool) -> list[Reply]:
        """A turn has ended. Returns the answers that Claude is to be told in words."""
        owed = self._owed
        act = self.happens("turn_done" if is_done else "turn_cut")
        self._early.clear()
        return owed.replies if owed is not None and act == "tell" else []

    # --- what people do -----------------------------------------------------------------------

    def answer(self, reply: Reply) -> Act:
        """An answer to a call of this process."""
        call = reply.request_id
        if call in self._at_gate:
            self._at_gate.remove(call)
            return self.happens("answered") if call == self._call else "give"
        act = self.happens("answered_early")
        if act == "keep":
            self._early[call] = reply
        return act

    def resume(self, replies: Sequence[Reply]) -> tuple[Act, Answer | None]:
        """The answers that the process was opened for. Returns what can be a call's result."""
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
        """Whether this process asks again what is answered: a sub-agent of one before does not."""
        is_own = reply.parent_tool_use_id is None
        return is_own and self.state == "resuming" and self._call in (None, reply.request_id)

    def _is_owed(self, call: str) -> bool:
        return self._owed is not None and self._owed.reply.request_id == call

    def _is_another(self, call: str) -> bool:
        """Whether the state is about another call than this one."""
        is_known = self.state == "resuming" and self._call is not None
        return (is_known or self.state in _ONE_CALL) and call != self._call
