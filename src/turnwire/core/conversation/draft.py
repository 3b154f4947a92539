"""The draft of a step: mutable copies of a conversation's state, and the collected effects."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, structs

from turnwire.core.answers import in_words
from turnwire.core.content import TextContent, parts_of
from turnwire.core.conversation.effects import (
    Ack,
    AddEntry,
    Audit,
    BeginTurn,
    CancelTimer,
    Command,
    Effects,
    EndTurn,
    Moment,
    Prompt,
    SetTimer,
    Tell,
)
from turnwire.core.conversation.state import (
    HANDOVER_LEVEL,
    RULES_LEVEL,
    STATE_LEVEL,
    Conversation,
    Phase,
    Reply,
    Turn,
    Waiting,
    status_of,
)
from turnwire.core.conversation.transitions import TRANSITIONS, Cause
from turnwire.core.entries import event_entry
from turnwire.core.message import EventName, Message, meta_of, run_id
from turnwire.core.status import QueueItem, TurnEnd, TurnOrigin, with_turn
from turnwire.core.times import iso

__all__ = ["Draft"]


class Draft:
    """Copies of the parts of a conversation that a step may change."""

    def __init__(self, before: Conversation, at: int) -> None:
        self.before = before
        self.options = before.options
        self.at = at
        self.now = iso(at)
        self.state = before.state
        self.reason = before.reason
        self.head = before.head
        self.turns = before.turns
        self.traces = dict(before.traces)
        self.turn = before.turn
        self.queue = list(before.queue)
        self.held = before.held
        self.requests = list(before.requests)
        self.replies = list(before.replies)
        self.asked = dict(before.asked)
        self.tools = dict(before.tools)
        self.closed = list(before.closed)
        self.voices = dict(before.voices)
        self.background = list(before.background)
        self.model = before.model
        self.permission_mode = before.permission_mode
        self.last_turn = before.last_turn
        self.last_turn_id = before.last_turn_id
        self.totals = before.totals
        self.title = before.title
        self.max_thinking_tokens = before.max_thinking_tokens
        self.title_by = before.title_by
        self.mcp_off = before.mcp_off
        self.overdue = list(before.overdue)
        self.closed_turns = dict(before.closed_turns)
        self.init_digest = before.init_digest
        self.handover = before.handover
        self.next_agent = before.next_agent
        self.rules = list(before.rules)
        self.offered = before.offered
        self.opened = False  # whether a request was opened and not published yet
        self.writes: list[Moment] = []
        self.ack: Ack | None = None
        self.commands: list[Command] = []
        self.timers: list[SetTimer | CancelTimer] = []

    def done(self, *, is_news: bool) -> tuple[Conversation, Effects]:
        """Returns the conversation as it is now, and its effects."""
        effects = Effects(self.writes, self.ack, self.commands, self.timers, is_news)
        return self.now_is(), effects

    def tell(self) -> None:
        """Publishes the status at this point of the step."""
        if self.writes and isinstance(self.writes[-1], Tell):
            return
        self.opened = False
        status = status_of(self.now_is())
        # Copies: the rest of the step changes these lists.
        requests, tasks = list(self.requests), list(self.background)
        self.writes.append(Tell(structs.replace(status, requests=requests, background_tasks=tasks)))

    def now_is(self) -> Conversation:
        """Returns the conversation as it is now."""
        return Conversation(
            self.before.conversation_id,
            self.options,
            self.state,
            self.reason,
            self.head,
            self.turns,
            self._kept_traces(),
            self.turn,
            self.queue,
            self.held,
            self.requests,
            self.replies,
            self.asked,
            self.tools,
            self.closed,
            self.voices,
            self.background,
            self.model,
            self.permission_mode,
            self.last_turn,
            self.last_turn_id,
            self.totals,
            self.title,
            self.max_thinking_tokens,
            self.title_by,
            self.mcp_off,
            self.overdue,
            self.closed_turns,
            self.init_digest,
            self._level(),
            self.handover,
            self.next_agent,
            self.rules,
            self.offered,
        )

    def _level(self) -> int:
        """Returns the level of the state: earlier versions can run one that has no new fields."""
        steers = (self.turn is not None and self.turn.in_doubt) or any(
            waiting.in_doubt or waiting.item.steers is not None for waiting in self.queue
        )
        if self.offered is not None and self.offered.chosen:
            return STATE_LEVEL
        if self.rules:
            return RULES_LEVEL
        has_new = steers or self.handover is not None or self.next_agent is not None
        return HANDOVER_LEVEL if has_new else 0

    def _kept_traces(self) -> dict[int, str]:
        """Returns the traces without those of turns that no open item refers to.

        Ended turns matter only for background work and closed calls. The traces are checked when a
        turn begins, because only then one is added.
        """
        if len(self.traces) < 2 or self.turns == self.before.turns:
            return self.traces
        kept = {self.turn.turn_id if self.turn else None, self.last_turn_id, *self.voices.values()}
        kept.update(tool.turn_id for tool in self.tools.values())
        kept.update(self.closed_turns.values())
        kept.update(request.turn_id for request in self.requests)
        kept.update(task.turn_id for task in self.background)
        return {turn_id: trace for turn_id, trace in self.traces.items() if turn_id in kept}

    def move(self, cause: Cause, reason: str | None = None) -> None:
        """Changes the state according to the transition table."""
        self.state = TRANSITIONS[self.state][cause]
        self.reason = reason

    # --- the log ------------------------------------------------------------------------------

    def add(self, entry: Message, turn_id: int | None, raw: Raw | None = None) -> None:
        """Appends an entry to the log."""
        self.head += 1
        trace_id = None if turn_id is None else self.traces.get(turn_id)
        self.writes.append(AddEntry(self.head, entry, turn_id, trace_id, raw))

    def add_message(self, item: QueueItem, turn_id: int, steered_as: str | None = None) -> None:
        """Appends a person's message to the log. `steered_as`: it went into the running turn."""
        self.add(_user_entry(item, self.run(turn_id), self.now, steered_as), turn_id)

    def add_event(
        self, name: EventName, text: str, turn_id: int | None, data: Any, **known: Any
    ) -> None:
        """Appends an event entry to the log."""
        run = self.run(turn_id)
        self.add(
            event_entry(name, text, run_id=run, timestamp=self.now, data=data, **known), turn_id
        )

    def run(self, turn_id: int | None) -> str:
        """Returns the id of a turn's run. Entries outside of a turn share one run."""
        conversation_id = self.before.conversation_id
        return f"{conversation_id}:" if turn_id is None else run_id(conversation_id, turn_id)

    def audit(self, action: str, by: str | None, **data: Any) -> None:
        """Adds a record to the audit trail."""
        self.writes.append(Audit(action, by, data))

    # --- turns --------------------------------------------------------------------------------

    def begin_turn(self, origin: TurnOrigin, trace_id: str, waiting: Waiting | None = None) -> None:
        """Begins a turn, and adds the message that started it to the log."""
        if any(isinstance(write, EndTurn) for write in self.writes):
            self.tell()  # publish that no turn runs between the two
        item = None
        if waiting is not None:
            self.queue.remove(waiting)
            item = waiting.item
        self.turns += 1
        turn_id = self.turns
        phase: Phase = "starting" if origin == "user" else "running"
        in_doubt = waiting is not None and waiting.in_doubt
        turn = self.turn = Turn(turn_id, trace_id, origin, phase, item, in_doubt=in_doubt)
        self.traces[turn_id] = trace_id
        self.writes.append(BeginTurn(turn))
        if item is not None:
            self.add_message(item, turn_id)
            self.prompt(turn)
            for reply in self.replies:
                self.tell_delivery(reply)
        self.move("turn_started")

    def prompt(self, turn: Turn) -> None:
        """Prompts the agent with a message, preceded by the answers that an earlier turn left."""
        assert turn.item is not None
        content = turn.item.content
        if self.replies:
            answers = in_words(
                [r.answer for r in self.replies], [r.questions for r in self.replies]
            )
            content = [TextContent(answers), *content]
        self.commands.append(Prompt(turn, content))

    def tell_delivery(self, reply: Reply) -> None:
        """Logs that an answer is delivered differently from what its acceptance said."""
        data = {"request_id": reply.request_id, "delivered_as": "prompt"}
        turn_id = self.turn.turn_id if self.turn else None
        said = "The answer is sent to the agent as text"
        self.add_event("system", said, turn_id, {"subtype": "answer_delivered", "data": data})

    def begin_next(self) -> None:
        """Begins the next queued turn if no turn is open and the queue is not held.

        If another agent was chosen, the turn waits until that agent has taken over.
        """
        if self.turn is None and self.queue and not self.held and self.next_agent is None:
            waiting = self.queue[0]
            self.begin_turn("user", waiting.trace_id, waiting)

    def phase(self, phase: Phase) -> None:
        """Sets the phase of the turn."""
        assert self.turn is not None
        self.turn = structs.replace(self.turn, phase=phase)

    def end_turn(self, turn: Turn, end: TurnEnd, reason: str | None) -> None:
        """Ends a turn; its only assistant.complete has the outcome, usage and cost."""
        spent = turn.spent
        end = structs.replace(
            end,
            origin=turn.origin,
            after_sequence=self.head,
            usage=spent.usage,
            cost_usd=spent.cost_usd,
            duration_ms=spent.duration_ms,
            structured_output=spent.structured_output,
        )
        self.writes.append(EndTurn(turn.turn_id, turn.trace_id, end))
        self.turn = None
        self.totals = with_turn(self.totals, end)
        self.last_turn, self.last_turn_id = end, turn.turn_id
        self.rest(end, reason)

    def rest(self, end: TurnEnd, reason: str | None) -> None:
        """Sets the state without an open turn, by the end of the last one."""
        if end.interrupted:
            self.move("turn_interrupted", reason)
        elif end.is_error:
            self.move("turn_failed", reason)
        else:
            self.move("turn_completed")


def _user_entry(item: QueueItem, run: str, now: str, steered_as: str | None) -> Message:
    parts, rest = parts_of(item.content)
    meta = meta_of(
        run,
        blocks=rest or None,
        origin="user",
        by=item.by,
        client_message_id=item.client_message_id,
        steered_as=steered_as,
    )
    return Message(run, "user", parts, now, meta)
