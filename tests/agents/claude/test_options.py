"""Options of a conversation with Claude: they narrow those of the agent, and each has its allowed users."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.agents.claude.helpers.real_claude import stage
from turnwire.agents.claude import ClaudeAgent, ClaudeOptions, StdioServer, ToolServer
from turnwire.agents.claude.extensions.hooks import HookCall, hook
from turnwire.agents.claude.extensions.servers import read_servers
from turnwire.agents.claude.extensions.tools import tool
from turnwire.agents.claude.options import types as o
from turnwire.agents.claude.options.bounds import bounds_of
from turnwire.agents.claude.options.sdk_options import own_options, program_options, sdk_options
from turnwire.agents.claude.options.validation import narrowed, read_options
from turnwire.agents.claude.questions.permissions import Permissions
from turnwire.agents.registry import UnknownAgent, chosen
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.dialects import claude
from turnwire.ports import AgentGone, ChecksOptions, SessionStart
from turnwire.testing.model_api import claude_environment

SCHEMA = {"type": "json_schema", "schema": {"type": "object"}}


@hook("PreToolUse", optional=True)
def careful(call: HookCall) -> None:
    pass


@hook("PreToolUse")
def always(call: HookCall) -> None:
    pass


def agent(**more: Any) -> ClaudeAgent:
    servers = {"docs": StdioServer(command="docs", optional=True)}
    return ClaudeAgent(hooks=[careful, always], mcp_servers=servers, **more)


def test_every_option_says_who_may_choose_it() -> None:
    everyone = [*o.FOR_ANYONE, *o.FOR_OWNER, *o.FOR_PROGRAMS]
    assert everyone == list(ClaudeOptions.__struct_fields__)
    able = agent().capabilities
    assert (able.options, able.owner_options) == (o.FOR_ANYONE, o.FOR_OWNER)
    assert {"env", "cli_path", "settings", "plugins"}.isdisjoint(everyone)


def test_options_are_the_same_typed_and_written_down() -> None:
    typed = ClaudeOptions(
        system_prompt=o.PresetPrompt(append="Be brief."),
        agents={"counter": o.HelperDefinition(description="d", prompt="p", max_turns=3)},
        output_format=o.JsonSchema(schema={"type": "object"}),
        thinking=o.Enabled(budget_tokens=2000),
        sandbox=o.Sandbox(enabled=True, network=o.SandboxNetwork(allowed_domains=["example.com"])),
        hooks=["careful"],
        mcp_servers=["docs"],
    )
    written = {
        "system_prompt": {"type": "preset", "append": "Be brief."},
        "agents": {"counter": {"description": "d", "prompt": "p", "maxTurns": 3}},
        "output_format": SCHEMA,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "sandbox": {"enabled": True, "network": {"allowedDomains": ["example.com"]}},
        "hooks": ["careful"],
        "mcp_servers": ["docs"],
    }
    made = agent()
    assert isinstance(made, ChecksOptions)
    assert made.check_options(typed) == written
    assert made.check_options(written) == written, "a log gives them back as they were"
    assert made.check_options({}) == {}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            {"env": {"PATH": "/evil"}},
            r"no option 'env' .*; it has: add_dirs, agents, allowed_tools",
        ),
        ({"cli_path": "/evil"}, "no option 'cli_path'"),
        ({"model": "opus"}, "pass it outside of `options`"),
        ({"max_turns": 0}, r"`int` >= 1 - at `\$.max_turns`"),
        ({"effort": "huge"}, "'huge'"),
        ({"system_prompt": {"type": "file", "path": "/etc/passwd"}}, "'file'"),
        ({"agents": {"a": {"description": "d"}}}, "missing required field `prompt`"),
        ({"agents": {"a": {"description": "d", "prompt": "p", "mcpServers": [{}]}}}, "mcpServers"),
        (
            {"agents": {"a": {"description": "d", "prompt": "p", "mcpServers": ["x"]}}},
            "Unknown MCP server 'x'",
        ),
        ({"mcp_servers": {"x": {"command": "rm"}}}, "mcp_servers"),
        ({"mcp_servers": ["x"]}, "Unknown MCP server 'x'; known: docs"),
        ({"hooks": ["os:system"]}, "Unknown hook 'os:system'; known: always, careful"),
        ({"hooks": [7]}, "7 is not a hook"),
        ({"extra_args": {"dangerously-skip-permissions": None}}, "may have: autocompact"),
        ({"allowed_tools": ["--settings"]}, "'--settings' is not a valid name"),
        ({"fallback_model": "--settings"}, "'--settings' is not a valid name"),
        ({"output_format": {"type": "text"}}, "'text'"),
        (["x"], "not a mapping"),
    ],
)
def test_an_unknown_choice_is_refused_with_the_known_ones(given: Any, why: str) -> None:
    with pytest.raises(Refused, match=why) as refused:
        agent().check_options(given)
    assert refused.value.code == "INVALID_PAYLOAD"


def test_each_user_gets_the_permission_modes_that_are_allowed() -> None:
    free = ["bypassPermissions"]
    usual = [mode for mode in o.MODES if mode not in free]
    for given, anyone, owner in (
        ({}, usual, free),
        ({"options": {"permission_mode": "plan"}}, usual, free),
        ({"options": {"permission_mode": "bypassPermissions"}}, o.MODES, []),
        ({"options": {"permission_mode": "dontAsk"}}, ["dontAsk"], [*usual[:3], *free]),
        ({"permission_modes": ["plan"]}, ["plan", "default"], []),
        ({"permission_modes": ["default", *free]}, ["default", *free], []),
    ):
        able = agent(**given).capabilities
        assert (able.permission_modes, able.owner_permission_modes) == (anyone, owner), given
    with pytest.raises(ValueError, match="Unknown permission mode 'free'; known: default"):
        agent(permission_modes=["free"])


def test_no_process_is_started_in_an_unknown_mode() -> None:
    made = sdk_options({"permission_mode": "plan"})
    asked = SessionStart("c", permission_mode="bypassPermissions")
    for bounds, mode in (
        (bounds_of(mode="plan"), "bypassPermissions"),  # the owner has chosen it
        (bounds_of(mode="plan", modes=["default"]), "plan"),  # the log is older than this rule
    ):
        assert own_options(made, asked, bounds).permission_mode == mode
    helper = {"description": "d", "prompt": "p", "permissionMode": "bypassPermissions"}
    with pytest.raises(Refused, match="'a' may not use the permission mode 'bypassPermissions'"):
        agent().check_options({"agents": {"a": helper}})
    listed = agent(permission_modes=["bypassPermissions"])
    assert listed.check_options({"agents": {"a": helper}})


def test_no_decision_leads_into_an_unknown_mode() -> None:
    permissions = Permissions(["default", "acceptEdits"])
    line = {"type": "control_request", "request_id": "r"}
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}
    permissions.hear(claude.decode(msgspec.json.encode({**line, "request": asked})).message)
    modes = [{"type": "setMode", "mode": mode} for mode in ("acceptEdits", "bypassPermissions")]
    decision = permissions.decide(
        Reply("r", "permission", decision="allow", remember=[*modes, {"type": "addRules"}])
    )
    assert decision is not None
    assert decision["updatedPermissions"] == [modes[0], {"type": "addRules"}]


def test_a_conversation_narrows_the_options_of_the_agent() -> None:
    made = sdk_options(
        {
            "tools": ["Read", "Bash"],
            "disallowed_tools": ["Write"],
            "allowed_tools": ["Read"],
            "max_turns": 5,
            "max_budget_usd": 1.0,
            "task_budget": {"total": 100},
            "extra_args": {"autocompact": "auto"},
        }
    )
    own = narrowed(
        made,
        read_options(
            {
                "tools": ["Bash", "Edit"],
                "disallowed_tools": ["Grep"],
                "allowed_tools": ["Bash"],
                "max_turns": 9,
                "max_budget_usd": 0.5,
                "task_budget": 900,
                "output_format": SCHEMA,
                "effort": "low",
                "agents": {"a": {"description": "d", "prompt": "p", "disallowedTools": ["Bash"]}},
                "extra_args": {"autocompact": "200k", "brief": None},
                "betas": ["b"],
                "thinking": {"type": "disabled"},
                "system_prompt": "Be brief.",
            }
        ),
    )
    assert own.tools == ["Bash"], "not what the agent does not have"
    assert (own.disallowed_tools, own.allowed_tools) == (["Write", "Grep"], ["Read", "Bash"])
    assert (own.max_turns, own.max_budget_usd, own.task_budget) == (5, 0.5, {"total": 100})
    assert own.extra_args == {"autocompact": "auto", "brief": None}
    assert (own.output_format, own.effort, own.betas) == (SCHEMA, "low", ["b"])
    assert own.agents["a"].disallowedTools == ["Bash"]
    assert own.thinking == {"type": "disabled"}
    assert own.system_prompt == "Be brief."
    assert narrowed(made, ClaudeOptions()) == made, "what is not said is as it was"
    free = narrowed(sdk_options({}), read_options({"tools": ["Bash"], "task_budget": 9}))
    assert (free.tools, free.task_budget) == (["Bash"], {"total": 9})


def test_the_program_gets_the_chosen_options() -> None:
    given = {
        "sandbox": {"enabled": True, "excludedCommands": ["git"]},
        "output_format": SCHEMA,
        "effort": "low",
        "tools": ["Read"],
        "max_turns": 3,
        "thinking": {"type": "adaptive"},
        "fallback_model": "haiku",
        "task_budget": 900,
        "system_prompt": {"type": "preset", "append": "Be brief."},
        "max_budget_usd": 0.5,
        "extra_args": {"brief": None},
    }
    shop = ToolServer(tools=[tool(needs_permission=False)(look)])
    servers = {"docs": StdioServer(command="docs"), "shop": shop}
    own = own_options(sdk_options({}), SessionStart("c", options=given), bounds_of())
    told = program_options(own, "/bin/claude", None, {}, read_servers(servers))
    command = told.command
    said = dict(pairwise(command))
    sandbox = {"sandbox": {"failIfUnavailable": True, "enabled": True, "excludedCommands": ["git"]}}
    assert msgspec.json.decode(said["--settings"]) == sandbox
    assert msgspec.json.decode(said["--json-schema"]) == {"type": "object"}
    assert (said["--effort"], said["--tools"], said["--max-turns"]) == ("low", "Read", "3")
    assert (said["--thinking"], said["--fallback-model"]) == ("adaptive", "haiku")
    assert (said["--task-budget"], said["--max-budget-usd"]) == ("900", "0.5")
    assert said["--append-system-prompt"] == "Be brief."
    assert said["--allowedTools"] == "mcp__shop__look"
    assert "--brief" in command
    mcp = msgspec.json.decode(told.mcp_config)["mcpServers"]
    assert mcp["docs"] == {"type": "stdio", "command": "docs", "args": []}
    assert mcp["shop"] == {"type": "sdk", "name": "shop"}


async def test_settings_of_a_directory_run_commands_unless_they_are_switched_off(
    tmp_path: Path,
) -> None:
    command = {"type": "command", "command": f"touch {tmp_path}/ran"}
    settings = {"hooks": {"UserPromptSubmit": [{"hooks": [command]}]}}

    async def speaks(place: str, **agent: Any) -> bool:
        """Returns whether the command ran."""
        (tmp_path / place).mkdir()
        async with stage(tmp_path / place, "Hello.", **agent) as it:
            (it.work / ".claude").mkdir()
            (it.work / ".claude/settings.json").write_bytes(msgspec.json.encode(settings))
            await it.says("hi")
        return (tmp_path / "ran").exists()

    widened = {"options": {"setting_sources": ["project"]}}
    assert not await speaks("off", setting_sources=[], conversation=widened)
    assert await speaks("usual"), "as in a terminal: the docs warn of it"


def test_the_program_reads_no_other_sources_of_settings() -> None:
    with pytest.raises(ValueError, match="Unknown setting source 'cloud'"):
        sdk_options({}, ["cloud"])


def look() -> None:
    pass


def test_an_agent_can_be_made_with_the_same_options() -> None:
    made = sdk_options(ClaudeOptions(max_turns=3, add_dirs=["/srv"]))
    assert (made.max_turns, made.add_dirs) == (3, ["/srv"])
    assert made.system_prompt["preset"] == "claude_code"
    with pytest.raises(ValueError, match="to ClaudeAgent itself"):
        sdk_options(ClaudeOptions(hooks=["careful"]))


def test_directories_are_below_the_roots(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    made = agent(roots=[tmp_path / "in"])
    inside = {"add_dirs": [str(tmp_path / "in")]}
    assert made.check_options(inside) == inside
    with pytest.raises(Refused, match="may not work in"):
        made.check_options({"add_dirs": [str(tmp_path / "out")]})


def test_a_hook_that_a_program_hands_over_is_kept_by_its_name() -> None:
    @hook("PreToolUse")
    def mine(call: HookCall) -> None:
        pass

    made = agent()
    assert made.check_options({"hooks": [mine]}) == {"hooks": ["mine"]}
    assert made.check_options(ClaudeOptions(hooks=["mine", always])) == {
        "hooks": ["mine", "always"]
    }
    chosen_hooks = made._registry.hooks(read_options({"hooks": ["mine"]}), AgentGone)
    assert [each.name for each in chosen_hooks] == ["always", "mine"]
    others = made._registry.hooks(read_options({}), AgentGone)
    assert [each.name for each in others] == ["always"], "of other conversations it is none"

    @hook("PreToolUse", name="mine")
    def another(call: HookCall) -> None:
        pass

    with pytest.raises(Refused, match="another hook 'mine'"):
        made.check_options({"hooks": [another]})


async def test_a_conversation_whose_hook_is_missing_is_not_opened(tmp_path: Path) -> None:
    env = claude_environment("http://127.0.0.1:9", tmp_path)
    start = SessionStart("c", cwd=str(tmp_path), options={"hooks": ["mine"]})
    with pytest.raises(AgentGone, match="Unknown hook 'mine'"):
        await agent(env=env).open(start)
    strict = agent(env=env, roots=[tmp_path])
    with pytest.raises(AgentGone, match="may not work in /etc"):
        await strict.open(SessionStart("c", cwd=str(tmp_path), options={"add_dirs": ["/etc"]}))
    with pytest.raises(AgentGone, match="no option 'env'"):
        own_options(sdk_options({}), SessionStart("c", options={"env": {}}), bounds_of())


def test_a_servers_settings_make_its_agents() -> None:
    given = {"claude": {"hooks": [f"{__name__}:careful"], "limits": {"memory": 1 << 30}}}
    agents, _ = chosen(["claude", "demo"], "demo", given)
    made = agents["claude"]
    assert isinstance(made, ClaudeAgent)
    assert made.check_options({"hooks": ["careful"]}) == {"hooks": ["careful"]}
    for wrong, why in (
        ({"claude": {"hooks": ["no.such:hook"]}}, "cannot be imported"),
        ({"claude": {"colour": "blue"}}, "colour"),
        ({"gemni": {}}, "agent_options are for 'gemni'"),
    ):
        with pytest.raises(UnknownAgent, match=why):
            chosen([], "demo", wrong)


def test_options_are_plain_json() -> None:
    given = {"agents": {"a": {"description": "d", "prompt": "p", "background": True}}}
    kept = agent().check_options(given)
    assert msgspec.json.decode(msgspec.json.encode(kept)) == given


async def test_no_command_runs_without_the_sandbox_that_was_asked_for(tmp_path: Path) -> None:
    asked = {"options": {"sandbox": {"enabled": True}}}
    empty = {"PATH": str(tmp_path)}  # where nothing is that makes one
    async with stage(tmp_path, conversation=asked, env=empty) as it:
        end = await it.says("run it")
        assert end.error is not None
        assert "dependencies are missing" in end.error.message
        assert "failIfUnavailable" in end.error.message, "and what else can be done"
