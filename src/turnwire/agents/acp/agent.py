"""An agent that speaks the Agent Client Protocol: starts its program, and opens sessions in it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from turnwire.agents.acp.relay_command import RELAY
from turnwire.agents.acp.session import AcpSession
from turnwire.agents.acp.settings import Allowed
from turnwire.agents.client_tools import CLIENT_TOOLS, client_tools_of
from turnwire.agents.process import GuardedProcess, Limits, allowed_directory, plain_environment
from turnwire.agents.program_version import program_version
from turnwire.ports import AgentCapabilities, AgentGone, AgentsBusy, Isolation, SessionStart

__all__ = ["PRESETS", "AcpAgent"]

PRESETS: dict[str, list[str]] = {
    "copilot": ["copilot", "--acp"],
    "gemini": ["gemini", "--acp"],
    "goose": ["goose", "acp"],
    "opencode": ["opencode", "acp"],
    "qwen": ["qwen", "--acp"],
}
"""The commands of agents that are known to speak the protocol, by name."""

_GOOSE = "https://github.com/aaif-goose/goose/releases/download/stable/download_cli.sh"
_INSTALL = {
    "copilot": "npm install -g @github/copilot",
    "gemini": "npm install -g @google/gemini-cli",
    "goose": f"curl -fsSL {_GOOSE} | bash",
    "opencode": "npm install -g opencode-ai",
    "qwen": "npm install -g @qwen-code/qwen-code",
}
_DESCRIPTIONS = {
    "copilot": "GitHub Copilot CLI, the coding agent of GitHub.",
    "gemini": "Gemini CLI, the coding agent of Google.",
    "goose": "goose, an open coding agent for many models.",
    "opencode": "opencode, an open coding agent for many models.",
    "qwen": "Qwen Code, the coding agent of Qwen.",
}


class AcpAgent:
    """Any program that speaks the protocol over its standard input and output.

    Parameters:
    - `name`: under which conversations keep it.
    - `command`: the program and its arguments. Without it, `name` is one of PRESETS.
    - `env`: variables for the program, in addition to the few that every agent gets; a value of
      None passes on the server's own variable, such as a key.
    - `auth_method`: a method of the agent by which it logs in before a session.
    - `mcp_servers`: MCP servers, in the form of the protocol.
    - `models`, `permission_modes`: limits what a conversation may choose. Without them it may choose
      what the session of the agent offers; the permission modes only if it is the owner's.
    - `roots`: the directories that conversations may work in.
    - `limits`: the resources of the machine that one conversation may use.

    Raises ValueError if there is no command, or one without a program, and for a text
    instead of a list.
    """

    runs_commands = True

    def __init__(
        self,
        name: str,
        command: Sequence[str] | None = None,
        *,
        env: Mapping[str, str | None] | None = None,
        auth_method: str | None = None,
        mcp_servers: Sequence[Any] = (),
        models: Sequence[str] = (),
        permission_modes: Sequence[str] = (),
        roots: Sequence[Path | str] | None = None,
        limits: Limits | None = None,
        max_sessions: int = 64,
        start_seconds: float = 60.0,
        grace: float = 3.0,
    ) -> None:
        self.name = name
        self._command = list(command or PRESETS.get(name) or ())
        if not self._command or isinstance(command, str):
            raise ValueError(f"{name!r} needs a command: a list of the program and its arguments")
        if not all(isinstance(each, str) for each in self._command):
            raise ValueError(f"the command of {name!r} is {self._command!r}: all have to be texts")
        if not self._command[0].strip():
            raise ValueError(f"the command of {name!r} has no program: its first text is empty")
        for option, texts in (("models", models), ("permission_modes", permission_modes)):
            if isinstance(texts, str):
                raise ValueError(f"{option} is the text {texts!r}. Give a list: [{texts!r}]")
        self._env = dict(env or {})
        self._auth_method = auth_method
        self._mcp_servers = list(mcp_servers)
        self._roots = roots
        self._limits = limits
        self._max_sessions = max_sessions
        self._start_seconds = start_seconds
        self._grace = grace
        self._isolation: Isolation | None = None
        self._sessions: set[AcpSession] = set()
        self.capabilities = AgentCapabilities(
            commands=["session.set_model", "session.set_permission_mode", "session.control"],
            session_offers=True,
            images=True,
            reads_files=True,
            models=list(models),
            permission_modes=list(permission_modes),
            options=[CLIENT_TOOLS],
            controls=[
                *("context_usage", "models", "commands"),
                *("session_options", "set_session_option"),
            ],
            reasons=True,
        )

    def isolate(self, isolation: Isolation | None) -> None:
        """Sets the isolation of all processes that start from now on."""
        self._isolation = isolation

    def exposed_credential(self) -> str | None:
        """Returns which credentials commands of the agent can read, or None if there are none."""
        keys = [name for name in self._env if name.endswith(("KEY", "TOKEN", "SECRET"))]
        if not keys:
            return None
        return f"commands of {self.name} can read {', '.join(sorted(keys))} in its environment"

    def unavailable(self) -> str | None:
        """Returns that the program is not installed, or None."""
        if self._program() is not None:
            return None
        program, install = self._command[0], _INSTALL.get(self.name)
        is_preset = install is not None and self._command == PRESETS[self.name]
        how = (
            f"Install it: {install}" if is_preset else "Install it, or name its path in `command`."
        )
        return f"{program} is not installed. {how}"

    @property
    def description(self) -> str:
        """Returns what the agent is, or its command if it is not a known one."""
        known = _DESCRIPTIONS.get(self.name)
        return known or f"An agent of the Agent Client Protocol: {' '.join(self._command)}"

    async def version(self) -> str | None:
        """Returns what the program says about its version, or None."""
        program = self._program()
        # The arguments of another program, such as `npx NAME`, decide what would be started.
        if program is None or (len(self._command) > 1 and self.name not in PRESETS):
            return None
        return await program_version(program, self._environment())

    def _program(self) -> str | None:
        return shutil.which(self._command[0], path=self._environment().get("PATH"))

    async def open(self, start: SessionStart) -> AcpSession:
        """Starts the program and opens a session. Raises AgentGone if that fails."""
        why = self.unavailable()
        if why is not None:
            raise AgentGone(why)
        self._sessions = {each for each in self._sessions if each.is_running}
        if len(self._sessions) >= self._max_sessions:
            raise AgentsBusy(
                f"All {self._max_sessions} sessions of {self.name} are in use. "
                "Try again when one of them is idle, or raise max_sessions."
            )
        cwd = allowed_directory(start.cwd, start.roots or self._roots)
        client_tools = client_tools_of(start.options)
        process = await GuardedProcess.start(
            self._command,
            cwd=cwd,
            env=self._environment(),
            grace=self._grace,
            lease=start.lease,
            limits=self._limits,
            isolation=self._isolation,
            keep=[RELAY] if client_tools else [],
        )
        hide = [] if self._isolation is None else self._isolation.hide
        able = self.capabilities
        allowed = Allowed(able.models or None, able.permission_modes or None)
        opened = AcpSession(
            *(self.name, process, start, cwd),
            hide=hide,
            allowed=allowed,
            client_tools=client_tools,
        )
        try:
            async with asyncio.timeout(self._start_seconds):
                await opened.begin(
                    isolation=self._isolation,
                    auth_method=self._auth_method,
                    mcp_servers=self._mcp_servers,
                )
        except BaseException as error:
            await opened.close()  # the crash points of the start stand around it
            if isinstance(error, TimeoutError):
                seconds = f"{self._start_seconds:g} seconds"
                raise AgentGone(f"The agent {self.name} did not start within {seconds}.") from None
            raise
        self._sessions.add(opened)
        return opened

    def _environment(self) -> dict[str, str]:
        given = {
            name: os.environ.get(name) if value is None else value
            for name, value in self._env.items()
        }
        known = {name: value for name, value in given.items() if value is not None}
        return {**plain_environment(self._isolation), **known}
