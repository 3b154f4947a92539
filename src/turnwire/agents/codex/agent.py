"""Opens sessions of Codex."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from turnwire.agents.client_tools import CLIENT_TOOLS
from turnwire.agents.codex.commands import CONTROLS
from turnwire.agents.codex.installation import (
    codex_home,
    codex_version,
    environment,
    find_codex,
    missing,
)
from turnwire.agents.codex.options import CodexOptions, read_options
from turnwire.agents.codex.settings import DEFAULT, Settings
from turnwire.agents.process import GuardedProcess, Limits, allowed_directory, plain_environment
from turnwire.core.error_codes import Refused
from turnwire.crash_points import CrashPoint, reach
from turnwire.dialects.codex.modes import MODES
from turnwire.ports import (
    AgentCapabilities,
    AgentGone,
    AgentsBusy,
    AgentSession,
    Isolation,
    Lease,
    NativeFork,
    SessionStart,
)

if TYPE_CHECKING:
    from turnwire.agents.codex.session import CodexSession

__all__ = ["CodexAgent"]

_FOR_OWNER = ["full-access"]  # modes without a sandbox


class CodexAgent:
    """Codex, through its app-server.

    Parameters:
    - `options`: CodexOptions, or a mapping of their fields.
    - `models`: the models that a conversation may choose, in addition to `default`. A model may be
      followed by an effort: `gpt-5.5/high`.
    - `permission_modes`: the permission modes that a conversation may choose.
    - `env`: environment variables, in addition to those of every agent.
    - `codex_path`: the program, if it is not that of the extra `codex` or in PATH.
    - `roots`: the directories that conversations may work in.
    - `limits`: the resources of the machine that one conversation may use.

    Raises ValueError for invalid options, models and permission modes.
    """

    name = "codex"
    description = "Codex, the coding agent of OpenAI."
    runs_commands = True
    capabilities = AgentCapabilities(
        commands=["session.set_model", "session.set_permission_mode", "session.control"],
        images=True,
        reads_files=True,
        options=["effort", CLIENT_TOOLS],
        owner_options=["config", "instructions"],
        narrowing_options=["effort"],
        forks=True,
        steers=True,
        controls=CONTROLS,
        reasons=True,
        delegates=True,
    )

    def __init__(
        self,
        options: CodexOptions | Mapping[str, Any] | None = None,
        *,
        models: Sequence[str] = (),
        permission_modes: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        codex_path: str | None = None,
        roots: Sequence[Path | str] | None = None,
        limits: Limits | Mapping[str, int] | None = None,
        max_sessions: int = 64,
        start_seconds: float = 60.0,
        grace: float = 3.0,
    ) -> None:
        try:
            given = (
                options if isinstance(options, CodexOptions) else read_options(dict(options or {}))
            )
        except Refused as bad:
            raise ValueError(bad.message) from None
        self._options = given
        for name, texts in (("models", models), ("permission_modes", permission_modes)):
            if isinstance(texts, str):
                raise ValueError(f"{name} is the text {texts!r}. Give a list: [{texts!r}]")
        for mode in permission_modes or ():
            if mode not in MODES:
                raise ValueError(f"Codex has no permission mode {mode!r}: {', '.join(MODES)}")
        modes = list(MODES if permission_modes is None else permission_modes)
        self.capabilities = structs.replace(
            self.capabilities,
            models=[DEFAULT, *models],
            permission_modes=[mode for mode in modes if mode not in _FOR_OWNER],
            owner_permission_modes=[mode for mode in modes if mode in _FOR_OWNER],
        )
        self._env = dict(env or {})
        self._codex_path = codex_path
        self._roots = roots
        self._limits = (
            msgspec.convert(limits, Limits) if isinstance(limits, Mapping) else limits or Limits()
        )
        self._max_sessions = max_sessions
        self._start_seconds = start_seconds
        self._grace = grace
        self._running: set[GuardedProcess] = set()
        self._starting = 0
        self._isolation: Isolation | None = None

    def isolate(self, isolation: Isolation | None) -> None:
        """Sets the isolation that every later process is started in."""
        self._isolation = isolation

    def exposed_credential(self) -> str | None:
        """Returns why commands can read the model's credential."""
        return "Codex keeps its credential in CODEX_HOME, which its commands can read."

    def unavailable(self) -> str | None:
        """Returns what is missing and how to install it, or None if the agent can be used."""
        return missing(self._environment(), self._codex_path)

    async def version(self) -> str | None:
        """Returns the version of Codex, or None if it is not installed."""
        return await codex_version(self._codex_path, self._environment())

    def check_options(self, options: Any) -> dict[str, Any]:
        """Validates the options of a new conversation. Returns them for storage. Raises Refused."""
        found: dict[str, Any] = msgspec.to_builtins(read_options(options))
        return found

    async def open(self, start: SessionStart) -> AgentSession:
        """Starts a new thread, or resumes or forks an existing one. Raises AgentGone."""
        from turnwire.agents.codex.app_server import RequestFailed

        cwd = allowed_directory(start.cwd, self._roots)
        resume, fork = start.native_session_id, start.fork
        try:
            return await self._begin(start, cwd, resume, fork)
        except RequestFailed as refused:
            before = resume or (fork.session_id if fork else None)
            if before is None:
                raise AgentGone(f"Codex could not be started: {refused}") from refused
        session = await self._begin(start, cwd, None, None)  # its record of the thread is gone
        session.tell_forgotten(before)
        return session

    async def _begin(
        self, start: SessionStart, cwd: str, resume: str | None, fork: NativeFork | None
    ) -> CodexSession:
        from turnwire.agents.codex.app_server import RequestFailed
        from turnwire.agents.codex.session import CodexSession

        chosen = msgspec.convert(
            {**msgspec.to_builtins(self._options), **start.options}, CodexOptions
        )
        mode = start.permission_mode or "default"
        if mode not in MODES:
            raise AgentGone(f"Codex has no permission mode {mode!r}.")
        settings = Settings(cwd, start.model, mode, chosen)
        session = CodexSession(settings, self.capabilities.models)
        point = None if fork is None or resume else _fork_point(fork)

        home = codex_home(self._environment())

        async def launch() -> GuardedProcess:
            return await self._start(cwd, start.lease)

        try:
            async with asyncio.timeout(self._start_seconds):
                await session.begin(launch, home, resume=resume, fork=point)
        except BaseException as error:
            reach(CrashPoint.CLOSES)
            await session.close()
            reach(CrashPoint.CLOSED)
            if isinstance(error, TimeoutError):
                seconds = f"{self._start_seconds:g} seconds"
                raise AgentGone(f"Codex did not start within {seconds}.") from None
            if isinstance(error, RequestFailed) and not (resume or point):
                raise AgentGone(f"Codex could not be started: {error}") from error
            raise
        return session

    def _environment(self) -> dict[str, str]:
        return environment(plain_environment(self._isolation), self._env)

    async def _start(self, cwd: str, lease: Lease | None) -> GuardedProcess:
        codex = find_codex(self._codex_path)
        env = self._environment()
        if codex is None:
            raise AgentGone(missing(env, self._codex_path) or "There is no Codex.")
        self._running = {process for process in self._running if process.is_running}
        if len(self._running) + self._starting >= self._max_sessions:
            raise AgentsBusy(
                f"All {self._max_sessions} sessions of Codex are in use. "
                "Try again when one of them is idle, or raise max_sessions."
            )
        home = codex_home(env)
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._starting += 1
        try:
            process = await GuardedProcess.start(
                [codex, "app-server"],
                cwd=cwd,
                env={**env, "PWD": cwd},
                grace=self._grace,
                lease=lease,
                limits=self._limits,
                isolation=self._isolation,
                keep=[home],
            )
        finally:
            self._starting -= 1
        self._running.add(process)
        return process


def _fork_point(fork: NativeFork) -> dict[str, Any]:
    """Returns the parameters of thread/fork. Codex can fork only after a whole turn."""
    last = fork.after[0] if fork.after else None
    return {"threadId": fork.session_id, "lastTurnId": last}
