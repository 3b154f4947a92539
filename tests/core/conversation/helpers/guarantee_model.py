"""A simple model of a conversation that counts inputs and effects, and names a broken guarantee."""

from __future__ import annotations

from collections import Counter

import msgspec
from msgspec import structs

from tests.core.conversation.helpers.v2_watcher import Watcher
from turnwire.core.conversation import Conversation, Options, step
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.state import needs_recovery, status_of
from turnwire.core.error_codes import Refused
from turnwire.core.message import ToolCallPart, ToolResultPart, known_meta
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.entry_frames import frame_of

_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(Conversation).decode

# Entries that the state machine makes must fit the payloads of clients.
_EVENTS = {
    "permission_request": f.AssistantPermissionRequest,
    "request_resolved": f.AssistantRequestResolved,
    "interrupted": f.ConversationInterrupted,
}


class Model:
    """Takes every step, and everything that it asked for, into account."""

    def __init__(self, options: Options) -> None:
        self.state = Conversation("talk", options)
        self.head = 0
        self.calls: Counter[str] = Counter()
        self.results: Counter[str] = Counter()
        self.opened: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.told_ended: Counter[str] = Counter()
        self.turns_begun: set[int] = set()
        self.turns_ended: Counter[int] = Counter()
        self.queue: list[str] = []  # the expected queue
        self.started: dict[str, int] = {}  # by queue id: the turn that took it up
        self.removed: set[str] = set()
        self.in_log: Counter[str] = Counter()  # by queue id: how often the log has it
        self.prompts: Counter[int] = Counter()
        self.handed_again = 0  # how often a turn was rightly handed over again
        self.died_with: set[str] = set()  # the answers that an agent took along, once
        self.timers: set[str] = set()
        self.stopping = False  # the server is about to stop
        self.watcher: Watcher | None = None  # the client that sees every step

    def take(self, happened: i.Input) -> e.Effects | None:
        """Takes one step. A refused step has no effect."""
        before = self.state
        try:
            after, effects = step(before, happened)
        except Refused as refused:
            self.check_refusal(before, happened, refused)
            return None
        self.stopping = isinstance(happened, i.Recovered) and happened.stopping
        self._expect(before, happened, effects)
        self.check_answers(before, happened, after)
        self.state = after
        for write in effects.writes:
            self._count(write)
        for command in effects.commands:
            if isinstance(command, e.Prompt):
                self.prompts[command.turn.turn_id] += 1
        for timer in effects.timers:
            if isinstance(timer, e.SetTimer):
                self.timers.add(timer.name)
            else:
                self.timers.discard(timer.name)
        self.check(before)
        if self.watcher is not None:
            restarted = isinstance(happened, i.Recovered)
            self.watcher.see(after, effects, after_a_restart=restarted)
        return effects

    # --- our own count --------------------------------------------------------------------------

    def _expect(self, before: Conversation, happened: i.Input, effects: e.Effects) -> None:
        """Applies a person's command to the expected queue, before the turns that begin are counted."""
        match happened:
            case i.Said(queue_id=queue_id):
                self.queue.append(queue_id)
            case i.ChangedQueue(action="remove", queue_id=str(queue_id)):
                self._remove(queue_id)
            case i.ChangedQueue(action="move", queue_id=str(queue_id), before=target):
                if queue_id != target:
                    self.queue.remove(queue_id)
                    place = len(self.queue) if target is None else self.queue.index(target)
                    self.queue.insert(place, queue_id)
            case i.Interrupted(queue=queue):
                assert effects.ack is not None
                if effects.ack.outcome == "requested" and queue == "clear":
                    for queue_id in list(self.queue):
                        self._remove(queue_id)
            case i.Recovered():
                turn = before.turn
                if turn is not None and turn.phase == "starting" and turn.origin == "user":
                    self.handed_again += 1
            case i.AgentLost(forced=True):
                turn = before.turn
                if turn is not None and turn.phase == "starting" and turn.origin == "user":
                    self.handed_again += 1
            case _:
                pass

    def _remove(self, queue_id: str) -> None:
        self.queue.remove(queue_id)
        self.removed.add(queue_id)

    def _count(self, write: e.Moment) -> None:
        match write:
            case e.AddEntry():
                self._count_entry(write)
            case e.BeginTurn(turn=turn):
                assert self.turns_ended[turn.turn_id] == 0, "a turn begins after its end"
                self.turns_begun.add(turn.turn_id)
                queue_id = turn.item.queue_id if turn.item else ""
                if turn.origin == "user":
                    assert self.queue.pop(0) == queue_id, "queue order is run order"
                    assert self.started.setdefault(queue_id, turn.turn_id) == turn.turn_id
            case e.EndTurn(turn_id=turn_id, end=end):
                assert turn_id in self.turns_begun
                self.turns_ended[turn_id] += 1
                assert end.after_sequence == self.head, "a turn's end follows the log"
            case e.OpenRequestRow(request=request):
                self.opened[request.request_id] += 1
            case e.EndRequest(request_id=request_id):
                self.ended[request_id] += 1
            case e.Audit():
                pass

    def _count_entry(self, write: e.AddEntry) -> None:
        self.head += 1
        assert write.sequence == self.head, "the sequence is dense"
        entry, meta = write.entry, known_meta(write.entry)
        assert meta.turn_id == write.turn_id, "an entry names one turn"
        if meta.message_type in _EVENTS:
            frame = frame_of(entry, write.sequence, "talk", write.trace_id)
            assert isinstance(frame, _EVENTS[meta.message_type]), "an event fits its frame"
            if isinstance(frame, f.AssistantRequestResolved):
                self.told_ended[frame.payload.request_id] += 1
        for part in entry.parts:
            if isinstance(part, ToolCallPart):
                self.calls[part.payload.tool_call_id] += 1
            elif isinstance(part, ToolResultPart):
                tool = part.payload.tool_call_id
                assert self.calls[tool] == 1, "a result follows its call"
                self.results[tool] += 1
        if entry.role == "user" and meta.client_message_id is not None:
            self.in_log[meta.client_message_id] += 1

    # --- the promises, by name ------------------------------------------------------------------

    def check_refusal(self, before: Conversation, happened: i.Input, refused: Refused) -> None:
        """A refusal leaves no trace, and the queue refuses exactly when it is full."""
        assert self.state is before
        if refused.code == "TURN_QUEUE_FULL":
            waits = len(self.queue) - (before.turn is None)
            assert waits >= before.options.max_queue, "a queue that is not full refuses nothing"

    def check_answers(self, before: Conversation, happened: i.Input, after: Conversation) -> None:
        """An answer stays until the agent shows that it has it; one that a running turn's agent
        died with is given to another one at once, the first time. What another turn has left is
        for the next prompt.
        """
        turn = before.turn
        kept = {reply.request_id for reply in after.replies}
        if not isinstance(happened, i.AgentSaid):
            assert {reply.request_id for reply in before.replies} <= kept, "an answer is not lost"
        if not isinstance(happened, i.AgentLost) or turn is None or turn.phase != "running":
            return
        own = [r for r in before.replies if turn.origin == "resume" or not r.in_words]
        answers = {reply.request_id for reply in own}
        if turn.ending is None and answers - self.died_with:
            assert after.turn is not None
            assert after.turn.turn_id == turn.turn_id, "its turn goes on"
        self.died_with |= answers

    def check(self, before: Conversation) -> None:
        """Checks everything that holds after every step."""
        c = self.state
        assert _DECODE(_ENCODE(c)) == c, "the state survives JSON"
        assert c.head == self.head, "dense"
        self.check_tools(c)
        self.check_requests(c)
        self.check_turns(c, before)
        self.check_queue(c)
        self.check_state(c)
        self.check_timers(c)
        self.check_recovery(c)

    def check_tools(self, c: Conversation) -> None:
        """Checks tool closure: each call has at most one result, and open calls have none."""
        assert all(count == 1 for count in self.calls.values()), "a call is told once"
        assert all(count == 1 for count in self.results.values()), "a result is told once"
        assert c.tools.keys() == self.calls.keys() - self.results.keys(), "open calls are known"

    def check_requests(self, c: Conversation) -> None:
        """Asked once: each request ends exactly once, in the log and in the inbox."""
        assert all(count == 1 for count in self.opened.values())
        assert all(count == 1 for count in self.ended.values())
        assert self.ended == self.told_ended
        open_ids = {request.request_id for request in c.requests}
        assert open_ids == self.opened.keys() - self.ended.keys()
        assert set(c.asked.values()) <= open_ids
        questions = {r.request_id for r in c.requests if r.kind == "question"}
        assert questions <= c.tools.keys(), "the call of an open question has no result"

    def check_turns(self, c: Conversation, before: Conversation) -> None:
        """Checks that every turn ends exactly once; a suspended turn has not ended."""
        assert all(count == 1 for count in self.turns_ended.values())
        current = {c.turn.turn_id} if c.turn else set()
        assert self.turns_begun - self.turns_ended.keys() == current
        assert c.turns == len(self.turns_begun), "turn ids are dense"
        assert before.turns <= c.turns
        if c.turn is not None and c.turn.phase == "suspended":
            waits_for = [r for r in c.requests if r.turn_id == c.turn.turn_id]
            assert waits_for or c.replies or c.turn.unheard, "a suspended turn waits for something"

    def check_queue(self, c: Conversation) -> None:
        """Bounded; in order; nothing that was accepted is lost or taken up twice."""
        assert [w.item.queue_id for w in c.queue] == self.queue, "the queue is in order"
        assert len(c.queue) <= c.options.max_queue, "the queue is bounded"
        assert not c.held or c.queue, "an empty queue is not held"
        if not self.stopping:
            assert c.turn is not None or not c.queue or c.held, "nothing waits for nothing"
        for queue_id in self.started:
            assert self.in_log[queue_id] == 1, "acknowledged input is in the log once"
        unseen = (self.removed | set(self.queue)) - self.started.keys()
        assert all(self.in_log[queue_id] == 0 for queue_id in unseen), "what waits leaves no trace"
        extra = sum(self.prompts.values()) - len(self.started)
        assert extra <= self.handed_again, "acknowledged input takes effect once"

    def check_state(self, c: Conversation) -> None:
        """Truthful: waiting while a request is open, running while an agent works."""
        status = status_of(c)
        assert (status.state == "waiting_input") is bool(c.requests)
        assert status.running is (c.turn is not None and c.turn.phase != "suspended")
        if status.running:
            assert status.state in ("active", "streaming", "waiting_input")
        else:
            assert status.state != "streaming"

    def check_timers(self, c: Conversation) -> None:
        """A deadline has its timer, a stop has its bound, and nothing else has one."""
        wanted = {f"deadline:{r.request_id}" for r in c.requests if r.deadline_at is not None}
        if c.turn is not None and c.turn.phase == "stopping":
            wanted.add(f"stop:{c.turn.turn_id}")
        assert self.timers - {"grace"} == wanted

    def check_recovery(self, c: Conversation) -> None:
        """Checks that recovery changes nothing where none is needed."""
        if not needs_recovery(c):
            after, effects = step(c, i.Recovered(at=0))
            assert not effects.writes
            assert not effects.commands
            # Only the memory of known sub-agents is lost with the agent.
            assert _without_voices(after) == _without_voices(c)

    def finish(self) -> None:
        """Ends everything: stops the server and removes the queue."""
        turn = self.state.turn
        if turn is not None and turn.phase == "stopping":
            self.take(i.StopOverdue(at=0, turn_id=turn.turn_id))
            self.take(i.AgentLost(at=0, forced=True))
            assert self.turns_ended[turn.turn_id] == 1, "an interrupt ends"
        self.take(i.Recovered(at=0, stopping=True))
        self.watcher = None  # the server has crashed: no client is connected
        while self.state.turn or self.queue:
            turn = self.state.turn
            if turn is None:
                self.take(i.ChangedQueue(at=0, action="remove", queue_id=self.queue[0]))
            elif turn.phase == "suspended":
                self.take(i.Interrupted(at=0, turn_id=turn.turn_id, queue="clear"))
            else:
                self.take(i.Recovered(at=0, stopping=True))
        c = self.state
        assert (c.turn, c.queue, c.requests, c.tools) == (None, [], [], {})
        assert self.calls == self.results, "every call has its one result"
        assert self.opened == self.ended, "every request has ended"
        assert self.turns_begun == self.turns_ended.keys(), "every turn has ended"


def _without_voices(c: Conversation) -> Conversation:
    return structs.replace(c, voices={}, traces={})
