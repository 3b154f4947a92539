"""`turnwire agents`: what each agent is, can do, and still needs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tell
from turnwire.agents import program_version
from turnwire.agents.listing import facts_of
from turnwire.ports import AgentCapabilities, AgentSession, SessionStart

KEYS = ("OPENAI_API_KEY", "CODEX_API_KEY", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN")


def program(folder: Path, name: str, text: str) -> Path:
    """Writes a program that runs this shell script."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without keys, on which goose is the only agent in PATH."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    program(tmp_path / "bin", "goose", "echo goose 1.42.0")
    return tmp_path


def listed(tell: Tell, **environ: str) -> dict[str, dict[str, Any]]:
    said = tell("agents", "--json", **environ)
    assert said.exit_code == 0, said.output
    return {agent["name"]: agent for agent in map(json.loads, said.stdout.splitlines())}


def test_agents_are_listed_whether_they_are_installed_or_not(machine: Path, tell: Tell) -> None:
    found = listed(tell)
    assert set(found) >= {"claude", "codex", "demo", "replay", "goose", "gemini", "opencode"}
    assert (found["demo"]["ready"], found["demo"]["default"]) == (True, True)
    assert (found["goose"]["ready"], found["goose"]["version"]) == (True, "1.42.0")
    opencode = found["opencode"]
    assert (opencode["ready"], opencode["version"]) == (False, None)
    assert (
        opencode["missing"] == "opencode is not installed. Install it: npm install -g opencode-ai"
    )
    assert "OPENAI_API_KEY" in found["codex"]["missing"]
    assert all(agent["description"] for agent in found.values())


def test_abilities_are_said_in_plain_words(machine: Path, tell: Tell) -> None:
    able = {ability["name"]: ability["text"] for ability in listed(tell)["codex"]["abilities"]}
    assert able["runs_commands"] == "runs commands on this machine"
    assert able["images"] == "sees pictures"
    assert "keeps_budget" not in able
    said = tell("agents").stdout
    assert "* demo" in said
    assert "sees pictures, reads files, changes its model" in said
    assert "npm install -g @google/gemini-cli" in said
    assert "3 agents ready" in said


def test_agents_of_the_settings_are_listed(machine: Path, tell: Tell) -> None:
    own = json.dumps({"helper": {"command": [str(machine / "bin" / "goose")]}})
    found = listed(tell, TURNWIRE_AGENT_OPTIONS=own)
    assert found["helper"]["description"].startswith("An agent of the Agent Client Protocol: ")
    assert found["helper"]["version"] == "1.42.0"


def test_an_agent_that_does_not_exist_is_named(machine: Path, tell: Tell) -> None:
    said = tell("agents", TURNWIRE_AGENTS="codexx")
    assert said.exit_code == 2
    assert "There is no agent 'codexx'" in said.stderr


@pytest.mark.parametrize(
    ("file", "source", "name"),
    [
        ("helper.py", "", "helper:helper"),
        ("helper.py", "not Python", "helper:helper"),
        ("helper.py", "@agent('h')\nasync def answer(turn): pass", "helper:answer"),
        ("helper.py", "import t\n@t.agent('h')\ndef answer(turn): pass", "helper:answer"),
        ("helper.py", "class Old: x = 1\nclass Mine: capabilities = 1", "helper:Mine"),
        ("helper.py", "class Mine:\n  @property\n  def capabilities(self): ...", "helper:Mine"),
        ("helper.py", "class Mine:\n  capabilities: int = 1", "helper:Mine"),
        ("helper/__init__.py", "raise SystemExit('it was run')", "helper:helper"),
    ],
)
def test_a_module_that_is_named_without_its_attribute_gets_the_whole_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: Tell, file: str, source: str, name: str
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(source)
    monkeypatch.chdir(tmp_path)
    said = tell("run", "--agent", "helper", "hello")
    assert said.exit_code == 2
    assert f"There is a module 'helper': name its agent as {name}." in said.stderr
    assert "There is a module" not in tell("run", "--agent", "json", "hello").stderr


async def test_a_version_is_asked_for_again_only_if_the_program_has_changed(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    path = program(tmp_path, "tool", f"echo >> {asked}; echo tool v2.5.1-beta, built today")
    for _ in range(3):
        assert await program_version.program_version(str(path), {}) == "2.5.1-beta"
    assert asked.read_text() == "\n"


@pytest.mark.parametrize("script", ["exit 3", "echo a version of my own", "sleep 1000"])
async def test_a_program_without_a_version_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(program_version, "_SECONDS", 0.5)
    path = program(tmp_path, "tool", script)
    assert await program_version.program_version(str(path), {"PATH": "/usr/bin:/bin"}) is None


async def test_a_file_that_cannot_be_started_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    assert await program_version.program_version(str(tmp_path / "text"), {}) is None
    assert await program_version.program_version(str(tmp_path / "nowhere"), {}) is None


class Shy:
    """An agent that fails when it is asked about itself."""

    name = "shy"
    capabilities = AgentCapabilities(images=True)
    description = "An agent."

    async def version(self) -> str | None:
        raise ValueError("No.")

    def unavailable(self) -> str | None:
        return None

    async def open(self, start: SessionStart) -> AgentSession:
        raise NotImplementedError


async def test_an_agent_that_cannot_describe_itself_is_listed_without_words() -> None:
    about = await facts_of(Shy())
    assert (about.description, about.version) == ("An agent.", None)
    assert [ability.name for ability in about.abilities] == ["images", "told_in_forks"]


class Slow(Shy):
    """An agent whose program takes its time."""

    def __init__(self) -> None:
        self.says = asyncio.Event()

    async def version(self) -> str | None:
        await self.says.wait()
        return "1.0"


async def test_a_list_does_not_wait_for_a_slow_program() -> None:
    agent = Slow()
    assert (await facts_of(agent, patience=0.01)).version is None
    agent.says.set()
    assert (await facts_of(agent)).version == "1.0"
