"""The actor of one conversation: takes inputs in order; steps, commits, publishes, runs effects."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias

import msgspec
from msgspec import structs

from turnwire.core.controls import ControlResult
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.state import Conversation, needs_recovery
from turnwire.core.error_codes import Refused
from turnwire.core.events import NormalizedStreamEvent, ResultSummary
from turnwire.core.partials import Partial
from turnwire.core.text import clean
from turnwire.core.times import iso, ms_of
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.actor.agent_events import AgentEvents
from turnwire.engine.actor.agent_runner import AgentRunner
from turnwire.engine.actor.budget import Allowance, UserBudgets
from turnwire.engine.actor.commands import Answer, Ask, Controls, accept, refuse
from turnwire.engine.actor.handover import (
    check_choice,
    entries_after,
    last_heard,
    missed,
    next_agent,
)
from turnwire.engine.actor.native_session import NativeSession
from turnwire.engine.actor.partial_saving import Saving
from turnwire.engine.actor.slots import Slot, Slots
from turnwire.engine.actor.spending import Spending, only_asks, works
from turnwire.engine.actor.steps import Steps
from turnwire.engine.actor.store_retries import StoreRetries
from turnwire.engine.actor.timers import DEADLINE, Timers, passed_timer
from turnwire.engine.fanout.channel import Channel, FollowAgain
from turnwire.errors import TurnwireError
from turnwire.ports import (
    Agent,
    Claim,
    Clock,
    Commit,
    ConversationRow,
    Damaged,
    Fenced,
    Lease,
    Receipt,
    SessionPiece,
    SessionStart,
    StorageUnavailable,
    Store,
)

__all__ = ["Actor"]

_log = logging.getLogger("turnwire")
_UNREACHABLE = "The log could not be written for so long that another process may take over."
_DEFECT = "An event of the agent could not be handled. The log of the server says why."


class _ChoiceDone(msgspec.Struct, frozen=True):
    """A choice has reached the agent. Events before this item may not know the choice."""


_Item: TypeAlias = Ask | i.Input | list[NormalizedStreamEvent] | Fenced | _ChoiceDone


class Actor:
    """One conversation in memory. Its task runs only while inputs wait."""

    def __init__(
        self,
        row: ConversationRow,
        claim: Claim,
        lease: Lease,
        *,
        agent: Agent,
        find_agent: Callable[[str], Agent],
        store: Store,
        clock: Clock,
        channel: Channel,
        new_id: Callable[[], str],
        idle_seconds: float,
        ended: Callable[[Actor], None],
        committed: Callable[[int], None],
        budgets: UserBudgets,
        slots: Slots,
        roots: Sequence[str] | None = None,
        partials: list[Partial],
        save_every: int,
        node: str | None = None,
    ) -> None:
        """`partials`: partials that the last owner had saved before it died.

        `node`: this node, to which a session that cannot be moved pins the conversation. None: such
        a session can be continued by every node.

        `save_every`: milliseconds between two saves of partials; 0 means that none are saved.
        """
        self.row = row
        self.claim = claim
        self.lease = lease
        self.state: Conversation = row.state
        self.channel = channel
        self._find_agent = find_agent
        self._slots = slots
        self._roots = roots
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._idle_seconds = idle_seconds
        self._ended = ended
        self._committed = committed
        self._retries = StoreRetries(clock, self._store_failed)
        self._spending = Spending(budgets, claim, row.user, self._retries.run)
        self._choosing = 0  # choices that the agent may not know yet
        self._native = NativeSession(row, node)
        self._inbox: deque[_Item] = deque()
        self._task: asyncio.Task[None] | None = None
        self._timers = Timers(clock, self._fire)
        self._use(agent)
        self._left = partials
        self._saving = Saving(
            channel.growing,
            claim,
            store=store,
            clock=clock,
            period=save_every,
            lost=self.lose,
        )
        self._controls = Controls()
        self._holds_turns = False
        self.has_held_turn = False  # a turn has begun, and the agent was not told
        self.dead = False  # stopped, or another owner has taken over

    def _use(self, agent: Agent) -> None:
        """Makes an agent that of the conversation, with the parts that depend on it."""
        row = self.row
        self._agent = agent
        self._hearing = AgentEvents(
            self.channel,
            self._new_id,
            is_owners=row.user is None,
            modes=agent.capabilities.permission_modes,
            agent=row.agent,
        )
        self._runner = AgentRunner(
            self,
            agent,
            Slot(self._slots, row.user, row.agent, self._make_room),
            new_id=self._new_id,
            fetch=lambda digest: self._retries.run(lambda: self._store.get_blob(digest)),
            roots=self._roots,
        )

    @property
    def is_idle(self) -> bool:
        """Whether the conversation can be dropped from memory without loss.

        Deadlines do not keep it there: any process fires them; see `Store.overdue`.
        """
        return not (
            self._inbox
            or self._controls
            or self._task
            or self._timers.keep_in_memory
            or self._runner.is_open
            or self.channel.is_followed
            or self._retries.is_stopping  # its last step is still to be written
        )

    @property
    def can_move(self) -> bool:
        """Whether another process can take the conversation over without a loss for its turn.

        No turn runs, or the turn only waits for answers that a new agent accepts.
        """
        if self._inbox or self._task or self._controls:
            return False
        return not works(self.state) or only_asks(self.state)

    @property
    def has_agent(self) -> bool:
        """Whether an agent is open, is being opened, or is ending."""
        return self._runner.is_open

    def post(self, item: _Item) -> None:
        """Queues an item. Publishes a batch of partials at once if the actor is idle."""
        if self.dead:
            if isinstance(item, Ask):
                item.done.set_exception(Refused("STORAGE_UNAVAILABLE"))
            return
        if isinstance(item, list):
            if self.grow(item):
                return
            # Noted now: the agent may have ended when the batch is committed.
            self._native.heard(self._runner.native_session_id)
        self._inbox.append(item)
        if self._task is None:
            self._task = asyncio.create_task(
                self._work(), name=f"turnwire {self.row.conversation_id}"
            )

    def grow(self, batch: list[NormalizedStreamEvent]) -> bool:
        """Publishes a batch that changes only partials: they need no commit, so they need no task.

        Returns False if the batch has to be posted, because it changes more or others wait.
        """
        if self.dead or self._task is not None or not self._hearing.only_grows(self.state, batch):
            return False
        self._native.heard(self._runner.native_session_id)
        try:
            self._publish(self._hearing.grow(self.state, batch, self._clock.now()))
        except Exception:
            self._has_failed(batch)
        return True

    def recover(self) -> None:
        """Ends the turn that the last owner left running, and sets the timers of requests again."""
        is_archived = self.row.archived
        if self._left or needs_recovery(self.state):
            left, self._left = self._left, []
            self._saving.found(left)
            self.post(i.Recovered(at=self._clock.now(), archived=is_archived, partials=left))
        if not is_archived:
            self._set_deadlines()

    def _set_deadlines(self) -> None:
        """Sets the timers of open requests. Posts deadlines that have passed at once."""
        now, passed = self._clock.now(), []
        for request in self.state.requests:
            if request.deadline_at is None:
                continue
            if ms_of(request.deadline_at) <= now:
                passed.append(request.request_id)
            else:
                self._timers.set(f"{DEADLINE}{request.request_id}", ms_of(request.deadline_at))
        self.pass_deadlines(passed)

    def pass_deadlines(self, request_ids: Iterable[str]) -> None:
        """Posts that the deadlines of requests have passed."""
        for request_id in request_ids:
            self.post(i.DeadlinePassed(at=self._clock.now(), request_id=request_id))

    def hold_turns(self) -> None:
        """From now on, no turn is handed to the agent: another process is to do that."""
        self._holds_turns = True

    def lose(self) -> None:
        """Posts that another owner has taken over."""
        self.post(Fenced("Another process has taken the conversation over."))

    def lose_agent(self) -> bool:
        """Ends the agent because the store is unreachable and another process may soon take over.

        Returns whether an agent was open.
        """
        return self._runner.lose(_UNREACHABLE)

    async def settle(self) -> None:
        """Waits until all posted items are handled."""
        while self._task is not None:
            await asyncio.shield(self._task)

    async def stop(self, reason: str = "server_stopped") -> None:
        """Ends the agent, writes the reason into the log, and takes no more items."""
        self._retries.stop()
        await self._runner.close()
        await self.settle()
        self._timers.cancel_all()
        await self._saving.stop()
        if not self.dead:
            is_archived = reason == "archived"
            now = self._clock.now()
            self.post(i.Recovered(at=now, reason=reason, stopping=True, archived=is_archived))
            await self.settle()

    # --- the loop -----------------------------------------------------------------------------

    async def _work(self) -> None:
        try:
            while self._inbox and not self.dead:
                item = self._inbox.popleft()
                await self._handle(item)
                if isinstance(item, i.Recovered) and item.stopping:
                    self.dead = True  # later items are refused
                if self.channel.is_waited_for:
                    await asyncio.sleep(0)  # lets a new follower take its snapshot
        except Fenced:
            try:
                await self._die()
            except Exception:  # no caller and no follower waits for ever
                _log.exception("conversation %s: could not be closed", self.row.conversation_id)
        finally:
            self._task = None
        if self.dead:
            self._refuse_all()
        self._ended(self)

    async def _handle(self, item: _Item) -> None:
        try:
            if isinstance(item, Fenced):
                raise item
            if isinstance(item, Ask):
                await self._answer(item)
            elif isinstance(item, i.Controlled):
                await self._end_control(item)
            elif isinstance(item, _ChoiceDone):
                self._choosing = max(0, self._choosing - 1)
            elif isinstance(item, i.GraceOver) and self.channel.is_followed:
                pass  # a follower came back in time
            elif isinstance(item, list):
                await self._listen(self._ready(item))
            elif isinstance(item, i.Recovered):
                await self._make_true(item)
            elif isinstance(item, i.HandedOver):
                await self._change_agent(item)
            else:
                if isinstance(item, i.AgentLost):
                    try:
                        await self._hear(self._hearing.silence(self.state, item.at), item.at)
                    finally:  # or the runner would wait for ever
                        unsent = self._runner.begin_again()
                        self._choosing = 0  # the next session is opened with the choices
                    item = structs.replace(item, unsent=unsent)
                await self._carry_out(item)
        except Fenced:
            raise
        except StorageUnavailable as down:  # at shutdown; the next start recovers the log
            _log.warning("conversation %s: %s", self.row.conversation_id, down.message)
        except Exception:
            self._has_failed(item)

    def _has_failed(self, item: _Item) -> None:
        """Handles a defect: the step has no effect. Stops the turn, which would hang otherwise."""
        _log.exception("conversation %s: a step failed", self.row.conversation_id)
        if isinstance(item, Ask):
            refuse(item, Refused("INTERNAL_ERROR"))
        elif isinstance(item, i.Controlled):
            self._controls.fail(item.control_id, Refused("INTERNAL_ERROR"))
        elif isinstance(item, i.AgentLost) or self.state.turn is None:
            pass
        # As a loss, which ends the turn: a turn that is only stopped may be handed over again, and
        # would fail again.
        elif not self._runner.lose(_DEFECT):
            self._runner.tell(e.StopAgent(self.state.turn.turn_id, True))

    def _ready(self, batch: list[NormalizedStreamEvent]) -> list[NormalizedStreamEvent]:
        """Joins a batch with the batches queued directly after it, to commit them together."""
        while self._inbox and isinstance(self._inbox[0], list):
            batch = batch + self._inbox.popleft()  # type: ignore[operator]  # checked above
        return batch

    async def _answer(self, ask: Ask) -> None:
        try:
            await self._take(ask)
        except (Refused, StorageUnavailable) as refused:
            refuse(ask, refused)
        except Fenced:
            refuse(ask, Refused("STORAGE_UNAVAILABLE"))
            raise

    async def _take(self, ask: Ask) -> None:
        store, conversation_id = self._store, self.row.conversation_id
        receipt: Receipt | None = None
        if ask.client_message_id is not None:
            before = await store.receipt(conversation_id, ask.user, ask.client_message_id)
            if before is not None:
                if before.body != ask.body:
                    raise Refused("IDEMPOTENCY_CONFLICT", client_message_id=ask.client_message_id)
                accept(ask, Answer(msgspec.json.decode(before.ack, type=e.Ack), True))
                return
            if self._controls.joins(ask):
                return
            receipt = Receipt(ask.user, ask.client_message_id, ask.body, b"")
        ended = None
        if ask.request_id is not None:
            row = await store.request(conversation_id, ask.request_id)
            ended = row.outcome if row else None
        now = self._clock.now()
        asked = ask.at(now, ended)
        if isinstance(asked, i.Said | i.Answered):
            asked = structs.replace(
                asked, budget=await self._spending.budget_of_user(self._agent.capabilities)
            )
        if isinstance(asked, i.Decided):
            asked = structs.replace(asked, agent=self.row.agent)
        if isinstance(asked, i.ChoseAgent):
            self._find_agent(asked.agent)
            check_choice(asked, self.row, self.state, self._find_agent)
            asked = structs.replace(asked, current=self.row.agent)
        if isinstance(asked, i.Controls):
            await self._begin_control(ask, asked, receipt)
            return
        steps = Steps(self.state)
        ack = steps.add(asked, self.channel).ack or e.Ack()
        if receipt is not None:
            receipt = structs.replace(receipt, ack=msgspec.json.encode(ack))
        await self._write_once(steps, now, receipt)
        accept(ask, Answer(ack))
        reach(CrashPoint.ASK_ACKNOWLEDGED)
        self._finish(steps)

    # --- controls: the agent answers, so each needs a second step -------------------------------

    async def _begin_control(self, ask: Ask, asked: i.Controls, receipt: Receipt | None) -> None:
        steps = Steps(self.state)
        steps.add(asked, self.channel)
        await self._write_once(steps, asked.at)
        self._controls.begin(ask, asked, receipt)
        self._finish(steps)

    def steer_refused(self, queue_id: str) -> None:
        """Posts that the agent does not take a message into the running turn."""
        self.post(i.SteerRefused(at=self._clock.now(), queue_id=queue_id))

    def chosen(self) -> None:
        """Posts that a choice has reached the agent, after the events that came before."""
        self.post(_ChoiceDone())

    def answered(self, control_id: str, came: ControlResult | Refused) -> None:
        """Posts the result of a control. Ignores one that no caller waits for."""
        ended = self._controls.came(control_id, came, self._clock.now())
        if ended is not None:
            self.post(ended)

    async def _end_control(self, ended: i.Controlled) -> None:
        steps = Steps(self.state)
        ack = steps.add(ended, self.channel).ack or e.Ack()
        await self._write(steps, ended.at, self._controls.receipt(ended, ack))
        self._controls.end(ended, ack)
        self._finish(steps)

    # --- the rest of the inputs -----------------------------------------------------------------

    async def _carry_out(self, came: i.Input) -> None:
        steps = Steps(self.state)
        steps.add(came, self.channel)
        await self._write(steps, came.at)
        self._finish(steps)

    async def _make_true(self, back: i.Recovered) -> None:
        """Commits the unfinished text and the end of the turn together: no agent runs any more."""
        steps = self._hearing.silence(self.state, back.at)
        steps.add(back, self.channel)
        await self._hear(steps, back.at)

    async def _listen(self, batch: list[NormalizedStreamEvent]) -> None:
        """Handles a batch of events.

        The turn that waits for the next agent is unknown to an agent that is closing. The events
        of that agent are dropped, except for its cost.
        """
        unsent = self._runner.has_unsent
        if unsent and self._runner.is_leaving:
            batch = [event for event in batch if isinstance(event, ResultSummary)]
        now = self._clock.now()
        choosing = self._choosing > 0
        steps = self._hearing.take(self.state, batch, now, unsent=unsent, choosing=choosing)
        await self._hear(steps, now)

    async def _change_agent(self, over: i.HandedOver) -> None:
        """Lets the chosen agent take over. It is said why if it cannot."""
        await self._hear(self._hearing.silence(self.state, over.at), over.at)
        over, agent = next_agent(over, self.state, self._native, self._agent, self._find_agent)
        steps = Steps(self.state)
        steps.add(over, self.channel)
        await self._write(steps, over.at)
        change = next((w for w in steps.writes if isinstance(w, e.ChangeAgent)), None)
        if change is not None:
            self._native.change(change)
            self._choosing = 0
            self.row = structs.replace(
                self.row,
                agent=change.agent,
                native_session_id=change.session,
                owns_session=change.owns_session,
                state=steps.state,
            )
            await self._runner.close()
            self._use(agent)
        self._finish(steps)

    async def _hear(self, steps: Steps, now: int) -> None:
        """Commits the steps of a batch, then publishes them. New followers wait until then."""
        with self.channel.publishing():
            await self._write(steps, now)
            self._publish(steps)
        self._do(steps)

    # --- effects ------------------------------------------------------------------------------

    def _commit(self, steps: Steps, now: int, receipt: Receipt | None, *, happened: bool) -> Commit:
        changed = self._native.new_name(self._runner.native_session_id)
        kept = [write for write in steps.writes if not isinstance(write, e.Tell)]
        settles = self._spending.settles(steps.state)
        return Commit(
            *(self.claim, steps.state, kept, iso(now), receipt, changed, happened, settles),
            is_news=steps.is_news,
            ended_blocks=self._saving.ended() if happened else [],
            pieces=[*self._native.pieces],
        )

    async def _write_once(self, steps: Steps, now: int, receipt: Receipt | None = None) -> None:
        """Commits what a person asked for. Raises StorageUnavailable, and then nothing changed."""
        reach(CrashPoint.ASK_STEPPED)
        commit = self._commit(steps, now, receipt, happened=False)
        await self._store.commit(commit)
        reach(CrashPoint.ASK_WRITTEN)
        self._native.is_committed(commit, self.row)

    async def _write(self, steps: Steps, now: int, receipt: Receipt | None = None) -> None:
        """Commits a step that cannot be refused: retries until the store accepts it."""
        has_changed = steps.writes or steps.state != self.state
        # The last pieces of a session that has ended belong to no other step.
        has_last_pieces = self._native.pieces and not self._runner.has_session
        if not (has_changed or receipt is not None or self._saving.ended() or has_last_pieces):
            return

        async def write() -> Commit:
            commit = self._commit(steps, now, receipt, happened=True)
            reach(CrashPoint.STEP_MADE)
            await self._store.commit(commit)
            reach(CrashPoint.STEP_WRITTEN)
            return commit

        commit = await self._retries.run(write)
        self._saving.forget(commit.ended_blocks)
        self._native.is_committed(commit, self.row)
        # The sessions of agents that may take over again are kept.
        is_shared = steps.state.handover is not None
        native, name = self._native, self._native.name
        if native.has_old_pieces and name is not None and not is_shared:
            await self._retries.run(lambda: self._store.forget_pieces(self.claim, keep=name))
            native.has_old_pieces = False
        node = native.pins_to
        if node is not None and name is not None and self._runner.stays_here:
            await self._retries.run(lambda: self._store.pin(self.claim, node))
            native.pins_to = None

    def _store_failed(self, down: StorageUnavailable) -> None:
        self._refuse_waiting(down)
        self.channel.stop_waiting()

    def _refuse_waiting(self, down: StorageUnavailable) -> None:
        """Refuses the commands in the queue, so that no caller waits while the store is down."""
        for item in [item for item in self._inbox if isinstance(item, Ask)]:
            self._inbox.remove(item)
            refuse(item, down)

    def _finish(self, steps: Steps) -> None:
        """Publishes committed steps, then runs their effects."""
        self._publish(steps)
        self._do(steps)

    def _publish(self, steps: Steps) -> None:
        after = steps.state
        news = after is not self.state
        self.state = after
        self._spending.is_published(after)
        if news:
            self._committed(after.head)
        reach(CrashPoint.PUBLISHES)
        self.channel.publish(after, steps.happened)
        reach(CrashPoint.PUBLISHED)
        self._saving.look()

    def _do(self, steps: Steps) -> None:
        for effects in steps.effects:
            for command in effects.commands:
                if self._holds_turns and e.hands_over(command):
                    self.has_held_turn = True
                    continue
                self._choosing += isinstance(command, e.Choose)
                self._runner.tell(command)
            for timer in effects.timers:
                if isinstance(timer, e.SetTimer):
                    self._timers.set(timer.name, timer.at)
                else:
                    self._timers.cancel(timer.name)
        if self.state.turn is None and not self.state.background and self._runner.is_open:
            self._timers.set("idle", self._clock.now() + round(self._idle_seconds * 1000))
        else:
            self._timers.cancel("idle")

    def cancel_timers(self) -> None:
        """Cancels all timers: the conversation is dropped from memory, or ends."""
        self._timers.cancel_all()

    def _fire(self, name: str) -> None:
        passed = passed_timer(name, self._clock.now())
        if passed is None:
            self._runner.tell(e.CloseAgent())
        else:
            self.post(passed)

    # --- the agent ----------------------------------------------------------------------------

    def session_start(self) -> SessionStart:
        """Returns how a session of the agent is opened now."""
        name = self.row.conversation_id
        history = partial(entries_after, self._store, name, 0)
        able = self._agent.capabilities
        return self._native.start(self.row, self.state, able, self.lease, history)

    async def recap(self) -> str | None:
        """Returns what was said before the turn and the agent does not know. None: nothing."""
        after = last_heard(self.state, self._agent)
        if after is None:
            return None
        name = self.row.conversation_id
        entries = await self._retries.run(lambda: entries_after(self._store, name, after))
        return missed(self.state, entries)

    def handed_over(self) -> None:
        """Posts that the agent was closed for another one."""
        self.post(i.HandedOver(at=self._clock.now(), agent=self.row.agent))

    async def pieces(self) -> list[SessionPiece]:
        """Returns the stored pieces of the session that the agent resumes, or begins a fork with."""
        name = self._native.name_to_begin_with(self.row, self.state)
        if name is None:
            return []
        return await self._retries.run(
            lambda: self._store.session_pieces(self.row.conversation_id, name)
        )

    def keep(self, pieces: list[SessionPiece]) -> None:
        """Takes pieces of the agent's session, which the next commit writes."""
        self._native.pieces += pieces

    async def allowance(self) -> Allowance:
        """Returns what an agent without a turn may spend. Reserves nothing."""
        able = self._agent.capabilities
        return await self._spending.allowance(lambda: self.state, able)

    async def reserve(self, before: Allowance | None) -> Allowance:
        """Returns what the agent may spend in its next turn, reserved from its user's budget."""
        able = self._agent.capabilities
        return await self._spending.reserve(lambda: self.state, able, before)

    def _make_room(self) -> bool:
        """Closes the agent if it is idle, because another conversation needs its slot.

        Returns whether the agent is about to end, for this reason or another.
        """
        if self._runner.is_leaving:
            return True
        is_idle = not (self._inbox or self._task or self._controls or works(self.state))
        if not is_idle or not self._runner.is_idle:
            return False
        self._runner.tell(e.CloseAgent())
        return True

    def agent_ended(
        self, message: str | None, *, forced: bool, processes: list[i.EndedProcess]
    ) -> None:
        """Posts that the agent has ended, or could not be opened."""
        reason = "stopped" if forced else "agent_lost"
        now, said = self._clock.now(), clean(message)
        lost = i.AgentLost(at=now, reason=reason, message=said, forced=forced, processes=processes)
        self.post(lost)

    def runner_idle(self) -> None:
        """Reports that no agent is open. An idle conversation is then dropped from memory."""
        self._timers.cancel("idle")
        if self._task is None:
            self._ended(self)

    async def _die(self) -> None:
        """Ends the agent without another commit: another owner has taken over."""
        self.dead = True
        self._timers.cancel_all()
        try:
            await self._saving.stop()
        finally:
            self.channel.drop()  # the new owner publishes what was not sent yet
            self.channel.finish(await self._why_lost())
            await self._runner.close()

    async def _why_lost(self) -> Callable[[], TurnwireError]:
        name = self.row.conversation_id
        with suppress(StorageUnavailable, Damaged):
            if await self._store.conversation(name) is None:
                return partial(Refused, "CONVERSATION_NOT_FOUND", conversation_id=name)
        return partial(
            FollowAgain, "Another process runs the conversation now; follow again from your cursor."
        )

    def _refuse_all(self) -> None:
        while self._inbox:
            item = self._inbox.popleft()
            if isinstance(item, Ask):
                refuse(item, Refused("STORAGE_UNAVAILABLE"))
        self._controls.fail(None, Refused("STORAGE_UNAVAILABLE"))
