"""What Codex asks a person, and the answers that it understands."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.dialects.codex.helpers.app_server import Server, asked, item, told
from turnwire.core import events as ev
from turnwire.core.blocks import ToolResultBlock
from turnwire.dialects.codex import decode
from turnwire.dialects.codex import messages as m
from turnwire.dialects.codex.requests import answer_of, cancelled, refusal_of

COMMAND = "item/commandExecution/requestApproval"
QUESTION = {
    "itemId": "call_1",
    "questions": [
        {
            "id": "colour",
            "header": "Colour",
            "question": "Which?",
            "isOther": True,
            "options": [{"label": "Red", "description": "warm"}],
        }
    ],
}


def ask(method: str, **params: Any) -> tuple[Server, list[Any]]:
    server = Server()
    return server, server.says(asked(0, method, **params))


def answer(server: Server, decision: str | None, said: Any = None, *, remember: Any = ()) -> Any:
    request = server.adapter.asked("0")
    assert request is not None
    return answer_of(request, decision, said, list(remember))


def test_a_command_is_asked_about_and_may_be_allowed_for_the_session() -> None:
    server, (called, wanted) = ask(
        COMMAND,
        itemId="call_1",
        command="touch x",
        cwd="/w",
        reason="Outside?",
        networkApprovalContext={"host": "a"},
        additionalPermissions={"network": {}},
    )
    assert isinstance(called, ev.AssistantMessage)
    assert isinstance(wanted, ev.PermissionRequested)
    assert (wanted.tool_name, wanted.reason) == ("command_execution", "Outside?")
    assert wanted.input["network"] == {"host": "a"}
    (session,) = wanted.suggestions
    assert session == {
        "type": "addRules",
        "rules": [{"toolName": "command_execution", "ruleContent": "touch x"}],
        "behavior": "allow",
        "destination": "session",
        "same_input": True,  # the directory and the network belong to it
    }
    assert answer(server, "allow") == {"decision": "accept"}
    assert answer(server, "allow", remember=[session]) == {"decision": "acceptForSession"}
    assert answer(server, "deny") == {"decision": "decline"}


def test_a_command_may_be_allowed_by_an_amendment_of_codex_own_policy() -> None:
    begins = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["git", "push it"]}}
    hosts = [{"host": "a.example", "action": action} for action in ("allow", "deny")]
    network = {"applyNetworkPolicyAmendment": {"network_policy_amendment": hosts[0]}}
    server, (_, wanted) = ask(
        COMMAND,
        itemId="call_1",
        command="git 'push it' now",
        availableDecisions=["accept", begins, "cancel", {"other": 1}],
        proposedExecpolicyAmendment=["git", "push it"],
        proposedNetworkPolicyAmendments=hosts,
    )
    session, commands, host = wanted.suggestions
    kept = {"behavior": "allow", "destination": "userSettings", "narrowable": False}
    rule = {"toolName": "command_execution", "ruleContent": "git 'push it' *"}
    assert commands == {"type": "addRules", "rules": [rule], **kept}
    assert host["rules"] == [{"toolName": "network", "ruleContent": "a.example"}]
    assert answer(server, "allow", remember=[session]) == {"decision": "acceptForSession"}
    assert answer(server, "allow", remember=[commands]) == {"decision": begins}
    assert answer(server, "allow", remember=[host]) == {"decision": network}
    # Codex takes one: the first. A rule that another user gets for the session is no amendment.
    assert answer(server, "allow", remember=[session, host]) == {"decision": "acceptForSession"}
    narrowed = {**commands, "destination": "session"}
    assert answer(server, "allow", remember=[narrowed]) == {"decision": "acceptForSession"}
    assert answer(server, "deny", remember=[commands]) == {"decision": "decline"}


def test_a_patch_is_asked_about_with_its_changes() -> None:
    server = Server()
    changes = [{"path": "/a", "kind": {"type": "add"}, "diff": "hi"}, {"path": "/b", "kind": 3}]
    server.says(item("started", "fileChange", "call_1", changes=changes, status="inProgress"))
    method = "item/fileChange/requestApproval"
    (wanted,) = server.says(asked(0, method, itemId="call_1", grantRoot="/"))
    assert isinstance(wanted, ev.PermissionRequested)
    assert wanted.input == {
        "changes": [
            {"path": "/a", "kind": "add", "diff": "@@ -0,0 +1,1 @@\n+hi"},
            {"path": "/b", "kind": "update"},
        ],
        "grant_root": "/",
    }


def test_more_permissions_are_granted_for_a_turn_or_for_the_session() -> None:
    server, (_, wanted) = ask(
        "item/permissions/requestApproval", itemId="c", permissions={"network": {}}, cwd="/w"
    )
    assert wanted.tool_name == "request_permissions"
    granted = {"permissions": {"network": {}}, "scope": "turn"}
    assert answer(server, "allow") == granted
    assert answer(server, "allow", remember=[1]) == {**granted, "scope": "session"}
    assert answer(server, "deny") == {"permissions": {}, "scope": "turn"}
    server.gets({"id": 0, "result": granted})
    (ended,) = server.says(told("serverRequest/resolved", requestId=0))
    assert isinstance(ended, ev.UserMessage)
    (block,) = ended.content
    assert isinstance(block, ToolResultBlock)
    assert block.content == '{"permissions":{"network":{}},"scope":"turn"}'


def test_a_question_is_a_call_whose_result_is_the_answer() -> None:
    server, (called, question) = ask("item/tool/requestUserInput", **QUESTION)
    assert called.content[0].is_question
    assert isinstance(question, ev.QuestionAsked)
    assert question.questions == [
        ev.Question("Which?", "Which?", [ev.QuestionOption("Red", "warm")], False, True, "Colour")
    ]
    sent = answer(server, None, {"Which?": "Blue"})
    assert sent == {"answers": {"colour": {"answers": ["Blue"]}}}
    assert answer(server, None, "Blue") == sent
    assert answer(server, None, {"Which?": ["Blue", 1]})["answers"]["colour"] == {
        "answers": ["Blue", "1"]
    }
    assert answer(server, None, {}) == {"answers": {}}
    assert answer(server, "deny") == {"answers": {}}
    server.gets({"id": 0, "result": sent})
    (ended,) = server.says(told("serverRequest/resolved", requestId=0))
    assert ended.content[0].content == "Which?: Blue"


TOOL = {"callId": "call_1", "tool": "paint", "arguments": {"colour": "blue"}}


def test_a_tool_of_the_host_is_a_question_of_its_call() -> None:
    server = Server()
    begun = item("started", "dynamicToolCall", "call_1", tool="paint", arguments=TOOL["arguments"])
    (called,) = server.says(begun)
    assert not called.content[0].is_question
    (question,) = server.says(asked(0, "item/tool/call", **TOOL))
    assert isinstance(question, ev.QuestionAsked)
    assert not question.is_question
    assert question.input["metadata"] == {"client_tool": True}
    assert (question.tool_use_id, question.tool_name) == ("call_1", "paint")
    sent = answer(server, None, "It is blue.")
    assert sent == {"contentItems": [{"type": "inputText", "text": "It is blue."}], "success": True}
    assert answer(server, None, {"answer": "It is blue."}) == sent
    assert answer(server, "deny")["success"] is False


def test_a_tool_of_the_host_whose_beginning_is_missing_is_called_all_the_same() -> None:
    _, (called, question) = ask("item/tool/call", **TOOL)
    assert called.content[0].input == {"colour": "blue"}
    assert isinstance(question, ev.QuestionAsked)


def test_a_question_that_is_withdrawn_has_failed() -> None:
    server, _ = ask("item/tool/requestUserInput", **QUESTION)
    withdrawn, ended = server.says(told("serverRequest/resolved", requestId=0))
    assert isinstance(withdrawn, ev.RequestWithdrawn)
    assert ended.content[0].is_error


def test_an_answer_that_lacks_a_question_is_shown_as_far_as_it_goes() -> None:
    server, _ = ask("item/tool/requestUserInput", **QUESTION)
    server.gets({"id": 0, "result": {"answers": {"other": 1}}})
    (ended,) = server.says(told("serverRequest/resolved", requestId=0))
    assert ended.content[0].content == "Which?: "


def test_a_secret_question_is_refused_because_its_answer_would_be_readable_in_the_log() -> None:
    questions = [
        {"id": "k", "header": "", "question": "Key?", "isSecret": True},
        {"id": "c", "header": "", "question": "Colour?"},
    ]
    server, (news,) = ask("item/tool/requestUserInput", itemId="c", questions=questions)
    assert isinstance(news, ev.SystemEvent)
    assert (news.subtype, news.ephemeral) == ("question_refused", False)
    assert news.text is not None
    assert news.text.startswith("Codex asked for a secret and got no answer: Key? An answer would")
    assert server.adapter.asked("0") is None
    message = decode(msgspec.json.encode(asked(0, "item/tool/requestUserInput", itemId="c")))
    assert isinstance(message.message, m.Asked)
    assert refusal_of(message.message) is None


def test_a_request_without_questions_is_unknown() -> None:
    _, (unknown,) = ask("item/tool/requestUserInput", itemId="c", questions=[])
    assert isinstance(unknown, ev.UnknownEvent)


ELICITATION = "mcpServer/elicitation/request"


def test_a_proof_of_identity_is_never_accepted() -> None:
    fields = {"serverName": "bank", "mode": "openai/userVerification", "challenge": "x"}
    _, (news,) = ask(ELICITATION, title="Confirm it is you", **fields)
    assert news.text.startswith(
        "bank asked for a proof of who you are, and it was declined: Confirm"
    )
    message = decode(msgspec.json.encode(asked(0, ELICITATION, **fields))).message
    assert isinstance(message, m.Asked)
    refusal = refusal_of(message)
    assert refusal is not None
    assert refusal.result == {"action": "decline"}


def approval(**more: Any) -> dict[str, Any]:
    """An MCP tool call that waits for a permission, as Codex asks about it."""
    meta = {"codex_approval_kind": "mcp_tool_call", "tool_params": {"a": 2}, **more}
    fields = {"serverName": "demo", "mode": "form", "message": "Run add?", "_meta": meta}
    return {**fields, "requestedSchema": {"type": "object", "properties": {}}}


def test_a_call_of_an_mcp_tool_is_a_permission_with_its_arguments() -> None:
    given = approval(persist=["session", "always", "odd"], tool_description="adds")
    server, (called, wanted) = ask(ELICITATION, **given)
    assert called.content[0].tool_name == "mcp_tool_approval"
    assert isinstance(wanted, ev.PermissionRequested)
    assert (wanted.title, wanted.decision_only) == ("Run add?", True)
    assert wanted.input == {"server": "demo", "arguments": {"a": 2}, "description": "adds"}
    session, always = wanted.suggestions
    rules = [{"toolName": "mcp_tool_approval", "ruleContent": "demo: Run add?"}]
    assert (session["rules"], session["destination"]) == (rules, "session")
    assert (always["rules"], always["destination"]) == (rules, "userSettings")
    accepted = {"action": "accept", "content": {}}
    assert answer(server, "allow") == accepted
    kept = {**accepted, "_meta": {"persist": "always"}}
    assert answer(server, "allow", remember=[always]) == kept
    assert answer(server, "allow", remember=[{}]) == accepted
    assert answer(server, "deny") == {"action": "decline"}


@pytest.mark.parametrize("persist", ["session", None])
def test_codex_says_for_how_long_an_mcp_tool_may_be_allowed(persist: str | None) -> None:
    _, (_, wanted) = ask(ELICITATION, **approval(persist=persist))
    assert len(wanted.suggestions) == (0 if persist is None else 1)
    assert "description" not in wanted.input


def test_an_addition_of_an_mcp_server_to_its_question_is_shown() -> None:
    more = {"message": "Sure?", "_meta": {"icon": "bell"}}
    _, (_, question) = ask(ELICITATION, serverName="demo", **more)
    assert question.input["meta"] == {"icon": "bell"}


@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        (COMMAND, {"itemId": "c", "command": "ls"}, {"decision": "cancel"}),
        ("item/fileChange/requestApproval", {"itemId": "c"}, {"decision": "cancel"}),
        (ELICITATION, {"serverName": "demo", "message": "Sure?"}, {"action": "cancel"}),
        ("item/tool/requestUserInput", QUESTION, None),
    ],
)
def test_a_stop_cancels_what_can_be_cancelled(method: str, params: Any, result: Any) -> None:
    server, _ = ask(method, **params)
    (request,) = server.adapter.open_requests()
    assert cancelled(request) == result


FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "old": {"type": "boolean"},
        "age": {"type": "integer"},
        "size": {"type": "number"},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "odd": 3,
    },
}


def test_a_form_of_an_mcp_server_has_a_question_for_each_field() -> None:
    server, (_, question) = ask(
        "mcpServer/elicitation/request",
        serverName="demo",
        mode="form",
        message="Who?",
        requestedSchema=FORM,
    )
    assert isinstance(question, ev.QuestionAsked)
    assert [each.question for each in question.questions] == [
        f"Who? {name}" for name in ("Your name", "old", "age", "size", "kind", "odd")
    ]
    texts = {"Your name": "Ada", "old": "Yes", "age": "36", "size": "1.7", "kind": "a", "odd": 1}
    said = {f"Who? {name}": value for name, value in texts.items()}
    assert answer(server, None, said) == {
        "action": "accept",
        "content": {"name": "Ada", "old": True, "age": 36, "size": 1.7, "kind": "a", "odd": 1},
    }
    assert answer(server, None, {"Who? age": "old"})["content"] == {"age": "old"}
    assert answer(server, None, {}) == {"action": "decline"}
    assert answer(server, "deny") == {"action": "decline"}


@pytest.mark.parametrize("more", [{}, {"url": "http://a"}, {"requestedSchema": {"properties": 1}}])
def test_a_request_of_an_mcp_server_without_a_form_is_accepted_or_declined(more: Any) -> None:
    server, (_, question) = ask(
        "mcpServer/elicitation/request", serverName="demo", message="Sure?", **more
    )
    (only,) = question.questions
    assert [each.label for each in only.options] == ["Accept", "Decline"]
    assert answer(server, None, {only.id: "Accept"}) == {"action": "accept", "content": {}}
    assert answer(server, None, "Decline") == {"action": "decline"}


def test_an_answer_to_an_unknown_request_is_ignored() -> None:
    server = Server()
    server.gets({"id": 99, "result": {}})
    server.gets({"method": "initialized"})
    assert server.adapter.asked("99") is server.adapter.waiting("99") is None


def test_a_request_is_found_by_its_id_and_by_its_call() -> None:
    server, _ = ask(COMMAND, itemId="call_1", command="touch x")
    assert server.adapter.waiting("call_1") is server.adapter.waiting("0")
    assert server.adapter.waiting("0") is not None
