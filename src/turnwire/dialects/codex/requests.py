"""Requests of Codex to a person: what is asked, and the answers that Codex understands."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct

from turnwire.core import events as ev
from turnwire.core import forms
from turnwire.core.answers import as_text
from turnwire.core.questions import client_tool_question, questions_of
from turnwire.dialects.codex import items as i
from turnwire.dialects.codex import messages as m
from turnwire.dialects.codex.translate import changes_of

__all__ = [
    "Refusal",
    "Request",
    "WhatIsAsked",
    "answer_of",
    "asks",
    "cancelled",
    "is_answered",
    "refusal_of",
    "result_text",
]


class Request(Struct, gc=False):
    """An open request."""

    id: m.RequestId
    asked: m.Asked
    item_id: str  # the call that waits
    has_call: bool  # the call is an item of the thread; otherwise the request itself is the call
    parent: str | None
    agent_id: str | None
    answer: Any = None  # as it was sent to Codex
    is_cancelled: bool = False  # the turn was stopped, and Codex was told so


class Refusal(Struct, frozen=True, gc=False):
    """A request that no person is asked, because an answer would do harm."""

    why: str  # for people
    result: dict[str, Any]  # for Codex


class WhatIsAsked(Struct, frozen=True, gc=False):
    """A request in the words of normalized events."""

    item_id: str
    name: str  # of the tool
    input: Any
    questions: list[ev.Question] = []  # empty: a permission
    title: str | None = None
    reason: str | None = None
    suggestions: list[Any] = []
    is_question: bool = True  # the call itself asks; false: the host runs the tool, and answers


def refusal_of(message: m.Asked) -> Refusal | None:
    """Returns why a request is refused without a person. Returns None if a person may be asked."""
    match message.params:
        case m.UserInputRequest(questions=questions) if any(each.is_secret for each in questions):
            asked = "; ".join(each.question for each in questions if each.is_secret)
            why = (
                f"Codex asked for a secret and got no answer: {asked} An answer would be readable in"
                " the log. Give Codex the secret in a file or in an environment variable."
            )
            return Refusal(why, {"answers": {}})
        case m.ElicitationRequest(mode="openai/userVerification") as asked:
            why = (
                f"{asked.server_name} asked for a proof of who you are, and it was declined:"
                f" {asked.title or asked.description or 'verification'}. Only Codex's own apps can give it."
            )
            return Refusal(why, {"action": "decline"})
        case _:
            return None


def asks(message: m.Asked, item: Any) -> WhatIsAsked | None:
    """Returns what a request asks. `item` is the item that waits for it, or None.

    Returns None if the request is not for a person.
    """
    match message.params:
        case m.CommandApproval() as asked:
            shown = {"command": asked.command, "cwd": asked.cwd}
            if asked.network_approval_context is not None:
                shown["network"] = asked.network_approval_context
            if asked.additional_permissions is not None:
                shown["permissions"] = asked.additional_permissions
            rules = [rule for rule, _ in _lasting(asked)]
            return WhatIsAsked(
                asked.item_id, "command_execution", shown, [], None, asked.reason, rules
            )
        case m.FileChangeApproval() as asked:
            changes = item.changes if isinstance(item, i.FileChange) else []
            shown = {"changes": msgspec.to_builtins(changes_of(changes))}
            if asked.grant_root is not None:
                shown["grant_root"] = asked.grant_root
            return WhatIsAsked(
                asked.item_id,
                "file_change",
                shown,
                [],
                None,
                asked.reason,
                [
                    _rule(
                        "file_change",
                        ", ".join(each.path for each in changes),
                        same_input=asked.grant_root is not None,
                    )
                ],
            )
        case m.PermissionsApproval() as asked:
            shown = {"permissions": asked.permissions, "cwd": asked.cwd}
            return WhatIsAsked(
                asked.item_id,
                "request_permissions",
                shown,
                [],
                None,
                asked.reason,
                [_rule("request_permissions", None, same_input=True)],
            )
        case m.UserInputRequest() as asked if asked.questions:
            given = [_as_input(each) for each in asked.questions]
            questions = [_question(each) for each in asked.questions]
            return WhatIsAsked(asked.item_id, "request_user_input", {"questions": given}, questions)
        case m.ToolCallRequest() as asked:
            shown = client_tool_question(asked.tool)
            return WhatIsAsked(
                asked.call_id, asked.tool, shown, questions_of(shown), is_question=False
            )
        case m.ElicitationRequest(turn_id=turn_id) as asked:
            name = f"elicitation-{turn_id}-{message.id}"
            if _is_tool_approval(asked):
                return _tool_approval(asked, name)
            return _elicitation(asked, name)
        case _:
            return None


# Codex asks about a call of an MCP tool as if the server asked, before the call is an item.


def _is_tool_approval(asked: m.ElicitationRequest) -> bool:
    return isinstance(asked.meta, dict) and asked.meta.get("codex_approval_kind") == "mcp_tool_call"


def _tool_approval(asked: m.ElicitationRequest, name: str) -> WhatIsAsked:
    shown = {"server": asked.server_name, "arguments": asked.meta.get("tool_params")}
    about = asked.meta.get("tool_description")
    if about is not None:
        shown["description"] = about
    rules = [rule for rule, _ in _persisted(asked)]
    return WhatIsAsked(name, "mcp_tool_approval", shown, [], asked.message, None, rules)


def _persisted(asked: m.ElicitationRequest) -> list[tuple[dict[str, Any], str]]:
    """Returns the rules that allow a tool for longer, each with Codex's word for it."""
    words = _listed(asked.meta.get("persist"))
    known = {"session": "session", "always": "userSettings"}
    return [
        (_rule("mcp_tool_approval", f"{asked.server_name}: {asked.message}", known[word]), word)
        for word in words
        if word in known
    ]


def _rule(
    name: str, what: str | None, destination: str = "session", *, same_input: bool = False
) -> dict[str, Any]:
    """Returns the rule to allow something without a question, until the session ends or longer.

    `same_input`: the rule also depends on the rest of the input, as the directory of a command.
    """
    rule = {"toolName": name, "ruleContent": what} if what else {"toolName": name}
    kept = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": destination}
    if destination != "session":  # Codex writes it into its own files, or does not keep it
        return {**kept, "narrowable": False}
    return {**kept, "same_input": True} if same_input else kept


def _lasting(asked: m.CommandApproval) -> list[tuple[dict[str, Any], Any]]:
    """Returns the rules that allow a command for longer, each with the decision for Codex.

    The first one ends with the session. The others are amendments of Codex's own policy: for
    commands that begin alike, and for a host of the network.
    """
    lasting: list[tuple[dict[str, Any], Any]] = [
        (_rule("command_execution", asked.command, same_input=True), "acceptForSession")
    ]
    decisions: list[Any] = [*(asked.available_decisions or [])]
    if asked.proposed_execpolicy_amendment:
        amended = {"execpolicy_amendment": asked.proposed_execpolicy_amendment}
        decisions.append({"acceptWithExecpolicyAmendment": amended})
    for proposed in asked.proposed_network_policy_amendments or []:
        amended = {"network_policy_amendment": proposed}
        decisions.append({"applyNetworkPolicyAmendment": amended})
    for decision in decisions:
        rule = _amendment(decision)
        if rule is not None and all(rule != each for each, _ in lasting):
            lasting.append((rule, decision))
    return lasting


def _amendment(decision: Any) -> dict[str, Any] | None:
    """Returns the rule of a decision that amends Codex's policy. Returns None for any other."""
    match decision:
        case {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": [_, *_] as begins}}:
            words = " ".join(_quoted(str(each)) for each in begins)
            return _rule("command_execution", f"{words} *", "userSettings")
        case {
            "applyNetworkPolicyAmendment": {
                "network_policy_amendment": {"action": "allow", "host": str(host)}
            }
        }:
            return _rule("network", host, "userSettings")
        case _:
            return None


def _quoted(word: str) -> str:
    """Returns a word of a command as a shell reads it."""
    return (
        word if re.fullmatch(r"[\w@%+=:,./-]+", word) else "'" + word.replace("'", "'\"'\"'") + "'"
    )


# Front ends read the questions in the input of the call, where the text of a question is its id.


def _question(asked: m.UserInputQuestion) -> ev.Question:
    options = [ev.QuestionOption(each.label, each.description) for each in asked.options or []]
    free = asked.is_other or not options
    return ev.Question(asked.question, asked.question, options, False, free, asked.header)


def _as_input(asked: m.UserInputQuestion) -> dict[str, Any]:
    options = [
        {"label": each.label, "description": each.description} for each in asked.options or []
    ]
    shown: dict[str, Any] = {"id": asked.id, "question": asked.question, "header": asked.header}
    return {**shown, "options": options, "free_text": asked.is_other or not options}


def _elicitation(asked: m.ElicitationRequest, name: str) -> WhatIsAsked:
    """Returns the question of an MCP server: one for each field of its form."""
    given = forms.asked_with(_form_words(asked), _form_fields(asked))
    shown = {"server": asked.server_name, **given}
    if asked.meta is not None:
        shown["meta"] = asked.meta
    return WhatIsAsked(name, "mcp_elicitation", shown, questions_of(given))


def _form_words(asked: m.ElicitationRequest) -> str:
    return asked.message if asked.url is None else f"{asked.message} {asked.url}".strip()


def _form_fields(asked: m.ElicitationRequest) -> forms.Fields:
    return {} if asked.url is not None else forms.fields_of(asked.requested_schema)


# --- answers --------------------------------------------------------------------------------------


def answer_of(
    request: Request, decision: str | None, answer: Any, remember: list[Any]
) -> dict[str, Any]:
    """Returns the result that Codex gets for a person's decision or answer."""
    denied = decision == "deny"
    match request.asked.params:
        case m.UserInputRequest() as asked:
            return {"answers": {} if denied else _answers(asked, answer)}
        case m.ToolCallRequest():
            text = "The host did not run the tool." if denied else as_text(answer)
            return {"contentItems": [{"type": "inputText", "text": text}], "success": not denied}
        case m.ElicitationRequest() as asked if _is_tool_approval(asked):
            if denied:
                return {"action": "decline"}
            words = [word for rule in remember for each, word in _persisted(asked) if each == rule]
            accepted = {"action": "accept", "content": {}}
            return {**accepted, "_meta": {"persist": words[0]}} if words else accepted
        case m.ElicitationRequest() as asked:
            return _elicited(asked, None if denied else answer)
        case m.PermissionsApproval() as asked:
            granted = {} if denied else asked.permissions or {}
            scope = "session" if remember and not denied else "turn"
            return {"permissions": granted, "scope": scope}
        case m.CommandApproval() as asked if remember and not denied:
            decisions = [
                decision for rule in remember for each, decision in _lasting(asked) if each == rule
            ]
            return {"decision": decisions[0] if decisions else "acceptForSession"}
        case _:
            allowed = "acceptForSession" if remember else "accept"
            return {"decision": "decline" if denied else allowed}


def cancelled(request: Request) -> dict[str, Any] | None:
    """Returns the result for a request whose turn was stopped. None: it ends with the turn."""
    match request.asked.params:
        case m.CommandApproval() | m.FileChangeApproval():
            return {"decision": "cancel"}
        case m.ElicitationRequest():
            return {"action": "cancel"}
        case _:
            return None


def _answers(asked: m.UserInputRequest, answer: Any) -> dict[str, Any]:
    given = answer if isinstance(answer, dict) else {}
    said: dict[str, Any] = {}
    for question in asked.questions:
        value = given.get(question.question) if isinstance(answer, dict) else answer
        if value is not None:
            said[question.id] = {"answers": [str(each) for each in _listed(value)]}
    return said


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _elicited(asked: m.ElicitationRequest, answer: Any) -> dict[str, Any]:
    fields = _form_fields(asked)
    if not fields:
        is_accepted = forms.accepts(answer)
        return {"action": "accept", "content": {}} if is_accepted else {"action": "decline"}
    values = forms.values_of(_form_words(asked), fields, answer)
    return {"action": "accept", "content": values} if values else {"action": "decline"}


def is_answered(request: Request) -> bool:
    """Returns whether the host has answered the request."""
    return request.answer is not None


def result_text(request: Request) -> str:
    """Returns the answer of a request as text, for the result of its call."""
    answer = request.answer
    match request.asked.params, answer:
        case m.UserInputRequest() as asked, {"answers": {**given}}:
            lines = []
            for question in asked.questions:
                said = given.get(question.id)
                values = said.get("answers", []) if isinstance(said, dict) else []
                lines.append(f"{question.question}: {', '.join(map(str, values))}")
            return "\n".join(lines)
        case _:
            return msgspec.json.encode(answer).decode()
