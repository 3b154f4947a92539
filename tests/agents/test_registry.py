"""The registry finds agents by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from turnwire.agents import registry
from turnwire.agents.demo import DemoAgent


def test_every_agent_can_be_made_by_its_name() -> None:
    for name in registry.names():
        assert registry.make(name).name == name


def test_claude_is_the_default_where_it_can_be_used_and_else_the_demo_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-any")
    assert registry.default() == ("claude", None)
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "CLAUDE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    given = {"claude": {"env": {"ANTHROPIC_API_KEY": "x"}}}
    assert registry.default(given) == ("claude", None), "a credential may be an option"
    name, why = registry.default()
    assert name == "demo"
    assert "There is no credential for Claude." in (why or "")


def test_an_agent_is_made_with_its_own_options() -> None:
    assert isinstance(registry.make("demo", delay=0.5), DemoAgent)
    assert isinstance(registry.make("turnwire.agents.demo:DemoAgent"), DemoAgent)


def test_an_agent_function_is_an_agent_without_being_made() -> None:
    made = registry.make("tests.agents.helpers.function_agents:greeter")
    assert made.name == "greeter"
    with pytest.raises(registry.UnknownAgent, match="cannot be made"):
        registry.make("tests.agents.helpers.function_agents:greeter", delay=1)


def test_an_unknown_agent_is_named_with_the_known_ones() -> None:
    with pytest.raises(
        registry.UnknownAgent, match=r"no agent 'gpt'; there is: claude, codex, demo, replay\."
    ) as unknown:
        registry.make("gpt")
    assert unknown.value.code == "INVALID_PAYLOAD"


def test_an_unknown_agent_is_named_with_the_presets_that_are_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(registry.UnknownAgent, match=r"replay\. Not installed: copilot, .*qwen\."):
        registry.make("gpt")


@pytest.mark.parametrize(
    ("name", "option", "said"),
    [
        (
            "codex",
            "model",
            r"no option 'model'\. Did you mean models\? Its options: options, models",
        ),
        ("codex", "thinking", r"no option 'thinking'\. Its options: options"),
        ("gemini", "commands", r"Did you mean command\? Its options: command, env"),
    ],
)
def test_an_unknown_option_is_named_with_the_valid_ones(name: str, option: str, said: str) -> None:
    with pytest.raises(registry.UnknownAgent, match=said):
        registry.make(name, **{option: 5})


@pytest.mark.parametrize("name", ["no.such.module:X", "turnwire.agents.demo:Nothing"])
def test_an_agent_that_cannot_be_imported_says_why(name: str) -> None:
    with pytest.raises(registry.UnknownAgent, match="cannot be imported"):
        registry.make(name)


@pytest.mark.parametrize("name", ["os:path", "os:mkdir", "builtins:dict"])
def test_an_object_that_is_no_agent_is_refused(name: str) -> None:
    with pytest.raises(registry.UnknownAgent, match=f"{name}' (cannot be made|is no agent)"):
        registry.make(name)


def test_an_unavailable_agent_is_listed_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._AGENTS, "gone", "no.such.module:Agent")
    agents, usual = registry.chosen([], "demo")
    assert usual == "demo"
    assert agents["demo"].unavailable() is None
    assert "cannot be imported" in (agents["gone"].unavailable() or "")


def test_an_agent_whose_module_cannot_be_imported_is_refused() -> None:
    for wanted, usual in ((["no.such.module:X"], "demo"), ([], "no.such.module:X")):
        with pytest.raises(registry.UnknownAgent, match="cannot be imported"):
            registry.chosen(wanted, usual)


@pytest.mark.parametrize(
    "wanted", [[], ["demo"], ["demo", "tests.agents.helpers.misbehaving_agents:make"]]
)
def test_an_agent_given_as_a_module_goes_by_its_own_name(wanted: list[str]) -> None:
    agents, usual = registry.chosen(wanted, "tests.agents.helpers.misbehaving_agents:make")
    assert usual == "strange"
    assert agents["strange"].name == "strange"
    assert "demo" in agents, "it is one more"


def test_the_chosen_agent_replaces_one_of_the_same_name() -> None:
    agents, usual = registry.chosen([], "tests.agents.helpers.misbehaving_agents:Namesake")
    assert usual == "demo"
    assert type(agents["demo"]).__name__ == "Namesake"


def test_no_agent_is_imported_before_it_is_asked_for() -> None:
    code = "import turnwire.agents.registry, sys; print([m for m in sys.modules if '.demo' in m])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert run.stdout.strip() == b"[]"
