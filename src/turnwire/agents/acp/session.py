"""One session with an ACP agent, which runs under the guard."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any
from uuid import uuid4

import msgspec
from msgspec import UNSET, Raw, UnsetType, structs

from turnwire.agents.acp.client_calls import ClientCalls
from turnwire.agents.acp.connection import Connection, RequestFailed
from turnwire.agents.acp.files import Denied, Files, Terminals
from turnwire.agents.acp.grants import Grants
from turnwire.agents.acp.requests import Requests
from turnwire.agents.acp.settings import Allowed, Settings
from turnwire.agents.acp.tool_server import ToolServer, server_name
from turnwire.agents.client_tools import ClientTool
from turnwire.agents.local import LocalSession
from turnwire.agents.process import GuardedProcess
from turnwire.core import events as ev
from turnwire.core.answers import in_words
from turnwire.core.blocks import ToolResultBlock
from turnwire.core.content import Content, FileContent, ImageContent, TextContent
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.lenient import read_json
from turnwire.dialects import acp
from turnwire.dialects.acp import content as blocks
from turnwire.dialects.acp import messages as rpc
from turnwire.dialects.acp.adapter import elicitation_words
from turnwire.dialects.acp.client_tools import ClientTools
from turnwire.dialects.acp.endings import AUTH_REQUIRED, how_to_log_in
from turnwire.dialects.acp.results import SessionResult, read_result
from turnwire.ports import AgentGone, Isolation, SessionStart
from turnwire.version import __version__

__all__ = ["AcpSession"]

_NO_PICTURES = "This agent takes no pictures. Send the message without them."
_LEAVE = 2.0  # seconds for an idle agent to exit by itself
_INVALID, _NO_METHOD, _NOT_FOUND = -32602, -32601, -32002  # error codes of JSON-RPC and ACP


class AcpSession(LocalSession):
    """An agent session. `begin` opens it in the agent."""

    def __init__(
        self,
        name: str,
        process: GuardedProcess,
        start: SessionStart,
        cwd: str,
        *,
        hide: list[str],
        allowed: Allowed,
        client_tools: Sequence[ClientTool] = (),
    ) -> None:
        super().__init__()
        self._name = name
        self._process = process
        self._start_of = start
        self._cwd = cwd
        key = uuid4().hex[:12]
        self._adapter = acp.AcpStreamAdapter(name, key)
        self._connection = Connection(process, self._heard, self._sent, self._die)
        self._grants = Grants(cwd)
        self._requests = Requests(self._connection, key, self._grants)
        self._client_tools = client_tools
        self._client_calls = ClientCalls(self._adapter, self._emit, key)
        self._tool_server: ToolServer | None = None
        self._settings = Settings(self._connection, self._adapter.settings, allowed)
        self._files = Files(start.roots or [cwd], hide)
        self._terminals: Terminals | None = None
        self._may_write = self._may_run = False  # a person has allowed it for the session
        self._own = count(1)
        self._key = key
        self._in_turn = False
        self._unasked: list[str] = []  # questions outside of a turn
        self._began = 0.0

    @property
    def native_session_id(self) -> str | None:
        """Returns the agent's id of this session."""
        return self._adapter.session_id or None

    @property
    def is_running(self) -> bool:
        """Returns whether the process may still run."""
        return self._process.is_running

    # --- opening ------------------------------------------------------------------------------

    async def begin(
        self, *, isolation: Isolation | None, auth_method: str | None, mcp_servers: list[Any]
    ) -> None:
        """Opens the session in the agent. Raises AgentGone if that fails."""
        self._connection.listen()
        self._start(self._watch())
        is_other_user = isolation is not None and isolation.user is not None
        self._terminals = Terminals(
            self._files, self._cwd, self._printed, isolation, self._start_of.lease
        )
        if self._client_tools:
            mcp_servers = [*mcp_servers, await self._serve_tools(isolation, mcp_servers)]
        # The host must not act for an agent that runs as another user, who may do less.
        serves = not is_other_user
        greeting = {
            "protocolVersion": rpc.PROTOCOL_VERSION,
            "clientInfo": {"name": "turnwire", "title": "Turnwire", "version": __version__},
            "clientCapabilities": {
                "fs": {"readTextFile": serves, "writeTextFile": serves},
                "terminal": serves,
                "elicitation": {"form": {}, "url": {}},
                "session": {"configOptions": {"boolean": {}}},
            },
        }
        try:
            self._check_version(await self._connection.request(rpc.Initialize, greeting))
            if auth_method is not None:
                await self._connection.request(rpc.Authenticate, {"methodId": auth_method})
            await self._open(mcp_servers)
        except RequestFailed as failed:
            raise AgentGone(self._why(failed)) from failed
        start = self._start_of
        await self.choose(model=start.model, permission_mode=start.permission_mode)
        await self._settings.restore(start.session_options)
        self._emit([self._adapter.offered()])

    def _check_version(self, result: Raw) -> None:
        """Raises AgentGone if the agent speaks another version of the protocol."""
        said = read_json(result)
        version = said.get("protocolVersion") if isinstance(said, dict) else None
        if version in (None, rpc.PROTOCOL_VERSION):  # some agents do not name it
            return
        raise AgentGone(
            f"The agent {self._name} speaks version {version!r} of the Agent Client Protocol, and "
            f"Turnwire speaks version {rpc.PROTOCOL_VERSION}. Install a version of the agent that "
            "speaks it, or correct `command`: it may start another protocol."
        )

    async def _serve_tools(self, isolation: Isolation | None, others: list[Any]) -> dict[str, Any]:
        """Opens a server with the front end's tools. Returns its entry beside those of `others`."""
        calls, tools = self._client_calls, self._client_tools
        user = None if isolation is None else isolation.user
        self._tool_server = ToolServer(tools, calls.called, calls.cancelled, user=user)
        await self._tool_server.open()
        name = server_name([each.get("name") for each in others if isinstance(each, dict)])
        self._adapter.offer(ClientTools(name, [tool.name for tool in tools]))
        return self._tool_server.entry(name)

    async def _open(self, mcp_servers: list[Any]) -> None:
        opening = {"cwd": self._cwd, "mcpServers": mcp_servers}
        known = self._start_of.native_session_id
        able = self._adapter.agent.agent_capabilities
        if known is not None:
            again: type[rpc.ResumeSession | rpc.LoadSession] | None = None
            if "resume" in able.session_capabilities:
                again = rpc.ResumeSession
            elif able.load_session:
                again = rpc.LoadSession
            try:
                if again is not None:
                    await self._connection.request(again, {**opening, "sessionId": known})
                    self._settings.take(self._adapter.session_id)
                    return
                why = "it cannot resume sessions"
            except RequestFailed as failed:
                if failed.error.code == AUTH_REQUIRED:
                    raise
                why = failed.error.message
            data = {"session_id": known, "reason": why}
            self._say(ev.SystemEvent(*self._whose, "session_not_resumed", _raw(data)))
        result = await self._connection.request(rpc.NewSession, opening)
        session = read_result(SessionResult, result)
        if not session.session_id:
            raise AgentGone(
                f"The agent {self._name} has opened a session without an id: the result of "
                "session/new has no sessionId. Update the agent, or choose another."
            )
        self._settings.take(self._adapter.session_id)

    def _why(self, failed: RequestFailed) -> str:
        said = failed.error.message.rstrip(".") or "no reason given"
        if self._unasked:
            said += f". It asked: {' '.join(self._unasked)}".replace("\n", " ").rstrip(".")
        if failed.error.code == AUTH_REQUIRED:
            way = how_to_log_in(self._adapter.agent.auth_methods)
            return f"The agent {self._name} needs a login: {said}. {way}"
        return f"The agent {self._name} could not open a session: {said}."

    async def _watch(self) -> None:
        """Ends the session when the process has ended."""
        await self._process.silence()
        await self._process.wait()
        why = self._process.how_it_ended()
        self._connection.give_up(why)
        self._die(why)

    # --- turns --------------------------------------------------------------------------------

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Begins a turn."""
        self._check_open()
        can_see = self._adapter.agent.agent_capabilities.prompt_capabilities.image
        if not can_see and any(isinstance(each, ImageContent) and each.data for each in content):
            self._emit(self._adapter.refused("no_pictures", _NO_PICTURES))
            return
        said = [_block(each) for each in content]
        self._prompt([each for each in said if each is not None])

    def _prompt(self, content: list[blocks.AcpContent]) -> None:
        self._in_turn = True
        self._client_calls.turn_began()
        self._began = time.monotonic()
        self._connection.prompt(rpc.PromptParams(self._adapter.session_id, content))

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Passes answers on. If the process that asked has ended, they are a prompt."""
        self._check_open()
        late = [reply for reply in replies if not self._is_answered(reply)]
        if resumed and late and not self._in_turn:
            for reply in late:
                if not reply.in_words:  # the engine gives the call that asked its result
                    self._say(self._delivered_in_words(reply.request_id))
            said = [each for each in late if each.decision != "deny"]
            words = in_words([each.answer for each in said], [each.questions for each in said])
            self._prompt([blocks.TextContent(words)])

    def _is_answered(self, reply: Reply) -> bool:
        return self._requests.answer(reply) or self._client_calls.answer(reply)

    def _delivered_in_words(self, request_id: str) -> ev.AnswerDelivered:
        told = _raw({"request_id": request_id, "delivered_as": "prompt"})
        return ev.AnswerDelivered(
            *self._whose, "answer_delivered", told, request_id=request_id, in_words=True
        )

    async def interrupt(self) -> None:
        """Asks the agent to stop the turn. Open requests are cancelled, as the protocol demands."""
        self._check_open()
        if self._in_turn:
            self._connection.send(rpc.Cancel({"sessionId": self._adapter.session_id}))
            self._requests.cancel()
            self._client_calls.cancel()

    async def choose(
        self,
        *,
        model: str | None,
        permission_mode: str | None,
        max_thinking_tokens: int | UnsetType | None = UNSET,
    ) -> None:
        """Changes the model or the mode. Reports a refusal as an event."""
        self._check_open()
        before = self._settings.current
        refused = await self._settings.choose(model=model, mode=permission_mode)
        if refused:
            wanted = ev.Choice(
                model if "model" in refused else None,
                permission_mode if "mode" in refused else None,
            )
            stays = ev.Choice(before.model, before.permission_mode)
            data = _raw(refused)
            self._say(
                ev.ChoiceRefused(*self._whose, "choice_refused", data, wanted=wanted, stays=stays)
            )

    async def control(self, control: Control) -> ControlResult:
        """Returns what was asked for, or changes an option of the session."""
        self._check_open()
        found = await self._settings.control(control)
        return await super().control(control) if found is None else found

    async def close(self) -> list[EndedProcess]:
        """Ends the agent, and the commands that were run for it."""
        self._connection.give_up("This session was closed.")
        is_idle = not self._in_turn
        await super().close()
        self._client_calls.turn_ended()
        if self._tool_server is not None:
            await self._tool_server.close()
        ended = [] if self._terminals is None else await self._terminals.close()
        if is_idle:
            self._process.hang_up()
        return [*ended, *await self._process.end(leave=_LEAVE if is_idle else 0.0)]

    # --- lines --------------------------------------------------------------------------------

    @property
    def _whose(self) -> tuple[str, str, None, None]:
        return self._name, self._adapter.session_id, None, None

    def _sent(self, line: acp.Line) -> None:
        self._emit(self._adapter.sent(line))

    def _heard(self, line: acp.Line) -> None:
        self._emit(self._adapter.feed(line))
        self._client_calls.pair()
        message = line.message
        self._settings.hear(message)
        call: dict[str, Any] = {}
        if isinstance(message, rpc.RequestPermission):
            call = self._adapter.call_of(message.params)
        if self._in_turn:
            self._requests.hear(message, call)
        # A grant is used up here, not in a task: the next line may end its call.
        match message:
            case rpc.ReadTextFile():
                self._serve(message.id, lambda: self._read(message.params))
            case rpc.WriteTextFile():
                may = self._may_write or self._grants.take_write(message.params)
                self._serve(message.id, lambda: self._write(message.params, is_allowed=may))
            case rpc.CreateTerminal():
                may = self._may_run or self._grants.take_command(message.params)
                self._serve(message.id, lambda: self._run(message.params, is_allowed=may))
            case rpc.TerminalOutput() | rpc.WaitForExit() | rpc.KillTerminal():
                self._serve(message.id, lambda: self._terminal(message))
            case rpc.ReleaseTerminal():
                self._serve(message.id, lambda: self._terminal(message))
            case rpc.CreateElicitation(params=params) if not self._in_turn:
                # No person can be asked. The words help if the agent cannot go on without an answer.
                self._unasked.append(elicitation_words(params))
                self._connection.respond(message.id, {"action": "cancel"})
            case rpc.ElicitationComplete(params={"elicitationId": elicitation_id}):
                self._requests.complete(elicitation_id)
            case rpc.RequestPermission() if not self._in_turn:
                self._connection.refuse(message.id, _INVALID, "There is no turn to ask in.")
            case rpc.UnknownMessage(id=number) if not isinstance(number, UnsetType):
                name = message.original_type
                self._connection.refuse(number, _NO_METHOD, f"Turnwire has no method {name}.")
            case _:
                pass

    def _emit(self, events: list[NormalizedStreamEvent]) -> None:
        if not events:
            return
        for place, event in enumerate(events):
            if isinstance(event, ev.TurnCompleted | ev.TurnFailed):
                self._in_turn = False
                self._requests.turn_ended()
                self._client_calls.turn_ended()
            elif isinstance(event, ev.ResultSummary):
                passed = round((time.monotonic() - self._began) * 1000)
                events[place] = structs.replace(event, duration_ms=passed)
            elif isinstance(event, ev.SessionOffered):
                events[place] = self._settings.allowed(event)
            elif isinstance(event, ev.UserMessage):
                for block in event.content:
                    if isinstance(block, ToolResultBlock):
                        self._grants.call_ended(block.tool_use_id)
        self._say(*events)

    # --- what the host does for the agent -----------------------------------------------------

    def _serve(self, number: rpc.RequestId, act: Callable[[], Awaitable[Any]]) -> None:
        self._start(self._answer(number, act))

    async def _answer(self, number: rpc.RequestId, act: Callable[[], Awaitable[Any]]) -> None:
        try:
            result = await act()
        except Denied as denied:
            self._connection.refuse(number, _INVALID, str(denied))
        except FileNotFoundError as missing:
            self._connection.refuse(number, _NOT_FOUND, f"{missing.filename} does not exist.")
        except (OSError, ValueError, AgentGone) as failed:
            self._connection.refuse(number, _INVALID, str(failed))
        else:
            self._connection.respond(number, result)

    async def _read(self, params: rpc.ReadParams) -> Any:
        return {"content": await self._files.read(params)}

    async def _write(self, params: rpc.WriteParams, *, is_allowed: bool) -> Any:
        self._files.allowed(params.path)
        given = {"path": params.path, "content": params.content}

        async def write() -> str:
            await self._files.write(params)
            return f"Wrote {params.path}."

        if is_allowed:
            await write()
        else:
            rule = "Always allow this agent to write files in this session"
            if await self._permitted("write_text_file", given, rule, write):
                self._may_write = True
        return {}

    async def _run(self, params: rpc.NewTerminal, *, is_allowed: bool) -> Any:
        terminals = self._terminals
        assert terminals is not None
        made: list[str] = []

        async def run() -> str:
            made.append(await terminals.create(params))
            return f"Started in {made[0]}."

        if is_allowed:
            await run()
        else:
            command = shlex.join([params.command, *params.args]) if params.args else params.command
            rule = "Always allow this agent to run commands in this session"
            given: dict[str, Any] = {"command": command, "cwd": params.cwd or self._cwd}
            if params.env:
                given["env"] = {each.name: each.value for each in params.env}
            if await self._permitted("terminal", given, rule, run):
                self._may_run = True
        return {"terminalId": made[0]}

    async def _permitted(
        self, tool: str, given: dict[str, Any], rule: str, act: Callable[[], Awaitable[str]]
    ) -> bool:
        """Asks a person, then acts. Returns whether the person has allowed it for the session."""
        if not self._in_turn:
            raise Denied("It is allowed only during a turn, in which a person can be asked.")
        call_id = f"{self._key}-own-{next(self._own)}"
        decision = asyncio.ensure_future(self._requests.decided(call_id))
        await asyncio.sleep(0)  # the request is open before a person can answer it
        self._emit(self._adapter.ask(call_id, tool, given, rule))
        try:
            reply = await decision
        finally:
            decision.cancel()
        if reply.decision != "allow":
            self._did(call_id, reply.reason or "The person said no.", is_error=True)
            raise Denied("The person said no.")
        try:
            said = await act()
        except (Denied, OSError, AgentGone) as failed:
            self._did(call_id, str(failed), is_error=True)
            raise
        self._did(call_id, said, is_error=False)
        return bool(reply.remember)

    def _did(self, call_id: str, said: str, *, is_error: bool) -> None:
        if self._in_turn:
            self._emit(self._adapter.did(call_id, said, is_error=is_error))

    async def _terminal(self, message: Any) -> Any:
        terminals, terminal_id = self._terminals, message.params.terminal_id
        assert terminals is not None
        match message:
            case rpc.TerminalOutput():
                return terminals.output(terminal_id)
            case rpc.WaitForExit():
                return await terminals.wait(terminal_id)
            case rpc.KillTerminal():
                await terminals.kill(terminal_id)
            case _:
                await terminals.release(terminal_id)
        return {}

    def _printed(self, terminal_id: str, text: str) -> None:
        self._emit(self._adapter.printed(terminal_id, text))


def _raw(data: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(data))


def _block(content: Content) -> blocks.AcpContent | None:
    match content:
        case TextContent(text=text):
            return blocks.TextContent(text) if text else None
        case ImageContent(data=str(data)):
            return blocks.ImageContent(data, content.mime_type or "image/png")
        case ImageContent(url=str(url)):
            return blocks.ResourceLink(url, url, content.mime_type)
        case ImageContent():
            return blocks.TextContent("[An image that is not available.]")
        case FileContent(path=path):
            link = path if "://" in path else f"file://{path}"
            return blocks.ResourceLink(link, path, content.mime_type, size=content.size)
        case _:
            return blocks.TextContent(f"[{content.original_type}]")
