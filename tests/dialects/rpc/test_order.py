"""The order of stream events (RPC section 1.4), for any blocks and any deltas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock, TextBlock, ThinkingBlock, ToolUseBlock, UnknownBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.ui import UiStreamAdapter
from turnwire.core.usage import Usage
from turnwire.core.view import BlockView, TextView, ToolView
from turnwire.dialects.rpc import RpcBridge, Transcript, decode, encode
from turnwire.dialects.rpc import messages as rpc

Who: TypeAlias = tuple[str, str, str | None, str | None]

WHO: Who = ("claude", "sess-xyz", None, None)
SUB: Who = ("claude", "sess-xyz", "toolu_task", "agent-7")

DELTAS: dict[str, tuple[type, str]] = {
    "text": (rpc.RpcTextDelta, "text"),
    "thinking": (rpc.RpcThinkingDelta, "thinking"),
    "tool": (rpc.RpcInputJsonDelta, "partial_json"),
}


class Planned(Struct, frozen=True):
    """A block to be streamed, and how."""

    kind: str  # text, thinking, tool or unknown
    pieces: list[str]
    finished: str  # the finished block comes `before` its stop, `after` it, or `never`

    @property
    def whole(self) -> str:
        return "".join(self.pieces)


@st.composite
def planned(draw: st.DrawFn) -> Planned:
    kind = draw(st.sampled_from(["text", "thinking", "tool", "unknown"]))
    if kind == "tool":
        whole = json.dumps(draw(st.dictionaries(st.text(), st.text() | st.integers())))
    else:
        whole = draw(st.text()) if kind != "unknown" else ""
    cuts = sorted(draw(st.sets(st.integers(0, len(whole)), max_size=5)) | {0, len(whole)})
    pieces = [whole[a:b] for a, b in pairwise(cuts)]
    return Planned(kind, pieces, draw(st.sampled_from(["before", "after", "never"])))


PLANS = st.lists(planned(), max_size=6)


def block_at(plan: Planned, index: int, prefix: str, *, done: bool) -> ContentBlock:
    """Returns the block at its start or at its end."""
    status = "completed" if done else "in_progress"
    text = plan.whole if done else ""
    if plan.kind == "text":
        return TextBlock(text, status)  # type: ignore[arg-type]
    if plan.kind == "thinking":
        return ThinkingBlock(text, status)  # type: ignore[arg-type]
    if plan.kind == "unknown":
        return UnknownBlock("hologram", {"type": "hologram"})
    arguments = json.loads(text) if done else None
    return ToolUseBlock(f"{prefix}{index}", "Read", "CLAUDE_READ", arguments, "in_progress")


def streamed(
    plans: list[Planned], message_id: str = "msg_1", who: Who = WHO
) -> Iterator[NormalizedStreamEvent]:
    """A message of these blocks, as an agent streams it."""
    yield ev.MessageStarted(*who, message_id, "claude-sonnet-4-5")
    for index, plan in enumerate(plans):
        done = block_at(plan, index, f"toolu_{message_id}_", done=True)
        finished = ev.AssistantMessage(*who, message_id, index, [done], "claude-sonnet-4-5")
        yield ev.ContentStarted(
            *who, message_id, index, block_at(plan, index, f"toolu_{message_id}_", done=False)
        )
        for piece in plan.pieces:
            kind: Any = "tool_input" if plan.kind == "tool" else plan.kind
            yield ev.ContentDelta(*who, message_id, index, kind, piece)
        if plan.finished == "before":
            yield finished
        yield ev.ContentCompleted(*who, message_id, index, done)
        if plan.finished == "after":
            yield finished
    yield ev.MessageCompleted(*who, message_id, "end_turn", Usage(10, 20))


def sent(events: list[NormalizedStreamEvent]) -> list[rpc.RpcMessage]:
    """Returns all messages of these events, read back from the wire."""
    adapter, bridge = UiStreamAdapter(), RpcBridge(stream_id="x")
    messages = [m for e in events for out in adapter.feed(e) for m in bridge.feed(out)]
    return [decode(encode(message)) for message in messages]


def stream_events(messages: list[rpc.RpcMessage], parent: str | None = None) -> list[Any]:
    """Returns the stream events of one sub-agent or of the agent."""
    return [
        message.event
        for message in messages
        if isinstance(message, rpc.RpcStreamEvent) and message.parent_tool_use_id == parent
    ]


def check_order(events: list[Any], plans: list[Planned], message_id: str = "msg_1") -> None:
    """Checks one message against the order of RPC section 1.4."""
    rest = iter(events)
    start = next(rest)
    assert isinstance(start, rpc.RpcMessageStartEvent)
    assert start.message is not None
    assert start.message.id == message_id
    for index, plan in enumerate(plans):
        begun = next(rest)
        assert isinstance(begun, rpc.RpcContentBlockStartEvent)
        assert begun.index == index
        grown = ""
        for _ in plan.pieces:
            event = next(rest)
            assert isinstance(event, rpc.RpcContentBlockDeltaEvent)
            assert event.index == index
            kind, field = DELTAS[plan.kind]
            assert isinstance(event.delta, kind)
            grown += getattr(event.delta, field)
        assert grown == plan.whole
        assert next(rest) == rpc.RpcContentBlockStopEvent(index)
    assert next(rest) == rpc.RpcMessageDeltaEvent(rpc.RpcMessageDelta("end_turn"), Usage(10, 20))
    assert next(rest) == rpc.RpcMessageStopEvent()
    assert list(rest) == []


def test_a_message_with_several_blocks_has_the_full_order() -> None:
    plans = [
        Planned("thinking", ["Hm", "."], "never"),
        Planned("text", ["Hel", "lo"], "before"),
        Planned("tool", ['{"file_path"', ': "a"}'], "after"),
        Planned("unknown", [], "never"),
    ]
    messages = sent(list(streamed(plans)))
    order = [
        (event.__struct_config__.tag, getattr(event, "index", None))
        for event in stream_events(messages)
    ]
    assert order == [
        ("message_start", None),
        ("content_block_start", 0),
        ("content_block_delta", 0),
        ("content_block_delta", 0),
        ("content_block_stop", 0),
        ("content_block_start", 1),
        ("content_block_delta", 1),
        ("content_block_delta", 1),
        ("content_block_stop", 1),
        ("content_block_start", 2),
        ("content_block_delta", 2),
        ("content_block_delta", 2),
        ("content_block_stop", 2),
        ("content_block_start", 3),
        ("content_block_stop", 3),
        ("message_delta", None),
        ("message_stop", None),
    ]


@given(PLANS)
def test_any_blocks_and_any_cutting_give_the_full_order(plans: list[Planned]) -> None:
    check_order(stream_events(sent(list(streamed(plans)))), plans)


@given(PLANS)
def test_the_index_is_the_real_index_of_the_block(plans: list[Planned]) -> None:
    events = stream_events(sent(list(streamed(plans))))
    begun = [e.index for e in events if isinstance(e, rpc.RpcContentBlockStartEvent)]
    ended = [e.index for e in events if isinstance(e, rpc.RpcContentBlockStopEvent)]
    assert begun == ended == list(range(len(plans)))


@given(PLANS, PLANS)
def test_each_message_counts_its_blocks_from_zero(
    first: list[Planned], second: list[Planned]
) -> None:
    messages = sent([*streamed(first, "msg_1"), *streamed(second, "msg_2")])
    events = stream_events(messages)
    cut = 1 + next(i for i, e in enumerate(events) if isinstance(e, rpc.RpcMessageStopEvent))
    check_order(events[:cut], first, "msg_1")
    check_order(events[cut:], second, "msg_2")


@given(PLANS, PLANS, st.randoms(use_true_random=False))
def test_messages_of_mixed_sub_agents_each_keep_the_full_order(
    main: list[Planned], sub: list[Planned], random: Any
) -> None:
    queues = [list(streamed(main, "msg_1")), list(streamed(sub, "msg_2", SUB))]
    mixed: list[NormalizedStreamEvent] = []
    while any(queues):
        queue = random.choice([queue for queue in queues if queue])
        mixed.append(queue.pop(0))
    messages = sent(mixed)
    check_order(stream_events(messages), main, "msg_1")
    check_order(stream_events(messages, "toolu_task"), sub, "msg_2")


@given(PLANS)
def test_stream_events_are_numbered_without_a_gap(plans: list[Planned]) -> None:
    uuids = [m.uuid for m in sent(list(streamed(plans))) if isinstance(m, rpc.RpcStreamEvent)]
    assert uuids == [f"evt-x-{n}" for n in range(1, len(uuids) + 1)]


# --- the view of a front end (RPC section 5) --------------------------------------------------


def shown(messages: list[rpc.RpcMessage]) -> list[list[BlockView]]:
    """The blocks of each message on the screen, when all is said; nothing may still stream."""
    transcript = Transcript()
    for message in messages:
        transcript.apply(message)
    view = transcript.view()
    assert not any(message.streaming for message in view.messages)
    return [message.blocks for message in view.messages]


def in_full(plans: list[Planned]) -> list[BlockView]:
    """Returns the same blocks as an agent without streaming sends them."""
    blocks = [block_at(plan, i, "toolu_msg_1_", done=True) for i, plan in enumerate(plans)]
    contents = shown(sent([ev.AssistantMessage(*WHO, "msg_1", 0, blocks)]))
    return contents[0] if contents else []  # without a block there is nothing to show


@given(PLANS)
def test_any_cutting_and_any_finished_blocks_in_between_show_the_same(plans: list[Planned]) -> None:
    assert shown(sent(list(streamed(plans)))) == ([in_full(plans)] if plans else [])


@given(PLANS)
def test_the_view_during_a_stream_is_the_beginning_of_the_final_view(
    plans: list[Planned],
) -> None:
    transcript, last = Transcript(), in_full(plans)
    for message in sent(list(streamed(plans))):
        transcript.apply(message)
        folded = [block for message in transcript.view().messages for block in message.blocks]
        for now, then in zip(folded, last, strict=False):
            assert type(now) is type(then)
            if isinstance(now, TextView) and isinstance(then, TextView):
                assert then.text.startswith(now.text)
            if isinstance(now, ToolView) and isinstance(then, ToolView):
                assert now.input in (None, then.input)
