"""The agent `claude`: validates options, and opens one Claude Code process per session."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec import convert, structs

from turnwire.agents.claude.extensions.hooks import Hook, hooks_of_sdk, read_hooks
from turnwire.agents.claude.extensions.servers import McpServer, ToolServer, read_servers
from turnwire.agents.claude.options.bounds import DEFAULT, FAMILIES, bounds_of
from turnwire.agents.claude.options.sdk_options import (
    MCP_CONFIG,
    ProgramOptions,
    chosen_in,
    given_option,
    own_options,
    program_options,
    sdk_options,
)
from turnwire.agents.claude.options.types import FOR_ANYONE, FOR_OWNER, NARROWING, ClaudeOptions
from turnwire.agents.claude.options.validation import Registry, thinking_limit
from turnwire.agents.claude.process.installation import (
    cli_version,
    environment,
    find_cli,
    missing,
)
from turnwire.agents.claude.process.private_file import private_file
from turnwire.agents.claude.process.sdk_compat import (
    QUERY,
    can_mirror,
    patient,
    rejects_mirror,
)
from turnwire.agents.process import GuardedProcess, Limits, allowed_directory, plain_environment
from turnwire.crash_points import CrashPoint, reach
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
    from turnwire.agents.claude.process.model_proxy import ModelProxy
    from turnwire.agents.claude.process.transport import Recorder
    from turnwire.agents.claude.questions.deferred_note import Deferred
    from turnwire.agents.claude.session import ClaudeSession
    from turnwire.agents.claude.sessions.forking import ForkPoint
    from turnwire.agents.claude.sessions.mirror import Mirror
    from turnwire.agents.claude.sessions.restore import Unpacked

__all__ = ["ClaudeAgent"]

_log = logging.getLogger("turnwire.claude")
_CONTROLS = [
    *("mcp_status", "mcp_reconnect", "mcp_toggle", "stop_task", "context_usage", "models"),
    "commands",
]
_NO_MIRROR = (
    "This Claude Code does not repeat what it writes into its own files. So its sessions can only be"
    " continued on the machine that they were begun on."
)

# Modules that only a session needs. They are imported late, because importing them is slow.
_FOR_SESSIONS = (
    "claude_agent_sdk",
    QUERY,
    "turnwire.agents.claude.sessions.forking",
    "turnwire.agents.claude.sessions.restore",
    "turnwire.agents.claude.process.model_proxy",
    "turnwire.agents.claude.session",
)


class ClaudeAgent:
    """Claude Code, through the Claude Agent SDK.

    Parameters:
    - `options`: ClaudeOptions, the SDK's own ClaudeAgentOptions, or a mapping of their fields.
    - `hooks`, `mcp_servers`: added by the application, as objects or as names (`module:attribute`).
    - `hold`: seconds that a question is kept in the process before it is deferred.
    - `titles`: Claude names each conversation. This takes one short extra request to the model.
    - `roots`: the directories that conversations may work in.
    - `limits`: the resources of the machine that one conversation may use.
    - `models`: the model names that a conversation may choose, in addition to `default`.
    - `permission_modes`: the permission modes that a conversation may choose.
    - `setting_sources`: which settings files of Claude Code are read; None: all, as in a terminal.
      Settings of a directory may run commands: give an empty list if you do not trust it.
    - `hide_credential`: hides the model's credential from Claude's tools; see `model_proxy`.

    Raises ValueError for invalid hooks, tools, servers and permission modes.
    """

    name = "claude"
    description = "Claude Code, the coding agent of Anthropic."
    runs_commands = True
    capabilities = AgentCapabilities(
        commands=[
            "session.set_model",
            "session.set_permission_mode",
            "session.set_max_thinking_tokens",
            "session.control",
            "user.rewind",
        ],
        images=True,
        files=["application/pdf"],
        reads_files=True,
        options=FOR_ANYONE,
        owner_options=FOR_OWNER,
        narrowing_options=NARROWING,
        forks=True,
        steers=True,
        keeps_budget=True,
        controls=_CONTROLS,
        reasons=True,
        delegates=True,
        edits_calls=True,
    )

    def __init__(
        self,
        options: Any = None,
        *,
        hooks: Sequence[Hook | str] = (),
        mcp_servers: Mapping[str, McpServer | Mapping[str, Any]] | None = None,
        env: Mapping[str, str] | None = None,
        cli_path: str | None = None,
        hold: float = 0.0,
        titles: bool = True,
        roots: Sequence[Path | str] | None = None,
        limits: Limits | Mapping[str, int] | None = None,
        max_sessions: int = 64,
        start_seconds: float = 60.0,
        grace: float = 3.0,
        record: Path | str | None = None,
        models: Sequence[str] | None = None,
        permission_modes: Sequence[str] | None = None,
        setting_sources: Sequence[str] | None = None,
        hide_credential: bool = True,
    ) -> None:
        self._given = options
        self._hides_credential = hide_credential
        self._setting_sources = setting_sources
        of_sdk = None if isinstance(options, ClaudeOptions) else given_option(options, "hooks")
        ours = [*read_hooks(hooks), *hooks_of_sdk(of_sdk)]
        self._bounds = bounds_of(
            model=given_option(options, "model"),
            models=models,
            mode=given_option(options, "permission_mode"),
            modes=permission_modes,
        )
        self._registry = Registry(ours, read_servers(mcp_servers), roots, self._bounds)
        self.capabilities = structs.replace(
            self.capabilities,
            models=[DEFAULT, *(FAMILIES if models is None else self._bounds.models or ())],
            permission_modes=self._bounds.modes,
            owner_permission_modes=self._bounds.owner_modes,
        )
        self._options: Any = None  # created at the first open: importing the SDK is slow
        self._env = {**(env or {}), **(given_option(options, "env") or {})}
        cli = cli_path or given_option(options, "cli_path")
        self._cli_path = None if cli is None else str(cli)
        self._hold = hold
        self._titles = titles
        self._roots = roots
        self._limits = (
            convert(limits, Limits) if isinstance(limits, Mapping) else limits or Limits()
        )
        self._max_sessions = max_sessions
        self._start_seconds = start_seconds
        self._grace = grace
        self._record = record
        self._running: set[GuardedProcess] = set()
        self._starting = 0
        self._isolation: Isolation | None = None
        self._mirrors: bool | None = None  # known after the first session was opened

    def isolate(self, isolation: Isolation | None) -> None:
        """Sets the isolation that every later process is started in."""
        self._isolation = isolation

    def exposed_credential(self) -> str | None:
        """Returns why Claude's tools can read the model's credential, or None if they cannot."""
        from turnwire.agents.claude.process.model_proxy import why_visible

        return (
            why_visible(self._environment()) if self._hides_credential else "hide_credential is off"
        )

    def unavailable(self) -> str | None:
        """Returns what is missing and how to install it, or None if the agent can be used."""
        return missing(self._environment(), self._cli_path)

    async def version(self) -> str | None:
        """Returns the version of Claude Code, or None if it is not installed."""
        return await cli_version(self._cli_path, self._environment())

    def check_options(self, options: Any) -> dict[str, Any]:
        """Validates the options of a new conversation. Returns them for storage. Raises Refused."""
        return self._registry.check(options)

    async def prepare(self) -> None:
        """Imports the modules of a session in a thread: the first import takes a second or two."""
        await asyncio.to_thread(lambda: [import_module(each) for each in _FOR_SESSIONS])

    async def open(self, start: SessionStart) -> AgentSession:
        """Starts a new session, or resumes or forks an existing one. Raises AgentGone."""
        await self.prepare()
        import claude_agent_sdk as sdk

        from turnwire.agents.claude.process.claude_process import SessionNotFound

        cli = find_cli(self._cli_path)
        if cli is None:
            raise AgentGone(missing(self._environment(), self._cli_path) or "There is no Claude.")
        if self._options is None:
            try:
                self._options = sdk_options(self._given, self._setting_sources)
            except (TypeError, ValueError) as bad:
                raise AgentGone(f"Claude cannot be started with these options: {bad}") from bad
        given = self._options.cwd
        cwd = allowed_directory(start.cwd or (str(given) if given else None), self._roots)
        fork = start.fork if start.native_session_id is None else None
        stored = await self._restore(start, fork)
        try:
            at = None if fork is None else await self._fork_point(fork, start.conversation_id)
            return await self._begin_mirrored(sdk, cli, cwd, start, at, stored)
        except SessionNotFound:
            session = await self._begin_mirrored(
                sdk, cli, cwd, structs.replace(start, native_session_id=None)
            )
            session.tell_forgotten(start.native_session_id or (fork.session_id if fork else ""))
            return session

    async def forget(self, conversation_id: str, native_session_id: str | None) -> None:
        """Removes the session files that Claude Code keeps for a conversation. Raises OSError."""
        from turnwire.agents.claude.sessions.forking import copied_session
        from turnwire.agents.claude.sessions.removal import forget_session

        env = self._environment()
        for session_id in (native_session_id, copied_session(conversation_id)):
            if session_id is not None:
                await asyncio.to_thread(forget_session, session_id, env)

    async def _fork_point(self, fork: NativeFork, conversation_id: str) -> ForkPoint:
        from turnwire.agents.claude.process.claude_process import SessionNotFound
        from turnwire.agents.claude.sessions.forking import fork_point
        from turnwire.agents.claude.sessions.history import config_dir

        point = await fork_point(config_dir(self._environment()), fork, conversation_id)
        if point is None:
            raise SessionNotFound("The session that this fork begins with does not exist any more.")
        return point

    async def _deferred(self, session_id: str | None) -> Deferred | None:
        """Returns the deferred question of a session, whose file is then ready to be resumed."""
        from turnwire.agents.claude.questions.deferred_note import renew_note
        from turnwire.agents.claude.sessions.history import config_dir

        if session_id is None:
            return None
        config = config_dir(self._environment())
        try:
            return await asyncio.to_thread(renew_note, config, session_id)
        except OSError as error:
            raise AgentGone(f"Claude's record of this session cannot be used: {error}") from error

    async def _restore(self, start: SessionStart, fork: NativeFork | None) -> Unpacked:
        """Writes the files of the session that is resumed or forked, if this machine lacks them."""
        from turnwire.agents.claude.sessions.history import config_dir
        from turnwire.agents.claude.sessions.restore import Unpacked, restore_session

        session_id = start.native_session_id if fork is None else fork.session_id
        if session_id is None:
            return Unpacked()
        user = None if self._isolation is None else self._isolation.user
        return await restore_session(
            config_dir(self._environment()), session_id, start.pieces, user
        )

    async def _mirror(
        self, start: SessionStart, fork: ForkPoint | None, stored: Unpacked
    ) -> Mirror | None:
        """Returns the mirror of the next process; None if the program has none."""
        from turnwire.agents.claude.sessions.history import config_dir
        from turnwire.agents.claude.sessions.restore import Unpacked, begin_mirror

        if self._mirrors is None:
            self._mirrors = can_mirror()
        if not self._mirrors:
            return None
        config = config_dir(self._environment())
        if fork is None:
            return await begin_mirror(config, start.native_session_id, stored)
        # The program repeats a session that it forks itself, but not a copy.
        copied = fork.session_id if fork.message is None else None
        return await begin_mirror(config, copied, Unpacked())

    async def _begin_mirrored(
        self,
        sdk: Any,
        cli: str,
        cwd: str,
        start: SessionStart,
        fork: ForkPoint | None = None,
        stored: Unpacked | None = None,
    ) -> ClaudeSession:
        """Starts the program, and starts it again without a mirror if it does not know the flag."""
        from turnwire.agents.claude.sessions.restore import Unpacked

        stored = stored or Unpacked()
        try:
            return await self._begin(sdk, cli, cwd, start, fork, stored)
        except AgentGone as gone:
            if not (self._mirrors and rejects_mirror(gone.message)):
                raise
            self._mirrors = False
            _log.warning("%s", _NO_MIRROR)
            return await self._begin(sdk, cli, cwd, start, fork, stored)

    async def _begin(
        self,
        sdk: Any,
        cli: str,
        cwd: str,
        start: SessionStart,
        fork: ForkPoint | None,
        stored: Unpacked,
    ) -> ClaudeSession:
        from turnwire.agents.claude.process.session_opening import Opening
        from turnwire.agents.claude.session import ClaudeSession
        from turnwire.agents.claude.sessions.history import config_dir

        chosen = chosen_in(start)
        self._registry.check_bounds(chosen, start.roots)
        options = own_options(self._options, start, self._bounds, fork, self._denied)
        servers = self._registry.servers(chosen, AgentGone)
        deferred = await self._deferred(start.native_session_id)  # may add a line to the file
        mirror = await self._mirror(start, fork, stored)
        opening = Opening(
            start=structs.replace(start, pieces=[]),
            config=config_dir(self._environment()),
            hold=self._hold,
            deferred=deferred,
            mirror=mirror,
            names_itself=self._titles and start.native_session_id is None and fork is None,
            model=options.model,
            permission_mode=options.permission_mode,
            hooks=self._registry.hooks(chosen, AgentGone),
            tools={n: each.tools for n, each in servers.items() if isinstance(each, ToolServer)},
            client_tools=chosen.client_tools,
            servers=[*options.mcp_servers, *servers],
            models=self.capabilities.models,
            bounds=self._bounds,
            most_thinking=thinking_limit(self._options),
        )
        session = ClaudeSession(opening)
        launch = program_options(
            *(options, cli, session.ask, session.hooks.registered(), servers),
            is_mirrored=mirror is not None,
        )
        try:
            async with asyncio.timeout(self._start_seconds):
                await session.begin(
                    partial(self._start, launch, cwd, start.lease),
                    partial(patient(sdk.ClaudeSDKClient, self._start_seconds), launch.client),
                    self._recorder(start),
                )
        except BaseException as error:
            reach(CrashPoint.CLOSES)
            await session.close()
            reach(CrashPoint.CLOSED)
            if isinstance(error, TimeoutError):
                seconds = f"{self._start_seconds:g} seconds"
                raise AgentGone(f"Claude did not start within {seconds}.") from None
            raise
        return session

    def _recorder(self, start: SessionStart) -> Recorder | None:
        if self._record is None:
            return None
        from turnwire.agents.claude.process.transport import Recorder

        name = quote(start.conversation_id, safe="")
        return Recorder(Path(self._record) / f"{name}.{time.time_ns()}.io.jsonl")

    def _environment(self) -> dict[str, str]:
        return environment(plain_environment(self._isolation), self._env)

    @property
    def _denied(self) -> list[str]:
        """The directories that Claude's file tools must refuse, in addition to the isolation."""
        return [] if self._isolation is None else self._isolation.hide

    def _own_files(self, env: Mapping[str, str]) -> list[Path]:
        """Returns the paths where Claude Code keeps its own files.

        Creates its directory if that is inside a hidden one: the program could not create it there.
        """
        from turnwire.agents.claude.sessions.history import config_dir

        config = config_dir(env)
        if any(config.resolve().is_relative_to(each) for each in self._denied):
            config.mkdir(mode=0o700, parents=True, exist_ok=True)
        return [config, Path(env.get("HOME") or Path.home()) / ".claude.json"]

    async def _start(self, launch: ProgramOptions, cwd: str, lease: Lease | None) -> GuardedProcess:
        self._running = {process for process in self._running if process.is_running}
        if len(self._running) + self._starting >= self._max_sessions:
            raise AgentsBusy(
                f"All {self._max_sessions} sessions of Claude are in use. "
                "Try again when one of them is idle, or raise max_sessions."
            )
        env = {
            **self._environment(),
            "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
            "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
            "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true",
            "PWD": cwd,
        }
        self._starting += 1
        proxy: ModelProxy | None = None
        try:
            if self._hides_credential:
                from turnwire.agents.claude.process.model_proxy import ModelProxy

                proxy = await ModelProxy.start(env)
            with ExitStack() as open_files:
                config, files = launch.mcp_config.decode(), list[int]()
                if launch.is_secret:
                    files.append(open_files.enter_context(private_file(launch.mcp_config)))
                    config = f"/dev/fd/{files[0]}"
                process = await GuardedProcess.start(
                    [config if each == MCP_CONFIG else each for each in launch.command],
                    cwd=cwd,
                    env=env if proxy is None else proxy.env,
                    grace=self._grace,
                    lease=lease,
                    limits=self._limits,
                    files=files,
                    isolation=self._isolation,
                    keep=self._own_files(env),
                )
        except BaseException as failure:
            if proxy is not None:
                proxy.close()
            if isinstance(failure, OSError):
                raise AgentGone(f"The agent could not be started: {failure}") from failure
            raise
        finally:
            self._starting -= 1
        if proxy is not None:
            process.when_over(proxy.close)
        self._running.add(process)
        return process
