"""One conversation, three agents: Claude, then Codex, then a model of pydantic-ai, then Claude again.

    python examples/three_agents.py             # with keys, or logged in to each
    python examples/three_agents.py --offline   # with a scripted model: no key, no network

In each turn a person gives another word to remember, and asks for all words so far. Between the
turns another agent takes over. Claude and Codex are told what was said as text; the model of
pydantic-ai gets the log as its messages. Back at the end, Claude resumes its own session.

The exit code is 0 only if each agent knows every word. Offline, the requests that the scripted model
has received prove it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any

import httpx
import pydantic_ai
from pydantic_ai import messages as ai
from pydantic_ai.models.function import FunctionModel

from turnwire import ClaudeAgent, Engine, SqliteStore, Talk
from turnwire.agents.codex import CodexAgent
from turnwire.agents.pydantic_ai import PydanticAgent
from turnwire.core.message import known_meta
from turnwire.testing.model_api import (
    ModelApi,
    Request,
    claude_environment,
    codex_environment,
)

TURNS = [("claude", "kestrel"), ("codex", "lantern"), ("helper", "velvet"), ("claude", "orchard")]
WORDS = [word for _, word in TURNS]


def prompt_for(word: str) -> str:
    """Returns the message of a person."""
    return f"Remember the word {word}. Use no tools. Then name every word of this conversation."


# --- the scripted model -------------------------------------------------------------------------


def model(request: Request) -> str:
    """Names the words that reached the model. It knows nothing else."""
    return f"The words so far: {', '.join(words_in(request))}."


def words_in(request: Request) -> list[str]:
    """Returns the words that are in a request, in the order in which they were said."""
    said = json.dumps(request.messages)
    return [word for word in WORDS if word in said]


def has_own_answer(request: Request) -> bool:
    """Returns whether the model gets its own first answer as such: its session was resumed."""
    said = [json.dumps(each) for each in request.messages if each.get("role") == "assistant"]
    return any("The words so far: kestrel." in each for each in said)


def over_http(url: str) -> FunctionModel:
    """Returns a model of pydantic-ai that asks an API of Chat Completions."""

    async def chat(messages: list[ai.ModelMessage], _: Any) -> AsyncIterator[str]:
        sent = [
            {"role": role_of(part), "content": str(part.content)}
            for message in messages
            for part in message.parts
            if role_of(part)
        ]
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.post(
                f"{url}/v1/chat/completions", json={"model": "scripted", "messages": sent}
            )
        yield answer.raise_for_status().json()["choices"][0]["message"]["content"]

    return FunctionModel(stream_function=chat)


def role_of(part: object) -> str | None:
    """Returns who said a part of a message. Returns None for anything but text."""
    kinds = {ai.UserPromptPart: "user", ai.TextPart: "assistant"}
    return kinds.get(type(part))


# --- the conversation ---------------------------------------------------------------------------


async def play(talk: Talk, api: ModelApi | None, patience: float) -> None:
    """Says each word to its agent. Exits if an agent does not know an earlier one."""
    asked_before = 0
    for number, (agent, word) in enumerate(TURNS):
        await talk.set_agent(agent)
        asked_before = len(api.requests) if api else 0
        print(f"You, to {agent}: {prompt_for(word)}")
        async with asyncio.timeout(patience):
            reply = await talk.ask(prompt_for(word))
        print(f"  {agent}: {reply.text}")
        if reply.end is None or reply.end.is_error:
            raise SystemExit(f"The turn of {agent} failed: {reply.end}")
        due = WORDS[: number + 1]
        missing = [each for each in due if each not in reply.text]
        if missing:
            raise SystemExit(f"{agent} does not know: {', '.join(missing)}.")
        if api is not None:
            told = [words_in(request) for request in api.requests[asked_before:]]
            if due not in told:
                raise SystemExit(f"The model of {agent} did not get {due}, but: {told}.")
    if api is not None and not any(has_own_answer(each) for each in api.requests[asked_before:]):
        raise SystemExit("Claude did not resume its own session.")


async def who_spoke(talk: Talk, store: SqliteStore) -> list[str | None]:
    """Returns the agents of the answers, as the log keeps them."""
    found = await store.entries(talk.id)
    return [known_meta(each.entry).provider for each in found if each.entry.role == "assistant"]


async def main(*, offline: bool, patience: float, name: str) -> None:
    """Plays the conversation, and checks what each agent knew and who spoke."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "work").mkdir()
        async with ModelApi(*[model] * 50, aside=None) if offline else nullcontext() as api:
            claude_env: Mapping[str, str] = claude_environment(api.url, place / "c") if api else {}
            codex_env = codex_environment(api.url, place / "x") if api else None
            os.environ.update(claude_env)
            helper = pydantic_ai.Agent(over_http(api.url) if api else name)
            agents: dict[str, Any] = {
                "claude": ClaudeAgent(),
                "codex": CodexAgent(env=codex_env),
                "helper": PydanticAgent(helper, name="helper"),
            }
            for each, agent in agents.items():
                missing = agent.unavailable()
                if missing is not None:
                    raise SystemExit(f"{each}: {missing}")
            store = await SqliteStore.open(place / "talk.db")
            async with Engine(store, agents) as engine:
                talk = await engine.create("claude", cwd=str(place / "work"))
                await play(talk, api, patience)
                spoke = await who_spoke(talk, store)
            await store.close()
    in_turn = [agent for agent, _ in TURNS]
    print(f"The log says who spoke: {', '.join(map(str, spoke))}.")
    if [agent for agent, _ in groupby(spoke)] != in_turn:
        raise SystemExit("The log names other speakers.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--offline", action="store_true", help="use a scripted model for all three agents"
    )
    parser.add_argument(
        "--patience", type=float, default=180.0, help="maximum seconds of each turn"
    )
    parser.add_argument("--model", default="openai:gpt-5", help="the model of pydantic-ai")
    given = parser.parse_args()
    asyncio.run(main(offline=given.offline, patience=given.patience, name=given.model))
