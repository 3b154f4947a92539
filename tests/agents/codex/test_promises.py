"""The real Codex keeps the promises of the agent port."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from tests.agents.codex.helpers.real_codex import IS_INSTALLED, ask, beyond, run
from turnwire.agents.codex import CodexAgent
from turnwire.ports import Agent
from turnwire.testing import Prompts, check_agent
from turnwire.testing.model_api import ModelApi, Request, Say, Text, codex_environment

pytestmark = pytest.mark.skipif(not IS_INSTALLED, reason="the extra codex is not installed")
_number = count(1)


def model(request: Request) -> Say | str:
    """A model that does the work of the last prompt, once."""
    last = request.messages[-1]
    if last.get("type") == "function_call_output":
        return "Done."
    call = f"call_{next(_number)}"
    for word, reply in {
        "count": Say([Text("One, two, three.", [10], hold="never")]),
        "tool": Say([run("echo hi", call)]),
        "question": Say([ask(call)]),
        "permission": Say([beyond("echo hi", call)]),
    }.items():
        if word in str(last.get("content")):
            return reply
    return "Hello."


async def test_codex_keeps_the_promises_of_the_port(tmp_path: Path) -> None:
    async with ModelApi(*[model] * 100, aside=None) as api:
        env = codex_environment(api.url, tmp_path)

        def make() -> Agent:
            return CodexAgent(env=env, roots=[tmp_path], start_seconds=180.0)

        prompts = Prompts("Hello.", "count", "tool", "question", "permission")
        report = await check_agent(make, prompts, seconds=120.0)
    assert report.skipped == [
        *("a question survives its process", "a session is handed over in pieces")
    ]
    assert report.notes == []
