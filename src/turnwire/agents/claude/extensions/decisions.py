"""Decisions of hooks: parses a hook's result, and encodes it for Claude Code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

__all__ = [
    "Decision",
    "Nonsense",
    "Verdict",
    "allow",
    "answer_to",
    "ask",
    "change",
    "decision_of",
    "deny",
    "stop",
]

Verdict: TypeAlias = Literal["allow", "deny", "ask", "stop"]


class Nonsense(Exception):
    """A hook returned an invalid result."""


class Decision(Struct, frozen=True, omit_defaults=True):
    """The result of a hook. An empty decision changes nothing."""

    verdict: Verdict | None = None
    reason: str | None = None  # for the model; with `ask`, for the person
    input: dict[str, Any] | None = None  # replaces the input of the tool
    context: str | None = None  # additional text for the model
    more: dict[str, Any] = {}  # other fields for Claude Code, in its own names
    own: dict[str, Any] = {}  # other fields of this event only, in its own names


def allow(
    reason: str | None = None,
    *,
    input: dict[str, Any] | None = None,  # noqa: A002  (the tool's own name for it)
    context: str | None = None,
) -> Decision:
    """Allows the tool without asking a person, optionally with another input."""
    return Decision("allow", reason, input, context)


def deny(reason: str, *, context: str | None = None) -> Decision:
    """Denies the action, with a reason for the model.

    At `Stop` and `SubagentStop`, the turn continues instead of ending.
    """
    return Decision("deny", reason, None, context)


def ask(
    reason: str | None = None,
    *,
    input: dict[str, Any] | None = None,  # noqa: A002
) -> Decision:
    """Asks a person for permission, even if the rules allow the tool."""
    return Decision("ask", reason, input)


def change(
    input: dict[str, Any] | None = None,  # noqa: A002
    *,
    context: str | None = None,
) -> Decision:
    """Changes the input or adds text for the model; the rules decide about the permission."""
    return Decision(None, None, input, context)


def stop(reason: str) -> Decision:
    """Stops the turn, and denies the pending action."""
    return Decision("stop", reason)


# --- parsing a hook's result --------------------------------------------------------------------

_FIELDS = {
    *("continue", "continue_", "stopReason", "suppressOutput", "decision", "systemMessage"),
    *("reason", "hookSpecificOutput"),
}


def decision_of(said: Any) -> Decision:
    """Parses the result of a hook. Raises Nonsense."""
    if said is None:
        return Decision()
    if not isinstance(said, Decision | Mapping):
        raise Nonsense(f"it returned {type(said).__name__}, which is not a decision")
    try:
        plain = msgspec.json.decode(msgspec.json.encode(said))  # checks that it can be sent as JSON
        return _of_sdk(plain) if isinstance(said, Mapping) else msgspec.convert(plain, Decision)
    except (TypeError, ValueError, RecursionError) as bad:  # msgspec's errors are subclasses
        raise Nonsense(f"its answer cannot be read: {bad}") from bad


def _of_sdk(said: dict[str, Any]) -> Decision:
    if said.get("async") is True or said.get("async_") is True:
        return Decision()  # an asynchronous hook runs on in the background and decides nothing
    strange = sorted(said.keys() - _FIELDS)
    if strange:
        raise Nonsense(f"its answer has an unknown field {strange[0]!r}")
    own = dict(said.pop("hookSpecificOutput", None) or {})
    own.pop("hookEventName", None)
    goes_on = said.pop("continue", said.pop("continue_", True))
    block = said.pop("decision", None)
    reason = said.pop("reason", None)
    verdict = own.pop("permissionDecision", None) or {"block": "deny", "approve": "allow"}.get(
        block
    )
    if block is not None and verdict is None:
        raise Nonsense(f"its answer has an unknown decision {block!r}")
    if verdict not in (None, "allow", "deny", "ask"):
        raise Nonsense(f"its answer has an unknown permissionDecision {verdict!r}")
    if not isinstance(goes_on, bool):
        raise Nonsense(f"continue is {goes_on!r}, which is not a boolean")
    if not goes_on:
        verdict, reason = "stop", said.pop("stopReason", None) or reason
    reason = own.pop("permissionDecisionReason", None) or reason
    changed, context = own.pop("updatedInput", None), own.pop("additionalContext", None)
    plain = {"verdict": verdict, "reason": reason, "input": changed, "context": context}
    return msgspec.convert({**plain, "more": said, "own": own}, Decision)


# --- encoding for Claude Code -------------------------------------------------------------------


def answer_to(event: str, decision: Decision) -> dict[str, Any]:
    """Encodes a decision in the format of Claude Code."""
    out, own = dict(decision.more), dict(decision.own)
    verdict = decision.verdict
    if verdict == "stop":
        out |= {"continue": False, "stopReason": decision.reason or "A hook stopped it."}
        verdict = "deny"  # otherwise the pending action would still run
    if event == "PreToolUse":
        if verdict is not None:
            own["permissionDecision"] = verdict
            if decision.reason is not None:
                own["permissionDecisionReason"] = decision.reason
        if decision.input is not None:
            own["updatedInput"] = decision.input
    elif event == "PermissionRequest":
        if verdict == "allow":
            changed = {} if decision.input is None else {"updatedInput": decision.input}
            own["decision"] = {"behavior": "allow", **changed}
        elif verdict == "deny":
            own["decision"] = {"behavior": "deny", "message": decision.reason or "A hook said no."}
    elif decision.verdict == "deny" or (verdict == "deny" and event == "UserPromptSubmit"):
        out |= {"decision": "block", "reason": decision.reason or "A hook said no."}
    if decision.context is not None:
        own["additionalContext"] = decision.context
    if own:
        out["hookSpecificOutput"] = {"hookEventName": event, **own}
    return out
