"""Translates the stream of an app-server into normalized events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from turnwire.core import events as ev
from turnwire.core.blocks import (
    ContentBlock,
    TextBlock,
    ThinkingBlock,
    TodoItem,
    TodoListBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects.codex import items as i
from turnwire.dialects.codex import messages as m
from turnwire.dialects.codex import notices as n
from turnwire.dialects.codex.failures import code_of, explained, message_of, snake
from turnwire.dialects.codex.lines import Line
from turnwire.dialects.codex.modes import mode_of
from turnwire.dialects.codex.news import in_words
from turnwire.dialects.codex.requests import Request, asks, is_answered, refusal_of, result_text
from turnwire.dialects.codex.translate import (
    CALLS,
    block_of,
    call_of,
    content_of,
    result_of,
    search_of,
    usage_of,
)

__all__ = ["CodexStreamAdapter"]

Events: TypeAlias = list[NormalizedStreamEvent]

_NAME = "codex"
_STEPS = {"inProgress": "in_progress"}  # the status of a plan's step, in Turnwire's words
# Items that are news about the thread, not content.
_NEWS = (
    *(i.ContextCompaction, i.EnteredReviewMode, i.ExitedReviewMode, i.SubAgentActivity),
    *(i.HookPrompt, i.FunctionCallOutput, i.Sleep),
)


class _Open(Struct, gc=False):
    """An item that has begun: the pieces of each of its blocks, by their keys."""

    item: Any
    pieces: dict[tuple[str, int], list[str]]


class _Voice:
    """A thread: Codex itself, or one of its sub-agents."""

    def __init__(self, parent: str | None, agent_id: str | None) -> None:
        self.parent = parent  # the call that started the sub-agent
        self.agent_id = agent_id
        self.open: dict[str, _Open] = {}


class CodexStreamAdapter:
    """Follows one app-server and one thread. Call `feed` for every line, then `finish`.

    `sent` or `answered` has to be called for every answer that the host sends to a request.
    """

    def __init__(
        self,
        *,
        name_of: Callable[[str | None, str | None], str | None] = lambda model, effort: model,
    ) -> None:
        """`name_of` names a model with an effort as a person would choose it."""
        self._name_of = name_of
        self._chosen: str | None = None  # the model by that name
        self._mode: str | None = None  # the permission mode
        self.session_id = ""  # the thread
        self.turn_id: str | None = None  # the turn that runs
        self._main = _Voice(None, None)
        self._others: dict[str, _Voice] = {}  # by the thread of the sub-agent
        self._requests: dict[str, Request] = {}
        self._spent: list[m.TokenCounts] = []  # of this turn
        self._last_text: str | None = None
        self._model: str | None = None  # of the thread
        self._speaking: str | None = None  # in this turn; the provider may take another one
        self._has_goal = False
        self._plan_number = 0  # of plans in this stream; a turn may change its plan
        self._handlers: dict[type, Callable[[Any, Line], Events]] = {
            m.AgentMessageDelta: self._text_delta,
            m.PlanDelta: self._text_delta,
            m.SummaryTextDelta: self._summary_delta,
            m.ReasoningTextDelta: self._reasoning_delta,
            m.OutputDelta: self._output_delta,
            m.McpProgress: self._mcp_progress,
            m.ItemStarted: self._item_started,
            m.ItemCompleted: self._item_completed,
            m.ThreadStarted: self._thread_started,
            m.ThreadNamed: self._thread_named,
            m.TurnStarted: self._turn_started,
            m.TurnCompleted: self._turn_completed,
            m.PlanUpdated: self._plan_updated,
            m.TokenUsageUpdated: self._token_usage,
            m.ErrorTold: self._error,
            m.Asked: self._asked,
            m.RequestResolved: self._resolved,
            m.Result: self._result,
            m.Failed: self._nothing,
            m.News: self._news,
            m.UnknownMessage: self._unknown,
        }

    def expects(self, model: str | None, permission_mode: str | None) -> None:
        """Notes what a person has chosen, by its name. Other settings are then reported as changed."""
        self._chosen = model or self._chosen
        self._mode = permission_mode or self._mode

    def feed(self, line: Line) -> Events:
        """Returns the events of one line, in order; often one, sometimes none."""
        message = line.message
        return self._handlers[type(message)](message, line)

    def feed_all(self, lines: Iterable[Line]) -> Events:
        """Returns the events of several lines."""
        return [event for line in lines for event in self.feed(line)]

    def finish(self) -> Events:
        """Ends the stream: ends the open turn, and discards unfinished text."""
        out: Events = []
        for voice in (self._main, *self._others.values()):
            self._discard(voice, "stream_ended", out)
        self._others.clear()
        if self.turn_id is not None:
            self.turn_id = None
            said = "the agent's stream ended in the middle of a turn"
            out.append(ev.TurnFailed(_NAME, self.session_id, None, None, "agent_lost", said))
        return out

    def sent(self, line: Line) -> Events:
        """Notes a line of the host: its answer to a request. Returns no events."""
        if isinstance(line.message, m.Result):
            self.answered(line.message.id, msgspec.json.decode(line.message.result))
        return []

    def answered(self, request_id: m.RequestId, result: Any) -> None:
        """Notes the host's answer to a request, as plain JSON."""
        request = self._requests.get(str(request_id))
        if request is not None:
            request.answer = result

    def asked(self, request_id: str) -> Request | None:
        """Returns an open request. Returns None if it has ended."""
        return self._requests.get(request_id)

    def open_requests(self) -> list[Request]:
        """Returns all open requests."""
        return list(self._requests.values())

    def waiting(self, name: str) -> Request | None:
        """Returns an open request by its id, or by the call that waits for it."""
        by_call = (each for each in self._requests.values() if each.item_id == name)
        return self._requests.get(name) or next(by_call, None)

    # --- threads and turns --------------------------------------------------------------------

    def _voice(self, thread_id: str) -> _Voice:
        if not thread_id or thread_id == self.session_id:
            return self._main
        if not self.session_id:
            self.session_id = thread_id
            return self._main
        voice = self._others.get(thread_id)
        if voice is None:
            voice = self._others[thread_id] = _Voice(None, thread_id)
        return voice

    def _whose(self, voice: _Voice) -> tuple[str, str, str | None, str | None]:
        return _NAME, self.session_id, voice.parent, voice.agent_id

    def _result(self, message: m.Result, line: Line) -> Events:
        try:
            opened = _decode_opened(message.result)
        except msgspec.DecodeError:
            return []
        if opened.approval_policy is None:  # a thread that was only read
            return []
        self.session_id, self._model = opened.thread.id, opened.model
        self._speaking = self._model
        self._chosen = self._name_of(opened.model, opened.reasoning_effort)
        self._mode = mode_of(opened.approval_policy, opened.sandbox)
        return [
            ev.SessionInit(
                *self._whose(self._main),
                self._chosen,
                opened.cwd,
                self._mode,
                [],
                opened.thread.cli_version,
            )
        ]

    def _thread_started(self, message: m.ThreadStarted, line: Line) -> Events:
        if not self.session_id:
            self.session_id = message.thread.id
        return []

    def _thread_named(self, message: m.ThreadNamed, line: Line) -> Events:
        voice = self._voice(message.thread_id)
        if voice is not self._main or not message.thread_name:
            return []
        return [
            ev.TitleProposed(
                *self._whose(voice),
                "thread_name_updated",
                Raw(line.raw),
                True,
                title=message.thread_name,
            )
        ]

    def _turn_started(self, message: m.TurnStarted, line: Line) -> Events:
        voice = self._voice(message.thread_id)
        if voice is not self._main:
            return []
        self.turn_id = message.turn.id
        self._spent, self._last_text = [], None
        self._speaking = self._model
        return [ev.TurnStarted(*self._whose(voice))]

    def _turn_completed(self, message: m.TurnCompleted, line: Line) -> Events:
        voice = self._voice(message.thread_id)
        turn = message.turn
        out: Events = []
        self._close_items(voice, turn.status, out)
        if voice is not self._main:
            return out
        for request_id in list(self._requests):
            self._end_request(request_id, out)
        self.turn_id = None
        whose = self._whose(voice)
        failed = turn.status == "failed"
        if failed:
            out.append(ev.TurnFailed(*whose, code_of(turn.error), explained(turn.error)))
        else:
            stopped = turn.status == "interrupted"
            out.append(ev.TurnCompleted(*whose, None if stopped else "end_turn", stopped))
        out.append(
            ev.ResultSummary(
                *whose,
                turn.status,
                failed,
                turn.duration_ms or 0,
                0,
                len(self._spent),
                None,
                None,
                usage_of(self._spent) if self._spent else None,
                None,
                self._last_text,
                None,
                None,
                None,
                [message_of(turn.error)] if failed else None,
                Raw(line.raw),
            )
        )
        return out

    def _error(self, message: m.ErrorTold, line: Line) -> Events:
        voice = self._voice(message.thread_id)
        out: Events = []
        if message.will_retry:  # the next stream repeats the text, under another id
            self._discard(voice, "restarted", out)
        subtype = "error_retry" if message.will_retry else "error"
        # The end of the turn has the error as well.
        about = (subtype, Raw(line.raw), True, message_of(message.error))
        out.append(ev.SystemEvent(*self._whose(voice), *about))
        return out

    def _token_usage(self, message: m.TokenUsageUpdated, line: Line) -> Events:
        voice = self._voice(message.thread_id)
        # A resumed thread repeats the usage of its last turn.
        if voice is not self._main or self.turn_id is None:
            return []
        self._spent.append(message.token_usage.last)
        return [ev.UsageUpdated(*self._whose(voice), usage_of(self._spent))]

    def _plan_updated(self, message: m.PlanUpdated, line: Line) -> Events:
        steps = [TodoItem(each.step, _STEPS.get(each.status, each.status)) for each in message.plan]
        whose = self._whose(self._voice(message.thread_id))
        updated = ev.PlanUpdated(*whose, steps)
        if self.turn_id is None or not steps:
            return [updated]
        self._plan_number += 1
        name = f"plan-{self.turn_id}-{self._plan_number}"
        shown: list[ContentBlock] = [TodoListBlock(steps, "completed")]
        said = ev.AssistantMessage(*whose, name, 0, shown, self._speaking, uuid=self.turn_id)
        return [said, updated]

    # --- pieces of items ----------------------------------------------------------------------

    def _text_delta(self, message: m.AgentMessageDelta, line: Line) -> Events:
        # The most frequent event.
        thread_id = message.thread_id
        voice = self._main if thread_id == self.session_id else self._voice(thread_id)
        item_id = message.item_id
        opened = voice.open.get(item_id)
        out: Events = []
        if opened is None:  # its beginning is missing
            opened = self._begin_text(voice, i.AgentMessage(id=item_id), out)
        opened.pieces[_TEXT].append(message.delta)
        out.append(
            ev.ContentDelta(
                _NAME,
                self.session_id,
                voice.parent,
                voice.agent_id,
                item_id,
                0,
                "text",
                message.delta,
            )
        )
        return out

    def _summary_delta(self, message: m.SummaryTextDelta, line: Line) -> Events:
        return self._thought(message, ("summary", message.summary_index))

    def _reasoning_delta(self, message: m.ReasoningTextDelta, line: Line) -> Events:
        return self._thought(message, ("content", message.content_index))

    def _thought(
        self, message: m.SummaryTextDelta | m.ReasoningTextDelta, key: tuple[str, int]
    ) -> Events:
        voice = self._voice(message.thread_id)
        item_id = message.item_id
        out: Events = []
        opened = voice.open.get(item_id)
        begun = ThinkingBlock("", "in_progress")
        if opened is None or not opened.pieces:
            opened = self._begin(voice, i.Reasoning(id=item_id), key, begun, out)
        whose = self._whose(voice)
        if key not in opened.pieces:
            opened.pieces[key] = []
            out.append(ev.ContentStarted(*whose, item_id, len(opened.pieces) - 1, begun))
        opened.pieces[key].append(message.delta)
        index = list(opened.pieces).index(key)
        out.append(ev.ContentDelta(*whose, item_id, index, "thinking", message.delta))
        return out

    def _output_delta(self, message: m.OutputDelta, line: Line) -> Events:
        return self._printed(message.thread_id, message.item_id, message.delta)

    def _mcp_progress(self, message: m.McpProgress, line: Line) -> Events:
        return self._printed(message.thread_id, message.item_id, f"{message.message}\n")

    def _printed(self, thread_id: str, item_id: str, text: str) -> Events:
        voice = self._voice(thread_id)
        opened = voice.open.get(item_id)
        if opened is None or _OUTPUT not in opened.pieces:  # the call has its result, or no call
            return []
        opened.pieces[_OUTPUT].append(text)
        return [ev.ToolProgress(*self._whose(voice), item_id, None, None, text)]

    # --- items --------------------------------------------------------------------------------

    def _item_started(self, message: m.ItemStarted, line: Line) -> Events:
        voice, item = self._voice(message.thread_id), message.item
        out: Events = []
        if item.id in voice.open:
            return out
        if isinstance(item, i.AgentMessage | i.Plan):
            self._begin_text(voice, item, out)
        elif isinstance(item, CALLS):
            self._begin_call(voice, item, line, out)
        elif isinstance(item, i.WebSearch):
            self._begin(voice, item, _BLOCK, search_of(item, "in_progress"), out)
        elif isinstance(item, i.Reasoning):
            voice.open[item.id] = _Open(item, {})
        return out

    def _begin_text(self, voice: _Voice, item: i.AgentMessage | i.Plan, out: Events) -> _Open:
        opened = self._begin(voice, item, _TEXT, TextBlock(item.text, "in_progress"), out)
        if item.text:
            opened.pieces[_TEXT].append(item.text)
        return opened

    def _begin(
        self, voice: _Voice, item: Any, key: tuple[str, int], block: ContentBlock, out: Events
    ) -> _Open:
        # One message grows at a time. One that is left alone may still be completed as a whole.
        self._discard(voice, "replaced", out)
        opened = voice.open[item.id] = _Open(item, {key: []})
        whose = self._whose(voice)
        out.append(ev.MessageStarted(*whose, item.id, self._speaking))
        out.append(ev.ContentStarted(*whose, item.id, 0, block))
        return opened

    def _begin_call(self, voice: _Voice, item: Any, line: Line, out: Events) -> None:
        voice.open[item.id] = _Open(item, {_OUTPUT: []})
        self._follow_agents(item)
        block: list[ContentBlock] = [call_of(item)]
        out.append(
            ev.AssistantMessage(
                *self._whose(voice),
                item.id,
                0,
                block,
                self._speaking,
                uuid=self.turn_id,
                raw=Raw(line.raw),
            )
        )

    def _follow_agents(self, item: Any) -> None:
        """Notes which threads belong to sub-agents of this call."""
        if isinstance(item, i.CollabAgentToolCall):
            for thread_id in item.receiver_thread_ids:
                if thread_id != self.session_id and thread_id not in self._others:
                    self._others[thread_id] = _Voice(item.id, thread_id)

    def _item_completed(self, message: m.ItemCompleted, line: Line) -> Events:
        voice, item = self._voice(message.thread_id), message.item
        out: Events = []
        match item:
            case i.UserMessage():
                origin: ev.UserOrigin = "user" if voice is self._main else "agent"
                content = content_of(item.content)
                self._abort_texts(voice, out)  # a message into the turn cuts the model's answer
                whose, raw = self._whose(voice), Raw(line.raw)
                out.append(
                    ev.UserMessage(*whose, content, origin, item.id, None, raw, item.client_id)
                )
            case i.AgentMessage() | i.Plan():
                self._finish_text(voice, item, line, out)
            case i.Reasoning():
                self._finish_reasoning(voice, item, line, out)
            case _ if isinstance(item, CALLS):
                if item.id not in voice.open:
                    self._begin_call(voice, item, line, out)
                self._follow_agents(item)
                self._end_call(voice, item, line, out)
            case _ if isinstance(item, _NEWS):
                subtype = snake(str(item.__struct_config__.tag))
                about = (subtype, Raw(line.raw), False, in_words(item))
                out.append(ev.SystemEvent(*self._whose(voice), *about))
            case _:
                begun = voice.open.pop(item.id, None) is not None
                self._finish(voice, item.id, [block_of(item)], line, out, streamed=begun)
        return out

    def _finish_text(
        self, voice: _Voice, item: i.AgentMessage | i.Plan, line: Line, out: Events
    ) -> None:
        streamed = voice.open.pop(item.id, None) is not None
        if voice is self._main:
            self._last_text = item.text
        block: list[ContentBlock] = [TextBlock(item.text, "completed")]
        self._finish(voice, item.id, block, line, out, streamed=streamed)

    def _finish_reasoning(self, voice: _Voice, item: i.Reasoning, line: Line, out: Events) -> None:
        opened = voice.open.pop(item.id, None)
        keys = dict.fromkeys(opened.pieces if opened else ())
        whole = {("summary", at): text for at, text in enumerate(item.summary)}
        whole |= {("content", at): text for at, text in enumerate(item.content)}
        texts = {key: "".join(opened.pieces[key]) for key in keys} if opened else {}
        texts |= {key: text for key, text in whole.items() if text or key in texts}
        thoughts: list[ContentBlock] = [ThinkingBlock(text, "completed") for text in texts.values()]
        if thoughts:  # encrypted reasoning has neither
            self._finish(voice, item.id, thoughts, line, out, streamed=bool(keys))

    def _finish(
        self,
        voice: _Voice,
        item_id: str,
        content: list[ContentBlock],
        line: Line | None,
        out: Events,
        *,
        streamed: bool,
        aborted: bool = False,
    ) -> None:
        whose = self._whose(voice)
        said = ev.AssistantMessage(
            *whose, item_id, 0, content, self._speaking, aborted=aborted, uuid=self.turn_id
        )
        if line is not None:
            said = msgspec.structs.replace(said, raw=Raw(line.raw))
        out.append(said)
        if streamed:
            for index, block in enumerate(content):
                out.append(ev.ContentCompleted(*whose, item_id, index, block))
            out.append(ev.MessageCompleted(*whose, item_id, "aborted" if aborted else None))

    def _end_call(
        self, voice: _Voice, item: Any, line: Line | None, out: Events, *, interrupted: bool = False
    ) -> None:
        opened = voice.open.pop(item.id)
        for request_id, request in list(self._requests.items()):
            if request.item_id == item.id:
                self._end_request(request_id, out)
        result = result_of(item, "".join(opened.pieces[_OUTPUT]), interrupted=interrupted)
        said = ev.UserMessage(*self._whose(voice), [result], "tool")
        out.append(said if line is None else msgspec.structs.replace(said, raw=Raw(line.raw)))

    def _close_items(self, voice: _Voice, status: str, out: Events) -> None:
        """Ends the items that a turn has left open: after an interrupt Codex does not end them."""
        for opened in list(voice.open.values()):
            if _OUTPUT in opened.pieces:
                self._end_call(voice, opened.item, None, out, interrupted=True)
        if status != "completed":
            self._abort_texts(voice, out)
        self._discard(voice, "turn_ended", out)

    def _abort_texts(self, voice: _Voice, out: Events) -> None:
        """Ends text and reasoning that Codex will not complete, as people have seen it."""
        for item_id, opened in list(voice.open.items()):
            if _OUTPUT not in opened.pieces and any(opened.pieces.values()):
                del voice.open[item_id]
                texts = ["".join(pieces) for pieces in opened.pieces.values()]
                kind = ThinkingBlock if isinstance(opened.item, i.Reasoning) else TextBlock
                content: list[ContentBlock] = [kind(text, "completed") for text in texts]
                self._finish(voice, item_id, content, None, out, streamed=True, aborted=True)

    def _discard(self, voice: _Voice, reason: str, out: Events) -> None:
        """Discards text, reasoning and searches that will not be completed. Calls stay open."""
        for item_id, opened in list(voice.open.items()):
            if _OUTPUT in opened.pieces:
                continue
            del voice.open[item_id]
            if opened.pieces:
                out.append(ev.MessageDiscarded(*self._whose(voice), item_id, 0, reason))

    # --- requests of Codex --------------------------------------------------------------------

    def _asked(self, message: m.Asked, line: Line) -> Events:
        voice = self._voice(getattr(message.params, "thread_id", ""))
        whose = self._whose(voice)
        request_id = str(message.id)
        out: Events = []
        refusal = refusal_of(message)
        if refusal is not None:
            said = ("question_refused", Raw(line.raw), False, refusal.why)
            return [ev.SystemEvent(*whose, *said)]
        item_id = getattr(message.params, "item_id", "")
        if isinstance(message.params, m.ToolCallRequest) and item_id not in voice.open:
            call, given = message.params.tool, message.params.arguments
            item = i.DynamicToolCall(id=item_id, tool=call, arguments=given)
            self._begin_call(voice, item, line, out)  # its beginning is missing
        opened = voice.open.get(item_id)
        asked = asks(message, opened.item if opened else None)
        if asked is None:
            return [ev.UnknownEvent(*whose, f"request/{message.method}", Raw(line.raw))]
        has_call = opened is not None
        call_id = asked.item_id
        if not has_call:  # the request is itself a call, which its answer completes
            is_question = bool(asked.questions) or None
            block: list[ContentBlock] = [
                ToolUseBlock(
                    call_id,
                    asked.name,
                    "QUESTION" if is_question else "TOOL",
                    asked.input,
                    "in_progress",
                    asks=is_question,
                )
            ]
            out.append(ev.AssistantMessage(*whose, call_id, 0, block, self._speaking))
        self._requests[request_id] = Request(
            message.id, message, call_id, has_call, voice.parent, voice.agent_id
        )
        about = (*whose, request_id, call_id, asked.name)
        if asked.questions:
            shown = (asked.questions, asked.input, Raw(line.raw), asked.is_question)
            out.append(ev.QuestionAsked(*about, *shown))
        else:
            out.append(
                ev.PermissionRequested(
                    *about,
                    asked.input,
                    asked.title,
                    None,
                    asked.suggestions,
                    None,
                    asked.reason,
                    Raw(line.raw),
                    True,
                )
            )
        return out

    def _resolved(self, message: m.RequestResolved, line: Line) -> Events:
        out: Events = []
        # After an interrupt this comes after the end of the turn, which has ended the request.
        self._end_request(str(message.request_id), out)
        return out

    def _end_request(self, request_id: str, out: Events) -> None:
        request = self._requests.pop(request_id, None)
        if request is None:
            return
        whose = (_NAME, self.session_id, request.parent, request.agent_id)
        answered = is_answered(request)
        if not answered:
            out.append(ev.RequestWithdrawn(*whose, request_id))
        if not request.has_call:
            text = result_text(request) if answered else "The request was withdrawn."
            status: Any = "completed" if answered else "failed"
            block = ToolResultBlock(request.item_id, text, not answered, status)
            out.append(ev.UserMessage(*whose, [block], "tool"))

    # --- everything else ----------------------------------------------------------------------

    def _news(self, message: m.News, line: Line) -> Events:
        voice = self._voice(message.thread_id) if message.thread_id else self._main
        out: Events = []
        match message.told:
            case n.SettingsUpdated(thread_settings=settings) if voice is self._main:
                self._settings(settings, line, out)
            case n.ModelRerouted(to_model=model) if voice is self._main:
                self._speaking = model
            case n.GoalUpdated():
                self._has_goal = True
        if not out:
            words, is_kept = in_words(message.told), m.NEWS[message.method]
            if message.method == "thread/goal/cleared":  # told at each resume, also without a goal
                is_kept, self._has_goal = self._has_goal, False
            about = (snake(message.method), Raw(line.raw), not is_kept, words)
            out.append(ev.SystemEvent(*self._whose(voice), *about))
        return out

    def _settings(self, now: n.ThreadSettings, line: Line, out: Events) -> None:
        """Reports the model and the permission mode if they are others than before."""
        whose, raw = self._whose(self._main), Raw(line.raw)
        chosen = self._name_of(now.model, now.effort)
        mode = mode_of(now.approval_policy, now.sandbox_policy)
        if chosen is not None and self._chosen not in (None, chosen):
            said = f"Codex changed the model: {chosen}"
            out.append(ev.ModelChanged(*whose, "model_changed", raw, text=said, model=chosen))
        if mode is not None and self._mode not in (None, mode):
            said = f"Codex changed the permission mode: {mode}"
            name = "permission_mode_changed"
            out.append(ev.PermissionModeChanged(*whose, name, raw, text=said, permission_mode=mode))
        self._model = now.model or self._model  # from the next turn on
        self.expects(chosen, mode)

    def _unknown(self, message: m.UnknownMessage, line: Line) -> Events:
        kind = f"request/{message.method}" if message.id is not None else message.method
        whose = self._whose(self._main)
        return [ev.UnknownEvent(*whose, kind, Raw(line.raw), message.reason)]

    def _nothing(self, message: m.Failed, line: Line) -> Events:
        return []


_TEXT, _OUTPUT, _BLOCK = ("text", 0), ("output", 0), ("block", 0)
_decode_opened = msgspec.json.Decoder(m.ThreadOpened).decode
