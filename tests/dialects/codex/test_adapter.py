"""The stream of an app-server as normalized events: the traps, and what is rare."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.dialects.codex.helpers.app_server import (
    BEGUN,
    THREAD,
    TURN,
    Server,
    asked,
    item,
    told,
    turn_ends,
)
from turnwire.core import events as ev
from turnwire.core.blocks import (
    FileRefBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    TodoListBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    WebSearchBlock,
)
from turnwire.core.usage import Usage

COMMAND = {"command": "make", "cwd": "/w", "status": "inProgress", "commandActions": []}


def text_of(event: Any) -> str:
    (block,) = event.content
    assert isinstance(block, TextBlock)
    return block.text


def result_of(event: Any) -> ToolResultBlock:
    assert isinstance(event, ev.UserMessage)
    (block,) = event.content
    assert isinstance(block, ToolResultBlock)
    return block


def details_of(result: ToolResultBlock) -> Any:
    assert isinstance(result.details, msgspec.Raw)
    return msgspec.json.decode(result.details)


def kinds(events: list[Any]) -> list[str]:
    return [type(event).__name__ for event in events]


# --- traps ----------------------------------------------------------------------------------------


def test_a_command_that_an_interrupt_left_open_gets_its_result_before_the_turn_ends() -> None:
    server = Server()
    server.says(item("started", "commandExecution", "call_1", **COMMAND))
    server.says(told("item/commandExecution/outputDelta", itemId="call_1", delta="tick\n"))
    events = server.says(turn_ends("interrupted"))
    assert kinds(events) == ["UserMessage", "TurnCompleted", "ResultSummary"]
    result = result_of(events[0])
    assert (result.tool_use_id, result.content, result.is_error) == ("call_1", "tick\n", True)
    assert events[1].interrupted


def test_a_command_without_output_that_was_interrupted_says_so() -> None:
    server = Server()
    server.says(item("started", "commandExecution", "call_1", **COMMAND))
    assert result_of(server.says(turn_ends("interrupted"))[0]).content == "interrupted"


def test_text_that_an_interrupt_cut_off_stays_and_is_marked() -> None:
    server = Server()
    server.says(item("started", "agentMessage", "msg_1", text=""))
    server.says(told("item/agentMessage/delta", itemId="msg_1", delta="Hel"))
    said, _, completed, *_ = server.says(turn_ends("interrupted"))
    assert (text_of(said), said.aborted) == ("Hel", True)
    assert completed.stop_reason == "aborted"


def test_reasoning_that_an_interrupt_cut_off_stays() -> None:
    server = Server()
    server.says(told("item/reasoning/textDelta", itemId="rs_1", delta="Hm", contentIndex=0))
    said = server.says(turn_ends("failed"))[0]
    assert isinstance(said, ev.AssistantMessage)
    assert said.content == [ThinkingBlock("Hm", "completed")]


def test_the_first_piece_of_output_may_be_missing_because_the_whole_output_counts() -> None:
    server = Server()
    server.says(item("started", "commandExecution", "call_1", **COMMAND))
    progress = server.says(
        told("item/commandExecution/outputDelta", itemId="call_1", delta="two\n")
    )
    assert [event.output for event in progress] == ["two\n"]
    ended = {**COMMAND, "status": "completed", "aggregatedOutput": "one\ntwo\n", "exitCode": 0}
    (result,) = map(
        result_of, server.says(item("completed", "commandExecution", "call_1", **ended))
    )
    assert result.content == "one\ntwo\n"
    assert details_of(result) == {
        "type": "command_execution",
        "id": "call_1",
        "command": "make",
        "status": "completed",
        "cwd": "/w",
        "output": "one\ntwo\n",
        "exit_code": 0,
    }


def test_a_stream_that_is_retried_under_another_id_is_not_shown_twice() -> None:
    server = Server()
    server.says(item("started", "agentMessage", "msg_1", text=""))
    server.says(told("item/agentMessage/delta", itemId="msg_1", delta="Hello wo"))
    discarded, news = server.says(
        told("error", error={"message": "Reconnecting... 1/5"}, willRetry=True)
    )
    assert isinstance(discarded, ev.MessageDiscarded)
    assert (discarded.message_id, discarded.reason) == ("msg_1", "restarted")
    assert isinstance(news, ev.SystemEvent)
    assert (news.subtype, news.ephemeral) == ("error_retry", True)
    assert news.text == "Reconnecting... 1/5"
    server.says(item("started", "agentMessage", "msg_2", text=""))
    said = server.says(item("completed", "agentMessage", "msg_2", text="Hello world"))[0]
    assert text_of(said) == "Hello world"
    assert kinds(server.says(turn_ends())) == ["TurnCompleted", "ResultSummary"]


def test_a_message_that_is_replaced_without_an_error_may_still_be_completed_as_a_whole() -> None:
    server = Server()
    server.says(item("started", "agentMessage", "msg_1", text=""))
    assert kinds(server.says(item("started", "agentMessage", "msg_2", text="")))[:1] == [
        "MessageDiscarded"
    ]
    assert kinds(server.says(item("completed", "agentMessage", "msg_1", text="Hi"))) == [
        "AssistantMessage"
    ]


@pytest.mark.parametrize(
    ("decision", "status"), [("decline", "completed"), ("cancel", "interrupted")]
)
def test_a_refused_command_has_failed_and_only_a_cancel_ends_the_turn(
    decision: str, status: str
) -> None:
    server = Server()
    server.says(item("started", "commandExecution", "call_1", **COMMAND))
    server.says(asked(0, "item/commandExecution/requestApproval", itemId="call_1", command="make"))
    server.gets({"id": 0, "result": {"decision": decision}})
    assert server.says(told("serverRequest/resolved", requestId=0)) == []
    refused = item("completed", "commandExecution", "call_1", **{**COMMAND, "status": "declined"})
    result = result_of(server.says(refused)[0])
    assert (result.content, result.is_error) == ("declined", True)
    assert server.says(turn_ends(status))[0].interrupted is (decision == "cancel")


def test_a_request_that_is_resolved_after_the_turn_has_ended_with_it() -> None:
    server = Server()
    server.says(item("started", "fileChange", "call_1", changes=[], status="inProgress"))
    server.says(asked("a", "item/fileChange/requestApproval", itemId="call_1"))
    events = server.says(turn_ends("interrupted"))
    assert kinds(events) == ["RequestWithdrawn", "UserMessage", "TurnCompleted", "ResultSummary"]
    assert server.says(told("serverRequest/resolved", requestId="a")) == []


def test_a_stream_that_ends_in_a_turn_has_lost_the_agent() -> None:
    server = Server()
    server.says(item("started", "agentMessage", "msg_1", text=""))
    discarded, failed = server.adapter.finish()
    assert isinstance(discarded, ev.MessageDiscarded)
    assert isinstance(failed, ev.TurnFailed)
    assert failed.code == "agent_lost"
    assert server.adapter.finish() == []


def test_calls_and_questions_that_a_turn_leaves_open_end_with_it() -> None:
    server = Server()
    for name in ("call_1", "call_2"):
        server.says(item("started", "commandExecution", name, **COMMAND))
    server.says(asked(0, "item/commandExecution/requestApproval", itemId="call_2"))
    questions = [{"id": "q", "header": "", "question": "Which?"}]
    server.says(asked(1, "item/tool/requestUserInput", itemId="call_3", questions=questions))
    events = server.says(turn_ends("interrupted"))
    assert kinds(events[:-2]) == [
        *("UserMessage", "RequestWithdrawn", "UserMessage", "RequestWithdrawn", "UserMessage")
    ]


def test_a_call_stays_open_when_the_stream_ends_because_the_engine_ends_it() -> None:
    server = Server()
    server.says(item("started", "commandExecution", "call_1", **COMMAND))
    assert kinds(server.adapter.finish()) == ["TurnFailed"]


# --- threads and turns ----------------------------------------------------------------------------


def test_the_answer_to_a_start_says_model_directory_and_permissions() -> None:
    server = Server(begun=False)
    opened = {
        "thread": {"id": THREAD, "cliVersion": "0.163.0"},
        "model": "gpt-5.5",
        "cwd": "/w",
        "approvalPolicy": "on-request",
        "sandbox": {"type": "workspaceWrite"},
    }
    (init,) = server.says({"id": 2, "result": opened})
    assert init == ev.SessionInit(
        "codex", THREAD, None, None, "gpt-5.5", "/w", "default", [], "0.163.0"
    )
    assert server.says({"id": 3, "result": {"thread": {"id": "other"}}}) == []
    assert server.says({"id": 4, "result": {}}) == []
    assert server.says({"id": 5, "error": {"code": -1, "message": "no"}}) == []
    granular = {**opened, "approvalPolicy": {"granular": {}}, "sandbox": "read-only"}
    (init,) = server.says({"id": 6, "result": granular})
    assert isinstance(init, ev.SessionInit)
    assert init.permission_mode is None


def test_a_failed_turn_has_the_code_and_the_message_of_the_error() -> None:
    error = {"message": "no", "codexErrorInfo": {"httpConnectionFailed": {"httpStatusCode": 401}}}
    failed, summary = Server().says(turn_ends("failed", error=error, durationMs=12))
    assert isinstance(failed, ev.TurnFailed)
    assert failed.code == "unauthorized"
    assert failed.message.startswith("no. Give Codex a credential that is valid: `codex login`")
    assert isinstance(summary, ev.ResultSummary)
    assert (summary.is_error, summary.errors, summary.duration_ms) == (True, ["no"], 12)


def test_the_tokens_of_a_turn_are_those_of_its_requests_to_the_model() -> None:
    server = Server()
    counts = {"inputTokens": 120, "cachedInputTokens": 100, "outputTokens": 34, "totalTokens": 154}
    for _ in range(2):
        server.says(told("thread/tokenUsage/updated", tokenUsage={"last": counts, "total": counts}))
    _, summary = server.says(turn_ends())
    assert isinstance(summary, ev.ResultSummary)
    assert (summary.usage, summary.num_turns) == (Usage(40, 68, 0, 200), 2)
    again = told("thread/tokenUsage/updated", tokenUsage={"last": counts, "total": counts})
    assert server.says(again) == [], "a resumed thread repeats it, and no turn has used it"
    server.says(BEGUN)
    assert server.says(turn_ends())[1].usage is None


def test_a_named_thread_proposes_a_title_and_a_plan_is_a_plan() -> None:
    server = Server()
    (title,) = server.says(told("thread/name/updated", threadName="Tidy up"))
    assert isinstance(title, ev.TitleProposed)
    assert title.title == "Tidy up"
    assert server.says(told("thread/name/updated", threadName=None)) == []
    plan = [{"step": "Look", "status": "inProgress"}, {"step": "Do", "status": "pending"}]
    shown, told_plan = server.says(told("turn/plan/updated", plan=plan))
    assert isinstance(told_plan, ev.PlanUpdated)
    assert [each.status for each in told_plan.items] == ["in_progress", "pending"]
    assert isinstance(shown, ev.AssistantMessage)
    assert shown.content == [TodoListBlock(told_plan.items, "completed")]
    again, _ = server.says(told("turn/plan/updated", plan=plan))
    assert isinstance(again, ev.AssistantMessage)
    assert again.message_id != shown.message_id
    assert len(server.says(told("turn/plan/updated", plan=[]))) == 1, "an empty plan is not shown"


def test_news_is_kept_if_it_is_about_more_than_the_moment() -> None:
    server = Server()
    (kept,) = server.says(told("thread/compacted"))
    (moment,) = server.says({"method": "account/rateLimits/updated", "params": {}})
    assert isinstance(kept, ev.SystemEvent)
    assert isinstance(moment, ev.SystemEvent)
    assert (kept.subtype, kept.ephemeral) == ("thread_compacted", False)
    assert (moment.subtype, moment.ephemeral) == ("account_rate_limits_updated", True)


def limits(used: int, minutes: int | None = None, resets: int | None = None) -> dict[str, Any]:
    return {"usedPercent": used, "windowDurationMins": minutes, "resetsAt": resets}


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("warning", {"message": "Slow."}, "Warning: Slow."),
        ("guardianWarning", {"message": "Odd."}, "Warning: Odd."),
        ("deprecationNotice", {"summary": "old"}, "Deprecated: old"),
        ("configWarning", {"summary": "bad", "details": "key x"}, "Configuration: bad: key x"),
        ("configWarning", {"summary": "bad", "path": "/c.toml"}, "Configuration: bad (/c.toml)"),
        (
            "model/rerouted",
            {"fromModel": "a", "toModel": "b", "reason": "highRiskCyberActivity"},
            "b answers instead of a (high risk cyber activity)",
        ),
        (
            "model/verification",
            {"verifications": ["trustedAccessForCyber"]},
            "The model's provider wants the account verified: trusted access for cyber",
        ),
        (
            "model/safetyBuffering/updated",
            {"model": "a", "reasons": ["selfHarm"]},
            "The output of a is checked before it is shown (self harm)",
        ),
        (
            "model/safetyBuffering/updated",
            {"model": "a"},
            "The output of a is checked before it is shown",
        ),
        (
            "modelProvider/authRecoveryStarted",
            {"provider": "acme", "message": "renewing"},
            "acme: renewing",
        ),
        (
            "thread/goal/updated",
            {"goal": {"objective": "Ship", "status": "inProgress"}},
            "Goal: Ship (in progress)",
        ),
        (
            "hook/completed",
            {"run": {"eventName": "stop", "status": "blocked", "entries": [{"text": "no"}]}},
            "Hook stop: blocked: no",
        ),
        (
            "item/autoApprovalReview/completed",
            {"review": {"status": "denied", "rationale": "risky"}},
            "Automatic review: denied: risky",
        ),
        (
            "mcpServer/oauthLogin/completed",
            {"name": "m", "success": True},
            "MCP server m: logged in",
        ),
        (
            "mcpServer/oauthLogin/completed",
            {"name": "m", "error": "no"},
            "MCP server m: no login: no",
        ),
        (
            "mcpServer/startupStatus/updated",
            {"name": "m", "status": "failed", "error": "gone"},
            "MCP server m: failed: gone",
        ),
        ("account/login/completed", {"success": True}, "Logged in"),
        ("account/login/completed", {"success": False, "error": "no"}, "No login: no"),
        (
            "account/gatewayOAuth/changed",
            {"providerId": "acme", "status": "notReady"},
            "Login to acme: not ready",
        ),
        (
            "account/rateLimits/updated",
            {
                "rateLimits": {
                    "limitName": "codex",
                    "primary": limits(85, 300, 1_800_000_000),
                    "secondary": limits(20, 10080),
                    "credits": {"balance": "5"},
                    "rateLimitReachedType": "rate_limit_reached",
                }
            },
            "Usage limits of codex: rate limit reached, 85 % of 5 hours used, "
            "until 2027-01-15T08:00:00.000Z, 20 % of 7 days used, credits 5",
        ),
        (
            "account/rateLimits/updated",
            {"rateLimits": {"primary": limits(1)}},
            "Usage limits: 1 % used",
        ),
        ("account/rateLimits/updated", {"rateLimits": {}}, None),
        ("thread/archived", {}, None),
    ],
)
def test_news_says_what_has_happened(method: str, params: Any, text: str | None) -> None:
    (news,) = Server().says(told(method, **params))
    assert isinstance(news, ev.SystemEvent)
    assert news.text == text


@pytest.mark.parametrize(
    ("kind", "fields", "text"),
    [
        ("enteredReviewMode", {"review": "current changes"}, "Review: current changes"),
        ("enteredReviewMode", {}, None),
        ("exitedReviewMode", {"review": "Fine."}, "Fine."),
        ("hookPrompt", {"fragments": [{"text": "Go on."}, 3]}, "A hook told the model: Go on."),
        ("hookPrompt", {}, None),
        ("sleep", {"durationMs": 1500}, "The model pauses for 1.5 seconds"),
        (
            "subAgentActivity",
            {"kind": "turnCompleted", "agentPath": "/root/a"},
            "Sub-agent /root/a: turn completed",
        ),
        ("functionCallOutput", {"output": "x"}, None),
    ],
)
def test_an_item_that_is_news_says_what_has_happened(
    kind: str, fields: Any, text: str | None
) -> None:
    (news,) = Server().says(item("completed", kind, "x", **fields))
    assert isinstance(news, ev.SystemEvent)
    assert news.text == text


def settings(model: str, effort: str | None, sandbox: str = "readOnly") -> dict[str, Any]:
    now = {"model": model, "effort": effort, "approvalPolicy": "on-request"}
    policy = {"sandboxPolicy": {"type": sandbox}}
    return told("thread/settings/updated", threadSettings={**now, **policy})


def test_a_cleared_goal_is_kept_only_if_the_thread_had_one() -> None:
    """Codex clears the goal of each thread that it resumes."""
    server, cleared = Server(begun=False), told("thread/goal/cleared")
    goal = told("thread/goal/updated", goal={"objective": "Ship", "status": "active"})
    heard = server.says(cleared, goal, cleared, cleared)
    assert [event.ephemeral for event in heard] == [True, False, False, True]


def test_settings_that_codex_changes_by_itself_are_those_of_the_conversation() -> None:
    server = Server(begun=False)
    first = server.says(settings("a", None))
    assert kinds(first) == ["SystemEvent"], "what it began with is no change"
    assert first[0].ephemeral
    model, mode = server.says(settings("b", "high", "workspaceWrite"))
    assert isinstance(model, ev.ModelChanged)
    assert (model.model, model.text) == ("b", "Codex changed the model: b")
    assert isinstance(mode, ev.PermissionModeChanged)
    assert (mode.permission_mode, mode.ephemeral) == ("default", False)
    server.adapter.expects("c", "read-only")
    assert kinds(server.says(settings("c", None))) == ["SystemEvent"], "a person chose them"


def test_settings_of_a_sub_agent_are_not_those_of_the_conversation() -> None:
    server = Server()
    server.says(settings("a", None))
    other = settings("b", None)
    other["params"]["threadId"] = "t2"
    assert kinds(server.says(other)) == ["SystemEvent"]


def test_messages_name_the_model_that_was_taken_instead_until_the_turn_ends() -> None:
    server = Server()
    server.says(settings("a", None), BEGUN)
    server.says(told("model/rerouted", fromModel="a", toModel="b", reason="x"))
    said = server.says(item("completed", "agentMessage", "m", text="Hi"))[0]
    assert said.model == "b"
    server.says(turn_ends(), BEGUN)
    assert server.says(item("completed", "agentMessage", "n", text="Hi"))[0].model == "a"


def test_an_unknown_message_is_kept_as_it_came() -> None:
    server = Server()
    (event,) = server.says({"method": "brand/new", "params": {"x": 1}})
    (request,) = server.says({"id": 7, "method": "brand/ask", "params": {}})
    (tool,) = server.says(asked(8, "item/tool/call", tool="x"))
    assert [each.original_type for each in (event, request, tool)] == [
        "brand/new",
        "request/brand/ask",
        "request/item/tool/call",
    ]
    said = server.says(item("completed", "hologram", "h_1", beam=1))[0]
    assert isinstance(said, ev.AssistantMessage)
    assert said.content == [UnknownBlock("hologram", {"type": "hologram", "id": "h_1", "beam": 1})]


# --- items ----------------------------------------------------------------------------------------


def test_reasoning_has_a_block_for_each_summary_and_for_the_raw_text() -> None:
    server = Server()
    server.says(item("started", "reasoning", "rs_1"))
    events = server.says(
        told("item/reasoning/summaryTextDelta", itemId="rs_1", delta="a", summaryIndex=0),
        told("item/reasoning/summaryTextDelta", itemId="rs_1", delta="b", summaryIndex=1),
        told("item/reasoning/textDelta", itemId="rs_1", delta="c", contentIndex=0),
    )
    assert [e.index for e in events if isinstance(e, ev.ContentDelta)] == [0, 1, 2]
    said = server.says(item("completed", "reasoning", "rs_1", summary=["A", "B"], content=["C"]))[0]
    assert said.content == [ThinkingBlock(text, "completed") for text in "ABC"]


def test_encrypted_reasoning_says_nothing() -> None:
    server = Server()
    server.says(item("started", "reasoning", "rs_1"))
    assert server.says(item("completed", "reasoning", "rs_1", summary=[], content=[])) == []
    server.says(item("started", "reasoning", "rs_2"))
    assert kinds(server.says(turn_ends())) == ["TurnCompleted", "ResultSummary"]


def test_a_plan_in_words_streams_like_text_also_without_its_beginning() -> None:
    server = Server()
    begun, *_, delta = server.says(told("item/plan/delta", itemId="p_1", delta="1. Look"))
    assert isinstance(begun, ev.MessageStarted)
    assert isinstance(delta, ev.ContentDelta)
    assert text_of(server.says(item("completed", "plan", "p_1", text="1. Look"))[0]) == "1. Look"


def test_an_item_that_begins_with_text_begins_once() -> None:
    server = Server()
    _, started = server.says(item("started", "agentMessage", "msg_1", text="Hi"))
    assert isinstance(started, ev.ContentStarted)
    assert started.block == TextBlock("Hi", "in_progress")
    assert server.says(item("started", "agentMessage", "msg_1", text="Hi")) == []
    assert text_of(server.says(turn_ends("failed"))[0]) == "Hi"


def test_a_search_that_is_not_completed_disappears() -> None:
    server = Server()
    _, started = server.says(item("started", "webSearch", "ws_1", query=""))
    assert isinstance(started, ev.ContentStarted)
    assert started.block == WebSearchBlock("ws_1", "", "in_progress")
    assert kinds(server.says(turn_ends("interrupted")))[0] == "MessageDiscarded"


@pytest.mark.parametrize(
    ("kind", "fields", "block"),
    [
        ("imageView", {"path": "/a.png"}, FileRefBlock("/a.png", "completed", "image/*")),
        ("imageGeneration", {"result": "aGk="}, ImageBlock("completed", "image/png", "aGk=")),
        (
            "webSearch",
            {"query": "", "action": {"type": "openPage", "url": "http://a"}},
            WebSearchBlock("x", "http://a", "completed"),
        ),
        (
            "imageGeneration",
            {},
            UnknownBlock("imageGeneration", {"type": "imageGeneration", "id": "x"}),
        ),
    ],
)
def test_an_item_that_is_content_becomes_a_block(kind: str, fields: Any, block: Any) -> None:
    said = Server().says(item("completed", kind, "x", **fields))[0]
    assert isinstance(said, ev.AssistantMessage)
    assert said.content == [block]


@pytest.mark.parametrize("kind", ["contextCompaction", "enteredReviewMode", "exitedReviewMode"])
def test_an_item_about_the_thread_is_news(kind: str) -> None:
    assert Server().says(item("started", kind, "x")) == []
    (news,) = Server().says(item("completed", kind, "x"))
    assert isinstance(news, ev.SystemEvent)
    assert not news.ephemeral


def test_a_call_that_was_never_announced_is_called_and_ended_at_once() -> None:
    result = {"content": [{"type": "text", "text": "5"}]}
    fields = {"server": "demo", "tool": "add", "arguments": {"a": 2}, "status": "completed"}
    called, ended = Server().says(item("completed", "mcpToolCall", "c", **fields, result=result))
    assert isinstance(called, ev.AssistantMessage)
    assert called.content == [ToolUseBlock("c", "mcp__demo__add", "MCP", {"a": 2}, "in_progress")]
    assert result_of(ended).content == [{"type": "text", "text": "5"}]


def test_a_call_of_an_mcp_tool_tells_its_progress_and_its_error() -> None:
    server = Server()
    fields = {"server": "demo", "tool": "add", "arguments": {}}
    server.says(item("started", "mcpToolCall", "c", **fields))
    (progress,) = server.says(told("item/mcpToolCall/progress", itemId="c", message="half"))
    assert isinstance(progress, ev.ToolProgress)
    assert progress.output == "half\n"
    failed = {**fields, "status": "failed", "error": {"message": "broken"}}
    result = result_of(server.says(item("completed", "mcpToolCall", "c", **failed))[0])
    assert (result.content, result.is_error) == ("broken", True)
    assert server.says(told("item/mcpToolCall/progress", itemId="c", message="late")) == []


def test_a_tool_of_the_host_is_a_call() -> None:
    fields = {"tool": "look", "arguments": {"x": 1}, "status": "completed"}
    called, ended = Server().says(item("completed", "dynamicToolCall", "c", **fields))
    assert isinstance(called, ev.AssistantMessage)
    assert called.content == [ToolUseBlock("c", "look", "TOOL", {"x": 1}, "in_progress")]
    assert result_of(ended).content == "completed"


@pytest.mark.parametrize(
    ("items", "content"),
    [
        ([{"type": "inputText", "text": "seen"}], "seen"),
        ([{"type": "inputText", "text": ""}], ""),
        (
            [{"type": "inputImage", "imageUrl": "data:,"}],
            [{"type": "inputImage", "imageUrl": "data:,"}],
        ),
    ],
)
def test_the_result_of_a_tool_of_the_host_is_what_it_said(items: list[Any], content: Any) -> None:
    fields = {"tool": "look", "status": "completed", "contentItems": items}
    _, ended = Server().says(item("completed", "dynamicToolCall", "c", **fields))
    assert result_of(ended).content == content


def test_a_sub_agent_speaks_in_the_name_of_the_call_that_started_it() -> None:
    server = Server()
    fields = {"tool": "spawnAgent", "prompt": "look", "receiverThreadIds": ["t2"]}
    server.says(item("started", "collabAgentToolCall", "c", **fields))
    inner = item("completed", "agentMessage", "m", text="seen")
    inner["params"]["threadId"] = "t2"
    (said,) = server.says(inner)
    assert (said.parent_tool_use_id, said.agent_id) == ("c", "t2")
    prompt = item("completed", "userMessage", "u", content=[{"type": "text", "text": "look"}])
    prompt["params"]["threadId"] = "t2"
    (user,) = server.says(prompt)
    assert isinstance(user, ev.UserMessage)
    assert user.origin == "agent"
    for ignored in (BEGUN, told("thread/tokenUsage/updated", tokenUsage={}), turn_ends()):
        other = {**ignored, "params": {**ignored["params"], "threadId": "t2"}}
        assert server.says(other) == []
    named = told("thread/name/updated", threadName="x")
    named["params"]["threadId"] = "t3"
    assert server.says(named) == []
    ended = {**fields, "status": "completed"}
    result = result_of(server.says(item("completed", "collabAgentToolCall", "c", **ended))[0])
    assert result.content == "completed"


def test_the_thread_is_known_from_its_notification() -> None:
    server = Server(begun=False)
    assert server.says({"method": "thread/started", "params": {"thread": {"id": "t"}}}) == []
    assert server.adapter.session_id == "t"
    assert server.says({"method": "thread/started", "params": {"thread": {"id": "u"}}}) == []
    assert server.adapter.session_id == "t"
    assert TURN == "turn-1"
