"""The channel: the frames of each follower, their order, and disconnecting slow ones."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from turnwire.core import events as ev
from turnwire.core import happenings as h
from turnwire.core.blocks import (
    ContentBlock,
    ErrorBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from turnwire.core.content import TextContent
from turnwire.core.conversation import effects as e
from turnwire.core.conversation.state import Conversation, Turn, Waiting, status_of
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.growing import OpenMessage, Piece
from turnwire.core.message import meta_of
from turnwire.core.status import QueueItem, Totals, TurnEnd
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.codec import encode
from turnwire.dialects.v2.projector import V2Projector
from turnwire.dialects.v2.sent import Sent
from turnwire.engine.fanout.channel import Channel, FollowAgain, SlowReader, Subscriber
from turnwire.testing.store_samples import a_message

NOW = "2026-01-01T12:00:00.000Z"
IDS = ("talk", None, None, NOW, None)
FIRST, SECOND = "a" * 32, "b" * 32  # traces
IDLE = Conversation("talk")
RUNNING = Conversation("talk", turn=Turn(2, SECOND, "user", "running"), traces={1: FIRST})
KIB = 1024


def chunk(text: str, **more: Any) -> f.Frame:
    return f.AssistantChunk(*IDS, p.Chunk("m:0", "m", 0, True, text, **more))


def state_frame(state: Conversation = IDLE) -> f.Frame:
    return f.SessionState(*IDS, status_of(state))


def of_length(length: int) -> f.Frame:
    """Returns a frame of this many bytes, without a number."""
    return chunk("x" * (length - len(encode(chunk("")).raw)))


# --- a follower, and how much may wait for it -----------------------------------------------------


class Waking:
    """Counts how often a follower was woken."""

    count = 0

    def __call__(self) -> None:
        self.count += 1


def small(text: str = "hello") -> Sent:
    return Sent(chunk(text))


def all_of(subscriber: Subscriber) -> list[Sent]:
    out = []
    while (sent := subscriber.take()) is not None:
        out.append(sent)
    return out


def stopped() -> FollowAgain:
    return FollowAgain("The server stops.")


def test_a_follower_gets_frames_in_order_and_is_woken_each_time() -> None:
    wake = Waking()
    subscriber = Subscriber(wake, frames=9, size=10_000)
    assert subscriber.take() is None
    one, two, three = small("1"), small("2"), small("3")
    subscriber.receive([one, two])
    subscriber.receive([three])
    assert wake.count == 2
    assert all_of(subscriber) == [one, two, three]


def test_more_frames_than_the_limit_may_come_together_but_not_one_by_one() -> None:
    wake = Waking()
    subscriber = Subscriber(wake, frames=2, size=10_000)
    subscriber.receive([small()])
    subscriber.receive([small()])
    subscriber.receive([small() for _ in range(5)])  # two wait: that is not beyond the limit yet
    assert subscriber.end is None
    subscriber.receive([small()])
    assert subscriber.end is not None
    assert isinstance(subscriber.end(), SlowReader)
    assert wake.count == 4


@pytest.mark.parametrize("begun", [False, True], ids=["new", "begun again"])
def test_a_follower_with_a_backlog_above_the_limit_is_disconnected(begun: bool) -> None:
    subscriber = Subscriber(Waking(), frames=100, size=small().size)
    if begun:
        subscriber.receive([small()])
        subscriber.begin()
        assert subscriber.take() is None
    subscriber.receive([small()])
    subscriber.receive([small()])  # exactly the limit waits: that is not beyond it
    assert subscriber.end is None
    subscriber.receive([small()])
    assert subscriber.end is not None
    assert isinstance(subscriber.end(), SlowReader)


def test_a_disconnected_follower_gets_no_more_frames() -> None:
    wake = Waking()
    subscriber = Subscriber(wake, frames=0, size=10_000)
    for _ in range(3):
        subscriber.receive([small()])
    assert subscriber.take() is None
    assert wake.count == 2


def test_a_follower_that_keeps_up_is_never_disconnected() -> None:
    subscriber = Subscriber(Waking(), frames=1, size=small().size)
    for _ in range(100):
        subscriber.receive([small(), small()])
        assert len(all_of(subscriber)) == 2
    assert subscriber.end is None


def test_waiting_frames_may_be_read_after_the_end_and_the_first_reason_stays() -> None:
    wake = Waking()
    subscriber = Subscriber(wake, frames=9, size=10_000)
    waiting = small()
    subscriber.receive([waiting])
    subscriber.finish(stopped)
    assert wake.count == 2
    subscriber.finish(lambda: SlowReader("late"))
    subscriber.receive([small()])
    assert subscriber.end is stopped
    assert all_of(subscriber) == [waiting]


def test_the_error_code_tells_whether_to_follow_again() -> None:
    assert (FollowAgain("").code, FollowAgain("").retryable) == ("STORAGE_UNAVAILABLE", True)
    assert (SlowReader("").code, SlowReader("").retryable) == ("RATE_LIMITED", True)


# --- publishing -----------------------------------------------------------------------------------


def reader() -> Subscriber:
    return Subscriber(Waking(), frames=100, size=100_000)


def frames_of(subscriber: Subscriber) -> list[f.Frame]:
    return [sent.frame for sent in all_of(subscriber)]


def follow(channel: Channel, *subscribers: Subscriber) -> None:
    for each in subscribers:
        channel.subscribe(each, "v2", lambda: V2Projector("talk"))


def renamed(title: str) -> h.Changed:
    return h.Changed(NOW, title, None)


def news(title: str) -> f.Frame:
    return f.ConversationUpdated(*IDS, p.ConversationNews(title))


def test_only_subscribed_followers_get_frames() -> None:
    channel, one, two = Channel(IDLE), reader(), reader()
    assert channel.is_followed is False
    follow(channel, one, two)
    assert channel.is_followed is True
    channel.publish(IDLE, [renamed("1")])
    channel.unsubscribe(two)
    channel.publish(IDLE, [renamed("2"), renamed("3")])
    assert frames_of(one) == [news("1"), news("2"), news("3")]
    assert frames_of(two) == [news("1")]
    channel.unsubscribe(one)
    assert channel.is_followed is False


def test_all_readers_get_the_same_frame_so_it_is_written_once() -> None:
    channel, one, two = Channel(IDLE), reader(), reader()
    follow(channel, one, two)
    channel.publish(IDLE, [renamed("1")])
    assert all_of(one) == all_of(two)


class Counting(V2Projector):
    """A projector that counts its inputs."""

    made = 0

    def __init__(self) -> None:
        super().__init__("talk")
        Counting.made += 1
        self.given: list[h.Happening] = []

    def project(self, happened: Sequence[h.Happening]) -> list[Sent]:
        self.given += happened
        return super().project(happened)


def test_a_projector_exists_only_while_a_client_follows_in_its_protocol() -> None:
    channel, one, two, other = Channel(IDLE), reader(), reader(), reader()
    Counting.made = 0
    first = channel.subscribe(one, "a", Counting)
    assert channel.subscribe(two, "a", Counting) is first
    second = channel.subscribe(other, "b", Counting)
    assert Counting.made == 2
    assert isinstance(first, Counting)
    assert isinstance(second, Counting)
    channel.publish(IDLE, [renamed("1")])
    channel.unsubscribe(one)
    channel.unsubscribe(two)
    channel.publish(IDLE, [renamed("2")])
    assert first.given == [renamed("1")], "once for all who follow, and no longer than they do"
    assert second.given == [renamed("1"), renamed("2")]
    assert channel.subscribe(one, "a", Counting) is not first


class Fails(V2Projector):
    """A projector with a defect."""

    def project(self, happened: Sequence[h.Happening]) -> list[Sent]:
        raise RuntimeError("a defect")


def test_a_projector_that_fails_ends_its_own_followers_and_no_others() -> None:
    channel, one, other = Channel(IDLE), reader(), reader()
    channel.subscribe(one, "broken", lambda: Fails("talk"))
    follow(channel, other)
    channel.publish(IDLE, [renamed("1")])
    assert one.end is not None
    assert type(one.end()) is FollowAgain
    assert other.end is None
    assert frames_of(other) == [news("1")]


def test_a_follower_is_not_woken_for_events_without_a_frame_in_its_protocol() -> None:
    channel, wake = Channel(IDLE), Waking()
    follow(channel, Subscriber(wake, frames=9, size=10_000))
    begun = ev.MessageStarted("demo", "s", None, None, "m")
    channel.publish(IDLE, [h.AgentSpoke(NOW, 1, FIRST, [begun], [])])
    assert wake.count == 0


def test_the_channel_keeps_the_newest_state_even_without_followers() -> None:
    channel = Channel(IDLE)
    assert channel.state is IDLE
    assert channel.now(NOW).status == status_of(IDLE)
    channel.publish(RUNNING, [])
    assert channel.state is RUNNING
    assert channel.now(NOW).status == status_of(RUNNING)


def test_the_end_of_a_channel_reaches_every_follower_after_the_waiting_frames() -> None:
    channel, one, two = Channel(IDLE), reader(), reader()
    follow(channel, one, two)
    channel.publish(IDLE, [renamed("1")])
    channel.finish(stopped)
    for each in (one, two):
        assert frames_of(each) == [news("1")]
        assert each.end is stopped


def test_waiting_frames_can_be_dropped_and_following_goes_on() -> None:
    channel, one = Channel(IDLE), reader()
    follow(channel, one)
    channel.publish(IDLE, [renamed("1")])
    channel.drop()
    channel.publish(IDLE, [renamed("2")])
    assert frames_of(one) == [news("2")]


# --- the moment at which a follower joins ---------------------------------------------------------


async def turns(count: int = 5) -> None:
    """Let everything else run."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_new_follower_waits_until_frames_in_progress_are_published() -> None:
    channel = Channel(IDLE)
    with channel.publishing():
        comes = asyncio.create_task(channel.until_told())
        await turns()
        assert not comes.done()
        assert channel.is_waited_for is True
    await turns()
    assert comes.done()
    assert channel.is_waited_for is False


async def test_a_new_follower_of_an_idle_channel_does_not_wait() -> None:
    channel = Channel(IDLE)
    assert channel.is_waited_for is False
    comes = asyncio.create_task(channel.until_told())
    await turns()
    assert comes.done()
    assert channel.is_waited_for is False


async def test_a_new_follower_is_admitted_when_publishing_has_failed() -> None:
    channel = Channel(IDLE)
    with pytest.raises(RuntimeError), channel.publishing():
        raise RuntimeError("the disk is gone")
    comes = asyncio.create_task(channel.until_told())
    await turns()
    assert comes.done()


async def test_a_new_follower_is_admitted_when_publishing_takes_too_long() -> None:
    channel = Channel(IDLE)
    with channel.publishing():
        comes = asyncio.create_task(channel.until_told())
        await turns()
        channel.stop_waiting()
        await turns()
        assert comes.done()


async def test_a_woken_follower_waits_on_if_the_next_frames_are_in_progress() -> None:
    channel = Channel(IDLE)
    with channel.publishing():
        comes = asyncio.create_task(channel.until_told())
        await turns()
    with channel.publishing():
        await turns()
        assert not comes.done()
    await turns()
    assert comes.done()


async def test_each_waiting_follower_is_counted_until_it_leaves() -> None:
    channel = Channel(IDLE)
    with channel.publishing():
        one, two = (asyncio.create_task(channel.until_told()) for _ in range(2))
        await turns()
        one.cancel()
        await turns()
        assert channel.is_waited_for is True
        two.cancel()
        await turns()
        assert channel.is_waited_for is False


# --- growing blocks -------------------------------------------------------------------------------


class Voice:
    """The events of one message of the agent or of a sub-agent."""

    def __init__(self, parent: str | None = None, message_id: str = "m") -> None:
        self.who = ("demo", "s", parent, None if parent is None else f"agent of {parent}")
        self.message_id = message_id

    def begins(self) -> ev.MessageStarted:
        return ev.MessageStarted(*self.who, self.message_id)

    def block(self, block: ContentBlock, index: int = 0) -> ev.ContentStarted:
        return ev.ContentStarted(*self.who, self.message_id, index, block)

    def text(self, index: int = 0) -> ev.ContentStarted:
        return self.block(TextBlock("", "in_progress"), index)

    def says(self, text: str, index: int = 0) -> ev.ContentDelta:
        return ev.ContentDelta(*self.who, self.message_id, index, "text", text)

    def has_said(self, text: str, index: int = 0) -> ev.ContentCompleted:
        return ev.ContentCompleted(*self.who, self.message_id, index, TextBlock(text, "completed"))

    def ends(self) -> ev.MessageCompleted:
        return ev.MessageCompleted(*self.who, self.message_id)

    def drops(self) -> ev.MessageDiscarded:
        return ev.MessageDiscarded(*self.who, self.message_id, 0, "restarted")


def a_call(tool_name: str) -> ToolUseBlock:
    return ToolUseBlock("toolu_1", tool_name, "OTHER", None, "in_progress")


def tell(channel: Channel, *events: NormalizedStreamEvent, state: Conversation = RUNNING) -> Any:
    return channel.stream(events, state, NOW)


def spoken_in(told: Sequence[h.AgentSpoke]) -> list[NormalizedStreamEvent]:
    return [event for each in told for event in each.events]


def pieces_in(told: Sequence[h.AgentSpoke]) -> list[Piece]:
    return [each for spoke in told for each in spoke.growth if isinstance(each, Piece)]


def heard_again(channel: Channel) -> list[NormalizedStreamEvent]:
    return [event for each in channel.growing.open_messages() for event in each.events]


def test_events_of_an_agent_are_published_with_their_turn() -> None:
    agent = Voice()
    events: list[NormalizedStreamEvent] = [agent.begins(), agent.text(), agent.says("one ")]
    [spoke] = tell(Channel(RUNNING), *events)
    assert [each.text for each in pieces_in([spoke])] == ["one "]
    assert spoke.events == events
    assert (spoke.turn_id, spoke.at) == (2, NOW)


@pytest.mark.parametrize(
    ("state", "parent", "turn_id", "trace_id"),
    [
        (RUNNING, None, 2, SECOND),
        (structs.replace(RUNNING, voices={"t": 2}), "t", 2, SECOND),
        (structs.replace(RUNNING, voices={"t": 1}), "t", 1, FIRST),
        (structs.replace(RUNNING, voices={"t": 1}, turn=None), "t", 1, FIRST),
        (RUNNING, "unknown", 2, SECOND),
        (IDLE, None, None, None),
        (IDLE, "unknown", None, None),
    ],
    ids=[
        "the agent speaks in the turn that runs",
        "a sub-agent speaks in the turn that runs",
        "a sub-agent speaks in the turn that has begun it",
        "a sub-agent speaks in its turn when no turn runs",
        "an unknown sub-agent speaks in the turn that runs",
        "the agent speaks in no turn",
        "an unknown sub-agent speaks in no turn",
    ],
)
def test_text_belongs_to_the_turn_of_its_sub_agent(
    state: Conversation, parent: str | None, turn_id: int | None, trace_id: str | None
) -> None:
    channel, voice = Channel(state), Voice(parent)
    [spoke] = tell(channel, voice.begins(), voice.text(), voice.says("x"), state=state)
    assert (spoke.turn_id, spoke.trace_id) == (turn_id, trace_id)
    [piece] = pieces_in([spoke])
    assert (piece.block.turn_id, piece.block.trace_id) == (turn_id, trace_id)
    channel.publish(state, [])
    assert [each.turn_id for each in channel.growing.open_messages()] == [turn_id]
    [end] = channel.hush(NOW, helpers=True)
    assert isinstance(end, h.AgentSpoke)
    assert end.turn_id == turn_id


def test_concurrent_messages_of_sub_agents_are_published_one_after_the_other() -> None:
    state = structs.replace(RUNNING, voices={"t": 1})
    agent, helper = Voice(), Voice("t", "h")
    told = tell(
        Channel(state),
        agent.text(),
        agent.says("a"),
        helper.text(),
        helper.says("h"),
        agent.says("b"),
        state=state,
    )
    assert [(each.block.turn_id, each.text) for each in pieces_in(told)] == [
        (2, "a"),
        (1, "h"),
        (2, "b"),
    ]
    assert [each.turn_id for each in told] == [2, 1, 2]


def test_a_question_is_heard_while_it_is_being_written() -> None:
    channel, agent = Channel(RUNNING), Voice()
    asks = agent.block(a_call("AskUserQuestion"), 1)
    said: list[NormalizedStreamEvent] = [
        agent.begins(),
        agent.text(),
        agent.says("I ask."),
        asks,
    ]
    assert spoken_in(tell(channel, *said)) == said
    piece = ev.ContentDelta(*agent.who, "m", 1, "tool_input", "{}", "toolu_1")
    more: list[NormalizedStreamEvent] = [
        piece,
        agent.says(" Now.", 0),
        agent.has_said("", 1),
    ]
    assert spoken_in(tell(channel, *more)) == more


def test_a_listener_that_comes_hears_the_beginning_of_a_question() -> None:
    channel, agent = Channel(RUNNING), Voice()
    asks = agent.block(a_call("AskUserQuestion"), 1)
    tell(channel, agent.begins(), asks)
    assert heard_again(channel) == [agent.begins(), asks]
    pieces = [
        ev.ContentDelta(*agent.who, "m", 1, "tool_input", text, "toolu_1") for text in ("{", "}")
    ]
    for piece in pieces:
        tell(channel, piece)
    whole = structs.replace(pieces[0], text="{}")
    assert heard_again(channel) == [agent.begins(), asks, whole]
    tell(channel, agent.has_said("", 1))
    assert heard_again(channel) == [agent.begins()]


def test_any_other_call_is_heard_while_it_is_being_written() -> None:
    agent = Voice()
    call = agent.block(a_call("Bash"))
    assert spoken_in(tell(Channel(RUNNING), agent.begins(), call)) == [agent.begins(), call]


def test_a_question_is_forgotten_with_the_end_of_its_message() -> None:
    """An agent's new process may use the same ids again."""
    channel, agent = Channel(RUNNING), Voice()
    tell(channel, agent.begins(), agent.block(a_call("AskUserQuestion")), agent.ends())
    tell(channel, agent.begins())
    assert heard_again(channel) == [agent.begins()]


@pytest.mark.parametrize("helpers", [True, False])
def test_a_message_that_is_cut_short_ends_for_listeners(helpers: bool) -> None:
    state = structs.replace(RUNNING, voices={"t": 1})
    channel, agent, helper = Channel(state), Voice(), Voice("t", "h")
    tell(channel, agent.begins(), helper.begins(), state=state)
    end = ev.MessageDiscarded(*agent.who, "m", 0, "turn_ended")
    ends = [h.AgentSpoke(NOW, 2, SECOND, [end], [])]
    if helpers:
        end = ev.MessageDiscarded(*helper.who, "h", 0, "turn_ended")
        ends.append(h.AgentSpoke(NOW, 1, FIRST, [end], []))
    assert channel.hush(NOW, helpers=helpers) == ends
    assert channel.hush(NOW, helpers=False) == []
    assert len(channel.hush(NOW, helpers=True)) == (0 if helpers else 1)


@pytest.mark.parametrize("how", ["ends", "drops"])
def test_a_message_that_has_ended_is_not_cut_short(how: str) -> None:
    channel, agent = Channel(RUNNING), Voice()
    tell(channel, agent.begins(), getattr(agent, how)())
    assert channel.hush(NOW, helpers=True) == []
    assert channel.growing.open_messages() == []


# --- snapshots for a new follower -----------------------------------------------------------------


def test_a_new_follower_gets_a_snapshot_of_each_growing_block() -> None:
    channel, agent = Channel(RUNNING), Voice()
    assert channel.growing.snapshots() == []
    tell(channel, agent.begins(), agent.text(), agent.says("one "))
    tell(channel, agent.says("two"))
    [snapshot] = channel.growing.snapshots()
    assert (snapshot.text, snapshot.number, snapshot.is_snapshot) == ("one two", 2, True)
    [block] = channel.growing.open_blocks()
    assert (block.message_id, block.index, block.text) == ("m", 0, "one two")


def test_a_listener_that_comes_hears_the_beginning_of_each_message_again() -> None:
    state = structs.replace(RUNNING, voices={"t": 1})
    channel, agent, helper = Channel(state), Voice(), Voice("t", "h")
    thinking, thought = ThinkingBlock("", "in_progress", "proof"), "hm"
    call, other = a_call("Bash"), ErrorBlock("it failed", "in_progress")
    events: list[NormalizedStreamEvent] = [
        agent.begins(),
        agent.block(TextBlock("one ", "in_progress")),
        agent.says("two"),
        agent.block(thinking, 1),
        ev.ContentDelta(*agent.who, "m", 1, "thinking", thought),
        agent.block(call, 2),
        ev.ContentDelta(*agent.who, "m", 2, "tool_input", '{"a"', "toolu_1"),
        agent.block(other, 3),
        agent.text(4),
    ]
    tell(channel, *events, helper.begins(), helper.text(), helper.says("help"), state=state)
    again: list[NormalizedStreamEvent] = [
        agent.begins(),
        agent.text(),
        agent.says("one two"),
        *events[3:],
    ]
    assert channel.growing.open_messages() == [
        OpenMessage(2, SECOND, again),
        OpenMessage(1, FIRST, [helper.begins(), helper.text(), helper.says("help")]),
    ]


# --- a step ---------------------------------------------------------------------------------------


def steps(
    *writes: e.Moment,
    before: Conversation = RUNNING,
    after: Conversation = RUNNING,
    channel: Channel | None = None,
) -> list[f.Frame]:
    happened = (channel or Channel(before)).step(before, after, writes, NOW)
    return V2Projector("talk").frames(happened)


def started_by(turn: Turn, *queue: QueueItem) -> p.TurnStart:
    before = structs.replace(IDLE, queue=[Waiting(item, FIRST) for item in queue])
    [frame] = steps(e.BeginTurn(turn), before=before, after=before)
    assert isinstance(frame, f.TurnStarted)
    assert frame == f.TurnStarted("talk", turn.turn_id, None, NOW, turn.trace_id, frame.payload)
    return frame.payload


def an_item(queue_id: str) -> QueueItem:
    return QueueItem(queue_id, [TextContent("hello")], f"message {queue_id}")


def test_a_step_is_published_in_order() -> None:
    ended = structs.replace(IDLE, turn=None, last_turn_id=2)
    end = TurnEnd(False, False, "end_turn", after_sequence=1)
    entry, complete, state = steps(
        e.AddEntry(1, a_message("hello"), 2, SECOND),
        e.Audit("asked", "ann", {}),  # not published
        e.EndTurn(2, SECOND, end),
        after=ended,
    )
    assert isinstance(entry, f.AssistantChunk)
    assert (entry.payload.text, entry.payload.message_sequence) == ("hello", 1)
    assert (entry.trace_id, entry.conversation_id) == (SECOND, "talk")
    assert complete == f.AssistantComplete("talk", 2, None, NOW, SECOND, end)
    assert state == state_frame(ended)


def test_a_block_that_became_an_entry_stops_growing() -> None:
    channel, agent = Channel(RUNNING), Voice()
    tell(channel, agent.text(), agent.says("one"), agent.text(1), agent.says("two", 1))
    known = structs.replace(a_message("one"), meta=meta_of("talk:2", message_id="m", index=0))
    steps(e.AddEntry(1, known, 2, SECOND), channel=channel)
    assert [block.index for block in channel.growing.open_blocks()] == [1]
    assert pieces_in(tell(channel, agent.says("late"))) == []


def test_a_block_grows_for_followers_until_its_end_is_published() -> None:
    channel, agent = Channel(RUNNING), Voice()
    channel.publish(RUNNING, tell(channel, agent.begins(), agent.text(), agent.says("one")))
    assert channel.is_growing
    known = structs.replace(a_message("one"), meta=meta_of("talk:2", message_id="m", index=0))
    end = channel.step(RUNNING, RUNNING, [e.AddEntry(1, known, 2, SECOND)], NOW)
    end += tell(channel, agent.ends())
    assert not channel.growing.is_growing
    assert channel.is_growing, (
        "it is not committed: the owner may die, and followers have the piece"
    )
    channel.publish(RUNNING, end)
    assert not channel.is_growing


def test_an_entry_without_a_block_does_not_change_growing_blocks() -> None:
    channel, agent = Channel(RUNNING), Voice()
    tell(channel, agent.text(), agent.says("one"))
    steps(e.AddEntry(1, a_message("x"), 2, SECOND), channel=channel)
    assert len(channel.growing.open_blocks()) == 1


def test_a_turn_names_the_queued_message_that_it_runs() -> None:
    item = an_item("q-1")
    start = started_by(Turn(1, FIRST, "user", "starting", item), an_item("q-0"), item)
    assert start == p.TurnStart(1, "user", "q-1", "message q-1")


def test_a_message_that_did_not_wait_has_no_place_in_the_queue() -> None:
    start = started_by(Turn(1, FIRST, "user", "starting", an_item("q-1")), an_item("q-0"))
    assert start == p.TurnStart(1, "user", None, "message q-1")


def test_a_turn_that_goes_on_does_not_name_its_message_again() -> None:
    item = an_item("q-1")
    start = started_by(Turn(1, FIRST, "resume", "starting", item), item)
    assert start == p.TurnStart(1, "resume")


def test_a_turn_that_the_agent_began_names_no_message() -> None:
    start = started_by(Turn(1, FIRST, "agent", "running"), an_item("q-0"))
    assert start == p.TurnStart(1, "agent")


def test_a_state_within_a_step_is_published_there_and_not_again() -> None:
    between = structs.replace(RUNNING, reason="between")
    tell = e.Tell(status_of(between))
    assert steps(tell, after=between) == [state_frame(between)]
    assert steps(tell, after=RUNNING) == [state_frame(between), state_frame(RUNNING)]


def test_a_step_without_changes_publishes_nothing() -> None:
    assert steps() == []


TITLED = structs.replace(RUNNING, title="Plans")
COST = Totals(cost_usd=1.0)


@pytest.mark.parametrize(
    ("before", "after", "news", "is_first"),
    [
        (RUNNING, TITLED, p.ConversationNews("Plans"), False),
        (TITLED, structs.replace(TITLED, title="New"), p.ConversationNews("New"), True),
        (
            TITLED,
            structs.replace(TITLED, totals=COST),
            p.ConversationNews(None, COST),
            False,
        ),
        (
            TITLED,
            structs.replace(TITLED, title="New", totals=COST),
            p.ConversationNews("New", COST),
            True,
        ),
    ],
    ids=["the first title", "another title", "other totals", "both"],
)
def test_notices_come_after_the_state_unless_they_repeat_an_old_title(
    before: Conversation, after: Conversation, news: p.ConversationNews, is_first: bool
) -> None:
    updated: f.Frame = f.ConversationUpdated(*IDS, news)
    told = [updated, state_frame(after)] if is_first else [state_frame(after), updated]
    assert steps(before=before, after=after) == told


def test_only_the_state_is_published_if_title_and_totals_are_unchanged() -> None:
    after = structs.replace(TITLED, model="m-2")
    assert steps(before=TITLED, after=after) == [state_frame(after)]
