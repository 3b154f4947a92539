"""Checks that a log is undamaged, equals the view of its followers, and has the output of the model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.engine.helpers.watcher import Watcher
from turnwire.core.view import BlockView, MessageView, TextView, ThinkingView, ToolView, View
from turnwire.dialects.claude.questions import client_tool
from turnwire.engine import Engine
from turnwire.ports import Store
from turnwire.stores.address import is_database
from turnwire.stores.postgres import fsck as postgres_fsck
from turnwire.stores.sqlite import fsck
from turnwire.testing.model_api import (
    Hold,
    ModelApi,
    Raw,
    RedactedThinking,
    Said,
    Say,
    Text,
    Thinking,
    ToolUse,
)


def check_log(path: Path) -> None:
    """Asserts that `turnwire fsck` finds no damage in a file that no process uses any more."""
    found = fsck.check(path, now=time.time_ns() // 1_000_000).findings
    assert not found, found


async def check_store(address: str) -> None:
    """The same for a file or a database."""
    if not is_database(address):
        check_log(Path(address))
        return
    found = (await postgres_fsck.check(address)).findings
    assert not found, found


async def later_view(store: Store, conversation_id: str) -> View:
    """Returns the view of a client that connects now. Its frames keep the rules of the protocol: the
    watcher looks at that.
    """
    async with Engine(store, {}) as engine:
        talk = await engine.open(conversation_id)
        async with Watcher(talk) as later:
            pass
    return later.view()


def check_view(there: View, afterwards: View) -> None:
    """Asserts that a later client has the same view as one that was connected to the end."""
    assert there.messages == afterwards.messages
    assert there.turns == afterwards.turns
    assert (there.cursor, there.behind) == (afterwards.cursor, False)


def check_said(
    api: ModelApi, views: list[View], *, all_of_it: bool, refused: Sequence[str] = ()
) -> None:
    """Nothing of what the model said was changed; nothing is missing, unless it was broken off.

    Of a sub-agent the program tells what it does; its last words are its tool's result. A summary
    is for the model alone. `refused` are questions asked during another one, which were never shown.
    """
    shown = {message.id: message for view in views for message in _all(view.messages)}
    ends = [turn.end for view in views for turn in view.turns]
    broken_off = not all_of_it or any(end.interrupted or end.is_error for end in ends)
    for message_id, said in api.said.items():
        if message_id in shown:
            _check_message(shown[message_id], said, refused)
        else:
            is_hidden = said.lane or "<summary>" in str(said.message.blocks)
            assert is_hidden or broken_off or not said.whole, f"{said.message} is not there"


def _check_message(message: MessageView, said: Said, refused: Sequence[str]) -> None:
    """Block for block. Of a message that was broken off the last one may be cut."""
    told = [_told(block) for block in message.blocks]
    scripted = list(_scripted(said.message, told, refused))
    if said.whole and not any(block.status == "aborted" for block in message.blocks):
        assert told == scripted
        return
    assert [kind for kind, _ in told] == [kind for kind, _ in scripted[: len(told)]]
    for (_, what), (_, all_of_it) in zip(told, scripted, strict=False):
        assert what == all_of_it or (isinstance(what, str) and all_of_it.startswith(what))


def _told(block: BlockView) -> tuple[str, Any]:
    match block:
        case TextView(text=text):
            return "text", text
        case ThinkingView(text=text, redacted=None):
            return "thinking", text
        case ThinkingView(redacted=data):
            return "redacted", data
        case ToolView(id=call, tool_name="ExitPlanMode"):
            return "tool", (call, "ExitPlanMode", {})  # the plan is added by Claude Code
        case ToolView(id=call, tool_name=name, input={"metadata": {"client_tool": True}}):
            return "tool", (call, name, None)  # it shows the question to the front end
        case ToolView(id=call, tool_name=name, input=given):
            return "tool", (call, name, given)
        case _:
            return "other", block


def _scripted(
    say: Say, told: list[tuple[str, Any]], refused: Sequence[str]
) -> Iterator[tuple[str, Any]]:
    """Returns the scripted output in the same form. A call without an id got one when it was sent."""
    blocks = [block for block in say.blocks if not isinstance(block, Hold | Raw)]
    blocks = [each for each in blocks if not (isinstance(each, ToolUse) and each.id in refused)]
    for number, block in enumerate(blocks):
        match block:
            case str(text) | Text(text=text):
                yield "text", text
            case Thinking(thinking=text):
                yield "thinking", text
            case RedactedThinking(data=data):
                yield "redacted", data
            case ToolUse(id=call, name=name, input=given):
                new = told[number][1][0] if number < len(told) else None
                own = client_tool(name)
                yield "tool", (call or new, own or name, None if own else given)


def _all(messages: Iterable[MessageView]) -> Iterator[MessageView]:
    """Returns all messages, those of sub-agents too."""
    for message in messages:
        yield message
        for block in message.blocks:
            if isinstance(block, ToolView):
                yield from _all(block.messages)
