"""What the real Codex asks beyond commands: MCP tools, MCP servers, secrets, and stops at a request."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.helpers.real_claude import stop
from tests.agents.codex.helpers.real_codex import (
    IS_INSTALLED,
    PATCH,
    CodexStage,
    ask,
    beyond,
    kill_codex,
    patch,
    stage,
)
from turnwire.agents.codex.app_server import AppServer
from turnwire.dialects.codex.messages import RequestId
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Say, ToolUse
from turnwire.testing.model_api.server import Answer

pytestmark = pytest.mark.skipif(not IS_INSTALLED, reason="the extra codex is not installed")

SERVER = Path(__file__).parents[1] / "claude" / "helpers" / "mcp_stdio_server.py"
READ_ONLY = {"permission_mode": "read-only"}


def servers(*arguments: str) -> str:
    """Returns the lines of config.toml for the MCP server of the tests."""
    given = ", ".join(f'"{each}"' for each in (SERVER, *arguments))
    return f'mcp_servers.demo.command = "{sys.executable}"\nmcp_servers.demo.args = [{given}]\n'


def shout(call: str = "call_1") -> ToolUse:
    return ToolUse("shout", {"words": f"hello {call}"}, id=call, namespace="mcp__demo")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The results that Codex gets for its requests, noted on their way."""
    noted: list[Any] = []
    answer = AppServer.answer

    def note(self: AppServer, request_id: RequestId, result: Any) -> None:
        noted.append(result)
        answer(self, request_id, result)

    monkeypatch.setattr(AppServer, "answer", note)
    return noted


async def test_a_tool_of_an_mcp_server_runs_when_a_person_allows_it(tmp_path: Path) -> None:
    replies: list[Answer] = [
        *(Say([shout()]), "One."),
        *(Say([shout("call_2")]), "Two."),
        *(Say([shout("call_3")]), "Three."),
        *(Say([shout("call_4")]), "Four."),
    ]
    async with stage(tmp_path, *replies, toml=servers("shout")) as it:
        await it.talk.send("go")
        wants = await it.wants()
        assert wants.tool_name == "mcp_tool_approval"
        assert wants.input["arguments"] == {"words": "hello call_1"}
        await it.talk.decide(wants.request_id, "allow")
        await it.ends()
        assert "HELLO CALL_1" in it.told["call_1"]
        assert "HELLO CALL_1" in str(it.results["call_1"].content)
        await it.talk.send("go")
        await it.talk.decide((await it.wants()).request_id, "deny")
        await it.ends()
        assert it.results["call_2"].is_error
        await it.talk.send("go")
        wants = await it.wants()
        session = [each for each in wants.suggestions if each["destination"] == "session"]
        await it.talk.decide(wants.request_id, "allow", remember=session)
        await it.ends()
        await it.says("again")  # the same tool with other words: no question
        assert "HELLO CALL_4" in it.told["call_4"]
        assert len(it.seen.of(f.AssistantPermissionRequest)) == 3
        assert it.text == ["One.", "Two.", "Three.", "Four."]


async def test_a_tool_that_was_allowed_for_good_is_in_the_configuration_of_codex(
    tmp_path: Path, sent: list[Any]
) -> None:
    async with stage(tmp_path, Say([shout()]), "One.", toml=servers("shout")) as it:
        await it.talk.send("go")
        wants = await it.wants()
        always = [each for each in wants.suggestions if each["destination"] == "userSettings"]
        await it.talk.decide(wants.request_id, "allow", remember=always)
        await it.ends()
        assert sent == [{"action": "accept", "content": {}, "_meta": {"persist": "always"}}]
        assert "approve" in (it.home / ".codex" / "config.toml").read_text()


async def test_a_question_of_an_mcp_server_gets_its_answer(tmp_path: Path) -> None:
    pick = ToolUse("pick", id="call_1", namespace="mcp__demo")
    async with stage(tmp_path, Say([pick]), "Blue.", toml=servers()) as it:
        await it.talk.send("go")
        await it.talk.decide((await it.wants()).request_id, "allow")
        asked = await it.asked()
        assert [each.header for each in asked.questions] == ["Colour", "count"]
        colour, count = (each.id for each in asked.questions)
        await it.talk.answer(asked.question_id, {colour: "blue", count: "2"})
        await it.ends()
        assert "blue" in it.told["call_1"]


async def test_a_secret_is_not_asked_and_the_log_says_why(tmp_path: Path, sent: list[Any]) -> None:
    secret = {"id": "k", "header": "Key", "question": "Which key?", "isSecret": True}
    options = [{"label": "mine", "description": "a"}, {"label": "yours", "description": "b"}]
    call = ToolUse(
        "request_user_input", {"questions": [{**secret, "options": options}]}, id="call_1"
    )
    async with stage(tmp_path, Say([call]), "Without it.") as it:
        await it.says("go")
        assert it.text == ["Without it."]
        assert not it.seen.of(f.AssistantRequestInput)
        assert sent == [{"answers": {}}]
        (refused,) = news(it, "question_refused")
        assert refused is not None
        assert refused.startswith("Codex asked for a secret and got no answer: Which key?")


def news(it: CodexStage, subtype: str) -> list[str | None]:
    """Returns the texts of news."""
    told = [frame.payload for frame in it.seen.of(f.SessionSystemEvent)]
    return [each.text for each in told if each.subtype == subtype]


async def test_a_stop_at_a_permission_cancels_it_and_the_next_turn_works(
    tmp_path: Path, sent: list[Any]
) -> None:
    async with stage(tmp_path, Say([beyond("touch a")]), "Hello again.") as it:
        await it.talk.send("go")
        await it.wants()
        await stop(it)
        assert sent == [{"decision": "cancel"}]
        assert not (it.work / "a").exists()
        it.api.say_next()
        assert not (await it.says("hi")).is_error
        assert len(it.seen.of(f.AssistantRequestResolved)) == 1


async def test_a_file_may_be_changed_again_without_a_question(tmp_path: Path) -> None:
    again = ToolUse(
        "apply_patch",
        text=PATCH.replace("Add File", "Update File").replace("+hello\n+world", "@@\n-hello\n+bye"),
        id="call_2",
    )
    replies = (Say([patch()]), "One.", Say([again]), "Two.")
    async with stage(tmp_path, *replies, conversation=READ_ONLY) as it:
        await it.talk.send("go")
        wants = await it.wants()
        await it.talk.decide(wants.request_id, "allow", remember=wants.suggestions)
        await it.ends()
        await it.says("again")
        assert (it.work / "hello.txt").read_text() == "bye\nworld\n"
        assert len(it.seen.of(f.AssistantPermissionRequest)) == 1


async def test_codex_is_killed_at_a_question_and_the_answer_arrives_as_a_prompt(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, Say([ask()]), "Blue it is.") as it:
        await it.talk.send("go")
        asked = await it.asked()
        kill_codex()
        await it.sleeps()  # the question stays open without its process
        ack = (await it.talk.answer(asked.question_id, {"Which colour?": "Blue"})).ack
        assert ack.delivered_as == "prompt"
        await it.ends()
        assert it.text == ["Blue it is."]
        assert "> Which colour?" in str(it.api.requests[-1].messages)
