"""The parts of the agent `codex` that need no program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turnwire.agents.codex import CodexAgent, CodexOptions, installation
from turnwire.agents.codex.app_server import RequestFailed
from turnwire.agents.codex.commands import command_in
from turnwire.agents.codex.prompts import answer_prompt, input_of
from turnwire.agents.codex.rollout import questions_in
from turnwire.agents.codex.settings import Settings, split_model
from turnwire.core.content import FileContent, ImageContent, TextContent
from turnwire.core.error_codes import Refused
from turnwire.ports import AgentGone, SessionStart

QUESTION = {"id": "colour", "question": "Which colour?"}


def test_options_are_checked_by_their_names() -> None:
    agent = CodexAgent({"effort": "high"})
    assert agent.check_options({"effort": "low"}) == {"effort": "low"}
    with pytest.raises(Refused, match=r"no option 'efforts'. Did you mean effort\?"):
        agent.check_options({"efforts": "low"})
    with pytest.raises(Refused, match="cannot use these options"):
        agent.check_options({"effort": 3})
    with pytest.raises(ValueError, match="no option"):
        CodexAgent({"nonsense": 1})
    with pytest.raises(ValueError, match="no permission mode 'wild'"):
        CodexAgent(permission_modes=["wild"])


@pytest.mark.parametrize("name", ["models", "permission_modes"])
def test_a_text_is_no_list_of_choices(name: str) -> None:
    given: dict[str, Any] = {name: "read-only"}
    with pytest.raises(ValueError, match=rf"{name} is the text 'read-only'. Give a list"):
        CodexAgent(**given)


def test_a_mode_without_a_sandbox_is_for_the_owner() -> None:
    able = CodexAgent(models=["gpt-5.5/high"]).capabilities
    assert able.models == ["default", "gpt-5.5/high"]
    assert "full-access" not in able.permission_modes
    assert able.owner_permission_modes == ["full-access"]
    narrow = CodexAgent(permission_modes=["read-only"]).capabilities
    assert (narrow.permission_modes, narrow.owner_permission_modes) == (["read-only"], [])


def test_codex_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    env = {"CODEX_HOME": str(tmp_path)}
    found = CodexAgent(env=env, codex_path=str(program))
    assert "There is no credential for Codex" in str(found.unavailable())
    key = {**env, "OPENAI_API_KEY": "sk"}
    assert CodexAgent(env=key, codex_path=str(program)).unavailable() is None
    (tmp_path / "config.toml").write_text("[model_providers.local]\n")
    assert found.unavailable() is None
    lost = CodexAgent(env=key, codex_path=str(tmp_path / "nowhere"))
    assert "is not a program" in str(lost.unavailable())
    monkeypatch.setattr(installation, "_wheel", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert "pip install 'turnwire[codex]'" in str(CodexAgent(env=key).unavailable())


def test_only_variables_for_codex_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk")
    monkeypatch.setenv("DATABASE_PASSWORD", "secret")
    found = installation.environment({"HOME": "/h"}, {"MINE": "1"})
    assert found["OPENAI_API_KEY"] == "sk"
    assert "DATABASE_PASSWORD" not in found
    assert installation.codex_home(found) == Path("/h/.codex")


async def test_a_program_that_cannot_be_started_is_gone(tmp_path: Path) -> None:
    agent = CodexAgent(codex_path=str(tmp_path / "nowhere"), roots=[tmp_path])
    with pytest.raises(AgentGone, match="is not a program"):
        await agent.open(SessionStart("talk"))
    with pytest.raises(AgentGone, match="no permission mode"):
        await agent.open(SessionStart("talk", permission_mode="wild"))


async def test_a_program_that_is_no_codex_is_gone(tmp_path: Path) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\necho oops >&2\nexit 3\n")
    program.chmod(0o755)
    agent = CodexAgent(codex_path=str(program), env={"CODEX_HOME": str(tmp_path)})
    with pytest.raises(AgentGone):
        await agent.open(SessionStart("talk", cwd=str(tmp_path)))


def test_a_message_becomes_input() -> None:
    content: list[Any] = [
        TextContent("hi"),
        ImageContent("image/png", "aGk="),
        ImageContent("image/png", url="http://a"),
        ImageContent("image/png"),
        FileContent("/a.txt"),
    ]
    text, inline, link, gone, file = input_of(content)
    assert (text["text"], inline["url"]) == ("hi", "data:image/png;base64,aGk=")
    assert link["url"] == "http://a"
    assert "cannot be shown" in gone["text"]
    assert file["text"] == "The file /a.txt"


def test_a_late_answer_quotes_its_question() -> None:
    said = answer_prompt([([QUESTION], {"Which colour?": "Blue"})])
    assert said.splitlines()[1:] == ["> Which colour?", "Blue"]
    assert answer_prompt([([QUESTION], "Blue")]).endswith("Blue")
    assert answer_prompt([([QUESTION], {})]).endswith("(no answer)")
    assert answer_prompt([([QUESTION], "Blue"), ([], "Large")]).endswith("Large")
    assert "My answer: Blue" in answer_prompt([([], "Blue")])
    assert "I do not answer" in answer_prompt([])


def test_questions_are_found_in_the_record_of_a_thread(tmp_path: Path) -> None:
    arguments = json.dumps({"questions": [QUESTION, 3]})
    call = {"type": "function_call", "call_id": "call_1", "arguments": arguments}
    lines = [
        json.dumps({"payload": call}),
        json.dumps({"payload": {**call, "arguments": "{call_1"}}),
        json.dumps({"payload": {**call, "arguments": '{"questions": 3}'}}),
        json.dumps({"payload": {"call_id": "call_10"}}),
        '{"call_1": oops',
    ]
    record = tmp_path / "rollout.jsonl"
    record.write_text("\n".join(lines))
    assert questions_in(str(record), "call_1") == [QUESTION]
    assert questions_in(str(record), "call_2") == []
    assert questions_in(str(tmp_path / "nothing"), "call_1") == []
    assert questions_in(None, "call_1") == []


def test_a_model_may_be_followed_by_an_effort() -> None:
    assert split_model("gpt-5.5/high") == ("gpt-5.5", "high")
    assert split_model("openai/gpt-5") == ("openai/gpt-5", None)
    assert split_model("openai/gpt-5/xhigh") == ("openai/gpt-5", "xhigh")
    assert split_model("default/low") == (None, "low")
    assert split_model("high") == ("high", None)
    assert split_model("default") == split_model(None) == (None, None)
    settings = Settings("/w", "gpt-5.5/high", "read-only", CodexOptions(instructions="Be kind."))
    given = settings.for_thread()
    assert (given["model"], given["config"]) == ("gpt-5.5", {"model_reasoning_effort": "high"})
    assert (given["approvalPolicy"], given["sandbox"]) == ("on-request", "read-only")
    assert settings.changed("model") == {"model": "gpt-5.5", "effort": "high"}
    assert settings.name_of("gpt-5.5", "high") == "gpt-5.5/high"
    assert settings.name_of("gpt-5.5", "odd") == settings.name_of("gpt-5.5", None) == "gpt-5.5"
    settings.choose("permission_mode", "default")
    assert settings.changed("permission_mode")["sandboxPolicy"] == {"type": "workspaceWrite"}
    settings.choose("model", "default")
    with pytest.raises(RequestFailed, match="which model is its default"):
        settings.changed("model")


def test_only_known_slash_commands_are_commands() -> None:
    review = command_in([TextContent("/review the tests")])
    assert review is not None
    assert review.params["target"] == {"type": "custom", "instructions": "the tests"}
    plain = command_in([TextContent("/review")])
    assert plain is not None
    assert plain.params["target"] == {"type": "uncommittedChanges"}
    since = command_in([TextContent("/review --base main")])
    assert since is not None
    assert since.params["target"] == {"type": "baseBranch", "branch": "main"}
    commit = command_in([TextContent("/review --commit 1a2b3c")])
    assert commit is not None
    assert commit.params["target"] == {"type": "commit", "sha": "1a2b3c"}
    assert command_in([TextContent("/compact")]) is not None
    assert command_in([TextContent("/dance")]) is None
    assert command_in([TextContent("hi"), TextContent("/compact")]) is None
