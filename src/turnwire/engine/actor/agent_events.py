"""Turns batches of agent events into steps, and collects what each step publishes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from msgspec import structs

from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock, TextBlock
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.rules import offered_rules
from turnwire.core.conversation.state import Conversation
from turnwire.core.entries import EntryStream
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.joining import joined
from turnwire.core.message import Message
from turnwire.core.partials import cut_short
from turnwire.core.text import writable
from turnwire.core.times import iso
from turnwire.engine.actor.steps import Steps
from turnwire.engine.fanout.channel import Channel

__all__ = ["AgentEvents"]

# While a turn runs, these events change only partials, so they need no step.
_GROWS = frozenset(
    [
        ev.ContentDelta,
        ev.ContentStarted,
        ev.ContentCompleted,
        ev.MessageStarted,
        ev.ToolProgress,
        ev.UsageUpdated,
    ]
)


class AgentEvents:
    """Handles the events of a conversation's agent."""

    def __init__(
        self,
        channel: Channel,
        new_id: Callable[[], str],
        *,
        is_owners: bool,
        modes: Sequence[str],
        agent: str = "",
        is_recording: bool = False,
    ) -> None:
        """`is_owners`: the conversation belongs to the owner of the data.

        `modes`: permission modes that every user may choose. `agent`: its name, by which rules are
        remembered. `is_recording`: only the agent's events are known; see `AgentSaid.recorded`.
        """
        self._channel = channel
        self._new_id = new_id
        self._is_owners = is_owners
        self._modes = modes
        self._agent = agent
        self._is_recording = is_recording
        self._entries = EntryStream()

    @staticmethod
    def only_grows(state: Conversation, events: Iterable[NormalizedStreamEvent]) -> bool:
        """Returns whether the events change only partials, so that they need no commit."""
        for event in events:  # no generator: this is called for each piece of text
            if type(event) not in _GROWS or not _is_under_way(state, event.parent_tool_use_id):
                return False
        return True

    def grow(self, state: Conversation, events: Iterable[NormalizedStreamEvent], at: int) -> Steps:
        """Handles events that change only partials, as `take` does. Most events are of this kind."""
        now = iso(at)
        growing: list[NormalizedStreamEvent] = []
        for each in joined(events):
            event = _writable(each)
            growing.append(event)
            if type(event) is not ev.ContentDelta:
                self._entries.feed(event, run_id="", now=now)  # returns none, but tracks blocks
        return Steps(state, happened=self._channel.stream(growing, state, now))

    def take(
        self,
        state: Conversation,
        events: Iterable[NormalizedStreamEvent],
        at: int,
        *,
        unsent: bool = False,
        choosing: bool = False,
    ) -> Steps:
        """Handles a batch of events, one step after the other.

        `unsent`: the next turn has not been handed over to the agent yet. `choosing`: a choice of a
        person has not reached it yet.
        """
        now = iso(at)
        steps = Steps(state)
        growing: list[NormalizedStreamEvent] = []
        left = deque(joined(events))
        while left:
            event = _writable(left.popleft())
            if type(event) is ev.PermissionRequested and event.suggestions:
                event = self._with_offers(event)
            if type(event) in _GROWS and _is_under_way(steps.state, event.parent_tool_use_id):
                growing.append(event)
                if type(event) is not ev.ContentDelta:
                    self._entries.feed(event, run_id="", now=now)  # returns none, but tracks blocks
                continue
            entries = self._entries_of(event, now)
            if not entries and _is_quiet(steps.state, event):
                growing.append(event)
                continue
            if growing:
                steps.happened += self._channel.stream(growing, steps.state, now)
                growing = []
            if type(event) is ev.TurnCompleted or type(event) is ev.TurnFailed:
                for last in self._last_words(event):
                    self._step(steps, last, self._entries_of(last, now), at, now)
                steps.happened += self._channel.hush(now, helpers=False)
            figures_follow = bool(left) and isinstance(left[0], ev.ResultSummary)
            self._step(
                *(steps, event, entries, at, now),
                is_last=not figures_follow,
                unsent=unsent,
                choosing=choosing,
            )
            # A turn that begins in this batch is handed over only after the commit.
            unsent |= any(map(e.hands_over, steps.effects[-1].commands))
        if growing:
            steps.happened += self._channel.stream(growing, steps.state, now)
        return steps

    def _with_offers(self, event: ev.PermissionRequested) -> ev.PermissionRequested:
        """Returns the request with only the permission rules that its user may choose."""
        if self._is_recording:
            return event
        rules = offered_rules(event.suggestions, is_owners=self._is_owners, modes=self._modes)
        return structs.replace(event, suggestions=rules)

    def silence(self, state: Conversation, at: int) -> Steps:
        """Ends all open blocks after the end of the agent, and keeps their partials as entries."""
        steps = Steps(state)
        for last in self._last_words(None):
            self._step(steps, last, self._entries_of(last, iso(at)), at, iso(at))
        # Blocks that are still open, of a turn that is suspended and takes no events.
        for left in self._channel.growing.open_blocks():
            who = ("", "", left.parent_tool_use_id, left.agent_id)
            void = ev.MessageDiscarded(*who, left.message_id, left.index, "turn_ended")
            steps.happened += self._channel.stream([void], steps.state, iso(at))
        self._entries = EntryStream()  # the next process has its own messages
        steps.happened += self._channel.hush(iso(at), helpers=True)
        return steps

    def _entries_of(self, event: NormalizedStreamEvent, now: str) -> list[Message]:
        return self._entries.feed(event, run_id="", now=now)

    def _step(
        self,
        steps: Steps,
        event: NormalizedStreamEvent,
        entries: list[Message],
        at: int,
        now: str,
        *,
        is_last: bool = True,
        unsent: bool = False,
        choosing: bool = False,
    ) -> None:
        kind = type(event)
        # An id costs as much as a good part of a step, so it is made only where it may be used.
        begins = kind is ev.TurnStarted or self._is_recording
        asks = bool(entries) or kind is ev.PermissionRequested or kind is ev.QuestionAsked
        heard = i.AgentSaid(
            at=at,
            event=event,
            entries=entries,
            trace_id=self._new_id() if begins else "",
            inbox_item_id=self._new_id() if asks and not self._is_recording else None,
            last=is_last,
            unsent=unsent,
            choosing=choosing,
            agent=self._agent,
            recorded=self._is_recording,
        )
        before = len(steps.happened)
        steps.add(heard, self._channel)
        # The figures come before the end of the turn, so that a projector can send both together.
        place = before if kind is ev.ResultSummary else len(steps.happened)
        steps.happened[place:place] = self._channel.stream([event], steps.state, now)

    def _last_words(self, end: NormalizedStreamEvent | None) -> list[NormalizedStreamEvent]:
        """Returns the events that end the open blocks and keep their partials.

        At the end of a turn, only blocks of the agent itself end; its sub-agents may go on.
        """
        out: list[NormalizedStreamEvent] = []
        for left in self._channel.growing.open_blocks():
            if end is not None and left.parent_tool_use_id is not None:
                continue
            provider, session = (end.provider, end.session_id) if end else ("", "")
            partial = left.partial
            if partial is not None:
                out.append(cut_short(partial, session))
            else:
                who = (provider, session, left.parent_tool_use_id, left.agent_id)
                out.append(ev.MessageDiscarded(*who, left.message_id, left.index, "turn_ended"))
        return out


def _writable(event: NormalizedStreamEvent) -> NormalizedStreamEvent:
    """Returns the event with text that can be encoded. ASCII text is not copied: it may be long."""
    match event:
        case ev.ContentDelta(text=text) if text.isascii():
            return event
        case ev.ContentCompleted(block=block) if _is_plain(block):
            return event
        case ev.AssistantMessage(content=content) if content and all(map(_is_plain, content)):
            rest = structs.replace(event, content=[])
            if writable(rest) is rest:
                return event
        case _:
            pass
    return writable(event)


def _is_plain(block: ContentBlock) -> bool:
    match block:
        case TextBlock(text=text, citations=None):
            return text.isascii()
        case _:
            return False


def _is_quiet(state: Conversation, event: NormalizedStreamEvent) -> bool:
    """Returns whether an event without entries changes no state, so that it needs no step.

    This is so for the end of a message, and for a system event that is not kept.
    """
    if type(event) is ev.SystemEvent:
        if not event.ephemeral:
            return False
    elif type(event) is not ev.MessageCompleted:
        return False
    turn = state.turn
    if turn is None:
        return event.parent_tool_use_id is None
    return turn.ending is None and _is_under_way(state, event.parent_tool_use_id)


def _is_under_way(state: Conversation, voice: str | None) -> bool:
    """Returns whether a partial of this voice (the agent or a sub-agent) changes no state."""
    if voice is not None:
        return voice in state.voices
    turn = state.turn
    return turn is not None and turn.phase in ("running", "stopping") and state.state != "active"
