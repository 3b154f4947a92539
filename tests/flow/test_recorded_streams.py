"""Recorded streams of the real CLI, through the whole chain and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.recorded_streams import (
    RECORDED,
    check_order,
    events_of,
    folded,
    recorded,
    rpc_of,
    ui_of,
)
from tests.helpers.shown_content import all_messages, said_by_the_frames, shown_in
from turnwire.core.ui import UiStreamAdapter
from turnwire.dialects import claude, rpc


def without_stream_events(lines: list[bytes]) -> list[bytes]:
    return [raw for raw in lines if json.loads(raw)["type"] != "stream_event"]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "frames only"])
def test_a_client_shows_the_content_of_the_finished_frames(path: Path, streamed: bool) -> None:
    lines = path.read_bytes().splitlines()
    fed = lines if streamed else without_stream_events(lines)
    view = folded(rpc_of(ui_of(events_of(fed))))
    assert shown_in(view) == said_by_the_frames(lines)
    assert not any(message.streaming for message in all_messages(view))


@given(st.data())
def test_a_lost_or_repeated_stream_event_does_not_change_the_final_view(
    data: st.DataObject,
) -> None:
    lines = data.draw(st.sampled_from(RECORDED)).read_bytes().splitlines()
    streamed = [i for i, raw in enumerate(lines) if json.loads(raw)["type"] == "stream_event"]
    lost = data.draw(st.sets(st.sampled_from(streamed), max_size=8)) if streamed else set()
    doubled = data.draw(st.sets(st.sampled_from(streamed), max_size=8)) if streamed else set()
    fed = [raw for i, raw in enumerate(lines) for _ in range(1 + (i in doubled)) if i not in lost]
    view = folded(rpc_of(ui_of(events_of(fed))))
    assert shown_in(view) == said_by_the_frames(lines)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_stream_events_alone_give_the_finished_text_too(path: Path) -> None:
    """A client that only streams sees every block that was streamed and not abandoned."""
    lines = path.read_bytes().splitlines()
    messages = rpc_of(ui_of(events_of(lines)))
    streamed_only = [m for m in messages if not isinstance(m, rpc.messages.RpcAssistantMessage)]
    shown = shown_in(folded(streamed_only))["messages"]
    said = said_by_the_frames(lines)["messages"]
    assert set(shown) == _streamed_to_the_end(lines)
    for message_id, content in shown.items():
        assert [_without_signature(b) for b in content] == [
            _without_signature(b) for b in said[message_id]
        ]


def _streamed_to_the_end(lines: list[bytes]) -> set[str]:
    frames = [json.loads(raw) for raw in lines]
    ended = [f for f in frames if f.get("event", {}).get("type") == "message_stop"]
    return {frame["api_message_id"] for frame in ended}


def _without_signature(block: Any) -> Any:
    return {key: value for key, value in block.items() if key != "signature"}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_batch_of_events_gives_the_same_messages_as_single_events(path: Path) -> None:
    lines = [claude.decode(raw) for raw in path.read_bytes().splitlines()]
    adapter, ui_adapter, bridge = claude.ClaudeStreamAdapter(), UiStreamAdapter(), rpc.RpcBridge()
    together = claude.ClaudeStreamAdapter().feed_all(lines)
    one_by_one = [event for line in lines for event in adapter.feed(line)]
    assert _jsonl(together) == _jsonl(one_by_one)
    shown = [ui_event for event in one_by_one for ui_event in ui_adapter.feed(event)]
    assert _jsonl(ui_of(together)) == _jsonl(shown)
    sent = [message for ui_event in shown for message in bridge.feed(ui_event)]
    assert rpc_of(shown) == sent


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_turn_that_starts_also_ends(path: Path) -> None:
    kinds = [type(event).__name__ for event in events_of(path.read_bytes().splitlines())]
    running = 0
    for kind in kinds:
        if kind == "TurnStarted":
            running += 1
        elif kind in ("TurnCompleted", "TurnFailed"):
            running -= 1
        assert running in (0, 1)
    assert running == 0


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_stream_event_of_a_message_comes_in_the_order_of_the_protocol(path: Path) -> None:
    check_order(rpc_of(ui_of(events_of(path.read_bytes().splitlines()))))


# --- every stage, written down ------------------------------------------------------------------

EXPECTED = Path(__file__).parent / "expected"
KEPT = [
    "02_thinking",
    "05_parallel",
    "06_ask_user",
    "07_interrupt_stream",
    "09b_subagent_forward_text",
    "11_api_529_final",
    "15_todo",
    "22b_kill_during_text",
    "26_long_tool",
]


def stages(name: str) -> dict[str, str]:
    """Returns each stage as JSON lines, without the agent's own messages, which are the input."""
    events = events_of(recorded(name))
    ui_events = ui_of(events)
    return {
        "events": _jsonl(events),
        "ui": _jsonl(ui_events),
        "rpc": _jsonl(rpc_of(ui_events)),
    }


def _jsonl(things: list[Any]) -> str:
    lines = []
    for thing in things:
        value = msgspec.to_builtins(msgspec.json.decode(msgspec.json.encode(thing)))
        value.pop("raw", None)
        if "subtype" in value:
            value.pop("data", None)
        lines.append(json.dumps(value, ensure_ascii=False))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", KEPT)
def test_every_stage_gives_the_expected_output_of_the_recording(
    name: str, request: pytest.FixtureRequest
) -> None:
    for stage, text in stages(name).items():
        path = EXPECTED / f"{name}.{stage}.jsonl"
        if request.config.getoption("--write-expected"):
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{path.name} differs"
