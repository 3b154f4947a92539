"""An agent of the Agent Client Protocol, as a real process under the guard."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.acp.helpers.scripted_stage import stage
from tests.agents.acp.helpers.sessions import Talk, opened, scripted
from turnwire.agents.acp import PRESETS, AcpAgent
from turnwire.agents.registry import UnknownAgent, chosen, make
from turnwire.core import events as ev
from turnwire.core.content import Content, FileContent, ImageContent, TextContent
from turnwire.core.controls import ContextUsage, ContextUsed, ListCommands, ListModels, McpStatus
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.core.usage import Usage
from turnwire.ports import AgentGone, AgentsBusy, SessionStart
from turnwire.testing import Prompts, check_agent
from turnwire.testing.agent_listener import processes_below_us, still_running

# A picture of one pixel.
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PROMPTS = Prompts(long="count", tool="tool", question="question", permission="permission")


def test_the_agent_keeps_the_promises_of_the_port(tmp_path: Path) -> None:
    report = asyncio.run(check_agent(lambda: scripted(tmp_path), PROMPTS, seconds=60))
    assert report.skipped == [
        "a question survives its process",
        *("a fork answers", "a session is handed over in pieces"),
        "a message goes into the running turn",
    ]
    assert report.notes == []


# --- turns ----------------------------------------------------------------------------------------


async def test_a_turn_has_text_thinking_a_plan_and_usage(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        assert await talk.turn("think, make a plan") == "Done."
        assert talk.first(ev.PlanUpdated) is not None
        summary = talk.first(ev.ResultSummary)
        assert summary is not None
        assert (summary.usage, summary.is_error) == (Usage(3, 4), False)
        init = talk.first(ev.SessionInit)
        assert init is not None
        assert (init.model, init.permission_mode) == ("small", "ask")
        assert (init.cwd, init.agent_version) == (str(tmp_path), "1.0")


async def test_a_failure_of_the_agent_fails_the_turn_and_the_next_one_works(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        await talk.turn("fail")
        failed = talk.first(ev.TurnFailed)
        assert failed is not None
        assert (failed.code, failed.message) == ("internal_error", "The model said no.")
        assert await talk.turn("hello") == "Done."


async def test_pictures_and_files_are_part_of_the_prompt(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        content: list[Content] = [
            TextContent("received"),
            ImageContent("image/png", "aGk="),
            ImageContent(url="https://example.org/a.png"),
            ImageContent(),
            FileContent("/a.txt"),
        ]
        await talk.session.prompt(content, turn_uuid="t")
        await talk.turn_ends(1)
        link = {"type": "resource_link"}
        assert json.loads(talk.text().removesuffix("Done.")) == [
            {"type": "text", "text": "received"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {**link, "uri": "https://example.org/a.png", "name": "https://example.org/a.png"},
            {"type": "text", "text": "[An image that is not available.]"},
            {**link, "uri": "file:///a.txt", "name": "/a.txt"},
        ]


async def test_a_picture_for_an_agent_that_takes_none_is_refused_with_the_next_step(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, env={"SCRIPTED_WITHOUT": "image"}) as it:
        picture: list[Content] = [TextContent("look"), ImageContent("image/png", PICTURE)]
        assert (await it.engine.capabilities_of(it.talk.row)).images  # no session has told yet
        end = await it.says(picture)
        assert end.error is not None
        assert (end.error.code, end.error.message) == (
            "no_pictures",
            "This agent takes no pictures. Send the message without them.",
        )
        assert not (await it.engine.capabilities_of(it.talk.row)).images
        assert not (await it.says("hello")).is_error
        said = json.loads((it.work / "sessions.json").read_text())
        assert said == {"session-1": ["hello"]}, "the agent never got a picture as text"


async def test_a_request_that_turnwire_does_not_know_is_refused(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        assert "Turnwire has no method _own/thing" in await talk.turn("unknown")
        unknown = talk.first(ev.UnknownEvent)
        assert unknown is not None
        assert unknown.original_type == "_own/thing"


async def test_an_agent_that_dies_ends_the_session_with_its_exit_code(tmp_path: Path) -> None:
    agent = scripted(tmp_path)
    session = await agent.open(SessionStart("talk"))
    try:
        await session.prompt([TextContent("crash")], turn_uuid="t")
        with pytest.raises(AgentGone, match="exit code 7"):
            async for _ in session.events():
                pass
        with pytest.raises(AgentGone):
            await session.prompt([TextContent("again")], turn_uuid="u")
    finally:
        await session.close()


# --- sessions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("without", ["", "resume"], ids=["resumed", "loaded"])
async def test_a_session_is_resumed_and_says_nothing_again(tmp_path: Path, without: str) -> None:
    agent = scripted(tmp_path, env={"SCRIPTED_WITHOUT": without})
    async with opened(agent) as talk:
        await talk.turn("hello")
        name = talk.session.native_session_id
    async with opened(agent, native_session_id=name) as talk:
        assert await talk.turn("again") == "Done."
        assert talk.session.native_session_id == name
    assert json.loads((tmp_path / "sessions.json").read_text()) == {name: ["hello", "again"]}


@pytest.mark.parametrize(
    ("without", "name"), [("resume load", "session-1"), ("", "gone")], ids=["unable", "forgotten"]
)
async def test_a_session_that_cannot_be_resumed_begins_anew_and_says_so(
    tmp_path: Path, without: str, name: str
) -> None:
    agent = scripted(tmp_path, env={"SCRIPTED_WITHOUT": without})
    async with opened(agent, native_session_id=name) as talk:
        await talk.turn("hello")
        news = [e for e in talk.events if isinstance(e, ev.SystemEvent)]
        assert news[0].subtype == "session_not_resumed"


async def test_a_session_of_a_sub_agent_does_not_take_the_conversation_over(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        name = talk.session.native_session_id
        assert await talk.turn("delegate") == "Done."
        assert talk.session.native_session_id == name
        used = await talk.session.control(ContextUsage())
        assert isinstance(used, ContextUsed)
        assert used.total_tokens == 0
        await talk.session.choose(model=None, permission_mode="code")
        assert await talk.turn("again") == "Done."
    assert json.loads((tmp_path / "sessions.json").read_text()) == {name: ["delegate", "again"]}


async def test_a_missing_login_is_an_error_that_says_how_to_log_in(tmp_path: Path) -> None:
    agent = scripted(tmp_path, env={"SCRIPTED_LOGIN": "1"})
    with pytest.raises(AgentGone, match=r"needs a login.*Log in \(Run `scripted login`\)"):
        await agent.open(SessionStart("talk"))
    able = scripted(tmp_path, env={"SCRIPTED_LOGIN": "1"}, auth_method="login")
    async with opened(able) as talk:
        assert await talk.turn("hello") == "Done."


@pytest.mark.parametrize("version", ["2", '"2025-06-18"'])
async def test_another_version_of_the_protocol_is_refused_with_both_versions(
    tmp_path: Path, version: str
) -> None:
    agent = scripted(tmp_path, env={"SCRIPTED_VERSION": version})
    with pytest.raises(AgentGone, match=r"speaks version '?2.* speaks version 1\. Install"):
        await agent.open(SessionStart("talk"))
    async with opened(scripted(tmp_path, env={"SCRIPTED_VERSION": "null"})) as talk:
        assert await talk.turn("hello") == "Done."


async def test_a_session_without_an_id_is_refused_with_the_next_step(tmp_path: Path) -> None:
    agent = scripted(tmp_path, env={"SCRIPTED_WITHOUT": "id"})
    with pytest.raises(AgentGone, match=r"session/new has no sessionId\. Update the agent"):
        await agent.open(SessionStart("talk"))


async def test_the_number_of_sessions_is_limited(tmp_path: Path) -> None:
    agent = scripted(tmp_path, max_sessions=1)
    async with opened(agent):
        with pytest.raises(AgentsBusy):
            await agent.open(SessionStart("other"))
    async with opened(agent) as talk:
        assert await talk.turn("hello") == "Done."


# --- permissions and questions --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decision", "always", "option"),
    [("allow", False, "yes"), ("allow", True, "ever"), ("deny", False, "no")],
)
async def test_a_decision_selects_the_option_of_the_agent(
    tmp_path: Path, decision: str, always: bool, option: str
) -> None:
    async with opened(scripted(tmp_path)) as talk:
        await talk.say("permission")
        asked = await talk.asked()
        assert (asked.title, asked.input) == ("Delete /x", {"path": "/x"})
        await talk.decide(decision, remember=asked.suggestions if always else [])
        await talk.turn_ends(1)
        (result,) = talk.results()
        assert (result.content, result.is_error) == (option, option == "no")


async def test_an_interrupt_cancels_an_open_permission(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        await talk.say("permission")
        await talk.asked()
        await talk.session.interrupt()
        await talk.turn_ends(1)
        end = talk.first(ev.TurnCompleted)
        assert end is not None
        assert end.interrupted


async def test_an_answer_fills_the_form(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        await talk.say("question")
        await talk.until(lambda: talk.first(ev.QuestionAsked) is not None, "a question")
        asked = talk.first(ev.QuestionAsked)
        assert asked is not None
        await talk.session.deliver([Reply(asked.request_id, "question", "large")], resumed=False)
        await talk.turn_ends(1)
        assert talk.text() == 'You said {"size": "large"}. Done.'
        assert talk.results()[0].content == "large"


async def test_a_late_answer_is_a_prompt(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        await talk.session.deliver([Reply("gone", "question", "large")], resumed=True)
        await talk.turn_ends(1)
    said = json.loads((tmp_path / "sessions.json").read_text())["session-1"]
    assert said == ["You had asked me something before you were interrupted. My answer: large"]


# --- files and terminals --------------------------------------------------------------------------


async def test_files_are_read_below_the_roots_only(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    async with opened(scripted(tmp_path)) as talk:
        assert await talk.turn("read") == '{"content": "two\\n"}Done.'
        assert "outside of the directories of this conversation" in await talk.turn("outside")


async def test_a_file_is_written_when_a_person_allows_it(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        await talk.say("write")
        asked = await talk.asked()
        assert asked.tool_name == "write_text_file"
        assert not (tmp_path / "out.txt").exists()
        await talk.decide("allow", remember=asked.suggestions)
        await talk.turn_ends(1)
        assert (tmp_path / "out.txt").read_text() == "written"
        await talk.turn("write again")  # allowed for the session: no second request
        assert len([e for e in talk.events if isinstance(e, ev.PermissionRequested)]) == 1


async def test_a_file_is_not_written_when_a_person_denies_it(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        await talk.say("write")
        await talk.decide("deny")
        await talk.turn_ends(1)
        assert "The person said no." in talk.text()
        assert talk.results()[0].is_error
        assert not (tmp_path / "out.txt").exists()


async def answered(talk: Talk, text: str) -> list[str]:
    """Runs a turn in which everything is allowed. Returns the tools that a person was asked for."""
    before, asked = talk.order.turns_ended, list[str]()
    await talk.say(text)
    while True:
        known = [each for each in talk.events if isinstance(each, ev.PermissionRequested)]
        for request in known[len(asked) :]:
            asked.append(request.tool_name)
            reply = Reply(request.request_id, "permission", decision="allow")
            await talk.session.deliver([reply], resumed=False)
        if talk.order.turns_ended > before:
            return asked
        count = len(talk.events)
        await talk.until(lambda: len(talk.events) > count, "more events")  # noqa: B023


async def test_the_permission_of_one_call_allows_no_other_write_and_no_command(
    tmp_path: Path,
) -> None:
    async with opened(scripted(tmp_path)) as talk:
        assert await answered(talk, "borrow") == ["Look", "write_text_file", "terminal"]


async def test_an_edit_that_a_person_has_allowed_is_written_once_and_by_its_own_call(
    tmp_path: Path,
) -> None:
    async with opened(scripted(tmp_path)) as talk:
        # The first write is that of its call. The call of the others has ended before them.
        tools = ["edit", "edit", "write_text_file", "write_text_file"]
        assert await answered(talk, "revise") == tools


async def test_a_command_that_a_person_has_allowed_runs_once(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        assert await answered(talk, "outright") == ["execute", "terminal", "terminal"]
        assert (tmp_path / "b.txt").exists()


async def test_always_allows_the_same_command_again_and_no_other_one(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        await talk.say("outright")
        asked = await talk.asked()
        await talk.decide("allow", remember=asked.suggestions)
        requests: list[ev.PermissionRequested] = []

        def second() -> bool:
            found = (each for each in talk.events if isinstance(each, ev.PermissionRequested))
            requests[:] = [each for each in found if each.request_id != asked.request_id]
            return bool(requests)

        await talk.until(second, "the question about another command")
        assert requests[0].input["command"] == "touch b.txt"
        deny = Reply(requests[0].request_id, "permission", decision="deny")
        await talk.session.deliver([deny], resumed=False)
        await talk.turn_ends(1)
        assert (tmp_path / "a.txt").exists()
        assert not (tmp_path / "b.txt").exists()


async def test_a_command_runs_in_a_terminal_and_its_output_is_the_result(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        await talk.say("terminal")
        await talk.decide("allow")
        await talk.turn_ends(1)
        assert '{"exitCode": 3, "signal": null}' in talk.text()
        assert '"output": "out\\nerr\\n"' in talk.text()
        assert "There is no terminal" in talk.text()


async def test_no_command_outlives_its_session(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        await talk.say("sleeper")
        await talk.decide("allow")
        await talk.until(lambda: any(_sleeps(talk.events)), "the command")
        ours = {p for p in processes_below_us() if p.name == "sleep"}
        assert ours
    assert await still_running(ours, 10) == []


def _sleeps(events: list[ev.NormalizedStreamEvent]) -> list[bool]:
    return [True for e in events if isinstance(e, ev.ContentDelta) and "Sleeps" in e.text]


# --- settings -------------------------------------------------------------------------------------


async def test_the_model_and_the_mode_can_be_changed(tmp_path: Path) -> None:
    agent = scripted(tmp_path)
    async with opened(agent, model="large", permission_mode="code") as talk:
        await talk.turn("hello")
        await talk.session.choose(model="small", permission_mode="odd")
        await talk.until(lambda: talk.first(ev.ChoiceRefused) is not None, "the refusal")
        refused = talk.first(ev.ChoiceRefused)
        assert refused is not None
        assert refused.wanted == ev.Choice(permission_mode="odd")
        assert refused.stays == ev.Choice("large", "code")
    bare = scripted(tmp_path, env={"SCRIPTED_WITHOUT": "modes"})
    async with opened(bare) as talk:
        await talk.session.choose(model="large", permission_mode=None)
        await talk.until(lambda: talk.first(ev.ChoiceRefused) is not None, "the refusal")


async def test_controls_list_models_commands_and_the_context(tmp_path: Path) -> None:
    async with opened(scripted(tmp_path)) as talk:
        await talk.turn("commands")
        models = await talk.session.control(ListModels())
        assert "large" in str(models)
        assert "init" in str(await talk.session.control(ListCommands()))
        used = await talk.session.control(ContextUsage())
        assert isinstance(used, ContextUsed)
        assert (used.total_tokens, used.max_tokens, used.percentage) == (50, 200, 25.0)
        with pytest.raises(Refused):
            await talk.session.control(McpStatus())


# --- making agents --------------------------------------------------------------------------------


def test_an_agent_of_the_settings_has_its_name() -> None:
    agents, default = chosen([], "demo", {"mine": {"command": ["sh", "-c", "true"]}})
    assert isinstance(agents["mine"], AcpAgent)
    assert default == "demo"


def test_a_program_that_is_missing_is_said_with_the_next_step() -> None:
    agent = AcpAgent("mine", ["no-such-program-here"])
    assert "is not installed. Install it" in str(agent.unavailable())
    with pytest.raises(AgentGone, match="is not installed"):
        asyncio.run(agent.open(SessionStart("talk")))


def test_presets_are_made_by_name_and_other_names_need_a_command() -> None:
    for name in PRESETS:
        assert make(name).name == name
    with pytest.raises(ValueError, match="needs a command"):
        AcpAgent("mine")
    with pytest.raises(UnknownAgent):
        make("mine")


@pytest.mark.parametrize(
    ("command", "said"), [([1, 2], "have to be texts"), (["", ""], "has no program")]
)
def test_a_command_that_cannot_be_run_is_refused(command: list[Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AcpAgent("mine", command)
    with pytest.raises(ValueError, match="models is the text 'm'"):
        AcpAgent("mine", ["sh"], models="m")


def test_keys_that_commands_can_read_are_said() -> None:
    agent = AcpAgent("mine", ["sh"], env={"MODEL_API_KEY": None})
    assert "MODEL_API_KEY" in str(agent.exposed_credential())
    assert AcpAgent("mine", ["sh"]).exposed_credential() is None
