"""Checks session.state: its content matches the frames before it, and it follows each change.

The recording does not show other clients. A state that follows no known change may report a change
of another client. A state that follows known changes reports only these.
"""

from __future__ import annotations

from turnwire.core.status import RunState, Status, Totals, TurnEnd, with_turn
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.validator.connection import Say
from turnwire.dialects.v2.validator.queue import QueueCheck
from turnwire.dialects.v2.validator.requests import RequestCheck
from turnwire.dialects.v2.validator.tools import ToolCheck
from turnwire.dialects.v2.validator.totals import same_totals, shrunk
from turnwire.dialects.v2.validator.turns import TurnCheck

__all__ = ["StateCheck"]

_NO_END = TurnEnd(False, False)


class StateCheck:
    """The state of one log, as each connection receives it."""

    def __init__(
        self,
        say: Say,
        turns: TurnCheck,
        requests: RequestCheck,
        queue: QueueCheck,
        tools: ToolCheck,
    ) -> None:
        self._say = say
        self._turns = turns
        self._requests = requests
        self._queue = queue
        self._tools = tools
        self._told: Status | None = None  # the latest session.state of this connection
        self.running: bool | None = None  # whether the agent runs; None: unknown
        self._causes: set[str] = set()  # changes since the latest session.state
        # What system events may have changed since then: `thinks`; `mode` and `model`, or with `=`
        # the new value; `tasks`, and `task` if the event came from the agent.
        self._changeable: set[str] = set()
        self._spoke: bool | None = True  # since the last request ended; None: unknown
        self._model: str | None = None
        self._mode: str | None = None
        self._thinks: int | None = None  # tokens
        self._totals = Totals()  # the expected totals, which must not shrink
        self._title: str | None = None
        self.agent: str | None = None  # the agent that speaks, if another one has spoken

    def connected(self) -> None:
        """Starts a connection, which will get the state."""
        self._told = self.running = None
        self._causes.clear()
        self._changeable.clear()

    @property
    def next_agent(self) -> str | None:
        """The agent that was chosen for the next turn, which waits for it."""
        return None if self._told is None else self._told.next_agent

    # --- changes ------------------------------------------------------------------------------

    def due(self, frame: f.Frame) -> None:
        """Checks, before a live frame, that session.state has reported the earlier changes."""
        payload = frame.payload  # type: ignore[attr-defined]  # every kind of frame has one
        late: set[str] = set()
        if isinstance(payload, p.Accepted | p.ToolProgressed):
            late = self._causes
        elif isinstance(payload, p.BlockPayload):
            late = self._causes if payload.partial else self._causes - {"asked"}
        elif isinstance(frame, f.TurnStarted):
            late = self._causes & {"end"}
        elif isinstance(frame, f.AssistantRequestResolved):
            late = self._causes & {"asked"}
        self._missing(late)

    def closed(self) -> None:
        """Checks a connection that was closed normally."""
        self._missing(self._causes)

    def _missing(self, late: set[str]) -> None:
        if late:
            self._say("state_missing", f"after {', '.join(sorted(_WORDS[each] for each in late))}")
            self._causes -= late  # report it only once

    def started(self) -> None:
        """Notes that a turn starts or resumes."""
        self._causes.add("start")
        self.running = self._spoke = True

    def ended(self, end: TurnEnd) -> None:
        """Notes that a turn has ended."""
        self._causes.add("end")
        self.running = False
        self._totals = with_turn(self._totals, end)

    def noted(self, frame: f.Frame) -> None:
        """Notes what any other live frame changes."""
        match frame:
            case f.AssistantRequestInput() | f.AssistantPermissionRequest():
                self._causes.add("asked")
            case f.AssistantRequestResolved(payload=end):
                self._causes.add("resolved")
                self._spoke = end.by == "agent"  # withdrawing a request counts as speaking
            case f.ConversationUpdated(payload=news):
                self._title = self._title if news.title is None else news.title
                self._totals = news.totals or self._totals
            case f.SessionSystemEvent(payload=news):
                self._changeable |= _changeable(news)
                if news.subtype == "agent" and isinstance(news.data, dict):
                    self.agent = news.data.get("agent")
            case f.AssistantToolResult(payload=result) if _is_ours(result):
                self._spoke = None  # an agent has ended: another may have to start
            case _ if self._is_a_word(frame):
                self._changeable.add("tasks")
                if self._spoke is False and self.running and not self._waits_for_a_person():
                    self._causes.add("spoke")
                self._spoke = True

    def _waits_for_a_person(self) -> bool:
        """Returns whether a request is open, also one that only session.state has shown."""
        return bool(self._requests.open or (self._told and self._told.requests))

    def _is_a_word(self, frame: f.Frame) -> bool:
        """Returns whether the agent or a sub-agent speaks, so that its turn streams again."""
        speaks = isinstance(
            frame.payload,  # type: ignore[attr-defined]  # every kind of frame has one
            p.BlockPayload | p.ToolResult | p.ToolProgressed | p.Interrupted,
        )
        return speaks and frame.turn_id == self._turns.open

    def asked_for(self, what: str, value: str | None = None) -> None:
        """Notes an accepted command of this client about the queue, the model or the mode."""
        if what == "model":
            if value is None:
                self._changeable.add("model")  # the agent's default, which is unknown here
            elif value != self._model:
                self._causes.add("model")
                self._model = value
        elif what == "mode":
            if value != self._mode:
                self._causes.add("mode")
                self._mode = value
        else:
            self._causes.add(what)

    def asked_to_think(self, tokens: int | None) -> None:
        """Notes an accepted change of max_thinking_tokens."""
        if tokens != self._thinks:
            self._causes.add("thinks")
            self._thinks = tokens

    def thinks_otherwise(self, status: Status, tokens: int | None) -> bool:
        """Returns whether a state changes max_thinking_tokens to this value."""
        return self._told is not None and tokens == status.max_thinking_tokens != self._thinks

    def changes_to(
        self, status: Status, *, model: str | None = None, mode: str | None = None
    ) -> bool:
        """Returns whether a state changes to this model or mode."""
        if self._told is None:
            return False
        return (model is not None and model == status.model != self._model) or (
            mode is not None and mode == status.permission_mode != self._mode
        )

    # --- session.state ------------------------------------------------------------------------

    def told(self, frame: f.SessionState, max_queue: int) -> None:
        """Checks session.state against itself, and against the frames before it."""
        status, first = frame.payload, self._told is None
        exact = not first and bool(self._causes)
        if first:
            self._spoke = None
        as_asked = self._requests.listed(status.requests)
        fault = _own_fault(status) or self._turn_fault(frame, first=first)
        if fault is None and as_asked:
            fault = self._state_fault(status, first=first)
        fault = fault or self._last_fault(status, first=first) or self._totals_fault(status)
        fault = fault or self._tasks_fault(status, exact=exact)
        if fault is None and not first:
            fault = self._choice_fault(status, exact=exact)
        if fault is not None:
            self._say("wrong_state", fault)
        self._queue.told(status, max_queue, exact=exact, started="start" in self._causes)
        if first and status.turn_id is not None:
            self._turns.goes_on(status.turn_id)
        self._told, self.running = status, status.running
        if status.state != "waiting_input":
            self._spoke = self._spoke or status.state == "streaming"
        self._model, self._mode = status.model, status.permission_mode
        self.agent = status.agent
        self._thinks = status.max_thinking_tokens
        self._totals = status.totals or self._totals
        self._title = self._title if status.title is None else status.title
        self._causes.clear()
        self._changeable.clear()

    def _turn_fault(self, frame: f.SessionState, *, first: bool) -> str | None:
        status = frame.payload
        if frame.turn_id not in (None, status.turn_id):
            return f"turn {status.turn_id} in a frame of turn {frame.turn_id}"
        if status.turn_id is not None and status.turn_id in self._turns.ends:
            return f"turn {status.turn_id} has already ended"
        if not first and status.turn_id != self._turns.open:
            return f"turn {status.turn_id}, but turn {self._turns.open} runs"
        if self._told is not None and status.running and not self.running:
            return "an agent runs without a turn.started"
        return None

    def _state_fault(self, status: Status, *, first: bool) -> str | None:
        due = self._states(status)
        if status.state not in due:
            return f"{status.state}, not {' or '.join(due)}"
        return None

    def _states(self, status: Status) -> tuple[RunState, ...]:
        """Returns the possible values of `state`."""
        if status.requests:
            return ("waiting_input",)
        if status.turn_id is not None:
            if not status.running or (self._spoke is False and self._causes):
                return ("active",)
            if self._spoke is False:  # the agent may have sent events without frames
                return ("active", "streaming")
            return ("active", "streaming") if self._spoke is None else ("streaming",)
        last = status.last_turn or _NO_END
        return ("interrupted" if last.interrupted else "error" if last.is_error else "active",)

    def _last_fault(self, status: Status, *, first: bool) -> str | None:
        turn_id = self._turns.last
        if turn_id is not None:
            known = turn_id, self._turns.ends[turn_id].said
        elif self._turns.whole:
            known = None
        elif self._told is not None and self._told.last_turn is not None:
            known = self._told.last_turn_id or 0, self._told.last_turn
        else:
            return None
        if known != (status.last_turn and (status.last_turn_id, status.last_turn)):
            return f"last_turn is not the end of turn {turn_id}"
        return None

    def _totals_fault(self, status: Status) -> str | None:
        totals = status.totals or Totals()
        if "end" in self._causes:
            if not same_totals(totals, self._totals):
                return "totals do not grow by the usage of the turn"
        elif shrunk(self._totals, totals):
            return "totals have shrunk"
        elif self._causes and not same_totals(totals, self._totals):
            return "totals have changed"
        return None

    def _tasks_fault(self, status: Status, *, exact: bool) -> str | None:
        """Checks that background work keeps its turn, and changes only with a system event."""
        before = {} if self._told is None else {t.task_id: t for t in self._told.background_tasks}
        ids = [task.task_id for task in status.background_tasks]
        for task in status.background_tasks:
            known = before.get(task.task_id, task)
            if known.tool_use_id is None and task.tool_use_id is not None:
                known = task  # now the call that started the task is known
            if (task.turn_id, task.tool_use_id) != (known.turn_id, known.tool_use_id):
                return f"{task.task_id} belongs to turn {known.turn_id}"
            turn_id = self._tools.turn_of.get(task.tool_use_id or "", task.turn_id)
            if turn_id != task.turn_id:
                return f"{task.task_id} was started in turn {turn_id}"
            if (task.turn_id or 0) > max(self._turns.latest, status.turn_id or 0):
                return f"{task.task_id} belongs to turn {task.turn_id}, which does not exist"
        changed = set(ids) != set(before)
        unheard = exact and "task" not in self._changeable
        if changed and (unheard or (before and "tasks" not in self._changeable)):
            return "background work has changed without a system event"
        return None

    def _choice_fault(self, status: Status, *, exact: bool) -> str | None:
        if status.agent != self.agent:
            return f"agent is {status.agent}, not {self.agent}"
        may_be = {"model", f"model={status.model}"}
        if status.model != self._model and not may_be & self._changeable:
            return f"model is {status.model}, not {self._model}"
        mode = status.permission_mode
        if mode != self._mode and exact and not {"mode", f"mode={mode}"} & self._changeable:
            return f"permission_mode is {mode}, not {self._mode}"
        thinks = status.max_thinking_tokens
        if thinks != self._thinks and exact and "thinks" not in self._changeable:
            return f"max_thinking_tokens is {thinks}, not {self._thinks}"
        if self._title is not None and status.title not in (None, self._title):
            return f"title is {status.title!r}, not {self._title!r}"
        return None


_WORDS = {
    "start": "turn.started",
    "end": "assistant.complete",
    "asked": "a request",
    "resolved": "assistant.request_resolved",
    "spoke": "the agent went on",
    "queue": "the queue changed",
    "model": "the model changed",
    "mode": "the permission mode changed",
    "thinks": "max_thinking_tokens changed",
}


def _is_ours(result: p.ToolResult) -> bool:
    """Returns whether the server wrote this result, because the agent never will."""
    return result.is_error and str(result.content).startswith("interrupted: ")


def _changeable(news: p.SystemNews) -> set[str]:
    """Returns what a system event may change: anything, if it is an agent's stored event."""
    names = news.data if isinstance(news.data, dict) else {}
    is_ours = news.subtype in ("init", "model", "plan", "rewind")
    may = {"tasks"} if is_ours else {"tasks", "task"}
    if "model" in names:
        may.add(f"model={names['model']}")
    # Only the agent knows which of the fields is the mode.
    may |= {f"mode={value}" for value in names.values() if isinstance(value, str)}
    if news.message_sequence is not None and not is_ours:
        may |= {"model", "mode", "thinks"}
    return may


def _own_fault(status: Status) -> str | None:
    """Returns a contradiction inside a state; None if there is none."""
    if (status.state == "waiting_input") is not bool(status.requests):
        return f"{status.state} with {len(status.requests)} open requests"
    # A request of background work may be open while no turn runs. A turn whose last request was
    # just answered is active until its agent speaks again.
    runs = f"{status.state} with turn {status.turn_id} and running {str(status.running).lower()}"
    if status.state == "streaming" and (status.turn_id is None or not status.running):
        return runs
    if status.state in ("interrupted", "error") and (status.turn_id is not None or status.running):
        return runs
    if status.running and status.turn_id is None:
        return runs
    if status.queue_held and not status.queue:
        return "the queue is held, but empty"
    if (status.last_turn is None) is not (status.last_turn_id is None):
        return "only one of last_turn and last_turn_id is set"
    return None
