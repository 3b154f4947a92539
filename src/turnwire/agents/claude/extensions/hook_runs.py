"""Runs the hooks of a conversation in order, with timeouts, and reports each run."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from msgspec import structs

from turnwire.agents.claude.extensions.callbacks import TookTooLong, call_within, writable
from turnwire.agents.claude.extensions.decisions import (
    Decision,
    Nonsense,
    Verdict,
    answer_to,
    decision_of,
)
from turnwire.agents.claude.extensions.hooks import Hook, HookCall
from turnwire.agents.claude.questions.question_tools import is_gated
from turnwire.core.events import HookRun

__all__ = ["HookRuns", "Registered"]

_log = logging.getLogger("turnwire.claude")
_SPARE = 30.0  # seconds added to the hooks' own timeouts, for Claude Code's timeout

# The field that a matcher is compared with, by event. For other events Claude Code matches itself.
_SUBJECTS = {
    **dict.fromkeys(
        ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"], "tool_name"
    ),
    **dict.fromkeys(["SubagentStart", "SubagentStop"], "agent_type"),
    "PreCompact": "trigger",
    "Notification": "notification_type",
    "UserPromptSubmit": "",
    "Stop": "",
}
# Events at which a failing hook can prevent an action. At other events the action has happened
# already, or a denial would continue the turn, possibly for ever.
_CAN_DENY = ("PreToolUse", "PermissionRequest", "UserPromptSubmit")
_CHANGE_INPUT = ("PreToolUse", "PermissionRequest")
_NO_CONTEXT = ("PermissionRequest", "PreCompact")
_STRENGTH: list[Verdict | None] = [None, "allow", "ask", "deny", "stop"]

Failure = Literal["raised", "timeout", "nonsense", "cancelled"]


class Registered(NamedTuple):
    """A registration of hooks with Claude Code: the matcher, the callback and the timeout."""

    matcher: str | None
    callback: Callable[..., Any]  # with the SDK's signature
    seconds: float


class HookRuns:
    """The hooks of one conversation. `tell` gets each run before its answer is sent."""

    def __init__(
        self, hooks: Sequence[Hook], conversation_id: str, tell: Callable[[HookRun], None]
    ) -> None:
        self._hooks = hooks
        self._conversation_id = conversation_id
        self._tell = tell

    def registered(self) -> dict[str, list[Registered]]:
        """Returns the registrations by event.

        If the matchers can be evaluated here, one registration covers all hooks and keeps their
        order.
        """
        found: dict[str, list[Registered]] = {}
        for event in dict.fromkeys(hook.event for hook in self._hooks):
            ours = [hook for hook in self._hooks if hook.event == event]
            if event in _SUBJECTS:
                together = Registered(
                    _common(ours),
                    partial(self._called, event, ours),
                    sum(hook.seconds for hook in ours) + _SPARE,
                )
                found[event] = [together]
            else:
                found[event] = [
                    Registered(
                        each.matcher, partial(self._called, event, [each]), each.seconds + _SPARE
                    )
                    for each in ours
                ]
        return found

    async def _called(
        self, event: str, hooks: Sequence[Hook], data: Any, tool_use_id: str | None, context: Any
    ) -> dict[str, Any]:
        try:
            if event == "PreToolUse" and is_gated(data.get("tool_name")):
                return {}  # hooks of a question run at the gate
            return answer_to(event, await self._decide(event, hooks, data, tool_use_id))
        except Exception:  # a bug here: Claude Code would treat it as allowed
            _log.exception("The hooks of %s could not be run.", event)
            no = Decision("deny", "The hooks could not be run.")
            return answer_to(event, no if event in _CAN_DENY else Decision())

    async def before_question(self, data: Any, tool_use_id: str) -> dict[str, Any] | None:
        """Returns the denial of a question by a hook, or None. Other decisions do not count."""
        hooks = [hook for hook in self._hooks if hook.event == "PreToolUse"]
        decision = await self._decide("PreToolUse", hooks, data, tool_use_id)
        return answer_to("PreToolUse", decision) if decision.verdict in ("deny", "stop") else None

    async def _decide(
        self, event: str, hooks: Sequence[Hook], data: Any, tool_use_id: str | None
    ) -> Decision:
        call = _call_of(event, self._conversation_id, data, tool_use_id)
        field = _SUBJECTS.get(event)
        subject = str(call.data.get(field) or "") if field else ""
        decision = Decision()
        for hook in hooks:
            if field and not hook.matches(subject):
                continue
            said = await self._run(hook, call)
            decision = _joined(decision, said)
            if said.verdict in ("deny", "stop"):
                break
            if said.input is not None:
                call = structs.replace(call, tool_input=said.input)
        return decision

    async def _run(self, hook: Hook, call: HookCall) -> Decision:
        began = time.monotonic()
        failure: Failure | None = None
        message: str | None = None
        decision = Decision()
        try:
            decision = decision_of(await call_within(hook.seconds, hook.run, call))
            _check_fits(decision, call.event)
        except asyncio.CancelledError:
            self._tell(_told(hook, call, Decision(), began, "cancelled", "the turn was stopped"))
            raise
        except TookTooLong:
            failure, message = "timeout", f"it took more than {hook.seconds:g} seconds"
        except Nonsense as nonsense:
            failure, message = "nonsense", str(nonsense)
        except Exception as error:
            _log.warning("The hook %s failed.", hook.name, exc_info=True)
            failure, message = "raised", f"{type(error).__name__}: {error}"
        if message is not None:
            message = writable(message)
            decision = _policy(hook, call.event, message)
        self._tell(_told(hook, call, decision, began, failure, message))
        return decision


def _call_of(event: str, conversation_id: str, data: Any, tool_use_id: str | None) -> HookCall:
    data = data if isinstance(data, dict) else {}
    name = data.get("tool_name")
    about_tool = isinstance(name, str)  # otherwise the id belongs to the event
    return HookCall(
        event,
        conversation_id,
        data,
        name if about_tool else None,
        data.get("tool_input"),
        tool_use_id if about_tool else None,
        data.get("agent_id"),
    )


def _common(hooks: Sequence[Hook]) -> str | None:
    """Returns a matcher that covers the matchers of all hooks; None matches everything."""
    matchers = {hook.matcher for hook in hooks}
    return matchers.pop() if len(matchers) == 1 else None


def _joined(before: Decision, then: Decision) -> Decision:
    """Combines the decisions of two hooks: the stricter verdict counts."""
    stricter = max(before, then, key=lambda each: _STRENGTH.index(each.verdict))
    told = [each.context for each in (before, then) if each.context]
    return Decision(
        stricter.verdict,
        stricter.reason,
        before.input if then.input is None else then.input,
        "\n".join(told) or None,
        {**before.more, **then.more},
        {**before.own, **then.own},
    )


def _check_fits(decision: Decision, event: str) -> None:
    if decision.input is not None and event not in _CHANGE_INPUT:
        raise Nonsense(f"{event} has no input to change")
    if decision.context is not None and event in _NO_CONTEXT:
        raise Nonsense(f"{event} cannot tell the model anything")


def _policy(hook: Hook, event: str, message: str | None) -> Decision:
    why = f"The hook {hook.name} failed: {message}."
    if hook.on_failure == "stop":
        return Decision("stop", why)
    if hook.on_failure == "deny" and event in _CAN_DENY:
        return Decision("deny", why)
    return Decision()


def _told(
    hook: Hook,
    call: HookCall,
    decision: Decision,
    began: float,
    failure: Failure | None,
    message: str | None,
) -> HookRun:
    return HookRun(
        hook.name,
        call.event,
        decision.verdict or "none",
        round((time.monotonic() - began) * 1000),
        decision.reason,
        decision.input,
        decision.context,
        call.tool_name,
        call.tool_use_id,
        call.agent_id,
        failure,
        message,
        hook.on_failure if failure is not None else None,
    )
