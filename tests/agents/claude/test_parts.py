"""Parts of the Claude agent that need no program: questions, prompts, failures, installation, options."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turnwire.agents.claude.agent import ClaudeAgent
from turnwire.agents.claude.options import sdk_options
from turnwire.agents.claude.options.bounds import bounds_of
from turnwire.agents.claude.options.mcp_toggles import Switches
from turnwire.agents.claude.process import installation
from turnwire.agents.claude.process.control_runner import run_control
from turnwire.agents.claude.process.transport import Recorder
from turnwire.agents.claude.questions import question_tools
from turnwire.agents.claude.questions.gate import Gate
from turnwire.agents.claude.questions.one_at_a_time import SecondQuestions
from turnwire.agents.claude.questions.question_machine import Answer, Question
from turnwire.agents.claude.turn.failures import explain, is_hopeless
from turnwire.agents.claude.turn.prompts import NotShown, prompt_line, prompt_uuid
from turnwire.core import controls
from turnwire.core.blocks import ToolResultBlock, ToolUseBlock
from turnwire.core.content import (
    Blob,
    Content,
    FileContent,
    ImageContent,
    LoadedFile,
    OtherContent,
    TextContent,
)
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.core.events import (
    AssistantMessage,
    SystemEvent,
    TurnCompleted,
    TurnFailed,
    UserMessage,
)
from turnwire.dialects.claude import answers
from turnwire.ports import AgentGone, SessionStart

ASKED = {"questions": [{"question": "Which?"}, {"question": "When?"}]}


def answered(answer: Any, call: str = "q") -> Reply:
    return Reply(call, "question", answer)


# --- questions ----------------------------------------------------------------------------------


def called(call: str, tool: str = "AskUserQuestion", voice: str | None = None) -> AssistantMessage:
    block = ToolUseBlock(call, tool, "CLAUDE", ASKED, "completed")
    return AssistantMessage("claude", "s", voice, None, "m", 0, [block])


def test_a_second_question_is_published_when_the_gate_has_decided() -> None:
    question = Question()
    second = SecondQuestions(question)
    first, later, work = called("q1"), called("q2"), called("t", "Bash")
    assert second.follow(first) == [first]
    assert second.is_open
    assert second.follow(first) == [first], "it may be told again"
    assert second.follow(work) == [work]
    assert second.follow(later) == []
    result = UserMessage(
        "claude", "s", None, None, [ToolResultBlock("q1", "x", False, "completed")], "tool"
    )
    assert second.follow(result) == [result]
    assert question.ask("q2", is_own=True) == ("show", None), "the first one has its answer"
    assert second.admit("q2") == [later]
    assert second.admit("q2") == second.refuse("q2") == []
    helper = called("q3", voice="t")
    assert second.follow(helper) == []
    end = TurnCompleted("claude", "s", None, None)
    assert not question.end_turn(is_done=True)
    [news, told] = second.follow(end)
    assert isinstance(news, SystemEvent)
    assert (news.subtype, told) == ("question_refused", end)
    assert second.follow(helper) == [helper], "no other question is open any more"
    assert not second.is_open, "a sub-agent does not keep others from asking"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"Which?": "this", "When?": ["now", "later"]}, {"Which?": "this", "When?": "now, later"}),
        ({"Which?": "this"}, {"Which?": "this", "When?": "(not answered)"}),
        ({"Which?": "", "When?": []}, {"Which?": "", "When?": ""}),
        ("whatever you like", {"Which?": "whatever you like", "When?": "whatever you like"}),
        ({"Which?": True, "When?": 3}, {"Which?": "true", "When?": "3"}),
    ],
)
def test_answers_go_by_the_text_of_their_question(answer: Any, told: dict[str, str]) -> None:
    output = question_tools.allow(answered(answer), ASKED)["hookSpecificOutput"]
    assert output["permissionDecision"] == "allow"
    assert output["updatedInput"] == {**ASKED, "answers": told}


def test_a_question_of_ours_is_let_through_as_it_is() -> None:
    output = question_tools.allow(answered("this"), {"question": "Which?"})["hookSpecificOutput"]
    assert "updatedInput" not in output


def call(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def test_the_server_with_the_question_tool_lists_it() -> None:
    about = question_tools.answer_call(call("initialize", protocolVersion="2030-01-01"), {}, [])
    assert about["result"]["protocolVersion"] == "2030-01-01"
    [tool] = question_tools.answer_call(call("tools/list"), {}, [])["result"]["tools"]
    assert tool["name"] == "request_input"
    assert question_tools.answer_call(call("ping"), {}, [])["result"] == {}
    assert "There is no resources/list" in str(
        question_tools.answer_call(call("resources/list"), {}, [])
    )
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert question_tools.answer_call(initialized, {}, []) == {"jsonrpc": "2.0", "result": {}}
    assert question_tools.answer_call("nonsense", {}, []) == {"jsonrpc": "2.0", "result": {}}


def test_the_tool_gives_back_the_answer_that_the_gate_has_let_through() -> None:
    asked = call("tools/call", name="request_input", _meta={"claudecode/toolUseId": "q"})
    answers = {"q": answered({"answer": "this"})}
    result = question_tools.answer_call(asked, answers, [])["result"]
    assert result == {"content": [{"type": "text", "text": "this"}], "isError": False}
    assert question_tools.answer_call(asked, answers, [])["result"]["isError"], "once"


async def test_a_call_without_an_answer_in_time_is_deferred() -> None:
    assert await Gate(0.0).wait("q", can_defer=True) is None


async def test_a_question_waits_as_long_as_something_works_in_the_background() -> None:
    gate = Gate(0.0)
    gate.set_background(working=True)
    waiting = asyncio.create_task(gate.wait("q", can_defer=True))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    gate.set_background(working=False)
    assert await waiting is None


async def test_the_first_answer_is_the_answer() -> None:
    gate = Gate(60.0)
    waiting = asyncio.create_task(gate.wait("q", can_defer=False))
    await asyncio.sleep(0)
    gate.give(Answer(answered("this")))
    gate.give(Answer(answered("that")))
    assert await waiting == Answer(answered("this"))


# --- prompts ------------------------------------------------------------------------------------


def content_of(*content: Content) -> Any:
    return msgspec.json.decode(prompt_line(content, "name"))["message"]["content"]


def test_a_prompt_is_encoded_as_the_program_reads_it() -> None:
    assert content_of(TextContent("hi")) == "hi"
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    linked = {"type": "url", "url": "https://example.org/a.png"}
    assert content_of(
        TextContent("look"),
        ImageContent("image/png", "AAAA"),
        ImageContent(url="https://example.org/a.png"),
        FileContent("notes.txt"),
        LoadedFile("report.pdf", "application/pdf", data="AAAA"),
    ) == [
        {"type": "text", "text": "look"},
        {"type": "image", "source": source},
        {"type": "image", "source": linked},
        {"type": "text", "text": "The file notes.txt"},
        {
            "type": "document",
            "source": {**source, "media_type": "application/pdf"},
            "title": "report.pdf",
        },
    ]
    assert "hologram" in content_of(TextContent("a"), OtherContent("hologram", {}))[1]["text"]
    with pytest.raises(NotShown, match=r"at most 5 MB"):
        content_of(ImageContent("image/png", "A" * 6_000_000))
    with pytest.raises(NotShown, match="Send it again"):
        content_of(ImageContent(blob=Blob("gone")))


@pytest.mark.parametrize("then", [AgentGone("It has left."), Refused("AGENT_ERROR"), ["b"]])
async def test_restored_files_are_reported_even_if_the_check_afterwards_fails(
    then: Exception | list[str],
) -> None:
    answers_to_come: deque[Any] = deque([["a", "b"], [], then])

    async def send(request: dict[str, Any]) -> Any:
        files = answers_to_come.popleft()
        if isinstance(files, Exception):
            raise files
        return {"canRewind": True, "filesChanged": files}

    about, switches = answers.InitializeAnswer(), Switches([], [])
    asked = controls.RewindFiles(2, "talk:1")
    done = await run_control(asked, send, about, switches=switches, models=[])
    failed = then if isinstance(then, list) else []
    put_back = [file for file in ("a", "b") if file not in failed]
    assert done == controls.Rewound(put_back, failed)
    assert not answers_to_come, "it was asked before and behind"


def test_the_same_turn_has_the_same_name() -> None:
    assert prompt_uuid("talk:1") == prompt_uuid("talk:1") != prompt_uuid("talk:2")


# --- failures -----------------------------------------------------------------------------------


def failed(code: str) -> TurnFailed:
    return TurnFailed("claude", "s", None, None, code, "It failed.")


@pytest.mark.parametrize(
    ("code", "cause", "status", "expected"),
    [
        ("api_error", "rate_limit", 429, "rate_limit"),
        ("api_error", "server_error", 529, "overloaded"),
        ("api_error", "server_error", 500, "server_error"),
        ("api_error", "unknown", 400, "invalid_request"),
        ("api_error", None, None, "api_error"),
        ("max_turns", "rate_limit", None, "max_turns"),
    ],
)
def test_a_failure_has_its_cause_for_a_code(
    code: str, cause: str | None, status: int | None, expected: str
) -> None:
    assert explain(failed(code), cause, status).code == expected


def test_a_failure_says_what_to_do() -> None:
    assert (
        explain(failed("max_turns"), None).message == "It failed. Say `go on`, or raise max_turns."
    )
    assert explain(failed("strange"), None).message == "It failed."
    assert is_hopeless("authentication_failed")
    assert not is_hopeless("overloaded")


# --- installation and credentials ---------------------------------------------------------------


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment whose home has no login."""
    for name in (*installation.CREDENTIALS, *installation.CLOUDS):
        monkeypatch.delenv(name, raising=False)
    return {"HOME": str(tmp_path)}


def test_a_missing_part_of_the_install_is_named_with_advice(
    nowhere: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Set ANTHROPIC_API_KEY" in (ClaudeAgent(env=nowhere).unavailable() or "")
    assert "/no/claude does not exist" in (installation.missing(nowhere, "/no/claude") or "")
    home = Path(nowhere["HOME"])
    assert f"{home} is a directory: cli_path" in (installation.missing(nowhere, str(home)) or "")
    (home / "claude").write_text("")
    assert "is not an executable file" in (
        installation.missing(nowhere, str(home / "claude")) or ""
    )
    monkeypatch.setattr(installation, "_sdk", lambda: None)
    assert f"Install it: {installation.how_to_install()}" in (
        installation.missing(nowhere, None) or ""
    )


def test_how_it_is_installed_depends_on_where_turnwire_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = Path(__file__).parents[3]
    monkeypatch.setattr(sys, "prefix", str(clone / ".venv"))
    monkeypatch.chdir(clone)
    assert installation.how_to_install() == "make claude"
    monkeypatch.chdir(tmp_path)
    assert installation.how_to_install() == f"make -C {clone} claude"
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert installation.how_to_install() == "pip install 'turnwire[claude]'"


@pytest.mark.parametrize("name", [*installation.CREDENTIALS, *installation.CLOUDS])
def test_a_credential_in_the_environment_is_found(nowhere: dict[str, str], name: str) -> None:
    assert ClaudeAgent(env={**nowhere, name: "1"}).unavailable() is None
    assert ClaudeAgent({"env": {name: "1"}}, env=nowhere).unavailable() is None


@pytest.mark.parametrize("name", installation.CLOUDS)
def test_a_cloud_that_is_switched_off_is_no_credential(nowhere: dict[str, str], name: str) -> None:
    assert ClaudeAgent(env={**nowhere, name: "0"}).unavailable()


def test_the_program_may_be_named_in_the_options_as_well(nowhere: dict[str, str]) -> None:
    assert "/no/claude does not exist" in (
        ClaudeAgent({"cli_path": "/no/claude"}).unavailable() or ""
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".claude/.credentials.json", "{}"),
        (".claude.json", '{"oauthAccount": {}}'),
        (".claude/settings.json", '{"apiKeyHelper": "key.sh"}'),
    ],
)
def test_a_credential_in_a_file_is_found(
    nowhere: dict[str, str], tmp_path: Path, path: str, text: str
) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / path).write_text(text)
    assert ClaudeAgent(env=nowhere).unavailable() is None


def test_the_keys_of_a_cloud_only_where_that_cloud_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "another")
    monkeypatch.delenv("CLAUDE_CODE_USE_BEDROCK", raising=False)
    assert (
        installation.environment({}, {})
        .keys()
        .isdisjoint({"AWS_SECRET_ACCESS_KEY", "CLAUDE_CODE_SESSION_ID"})
    )
    used = installation.environment({}, {"CLAUDE_CODE_USE_BEDROCK": "1"})
    assert used["AWS_SECRET_ACCESS_KEY"] == "secret"


def test_names_are_allowed_whole_unless_they_are_beginnings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_CONFIG_DIR_OF_ANOTHER", "MCP_TIMEOUT_KEY"):
        monkeypatch.setenv(name, "x")
    seen = installation.environment({}, {})
    assert "CLAUDE_CONFIG_DIR" in seen
    assert seen.keys().isdisjoint({"CLAUDE_CONFIG_DIR_OF_ANOTHER", "MCP_TIMEOUT_KEY"})


# --- options ------------------------------------------------------------------------------------


def test_a_conversation_has_some_options_of_its_own() -> None:
    made = sdk_options.sdk_options({"max_turns": 3})
    start = SessionStart("c", "session", "/workspace", "opus", "plan", {"max_turns": 2})
    own = sdk_options.own_options(made, start, bounds_of())
    assert (own.max_turns, own.model, own.resume, own.permission_mode) == (
        2,
        "opus",
        "session",
        "plan",
    )
    assert made.max_turns == 3
    with pytest.raises(AgentGone, match="no option 'env' for a conversation"):
        sdk_options.own_options(
            made, SessionStart("c", options={"env": {"PATH": "/evil"}}), bounds_of()
        )


def test_options_that_are_turnwires_own_are_refused() -> None:
    with pytest.raises(ValueError, match="leave out can_use_tool"):
        sdk_options.sdk_options({"can_use_tool": print})
    with pytest.raises(ValueError, match="turnwire is Turnwire's own"):
        sdk_options.sdk_options({"mcp_servers": {"turnwire": {"command": "x"}}})
    with pytest.raises(ValueError, match="mcp_servers as a dict"):
        sdk_options.sdk_options({"mcp_servers": "servers.json"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("continue_conversation", True),
        ("resume", "another"),
        ("session_id", "mine"),
        ("fork_session", True),
        ("stderr", print),
        ("user", "other"),
        ("max_buffer_size", 7),
        ("verbatim_prompts", True),
        ("client_app", "mine/1"),
    ],
)
def test_options_that_would_do_nothing_or_harm_are_refused(name: str, value: Any) -> None:
    from claude_agent_sdk import ClaudeAgentOptions

    for given in ({name: value}, ClaudeAgentOptions(**{name: value})):
        with pytest.raises(ValueError, match=f"leave out {name}"):
            sdk_options.sdk_options(given)


def test_the_command_line_contains_the_options() -> None:
    made = sdk_options.own_options(
        sdk_options.sdk_options({"max_turns": 3, "mcp_servers": {"mine": {"command": "x"}}}),
        SessionStart("c", "-session"),
        bounds_of(),
    )

    async def hook(*_: Any) -> dict[str, Any]:
        return {}

    told = sdk_options.program_options(made, "/bin/claude", hook)
    assert told.command[0] == "/bin/claude"
    assert "--resume=-session" in told.command
    assert told.command[told.command.index("--permission-prompt-tool") + 1] == "stdio"
    assert told.command[told.command.index("--mcp-config") + 1] == sdk_options.MCP_CONFIG
    servers = msgspec.json.decode(told.mcp_config)
    assert servers["mcpServers"].keys() == {"mine", "turnwire"}
    assert told.client.mcp_servers.keys() == {"mine"}, "the SDK has nothing to do with ours"
    assert told.client.hooks["PreToolUse"][0].hooks == [hook]


@pytest.mark.parametrize("place", ["/dev/full", "/dev/null/no/folder"])
def test_a_record_that_cannot_be_written_ends_and_breaks_nothing(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder(Path(place))
    for _ in range(3):
        recorder.note("in", [b"{}"])
    recorder.close()
    [warning] = caplog.messages
    assert f"{place} cannot be written, the recording ends" in warning


def test_an_untested_version_of_the_sdk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from claude_agent_sdk._internal.transport import subprocess_cli

    monkeypatch.delattr(subprocess_cli.SubprocessCLITransport, "_build_command")
    made = sdk_options.own_options(sdk_options.sdk_options(None), SessionStart("c"), bounds_of())
    with pytest.raises(AgentGone, match="too new or too old"):
        sdk_options.program_options(made, "/bin/claude", None)
