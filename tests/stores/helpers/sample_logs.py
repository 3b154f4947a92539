"""A store with typical conversations: a finished one, a waiting one, one with a blob."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec import structs

from tests.engine.helpers.watcher import Watcher, engine_on
from turnwire.agents.demo import DemoAgent
from turnwire.core.conversation.effects import AddEntry, BeginTurn, EndTurn
from turnwire.core.conversation.state import Options, Turn
from turnwire.core.message import BlobRef, TextPart, TextPayload
from turnwire.core.status import TurnEnd
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.codec import encode
from turnwire.dialects.v2.validator.check import SessionCheck
from turnwire.engine import Engine, Talk
from turnwire.ports import Store
from turnwire.testing.store_samples import TRACE, a_message, at, begin

__all__ = ["LARGE", "broken_rules_of_replay", "make_log"]

LARGE = b"word " * 20_000
_TEXT = "text/plain; charset=utf-8"


def make_log(path: Path | str) -> None:
    """`talk` has finished turns of all kinds, `asks` waits for an answer and has a queue, and
    `large` has a blob.
    """
    asyncio.run(_make(path))


async def _make(path: Path | str) -> None:
    async with engine_on(path, agent=DemoAgent(delay=0)) as engine:
        await _talk(await _new(engine, "talk"))
        asks = await _new(engine, "asks")
        async with Watcher(asks) as seen:
            await asks.send("question", user="ann", client_message_id="a-1")
            await seen.until(f.AssistantRequestInput)
            await seen.state("waiting_input")
            await asks.send("later", user="ann", client_message_id="a-2")
        await _large(engine.store)


async def _new(engine: Engine, name: str) -> Talk:
    rules = Options(on_disconnect="continue")
    return await engine.create("demo", conversation_id=name, options={"delay": 0}, rules=rules)


async def _talk(talk: Talk) -> None:
    prompts = ["think tool subagent", "question", "permission", "hi"]
    async with Watcher(talk) as seen:
        for number, prompt in enumerate(prompts, 1):
            await talk.send(prompt, user="ann", client_message_id=f"m-{number}")
            if prompt == "question":
                asked = (await seen.until(f.AssistantRequestInput)).payload.question_id
                await talk.answer(asked, "Blue", user="ann", client_message_id="answer-1")
            elif prompt == "permission":
                wanted = (await seen.until(f.AssistantPermissionRequest)).payload.request_id
                await talk.decide(wanted, "allow", user="ann")
            await seen.until(f.AssistantComplete)
            await seen.state("active")


async def _large(store: Store) -> None:
    await store.put_blob("b-1", LARGE, _TEXT, at=at())
    talk = await begin(store, "large")
    said = TextPayload("word word", blob=BlobRef("b-1", _TEXT, len(LARGE)))
    message = structs.replace(a_message("", run="large:1"), parts=[TextPart(said)])
    end = TurnEnd(False, False, "end_turn", origin="agent", after_sequence=1)
    await talk.commit(
        talk.prepare(
            BeginTurn(Turn(1, TRACE, "agent", "running")),
            AddEntry(1, message, 1, TRACE),
            EndTurn(1, TRACE, end),
            state=structs.replace(talk.state, turns=1, last_turn=end, last_turn_id=1),
        )
    )
    await store.release(talk.claim)


async def _replayed(path: Path | str, name: str) -> list[f.Frame]:
    """Returns the view of a new client."""
    async with engine_on(path, agent=DemoAgent(delay=0)) as engine:
        talk = await engine.open(name)
        async with Watcher(talk) as seen:
            return list(seen.frames)


def broken_rules_of_replay(path: Path | str, name: str) -> list[str]:
    """Returns all rules of protocol v2 that the replay breaks."""
    check = SessionCheck()
    for number, frame in enumerate(asyncio.run(_replayed(path, name)), 1):
        assert frame.sequence is not None
        check.feed(encode(frame).at(frame.sequence), number)
    return [f"{v.code} at {v.line}: {v.message}" for v in check.report().violations]
