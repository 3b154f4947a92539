"""Invalid input is refused with a message, and nothing of it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import engine_on
from turnwire.core.content import TextContent
from turnwire.core.conversation.state import Options
from turnwire.core.error_codes import Refused
from turnwire.engine import Engine

_BAD: dict[str, tuple[Callable[[Any], Awaitable[Any]], str]] = {
    "content": (lambda talk: talk.send(["x"]), "$.content[0]"),
    "no content": (lambda talk: talk.send(5), "$.content"),
    "no character": (lambda talk: talk.send("\ud800"), "half of a character"),
    "no name": (lambda talk: talk.send("x", client_message_id=5), "$.client_message_id"),
    "no user": (lambda talk: talk.send("x", user=5), "$.by"),
    "no number": (lambda talk: talk.interrupt("1"), "$.turn_id"),
    "no such end": (lambda talk: talk.interrupt(1, queue="banana"), "hold, continue, clear"),
    "no such action": (lambda talk: talk.change_queue("dance", "q"), "remove, replace, move"),
    "no such decision": (lambda talk: talk.decide("p", "maybe"), "allow, deny"),
    "no answer": (lambda talk: talk.answer("q", object()), "JSON"),
    "no end to it": (lambda talk: talk.answer("q", _endless()), "JSON"),
    "no title": (lambda talk: talk.rename(5), "$.title"),
}


def _endless() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


@pytest.mark.parametrize("name", _BAD)
def test_bad_input_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    ask, says = _BAD[name]

    async def scene() -> None:
        async with engine_on(tmp_path / "turnwire.db", agent=ScriptedAgent()) as engine:
            talk = await engine.create("demo")
            await talk.send("one")
            await talk.send("two")
            before = await engine.store.conversation(talk.id)
            with pytest.raises(Refused) as refused:
                await ask(talk)
            assert refused.value.code == "INVALID_PAYLOAD"
            assert says in refused.value.message
            assert await engine.store.conversation(talk.id) == before

    asyncio.run(scene())


def test_plain_text_is_accepted_as_content(tmp_path: Path) -> None:
    async def scene() -> None:
        async with engine_on(tmp_path / "turnwire.db", agent=ScriptedAgent()) as engine:
            talk = await engine.create("demo")
            await talk.send("one")
            plain: Any = [{"type": "text", "text": "two"}]
            await talk.send(plain)
            assert (await talk.status()).queue[0].content == [TextContent("two")]

    asyncio.run(scene())


_NEW: dict[str, tuple[Callable[[Any], Awaitable[Any]], str]] = {
    "taken": (lambda engine: engine.create("demo", conversation_id="there"), "another id"),
    "no id": (lambda engine: engine.create("demo", conversation_id=5), "$.conversation_id"),
    "no title": (lambda engine: engine.create("demo", title=5), "$.title"),
    "options": (lambda engine: engine.create("demo", options=["x"]), "$.options"),
    "rules": (lambda engine: engine.create("demo", rules={"max_queue": 1}), "Options"),
    "rule": (
        lambda engine: engine.create("demo", rules=Options(on_disconnect="wait")),  # type: ignore[arg-type]
        "$.state.options.on_disconnect",
    ),
}


@pytest.mark.parametrize("name", _NEW)
def test_a_conversation_that_cannot_be_made_is_refused(tmp_path: Path, name: str) -> None:
    create, says = _NEW[name]

    async def made(engine: Engine) -> int:
        return len(await engine.store.conversations())

    async def scene() -> None:
        async with engine_on(tmp_path / "turnwire.db") as engine:
            await engine.create("demo", conversation_id="there")
            with pytest.raises(Refused) as refused:
                await create(engine)
            assert refused.value.code == "INVALID_PAYLOAD"
            assert says in refused.value.message
            assert await made(engine) == 1

    asyncio.run(scene())


def test_an_unknown_agent_for_a_new_conversation_is_an_invalid_choice(tmp_path: Path) -> None:
    async def scene() -> None:
        async with engine_on(tmp_path / "turnwire.db", agent=ScriptedAgent()) as engine:
            with pytest.raises(
                Refused, match="There is no agent 'dmeo'; there is: demo"
            ) as refused:
                await engine.create("dmeo")
            assert (refused.value.code, refused.value.retryable) == ("INVALID_PAYLOAD", False)

    asyncio.run(scene())
