"""The cost of an agent's output is linear in its length, for any number of pieces."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.dialects.v2.helpers.partial_frames import Partials
from tests.helpers.cost_growth import grows_linearly
from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.dialects.claude import ClaudeStreamAdapter, history
from turnwire.dialects.claude.branches import Voice, story
from turnwire.dialects.claude.history import Record
from turnwire.dialects.claude.lines import Line, read


def _lines(*events: dict[str, Any], called: tuple[str, ...] = ()) -> list[Any]:
    """The lines of one message: its stream events, then the calls of it, finished, without its id."""
    start = {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}
    told = [
        {"type": "stream_event", "session_id": "s", "event": event} for event in (start, *events)
    ]
    for call in called:
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {}}
        message = {"role": "assistant", "content": [use]}
        told.append({"type": "assistant", "session_id": "s", "uuid": call, "message": message})
    return list(read(json.dumps(line).encode() for line in told))


def _block(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _signature(pieces: int) -> list[Any]:
    piece = {"type": "signature_delta", "signature": "0123456789abcdef" * 16}
    delta = {"type": "content_block_delta", "index": 0, "delta": piece}
    return _lines(_block(0, type="thinking", thinking=""), *[delta] * pieces)


def _citations(pieces: int) -> list[Any]:
    piece = {"type": "citations_delta", "citation": {"title": "a"}}
    delta = {"type": "content_block_delta", "index": 0, "delta": piece}
    return _lines(_block(0, type="text", text=""), *[delta] * pieces)


def _calls(number: int) -> list[Any]:
    names = tuple(f"t{n}" for n in range(number))
    uses = [_block(n, type="tool_use", id=name, name="Bash") for n, name in enumerate(names)]
    return _lines(*uses, called=names)


@pytest.mark.parametrize(("make", "size"), [(_signature, 1500), (_citations, 4000), (_calls, 2500)])
def test_the_cost_of_a_message_of_claude_is_linear(
    make: Callable[[int], list[Line]], size: int
) -> None:
    def follow(lines: list[Line]) -> None:
        adapter = ClaudeStreamAdapter()
        for line in lines:
            adapter.feed(line)
        adapter.finish()

    assert grows_linearly(follow, make, size)


def test_the_cost_of_messages_without_an_end_is_linear() -> None:
    block = blocks.TextBlock("a", "in_progress")

    def follow(number: int) -> None:
        partials = Partials("c")
        for n in range(number):
            begun = ev.ContentStarted("x", "s", None, None, f"m{n}", 0, block)
            partials.feed(begun, 1, None, "now")

    assert grows_linearly(follow, int, 800)


def test_the_cost_of_a_typed_command_is_linear() -> None:
    def typed(text: str) -> None:
        said = {"type": "user", "uuid": "u", "message": {"role": "user", "content": text}}
        assert isinstance(history.read_record(json.dumps(said).encode(), 1), Record)

    for piece in ("<command-name>", "<command-args>", "<bash-input>"):
        assert grows_linearly(typed, piece.__mul__, 2_000)


def test_the_cost_of_sub_agents_that_precede_their_callers_is_linear() -> None:
    """The last one of them was called by the agent, and each other one by the one after it."""

    def voices(number: int) -> list[Voice]:
        return [
            Voice([Record(n, f"u{n}", None, "told", None, {}, calls=(f"c{n - 1}",))], f"c{n}")
            for n in range(number)
        ]

    def tell(voices: list[Voice]) -> None:
        main = [Record(0, "u", None, "told", None, {}, calls=(f"c{len(voices) - 1}",))]
        told = story(main, main, voices)
        assert [call for _, call in told[1:]] == [voice.call for voice in reversed(voices)]

    assert grows_linearly(tell, voices, 500)
