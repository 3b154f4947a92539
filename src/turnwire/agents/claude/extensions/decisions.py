"""What a hook decides: how it says so, and how Claude Code is told."""

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
    """A hook has answered something that is no answer."""


class Decision(Struct, frozen=True, omit_defaults=True):
    """What a hook answers. Nothing in it: as if there were no hook."""

    verdict: Verdict | None = None
    reason: str | None = None  # for the model, or, of `ask`, for the person
    input: dict[str, Any] | None = None  # what the tool is to run with instead
    context: str | None = None  # what the model is told besides
    more: dict[str, Any] = {}  # whatever else Claude Code takes, in its own words
    own: dict[str, Any] = {}  # the same, of what belongs to one event only


def allow(
    reason: str | None = None,
    *,
    input: dict[str, Any] | None = None,  # noqa: A002  (what the tool calls it)
    context: str | None = None,
) -> Decision:
    """The tool may run, perhaps with another input; nobody is asked."""
    return Decision("allow", reason, input, context)


def deny(reason: str, *, context: str | None = None) -> Decision:
    """It may not. The model is told why. At `Stop` and `SubagentStop`: go on, it is not the end."""
    return Decision("deny", reason, None, context)


def ask(
    reason: str | None = None,
    *,
    input: dict[str, Any] | None = None,  # noqa: A002
) -> Decision:
    """A person has to allow it, even where the rules would."""
    return Decision("ask", reason, input)


def change(
    input: dict[str, Any] | None = None,  # noqa: A002
    *,
    context: str | None = None,
) -> Decision:
    """Another input, or something that the model should know; the rules decide as ever."""
    return Decision(None, None, input, context)


def stop(reason: str) -> Decision:
    """The turn ends here; what was about to happen does not."""
    return Decision("stop", reason)


# --- from a hook --------------------------------------------------------------------------------

_FIELDS = {
    *("continue", "continue_", "stopReason", "suppressOutput", "decision", "systemMessage"),
    *("reason", "hookSpecificOutput"),
}


def decision_of(said: Any) -> Decision:
    """What a hook means. Raises Nonsense."""
    if said is None:
        return Decision()
    if not isinstance(said, Decision | Mapping):
        raise Nonsense(f"it returned {type(said).__name__}, which is no decision")
    try:
        plain = msgspec.json.decode(msgspec.json.encode(said))  # as it can be written on a line
        return _of_sdk(plain) if isinstance(said, Mapping) else msgspec.convert(plain, Decision)
    except (TypeError, ValueError, RecursionError) as bad:  # msgspec's errors are such
        raise Nonsense(f"its answer cannot be read: {bad}") from bad


def _of_sdk(said: dict[str, Any]) -> Decision:
    if said.get("async") is True or said.get("async_") is True:
        return Decision()  # it works on, and decides nothing: nobody waits for it
    strange = sorted(said.keys() - _FIELDS)
    if strange:
        raise Nonsense(f"there is no {strange[0]!r} in an answer")
    own = dict(said.pop("hookSpecificOutput", None) or {})
    own.pop("hookEventName", None)
    goes_on = said.pop("continue", said.pop("continue_", True))
    block = said.pop("decision", None)
    reason = said.pop("reason", None)
    verdict = own.pop("permissionDecision", None) or {"block": "deny", "approve": "allow"}.get(
        block
    )
    if block is not None and verdict is None:
        raise Nonsense(f"there is no decision {block!r}")
    if verdict not in (None, "allow", "deny", "ask"):
        raise Nonsense(f"there is no permissionDecision {verdict!r} for a hook")
    if not isinstance(goes_on, bool):
        raise Nonsense(f"continue is {goes_on!r}")
    if not goes_on:
        verdict, reason = "stop", said.pop("stopReason", None) or reason
    reason = own.pop("permissionDecisionReason", None) or reason
    changed, context = own.pop("updatedInput", None), own.pop("additionalContext", None)
    plain = {"verdict": verdict, "reason": reason, "input": changed, "context": context}
    return msgspec.convert({**plain, "more": said, "own": own}, Decision)


# --- to Claude Code -----------------------------------------------------------------------------


def answer_to(event: str, decision: Decision) -> dict[str, Any]:
    """A decision in the words of Claude Code."""
    out, own = dict(decision.more), dict(decision.own)
    verdict = decision.verdict
    if verdict == "stop":
        out |= {"continue": False, "stopReason": decision.reason or "A hook stopped it."}
        verdict = "deny"  # or what was about to happen still would
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
