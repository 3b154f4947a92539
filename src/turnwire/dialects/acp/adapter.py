"""Translates the stream of an ACP agent into normalized events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType, structs

from turnwire.core import events as ev
from turnwire.core import forms
from turnwire.core.blocks import (
    ContentBlock,
    TodoItem,
    TodoListBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from turnwire.core.lenient import read_json
from turnwire.core.questions import questions_of
from turnwire.core.recent import Recent
from turnwire.dialects.acp import messages as rpc
from turnwire.dialects.acp import updates
from turnwire.dialects.acp.calls import Call, plain
from turnwire.dialects.acp.client_tools import ClientTools
from turnwire.dialects.acp.endings import Ending, ending_of, failure_of
from turnwire.dialects.acp.growing import Events, Growing
from turnwire.dialects.acp.lines import Line
from turnwire.dialects.acp.results import (
    InitializeResult,
    PromptResult,
    SessionResult,
    read_result,
)
from turnwire.dialects.acp.settings import SessionSettings

__all__ = ["AcpStreamAdapter", "elicitation_words"]

_REMEMBERED = 1024  # ended calls to remember, for late updates
_SESSIONS = ("session/new", "session/load", "session/resume")


class AcpStreamAdapter:
    """Follows one agent process. Call `feed` for its lines and `sent` for the host's, in order.

    The host opens the session, and its id stays. What the agent reports about another session, such
    as one of a sub-agent, is kept as unknown events.

    `key` makes ids of messages unique in the conversation, if the agent gives them no id.
    """

    def __init__(self, provider: str = "acp", key: str = "message") -> None:
        self.provider = provider
        self.session_id = ""
        self._has_session = False  # the session is open, so its id stays
        self.agent = InitializeResult()
        self.settings = SessionSettings()
        self._key = key
        self._growing = Growing(provider, key)
        self._methods: dict[rpc.RequestId, str] = {}  # requests of the host without a response
        self._hears_host = False
        self._cwd: str | None = None
        self._is_opened = False  # the session is reported with the next turn
        self._in_turn = False
        self._is_cancelled = False
        self._calls: dict[str, Call] = {}
        self._ended = Recent(_REMEMBERED)
        self._ended_now: set[str] = set()  # in this turn
        self._again: dict[str, str] = {}  # ids of earlier turns that this turn uses again
        self._number_again = 0
        self._open: dict[rpc.RequestId, str] = {}  # permissions: the agent's id -> our request id
        self._asked: dict[rpc.RequestId, str] = {}  # questions: the same
        self._client_tools: ClientTools | None = None
        self._asks_client: set[str] = set()  # open calls that wait for the front end
        self._told: dict[str, Call] = {}  # calls that the host announced, and the agent has not
        self._plans: dict[str, list[TodoItem]] = {}
        self._plan_number = 0  # of plans that were shown
        self._cost: float | None = None  # of the session
        self._cost_before = 0.0  # of the session, at the start of the turn
        self._handlers: dict[type, Callable[[Any, Line], Events]] = {
            rpc.Update: self._update,
            rpc.Response: self._response,
            rpc.RequestPermission: self._permission,
            rpc.CreateElicitation: self._elicitation,
            rpc.CancelRequest: self._withdrawn,
            rpc.ElicitationComplete: self._complete,
            rpc.UnknownMessage: self._unknown_message,
        }
        self._updates: dict[type, Callable[[Any, Line], Events]] = {
            updates.ToolCall: self._tool_call,
            updates.ToolCallUpdate: self._tool_call,
            updates.Plan: self._plan,
            updates.PlanUpdate: self._one_plan,
            updates.PlanRemoved: self._plan_removed,
            updates.CurrentModeUpdate: self._mode,
            updates.ConfigOptionUpdate: self._options,
            updates.SessionInfoUpdate: self._info,
            updates.UsageUpdate: self._usage,
            updates.AvailableCommandsUpdate: self._news,
            updates.UserMessageChunk: self._echo,
            updates.UnknownUpdate: self._unknown_update,
        }

    def feed(self, line: Line) -> Events:
        """Returns the events of one line of the agent, in order; often one, sometimes none."""
        message = line.message
        if type(message) is rpc.Update and self._in_turn:
            params = message.params
            update = params.update
            if type(update) is updates.AgentMessageChunk and params.session_id == self.session_id:
                # The most frequent line.
                return self._growing.chunk("text", update.content, update.message_id)
        handle = self._handlers.get(type(message))
        # Requests about files and terminals are handled by the host.
        return handle(message, line) if handle is not None else []

    def feed_all(self, lines: Iterable[Line]) -> Events:
        """Returns the events of several lines of the agent."""
        out: Events = []
        for line in lines:
            out += self.feed(line)
        return out

    def sent(self, line: Line) -> Events:
        """Takes a line of the host: a prompt begins a turn, an answer ends a question."""
        self._hears_host = True
        match line.message:
            case rpc.Prompt(id=number, params=params):
                self._methods[number] = "session/prompt"
                return [*self._end("agent_lost"), *self._begin(params.session_id)]
            case rpc.Cancel():
                self._is_cancelled = self._in_turn
            case rpc.Response(id=number, result=result):
                self._open.pop(number, None)
                return self._answered(number, result)
            case rpc.NewSession() | rpc.LoadSession() | rpc.ResumeSession() as opening:
                self._methods[opening.id] = _method(opening)
                self._has_session = False
                if isinstance(opening.params, dict):
                    self._cwd = opening.params.get("cwd")
                    self._meet(opening.params.get("sessionId"))
            case rpc.UnknownMessage() | rpc.CancelRequest():
                pass
            case other if (number := getattr(other, "id", None)) is not None:
                self._methods[number] = _method(other)
                self.settings.asked(number, other)
            case _:
                pass
        return []

    def finish(self) -> Events:
        """Ends the stream: ends the open message and the open turn."""
        return self._end("agent_lost")

    # --- used by the host ---------------------------------------------------------------------

    def call_of(self, asked: rpc.PermissionParams) -> dict[str, Any]:
        """Returns the fields of the call that a permission was just asked for, as told so far."""
        call_id = self._call_id(asked.tool_call.tool_call_id, asked.session_id)
        call_id = self._again.get(call_id, call_id)
        return dict(self._calls[call_id].fields) if call_id in self._calls else {}

    def offer(self, tools: ClientTools) -> None:
        """Says which tools of the front end the agent gets with its next session."""
        self._client_tools = tools

    def client_called(
        self, tool: str, given: dict[str, Any], own_id: str | None
    ) -> tuple[str, Events] | None:
        """Takes a call of the front end's tool that has come over MCP, during a turn.

        Returns the id of the call that the agent has announced for it, and the events that announce
        it. Returns None if no call is certain to be this one. With `own_id` it is then the oldest
        call without arguments; if there is none, the call is announced with that id.
        """
        call = self._announced(tool, given, is_last=own_id is not None)
        if call is None:
            if own_id is None:
                return None
            call = self._calls[own_id] = self._told[own_id] = Call(own_id, self._client_tools)
            call.update(updates.ToolCallFields(own_id, name=tool, kind="other"))
            call.name = call.client_tool = tool
        call.came(given)
        self._asks_client.add(call.id)
        return call.id, self._growing.announce(call)

    def _announced(self, tool: str, given: dict[str, Any], *, is_last: bool) -> Call | None:
        there = [c for c in self._calls.values() if c.client_tool == tool and not c.has_come]
        for call in there:
            if given in (call.arguments, call.fields.get("rawInput") or None):
                return call
        # Not all agents tell the arguments. With several calls their order may be another one.
        bare = [c for c in there if c.arguments is None and not c.is_announced]
        running = [c for c in bare if c.status == "in_progress"]
        if running and (not given or len(there) == 1):
            return running[0]
        return bare[0] if bare and is_last else None

    def client_answered(self, call_id: str, said: str, *, is_error: bool) -> Events:
        """Takes the front end's answer. If the agent has announced the call, it reports the result."""
        self._asks_client.discard(call_id)
        is_own = call_id in self._told and call_id in self._calls
        return self.did(call_id, said, is_error=is_error) if is_own else []

    def client_withdrawn(self, call_id: str, why: str) -> Events:
        """Takes that the agent no longer waits for the front end's answer."""
        out = self._withdraw_client(call_id)
        return [*out, *self.client_answered(call_id, why, is_error=True)]

    def offered(self) -> ev.SessionOffered:
        """Returns what the session offers, and its current settings."""
        images = self.agent.agent_capabilities.prompt_capabilities.image
        offers = self.settings.offers(images=images)
        model, mode, options = self.settings.model, self.settings.mode, self.settings.values
        told = {"model": model, "permission_mode": mode, "options": options}
        data = Raw(msgspec.json.encode({**told, "offers": offers.id}))
        return ev.SessionOffered(
            *(*self._whose, "session_offered", data),
            offers=offers,
            model=model,
            permission_mode=mode,
            options=options,
        )

    def refused(self, code: str, why: str) -> Events:
        """Returns a turn that fails before the agent has got its prompt."""
        begun = self._begin(self.session_id)
        return [*begun, *self._turn_ends(Ending("error", code, why), UNSET)]

    def printed(self, terminal_id: str, piece: str) -> Events:
        """Takes output of a terminal that the host runs for the agent."""
        out: Events = []
        for call in self._calls.values():
            if call.uses_terminal(terminal_id):
                call.print(piece)
                out.append(self._progress(call, piece))
        return out

    def ask(self, call_id: str, tool_name: str, given: dict[str, Any], always: str) -> Events:
        """Asks for permission of something that the agent wants the host to do."""
        call = Call(call_id)
        call.name = tool_name
        call.update(updates.ToolCallFields(call_id, raw_input=given, kind="other"))
        self._calls[call_id] = call
        rule = {"optionId": always, "name": always, "kind": "allow_always"}
        asked = ev.PermissionRequested(
            *self._whose,
            call_id,
            call_id,
            tool_name,
            given,
            suggestions=[rule],
            decision_only=True,
        )
        return [*self._growing.announce(call), asked]

    def did(self, call_id: str, said: str, *, is_error: bool) -> Events:
        """Reports the result of what `ask` has asked for."""
        self._calls.pop(call_id, None)
        self._end_call(call_id)
        block = ToolResultBlock(call_id, said, is_error, "failed" if is_error else "completed")
        return [*self._growing.end(), ev.UserMessage(*self._whose, [block], "tool")]

    # --- turns --------------------------------------------------------------------------------

    @property
    def _whose(self) -> tuple[str, str, None, None]:
        return self._growing.whose

    def _meet(self, session_id: Any) -> None:
        """Takes the id of the session, from the host or from a result that the host waits for."""
        if isinstance(session_id, str) and session_id:
            self.session_id = session_id
            self._has_session = True
            self._growing.whose = (self.provider, session_id, None, None)

    def _is_ours(self, session_id: str) -> bool:
        """Returns whether this is the session. Before one is open, the first that is named is."""
        if not self._has_session:
            self._meet(session_id)
        return session_id == self.session_id

    def _call_id(self, call_id: str, session_id: str) -> str:
        """Returns the id of a call in the conversation: sessions count their calls separately."""
        return call_id if session_id == self.session_id else f"{session_id}/{call_id}"

    def _named(self, change: updates.ToolCallFields, *, begins: bool) -> updates.ToolCallFields:
        """Gives a call another id if the agent uses that of an earlier turn's call again."""
        given = change.tool_call_id
        is_over = given in self._ended and given not in self._ended_now
        if begins and is_over and given not in self._again:
            self._number_again += 1
            self._again[given] = f"{given}.{self._key}-{self._number_again}"
        own = self._again.get(given)
        return change if own is None else structs.replace(change, tool_call_id=own)

    def _renamed(self, change: updates.ToolCallFields, session_id: str) -> updates.ToolCallFields:
        call_id = self._call_id(change.tool_call_id, session_id)
        return structs.replace(change, tool_call_id=call_id)

    def _begin(self, session_id: str) -> Events:
        self._meet(session_id)
        self._in_turn, self._is_cancelled = True, False
        init = self._session_init() if self._is_opened else []
        self._is_opened = False
        return [*init, ev.TurnStarted(*self._whose)]

    def _session_init(self) -> Events:
        info = self.agent.agent_info
        version = None if info is None else info.version
        ids = (*self._whose, self.settings.model, self._cwd, self.settings.mode)
        return [ev.SessionInit(*ids, agent_version=version)]

    def _opened(self) -> Events | None:
        """Returns the start of a turn if one is needed. Returns None outside of a turn.

        A recording without the host's lines does not show where a turn begins.
        """
        if self._in_turn:
            return []
        return None if self._hears_host else self._begin(self.session_id)

    def _end(self, lost: str) -> Events:
        if not self._in_turn:
            return []
        said = "the agent's stream ended in the middle of a turn"
        return self._turn_ends(Ending(lost, lost, said), UNSET)

    def _turn_ends(self, ending: Ending, raw: Raw | UnsetType) -> Events:
        out = self._growing.end()
        out += [ev.RequestWithdrawn(*self._whose, each) for each in self._open.values()]
        out += [ev.RequestWithdrawn(*self._whose, each) for each in self._asked.values()]
        out += [ev.RequestWithdrawn(*self._whose, each) for each in sorted(self._asks_client)]
        self._open, self._asked = {}, {}
        self._asks_client.clear()
        self._told.clear()
        for call_id in self._calls:
            self._ended.add(call_id)
        self._ended_now.clear()
        self._again.clear()
        self._calls, self._in_turn = {}, False
        interrupted = self._is_cancelled or ending.stop_reason == "cancelled"
        failed = ending.code is not None and not interrupted
        if failed:
            out.append(ev.TurnFailed(*self._whose, str(ending.code), ending.message))
        else:
            out.append(ev.TurnCompleted(*self._whose, ending.stop_reason, interrupted))
        cost = None if self._cost is None else max(0.0, self._cost - self._cost_before)
        self._cost_before = self._cost or 0.0
        out.append(
            ev.ResultSummary(
                *self._whose,
                ending.stop_reason,
                failed,
                cost_usd=cost,
                total_cost_usd=self._cost,
                usage=ending.usage,
                stop_reason=ending.stop_reason,
                errors=[ending.message] if failed else None,
                raw=raw,
            )
        )
        return out

    # --- responses ----------------------------------------------------------------------------

    def _response(self, response: rpc.Response, line: Line) -> Events:
        method = self._methods.pop(response.id, None) or _guess(response)
        if self.settings.answered(response):
            return [self.offered()]
        if response.error is not None:
            # An error whose request is not known ends the turn, if one is running.
            if not self._in_turn or method not in ("session/prompt", ""):
                return []
            return self._turn_ends(failure_of(response.error, self.agent), Raw(line.raw))
        if method == "initialize":
            self.agent = read_result(InitializeResult, response.result)
        elif method in _SESSIONS:
            self._session(read_result(SessionResult, response.result))
        elif method == "session/prompt" and self._in_turn:
            result = read_result(PromptResult, response.result)
            return self._turn_ends(ending_of(result), Raw(line.raw))
        return []

    def _session(self, result: SessionResult) -> None:
        self._meet(result.session_id)
        self.settings.opened(result)
        self._is_opened = True

    # --- requests of the agent ----------------------------------------------------------------

    def _permission(self, request: rpc.RequestPermission, line: Line) -> Events:
        out = self._opened()
        if out is None:
            return [self._late("session/request_permission", line)]
        params = request.params
        self._is_ours(params.session_id)
        change = self._renamed(params.tool_call, params.session_id)
        call = self._call(self._named(change, begins=True))
        out += self._growing.announce(call)
        request_id = f"{self._key}-{request.id}"
        self._open[request.id] = request_id
        always = [each for each in params.options if each.kind == "allow_always"]
        asked = ev.PermissionRequested(
            *self._whose,
            request_id,
            call.id,
            call.name,
            call.input,
            title=call.title,
            suggestions=[plain(each) for each in always],
            raw=Raw(line.raw),
            decision_only=True,
        )
        return [*out, asked]

    def _elicitation(self, request: rpc.CreateElicitation, line: Line) -> Events:
        out = self._opened()
        if out is None:
            return [self._late("elicitation/create", line)]
        params = request.params
        fields = {} if params.url else forms.fields_of(params.requested_schema)
        required = forms.required_of(params.requested_schema)
        given = forms.asked_with(elicitation_words(params), fields, required)
        call_id = f"{self._key}-question-{request.id}"
        self._asked[request.id] = call_id
        call = Call(call_id)
        self._calls[call_id] = call
        block = ToolUseBlock(call_id, "request_input", "QUESTION", given, "completed", None, True)
        message_id = self._growing.new_id()
        asked = ev.QuestionAsked(
            *self._whose,
            call_id,
            call_id,
            "request_input",
            questions_of(given),
            given,
            Raw(line.raw),
            True,
        )
        said = ev.AssistantMessage(*self._whose, message_id, 0, [block])
        return [*out, *self._growing.end(), said, asked]

    def _answered(self, number: rpc.RequestId, result: Raw | UnsetType) -> Events:
        """Reports the answer to a question as the result of its call."""
        call_id = self._asked.pop(number, None)
        if call_id is None or call_id not in self._calls:
            return []
        answer = {} if isinstance(result, UnsetType) else read_json(result)
        action = answer.get("action") if isinstance(answer, dict) else None
        if action == "accept":
            values = answer.get("content") or {}
            texts = [v if isinstance(v, str) else _json(v) for v in values.values()]
            said = texts[0] if len(texts) == 1 else _json(values) if values else "Accepted."
            return self.did(call_id, said, is_error=False)
        return self.did(
            call_id, "Declined." if action == "decline" else "Cancelled.", is_error=True
        )

    def _withdrawn(self, request: rpc.CancelRequest, line: Line) -> Events:
        number = request.params.get("requestId") if isinstance(request.params, dict) else None
        request_id = self._open.pop(number, None) or self._asked.pop(number, None)
        return [] if request_id is None else [ev.RequestWithdrawn(*self._whose, request_id)]

    # --- updates ------------------------------------------------------------------------------

    def _update(self, message: rpc.Update, line: Line) -> Events:
        update = message.params.update
        kind = type(update)
        if not self._is_ours(message.params.session_id):
            return self._of_another(message.params, line)
        if kind is updates.AgentMessageChunk or kind is updates.AgentThoughtChunk:
            return self._chunk(update, line)
        return self._updates[kind](update, line)

    def _of_another(self, params: rpc.UpdateParams, line: Line) -> Events:
        """Handles an update of another session: only of a call that a permission was asked for."""
        update = params.update
        if isinstance(update, updates.ToolCall | updates.ToolCallUpdate):
            change = self._renamed(update, params.session_id)
            if self._named(change, begins=False).tool_call_id in self._calls:
                return self._tool_call(change, line)
        return [self._unknown("session/update", line, "it belongs to another session")]

    def _chunk(self, update: Any, line: Line) -> Events:
        kind: ev.DeltaKind = "text" if type(update) is updates.AgentMessageChunk else "thinking"
        if self._in_turn:
            return self._growing.chunk(kind, update.content, update.message_id)
        return self._outside(
            line, lambda: self._growing.chunk(kind, update.content, update.message_id)
        )

    def _outside(self, line: Line, act: Callable[[], Events]) -> Events:
        """Handles an update outside of a turn: repeated history is dropped, the rest is kept."""
        if "session/load" in self._methods.values():
            return []  # the log has it already
        out = self._opened()
        return [self._late("session/update", line)] if out is None else [*out, *act()]

    def _tool_call(self, change: updates.ToolCallFields, line: Line) -> Events:
        if not self._in_turn:
            return self._outside(line, lambda: self._tool_call(change, line))
        given = change.tool_call_id
        change = self._named(change, begins=isinstance(change, updates.ToolCall))
        if change.tool_call_id in self._ended:
            return []  # the call has its result
        is_new = change.tool_call_id not in self._calls
        call = self._call(change)
        out: Events = []
        if call.client_tool is not None and not call.is_announced and not call.has_come:
            if self._is_told(call, given):
                return self._tool_call(structs.replace(change, tool_call_id=given), line)
            if call.has_ended:
                out += self._growing.announce(call)
            elif call.place is None and not self._may_be_told(call):
                out += self._growing.begin(call)  # announced with the arguments that come over MCP
        elif call.status != "pending":
            out += self._growing.announce(call)
        elif is_new:
            out += self._growing.begin(call)
        piece = call.printed_by(change)
        is_held = call.client_tool is not None and not call.is_announced
        if piece and not is_held:
            out.append(self._progress(call, piece))
        if call.has_ended:
            out += self._result(call)
        return out

    def _may_be_told(self, call: Call) -> bool:
        """Returns whether the host may have announced this call, whose arguments are not known."""
        others = [each for each in self._told.values() if each.client_tool == call.client_tool]
        return call.arguments is None and bool(others)

    def _is_told(self, call: Call, given: str) -> bool:
        """Returns whether the host has announced this call. `given` is the agent's id of it.

        From then on that id means the call of the host.
        """
        if call.place is not None or (call.arguments is None and not call.has_ended):
            return False
        for own in self._told.values():
            is_same = call.arguments is None or call.arguments == own.arguments
            if own.client_tool == call.client_tool and is_same:
                del self._calls[call.id], self._told[own.id]
                self._again[given] = own.id
                return True
        return False

    def _call(self, change: updates.ToolCallFields) -> Call:
        call = self._calls.get(change.tool_call_id)
        if call is None:
            call = Call(change.tool_call_id, self._client_tools)
            self._calls[change.tool_call_id] = call
        call.update(change)
        return call

    def _progress(self, call: Call, piece: str) -> ev.ToolProgress:
        return ev.ToolProgress(*self._whose, call.id, call.name, None, piece)

    def _withdraw_client(self, call_id: str) -> Events:
        if call_id not in self._asks_client:
            return []
        self._asks_client.discard(call_id)
        return [ev.RequestWithdrawn(*self._whose, call_id)]

    def _result(self, call: Call) -> Events:
        del self._calls[call.id]
        self._end_call(call.id)
        out = [*self._withdraw_client(call.id), *self._growing.end()]
        out.append(ev.UserMessage(*self._whose, [call.result()], "tool"))
        plan = call.plan()
        if plan is not None:
            out.append(ev.PlanUpdated(*self._whose, plan))
        return out

    def _end_call(self, call_id: str) -> None:
        self._ended.add(call_id)
        self._ended_now.add(call_id)

    def _plan(self, update: updates.Plan, line: Line) -> Events:
        return self._planned("", update.entries)

    def _one_plan(self, update: updates.PlanUpdate, line: Line) -> Events:
        if update.plan.entries is None:  # a text or a file
            return self._news(update, line)
        return self._planned(update.plan.plan_id, update.plan.entries)

    def _plan_removed(self, update: updates.PlanRemoved, line: Line) -> Events:
        self._plans.pop(update.plan_id, None)
        return self._planned(None, [])

    def _planned(self, plan_id: str | None, entries: list[updates.PlanEntry]) -> Events:
        if plan_id is not None:
            self._plans[plan_id] = [TodoItem(each.content, each.status) for each in entries]
        items = [item for plan in self._plans.values() for item in plan]
        updated = ev.PlanUpdated(*self._whose, items)
        if not self._in_turn or not entries:
            return [updated]
        self._plan_number += 1
        name = f"{self._key}-plan-{self._plan_number}"
        shown: list[ContentBlock] = [TodoListBlock(items, "completed")]
        said = ev.AssistantMessage(*self._whose, name, 0, shown)
        return [*self._growing.end(), said, updated]

    def _mode(self, update: updates.CurrentModeUpdate, line: Line) -> Events:
        subtype, mode = "current_mode_update", update.current_mode_id
        self.settings.mode_is(mode)
        changed = ev.PermissionModeChanged(
            *self._whose, subtype, Raw(line.raw), permission_mode=mode
        )
        return [changed]

    def _options(self, update: updates.ConfigOptionUpdate, line: Line) -> Events:
        before = self.settings.mode
        self.settings.options_are(update.config_options)
        mode = self.settings.mode
        if mode is None or mode == before:
            return [*self._news(update, line), self.offered()]
        ids = (*self._whose, "config_option_update", Raw(line.raw))
        return [ev.PermissionModeChanged(*ids, permission_mode=mode), self.offered()]

    def _info(self, update: updates.SessionInfoUpdate, line: Line) -> Events:
        if not update.title:
            return self._news(update, line)
        ids = (*self._whose, "session_info_update", Raw(line.raw), True)
        return [ev.TitleProposed(*ids, title=update.title)]

    def _usage(self, update: updates.UsageUpdate, line: Line) -> Events:
        if update.cost is not None and update.cost.currency == "USD":
            self._cost = update.cost.amount
        return self._news(update, line)

    def _news(self, update: Any, line: Line) -> Events:
        """Passes on news about the moment: clients see it, the log does not keep it."""
        kind = str(update.__struct_config__.tag)
        return [ev.SystemEvent(*self._whose, kind, Raw(line.raw), True)]

    def _complete(self, message: rpc.ElicitationComplete, line: Line) -> Events:
        return [ev.SystemEvent(*self._whose, "elicitation_complete", Raw(line.raw), True)]

    def _echo(self, update: updates.UserMessageChunk, line: Line) -> Events:
        return []  # the log has the prompt already

    # --- unknown messages ---------------------------------------------------------------------

    def _unknown_update(self, update: updates.UnknownUpdate, line: Line) -> Events:
        return [self._unknown(f"session_update/{update.original_type}", line)]

    def _unknown_message(self, message: rpc.UnknownMessage, line: Line) -> Events:
        return [self._unknown(message.original_type, line, message.reason)]

    def _late(self, kind: str, line: Line) -> ev.UnknownEvent:
        return self._unknown(kind, line, "it came outside of a turn")

    def _unknown(self, kind: str, line: Line, reason: str | None = None) -> ev.UnknownEvent:
        return ev.UnknownEvent(*self._whose, kind, Raw(line.raw), reason)


def elicitation_words(params: rpc.ElicitationParams) -> str:
    """Returns the text of a question, with the web page on which it is answered."""
    words = params.message or "The agent asks something."
    return words if params.url is None else f"{words}\n{params.url}"


def _method(message: Any) -> str:
    return str(message.__struct_config__.tag)


def _guess(response: rpc.Response) -> str:
    """Returns the method of a response whose request is not known, by the fields of its result."""
    value = None if isinstance(response.result, UnsetType) else read_json(response.result)
    match value:
        case {"stopReason": _}:
            return "session/prompt"
        case {"agentCapabilities": _} | {"protocolVersion": _}:
            return "initialize"
        case {"sessionId": _}:
            return "session/new"
        case _:
            return ""


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
