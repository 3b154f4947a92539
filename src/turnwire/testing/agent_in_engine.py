"""Checks an agent's question with a real engine and a real store."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from turnwire.core.events import Question
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, Talk
from turnwire.ports import Agent
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.agent_listener import AgentBroken

__all__ = ["check_question_in_engine"]


async def check_question_in_engine(agent: Agent, prompt: str, seconds: float) -> None:
    """Raises AgentBroken if no person is asked, or if the agent does not use the answer."""
    with TemporaryDirectory(prefix="turnwire-check-") as folder:
        store = await SqliteStore.open(Path(folder) / "check.db")
        try:
            async with Engine(store, {agent.name: agent}) as engine:
                talk = await engine.create(agent.name)
                try:
                    async with asyncio.timeout(seconds):
                        await _ask_and_answer(talk, prompt)
                except TimeoutError:
                    said = f"the question was not asked and answered within {seconds:g} seconds"
                    raise AgentBroken(said) from None
        finally:
            await store.close()


async def _ask_and_answer(talk: Talk, prompt: str) -> None:
    asked: str | None = None
    async with aclosing(talk.follow()) as frames:
        await talk.send(prompt)
        async for frame in frames:
            match frame:
                case f.AssistantRequestInput(payload=question):
                    asked = question.question_id
                    await talk.answer(asked, _choice(question.questions))
                case f.AssistantPermissionRequest(payload=request):
                    await talk.decide(request.request_id, "allow")
                case f.AssistantRequestResolved(payload=end) if end.request_id == asked:
                    if end.outcome != "answered":
                        raise AgentBroken(f"the question ended as {end.outcome}, not answered")
                case f.AssistantComplete(payload=end):
                    if end.error is not None:
                        raise AgentBroken(f"the turn failed: {end.error.message}")
                    if asked is None:
                        raise AgentBroken("the turn ended without a question to a person")
                    return
                case _:
                    pass


def _choice(questions: list[Question]) -> Any:
    """Returns the first option of every question, or a text."""
    answers = {each.id: each.options[0].label if each.options else "Yes" for each in questions}
    return next(iter(answers.values())) if len(answers) == 1 else answers
